package parser

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/planner/internal/ast"
)

// Limits of the parser.
const (
	// MaxText is the size of a text in bytes; more is fail.TooLarge.
	MaxText = 1 << 20
	// MaxDepth is the nesting of parentheses, calls, subqueries and operator
	// chains; more is fail.TooDeep.
	MaxDepth = 512
	// MaxList is the number of items of a list; more is fail.TooLarge.
	MaxList = 65535
	// MaxParams is the highest number of a parameter.
	MaxParams = 65535

	maxNameParts   = 4
	maxColumnParts = 8
)

// Parse parses a text of statements separated by semicolons; empty statements
// are skipped, so that the result may be empty. The place of each statement in
// the text is its Pos and End. Parameters written ? are numbered per statement.
func Parse(sql string) ([]ast.Statement, error) {
	p, err := newParser(sql)
	if err != nil {
		return nil, err
	}
	var out []ast.Statement
	for {
		for p.accept(';') {
		}
		if p.atEnd() {
			break
		}
		p.params = paramStyle{}
		out = append(out, p.statement())
		if !p.at(';') && !p.atEnd() {
			p.afterStatement()
		}
	}
	if p.err != nil {
		return nil, p.err
	}
	return out, nil
}

// ParseOne parses a text of exactly one statement; a semicolon after it and
// empty statements around it are allowed.
func ParseOne(sql string) (ast.Statement, error) {
	stmts, err := Parse(sql)
	if err != nil {
		return nil, err
	}
	switch len(stmts) {
	case 1:
		return stmts[0], nil
	case 0:
		return nil, fail.New(fail.Syntax, "the statement is empty").At(sql, len(sql))
	default:
		return nil, fail.New(fail.Syntax, "expected one statement, found %d", len(stmts)).At(sql, stmts[1].Pos()).
			WithHint("Send the statements one by one.")
	}
}

// ParseExpr parses a text that is one expression, such as a filter.
func ParseExpr(sql string) (ast.Expr, error) {
	p, err := newParser(sql)
	if err != nil {
		return nil, err
	}
	if p.atEnd() {
		return nil, fail.New(fail.Syntax, "the expression is empty").At(sql, len(sql))
	}
	e := p.expr()
	if !p.atEnd() {
		p.unexpected("the end of the expression")
	}
	if p.err != nil {
		return nil, p.err
	}
	return e, nil
}

// paramStyle keeps one statement to one style of numbered parameters.
type paramStyle struct {
	marks   int  // how many ? so far
	numbers bool // $1 was seen
}

// parser reads a token slice. It is used for one text by one goroutine.
type parser struct {
	sql  string
	toks []token
	i    int // the current token
	err  *fail.Error
	bad  *fail.Error // the lexer's error, raised when its token is reached

	// depth is the nesting of the current construct. peak is the deepest
	// nesting below the construct that is being parsed, operator chains counted.
	depth, peak int

	params paramStyle
	// tableArgs is set while the arguments of a table function are read, where
	// name = value names an argument.
	tableArgs bool
	closing   []int32 // for each token "(", the index of its ")"; made on demand
}

func newParser(sql string) (*parser, error) {
	if len(sql) > MaxText {
		return nil, fail.New(fail.TooLarge, "the SQL text has %d bytes; at most %d are allowed", len(sql), MaxText).
			WithHint("Send many rows with a bulk insert (Flight SQL DoPut) or as parameters.")
	}
	if !utf8.ValidString(sql) {
		at := 0
		for at < len(sql) {
			r, n := utf8.DecodeRuneInString(sql[at:])
			if r == utf8.RuneError && n == 1 {
				break
			}
			at += n
		}
		return nil, fail.New(fail.InvalidEncoding, "the SQL text is not valid UTF-8").At(sql, at)
	}
	toks, bad := lex(sql)
	return &parser{sql: sql, toks: toks, bad: bad}, nil
}

// The current token and its neighbors.

func (p *parser) tok() token { return p.toks[p.i] }

// peek is the token n after the current one; the last token beyond the end.
func (p *parser) peek(n int) token { return p.toks[min(p.i+n, len(p.toks)-1)] }

func (p *parser) text(t token) string { return p.sql[t.start:t.end] }

func (p *parser) at(k kind) bool { return p.toks[p.i].kind == k }

func (p *parser) atKw(k keyword) bool { return p.toks[p.i].kw == k }

// peekKw reports whether the next tokens, the current one included, are the words.
func (p *parser) peekKw(words ...keyword) bool {
	for n, k := range words {
		if p.peek(n).kw != k {
			return false
		}
	}
	return true
}

func (p *parser) atEnd() bool { return p.at(kEOF) }

func (p *parser) pos() int { return int(p.toks[p.i].start) }

// prevEnd is the end of the token before the current one.
func (p *parser) prevEnd() int {
	if p.i == 0 {
		return 0
	}
	return int(p.toks[p.i-1].end)
}

// span is the place from a start to the last token that was taken.
func (p *parser) span(start int) ast.Span {
	return ast.Span{Start: start, Stop: max(start, p.prevEnd())}
}

func (p *parser) advance() token {
	t := p.toks[p.i]
	if p.i < len(p.toks)-1 {
		p.i++
	}
	return t
}

