package optimizer

import (
	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/planner/internal/rowcount"
)

// pushDownLimit moves LIMIT below projections, gives every input of a union its
// own, and tells a scan when to stop.
//
// Safety rules: an OFFSET is kept where it is written, and what lies below is
// asked for count + offset rows; a limit never moves below anything that drops,
// adds or reorders rows; a number that is a parameter is left alone.
func pushDownLimit(_ *context, n plan.Node) plan.Node {
	// Parents first: a limit that moved down meets the next node below.
	if l, ok := n.(*plan.Limit); ok && rowcount.Known(l.Count) && rowcount.Known(l.Offset) {
		n = pushLimit(l)
	}
	kids := n.Children()
	if len(kids) == 0 {
		return n
	}
	out := make([]plan.Node, len(kids))
	for i, k := range kids {
		out[i] = pushDownLimit(nil, k)
	}
	return n.WithChildren(out)
}

// total is count + offset, or less than 0 where that overflows.
func total(count, offset int64) int64 { return count + offset }

func pushLimit(l *plan.Limit) plan.Node {
	want := total(l.Count, l.Offset)
	if l.Count == 0 {
		return plan.Empty(l.Columns())
	}
	if want < 0 {
		return l
	}
	switch x := l.Input.(type) {
	case *plan.Project:
		return x.WithChildren([]plan.Node{pushLimit(&plan.Limit{Input: x.Input, Count: l.Count, Offset: l.Offset})})
	case *plan.Limit:
		if x.Offset == 0 && rowcount.Known(x.Count) && l.Offset == 0 {
			return pushLimit(&plan.Limit{Input: x.Input, Count: min(l.Count, x.Count)})
		}
	case *plan.UnionAll:
		inputs := make([]plan.Node, len(x.Inputs))
		for i, in := range x.Inputs {
			inputs[i] = pushLimit(&plan.Limit{Input: in, Count: want})
		}
		return &plan.Limit{Input: x.WithChildren(inputs), Count: l.Count, Offset: l.Offset}
	case *plan.Scan:
		if x.Limit == plan.NoLimit || x.Limit > want {
			k := *x
			k.Limit = want
			return &plan.Limit{Input: &k, Count: l.Count, Offset: l.Offset}
		}
	}
	return l
}
