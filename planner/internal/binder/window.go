package binder

import (
	"strings"

	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/planner/internal/ast"
)

// windows are the Window nodes of one query while they grow: one for each
// PARTITION BY with its ORDER BY, in the order in which they are first written.
type windows struct {
	b     *Binder
	named []*ast.NamedWindow
	nodes []*plan.Window
	sigs  []string
	byKey map[string]plan.Column
}

func (b *Binder) newWindows(sel *ast.Select) (*windows, error) {
	w := &windows{b: b, byKey: map[string]plan.Column{}}
	for _, def := range sel.Windows {
		if w.find(def.Name) != nil {
			return nil, b.fail(fail.Windowing, def.Pos(), "window %q is defined twice", def.Name.Text)
		}
		flat, err := w.flatten(def.Window)
		if err != nil {
			return nil, err
		}
		w.named = append(w.named, &ast.NamedWindow{Span: def.Span, Name: def.Name, Window: flat})
	}
	return w, nil
}

// find is the definition of a name, flattened; nil if there is none.
func (w *windows) find(id ast.Ident) *ast.Window {
	for _, def := range w.named {
		if nameIs(id, def.Name.Text) {
			return def.Window
		}
	}
	return nil
}

func (w *windows) lookup(id ast.Ident) (*ast.Window, error) {
	if base := w.find(id); base != nil {
		return base, nil
	}
	names := make([]string, len(w.named))
	for i, def := range w.named {
		names[i] = def.Name.Text
	}
	return nil, w.b.suggest(fail.UndefinedObject, id, names, "window %q does not exist", id.Text)
}

// flatten replaces the name of a window by its definition. OVER w is w with its
// frame; OVER (w …) adds an order and a frame to a w that has none.
func (w *windows) flatten(x *ast.Window) (*ast.Window, error) {
	if !x.Ref.IsZero() {
		return w.lookup(x.Ref)
	}
	if x.Base.IsZero() {
		return x, nil
	}
	base, err := w.lookup(x.Base)
	if err != nil {
		return nil, err
	}
	name := x.Base.Text
	switch {
	case len(x.PartitionBy) > 0:
		return nil, w.b.fail(fail.Windowing, x.PartitionBy[0].Pos(), "the PARTITION BY of window %q cannot be replaced", name)
	case len(x.OrderBy) > 0 && len(base.OrderBy) > 0:
		return nil, w.b.fail(fail.Windowing, x.OrderBy[0].Pos(), "the ORDER BY of window %q cannot be replaced", name)
	case base.Frame != nil:
		return nil, w.b.fail(fail.Windowing, x.Base.Pos(), "window %q has a frame and cannot be extended", name).
			WithHint("OVER %s, without parentheses, uses it as it is.", name)
	}
	flat := *x
	flat.Base, flat.PartitionBy = ast.Ident{}, base.PartitionBy
	if len(x.OrderBy) == 0 {
		flat.OrderBy = base.OrderBy
	}
	return &flat, nil
}

// check binds the definitions of the WINDOW clause for their errors.
func (w *windows) check(c *clause) error {
	for _, def := range w.named {
		c.inWindow = "WINDOW " + def.Name.Text
		node, _, err := c.windowNode(def.Window)
		if err == nil {
			_, err = c.frame(def.Window, node)
		}
		c.inWindow = ""
		if err != nil {
			return err
		}
	}
	return nil
}

// windowPlace refuses a window call where none may stand.
func (c *clause) windowPlace(name string, off int) error {
	switch {
	case c.inWindow != "":
		return c.b.fail(fail.Windowing, off, "window function %s inside a window function", name).
			WithHint("Compute the inner one in a subquery.")
	case c.inside != "":
		return c.b.fail(fail.Grouping, off, "window function %s inside the arguments of %s", name, c.inside).
			WithHint("Compute the inner one in a subquery.")
	case c.wins != nil:
		return nil
	}
	err := c.b.fail(fail.Windowing, off, "window function %s is not allowed in %s", name, c.name)
	if c.name == "WHERE" || c.name == "HAVING" {
		return err.WithHint("Use QUALIFY, or a subquery.")
	}
	return err.WithHint("Compute it in a subquery.")
}

