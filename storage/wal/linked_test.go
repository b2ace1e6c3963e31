package wal

import (
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/metastore"
	"github.com/loamdb/loam/storage/object"
)

func (w *world) link(name string) func(expect []uint64, next uint64) *metastore.Advance {
	w.t.Helper()
	o, err := w.meta.CreateObject(ctx, metastore.Object{Namespace: "public", Name: name, Kind: "link"})
	if err != nil {
		w.t.Fatal(err)
	}
	return func(expect []uint64, next uint64) *metastore.Advance {
		return &metastore.Advance{Target: w.obj.ID, Link: o.ID, LinkVersion: 1, Expect: expect, Next: []uint64{next}, Batch: w.ids.ULID()}
	}
}

func (w *world) offsets() []uint64 {
	w.t.Helper()
	snap, err := w.meta.Snapshot(ctx, []uint64{w.obj.ID})
	if err != nil {
		w.t.Fatal(err)
	}
	var out []uint64
	for _, p := range snap.Objects[0].Progress {
		out = append(out, p.Offsets...)
	}
	return out
}

// A batch of a link goes in with the link's offsets or not at all, also when it
// shares its flush with others.
func TestAppendLinked(t *testing.T) {
	w := newWorld(t, object.NewMem(), 2)
	link := w.link("l")
	blocks := func() []Block { return []Block{w.block(0, "x"), w.block(0, "y"), w.block(1, "z")} }
	linked := func(b []Block, a *metastore.Advance) error {
		res, err := w.log.AppendLinked(ctx, b, a)
		for _, r := range res {
			err = errors.Join(err, r.Err)
		}
		return err
	}
	if err := linked(blocks(), link(nil, 7)); err != nil {
		t.Fatal(err)
	}
	for _, b := range [][]Block{blocks(), nil} {
		if err := linked(b, link([]uint64{6}, 8)); !errors.Is(err, metastore.ErrLinkMoved) {
			t.Fatal(err)
		}
	}
	if err := linked(nil, link([]uint64{7}, 9)); err != nil { // an empty batch
		t.Fatal(err)
	}
	if got := append(w.read(0, 0), w.read(1, 0)...); !slices.Equal(got, []string{"x", "y", "z"}) || !slices.Equal(w.offsets(), []uint64{9}) {
		t.Fatalf("%q, link at %v", got, w.offsets())
	}
}

// Of many batches that were read from the same offsets one is appended, and the
// plain writes beside them all are.
func TestAppendLinkedRace(t *testing.T) {
	h := &held{Store: object.NewMem(), started: make(chan struct{}), release: make(chan struct{})}
	w := newWorld(t, h, 2)
	link := w.link("l")
	var wg sync.WaitGroup
	var mu sync.Mutex
	won := 0
	wg.Go(func() { w.append(w.block(0, "first")) })
	<-h.started
	for range 8 {
		a := link(nil, 1)
		wg.Go(func() {
			res, err := w.log.AppendLinked(ctx, []Block{w.block(0, "linked"), w.block(1, "linked")}, a)
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			if res[0].Err == nil && res[1].Err == nil {
				won++
			} else if !errors.Is(res[0].Err, metastore.ErrLinkMoved) || !errors.Is(res[1].Err, metastore.ErrLinkMoved) {
				t.Errorf("%+v", res)
			}
		})
		wg.Go(func() { w.append(w.block(1, "plain")) })
	}
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	for {
		select {
		case h.release <- struct{}{}:
			continue
		case <-h.started:
			continue
		case <-done:
		}
		break
	}
	count := map[string]int{}
	for _, text := range append(w.read(0, 0), w.read(1, 0)...) {
		count[text]++
	}
	if won != 1 || count["linked"] != 2 || count["plain"] != 8 || count["first"] != 1 {
		t.Fatalf("%d won, log %v", won, count)
	}
}

func TestAppendLinkedLimits(t *testing.T) {
	var q queue
	for i := range 40 {
		r := req(t, Block{ObjectID: uint64(i)})
		r.advance = &metastore.Advance{Link: uint64(i)}
		q.push(r)
	}
	f := q.take(1 << 20)
	if n := len(f.requests); n != metastore.MaxAppendPartitions/(1+metastore.AdvanceRows) {
		t.Fatalf("%d links in one flight", n)
	}
	for i := range f.requests {
		if f.advance[i] == nil || f.advance[i].Link != uint64(i) || f.groupOf(i) != i+1 {
			t.Fatalf("region %d: %+v in group %d", i, f.advance[i], f.groupOf(i))
		}
	}
}

func TestAppendLinkedLostReplies(t *testing.T) {
	for _, kind := range []metastore.FaultKind{metastore.LostBefore, metastore.LostAfter} {
		w := newFaultyWorld(t)
		w.tick()
		link := w.link("l")
		w.faults.Add(metastore.Fault{Op: "append", Kind: kind, N: 2})
		res, err := w.log.AppendLinked(ctx, []Block{w.block(0, "a")}, link(nil, 3))
		if err != nil || res[0].Err != nil {
			t.Fatalf("kind %d: %v %+v", kind, err, res)
		}
		if _, err := w.log.AppendLinked(ctx, nil, link(nil, 3)); !fail.Is(err, fail.Conflict) {
			t.Fatal(err)
		}
		if got := w.read(0, 0); !slices.Equal(got, []string{"a"}) || !slices.Equal(w.offsets(), []uint64{3}) {
			t.Fatalf("kind %d: %q, link at %v", kind, got, w.offsets())
		}
	}
}
