package binder

import (
	"strings"

	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/planner/internal/ast"
)

// conflict binds ON CONFLICT. Rows of a table have no key: nothing conflicts there.
func (b *Binder) conflict(s *ast.Insert, out *plan.Insert) error {
	c := s.OnConflict
	switch {
	case c == nil, out.Object.Kind.Tabular() && len(c.Columns)+len(c.Sets) == 0:
		return nil
	case out.Object.Kind.Tabular():
		return b.fail(fail.WrongObjectType, c.Pos(), "ON CONFLICT needs a key, and %s %q has none", out.Object.Kind, out.Object.Name).
			WithHint("Use CREATE COLLECTION for rows with a key.")
	case s.OrReplace:
		return b.fail(fail.Syntax, c.Pos(), "OR REPLACE and ON CONFLICT say two things about one row")
	}
	if err := b.conflictKey(c, out.Object); err != nil {
		return err
	}
	out.Conflict = &plan.Conflict{}
	if len(c.Sets) == 0 {
		return nil
	}
	if len(s.Returning) > 0 {
		return b.unsupported(s.Returning[0].Pos(), "RETURNING after ON CONFLICT DO UPDATE")
	}
	return b.conflictUpdate(s, out)
}

// conflictKey checks that the columns after ON CONFLICT are those of the primary key.
func (b *Binder) conflictKey(c *ast.OnConflict, obj *schema.Object) error {
	var keys []string
	for _, k := range obj.Key {
		keys = append(keys, obj.Fields[k].Name)
	}
	seen := map[string]bool{}
	for _, id := range c.Columns {
		f, err := b.field(obj, id)
		if err != nil {
			return err
		}
		seen[f.Name] = true
		if !hasName(keys, f.Name) {
			return b.fail(fail.InvalidParameter, id.Pos(), "column %q is not the primary key of %q", f.Name, obj.Name).
				WithHint("Write ON CONFLICT (%s).", strings.Join(keys, ", "))
		}
	}
	if len(c.Columns) > 0 && len(seen) != len(keys) {
		return b.fail(fail.InvalidParameter, c.Pos(), "ON CONFLICT names a part of the primary key of %q", obj.Name).
			WithHint("Write ON CONFLICT (%s).", strings.Join(keys, ", "))
	}
	return nil
}

// conflictUpdate binds DO UPDATE: a plan that joins the new rows, which the leaf
// Written stands for and SET calls EXCLUDED, with the rows of their keys.
func (b *Binder) conflictUpdate(s *ast.Insert, out *plan.Insert) error {
	obj, c := out.Object, s.OnConflict
	written := &plan.Materialized{Cols: out.Input.Columns(), Label: plan.Written}
	b.system[string(schema.ColPK)] = true
	name := obj.Name
	if !s.Alias.IsZero() {
		name = s.Alias.Text
	}
	scan, sc := b.scanObject(obj, name)
	fresh := &table{name: "excluded", pos: c.Pos()}
	var keys []expr.Expr
	for i, f := range obj.Fields {
		v := &visible{name: f.Name, table: fresh, e: nullConst(f.Type)}
		for k, set := range out.Fields {
			if set == f.Name {
				v.e = written.Cols[k].Ref()
			}
		}
		if obj.IsKey(i) {
			eq, err := b.compare(expr.Eq, v.e, scan.Cols[i].Ref(), c.Pos())
			if err != nil {
				return err
			}
			keys = append(keys, eq)
		}
		sc.cols = append(sc.cols, v)
	}
	sc.tables = append(sc.tables, fresh)
	node, err := b.apply(written, subJoin{kind: plan.Inner, right: scan, cond: expr.AllOf(keys), off: c.Pos()})
	if err != nil {
		return err
	}
	k := &block{b: b, sel: &ast.Select{Where: c.Where}, scope: sc, node: node}
	if err := k.where(); err != nil {
		return err
	}
	p := &plan.Project{}
	for _, col := range scan.Cols {
		if col.Field == string(schema.ColPK) {
			p.Exprs = append(p.Exprs, plan.NamedExpr{Column: col.Column, Expr: col.Ref()})
		}
	}
	set := &clause{b: b, scope: sc, name: "SET"}
	if out.Conflict.Fields, _, err = b.sets(set, c.Sets, obj, p); err != nil {
		return err
	}
	if p.Input, err = b.applyAll(k.node, set.joins); err != nil {
		return err
	}
	out.Conflict.Update = p
	return nil
}
