package deparse

import (
	"github.com/loamdb/loam/planner/internal/ast"
)

// query writes a query in parentheses.
func (p *printer) query(q *ast.Query) {
	p.write("(")
	p.bareQuery(q)
	p.write(")")
}

func (p *printer) bareQuery(q *ast.Query) {
	defer func(was bool) { p.tableArgs = was }(p.tableArgs)
	p.tableArgs = false
	p.with(q.With)
	if (q.Offset != nil || q.WithTies) && isBare(q.Body) {
		p.inParens(q.Body)
	} else {
		p.body(q.Body)
	}
	if len(q.OrderBy) > 0 {
		p.write(" ORDER BY ")
		p.orderItems(q.OrderBy)
	}
	if !q.WithTies {
		p.clause(" LIMIT ", q.Limit)
	}
	p.clause(" OFFSET ", q.Offset)
	if q.WithTies {
		p.write(" FETCH FIRST ")
		if isRow(q.Limit) { // FETCH FIRST ROW means one row
			p.parens(q.Limit)
		} else {
			p.expr(q.Limit, ast.PrecAdd)
		}
		p.write(" ROWS WITH TIES")
	}
}

func (p *printer) with(w *ast.With) {
	if w == nil {
		return
	}
	p.write("WITH ")
	p.when(w.Recursive, "RECURSIVE ")
	list(p, w.Tables, func(c *ast.CTE) {
		p.ident(c.Name)
		p.columns(c.Columns)
		p.write(" AS ")
		if c.Materialized != nil {
			p.when(!*c.Materialized, "NOT ")
			p.write("MATERIALIZED ")
		}
		p.write("(")
		p.statement(c.Query)
		p.write(")")
	})
	p.write(" ")
}

// body writes what a query orders; a query inside stands in parentheses.
func (p *printer) body(b ast.QueryBody) {
	switch b := b.(type) {
	case *ast.Select:
		p.selectBody(b)
	case *ast.SetOp:
		p.setOp(b)
	case *ast.Values:
		p.write("VALUES ")
		list(p, b.Rows, func(r *ast.Row) {
			p.write("(")
			p.exprs(r.Elems)
			p.write(")")
		})
	case *ast.Query:
		p.query(b)
	}
}

func setPrecedence(b ast.QueryBody) int {
	if s, ok := b.(*ast.SetOp); ok {
		if s.Op == ast.Intersect {
			return 2
		}
		return 1
	}
	return 3
}

func (p *printer) setOp(s *ast.SetOp) {
	prec := setPrecedence(s)
	p.setOperand(s.Left, prec)
	p.write(" ", s.Op.String())
	p.when(s.All, " ALL")
	p.when(s.ByName, " BY NAME")
	p.write(" ")
	p.setOperand(s.Right, prec+1)
}

func (p *printer) setOperand(b ast.QueryBody, least int) {
	if setPrecedence(b) >= least && !isBare(b) {
		p.body(b)
		return
	}
	p.inParens(b)
}

func (p *printer) inParens(b ast.QueryBody) {
	p.write("(")
	p.body(b)
	p.write(")")
}

// isBare reports whether a body is a SELECT of nothing from nothing: before
// OFFSET and FETCH it needs parentheses, or it would select a column of that name.
func isBare(b ast.QueryBody) bool {
	s, ok := b.(*ast.Select)
	return ok && len(s.Items)+len(s.From) == 0
}

func (p *printer) selectBody(s *ast.Select) {
	p.write("SELECT")
	p.when(s.Distinct, " DISTINCT")
	if len(s.DistinctOn) > 0 {
		p.write(" ON (")
		p.exprs(s.DistinctOn)
		p.write(")")
	}
	p.when(len(s.Items) > 0, " ")
	p.selectItems(s.Items)
	if len(s.From) > 0 {
		p.write(" FROM ")
		list(p, s.From, p.tableRef)
	}
	p.clause(" WHERE ", s.Where)
	if s.GroupBy != nil {
		p.write(" GROUP BY ")
		p.when(s.GroupBy.All, "ALL")
		p.when(s.GroupBy.Distinct, "DISTINCT ")
		list(p, s.GroupBy.Items, p.groupItem)
	}
	p.clause(" HAVING ", s.Having)
	if len(s.Windows) > 0 {
		p.write(" WINDOW ")
		list(p, s.Windows, func(w *ast.NamedWindow) {
			p.ident(w.Name)
			p.write(" AS ")
			p.window(w.Window)
		})
	}
	p.clause(" QUALIFY ", s.Qualify)
	if s.Sample != nil {
		p.write(" USING SAMPLE ")
		p.sampleParts(s.Sample, " PERCENT")
	}
}

func (p *printer) selectItems(items []*ast.SelectItem) {
	list(p, items, func(it *ast.SelectItem) {
		p.expr(it.Expr, 0)
		if !it.Alias.IsZero() {
			p.write(" AS ")
			p.ident(it.Alias)
		}
	})
}

