package optimizer

import (
	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/planner/internal/rowcount"
)

// searchPushdown asks a search for no more rows than a LIMIT above it keeps.
//
// Safety rules: only projections, and a sort by the score alone, descending,
// stand between LIMIT and search. A post-filter on the score, a join, grouping or
// DISTINCT removes or adds rows, and a second sort key may prefer another row
// among equal scores: then the search keeps its own limit. Lowering never raises
// a limit, the default of 1000 included. Legs of a fusion whose limit follows
// from a written limit keep the one they had: which rows are best does not change.
func searchPushdown(_ *context, n plan.Node) plan.Node {
	return rewriteUp(n, func(n plan.Node) plan.Node {
		switch x := n.(type) {
		case *plan.Limit:
			if rowcount.Known(x.Count) && rowcount.Known(x.Offset) && total(x.Count, x.Offset) >= 0 {
				return x.WithChildren([]plan.Node{lowerSearch(x.Input, total(x.Count, x.Offset), nil)})
			}
		case *plan.Sort:
			if x.Limit >= 0 && total(x.Limit, x.Offset) >= 0 && len(x.Keys) == 1 && x.Keys[0].Desc {
				return x.WithChildren([]plan.Node{lowerSearch(x.Input, total(x.Limit, x.Offset), x.Keys[0].Expr)})
			}
		}
		return n
	})
}

// lowerSearch lowers the search below n to want rows. by, when not nil, is the
// expression that a sort above orders by: it must be the score.
func lowerSearch(n plan.Node, want int64, by expr.Expr) plan.Node {
	switch x := n.(type) {
	case *plan.Project:
		if by != nil {
			if _, ok := by.(*expr.Column); !ok {
				return n
			}
			by = substitute(by, definitions(x.Exprs))
		}
		return x.WithChildren([]plan.Node{lowerSearch(x.Input, want, by)})
	case *plan.Sort:
		if by == nil && x.Limit == plan.NoLimit && len(x.Keys) == 1 && x.Keys[0].Desc {
			return x.WithChildren([]plan.Node{lowerSearch(x.Input, want, x.Keys[0].Expr)})
		}
	case *plan.SearchScan:
		if by != nil {
			if c, ok := by.(*expr.Column); !ok || c.ID != x.Score.ID {
				return n
			}
		}
		return lowered(x, want)
	}
	return n
}

func lowered(x *plan.SearchScan, want int64) plan.Node {
	if x.Limit < plan.NoLimit { // a parameter
		return x
	}
	k := *x
	if x.Limit == rowcount.Auto {
		k.Limit = min(want, DefaultSearchLimit)
		return &k
	}
	if want >= x.Limit {
		return x
	}
	if x.RRFK > 0 {
		k.Legs = append([]plan.Leg(nil), x.Legs...)
		for i := range k.Legs {
			if k.Legs[i].Limit == rowcount.Auto {
				k.Legs[i].Limit = candidates(x.Limit + max(0, x.Offset))
			}
		}
	}
	k.Limit = want
	return &k
}
