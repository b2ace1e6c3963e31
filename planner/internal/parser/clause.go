package parser

import (
	"github.com/loamdb/loam/planner/internal/ast"
)

func (p *parser) groupBy() *ast.GroupBy {
	start := p.pos()
	p.advance()
	p.expectKw(kwBy)
	g := &ast.GroupBy{}
	if p.acceptKw(kwAll) {
		g.All = true
	} else {
		g.Distinct = p.acceptKw(kwDistinct)
		p.list(func() { g.Items = append(g.Items, p.groupItem()) })
		if p.peekKw(kwWith, kwRollup) || p.peekKw(kwWith, kwCube) {
			p.failAt(p.pos(), "GROUP BY … WITH %s is not supported", p.peek(1).kw).Hint = "Write GROUP BY ROLLUP (a, b) or CUBE (a, b)."
		}
	}
	g.Span = p.span(start)
	return g
}

func (p *parser) groupItem() *ast.GroupItem {
	outer := p.enter()
	defer p.leave(outer)
	start := p.pos()
	g := &ast.GroupItem{}
	paren := p.peek(1).kind == '('
	switch {
	case p.atKw(kwRollup) && paren:
		p.advance()
		g.Kind = ast.GroupRollup
		p.parens(func() { g.Sets = append(g.Sets, p.groupSet()) })
	case p.atKw(kwCube) && paren:
		p.advance()
		g.Kind = ast.GroupCube
		p.parens(func() { g.Sets = append(g.Sets, p.groupSet()) })
	case p.acceptKw(kwGrouping, kwSets):
		g.Kind = ast.GroupSets
		p.parens(func() { g.Sets = append(g.Sets, p.groupItem()) })
	default:
		return p.groupSet()
	}
	g.Span = p.span(start)
	return g
}

// groupSet reads an expression, (a, b) or ().
func (p *parser) groupSet() *ast.GroupItem {
	start := p.pos()
	g := &ast.GroupItem{}
	if p.at('(') && p.peek(1).kind == ')' {
		p.advance()
		p.advance()
	} else if e := p.expr(); isRow(e) {
		g.Exprs = e.(*ast.Row).Elems
	} else {
		g.Exprs = []ast.Expr{e}
	}
	g.Span = p.span(start)
	return g
}

func isRow(e ast.Expr) bool {
	_, ok := e.(*ast.Row)
	return ok
}

// orderItems reads the keys of an ORDER BY.
func (p *parser) orderItems() []*ast.OrderItem {
	var out []*ast.OrderItem
	p.list(func() { out = append(out, p.orderItem()) })
	return out
}

func (p *parser) orderItem() *ast.OrderItem {
	start := p.pos()
	o := &ast.OrderItem{}
	if p.acceptKw(kwAll) {
		o.All = true
	} else {
		o.Expr = p.expr()
	}
	if !p.acceptKw(kwAsc) {
		o.Desc = p.acceptKw(kwDesc)
	}
	if p.acceptKw(kwNulls) {
		switch p.acceptOne(kwFirst, kwLast) {
		case kwFirst:
			o.Nulls = ast.NullsFirst
		case kwLast:
			o.Nulls = ast.NullsLast
		default:
			p.unexpected("FIRST or LAST")
		}
	}
	o.Span = p.span(start)
	return o
}

// limits reads LIMIT, OFFSET and FETCH FIRST in any order, each once.
func (p *parser) limits(q *ast.Query) {
	limited, offset := false, false
	for {
		start := p.pos()
		switch {
		case p.acceptKw(kwLimit):
			p.once(&limited, start, "LIMIT")
			if p.acceptKw(kwAll) {
				continue
			}
			q.Limit = p.limit()
			if _, null := q.Limit.(*ast.NullLit); null {
				q.Limit = nil
			}
		case p.acceptKw(kwOffset):
			p.once(&offset, start, "OFFSET")
			q.Offset = p.expr()
			p.acceptOne(kwRow, kwRows)
		case p.atKw(kwFetch) && (p.peek(1).kw == kwFirst || p.peek(1).kw == kwNext):
			p.once(&limited, start, "LIMIT or FETCH")
			p.fetch(q)
		default:
			return
		}
	}
}

// limit reads the number of rows. A share of the rows would have to count them
// all first, which LIMIT never does.
func (p *parser) limit() ast.Expr {
	if p.peek(1).kind == '%' {
		switch p.peek(2).kind {
		case kEOF, ')', ';':
			p.noPercent()
		}
	}
	n := p.expr()
	if p.atKw(kwPercent) {
		p.noPercent()
	}
	return n
}

