package binder

import (
	"strings"

	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/planner/internal/ast"
)

// field finds a field that a statement writes.
func (b *Binder) field(obj *schema.Object, id ast.Ident) (*schema.Field, error) {
	f, n := obj.FieldByName(id.Text, id.Quoted)
	switch {
	case f != nil:
		return f, nil
	case n > 1:
		return nil, b.fail(fail.AmbiguousColumn, id.Pos(), "column %q is ambiguous in %q", id.Text, obj.Name).
			WithHint("Quote the one that is meant.")
	}
	for _, s := range schema.SystemColumns(obj.Kind) {
		if nameIs(id, s.Name) {
			err := b.fail(fail.InvalidParameter, id.Pos(), "column %q is made by the system and cannot be written", s.Name)
			if obj.Kind == schema.Stream && s.Name == string(schema.ColPartition) {
				err = err.WithHint("The key says the partition of a record. Records that name theirs, as _partition, come over HTTP or as record batches.")
			}
			return nil, err
		}
	}
	return nil, b.suggest(fail.UndefinedColumn, id, obj.FieldNames(), "column %q does not exist in %q", id.Text, obj.Name)
}

// insert binds INSERT.
func (b *Binder) insert(s *ast.Insert) (plan.Statement, error) {
	obj, err := b.object(s.Table)
	if err != nil {
		return nil, err
	}
	if err := b.writable(obj, s.Table.Pos()); err != nil {
		return nil, err
	}
	if err := b.refuseInsert(s, obj); err != nil {
		return nil, err
	}
	end, err := b.scoped(s.With)
	defer end()
	if err != nil {
		return nil, err
	}
	fields, err := b.insertFields(s, obj)
	if err != nil {
		return nil, err
	}
	node, fields, err := b.insertSource(s, obj, fields)
	if err != nil {
		return nil, err
	}
	if node, fields, err = b.fillDefaults(obj, node, fields, s.Table.Pos()); err != nil {
		return nil, err
	}
	out := &plan.Insert{Object: obj, Input: node}
	for _, f := range fields {
		out.Fields = append(out.Fields, f.Name)
	}
	if err := b.checkRequired(s, obj, out.Fields); err != nil {
		return nil, err
	}
	if err := b.conflict(s, out); err != nil {
		return nil, err
	}
	return out, b.insertReturning(s, out)
}

func (b *Binder) refuseInsert(s *ast.Insert, obj *schema.Object) error {
	switch {
	case s.OrReplace && obj.Kind != schema.Collection:
		return b.fail(fail.WrongObjectType, s.Pos(), "INSERT OR REPLACE needs a key, and %s %q has none", obj.Kind, obj.Name)
	}
	return nil
}

// insertFields are the fields that the columns of the source set: the listed
// ones, or all in order.
func (b *Binder) insertFields(s *ast.Insert, obj *schema.Object) ([]*schema.Field, error) {
	var out []*schema.Field
	if len(s.Columns) == 0 {
		for i := range obj.Fields {
			out = append(out, &obj.Fields[i])
		}
		return out, nil
	}
	for _, id := range s.Columns {
		f, err := b.field(obj, id)
		if err != nil {
			return nil, err
		}
		for _, g := range out {
			if g.Name == f.Name {
				return nil, b.fail(fail.DuplicateColumn, id.Pos(), "column %q is listed twice", f.Name)
			}
		}
		out = append(out, f)
	}
	return out, nil
}

// insertSource binds the rows of INSERT and the fields that they set. DEFAULT
// VALUES is a row that sets none.
func (b *Binder) insertSource(s *ast.Insert, obj *schema.Object, fields []*schema.Field) (plan.Node, []*schema.Field, error) {
	if s.Source == nil {
		return &plan.Values{Rows: [][]expr.Expr{{}}}, nil, nil
	}
	if v, ok := plainValues(s.Source); ok {
		return b.insertValues(s, v, fields)
	}
	return b.insertQuery(s, obj, fields)
}

