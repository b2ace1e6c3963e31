package planner_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/loamdb/loam/catalog"
	"github.com/loamdb/loam/functions"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/planner"
)

func testCatalog() *fakeCatalog {
	f := func(id int32, name string, t types.Type) schema.Field {
		return schema.Field{ID: id, Name: name, Type: t}
	}
	big, double := types.Of(types.Int64), types.Of(types.Double)
	docs := &schema.Object{ID: 1, Namespace: "public", Name: "docs", Kind: schema.Collection, Key: []int{0}, Partitions: 1, Fields: []schema.Field{
		{ID: 1, Name: "id", Type: textType, NotNull: true},
		{ID: 2, Name: "title", Type: textType, FullText: "english"},
		{ID: 3, Name: "body", Type: textType, FullText: "english"},
		f(4, "lang", textType), f(5, "year", types.Of(types.Int32)), f(6, "published", types.Of(types.Timestamp)),
		{ID: 7, Name: "emb", Type: types.VectorOf(3), Metric: schema.Cosine},
		f(8, "meta", types.Of(types.JSON)),
	}}
	two := &schema.Object{ID: 4, Namespace: "public", Name: "pair", Kind: schema.Collection, Key: []int{0, 1}, Partitions: 1, Fields: []schema.Field{
		{ID: 1, Name: "a", Type: big, NotNull: true}, {ID: 2, Name: "b", Type: textType, NotNull: true},
		{ID: 3, Name: "v1", Type: types.VectorOf(2), Metric: schema.L2}, {ID: 4, Name: "v2", Type: types.VectorOf(2), Metric: schema.Dot},
	}}
	t := &schema.Object{ID: 2, Namespace: "public", Name: "t", Kind: schema.Table, Partitions: 1, Fields: []schema.Field{
		f(1, "a", big), f(2, "b", big), f(3, "s", textType), f(4, "d", types.Of(types.Date)), f(5, "price", types.DecimalOf(15, 2)), f(6, "x", double)}}
	u := &schema.Object{ID: 3, Namespace: "public", Name: "u", Kind: schema.Table, Partitions: 1, Fields: []schema.Field{
		f(1, "a", big), f(2, "c", big), f(3, "s", textType)}}
	mixed := &schema.Object{ID: 5, Namespace: "sales", Name: "Orders", Kind: schema.Table, Partitions: 1, Fields: []schema.Field{
		f(1, "Id", big), f(2, "id", big), f(3, "Total", double)}}
	// recent calls a column of t by the name that it had then, and does not know s.
	recent := &schema.Object{ID: 6, Namespace: "public", Name: "recent", Kind: schema.View, SchemaVersion: 4, Fields: []schema.Field{
		f(1, "key", big), f(2, "day", types.Of(types.Date))}, Query: &schema.ViewQuery{Text: "SELECT tt.k, d FROM TT WHERE d > DATE '2020-01-01'", Namespace: "sales",
		Uses: []schema.Use{{Name: "TT", ID: 2, Fields: map[int32]string{1: "k", 2: "b", 4: "d"}}}}}
	broken := &schema.Object{ID: 7, Namespace: "public", Name: "broken", Kind: schema.View, SchemaVersion: 1, Fields: []schema.Field{f(1, "s", textType)},
		Query: &schema.ViewQuery{Text: "SELECT s FROM t", Namespace: "public", Uses: []schema.Use{{Name: "t", ID: 2, Fields: map[int32]string{1: "a"}}}}}
	gone := &schema.Object{ID: 8, Namespace: "public", Name: "gone", Kind: schema.View, SchemaVersion: 1, Fields: []schema.Field{f(1, "s", textType)},
		Query: &schema.ViewQuery{Text: "SELECT s FROM old.t", Namespace: "public", Uses: []schema.Use{{Name: "old.t", ID: 99}}}}
	loop := &schema.Object{ID: 9, Namespace: "public", Name: "looping", Kind: schema.View, SchemaVersion: 1, Fields: []schema.Field{f(1, "s", textType)},
		Query: &schema.ViewQuery{Text: "SELECT s FROM looping", Namespace: "public", Uses: []schema.Use{{Name: "looping", ID: 9, Fields: map[int32]string{1: "s"}}}}}
	other := &schema.Object{ID: 10, Namespace: "public", Name: "retyped", Kind: schema.View, SchemaVersion: 1, Fields: []schema.Field{f(1, "a", textType)},
		Query: &schema.ViewQuery{Text: "SELECT a FROM t", Namespace: "public", Uses: []schema.Use{{Name: "t", ID: 2, Fields: map[int32]string{1: "a"}}}}}
	link := &schema.Object{ID: 11, Namespace: "public", Name: "carries", Kind: schema.Link, SchemaVersion: 1,
		Link: &schema.LinkDef{Source: 2, Target: 6, OnError: schema.FailOnError, State: schema.LinkRunning, BatchBytes: 1 << 20},
		Query: &schema.ViewQuery{Text: "SELECT tt.k + 1 AS id, upper('a' || 'b') AS title FROM TT WHERE d > DATE '2020-01-01'", Namespace: "sales",
			Uses: []schema.Use{{Name: "TT", ID: 2, Fields: map[int32]string{1: "k", 2: "b", 4: "d"}}}}}
	link.Link.Target = docs.ID
	objects := []*schema.Object{docs, two, t, u, mixed, recent, broken, gone, loop, other, link}
	for _, o := range objects {
		for _, f := range o.Fields {
			o.LastField = max(o.LastField, f.ID)
		}
	}
	return &fakeCatalog{namespaces: []string{"public", "sales"}, objects: objects}
}

