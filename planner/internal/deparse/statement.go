package deparse

import (
	"github.com/loamdb/loam/planner/internal/ast"
)

func (p *printer) statement(s ast.Statement) {
	switch s := s.(type) {
	case *ast.Query:
		p.bareQuery(s)
	case *ast.Insert:
		p.insert(s)
	case *ast.Update:
		p.update(s)
	case *ast.Delete:
		p.delete(s)
	case *ast.Truncate:
		p.write("TRUNCATE ")
		p.names(s.Tables)
	case *ast.CreateNamespace:
		p.create(s.OrReplace, false, "NAMESPACE", s.IfNotExists, s.Name)
		p.options(" WITH (", s.Options)
	case *ast.CreateTable:
		p.createTable(s)
	case *ast.CreateView:
		kind := "VIEW"
		if s.Search {
			kind = "SEARCH VIEW"
		}
		p.create(s.OrReplace, s.Temporary, kind, s.IfNotExists, s.Name)
		p.columns(s.Columns)
		p.write(" AS ")
		p.bareQuery(s.Query)
	case *ast.CreateTag:
		p.create(s.OrReplace, false, "TAG", s.IfNotExists, ast.Name{Parts: []ast.Ident{s.Name}})
		p.write(" ON ")
		p.name(s.On)
		p.at(s.At)
		p.options(" WITH (", s.Options)
	case *ast.Drop:
		p.drop(s)
	case *ast.AlterTable:
		p.write("ALTER ", s.Kind.String(), " ")
		p.when(s.IfExists, "IF EXISTS ")
		p.name(s.Name)
		p.write(" ")
		list(p, s.Actions, p.alterAction)
	default:
		p.utility(s)
	}
}

func (p *printer) utility(s ast.Statement) {
	switch s := s.(type) {
	case *ast.Explain:
		p.write("EXPLAIN ")
		p.when(s.Analyze, "ANALYZE ")
		p.when(s.Verbose, "VERBOSE ")
		p.when(s.Format != "", "FORMAT "+s.Format+" ")
		p.statement(s.Stmt)
	case *ast.Show:
		p.show(s)
	case *ast.Describe:
		p.write("DESCRIBE ")
		if s.Query != nil {
			p.bareQuery(s.Query)
		} else {
			p.name(s.Name)
		}
	case *ast.Set:
		p.write("SET ")
		p.when(s.Local, "LOCAL ")
		p.name(s.Name)
		p.write(" = ")
		p.exprs(s.Values)
	case *ast.Analyze:
		p.write("ANALYZE")
		if len(s.Tables) > 0 {
			p.write(" ")
			list(p, s.Tables, p.name)
		}
	case *ast.Kill:
		p.write("KILL QUERY ")
		p.write(s.ID.Text)
	case *ast.Reset:
		p.write("RESET ")
		p.when(s.Name.IsZero(), "ALL")
		p.name(s.Name)
	case *ast.Use:
		p.write("USE ")
		p.name(s.Name)
	case *ast.Transaction:
		p.write(s.Kind.String())
		p.when(s.Mode != "", " "+s.Mode)
	case *ast.CreateStream:
		p.create(s.OrReplace, false, "STREAM", s.IfNotExists, s.Name)
		if len(s.Columns) > 0 {
			p.write(" (")
			list(p, s.Columns, p.columnDef)
			p.write(")")
		}
		p.options(" WITH (", s.Options)
	case *ast.CreateLink:
		p.createLink(s)
	case *ast.AlterLink:
		p.alterLink(s)
	}
}

func (p *printer) insert(s *ast.Insert) {
	p.with(s.With)
	p.write("INSERT ")
	p.when(s.OrReplace, "OR REPLACE ")
	p.write("INTO ")
	p.name(s.Table)
	p.aliasName(s.Alias)
	p.columns(s.Columns)
	p.when(s.ByName, " BY NAME")
	if s.Source == nil {
		p.write(" DEFAULT VALUES")
	} else {
		bare := isBare(s.Source.Body) // ON CONFLICT would be read as what it selects
		p.write(" ")
		p.when(bare, "(")
		p.bareQuery(s.Source)
		p.when(bare, ")")
	}
	if c := s.OnConflict; c != nil {
		p.write(" ON CONFLICT")
		p.columns(c.Columns)
		if len(c.Sets) == 0 {
			p.write(" DO NOTHING")
		} else {
			p.write(" DO UPDATE SET ")
			list(p, c.Sets, p.setClause)
			p.clause(" WHERE ", c.Where)
		}
	}
	p.returning(s.Returning)
}

func (p *printer) aliasName(id ast.Ident) {
	if !id.IsZero() {
		p.write(" AS ")
		p.ident(id)
	}
}

func (p *printer) setClause(c *ast.SetClause) {
	tuple := len(c.Columns) > 1
	p.when(tuple, "(")
	p.names(c.Columns)
	p.when(tuple, ")")
	p.write(" = ")
	p.expr(c.Value, 0)
}

func (p *printer) update(s *ast.Update) {
	p.with(s.With)
	p.write("UPDATE ")
	p.name(s.Table)
	p.aliasName(s.Alias)
	p.write(" SET ")
	list(p, s.Sets, p.setClause)
	if len(s.From) > 0 {
		p.write(" FROM ")
		list(p, s.From, p.tableRef)
	}
	p.clause(" WHERE ", s.Where)
	p.returning(s.Returning)
}

func (p *printer) delete(s *ast.Delete) {
	p.with(s.With)
	p.write("DELETE FROM ")
	p.name(s.Table)
	p.aliasName(s.Alias)
	if len(s.Using) > 0 {
		p.write(" USING ")
		list(p, s.Using, p.tableRef)
	}
	p.clause(" WHERE ", s.Where)
	p.returning(s.Returning)
}

func (p *printer) show(s *ast.Show) {
	p.write("SHOW ")
	switch s.Kind {
	case ast.ShowSetting:
		p.name(s.Name)
		return
	case ast.ShowCreate:
		p.write("CREATE ", s.Object.String(), " ")
		p.name(s.Name)
		return
	}
	p.write(s.Kind.String())
	if !s.Name.IsZero() {
		p.write(" FROM ")
		p.name(s.Name)
	}
	p.clause(" LIKE ", s.Like)
	p.clause(" WHERE ", s.Where)
}
