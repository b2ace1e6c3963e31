package history

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/loamdb/loam/internal/clock"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/metastore"
	"github.com/loamdb/loam/storage/collection"
	"github.com/loamdb/loam/storage/object"
	"github.com/loamdb/loam/storage/wal"
)

// leaseTTL is short, so that leases run out while their holders work.
const leaseTTL = 40 * time.Millisecond

// world is one cluster: what outlives its nodes, and what everybody saw.
type world struct {
	seed     uint64
	objects  *object.Mem
	rows     *metastore.MemRows
	observer metastore.Store // sees the rows as they are
	reader   *wal.Log        // reads the log as it is
	obj      *schema.Object
	options  collection.Options
	nodes    []*node
	ended    sync.WaitGroup // instances of nodes that close

	mu      sync.Mutex // guards the fields below
	rng     *rand.Rand
	seq     int64 // of calls and returns
	ops     []porcupine.Operation
	trouble int   // nodes that are being disturbed
	calm    int64 // when the last of them was left in peace
	trimmed bool  // the log was swept: old pins may be gone
	numbers int64
	log     []map[uint64]record // by partition and offset
	writes  map[int64]*written
	reads   []*seen
	commits map[uint64][]uint64 // applied offsets by version, of commits that count
	landed  map[string]bool     // ids of commits that took effect
	wrong   []string
	unknown int
	latest  int64 // the latest metastore time that anybody was told, ms
}

func (w *world) rand(n int) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.rng.IntN(n)
}

// tick is a moment: each call and each return has its own.
func (w *world) tick() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seq++
	return w.seq
}

func (w *world) note(call int64, ops ...op) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seq++
	for _, o := range ops {
		done := w.seq
		if o.unknown {
			done = never
		}
		w.ops = append(w.ops, porcupine.Operation{Input: o, Call: call, Return: done})
	}
}

func (w *world) violation(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.wrong = append(w.wrong, fmt.Sprintf(format, args...))
}

// node is a machine: its clock, its ways to the stores, and the instance of Loam
// that runs on it now.
type node struct {
	w      *world
	name   string
	wall   *steppedClock
	faults *metastore.Faults
	store  *object.Faulty

	mu     sync.Mutex // guards the fields below
	hung   time.Time  // calls to the stores wait until then
	births int
	now    *instance
}

// steppedClock is a clock whose wall is set by hand, forward and back.
type steppedClock struct {
	clock.Clock
	mu   sync.Mutex // guards the field below
	step time.Duration
}

func (c *steppedClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.Clock.Now().Add(c.step)
}

func (c *steppedClock) set(step time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.step = step
}

func docs(partitions int) *schema.Object {
	return &schema.Object{Namespace: "public", Name: "docs", Kind: schema.Collection, Key: []int{0}, Partitions: partitions,
		Fields: []schema.Field{{ID: 1, Name: "id", Type: types.Of(types.Text)}, {ID: 2, Name: "n", Type: types.Of(types.Int64)}}}
}

// newWorld makes a cluster with its one object. It must be called in a bubble.
func newWorld(ctx context.Context, p play, seed uint64) (*world, error) {
	rng := rand.New(rand.NewPCG(seed, 17))
	clk := clock.Real()
	ids := clock.SeededIDs(clk, seed)
	w := &world{seed: seed, objects: object.NewMem(), rows: metastore.NewMemRows(), rng: rng,
		writes: map[int64]*written{}, commits: map[uint64][]uint64{}, landed: map[string]bool{}}
	var err error
	if w.observer, err = w.rows.Open(ctx, clk, ids, metastore.Options{}); err != nil {
		return nil, err
	}
	w.reader = wal.New(w.objects, w.observer, clk, ids, wal.Options{})
	obj := p.object(w)
	w.options = p.options(w)
	if _, err := w.observer.CreateNamespace(ctx, obj.Namespace, nil); err != nil {
		return nil, err
	}
	row, err := w.observer.CreateObject(ctx, metastore.Object{Namespace: obj.Namespace, Name: obj.Name,
		Kind: string(obj.Kind), Partitions: obj.Partitions, Definition: []byte("{}")})
	if err != nil {
		return nil, err
	}
	obj.ID, obj.Incarnation, obj.SchemaVersion = row.ID, row.Incarnation, row.SchemaVersion
	w.obj = obj
	for range obj.Partitions {
		w.log = append(w.log, map[uint64]record{})
	}
	if err := collection.Create(ctx, collection.Deps{Objects: w.objects, Meta: w.observer, IDs: ids, Clock: clk}, obj); err != nil {
		return nil, err
	}
	for i := range 1 + int(seed%2) { // two nodes in half of the histories
		n := &node{w: w, name: fmt.Sprintf("n%d", i), wall: &steppedClock{Clock: clk}, faults: &metastore.Faults{}, store: object.NewFaulty(w.objects, clk)}
		n.faults.Between(func(context.Context, string) {
			if w.rand(8) == 0 {
				n.pause(time.Millisecond)
			}
		})
		w.nodes = append(w.nodes, n)
		if err := n.start(ctx); err != nil {
			return nil, err
		}
	}
	return w, nil
}

