package binder

import (
	"strings"

	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/planner/internal/ast"
	"github.com/loamdb/loam/planner/internal/rowcount"
)

// cteScope is the list of common table expressions that a query sees, innermost first.
type cteScope struct {
	parent *cteScope
	def    *ast.CTE
	group  *withGroup
	rec    *recursion // while the table is bound, where it is recursive
	// sees are the tables and the query around the definition.
	outer *scope
	busy  bool
	uses  int
}

// withGroup is one WITH. The tables of WITH RECURSIVE see each other.
type withGroup struct {
	recursive bool
	last      *cteScope
}

// query binds a query with its WITH, ORDER BY and LIMIT. Output columns may
// still be without a type; settleTypes gives them TEXT.
func (b *Binder) query(q *ast.Query, outer *scope) (plan.Node, error) {
	saved := b.ctes
	defer func() { b.ctes = saved }()
	if q.With != nil {
		if err := b.with(q.With, outer); err != nil {
			return nil, err
		}
	}
	var node plan.Node
	var err error
	if sel, ok := q.Body.(*ast.Select); ok {
		node, err = b.selectQuery(sel, q.OrderBy, outer)
	} else if node, err = b.body(q.Body, outer); err == nil {
		node, err = b.orderOutputs(node, q.OrderBy)
	}
	if err != nil {
		return nil, err
	}
	if q.WithTies {
		return b.withTies(node, q)
	}
	return b.limit(node, q.Limit, q.Offset)
}

// body binds what a query orders and limits, or one side of a set operation.
func (b *Binder) body(body ast.QueryBody, outer *scope) (plan.Node, error) {
	switch x := body.(type) {
	case *ast.Select:
		return b.selectQuery(x, nil, outer)
	case *ast.Query:
		return b.query(x, outer)
	case *ast.Values:
		return b.values(x, outer)
	case *ast.SetOp:
		return b.setOp(x, outer)
	}
	return nil, b.unsupported(body.Pos(), "this query")
}

// with adds the tables of a WITH to what the query sees.
func (b *Binder) with(w *ast.With, outer *scope) error {
	group := &withGroup{recursive: w.Recursive}
	for _, def := range w.Tables {
		for c := b.ctes; c != nil; c = c.parent {
			if def.Name.Text == c.def.Name.Text && c.outer == outer && contains(w.Tables, c.def) {
				return b.fail(fail.AmbiguousName, def.Pos(), "WITH defines %q twice", def.Name.Text)
			}
		}
		if _, ok := def.Query.(*ast.Query); !ok {
			return b.unsupported(def.Pos(), "a statement that writes in WITH")
		}
		b.ctes = &cteScope{parent: b.ctes, def: def, outer: outer, group: group}
	}
	group.last = b.ctes
	return nil
}

func contains(list []*ast.CTE, def *ast.CTE) bool {
	for _, c := range list {
		if c == def {
			return true
		}
	}
	return false
}

// cteRef binds a reference to a common table expression by binding its query
// anew, so that its columns have their own ids. nil without error: none has the name.
func (b *Binder) cteRef(id ast.Ident) (plan.Node, error) {
	for c := b.ctes; c != nil; c = c.parent {
		if !nameIs(id, c.def.Name.Text) {
			continue
		}
		if c.busy {
			return b.selfReference(c, id)
		}
		saved := b.ctes
		c.busy, b.ctes = true, c.parent
		if c.group.recursive {
			b.ctes = c.group.last
		}
		b.binding = append(b.binding, c)
		node, err := b.cteBody(c)
		b.binding = b.binding[:len(b.binding)-1]
		c.busy, b.ctes = false, saved
		if err != nil {
			return nil, err
		}
		if c.uses++; c.uses > 1 && isVolatile(node) {
			return nil, b.fail(fail.Unsupported, id.Pos(), "WITH table %q calls a volatile function and is used twice", c.def.Name.Text).
				WithHint("Store its rows with CREATE TABLE AS.")
		}
		return node, nil
	}
	return nil, nil
}

func (b *Binder) cteBody(c *cteScope) (plan.Node, error) {
	// A definition that names itself, without RECURSIVE, means the table around it.
	q := c.def.Query.(*ast.Query)
	var node plan.Node
	var err error
	if op, ok := q.Body.(*ast.SetOp); ok && c.group.recursive && op.Op == ast.Union && !op.ByName {
		node, err = b.recursive(c, q, op)
	} else {
		node, err = b.query(q, c.outer)
	}
	if err != nil {
		return nil, err
	}
	node = b.settleTypes(node)
	cols := node.Columns()
	if len(c.def.Columns) > len(cols) {
		return nil, b.fail(fail.Syntax, c.def.Columns[len(cols)].Pos(), "WITH table %q has %s, %s",
			c.def.Name.Text, fail.Count(len(cols), "column"), fail.Count(len(c.def.Columns), "is named", "are named"))
	}
	if len(c.def.Columns) == 0 {
		return node, nil
	}
	out := make([]plan.NamedExpr, len(cols))
	for i, col := range cols {
		name := col.Name
		if i < len(c.def.Columns) {
			name = c.def.Columns[i].Text
		}
		out[i] = plan.NamedExpr{Column: b.newColumn(name, col.Type), Expr: col.Ref()}
	}
	return &plan.Project{Input: node, Exprs: out}, nil
}

