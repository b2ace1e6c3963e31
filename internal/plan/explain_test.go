package plan

import (
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

var (
	long = types.Of(types.Int64)
	docs = &schema.Object{Namespace: "public", Name: "docs", Kind: schema.Collection}
	id   = Column{ID: 1, Name: "id", Type: long}
	year = Column{ID: 2, Name: "year", Type: long}
	n    = Column{ID: 3, Name: "n", Type: long}
)

func scan() *Scan {
	return &Scan{Object: docs, Cols: []ScanColumn{{Column: id, Field: "id"}, {Column: year, Field: "year"}}, Limit: NoLimit}
}

func greater(c Column, x int64) expr.Expr {
	return &expr.Compare{Op: expr.Gt, Left: c.Ref(), Right: &expr.Const{Value: vec.Int64(x)}}
}

// plans are the plans that testdata/explain names.
func plans() map[string]Node {
	filtered := scan()
	filtered.Filter, filtered.Limit = greater(year, 2000), 5
	count := AggCall{Column: n, Fn: &expr.AggFunc{Name: "count"}}
	distinct := AggCall{Column: n, Fn: &expr.AggFunc{Name: "array_agg"}, Args: []expr.Expr{id.Ref()}, Distinct: true,
		Filter: greater(year, 1), OrderBy: []SortKey{{Expr: id.Ref(), Desc: true}}}
	key := EquiKey{Left: id.Ref(), Right: year.Ref()}
	safe := EquiKey{Left: id.Ref(), Right: year.Ref(), NullSafe: true}
	one := &Values{Cols: []Column{n}, Rows: [][]expr.Expr{{&expr.Const{Value: vec.Int64(1)}}}}
	return map[string]Node{
		"scan": filtered,
		"query": &Limit{Count: 10, Offset: 2, Input: &Project{
			Exprs: []NamedExpr{{Column: id, Expr: id.Ref()}, {Column: n, Expr: greater(year, 3)}},
			Input: &Filter{Input: scan(), Pred: greater(id, 7)}}},
		"aggregate": &Aggregate{Input: scan(), Groups: []NamedExpr{{Column: year, Expr: year.Ref()}}, Aggs: []AggCall{count, distinct}},
		"distinct":  &Aggregate{Input: scan(), Groups: []NamedExpr{{Column: year, Expr: year.Ref()}}},
		"sets": &GroupingSets{Input: scan(), Groups: []NamedExpr{{Column: id, Expr: id.Ref()}, {Column: year, Expr: year.Ref()}},
			Sets: [][]int{{0, 1}, {1}, {}}, Aggs: []AggCall{count}, Marks: []GroupingMark{{Column: n, Keys: []int{1}}}},
		"unnest": &Unnest{Input: scan(), Outer: true, Ordinal: Column{ID: 9, Name: "o"}, Items: []UnnestItem{{Column: n, List: id.Ref()},
			{Column: n, Start: id.Ref(), Stop: year.Ref(), Step: &expr.Const{Value: vec.Int64(1)}, Exclusive: true}}},
		"sort": &Sort{Input: scan(), Limit: NoLimit, Keys: []SortKey{{Expr: id.Ref()}, {Expr: year.Ref(), Desc: true},
			{Expr: n.Ref(), NullsFirst: true}, {Expr: n.Ref(), Desc: true, NullsFirst: true}}},
		"topn":  &Sort{Input: scan(), Limit: 3, Offset: 1, Keys: []SortKey{{Expr: id.Ref()}}},
		"join":  &Join{Left: scan(), Right: one, Kind: Left, Keys: []EquiKey{key, safe}, Residual: greater(year, 1)},
		"cross": &Join{Left: scan(), Right: one},
		"mark":  &Join{Left: scan(), Right: one, Kind: Mark, Keys: []EquiKey{key}, Mark: Column{Name: "found"}},
		"apply": &Join{Left: scan(), Right: one, Kind: Single, Apply: true},
		"union": &UnionAll{Inputs: []Node{scan(), one}, Cols: []Column{id}},
		"leaves": &UnionAll{Cols: []Column{n}, Inputs: []Node{Empty([]Column{n}),
			&Series{Start: &expr.Const{Value: vec.Int64(1)}, Stop: &expr.Const{Value: vec.Int64(9)}, Step: &expr.Const{Value: vec.Int64(2)}, Col: n},
			&SystemScan{Table: "system.queries", Cols: []ScanColumn{{Column: n, Field: "n"}}},
			&FileScan{Format: Parquet, Paths: []string{"a.parquet"}, Cols: []ScanColumn{{Column: n, Field: "n"}}},
			&Materialized{Cols: []Column{n}, Label: "the answer"}}},
		"search": &SearchScan{Object: docs, Cols: []ScanColumn{{Column: id, Field: "id"}}, Score: Column{Name: "_fused_score"},
			RRFK: 60, Filter: greater(year, 2020), Limit: 10, Offset: 5, MinScore: &expr.Const{Value: vec.Double(0.5)},
			Legs: []Leg{
				{Kind: VectorLeg, Field: "emb", Metric: schema.Cosine, Query: &expr.Const{Value: vec.VectorValue(make([]float32, 64))}, Limit: 100, Weight: 1},
				{Kind: TextLeg, Fields: []FieldBoost{{"title", 2}, {"body", 1}}, Mode: "match", And: true,
					Query: &expr.Const{Value: vec.Text("graph")}, Limit: 50, Weight: 0.5, Filter: greater(id, 1)}}},
	}
}

func TestExplain(t *testing.T) {
	all := plans()
	datadriven.RunTest(t, "testdata/explain", func(t *testing.T, d *datadriven.TestData) string {
		root := all[d.CmdArgs[0].Key]
		if root == nil {
			t.Fatalf("no plan %s", d.CmdArgs[0].Key)
		}
		if d.Cmd == "noted" {
			return strings.Join(ExplainWith(root, func(n Node) string {
				if len(n.Children()) > 0 {
					return ""
				}
				return "(leaf)"
			}), "\n") + "\n"
		}
		return strings.Join(ExplainText(root), "\n") + "\n"
	})
}
