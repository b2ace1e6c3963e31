package wal

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/loamdb/loam/internal/clock"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/metastore"
	"github.com/loamdb/loam/storage/object"
)

var ctx = context.Background()

func (w *world) faulty() *object.Faulty { return w.store.(*object.Faulty) }

func newFaultyWorld(t *testing.T) *world {
	return newWorld(t, object.NewFaulty(object.NewMem(), clock.Real()), 1)
}

// tick lets the metastore's waits between tries pass.
func (w *world) tick() {
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			case <-time.After(time.Millisecond):
				w.clk.Advance(50 * time.Millisecond)
			}
		}
	}()
	w.t.Cleanup(func() { close(stop); <-done })
}

// One failed write, of any kind, is made good under a new name.
func TestPutFaultOnce(t *testing.T) {
	for _, kind := range []object.FaultKind{object.FailBefore, object.FailAfter, object.LostBefore} {
		w := newFaultyWorld(t)
		w.append(w.block(0, "a"))
		w.faulty().Add(object.Fault{Op: object.OpPut, Prefix: "wal/", Kind: kind, N: 1})
		if res := w.append(w.block(0, "b")); res[0].Err != nil || res[0].Base != 1 {
			t.Fatalf("kind %d: %+v", kind, res)
		}
		if got := w.read(0, 0); !slices.Equal(got, []string{"a", "b"}) {
			t.Fatalf("kind %d: %q", kind, got)
		}
	}
}

