package text

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/loamdb/loam/internal/fail"
)

// ParseQuery reads a query text over the fields of a collection.
//
// In ModeLucene the language is: words; "phrases" with ~slop; prefix*; fuzzy~,
// fuzzy~1, fuzzy~2; clause^boost; field:clause; (groups); AND or &&, OR or ||,
// NOT or !, +must, -mustnot; \ takes the next character as it is. AND binds
// tighter than OR; words side by side are joined by the operator of the
// options, at the level of that operator. A group with only negated clauses
// matches nothing. Under AND a word that is a stop word for some of its fields
// adds to the score and is not required.
//
// A text that does not parse is searched as its words joined by OR, and
// Query.Warning says so. A text without any searchable word matches nothing,
// without an error. A multi-field word scores as the sum over the fields.
//
// Errors: an unknown field in the options (UndefinedColumn), a bad boost
// (InvalidParameter), more than 1,024 distinct terms or 16,384 words (TooLarge).
func ParseQuery(text string, fields []FieldConfig, o QueryOptions) (*Query, error) {
	b, err := newQueryBuilder(fields, o)
	if err != nil {
		return nil, err
	}
	text = strings.ToValidUTF8(text, "\uFFFD")
	switch o.Mode {
	case ModeMatch:
		n, _ := b.words(b.defaultScope(), text, 1)
		return b.finish(n)
	case ModePhrase:
		return b.finish(b.phrase(b.defaultScope(), text, min(o.Slop, maxSlop), 1))
	}
	p := &parser{b: b, text: text}
	root, err := p.parse()
	if err != nil {
		return parseFallback(text, fields, o, err)
	}
	b.q.Warning = strings.Join(p.warnings, "; ")
	return b.finish(root)
}

// parseFallback searches the words of a text that is not in the language.
func parseFallback(text string, fields []FieldConfig, o QueryOptions, cause error) (*Query, error) {
	o.Operator = Or
	b, err := newQueryBuilder(fields, o)
	if err != nil {
		return nil, err
	}
	b.q.Warning = fmt.Sprintf("searched as plain words: %s", fail.As(cause).Message)
	n, _ := b.words(b.defaultScope(), text, 1)
	return b.finish(n)
}

// maxDepth bounds the nesting of groups.
const maxDepth = 64

// parser is a recursive-descent parser over the bytes of the text.
type parser struct {
	b        *queryBuilder
	text     string
	at       int
	depth    int
	warnings []string
}

type sign uint8

const (
	plain sign = iota
	required
	negated
)

type clause struct {
	sign sign
	node *node // nil: a clause without searchable words
	// optional: a stop word for some of its fields. Under AND it must not keep
	// out documents that hold the other words in just those fields.
	optional bool
}

func (p *parser) parse() (*node, error) {
	c, err := p.orLevel(p.b.defaultScope())
	if err != nil {
		return nil, err
	}
	p.space()
	if p.at < len(p.text) {
		return nil, p.errorf("unexpected %q", p.text[p.at:p.at+1])
	}
	if c.sign == negated {
		if c.node != nil {
			p.warn("a query of only negated clauses matches nothing")
		}
		return nil, nil
	}
	return c.node, nil
}

func (p *parser) errorf(format string, args ...any) error {
	return fail.New(fail.Syntax, "%s at character %d", fmt.Sprintf(format, args...), p.at+1)
}

func (p *parser) warn(s string) { p.warnings = append(p.warnings, s) }

func (p *parser) space() {
	for p.at < len(p.text) && isSpace(p.text[p.at]) {
		p.at++
	}
}

func isSpace(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }

// word takes one of the operator's spellings if it stands next as a whole.
func (p *parser) word(spellings ...string) bool {
	p.space()
	for _, s := range spellings {
		rest, ok := strings.CutPrefix(p.text[p.at:], s)
		letters := s[0] >= 'A'
		if ok && (!letters || s == "||" || rest == "" || isSpace(rest[0]) || rest[0] == '(' || rest[0] == '"' || rest[0] == ')') {
			p.at += len(s)
			return true
		}
	}
	return false
}

func (p *parser) atEnd() bool {
	p.space()
	return p.at >= len(p.text) || p.text[p.at] == ')'
}

// orLevel is andLevel (OR andLevel)*; with the operator OR, clauses side by side count as such.
func (p *parser) orLevel(s scope) (clause, error) {
	var list []clause
	for {
		c, err := p.andLevel(s)
		if err != nil {
			return clause{}, err
		}
		list = append(list, c)
		explicit := p.word("OR", "||")
		if p.atEnd() {
			if explicit {
				return clause{}, p.errorf("OR lacks its right side")
			}
			break
		}
	}
	if len(list) == 1 {
		return list[0], nil
	}
	return p.combine(list, Or), nil
}

