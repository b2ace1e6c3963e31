package collection

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"testing"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/metastore"
	"github.com/loamdb/loam/storage/wal"
)

// A link's batch is readable at once in both of its objects; apply keeps how far
// the link had got, and a merge does not lose it.
func TestLinkedRows(t *testing.T) {
	ctx := context.Background()
	b := newBench(t, docsObject(2), Options{})
	row, err := b.deps.Meta.CreateObject(ctx, metastore.Object{Namespace: "public", Name: "dead", Kind: "collection", Partitions: 1, Definition: []byte("{}")})
	b.must(err)
	deadObj := docsObject(1)
	deadObj.ID, deadObj.Name, deadObj.Incarnation, deadObj.SchemaVersion = row.ID, "dead", row.Incarnation, row.SchemaVersion
	b.must(Create(ctx, b.deps, deadObj))
	dead, err := Open(ctx, b.deps, deadObj, Options{})
	b.must(err)
	link, err := b.deps.Meta.CreateObject(ctx, metastore.Object{Namespace: "public", Name: "l", Kind: "link"})
	b.must(err)

	docs := func(from, to int) *Rows {
		var list [][]byte
		for i := from; i < to; i++ {
			list = append(list, fmt.Appendf(nil, `{"id":"d%d","year":%d}`, i, i))
		}
		rows, err := FromDocuments(b.obj, list)
		b.must(err)
		return rows
	}
	advance := func(expect []uint64, next uint64) *metastore.Advance {
		return &metastore.Advance{Target: b.obj.ID, Link: link.ID, LinkVersion: 1, Expect: expect, Next: []uint64{next}, Batch: b.deps.IDs.ULID()}
	}
	first := advance(nil, 12)
	b.must(AppendLinked(ctx, b.deps.Log, []Linked{{b.c, docs(0, 10)}, {dead, docs(100, 102)}}, first))
	deadRows := func() int64 {
		s, err := dead.Strong(ctx)
		b.must(err)
		return s.Count()
	}
	if n, d := b.strong().Count(), deadRows(); n != 10 || d != 2 {
		t.Fatalf("%d rows and %d dead letters", n, d)
	}
	// Refused as a whole.
	err = AppendLinked(ctx, b.deps.Log, []Linked{{b.c, docs(10, 20)}, {dead, docs(102, 103)}}, advance(nil, 13))
	if !fail.Is(err, fail.Conflict) || !errors.Is(err, metastore.ErrLinkMoved) {
		t.Fatal(err)
	}
	if n, d := b.strong().Count(), deadRows(); n != 10 || d != 2 {
		t.Fatalf("%d rows and %d dead letters", n, d)
	}
	b.must(b.c.Apply(ctx, nil))
	want := []SourceUpto{{Link: link.ID, Batch: first.Batch, Offsets: []uint64{12}}}
	if got := b.c.st.manifest.Sources; !reflect.DeepEqual(got, want) {
		t.Fatalf("%+v", got)
	}
	b.open()
	for i := range 12 {
		b.must(AppendLinked(ctx, b.deps.Log, []Linked{{b.c, docs(20+i, 21+i)}}, advance(b.offsets(), 13)))
		b.must(b.c.Apply(ctx, nil))
	}
	version := b.c.st.manifest.Version
	b.must(b.c.Merge(ctx, nil))
	if m := b.c.st.manifest; m.Version == version || len(m.Sources) != 1 || m.Sources[0].Offsets[0] != 13 {
		t.Fatalf("version %d after %d, %+v", m.Version, version, m.Sources)
	}
	// A batch without rows moves the link alone.
	b.must(AppendLinked(ctx, b.deps.Log, nil, advance(b.offsets(), 20)))
	if got := b.offsets(); got[0] != 20 {
		t.Fatal(got)
	}
}

// offsets are those of the only link into the bench's object.
func (b *bench) offsets() []uint64 {
	snap, err := b.deps.Meta.Snapshot(context.Background(), []uint64{b.obj.ID})
	b.must(err)
	return snap.Objects[0].Progress[0].Offsets
}

func TestLinkedBatchHasALimit(t *testing.T) {
	b := newBench(t, docsObject(1), Options{})
	big := &Rows{Keys: []string{"a"}, Delete: []bool{false}, Sources: [][]byte{make([]byte, wal.MaxAppendBytes+1)}}
	big.Cols = newColumns(b.obj, 1)
	for _, c := range big.Cols {
		c.AppendNull()
	}
	err := AppendLinked(context.Background(), b.deps.Log, []Linked{{b.c, big}}, &metastore.Advance{})
	if !fail.Is(err, fail.TooLarge) {
		t.Fatal(err)
	}
}
