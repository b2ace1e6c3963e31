package functions

import (
	"errors"
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode/utf8"

	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// patternTable holds LIKE and the regular expressions. A constant pattern is
// compiled once per program, any other once per run of equal rows.
var patternTable = []def{
	{names: "like ~~", help: "matches a pattern of % (any text) and _ (one character)", sigs: likeSigs(false, false)},
	{names: "ilike ~~*", help: "LIKE that ignores case", sigs: likeSigs(true, false)},
	{names: "!~~", help: "NOT LIKE", sigs: likeSigs(false, true)},
	{names: "!~~*", help: "NOT ILIKE", sigs: likeSigs(true, true)},
	{names: "~", help: "matches a regular expression", sigs: append(regexOp("", false), sig{in: "bigint", ret: "bigint", eval: bitNot})},
	{names: "~*", help: "matches a regular expression, ignoring case", sigs: regexOp("i", false)},
	{names: "!~", help: "does not match a regular expression", sigs: regexOp("", true)},
	{names: "!~*", help: "does not match a regular expression, ignoring case", sigs: regexOp("i", true)},
	{names: "regexp_like regexp_matches", help: "whether a regular expression matches; flags i, m, s", sigs: regexSigs("boolean", regexLike)},
	{names: "regexp_match", help: "the first match's groups (or the whole match), NULL for none", sigs: regexSigs("text[]", regexMatch)},
	{names: "regexp_count", help: "number of matches", sigs: regexSigs("bigint", regexCount)},
	{names: "regexp_replace", help: "the first match replaced, all with flag g; \\1 is a group", sigs: []sig{
		{in: "text, text, text", ret: "text", eval: evalRegexReplace, prepare: prepareReplace},
		{in: "text, text, text, text", ret: "text", eval: evalRegexReplace, prepare: prepareReplace},
	}},
}

// A matcher decides whether a text matches a LIKE pattern.
type matcher struct {
	fold     bool
	segments []segment
	// anchored at the ends: no % there
	start, end bool
	// literal is set when the pattern is one segment without _.
	literal string
	plain   bool
}

// anyRune stands for _ in a segment.
const anyRune = -1

// segment is the part between two %.
type segment struct {
	text  string
	runes []rune // nil when there is no _
}

// compileLike reads a pattern; escape is the escape character, 0 for none.
func compileLike(pattern string, escape rune, fold bool) (*matcher, error) {
	if fold {
		pattern = strings.ToLower(pattern)
	}
	m := &matcher{fold: fold, start: true, end: true}
	var cur []rune
	wild, first := false, true
	flush := func() {
		s := segment{text: string(cur)}
		if wild {
			s.runes = append([]rune(nil), cur...)
		}
		m.segments = append(m.segments, s)
		cur, wild = cur[:0], false
	}
	runes := []rune(pattern)
	for i := 0; i < len(runes); i++ {
		r := runes[i]
		switch {
		case r == escape && escape != 0:
			if i++; i == len(runes) {
				return nil, fail.New(fail.InvalidParameter, "the LIKE pattern %q ends with its escape character", pattern)
			}
			cur = append(cur, runes[i])
		case r == '%':
			if first && len(cur) == 0 {
				m.start = false
			} else if len(cur) > 0 {
				flush()
			}
			m.end = false
		case r == '_':
			cur, wild, m.end = append(cur, anyRune), true, true
		default:
			cur, m.end = append(cur, r), true
		}
		first = false
	}
	if len(cur) > 0 || len(m.segments) == 0 {
		flush()
	}
	if len(m.segments) == 1 && m.segments[0].runes == nil {
		m.plain, m.literal = true, m.segments[0].text
	}
	return m, nil
}

func (m *matcher) match(s string) bool {
	if m.fold {
		s = strings.ToLower(s)
	}
	if m.plain {
		switch {
		case m.start && m.end:
			return s == m.literal
		case m.start:
			return strings.HasPrefix(s, m.literal)
		case m.end:
			return strings.HasSuffix(s, m.literal)
		}
		return strings.Contains(s, m.literal)
	}
	return m.general(s)
}

// general takes the first segment at the front and the last at the end if they
// are anchored, and finds the others from left to right, each as early as possible.
func (m *matcher) general(s string) bool {
	segs := m.segments
	if m.start {
		n, ok := segs[0].at(s)
		if !ok {
			return false
		}
		s, segs = s[n:], segs[1:]
		if len(segs) == 0 {
			return !m.end || s == ""
		}
	}
	var last *segment
	if m.end {
		last, segs = &segs[len(segs)-1], segs[:len(segs)-1]
	}
	for i := range segs {
		_, end, ok := segs[i].find(s)
		if !ok {
			return false
		}
		s = s[end:]
	}
	return last == nil || last.atEnd(s)
}

// at reports whether the segment is a prefix of s, and its length there.
func (g *segment) at(s string) (int, bool) {
	if g.runes == nil {
		return len(g.text), strings.HasPrefix(s, g.text)
	}
	n := 0
	for _, want := range g.runes {
		if n == len(s) {
			return 0, false
		}
		r, size := utf8.DecodeRuneInString(s[n:])
		if want != anyRune && want != r {
			return 0, false
		}
		n += size
	}
	return n, true
}

func (g *segment) find(s string) (from, end int, ok bool) {
	if g.runes == nil {
		i := strings.Index(s, g.text)
		return i, i + len(g.text), i >= 0
	}
	for i := 0; ; {
		if n, ok := g.at(s[i:]); ok {
			return i, i + n, true
		}
		if i == len(s) {
			return 0, 0, false
		}
		_, size := utf8.DecodeRuneInString(s[i:])
		i += size
	}
}

func (g *segment) atEnd(s string) bool {
	if g.runes == nil {
		return strings.HasSuffix(s, g.text)
	}
	i := len(s)
	for range g.runes {
		if i == 0 {
			return false
		}
		_, size := utf8.DecodeLastRuneInString(s[:i])
		i -= size
	}
	n, ok := g.at(s[i:])
	return ok && i+n == len(s)
}

func likeSigs(fold, negate bool) []sig {
	l := likeFunc{fold, negate}
	return []sig{
		{in: "text, text", ret: "boolean", eval: l.eval, prepare: l.prepare},
		{in: "text, text, text", ret: "boolean", eval: l.eval, prepare: l.prepare},
	}
}

type likeFunc struct{ fold, negate bool }

func escapeOf(s string) (rune, error) {
	r, size := utf8.DecodeRuneInString(s)
	switch {
	case s == "":
		return 0, nil
	case size != len(s):
		return 0, fail.New(fail.InvalidParameter, "the escape %q is not a single character", s)
	}
	return r, nil
}

func (l likeFunc) prepare(consts []*vecValue) (expr.EvalFunc, error) {
	if consts[1] == nil || consts[1].Null || len(consts) > 2 && (consts[2] == nil || consts[2].Null) {
		return nil, nil
	}
	escape := '\\'
	var err error
	if len(consts) > 2 {
		if escape, err = escapeOf(consts[2].Str); err != nil {
			return nil, err
		}
	}
	m, err := compileLike(consts[1].Str, escape, l.fold)
	if err != nil {
		return nil, err
	}
	return func(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
		s := textsOf(args[0])
		for i := range n {
			out.Bools[i] = m.match(s.at(i)) != l.negate
		}
		return nil
	}, nil
}

func (l likeFunc) eval(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
	s, p := textsOf(args[0]), textsOf(args[1])
	var m *matcher
	var of, ofEscape string
	for i := range n {
		esc := `\`
		if len(args) > 2 {
			esc = textsOf(args[2]).at(i)
		}
		if pattern := p.at(i); m == nil || pattern != of || esc != ofEscape {
			escape, err := escapeOf(esc)
			if err != nil {
				return err
			}
			if m, err = compileLike(pattern, escape, l.fold); err != nil {
				return err
			}
			of, ofEscape = pattern, esc
		}
		out.Bools[i] = m.match(s.at(i)) != l.negate
	}
	return nil
}

// regex is a compiled expression with the literal that every match contains.
type regex struct {
	re      *regexp.Regexp
	literal string
}

func compileRegex(pattern, flags string) (*regex, error) {
	inline := ""
	for _, f := range flags {
		switch f {
		case 'i', 'm', 's':
			inline += string(f)
		case 'n':
			inline += "m"
		case 'c', 'g':
		default:
			return nil, fail.New(fail.InvalidParameter, "unknown regular expression flag %q", f).WithHint("Flags are i, m, s and, to replace all, g.")
		}
	}
	if inline != "" {
		pattern = "(?" + inline + ")" + pattern
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		reason := err.Error()
		var se *syntax.Error
		if errors.As(err, &se) {
			reason = string(se.Code) + " `" + se.Expr + "`"
			if se.Code == syntax.ErrInvalidPerlOp || se.Code == syntax.ErrInvalidEscape {
				return nil, fail.New(fail.InvalidParameter, "regular expression: %s", reason).
					WithHint("Look-around and back references do not exist here (RE2 syntax).")
			}
		}
		return nil, fail.New(fail.InvalidParameter, "regular expression: %s", reason)
	}
	return &regex{re: re, literal: requiredLiteral(pattern)}, nil
}

// requiredLiteral is the longest text that every match contains, or "".
func requiredLiteral(pattern string) string {
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return ""
	}
	best := ""
	var look func(re *syntax.Regexp)
	look = func(re *syntax.Regexp) {
		switch re.Op {
		case syntax.OpLiteral:
			if s := string(re.Rune); re.Flags&syntax.FoldCase == 0 && len(s) > len(best) {
				best = s
			}
		case syntax.OpConcat, syntax.OpCapture, syntax.OpPlus:
			for _, sub := range re.Sub {
				look(sub)
			}
		}
	}
	look(re.Simplify())
	return best
}

func (r *regex) match(s string) bool {
	return strings.Contains(s, r.literal) && r.re.MatchString(s)
}

// memo keeps the last compiled expression of a run of rows.
type memo struct {
	re             *regex
	pattern, flags string
}

func (m *memo) get(pattern, flags string) (*regex, error) {
	if m.re != nil && m.pattern == pattern && m.flags == flags {
		return m.re, nil
	}
	re, err := compileRegex(pattern, flags)
	if err != nil {
		return nil, err
	}
	m.re, m.pattern, m.flags = re, strings.Clone(pattern), strings.Clone(flags)
	return re, nil
}

// constText is the value of a constant argument; ok is false if it is none.
func constText(consts []*vecValue, i int) (s string, ok bool) {
	if i >= len(consts) {
		return "", true
	}
	if consts[i] == nil || consts[i].Null {
		return "", false
	}
	return consts[i].Str, true
}

func constRegex(consts []*vecValue, flagsAt int) (*regex, error) {
	pattern, ok := constText(consts, 1)
	flags, okFlags := constText(consts, flagsAt)
	if !ok || !okFlags {
		return nil, nil
	}
	return compileRegex(pattern, flags)
}

// rowFunc puts the outcome of one row.
type rowFunc func(re *regex, s string, out *vec.Vector, i int)

func regexSigs(ret string, f rowFunc) []sig {
	eval := func(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
		s, p, flags := textsOf(args[0]), textsOf(args[1]), ""
		var m memo
		for i := range n {
			if len(args) > 2 {
				flags = textsOf(args[2]).at(i)
			}
			re, err := m.get(p.at(i), flags)
			if err != nil {
				return err
			}
			f(re, s.at(i), out, i)
		}
		return nil
	}
	prepare := func(consts []*vecValue) (expr.EvalFunc, error) {
		re, err := constRegex(consts, 2)
		if re == nil || err != nil {
			return nil, err
		}
		return func(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
			s := textsOf(args[0])
			for i := range n {
				f(re, s.at(i), out, i)
			}
			return nil
		}, nil
	}
	return []sig{
		{in: "text, text", ret: ret, eval: eval, prepare: prepare},
		{in: "text, text, text", ret: ret, eval: eval, prepare: prepare},
	}
}

func regexOp(flags string, negate bool) []sig {
	f := func(re *regex, s string, out *vec.Vector, i int) { out.Bools[i] = re.match(s) != negate }
	return []sig{{in: "text, text", ret: "boolean",
		eval: func(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
			s, p := textsOf(args[0]), textsOf(args[1])
			var m memo
			for i := range n {
				re, err := m.get(p.at(i), flags)
				if err != nil {
					return err
				}
				f(re, s.at(i), out, i)
			}
			return nil
		},
		prepare: func(consts []*vecValue) (expr.EvalFunc, error) {
			pattern, ok := constText(consts, 1)
			if !ok {
				return nil, nil
			}
			re, err := compileRegex(pattern, flags)
			if err != nil {
				return nil, err
			}
			return func(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
				s := textsOf(args[0])
				for i := range n {
					f(re, s.at(i), out, i)
				}
				return nil
			}, nil
		},
	}}
}

func regexLike(re *regex, s string, out *vec.Vector, i int) { out.Bools[i] = re.match(s) }

func regexCount(re *regex, s string, out *vec.Vector, i int) {
	if strings.Contains(s, re.literal) {
		out.Int64s[i] = int64(len(re.re.FindAllStringIndex(s, -1)))
	}
}

func regexMatch(re *regex, s string, out *vec.Vector, _ int) {
	var m []int
	if strings.Contains(s, re.literal) {
		m = re.re.FindStringSubmatchIndex(s)
	}
	if m == nil {
		out.AppendNull()
		return
	}
	if len(m) > 2 {
		m = m[2:]
	}
	val := vec.Value{Type: out.Type}
	for j := 0; j < len(m); j += 2 {
		if m[j] < 0 {
			val.List = append(val.List, vec.Null(types.Of(types.Text)))
		} else {
			val.List = append(val.List, vec.Text(s[m[j]:m[j+1]]))
		}
	}
	out.Append(val)
}

// template turns \1 and \& into the form that package regexp expands.
func template(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '$':
			b.WriteString("$$")
		case s[i] != '\\' || i+1 == len(s):
			b.WriteByte(s[i])
		case s[i+1] >= '0' && s[i+1] <= '9':
			i++
			b.WriteString("${" + s[i:i+1] + "}")
		case s[i+1] == '&':
			i++
			b.WriteString("${0}")
		default:
			i++
			b.WriteByte(s[i])
		}
	}
	return b.String()
}

func (r *regex) replace(s, with string, all bool) (string, error) {
	if !strings.Contains(s, r.literal) {
		return s, nil
	}
	// Groups of different matches do not overlap: each reference adds at most s.
	if (len(s)+1)*len(with) > maxText {
		matches := len(r.re.FindAllStringIndex(s, -1))
		if matches*len(with)+strings.Count(with, "${")*len(s) > maxText {
			return "", tooLong("regexp_replace")
		}
	}
	if all {
		return r.re.ReplaceAllString(s, with), nil
	}
	m := r.re.FindStringSubmatchIndex(s)
	if m == nil {
		return s, nil
	}
	out := r.re.ExpandString([]byte(s[:m[0]]), with, s, m)
	return string(append(out, s[m[1]:]...)), nil
}

func evalRegexReplace(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
	s, p, with, flags := textsOf(args[0]), textsOf(args[1]), textsOf(args[2]), ""
	var m memo
	return growing(n, out, func(i int) (string, error) {
		if len(args) > 3 {
			flags = textsOf(args[3]).at(i)
		}
		re, err := m.get(p.at(i), flags)
		if err != nil {
			return "", err
		}
		return re.replace(s.at(i), template(with.at(i)), strings.Contains(flags, "g"))
	})
}

func prepareReplace(consts []*vecValue) (expr.EvalFunc, error) {
	re, err := constRegex(consts, 3)
	with, ok := constText(consts, 2)
	if re == nil || err != nil || !ok {
		return nil, err
	}
	with = template(with)
	flags, _ := constText(consts, 3)
	all := strings.Contains(flags, "g")
	return func(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
		s := textsOf(args[0])
		return growing(n, out, func(i int) (string, error) { return re.replace(s.at(i), with, all) })
	}, nil
}