// andLevel is unary (AND unary)*; with the operator AND, clauses side by side count as such.
func (p *parser) andLevel(s scope) (clause, error) {
	var list []clause
	for {
		c, err := p.unary(s)
		if err != nil {
			return clause{}, err
		}
		list = append(list, c)
		explicit := p.word("AND", "&&")
		if p.atEnd() {
			if explicit {
				return clause{}, p.errorf("AND lacks its right side")
			}
			break
		}
		if !explicit && (p.b.op == Or || p.peekOr()) {
			break
		}
	}
	if len(list) == 1 {
		return list[0], nil
	}
	return p.combine(list, And), nil
}

func (p *parser) peekOr() bool {
	at := p.at
	defer func() { p.at = at }()
	return p.word("OR", "||")
}

// combine joins clauses. A list of only negated clauses stays negated, so that
// the level above may still use it: NOT a NOT b is NOT (a OR b).
func (p *parser) combine(list []clause, op Operator) clause {
	var must, should, not []*node
	for _, c := range list {
		switch {
		case c.node == nil:
		case c.sign == negated:
			not = append(not, c.node)
		case c.sign == required || op == And && !c.optional:
			must = append(must, c.node)
		default:
			should = append(should, c.node)
		}
	}
	switch {
	case len(must)+len(should) == 0:
		return clause{sign: negated, node: anyOf(not)}
	case len(not) == 0 && len(must) == 0:
		return clause{node: anyOf(should)}
	case len(not) == 0 && len(should) == 0:
		return clause{node: allOf(must)}
	}
	if len(must) == 1 && must[0].kind == nodeBool && len(must[0].should)+len(must[0].not) == 0 {
		must = must[0].must
	}
	if a := anyOf(should); a != nil && len(must) == 0 && a.kind == nodeBool && len(a.must)+len(a.not) == 0 {
		should = a.should
	}
	return clause{node: &node{kind: nodeBool, must: must, should: should, not: not}}
}

func (p *parser) unary(s scope) (clause, error) {
	sg := plain
	switch {
	case p.word("NOT", "!"):
		sg = negated
	case p.signAt('-'):
		sg = negated
	case p.signAt('+'):
		sg = required
	}
	if sg != plain {
		p.depth++
		defer func() { p.depth-- }()
		if p.depth > maxDepth {
			return clause{}, p.errorf("nested deeper than %d", maxDepth)
		}
		c, err := p.unary(s)
		if err == nil && c.sign == negated && sg == negated {
			return clause{node: c.node}, nil
		}
		if c.sign == negated {
			sg = negated
		}
		return clause{sign: sg, node: c.node}, err
	}
	return p.primary(s)
}

// signAt takes + or - where a clause starts right behind it.
func (p *parser) signAt(c byte) bool {
	p.space()
	if p.at+1 >= len(p.text) || p.text[p.at] != c || isSpace(p.text[p.at+1]) || p.text[p.at+1] == ')' {
		return false
	}
	p.at++
	return true
}

func (p *parser) primary(s scope) (clause, error) {
	if p.atEnd() {
		return clause{}, p.missing()
	}
	switch p.text[p.at] {
	case '(':
		return p.group(s)
	case '"':
		return p.quoted(s)
	}
	return p.term(s)
}

func (p *parser) missing() error {
	if p.at < len(p.text) {
		return p.errorf("unexpected %q", ")")
	}
	return p.errorf("the text ends where a word should follow")
}

// nested reads the clause behind field:.
func (p *parser) nested(s scope) (clause, error) {
	p.depth++
	defer func() { p.depth-- }()
	if p.depth > maxDepth {
		return clause{}, p.errorf("nested deeper than %d", maxDepth)
	}
	return p.primary(s)
}

func (p *parser) group(s scope) (clause, error) {
	p.depth++
	defer func() { p.depth-- }()
	if p.depth > maxDepth {
		return clause{}, p.errorf("nested deeper than %d", maxDepth)
	}
	p.at++
	c, err := p.orLevel(s)
	if err != nil {
		return clause{}, err
	}
	p.space()
	if p.at >= len(p.text) {
		return clause{}, p.errorf("a parenthesis is not closed")
	}
	p.at++
	boost, err := p.boost()
	if err != nil {
		return clause{}, err
	}
	scale(c.node, boost)
	return c, nil
}

func scale(n *node, boost float64) {
	if n == nil || boost == 1 {
		return
	}
	n.boost *= boost
	for _, list := range [][]*node{n.must, n.should} {
		for _, c := range list {
			scale(c, boost)
		}
	}
}

