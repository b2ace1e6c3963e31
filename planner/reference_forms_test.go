package planner_test

import (
	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/internal/vec"
)

// The reference interpreter's nodes beside those of plain SQL.

// runGroupingSets groups once for each set, with NULL for the keys outside of it.
func runGroupingSets(x *plan.GroupingSets, in relation) (relation, error) {
	out := relation{cols: x.Columns()}
	for _, set := range x.Sets {
		agg := &plan.Aggregate{Aggs: x.Aggs}
		for _, k := range set {
			agg.Groups = append(agg.Groups, x.Groups[k])
		}
		one, err := runAggregate(&plan.Aggregate{Input: &plan.Values{}, Groups: agg.Groups, Aggs: agg.Aggs}, in)
		if err != nil {
			return out, err
		}
		for _, values := range one.rows {
			var next row
			for k, g := range x.Groups {
				v := vec.Null(g.Type)
				for i, have := range set {
					if have == k {
						v = values[i]
					}
				}
				next = append(next, v)
			}
			next = append(next, values[len(set):]...)
			for _, m := range x.Marks {
				next = append(next, vec.Int32(m.Value(set)))
			}
			out.rows = append(out.rows, next)
		}
	}
	return out, nil
}
