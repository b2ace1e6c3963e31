package parser

import (
	"encoding/hex"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/loamdb/loam/planner/internal/ast"
)

// primary reads an operand.
func (p *parser) primary() ast.Expr {
	t := p.tok()
	start := int(t.start)
	switch t.kind {
	case kNumber:
		p.advance()
		return &ast.NumberLit{Span: p.span(start), Text: decimalText(p.text(t))}
	case kString:
		s := p.stringToken("a string")
		return &ast.StringLit{Span: p.span(start), Value: s}
	case kBytes:
		p.advance()
		written := p.text(t)
		b, _ := hex.DecodeString(written[2 : len(written)-1]) // the lexer has checked the digits
		return &ast.BytesLit{Span: p.span(start), Value: b}
	case kDollar, '?', ':':
		return p.param()
	case '(':
		return p.parenthesis()
	case '[':
		p.advance()
		return p.arrayElems(start)
	case '{':
		return p.brace()
	case kQuoted:
		return p.nameOrCall()
	case kWord:
		return p.wordOperand(t)
	}
	p.unexpected("an expression")
	return &ast.NullLit{}
}

// param reads ?, $1, $name or :name.
func (p *parser) param() ast.Expr {
	t := p.advance()
	start := int(t.start)
	switch t.kind {
	case '?':
		p.params.marks++
		p.checkParams(start)
		return &ast.Param{Span: p.span(start), Index: p.params.marks}
	case ':':
		next := p.tok()
		if next.kind != kWord || next.start != t.end {
			p.i--
			p.unexpected("an expression")
			return &ast.NullLit{}
		}
		p.advance()
		name := p.text(next)
		if strings.ContainsFunc(name, func(r rune) bool { return r == '$' || r >= utf8.RuneSelf }) {
			p.failAt(start, "the name of a parameter holds letters from a to z, digits and underscores")
		}
		return &ast.Param{Span: p.span(start), Name: name}
	}
	written := p.text(t)[1:]
	if !isDigit(written[0]) {
		return &ast.Param{Span: p.span(start), Name: written}
	}
	n, err := strconv.Atoi(written)
	if err != nil || n < 1 || n > MaxParams {
		p.failAt(start, "a parameter is numbered from $1 to $%d", MaxParams)
		return &ast.NullLit{}
	}
	p.params.numbers = true
	p.checkParams(start)
	return &ast.Param{Span: p.span(start), Index: n}
}

func (p *parser) checkParams(at int) {
	if p.params.numbers && p.params.marks > 0 {
		p.failAt(at, "a statement uses either ? or $1 for its parameters, not both")
	}
	if p.params.marks > MaxParams {
		p.failAt(at, "a statement has at most %d parameters", MaxParams)
	}
}

// parenthesis reads (query), (a, b) or (expr).
func (p *parser) parenthesis() ast.Expr {
	start := p.pos()
	defer func(was bool) { p.tableArgs = was }(p.tableArgs)
	p.tableArgs = false
	if p.queryAt(p.i) {
		q := p.queryInParens()
		return &ast.Subquery{Span: p.span(start), Query: q}
	}
	p.advance()
	if p.at(')') {
		p.unexpected("an expression")
		return &ast.NullLit{}
	}
	first := p.expr()
	if p.accept(')') {
		return first
	}
	elems := []ast.Expr{first}
	for p.accept(',') {
		elems = append(elems, p.expr())
		p.checkList(len(elems))
	}
	p.expect(')', `a comma or ")"`)
	return &ast.Row{Span: p.span(start), Elems: elems}
}

// arrayElems reads the elements of an array after its "[".
func (p *parser) arrayElems(start int) ast.Expr {
	var elems []ast.Expr
	if !p.at(']') {
		elems = p.exprs()
	}
	p.expect(']', `a comma or "]"`)
	return &ast.ArrayLit{Span: p.span(start), Elems: elems}
}

