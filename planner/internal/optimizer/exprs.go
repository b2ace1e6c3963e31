package optimizer

import (
	"fmt"
	"strings"

	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/plan"
)

// idSet is a set of columns.
type idSet map[expr.ColumnID]bool

func reads(e expr.Expr) idSet {
	out := idSet{}
	expr.Columns(e, out)
	return out
}

func columnsOf(n plan.Node) idSet {
	out := idSet{}
	for _, c := range n.Columns() {
		out[c.ID] = true
	}
	return out
}

func (s idSet) within(o idSet) bool {
	for id := range s {
		if !o[id] {
			return false
		}
	}
	return true
}

// substitute replaces columns by expressions.
func substitute(e expr.Expr, by map[expr.ColumnID]expr.Expr) expr.Expr {
	return expr.Rewrite(e, func(x expr.Expr) expr.Expr {
		if c, ok := x.(*expr.Column); ok && by[c.ID] != nil {
			return by[c.ID]
		}
		return x
	})
}

// definitions maps output columns to the expressions that compute them.
func definitions(es []plan.NamedExpr) map[expr.ColumnID]expr.Expr {
	out := make(map[expr.ColumnID]expr.Expr, len(es))
	for _, e := range es {
		out[e.ID] = e.Expr
	}
	return out
}

// equiKey reads an equality between an expression of each side.
func equiKey(cond expr.Expr, left, right idSet) (plan.EquiKey, bool) {
	c, ok := cond.(*expr.Compare)
	if !ok || c.Op != expr.Eq && c.Op != expr.NotDistinct {
		return plan.EquiKey{}, false
	}
	l, r := reads(c.Left), reads(c.Right)
	safe := c.Op == expr.NotDistinct
	switch {
	case len(l) == 0 || len(r) == 0 || expr.HasVolatile(cond):
	case l.within(left) && r.within(right):
		return plan.EquiKey{Left: c.Left, Right: c.Right, NullSafe: safe}, true
	case l.within(right) && r.within(left):
		return plan.EquiKey{Left: c.Right, Right: c.Left, NullSafe: safe}, true
	}
	return plan.EquiKey{}, false
}

// sameKey prints an expression with its column ids and types: equal texts
// compute equal values.
func sameKey(e expr.Expr) string {
	var b strings.Builder
	expr.Walk(e, func(x expr.Expr) bool {
		switch k := x.(type) {
		case *expr.Column:
			fmt.Fprintf(&b, "#%d ", k.ID)
		case *expr.Const:
			fmt.Fprintf(&b, "%s:%s ", k.Value.Type, k.String())
		case *expr.Call:
			fmt.Fprintf(&b, "%s/%d:%s ", k.Fn.Name, len(k.Args), k.T)
		case *expr.Cast:
			fmt.Fprintf(&b, "cast:%s:%t ", k.To, k.Try)
		case *expr.Compare:
			fmt.Fprintf(&b, "%s ", k.Op)
		case *expr.Logic:
			fmt.Fprintf(&b, "logic:%t:%d ", k.Or, len(k.Args))
		case *expr.IsNull:
			fmt.Fprintf(&b, "null:%t ", k.Negate)
		case *expr.In:
			fmt.Fprintf(&b, "in:%t:%d ", k.Negate, len(k.List))
		case *expr.Case:
			fmt.Fprintf(&b, "case:%d:%t:%s ", len(k.Whens), k.Else != nil, k.T)
		case *expr.Param:
			fmt.Fprintf(&b, "$%d:%s ", k.Index, k.T)
		default:
			fmt.Fprintf(&b, "%T/%d ", x, len(x.Children()))
		}
		return true
	})
	return b.String()
}

// maxGrowth bounds the expressions that substitution builds: parts are shared, but
// whoever walks the result walks each of them every time.
const maxGrowth = 4096

// tooBig reports whether a walk of an expression takes more than maxGrowth steps.
func tooBig(e expr.Expr) bool {
	n := 0
	expr.Walk(e, func(expr.Expr) bool {
		n++
		return n <= maxGrowth
	})
	return n > maxGrowth
}
