package collection

import (
	"context"
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"testing"

	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
	"github.com/loamdb/loam/storage/lance"
)

// withVectors is the object after ALTER … ADD of two vector columns.
func withVectors(obj *schema.Object) *schema.Object {
	next := *obj
	next.SchemaVersion++
	next.Fields = append(slices.Clone(obj.Fields),
		schema.Field{ID: 5, Name: "emb2", Type: types.VectorOf(3), Metric: schema.L2},
		schema.Field{ID: 6, Name: "sp", Type: types.Of(types.Sparse)})
	return &next
}

// alter gives the collection another description, as ALTER does.
func (b *bench) alter(obj *schema.Object) {
	b.obj = obj
	b.c.SetObject(obj)
}

// patched gives the keys the values of some fields, by name.
func (b *bench) patched(keys []string, values map[string][]vec.Value) *Rows {
	b.t.Helper()
	cols := make([]*vec.Vector, len(b.obj.Fields))
	for i, f := range b.obj.Fields {
		if list := values[f.Name]; list != nil {
			cols[i] = vec.New(f.Type, len(list))
			for _, v := range list {
				cols[i].Append(v)
			}
		}
	}
	rows, err := b.strong().Patch(context.Background(), keys, cols)
	b.must(err)
	return rows
}

func randomVector(r *rand.Rand, t types.Type) vec.Value {
	if r.Intn(8) == 0 {
		return vec.Null(t)
	}
	if t.Kind == types.Sparse {
		return vec.Value{Type: t, Sparse: vec.SparseRow{Indices: []uint32{uint32(r.Intn(50)), 90}, Values: []float32{0.5, float32(r.Intn(9))}}}
	}
	v := vec.Value{Type: t}
	for range t.Dim {
		v.Vec = append(v.Vec, float32(r.Intn(5))/2)
	}
	return v
}

// TestPatchesDoNotDependOnLayout applies one history of upserts, deletes and patches,
// some of all rows, with an ALTER in its midst, to a node that keeps all in the tail
// and to one that applies, merges and restarts at random. Every answer is the same,
// what a Lance client reads of the files too, and what was pinned on the way stays as
// it was.
func TestPatchesDoNotDependOnLayout(t *testing.T) {
	stayed, several := 0, 0
	for seed := range int64(8) {
		for _, partitions := range []int{1, 3} {
			t.Run(fmt.Sprintf("seed=%d/partitions=%d", seed, partitions), func(t *testing.T) {
				p := &patchRun{t: t, r: rand.New(rand.NewSource(seed)), live: map[string]bool{}}
				opt := Options{MaxSplits: 3, MinFragment: someFragmentStays(p.r)}
				p.tail, p.mixed = newBench(t, docsObject(partitions), opt), newBench(t, docsObject(partitions), opt)
				p.run()
				stayed, several = stayed+p.stayed, several+p.several
			})
		}
	}
	if stayed < 20 || several < 5 {
		t.Errorf("rows stayed in place %d times, in segments of several fragments %d times: too few to prove anything", stayed, several)
	}
}

type patchRun struct {
	t           *testing.T
	r           *rand.Rand
	tail, mixed *bench
	live        map[string]bool
	past        []pastAnswer
	// stayed counts applies that gave a fragment another file, several those of them
	// to a segment of several fragments.
	stayed, several int
}

// pastAnswer is what a version of the mixed node had to say.
type pastAnswer struct {
	version uint64
	rows    string
}

func (p *patchRun) run() {
	for step := range 40 {
		if step == 12 {
			next := withVectors(p.tail.obj)
			p.tail.alter(next)
			after := withVectors(p.mixed.obj)
			p.mixed.alter(after)
			p.past = nil // they have other columns now
		}
		p.write()
		p.move()
		if step%4 == 3 {
			p.compare(fmt.Sprint("step ", step))
		}
	}
	p.mixed.must(p.mixed.c.Apply(context.Background(), nil))
	p.compare("after the last apply")
	p.mixed.open()
	p.compare("after a restart")
}

// write appends the same rows to both.
func (p *patchRun) write() {
	ctx := context.Background()
	switch p.r.Intn(4) {
	case 0:
		var docs [][]byte
		for range 1 + p.r.Intn(20) {
			d := randomDoc(p.r, 60)
			p.live[d.id] = true
			docs = append(docs, d.json())
		}
		for _, b := range []*bench{p.tail, p.mixed} {
			rows, err := FromDocuments(b.obj, docs)
			b.must(err)
			_, err = b.c.Append(ctx, rows)
			b.must(err)
		}
	case 1:
		keys := p.some(1 + p.r.Intn(4))
		for _, k := range keys {
			delete(p.live, k)
		}
		for _, b := range []*bench{p.tail, p.mixed} {
			_, err := b.c.Append(ctx, DeleteKeys(b.obj, keys))
			b.must(err)
		}
	default:
		p.patch()
	}
}

