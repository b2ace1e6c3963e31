package sched

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// counter hands out n one-row chunks that hold their number.
type counter struct {
	n      int64
	base   int64
	next   atomic.Int64
	closed atomic.Int64
	each   func(i int64) error
}

func (c *counter) Next(context.Context) (*vec.Chunk, error) {
	i := c.next.Add(1) - 1
	if i >= c.n {
		return nil, nil
	}
	if c.each != nil {
		if err := c.each(i); err != nil {
			return nil, err
		}
	}
	v := vec.New(types.Of(types.Int64), 1)
	v.Append(vec.Int64(c.base + i))
	return &vec.Chunk{Cols: []*vec.Vector{v}, N: 1, Seq: uint64(i)}, nil
}

func (c *counter) Close() error {
	c.closed.Add(1)
	return nil
}

func branch(m Morsels, ts ...Transform) Branch {
	return Branch{Open: func(context.Context) (Morsels, error) { return m, nil }, Transforms: ts}
}

// twice hands every chunk on twice.
type twice struct{}

func (twice) Stage(*Worker) (Stage, error) { return twice{}, nil }

func (twice) Push(c *vec.Chunk, next Next) error {
	if err := next(c); err != nil {
		return err
	}
	return next(c)
}

// jitter spends a random time on some chunks.
type jitter struct{}

func (jitter) Stage(w *Worker) (Stage, error) {
	return &jitterStage{rand.New(rand.NewPCG(uint64(w.ID), 9))}, nil
}

type jitterStage struct{ rng *rand.Rand }

func (j *jitterStage) Push(c *vec.Chunk, next Next) error {
	x := 0
	for range j.rng.IntN(20000) {
		x++
	}
	_ = x
	return next(c)
}

func TestOrderedRestoresTheOrder(t *testing.T) {
	for _, workers := range []int{1, 2, 4, 9} {
		var got []int64
		sink := NewOrdered(func(c *vec.Chunk) error {
			got = append(got, c.Cols[0].Int64s[0])
			return nil
		}, nil)
		a, b := &counter{n: 700}, &counter{n: 300, base: 700}
		p := Pipeline{Branches: []Branch{branch(a, jitter{}, twice{}), branch(b, jitter{}, twice{})}, Sink: sink}
		if err := Run(context.Background(), &expr.Env{}, p, workers); err != nil {
			t.Fatal(err)
		}
		if len(got) != 2000 || a.closed.Load() != 1 || b.closed.Load() != 1 {
			t.Fatalf("%d workers: %d chunks, closed %d and %d", workers, len(got), a.closed.Load(), b.closed.Load())
		}
		for i, v := range got {
			if v != int64(i/2) {
				t.Fatalf("%d workers: chunk %d holds %d", workers, i, v)
			}
		}
	}
}

