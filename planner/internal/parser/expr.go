package parser

import (
	"github.com/loamdb/loam/planner/internal/ast"
)

// expr reads an expression.
func (p *parser) expr() ast.Expr { return p.exprPrec(0) }

// exprs reads expressions between commas.
func (p *parser) exprs() []ast.Expr {
	var out []ast.Expr
	p.list(func() { out = append(out, p.expr()) })
	return out
}

// exprPrec reads an expression whose operators bind at least as tight as least.
func (p *parser) exprPrec(least int) ast.Expr {
	outer := p.enter()
	defer p.leave(outer)
	if p.err != nil {
		return &ast.NullLit{}
	}
	start := p.pos()
	left := p.prefix()
	for {
		op := p.infixAt()
		if op.prec < least || op.prec == 0 {
			return left
		}
		peak := p.peak
		left = p.infix(start, left, op)
		p.deepen(peak)
		p.refuseChain(op)
	}
}

// infixOp is the operator at the current token.
type infixOp struct {
	prec int
	op   ast.Op // of a plain binary operator, OpAnd and OpOr included
	not  bool   // NOT before IN, LIKE, …
	kw   keyword
	kind kind
}

// binaryOps maps tokens to plain binary operators.
var binaryOps = func() (ops [256]ast.Op) {
	for k, op := range map[kind]ast.Op{
		'=': ast.OpEq, kNe: ast.OpNe, '<': ast.OpLt, kLe: ast.OpLe, '>': ast.OpGt, kGe: ast.OpGe,
		'+': ast.OpAdd, '-': ast.OpSub, '*': ast.OpMul, '/': ast.OpDiv, kIntDiv: ast.OpIntDiv, '%': ast.OpMod,
		'^': ast.OpPow, kConcat: ast.OpConcat, '&': ast.OpBitAnd, '|': ast.OpBitOr, '#': ast.OpBitXor,
		kShiftLeft: ast.OpShiftLeft, kShiftRight: ast.OpShiftRight, '~': ast.OpRegex, kRegexI: ast.OpRegexI,
		kNotRegex: ast.OpNotRegex, kNotRegexI: ast.OpNotRegexI, kContains: ast.OpContains,
		kContained: ast.OpContained, kOverlap: ast.OpOverlap, kArrow: ast.OpArrow, kArrowText: ast.OpArrowText,
		kHashArrow: ast.OpHashArrow, kHashArrowT: ast.OpHashArrowT, kL2: ast.OpL2Distance,
		kCosine: ast.OpCosineDistance, kInner: ast.OpInnerProduct,
	} {
		ops[k] = op
	}
	return ops
}()

// infixAt finds the operator at the current token; prec 0 is none.
func (p *parser) infixAt() infixOp {
	t := p.tok()
	if op := binaryOps[t.kind]; op != "" {
		return infixOp{prec: op.Precedence(), op: op}
	}
	switch t.kind {
	case kLike, kILike, kNotLike, kNotILike:
		return infixOp{prec: ast.PrecRange, kind: t.kind}
	case kCast, '[':
		return infixOp{prec: ast.PrecPostfix, kind: t.kind}
	case '.':
		return infixOp{prec: ast.PrecPostfix, kind: t.kind}
	}
	switch t.kw {
	case noKeyword:
	case kwAnd:
		return infixOp{prec: ast.PrecAnd, op: ast.OpAnd}
	case kwOr:
		return infixOp{prec: ast.PrecOr, op: ast.OpOr}
	case kwIs, kwIsnull, kwNotnull:
		return infixOp{prec: ast.PrecIs, kw: t.kw}
	case kwCollate:
		return infixOp{prec: ast.PrecCollate, kw: t.kw}
	case kwAt:
		if p.peekKw(kwAt, kwTime, kwZone) {
			return infixOp{prec: ast.PrecTimeZone, kw: t.kw}
		}
	case kwNot:
		return p.rangeOp(p.peek(1).kw, p.peek(2).kw, true)
	default:
		return p.rangeOp(t.kw, p.peek(1).kw, false)
	}
	return infixOp{}
}

// rangeOp finds IN, BETWEEN, LIKE, ILIKE or SIMILAR TO.
func (p *parser) rangeOp(kw, next keyword, not bool) infixOp {
	switch kw {
	case kwIn, kwBetween, kwLike, kwIlike:
		return infixOp{prec: ast.PrecRange, kw: kw, not: not}
	case kwSimilar:
		if next == kwTo {
			return infixOp{prec: ast.PrecRange, kw: kw, not: not}
		}
	}
	return infixOp{}
}

// refuseChain refuses a < b < c and its like, where people mean two comparisons.
func (p *parser) refuseChain(done infixOp) {
	if done.prec != ast.PrecComparison && done.prec != ast.PrecRange {
		return
	}
	if next := p.infixAt(); next.prec == done.prec && p.err == nil {
		p.failAt(p.pos(), "comparisons cannot be chained: found %s", p.describe(p.tok())).Hint =
			"Join two comparisons with AND, or put one in parentheses."
	}
}