// window binds a call with OVER to a column of a Window node.
func (c *clause) window(name string, x *ast.FuncCall) (expr.Expr, error) {
	if err := c.windowPlace(name, x.Pos()); err != nil {
		return nil, err
	}
	if err := c.windowForm(name, x); err != nil {
		return nil, err
	}
	spec, err := c.wins.flatten(x.Over)
	if err != nil {
		return nil, err
	}
	c.inWindow = name
	defer func() { c.inWindow = "" }()
	call, err := c.windowCall(name, x)
	if err != nil {
		return nil, err
	}
	node, sig, err := c.windowNode(spec)
	if err != nil {
		return nil, err
	}
	if call.Frame, err = c.frame(spec, node); err != nil {
		return nil, err
	}
	if call.Fn != nil && !call.Fn.Kind.InFrame() {
		call.Frame = plan.WholePartition
	}
	return c.wins.add(node, sig, call), nil
}

// windowForm refuses what an aggregate takes and a call with OVER does not.
func (c *clause) windowForm(name string, x *ast.FuncCall) error {
	fns := c.b.env.Functions
	switch {
	case !fns.IsWindow(name) && !fns.IsAggregate(name):
		if _, err := fns.Scalar(name, nil); fail.Is(err, fail.UndefinedFunction) && strings.HasPrefix(err.Error(), "there is no") {
			return c.b.at(err, x.Pos())
		}
		return c.b.fail(fail.WrongObjectType, x.Pos(), "OVER is for window functions and aggregates, and %s is neither", name)
	case x.Distinct:
		return c.b.fail(fail.Unsupported, x.Pos(), "DISTINCT in a window function is not supported").
			WithHint("Remove the repetitions in a subquery.")
	case len(x.OrderBy) > 0:
		return c.b.fail(fail.Unsupported, x.OrderBy[0].Pos(), "ORDER BY in the arguments of a window function is not supported").
			WithHint("Write it behind OVER: %s(…) OVER (ORDER BY …)", name)
	case len(x.WithinGroup) > 0:
		return c.b.fail(fail.Unsupported, x.WithinGroup[0].Pos(), "WITHIN GROUP with OVER is not supported").
			WithHint("Join with a GROUP BY of the same rows.")
	case x.Filter != nil && fns.IsWindow(name):
		return c.b.fail(fail.Unsupported, x.Filter.Pos(), "FILTER is for aggregates, and %s with OVER is a window function", name)
	}
	return nil
}

// windowCall binds the arguments of a call, without its window.
func (c *clause) windowCall(name string, x *ast.FuncCall) (plan.WindowCall, error) {
	fns := c.b.env.Functions
	if !fns.IsWindow(name) {
		if x.Nulls != ast.NullsUnsaid {
			return plan.WindowCall{}, c.b.fail(fail.Unsupported, x.Pos(), "%s is for lag, lead, first_value, last_value and nth_value, not for %s", x.Nulls, name)
		}
		saved := c.name
		c.name = "the arguments of " + name
		defer func() { c.name = saved }()
		agg, err := c.aggCall(name, x)
		return plan.WindowCall{Column: agg.Column, Agg: agg.Fn, Args: agg.Args, Filter: agg.Filter}, err
	}
	call := plan.WindowCall{IgnoreNulls: x.Nulls == ast.IgnoreNulls}
	asts := make([]ast.Expr, len(x.Args))
	offs := make([]int, len(x.Args))
	for i, a := range x.Args {
		if !a.Name.IsZero() {
			return call, c.b.fail(fail.Syntax, a.Pos(), "function %s takes no named arguments", name)
		}
		asts[i], offs[i] = a.Value, a.Pos()
	}
	args, err := c.exprs(asts)
	if err != nil {
		return call, err
	}
	r, err := fns.Window(name, typesOf(args))
	if err != nil {
		return call, c.b.at(err, x.Pos())
	}
	call.Fn, call.Name, call.Type = r.Window, c.b.sourceText(x), r.Ret
	if x.Nulls != ast.NullsUnsaid && !r.Window.Kind.SkipsNulls() {
		return call, c.b.fail(fail.Unsupported, x.Pos(), "%s is for lag, lead, first_value, last_value and nth_value, not for %s", x.Nulls, name)
	}
	call.Args, err = c.b.toParams(args, r.Params, offs)
	return call, err
}

