package ast

import (
	"fmt"
	"reflect"
	"strings"
	"unicode/utf8"
)

// Dump draws a tree as an S-expression for people and golden files: the type of
// each node and its fields that are set, without places. Lists are in square
// brackets, names as they were written, strings in Go quotes. A part that fits
// in 100 columns stays on one line.
func Dump(n Node) string {
	if n == nil {
		return "nil"
	}
	return render(sexpr(reflect.ValueOf(n)), 0)
}

// sx is a drawn part: a word, or a group of parts with its brackets.
type sx struct {
	word  string
	open  string // "(" or "[" for a group
	parts []sx
}

var identType = reflect.TypeFor[Ident]()

func sexpr(v reflect.Value) sx {
	switch v.Kind() {
	case reflect.Interface, reflect.Pointer:
		if v.Type() == reflect.TypeFor[*bool]() {
			return sx{word: fmt.Sprint(v.Elem().Bool())}
		}
		return sexpr(v.Elem())
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return sx{word: fmt.Sprintf("%x", v.Bytes())}
		}
		g := sx{open: "["}
		for i := range v.Len() {
			g.parts = append(g.parts, sexpr(v.Index(i)))
		}
		return g
	case reflect.Struct:
		if v.Type() == identType {
			return sx{word: identWord(v.Interface().(Ident))}
		}
		return structSexpr(v)
	case reflect.String:
		if v.Type() == reflect.TypeFor[Op]() {
			return sx{word: v.String()}
		}
		return sx{word: fmt.Sprintf("%q", v.String())}
	default:
		return sx{word: fmt.Sprint(v.Interface())}
	}
}

func structSexpr(v reflect.Value) sx {
	t := v.Type()
	g := sx{open: "(", parts: []sx{{word: t.Name()}}}
	if t == reflect.TypeFor[Name]() {
		return sx{word: nameWord(v.Interface().(Name).Parts)}
	}
	for i := range t.NumField() {
		f := t.Field(i)
		if isPlace(f) || (v.Field(i).IsZero() && f.Type.Kind() != reflect.Uint8) {
			continue
		}
		if s, ok := v.Field(i).Interface().(fmt.Stringer); ok && f.Type.Kind() == reflect.Uint8 {
			if s.String() != "" && s.String() != "?" {
				g.parts = append(g.parts, sx{word: strings.ReplaceAll(s.String(), " ", "_")})
			}
			continue
		}
		if f.Type.Kind() == reflect.Bool {
			g.parts = append(g.parts, sx{word: strings.ToLower(f.Name)})
			continue
		}
		part := sexpr(v.Field(i))
		if t.NumField() > 2 || part.open == "(" {
			g.parts = append(g.parts, sx{word: strings.ToLower(f.Name) + ":"})
		}
		g.parts = append(g.parts, part)
	}
	return g
}

func identWord(id Ident) string {
	if id.Quoted {
		return `"` + strings.ReplaceAll(id.Text, `"`, `""`) + `"`
	}
	return id.Text
}

func nameWord(parts []Ident) string {
	words := make([]string, len(parts))
	for i, p := range parts {
		words[i] = identWord(p)
	}
	return strings.Join(words, ".")
}

const dumpColumns = 100

func render(s sx, indent int) string {
	if flat := s.flat(); indent+utf8.RuneCountInString(flat) <= dumpColumns {
		return flat
	}
	if s.open == "" {
		return s.word
	}
	var b strings.Builder
	b.WriteString(s.open)
	pad := "\n" + strings.Repeat(" ", indent+1)
	afterLabel := false
	for i, p := range s.parts {
		switch {
		case i == 0:
		case afterLabel:
			b.WriteByte(' ')
		default:
			b.WriteString(pad)
		}
		afterLabel = p.open == "" && strings.HasSuffix(p.word, ":") && !strings.HasPrefix(p.word, `"`)
		b.WriteString(render(p, indent+1))
	}
	b.WriteString(s.closing())
	return b.String()
}

func (s sx) closing() string {
	if s.open == "[" {
		return "]"
	}
	return ")"
}

func (s sx) flat() string {
	if s.open == "" {
		return s.word
	}
	words := make([]string, len(s.parts))
	for i, p := range s.parts {
		words[i] = p.flat()
	}
	return s.open + strings.Join(words, " ") + s.closing()
}
