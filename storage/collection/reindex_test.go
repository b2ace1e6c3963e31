package collection

import (
	"context"
	"fmt"
	"math/rand"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/storage/lance"
	"github.com/loamdb/loam/storage/object"
)

// someFragmentStays is a size from which merges keep fragments: of all, of some, of none.
func someFragmentStays(r *rand.Rand) int64 { return []int64{1, 1, 3500, 0}[r.Intn(4)] }

// stored opens a snapshot's Lance dataset as another engine does, which knows nothing
// of splits, and returns its rows: row id and key.
func (b *bench) stored(s *Snapshot) []string {
	b.t.Helper()
	if s.manifest.LanceVersion == 0 {
		return nil
	}
	table, err := lance.OpenTable(context.Background(), lanceStore{b.deps.Objects, datasetKey(b.obj)}, lance.At{Version: s.manifest.LanceVersion})
	b.must(err)
	ids := slices.Sorted(slices.Values(s.Fragments())) // as Lance orders them
	if len(ids) != table.Fragments() {
		b.t.Fatalf("the dataset has %d fragments, the snapshot %d", table.Fragments(), len(ids))
	}
	var out []string
	for i, id := range ids {
		out = append(out, b.storedFragment(table, i, id)...)
	}
	sort.Strings(out)
	return out
}

func (b *bench) storedFragment(table *lance.Table, i int, id uint64) (out []string) {
	b.t.Helper()
	ctx := context.Background()
	pk := table.Schema().FieldIndices(string(schema.ColPK))
	f, err := table.OpenFragment(ctx, i, pk)
	b.must(err)
	defer func() { _ = f.Close() }()
	for row := range f.Rows() {
		rec, err := f.Read(ctx, row, 1)
		b.must(err)
		if rec.NumRows() == 1 {
			out = append(out, fmt.Sprint(int64(id)<<32+row, " ", rec.Column(0).ValueStr(0)))
		}
		rec.Release()
	}
	return out
}

// lanceStore lets the Lance room read a dataset in an object store.
type lanceStore struct {
	objects object.Store
	prefix  string
}

func (s lanceStore) Open(ctx context.Context, _, path string) (lance.StoredFile, error) {
	return s.objects.Open(ctx, s.prefix+path)
}

func (s lanceStore) List(context.Context, string) ([]string, error) { return nil, nil }