// TestTheOldestIsWoken: three workers, the sink full of the third's chunks, the
// second waits; when the first goes past both, the second is the oldest and goes on.
func TestTheOldestIsWoken(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var out atomic.Int64
	sink := NewOrdered(func(*vec.Chunk) error {
		out.Add(1)
		return nil
	}, nil)
	var locals []Local
	for _, seq := range []uint64{5, 7, 9} {
		l, err := sink.Local(&Worker{Ctx: ctx})
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Progress(seq); err != nil {
			t.Fatal(err)
		}
		locals = append(locals, l)
	}
	for range 3 * maxAhead {
		if err := locals[2].Push(&vec.Chunk{}, Pos{Seq: 9}); err != nil {
			t.Fatal(err)
		}
	}
	pushed := make(chan error)
	go func() { pushed <- locals[1].Push(&vec.Chunk{}, Pos{Seq: 7}) }()
	waits := func() bool { // the worker is in Wait, with the lock given back
		buf := make([]byte, 1<<16)
		return strings.Contains(string(buf[:runtime.Stack(buf, true)]), "sync.(*Cond).Wait")
	}
	for !waits() {
		runtime.Gosched()
	}
	if err := locals[0].Progress(12); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-pushed:
		if err != nil || out.Load() != 1 {
			t.Errorf("%d chunks went out, %v", out.Load(), err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("the oldest worker was not woken")
	}
}

// TestStopEndsThePipeline: ErrStop from the sink is no error, and Finalize runs.
func TestStopEndsThePipeline(t *testing.T) {
	for _, workers := range []int{1, 4} {
		n, finished := 0, false
		sink := NewOrdered(func(*vec.Chunk) error {
			if n++; n == 10 {
				return ErrStop
			}
			return nil
		}, func() error {
			finished = true
			return nil
		})
		src := &counter{n: 1 << 40}
		if err := Run(context.Background(), &expr.Env{}, Pipeline{Branches: []Branch{branch(src)}, Sink: sink}, workers); err != nil {
			t.Fatal(err)
		}
		if n != 10 || !finished || src.closed.Load() != 1 {
			t.Errorf("%d workers: %d chunks, finished %v", workers, n, finished)
		}
	}
}

func TestFinalizeFailsAfterStop(t *testing.T) {
	want := errors.New("no room")
	sink := NewOrdered(func(*vec.Chunk) error { return ErrStop }, func() error { return want })
	err := Run(context.Background(), &expr.Env{}, Pipeline{Branches: []Branch{branch(&counter{n: 100})}, Sink: sink}, 3)
	if !errors.Is(err, want) {
		t.Errorf("error %v", err)
	}
}

// TestBarrierWaitsForAll: no chunk behind the barrier before the last one ahead of it.
func TestBarrierWaitsForAll(t *testing.T) {
	var ahead atomic.Int64
	after := branch(&counter{n: 50, each: func(int64) error {
		if ahead.Load() < 500 {
			return fmt.Errorf("opened after %d chunks", ahead.Load())
		}
		return nil
	}})
	after.Barrier = true
	p := Pipeline{Branches: []Branch{branch(&counter{n: 500}, jitter{}), after}, Sink: NewOrdered(func(*vec.Chunk) error {
		ahead.Add(1)
		return nil
	}, nil)}
	// The count is taken in the sink, so the last chunks must have passed it.
	if err := Run(context.Background(), &expr.Env{}, p, 4); err != nil {
		t.Fatal(err)
	}
	if ahead.Load() != 550 {
		t.Errorf("%d chunks", ahead.Load())
	}
}

func TestFirstErrorEndsAll(t *testing.T) {
	for _, workers := range []int{1, 4} {
		src := &counter{n: 1 << 40, each: func(i int64) error {
			switch i {
			case 20:
				return fail.New(fail.Corrupt, "block 20")
			case 30:
				panic("later")
			}
			return nil
		}}
		err := Run(context.Background(), &expr.Env{}, Pipeline{Branches: []Branch{branch(src)}, Sink: discard()}, workers)
		if !fail.Is(err, fail.Corrupt) && workers == 1 || err == nil {
			t.Errorf("%d workers: %v", workers, err)
		}
		if src.closed.Load() != 1 {
			t.Error("not closed")
		}
	}
}

func discard() Sink { return NewOrdered(func(*vec.Chunk) error { return nil }, nil) }

func TestPanicsBecomeErrors(t *testing.T) {
	boom := func() { panic("boom") }
	places := map[string]func() Pipeline{
		"open": func() Pipeline {
			return Pipeline{Branches: []Branch{{Open: func(context.Context) (Morsels, error) { boom(); return nil, nil }}}, Sink: discard()}
		},
		"next": func() Pipeline {
			return Pipeline{Branches: []Branch{branch(&counter{n: 5, each: func(int64) error { boom(); return nil }})}, Sink: discard()}
		},
		"sink": func() Pipeline {
			return Pipeline{Branches: []Branch{branch(&counter{n: 5})}, Sink: NewOrdered(func(*vec.Chunk) error { boom(); return nil }, nil)}
		},
		"finalize": func() Pipeline {
			return Pipeline{Branches: []Branch{branch(&counter{n: 5})}, Sink: NewOrdered(func(*vec.Chunk) error { return nil }, func() error { boom(); return nil })}
		},
	}
	for name, p := range places {
		for _, workers := range []int{1, 3} {
			if err := Run(context.Background(), &expr.Env{}, p(), workers); !fail.Is(err, fail.Internal) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// TestCancelWakesWaiters: workers far ahead of a stuck one wait; a cancellation ends them.
func TestCancelWakesWaiters(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	var once sync.Once
	stuck := make(chan struct{})
	src := &counter{n: 1 << 40, each: func(i int64) error {
		if i == 0 {
			<-stuck
		}
		if i > 3*maxAhead {
			return errors.New("the workers do not wait")
		}
		if i == 2*maxAhead {
			once.Do(func() {
				cancel()
				close(stuck)
			})
		}
		return nil
	}}
	err := Run(ctx, &expr.Env{}, Pipeline{Branches: []Branch{branch(src)}, Sink: discard()}, 2)
	if !fail.Is(err, fail.Canceled) {
		t.Errorf("error %v", err)
	}
}
