package wal

import (
	"fmt"
	"testing"
	"time"

	"github.com/loamdb/loam/internal/clock"
	"github.com/loamdb/loam/metastore"
	"github.com/loamdb/loam/storage/object"
)

// TestAClockBehindASweep: a node whose wall clock is an hour behind names its segments
// by an hour that another node's sweep has passed. Its writes go on, with its index
// objects, and nothing that is referred to is swept.
func TestAClockBehindASweep(t *testing.T) {
	begin := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	right, wrong := clock.NewManual(begin), clock.NewManual(begin.Add(-time.Hour))
	ids := clock.SeededIDs(right, 1)
	store := object.NewMem()
	w := &world{t: t, clk: right, ids: ids, store: store, meta: metastore.NewMem(right, ids, metastore.Options{Shared: true})}
	meta, err := metastore.JoinMem(ctx, w.meta, wrong, clock.SeededIDs(wrong, 2), metastore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	w.log = New(store, w.meta, right, ids, Options{})
	late := New(store, meta, wrong, clock.SeededIDs(wrong, 3), Options{})
	defer func() { _, _ = w.log.Close(), late.Close() }()
	w.obj = w.create("docs", 1)
	w.trim(time.Minute) // the floor is at a minute ago
	n := 0
	for round := range 3 {
		for range 60 {
			res, err := late.Append(ctx, []Block{w.block(0, fmt.Sprint(n))})
			if err != nil || res[0].Err != nil {
				t.Fatalf("round %d: the node that is behind cannot write: %v, %+v", round, err, res)
			}
			n++
		}
		right.Advance(10 * time.Minute)
		wrong.Advance(10 * time.Minute)
		w.trim(time.Minute)
		if _, err := late.Trim(ctx, time.Minute); err != nil {
			t.Fatal(err)
		}
	}
	if got := w.read(0, 0); len(got) != n {
		t.Errorf("%d records are left of %d", len(got), n)
	}
	if w.count("walx/") == 0 {
		t.Error("no index object was made")
	}
}
