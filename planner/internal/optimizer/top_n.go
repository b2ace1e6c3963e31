package optimizer

import (
	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/planner/internal/rowcount"
)

// topN joins LIMIT with the sort below it, through projections.
//
// Safety rules: the limit and its offset move together; a sort that has a limit
// already is left alone; nothing but projections stands between, since anything
// else would drop or add rows after the sort.
func topN(_ *context, n plan.Node) plan.Node {
	return rewriteUp(n, func(n plan.Node) plan.Node {
		l, ok := n.(*plan.Limit)
		if !ok || !rowcount.Known(l.Count) || !rowcount.Known(l.Offset) || total(l.Count, l.Offset) < 0 {
			return n
		}
		if merged := mergeSort(l.Input, l); merged != nil {
			return merged
		}
		return n
	})
}

func mergeSort(n plan.Node, l *plan.Limit) plan.Node {
	switch x := n.(type) {
	case *plan.Sort:
		if x.Limit != plan.NoLimit || x.Offset != 0 {
			return nil
		}
		k := *x
		k.Limit, k.Offset = l.Count, l.Offset
		return &k
	case *plan.Project:
		if in := mergeSort(x.Input, l); in != nil {
			return x.WithChildren([]plan.Node{in})
		}
	}
	return nil
}