// brace reads a struct {a: 1}, or a JDBC escape {d '…'}, {t '…'}, {ts '…'}, {fn f(x)}.
func (p *parser) brace() ast.Expr {
	start := p.pos()
	p.advance()
	word := p.tok()
	next := p.peek(1)
	switch {
	case next.kind == kString && (word.kw == kwD || word.kw == kwT || word.kw == kwTs):
		p.advance()
		name := map[keyword]string{kwD: "DATE", kwT: "TIME", kwTs: "TIMESTAMP"}[word.kw]
		typ := &ast.TypeName{Span: p.span(int(word.start)), Name: name}
		value := p.stringToken("a string")
		p.expect('}', `"}"`)
		return &ast.TypedLit{Span: p.span(start), Type: typ, Value: value}
	case word.kw == kwFn && next.kind == kWord:
		p.advance()
		e := p.primary()
		if _, ok := e.(*ast.FuncCall); !ok && p.err == nil {
			p.failAt(int(next.start), "{fn …} holds the call of a function")
		}
		p.expect('}', `"}"`)
		return e
	}
	s := &ast.StructLit{}
	p.list(func() { s.Fields = append(s.Fields, p.structField()) })
	p.expect('}', `a comma or "}"`)
	s.Span = p.span(start)
	return s
}

func (p *parser) structField() *ast.StructField {
	start := p.pos()
	f := &ast.StructField{}
	if p.at(kString) {
		f.Name = ast.Ident{Text: p.stringToken("a name"), Quoted: true}
		f.Name.Span = p.span(start)
	} else {
		f.Name = p.label("the name of a field")
	}
	p.expect(':', `":" and the value of the field`)
	f.Value = p.expr()
	f.Span = p.span(start)
	return f
}

// mapEntries reads {k: v, …} after MAP.
func (p *parser) mapEntries(start int) ast.Expr {
	m := &ast.MapLit{}
	p.expect('{', `"{"`)
	if !p.at('}') {
		p.list(func() {
			e := &ast.MapEntry{Key: p.expr()}
			p.expect(':', `":" and the value of the entry`)
			e.Value = p.expr()
			e.Span = p.span(e.Key.Pos())
			m.Entries = append(m.Entries, e)
		})
	}
	p.expect('}', `a comma or "}"`)
	m.Span = p.span(start)
	return m
}

// wordOperand reads an operand that begins with an unquoted word.
func (p *parser) wordOperand(t token) ast.Expr {
	start := int(t.start)
	switch t.kw {
	case noKeyword:
		return p.nameOrCall()
	case kwNull:
		p.advance()
		return &ast.NullLit{Span: p.span(start)}
	case kwTrue, kwFalse:
		p.advance()
		return &ast.BoolLit{Span: p.span(start), Value: t.kw == kwTrue}
	case kwCase:
		return p.caseExpr()
	case kwArray:
		return p.arrayWord()
	case kwDefault:
		p.failAt(start, "DEFAULT is allowed only as a whole value of VALUES or SET")
		return &ast.NullLit{}
	case kwSelect, kwWith, kwValues:
		p.failAt(start, "expected an expression, found the keyword %s", t.kw).Hint = "A query inside an expression stands in parentheses."
		return &ast.NullLit{}
	case kwLeft, kwRight:
		if p.peek(1).kind == '(' {
			return p.nameOrCall()
		}
	}
	if t.kw.reserved() {
		p.unexpected("an expression")
		return &ast.NullLit{}
	}
	if e := p.specialForm(t); e != nil {
		return e
	}
	return p.nameOrCall()
}

func (p *parser) arrayWord() ast.Expr {
	start := p.pos()
	switch {
	case p.peek(1).kind == '[':
		p.advance()
		p.advance()
		return p.arrayElems(start)
	case p.queryAt(p.i + 1):
		p.advance()
		q := p.queryInParens()
		return &ast.ArrayQuery{Span: p.span(start), Query: q}
	case p.peek(1).kind == '(':
		return p.nameOrCall()
	}
	p.unexpected("an expression")
	return &ast.NullLit{}
}

// specialForm reads the operands whose first word is a legal name, but which
// the next token gives away. It returns nil where the word is a name.
func (p *parser) specialForm(t token) ast.Expr {
	start := int(t.start)
	next := p.peek(1)
	switch t.kw {
	case kwExists:
		if p.queryAt(p.i + 1) {
			p.advance()
			q := p.queryInParens()
			return &ast.Exists{Span: p.span(start), Query: q}
		}
	case kwInterval:
		return p.interval()
	case kwDate, kwTime, kwTimestamp, kwTimestamptz, kwTimetz, kwDatetime, kwJson, kwUuid:
		return p.typedLiteral()
	case kwMap:
		if next.kind == '{' {
			p.advance()
			return p.mapEntries(start)
		}
	case kwLambda:
		if after := p.peek(2).kind; isName(next) && (after == ':' || after == ',') {
			return p.lambda()
		}
	case kwCurrentDate, kwCurrentTime, kwCurrentTimestamp, kwLocaltime, kwLocaltimestamp, kwCurrentUser,
		kwSessionUser, kwCurrentRole, kwCurrentSchema, kwCurrentCatalog:
		if next.kind != '(' && next.kind != '.' {
			p.advance()
			id := p.identOf(t)
			return &ast.FuncCall{Span: p.span(start), Name: ast.Name{Span: id.Span, Parts: []ast.Ident{id}}}
		}
	}
	if next.kind == '(' {
		return p.specialCall(t)
	}
	return nil
}

