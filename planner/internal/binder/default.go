package binder

import (
	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/planner/internal/ast"
	"github.com/loamdb/loam/planner/internal/deparse"
	"github.com/loamdb/loam/planner/internal/parser"
)

// defaultText checks DEFAULT e of a column and gives the text that is kept; ""
// for NULL, which a column without a default gets too.
func (b *Binder) defaultText(e ast.Expr, f schema.Field) (string, error) {
	param := -1
	ast.Inspect(e, func(n ast.Node) bool {
		if p, ok := n.(*ast.Param); ok {
			param = p.Pos()
		}
		return true
	})
	if param >= 0 {
		return "", b.fail(fail.UndefinedParameter, param, "a DEFAULT cannot have parameters").WithHint("Write the value into the statement.")
	}
	bound, err := b.bindDefault(e, &f)
	if err != nil {
		if fail.Is(err, fail.UndefinedColumn) {
			return "", fail.As(err).WithHint("A DEFAULT reads no columns; a text stands in quotes.")
		}
		return "", err
	}
	if k, ok := bound.(*expr.Const); ok && k.Value.Null {
		return "", nil
	}
	return deparse.Expr(e), nil
}

// bindDefault binds the expression of a DEFAULT as a value of the field.
func (b *Binder) bindDefault(e ast.Expr, f *schema.Field) (expr.Expr, error) {
	c := &clause{b: b, scope: &scope{}, name: "DEFAULT"}
	bound, err := c.expr(e)
	if err != nil {
		return nil, err
	}
	if len(c.joins) > 0 {
		return nil, b.unsupported(c.joins[0].off, "a subquery in DEFAULT")
	}
	return b.assign(bound, f.Type, e.Pos(), f.Name)
}

// defaultOf is what a field gets that is given no value: its DEFAULT, or NULL.
// Errors of the DEFAULT point to off, for its text is not that of the statement.
func (b *Binder) defaultOf(f *schema.Field, off int) (expr.Expr, error) {
	if f.Default == "" {
		return nullConst(f.Type), nil
	}
	text, ctes := b.text, b.ctes
	b.text, b.ctes = f.Default, nil
	e, err := parser.ParseExpr(f.Default)
	var bound expr.Expr
	if err == nil {
		bound, err = b.bindDefault(e, f)
	}
	b.text, b.ctes = text, ctes
	if err != nil {
		old := fail.As(err)
		return nil, b.fail(old.Code, off, "the DEFAULT of column %q: %s", f.Name, old.Message).
			WithHint("Change it with ALTER … ALTER COLUMN … SET DEFAULT.")
	}
	return expr.Rewrite(bound, placedAt(off)), nil
}

// fillDefaults adds to the rows of an INSERT the fields that they do not set and
// that have a DEFAULT.
func (b *Binder) fillDefaults(obj *schema.Object, node plan.Node, fields []*schema.Field, off int) (plan.Node, []*schema.Field, error) {
	set := map[int32]bool{}
	for _, f := range fields {
		set[f.ID] = true
	}
	var add []plan.NamedExpr
	for i := range obj.Fields {
		f := &obj.Fields[i]
		if f.Default == "" || set[f.ID] {
			continue
		}
		e, err := b.defaultOf(f, off)
		if err != nil {
			return nil, nil, err
		}
		add = append(add, plan.NamedExpr{Column: b.newColumn(f.Name, f.Type), Expr: e})
		fields = append(fields[:len(fields):len(fields)], f)
	}
	if len(add) == 0 {
		return node, fields, nil
	}
	if v, ok := node.(*plan.Values); ok {
		for _, a := range add {
			v.Cols = append(v.Cols, a.Column)
			for r := range v.Rows {
				v.Rows[r] = append(v.Rows[r], a.Expr)
			}
		}
		return v, fields, nil
	}
	p := passColumns(node, node.Columns())
	p.Exprs = append(p.Exprs, add...)
	return p, fields, nil
}
