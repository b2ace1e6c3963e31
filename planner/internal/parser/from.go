package parser

import (
	"github.com/loamdb/loam/planner/internal/ast"
)

// fromItems reads the table references of a FROM or USING clause.
func (p *parser) fromItems() []ast.TableRef {
	var out []ast.TableRef
	p.list(func() { out = append(out, p.tableRef()) })
	return out
}

// tableRef reads a table with the joins that follow it.
func (p *parser) tableRef() ast.TableRef {
	outer := p.enter()
	defer p.leave(outer)
	if p.err != nil {
		return &ast.TableName{}
	}
	start := p.pos()
	left := p.tablePrimary()
	for p.err == nil {
		j := p.joinWords()
		if j == nil {
			break
		}
		peak := p.peak
		left = p.joinRest(start, left, j)
		p.deepen(peak)
	}
	return left
}

// joinWords reads the words up to and including JOIN; nil where no join follows.
func (p *parser) joinWords() *ast.Join {
	j := &ast.Join{}
	first := p.i
	j.Natural = p.acceptKw(kwNatural)
	j.AsOf = p.acceptKw(kwAsof)
	found := true
	switch p.tok().kw {
	case kwInner:
		p.advance()
	case kwCross:
		p.advance()
		j.Kind = ast.JoinCross
	case kwLeft, kwRight, kwFull:
		j.Kind = p.outerKind(p.advance().kw)
	case kwSemi:
		p.advance()
		j.Kind = ast.JoinLeftSemi
	case kwAnti:
		if p.peek(1).kw != kwJoin {
			break
		}
		p.advance()
		j.Kind = ast.JoinLeftAnti
	default:
		found = false
	}
	if p.acceptKw(kwJoin) {
		return j
	}
	if found || p.i > first {
		p.unexpected("JOIN")
	}
	return nil
}

// outerKind reads OUTER, SEMI or ANTI after the side.
func (p *parser) outerKind(side keyword) ast.JoinKind {
	right := side == kwRight
	switch {
	case side == kwFull:
		p.acceptKw(kwOuter)
		return ast.JoinFull
	case p.acceptKw(kwSemi) && right:
		return ast.JoinRightSemi
	case p.prevKw() == kwSemi:
		return ast.JoinLeftSemi
	case p.acceptKw(kwAnti) && right:
		return ast.JoinRightAnti
	case p.prevKw() == kwAnti:
		return ast.JoinLeftAnti
	}
	p.acceptKw(kwOuter)
	if right {
		return ast.JoinRight
	}
	return ast.JoinLeft
}

func (p *parser) prevKw() keyword { return p.toks[max(p.i-1, 0)].kw }

// joinRest reads the right side and the condition. Where another join follows
// before the condition, it belongs to the right side: a JOIN b JOIN c ON … ON ….
func (p *parser) joinRest(start int, left ast.TableRef, j *ast.Join) ast.TableRef {
	outer := p.enter()
	defer p.leave(outer)
	rightStart := p.pos()
	j.Left, j.Right = left, p.tablePrimary()
	bare := j.Natural || j.Kind == ast.JoinCross
	for !bare && p.err == nil && !p.atKw(kwOn) && !p.atKw(kwUsing) {
		inner := p.joinWords()
		if inner == nil {
			break
		}
		peak := p.peak
		j.Right = p.joinRest(rightStart, j.Right, inner)
		p.deepen(peak)
	}
	at := p.pos()
	switch {
	case p.acceptKw(kwOn):
		j.On = p.expr()
	case p.acceptKw(kwUsing):
		j.Using = p.identList("the name of a column")
	case !bare && p.err == nil:
		p.unexpected("ON or USING with the condition of the join")
		if p.err.Hint == "" {
			p.err.Hint = "A join without a condition is a CROSS JOIN."
		}
	}
	if bare && (j.On != nil || j.Using != nil) && p.err == nil {
		p.failAt(at, "a %s JOIN takes no condition", map[bool]string{true: "NATURAL", false: "CROSS"}[j.Natural])
	}
	j.Span = p.span(start)
	return j
}

