package functions

import (
	"fmt"
	"math"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// wordTable holds the functions that cut, quote, clean and compose texts.
var wordTable = []def{
	{names: "string_to_array", help: "the parts between separators as a list; a NULL separator gives the characters, the third argument says which part is NULL", nulls: true, sigs: []sig{
		{in: "text, text", ret: "text[]", eval: evalStringToArray}, {in: "text, text, text", ret: "text[]", eval: evalStringToArray},
	}},
	{names: "string_split str_split split", help: "the parts between separators as a list; an empty separator gives the characters", sigs: []sig{{in: "text, text", ret: "text[]", eval: textTexts(strings.Split)}}},
	{names: "regexp_split_to_array string_split_regex str_split_regex regexp_split", help: "the parts between matches of a regular expression as a list", sigs: regexSigs("text[]", func(re *regex, s string, out *vec.Vector, _ int) {
		appendTexts(out, re.re.Split(s, -1))
	})},
	{names: "regexp_extract", help: "the first match of a regular expression, or its group k; an empty text if there is none", sigs: regexGroup("text", func(re *regex, s string, k int, out *vec.Vector, i int) {
		if m := re.re.FindStringSubmatch(s); m != nil {
			out.Strings.Set(i, m[k])
		}
	})},
	{names: "regexp_extract_all", help: "all matches of a regular expression, or their group k, as a list", sigs: regexGroup("text[]", func(re *regex, s string, k int, out *vec.Vector, _ int) {
		var parts []string
		for _, m := range re.re.FindAllStringSubmatch(s, -1) {
			parts = append(parts, m[k])
		}
		appendTexts(out, parts)
	})},
	{names: "regexp_substr", help: "the first match of a regular expression, NULL if there is none", sigs: regexSigs("text", func(re *regex, s string, out *vec.Vector, i int) {
		at := re.re.FindStringIndex(s)
		if at == nil {
			out.SetNull(i)
			return
		}
		out.Strings.Set(i, s[at[0]:at[1]])
	})},
	{names: "regexp_instr", help: "where the first match of a regular expression begins, 0 if nowhere", sigs: regexSigs("bigint", func(re *regex, s string, out *vec.Vector, i int) {
		if at := re.re.FindStringIndex(s); at != nil {
			out.Int64s[i] = int64(utf8.RuneCountInString(s[:at[0]])) + 1
		}
	})},
	{names: "regexp_full_match", help: "whether a regular expression matches the whole text", sigs: []sig{{in: "text, text", ret: "boolean", eval: func(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
		s, p := textsOf(args[0]), textsOf(args[1])
		var m memo
		for i := range n {
			re, err := m.get(`\A(?:`+p.at(i)+`)\z`, "")
			if err != nil {
				return err
			}
			out.Bools[i] = re.match(s.at(i))
		}
		return nil
	}}}},
	{names: "regexp_escape", help: "the text with all that means something in a regular expression escaped", sigs: []sig{{in: "text", ret: "text", eval: text1(regexp.QuoteMeta)}}},
	{names: "quote_literal", help: "the text as an SQL literal", sigs: []sig{{in: "astext", ret: "text", eval: text1(quoteLiteral)}}},
	{names: "quote_nullable", help: "the text as an SQL literal; NULL becomes the word NULL", nulls: true, sigs: []sig{{in: "astext", ret: "text", eval: func(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
		for i := range n {
			if args[0].IsNull(i) {
				out.Strings.Set(i, "NULL")
			} else {
				out.Strings.Set(i, quoteLiteral(textsOf(args[0]).at(i)))
			}
		}
		return nil
	}}}},
	{names: "quote_ident", help: "the text as an SQL name, in double quotes where that is needed", sigs: []sig{{in: "text", ret: "text", eval: text1(quoteIdent)}}},
	{names: "strip_accents unaccent", help: "without accents and other marks", sigs: []sig{{in: "text", ret: "text", eval: text1(stripAccents)}}},
	{names: "normalize nfc_normalize", help: "in Unicode's normal form NFC, or the one that is named: NFC, NFD, NFKC, NFKD", sigs: []sig{
		{in: "text", ret: "text", eval: text1(norm.NFC.String)},
		{in: "text, text", ret: "text", eval: evalNormalize},
	}},
	{names: "overlay", help: "with the characters from a position on replaced, as many as the new text or the fourth argument says", sigs: []sig{
		{in: "text, text, bigint", ret: "text", eval: evalOverlay}, {in: "text, text, bigint, bigint", ret: "text", eval: evalOverlay},
	}},
	{names: "substring_index substr_index", help: "what stands before the k-th separator; from the end when k < 0, then what stands behind", sigs: []sig{{in: "text, text, bigint", ret: "text", eval: evalSubstringIndex}}},
	{names: "find_in_set", help: "where a text is in a list of texts separated by commas, 0 if nowhere", sigs: []sig{{in: "text, text", ret: "bigint", eval: func(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
		s, set := textsOf(args[0]), textsOf(args[1])
		for i := range n {
			for k, part := range strings.Split(set.at(i), ",") {
				if part == s.at(i) && set.at(i) != "" {
					out.Int64s[i] = int64(k) + 1
					break
				}
			}
		}
		return nil
	}}}},
	{names: "space", help: "k blanks", sigs: []sig{{in: "bigint", ret: "text", eval: func(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
		k := longs(args[0])
		return growing(n, out, func(i int) (string, error) { return repeat(" ", k.at(i)) })
	}}}},
	{names: "format", apart: true, help: "the text with %s replaced by the next argument, %I by it as a name, %L as a literal, %% by %; %2$s names the argument", nulls: true, sigs: []sig{{in: "text, astext...", ret: "text", eval: evalFormat}}},
	{names: "printf", apart: true, help: "the text with C's %d, %x, %o, %f, %e, %g, %s, %c replaced by the arguments in turn, with flags, width and precision", sigs: []sig{{in: "text, any...", ret: "text", eval: evalPrintf}}},
	{names: "error", help: "fails with the text as its message", sigs: []sig{{in: "text", ret: "boolean", eval: func(_ *expr.Env, args []*vec.Vector, n int, _ *vec.Vector) error {
		if n == 0 {
			return nil
		}
		return fail.New(fail.InvalidParameter, "%.500s", textsOf(args[0]).at(0))
	}}}},
}

// appendTexts appends a list of texts.
func appendTexts(out *vec.Vector, parts []string) {
	val := vec.Value{Type: out.Type, List: make([]vec.Value, len(parts))}
	for i, p := range parts {
		val.List[i] = vec.Text(p)
	}
	out.Append(val)
}

// textTexts adapts (text, text) → text[].
func textTexts(f func(a, b string) []string) expr.EvalFunc {
	return func(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
		a, b := textsOf(args[0]), textsOf(args[1])
		for i := range n {
			appendTexts(out, f(a.at(i), b.at(i)))
		}
		return nil
	}
}

func evalStringToArray(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
	for i := range n {
		if args[0].IsNull(i) {
			out.AppendNull()
			continue
		}
		s := textsOf(args[0]).at(i)
		var parts []string
		switch {
		case s == "":
		case args[1].IsNull(i):
			parts = strings.Split(s, "")
		case textsOf(args[1]).at(i) == "":
			parts = []string{s}
		default:
			parts = strings.Split(s, textsOf(args[1]).at(i))
		}
		val := vec.Value{Type: out.Type}
		for _, p := range parts {
			e := vec.Text(p)
			e.Null = len(args) > 2 && !args[2].IsNull(i) && textsOf(args[2]).at(i) == p
			val.List = append(val.List, e)
		}
		out.Append(val)
	}
	return nil
}

// regexGroup are the overloads with and without the number of a group.
func regexGroup(ret string, f func(re *regex, s string, k int, out *vec.Vector, i int)) []sig {
	eval := func(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
		s, p := textsOf(args[0]), textsOf(args[1])
		var m memo
		for i := range n {
			re, err := m.get(p.at(i), "")
			if err != nil {
				return err
			}
			k := int64(0)
			if len(args) > 2 {
				k = longs(args[2]).at(i)
			}
			if k < 0 || k > int64(re.re.NumSubexp()) {
				return fail.New(fail.InvalidParameter, "the regular expression has %s, and no group %d", fail.Count(re.re.NumSubexp(), "group"), k)
			}
			f(re, s.at(i), int(k), out, i)
		}
		return nil
	}
	return []sig{{in: "text, text", ret: ret, eval: eval}, {in: "text, text, bigint", ret: ret, eval: eval}}
}

func quoteLiteral(s string) string {
	prefix := ""
	if strings.Contains(s, `\`) {
		prefix, s = " E", strings.ReplaceAll(s, `\`, `\\`)
	}
	return prefix + "'" + strings.ReplaceAll(s, "'", "''") + "'"
}

func quoteIdent(s string) string {
	for i := range len(s) {
		c := s[i]
		if c >= 'a' && c <= 'z' || c == '_' || i > 0 && c >= '0' && c <= '9' {
			continue
		}
		return `"` + strings.ReplaceAll(s, `"`, `""`) + `"`
	}
	if s == "" {
		return `""`
	}
	return s
}

func stripAccents(s string) string {
	return norm.NFC.String(strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) {
			return -1
		}
		return r
	}, norm.NFD.String(s)))
}

