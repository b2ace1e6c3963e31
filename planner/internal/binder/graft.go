package binder

import (
	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/plan"
)

// graft joins a right side that is computed row by row from a single row, as
// unnest(t.tags) is, by putting it on top of the left plan: no join is left.
// false where the right side is anything else.
func graft(left plan.Node, j subJoin) (plan.Node, bool) {
	if len(j.keys) > 0 {
		return nil, false
	}
	switch j.kind {
	case plan.Inner:
		n, ok := onto(left, j.right)
		if ok && j.cond != nil {
			n = &plan.Filter{Input: n, Pred: j.cond}
		}
		return n, ok
	case plan.Left:
		u, ok := j.right.(*plan.Unnest)
		if !ok || !isUnit(u.Input) || j.cond != nil && !isTrue(j.cond) {
			return nil, false
		}
		k := *u
		k.Input, k.Outer = left, true
		return &k, true
	}
	return nil, false
}

// onto replaces the single row below a plan by the left plan and passes its columns
// through.
func onto(left, n plan.Node) (plan.Node, bool) {
	if isUnit(n) {
		return left, true
	}
	switch x := n.(type) {
	case *plan.Filter, *plan.Unnest:
		in, ok := onto(left, x.Children()[0])
		if !ok {
			return nil, false
		}
		return x.WithChildren([]plan.Node{in}), true
	case *plan.Project:
		in, ok := onto(left, x.Input)
		if !ok {
			return nil, false
		}
		p := passColumns(in, left.Columns())
		p.Exprs = append(p.Exprs, x.Exprs...)
		return p, true
	}
	return nil, false
}

// isUnit reports a plan of one row without columns, as an absent FROM is.
func isUnit(n plan.Node) bool {
	v, ok := n.(*plan.Values)
	return ok && len(v.Rows) == 1 && len(v.Cols) == 0
}

func isTrue(e expr.Expr) bool {
	k, ok := e.(*expr.Const)
	return ok && !k.Value.Null && k.Value.Bool
}
