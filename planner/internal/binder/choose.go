package binder

import (
	"regexp"
	"slices"
	"strings"

	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/planner/internal/ast"
)

// COLUMNS(*), COLUMNS('regex') and COLUMNS(['a', 'b']) choose columns of FROM. An
// expression that holds such a call means one expression for each column: several
// items of a select list, several conditions of WHERE.

// spread is one of the expressions that an expression with COLUMNS means.
type spread struct {
	e ast.Expr
	// column is the one that COLUMNS means here.
	column *visible
}

// spreadOf are the expressions that e means; none where it does not hold COLUMNS.
func (k *block) spreadOf(e ast.Expr) ([]spread, []*ast.FuncCall, error) {
	calls := columnsCalls(e)
	if len(calls) == 0 {
		return nil, nil, nil
	}
	var cols []*visible
	for i, x := range calls {
		chosen, err := k.chosenColumns(x)
		if err != nil {
			return nil, nil, err
		}
		if i > 0 && !slices.Equal(cols, chosen) {
			return nil, nil, k.b.fail(fail.Syntax, x.Pos(), "two COLUMNS of one expression choose different columns").
				WithHint("Write them as items of their own.")
		}
		cols = chosen
	}
	if len(cols) == 0 {
		return nil, nil, k.b.fail(fail.UndefinedColumn, calls[0].Pos(), "COLUMNS leaves no column")
	}
	nodes := 0
	ast.Inspect(e, func(ast.Node) bool { nodes++; return true })
	k.b.bound += nodes * len(cols)
	if err := k.b.checkSize(e.Pos()); err != nil {
		return nil, nil, err
	}
	var out []spread
	for _, v := range cols {
		by := make(map[*ast.FuncCall]*ast.FuncCall, len(calls))
		for _, x := range calls {
			one := *x
			by[x] = &one
			k.b.chosen[&one] = v
		}
		out = append(out, spread{e: ast.CopyWith(e, by), column: v})
	}
	return out, calls, nil
}

// chosenColumn reads the column that a call of COLUMNS means in its copy.
func (b *Binder) chosenColumn(x *ast.FuncCall) (expr.Expr, error) {
	if v := b.chosen[x]; v != nil {
		return b.read(v, x.Pos()), nil
	}
	return nil, b.fail(fail.Syntax, x.Pos(), "COLUMNS stands only in a select list and in WHERE")
}

// isColumns reports whether a call is COLUMNS(…).
func isColumns(x *ast.FuncCall) bool {
	return len(x.Name.Parts) == 1 && x.Name.Parts[0].Is("columns")
}

// columnsCalls are the calls of COLUMNS in an expression, not in its subqueries.
func columnsCalls(e ast.Node) []*ast.FuncCall {
	var out []*ast.FuncCall
	ast.Inspect(e, func(n ast.Node) bool {
		switch x := n.(type) {
		case *ast.Query:
			return false
		case *ast.FuncCall:
			if isColumns(x) {
				out = append(out, x)
				return false
			}
		}
		return true
	})
	return out
}

// chosenColumns are the columns of FROM that a call of COLUMNS means.
func (k *block) chosenColumns(x *ast.FuncCall) ([]*visible, error) {
	if len(x.Args) != 1 || !x.Args[0].Name.IsZero() || x.Over != nil {
		return nil, k.notColumns(x)
	}
	if err := (&clause{b: k.b}).scalarOnly("columns", x); err != nil {
		return nil, err
	}
	switch arg := x.Args[0].Value.(type) {
	case *ast.Star:
		if len(arg.Replace) > 0 {
			return nil, k.b.unsupported(arg.Pos(), "REPLACE in COLUMNS")
		}
		return k.starred(arg)
	case *ast.StringLit:
		return k.matching(arg)
	case *ast.ArrayLit:
		return k.listed(x, arg)
	}
	return nil, k.notColumns(x)
}

func (k *block) notColumns(x *ast.FuncCall) error {
	return k.b.fail(fail.Syntax, x.Pos(), "COLUMNS takes *, a regular expression or a list of names").
		WithHint("Write COLUMNS(*), COLUMNS('^price') or COLUMNS(['a', 'b']).")
}

// matching are the columns of * whose names a regular expression finds.
func (k *block) matching(pattern *ast.StringLit) ([]*visible, error) {
	re, err := regexp.Compile(pattern.Value)
	if err != nil {
		return nil, k.b.fail(fail.InvalidParameter, pattern.Pos(), "the pattern of COLUMNS is not a regular expression: %v", err)
	}
	all, err := k.starColumns(&ast.Star{Span: pattern.Span})
	if err != nil {
		return nil, err
	}
	var out []*visible
	for _, v := range all {
		if re.MatchString(v.name) {
			out = append(out, v)
		}
	}
	if len(out) == 0 {
		return nil, k.b.fail(fail.UndefinedColumn, pattern.Pos(), "no column matches '%s'", pattern.Value).
			WithHint("The columns are %s.", strings.Join(visibleNames(all), ", "))
	}
	return out, nil
}

// listed are the columns of * that a list names, in its order.
func (k *block) listed(x *ast.FuncCall, list *ast.ArrayLit) ([]*visible, error) {
	all, err := k.starColumns(&ast.Star{Span: list.Span})
	if err != nil {
		return nil, err
	}
	var out []*visible
	for _, e := range list.Elems {
		name, ok := e.(*ast.StringLit)
		if !ok {
			return nil, k.notColumns(x)
		}
		id := ast.Ident{Span: name.Span, Text: name.Value}
		i := slices.IndexFunc(all, func(v *visible) bool { return nameIs(id, v.name) })
		if i < 0 {
			return nil, k.b.suggest(fail.UndefinedColumn, id, visibleNames(all), "column %q does not exist", name.Value)
		}
		out = append(out, all[i])
	}
	if len(out) == 0 {
		return nil, k.notColumns(x)
	}
	return out, nil
}

// spreadWhere replaces the conjuncts of WHERE that hold COLUMNS by those that they mean.
func (k *block) spreadWhere(conjuncts []ast.Expr) ([]ast.Expr, error) {
	var out []ast.Expr
	for _, e := range conjuncts {
		all, _, err := k.spreadOf(e)
		if err != nil {
			return nil, err
		}
		if len(all) == 0 {
			out = append(out, e)
		}
		for _, one := range all {
			out = append(out, one.e)
		}
	}
	return out, nil
}

// spreadItem adds the items that one with COLUMNS means. Without an alias each is
// called as it would be with the name of its column in the place of COLUMNS.
func (k *block) spreadItem(it *ast.SelectItem, all []spread, calls []*ast.FuncCall) {
	for _, one := range all {
		name := it.Alias.Text
		if it.Alias.IsZero() {
			name = k.b.textWith(it.Expr, calls, one.column.name)
		}
		out := item{name: name, ast: one.e, pos: it.Pos()}
		if len(calls) == 1 && it.Expr == ast.Expr(calls[0]) {
			out.ast, out.e = nil, k.b.read(one.column, it.Pos())
		}
		k.items = append(k.items, out)
	}
}

// textWith is the text of an expression with the name of a column for its calls of COLUMNS.
func (b *Binder) textWith(e ast.Expr, calls []*ast.FuncCall, column string) string {
	for {
		c, ok := e.(*ast.Cast)
		if !ok {
			break
		}
		e = c.X
	}
	text := b.sourceText(e)
	for _, x := range calls {
		text = strings.Replace(text, b.sourceText(x), column, 1)
	}
	return text
}
