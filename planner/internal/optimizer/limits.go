package optimizer

import (
	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/internal/vec"
	"github.com/loamdb/loam/planner/internal/rowcount"
)

// DefaultSearchLimit is the length of a ranked list when nothing says.
const DefaultSearchLimit = 1000

// candidates is how many rows a leg of a fusion is asked for when n are wanted.
func candidates(n int64) int64 {
	const factor, least, most = 4, 100, 1 << 40
	if n > most/factor {
		return most
	}
	return max(least, factor*n)
}

// resolveLimits settles the limits that searches leave open: with a limit of L a
// fusion asks each leg for max(100, 4·L) rows, else for 1000. While parameters
// have no values the legs stay open, so that LIMIT ? and LIMIT 10 rank alike.
func resolveLimits(n plan.Node, unbound bool) plan.Node {
	if unbound {
		return n
	}
	return rewriteUp(n, func(n plan.Node) plan.Node {
		s, ok := n.(*plan.SearchScan)
		if !ok {
			return n
		}
		k := *s
		open := k.Limit < 0
		if open {
			k.Limit = DefaultSearchLimit
		}
		k.Legs = append([]plan.Leg(nil), s.Legs...)
		for i := range k.Legs {
			if k.Legs[i].Limit >= 0 {
				continue
			}
			switch {
			case k.RRFK > 0 && open:
				k.Legs[i].Limit = DefaultSearchLimit
			case k.RRFK > 0:
				k.Legs[i].Limit = candidates(k.Limit + k.Offset)
			default:
				k.Legs[i].Limit = k.Limit + k.Offset
			}
		}
		return &k
	})
}

// BindParams replaces parameters by values of their types and runs the passes that
// can use them.
func BindParams(stmt plan.Statement, values []vec.Value) (plan.Statement, error) {
	var failed error
	number := func(n int64, absent int64) int64 {
		p, ok := rowcount.Index(n)
		if !ok || p >= len(values) {
			return n
		}
		v := values[p]
		if v.Null {
			return absent
		}
		if v.Int < 0 && failed == nil {
			failed = fail.New(fail.InvalidParameter, "parameter $%d counts rows and must not be negative: %d", p+1, v.Int)
		}
		return v.Int
	}
	bind := func(n plan.Node) (plan.Node, error) {
		n = rewriteUp(n, func(n plan.Node) plan.Node { return bindLimits(n, number) })
		n = plan.MapExprs(n, func(e expr.Expr) expr.Expr {
			if p, ok := e.(*expr.Param); ok && p.Index < len(values) {
				v := values[p.Index]
				v.Type = p.T
				return &expr.Const{Value: v}
			}
			return e
		})
		if failed != nil {
			return nil, failed
		}
		return finish(n)
	}
	return mapRoots(stmt, bind)
}

// bindLimits puts values into the numbers of rows of a node.
func bindLimits(n plan.Node, number func(n, absent int64) int64) plan.Node {
	switch x := n.(type) {
	case *plan.Limit:
		count, offset := number(x.Count, plan.NoLimit), number(x.Offset, 0)
		if count == plan.NoLimit && offset == 0 {
			return x.Input
		}
		return &plan.Limit{Input: x.Input, Count: count, Offset: offset}
	case *plan.SearchScan:
		k := *x
		k.Limit, k.Offset = number(x.Limit, rowcount.Auto), number(x.Offset, 0)
		k.Legs = append([]plan.Leg(nil), x.Legs...)
		for i := range k.Legs {
			k.Legs[i].Limit = number(k.Legs[i].Limit, rowcount.Auto)
		}
		return &k
	}
	return n
}
