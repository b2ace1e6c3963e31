package binder

import (
	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/planner/internal/ast"
)

// rowCompare compares (a, b) with a row, or with the one row of a subquery.
func (c *clause) rowCompare(op expr.CompareOp, l *ast.Row, right ast.Expr, off int) (expr.Expr, error) {
	a, err := c.rowValues(l)
	if err != nil {
		return nil, err
	}
	b, err := c.rowOf(right, len(a))
	if err != nil {
		return nil, err
	}
	return c.b.compareRows(op, a, b, off)
}

// rowValues binds the values of a row, at least one.
func (c *clause) rowValues(row *ast.Row) ([]expr.Expr, error) {
	if len(row.Elems) == 0 {
		return nil, c.b.fail(fail.Syntax, row.Pos(), "a row without values cannot be compared")
	}
	return c.exprs(row.Elems)
}

// rowOf binds what stands opposite a row of n values, to as many values: a row, a
// subquery of n columns, or a struct of n fields.
func (c *clause) rowOf(e ast.Expr, n int) ([]expr.Expr, error) {
	var out []expr.Expr
	var err error
	switch x := e.(type) {
	case *ast.Row:
		out, err = c.exprs(x.Elems)
	case *ast.Subquery:
		out, err = c.rowSubquery(x)
	default:
		var one expr.Expr
		if one, err = c.expr(e); err != nil {
			return nil, err
		}
		for i := range one.Type().Fields {
			out = append(out, expr.FieldOf(one, i, e.Pos()))
		}
		if len(out) == 0 {
			return nil, c.b.fail(fail.DatatypeMismatch, e.Pos(), "a row of %s cannot be compared with a value of type %s", fail.Count(n, "value"), one.Type())
		}
	}
	if err == nil && len(out) != n {
		err = c.b.fail(fail.DatatypeMismatch, e.Pos(), "a row of %s cannot be compared with one of %d", fail.Count(n, "value"), len(out))
	}
	return out, err
}

// rowSubquery is (SELECT a, b …) as a row: NULLs without a row, 21000 with two.
func (c *clause) rowSubquery(x *ast.Subquery) ([]expr.Expr, error) {
	node, err := c.b.query(x.Query, c.scope)
	if err != nil {
		return nil, err
	}
	node = c.b.settleTypes(node)
	var out []expr.Expr
	for _, col := range node.Columns() {
		out = append(out, col.Ref())
	}
	c.joins = append(c.joins, subJoin{kind: plan.Single, right: node, off: x.Pos()})
	return out, nil
}

// compareRows compares two rows of one length as SQL does: by the first pair that
// is not equal, unknown when that pair is.
func (b *Binder) compareRows(op expr.CompareOp, l, r []expr.Expr, off int) (expr.Expr, error) {
	switch op {
	case expr.Ne, expr.Distinct:
		same, err := b.compareRows(opposite[op], l, r, off)
		return negate(same, true), err
	case expr.Eq, expr.NotDistinct:
		all := make([]expr.Expr, len(l))
		for i := range l {
			var err error
			if all[i], err = b.compare(op, l[i], r[i], off); err != nil {
				return nil, err
			}
		}
		return expr.AllOf(all), nil
	}
	last := len(l) - 1
	out, err := b.compare(op, l[last], r[last], off)
	for i := last - 1; i >= 0 && err == nil; i-- {
		out, err = b.orElse(strict[op], l[i], r[i], out, off)
	}
	return out, err
}

var opposite = map[expr.CompareOp]expr.CompareOp{expr.Ne: expr.Eq, expr.Distinct: expr.NotDistinct}

// strict is the comparison that decides at all pairs but the last.
var strict = map[expr.CompareOp]expr.CompareOp{expr.Lt: expr.Lt, expr.Le: expr.Lt, expr.Gt: expr.Gt, expr.Ge: expr.Gt}

// orElse is l op r, or rest where l equals r.
func (b *Binder) orElse(op expr.CompareOp, l, r, rest expr.Expr, off int) (expr.Expr, error) {
	decides, err := b.compare(op, l, r, off)
	if err != nil {
		return nil, err
	}
	equal, err := b.compare(expr.Eq, l, r, off)
	if err != nil {
		return nil, err
	}
	return anyOf([]expr.Expr{decides, expr.AllOf([]expr.Expr{equal, rest})}), nil
}

// inRows is (a, b) IN ((1, 2), (3, 4)).
func (c *clause) inRows(row *ast.Row, x *ast.InList) (expr.Expr, error) {
	left, err := c.rowValues(row)
	if err != nil {
		return nil, err
	}
	var ors []expr.Expr
	for _, e := range x.List {
		right, err := c.rowOf(e, len(left))
		if err != nil {
			return nil, err
		}
		eq, err := c.b.compareRows(expr.Eq, left, right, e.Pos())
		if err != nil {
			return nil, err
		}
		ors = append(ors, eq)
	}
	return negate(anyOf(ors), x.Not), nil
}

// rowIsNull is (a, b) IS NULL, true when all values are NULL, and IS NOT NULL, true
// when none is: a row may be neither.
func (c *clause) rowIsNull(row *ast.Row, not bool) (expr.Expr, error) {
	all, err := c.rowValues(row)
	if err != nil {
		return nil, err
	}
	for i, e := range all {
		all[i] = &expr.IsNull{Arg: c.b.settle(e), Negate: not}
	}
	return expr.AllOf(all), nil
}