// pause lets time pass, at most d, and longer on a machine that hangs.
func (n *node) pause(d time.Duration) {
	time.Sleep(time.Duration(n.w.rand(int(d))))
	n.mu.Lock()
	wait := time.Until(n.hung)
	n.mu.Unlock()
	if wait > 0 { // no two wake in one instant: their order would be left to chance
		time.Sleep(wait + time.Duration(n.w.rand(int(time.Millisecond))))
	}
}

func (n *node) hang(d time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.hung = time.Now().Add(d)
}

// instance is a run of Loam on a node, from its start to its crash.
type instance struct {
	n     *node
	owner string
	meta  metastore.Store
	log   *wal.Log
	c     *collection.Collection
	end   context.Context // ends with the crash
	crash context.CancelFunc
}

func (i *instance) dead() bool { return i.end.Err() != nil }

// start opens what the stores hold. It fails under faults.
func (n *node) start(ctx context.Context) error {
	n.mu.Lock()
	n.births++
	i := &instance{n: n, owner: fmt.Sprintf("%s.%d", n.name, n.births)}
	n.mu.Unlock()
	i.end, i.crash = context.WithCancel(context.Background())
	ids := clock.SeededIDs(n.wall, n.w.seed<<16|uint64(n.births)<<8|uint64(n.name[1]))
	meta, err := n.w.rows.Open(ctx, n.wall, ids, metastore.Options{Faults: n.faults})
	if err != nil {
		i.crash()
		return err
	}
	i.meta = &meteredMeta{meta, i}
	store := &meteredStore{n.store, i}
	i.log = wal.New(store, i.meta, n.wall, ids, wal.Options{Window: time.Duration(n.w.rand(2)) * time.Millisecond})
	deps := collection.Deps{Objects: store, Meta: i.meta, Log: i.log, IDs: ids, Clock: n.wall}
	i.c, err = collection.Open(ctx, deps, n.w.obj, n.w.options)
	if err != nil {
		i.crash()
		_ = i.log.Close()
		return err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.now = i
	return nil
}

// kill ends the instance as a loss of power does: nothing that it does from now on
// has an effect, and nobody hears from it.
func (i *instance) kill() {
	i.crash()
	_ = i.meta.Close()
	i.n.w.ended.Go(func() {
		_ = i.log.Close()
		i.c.Close()
	})
}

// restart replaces the instance; while the machine cannot be started it tries again.
func (n *node) restart(ctx context.Context) {
	n.current().kill()
	for try := 0; ; try++ {
		err := n.start(ctx)
		if err == nil {
			return
		}
		if try > 50 || !expected(err) {
			n.w.violation("node %s does not start: %v", n.name, err)
			return
		}
		time.Sleep(2 * time.Millisecond)
	}
}

func (n *node) current() *instance {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.now
}

// expected are the errors that faults of the stores, crashes and other writers give.
func expected(err error) bool {
	for _, c := range []fail.Code{fail.Unavailable, fail.CommitUnknown, fail.Conflict, fail.Canceled, fail.DeadlineExceeded, fail.BacklogFull, fail.Locked} {
		if fail.Is(err, c) {
			return true
		}
	}
	return false
}