// tablePrimary reads one table: a name, a call, a query or joins in parentheses.
func (p *parser) tablePrimary() ast.TableRef {
	start := p.pos()
	lateral := p.acceptKw(kwLateral)
	switch {
	case p.at('('):
		if p.queryAt(p.i) {
			q := p.queryInParens()
			return p.derived(start, lateral, q)
		}
		return p.joinInParens(lateral)
	case p.atKw(kwValues):
		at := p.pos()
		body := p.values()
		return p.derived(start, lateral, &ast.Query{Span: p.span(at), Body: body})
	case p.atKw(kwTable) && p.peek(1).kind == '(':
		p.advance()
		p.advance()
		call := p.tableCall(p.name("the name of a table function"))
		p.expect(')', `")"`)
		return p.tableFunc(start, lateral, call)
	}
	t := p.tok()
	var name ast.Name
	if (t.kw == kwLeft || t.kw == kwRight) && p.peek(1).kind == '(' {
		name = ast.Name{Parts: []ast.Ident{p.identOf(p.advance())}}
		name.Span = p.span(start)
	} else {
		name = p.name("the name of a table")
	}
	if p.at('(') {
		return p.tableFunc(start, lateral, p.tableCall(name))
	}
	if lateral && p.err == nil {
		p.failAt(start, "LATERAL stands before a query in parentheses or a table function")
	}
	ref := &ast.TableName{Name: name, At: p.atClause()}
	ref.Alias = p.tableAlias()
	ref.Sample = p.sample()
	ref.Span = p.span(start)
	return ref
}

// tableCall reads the arguments of a table function, where name = value is named.
func (p *parser) tableCall(name ast.Name) *ast.FuncCall {
	defer func(was bool) { p.tableArgs = was }(p.tableArgs)
	p.tableArgs = true
	return p.call(name)
}

func (p *parser) tableFunc(start int, lateral bool, call *ast.FuncCall) ast.TableRef {
	f := &ast.TableFunc{Lateral: lateral, Call: call}
	f.Ordinality = p.acceptKw(kwWith, kwOrdinality)
	f.Alias = p.tableAlias()
	f.Span = p.span(start)
	return f
}

func (p *parser) derived(start int, lateral bool, q *ast.Query) ast.TableRef {
	d := &ast.Derived{Lateral: lateral, Query: q}
	d.Alias = p.tableAlias()
	d.Sample = p.sample()
	d.Span = p.span(start)
	return d
}

// joinInParens reads ( table joins ) with an optional alias.
func (p *parser) joinInParens(lateral bool) ast.TableRef {
	start := p.pos()
	p.advance()
	ref := p.tableRef()
	p.expect(')', `a join or ")"`)
	if lateral && p.err == nil {
		p.failAt(start, "LATERAL stands before a query in parentheses or a table function")
	}
	alias := p.tableAlias()
	if alias == nil || p.err != nil {
		return ref
	}
	join, ok := ref.(*ast.Join)
	if !ok || join.Alias != nil {
		p.failAt(alias.Pos(), "an alias outside the parentheses names a join, and here is none").Hint = "Put the alias inside the parentheses."
		return ref
	}
	join.Alias = alias
	join.Span = p.span(start)
	return join
}

// tableAlias reads [AS] name [(columns)]; nil where none stands here.
func (p *parser) tableAlias() *ast.Alias {
	start := p.pos()
	if p.atKw(kwAnti) && p.peek(1).kw == kwJoin {
		return nil
	}
	name := p.alias()
	if name.IsZero() {
		return nil
	}
	a := &ast.Alias{Name: name}
	if p.at('(') {
		a.Columns = p.identList("the name of a column")
	}
	a.Span = p.span(start)
	return a
}

// atKinds maps the words of AT (word => value).
var atKinds = map[keyword]ast.AtKind{kwVersion: ast.AtVersion, kwTag: ast.AtTag, kwToken: ast.AtToken,
	kwTimestamp: ast.AtTimestamp}

