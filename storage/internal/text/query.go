package text

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/loamdb/loam/internal/fail"
)

// Mode says how the text of a query is read.
type Mode uint8

// The modes.
const (
	ModeLucene Mode = iota // the query language, see ParseQuery
	ModeMatch              // words only: no character is special
	ModePhrase             // the whole text is one phrase
)

// Operator joins words that stand side by side.
type Operator uint8

// The operators.
const (
	Or Operator = iota
	And
)

// FieldBoost selects a field by name and weighs it. Boost 0 is the zero value
// and means 1.
type FieldBoost struct {
	Name  string
	Boost float64
}

// QueryOptions are the settings of ParseQuery; the zero value searches all
// fields in Lucene mode with OR.
type QueryOptions struct {
	Fields   []FieldBoost // nil: all fields with boost 1
	Mode     Mode
	Operator Operator
	Slop     uint32 // of ModePhrase
}

// Query is a parsed, analyzed query. It is immutable but for Warning, belongs
// to no part, and may be bound to any number of parts at once.
type Query struct {
	// Warning tells what the parser did with a text it could not take literally;
	// empty when it was taken as written.
	Warning string

	root   *node // nil matches nothing
	terms  []queryTerm
	fields []FieldConfig
}

// MatchesNothing reports whether no document can match: an empty text, only
// stop words, or only NOT clauses.
func (q *Query) MatchesNothing() bool { return q.root == nil }

type termKind uint8

const (
	termExact termKind = iota
	termPrefix
	termFuzzy
)

// queryTerm is one distinct term, prefix or fuzzy pattern of a field; its
// ordinal in Query.terms indexes Stats.DF.
type queryTerm struct {
	field int
	kind  termKind
	edits int // of termFuzzy
	text  string
}

type nodeKind uint8

const (
	nodeTerm nodeKind = iota
	nodePhrase
	nodeBool
)

// node is a clause. A nodeBool matches where all of must match, none of not,
// and, when must is empty, at least one of should.
type node struct {
	kind  nodeKind
	field int
	boost float64

	term int // nodeTerm: ordinal in Query.terms

	phrase []phraseTerm // nodePhrase, two or more, by rising offset
	slop   uint32

	must, should, not []*node
}

// phraseTerm is one term of a phrase at its distance from the phrase's start.
type phraseTerm struct {
	term   int
	offset uint32
}

// String prints the query in one canonical form, for tests and EXPLAIN:
// +must should -not, field:"phrase"~slop, prefix*, fuzzy~n, ^boost.
func (q *Query) String() string {
	if q.root == nil {
		return "(nothing)"
	}
	var b strings.Builder
	q.print(&b, q.root)
	return b.String()
}

func (q *Query) print(b *strings.Builder, n *node) {
	switch n.kind {
	case nodeTerm:
		t := q.terms[n.term]
		b.WriteString(q.fields[t.field].Name + ":" + t.text)
		switch t.kind {
		case termPrefix:
			b.WriteByte('*')
		case termFuzzy:
			fmt.Fprintf(b, "~%d", t.edits)
		}
	case nodePhrase:
		b.WriteString(q.fields[n.field].Name + ":\"")
		for i, p := range n.phrase {
			if i > 0 {
				b.WriteString(strings.Repeat(" _", max(0, int(p.offset-n.phrase[i-1].offset)-1)) + " ")
			}
			b.WriteString(q.terms[p.term].text)
		}
		b.WriteByte('"')
		if n.slop > 0 {
			fmt.Fprintf(b, "~%d", n.slop)
		}
	case nodeBool:
		b.WriteByte('(')
		sep := ""
		for _, list := range []struct {
			mark string
			of   []*node
		}{{"+", n.must}, {"", n.should}, {"-", n.not}} {
			for _, c := range list.of {
				b.WriteString(sep + list.mark)
				q.print(b, c)
				sep = " "
			}
		}
		b.WriteByte(')')
	}
	if n.kind != nodeBool && n.boost != 1 {
		b.WriteString("^" + strconv.FormatFloat(n.boost, 'g', -1, 64))
	}
}