// When the store stays down every waiter hears of it, and nothing was appended.
func TestPutFaultForGood(t *testing.T) {
	w := newFaultyWorld(t)
	w.faulty().Add(object.Fault{Op: object.OpPut, Kind: object.FailAfter})
	var wg sync.WaitGroup
	for i := range 10 {
		wg.Go(func() {
			_, err := w.log.Append(ctx, []Block{w.block(0, fmt.Sprint(i))})
			if !fail.Is(err, fail.Unavailable) || !errors.Is(err, object.ErrInjected) {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	w.faulty().Clear()
	if got := w.read(0, 0); len(got) != 0 {
		t.Fatalf("%q was appended", got)
	}
	if res := w.append(w.block(0, "later")); res[0].Base != 0 {
		t.Fatalf("%+v", res)
	}
	if s := w.log.Stats(); s.Failures == 0 {
		t.Fatalf("%+v", s)
	}
}

func TestSequenceFaults(t *testing.T) {
	for _, kind := range []metastore.FaultKind{metastore.LostBefore, metastore.LostAfter} {
		w := newFaultyWorld(t)
		w.tick()
		w.faults.Add(metastore.Fault{Op: "append", Kind: kind, N: 2})
		if res := w.append(w.block(0, "a")); res[0].Err != nil || res[0].Base != 0 {
			t.Fatalf("kind %d: %+v", kind, res)
		}
		w.faults.Clear()
		if got := w.read(0, 0); !slices.Equal(got, []string{"a"}) {
			t.Fatalf("kind %d: %q", kind, got)
		}
		w.faults.Add(metastore.Fault{Op: "append", Kind: kind})
		w.faults.Add(metastore.Fault{Kind: metastore.Unreadable, Skip: 1}) // one read, then none: nothing to resolve by
		_, err := w.log.Append(ctx, []Block{w.block(0, "b")})
		if !fail.Is(err, fail.CommitUnknown) {
			t.Fatalf("kind %d: %v", kind, err)
		}
		w.faults.Clear()
		if got := w.read(0, 0); len(got) != map[metastore.FaultKind]int{metastore.LostBefore: 1, metastore.LostAfter: 2}[kind] {
			t.Fatalf("kind %d: %q", kind, got)
		}
	}
	w := newFaultyWorld(t)
	w.faults.Add(metastore.Fault{Op: "append", Kind: metastore.Refused, N: 1})
	if _, err := w.log.Append(ctx, []Block{w.block(0, "a")}); !fail.Is(err, fail.Unavailable) {
		t.Fatal(err)
	}
	if got := w.read(0, 0); len(got) != 0 {
		t.Fatalf("%q", got)
	}
}

// held is a store whose puts wait for release.
type held struct {
	object.Store
	started, release chan struct{}
}

func (h *held) Put(ctx context.Context, key string, body []byte, opt object.PutOptions) (object.Info, error) {
	h.started <- struct{}{}
	<-h.release
	return h.Store.Put(ctx, key, body, opt)
}

func newHeldWorld(t *testing.T) (*world, *held) {
	h := &held{Store: object.NewMem(), started: make(chan struct{}), release: make(chan struct{})}
	return newWorld(t, h, 1), h
}

func TestCancel(t *testing.T) {
	w, h := newHeldWorld(t)
	type out struct {
		res []Result
		err error
	}
	do := func(c context.Context, text string) chan out {
		ch := make(chan out, 1)
		go func() { res, err := w.log.Append(c, []Block{w.block(0, text)}); ch <- out{res, err} }()
		return ch
	}
	flying, cancelFlying := context.WithCancel(ctx)
	first := do(flying, "flying")
	<-h.started
	waiting, cancelWaiting := context.WithTimeout(ctx, time.Hour)
	second := do(waiting, "waiting")
	third := do(ctx, "stays")
	for {
		w.log.mu.Lock()
		n := len(w.log.queue.waiting)
		w.log.mu.Unlock()
		if n == 2 {
			break
		}
		time.Sleep(100 * time.Microsecond)
	}
	cancelWaiting()
	if o := <-second; !fail.Is(o.err, fail.Canceled) || !errors.Is(o.err, context.Canceled) {
		t.Fatalf("waiting: %v", o.err)
	}
	cancelFlying()
	if o := <-first; !fail.Is(o.err, fail.CommitUnknown) || !errors.Is(o.err, context.Canceled) {
		t.Fatalf("flying: %v", o.err)
	}
	close(h.release)
	<-h.started
	if o := <-third; o.err != nil || o.res[0].Base != 1 {
		t.Fatalf("%+v", o)
	}
	if got := w.read(0, 0); !slices.Equal(got, []string{"flying", "stays"}) {
		t.Fatalf("%q", got)
	}
}

// What arrives during a flush shares the next segment.
func TestNaturalBatching(t *testing.T) {
	w, h := newHeldWorld(t)
	var wg sync.WaitGroup
	wg.Go(func() { w.append(w.block(0, "first")) })
	<-h.started
	for i := range 20 {
		wg.Go(func() { w.append(w.block(0, fmt.Sprint(i))) })
	}
	for {
		w.log.mu.Lock()
		n := len(w.log.queue.waiting)
		w.log.mu.Unlock()
		if n == 20 {
			break
		}
		time.Sleep(100 * time.Microsecond)
	}
	close(h.release)
	<-h.started
	wg.Wait()
	_, parts, _, err := w.meta.Heads(ctx, w.obj.ID)
	if err != nil || len(parts[0].Refs) != 2 || parts[0].Next != 21 {
		t.Fatalf("%+v %v", parts, err)
	}
	if got := w.read(0, 0); len(got) != 21 {
		t.Fatalf("%q", got)
	}
	if got := w.read(0, 11); len(got) != 10 {
		t.Fatalf("from within a shared run: %q", got)
	}
}

// Planned writes fail alone; of two planned on the same offset one wins; what
// was not planned goes on behind them.
func TestExpect(t *testing.T) {
	w, h := newHeldWorld(t)
	var wg sync.WaitGroup
	wg.Go(func() { w.append(w.block(0, "zero")) })
	<-h.started
	results := make([][]Result, 4)
	add := func(i int, expect *uint64) {
		b := w.block(0, fmt.Sprint(i))
		b.Expect = expect
		wg.Go(func() { results[i] = w.append(b) })
		for {
			w.log.mu.Lock()
			n := len(w.log.queue.waiting)
			w.log.mu.Unlock()
			if n == i+1 {
				return
			}
			time.Sleep(100 * time.Microsecond)
		}
	}
	add(0, nil)
	add(1, at(1))
	add(2, at(1))
	add(3, nil)
	close(h.release)
	<-h.started
	wg.Wait()
	if results[1][0].Err != nil || results[1][0].Base != 1 || !fail.Is(results[2][0].Err, fail.Conflict) {
		t.Fatalf("%+v", results)
	}
	if results[0][0].Base != 2 || results[3][0].Base != 3 || results[3][0].Ref.Base != 2 {
		t.Fatalf("%+v", results)
	}
	if got := w.read(0, 0); !slices.Equal(got, []string{"zero", "1", "0", "3"}) {
		t.Fatalf("%q", got)
	}
}

func TestClose(t *testing.T) {
	w, h := newHeldWorld(t)
	done := make(chan error, 2)
	for range 2 {
		go func() { _, err := w.log.Append(ctx, []Block{w.block(0, "x")}); done <- err }()
	}
	<-h.started
	closed := make(chan error)
	go func() { closed <- w.log.Close() }()
	for {
		w.log.mu.Lock()
		closing := w.log.closing
		w.log.mu.Unlock()
		if closing {
			break
		}
		time.Sleep(100 * time.Microsecond)
	}
	go func() {
		for range h.started { // later flushes, if any
		}
	}()
	close(h.release)
	if err := <-closed; err != nil {
		t.Fatal(err)
	}
	close(h.started)
	for range 2 { // a request that had joined is flushed, a later one refused; none hangs
		if err := <-done; err != nil && !fail.Is(err, fail.Unavailable) {
			t.Fatal(err)
		}
	}
	if _, err := w.log.Append(ctx, []Block{w.block(0, "x")}); !fail.Is(err, fail.Unavailable) {
		t.Fatal(err)
	}
	if err := w.log.Close(); err != nil {
		t.Fatal(err)
	}
}

// caught turns the panic of a bug under the invariants tag into its error.
func caught(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fail.FromPanic(p)
		}
	}()
	return f()
}

func TestBadRequests(t *testing.T) {
	w := newWorld(t, object.NewMem(), 1)
	if res, err := w.log.Append(ctx, nil); res != nil || err != nil {
		t.Fatal(res, err)
	}
	big, none, where, who := w.block(0, ""), w.block(0, ""), w.block(-1, ""), w.block(0, "")
	big.Payload = make([]byte, MaxAppendBytes+1)
	none.Records, who.Incarnation = 0, "x"
	for code, b := range map[fail.Code][]Block{fail.TooLarge: {big}, fail.Internal: {none, where, who}} {
		for _, one := range b {
			if err := caught(func() error { _, err := w.log.Append(ctx, []Block{one}); return err }); !fail.Is(err, code) {
				t.Errorf("%v: %v", one.Records, err)
			}
		}
	}
	gone := w.block(0, "x")
	gone.ObjectID = 77
	if res := w.append(gone, w.block(0, "y")); !fail.Is(res[0].Err, fail.UndefinedTable) || res[1].Err != nil {
		t.Fatalf("%+v", res)
	}
}

// With a window a flush waits for company, but not when a segment is full.
func TestWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clk := clock.Real()
		ids := clock.SeededIDs(clk, 1)
		meta := metastore.NewMem(clk, ids, metastore.Options{})
		w := &world{t: t, ids: ids, store: object.NewMem(), meta: meta}
		w.log = New(w.store, meta, clk, ids, Options{Window: 100 * time.Millisecond, FlushBytes: 1000})
		w.obj = w.create("docs", 1)
		begin := clk.Mono()
		var wg sync.WaitGroup
		for i := range 5 {
			wg.Go(func() {
				time.Sleep(time.Duration(i) * 10 * time.Millisecond)
				w.append(w.block(0, "x"))
			})
		}
		wg.Wait()
		if took := clk.Mono() - begin; took != 100*time.Millisecond || w.log.Stats().Flushes != 1 {
			t.Errorf("%v, %+v", took, w.log.Stats())
		}
		begin = clk.Mono()
		w.append(w.block(0, string(make([]byte, 1000))))
		if took := clk.Mono() - begin; took != 0 {
			t.Errorf("a full segment waited %v", took)
		}
		if err := w.log.Close(); err != nil {
			t.Error(err)
		}
	})
}
