package planner_test

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/loamdb/loam/functions"
	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
	"github.com/loamdb/loam/planner"
)

// fakeStats are statistics by the name of the object.
type fakeStats map[string]planner.ObjectStats

func (f fakeStats) Statistics(_ context.Context, o *schema.Object) (planner.ObjectStats, bool) {
	st, ok := f[o.Name]
	return st, ok
}

// parse reads lines such as "t rows=1000" and "t.a distinct=10 nulls=0.5 min=1 max=9".
func (f fakeStats) parse(t *testing.T, text string) {
	t.Helper()
	for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		words := strings.Fields(line)
		name, field, _ := strings.Cut(words[0], ".")
		st, ok := f[name]
		if !ok {
			st = planner.ObjectStats{Columns: map[int32]planner.ColumnStats{}}
		}
		def, id := fieldOf(t, name, field)
		col := planner.ColumnStats{Min: vec.Null(def.Type), Max: vec.Null(def.Type)}
		for _, w := range words[1:] {
			key, value, _ := strings.Cut(w, "=")
			if key == "min" || key == "max" {
				v, err := expr.EvalConst(refEnv, &expr.Cast{Arg: &expr.Const{Value: vec.Value{Str: value}}, To: def.Type, Offset: -1})
				if err != nil {
					t.Fatalf("%s: %v", line, err)
				}
				if key == "min" {
					col.Min = v
				} else {
					col.Max = v
				}
				continue
			}
			n, err := strconv.ParseFloat(value, 64)
			if err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			switch key {
			case "rows":
				st.Rows = n
			case "distinct":
				col.Distinct = n
			case "nulls":
				col.Nulls = n
			default:
				t.Fatalf("%s: %q", line, key)
			}
		}
		if field != "" {
			st.Columns[id] = col
		}
		f[name] = st
	}
}

func fieldOf(t *testing.T, object, field string) (schema.Field, int32) {
	t.Helper()
	if field == "" {
		return schema.Field{}, 0
	}
	for _, o := range testCatalog().objects {
		for _, f := range o.Fields {
			if o.Name == object && f.Name == field {
				return f, f.ID
			}
		}
	}
	t.Fatalf("no field %s.%s", object, field)
	return schema.Field{}, 0
}

// rowsText draws the plan of a query with the estimate of each node.
func rowsText(p *planner.Planner, sess planner.Session, sql string) string {
	prepared, err := p.Prepare(context.Background(), sess, sql, nil)
	if err != nil {
		return errorText(err)
	}
	rows := p.Rows(context.Background())
	var b strings.Builder
	var walk func(n plan.Node, indent string)
	walk = func(n plan.Node, indent string) {
		fmt.Fprintf(&b, "%s%s ≈%.6g\n", indent, strings.TrimRight(n.Name()+" "+detail(n), " "), rows(n))
		for _, k := range n.Children() {
			walk(k, indent+"  ")
		}
	}
	walk(prepared[0].Statement.(*plan.Query).Root, "")
	return b.String()
}

// TestEstimatesOfTPCH: every estimate is a number, at least 1, whatever is known of
// the columns, and the same each time.
func TestEstimatesOfTPCH(t *testing.T) {
	withColumns := fakeStats{}
	for _, o := range tpchCatalog().objects {
		st := planner.ObjectStats{Rows: tpchRows[o.Name], Columns: map[int32]planner.ColumnStats{}}
		for i, f := range o.Fields {
			st.Columns[f.ID] = planner.ColumnStats{Distinct: max(1, st.Rows/float64(i*i+1)), Nulls: float64(i%3) / 10,
				Min: vec.Null(f.Type), Max: vec.Null(f.Type)}
		}
		withColumns[o.Name] = st
	}
	for _, stats := range []planner.Stats{nil, tpchStats{}, withColumns} {
		p := planner.New(tpchCatalog(), functions.Default()).WithStats(stats)
		for _, sql := range corpus(t, "tpch.sql") {
			prepared, err := p.Prepare(context.Background(), planner.Session{}, sql, nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, pr := range prepared {
				q, ok := pr.Statement.(*plan.Query)
				if !ok {
					continue
				}
				rows := p.Rows(context.Background())
				plan.Walk(q.Root, func(n plan.Node) bool {
					if r := rows(n); !(r >= 1) || math.IsInf(r, 0) || r != p.Rows(context.Background())(n) {
						t.Errorf("%s: %g rows\n%s", n.Name(), r, sql)
					}
					return true
				})
				again, err := p.Prepare(context.Background(), planner.Session{}, pr.SQL, nil)
				if err != nil || render(again[0].Statement.(*plan.Query).Root) != render(q.Root) {
					t.Errorf("the second plan is another: %v\n%s", err, sql)
				}
			}
		}
	}
}

// randomStats believes anything of the test tables, the truth or not.
func randomStats(t *rapid.T) planner.Stats {
	stats := fakeStats{}
	size := rapid.SampledFrom([]float64{0, 1, 10, 1000, 1e9})
	for _, o := range testCatalog().objects {
		if !rapid.Bool().Draw(t, o.Name) {
			continue
		}
		st := planner.ObjectStats{Rows: size.Draw(t, "rows"), Columns: map[int32]planner.ColumnStats{}}
		for _, f := range o.Fields {
			col := planner.ColumnStats{Distinct: size.Draw(t, f.Name), Nulls: rapid.Float64Range(0, 1).Draw(t, "nulls"),
				Min: vec.Null(f.Type), Max: vec.Null(f.Type)}
			if least, most, ok := someBounds(t, f.Type); ok {
				col.Min, col.Max = least, most
			}
			st.Columns[f.ID] = col
		}
		stats[o.Name] = st
	}
	return stats
}

func someBounds(t *rapid.T, ty types.Type) (least, most vec.Value, ok bool) {
	least, most = vec.Value{Type: ty}, vec.Value{Type: ty}
	switch ty.Kind {
	case types.Int32, types.Int64, types.Date, types.Timestamp:
		least.Int, most.Int = rapid.Int64Range(-5, 5).Draw(t, "min"), rapid.Int64Range(5, 50).Draw(t, "max")
	case types.Double:
		least.Float, most.Float = rapid.SampledFrom([]float64{-math.MaxFloat64, -1, 0}).Draw(t, "min"), rapid.SampledFrom([]float64{0, 7, math.MaxFloat64, math.Inf(1), math.NaN()}).Draw(t, "max")
	case types.Text:
		least.Str, most.Str = rapid.SampledFrom([]string{"", "a", "x"}).Draw(t, "min"), rapid.SampledFrom([]string{"x", "xa", "z"}).Draw(t, "max")
	default:
		return least, most, false
	}
	return least, most, rapid.Bool().Draw(t, "bounded")
}

// checkRows holds of every estimate: it is a number, and at least 1.
func checkRows(t *rapid.T, p *planner.Planner, sql string) {
	prepared, err := p.Prepare(context.Background(), planner.Session{}, sql, nil)
	if err != nil {
		return
	}
	rows := p.Rows(context.Background())
	plan.Walk(prepared[0].Statement.(*plan.Query).Root, func(n plan.Node) bool {
		if r := rows(n); !(r >= 1) || math.IsInf(r, 0) {
			t.Fatalf("%s\n%s has %g rows", sql, n.Name(), r)
		}
		return true
	})
}
