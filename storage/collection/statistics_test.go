package collection

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand"
	"strings"
	"testing"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/storage/internal/column"
	"github.com/loamdb/loam/storage/internal/sketch"
	"github.com/loamdb/loam/storage/object"
)

// putDocs appends documents of the keys [from, to) with values of the number.
func putDocs(b *bench, from, to int, values func(i int) string) {
	b.t.Helper()
	var docs [][]byte
	for i := from; i < to; i++ {
		docs = append(docs, fmt.Appendf(nil, `{"id": "k%05d"%s}`, i, values(i)))
	}
	rows, err := FromDocuments(b.c.Object(), docs)
	b.must(err)
	_, err = b.c.Append(context.Background(), rows)
	b.must(err)
}

// statisticsText draws what is known, field by field.
func statisticsText(b *bench) string {
	st, err := b.c.Statistics(context.Background())
	b.must(err)
	out := fmt.Sprintf("%d rows", st.Rows)
	for _, f := range b.c.Object().Fields {
		if k, ok := st.Fields[f.ID]; ok {
			out += fmt.Sprintf("; %s %.0f distinct, %.2f null, %s to %s", f.Name, k.Distinct, k.Nulls, k.Min, k.Max)
		}
	}
	return out
}

// TestStatisticsOfAHistory follows one collection: what is in the tail, in splits,
// deleted, merged, of a field that came later, and after a restart.
func TestStatisticsOfAHistory(t *testing.T) {
	ctx := context.Background()
	b := newBench(t, docsObject(1), Options{MaxSplits: 100})
	check := func(when, want string) {
		t.Helper()
		if got := statisticsText(b); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", when, got, want)
		}
	}
	check("empty", "0 rows")
	years := func(i int) string {
		if i%4 == 0 {
			return ""
		}
		return fmt.Sprintf(`, "year": %d, "body": "b"`, 1990+i%10)
	}
	putDocs(b, 0, 100, years)
	check("in the tail", "100 rows")
	b.must(b.c.Apply(ctx, nil))
	one := "100 rows; id 95 distinct, 0.00 null, k00000 to k00099; body 1 distinct, 0.25 null, b to b; year 10 distinct, 0.25 null, 1990 to 1999"
	check("in a split", one)
	putDocs(b, 100, 200, func(i int) string { return `, "year": 2024, "body": "z"` })
	check("more in the tail", strings.Replace(one, "100 rows", "200 rows", 1))
	b.open()
	check("that nobody has read since a restart", strings.Replace(one, "100 rows", "200 rows", 1))
	b.must(b.c.Apply(ctx, nil))
	two := "200 rows; id 194 distinct, 0.00 null, k00000 to k00199; body 2 distinct, 0.12 null, b to z; year 11 distinct, 0.12 null, 1990 to 2024"
	check("in two splits", two)
	b.open()
	check("after a restart", two)
	_, err := b.c.Append(ctx, DeleteKeys(b.obj, []string{"k00199", "k00198"}))
	b.must(err)
	b.must(b.c.Apply(ctx, nil))
	check("deleted rows count in fields", strings.Replace(two, "200 rows", "198 rows", 1))

	next := *b.obj
	next.Fields = append(next.Fields[:len(next.Fields):len(next.Fields)], schema.Field{ID: 5, Name: "lang", Type: types.Of(types.Text)})
	next.SchemaVersion++
	b.c.SetObject(&next)
	putDocs(b, 200, 400, func(int) string { return `, "lang": "de", "year": 2024, "body": "z"` })
	b.must(b.c.Apply(ctx, nil))
	late := "398 rows; id 396 distinct, 0.00 null, k00000 to k00399; body 2 distinct, 0.06 null, b to z; year 11 distinct, 0.06 null, 1990 to 2024; lang 1 distinct, 0.50 null, de to de"
	check("a field that came later", late)
	b.c.opt.MaxSplits = 1
	for b.c.NeedsMerge() {
		b.must(b.c.Merge(ctx, nil))
	}
	if n := len(b.c.st.splits); n != 1 {
		t.Fatalf("%d splits", n)
	}
	check("merged", strings.Replace(late, "396", "395", 1))
}

// TestStatisticsHold compares them with the rows of the splits, deleted ones too,
// over random histories of all that makes and joins splits.
func TestStatisticsHold(t *testing.T) {
	ctx := context.Background()
	for seed := range int64(12) {
		r := rand.New(rand.NewSource(seed))
		b := newBench(t, docsObject(1+int(seed%2)), Options{MaxSplits: 1 + r.Intn(4)})
		model := map[string]doc{}
		for range 25 {
			switch r.Intn(6) {
			case 0, 1, 2:
				writeBoth(r, 150, model, b)
			case 3:
				b.must(b.c.Apply(ctx, nil))
			case 4:
				b.must(b.c.Merge(ctx, nil))
			default:
				b.open()
			}
			compareStatistics(t, b)
		}
	}
}