// isVolatile reports whether a plan calls a function with a new answer for each row.
func isVolatile(n plan.Node) bool {
	found := false
	eachExpr(n, func(e expr.Expr) {
		if call, ok := e.(*expr.Call); ok && call.Fn.Volatility == expr.Volatile {
			found = true
		}
	})
	return found
}

// limit adds LIMIT and OFFSET. A parameter is kept as package
// rowcount says, until its value is known.
func (b *Binder) limit(node plan.Node, count, offset ast.Expr) (plan.Node, error) {
	if count == nil && offset == nil {
		return node, nil
	}
	n, err := b.rowCount(count, "LIMIT", plan.NoLimit)
	if err != nil {
		return nil, err
	}
	skip, err := b.rowCount(offset, "OFFSET", 0)
	if err != nil {
		return nil, err
	}
	return &plan.Limit{Input: node, Count: n, Offset: skip}, nil
}

// rowCount binds a constant or a parameter that counts rows.
func (b *Binder) rowCount(e ast.Expr, what string, absent int64) (int64, error) {
	if e == nil {
		return absent, nil
	}
	c := &clause{b: b, scope: &scope{}, name: what}
	bound, err := c.expr(e)
	if fail.Is(err, fail.UndefinedColumn) || fail.Is(err, fail.UndefinedTable) || len(c.joins) > 0 {
		return 0, b.fail(fail.Unsupported, e.Pos(), "%s must be a constant or a parameter", what)
	}
	if err != nil {
		return 0, err
	}
	return b.rowCountOf(bound, what, absent, e.Pos())
}

func (b *Binder) rowCountOf(bound expr.Expr, what string, absent int64, off int) (int64, error) {
	big := types.Of(types.Int64)
	if t := bound.Type(); t.Kind != types.Unknown && !t.Integer() {
		return 0, b.fail(fail.DatatypeMismatch, off, "%s takes a number of rows, not %s", what, t)
	}
	bound, err := b.coerce(bound, big, off)
	if err != nil {
		return 0, err
	}
	if p, ok := bound.(*expr.Param); ok {
		return rowcount.Param(p.Index), nil
	}
	v, err := b.constant(bound, what, off)
	if err != nil {
		return 0, err
	}
	if v.Null {
		return absent, nil
	}
	if v.Int < 0 {
		return 0, b.fail(fail.InvalidParameter, off, "%s must not be negative", what)
	}
	return v.Int, nil
}

// values binds VALUES. Column names are column1, column2, … as in PostgreSQL.
func (b *Binder) values(x *ast.Values, outer *scope) (plan.Node, error) {
	width := len(x.Rows[0].Elems)
	c := &clause{b: b, scope: &scope{parent: outer}, name: "VALUES"}
	rows := make([][]expr.Expr, len(x.Rows))
	for i, r := range x.Rows {
		var err error
		if rows[i], err = c.exprs(r.Elems); err != nil {
			return nil, err
		}
	}
	if len(c.joins) > 0 {
		return nil, b.unsupported(c.joins[0].off, "a subquery in VALUES")
	}
	out := &plan.Values{Rows: rows}
	for i := range width {
		t, err := b.valuesColumn(x, rows, i)
		if err != nil {
			return nil, err
		}
		out.Cols = append(out.Cols, b.newColumn("column"+itoa(i+1), t))
	}
	return out, nil
}

// valuesColumn brings column i of all rows to one type.
func (b *Binder) valuesColumn(x *ast.Values, rows [][]expr.Expr, i int) (types.Type, error) {
	var t types.Type
	for r, row := range rows {
		got, ok := types.Common(t, row[i].Type())
		if !ok {
			return t, b.fail(fail.DatatypeMismatch, x.Rows[r].Elems[i].Pos(), "column %d of VALUES has no common type: %s and %s", i+1, t, row[i].Type())
		}
		t = got
	}
	for r, row := range rows {
		var err error
		if row[i], err = b.coerce(row[i], t, x.Rows[r].Elems[i].Pos()); err != nil {
			return t, err
		}
	}
	return t, nil
}

