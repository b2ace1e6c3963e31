package binder

import (
	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
	"github.com/loamdb/loam/planner/internal/ast"
)

// setReturning are the functions that give rows in FROM and in a select list.
// range is one in FROM only: elsewhere it is a list.
var setReturning = map[string]bool{"unnest": true, "generate_series": true, "json_array_elements": true, "jsonb_array_elements": true}

// conditional are the functions that do not evaluate all their arguments.
var conditional = map[string]bool{"coalesce": true, "ifnull": true, "nvl": true, "if": true, "iff": true}

// setFunc binds a set-returning function in FROM: an Unnest over a single row,
// which the join with what stands left of it puts on top of that.
func (b *Binder) setFunc(name string, x *ast.TableFunc, sees *scope) (plan.Node, *scope, error) {
	c := &clause{b: b, scope: sees, name: "the arguments of " + name}
	items, err := c.setItems(name, x.Call)
	if err != nil {
		return nil, nil, err
	}
	node, err := b.applyAll(&plan.Values{Rows: [][]expr.Expr{{}}}, c.joins)
	if err != nil {
		return nil, nil, err
	}
	u := &plan.Unnest{Input: node, Items: items}
	if x.Ordinality {
		u.Ordinal = b.newColumn("ordinality", types.Of(types.Int64))
	}
	shown := u.Columns()[len(node.Columns()):]
	if node = constantSeries(u); node == nil {
		node = u
	}
	alias := x.Alias
	called := name
	if alias != nil {
		called = alias.Name.Text
	}
	sc := tableScope(&table{name: called}, shown)
	if alias != nil && len(items) == 1 && len(alias.Columns) == 0 {
		sc.cols[0].name = called // as in PostgreSQL, the alias names a single column too
	}
	return node, sc, b.renameColumns(sc, alias)
}

// constantSeries is a series that reads nothing as a leaf of its own, which
// several workers read; nil for any other.
func constantSeries(u *plan.Unnest) plan.Node {
	it := u.Items[0]
	if len(u.Items) > 1 || it.List != nil || u.Ordinal.ID != 0 || !isUnit(u.Input) {
		return nil
	}
	for _, e := range it.Exprs() {
		if len(reads(e)) > 0 {
			return nil
		}
	}
	out := &plan.Series{Start: it.Start, Stop: it.Stop, Step: it.Step, Col: it.Column}
	if !it.Exclusive {
		return out
	}
	return &plan.Filter{Input: out, Pred: &expr.Compare{Op: expr.Ne, Left: out.Col.Ref(), Right: it.Stop}}
}

// setItems binds the arguments of a set-returning call to what it takes apart.
func (c *clause) setItems(name string, x *ast.FuncCall) ([]plan.UnnestItem, error) {
	if err := c.setOnly(name, x); err != nil {
		return nil, err
	}
	args := make([]expr.Expr, len(x.Args))
	for i, a := range x.Args {
		if !a.Name.IsZero() {
			return nil, c.b.fail(fail.Syntax, a.Pos(), "%s takes no named arguments", name)
		}
		var err error
		if args[i], err = c.expr(a.Value); err != nil {
			return nil, err
		}
	}
	if name == "generate_series" || name == "range" {
		it, err := c.b.seriesItem(name, args, x)
		return []plan.UnnestItem{it}, err
	}
	if len(args) == 0 || name != "unnest" && len(args) > 1 {
		return nil, c.b.fail(fail.UndefinedFunction, x.Pos(), "%s takes %s", name,
			map[bool]string{true: "one or more lists", false: "one JSON array"}[name == "unnest"])
	}
	items := make([]plan.UnnestItem, len(args))
	for i, a := range args {
		list, err := c.b.asList(name, a, x.Args[i].Pos())
		if err != nil {
			return nil, err
		}
		items[i] = plan.UnnestItem{Column: c.b.newColumn(name, *list.Type().Elem), List: list}
	}
	return items, nil
}

// setOnly refuses the clauses that aggregates take.
func (c *clause) setOnly(name string, x *ast.FuncCall) error {
	if x.Over != nil || x.Distinct || x.Filter != nil || len(x.OrderBy)+len(x.WithinGroup) > 0 || x.Nulls != ast.NullsUnsaid {
		return c.b.fail(fail.WrongObjectType, x.Pos(), "%s is no aggregate: it takes no DISTINCT, ORDER BY, FILTER or OVER", name)
	}
	return nil
}

// asList brings the argument of unnest to a list: a vector has its numbers, a JSON
// array its elements.
func (b *Binder) asList(name string, e expr.Expr, off int) (expr.Expr, error) {
	jsons := types.ListOf(types.Of(types.JSON))
	switch t := e.Type(); {
	case name != "unnest" && (t.Kind == types.JSON || t.Textual()):
		e, err := b.coerce(e, types.Of(types.JSON), off)
		if err != nil {
			return nil, err
		}
		return b.castTo(e, jsons, false, off)
	case name != "unnest":
		return nil, b.fail(fail.DatatypeMismatch, off, "%s takes a JSON array, not %s", name, t)
	case t.Kind == types.List && t.Elem.Kind == types.Unknown:
		return b.coerce(e, types.ListOf(types.Of(types.Text)), off)
	case t.Kind == types.List:
		return e, nil
	case t.Kind == types.Vector:
		return b.castTo(e, types.ListOf(types.Of(types.Double)), false, off)
	case t.Kind == types.JSON:
		return b.castTo(e, jsons, false, off)
	case t.Kind == types.Unknown:
		if k, ok := e.(*expr.Const); ok && k.Value.Null {
			return nullConst(types.ListOf(types.Of(types.Text))), nil
		}
		return nil, b.fail(fail.DatatypeMismatch, off, "unnest cannot tell the type of its argument").
			WithHint("Cast it, as in unnest($1::BIGINT[]).")
	default:
		return nil, b.fail(fail.DatatypeMismatch, off, "unnest takes a list, not %s", t).
			WithHint("A list is written [1, 2] or array_agg(…); string_to_array(…) makes one of a text.")
	}
}

