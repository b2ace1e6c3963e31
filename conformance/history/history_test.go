package history

import (
	"context"
	"flag"
	"fmt"
	"hash/fnv"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/metastore"
	"github.com/loamdb/loam/storage/collection"
	"github.com/loamdb/loam/storage/object"
)

var (
	firstSeed = flag.Uint64("seed", 1, "seed of the first history; the others follow")
	count     = flag.Int("histories", 0, "histories; 0: the quick form")
	verbose   = flag.Bool("trace", false, "print every operation")
)

const quick = 60

// One history at a time and one goroutine at a time, so that a seed decides it.
func init() { runtime.GOMAXPROCS(1) }

// outcome is what became of one history.
type outcome struct {
	operations, unknown int
	wrong               []string
	undecided           bool
	hash                uint64
}

// play is what clients do with one object, and what is checked of it at the end.
type play struct {
	test    string // that runs it
	object  func(w *world) *schema.Object
	options func(w *world) collection.Options
	// begin gives the clients; peace is called when they are done and nothing fails
	// any more.
	begin func(w *world) (client func(name string) actor, peace func())
}

// actor is a client.
type actor interface {
	run(ctx context.Context, operations int)
}

// documents is the play of a collection.
var documents = play{
	test:   "TestHistories",
	object: func(w *world) *schema.Object { return docs(1 + w.rng.IntN(3)) },
	options: func(*world) collection.Options {
		return collection.Options{MaxSplits: 1, MinFragment: 1, MaxDeleted: 50}
	},
	begin: func(w *world) (func(string) actor, func()) {
		return func(name string) actor { return &client{w: w, name: name} }, w.peace
	},
}

// TestHistories runs histories of a collection seed by seed.
func TestHistories(t *testing.T) { histories(t, documents) }

func histories(t *testing.T, p play) {
	n := *count
	if n == 0 {
		n = quick
	}
	if testing.Short() && *count == 0 {
		n = quick / 4
	}
	passed, failed, undecided, operations, unknown := 0, 0, 0, 0, 0
	begin := time.Now()
	for seed := *firstSeed; seed < *firstSeed+uint64(n); seed++ {
		o := run(t, p, seed)
		operations, unknown = operations+o.operations, unknown+o.unknown
		switch {
		case len(o.wrong) > 0:
			failed++
			t.Errorf("seed %d: %d violations, such as: %s\nrun again: go test ./conformance/history -run '^%s$' -seed %d -histories 1",
				seed, len(o.wrong), o.wrong[0], p.test, seed)
		case o.undecided:
			undecided++
			t.Logf("seed %d: the checker did not decide within %s", seed, patience)
		default:
			passed++
		}
		if failed > 5 {
			break
		}
	}
	fmt.Printf("    histories: %d in %s, %d operations, %d writes of unknown outcome (%.1f %%), %d undecided, %d with violations\n",
		passed+failed+undecided, time.Since(begin).Round(time.Second), operations, unknown, 100*float64(unknown)/float64(max(1, operations)), undecided, failed)
	fmt.Printf("history: %d passed, %d failed, %d skipped\n", passed, failed, undecided)
}

// A seed gives the same history again, but for what the runtime leaves to chance
// (the order of a select's ready cases): so a failure can be looked at twice.
func TestSeedsRepeat(t *testing.T) {
	same, n := 0, uint64(20)
	for seed := uint64(1); seed <= n; seed++ {
		p := []play{documents, records}[seed%2]
		if first, again := run(t, p, seed), run(t, p, seed); first.hash == again.hash {
			same++
		}
	}
	t.Logf("%d of %d seeds gave the same history twice", same, n)
	if same < int(n)*3/4 {
		t.Errorf("%d of %d seeds gave the same history twice", same, n)
	}
}

// run makes one history in a bubble of simulated time and judges it outside.
func run(t *testing.T, p play, seed uint64) outcome {
	t.Helper()
	var w *world
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // a collection would come between goroutines
	synctest.Test(t, func(t *testing.T) {
		var err error
		if w, err = newWorld(t.Context(), p, seed); err != nil {
			t.Fatal(err)
		}
		w.live(p)
	})
	o := outcome{operations: len(w.ops), unknown: w.unknown, wrong: w.wrong, hash: w.hash()}
	runtime.GC()
	if *verbose {
		for _, x := range w.ops {
			t.Log(line(x))
		}
		for p := range w.log {
			for o := range uint64(len(w.log[p])) {
				t.Logf("%s %d: %+v", logName(p), o, w.log[p][o])
			}
		}
		for _, x := range w.wrong {
			t.Log(x)
		}
	}
	if len(o.wrong) > 0 {
		return o
	}
	switch r, part := verdictOf(w.settled()); r {
	case porcupine.Illegal:
		o.wrong = append(o.wrong, "not linearizable:\n"+trace(part))
	case porcupine.Unknown:
		o.undecided = true
	}
	return o
}

func line(x porcupine.Operation) string {
	end := fmt.Sprint(x.Return)
	if x.Return == never {
		end = "…"
	}
	return fmt.Sprintf("%6d to %6s  %-12s %s", x.Call, end, x.Input.(op).who, x.Input.(op))
}

