package binder

import (
	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/planner/internal/ast"
)

// returning binds RETURNING over the columns of sc, which are those of the rows
// that a statement writes or deletes. The plan reads the leaf written, whose
// columns the caller sets.
func (b *Binder) returning(items []*ast.SelectItem, sc *scope, written *plan.Materialized) (plan.Node, error) {
	k := &block{b: b, sel: &ast.Select{Items: items}, scope: sc, node: written}
	k.list = &clause{b: b, scope: sc, name: "RETURNING"}
	if err := k.expandItems(); err != nil {
		return nil, err
	}
	for _, it := range k.items {
		if it.ast != nil && b.hasAggregate(it.ast) {
			return nil, b.fail(fail.Grouping, it.pos, "RETURNING gives each row and cannot aggregate").
				WithHint("SELECT the aggregate afterwards.")
		}
	}
	if err := k.bindItems(); err != nil {
		return nil, err
	}
	if len(k.list.joins) > 0 {
		return nil, b.unsupported(k.list.joins[0].off, "a subquery in RETURNING")
	}
	out := &plan.Project{Input: written}
	for _, it := range k.items {
		out.Exprs = append(out.Exprs, plan.NamedExpr{Column: b.newColumn(it.name, it.e.Type()), Expr: it.e})
	}
	return b.settleTypes(out), nil
}

// insertReturning binds RETURNING of an INSERT: the fields of the new rows.
func (b *Binder) insertReturning(s *ast.Insert, out *plan.Insert) error {
	if len(s.Returning) == 0 {
		return nil
	}
	name := out.Object.Name
	if !s.Alias.IsZero() {
		name = s.Alias.Text
	}
	sc := objectScope(out.Object, name)
	cols := out.Input.Columns()
	for _, f := range out.Object.Fields {
		v := &visible{name: f.Name, table: sc.tables[0], e: nullConst(f.Type), inStar: true, bare: true}
		for i, set := range out.Fields {
			if set == f.Name {
				v.e = cols[i].Ref()
			}
		}
		sc.cols = append(sc.cols, v)
	}
	var err error
	out.Returning, err = b.returning(s.Returning, sc, &plan.Materialized{Cols: cols, Label: plan.Written})
	return err
}

// changeReturning binds RETURNING of an UPDATE or DELETE over the columns that
// FROM and USING see. Fields that are set show their new values, which are
// columns of the projection already; what else is read is added to it.
func (b *Binder) changeReturning(items []*ast.SelectItem, obj *schema.Object, sc *scope, p *plan.Project, set map[string]plan.Column) (plan.Node, error) {
	if len(items) == 0 {
		return nil, nil
	}
	seen := &scope{parent: sc.parent, tables: sc.tables}
	for _, v := range sc.cols {
		k := *v
		if col, ok := set[v.name]; ok && v.table == sc.tables[0] {
			k.e = col.Ref()
		}
		seen.cols = append(seen.cols, &k)
	}
	written := &plan.Materialized{Label: plan.Written}
	root, err := b.returning(items, seen, written)
	if err != nil {
		return nil, err
	}
	have := idSet{}
	for _, c := range p.Columns() {
		have[c.ID] = true
	}
	for _, e := range root.(*plan.Project).Exprs {
		expr.Walk(e.Expr, func(x expr.Expr) bool {
			if c, ok := x.(*expr.Column); ok && !have[c.ID] {
				have[c.ID] = true
				p.Exprs = append(p.Exprs, plan.NamedExpr{Column: plan.Column{ID: c.ID, Name: c.Name, Type: c.T}, Expr: c})
			}
			return true
		})
	}
	written.Cols = p.Columns()
	return root, nil
}
