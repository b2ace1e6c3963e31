package parser

import (
	"github.com/loamdb/loam/planner/internal/ast"
)

// call reads the arguments and the clauses of a function call.
func (p *parser) call(name ast.Name) *ast.FuncCall {
	outer := p.enter()
	defer p.leave(outer)
	c := &ast.FuncCall{Name: name}
	p.expect('(', `"("`)
	if !p.at(')') {
		if p.acceptKw(kwDistinct) {
			c.Distinct = true
		} else {
			p.acceptKw(kwAll)
		}
		p.list(func() { c.Args = append(c.Args, p.arg()) })
		if p.acceptKw(kwOrder, kwBy) {
			c.OrderBy = p.orderItems()
		}
		c.Nulls = p.nullTreatment()
	}
	p.expect(')', `a comma or ")"`)
	if p.acceptKw(kwWithin, kwGroup) {
		p.expect('(', `"("`)
		p.expectKw(kwOrder, kwBy)
		c.WithinGroup = p.orderItems()
		p.expect(')', `")"`)
	}
	if p.atKw(kwFilter) && p.peek(1).kind == '(' {
		p.advance()
		p.advance()
		p.expectKw(kwWhere)
		c.Filter = p.expr()
		p.expect(')', `")"`)
	}
	if c.Nulls == ast.NullsUnsaid {
		c.Nulls = p.nullTreatment()
	}
	if p.atKw(kwOver) && (p.peek(1).kind == '(' || isName(p.peek(1))) {
		p.advance()
		c.Over = p.window()
	}
	c.Span = p.span(name.Start)
	return c
}

func (p *parser) nullTreatment() ast.NullTreatment {
	switch {
	case p.acceptKw(kwIgnore, kwNulls):
		return ast.IgnoreNulls
	case p.acceptKw(kwRespect, kwNulls):
		return ast.RespectNulls
	}
	return ast.NullsUnsaid
}

// arg reads one argument: a star, a named or a positional one.
func (p *parser) arg() *ast.Arg {
	start := p.pos()
	a := &ast.Arg{}
	t, next := p.tok(), p.peek(1)
	if (t.kind == kWord || t.kind == kQuoted) &&
		(next.kind == kFatArrow || next.kind == kColonEq || next.kind == '=' && p.tableArgs && (isName(t) || t.kw == kwLimit)) {
		p.advance()
		p.advance()
		a.Name = p.identOf(t)
	}
	if star := p.star(); star != nil {
		a.Value = star
	} else {
		a.Value = p.expr()
		if p.tableArgs {
			a.At = p.atClause()
		}
	}
	a.Span = p.span(start)
	return a
}

// star reads * or t.* with its lists; nil where none stands here.
func (p *parser) star() *ast.Star {
	start := p.pos()
	n := 0
	for (p.peek(n).kind == kWord || p.peek(n).kind == kQuoted) && p.peek(n+1).kind == '.' && n < 2*maxColumnParts {
		n += 2
	}
	if p.peek(n).kind != '*' || n > 0 && !isName(p.tok()) {
		return nil
	}
	s := &ast.Star{}
	for range n / 2 {
		s.Qualifier = append(s.Qualifier, p.identOf(p.advance()))
		p.advance()
	}
	p.advance()
	p.starLists(s)
	s.Span = p.span(start)
	return s
}

// starLists reads EXCLUDE and REPLACE, each with or without parentheses for one item.
func (p *parser) starLists(s *ast.Star) {
	if next := p.peek(1); (p.atKw(kwExclude) || p.atKw(kwExcept) && next.kind == '(' && !p.queryAt(p.i+1)) &&
		(next.kind == '(' || isName(next)) {
		p.advance()
		if p.at('(') {
			s.Exclude = p.identList("the name of a column")
		} else {
			s.Exclude = []ast.Ident{p.ident("the name of a column")}
		}
	}
	if p.atKw(kwReplace) && p.peek(1).kind == '(' {
		p.advance()
		p.parens(func() {
			at := p.pos()
			item := &ast.SelectItem{Expr: p.expr()}
			p.expectKw(kwAs)
			item.Alias = p.label("the name of a column")
			item.Span = p.span(at)
			s.Replace = append(s.Replace, item)
		})
	}
}

func named(word string, at ast.Span) ast.Name {
	return ast.Name{Span: at, Parts: []ast.Ident{{Span: at, Text: word}}}
}

// plainCall builds the call that a form with words stands for.
func (p *parser) plainCall(start int, word string, args ...ast.Expr) ast.Expr {
	at := ast.Span{Start: start, Stop: min(start+len(word), len(p.sql))}
	c := &ast.FuncCall{Span: p.span(start), Name: named(word, at)}
	for _, a := range args {
		c.Args = append(c.Args, &ast.Arg{Span: ast.Span{Start: a.Pos(), Stop: a.End()}, Value: a})
	}
	return c
}

func (p *parser) castCall(try bool) ast.Expr {
	start := p.pos()
	p.advance()
	p.advance()
	c := &ast.Cast{Try: try, X: p.expr()}
	if !p.acceptKw(kwAs) {
		p.unexpected("AS and a type")
	}
	c.Type = p.typeName()
	p.expect(')', `")"`)
	c.Span = p.span(start)
	return c
}

func (p *parser) extract() ast.Expr {
	start := p.pos()
	p.advance()
	p.advance()
	e := &ast.Extract{}
	if p.at(kString) {
		e.Field = upper(p.stringToken("the name of a field"))
	} else {
		e.Field = upper(p.label("the name of a field, such as YEAR").Text)
	}
	p.expectKw(kwFrom)
	e.X = p.expr()
	p.expect(')', `")"`)
	e.Span = p.span(start)
	return e
}

