package binder

import (
	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/planner/internal/ast"
)

// aggregation is the Aggregate node of one query while it grows: expressions
// above it may read its groups and its calls, nothing else of the input.
type aggregation struct {
	b     *Binder
	input *scope
	// below are the subqueries in arguments and keys: they join the input.
	below  []subJoin
	groups []plan.NamedExpr
	byKey  map[string]plan.Column // groups and calls by exprKey
	calls  []plan.AggCall
	// sets are the grouping sets, by places in groups; none for plain grouping.
	sets  [][]int
	marks []plan.GroupingMark
	// rows are the set-returning calls among the keys.
	rows *setCalls
}

func (b *Binder) newAggregation(input *scope) *aggregation {
	return &aggregation{b: b, input: input, byKey: map[string]plan.Column{}}
}

// addGroup adds a grouping key, or finds the same one, and gives its place.
func (g *aggregation) addGroup(name string, e expr.Expr) int {
	key := exprKey(e)
	if _, ok := g.byKey[key]; ok {
		return g.position(e)
	}
	col := g.b.newColumn(name, e.Type())
	g.groups = append(g.groups, plan.NamedExpr{Column: col, Expr: e})
	g.byKey[key] = col
	return len(g.groups) - 1
}

// aggregate binds a call of an aggregate function to a column of the Aggregate node.
func (c *clause) aggregate(name string, x *ast.FuncCall) (expr.Expr, error) {
	if c.inside != "" {
		return nil, c.b.fail(fail.Grouping, x.Pos(), "aggregate %s inside the arguments of %s", name, c.inside).
			WithHint("Compute the inner one in a subquery.")
	}
	if c.aggs == nil {
		return nil, c.b.fail(fail.Grouping, x.Pos(), "aggregate %s is not allowed in %s", name, c.name).
			WithHint("Use HAVING, or a subquery.")
	}
	if x.Nulls != ast.NullsUnsaid {
		return nil, c.b.unsupported(x.Pos(), x.Nulls.String()+" in an aggregate")
	}
	in := &clause{b: c.b, scope: c.scope, name: "the arguments of " + name, inside: name}
	call, err := in.aggCall(name, x)
	if err != nil {
		return nil, err
	}
	if err := c.aggs.checkLevel(call, x); err != nil {
		return nil, err
	}
	c.aggs.below = append(c.aggs.below, in.joins...)
	return c.aggs.addCall(call), nil
}

// addCall adds a call, or finds the same one.
func (g *aggregation) addCall(call plan.AggCall) expr.Expr {
	key := callKey(call)
	col, ok := g.byKey[key]
	if !ok {
		col = g.b.newColumn(call.Name, call.Type)
		call.Column = col
		g.calls = append(g.calls, call)
		g.byKey[key] = col
	}
	return col.Ref()
}

func callKey(a plan.AggCall) string {
	key := "agg " + a.Fn.Name + ":" + a.Type.String()
	for _, e := range a.Args {
		key += "," + exprKey(e)
	}
	if a.Distinct {
		key += " distinct"
	}
	if a.Filter != nil {
		key += " filter " + exprKey(a.Filter)
	}
	return key + keysKey(a.OrderBy)
}

func keysKey(keys []plan.SortKey) string {
	key := ""
	for _, k := range keys {
		key += " order " + exprKey(k.Expr)
		if k.Desc {
			key += " desc"
		}
		if k.NullsFirst {
			key += " first"
		}
	}
	return key
}

// aggCall binds arguments, FILTER and ORDER BY of an aggregate call.
func (c *clause) aggCall(name string, x *ast.FuncCall) (plan.AggCall, error) {
	call := plan.AggCall{Distinct: x.Distinct}
	var args []expr.Expr
	var offs []int
	for _, a := range x.Args {
		if _, star := a.Value.(*ast.Star); star {
			if name != "count" || len(x.Args) > 1 {
				return call, c.b.fail(fail.Syntax, a.Pos(), "%s(*) does not exist", name).WithHint("Write %s(column); * is for count(*) alone.", name)
			}
			if x.Distinct {
				return call, c.b.unsupported(a.Pos(), "count(DISTINCT *)")
			}
			continue
		}
		if !a.Name.IsZero() {
			return call, c.b.fail(fail.Syntax, a.Pos(), "aggregate %s takes no named arguments", name)
		}
		e, err := c.expr(a.Value)
		if err != nil {
			return call, err
		}
		args, offs = append(args, e), append(offs, a.Pos())
	}
	var err error
	if call.OrderBy, err = c.sortKeys(x.OrderBy); err != nil {
		return call, err
	}
	if len(x.WithinGroup) > 0 {
		if args, offs, err = c.withinGroup(name, x, &call, args, offs); err != nil {
			return call, err
		}
	}
	if x.Filter != nil {
		clauseName := c.name
		c.name = "FILTER"
		call.Filter, err = c.predicate(x.Filter)
		c.name = clauseName
		if err != nil {
			return call, err
		}
	}
	r, err := c.b.env.Functions.Aggregate(name, typesOf(args))
	if err != nil {
		return call, c.b.at(err, x.Pos())
	}
	call.Fn, call.Name, call.Type = r.Agg, c.b.sourceText(x), r.Ret
	call.Args, err = c.b.toParams(args, r.Params, offs)
	return call, err
}