// checkRequired refuses an INSERT that leaves out a field that must not be NULL.
func (b *Binder) checkRequired(s *ast.Insert, obj *schema.Object, fields []string) error {
	for i, f := range obj.Fields {
		if !f.NotNull && !obj.IsKey(i) || hasName(fields, f.Name) {
			continue
		}
		what := "must not be NULL"
		if obj.IsKey(i) {
			what = "is part of the primary key"
		}
		return b.fail(fail.NotNull, s.Table.Pos(), "column %q %s and gets no value", f.Name, what).WithHint("Add it to the column list.")
	}
	return nil
}

func hasName(names []string, name string) bool {
	for _, n := range names {
		if n == name {
			return true
		}
	}
	return false
}

// plainValues is the VALUES of INSERT … VALUES without ORDER BY and LIMIT.
func plainValues(q *ast.Query) (*ast.Values, bool) {
	v, ok := q.Body.(*ast.Values)
	return v, ok && q.With == nil && len(q.OrderBy) == 0 && q.Limit == nil && q.Offset == nil
}

// insertValues binds rows of values straight to the types of the fields. Fields
// that the rows do not reach get their default where no column list is written.
func (b *Binder) insertValues(s *ast.Insert, v *ast.Values, fields []*schema.Field) (plan.Node, []*schema.Field, error) {
	width := len(v.Rows[0].Elems)
	fields, err := b.fitFields(s, fields, width, v.Rows[0].Pos())
	if err != nil {
		return nil, nil, err
	}
	c := &clause{b: b, scope: &scope{}, name: "VALUES"}
	out := &plan.Values{Rows: make([][]expr.Expr, len(v.Rows))}
	for _, f := range fields {
		out.Cols = append(out.Cols, b.newColumn(f.Name, f.Type))
	}
	for r, row := range v.Rows {
		for i, e := range row.Elems {
			bound, err := c.assigned(e, fields[i])
			if err != nil {
				return nil, nil, err
			}
			out.Rows[r] = append(out.Rows[r], bound)
		}
	}
	if len(c.joins) > 0 {
		return nil, nil, b.unsupported(c.joins[0].off, "a subquery in VALUES")
	}
	return out, fields, nil
}

// fitFields matches the width of the source with the fields.
func (b *Binder) fitFields(s *ast.Insert, fields []*schema.Field, width, off int) ([]*schema.Field, error) {
	if width == len(fields) || width < len(fields) && len(s.Columns) == 0 {
		return fields[:width], nil
	}
	return nil, b.fail(fail.Syntax, off, "INSERT has %s for %s", fail.Count(width, "value"), fail.Count(len(fields), "column")).
		WithHint("The columns are %s.", fieldList(fields))
}

func fieldList(fields []*schema.Field) string {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.Name
	}
	return strings.Join(names, ", ")
}

// assigned binds a value that is stored in a field.
func (c *clause) assigned(e ast.Expr, f *schema.Field) (expr.Expr, error) {
	if _, ok := e.(*ast.Default); ok {
		return c.b.defaultOf(f, e.Pos())
	}
	bound, err := c.expr(e)
	if err != nil {
		return nil, err
	}
	return c.b.assign(bound, f.Type, e.Pos(), f.Name)
}

// insertQuery binds INSERT … SELECT.
func (b *Binder) insertQuery(s *ast.Insert, obj *schema.Object, fields []*schema.Field) (plan.Node, []*schema.Field, error) {
	node, err := b.query(s.Source, nil)
	if err != nil {
		return nil, nil, err
	}
	cols := node.Columns()
	if s.ByName {
		if fields, err = b.fieldsByName(s, obj, cols); err != nil {
			return nil, nil, err
		}
	} else if fields, err = b.fitFields(s, fields, len(cols), s.Source.Pos()); err != nil {
		return nil, nil, err
	}
	want := make([]types.Type, len(cols))
	for i := range cols {
		if cols[i].Type.Kind == types.Unknown {
			want[i] = fields[i].Type
		}
	}
	node = b.castColumns(node, want)
	exprs := make([]plan.NamedExpr, len(cols))
	same := true
	for i, c := range node.Columns() {
		e, err := b.assign(c.Ref(), fields[i].Type, s.Source.Pos(), fields[i].Name)
		if err != nil {
			return nil, nil, err
		}
		exprs[i] = plan.NamedExpr{Column: c, Expr: e}
		if _, plain := e.(*expr.Column); !plain {
			same = false
			exprs[i].Column = b.newColumn(fields[i].Name, fields[i].Type)
		}
	}
	if same {
		return node, fields, nil
	}
	return &plan.Project{Input: node, Exprs: exprs}, fields, nil
}