func (p *printer) returning(items []*ast.SelectItem) {
	if len(items) > 0 {
		p.write(" RETURNING ")
		p.selectItems(items)
	}
}

func (p *printer) groupItem(g *ast.GroupItem) {
	if g.Kind == ast.GroupExprs {
		// A single row in parentheses would be a list of its elements.
		if len(g.Exprs) == 1 && !isRow(g.Exprs[0]) {
			p.expr(g.Exprs[0], 0)
			return
		}
		p.write("(")
		p.exprs(g.Exprs)
		p.write(")")
		return
	}
	p.write(g.Kind.String(), " (")
	list(p, g.Sets, p.groupItem)
	p.write(")")
}

func isRow(e ast.Expr) bool {
	_, ok := e.(*ast.Row)
	return ok
}

func (p *printer) orderItems(items []*ast.OrderItem) {
	list(p, items, func(o *ast.OrderItem) {
		if o.All {
			p.write("ALL")
		} else {
			p.expr(o.Expr, 0)
		}
		p.when(o.Desc, " DESC")
		p.when(o.Nulls != ast.NullsDefault, " "+o.Nulls.String())
	})
}

func (p *printer) window(w *ast.Window) {
	if !w.Ref.IsZero() {
		p.ident(w.Ref)
		return
	}
	sep := ""
	part := func(s string) {
		p.write(sep, s)
		sep = " "
	}
	p.write("(")
	if !w.Base.IsZero() {
		part("")
		p.ident(w.Base)
	}
	if len(w.PartitionBy) > 0 {
		part("PARTITION BY ")
		p.exprs(w.PartitionBy)
	}
	if len(w.OrderBy) > 0 {
		part("ORDER BY ")
		p.orderItems(w.OrderBy)
	}
	if w.Frame != nil {
		part("")
		p.frame(w.Frame)
	}
	p.write(")")
}

func (p *printer) frame(f *ast.Frame) {
	p.write(f.Unit.String(), " BETWEEN ")
	p.bound(f.Lo)
	p.write(" AND ")
	p.bound(f.Hi)
	p.when(f.Exclude != ast.ExcludeNothing, " "+f.Exclude.String())
}

func (p *printer) bound(b *ast.Bound) {
	if b.Offset != nil {
		p.expr(b.Offset, ast.PrecRange+1)
		p.write(" ")
	}
	p.write(b.Kind.String())
}

func (p *printer) tableRef(t ast.TableRef) {
	switch t := t.(type) {
	case *ast.TableName:
		p.name(t.Name)
		p.at(t.At)
		p.alias(t.Alias)
		p.sample(t.Sample)
	case *ast.TableFunc:
		p.when(t.Lateral, "LATERAL ")
		was := p.tableArgs
		p.tableArgs = true
		p.call(t.Call)
		p.tableArgs = was
		p.when(t.Ordinality, " WITH ORDINALITY")
		p.alias(t.Alias)
	case *ast.Derived:
		p.when(t.Lateral, "LATERAL ")
		p.query(t.Query)
		p.alias(t.Alias)
		p.sample(t.Sample)
	case *ast.Join:
		p.when(t.Alias != nil, "(")
		p.join(t)
		p.when(t.Alias != nil, ")")
		p.alias(t.Alias)
	}
}

func (p *printer) join(j *ast.Join) {
	p.tableRef(j.Left)
	p.when(j.Natural, " NATURAL")
	p.when(j.AsOf, " ASOF")
	p.when(j.Kind != ast.JoinInner, " "+j.Kind.String())
	p.write(" JOIN ")
	right, nested := j.Right.(*ast.Join)
	nested = nested && right.Alias == nil
	p.when(nested, "(")
	p.tableRef(j.Right)
	p.when(nested, ")")
	p.clause(" ON ", j.On)
	if len(j.Using) > 0 {
		p.write(" USING")
		p.columns(j.Using)
	}
}

func (p *printer) alias(a *ast.Alias) {
	if a == nil {
		return
	}
	p.write(" AS ")
	p.ident(a.Name)
	p.columns(a.Columns)
}

func (p *printer) at(a *ast.At) {
	if a == nil {
		return
	}
	p.write(" AT (", a.Kind.String(), " => ")
	p.expr(a.Value, 0)
	p.write(")")
}

func (p *printer) sample(s *ast.Sample) {
	if s == nil {
		return
	}
	p.write(" TABLESAMPLE ")
	p.sampleParts(s, "")
}

// sampleParts writes what follows TABLESAMPLE and USING SAMPLE; percent is the unit
// of a size that does not count rows.
func (p *printer) sampleParts(s *ast.Sample, percent string) {
	if !s.Method.IsZero() {
		p.ident(s.Method)
		p.write(" ")
	}
	p.write("(")
	p.expr(s.Size, 0)
	p.when(s.Rows, " ROWS")
	p.when(!s.Rows, percent)
	p.write(")")
	if s.Seed != nil {
		p.clause(" REPEATABLE (", s.Seed)
		p.write(")")
	}
}
