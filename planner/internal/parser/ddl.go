package parser

import (
	"strings"

	"github.com/loamdb/loam/planner/internal/ast"
)

// create reads CREATE … of any object.
func (p *parser) create(start int) ast.Statement {
	p.advance()
	orReplace := p.acceptKw(kwOr, kwReplace)
	p.acceptOne(kwLocal)
	temporary := p.acceptOne(kwTemporary, kwTemp) != noKeyword
	var s ast.Statement
	switch t := p.tok(); t.kw {
	case kwNamespace, kwSchema:
		s = p.createNamespace(start, orReplace)
	case kwCollection, kwTable:
		s = p.createTable(start, orReplace, temporary)
	case kwView, kwSearch:
		s = p.createView(start, orReplace, temporary)
	case kwStream:
		s = p.createStream(start, orReplace)
	case kwLink:
		s = p.createLink(start, orReplace)
	case kwTag:
		s = p.createTag(start, orReplace)
	default:
		p.unexpected("NAMESPACE, COLLECTION, TABLE, VIEW, STREAM, LINK or TAG")
		return &ast.CreateNamespace{}
	}
	if temporary && p.err == nil {
		switch s.(type) {
		case *ast.CreateTable, *ast.CreateView:
		default:
			p.failAt(start, "only tables and views can be TEMPORARY")
		}
	}
	return s
}

func (p *parser) createNamespace(start int, orReplace bool) ast.Statement {
	p.advance()
	s := &ast.CreateNamespace{OrReplace: orReplace, IfNotExists: p.ifNotExists()}
	s.Name = p.name("the name of a namespace")
	s.Options = p.withOptions()
	s.Span = p.span(start)
	return s
}

func (p *parser) createTable(start int, orReplace, temporary bool) ast.Statement {
	s := &ast.CreateTable{Kind: ast.ObjectTable, OrReplace: orReplace, Temporary: temporary}
	if p.advance().kw == kwCollection {
		s.Kind = ast.ObjectCollection
	}
	what := strings.ToLower(s.Kind.String())
	s.IfNotExists = p.ifNotExists()
	s.Name = p.name("the name of a " + what)
	columns := p.at('(') && !p.queryAt(p.i)
	if columns {
		p.parens(func() { p.columnOrConstraint(s) })
	}
	s.Options = p.withOptions()
	if p.acceptKw(kwAs) {
		s.As = p.query()
		if s.Options == nil {
			s.Options = p.withOptions()
		}
	} else if !columns {
		p.unexpected(`"(" and columns, or AS and a query`)
	}
	for _, c := range s.Columns {
		if c.Type == nil && s.As == nil && p.err == nil {
			p.failAt(c.End(), "the column %s has no type", c.Name.Text).Hint = "A type is for instance TEXT, BIGINT, DOUBLE or VECTOR(384)."
		}
	}
	s.Span = p.span(start)
	return s
}

func (p *parser) columnOrConstraint(s *ast.CreateTable) {
	start := p.pos()
	c := &ast.TableConstraint{}
	if p.acceptKw(kwConstraint) {
		c.Name = p.ident("the name of a constraint")
	}
	switch {
	case p.acceptKw(kwPrimary, kwKey):
		c.Kind = ast.ConstraintPrimaryKey
		c.Columns = p.identList("the name of a column")
	case p.acceptKw(kwUnique):
		c.Kind = ast.ConstraintUnique
		c.Columns = p.identList("the name of a column")
	case p.acceptKw(kwCheck):
		c.Kind = ast.ConstraintCheck
		c.Expr = p.exprInParens()
	case !c.Name.IsZero():
		p.unexpected("PRIMARY KEY, UNIQUE or CHECK")
	default:
		s.Columns = append(s.Columns, p.columnDef())
		return
	}
	c.Span = p.span(start)
	s.Constraints = append(s.Constraints, c)
}

func (p *parser) exprInParens() ast.Expr {
	p.expect('(', `"("`)
	e := p.expr()
	p.expect(')', `")"`)
	return e
}

// columnDef reads name type constraints; the type may be missing before , and ).
func (p *parser) columnDef() *ast.ColumnDef {
	start := p.pos()
	c := &ast.ColumnDef{Name: p.ident("the name of a column")}
	if !p.at(',') && !p.at(')') && !p.atEnd() {
		c.Type = p.typeName()
	}
	seen := map[ast.ConstraintKind]bool{}
	for p.err == nil {
		con := p.columnConstraint()
		if con == nil {
			break
		}
		if seen[con.Kind] {
			p.failAt(con.Pos(), "the column %s has %s twice", c.Name.Text, con.Kind)
		}
		seen[con.Kind] = true
		c.Constraints = append(c.Constraints, con)
	}
	c.Span = p.span(start)
	return c
}

