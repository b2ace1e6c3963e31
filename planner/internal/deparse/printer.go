package deparse

import (
	"strings"

	"github.com/loamdb/loam/planner/internal/ast"
)

// Statement is the canonical text of a statement, without a semicolon.
func Statement(s ast.Statement) string {
	p := &printer{}
	p.statement(s)
	return p.b.String()
}

// Expr is the canonical text of an expression.
func Expr(e ast.Expr) string {
	p := &printer{}
	p.expr(e, 0)
	return p.b.String()
}

// Type is the canonical text of a type name.
func Type(t *ast.TypeName) string {
	p := &printer{}
	p.typeName(t)
	return p.b.String()
}

// Ident is the text of a name, in quotes where it has or needs them.
func Ident(id ast.Ident) string {
	p := &printer{}
	p.ident(id)
	return p.b.String()
}

// Literal is the text of a character string.
func Literal(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

type printer struct {
	b strings.Builder
	// tableArgs is set inside the arguments of a table function, where a = b
	// would name an argument.
	tableArgs bool
}

func (p *printer) write(parts ...string) {
	for _, s := range parts {
		p.b.WriteString(s)
	}
}

// when writes s if cond holds.
func (p *printer) when(cond bool, s string) {
	if cond {
		p.b.WriteString(s)
	}
}

func (p *printer) ident(id ast.Ident) {
	if !id.Quoted && plainWord(id.Text) {
		p.write(id.Text)
		return
	}
	p.write(`"`, strings.ReplaceAll(id.Text, `"`, `""`), `"`)
}

// plainWord reports whether the lexer reads the text back as one word.
func plainWord(s string) bool {
	for i, r := range s {
		switch {
		case 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || r == '_':
		case i > 0 && ('0' <= r && r <= '9' || r == '$'):
		default:
			return s != "" && r > 127 && letters(s)
		}
	}
	return s != ""
}

func (p *printer) idents(ids []ast.Ident, sep string) {
	for i, id := range ids {
		p.when(i > 0, sep)
		p.ident(id)
	}
}

// columns writes " (a, b)" unless the list is empty.
func (p *printer) columns(ids []ast.Ident) {
	if len(ids) > 0 {
		p.write(" (")
		p.idents(ids, ", ")
		p.write(")")
	}
}

func (p *printer) name(n ast.Name) { p.idents(n.Parts, ".") }

func (p *printer) names(list []ast.Name) {
	for i, n := range list {
		p.when(i > 0, ", ")
		p.name(n)
	}
}

// list writes items between commas.
func list[T any](p *printer, items []T, one func(T)) {
	for i, it := range items {
		p.when(i > 0, ", ")
		one(it)
	}
}

func (p *printer) exprs(items []ast.Expr) {
	list(p, items, func(e ast.Expr) { p.expr(e, 0) })
}

// clause writes a keyword and an expression, if there is one.
func (p *printer) clause(keyword string, e ast.Expr) {
	if e != nil {
		p.write(keyword)
		p.expr(e, 0)
	}
}

func (p *printer) typeName(t *ast.TypeName) {
	switch {
	case t.Name == "ARRAY" && t.Elem != nil:
		p.typeName(t.Elem)
		p.write("[")
		if t.Size > 0 {
			p.int(t.Size)
		}
		p.write("]")
	case t.Name == "STRUCT" && len(t.Fields) > 0:
		p.write("STRUCT(")
		list(p, t.Fields, func(f *ast.TypeField) {
			p.ident(f.Name)
			p.write(" ")
			p.typeName(f.Type)
		})
		p.write(")")
	case t.Name == "MAP" && t.Key != nil:
		p.write("MAP(")
		p.typeName(t.Key)
		p.write(", ")
		p.typeName(t.Value)
		p.write(")")
	default:
		p.scalarType(t)
	}
}

// scalarType writes the numbers before the words that follow them.
func (p *printer) scalarType(t *ast.TypeName) {
	name, tail := t.Name, ""
	for _, suffix := range []string{" WITH TIME ZONE", " UNSIGNED"} {
		if head, ok := strings.CutSuffix(t.Name, suffix); ok {
			name, tail = head, suffix
		}
	}
	p.write(name)
	if len(t.Mods) > 0 {
		p.write("(")
		list(p, t.Mods, p.int)
		p.write(")")
	}
	p.write(tail)
}
