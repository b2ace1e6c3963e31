package binder

import (
	"strings"

	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/planner/internal/ast"
)

// byName brings the sides of UNION BY NAME to the same columns: those of the left,
// then those that the right alone has. Where a side has none of a name it is NULL.
func (b *Binder) byName(x *ast.SetOp, l, r plan.Node) (plan.Node, plan.Node, error) {
	if x.Op != ast.Union {
		return nil, nil, b.fail(fail.Unsupported, x.Pos(), "%s BY NAME is not supported", x.Op).
			WithHint("List the columns of both sides in one order.")
	}
	left, right := l.Columns(), r.Columns()
	var names []plan.Column
	for _, side := range [][]plan.Column{left, right} {
		for i, c := range side {
			if at := columnNamed(side[:i], c.Name); at >= 0 {
				return nil, nil, b.fail(fail.AmbiguousColumn, x.Pos(), "one side of UNION BY NAME has column %q twice", c.Name).
					WithHint("Give one of them an alias.")
			}
			if columnNamed(names, c.Name) < 0 {
				names = append(names, c)
			}
		}
	}
	return b.arrange(l, names), b.arrange(r, names), nil
}

// columnNamed is the position of a name, whatever its case, or -1.
func columnNamed(cols []plan.Column, name string) int {
	for i, c := range cols {
		if strings.EqualFold(c.Name, name) {
			return i
		}
	}
	return -1
}

// arrange projects a node to the named columns in order, NULL for those it lacks.
func (b *Binder) arrange(n plan.Node, names []plan.Column) plan.Node {
	cols := n.Columns()
	out := &plan.Project{Input: n}
	for _, want := range names {
		var e expr.Expr = nullConst(want.Type)
		if at := columnNamed(cols, want.Name); at >= 0 {
			e = cols[at].Ref()
		}
		out.Exprs = append(out.Exprs, plan.NamedExpr{Column: b.newColumn(want.Name, e.Type()), Expr: e})
	}
	return out
}