// setOp binds UNION, INTERSECT and EXCEPT.
func (b *Binder) setOp(x *ast.SetOp, outer *scope) (plan.Node, error) {
	l, err := b.body(x.Left, outer)
	if err != nil {
		return nil, err
	}
	r, err := b.body(x.Right, outer)
	if err != nil {
		return nil, err
	}
	if x.ByName {
		if l, r, err = b.byName(x, l, r); err != nil {
			return nil, err
		}
	}
	lc, rc := l.Columns(), r.Columns()
	if len(lc) != len(rc) {
		return nil, b.fail(fail.Syntax, x.Right.Pos(), "each side of %s must have as many columns: %d and %d", x.Op, len(lc), len(rc))
	}
	common := make([]types.Type, len(lc))
	for i := range lc {
		t, ok := types.Common(lc[i].Type, rc[i].Type)
		if !ok {
			return nil, b.fail(fail.DatatypeMismatch, x.Right.Pos(), "column %d of %s is %s on the left and %s on the right",
				i+1, x.Op, lc[i].Type, rc[i].Type).WithHint("Cast one of them.")
		}
		common[i] = t.Settled()
	}
	l, r = b.castColumns(l, common), b.castColumns(r, common)
	return b.combine(x, l, r)
}

// combine joins two sides with equal types.
func (b *Binder) combine(x *ast.SetOp, l, r plan.Node) (plan.Node, error) {
	if x.Op == ast.Union {
		out := &plan.UnionAll{Inputs: []plan.Node{l, r}}
		for _, c := range l.Columns() {
			out.Cols = append(out.Cols, b.newColumn(c.Name, c.Type))
		}
		if x.All {
			return out, nil
		}
		return b.distinct(out, x.Pos())
	}
	if x.All {
		return b.combineAll(x, l, r)
	}
	left, err := b.distinct(l, x.Pos())
	if err != nil {
		return nil, err
	}
	j := &plan.Join{Left: left, Right: r, Kind: plan.Semi}
	if x.Op == ast.Except {
		j.Kind = plan.Anti
	}
	rc := r.Columns()
	for i, c := range left.Columns() {
		j.Keys = append(j.Keys, plan.EquiKey{Left: c.Ref(), Right: rc[i].Ref(), NullSafe: true})
	}
	return j, nil
}

// distinct removes duplicate rows.
func (b *Binder) distinct(n plan.Node, off int) (plan.Node, error) {
	agg := &plan.Aggregate{Input: n}
	for _, c := range n.Columns() {
		if err := b.comparable(c, off); err != nil {
			return nil, err
		}
		agg.Groups = append(agg.Groups, plan.NamedExpr{Column: b.newColumn(c.Name, c.Type), Expr: c.Ref()})
	}
	return agg, nil
}

// comparable refuses a column whose values have no order where rows are compared.
func (b *Binder) comparable(c plan.Column, off int) error {
	if c.Type.Orderable() {
		return nil
	}
	return b.fail(fail.DatatypeMismatch, off, "rows cannot be compared by column %q of type %s", c.Name, c.Type).
		WithHint("Leave it out of the select list.")
}

// orderOutputs sorts a set operation or VALUES by its output columns.
func (b *Binder) orderOutputs(node plan.Node, items []*ast.OrderItem) (plan.Node, error) {
	if len(items) == 0 {
		return node, nil
	}
	node = b.settleTypes(node)
	cols := node.Columns()
	sc := tableScope(&table{}, cols)
	c := &clause{b: b, scope: sc, name: "ORDER BY"}
	var keys []plan.SortKey
	for _, item := range items {
		if item.All {
			all, err := b.orderAll(item, cols)
			if err != nil {
				return nil, err
			}
			keys = append(keys, all...)
			continue
		}
		e, err := b.orderKey(c, item, cols)
		if err != nil {
			return nil, err
		}
		key, err := b.sortKey(item, e)
		if err != nil {
			return nil, err
		}
		keys = append(keys, key)
	}
	if len(c.joins) > 0 {
		return nil, b.unsupported(items[0].Pos(), "a subquery in ORDER BY of a set operation")
	}
	return &plan.Sort{Input: node, Keys: keys, Limit: plan.NoLimit}, nil
}

func (b *Binder) orderKey(c *clause, item *ast.OrderItem, cols []plan.Column) (expr.Expr, error) {
	if n, ok, err := b.ordinal(item.Expr, len(cols), "ORDER BY"); ok || err != nil {
		if err != nil {
			return nil, err
		}
		return cols[n].Ref(), nil
	}
	return c.expr(item.Expr)
}