// seriesItem is generate_series(start, stop [, step]), which includes stop, and
// range([start,] stop [, step]), which does not.
func (b *Binder) seriesItem(name string, args []expr.Expr, call *ast.FuncCall) (plan.UnnestItem, error) {
	if name == "range" && len(args) == 1 {
		args = []expr.Expr{&expr.Const{Value: vec.Int64(0)}, args[0]}
	}
	if len(args) < 2 || len(args) > 3 {
		return plan.UnnestItem{}, b.fail(fail.UndefinedFunction, call.Pos(), "%s takes two or three arguments", name).WithHint("Write %s(1, 10).", name)
	}
	t, step := types.Of(types.Int64), types.Of(types.Int64)
	for _, a := range args[:2] {
		if k := a.Type().Kind; k == types.Timestamp || k == types.Date {
			t, step = types.Of(types.Timestamp), types.Of(types.Interval)
		}
	}
	want := []types.Type{t, t, step}
	for i := range args {
		var err error
		if args[i], err = b.coerce(args[i], want[i], call.Pos()); err != nil {
			return plan.UnnestItem{}, err
		}
	}
	if len(args) == 2 {
		if t.Kind == types.Timestamp {
			return plan.UnnestItem{}, b.fail(fail.UndefinedFunction, call.Pos(), "%s over TIMESTAMP needs a step", name).WithHint("Add INTERVAL '1 day'.")
		}
		args = append(args, &expr.Const{Value: vec.Int64(1)})
	}
	if k, ok := args[2].(*expr.Const); ok && t.Kind == types.Int64 && k.Value.Int == 0 && !k.Value.Null {
		return plan.UnnestItem{}, b.fail(fail.InvalidParameter, call.Pos(), "the step of %s must not be 0", name)
	}
	return plan.UnnestItem{Column: b.newColumn(name, t), Start: args[0], Stop: args[1], Step: args[2], Exclusive: name == "range"}, nil
}

// setCalls are the set-returning calls of a select list or of GROUP BY: the items
// of one Unnest, so that several go in step, as in PostgreSQL.
type setCalls struct {
	// below are those of the GROUP BY under a select list, which has their columns.
	below *setCalls
	items []plan.UnnestItem
	byKey map[string]plan.Column
}

func newSetCalls(below *setCalls) *setCalls {
	return &setCalls{below: below, byKey: map[string]plan.Column{}}
}

// find looks for an equal call here and below.
func (s *setCalls) find(key string) (plan.Column, bool) {
	for ; s != nil; s = s.below {
		if col, ok := s.byKey[key]; ok {
			return col, true
		}
	}
	return plan.Column{}, false
}

// over puts the rows of the calls on top of their input.
func (s *setCalls) over(n plan.Node) plan.Node {
	if s == nil || len(s.items) == 0 {
		return n
	}
	return &plan.Unnest{Input: n, Items: s.items}
}

// above rewrites the arguments over the input of an aggregation to those over it.
func (s *setCalls) above(g *aggregation) error {
	var failed error
	for i, it := range s.items {
		s.items[i] = it.Map(func(e expr.Expr) expr.Expr {
			if e == nil || failed != nil {
				return e
			}
			var up expr.Expr
			up, failed = g.above(e)
			return up
		})
	}
	return failed
}

// withoutSets refuses set-returning calls until the returned function is called.
func (c *clause) withoutSets(inside string) func() {
	sets, was := c.sets, c.noSets
	c.sets, c.noSets = nil, inside
	return func() { c.sets, c.noSets = sets, was }
}

// setCall binds a set-returning call in an expression to the column of its rows.
func (c *clause) setCall(name string, x *ast.FuncCall) (expr.Expr, error) {
	if c.sets == nil || c.inWindow != "" {
		where := c.name
		switch {
		case c.inWindow != "":
			where = "the parts of " + c.inWindow
		case c.noSets != "":
			where = c.noSets
		}
		return nil, c.b.fail(fail.Unsupported, x.Pos(), "%s makes rows and is not allowed in %s", name, where).
			WithHint("Write it in FROM: SELECT … FROM t, %s(…) AS u(x)", name)
	}
	sets := c.sets
	restore := c.withoutSets("the arguments of " + name)
	items, err := c.setItems(name, x)
	restore()
	if err != nil {
		return nil, err
	}
	if len(items) > 1 {
		return nil, c.b.fail(fail.UndefinedFunction, x.Pos(), "unnest of several lists stands in FROM only").
			WithHint("Write SELECT unnest(a), unnest(b): they go in step.")
	}
	key := name
	for _, e := range items[0].Exprs() {
		key += "," + exprKey(e)
	}
	if col, ok := sets.find(key); ok {
		return col.Ref(), nil
	}
	sets.byKey[key] = items[0].Column
	sets.items = append(sets.items, items[0])
	return items[0].Ref(), nil
}