// windowNode binds PARTITION BY and ORDER BY of a window, and a key for both.
func (c *clause) windowNode(spec *ast.Window) (*plan.Window, string, error) {
	node := &plan.Window{}
	for _, e := range spec.PartitionBy {
		bound, err := c.expr(e)
		if err != nil {
			return nil, "", err
		}
		if bound = c.b.settle(bound); !bound.Type().Orderable() {
			return nil, "", c.b.fail(fail.DatatypeMismatch, e.Pos(), "values of type %s cannot part rows", bound.Type())
		}
		node.PartitionBy = append(node.PartitionBy, bound)
	}
	for _, item := range spec.OrderBy {
		if item.All {
			return nil, "", c.b.unsupported(item.Pos(), "ORDER BY ALL in a window")
		}
		e, err := c.expr(item.Expr)
		if err != nil {
			return nil, "", err
		}
		key, err := c.b.sortKey(item, e)
		if err != nil {
			return nil, "", err
		}
		node.OrderBy = append(node.OrderBy, key)
	}
	sig := "partition"
	for _, e := range node.PartitionBy {
		sig += " " + exprKey(e)
	}
	return node, sig + keysKey(node.OrderBy), nil
}

// add adds a call to the node of its window, or finds the same one.
func (w *windows) add(node *plan.Window, sig string, call plan.WindowCall) expr.Expr {
	key := sig + " call " + windowKey(call)
	if col, ok := w.byKey[key]; ok {
		return col.Ref()
	}
	at := -1
	for i, s := range w.sigs {
		if s == sig {
			at = i
		}
	}
	if at < 0 {
		at = len(w.nodes)
		w.nodes, w.sigs = append(w.nodes, node), append(w.sigs, sig)
	}
	call.Column = w.b.newColumn(call.Name, call.Type)
	w.nodes[at].Calls = append(w.nodes[at].Calls, call)
	w.byKey[key] = call.Column
	return call.Ref()
}

func windowKey(c plan.WindowCall) string {
	agg := plan.AggCall{Column: c.Column, Fn: c.Agg, Args: c.Args, Filter: c.Filter}
	if c.Fn != nil {
		agg.Fn = &expr.AggFunc{Name: "window " + c.Fn.Name}
	}
	key := callKey(agg) + " " + c.Frame.Unit.String() + c.Frame.Exclude.String()
	for _, b := range []plan.Bound{c.Frame.Lo, c.Frame.Hi} {
		key += " " + b.Kind.String()
		if b.Offset != nil {
			key += exprKey(b.Offset)
		}
	}
	if c.IgnoreNulls {
		key += " ignore nulls"
	}
	return key
}

// stack puts the Window nodes over the plan, each expression rewritten by above.
func (w *windows) stack(n plan.Node, above func(expr.Expr) (expr.Expr, error)) (plan.Node, error) {
	for _, node := range w.nodes {
		var failed error
		swap := func(e expr.Expr) expr.Expr {
			out, err := above(e)
			if err != nil {
				if failed == nil {
					failed = err
				}
				return e
			}
			return out
		}
		mapped := plan.MapWindow(node, swap)
		if failed != nil {
			return nil, failed
		}
		mapped.Input = n
		n = mapped
	}
	return n, nil
}

