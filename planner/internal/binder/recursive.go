package binder

import (
	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/planner/internal/ast"
)

// recursion is the state of a table of WITH RECURSIVE while its query is bound.
type recursion struct {
	// step is set while the side that may name the table is bound; before, naming
	// it is an error.
	step  bool
	table expr.ColumnID
	cols  []plan.Column // of the working table, as the first side has them
	uses  int
	pos   int // of the last reference
}

// selfReference is a name of a table inside of its own definition: the rows of the
// round before.
func (b *Binder) selfReference(c *cteScope, id ast.Ident) (plan.Node, error) {
	name := c.def.Name.Text
	if inner := b.innermost(c); inner != c {
		return nil, b.fail(fail.Unsupported, id.Pos(), "WITH tables %q and %q name each other: mutual recursion is not supported", name, inner.def.Name.Text).
			WithHint("Write one recursive table with a column that tells them apart.")
	}
	r := c.rec
	switch {
	case r == nil:
		return nil, b.fail(fail.InvalidRecursion, id.Pos(), "WITH table %q names itself but is not of the form query UNION [ALL] query", name).
			WithHint("The first query gives the first rows and does not name the table, the second one names it.")
	case !r.step:
		return nil, b.fail(fail.InvalidRecursion, id.Pos(), "WITH table %q names itself in its first query", name).
			WithHint("Only the query behind UNION [ALL] may read %s.", name)
	}
	if r.uses++; r.uses > 1 {
		return nil, b.fail(fail.InvalidRecursion, id.Pos(), "WITH table %q names itself more than once", name).
			WithHint("Read it once, and join the result with other tables.")
	}
	r.pos = id.Pos()
	w := &plan.WorkingTable{Table: r.table, Label: name}
	for _, col := range r.cols {
		w.Cols = append(w.Cols, b.newColumn(col.Name, col.Type))
	}
	return w, nil
}

// innermost is the table of the same WITH that is being bound innermost.
func (b *Binder) innermost(c *cteScope) *cteScope {
	for i := len(b.binding) - 1; i >= 0; i-- {
		if b.binding[i].group == c.group {
			return b.binding[i]
		}
	}
	return c
}

// recursive binds a table of WITH RECURSIVE of the form query UNION [ALL] query.
// Where the second query does not name the table, it is a plain union.
func (b *Binder) recursive(c *cteScope, q *ast.Query, op *ast.SetOp) (plan.Node, error) {
	saved := b.ctes
	defer func() { b.ctes = saved }()
	if q.With != nil {
		if err := b.with(q.With, c.outer); err != nil {
			return nil, err
		}
	}
	c.rec = &recursion{table: b.newID()}
	defer func() { c.rec = nil }()
	base, err := b.body(op.Left, c.outer)
	if err != nil {
		return nil, err
	}
	base = b.settleTypes(base)
	c.rec.step = true
	c.rec.cols = base.Columns()
	for i, id := range c.def.Columns {
		if i < len(c.rec.cols) {
			c.rec.cols[i].Name = id.Text
		}
	}
	step, err := b.body(op.Right, c.outer)
	if err != nil {
		return nil, err
	}
	if c.rec.uses == 0 {
		c.rec, b.ctes = nil, saved
		return b.query(q, c.outer)
	}
	if len(q.OrderBy) > 0 || q.Limit != nil || q.Offset != nil {
		return nil, b.fail(fail.Unsupported, c.rec.pos, "ORDER BY and LIMIT are not supported in the recursive WITH table %q", c.def.Name.Text).
			WithHint("Write them in the query that reads it: a LIMIT there ends the recursion.")
	}
	if err := b.wellFormed(c, step); err != nil {
		return nil, err
	}
	return b.rounds(c, op, base, step)
}

// rounds joins the sides of a recursion. The first one decides the types.
func (b *Binder) rounds(c *cteScope, op *ast.SetOp, base, step plan.Node) (plan.Node, error) {
	name := c.def.Name.Text
	bc, sc := base.Columns(), step.Columns()
	if len(bc) != len(sc) {
		return nil, b.fail(fail.Syntax, op.Right.Pos(), "each side of %s must have as many columns: %d and %d", op.Op, len(bc), len(sc))
	}
	want := make([]types.Type, len(bc))
	for i := range bc {
		want[i] = bc[i].Type
		t, ok := types.Common(bc[i].Type, sc[i].Type)
		if !ok || !t.Equal(bc[i].Type) {
			return nil, b.fail(fail.DatatypeMismatch, op.Right.Pos(), "column %d of the recursive WITH table %q is %s in the first query and %s in the second",
				i+1, name, bc[i].Type, sc[i].Type).WithHint("Cast the column of the first query to the type of the second.")
		}
	}
	out := &plan.Recursive{Base: base, Step: b.castColumns(step, want), Distinct: !op.All, Label: name, Table: c.rec.table}
	for _, col := range bc {
		if out.Distinct && !col.Type.Orderable() {
			return nil, b.fail(fail.DatatypeMismatch, op.Pos(), "rows cannot be compared by column %q of type %s", col.Name, col.Type).
				WithHint("Write UNION ALL.")
		}
		out.Cols = append(out.Cols, b.newColumn(col.Name, col.Type))
	}
	return out, nil
}

// wellFormed refuses what has no meaning round by round: a row that comes later
// would have to take one back that is there already.
func (b *Binder) wellFormed(c *cteScope, step plan.Node) error {
	refuse := func(what string) error {
		return b.fail(fail.InvalidRecursion, c.rec.pos, "the recursive WITH table %q is read %s", c.def.Name.Text, what).
			WithHint("Each round sees only the rows of the round before; do this in the query that reads the table.")
	}
	for n := step; ; {
		next := readingChild(n, c.rec.table)
		if next < 0 {
			return nil
		}
		switch x := n.(type) {
		case *plan.Aggregate:
			if len(x.Aggs) > 0 {
				return refuse("under an aggregate")
			}
		case *plan.GroupingSets:
			return refuse("under an aggregate")
		case *plan.Join:
			if what := brokenSide(x.Kind, next); what != "" {
				return refuse(what)
			}
		case *plan.Sort:
			if x.Limit != plan.NoLimit {
				return refuse("under LIMIT")
			}
		case *plan.Limit:
			return refuse("under LIMIT")
		}
		n = n.Children()[next]
	}
}

// brokenSide says what is wrong with the working table on a side of a join; "" if
// nothing is.
func brokenSide(kind plan.JoinKind, side int) string {
	switch kind {
	case plan.Left, plan.Full, plan.Right:
		if kind == plan.Full || (kind == plan.Left) == (side == 1) {
			return "on the side of an outer join that NULLs may replace"
		}
	case plan.Semi, plan.Single, plan.Mark:
		if side == 1 {
			return "in a subquery"
		}
	case plan.Anti:
		if side == 1 {
			return "in a subquery or behind EXCEPT"
		}
	}
	return ""
}

// readingChild is the input of a node that reads the working table, or -1.
func readingChild(n plan.Node, table expr.ColumnID) int {
	for i, k := range n.Children() {
		found := false
		plan.Walk(k, func(x plan.Node) bool {
			w, ok := x.(*plan.WorkingTable)
			found = found || ok && w.Table == table
			return !found
		})
		if found {
			return i
		}
	}
	return -1
}
