package demo

import (
	"bytes"
	"go/ast"
	"go/format"
	"go/token"
	"strings"
)

// maxLine is the length in bytes past which the inside of an interface, a
// function type or a value is left out of a signature.
const maxLine = 240

// printer prints declarations on one line.
type printer struct{ fset *token.FileSet }

func (p printer) funcLine(decl *ast.FuncDecl) string {
	bare := *decl
	bare.Doc, bare.Body = nil, nil
	return p.oneLine(&bare)
}

// typeLine prints a type's declaration; the fields of a struct and the inside
// of a long interface are left out.
func (p printer) typeLine(spec *ast.TypeSpec) string {
	bare := *spec
	bare.Doc, bare.Comment = nil, nil
	switch t := bare.Type.(type) {
	case *ast.StructType:
		// An identifier is printed as it is, so it can stand for the cut body.
		body := "struct{ ... }"
		if len(t.Fields.List) == 0 && !t.Incomplete {
			body = "struct{}"
		}
		bare.Type = ast.NewIdent(body)
	case *ast.InterfaceType:
		bare.Type = ast.NewIdent("interface" + p.methodSet(t))
	}
	return "type " + p.oneLine(&bare)
}

// methodSet prints the inside of an interface as "{ A(); B() }".
func (p printer) methodSet(t *ast.InterfaceType) string {
	var parts []string
	for _, field := range t.Methods.List {
		bare := *field
		bare.Doc, bare.Comment = nil, nil
		name := ""
		if len(bare.Names) > 0 {
			name = bare.Names[0].Name
		}
		parts = append(parts, name+strings.TrimPrefix(p.oneLine(bare.Type), "func"))
	}
	if t.Incomplete {
		parts = append(parts, "...")
	}
	inside := strings.Join(parts, "; ")
	switch {
	case inside == "":
		return "{}"
	case len(inside) > maxLine:
		return "{ ... }"
	}
	return "{ " + inside + " }"
}

// valueLine prints the i-th name of a constant or variable declaration.
func (p printer) valueLine(kind string, spec *ast.ValueSpec, i int) string {
	line := kind + " " + spec.Names[i].Name
	if spec.Type != nil {
		line += " " + p.oneLine(spec.Type)
	}
	if i >= len(spec.Values) {
		return line
	}
	if value := p.oneLine(spec.Values[i]); len(value) <= maxLine {
		return line + " = " + value
	}
	return line + " = ..."
}

// oneLine formats a node and folds its white space. Nodes come from a parsed
// file, so formatting fails only on a tree that go/doc cut in an unexpected
// way; the declaration is then left out rather than the symbol.
func (p printer) oneLine(node any) string {
	var b bytes.Buffer
	if err := format.Node(&b, p.fset, node); err != nil {
		return ""
	}
	return strings.Join(strings.Fields(b.String()), " ")
}
