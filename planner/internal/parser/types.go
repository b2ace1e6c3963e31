package parser

import (
	"strings"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/planner/internal/ast"
)

func upper(s string) string { return strings.ToUpper(s) }

func tooManyItems() *fail.Error {
	return fail.New(fail.TooLarge, "a list has more than %d items", MaxList)
}

// typeName reads a type with its array suffixes.
func (p *parser) typeName() *ast.TypeName {
	outer := p.enter()
	defer p.leave(outer)
	start := p.pos()
	t := p.baseType()
	for p.err == nil {
		peak := p.peak
		array := p.acceptKw(kwArray)
		size := int64(0)
		if p.accept('[') {
			if !p.at(']') {
				size = p.integer(`a length or "]"`)
			}
			p.expect(']', `"]"`)
		} else if !array {
			break
		}
		t = &ast.TypeName{Span: p.span(start), Name: "ARRAY", Elem: t, Size: size}
		p.deepen(peak)
	}
	return t
}

func (p *parser) baseType() *ast.TypeName {
	t := p.tok()
	start := int(t.start)
	if t.kind != kWord || t.kw.reserved() && t.kw != kwArray {
		p.unexpected("the name of a type")
		return &ast.TypeName{}
	}
	p.advance()
	out := &ast.TypeName{Name: upper(p.text(t))}
	next := p.tok().kind
	switch {
	case (t.kw == kwArray || t.kw == kwList) && (next == '<' || next == '('):
		out.Name = "ARRAY"
		p.typeArgs(func() { out.Elem = p.typeName() })
	case t.kw == kwMap && (next == '<' || next == '('):
		p.typeArgs(func() {
			out.Key = p.typeName()
			p.expect(',', "a comma and the type of the values")
			out.Value = p.typeName()
		})
	case (t.kw == kwStruct || t.kw == kwRow) && (next == '<' || next == '('):
		out.Name = "STRUCT"
		p.typeArgs(func() { p.list(func() { out.Fields = append(out.Fields, p.typeField()) }) })
	default:
		p.scalarType(t, out)
	}
	out.Span = p.span(start)
	return out
}

// typeArgs reads what stands between < and > or ( and ).
func (p *parser) typeArgs(args func()) {
	if p.accept('(') {
		args()
		p.expect(')', `")"`)
		return
	}
	p.expect('<', `"<"`)
	args()
	if p.at(kShiftRight) { // the end of two lists: take one half
		p.toks[p.i].kind = '>'
		p.toks[p.i].start++
		return
	}
	p.expect('>', `">"`)
}

func (p *parser) typeField() *ast.TypeField {
	start := p.pos()
	f := &ast.TypeField{Name: p.label("the name of a field")}
	p.accept(':')
	f.Type = p.typeName()
	f.Span = p.span(start)
	return f
}

// scalarType reads the further words and the numbers of a type.
func (p *parser) scalarType(t token, out *ast.TypeName) {
	switch t.kw {
	case kwDouble:
		if p.acceptKw(kwPrecision) {
			out.Name = "DOUBLE PRECISION"
		}
	case kwSparse:
		p.expectKw(kwVector)
		out.Name = "SPARSE VECTOR"
	case kwCharacter, kwChar:
		if p.acceptKw(kwVarying) {
			out.Name += " VARYING"
		}
	case kwInterval:
		if unit := p.acceptUnit(); unit != "" {
			out.Name += " " + unit
			if p.acceptKw(kwTo) {
				out.Name += " TO " + p.acceptUnit()
			}
		}
	}
	if p.accept('(') {
		p.list(func() { out.Mods = append(out.Mods, p.integer("a number")) })
		p.expect(')', `a comma or ")"`)
	}
	switch t.kw {
	case kwTime, kwTimestamp:
		switch {
		case p.acceptKw(kwWith, kwTime, kwZone):
			out.Name += " WITH TIME ZONE"
		case p.acceptKw(kwWithout, kwTime, kwZone):
		}
	default:
		if p.acceptKw(kwUnsigned) {
			out.Name += " UNSIGNED"
		}
	}
}