// queryBuilder makes nodes and interns their terms.
type queryBuilder struct {
	q         *Query
	analyzers []Analyzer // by field
	selected  []FieldBoost
	ordinals  []int // fields of selected
	op        Operator
	seen      map[queryTerm]int
	clauses   int
}

// Bounds of a query; a text that needs more is refused.
const (
	maxTerms   = 1024      // distinct terms
	maxClauses = 16 * 1024 // words written, once per field
)

func newQueryBuilder(fields []FieldConfig, o QueryOptions) (*queryBuilder, error) {
	b := &queryBuilder{q: &Query{fields: fields}, op: o.Operator, seen: map[queryTerm]int{}}
	byName := map[string]int{}
	for i, f := range fields {
		a, err := AnalyzerByName(f.Analyzer)
		if err != nil {
			return nil, err
		}
		b.analyzers = append(b.analyzers, a)
		byName[f.Name] = i
	}
	b.selected = o.Fields
	if b.selected == nil {
		for _, f := range fields {
			b.selected = append(b.selected, FieldBoost{Name: f.Name})
		}
	}
	b.selected = append([]FieldBoost(nil), b.selected...)
	for i := range b.selected {
		s := &b.selected[i]
		ord, ok := byName[s.Name]
		if !ok {
			return nil, b.unknownField(s.Name)
		}
		if s.Boost == 0 {
			s.Boost = 1
		}
		if !validBoost(s.Boost) {
			return nil, fail.New(fail.InvalidParameter, "boost %v of field %q is not between 0 and 1e6", s.Boost, s.Name)
		}
		b.ordinals = append(b.ordinals, ord)
	}
	return b, nil
}

func (b *queryBuilder) unknownField(name string) error {
	var names []string
	for _, f := range b.q.fields {
		names = append(names, f.Name)
	}
	e := fail.New(fail.UndefinedColumn, "no full-text field %q", name)
	if near := fail.Closest(name, names); near != "" {
		return e.WithHint("Did you mean %q?", near)
	}
	return e.WithHint("The full-text fields are %s.", strings.Join(names, ", "))
}

func validBoost(x float64) bool { return !math.IsNaN(x) && x >= 0 && x <= 1e6 }

func (b *queryBuilder) term(t queryTerm, boost float64) *node {
	return &node{kind: nodeTerm, field: t.field, boost: boost, term: b.intern(t)}
}

func (b *queryBuilder) intern(t queryTerm) int {
	b.clauses++
	if ord, ok := b.seen[t]; ok {
		return ord
	}
	ord := len(b.q.terms)
	b.q.terms = append(b.q.terms, t)
	b.seen[t] = ord
	return ord
}

// scope is the fields a clause searches: the selected ones, or the one named in field:clause.
type scope struct {
	fields []int
	boosts []float64
}

func (b *queryBuilder) defaultScope() scope {
	s := scope{fields: b.ordinals}
	for _, f := range b.selected {
		s.boosts = append(s.boosts, f.Boost)
	}
	return s
}

// words is the clause of a text without operators. Fields with the same
// analyzer share its tokens, so that under AND each token may be found in any
// of them; fields with different analyzers stand beside each other. partial
// says that some fields' analyzers drop the text while others keep it.
func (b *queryBuilder) words(s scope, text string, boost float64) (n *node, partial bool) {
	var groups []*node
	dropped := false
	done := make([]bool, len(s.fields))
	for i, f := range s.fields {
		if done[i] {
			continue
		}
		name := b.analyzers[f].Name()
		var same []int
		for j := i; j < len(s.fields); j++ {
			if b.analyzers[s.fields[j]].Name() == name {
				same, done[j] = append(same, j), true
			}
		}
		g := b.tokensOver(s, same, b.analyzers[f].Tokens(nil, text), boost)
		dropped = dropped || g == nil
		groups = append(groups, g)
	}
	n = anyOf(groups)
	return n, dropped && n != nil
}

