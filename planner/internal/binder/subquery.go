package binder

import (
	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/planner/internal/ast"
)

// subJoin is a subquery, or a right side of FROM, that waits to be joined to the
// plan on its left, whose columns it may read.
type subJoin struct {
	kind  plan.JoinKind
	right plan.Node
	// keys are the comparisons of IN: left over the input, right a column of right.
	keys []plan.EquiKey
	// cond is the condition of ON, over both sides.
	cond expr.Expr
	// mark is the output of a Mark join.
	mark plan.Column
	off  int
}

// scalarSubquery is (SELECT …) as a value: NULL without a row, 21000 with two.
func (c *clause) scalarSubquery(x *ast.Subquery) (expr.Expr, error) {
	node, err := c.b.query(x.Query, c.scope)
	if err != nil {
		return nil, err
	}
	node = c.b.settleTypes(node)
	cols := node.Columns()
	if len(cols) != 1 {
		return nil, c.b.fail(fail.Syntax, x.Pos(), "a subquery as a value must have one column, this one has %d", len(cols))
	}
	c.joins = append(c.joins, subJoin{kind: plan.Single, right: node, off: x.Pos()})
	return cols[0].Ref(), nil
}

// exists is EXISTS where it is not a conjunct of WHERE: a mark.
func (c *clause) exists(x *ast.Exists, not bool) (expr.Expr, error) {
	node, err := c.b.query(x.Query, c.scope)
	if err != nil {
		return nil, err
	}
	mark := c.b.newColumn("exists", types.Of(types.Boolean))
	c.joins = append(c.joins, subJoin{kind: plan.Mark, right: node, mark: mark, off: x.Pos()})
	return negate(mark.Ref(), not), nil
}

// inQuery is IN (SELECT …) where it is not a conjunct of WHERE, or negated: a
// three-valued mark.
func (c *clause) inQuery(x *ast.InQuery) (expr.Expr, error) {
	j, err := c.inJoin(x)
	if err != nil {
		return nil, err
	}
	j.kind, j.mark = plan.Mark, c.b.newColumn("in", types.Of(types.Boolean))
	c.joins = append(c.joins, j)
	return negate(j.mark.Ref(), x.Not), nil
}

// inJoin binds both sides of IN to keys of equal types.
func (c *clause) inJoin(x *ast.InQuery) (subJoin, error) {
	list := []ast.Expr{x.X}
	if row, ok := x.X.(*ast.Row); ok {
		list = row.Elems
	}
	left, err := c.exprs(list)
	if err != nil {
		return subJoin{}, err
	}
	node, err := c.b.query(x.Query, c.scope)
	if err != nil {
		return subJoin{}, err
	}
	cols := node.Columns()
	if len(cols) != len(left) {
		return subJoin{}, c.b.fail(fail.Syntax, x.Query.Pos(), "IN compares %s with %s", fail.Count(len(left), "value"), fail.Count(len(cols), "column"))
	}
	want := make([]types.Type, len(cols))
	for i, col := range cols {
		t, ok := types.Common(left[i].Type(), col.Type)
		if !ok {
			return subJoin{}, c.b.fail(fail.DatatypeMismatch, list[i].Pos(), "%s and %s cannot be compared", left[i].Type(), col.Type)
		}
		if t.Kind == types.Unknown {
			t = types.Of(types.Text)
		}
		if !t.Orderable() {
			return subJoin{}, c.b.fail(fail.DatatypeMismatch, list[i].Pos(), "values of type %s cannot be compared", t)
		}
		want[i] = t
		if left[i], err = c.b.coerce(left[i], t, list[i].Pos()); err != nil {
			return subJoin{}, err
		}
	}
	node = c.b.castColumns(node, want)
	j := subJoin{right: node, off: x.Pos()}
	for i, col := range node.Columns() {
		j.keys = append(j.keys, plan.EquiKey{Left: left[i], Right: col.Ref()})
	}
	return j, nil
}

// conjunctJoin takes a conjunct of WHERE that is a semi or an anti join by
// itself: a row passes or not, so that NULL and FALSE are the same. NOT IN is not
// among them: NULLs on either side make it NULL where an anti join would pass.
func (c *clause) conjunctJoin(e ast.Expr) (taken bool, err error) {
	var j subJoin
	switch x := e.(type) {
	case *ast.Exists:
		j.kind, j.off = plan.Semi, x.Pos()
		j.right, err = c.b.query(x.Query, c.scope)
	case *ast.Unary:
		ex, ok := x.X.(*ast.Exists)
		if !ok || x.Op != ast.OpNot {
			return false, nil
		}
		j.kind, j.off = plan.Anti, ex.Pos()
		j.right, err = c.b.query(ex.Query, c.scope)
	case *ast.InQuery:
		if x.Not {
			return false, nil
		}
		j, err = c.inJoin(x)
		j.kind = plan.Semi
	case *ast.Quantified:
		if x.All || x.Op != ast.OpEq || x.Query == nil {
			return false, nil
		}
		j, err = c.inJoin(&ast.InQuery{Span: x.Span, X: x.X, Query: x.Query})
		j.kind = plan.Semi
	default:
		return false, nil
	}
	if err != nil {
		return false, err
	}
	c.joins = append(c.joins, j)
	return true, nil
}
