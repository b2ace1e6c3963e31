package wal

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/loamdb/loam/internal/clock"
	"github.com/loamdb/loam/metastore"
	"github.com/loamdb/loam/storage/object"
)

// world is a log with its stores.
type world struct {
	t      *testing.T
	clk    *clock.Manual
	ids    clock.IDs
	store  object.Store
	meta   metastore.Store
	faults *metastore.Faults
	log    *Log
	obj    metastore.Object
}

func newWorld(t *testing.T, store object.Store, partitions int) *world {
	t.Helper()
	clk := clock.NewManual(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	w := &world{t: t, clk: clk, ids: clock.SeededIDs(clk, 1), store: store, faults: &metastore.Faults{}}
	w.meta = metastore.NewMem(clk, w.ids, metastore.Options{Faults: w.faults})
	w.log = New(store, w.meta, clk, w.ids, Options{})
	t.Cleanup(func() { _ = w.log.Close() })
	w.obj = w.create("docs", partitions)
	return w
}

func (w *world) create(name string, partitions int) metastore.Object {
	w.t.Helper()
	ctx := context.Background()
	if _, err := w.meta.CreateNamespace(ctx, "public", nil); err != nil {
		w.t.Fatal(err)
	}
	o, err := w.meta.CreateObject(ctx, metastore.Object{Namespace: "public", Name: name, Kind: "collection", Partitions: partitions})
	if err != nil {
		w.t.Fatal(err)
	}
	return o
}

func (w *world) block(p int, text string) Block {
	return Block{ObjectID: w.obj.ID, Incarnation: w.obj.Incarnation, Partition: p, Records: 1, Payload: []byte(text), Bytes: int64(len(text))}
}

func (w *world) append(blocks ...Block) []Result {
	w.t.Helper()
	res, err := w.log.Append(context.Background(), blocks)
	if err != nil {
		w.t.Fatal(err)
	}
	return res
}

// read returns the payloads of a partition from an offset.
func (w *world) read(p int, from uint64) []string {
	w.t.Helper()
	ctx := context.Background()
	_, parts, _, err := w.meta.Heads(ctx, w.obj.ID)
	if err != nil {
		w.t.Fatal(err)
	}
	refs, err := w.log.Refs(ctx, parts[p], from)
	if err != nil {
		w.t.Fatal(err)
	}
	var out []string
	next := from
	for _, r := range refs {
		batches, err := w.log.ReadBlock(ctx, r)
		if err != nil {
			w.t.Fatal(err)
		}
		for _, b := range batches {
			if b.Base+uint64(b.Records) <= from {
				continue
			}
			if b.Base != next {
				w.t.Fatalf("batch at %d, want %d", b.Base, next)
			}
			next += uint64(b.Records)
			out = append(out, string(b.Payload))
		}
	}
	return out
}

func TestAppendRead(t *testing.T) {
	w := newWorld(t, object.NewMem(), 2)
	for i := range 200 {
		res := w.append(w.block(i%2, fmt.Sprintf("r%d", i)))
		if res[0].Err != nil || res[0].Base != uint64(i/2) {
			t.Fatalf("append %d: %+v", i, res[0])
		}
	}
	for p := range 2 {
		got := w.read(p, 0)
		if len(got) != 100 || got[0] != fmt.Sprintf("r%d", p) || got[99] != fmt.Sprintf("r%d", 198+p) {
			t.Fatalf("partition %d: %d records %v", p, len(got), got)
		}
		if got := w.read(p, 37); len(got) != 63 || got[0] != fmt.Sprintf("r%d", 74+p) {
			t.Fatalf("partition %d from 37: %v", p, got)
		}
	}
	if s := w.log.Stats(); s.Moves == 0 || s.Failures != 0 || s.Flushes != 200 {
		t.Fatalf("stats %+v", s)
	}
}