// atClause reads AT (kind => value) and FOR SYSTEM_TIME|VERSION AS OF value; nil
// where none stands here.
func (p *parser) atClause() *ast.At {
	start := p.pos()
	if p.peekKw(kwFor, kwSystemTime) || p.peekKw(kwFor, kwTimestamp) || p.peekKw(kwFor, kwVersion) {
		p.advance()
		a := &ast.At{Kind: ast.AtTimestamp}
		if p.advance().kw == kwVersion {
			a.Kind = ast.AtVersion
		}
		p.expectKw(kwAs, kwOf)
		a.Value = p.exprPrec(ast.PrecAdd)
		if _, text := a.Value.(*ast.StringLit); text && a.Kind == ast.AtVersion {
			a.Kind = ast.AtTag // a version by name, as other dialects write it
		}
		a.Span = p.span(start)
		return a
	}
	if !p.atKw(kwAt) || p.peek(1).kind != '(' || p.peek(3).kind != kFatArrow && p.peek(3).kind != kColonEq {
		return nil
	}
	p.advance()
	p.advance()
	a := &ast.At{Kind: atKinds[p.tok().kw]}
	if a.Kind == 0 {
		p.unexpected("VERSION, TAG, TOKEN or TIMESTAMP")
	}
	p.advance()
	p.advance()
	a.Value = p.expr()
	p.expect(')', `")"`)
	a.Span = p.span(start)
	return a
}

// noAt refuses AT behind the name of a table that is written.
func (p *parser) noAt(verb string) {
	if at := p.atClause(); at != nil && p.err == nil {
		p.unsupported(at.Pos(), "Read the past with SELECT … FROM t AT (…), and write what it gives.",
			"%s writes the current state: the past cannot be changed", verb)
	}
}

// sample reads TABLESAMPLE; nil where none stands here.
func (p *parser) sample() *ast.Sample {
	start := p.pos()
	if !p.acceptKw(kwTablesample) {
		return nil
	}
	s := &ast.Sample{}
	if !p.at('(') {
		s.Method = p.ident(`BERNOULLI, SYSTEM, RESERVOIR or "("`)
	}
	p.sizeInParens(s, false)
	p.seed(s)
	s.Span = p.span(start)
	return s
}

// usingSample reads USING SAMPLE; nil where none stands here. The parentheses may
// be absent, and a size without a unit counts rows.
func (p *parser) usingSample() *ast.Sample {
	start := p.pos()
	if word := p.peek(1); !p.atKw(kwUsing) || word.kind != kWord || !p.identOf(word).Is("sample") {
		return nil
	}
	p.advance()
	p.advance()
	s := &ast.Sample{}
	if isName(p.tok()) {
		s.Method = p.ident("a sampling method")
	}
	if p.at('(') {
		p.sizeInParens(s, true)
	} else {
		s.Size = p.exprPrec(ast.PrecUnary)
		s.Rows = p.countsRows(true)
	}
	p.seed(s)
	s.Span = p.span(start)
	return s
}

// sizeInParens reads the size of a sample with its unit; rows is the unit of a bare number.
func (p *parser) sizeInParens(s *ast.Sample, rows bool) {
	p.expect('(', `"("`)
	if p.peek(1).kind == '%' && p.peek(2).kind == ')' {
		s.Size = p.exprPrec(ast.PrecUnary)
	} else {
		s.Size = p.expr()
	}
	s.Rows = p.countsRows(rows)
	p.expect(')', `PERCENT, ROWS or ")"`)
}

// countsRows reads the unit of a size, where one is written.
func (p *parser) countsRows(rows bool) bool {
	switch {
	case p.accept('%') || p.acceptKw(kwPercent):
		return false
	case p.acceptOne(kwRow, kwRows) != noKeyword:
		return true
	}
	return rows
}

// seed reads REPEATABLE (seed).
func (p *parser) seed(s *ast.Sample) {
	if p.acceptKw(kwRepeatable) {
		p.expect('(', `"("`)
		s.Seed = p.expr()
		p.expect(')', `")"`)
	}
}