// substring reads SUBSTRING(x FROM a FOR b) and the plain call.
func (p *parser) substring() ast.Expr {
	start := p.pos()
	word := p.text(p.advance())
	p.advance()
	if p.at(')') {
		p.unexpected("an expression")
	}
	args := []ast.Expr{p.expr()}
	switch {
	case p.acceptKw(kwFrom):
		args = append(args, p.expr())
		if p.acceptKw(kwFor) {
			args = append(args, p.expr())
		}
	case p.acceptKw(kwFor):
		one := &ast.NumberLit{Span: p.span(p.pos()), Text: "1"}
		args = append(args, one, p.expr())
	default:
		for p.accept(',') {
			args = append(args, p.expr())
			p.checkList(len(args))
		}
	}
	p.expect(')', `a comma, FROM or ")"`)
	return p.plainCall(start, word, args...)
}

// trim reads TRIM([LEADING|TRAILING|BOTH] [chars] FROM x) and the plain call.
func (p *parser) trim() ast.Expr {
	start := p.pos()
	word := p.text(p.advance())
	p.advance()
	side := p.acceptOne(kwLeading, kwTrailing, kwBoth)
	switch side {
	case kwLeading:
		word = "ltrim"
	case kwTrailing:
		word = "rtrim"
	case kwBoth:
		word = "btrim"
	}
	if side != noKeyword && p.acceptKw(kwFrom) {
		x := p.expr()
		p.expect(')', `")"`)
		return p.plainCall(start, word, x)
	}
	args := []ast.Expr{p.expr()}
	if p.acceptKw(kwFrom) {
		if side == noKeyword {
			word = "btrim"
		}
		args = []ast.Expr{p.expr(), args[0]}
	} else {
		for p.accept(',') {
			args = append(args, p.expr())
			p.checkList(len(args))
		}
	}
	p.expect(')', `a comma, FROM or ")"`)
	return p.plainCall(start, word, args...)
}

// position reads POSITION(a IN b), which is strpos(b, a).
func (p *parser) position() ast.Expr {
	start := p.pos()
	word := p.text(p.advance())
	p.advance()
	first := p.exprPrec(ast.PrecRange + 1)
	if p.acceptKw(kwIn) {
		second := p.exprPrec(ast.PrecRange + 1)
		p.expect(')', `")"`)
		return p.plainCall(start, "strpos", second, first)
	}
	args := []ast.Expr{first}
	for p.accept(',') {
		args = append(args, p.expr())
		p.checkList(len(args))
	}
	p.expect(')', `IN, a comma or ")"`)
	return p.plainCall(start, word, args...)
}

// overlay reads OVERLAY(s PLACING r FROM a FOR b), which is overlay(s, r, a, b).
func (p *parser) overlay() ast.Expr {
	start := p.pos()
	word := p.text(p.advance())
	p.advance()
	args := []ast.Expr{p.expr()}
	if p.acceptKw(kwPlacing) {
		args = append(args, p.expr())
		p.expectKw(kwFrom)
		args = append(args, p.expr())
		if p.acceptKw(kwFor) {
			args = append(args, p.expr())
		}
	} else {
		for p.accept(',') {
			args = append(args, p.expr())
			p.checkList(len(args))
		}
	}
	p.expect(')', `PLACING, a comma or ")"`)
	return p.plainCall(start, word, args...)
}

// interval reads INTERVAL with its value and unit; nil where the word is a name.
func (p *parser) interval() ast.Expr {
	start := p.pos()
	next := p.peek(1)
	signed := next.kind == '-' && p.peek(2).kind == kNumber && unitWord(p.text(p.peek(3))) != ""
	if next.kind != kString && next.kind != kNumber && !signed && !p.intervalParens() {
		return nil
	}
	p.advance()
	lit := &ast.IntervalLit{}
	if signed {
		lit.Value = p.prefix()
	} else {
		lit.Value = p.primary()
	}
	if unit := p.acceptUnit(); unit != "" {
		lit.Unit = unit
		if p.atKw(kwTo) && unitWord(p.text(p.peek(1))) != "" {
			p.advance()
			lit.ToUnit = p.acceptUnit()
		}
	} else if next.kind != kString {
		p.unexpected("a unit such as DAY or HOUR")
	}
	lit.Span = p.span(start)
	return lit
}

// intervalParens reports whether INTERVAL ( … ) unit follows.
func (p *parser) intervalParens() bool {
	if p.peek(1).kind != '(' {
		return false
	}
	end := p.closingOf(p.i + 1)
	return end >= 0 && p.toks[end+1].kind == kWord && unitWord(p.text(p.toks[end+1])) != ""
}

// acceptUnit takes a unit word; "" where none stands here.
func (p *parser) acceptUnit() string {
	if !p.at(kWord) {
		return ""
	}
	unit := unitWord(p.text(p.tok()))
	if unit != "" {
		p.advance()
	}
	return unit
}

// typedLiteral reads a type before a string; nil where the word is a name.
func (p *parser) typedLiteral() ast.Expr {
	start := p.pos()
	n := 1
	if p.peek(1).kind == '(' && p.peek(2).kind == kNumber && p.peek(3).kind == ')' {
		n = 4
	}
	if kw := p.peek(n).kw; (kw == kwWith || kw == kwWithout) && p.peek(n+1).kw == kwTime && p.peek(n+2).kw == kwZone {
		n += 3
	}
	if p.peek(n).kind != kString {
		return nil
	}
	t := p.typeName()
	value := p.stringToken("a string")
	return &ast.TypedLit{Span: p.span(start), Type: t, Value: value}
}