var normalForms = map[string]norm.Form{"NFC": norm.NFC, "NFD": norm.NFD, "NFKC": norm.NFKC, "NFKD": norm.NFKD}

func evalNormalize(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
	s, name := textsOf(args[0]), textsOf(args[1])
	for i := range n {
		form, ok := normalForms[strings.ToUpper(name.at(i))]
		if !ok {
			return fail.New(fail.InvalidParameter, "there is no normal form %q", name.at(i)).WithHint("It is one of NFC, NFD, NFKC, NFKD.")
		}
		out.Strings.Set(i, form.String(s.at(i)))
	}
	return nil
}

func evalOverlay(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
	s, r, from := textsOf(args[0]), textsOf(args[1]), longs(args[2])
	return growing(n, out, func(i int) (string, error) {
		at := from.at(i)
		if at < 1 {
			return "", fail.New(fail.InvalidParameter, "overlay: positions count from 1")
		}
		count := int64(utf8.RuneCountInString(r.at(i)))
		if len(args) > 3 {
			count = longs(args[3]).at(i)
		}
		runes := []rune(s.at(i))
		start := min(at-1, int64(len(runes)))
		end := min(max(start+min(count, int64(len(runes))), 0), int64(len(runes)))
		return string(runes[:start]) + r.at(i) + string(runes[end:]), nil
	})
}