func (p *parser) quoted(s scope) (clause, error) {
	p.at++
	var b strings.Builder
	for {
		if p.at >= len(p.text) {
			return clause{}, p.errorf("a quote is not closed")
		}
		c := p.text[p.at]
		p.at++
		if c == '"' {
			break
		}
		if c == '\\' && p.at < len(p.text) {
			c = p.text[p.at]
			p.at++
		}
		b.WriteByte(c)
	}
	slop, err := p.slop()
	if err != nil {
		return clause{}, err
	}
	boost, err := p.boost()
	if err != nil {
		return clause{}, err
	}
	return clause{node: p.b.phrase(s, b.String(), slop, boost)}, nil
}

func (p *parser) slop() (uint32, error) {
	if !p.take('~') {
		return 0, nil
	}
	digits := p.digits()
	n, err := strconv.Atoi(digits)
	if err != nil {
		return 0, p.errorf("~ behind a phrase needs a whole number")
	}
	if n > maxSlop {
		p.warn(fmt.Sprintf("slop %d was cut to %d", n, maxSlop))
		n = maxSlop
	}
	return uint32(n), nil
}

func (p *parser) take(c byte) bool {
	if p.at < len(p.text) && p.text[p.at] == c {
		p.at++
		return true
	}
	return false
}

func (p *parser) digits() string {
	start := p.at
	for p.at < len(p.text) && (p.text[p.at] >= '0' && p.text[p.at] <= '9' || p.text[p.at] == '.') {
		p.at++
	}
	return p.text[start:p.at]
}

func (p *parser) boost() (float64, error) {
	if !p.take('^') {
		return 1, nil
	}
	x, err := strconv.ParseFloat(p.digits(), 64)
	if err != nil || !validBoost(x) {
		return 0, p.errorf("^ needs a number between 0 and 1e6")
	}
	return x, nil
}

// term reads a bare word with its suffixes; a word before a colon may name a field.
func (p *parser) term(s scope) (clause, error) {
	word, escaped := p.bareWord()
	if p.at < len(p.text) && p.text[p.at] == ':' && !escaped {
		if inner, ok := p.fieldScope(word); ok && p.at+1 < len(p.text) && !isSpace(p.text[p.at+1]) {
			p.at++
			return p.nested(inner)
		}
	}
	for p.at < len(p.text) && p.text[p.at] == ':' { // not a field: part of the word
		p.at++
		more, _ := p.bareWord()
		word += ":" + more
	}
	return p.suffixes(s, word)
}

func (p *parser) suffixes(s scope, word string) (clause, error) {
	prefix := p.take('*')
	fuzzy := !prefix && p.take('~')
	edits := 2
	if fuzzy {
		if d := p.digits(); d == "1" || d == "2" || d == "0" {
			edits = int(d[0] - '0')
		} else if d != "" {
			return clause{}, p.errorf("~ behind a word allows 0, 1 or 2 edits")
		}
	}
	boost, err := p.boost()
	if err != nil {
		return clause{}, err
	}
	if p.at < len(p.text) && !isSpace(p.text[p.at]) && p.text[p.at] != ')' {
		return clause{}, p.errorf("unexpected %q", p.text[p.at:p.at+1])
	}
	switch {
	case word == "" && (prefix || fuzzy):
		return clause{}, p.errorf("* and ~ need a word before them")
	case prefix:
		return clause{node: p.b.pattern(s, termPrefix, word, 0, boost)}, nil
	case fuzzy && edits > 0:
		return clause{node: p.b.pattern(s, termFuzzy, word, edits, boost)}, nil
	}
	n, partial := p.b.words(s, word, boost)
	return clause{node: n, optional: partial}, nil
}

// bareWord reads up to a special character; escaped says a backslash was used.
func (p *parser) bareWord() (word string, escaped bool) {
	var b strings.Builder
	for p.at < len(p.text) {
		c := p.text[p.at]
		if isSpace(c) || strings.IndexByte(`()":^~*`, c) >= 0 {
			break
		}
		if c == '\\' && p.at+1 < len(p.text) {
			p.at++
			c, escaped = p.text[p.at], true
		}
		b.WriteByte(c)
		p.at++
	}
	return b.String(), escaped
}

func (p *parser) fieldScope(name string) (scope, bool) {
	for i, f := range p.b.q.fields {
		if f.Name != name {
			continue
		}
		s := scope{fields: []int{i}, boosts: []float64{1}}
		for j, ord := range p.b.ordinals {
			if ord == i {
				s.boosts[0] = p.b.selected[j].Boost
			}
		}
		return s, true
	}
	return scope{}, false
}
