package planner_test

import (
	"fmt"
	"sort"

	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// tables holds the rows of the test catalog, field by field in the order of the
// declaration. nil is NULL.
var tables = map[string][][]any{
	"t": {
		{1, 10, "x", 0, "1.50", 0.5}, {2, 20, "y", 1, "2.50", 1.5}, {2, 30, "x", 2, nil, nil},
		{3, nil, nil, nil, "9.00", 2.5}, {nil, 40, "z", 3, "0.25", -1.0}, {5, 50, "y", 4, "7.75", 3.5},
	},
	"u": {{1, 100, "x"}, {2, 200, "y"}, {2, 210, nil}, {4, 400, "q"}, {nil, 500, "z"}, {3, nil, "x"}},
	"docs": {
		{"d1", "ring buffers", "text", "en", 2001, nil, nil, nil}, {"d2", "b trees", "text", "de", 2002, nil, nil, nil},
		{"d3", "log trees", "text", "en", 2003, nil, nil, nil}, {"d4", "hash rings", "text", "en", nil, nil, nil, nil},
		{"d5", "lists", "text", nil, 2005, nil, nil, nil}, {"d6", "heaps", "text", "de", 2006, nil, nil, nil},
	},
}

func boxed(v any, t types.Type) vec.Value {
	if v == nil {
		return vec.Null(t)
	}
	lit := vec.Value{Str: fmt.Sprint(v)}
	if t.Kind == types.Date {
		return vec.Value{Type: t, Int: int64(v.(int))}
	}
	out, err := expr.EvalConst(refEnv, &expr.Cast{Arg: &expr.Const{Value: lit}, To: t, Offset: -1})
	if err != nil {
		panic(err)
	}
	return out
}

// stored gives the rows of an object in the columns of a scan.
func stored(name string, fields []string, fieldTypes []types.Type, cols []plan.ScanColumn) (relation, error) {
	out := relation{}
	for _, c := range cols {
		out.cols = append(out.cols, c.Column)
	}
	for n, values := range tables[name] {
		var r row
		for _, c := range cols {
			v, ok := vec.Value{}, false
			for i, f := range fields {
				if f == c.Field {
					v, ok = boxed(values[i], fieldTypes[i]), true
				}
			}
			switch {
			case ok:
			case c.Field == "_pk":
				v = vec.Text(fmt.Sprint(values[0]))
			case c.Field == "_ingest_offset":
				v = vec.Int64(int64(n))
			case c.Field == "_ingest_partition":
				v = vec.Int32(0)
			default:
				return out, fmt.Errorf("no field %q in %s", c.Field, name)
			}
			r = append(r, v)
		}
		out.rows = append(out.rows, r)
	}
	return out, nil
}

func runScan(x *plan.Scan) (relation, error) {
	var names []string
	var ts []types.Type
	for _, f := range x.Object.Fields {
		names, ts = append(names, f.Name), append(ts, f.Type)
	}
	r, err := stored(x.Object.Name, names, ts, x.Cols)
	if err != nil {
		return r, err
	}
	if x.Filter != nil {
		if r, err = filterRows(r, x.Filter); err != nil {
			return r, err
		}
	}
	return slice(r, 0, x.Limit), nil
}

// runSearch ranks documents by a score that depends on the document and the leg
// alone, as a search does: what matters here is which rows compete.
func runSearch(x *plan.SearchScan) (relation, error) {
	if x.Limit < 0 || x.Offset < 0 {
		return relation{}, fmt.Errorf("search limit %d offset %d", x.Limit, x.Offset)
	}
	scan := &plan.Scan{Object: x.Object, Cols: x.Cols, Filter: x.Filter, Limit: plan.NoLimit}
	base, err := runScan(scan)
	if err != nil {
		return base, err
	}
	pks, err := runScan(&plan.Scan{Object: x.Object, Cols: append(append([]plan.ScanColumn(nil), x.Cols...),
		plan.ScanColumn{Column: plan.Column{ID: -1, Name: "_pk", Type: textType}, Field: "_pk"}), Filter: x.Filter, Limit: plan.NoLimit})
	if err != nil {
		return base, err
	}
	scores := make([]float64, len(base.rows))
	for leg, l := range x.Legs {
		if l.Limit < 0 {
			return base, fmt.Errorf("leg limit %d", l.Limit)
		}
		var order []int
		for i, values := range base.rows {
			ok, _, err := base.truth(l.Filter, values)
			if err != nil {
				return base, err
			}
			if ok {
				order = append(order, i)
			}
		}
		score := func(i int) float64 {
			pk := pks.rows[i][len(pks.rows[i])-1].Str
			return float64((int(pk[len(pk)-1]-'0')*(leg+3))%7) / 7
		}
		sort.SliceStable(order, func(a, b int) bool { return score(order[a]) > score(order[b]) })
		for rank, i := range order[:min(len(order), int(l.Limit))] {
			if x.RRFK > 0 {
				scores[i] += l.Weight / (x.RRFK + float64(rank+1))
			} else {
				scores[i] = score(i) + 1e-9
			}
		}
	}
	out := relation{cols: x.Columns()}
	for i, values := range base.rows {
		if scores[i] > 0 {
			out.rows = append(out.rows, append(append(row(nil), values...), vec.Double(scores[i])))
		}
	}
	sort.SliceStable(out.rows, func(a, b int) bool {
		return out.rows[a][len(out.cols)-1].Float > out.rows[b][len(out.cols)-1].Float
	})
	return slice(out, x.Offset, x.Limit), nil
}