// infix reads the rest of an operator whose left operand is known.
func (p *parser) infix(start int, left ast.Expr, op infixOp) ast.Expr {
	switch {
	case op.op == ast.OpAnd || op.op == ast.OpOr:
		return p.logic(start, left, op)
	case op.op != "":
		return p.binary(start, left, op)
	case op.prec == ast.PrecPostfix:
		return p.postfix(start, left)
	case op.prec == ast.PrecIs:
		return p.is(start, left)
	case op.kind != 0:
		return p.likeOperator(start, left)
	case op.kw == kwCollate:
		p.advance()
		name := p.name("the name of a collation")
		return &ast.Collate{Span: p.span(start), X: left, Collation: name}
	case op.kw == kwAt:
		p.acceptKw(kwAt, kwTime, kwZone)
		zone := p.exprPrec(ast.PrecTimeZone + 1)
		return &ast.AtTimeZone{Span: p.span(start), X: left, Zone: zone}
	default:
		return p.rangeTest(start, left, op)
	}
}

// logic reads AND or OR with all arguments that follow, flattened.
func (p *parser) logic(start int, left ast.Expr, op infixOp) ast.Expr {
	args := appendArgs(nil, op.op, left)
	for p.infixAt().op == op.op && p.err == nil {
		p.advance()
		args = appendArgs(args, op.op, p.exprPrec(op.prec+1))
	}
	return &ast.Logic{Span: p.span(start), Op: op.op, Args: args}
}

func appendArgs(args []ast.Expr, op ast.Op, e ast.Expr) []ast.Expr {
	if l, ok := e.(*ast.Logic); ok && l.Op == op {
		return append(args, l.Args...)
	}
	return append(args, e)
}

// binary reads the right operand of a plain operator, or ANY and ALL.
func (p *parser) binary(start int, left ast.Expr, op infixOp) ast.Expr {
	at := p.pos()
	p.advance()
	if kw := p.tok().kw; (kw == kwAny || kw == kwSome || kw == kwAll) && p.peek(1).kind == '(' {
		return p.quantified(start, left, op.op)
	}
	right := p.exprPrec(op.prec + 1)
	return &ast.Binary{Span: p.span(start), Op: op.op, OpPos: at, L: left, R: right}
}

func (p *parser) quantified(start int, left ast.Expr, op ast.Op) ast.Expr {
	q := &ast.Quantified{X: left, Op: op, All: p.tok().kw == kwAll}
	p.advance()
	if p.queryAt(p.i) {
		q.Query = p.queryInParens()
	} else {
		p.expect('(', `"("`)
		q.Array = p.expr()
		p.expect(')', `")"`)
	}
	q.Span = p.span(start)
	return q
}

// postfix reads ::type, [index], [lo:hi] or .field.
func (p *parser) postfix(start int, left ast.Expr) ast.Expr {
	switch p.advance().kind {
	case kCast:
		t := p.typeName()
		return &ast.Cast{Span: p.span(start), X: left, Type: t}
	case '.':
		if p.at('*') {
			p.failAt(p.pos(), "a value has no columns to list with .*").Hint =
				"t.* is allowed in a select list, with the name of a table before it."
			return left
		}
		name := p.label("the name of a field")
		return &ast.Field{Span: p.span(start), X: left, Name: name}
	default:
		return p.subscript(start, left)
	}
}

func (p *parser) subscript(start int, left ast.Expr) ast.Expr {
	var lo, hi ast.Expr
	if !p.at(':') {
		lo = p.expr()
		if p.accept(']') {
			return &ast.Subscript{Span: p.span(start), X: left, Index: lo}
		}
	}
	p.expect(':', `"]" or ":"`)
	if !p.at(']') {
		hi = p.expr()
	}
	p.expect(']', `"]"`)
	return &ast.Slice{Span: p.span(start), X: left, Lo: lo, Hi: hi}
}

// is reads IS …, ISNULL and NOTNULL.
func (p *parser) is(start int, left ast.Expr) ast.Expr {
	at := p.pos()
	switch p.advance().kw {
	case kwIsnull:
		return &ast.Is{Span: p.span(start), X: left, What: ast.IsNull}
	case kwNotnull:
		return &ast.Is{Span: p.span(start), X: left, Not: true, What: ast.IsNull}
	}
	not := p.acceptKw(kwNot)
	if p.acceptKw(kwDistinct) {
		p.expectKw(kwFrom)
		op := ast.OpDistinct
		if not {
			op = ast.OpNotDistinct
		}
		right := p.exprPrec(ast.PrecIs + 1)
		return &ast.Binary{Span: p.span(start), Op: op, OpPos: at, L: left, R: right}
	}
	what := map[keyword]ast.Truth{kwNull: ast.IsNull, kwTrue: ast.IsTrue, kwFalse: ast.IsFalse,
		kwUnknown: ast.IsUnknown}[p.tok().kw]
	if what == 0 {
		p.unexpected("NULL, TRUE, FALSE, UNKNOWN or DISTINCT FROM")
		return left
	}
	p.advance()
	return &ast.Is{Span: p.span(start), X: left, Not: not, What: what}
}

