package parser

import (
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/planner/internal/ast"
)

// queryInParens reads "(" query ")".
func (p *parser) queryInParens() *ast.Query {
	p.expect('(', `"("`)
	q := p.query()
	p.expect(')', `")"`)
	return q
}

// query reads a query with its WITH, ORDER BY and LIMIT.
func (p *parser) query() *ast.Query {
	return p.queryAfterWith(p.pos(), p.with())
}

// queryAfterWith reads a query whose WITH has been read; it begins at start.
func (p *parser) queryAfterWith(start int, with *ast.With) *ast.Query {
	outer := p.enter()
	defer p.leave(outer)
	defer func(was bool) { p.tableArgs = was }(p.tableArgs)
	p.tableArgs = false
	q := &ast.Query{With: with}
	if p.err != nil {
		q.Body = &ast.Select{}
		return q
	}
	q.Body = p.setOps(1)
	if p.acceptKw(kwOrder, kwBy) {
		q.OrderBy = p.orderItems()
	}
	p.limits(q)
	if p.atKw(kwFor) {
		p.unsupported(p.pos(), "Reads never lock; each statement sees one snapshot.", "FOR UPDATE and FOR SHARE are not supported")
	}
	q.Span = p.span(start)
	if inner, ok := q.Body.(*ast.Query); ok && with == nil && q.OrderBy == nil && q.Limit == nil && q.Offset == nil {
		return inner
	}
	return q
}

// with reads a WITH clause; nil where none stands here.
func (p *parser) with() *ast.With {
	start := p.pos()
	if !p.acceptKw(kwWith) {
		return nil
	}
	w := &ast.With{Recursive: p.acceptKw(kwRecursive)}
	p.list(func() { w.Tables = append(w.Tables, p.cte()) })
	w.Span = p.span(start)
	return w
}

func (p *parser) cte() *ast.CTE {
	start := p.pos()
	c := &ast.CTE{Name: p.ident("the name of a table")}
	if p.at('(') {
		c.Columns = p.identList("the name of a column")
	}
	p.expectKw(kwAs)
	switch {
	case p.acceptKw(kwMaterialized):
		yes := true
		c.Materialized = &yes
	case p.acceptKw(kwNot, kwMaterialized):
		no := false
		c.Materialized = &no
	}
	p.expect('(', `"(" and a query`)
	c.Query = p.withQuery()
	p.expect(')', `")"`)
	c.Span = p.span(start)
	return c
}

// withQuery reads a query or a data change, each with its own WITH.
func (p *parser) withQuery() ast.Statement {
	start := p.pos()
	outer := p.enter()
	defer p.leave(outer)
	with := p.with()
	switch p.tok().kw {
	case kwInsert:
		return p.insert(start, with)
	case kwUpdate:
		return p.update(start, with)
	case kwDelete:
		return p.deleteFrom(start, with)
	}
	return p.queryAfterWith(start, with)
}

// setOps reads bodies joined by set operations that bind at least as tight as
// least: 1 for UNION and EXCEPT, 2 for INTERSECT.
func (p *parser) setOps(least int) ast.QueryBody {
	start := p.pos()
	left := p.queryBody()
	for p.err == nil {
		kw, prec := p.tok().kw, 1
		if kw == kwIntersect {
			prec = 2
		}
		if kw != kwUnion && kw != kwExcept && kw != kwIntersect || prec < least {
			break
		}
		p.advance()
		op := &ast.SetOp{Left: left}
		switch kw {
		case kwIntersect:
			op.Op = ast.Intersect
		case kwExcept:
			op.Op = ast.Except
		}
		if !p.acceptKw(kwDistinct) {
			op.All = p.acceptKw(kwAll)
		}
		op.ByName = p.acceptKw(kwBy, kwName)
		peak := p.peak
		op.Right = p.setOps(prec + 1)
		op.Span = p.span(start)
		left = op
		p.deepen(peak)
	}
	return left
}

// queryBody reads SELECT, VALUES, TABLE, FROM or a query in parentheses.
func (p *parser) queryBody() ast.QueryBody {
	switch p.tok().kw {
	case kwSelect, kwFrom:
		return p.selectBody()
	case kwValues:
		return p.values()
	case kwTable:
		return p.tableBody()
	}
	if !p.at('(') {
		p.unexpected("a query (SELECT, VALUES, TABLE or FROM)")
		return &ast.Select{}
	}
	q := p.queryInParens()
	if q.With == nil && q.OrderBy == nil && q.Limit == nil && q.Offset == nil && q.Body != nil {
		return q.Body
	}
	return q
}

func (p *parser) values() ast.QueryBody {
	start := p.pos()
	p.advance()
	v := &ast.Values{}
	p.list(func() { v.Rows = append(v.Rows, p.valueRow()) })
	for _, r := range v.Rows {
		if len(r.Elems) != len(v.Rows[0].Elems) && p.err == nil {
			p.failAt(r.Pos(), "this row of VALUES has %s, the first has %d", fail.Count(len(r.Elems), "value"), len(v.Rows[0].Elems))
		}
	}
	v.Span = p.span(start)
	return v
}