// fieldsByName matches the output names of a query with fields.
func (b *Binder) fieldsByName(s *ast.Insert, obj *schema.Object, cols []plan.Column) ([]*schema.Field, error) {
	var out []*schema.Field
	for _, c := range cols {
		f, err := b.field(obj, ast.Ident{Span: ast.Span{Start: s.Source.Pos()}, Text: c.Name})
		if err != nil {
			return nil, err
		}
		out = append(out, f)
	}
	return out, nil
}

// changed is the object of UPDATE or DELETE with the rows to change.
type changed struct {
	obj *schema.Object
	k   *block
	// ids are the columns that identify a row.
	ids []plan.NamedExpr
}

// target opens the object of UPDATE or DELETE with the columns that identify its
// rows, joined with the tables of FROM or USING and filtered by WHERE.
func (b *Binder) target(what string, name ast.Name, alias ast.Ident, others []ast.TableRef, where ast.Expr) (*changed, error) {
	obj, err := b.object(name)
	if err != nil {
		return nil, err
	}
	if err := b.refuseStream(obj, name.Pos(), what); err != nil {
		return nil, err
	}
	if err := b.writable(obj, name.Pos()); err != nil {
		return nil, err
	}
	ids := []schema.SystemColumn{schema.ColPartition, schema.ColOffset}
	if obj.Kind == schema.Collection {
		ids = append(ids, schema.ColPK)
	}
	for _, id := range ids {
		b.system[string(id)] = true
	}
	as := obj.Name
	if !alias.IsZero() {
		as = alias.Text
	}
	scan, sc := b.scanObject(obj, as)
	sc.tables[0].pos = name.Pos()
	out := &changed{obj: obj}
	for _, id := range ids {
		for _, c := range scan.Cols {
			if c.Field == string(id) {
				out.ids = append(out.ids, plan.NamedExpr{Column: c.Column, Expr: c.Ref()})
			}
		}
	}
	var node plan.Node = scan
	if len(others) > 0 {
		right, rs, err := b.from(others, nil)
		if err != nil {
			return nil, err
		}
		for _, v := range rs.cols {
			hideSystem(v)
		}
		if node, err = b.apply(node, subJoin{kind: plan.Inner, right: right, off: others[0].Pos()}); err != nil {
			return nil, err
		}
		sc = sc.join(rs)
		if err := b.distinctTables(sc); err != nil {
			return nil, err
		}
	}
	out.k = &block{b: b, sel: &ast.Select{Where: where}, scope: sc, node: node}
	return out, out.k.where()
}

// hideSystem keeps the system columns of other tables, which are there because
// the target needs its own, from making their names ambiguous.
func hideSystem(v *visible) {
	if !v.inStar && strings.HasPrefix(v.name, "_") {
		v.bare = false
	}
}

// scoped binds the WITH of a statement that writes; the function returned ends it.
func (b *Binder) scoped(w *ast.With) (func(), error) {
	saved := b.ctes
	end := func() { b.ctes = saved }
	if w == nil {
		return end, nil
	}
	return end, b.with(w, nil)
}

// update binds UPDATE.
func (b *Binder) update(s *ast.Update) (plan.Statement, error) {
	end, err := b.scoped(s.With)
	defer end()
	if err != nil {
		return nil, err
	}
	t, err := b.target("UPDATE", s.Table, s.Alias, s.From, s.Where)
	if err != nil {
		return nil, err
	}
	out := &plan.Update{Object: t.obj, Joined: len(s.From) > 0}
	p := &plan.Project{Exprs: t.ids}
	c := &clause{b: b, scope: t.k.scope, name: "SET"}
	var set map[string]plan.Column
	if out.Fields, set, err = b.sets(c, s.Sets, t.obj, p); err != nil {
		return nil, err
	}
	if p.Input, err = b.applyAll(t.k.node, c.joins); err != nil {
		return nil, err
	}
	out.Input = p
	out.Returning, err = b.changeReturning(s.Returning, t.obj, t.k.scope, p, set)
	return out, err
}