// specialCall reads the calls with words between their arguments.
func (p *parser) specialCall(t token) ast.Expr {
	switch t.kw {
	case kwCast, kwTryCast:
		return p.castCall(t.kw == kwTryCast)
	case kwExtract:
		return p.extract()
	case kwSubstring, kwSubstr:
		return p.substring()
	case kwTrim:
		return p.trim()
	case kwPosition:
		return p.position()
	case kwOverlay:
		return p.overlay()
	case kwRow:
		p.advance()
		p.advance()
		r := &ast.Row{}
		if !p.at(')') {
			r.Elems = p.exprs()
		}
		p.expect(')', `a comma or ")"`)
		r.Span = p.span(int(t.start))
		return r
	}
	return nil
}

func (p *parser) caseExpr() ast.Expr {
	start := p.pos()
	p.advance()
	c := &ast.Case{}
	if !p.atKw(kwWhen) {
		c.Operand = p.expr()
	}
	for p.atKw(kwWhen) {
		at := p.pos()
		p.advance()
		w := &ast.When{Cond: p.expr()}
		p.expectKw(kwThen)
		w.Result = p.expr()
		w.Span = p.span(at)
		c.Whens = append(c.Whens, w)
		p.checkList(len(c.Whens))
	}
	if len(c.Whens) == 0 {
		p.unexpected("WHEN")
	}
	if p.acceptKw(kwElse) {
		c.Else = p.expr()
	}
	if !p.acceptKw(kwEnd) {
		p.unexpected("WHEN, ELSE or END of the CASE")
	}
	c.Span = p.span(start)
	return c
}

func (p *parser) lambda() ast.Expr {
	start := p.pos()
	p.advance()
	l := &ast.Lambda{}
	p.list(func() { l.Params = append(l.Params, p.ident("the name of a parameter")) })
	p.expect(':', `":" and the body of the lambda`)
	l.Body = p.expr()
	l.Span = p.span(start)
	return l
}

// nameOrCall reads a dotted name, and the call of a function if "(" follows.
func (p *parser) nameOrCall() ast.Expr {
	start := p.pos()
	parts := []ast.Ident{p.identOf(p.advance())}
	for p.at('.') && p.err == nil {
		if p.peek(1).kind == '*' {
			p.failAt(p.pos(), "%s.* is allowed only in a select list and in count()", parts[len(parts)-1].Text)
			break
		}
		p.advance()
		parts = append(parts, p.label("a name after the dot"))
		if len(parts) > maxColumnParts {
			p.failAt(start, "a column has at most %d parts", maxColumnParts)
		}
	}
	if p.at('(') && p.err == nil {
		if len(parts) > maxNameParts {
			p.failAt(start, "the name of a function has at most %d parts", maxNameParts)
		}
		return p.call(ast.Name{Span: p.span(start), Parts: parts})
	}
	if t := p.tok(); t.kind == kString && int(t.start) == p.prevEnd() && len(parts) == 1 {
		p.failAt(start, "%s is not a prefix of a string", parts[0].Text).Hint = "Strings are '…', E'…', X'…' and $$…$$."
	}
	return &ast.ColumnRef{Span: p.span(start), Parts: parts}
}

// checkList refuses a list that has grown too long.
func (p *parser) checkList(n int) {
	if n > MaxList {
		p.fail(tooManyItems(), p.pos())
	}
}

// unitWord is the unit that a word names, in the singular; "" for another word.
func unitWord(word string) string {
	word = strings.ToUpper(word)
	switch word {
	case "YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND",
		"MILLISECOND", "MICROSECOND", "NANOSECOND":
		return word
	}
	if s, ok := strings.CutSuffix(word, "S"); ok && len(s) > 2 && s[len(s)-1] != 'S' {
		return unitWord(s)
	}
	return ""
}
