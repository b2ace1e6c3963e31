package collection

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
	"github.com/loamdb/loam/storage/lance"
)

// lanceManifest is the Lance version of the manifest in force.
func (b *bench) lanceManifest() *lance.Manifest {
	b.t.Helper()
	body, err := b.deps.Objects.Get(context.Background(), datasetOf(b.obj.ID)+lance.ManifestPath(b.c.st.manifest.LanceVersion))
	b.must(err)
	m, err := lance.DecodeManifest(body)
	b.must(err)
	return m
}

func lanceNames(fields []lance.Field) string {
	out := ""
	for _, f := range fields {
		out += fmt.Sprintf(" %s:%d", f.Name, f.ID)
	}
	return out[1:]
}

// A field keeps its Lance ids whatever is declared before or after it, and no other
// field ever has them.
func TestLanceIDsFollowFields(t *testing.T) {
	for _, c := range []struct {
		fields []schema.Field
		want   string
	}{
		{[]schema.Field{{ID: 4, Name: "emb", Type: types.VectorOf(4)}}, "emb:32"},
		{[]schema.Field{
			{ID: 9, Name: "sp", Type: types.Of(types.Sparse)}, {ID: 2, Name: "t", Type: types.Of(types.Text)},
			{ID: 4, Name: "emb", Type: types.VectorOf(4)}, {ID: 10, Name: "more", Type: types.VectorOf(2)},
		}, "sp:72 indices:73 item:74 values:75 item:76 emb:32 more:80"},
	} {
		fields, err := lanceFields(&schema.Object{Fields: c.fields})
		if err != nil {
			t.Fatal(err)
		}
		if got := lanceNames(fields); got != "_pk:0 _source:1 _ingest_partition:2 _ingest_offset:3 "+c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
}

// A vector column that is added gets its place in the Lance dataset by a commit of its
// own, though nothing waits. Fragments from before have no file with it.
func TestAddedVectorIsNamed(t *testing.T) {
	ctx := context.Background()
	b := newBench(t, docsObject(1), Options{})
	b.alter(withVectors(b.obj))
	if b.c.LanceBehind() || b.c.Due() {
		t.Error("an object without a version has something to name")
	}
	b = newBench(t, docsObject(1), Options{})
	_, err := b.c.Append(ctx, b.someRows(0, 3))
	b.must(err)
	b.must(b.c.Apply(ctx, nil))
	old := b.strong()
	first := b.lanceManifest()

	next := withVectors(b.obj)
	scalar := *next
	scalar.Fields = append(scalar.Fields[:4:4], schema.Field{ID: 5, Name: "lang", Type: types.Of(types.Text)})
	b.alter(&scalar)
	if b.c.LanceBehind() {
		t.Error("a column of documents waits for the Lance dataset")
	}
	next.SchemaVersion++
	b.alter(next)
	if !b.c.LanceBehind() || !b.c.Due() || !old.Lacks(&next.Fields[4]) || old.Lacks(&next.Fields[3]) || old.Lacks(&next.Fields[1]) {
		t.Error("the added columns do not wait")
	}
	b.must(b.c.Settle(ctx, nil))
	now := b.strong()
	if b.c.LanceBehind() || b.c.Due() || now.Lacks(&next.Fields[4]) || now.Version() != old.Version()+1 || now.Count() != 3 {
		t.Errorf("after the commit: version %d, %d rows", now.Version(), now.Count())
	}
	b.must(b.c.Settle(ctx, nil))
	if v := b.strong().Version(); v != now.Version() {
		t.Errorf("another commit of nothing: version %d", v)
	}
	named := b.lanceManifest()
	if got, want := lanceNames(named.Fields), lanceNames(first.Fields)+" emb2:40 sp:48 indices:49 item:50 values:51 item:52"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got, want := fmt.Sprint(named.Fragments), fmt.Sprint(first.Fragments); got != want {
		t.Errorf("fragments %s, want %s", got, want)
	}
	b.must(VerifyLance(ctx, b.deps.Objects, b.c.st.manifest))
}

// A node that has not heard of the ALTER commits the schema as it is, and never an
// older one.
func TestAnotherNodeKeepsTheAddedVector(t *testing.T) {
	ctx := context.Background()
	b := newBench(t, docsObject(1), Options{})
	newest := b.obj
	deps := b.deps
	deps.Describe = func(context.Context, uint64) (*schema.Object, error) { return newest, nil }
	other, err := Open(ctx, deps, b.obj, b.opt)
	b.must(err)
	_, err = other.Append(ctx, b.someRows(0, 3))
	b.must(err)
	b.must(b.c.Apply(ctx, nil))
	newest = withVectors(b.obj)
	b.alter(newest)
	b.must(b.c.Settle(ctx, nil))

	b2 := *b
	b2.c, b2.obj = other, other.Object()
	_, err = other.Append(ctx, b2.someRows(3, 1))
	b.must(err)
	b.must(other.Apply(ctx, nil))
	if b.strong(); b.c.LanceBehind() || len(b.lanceManifest().Fields) != 11 || b.c.st.manifest.SchemaVersion != newest.SchemaVersion {
		t.Errorf("after the other node's commit: %+v", b.c.st.manifest)
	}
}

// A node that has not heard of an ALTER keeps what was written under the new columns:
// when it patches other fields, and when it merges, into fragments that stay and into
// such as are rewritten.
func TestAnotherNodeKeepsAddedColumns(t *testing.T) {
	ctx := context.Background()
	for _, keep := range []int64{1, 0} {
		b := newBench(t, docsObject(1), Options{MaxSplits: 1, MinFragment: keep})
		other := *b
		newest := b.obj
		other.deps.Describe = func(context.Context, uint64) (*schema.Object, error) { return newest, nil }
		other.open()
		newest = withVectors(b.obj)
		newest.Fields = append(newest.Fields, schema.Field{ID: 7, Name: "lang", Type: types.Of(types.Text)})
		b.alter(newest)
		for i := range 2 {
			_, err := b.c.Append(ctx, b.someRows(10*i, 10))
			b.must(err)
			b.patchIf(someKeys(10*i, 10), map[string][]vec.Value{"emb2": vectors(10, 1, 2, float32(i))})
			b.must(b.c.Apply(ctx, nil))
		}
		before := answers(t, b.strong())
		b.must(other.c.Merge(ctx, nil))
		if got := answers(t, b.strong()); got != before || len(b.c.st.manifest.Segments) != 1 {
			t.Errorf("merged: %s", firstDifference(before, got))
		}
	}
	b := newBench(t, docsObject(1), Options{})
	other := *b
	newest := b.obj
	other.deps.Describe = func(context.Context, uint64) (*schema.Object, error) { return newest, nil }
	other.open()
	newest = withVectors(b.obj)
	b.alter(newest)
	_, err := b.c.Append(ctx, b.someRows(0, 10))
	b.must(err)
	b.patchIf(someKeys(0, 10), map[string][]vec.Value{"emb2": vectors(10, 1, 2, 3)})
	b.must(b.c.Apply(ctx, nil))
	emb := map[string][]vec.Value{"emb": vectors(5, 9, 9, 9, 9)}
	other.strong()
	other.obj = other.c.Object()
	other.patchIf(someKeys(0, 5), emb)
	want := answers(t, b.strong())
	other.must(other.c.Apply(ctx, nil))
	if got := answers(t, b.strong()); got != want || strings.Count(got, "[1, 2, 3]") < 10 {
		t.Errorf("patched: %s", firstDifference(want, got))
	}
}
