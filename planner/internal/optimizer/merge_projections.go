package optimizer

import (
	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/plan"
)

// mergeProjections joins projections that stand on each other, and drops those
// that change nothing.
//
// Safety rules: an expression that is more than a column or a constant is never
// computed twice, and never where the projection above reads it in a branch that
// may not be taken; a volatile function stays where it is.
func mergeProjections(_ *context, n plan.Node) plan.Node {
	return rewriteUp(n, func(n plan.Node) plan.Node {
		p, ok := n.(*plan.Project)
		if !ok {
			return n
		}
		if in, ok := p.Input.(*plan.Project); ok {
			if merged := merge(p, in); merged != nil {
				p = merged
			}
		}
		if changesNothing(p) {
			return p.Input
		}
		return p
	})
}

// merge puts the expressions of the inner projection into the outer one; nil
// where that would compute one of them twice or conditionally.
func merge(outer, inner *plan.Project) *plan.Project {
	uses := map[expr.ColumnID]int{}
	for _, e := range outer.Exprs {
		top := e.Expr
		expr.Walk(top, func(x expr.Expr) bool {
			if c, ok := x.(*expr.Column); ok {
				uses[c.ID]++
				if x != top {
					uses[c.ID]++ // inside another expression: only trivial ones may go there
				}
			}
			return true
		})
	}
	for _, e := range inner.Exprs {
		if !trivial(e.Expr) && uses[e.ID] != 1 {
			return nil
		}
	}
	defs := definitions(inner.Exprs)
	out := &plan.Project{Input: inner.Input}
	for _, e := range outer.Exprs {
		out.Exprs = append(out.Exprs, plan.NamedExpr{Column: e.Column, Expr: Simplify(substitute(e.Expr, defs))})
	}
	return out
}

func trivial(e expr.Expr) bool {
	switch e.(type) {
	case *expr.Column, *expr.Const, *expr.Param:
		return true
	}
	return false
}

// changesNothing reports a projection to exactly the columns of its input.
func changesNothing(p *plan.Project) bool {
	cols := p.Input.Columns()
	if len(cols) != len(p.Exprs) {
		return false
	}
	for i, e := range p.Exprs {
		c, ok := e.Expr.(*expr.Column)
		if !ok || c.ID != e.ID || cols[i].ID != e.ID {
			return false
		}
	}
	return true
}
