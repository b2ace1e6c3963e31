package collection

import (
	"context"
	"fmt"
	"math/rand"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/loamdb/loam/internal/clock"
	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
	"github.com/loamdb/loam/metastore"
	"github.com/loamdb/loam/storage/object"
	"github.com/loamdb/loam/storage/wal"
)

// docsObject is the collection of the tests: key, text, number, tags, vector.
func docsObject(partitions int) *schema.Object {
	return &schema.Object{
		Namespace: "public", Name: "docs", Kind: schema.Collection, Key: []int{0}, Partitions: partitions,
		Fields: []schema.Field{
			{ID: 1, Name: "id", Type: types.Of(types.Text)},
			{ID: 2, Name: "body", Type: types.Of(types.Text), FullText: "english"},
			{ID: 3, Name: "year", Type: types.Of(types.Int32)},
			{ID: 4, Name: "emb", Type: types.VectorOf(4), Metric: schema.L2},
		},
	}
}

// bench is a node over stores in memory.
type bench struct {
	t    testing.TB
	deps Deps
	obj  *schema.Object
	opt  Options
	c    *Collection
}

func newBench(t testing.TB, obj *schema.Object, opt Options) *bench {
	t.Helper()
	clk := clock.Real()
	ids := clock.RandomIDs(clk)
	store := object.NewMem()
	meta := metastore.NewMem(clk, ids, metastore.Options{})
	ctx := context.Background()
	if _, err := meta.CreateNamespace(ctx, obj.Namespace, nil); err != nil {
		t.Fatal(err)
	}
	row, err := meta.CreateObject(ctx, metastore.Object{Namespace: obj.Namespace, Name: obj.Name, Kind: string(obj.Kind), Partitions: obj.Partitions, Definition: []byte("{}")})
	if err != nil {
		t.Fatal(err)
	}
	obj.ID, obj.Incarnation, obj.SchemaVersion = row.ID, row.Incarnation, row.SchemaVersion
	log := wal.New(store, meta, clk, ids, wal.Options{})
	t.Cleanup(func() { _ = log.Close() })
	b := &bench{t: t, deps: Deps{Objects: store, Meta: meta, Log: log, IDs: ids, Clock: clk}, obj: obj, opt: opt}
	if err := Create(ctx, b.deps, obj); err != nil {
		t.Fatal(err)
	}
	b.open()
	return b
}

// open (re)starts the collection from what is stored.
func (b *bench) open() {
	b.t.Helper()
	c, err := Open(context.Background(), b.deps, b.obj, b.opt)
	if err != nil {
		b.t.Fatal(err)
	}
	b.c = c
}

func (b *bench) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) strong() *Snapshot {
	b.t.Helper()
	s, err := b.c.Strong(context.Background())
	b.must(err)
	return s
}

func testEnv() *expr.Env { return &expr.Env{Ctx: context.Background(), Now: time.Unix(0, 0)} }

// allCols are scan columns of every field and the key.
func allCols(obj *schema.Object) []plan.ScanColumn {
	var out []plan.ScanColumn
	id := expr.ColumnID(1)
	add := func(name string, t types.Type) {
		out = append(out, plan.ScanColumn{Column: plan.Column{ID: id, Name: name, Type: t}, Field: name})
		id++
	}
	for _, f := range obj.Fields {
		add(f.Name, f.Type)
	}
	for _, f := range schema.SystemColumns(obj.Kind) {
		if f.Name != string(schema.ColRowID) && f.Name != string(schema.ColIngestTS) {
			add(f.Name, f.Type)
		}
	}
	return out
}

// rowsOf renders all rows of a scan, sorted.
func rowsOf(t testing.TB, s *Snapshot, filter expr.Expr) []string {
	t.Helper()
	sc, err := s.Scan(testEnv(), &plan.Scan{Object: s.obj, Cols: allCols(s.obj), Filter: filter, Limit: plan.NoLimit})
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
			break
		}
		out = append(out, render(c)...)
	}
	sort.Strings(out)
	return out
}

func render(c *vec.Chunk) []string {
	var out []string
	for i := range c.Rows() {
		var b strings.Builder
		for _, col := range c.Cols {
			b.WriteString(col.Value(c.RowAt(i)).String() + " | ")
		}
		out = append(out, b.String())
	}
	return out
}

type doc struct {
	id, body string
	year     int
	emb      []float32
}

func (d doc) json() []byte {
	return []byte(fmt.Sprintf(`{"id":%q,"body":%q,"year":%d,"emb":[%v,%v,%v,%v]}`, d.id, d.body, d.year, d.emb[0], d.emb[1], d.emb[2], d.emb[3]))
}

var words = strings.Fields("river stone apple quick brown fox lazy dog engine query vector search green blue red light")

func randomDoc(r *rand.Rand, keys int) doc {
	d := doc{id: fmt.Sprintf("k%03d", r.Intn(keys)), year: 1990 + r.Intn(10)}
	var ws []string
	for range 1 + r.Intn(8) {
		ws = append(ws, words[r.Intn(len(words))])
	}
	d.body = strings.Join(ws, " ")
	for range 4 {
		d.emb = append(d.emb, float32(r.Intn(5))/2)
	}
	return d
}

