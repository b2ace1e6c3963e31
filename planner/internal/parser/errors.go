package parser

import (
	"slices"
	"strings"

	"github.com/loamdb/loam/internal/fail"
)

// fail keeps the first error and moves to the end of the text.
func (p *parser) fail(err *fail.Error, at int) {
	if p.err == nil {
		p.err = err.At(p.sql, at)
	}
	p.stop()
}

// stop makes the end of the text the current token.
func (p *parser) stop() {
	p.i = len(p.toks) - 1
	if p.toks[p.i].kind == kBad {
		p.toks[p.i].kind = kEOF
	}
}

// failAt reports a syntax error at a place.
func (p *parser) failAt(at int, format string, args ...any) *fail.Error {
	err := fail.New(fail.Syntax, format, args...)
	p.fail(err, at)
	return err
}

// unsupported reports syntax that is understood but not part of the language.
func (p *parser) unsupported(at int, hint, format string, args ...any) {
	err := fail.New(fail.Unsupported, format, args...)
	err.Hint = hint
	p.fail(err, at)
}

// unexpected reports the current token where something else was expected.
func (p *parser) unexpected(expected string) {
	if p.err != nil {
		return
	}
	t := p.tok()
	if t.kind == kBad {
		p.fail(p.bad, int(t.start))
		return
	}
	err := fail.New(fail.Syntax, "expected %s, found %s", expected, p.describe(t))
	err.Hint = p.hint(t, expected)
	p.fail(err, int(t.start))
}

// describe names a token for a message.
func (p *parser) describe(t token) string {
	text := excerpt(p.text(t))
	switch t.kind {
	case kEOF:
		return "the end of the text"
	case kString:
		return "the string " + text
	case kBytes:
		return "the bytes " + text
	case kNumber:
		return "the number " + text
	case kQuoted:
		return "the name " + text
	case kDollar:
		return "the parameter " + text
	case kWord:
		if t.kw.reserved() {
			return "the keyword " + t.kw.String()
		}
		return `"` + text + `"`
	default:
		return `"` + text + `"`
	}
}

// afterStatement reports what follows a complete statement.
func (p *parser) afterStatement() { p.unexpected("the end of the statement") }

// clauseWords are the words that people misspell between clauses.
var clauseWords = []string{"FROM", "WHERE", "GROUP", "ORDER", "HAVING", "LIMIT", "OFFSET", "UNION", "JOIN",
	"INNER", "LEFT", "VALUES", "SET", "INTO", "BETWEEN", "LIKE", "RETURNING", "DISTINCT", "WITH", "QUALIFY", "TABLE"}

// nounWords are the reserved words that people use as names of columns.
var nounWords = map[keyword]bool{kwAll: true, kwCheck: true, kwConstraint: true, kwDefault: true, kwDesc: true,
	kwFull: true, kwGroup: true, kwLeft: true, kwLimit: true, kwOrder: true, kwPrimary: true,
	kwRight: true, kwTable: true, kwUnique: true, kwValues: true}

// hint is the cure for a common mistake at token t, or "".
func (p *parser) hint(t token, expected string) string {
	prev := token{}
	if p.i > 0 {
		prev = p.toks[p.i-1]
	}
	if h := p.operatorHint(t, prev); h != "" {
		return h
	}
	if h := p.foreignHint(t, prev); h != "" {
		return h
	}
	if h := p.spellingHint(t, prev); h != "" {
		return h
	}
	if nounWords[t.kw] && (strings.Contains(expected, "name") || strings.Contains(expected, "expression")) {
		return t.kw.String() + ` is a reserved word: to use it as a name, write "` + strings.ToLower(p.text(t)) + `" in double quotes.`
	}
	if startsOperand(t) && endsOperand(prev) && strings.Contains(expected, "comma") {
		return "A comma may be missing before " + p.describe(t) + "."
	}
	if isName(t) && endsOperand(prev) && p.peek(1).kind == '=' {
		return "A comma or AND may be missing before " + p.describe(t) + "."
	}
	if h := orderHint(t, expected); h != "" {
		return h
	}
	if t.kind == ',' && strings.Contains(expected, "expression") || t.kw == kwFrom && prev.kind == ',' {
		return "There is a comma too many."
	}
	if (t.kind == ')' || t.kind == ']' || t.kind == '}') && strings.Contains(expected, "end of the") {
		return "There is a closing " + p.text(t) + " too many."
	}
	return ""
}

// orderHint is for a clause or a comma after what could be a whole statement.
func orderHint(t token, expected string) string {
	if !strings.Contains(expected, "end of the statement") {
		return ""
	}
	switch {
	case t.kw == kwFrom || t.kw == kwWhere || t.kw == kwGroup || t.kw == kwHaving || t.kw == kwQualify:
		return "Clauses stand in the order FROM, WHERE, GROUP BY, HAVING, QUALIFY, WINDOW, ORDER BY, LIMIT, each once."
	case t.kw == kwOrder:
		return "Write ORDER BY, once, after all other clauses but LIMIT."
	case t.kind == ',':
		return "A comma cannot stand here; conditions are joined with AND."
	case t.kw == kwSelect:
		return "Statements are separated by a semicolon, queries joined by UNION ALL."
	}
	return ""
}

