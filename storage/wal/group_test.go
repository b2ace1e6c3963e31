package wal

import (
	"fmt"
	"slices"
	"testing"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/metastore"
	"github.com/loamdb/loam/storage/object"
)

// A planned write over several partitions, with more than one block in one of
// them, is in or out as a whole.
func TestPlannedWriteIsAtomic(t *testing.T) {
	w := newWorld(t, object.NewMem(), 2)
	w.append(w.block(0, "a"), w.block(1, "b"))
	planned := func(expect0, expect1 uint64) []Block {
		blocks := []Block{w.block(0, "x"), w.block(0, "y"), w.block(1, "z")}
		blocks[0].Expect, blocks[2].Expect = at(expect0), at(expect1)
		return blocks
	}
	for i, res := range w.append(planned(1, 0)...) {
		if !fail.Is(res.Err, fail.Conflict) {
			t.Errorf("block %d: %v, want a conflict", i, res.Err)
		}
	}
	if got := append(w.read(0, 0), w.read(1, 0)...); !slices.Equal(got, []string{"a", "b"}) {
		t.Fatalf("%q", got)
	}
	for i, res := range w.append(planned(1, 1)...) {
		if res.Err != nil {
			t.Errorf("block %d: %v", i, res.Err)
		}
	}
	if got := append(w.read(0, 0), w.read(1, 0)...); !slices.Equal(got, []string{"a", "x", "y", "b", "z"}) {
		t.Fatalf("%q", got)
	}
}

// A write that finds the row of one of its partitions full waits for the whole
// of it to be moved: it never goes in by halves.
func TestFullRowKeepsWritesWhole(t *testing.T) {
	w := newWorld(t, object.NewMem(), 2)
	for i := range metastore.MaxInlineRefs {
		text := fmt.Sprint(i)
		b := metastore.AppendBlock{ObjectID: w.obj.ID, Incarnation: w.obj.Incarnation, Partition: 1, Records: 1, WALKey: segmentKey("20260102", w.ids.ULID()), Len: 1}
		if res, err := w.meta.Append(ctx, []metastore.AppendBlock{b}); err != nil || res[0].Err != nil {
			t.Fatal(text, err, res)
		}
	}
	res := w.append(w.block(0, "left"), w.block(1, "right"))
	if res[0].Err != nil || res[1].Err != nil || res[0].TS != res[1].TS {
		t.Fatalf("%+v", res)
	}
	if got := w.read(0, 0); !slices.Equal(got, []string{"left"}) {
		t.Fatalf("%q", got)
	}
	if got := w.read(1, metastore.MaxInlineRefs); !slices.Equal(got, []string{"right"}) {
		t.Fatalf("%q", got)
	}
}
