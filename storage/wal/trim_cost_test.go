package wal

import (
	"testing"
	"time"

	"github.com/loamdb/loam/storage/object"
)

// A sweep looks at what may go, over all days, and not at the many that are younger.
func TestTrimEndsAtTheFloor(t *testing.T) {
	mem := object.NewMem()
	w := newWorld(t, mem, 1)
	faulty := object.NewFaulty(mem, w.clk)
	w.log.store = faulty
	put := func(n int) {
		for range n {
			w.log.mu.Lock()
			id, day := w.log.name()
			w.log.mu.Unlock()
			if _, err := mem.Put(ctx, segmentKey(day, id.String()), []byte("x"), object.PutOptions{}); err != nil {
				t.Fatal(err)
			}
		}
	}
	for range 3 { // nothing refers to them; each lot falls on a day of its own
		put(10)
		w.clk.Advance(24 * time.Hour)
		if _, err := w.meta.Now(ctx); err != nil {
			t.Fatal(err)
		}
	}
	put(5 * object.ListPage)
	w.clk.Advance(time.Minute)
	s := w.trim(10 * time.Minute)
	if s.Deleted != 30 || s.Listed != 31 {
		t.Errorf("%+v, want 30 deleted and one more looked at", s)
	}
	if n := faulty.Calls(object.OpList); n != 2 {
		t.Errorf("%d pages listed, want one of each prefix", n)
	}
	w.clk.Advance(time.Hour)
	if s := w.trim(10 * time.Minute); s.Deleted != 5*object.ListPage {
		t.Errorf("%+v", s)
	}
}
