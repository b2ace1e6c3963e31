package binder

import (
	"maps"
	"slices"

	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/plan"
)

// idSet is a set of columns.
type idSet map[expr.ColumnID]bool

// columnsOf are the output columns of a node.
func columnsOf(n plan.Node) idSet {
	out := idSet{}
	for _, c := range n.Columns() {
		out[c.ID] = true
	}
	return out
}

// reads are the columns that an expression reads.
func reads(e expr.Expr) idSet {
	out := idSet{}
	expr.Columns(e, out)
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

func (s idSet) meets(o idSet) bool {
	for id := range s {
		if o[id] {
			return true
		}
	}
	return false
}

// meets reports whether a set has an output column of the node.
func meets(s idSet, n plan.Node) bool { return s.meets(columnsOf(n)) }

// sortedIDs are the keys of a map in order.
func sortedIDs(m map[int64]string) []int64 { return slices.Sorted(maps.Keys(m)) }

// eachExpr calls f for every expression of a plan and its parts.
func eachExpr(n plan.Node, f func(expr.Expr)) {
	plan.MapExprs(n, func(e expr.Expr) expr.Expr {
		if e != nil {
			f(e)
		}
		return e
	})
}

// freeColumns are the columns that a plan reads and does not produce: those of
// the queries around it.
func freeColumns(n plan.Node) idSet {
	used := idSet{}
	eachExpr(n, func(e expr.Expr) {
		if c, ok := e.(*expr.Column); ok {
			used[c.ID] = true
		}
	})
	plan.Walk(n, func(k plan.Node) bool {
		for _, c := range k.Columns() {
			delete(used, c.ID)
		}
		return true
	})
	return used
}

// substitute replaces columns by expressions.
func substitute(e expr.Expr, by map[expr.ColumnID]expr.Expr) expr.Expr {
	if len(by) == 0 {
		return e
	}
	return expr.Rewrite(e, func(x expr.Expr) expr.Expr {
		if c, ok := x.(*expr.Column); ok && by[c.ID] != nil {
			return by[c.ID]
		}
		return x
	})
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