// patch changes fields of some documents, mostly vectors alone.
func (p *patchRun) patch() {
	keys := p.some([]int{2, 10, 1000}[p.r.Intn(3)])
	if len(keys) == 0 {
		return
	}
	values := map[string][]vec.Value{}
	for _, f := range p.tail.obj.Fields {
		vector := f.Type.Kind == types.Vector || f.Type.Kind == types.Sparse
		if !vector && (f.Name != "year" || p.r.Intn(6) > 0) || vector && p.r.Intn(2) == 0 {
			continue
		}
		for range keys {
			if vector {
				values[f.Name] = append(values[f.Name], randomVector(p.r, f.Type))
			} else {
				values[f.Name] = append(values[f.Name], vec.Int32(int32(p.r.Intn(3000))))
			}
		}
	}
	for _, b := range []*bench{p.tail, p.mixed} {
		_, err := b.c.AppendIf(context.Background(), b.patched(keys, values), b.strong())
		b.must(err)
	}
}

// some are up to n keys that are there.
func (p *patchRun) some(n int) []string {
	var all []string
	for k := range p.live {
		all = append(all, k)
	}
	slices.Sort(all)
	p.r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all[:min(n, len(all))]
}

// move changes where the rows of the mixed node lie, and pins what it has then.
func (p *patchRun) move() {
	ctx := context.Background()
	switch p.r.Intn(5) {
	case 0, 1:
		p.apply()
	case 2:
		p.mixed.must(p.mixed.c.Merge(ctx, nil))
	case 3:
		p.mixed.open()
	}
	if v := p.mixed.strong().Version(); v > 0 && p.r.Intn(3) == 0 {
		snap, err := p.mixed.c.Version(ctx, v)
		p.mixed.must(err)
		p.past = append(p.past, pastAnswer{v, answers(p.t, snap)})
	}
}

// apply counts what stays in place.
func (p *patchRun) apply() {
	p.t.Helper()
	before := map[string]bool{}
	for _, s := range p.mixed.c.st.manifest.Segments {
		before[s.SplitKey] = true
	}
	p.mixed.must(p.mixed.c.Apply(context.Background(), nil))
	for _, s := range p.mixed.c.st.manifest.Segments {
		if before[s.SplitKey] || !slices.ContainsFunc(s.Fragments, func(f Fragment) bool { return len(f.Files) > 1 }) {
			continue
		}
		p.stayed++
		if len(s.Fragments) > 1 {
			p.several++
		}
	}
}

// files compares what a Lance client reads with the snapshot without its tail.
func (p *patchRun) files(when string) {
	p.t.Helper()
	b, ctx := p.mixed, context.Background()
	version := b.strong().Version()
	if version == 0 || b.c.LanceBehind() {
		return
	}
	snap, err := b.c.Version(ctx, version)
	b.must(err)
	n := &plan.Scan{Object: snap.obj, Limit: plan.NoLimit}
	for i, ref := range lanceRefs(snap.obj) {
		n.Cols = append(n.Cols, plan.ScanColumn{Column: plan.Column{ID: expr.ColumnID(i + 1), Name: ref.name, Type: ref.t}, Field: ref.name})
	}
	scan, err := snap.Scan(testEnv(), n)
	b.must(err)
	var want []string
	for c, err := scan.Next(ctx); c != nil; c, err = scan.Next(ctx) {
		b.must(err)
		want = append(want, render(c)...)
	}
	table, err := lance.OpenTable(ctx, lanceStore{b.deps.Objects, datasetKey(b.obj)}, lance.At{Version: snap.manifest.LanceVersion})
	b.must(err)
	var got []string
	for i := range table.Fragments() {
		got = append(got, p.fragment(table, i, lanceRefs(snap.obj))...)
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		p.t.Fatalf("%s: the files differ from the rows\n%s", when, firstDifference(strings.Join(want, "\n"), strings.Join(got, "\n")))
	}
	for i := range snap.manifest.Segments {
		b.must(VerifySplit(ctx, b.deps.Objects, snap.manifest, &snap.manifest.Segments[i]))
	}
	for _, o := range snap.manifest.Objects() {
		if o.Kind == DataObject {
			b.must(VerifyData(ctx, b.deps.Objects, snap.manifest, o))
		}
	}
	b.must(VerifyLance(ctx, b.deps.Objects, snap.manifest))
}

func (p *patchRun) fragment(table *lance.Table, i int, refs []colRef) []string {
	p.t.Helper()
	var columns []int
	for _, ref := range refs {
		columns = append(columns, table.Schema().FieldIndices(ref.name)...)
	}
	f, err := table.OpenFragment(context.Background(), i, columns)
	p.mixed.must(err)
	defer func() { _ = f.Close() }()
	rec, err := f.Read(context.Background(), 0, f.Rows())
	p.mixed.must(err)
	defer rec.Release()
	c := &vec.Chunk{N: int(rec.NumRows())}
	for k, ref := range refs {
		v, err := vec.FromArrow(rec.Column(k), ref.t)
		p.mixed.must(err)
		c.Cols = append(c.Cols, v)
	}
	return render(c)
}

func (p *patchRun) compare(when string) {
	p.t.Helper()
	if want, got := answers(p.t, p.tail.strong()), answers(p.t, p.mixed.strong()); want != got {
		p.t.Fatalf("%s: answers differ\n%s", when, firstDifference(want, got))
	}
	p.files(when)
	for _, past := range p.past {
		snap, err := p.mixed.c.Version(context.Background(), past.version)
		p.mixed.must(err)
		if got := answers(p.t, snap); got != past.rows {
			p.t.Fatalf("%s: version %d has changed\n%s", when, past.version, firstDifference(past.rows, got))
		}
	}
}
