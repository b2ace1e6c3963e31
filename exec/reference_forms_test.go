package exec

import (
	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/internal/vec"
)

// refGroupingSets groups once for each set.
func refGroupingSets(n *plan.GroupingSets, rows []refRow) []refRow {
	var out []refRow
	for _, set := range n.Sets {
		a := &plan.Aggregate{Input: n.Input, Aggs: n.Aggs}
		for _, k := range set {
			a.Groups = append(a.Groups, n.Groups[k])
		}
		for _, r := range refAggregate(a, rows) {
			row := refNulls(n.Columns()[:len(n.Groups)])
			for i, k := range set {
				row[k] = r[i]
			}
			row = append(row, r[len(set):]...)
			for _, m := range n.Marks {
				row = append(row, vec.Int32(m.Value(set)))
			}
			out = append(out, row)
		}
	}
	return out
}

// refUnnest lists the elements of the items row by row; it knows series of BIGINT alone.
func refUnnest(n *plan.Unnest, rows []refRow) []refRow {
	var out []refRow
	for _, r := range rows {
		env := bind(n.Input.Columns(), r)
		var items [][]vec.Value
		most := 0
		for _, it := range n.Items {
			vals := refElements(it, env)
			items = append(items, vals)
			most = max(most, len(vals))
		}
		outer := most == 0 && n.Outer
		if outer {
			most = 1
		}
		for i := range most {
			var row refRow
			for _, c := range n.Columns() {
				if v, ok := env[c.ID]; ok {
					row = append(row, v)
				}
			}
			for k, vals := range items {
				if i < len(vals) {
					row = append(row, vals[i])
				} else {
					row = append(row, vec.Null(n.Items[k].Type))
				}
			}
			if n.Ordinal.ID != 0 {
				o := vec.Int64(int64(i + 1))
				o.Null = outer
				row = append(row, o)
			}
			out = append(out, row)
		}
	}
	return out
}

func refElements(it plan.UnnestItem, env refEnv) []vec.Value {
	if it.List != nil {
		return refEval(it.List, env).List
	}
	var vals []vec.Value
	start, stop, step := refEval(it.Start, env), refEval(it.Stop, env), refEval(it.Step, env)
	null := start.Null || stop.Null || step.Null
	for i := start.Int; !null && (step.Int > 0 && i <= stop.Int || step.Int < 0 && i >= stop.Int); i += step.Int {
		if !it.Exclusive || i != stop.Int {
			vals = append(vals, vec.Int64(i))
		}
	}
	return vals
}
