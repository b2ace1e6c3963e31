package crash

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loamdb/loam"
	"github.com/loamdb/loam/internal/clock"
	"github.com/loamdb/loam/metastore"
	"github.com/loamdb/loam/storage/collection"
	"github.com/loamdb/loam/storage/object"
)

var longImages = flag.Int("images", 0, "crash images of TestLongImages; 0 skips it")

// The model of the images. The object store is the file store over a file system
// that forgets, in a crash, what was not synced: bytes and directory entries. The
// metastore survives with every transaction that it has answered or was about to
// answer, at once and whole. That is the worst for the object store: whatever is
// referred to must have been durable before. What etcd itself loses or keeps is
// the matter of its own room and of the kill loop.

// machine is a computer that loses power again and again.
type machine struct {
	cfs    *object.CrashFS
	meta   metastore.Store
	noSync bool
	lazy   bool // applies wait for long
	// collect is the time between passes of garbage collection.
	collect time.Duration
	acked   []int
	rows    atomic.Int64 // of acknowledged statements
}

// hasty is a clock on which time runs a hundred times as fast, so that what a
// node does every few hundred milliseconds happens often in a short life.
type hasty struct{ clock.Clock }

const haste = 100

func (h hasty) Mono() time.Duration                  { return haste * h.Clock.Mono() }
func (h hasty) NewTimer(d time.Duration) clock.Timer { return h.Clock.NewTimer(d / haste) }
func (h hasty) Sleep(ctx context.Context, d time.Duration) error {
	return h.Clock.Sleep(ctx, d/haste)
}

// surviving is a metastore that outlives the engines that close it.
type surviving struct{ metastore.Store }

func (surviving) Close() error { return nil }

func newMachine(noSync bool) *machine {
	clk := clock.Real()
	return &machine{cfs: object.NewCrashFS(), meta: surviving{metastore.NewMem(clk, clock.RandomIDs(clk), metastore.Options{})},
		noSync: noSync, acked: make([]int, writers)}
}

// boot opens an engine on what the disk holds.
func (m *machine) boot(ctx context.Context) (*loam.Engine, error) {
	clk := hasty{clock.Real()}
	ids := clock.RandomIDs(clk)
	files, err := object.OpenFile("/", ids, object.FileOptions{FS: m.cfs, NoSync: m.noSync})
	if err != nil {
		return nil, err
	}
	opt := collection.Options{ApplyRows: 100, BatchInterval: 200 * time.Millisecond, MaxBatchInterval: time.Second, MaxSplits: 3, MinFragment: 1, MaxDeleted: 50}
	if m.collect > 0 { // versions are let go at once, on the metastore's clock, which is not hasty
		opt.TimeTravel = time.Millisecond
	}
	if m.lazy {
		opt.ApplyRows, opt.BatchInterval, opt.MaxBatchInterval = 1<<20, time.Hour, time.Hour
	}
	return loam.Open(ctx, loam.Config{
		Clock: clk, IDs: ids, WALRetention: 2 * time.Second, GCInterval: m.collect,
		Collection: opt,
		WrapStore:  func(object.Store) object.Store { return files },
		WrapMeta:   func(metastore.Store) metastore.Store { return m.meta },
	})
}

// start makes the objects of a new machine.
func (m *machine) start(ctx context.Context) error {
	e, err := m.boot(ctx)
	if err != nil {
		return err
	}
	r := reader{ctx, e.NewSession(loam.SessionConfig{})}
	for _, sql := range ddl {
		if _, err := r.rows(sql); err != nil {
			return err
		}
	}
	return e.Close()
}

// life boots the machine, checks everything that was acknowledged before, then
// writes until the power fails after the given number of operations of the file
// system. An error says that the machine does not come up or cannot be read.
func (m *machine) life(operations int) (problems []problem, err error) {
	ctx := context.Background()
	e, err := m.boot(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = e.Close() }()
	r := reader{ctx, e.NewSession(loam.SessionConfig{})}
	reached, problems, err := r.verify(m.acked)
	if err != nil || len(problems) > 0 {
		return problems, err
	}
	m.acked = reached
	m.cfs.CrashAfter(operations)
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() { m.write(ctx, e, w) })
	}
	all.Wait()
	return nil, nil
}

// write sends statements until the power fails.
func (m *machine) write(ctx context.Context, e *loam.Engine, w int) {
	s := e.NewSession(loam.SessionConfig{})
	have := after(w, m.acked[w])
	for n := m.acked[w] + 1; ; n++ {
		st := next(w, n, have)
		if send(ctx, s, w, st) != nil {
			return
		}
		have = st.after
		m.acked[w] = n
		m.rows.Add(int64(st.rows))
	}
}

// livesPerMachine bounds the history of one machine, whose data grow.
const livesPerMachine = 12

// crashImages crashes machines until n images were opened or, with until, a
// violation was found. It returns the images and those that broke a promise.
func crashImages(t *testing.T, rng *rand.Rand, n int, noSync, until bool) (images int, rows int64, broken []string) {
	var m *machine
	retire := func() {
		if m != nil {
			rows += m.rows.Load()
		}
		m = nil
	}
	for lives := 0; images < n; lives++ {
		if m == nil || lives == livesPerMachine {
			retire()
			m, lives = newMachine(noSync), 0
			if err := m.start(context.Background()); err != nil {
				t.Fatal(err)
			}
		}
		operations := rng.IntN(700)
		if rng.IntN(4) == 0 {
			operations = rng.IntN(20) // in the recovery from the crash before
		}
		was := slices.Clone(m.acked)
		problems, err := m.life(operations)
		if err != nil {
			problems = append(problems, problem{"wrong", err.Error()})
		}
		if images++; len(problems) > 0 {
			broken = append(broken, fmt.Sprintf("image %d, life %d, acknowledged %v: %v", images, lives, was, problems))
			retire()
			if until {
				break
			}
			continue
		}
		m.cfs = m.cfs.Image(rng.IntN)
	}
	retire()
	return images, rows, broken
}

func runImages(t *testing.T, n int) {
	rng := rand.New(rand.NewPCG(seedOf(t), 3))
	images, rows, broken := crashImages(t, rng, n, false, false)
	for _, b := range broken {
		t.Error(b)
	}
	tried, _, found := crashImages(t, rng, 60, true, true)
	if len(found) == 0 {
		t.Errorf("the control without fsync went through %d images without a loss: the test does not see what it is for", tried)
	} else {
		t.Logf("the control: %.300s", found[0])
	}
	fmt.Printf("    images: %d opened, %d acknowledged rows, %d broken; without fsync the first loss is in image %d\n", images, rows, len(broken), tried)
}

// TestQuickImages opens 200 images of disks after a loss of power.
func TestQuickImages(t *testing.T) { runImages(t, 200) }

// TestLongImages opens as many as asked for.
func TestLongImages(t *testing.T) {
	if *longImages == 0 {
		t.Skip("run with -images 5000")
	}
	runImages(t, *longImages)
}