// columnConstraint reads one constraint; nil where none stands here.
func (p *parser) columnConstraint() *ast.ColumnConstraint {
	start := p.pos()
	c := &ast.ColumnConstraint{}
	switch {
	case p.acceptKw(kwPrimary, kwKey):
		c.Kind = ast.ConstraintPrimaryKey
	case p.acceptKw(kwNot, kwNull):
		c.Kind = ast.ConstraintNotNull
	case p.acceptKw(kwNull):
		c.Kind = ast.ConstraintNull
	case p.acceptKw(kwUnique):
		c.Kind = ast.ConstraintUnique
	case p.acceptKw(kwFulltext):
		c.Kind = ast.ConstraintFullText
		if p.at(kString) {
			c.Text = p.stringToken("the name of an analyzer")
		}
	case p.acceptKw(kwDistance):
		c.Kind = ast.ConstraintDistance
		c.Text = p.lowerWord("a metric: cosine, l2 or dot")
	case p.acceptKw(kwModifier):
		c.Kind = ast.ConstraintModifier
		c.Text = p.lowerWord("a modifier: idf")
	case p.acceptKw(kwDefault):
		c.Kind = ast.ConstraintDefault
		c.Expr = p.exprPrec(ast.PrecIs + 1)
	case p.acceptKw(kwCheck):
		c.Kind = ast.ConstraintCheck
		c.Expr = p.exprInParens()
	case p.acceptKw(kwComment):
		c.Kind = ast.ConstraintComment
		c.Text = p.stringToken("a string")
	case p.acceptKw(kwGenerated):
		p.expectKw(kwAlways, kwAs)
		c.Kind = ast.ConstraintGenerated
		c.Expr = p.exprInParens()
		p.acceptOne(kwStored)
	default:
		return nil
	}
	c.Span = p.span(start)
	return c
}

// lowerWord reads a name and gives it in lower case.
func (p *parser) lowerWord(what string) string { return strings.ToLower(p.ident(what).Text) }

// withOptions reads WITH (name = value, …); nil where none stands here.
func (p *parser) withOptions() []*ast.Option {
	if !p.atKw(kwWith) || p.peek(1).kind != '(' {
		return nil
	}
	p.advance()
	return p.options()
}

func (p *parser) options() []*ast.Option {
	var out []*ast.Option
	seen := map[string]bool{}
	p.parens(func() {
		o := p.option()
		if key := strings.ToLower(o.Name.String()); seen[key] && p.err == nil {
			p.failAt(o.Pos(), "the option %s stands twice", o.Name)
		} else {
			seen[key] = true
		}
		out = append(out, o)
	})
	return out
}

// option reads name = value; a name alone is true.
func (p *parser) option() *ast.Option {
	start := p.pos()
	o := &ast.Option{}
	if p.at(kString) {
		text := p.stringToken("the name of an option")
		id := ast.Ident{Span: p.span(start), Text: text, Quoted: true}
		o.Name = ast.Name{Span: id.Span, Parts: []ast.Ident{id}}
	} else {
		o.Name = p.name("the name of an option")
	}
	if p.accept('=') || p.accept(kFatArrow) {
		o.Value = p.settingValue()
	} else {
		o.Value = &ast.BoolLit{Span: p.span(p.prevEnd()), Value: true}
	}
	o.Span = p.span(start)
	return o
}

// settingValue reads an expression, or one word that may be a keyword, such as ON.
func (p *parser) settingValue() ast.Expr {
	if t := p.tok(); t.kind == kWord && t.kw.reserved() {
		switch t.kw {
		case kwTrue, kwFalse, kwNull, kwArray, kwCase, kwNot, kwLeft, kwRight:
		default:
			p.advance()
			id := p.identOf(t)
			return &ast.ColumnRef{Span: id.Span, Parts: []ast.Ident{id}}
		}
	}
	return p.expr()
}

func (p *parser) createView(start int, orReplace, temporary bool) ast.Statement {
	s := &ast.CreateView{OrReplace: orReplace, Temporary: temporary, Search: p.acceptKw(kwSearch)}
	p.expectKw(kwView)
	s.IfNotExists = p.ifNotExists()
	s.Name = p.name("the name of a view")
	if p.at('(') {
		s.Columns = p.identList("the name of a column")
	}
	p.expectKw(kwAs)
	s.Query = p.query()
	s.Span = p.span(start)
	return s
}

func (p *parser) createTag(start int, orReplace bool) ast.Statement {
	p.advance()
	s := &ast.CreateTag{OrReplace: orReplace, IfNotExists: p.ifNotExists()}
	s.Name = p.ident("the name of a tag")
	if !p.acceptKw(kwOn) {
		p.unexpected("ON and the name of a collection")
	}
	s.On = p.name("the name of a collection")
	s.At = p.atClause()
	if p.acceptKw(kwWith) {
		s.Options = p.options()
	}
	s.Span = p.span(start)
	return s
}