// rowIDs are the row ids and keys of a snapshot's rows.
func rowIDs(t testing.TB, s *Snapshot) []string {
	t.Helper()
	n := &plan.Scan{Object: s.obj, Limit: plan.NoLimit, Cols: []plan.ScanColumn{
		{Column: plan.Column{ID: 1, Name: "_rowid", Type: types.Of(types.Int64)}, Field: string(schema.ColRowID)},
		{Column: plan.Column{ID: 2, Name: "_pk", Type: types.Of(types.Text)}, Field: string(schema.ColPK)},
	}}
	sc, err := s.Scan(testEnv(), n)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for {
		c, err := sc.Next(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if c == nil {
			sort.Strings(out)
			return out
		}
		for i := range c.Rows() {
			at := c.RowAt(i)
			out = append(out, c.Cols[0].Value(at).String()+" "+c.Cols[1].Value(at).String())
		}
	}
}

// checkParts holds a snapshot against what it is cut into: the parts of its scan plan
// have the rows that they say and together all rows, and the Lance dataset of its
// version has the rows of the version without the tail.
func (b *bench) checkParts(s *Snapshot) {
	b.t.Helper()
	infos, err := s.FragmentInfos()
	b.must(err)
	var union []string
	for i, f := range infos {
		rows := rowsOf(b.t, s.Restrict([]uint64{f.ID}, false), nil)
		if len(rows) != f.Live || f.Physical-f.Deleted-int(f.Superseded.GetCardinality()) != f.Live || f.Deleted == f.Physical {
			b.t.Fatalf("fragment %d has %d rows: %+v", f.ID, len(rows), f)
		}
		if id := s.Fragments()[i]; id != f.ID {
			b.t.Fatalf("fragment %d of the plan is %d, of the snapshot %d", i, f.ID, id)
		}
		union = append(union, rows...)
	}
	union = append(union, rowsOf(b.t, s.Restrict(nil, true), nil)...)
	sort.Strings(union)
	if all := rowsOf(b.t, s, nil); !slices.Equal(union, all) {
		b.t.Fatalf("the parts have %d rows, the snapshot %d", len(union), len(all))
	}
	bare, err := b.c.Pinned(context.Background(), s.Version(), s.Applied())
	b.must(err)
	if got, want := rowIDs(b.t, bare), b.stored(bare); !slices.Equal(got, want) {
		b.t.Fatalf("version %d: %d rows, the Lance dataset has %d\n%s", s.Version(), len(got), len(want), firstDifference(strings.Join(want, "\n"), strings.Join(got, "\n")))
	}
}

// verify reads all that the newest version refers to as fsck does.
func (b *bench) verify() {
	b.t.Helper()
	ctx := context.Background()
	m := b.strong().manifest
	if m.Version == 0 {
		return
	}
	for _, o := range m.Objects() {
		b.must(VerifyStored(ctx, b.deps.Objects, o))
		switch o.Kind {
		case SplitObject:
			b.must(VerifySplit(ctx, b.deps.Objects, m, &m.Segments[o.Segment]))
		case DataObject:
			b.must(VerifyData(ctx, b.deps.Objects, m, o))
		case DeletionObject:
			b.must(VerifyDeletion(ctx, b.deps.Objects, &m.Segments[o.Segment].Fragments[o.Fragment]))
		case LanceObject:
			b.must(VerifyLance(ctx, b.deps.Objects, m))
		}
	}
}

// createdStore counts the data files that are created.
type createdStore struct {
	object.Store
	data int
}

func (s *createdStore) Create(ctx context.Context, key string) (object.Writer, error) {
	if strings.HasSuffix(key, ".lance") {
		s.data++
	}
	return s.Store.Create(ctx, key)
}

// TestAMergeLeavesFragments: fragments that are large enough keep their files; their
// rows keep their row ids, the deletions go on, and older versions stay what they were.
func TestAMergeLeavesFragments(t *testing.T) {
	ctx := context.Background()
	tail := newBench(t, docsObject(1), Options{})
	b := newBench(t, docsObject(1), Options{MaxSplits: 1, MinFragment: 1})
	created := &createdStore{Store: b.deps.Objects}
	b.deps.Objects = created
	b.open()
	write := func(from, n int) {
		for _, x := range []*bench{tail, b} {
			_, err := x.c.Append(ctx, x.someRows(from, n))
			x.must(err)
		}
		b.must(b.c.Apply(ctx, nil))
	}
	write(0, 1500)
	write(1500, 100)
	before := rowIDs(t, b.strong())
	b.must(b.c.Merge(ctx, nil))
	s := b.strong()
	if got := rowIDs(t, s); !slices.Equal(got, before) || created.data != 2 || len(s.manifest.Segments) != 1 || s.manifest.NextFragment != 2 {
		t.Fatalf("%d data files, %+v, row ids changed: %t", created.data, s.manifest.Segments, !slices.Equal(got, before))
	}
	b.checkParts(s)
	b.verify()

	// Half of the second fragment is replaced, in the tail first: it is rewritten, the
	// first one stays.
	for _, x := range []*bench{tail, b} {
		_, err := x.c.Append(ctx, x.someRows(1550, 60))
		x.must(err)
	}
	b.checkParts(b.strong())
	if want, got := answers(t, tail.strong()), answers(t, b.strong()); want != got {
		t.Fatal(firstDifference(want, got))
	}
	b.must(b.c.Apply(ctx, nil))
	b.checkParts(b.strong())
	b.must(b.c.Merge(ctx, nil))
	s = b.strong()
	if ids := s.manifest.Segments[0].ids(); len(s.manifest.Segments) != 1 || !slices.Equal(ids, []uint64{0, 2, 3}) {
		t.Fatalf("%+v", s.manifest.Segments)
	}
	b.checkParts(s)
	b.verify()

	// A whole fragment is deleted: it stays in its split and is in no plan.
	var keys []string
	for _, r := range rowsOf(t, s.Restrict([]uint64{2}, false), nil) {
		id, _, _ := strings.Cut(r, " | ")
		keys = append(keys, id)
	}
	for _, x := range []*bench{tail, b} {
		_, err := x.c.Append(ctx, DeleteKeys(x.obj, keys))
		x.must(err)
	}
	b.must(b.c.Apply(ctx, nil))
	s = b.strong()
	if f := s.Fragments(); slices.Contains(f, 2) || len(s.manifest.Segments[0].Fragments) != 3 {
		t.Fatalf("fragments %v, %+v", f, s.manifest.Segments)
	}
	b.open()
	s = b.strong()
	b.checkParts(s)
	b.verify()
	if want, got := answers(t, tail.strong()), answers(t, s); want != got {
		t.Fatal(firstDifference(want, got))
	}
	old, err := b.c.Version(ctx, 2)
	b.must(err)
	if got := rowIDs(t, old); !slices.Equal(got, before) {
		t.Errorf("version 2 has other rows than when it was made: %d", len(got))
	}
}

// TestAPatchBesideAMerge: a split that was made anew while a merge read it, because a
// file of its fragment replaced some columns, is a conflict: the merge has the columns
// from before.
func TestAPatchBesideAMerge(t *testing.T) {
	ctx := context.Background()
	b := newBench(t, docsObject(1), Options{MaxSplits: 1})
	for i := range 2 {
		_, err := b.c.Append(ctx, b.someRows(10*i, 10))
		b.must(err)
		b.must(b.c.Apply(ctx, nil))
	}
	st := b.c.st
	m, err := b.c.rewrite(ctx, st, []int{0, 1})
	b.must(err)
	anew, err := b.c.buildSegment(ctx, b.obj, []rowSource{{
		view: &view{obj: b.obj, part: st.splits[0], excluded: emptyBitmap, deleted: st.deleted[0]},
		kept: st.manifest.Segments[0].Fragments, files: st.splits[0].bundle.table.Files,
	}}, 99)
	b.must(err)
	if anew.SplitKey == st.manifest.Segments[0].SplitKey || anew.first() != 0 || len(anew.Fragments) != 1 {
		t.Fatalf("%+v", anew)
	}
	segments := slices.Clone(st.manifest.Segments)
	segments[0] = *anew
	ch := &change{base: st, applied: st.manifest.Applied, nextFrag: st.manifest.NextFragment, segments: segments, deleted: st.deleted}
	b.must(b.c.commit(ctx, ch, nil))
	if _, err := m.onto(b.c.st); !fail.Is(err, fail.Conflict) {
		t.Errorf("the merge is not told: %v", err)
	}
	b.checkParts(b.strong())
	b.verify()
}

// TestRowsThatDoNotFitTheirFragments: an index over whole fragments leaves out whole
// fragments only.
func TestRowsThatDoNotFitTheirFragments(t *testing.T) {
	ctx := context.Background()
	b := newBench(t, docsObject(1), Options{})
	_, err := b.c.Append(ctx, b.someRows(0, 10))
	b.must(err)
	b.must(b.c.Apply(ctx, nil))
	st := b.c.st
	one := emptyBitmap.Clone()
	one.Add(3)
	whole := rowSource{view: &view{obj: b.obj, part: st.splits[0], excluded: emptyBitmap, deleted: emptyBitmap}, kept: st.manifest.Segments[0].Fragments}
	short := rowSource{view: &view{obj: b.obj, part: st.splits[0], excluded: one}, kept: whole.kept}
	fresh := rowSource{view: whole.view}
	for what, sources := range map[string][]rowSource{"a row is left out": {short}, "a new fragment comes first": {fresh, whole}} {
		if _, err := b.c.buildSegment(ctx, b.obj, sources, 1); !fail.Is(err, fail.Internal) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestPiecesOfAColumn: a chunk over several fragments, some without the column.
func TestPiecesOfAColumn(t *testing.T) {
	ctx := context.Background()
	b := newBench(t, docsObject(1), Options{MaxSplits: 1, MinFragment: 1})
	for i := range 5 {
		_, err := b.c.Append(ctx, b.someRows(700*i, 700))
		b.must(err)
		b.must(b.c.Apply(ctx, nil))
	}
	b.must(b.c.Merge(ctx, nil))
	s := b.c.st.splits[0]
	if len(b.c.st.splits) != 1 || len(s.frags) != 5 {
		t.Fatalf("%d splits", len(b.c.st.splits))
	}
	emb := fieldRef(b.obj, 3)
	s.frags[1].files, s.frags[4].files = nil, nil // as if the field had come later
	var rows []uint32
	for r := range uint32(3500) {
		if r%7 == 0 {
			rows = append(rows, r)
		}
	}
	all, err := s.takeLance(ctx, emb, rows)
	b.must(err)
	for chunk := range chunksOf(3500) {
		v, err := s.column(ctx, emb, chunk)
		b.must(err)
		for i := range v.N {
			row := chunk*2048 + i
			f := s.fragmentOf(row)
			if lacks := f == 1 || f == 4; v.IsNull(i) != lacks {
				t.Fatalf("row %d of fragment %d: NULL %t", row, f, v.IsNull(i))
			}
			if row%7 == 0 && all.Value(row/7).String() != v.Value(i).String() {
				t.Fatalf("row %d: %s, taken alone %s", row, v.Value(i), all.Value(row/7))
			}
		}
	}
	for i := range s.frags {
		s.frags[i].files = nil
	}
	s.forget()
	for _, read := range []func() (any, error){
		func() (any, error) { return s.readLance(ctx, emb, 0, 2000) },
		func() (any, error) { return s.takeLance(ctx, emb, rows) },
	} {
		if v, err := read(); err != nil || fmt.Sprint(v) != "<nil>" {
			t.Errorf("no fragment has it: %v %v", v, err)
		}
	}
}