func (b *queryBuilder) tokensOver(s scope, which []int, tokens []Token, boost float64) *node {
	var list []*node
	for _, t := range tokens {
		var over []*node
		for _, j := range which {
			over = append(over, b.term(queryTerm{field: s.fields[j], text: t.Term}, boost*s.boosts[j]))
		}
		list = append(list, anyOf(over))
	}
	if b.op == And {
		return allOf(list)
	}
	return anyOf(list)
}

// phrase is the clause of a quoted text: in each field a phrase of its tokens,
// or a plain term when there is only one.
func (b *queryBuilder) phrase(s scope, text string, slop uint32, boost float64) *node {
	var over []*node
	for i, f := range s.fields {
		tokens := b.analyzers[f].Tokens(nil, text)
		switch len(tokens) {
		case 0:
		case 1:
			over = append(over, b.term(queryTerm{field: f, text: tokens[0].Term}, boost*s.boosts[i]))
		default:
			n := &node{kind: nodePhrase, field: f, boost: boost * s.boosts[i], slop: slop}
			for _, t := range tokens {
				ord := b.intern(queryTerm{field: f, text: t.Term})
				n.phrase = append(n.phrase, phraseTerm{term: ord, offset: t.Pos - tokens[0].Pos})
			}
			over = append(over, n)
		}
	}
	return anyOf(over)
}

// pattern is the clause of a prefix or fuzzy term.
func (b *queryBuilder) pattern(s scope, kind termKind, text string, edits int, boost float64) *node {
	var over []*node
	for i, f := range s.fields {
		t := queryTerm{field: f, kind: kind, edits: edits, text: b.analyzers[f].Normalize(text)}
		over = append(over, b.term(t, boost*s.boosts[i]))
	}
	return anyOf(over)
}

// anyOf is the OR of the clauses that are not nil; ORs of plain clauses are
// flattened, which leaves the matches as they are and lets the executor see
// one list.
func anyOf(list []*node) *node {
	var flat []*node
	for _, n := range list {
		switch {
		case n == nil:
		case n.kind == nodeBool && len(n.must) == 0 && len(n.not) == 0:
			flat = append(flat, n.should...)
		default:
			flat = append(flat, n)
		}
	}
	switch len(flat) {
	case 0:
		return nil
	case 1:
		return flat[0]
	}
	return &node{kind: nodeBool, should: flat}
}

// allOf is the AND of the clauses that are not nil.
func allOf(list []*node) *node {
	var flat []*node
	for _, n := range list {
		switch {
		case n == nil:
		case n.kind == nodeBool && len(n.should) == 0 && len(n.not) == 0:
			flat = append(flat, n.must...)
		default:
			flat = append(flat, n)
		}
	}
	switch len(flat) {
	case 0:
		return nil
	case 1:
		return flat[0]
	}
	return &node{kind: nodeBool, must: flat}
}

// finish merges equal terms of one OR, so that a word written twice weighs
// twice but is read once, and sets the root.
func (b *queryBuilder) finish(root *node) (*Query, error) {
	if len(b.q.terms) > maxTerms || b.clauses > maxClauses {
		return nil, fail.New(fail.TooLarge, "the text query has %d terms in %d clauses, more than %d in %d",
			len(b.q.terms), b.clauses, maxTerms, maxClauses).
			WithHint("Shorten the text or search fewer fields at once.")
	}
	mergeTerms(root)
	b.q.root = root
	return b.q, nil
}

func mergeTerms(n *node) {
	if n == nil {
		return
	}
	for _, list := range [][]*node{n.must, n.should, n.not} {
		for _, c := range list {
			mergeTerms(c)
		}
	}
	first := map[int]*node{}
	kept := n.should[:0]
	for _, c := range n.should {
		if c.kind == nodeTerm {
			if f, ok := first[c.term]; ok {
				f.boost += c.boost
				continue
			}
			first[c.term] = c
		}
		kept = append(kept, c)
	}
	n.should = kept
}