// objectKinds maps the words that name a kind of object.
var objectKinds = map[keyword]ast.ObjectKind{kwNamespace: ast.ObjectNamespace, kwSchema: ast.ObjectNamespace,
	kwCollection: ast.ObjectCollection, kwTable: ast.ObjectTable, kwView: ast.ObjectView,
	kwStream: ast.ObjectStream, kwLink: ast.ObjectLink, kwTag: ast.ObjectTag}

func (p *parser) objectKind() ast.ObjectKind {
	k := objectKinds[p.tok().kw]
	if k == 0 {
		p.unexpected("NAMESPACE, COLLECTION, TABLE, VIEW, STREAM, LINK or TAG")
	}
	p.advance()
	return k
}

func (p *parser) drop(start int) ast.Statement {
	p.advance()
	s := &ast.Drop{Kind: p.objectKind(), IfExists: p.ifExists()}
	s.Names = p.nameList("the name of a " + strings.ToLower(s.Kind.String()))
	switch s.Kind {
	case ast.ObjectTag:
		p.expectKw(kwOn)
		s.On = p.name("the name of a collection")
	case ast.ObjectLink:
		switch {
		case p.acceptKw(kwKeep, kwTarget):
			s.Target = ast.TargetKeep
		case p.acceptKw(kwDrop, kwTarget):
			s.Target = ast.TargetDrop
		}
	}
	s.Cascade = p.acceptOne(kwCascade, kwRestrict) == kwCascade
	s.Span = p.span(start)
	return s
}

func (p *parser) alter(start int) ast.Statement {
	p.advance()
	if p.atKw(kwLink) {
		return p.alterLink(start)
	}
	s := &ast.AlterTable{Kind: p.objectKind(), IfExists: p.ifExists()}
	s.Name = p.name("the name of a " + strings.ToLower(s.Kind.String()))
	p.list(func() { s.Actions = append(s.Actions, p.alterAction()) })
	s.Span = p.span(start)
	return s
}

func (p *parser) alterAction() *ast.AlterAction {
	start := p.pos()
	a := &ast.AlterAction{}
	switch p.acceptOne(kwAdd, kwDrop, kwRename, kwAlter, kwSet, kwReset) {
	case kwAdd:
		a.Kind = ast.AlterAddColumn
		p.acceptKw(kwColumn)
		a.IfExists = p.ifNotExists()
		a.Def = p.columnDef()
		if a.Def.Type == nil {
			p.unexpected("the type of the column")
		}
	case kwDrop:
		a.Kind = ast.AlterDropColumn
		p.acceptKw(kwColumn)
		a.IfExists = p.ifExists()
		a.Column = p.ident("the name of a column")
		p.acceptOne(kwCascade, kwRestrict)
	case kwRename:
		p.renameAction(a)
	case kwAlter:
		p.acceptKw(kwColumn)
		a.Column = p.ident("the name of a column")
		p.alterColumn(a)
	case kwSet:
		a.Kind = ast.AlterSetOptions
		a.Options = p.options()
	case kwReset:
		a.Kind = ast.AlterResetOptions
		p.parens(func() {
			at := p.pos()
			a.Options = append(a.Options, &ast.Option{Name: p.name("the name of an option")})
			a.Options[len(a.Options)-1].Span = p.span(at)
		})
	default:
		p.unexpected("ADD, DROP, RENAME, ALTER, SET or RESET")
	}
	a.Span = p.span(start)
	return a
}

func (p *parser) renameAction(a *ast.AlterAction) {
	if p.acceptKw(kwTo) {
		a.Kind = ast.AlterRename
		a.NewName = p.ident("a new name")
		return
	}
	a.Kind = ast.AlterRenameColumn
	p.acceptKw(kwColumn)
	a.Column = p.ident("the name of a column, or TO and a new name")
	p.expectKw(kwTo)
	a.NewName = p.ident("a new name")
}

func (p *parser) alterColumn(a *ast.AlterAction) {
	switch {
	case p.acceptKw(kwSet, kwDefault):
		a.Kind = ast.AlterSetDefault
		a.Default = p.expr()
	case p.acceptKw(kwDrop, kwDefault):
		a.Kind = ast.AlterDropDefault
	case p.acceptKw(kwSet, kwNot, kwNull):
		a.Kind = ast.AlterSetNotNull
	case p.acceptKw(kwDrop, kwNot, kwNull):
		a.Kind = ast.AlterDropNotNull
	case p.acceptKw(kwSet, kwData, kwType), p.acceptKw(kwType):
		a.Kind = ast.AlterColumnType
		a.Type = p.typeName()
	default:
		p.unexpected("TYPE, SET DEFAULT, DROP DEFAULT, SET NOT NULL or DROP NOT NULL")
	}
}
