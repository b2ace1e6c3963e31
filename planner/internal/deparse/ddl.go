package deparse

import (
	"github.com/loamdb/loam/planner/internal/ast"
)

// create writes CREATE … up to the name.
func (p *printer) create(orReplace, temporary bool, kind string, ifNotExists bool, name ast.Name) {
	p.write("CREATE ")
	p.when(orReplace, "OR REPLACE ")
	p.when(temporary, "TEMPORARY ")
	p.write(kind, " ")
	p.when(ifNotExists, "IF NOT EXISTS ")
	p.name(name)
}

// options writes a list of options after its opening words, unless it is empty.
func (p *printer) options(open string, opts []*ast.Option) {
	if len(opts) == 0 {
		return
	}
	p.write(open)
	list(p, opts, func(o *ast.Option) {
		p.name(o.Name)
		p.clause(" = ", o.Value)
	})
	p.write(")")
}

func (p *printer) createTable(s *ast.CreateTable) {
	p.create(s.OrReplace, s.Temporary, s.Kind.String(), s.IfNotExists, s.Name)
	if len(s.Columns)+len(s.Constraints) > 0 {
		p.write(" (")
		list(p, s.Columns, p.columnDef)
		p.when(len(s.Columns) > 0 && len(s.Constraints) > 0, ", ")
		list(p, s.Constraints, p.tableConstraint)
		p.write(")")
	}
	p.options(" WITH (", s.Options)
	if s.As != nil {
		p.write(" AS ")
		p.bareQuery(s.As)
	}
}

func (p *printer) tableConstraint(c *ast.TableConstraint) {
	if !c.Name.IsZero() {
		p.write("CONSTRAINT ")
		p.ident(c.Name)
		p.write(" ")
	}
	p.write(c.Kind.String())
	p.columns(c.Columns)
	if c.Expr != nil {
		p.write(" ")
		p.parens(c.Expr)
	}
}

func (p *printer) columnDef(c *ast.ColumnDef) {
	p.ident(c.Name)
	if c.Type != nil {
		p.write(" ")
		p.typeName(c.Type)
	}
	for _, con := range c.Constraints {
		p.write(" ", con.Kind.String())
		switch con.Kind {
		case ast.ConstraintFullText:
			p.when(con.Text != "", " "+Literal(con.Text))
		case ast.ConstraintComment:
			p.write(" ", Literal(con.Text))
		case ast.ConstraintDistance, ast.ConstraintModifier:
			p.write(" ")
			p.ident(ast.Ident{Text: con.Text})
		case ast.ConstraintDefault:
			p.write(" ")
			p.expr(con.Expr, ast.PrecIs+1)
		case ast.ConstraintCheck, ast.ConstraintGenerated:
			p.write(" ")
			p.parens(con.Expr)
		}
	}
}

func (p *printer) drop(s *ast.Drop) {
	p.write("DROP ", s.Kind.String(), " ")
	p.when(s.IfExists, "IF EXISTS ")
	p.names(s.Names)
	if !s.On.IsZero() {
		p.write(" ON ")
		p.name(s.On)
	}
	p.when(s.Target != ast.TargetUnsaid, " "+s.Target.String())
	p.when(s.Cascade, " CASCADE")
}

func (p *printer) alterAction(a *ast.AlterAction) {
	switch a.Kind {
	case ast.AlterAddColumn:
		p.write("ADD COLUMN ")
		p.when(a.IfExists, "IF NOT EXISTS ")
		p.columnDef(a.Def)
	case ast.AlterDropColumn:
		p.write("DROP COLUMN ")
		p.when(a.IfExists, "IF EXISTS ")
		p.ident(a.Column)
	case ast.AlterRenameColumn:
		p.write("RENAME COLUMN ")
		p.ident(a.Column)
		p.write(" TO ")
		p.ident(a.NewName)
	case ast.AlterRename:
		p.write("RENAME TO ")
		p.ident(a.NewName)
	case ast.AlterSetOptions:
		p.options("SET (", a.Options)
	case ast.AlterResetOptions:
		p.options("RESET (", a.Options)
	default:
		p.write("ALTER COLUMN ")
		p.ident(a.Column)
		p.write(" ", a.Kind.String())
		if a.Type != nil {
			p.write(" ")
			p.typeName(a.Type)
		}
		p.clause(" ", a.Default)
	}
}

func (p *printer) start(s *ast.Start) {
	if s == nil {
		return
	}
	p.write(" START ", s.Kind.String())
	if m, ok := s.Value.(*ast.MapLit); ok && s.Kind == ast.StartOffsets {
		p.write(" {")
		p.mapEntries(m)
		p.write("}")
		return
	}
	p.clause(" ", s.Value)
}

func (p *printer) createLink(s *ast.CreateLink) {
	p.create(s.OrReplace, false, "LINK", s.IfNotExists, s.Name)
	p.write(" FROM ", s.From, " ")
	p.name(s.Source)
	if len(s.Partitions) > 0 {
		p.write(" PARTITIONS (")
		list(p, s.Partitions, p.int)
		p.write(")")
	}
	p.start(s.Start)
	p.write(" INTO ", s.Into, " ")
	p.name(s.Target)
	p.columns(s.Columns)
	if s.Decode != "" {
		p.write(" DECODE AS ", s.Decode)
		p.options(" WITH (", s.DecodeOptions)
	}
	if s.Transform != nil {
		p.write(" TRANSFORM ")
		p.query(s.Transform)
	}
	p.when(s.OnError != "", " ON ERROR "+s.OnError)
	if !s.DeadLetter.IsZero() {
		p.write(" TO STREAM ")
		p.name(s.DeadLetter)
	}
	p.when(s.OnSchema != "", " ON SCHEMA CHANGE "+s.OnSchema)
	if len(s.Key) > 0 {
		p.write(" KEY (")
		p.exprs(s.Key)
		p.write(")")
	}
	p.clause(" DELETE WHEN ", s.DeleteWhen)
	p.when(s.Paused, " PAUSED")
	p.when(s.Comment != "", " COMMENT "+Literal(s.Comment))
	p.options(" WITH (", s.Options)
}

func (p *printer) alterLink(s *ast.AlterLink) {
	switch s.Action {
	case ast.LinkReplay, ast.LinkValidate:
		p.write(s.Action.String(), " LINK ")
	default:
		p.write("ALTER LINK ")
	}
	p.when(s.IfExists, "IF EXISTS ")
	p.name(s.Name)
	switch s.Action {
	case ast.LinkReplay:
		p.start(s.Start)
		p.options(" WITH (", s.Options)
		return
	case ast.LinkValidate:
		return
	}
	p.write(" ", s.Action.String())
	p.start(s.Start)
	p.when(s.Drain, " WITH DRAIN")
	p.when(s.Reason != "", " REASON "+Literal(s.Reason))
	if s.Action == ast.LinkRename {
		p.write(" ")
		p.ident(s.NewName)
	}
	if s.Transform != nil {
		p.write(" ")
		p.query(s.Transform)
	}
	p.options(" (", s.Options)
}