func evalSubstringIndex(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
	s, sep, k := textsOf(args[0]), textsOf(args[1]), longs(args[2])
	for i := range n {
		out.Strings.Set(i, substringIndex(s.at(i), sep.at(i), k.at(i)))
	}
	return nil
}

func substringIndex(s, sep string, k int64) string {
	if sep == "" || k == 0 {
		return ""
	}
	parts := strings.Split(s, sep)
	switch size := int64(len(parts)); {
	case k >= size || k <= -size:
		return s
	case k > 0:
		return strings.Join(parts[:k], sep)
	default:
		return strings.Join(parts[size+k:], sep)
	}
}

// directive is one %… of format and printf.
var directive = regexp.MustCompile(`^%(?:(\d+)\$)?([-+ 0#]*)(\d*)(\.\d*)?([a-zA-Z%])`)

// maxWidth bounds the width and precision of a directive.
const maxWidth = 10_000

// directives walks a format and replaces each directive by what put returns.
func directives(name, format string, put func(d []string) (string, error)) (string, error) {
	var b strings.Builder
	for format != "" {
		text, rest, found := strings.Cut(format, "%")
		b.WriteString(text)
		if !found {
			break
		}
		d := directive.FindStringSubmatch("%" + rest)
		if d == nil || tooWide(d[3]) || tooWide(strings.TrimPrefix(d[4], ".")) {
			return "", fail.New(fail.InvalidParameter, "%s: %q has an unknown directive", name, "%"+rest).WithHint("Write %%%% for a percent sign.")
		}
		format = rest[len(d[0])-1:]
		if d[5] == "%" {
			b.WriteByte('%')
			continue
		}
		part, err := put(d)
		if err != nil {
			return "", err
		}
		b.WriteString(part)
	}
	return b.String(), nil
}