func (p *parser) noPercent() {
	p.failAt(p.pos(), "LIMIT takes a number of rows, not a percentage").Hint = "Write USING SAMPLE 10 PERCENT before ORDER BY for a share of the rows."
}

func (p *parser) once(seen *bool, at int, what string) {
	if *seen {
		p.failAt(at, "%s stands twice in one query", what)
	}
	*seen = true
}

// fetch reads FETCH FIRST [n] ROWS ONLY | WITH TIES.
func (p *parser) fetch(q *ast.Query) {
	p.advance()
	p.advance()
	if p.atKw(kwRow) || p.atKw(kwRows) {
		q.Limit = &ast.NumberLit{Span: ast.Span{Start: p.pos(), Stop: p.pos()}, Text: "1"}
	} else {
		q.Limit = p.exprPrec(ast.PrecAdd)
	}
	if p.acceptOne(kwRow, kwRows) == noKeyword {
		p.unexpected("ROWS")
	}
	if p.acceptKw(kwWith) {
		p.expectKw(kwTies)
		q.WithTies = true
		return
	}
	p.expectKw(kwOnly)
}

func (p *parser) namedWindow() *ast.NamedWindow {
	start := p.pos()
	w := &ast.NamedWindow{Name: p.ident("the name of a window")}
	p.expectKw(kwAs)
	if !p.at('(') {
		p.unexpected(`"(" and a window`)
	}
	w.Window = p.window()
	w.Span = p.span(start)
	return w
}

// window reads what follows OVER: a name, or a definition in parentheses.
func (p *parser) window() *ast.Window {
	start := p.pos()
	w := &ast.Window{}
	if !p.accept('(') {
		w.Ref = p.ident(`the name of a window or "("`)
		w.Span = p.span(start)
		return w
	}
	switch p.tok().kw {
	case kwPartition, kwRows, kwRange, kwGroups:
	default:
		if isName(p.tok()) {
			w.Base = p.ident("the name of a window")
		}
	}
	if p.acceptKw(kwPartition) {
		p.expectKw(kwBy)
		w.PartitionBy = p.exprs()
	}
	if p.acceptKw(kwOrder) {
		p.expectKw(kwBy)
		w.OrderBy = p.orderItems()
	}
	w.Frame = p.frame()
	p.expect(')', `PARTITION BY, ORDER BY, a frame or ")"`)
	w.Span = p.span(start)
	return w
}

func (p *parser) frame() *ast.Frame {
	start := p.pos()
	f := &ast.Frame{}
	switch p.acceptOne(kwRows, kwRange, kwGroups) {
	case kwRows:
	case kwRange:
		f.Unit = ast.FrameRange
	case kwGroups:
		f.Unit = ast.FrameGroups
	default:
		return nil
	}
	if p.acceptKw(kwBetween) {
		f.Lo = p.bound()
		p.expectKw(kwAnd)
		f.Hi = p.bound()
	} else {
		f.Lo = p.bound()
		f.Hi = &ast.Bound{Span: p.span(p.prevEnd()), Kind: ast.CurrentRow}
	}
	if f.Hi.Kind < f.Lo.Kind || f.Lo.Kind == ast.UnboundedFollowing || f.Hi.Kind == ast.UnboundedPreceding {
		p.failAt(start, "a window frame cannot begin at %s and end at %s", f.Lo.Kind, f.Hi.Kind)
	}
	if p.acceptKw(kwExclude) {
		switch {
		case p.acceptKw(kwNo, kwOthers):
		case p.acceptKw(kwCurrent, kwRow):
			f.Exclude = ast.ExcludeCurrentRow
		case p.acceptKw(kwGroup):
			f.Exclude = ast.ExcludeGroup
		case p.acceptKw(kwTies):
			f.Exclude = ast.ExcludeTies
		default:
			p.unexpected("CURRENT ROW, GROUP, TIES or NO OTHERS")
		}
	}
	f.Span = p.span(start)
	return f
}

func (p *parser) bound() *ast.Bound {
	start := p.pos()
	b := &ast.Bound{}
	switch {
	case p.acceptKw(kwUnbounded, kwPreceding):
		b.Kind = ast.UnboundedPreceding
	case p.acceptKw(kwUnbounded, kwFollowing):
		b.Kind = ast.UnboundedFollowing
	case p.acceptKw(kwCurrent, kwRow):
		b.Kind = ast.CurrentRow
	default:
		b.Offset = p.exprPrec(ast.PrecRange + 1)
		switch p.acceptOne(kwPreceding, kwFollowing) {
		case kwPreceding:
			b.Kind = ast.Preceding
		case kwFollowing:
			b.Kind = ast.Following
		default:
			p.unexpected("PRECEDING or FOLLOWING")
		}
	}
	b.Span = p.span(start)
	return b
}
