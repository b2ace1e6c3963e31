package binder

import (
	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
	"github.com/loamdb/loam/planner/internal/ast"
)

// quantified binds x op ANY|ALL (…) over a query, an array literal or any list.
func (c *clause) quantified(x *ast.Quantified) (expr.Expr, error) {
	op, known := compareOps[x.Op]
	if !known {
		return nil, c.b.unsupported(x.Pos(), "ANY or ALL behind "+string(x.Op))
	}
	if x.Query != nil {
		return c.quantifiedQuery(op, x)
	}
	arg, err := c.expr(x.X)
	if err != nil {
		return nil, err
	}
	if lit, ok := x.Array.(*ast.ArrayLit); ok && len(lit.Elems) > 0 {
		return c.quantifiedElems(op, arg, lit, x.All)
	}
	list, err := c.expr(x.Array)
	if err != nil {
		return nil, err
	}
	return c.b.quantifiedList(op, x.All, arg, list, x.Array.Pos())
}

// quantifiedElems is ANY or ALL of an array literal: = ANY is IN, <> ALL is NOT
// IN, any other a comparison for each element.
func (c *clause) quantifiedElems(op expr.CompareOp, arg expr.Expr, lit *ast.ArrayLit, every bool) (expr.Expr, error) {
	elems, err := c.exprs(lit.Elems)
	if err != nil {
		return nil, err
	}
	if op == expr.Eq && !every || op == expr.Ne && every {
		offs := []int{lit.Pos()}
		for _, e := range lit.Elems {
			offs = append(offs, e.Pos())
		}
		return c.b.in(arg, elems, offs, every)
	}
	var all []expr.Expr
	for i, e := range elems {
		one, err := c.b.compare(op, arg, e, lit.Elems[i].Pos())
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	if every {
		return expr.AllOf(all), nil
	}
	return anyOf(all), nil
}

// quantifiedList is ANY or ALL of a list that is not written out. A literal or a
// parameter becomes a list of the type of the left side.
func (b *Binder) quantifiedList(op expr.CompareOp, every bool, arg, list expr.Expr, off int) (expr.Expr, error) {
	lt := list.Type()
	switch lt.Kind {
	case types.Unknown:
		lt = types.ListOf(arg.Type().Settled())
	case types.Vector:
		lt = types.ListOf(types.Of(types.Double))
	case types.List:
	default:
		err := b.fail(fail.DatatypeMismatch, off, "ANY and ALL take a list or a query, not %s", lt)
		if lt.Kind == types.JSON {
			return nil, err.WithHint("Write CAST(… AS %s).", types.ListOf(types.Of(types.Text)))
		}
		return nil, err
	}
	t, ok := types.Common(arg.Type(), *lt.Elem)
	if !ok {
		return nil, b.fail(fail.DatatypeMismatch, off, "%s and the elements of %s cannot be compared", arg.Type(), lt)
	}
	if t = t.Settled(); t.Kind == types.JSON {
		t = types.Of(types.Text)
	}
	if !t.Orderable() {
		return nil, b.fail(fail.DatatypeMismatch, off, "values of type %s cannot be compared", t)
	}
	arg, err := b.coerce(arg, t, off)
	if err != nil {
		return nil, err
	}
	if list.Type().Kind == types.Vector {
		list, err = b.castTo(list, types.ListOf(t), false, off)
	} else {
		list, err = b.coerce(list, types.ListOf(t), off)
	}
	if err != nil {
		return nil, err
	}
	return expr.Quantify(op, every, arg, list, off), nil
}

// quantifiedQuery is ANY or ALL of a query: = ANY is IN and <> ALL is NOT IN. For
// the other comparisons the least and the greatest value decide, and whether there
// is a NULL: the query becomes one list of these.
func (c *clause) quantifiedQuery(op expr.CompareOp, x *ast.Quantified) (expr.Expr, error) {
	if op == expr.Eq && !x.All || op == expr.Ne && x.All {
		return c.inQuery(&ast.InQuery{Span: x.Span, X: x.X, Not: x.All, Query: x.Query})
	}
	if _, row := x.X.(*ast.Row); row {
		return nil, c.b.unsupported(x.Pos(), "a comparison "+string(x.Op)+" of a row with ANY or ALL of a query")
	}
	arg, err := c.expr(x.X)
	if err != nil {
		return nil, err
	}
	node, err := c.b.query(x.Query, c.scope)
	if err != nil {
		return nil, err
	}
	if n := len(node.Columns()); n != 1 {
		return nil, c.b.fail(fail.Syntax, x.Query.Pos(), "ANY and ALL take a query of one column, this one has %d", n)
	}
	have := node.Columns()[0].Type
	t, ok := types.Common(arg.Type(), have)
	if !ok {
		return nil, c.b.fail(fail.DatatypeMismatch, x.X.Pos(), "%s and %s cannot be compared", arg.Type(), have)
	}
	if t = t.Settled(); !t.Orderable() {
		return nil, c.b.fail(fail.DatatypeMismatch, x.X.Pos(), "values of type %s cannot be compared", t)
	}
	node, err = c.b.extremes(c.b.castColumns(node, []types.Type{t}), x.Pos())
	if err != nil {
		return nil, err
	}
	c.joins = append(c.joins, subJoin{kind: plan.Single, right: node, off: x.Pos()})
	return c.b.quantifiedList(op, x.All, arg, node.Columns()[0].Ref(), x.X.Pos())
}

// extremes makes of a column one list: empty without a row, else of the least and
// the greatest value, and a NULL where there is one.
func (b *Binder) extremes(node plan.Node, off int) (plan.Node, error) {
	col := node.Columns()[0]
	agg := &plan.Aggregate{Input: node}
	call := func(name string, args ...expr.Expr) error {
		r, err := b.env.Functions.Aggregate(name, typesOf(args))
		if err != nil {
			return b.at(err, off)
		}
		agg.Aggs = append(agg.Aggs, plan.AggCall{Column: b.newColumn(name, r.Ret), Fn: r.Agg, Args: args})
		return nil
	}
	for _, name := range []string{"min", "max", "count"} {
		if err := call(name, col.Ref()); err != nil {
			return nil, err
		}
	}
	if err := call("count"); err != nil {
		return nil, err
	}
	least, most, known, rows := agg.Aggs[0].Ref(), agg.Aggs[1].Ref(), agg.Aggs[2].Ref(), agg.Aggs[3].Ref()
	values, err := b.scalar("make_array", []expr.Expr{least, most}, off)
	if err != nil {
		return nil, err
	}
	withNull, err := b.scalar("make_array", []expr.Expr{least, most, nullConst(col.Type)}, off)
	if err != nil {
		return nil, err
	}
	none := &expr.Const{Value: vec.Value{Type: types.ListOf(col.Type)}}
	list := &expr.Case{T: none.Type(), Else: values, Whens: []expr.When{
		{Cond: &expr.Compare{Op: expr.Eq, Left: rows, Right: &expr.Const{Value: vec.Int64(0)}}, Result: none},
		{Cond: &expr.Compare{Op: expr.Lt, Left: known, Right: rows}, Result: withNull},
	}}
	return &plan.Project{Input: agg, Exprs: []plan.NamedExpr{{Column: b.newColumn("extremes", list.T), Expr: list}}}, nil
}