// TestPlans runs the data-driven files. "bind" shows the plan of the binder,
// "plan" the optimized one (disable=(a,b) switches passes off), and "run" the rows
// that the reference interpreter gives, which must be the same for every choice
// of passes. "transform" shows what a link does. "stats" says what is known of the
// objects from there on, and "rows" is "plan" with the estimates.
func TestPlans(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		stats := fakeStats{}
		p := planner.New(testCatalog(), functions.Default()).WithFiles(fakeFiles{}).WithStats(stats)
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			sess := planner.Session{Options: map[string]string{}}
			for _, arg := range d.CmdArgs {
				switch arg.Key {
				case "disable":
					sess.Options[planner.OptionDisabledPasses] = strings.Join(arg.Vals, ",")
				case "namespace":
					sess.Namespace = arg.Vals[0]
				}
			}
			switch d.Cmd {
			case "bind":
				sess.Options[planner.OptionDisabledPasses] = "all"
			case "stats":
				clear(stats)
				stats.parse(t, d.Input)
				return ""
			case "rows":
				return rowsText(p, sess, d.Input)
			case "run":
				return ablate(t, p, d.Input)
			case "transform":
				link, err := testCatalog().Lookup(context.Background(), catalog.Name{Text: "public"}, catalog.Name{Text: strings.TrimSpace(d.Input)})
				if err != nil {
					t.Fatal(err)
				}
				tr, err := p.Transform(context.Background(), link)
				if err != nil {
					return errorText(err)
				}
				return transform(tr)
			}
			return planText(p, sess, d.Input)
		})
	})
}

func planText(p *planner.Planner, sess planner.Session, sql string) string {
	prepared, err := p.Prepare(context.Background(), sess, sql, nil)
	if err != nil {
		return errorText(err)
	}
	var b strings.Builder
	for _, pr := range prepared {
		b.WriteString(statement(pr.Statement))
		if len(pr.Params) > 0 {
			fmt.Fprintf(&b, "params: %v\n", pr.Params)
		}
		if pr.Stable {
			b.WriteString("stable\n")
		}
	}
	return b.String()
}

func errorText(err error) string {
	e := fail.As(err)
	s := fmt.Sprintf("error %s %d:%d: %s\n", e.Code.SQLState(), e.Pos.Line, e.Pos.Column, e.Message)
	if e.Hint != "" {
		s += "hint: " + e.Hint + "\n"
	}
	return s
}
