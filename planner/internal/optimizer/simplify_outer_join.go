package optimizer

import (
	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/internal/vec"
)

// simplifyOuterJoin turns an outer join into an inner one (or a full one into a
// left or right one) where a filter above drops its NULL-extended rows.
//
// Safety rule: that a condition drops them is proved by evaluating it with NULL
// for every column of the null-supplying side; only FALSE or NULL proves it.
// Functions that see NULL (coalesce, IS NULL, CASE) then evaluate to what they
// are, so nothing is assumed about them.
func simplifyOuterJoin(_ *context, n plan.Node) plan.Node {
	return rewriteUp(n, func(n plan.Node) plan.Node {
		f, ok := n.(*plan.Filter)
		if !ok {
			return n
		}
		if j, ok := f.Input.(*plan.Join); ok {
			if kind := innerKind(j, f.Pred); kind != j.Kind {
				k := *j
				k.Kind = kind
				return &plan.Filter{Input: &k, Pred: f.Pred}
			}
		}
		return n
	})
}

// innerKind is the kind that the join may have below the filter.
func innerKind(j *plan.Join, pred expr.Expr) plan.JoinKind {
	switch j.Kind {
	case plan.Left:
		if rejectsNull(pred, j.Right) {
			return plan.Inner
		}
	case plan.Right:
		if rejectsNull(pred, j.Left) {
			return plan.Inner
		}
	case plan.Full:
		left, right := rejectsNull(pred, j.Left), rejectsNull(pred, j.Right)
		switch {
		case left && right:
			return plan.Inner
		case left:
			return plan.Left
		case right:
			return plan.Right
		}
	}
	return j.Kind
}

// rejectsNull reports whether a conjunct is FALSE or NULL on rows where side is NULL.
func rejectsNull(pred expr.Expr, side plan.Node) bool {
	nulls := map[expr.ColumnID]expr.Expr{}
	for _, c := range side.Columns() {
		nulls[c.ID] = &expr.Const{Value: vec.Null(c.Type)}
	}
	for _, p := range expr.Conjuncts(pred) {
		if expr.HasVolatile(p) {
			continue
		}
		folded, err := expr.Fold(nil, substitute(p, nulls))
		if k, ok := folded.(*expr.Const); err == nil && ok && (k.Value.Null || !k.Value.Bool) {
			return true
		}
	}
	return false
}