// operatorHint knows the operators of other languages.
func (p *parser) operatorHint(t, prev token) string {
	switch {
	case t.kind == '=' && (prev.kind == '>' || prev.kind == '<' || prev.kind == '='):
		return "Comparisons are written = != < <= > >=."
	case t.kind == kOverlap:
		return "Write AND for a logical and."
	case t.kind == kFatArrow:
		return "name => value is an argument of a function call; a comparison is written = or >=."
	case t.kind == '>' && prev.kind == '=':
		return "Greater or equal is written >=."
	case t.kind == kWord && prev.kind == kString && t.start == prev.end:
		return "Inside a string, write a quote twice: 'it''s'."
	case t.kind == kString && prev.kind == kString:
		return "Strings are joined with ||; a quote inside a string is written twice."
	}
	return ""
}

// foreignHint knows the syntax of other systems.
func (p *parser) foreignHint(t, prev token) string {
	switch {
	case t.kind == kNumber && prev.kw == kwTop:
		return "SELECT TOP n is not supported: write LIMIT " + p.text(t) + " at the end of the query."
	case t.kind == ',' && p.i > 1 && p.toks[p.i-2].kw == kwLimit:
		return "LIMIT a, b is not supported: write LIMIT b OFFSET a."
	case t.kw == kwInto:
		return "SELECT INTO is not supported: write CREATE TABLE t AS SELECT …."
	case t.kind == '[':
		return `Names are quoted with double quotes, "like this".`
	case t.kind == kString && (prev.kw == kwFrom || prev.kw == kwJoin):
		return `A table is a name: write "name" in double quotes, or read_parquet('file') for a file.`
	}
	for _, w := range []token{t, prev} {
		if h := foreignWords[strings.ToUpper(p.text(w))]; h != "" && w.kind == kWord {
			return h
		}
	}
	return ""
}

// foreignWords are words of other systems with what to write instead.
var foreignWords = map[string]string{
	"MINUS":          "Write EXCEPT.",
	"RLIKE":          "Write x ~ 'pattern' for a regular expression.",
	"REGEXP":         "Write x ~ 'pattern' for a regular expression.",
	"GLOB":           "Write x LIKE 'pattern'.",
	"ELSEIF":         "CASE has WHEN … THEN … for each further condition.",
	"ELSIF":          "CASE has WHEN … THEN … for each further condition.",
	"AUTO_INCREMENT": "There are no generated keys: give each row its key.",
	"INDEX":          "There is no CREATE INDEX: FULLTEXT, VECTOR and PRIMARY KEY columns are indexed by themselves.",
	"MATCH":          "Search with FROM text_search(docs, 'words'), or write x ~ 'pattern'.",
	"DATABASE":       "Databases are namespaces here: CREATE NAMESPACE shop, USE shop.",
	"ASCENDING":      "Write ASC.",
	"DESCENDING":     "Write DESC.",
}

// spellingHint looks for a misspelt keyword at or just before the token.
func (p *parser) spellingHint(t, prev token) string {
	for i, w := range []token{t, prev} {
		if w.kind != kWord || w.kw != noKeyword {
			continue
		}
		near := nearWord(p.text(w), clauseWords)
		if i == 1 && !oneLetter(strings.ToUpper(p.text(w)), near) {
			continue // the word before is a name as likely
		}
		if near != "" {
			return "Did you mean " + near + " instead of " + p.text(w) + "?"
		}
	}
	return ""
}

// nearWord is the word that is misspelt: by one letter, or with letters swapped.
func nearWord(written string, words []string) string {
	written = strings.ToUpper(written)
	if slices.Contains(words, written) {
		return ""
	}
	for _, w := range words {
		if len(w) == len(written) && sortedLetters(w) == sortedLetters(written) {
			return w
		}
	}
	if len(written) < 4 { // INT is a type, not a misspelt INTO
		return ""
	}
	return fail.Closest(written, words)
}

// oneLetter says whether words differ by one letter or by letters swapped.
func oneLetter(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	from := 0
	for from < len(a) && a[from] == b[from] {
		from++
	}
	end := 0
	for end < len(a)-from && a[len(a)-1-end] == b[len(b)-1-end] {
		end++
	}
	return from+end >= len(b)-1 || sortedLetters(a) == sortedLetters(b)
}

func sortedLetters(s string) string {
	b := []byte(s)
	slices.Sort(b)
	return string(b)
}

// startsOperand reports whether a token can begin a value.
func startsOperand(t token) bool {
	switch t.kind {
	case kNumber, kString, kBytes, kQuoted, kDollar, '?':
		return true
	case kWord:
		return t.kw.bareAlias()
	}
	return false
}

// endsOperand reports whether a token can end a value.
func endsOperand(t token) bool {
	return startsOperand(t) || t.kind == ')' || t.kind == ']' || t.kind == '}'
}