// frame binds the frame of a window: without one, RANGE from the partition's
// begin to the row's last peer.
func (c *clause) frame(spec *ast.Window, node *plan.Window) (plan.Frame, error) {
	f := plan.Frame{Unit: plan.FrameRange, Hi: plan.Bound{Kind: plan.CurrentRow}}
	x := spec.Frame
	if x == nil {
		if len(node.OrderBy) == 0 {
			return plan.WholePartition, nil
		}
		return f, nil
	}
	f.Unit, f.Exclude = plan.FrameUnit(x.Unit), plan.FrameExclude(x.Exclude)
	f.Lo.Kind, f.Hi.Kind = plan.BoundKind(x.Lo.Kind), plan.BoundKind(x.Hi.Kind)
	offset := x.Lo.Offset != nil || x.Hi.Offset != nil
	switch {
	case f.Unit == plan.FrameGroups && len(node.OrderBy) == 0:
		return f, c.b.fail(fail.Windowing, x.Pos(), "GROUPS needs an ORDER BY in the window")
	case f.Unit == plan.FrameRange && offset && len(node.OrderBy) != 1:
		return f, c.b.fail(fail.Windowing, x.Pos(), "RANGE with an offset needs exactly one ORDER BY key, not %d", len(node.OrderBy))
	}
	name := c.name
	c.name = "a window frame"
	defer func() { c.name = name }()
	ends := []struct {
		from *ast.Bound
		to   *plan.Bound
	}{{x.Lo, &f.Lo}, {x.Hi, &f.Hi}}
	for _, end := range ends {
		if end.from.Offset == nil {
			continue
		}
		e, err := c.offset(end.from.Offset, f.Unit)
		if err != nil {
			return f, err
		}
		end.to.Offset = e
	}
	if f.Unit == plan.FrameRange && offset {
		if err := c.rangeFrame(&f, node.OrderBy[0].Expr, x); err != nil {
			return f, err
		}
	}
	for _, end := range ends {
		if err := c.b.checkOffset(end.to.Offset, end.from); err != nil {
			return f, err
		}
	}
	if f.Whole() {
		return plan.WholePartition, nil
	}
	return f, nil
}

// offset binds the offset of a bound, which must not read rows.
func (c *clause) offset(x ast.Expr, unit plan.FrameUnit) (expr.Expr, error) {
	e, err := c.expr(x)
	if err != nil {
		return nil, err
	}
	if len(reads(e)) > 0 {
		return nil, c.b.fail(fail.InvalidReference, x.Pos(), "the offset of a window frame must not read columns")
	}
	if unit == plan.FrameRange {
		return e, nil
	}
	if t := e.Type(); t.Kind != types.Unknown && !t.Integer() {
		return nil, c.b.fail(fail.DatatypeMismatch, x.Pos(), "the offset of %s is a number of %s, not %s", unit, strings.ToLower(unit.String()), t)
	}
	return c.b.coerce(e, types.Of(types.Int64), x.Pos())
}

// rangeFrame brings the order key and the offsets of RANGE to types that add up.
func (c *clause) rangeFrame(f *plan.Frame, key expr.Expr, x *ast.Frame) error {
	bounds := []*plan.Bound{&f.Lo, &f.Hi}
	places := []*ast.Bound{x.Lo, x.Hi}
	keyType, offType, err := c.b.rangeTypes(key.Type(), bounds, places)
	if err != nil {
		return err
	}
	if f.Key, err = c.b.coerce(key, keyType, x.Pos()); err != nil {
		return err
	}
	for i, b := range bounds {
		if b.Offset == nil {
			continue
		}
		if b.Offset, err = c.b.coerce(b.Offset, offType, places[i].Pos()); err != nil {
			return err
		}
	}
	return nil
}

// rangeTypes are the types of key and offset for an order key of type t.
func (b *Binder) rangeTypes(t types.Type, bounds []*plan.Bound, places []*ast.Bound) (key, off types.Type, err error) {
	switch {
	case t.Kind == types.Date || t.Kind == types.Timestamp:
		key, off = types.Of(types.Timestamp), types.Of(types.Interval)
	case t.Integer():
		key = types.Of(types.Int64)
		off = key
	case t.Numeric():
		key, off = t, t
	default:
		return t, t, b.fail(fail.Unsupported, places[0].Pos(), "RANGE with an offset over an order key of type %s is not supported", t).
			WithHint("Use ROWS or GROUPS.")
	}
	for i, bound := range bounds {
		if bound.Offset == nil {
			continue
		}
		got := bound.Offset.Type()
		switch {
		case got.Kind == types.Unknown || got.Equal(off):
		case off.Numeric() && got.Numeric():
			var ok bool
			if key, ok = types.Common(key, got); !ok {
				return key, off, b.noCast(got, off, places[i].Pos())
			}
			off = key
		default:
			return key, off, b.fail(fail.DatatypeMismatch, places[i].Pos(), "the offset of RANGE over %s is %s, not %s", t, off, got)
		}
	}
	return key, off, nil
}

// checkOffset refuses a constant offset that is NULL or negative; others are
// checked when they run.
func (b *Binder) checkOffset(e expr.Expr, at *ast.Bound) error {
	k, ok := e.(*expr.Const)
	if !ok {
		return nil
	}
	return b.at(plan.CheckOffset(k.Value), at.Pos())
}