func (p *parser) valueRow() *ast.Row {
	start := p.pos()
	p.acceptKw(kwRow)
	r := &ast.Row{}
	p.parens(func() { r.Elems = append(r.Elems, p.valueOrDefault()) })
	r.Span = p.span(start)
	return r
}

// valueOrDefault reads an expression or DEFAULT.
func (p *parser) valueOrDefault() ast.Expr {
	if start := p.pos(); p.acceptKw(kwDefault) {
		return &ast.Default{Span: p.span(start)}
	}
	return p.expr()
}

// tableBody reads TABLE t.
func (p *parser) tableBody() ast.QueryBody {
	start := p.pos()
	p.advance()
	at := p.pos()
	ref := &ast.TableName{Name: p.name("the name of a table")}
	ref.At = p.atClause()
	ref.Span = p.span(at)
	return starSelect(p.span(start), ref)
}

func starSelect(at ast.Span, from ...ast.TableRef) *ast.Select {
	star := &ast.Star{Span: at}
	return &ast.Select{Span: at, Items: []*ast.SelectItem{{Span: at, Expr: star}}, From: from}
}

// selectBody reads SELECT … FROM …, and FROM … [SELECT …].
func (p *parser) selectBody() ast.QueryBody {
	start := p.pos()
	s := &ast.Select{}
	fromFirst := p.acceptKw(kwFrom)
	if fromFirst {
		s.From = p.fromItems()
	}
	if p.acceptKw(kwSelect) {
		p.selectList(s)
		if !fromFirst && p.acceptKw(kwFrom) {
			s.From = p.fromItems()
		}
	} else if fromFirst {
		s.Items = starSelect(p.span(start)).Items
	}
	if p.acceptKw(kwWhere) {
		s.Where = p.expr()
	}
	if p.atKw(kwGroup) {
		s.GroupBy = p.groupBy()
	}
	if p.acceptKw(kwHaving) {
		s.Having = p.expr()
	}
	if p.acceptKw(kwQualify) {
		s.Qualify = p.expr()
	}
	if p.acceptKw(kwWindow) {
		p.list(func() { s.Windows = append(s.Windows, p.namedWindow()) })
	}
	if s.Qualify == nil && p.acceptKw(kwQualify) {
		s.Qualify = p.expr()
	}
	s.Sample = p.usingSample()
	s.Span = p.span(start)
	return s
}

// selectList reads [ALL | DISTINCT [ON (…)]] and the items.
func (p *parser) selectList(s *ast.Select) {
	if p.acceptKw(kwDistinct) {
		s.Distinct = true
		if p.acceptKw(kwOn) {
			p.parens(func() { s.DistinctOn = append(s.DistinctOn, p.expr()) })
		}
	} else {
		p.acceptKw(kwAll)
	}
	if p.emptySelectList() {
		return
	}
	for n := 0; ; n++ {
		s.Items = append(s.Items, p.selectItem())
		p.checkList(n)
		if !p.accept(',') || p.atKw(kwFrom) { // a trailing comma before FROM is forgiven
			break
		}
	}
	p.afterSelectList()
}

// emptySelectList reports whether the query has no items, as in SELECT FROM t.
func (p *parser) emptySelectList() bool {
	switch p.tok().kind {
	case kEOF, ')', ';':
		return true
	}
	switch p.tok().kw {
	case kwFrom, kwWhere, kwHaving, kwQualify, kwLimit, kwUnion, kwExcept, kwIntersect:
		return true
	}
	return p.peekKw(kwGroup, kwBy) || p.peekKw(kwOrder, kwBy)
}

// afterSelectList gives a better message than the end of the statement would.
func (p *parser) afterSelectList() {
	t := p.tok()
	if startsOperand(t) || t.kind == '[' || t.kind == '=' || t.kind == kFatArrow {
		p.unexpected("a comma, FROM or the end of the query")
	}
}

func (p *parser) selectItem() *ast.SelectItem {
	start := p.pos()
	item := &ast.SelectItem{}
	if star := p.star(); star != nil {
		item.Expr = star
	} else {
		item.Expr = p.expr()
		item.Alias = p.alias()
	}
	item.Span = p.span(start)
	return item
}

// alias reads [AS] name; the zero Ident where none stands here.
func (p *parser) alias() ast.Ident {
	if p.acceptKw(kwAs) {
		if t := p.tok(); t.kind == kString {
			p.failAt(int(t.start), "an alias is a name, found %s", p.describe(t)).Hint = `Write "name" in double quotes.`
		}
		return p.label("an alias")
	}
	if t := p.tok(); t.kind == kQuoted || t.kind == kWord && t.kw.bareAlias() {
		p.advance()
		return p.identOf(t)
	}
	return ast.Ident{}
}

// returning reads a RETURNING clause; nil where none stands here.
func (p *parser) returning() []*ast.SelectItem {
	if !p.acceptKw(kwReturning) {
		return nil
	}
	var out []*ast.SelectItem
	p.list(func() { out = append(out, p.selectItem()) })
	return out
}
