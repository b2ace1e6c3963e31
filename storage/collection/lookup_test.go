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
)

// keyFilter is "id = key" or "id IN (keys)", with other conjuncts.
func keyFilter(cols []plan.ScanColumn, keys []string, more ...expr.Expr) expr.Expr {
	id := cols[0].Ref()
	if len(keys) == 1 {
		return expr.AllOf(append(more, &expr.Compare{Op: expr.Eq, Left: &expr.Const{Value: vec.Text(keys[0])}, Right: id}))
	}
	list := []expr.Expr{&expr.Const{Value: vec.Null(types.Of(types.Text))}}
	for _, k := range keys {
		list = append(list, &expr.Const{Value: vec.Text(k)})
	}
	return expr.AllOf(append(more, &expr.In{Arg: id, List: list}))
}

// byKey picks the rendered rows whose first cell is one of the keys.
func byKey(rows, keys []string) []string {
	var out []string
	for _, r := range rows {
		if id, _, _ := strings.Cut(r, " | "); slices.Contains(keys, id) {
			out = append(out, r)
		}
	}
	return out
}

// TestLookups compares scans by key with full scans, at every snapshot of a
// history of upserts, deletes, applies, merges and restarts, old ones included.
func TestLookups(t *testing.T) {
	for _, partitions := range []int{1, 3} {
		r := rand.New(rand.NewSource(int64(partitions)))
		b := newBench(t, docsObject(partitions), Options{MaxSplits: 3, MinFragment: someFragmentStays(r), MaxDeleted: r.Intn(50)})
		ctx := context.Background()
		var snaps []*Snapshot
		for step := range 40 {
			var docs [][]byte
			for range 1 + r.Intn(10) {
				docs = append(docs, randomDoc(r, 40).json())
			}
			rows, err := FromDocuments(b.obj, docs)
			b.must(err)
			_, err = b.c.Append(ctx, rows)
			b.must(err)
			_, err = b.c.Append(ctx, DeleteKeys(b.obj, []string{fmt.Sprintf("k%03d", r.Intn(40))}))
			b.must(err)
			snaps = append(snaps, b.strong())
			switch {
			case step%7 == 3:
				b.must(b.c.Apply(ctx, nil))
			case step%15 == 9:
				b.must(b.c.Merge(ctx, nil))
			case step == 30:
				b.open()
			}
			checkLookups(t, r, snaps[r.Intn(len(snaps))])
			checkLookups(t, r, b.strong())
		}
	}
}

func checkLookups(t *testing.T, r *rand.Rand, s *Snapshot) {
	t.Helper()
	all := rowsOf(t, s, nil)
	cols := allCols(s.obj)
	var keys []string
	for range 1 + r.Intn(4) {
		keys = append(keys, fmt.Sprintf("k%03d", r.Intn(50)))
	}
	for _, k := range [][]string{keys, keys[:1]} {
		filter := keyFilter(cols, k)
		if p, err := compileFilter(s.obj, cols, filter); err != nil || !p.keyed {
			t.Fatalf("%s is not looked up: %v", filter, err)
		}
		want := byKey(all, k)
		if got := rowsOf(t, s, filter); !slices.Equal(got, want) {
			t.Fatalf("keys %v:\ngot  %q\nwant %q", k, got, want)
		}
		found, err := s.find(context.Background(), k[:1])
		if err != nil || (found[0].view != nil) != (len(byKey(all, k[:1])) == 1) {
			t.Fatalf("key %s: found %v, %v", k[0], found[0].view != nil, err)
		}
	}
	year := &expr.Compare{Op: expr.Ge, Left: cols[2].Ref(), Right: &expr.Const{Value: vec.Int32(1995)}}
	want := byKey(rowsOf(t, s, year), keys)
	if got := rowsOf(t, s, keyFilter(cols, keys, year)); !slices.Equal(got, want) {
		t.Fatalf("keys %v from 1995 on:\ngot  %q\nwant %q", keys, got, want)
	}
	checkKeyedSearch(t, s, cols, keys)
}

// checkKeyedSearch compares a search with a filter by key with the unfiltered
// ranking, of which it must be the part with the keys.
func checkKeyedSearch(t *testing.T, s *Snapshot, cols []plan.ScanColumn, keys []string) {
	t.Helper()
	leg := plan.Leg{Kind: plan.VectorLeg, Field: "emb", Metric: schema.L2, Limit: 1000, Weight: 1,
		Query: &expr.Const{Value: vec.VectorValue([]float32{1, 0.5, 1, 2})}}
	run := func(filter expr.Expr) (out []string) {
		search, err := s.Search(testEnv(), &plan.SearchScan{Object: s.obj, Cols: cols, Filter: filter, Legs: []plan.Leg{leg}, Limit: plan.NoLimit,
			Score: plan.Column{ID: 100, Name: "_score", Type: types.Of(types.Double)}})
		if err != nil {
			t.Fatal(err)
		}
		for {
			c, err := search.Next(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			if c == nil {
				return out
			}
			out = append(out, render(c)...)
		}
	}
	if got, want := run(keyFilter(cols, keys)), byKey(run(nil), keys); !slices.Equal(got, want) {
		t.Fatalf("search of keys %v:\ngot  %q\nwant %q", keys, got, want)
	}
}

// What is no equality of the whole key with constants of its type is filtered.
func TestNoLookup(t *testing.T) {
	obj := docsObject(1)
	cols := allCols(obj)
	id, body, year := cols[0].Ref(), cols[1].Ref(), cols[2].Ref()
	text := func(s string) expr.Expr { return &expr.Const{Value: vec.Text(s)} }
	eq := func(a, b expr.Expr) expr.Expr { return &expr.Compare{Op: expr.Eq, Left: a, Right: b} }
	for _, e := range []expr.Expr{
		eq(body, text("x")), eq(id, body), eq(year, &expr.Const{Value: vec.Int32(1)}),
		&expr.Compare{Op: expr.Ne, Left: id, Right: text("x")},
		&expr.Compare{Op: expr.Lt, Left: id, Right: text("x")},
		&expr.In{Arg: id, List: []expr.Expr{text("x"), body}},
		&expr.In{Arg: id, List: []expr.Expr{text("x")}, Negate: true},
		&expr.Logic{Or: true, Args: []expr.Expr{eq(id, text("x")), eq(body, text("x"))}},
		&expr.Not{Arg: eq(id, text("x"))},
	} {
		if p, err := compileFilter(obj, cols, e); err != nil || p.keyed {
			t.Errorf("%s is looked up (%v)", e, err)
		}
	}
	composite := docsObject(1)
	composite.Key = []int{0, 2}
	table := docsObject(1)
	table.Kind, table.Key = schema.Table, nil
	for _, o := range []*schema.Object{composite, table} {
		if p, err := compileFilter(o, allCols(o), eq(allCols(o)[0].Ref(), text("x"))); err != nil || p.keyed {
			t.Errorf("%s with key %v is looked up (%v)", o.Kind, o.Key, err)
		}
	}
}