// withinGroup is f(p) WITHIN GROUP (ORDER BY x): the call f(x, p) of a function of
// ordered values, with a last argument true for DESC. An aggregate that depends
// on the order of its rows (LISTAGG) takes them in that order.
func (c *clause) withinGroup(name string, x *ast.FuncCall, call *plan.AggCall, args []expr.Expr, offs []int) ([]expr.Expr, []int, error) {
	item := x.WithinGroup[0]
	if len(x.OrderBy) > 0 {
		return nil, nil, c.b.fail(fail.Syntax, item.Pos(), "ORDER BY stands in the arguments and in WITHIN GROUP")
	}
	if x.Distinct {
		return nil, nil, c.b.fail(fail.Syntax, x.Pos(), "DISTINCT and WITHIN GROUP exclude each other")
	}
	fns := c.b.env.Functions
	if r, err := fns.Aggregate(name, typesOf(args)); err == nil && r.Agg.InOrder {
		call.OrderBy, err = c.sortKeys(x.WithinGroup)
		return args, offs, err
	}
	if len(x.WithinGroup) > 1 || item.All {
		return nil, nil, c.b.unsupported(item.Pos(), "WITHIN GROUP with more than one key")
	}
	e, err := c.expr(item.Expr)
	if err != nil {
		return nil, nil, err
	}
	args, offs = append([]expr.Expr{e}, args...), append([]int{item.Pos()}, offs...)
	if item.Desc {
		args, offs = append(args, boolConst(true)), append(offs, item.Pos())
	}
	r, err := fns.Aggregate(name, typesOf(args))
	if err == nil && r.Agg.Sorted {
		return args, offs, nil
	}
	number := types.Of(types.Double)
	for _, shape := range [][]types.Type{{number}, {number, number}} {
		if r, other := fns.Aggregate(name, shape); other == nil && r.Agg.Sorted {
			return nil, nil, c.b.at(err, x.Pos())
		}
	}
	return nil, nil, c.b.fail(fail.WrongObjectType, item.Pos(), "%s takes no WITHIN GROUP: it does not depend on the order of values", name)
}

// sortKeys binds ORDER BY inside an aggregate.
func (c *clause) sortKeys(items []*ast.OrderItem) ([]plan.SortKey, error) {
	var out []plan.SortKey
	for _, item := range items {
		if item.All {
			return nil, c.b.unsupported(item.Pos(), "ORDER BY ALL inside an aggregate")
		}
		e, err := c.expr(item.Expr)
		if err != nil {
			return nil, err
		}
		key, err := c.b.sortKey(item, e)
		if err != nil {
			return nil, err
		}
		out = append(out, key)
	}
	return out, nil
}

// checkLevel refuses an aggregate whose arguments read only columns of a query
// around this one: by SQL:2003 §6.9 it belongs to that query.
func (g *aggregation) checkLevel(call plan.AggCall, x *ast.FuncCall) error {
	used := map[expr.ColumnID]bool{}
	for _, a := range call.Args {
		expr.Columns(a, used)
	}
	for id := range used {
		if g.input.owns(id) {
			return nil
		}
	}
	if len(used) == 0 {
		return nil
	}
	// A subquery in the arguments gives columns that no scope owns.
	for s := g.input.parent; s != nil; s = s.parent {
		for id := range used {
			if s.owns(id) {
				return g.b.fail(fail.Unsupported, x.Pos(), "an aggregate of columns of an outer query is not supported").
					WithHint("It would aggregate the outer query, by the rules of SQL; compute it there.")
			}
		}
	}
	return nil
}

// above rewrites an expression over the input to one over the Aggregate node.
func (g *aggregation) above(e expr.Expr) (expr.Expr, error) {
	if e == nil {
		return nil, nil
	}
	if col, ok := g.byKey[exprKey(e)]; ok {
		return col.Ref(), nil
	}
	if c, ok := e.(*expr.Column); ok {
		if g.input.owns(c.ID) {
			return nil, g.b.fail(fail.Grouping, g.b.places[c], "column %q must be in GROUP BY or inside an aggregate", c.Name).
				WithHint("Add it to GROUP BY, or use any_value(%s).", c.Name)
		}
		return e, nil
	}
	kids := e.Children()
	if len(kids) == 0 {
		return e, nil
	}
	out := make([]expr.Expr, len(kids))
	for i, k := range kids {
		var err error
		if out[i], err = g.above(k); err != nil {
			return nil, err
		}
	}
	return e.WithChildren(out), nil
}

// aboveJoin rewrites a subquery that joins above the Aggregate node: what it
// reads of the query around it must be groups.
func (g *aggregation) aboveJoin(j subJoin) (subJoin, error) {
	var failed error
	swap := func(e expr.Expr) expr.Expr {
		c, ok := e.(*expr.Column)
		if !ok || failed != nil {
			return e
		}
		out, err := g.above(c)
		if err != nil {
			failed = err
			return e
		}
		return out
	}
	j.right = plan.MapExprs(j.right, swap)
	keys := append([]plan.EquiKey(nil), j.keys...)
	for i := range keys {
		var err error
		if keys[i].Left, err = g.above(keys[i].Left); err != nil {
			return j, err
		}
	}
	j.keys = keys
	return j, failed
}