// sets binds the clauses of SET as columns of a projection: the fields in order,
// and the column of each.
func (b *Binder) sets(c *clause, clauses []*ast.SetClause, obj *schema.Object, p *plan.Project) ([]string, map[string]plan.Column, error) {
	var fields []string
	set := map[string]plan.Column{}
	for _, one := range clauses {
		values, err := b.setValues(one)
		if err != nil {
			return nil, nil, err
		}
		for i, col := range one.Columns {
			f, err := b.updated(obj, col.Last(), fields)
			if err != nil {
				return nil, nil, err
			}
			e, err := c.assigned(values[i], f)
			if err != nil {
				return nil, nil, err
			}
			fields = append(fields, f.Name)
			set[f.Name] = b.newColumn(f.Name, f.Type)
			p.Exprs = append(p.Exprs, plan.NamedExpr{Column: set[f.Name], Expr: e})
		}
	}
	return fields, set, nil
}

// setValues are the values of one SET clause, one for each column.
func (b *Binder) setValues(set *ast.SetClause) ([]ast.Expr, error) {
	if len(set.Columns) == 1 {
		return []ast.Expr{set.Value}, nil
	}
	row, ok := set.Value.(*ast.Row)
	if !ok {
		return nil, b.unsupported(set.Pos(), "SET of several columns by anything but a row of values")
	}
	if len(row.Elems) != len(set.Columns) {
		return nil, b.fail(fail.Syntax, set.Pos(), "SET has %s and %s", fail.Count(len(set.Columns), "column"), fail.Count(len(row.Elems), "value"))
	}
	return row.Elems, nil
}

// updated finds a field that UPDATE sets: not a key, and only once.
func (b *Binder) updated(obj *schema.Object, id ast.Ident, before []string) (*schema.Field, error) {
	f, err := b.field(obj, id)
	if err != nil {
		return nil, err
	}
	for _, k := range obj.Key {
		if obj.Fields[k].Name == f.Name {
			return nil, b.fail(fail.Unsupported, id.Pos(), "column %q is part of the primary key and cannot be changed", f.Name).
				WithHint("INSERT the row under the new key and DELETE the old one.")
		}
	}
	if hasName(before, f.Name) {
		return nil, b.fail(fail.DuplicateColumn, id.Pos(), "column %q is set twice", f.Name)
	}
	return f, nil
}

// delete binds DELETE.
func (b *Binder) delete(s *ast.Delete) (plan.Statement, error) {
	end, err := b.scoped(s.With)
	defer end()
	if err != nil {
		return nil, err
	}
	t, err := b.target("DELETE", s.Table, s.Alias, s.Using, s.Where)
	if err != nil {
		return nil, err
	}
	p := &plan.Project{Input: t.k.node, Exprs: t.ids}
	out := &plan.Delete{Object: t.obj, Input: p, Joined: len(s.Using) > 0}
	out.Returning, err = b.changeReturning(s.Returning, t.obj, t.k.scope, p, nil)
	return out, err
}

// truncate binds TRUNCATE: a DELETE of all rows.
func (b *Binder) truncate(s *ast.Truncate) (plan.Statement, error) {
	if len(s.Tables) > 1 {
		return nil, b.fail(fail.Unsupported, s.Tables[1].Pos(), "TRUNCATE of several tables at once is not supported").WithHint("Truncate them one by one.")
	}
	if obj, err := b.object(s.Tables[0]); err == nil {
		if err := b.refuseStream(obj, s.Tables[0].Pos(), "TRUNCATE"); err != nil {
			return nil, err
		}
	}
	return b.delete(&ast.Delete{Span: s.Span, Table: s.Tables[0]})
}