// orderAll is ORDER BY ALL: every output column.
func (b *Binder) orderAll(item *ast.OrderItem, cols []plan.Column) ([]plan.SortKey, error) {
	var keys []plan.SortKey
	for _, col := range cols {
		key, err := b.sortKey(item, col.Ref())
		if err != nil {
			return nil, err
		}
		keys = append(keys, key)
	}
	return keys, nil
}

// sortKey applies the direction of an ORDER BY item: NULL is the greatest value,
// so first with DESC and last with ASC unless the item says otherwise.
func (b *Binder) sortKey(item *ast.OrderItem, e expr.Expr) (plan.SortKey, error) {
	e = b.settle(e)
	if !e.Type().Orderable() {
		return plan.SortKey{}, b.fail(fail.DatatypeMismatch, item.Pos(), "values of type %s have no order", e.Type())
	}
	first := item.Desc
	if item.Nulls != ast.NullsDefault {
		first = item.Nulls == ast.NullsFirst
	}
	return plan.SortKey{Expr: e, Desc: item.Desc, NullsFirst: first}, nil
}

// ordinal reads an expression that is a plain integer as the number of an output column.
func (b *Binder) ordinal(e ast.Expr, n int, what string) (int, bool, error) {
	lit, ok := e.(*ast.NumberLit)
	if !ok || strings.ContainsAny(lit.Text, ".eE") {
		return 0, false, nil
	}
	i, ok := atoi(lit.Text)
	if !ok || i < 1 || i > n {
		return 0, false, b.fail(fail.Syntax, e.Pos(), "%s %s is not in the select list, which has %s", what, lit.Text, fail.Count(n, "column"))
	}
	return i - 1, true, nil
}

// settleTypes gives TEXT to output columns without a type.
func (b *Binder) settleTypes(n plan.Node) plan.Node {
	cols := n.Columns()
	want := make([]types.Type, len(cols))
	for i, c := range cols {
		want[i] = c.Type.Settled()
	}
	return b.castColumns(n, want)
}

// castColumns brings the output columns of a node to types that they can be cast
// to; Unknown in want leaves a column. Literals and parameters take the type themselves.
func (b *Binder) castColumns(n plan.Node, want []types.Type) plan.Node {
	cols := n.Columns()
	same := true
	for i, c := range cols {
		same = same && (i >= len(want) || want[i].Kind == types.Unknown || c.Type.Equal(want[i]))
	}
	if same {
		return n
	}
	if p, ok := n.(*plan.Project); ok {
		n = b.typeProject(p, want)
	}
	if v, ok := n.(*plan.Values); ok {
		n = b.typeValues(v, want)
	}
	out := make([]plan.NamedExpr, len(cols))
	same = true
	for i, c := range n.Columns() {
		out[i] = plan.NamedExpr{Column: c, Expr: c.Ref()}
		if i < len(want) && want[i].Kind != types.Unknown && !c.Type.Equal(want[i]) {
			same = false
			out[i] = plan.NamedExpr{Column: b.newColumn(c.Name, want[i]), Expr: &expr.Cast{Arg: c.Ref(), To: want[i], Offset: -1}}
		}
	}
	if same {
		return n
	}
	return &plan.Project{Input: n, Exprs: out}
}

// typeProject types the literals and parameters of a projection that have no type yet.
func (b *Binder) typeProject(p *plan.Project, want []types.Type) plan.Node {
	exprs := append([]plan.NamedExpr(nil), p.Exprs...)
	for i := range exprs {
		if i >= len(want) || exprs[i].Type.Kind != types.Unknown || want[i].Kind == types.Unknown {
			continue
		}
		if e, err := b.coerce(exprs[i].Expr, want[i], -1); err == nil {
			exprs[i].Expr, exprs[i].Type = e, e.Type()
		}
	}
	return &plan.Project{Input: p.Input, Exprs: exprs}
}

func (b *Binder) typeValues(v *plan.Values, want []types.Type) plan.Node {
	out := &plan.Values{Cols: append([]plan.Column(nil), v.Cols...), Rows: make([][]expr.Expr, len(v.Rows))}
	for r, row := range v.Rows {
		out.Rows[r] = append([]expr.Expr(nil), row...)
	}
	for i := range out.Cols {
		if i < len(want) && want[i].Kind != types.Unknown && out.Cols[i].Type.Kind == types.Unknown {
			b.typeColumn(out, i, want[i])
		}
	}
	return out
}

// typeColumn types one column of VALUES, if every row of it can be typed.
func (b *Binder) typeColumn(v *plan.Values, i int, to types.Type) {
	typed := make([]expr.Expr, len(v.Rows))
	for r, row := range v.Rows {
		var err error
		if typed[r], err = b.coerce(row[i], to, -1); err != nil {
			return
		}
	}
	for r := range v.Rows {
		v.Rows[r][i] = typed[r]
	}
	v.Cols[i].Type = to
}
