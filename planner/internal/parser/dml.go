package parser

import (
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/planner/internal/ast"
)

// insert reads INSERT; its WITH, if any, has been read.
func (p *parser) insert(start int, with *ast.With) ast.Statement {
	p.advance()
	s := &ast.Insert{With: with}
	switch {
	case p.acceptKw(kwOr, kwReplace):
		s.OrReplace = true
	case p.atKw(kwOverwrite):
		p.unsupported(p.pos(), "Use TRUNCATE and INSERT, or CREATE OR REPLACE TABLE … AS.", "INSERT OVERWRITE is not supported")
	}
	p.expectKw(kwInto)
	s.Table = p.name("the name of a table")
	p.noAt("INSERT")
	if p.acceptKw(kwAs) {
		s.Alias = p.label("an alias")
	}
	if p.at('(') && !p.queryAt(p.i) {
		s.Columns = p.identList("the name of a column")
	}
	s.ByName = p.acceptKw(kwBy, kwName)
	switch {
	case p.acceptKw(kwDefault):
		p.expectKw(kwValues)
	case p.atKw(kwValues), p.atKw(kwSelect), p.atKw(kwFrom), p.atKw(kwTable), p.atKw(kwWith), p.at('('):
		s.Source = p.query()
	default:
		p.unexpected("VALUES, SELECT or DEFAULT VALUES")
	}
	if p.atKw(kwOn) {
		s.OnConflict = p.onConflict()
	}
	s.Returning = p.returning()
	s.Span = p.span(start)
	return s
}

func (p *parser) onConflict() *ast.OnConflict {
	start := p.pos()
	p.advance()
	p.expectKw(kwConflict)
	c := &ast.OnConflict{}
	if p.at('(') {
		c.Columns = p.identList("the name of a column")
	}
	p.expectKw(kwDo)
	switch p.acceptOne(kwNothing, kwUpdate) {
	case kwNothing:
	case kwUpdate:
		p.expectKw(kwSet)
		c.Sets = p.setClauses()
		if p.acceptKw(kwWhere) {
			c.Where = p.expr()
		}
	default:
		p.unexpected("NOTHING or UPDATE SET")
	}
	c.Span = p.span(start)
	return c
}

func (p *parser) setClauses() []*ast.SetClause {
	var out []*ast.SetClause
	p.list(func() { out = append(out, p.setClause()) })
	return out
}

// setClause reads column = value and (a, b) = value.
func (p *parser) setClause() *ast.SetClause {
	start := p.pos()
	s := &ast.SetClause{}
	if p.at('(') {
		p.parens(func() { s.Columns = append(s.Columns, p.name("the name of a column")) })
	} else {
		s.Columns = []ast.Name{p.name("the name of a column")}
	}
	p.expect('=', `"="`)
	if len(s.Columns) > 1 && p.at('(') && !p.queryAt(p.i) {
		s.Value = p.valueRow()
	} else {
		s.Value = p.valueOrDefault()
	}
	if row, ok := s.Value.(*ast.Row); ok && len(s.Columns) > 1 && len(row.Elems) != len(s.Columns) && p.err == nil {
		p.failAt(row.Pos(), "%s set to %s", fail.Count(len(s.Columns), "column is", "columns are"), fail.Count(len(row.Elems), "value"))
	}
	s.Span = p.span(start)
	return s
}

// update reads UPDATE; its WITH, if any, has been read.
func (p *parser) update(start int, with *ast.With) ast.Statement {
	p.advance()
	s := &ast.Update{With: with, Table: p.name("the name of a table")}
	p.noAt("UPDATE")
	s.Alias = p.alias()
	p.expectKw(kwSet)
	s.Sets = p.setClauses()
	if p.acceptKw(kwFrom) {
		s.From = p.fromItems()
	}
	s.Where = p.where()
	s.Returning = p.returning()
	s.Span = p.span(start)
	return s
}

func (p *parser) where() ast.Expr {
	if p.acceptKw(kwWhere) {
		return p.expr()
	}
	return nil
}

// deleteFrom reads DELETE; its WITH, if any, has been read.
func (p *parser) deleteFrom(start int, with *ast.With) ast.Statement {
	p.advance()
	p.expectKw(kwFrom)
	s := &ast.Delete{With: with, Table: p.name("the name of a table")}
	p.noAt("DELETE")
	s.Alias = p.alias()
	if p.acceptKw(kwUsing) {
		s.Using = p.fromItems()
	}
	s.Where = p.where()
	s.Returning = p.returning()
	s.Span = p.span(start)
	return s
}

func (p *parser) truncate(start int) ast.Statement {
	p.advance()
	p.acceptOne(kwTable, kwCollection)
	s := &ast.Truncate{Tables: p.nameList("the name of a table")}
	s.Span = p.span(start)
	return s
}
