package metastore

import (
	"context"
	"testing"
	"time"

	"github.com/loamdb/loam/internal/clock"
	"github.com/loamdb/loam/internal/fail"
)

// Two nodes share rows as they share a cluster: what comes between the reads and
// the write of a transaction is seen, and one node's end is not the other's.
func TestNodesShareRows(t *testing.T) {
	rows, clk := NewMemRows(), clock.NewManual(start)
	faults := &Faults{}
	a := must(rows.Open(ctx, clk, clock.SeededIDs(clk, 1), Options{Faults: faults}))(t)
	b := must(rows.Open(ctx, clk, clock.SeededIDs(clk, 2), Options{}))(t)
	if x, y := must(a.Info(ctx))(t), must(b.Info(ctx))(t); x != y {
		t.Fatalf("%+v and %+v", x, y)
	}
	must(a.CreateNamespace(ctx, "public", nil))(t)
	o := must(a.CreateObject(ctx, Object{Namespace: "public", Name: "docs", Kind: "collection", Partitions: 1}))(t)
	ids := clock.SeededIDs(clk, 3)
	block := func() []AppendBlock {
		return []AppendBlock{{ObjectID: o.ID, Incarnation: o.Incarnation, Records: 2, Bytes: 1, WALKey: "wal/20260102/" + ids.ULID() + ".lwal", Len: 1}}
	}
	n := 0
	faults.Between(func(_ context.Context, op string) {
		if n++; op == "append" && n <= 2 { // the other node is faster, twice
			must(b.Append(ctx, block()))(t)
		}
	})
	if res := must(a.Append(ctx, block()))(t); res[0].Err != nil || res[0].Base != 4 || n != 3 {
		t.Fatalf("%+v after %d tries", res, n)
	}
	faults.Between(nil)
	l := must(a.AcquireLease(ctx, "task", "a", time.Minute))(t)
	if _, err := b.AcquireLease(ctx, "task", "b", time.Minute); !fail.Is(err, fail.Locked) {
		t.Fatal(err)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	if err := a.ReleaseLease(ctx, l); !fail.Is(err, fail.Unavailable) {
		t.Fatal(err)
	}
	if _, err := a.Now(ctx); !fail.Is(err, fail.Unavailable) {
		t.Fatal(err)
	}
	clk.Advance(2 * time.Minute)
	if next := must(b.AcquireLease(ctx, "task", "b", time.Minute))(t); next.Epoch <= l.Epoch {
		t.Fatalf("%+v after %+v", next, l)
	}
}