func compareStatistics(t *testing.T, b *bench) {
	t.Helper()
	st, err := b.c.Statistics(context.Background())
	b.must(err)
	for i := range b.obj.Fields {
		ref := fieldRef(b.obj, i)
		got, ok := st.Fields[ref.id]
		if ok != (len(b.c.st.splits) > 0 && !ref.wide()) {
			t.Fatalf("%s is known: %t", ref.name, ok)
		}
		if !ok {
			continue
		}
		rows, nulls, values := 0, 0, map[string]bool{}
		for _, s := range b.c.st.splits {
			rows += s.rows()
			for chunk := range chunksOf(s.rows()) {
				v, err := s.column(context.Background(), ref, chunk)
				b.must(err)
				for k := range v.N {
					x := v.Value(k)
					if x.Null {
						nulls++
						continue
					}
					values[x.String()] = true
					if got.Min.Null || column.Less(x, got.Min) || column.Less(got.Max, x) {
						t.Fatalf("%s: %s lies outside of [%s, %s]", ref.name, x, got.Min, got.Max)
					}
				}
			}
		}
		if want := float64(nulls) / float64(rows); got.Nulls != want {
			t.Fatalf("%s: %g NULL, want %g", ref.name, got.Nulls, want)
		}
		if n := float64(len(values)); math.Abs(got.Distinct-n) > 1+5*sketch.RelativeError*n {
			t.Fatalf("%s: %g distinct, want %g", ref.name, got.Distinct, n)
		}
	}
}

// TestManyFields: of more fields than there are sketches for, the others have
// bounds and NULLs all the same.
func TestManyFields(t *testing.T) {
	obj := docsObject(1)
	for i := range 2 * maxSketches {
		obj.Fields = append(obj.Fields, schema.Field{ID: int32(10 + i), Name: fmt.Sprint("n", i), Type: types.Of(types.Int64)})
		obj.LastField = int32(10 + i)
	}
	b := newBench(t, obj, Options{})
	putDocs(b, 0, 3, func(i int) string { return fmt.Sprintf(`, "n0": %d, "n127": %d`, i, i) })
	b.must(b.c.Apply(context.Background(), nil))
	st, err := b.c.Statistics(context.Background())
	b.must(err)
	first, last := st.Fields[10], st.Fields[10+127]
	if math.Round(first.Distinct) != 3 || first.Max.Int != 2 {
		t.Errorf("the first: %+v", first)
	}
	if last.Distinct != 0 || last.Nulls != 0 || last.Min.Int != 0 || last.Max.Int != 2 {
		t.Errorf("the last: %+v", last)
	}
}

// TestVerifyStatistics: statistics that are not those of the columns are found.
func TestVerifyStatistics(t *testing.T) {
	ctx := context.Background()
	b := newBench(t, docsObject(1), Options{})
	putDocs(b, 0, 50, func(i int) string { return fmt.Sprintf(`, "year": %d`, i) })
	b.must(b.c.Apply(ctx, nil))
	m := b.c.st.manifest
	seg := m.Segments[0]
	b.must(VerifySplit(ctx, b.deps.Objects, m, &seg))
	whole, err := b.deps.Objects.Get(ctx, seg.SplitKey)
	b.must(err)
	for name, spoil := range map[string]func(f []bundleField){
		"NULLs":           func(f []bundleField) { f[2].Stats.Nulls++ },
		"minimum":         func(f []bundleField) { f[2].Stats.Min[0]++ },
		"maximum":         func(f []bundleField) { f[0].Stats.Max = []byte("k") },
		"no bounds":       func(f []bundleField) { f[0].Stats.Min, f[0].Stats.Max = nil, nil },
		"sketch":          func(f []bundleField) { f[0].Stats.Distinct[0] = 9 },
		"none":            func(f []bundleField) { f[2].Stats = nil },
		"of another file": func(f []bundleField) { f[3].Stats = f[2].Stats },
	} {
		bad := seg
		bad.SplitKey = "objects/1/splits/" + strings.ReplaceAll(name, " ", "-") + ".lsplit"
		body := withTable(t, whole, func(table *bundleTable) { spoil(table.Fields) })
		bad.SplitSize = int64(len(body))
		_, err := b.deps.Objects.Put(ctx, bad.SplitKey, body, object.PutOptions{})
		b.must(err)
		if err := VerifySplit(ctx, b.deps.Objects, m, &bad); !fail.Is(err, fail.Corrupt) || !strings.Contains(err.Error(), "field") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// withTable is a bundle with another table.
func withTable(t *testing.T, b []byte, change func(*bundleTable)) []byte {
	t.Helper()
	length := int(le.Uint32(b[len(b)-12:]))
	var table bundleTable
	if err := json.Unmarshal(b[len(b)-bundleTail-length:len(b)-bundleTail], &table); err != nil {
		t.Fatal(err)
	}
	change(&table)
	var out strings.Builder
	w := &bundleWriter{w: &out, sections: table.Sections}
	if _, err := w.finish(table); err != nil {
		t.Fatal(err)
	}
	return append(b[:len(b)-bundleTail-length:len(b)-bundleTail-length], out.String()...)
}

func BenchmarkFoldFields(b *testing.B) {
	obj := docsObject(1)
	obj.Fields = obj.Fields[:3]
	s := &sketch.Sketch{}
	for i := range uint64(5000) {
		s.Add(i * 0x9E3779B97F4A7C15)
	}
	st := &column.Statistics{Distinct: s.Encode()}
	splits := make([]*split, 100)
	for i := range splits {
		splits[i] = &split{seg: Segment{Rows: 20_000}, bundle: &bundle{}}
		for _, f := range obj.Fields {
			splits[i].bundle.table.Fields = append(splits[i].bundle.table.Fields, bundleField{ID: f.ID, Stats: st})
		}
	}
	for b.Loop() {
		foldFields(obj, splits)
	}
}