func tooWide(digits string) bool {
	n := 0
	_, _ = fmt.Sscan(digits, &n)
	return n > maxWidth || len(digits) > 6
}

func evalFormat(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
	return growing(n, out, func(i int) (string, error) {
		if args[0].IsNull(i) {
			out.SetNull(i)
			return "", nil
		}
		next := 0
		return directives("format", textsOf(args[0]).at(i), func(d []string) (string, error) {
			next++
			if d[1] != "" {
				_, _ = fmt.Sscan(d[1], &next)
			}
			if next < 1 || next >= len(args) {
				return "", fail.New(fail.InvalidParameter, "format has %s, and no argument %d", fail.Count(len(args)-1, "argument"), next)
			}
			s, null := "", args[next].IsNull(i)
			if !null {
				s = textsOf(args[next]).at(i)
			}
			switch {
			case d[5] == "I" && null:
				return "", fail.New(fail.InvalidParameter, "format: a name is NULL")
			case d[5] == "I":
				s = quoteIdent(s)
			case d[5] == "L" && null:
				s = "NULL"
			case d[5] == "L":
				s = quoteLiteral(s)
			case d[5] != "s":
				return "", fail.New(fail.InvalidParameter, "format: unknown directive %s", d[0]).WithHint("It has %%s, %%I and %%L; printf has the others.")
			}
			return fmt.Sprintf("%"+strings.Trim(d[2], "+ 0#")+d[3]+"s", s), nil
		})
	})
}

func evalPrintf(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
	return growing(n, out, func(i int) (string, error) {
		next := 0
		return directives("printf", textsOf(args[0]).at(i), func(d []string) (string, error) {
			if next++; next >= len(args) {
				return "", fail.New(fail.InvalidParameter, "printf: %s has no argument", d[0])
			}
			return printfPart(d, args[next].Value(i))
		})
	})
}

// printfPart formats one value by a directive of C.
func printfPart(d []string, v vec.Value) (string, error) {
	verb := "%" + d[2] + d[3] + d[4]
	wrong := func() (string, error) {
		return "", fail.New(fail.InvalidParameter, "printf: %s does not take %s", d[0], v.Type)
	}
	switch d[5] {
	case "d", "i", "u", "x", "X", "o", "c":
		if !v.Type.Integer() {
			return wrong()
		}
		if d[5] == "i" || d[5] == "u" {
			d[5] = "d"
		}
		return fmt.Sprintf(verb+d[5], v.Int), nil
	case "f", "F", "e", "E", "g", "G":
		f, ok := asDouble(v)
		if !ok {
			return wrong()
		}
		return fmt.Sprintf(verb+d[5], f), nil
	case "s":
		return fmt.Sprintf(verb+"s", v.String()), nil
	}
	return "", fail.New(fail.InvalidParameter, "printf: unknown directive %s", d[0])
}

func asDouble(v vec.Value) (float64, bool) {
	switch {
	case v.Type.Integer():
		return float64(v.Int), true
	case v.Type.Kind == types.Double:
		return v.Float, true
	case v.Type.Kind == types.Decimal:
		return v.Dec.ToFloat64(int32(v.Type.Scale)), true
	}
	return math.NaN(), false
}