// answers are all rankings and rows that must not depend on where rows lie.
func answers(t testing.TB, s *Snapshot) string {
	t.Helper()
	var b strings.Builder
	fmt.Fprintln(&b, "count", s.Count())
	cols := allCols(s.obj)
	year := cols[2].Ref()
	filter := &expr.Compare{Op: expr.Ge, Left: year, Right: &expr.Const{Value: vec.Int32(1995)}}
	for _, r := range rowsOf(t, s, nil) {
		fmt.Fprintln(&b, r)
	}
	for _, r := range rowsOf(t, s, filter) {
		fmt.Fprintln(&b, "filtered", r)
	}
	textLeg := plan.Leg{Kind: plan.TextLeg, Query: &expr.Const{Value: vec.Text("quick fox river stone")}, Limit: 20, Weight: 1}
	vecLeg := plan.Leg{Kind: plan.VectorLeg, Field: "emb", Metric: schema.L2, Query: &expr.Const{Value: vec.VectorValue([]float32{1, 0.5, 1, 2})}, Limit: 20, Weight: 1}
	searches := map[string]*plan.SearchScan{
		"a text":     {Legs: []plan.Leg{textLeg}, Limit: 15},
		"b vector":   {Legs: []plan.Leg{vecLeg}, Limit: 15},
		"c rrf":      {Legs: []plan.Leg{textLeg, vecLeg}, RRFK: 60, Limit: 10},
		"d filtered": {Legs: []plan.Leg{textLeg, vecLeg}, RRFK: 60, Limit: 10, Filter: filter},
		"e page":     {Legs: []plan.Leg{textLeg}, Limit: 5, Offset: 5},
	}
	if f, _ := s.obj.FieldByName("emb2", true); f != nil { // see withVectors
		added := plan.Leg{Kind: plan.VectorLeg, Field: f.Name, Metric: schema.L2, Query: &expr.Const{Value: vec.VectorValue([]float32{1, 0.5, 2})}, Limit: 20, Weight: 1}
		searches["f added"] = &plan.SearchScan{Legs: []plan.Leg{added}, Limit: 15, Filter: filter}
		searches["g fused"] = &plan.SearchScan{Legs: []plan.Leg{added, textLeg, vecLeg}, RRFK: 60, Limit: 15}
	}
	for name, n := range searches {
		n.Object, n.Cols = s.obj, cols
		n.Score = plan.Column{ID: 100, Name: "_score", Type: types.Of(types.Double)}
		search, err := s.Search(testEnv(), n)
		if err != nil {
			t.Fatal(err)
		}
		for {
			c, err := search.Next(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			if c == nil {
				break
			}
			for i, r := range render(c) {
				fmt.Fprintln(&b, name, i, r)
			}
		}
	}
	lines := strings.Split(b.String(), "\n")
	sort.Strings(lines)
	return strings.Join(lines, "\n")
}

// TestAnswersDoNotDependOnLayout applies one history of upserts and deletes to
// nodes that keep rows in the tail, apply, merge and restart at random, and
// compares every answer with the node that keeps all in the tail.
func TestAnswersDoNotDependOnLayout(t *testing.T) {
	for seed := range int64(8) {
		for _, partitions := range []int{1, 3} {
			t.Run(fmt.Sprintf("seed=%d/partitions=%d", seed, partitions), func(t *testing.T) {
				layoutRun(t, seed, partitions)
			})
		}
	}
}

func layoutRun(t *testing.T, seed int64, partitions int) {
	r := rand.New(rand.NewSource(seed))
	opt := Options{MaxSplits: 1 + r.Intn(4), MinFragment: someFragmentStays(r), MaxDeleted: r.Intn(50)}
	tailOnly := newBench(t, docsObject(partitions), opt)
	mixed := newBench(t, docsObject(partitions), opt)
	ctx := context.Background()
	keys := 30 + r.Intn(100)
	model := map[string]doc{}
	for step := range 25 {
		var docs [][]byte
		for range 1 + r.Intn(12) {
			d := randomDoc(r, keys)
			model[d.id] = d
			docs = append(docs, d.json())
		}
		var gone []string
		for range r.Intn(4) {
			id := fmt.Sprintf("k%03d", r.Intn(keys))
			delete(model, id)
			gone = append(gone, id)
		}
		for _, b := range []*bench{tailOnly, mixed} {
			rows, err := FromDocuments(b.obj, docs)
			b.must(err)
			_, err = b.c.Append(ctx, rows)
			b.must(err)
			if len(gone) > 0 {
				_, err = b.c.Append(ctx, DeleteKeys(b.obj, gone))
				b.must(err)
			}
		}
		switch r.Intn(5) {
		case 0, 1:
			mixed.must(mixed.c.Apply(ctx, nil))
		case 2:
			mixed.must(mixed.c.Merge(ctx, nil))
		case 3:
			mixed.open()
		}
		if step%5 == 4 {
			want, got := answers(t, tailOnly.strong()), answers(t, mixed.strong())
			if want != got {
				t.Fatalf("step %d: answers differ\n%s", step, firstDifference(want, got))
			}
			if n := mixed.strong().Count(); n != int64(len(model)) {
				t.Fatalf("step %d: %d rows, want %d", step, n, len(model))
			}
			mixed.checkParts(mixed.strong())
		}
	}
	mixed.must(mixed.c.Apply(ctx, nil))
	if want, got := answers(t, tailOnly.strong()), answers(t, mixed.strong()); want != got {
		t.Fatalf("after the last apply: answers differ\n%s", firstDifference(want, got))
	}
	mixed.open()
	if want, got := answers(t, tailOnly.strong()), answers(t, mixed.strong()); want != got {
		t.Fatalf("after the restart: answers differ\n%s", firstDifference(want, got))
	}
}

func firstDifference(a, b string) string {
	la, lb := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range min(len(la), len(lb)) {
		if la[i] != lb[i] {
			return fmt.Sprintf("want %s\ngot  %s", la[i], lb[i])
		}
	}
	return fmt.Sprintf("%d lines, want %d", len(lb), len(la))
}