// likeOperator reads ~~, ~~*, !~~ and !~~*.
func (p *parser) likeOperator(start int, left ast.Expr) ast.Expr {
	k := p.advance().kind
	l := &ast.Like{X: left, Not: k == kNotLike || k == kNotILike}
	if k == kILike || k == kNotILike {
		l.Kind = ast.LikeNoCase
	}
	return p.pattern(start, l)
}

func (p *parser) pattern(start int, l *ast.Like) ast.Expr {
	l.Pattern = p.exprPrec(ast.PrecRange + 1)
	if p.acceptKw(kwEscape) {
		l.Escape = p.exprPrec(ast.PrecRange + 1)
	}
	l.Span = p.span(start)
	return l
}

// rangeTest reads [NOT] IN, BETWEEN, LIKE, ILIKE and SIMILAR TO.
func (p *parser) rangeTest(start int, left ast.Expr, op infixOp) ast.Expr {
	if op.not {
		p.advance()
	}
	p.advance()
	switch op.kw {
	case kwIn:
		return p.in(start, left, op.not)
	case kwBetween:
		b := &ast.Between{X: left, Not: op.not, Symmetric: p.acceptKw(kwSymmetric)}
		p.acceptKw(kwAsymmetric)
		b.Lo = p.exprPrec(ast.PrecRange + 1)
		p.expectKw(kwAnd)
		b.Hi = p.exprPrec(ast.PrecRange + 1)
		b.Span = p.span(start)
		return b
	case kwIlike:
		return p.pattern(start, &ast.Like{X: left, Not: op.not, Kind: ast.LikeNoCase})
	case kwSimilar:
		p.expectKw(kwTo)
		return p.pattern(start, &ast.Like{X: left, Not: op.not, Kind: ast.SimilarTo})
	default:
		if kw := p.tok().kw; kw == kwAny || kw == kwAll {
			p.unsupported(p.pos(), "Write x LIKE a OR x LIKE b.", "LIKE %s is not supported", kw)
		}
		return p.pattern(start, &ast.Like{X: left, Not: op.not})
	}
}

func (p *parser) in(start int, left ast.Expr, not bool) ast.Expr {
	if p.queryAt(p.i) {
		q := p.queryInParens()
		return &ast.InQuery{Span: p.span(start), X: left, Not: not, Query: q}
	}
	if !p.at('(') {
		p.unexpected(`"(" with a list or a query`)
		return left
	}
	if p.peek(1).kind == ')' {
		p.advance()
		p.failAt(p.pos(), "the list of IN must not be empty").Hint = "Write FALSE for a test that no value passes."
		return left
	}
	var list []ast.Expr
	p.parens(func() { list = append(list, p.expr()) })
	return &ast.InList{Span: p.span(start), X: left, Not: not, List: list}
}

// prefix reads prefix operators and the operand under them.
func (p *parser) prefix() ast.Expr {
	start := p.pos()
	var op ast.Op
	prec := ast.PrecUnary
	switch {
	case p.at('-'):
		op = ast.OpNeg
	case p.at('+'):
		op = ast.OpPlus
	case p.at('~'):
		op = ast.OpBitNot
	case p.atKw(kwNot):
		op, prec = ast.OpNot, ast.PrecNot
	default:
		return p.primary()
	}
	p.advance()
	x := p.exprPrec(prec)
	return &ast.Unary{Span: p.span(start), Op: op, X: x}
}

// queryAt reports whether the token at i is a "(" that opens a query, however
// many parentheses stand around it, and not one that opens an expression or a
// join that merely begins with a query.
func (p *parser) queryAt(i int) bool {
	first := i
	for p.toks[i].kind == '(' && i-first <= MaxDepth {
		i++
	}
	if i == first || i-first > MaxDepth { // so deep an expression is refused anyway
		return false
	}
	switch p.toks[i].kw {
	case kwSelect, kwWith, kwValues, kwFrom, kwTable:
	default:
		return false
	}
	// Each inner pair must be followed by what can follow a query in a query.
	for i -= 2; i >= first; i-- {
		end := p.closingOf(i + 1)
		if end < 0 {
			return true
		}
		next := p.toks[end+1]
		switch next.kw {
		case kwUnion, kwIntersect, kwExcept, kwOrder, kwLimit, kwOffset, kwFetch:
		default:
			if next.kind != ')' {
				return false
			}
		}
	}
	return true
}

// closingOf is the index of the ")" of the "(" at index i, or -1.
func (p *parser) closingOf(i int) int {
	if p.closing == nil {
		p.closing = make([]int32, len(p.toks))
		var open []int
		for j, t := range p.toks {
			p.closing[j] = -1
			switch {
			case t.kind == '(':
				open = append(open, j)
			case t.kind == ')' && len(open) > 0:
				p.closing[open[len(open)-1]] = int32(j)
				open = open[:len(open)-1]
			}
		}
	}
	return int(p.closing[i])
}
