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