func (p *parser) accept(k kind) bool {
	if p.at(k) && k != kEOF {
		p.advance()
		return true
	}
	return false
}

// acceptKw takes the words if all of them follow.
func (p *parser) acceptKw(words ...keyword) bool {
	if !p.peekKw(words...) {
		return false
	}
	for range words {
		p.advance()
	}
	return true
}

// acceptOne takes one of the words and returns it, or noKeyword.
func (p *parser) acceptOne(words ...keyword) keyword {
	for _, k := range words {
		if p.acceptKw(k) {
			return k
		}
	}
	return noKeyword
}

func (p *parser) expect(k kind, what string) {
	if !p.accept(k) {
		p.unexpected(what)
	}
}

func (p *parser) expectKw(words ...keyword) {
	for _, k := range words {
		if !p.acceptKw(k) {
			p.unexpected(k.String())
			return
		}
	}
}

// Nesting.

// enter begins a nested construct; its result goes to leave.
func (p *parser) enter() (outer int) {
	p.depth++
	outer = p.peak
	p.peak = p.depth
	p.checkDepth()
	return outer
}

func (p *parser) leave(outer int) {
	p.depth--
	p.peak = max(p.peak, outer)
}

// deepen notes that what had the given peak has become a child of a chain.
func (p *parser) deepen(leftPeak int) {
	p.peak = max(p.peak, leftPeak+1)
	p.checkDepth()
}

func (p *parser) checkDepth() {
	if p.peak > MaxDepth {
		p.fail(fail.New(fail.TooDeep, "the statement is nested more than %d levels deep", MaxDepth), p.pos())
	}
}

// Lists.

// list calls item until no comma follows.
func (p *parser) list(item func()) {
	for n := 1; ; n++ {
		item()
		if !p.accept(',') {
			return
		}
		if n == MaxList {
			p.fail(fail.New(fail.TooLarge, "a list has more than %d items", MaxList), p.pos())
			return
		}
	}
}

// parens reads ( items ).
func (p *parser) parens(item func()) {
	p.expect('(', `"("`)
	p.list(item)
	p.expect(')', `a comma or ")"`)
}

// Names.

func (p *parser) identOf(t token) ast.Ident {
	id := ast.Ident{Span: ast.Span{Start: int(t.start), Stop: int(t.end)}, Text: p.text(t)}
	if t.kind == kQuoted {
		id.Text, id.Quoted = undouble(id.Text, `"`), true
	}
	return id
}

// isName reports whether the token can be a name as it stands.
func isName(t token) bool { return t.kind == kQuoted || t.kind == kWord && !t.kw.reserved() }

// ident reads a name; what says what it names, for the message.
func (p *parser) ident(what string) ast.Ident {
	if t := p.tok(); isName(t) {
		p.advance()
		return p.identOf(t)
	}
	p.unexpected(what)
	return ast.Ident{}
}

// label reads a name where any word is one: after AS and after a dot.
func (p *parser) label(what string) ast.Ident {
	if t := p.tok(); t.kind == kWord || t.kind == kQuoted {
		p.advance()
		return p.identOf(t)
	}
	p.unexpected(what)
	return ast.Ident{}
}

func (p *parser) identList(what string) []ast.Ident {
	var out []ast.Ident
	p.parens(func() { out = append(out, p.ident(what)) })
	return out
}

// name reads a name of one to four parts.
func (p *parser) name(what string) ast.Name {
	start := p.pos()
	parts := []ast.Ident{p.ident(what)}
	for p.accept('.') {
		parts = append(parts, p.label("a name after the dot"))
		if len(parts) > maxNameParts {
			p.failAt(start, "a name has at most %d parts", maxNameParts)
			break
		}
	}
	if p.err != nil {
		return ast.Name{}
	}
	return ast.Name{Span: p.span(start), Parts: parts}
}

func (p *parser) nameList(what string) []ast.Name {
	var out []ast.Name
	p.list(func() { out = append(out, p.name(what)) })
	return out
}

// Constants of statements.

func (p *parser) stringToken(what string) string {
	t := p.tok()
	if t.kind != kString {
		p.unexpected(what)
		return ""
	}
	p.advance()
	s, err := stringValue(p.sql, int(t.start), p.text(t))
	if err != nil {
		p.fail(err, int(t.start))
	}
	return s
}

// integer reads an unsigned integer that fits 63 bits.
func (p *parser) integer(what string) int64 {
	t := p.tok()
	if t.kind != kNumber {
		p.unexpected(what)
		return 0
	}
	n, err := strconv.ParseInt(decimalText(p.text(t)), 10, 64)
	if err != nil {
		p.unexpected(what)
		return 0
	}
	p.advance()
	return n
}

// wordOf reads one of the words, in any case, and returns it in upper case.
func (p *parser) wordOf(words ...string) string {
	t := p.tok()
	if t.kind == kWord {
		for _, w := range words {
			if strings.EqualFold(p.text(t), w) {
				p.advance()
				return w
			}
		}
	}
	p.unexpected(strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1])
	return ""
}

func (p *parser) ifNotExists() bool { return p.acceptKw(kwIf, kwNot, kwExists) }

func (p *parser) ifExists() bool { return p.acceptKw(kwIf, kwExists) }