// trace prints the shortest prefix of the operations that is not linearizable.
func trace(part []porcupine.Operation) string {
	slices.SortFunc(part, func(a, b porcupine.Operation) int { return int(a.Call - b.Call) })
	one := model
	one.Partition = nil
	n := len(part)
	for k := 1; k < len(part); k++ {
		if porcupine.CheckOperationsTimeout(one, part[:k], patience) == porcupine.Illegal {
			n = k
			break
		}
	}
	var out []string
	for _, x := range part[max(0, n-25):n] {
		out = append(out, line(x))
	}
	return strings.Join(out, "\n")
}

// hash tells whether two runs of a seed were the same.
func (w *world) hash() uint64 {
	h := fnv.New64a()
	for _, x := range w.ops {
		fmt.Fprintln(h, line(x))
	}
	return h.Sum64()
}

// live is the whole life of a world: clients and trouble, then peace, then the end.
func (w *world) live(p play) {
	ctx, stop := context.WithCancel(context.Background())
	clients := 8 + w.rand(9)
	each := 250 / clients
	client, peace := p.begin(w)
	var all, trouble sync.WaitGroup
	for i := range clients {
		a := client(fmt.Sprintf("c%d", i))
		all.Go(func() { a.run(ctx, each) })
	}
	for _, n := range w.nodes {
		trouble.Go(func() { w.disturb(ctx, n) })
	}
	all.Wait()
	stop()
	trouble.Wait()
	w.calmDown()
	peace()
	for _, n := range w.nodes {
		n.current().kill()
	}
	w.ended.Wait()
	_ = w.reader.Close()
}

// disturb makes trouble on a node until the context ends.
func (w *world) disturb(ctx context.Context, n *node) {
	for ctx.Err() == nil {
		time.Sleep(time.Duration(w.rand(int(30 * time.Millisecond))))
		w.add(1)
		switch w.rand(6) {
		case 0:
			n.wall.set(time.Duration(w.rand(int(2*time.Hour))) - time.Hour)
		case 1:
			n.hang(time.Duration(w.rand(int(2 * leaseTTL))))
		case 2:
			n.restart(context.Background())
		default:
			w.faults(n)
			time.Sleep(time.Duration(w.rand(int(10 * time.Millisecond))))
			n.faults.Clear()
			n.store.Clear()
		}
		w.add(-1)
	}
}

func (w *world) add(d int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.trouble += d
	w.calm = w.seq
}

// faults puts one to three rules in force.
func (w *world) faults(n *node) {
	for range 1 + w.rand(3) {
		if w.rand(2) == 0 {
			n.faults.Add(metastore.Fault{Op: []string{"append", "commit", "acquire_lease", ""}[w.rand(4)],
				Kind: metastore.FaultKind(w.rand(4)), Skip: w.rand(3), N: 1 + w.rand(5)})
			continue
		}
		ops := []object.Op{object.OpPut, object.OpPut, object.OpCommit, object.OpCreate, object.OpGet, object.OpGetRange, object.OpOpen, object.OpReadAt}
		kinds := []object.FaultKind{object.FailBefore, object.FailAfter, object.LostBefore, object.CorruptRead}
		f := object.Fault{Op: ops[w.rand(len(ops))], Kind: kinds[w.rand(len(kinds))], Skip: w.rand(3), N: 1 + w.rand(3), Bit: int64(w.rand(1 << 20))}
		if f.Kind == object.CorruptRead && (f.Op == object.OpPut || f.Op == object.OpCommit || f.Op == object.OpCreate || f.Op == object.OpOpen) {
			f.Kind = object.LostBefore
		}
		n.store.Add(f)
	}
}

// calmDown ends all trouble, and waits until no lease is left.
func (w *world) calmDown() {
	for _, n := range w.nodes {
		n.faults.Clear()
		n.faults.Between(nil)
		n.store.Clear()
		n.hang(0)
	}
	time.Sleep(10 * leaseTTL)
}

// peace reads everything on every node, restarted: strongly, after an apply, and each
// version that was ever committed.
func (w *world) peace() {
	ctx := context.Background()
	c := &client{w: w, name: "peace"}
	for _, n := range w.nodes {
		n.restart(ctx)
		c.quiet(ctx, n.current(), "strong read")
	}
	i := w.nodes[0].current()
	for _, work := range []func(context.Context, []metastore.Fence) error{i.c.Apply, i.c.Merge} {
		if err := work(ctx, nil); err != nil {
			w.violation("in peace, apply and merge: %v", err)
		}
	}
	for _, n := range w.nodes {
		c.quiet(ctx, n.current(), "strong read")
	}
	version, ends := w.end()
	for v := range version + 1 {
		if snap, err := i.c.Version(ctx, v); err != nil {
			w.violation("in peace, version %d: %v", v, err)
		} else {
			c.saw("version read", i, w.tick(), snap, false)
		}
	}
	w.judge(ends)
}

// end is the version and the ends of the log, all of which has been captured.
func (w *world) end() (version uint64, ends []uint64) {
	w.capture()
	head, parts, _, err := w.observer.Heads(context.Background(), w.obj.ID)
	if err != nil {
		w.violation("the observer: %v", err)
	}
	for p := range parts {
		ends = append(ends, parts[p].Next)
	}
	return head.Version, ends
}

func (c *client) quiet(ctx context.Context, i *instance, what string) {
	if c.strong(ctx, i) == nil {
		c.w.violation("in peace, a %s at %s fails", what, i.owner)
	}
}
