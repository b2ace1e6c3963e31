package types

import (
	"fmt"
	"strings"
)

// Parse reads a type as String prints it, and nothing else. It is the codec of
// types in Loam's formats; SQL's many spellings go through Named.
func Parse(s string) (Type, bool) {
	if len(s) > maxName {
		return Type{}, false
	}
	p := parser{rest: s}
	t, ok := p.typ(0)
	if !ok || p.rest != "" || t.String() != s {
		return Type{}, false
	}
	return t, true
}

// maxDepth bounds how deep types are nested, maxName how long a type's name is.
const (
	maxDepth = 16
	maxName  = 1 << 20
)

// Deep reports whether a type is nested deeper than formats hold.
func (t Type) Deep() bool { return t.depth() > maxDepth }

func (t Type) depth() int {
	deepest := 0
	for _, f := range t.Fields {
		deepest = max(deepest, 1+f.Type.depth())
	}
	if t.Elem != nil {
		deepest = 1 + t.Elem.depth()
	}
	return deepest
}

// parser reads a type from the front of rest.
type parser struct{ rest string }

func (p *parser) take(s string) bool {
	rest, ok := strings.CutPrefix(p.rest, s)
	if ok {
		p.rest = rest
	}
	return ok
}

// typ reads one type that stands depth levels deep.
func (p *parser) typ(depth int) (Type, bool) {
	if depth > maxDepth {
		return Type{}, false
	}
	var t Type
	ok := false
	switch {
	case p.take("STRUCT("):
		t, ok = p.fields(depth + 1)
	case p.take("MAP("):
		t, ok = p.entry(depth + 2)
	default:
		t, ok = p.plain()
	}
	for ok && p.take("[]") {
		if t = ListOf(t); t.depth()+depth > maxDepth {
			return t, false
		}
	}
	return t, ok
}

func (p *parser) fields(depth int) (Type, bool) {
	t := Type{Kind: Struct}
	for {
		name, ok := p.name()
		if !ok || !p.take(" ") || t.FieldNamed(name) >= 0 {
			return t, false
		}
		f, ok := p.typ(depth)
		if !ok {
			return t, false
		}
		t.Fields = append(t.Fields, Field{name, f})
		if p.take(")") {
			return t, true
		}
		if !p.take(", ") {
			return t, false
		}
	}
}

func (p *parser) entry(depth int) (Type, bool) {
	key, ok := p.typ(depth)
	if !ok || !p.take(", ") {
		return Type{}, false
	}
	value, ok := p.typ(depth)
	return MapOf(key, value), ok && p.take(")")
}

// name reads a field's name: a plain word, or a name in double quotes.
func (p *parser) name() (string, bool) {
	if !p.take(`"`) {
		n := 0
		for n < len(p.rest) && plainByte(p.rest[n], n) {
			n++
		}
		name := p.rest[:n]
		p.rest = p.rest[n:]
		return name, n > 0
	}
	var b strings.Builder
	for i := 0; i < len(p.rest); i++ {
		switch {
		case p.rest[i] != '"':
			b.WriteByte(p.rest[i])
		case strings.HasPrefix(p.rest[i:], `""`):
			b.WriteByte('"')
			i++
		default:
			p.rest = p.rest[i+1:]
			return b.String(), true
		}
	}
	return "", false
}

func plainByte(c byte, at int) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || at > 0 && c >= '0' && c <= '9'
}

// quoteName is a field's name as SQL reads it: in double quotes unless it is a plain word.
func quoteName(name string) string {
	for i := range len(name) {
		if !plainByte(name[i], i) {
			return `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
		}
	}
	if name == "" {
		return `""`
	}
	return name
}

// plain reads a type that holds no others.
func (p *parser) plain() (Type, bool) {
	end := strings.IndexAny(p.rest, "[,)(")
	if end >= 0 && p.rest[end] == '(' {
		close := strings.IndexByte(p.rest, ')')
		if close < 0 {
			return Type{}, false
		}
		end = close + 1
	}
	if end < 0 {
		end = len(p.rest)
	}
	word := p.rest[:end]
	p.rest = p.rest[end:]
	return parsePlain(word)
}

func parsePlain(s string) (Type, bool) {
	var p, q int64
	if n, _ := fmt.Sscanf(s, "DECIMAL(%d,%d)", &p, &q); n == 2 {
		return decimalNamed([]int64{p, q})
	}
	if n, _ := fmt.Sscanf(s, "VECTOR(%d)", &p); n == 1 {
		return VectorOf(int32(p)), p > 0 && p <= MaxDim
	}
	for k, name := range kindNames {
		if name == s {
			return Of(Kind(k)), !hasParameters(Kind(k))
		}
	}
	return Type{}, false
}

// hasParameters reports the kinds that [Of] does not make.
func hasParameters(k Kind) bool {
	switch k {
	case Decimal, Vector, List, Struct, Map:
		return true
	}
	return false
}
