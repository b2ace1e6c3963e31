// Package complete says how the word at the cursor may go on.
//
// In: the text of the line editor, the place of the cursor, and the names that
// there are. Out: candidates with their kinds, the most likely kind first. It is
// pure: it asks no server and reads no directory but through [Names].
package complete

import (
	"slices"
	"sort"
	"strings"

	"github.com/loamdb/loam/planner"
)

// Object is a collection, table or view with its columns.
type Object struct {
	Namespace, Name, Kind string
	Columns               []string
}

// Names are the names that there are.
type Names struct {
	// Namespace is where names of one part are looked up.
	Namespace  string
	Namespaces []string
	Objects    []Object
	// Functions and TableFunctions are what expressions and FROM may call.
	Functions, TableFunctions []string
	Settings                  []string
	// Commands are those of the shell, without the backslash; Statements are those
	// that have help; Words are the arguments of some commands.
	Commands, Statements []string
	Words                map[string][]string
	// Files lists the paths that begin with a text; directories end in a slash.
	Files func(prefix string) []string
}

// Candidate is one way to go on. Text takes the place of the answer's prefix.
type Candidate struct{ Text, Kind string }

// Answer is what may stand instead of Prefix, the text before the cursor.
type Answer struct {
	Prefix     string
	Candidates []Candidate
}

// At completes the text at byte cursor.
func At(text string, cursor int, names *Names) Answer {
	cursor = max(0, min(cursor, len(text)))
	before := text[:cursor]
	start := lineOfCommand(before)
	if start >= 0 {
		return command(before[start:], names)
	}
	a := &at{names: names}
	a.read(text, cursor)
	a.choose()
	return a.answer
}

// lineOfCommand is where a backslash command begins whose line the cursor is on;
// -1 without one.
func lineOfCommand(before string) int {
	for from := 0; ; {
		t, ok := planner.NextToken(before, from)
		if !ok {
			return -1
		}
		from = t.End
		if t.Class == planner.TokenBad && before[t.Start] == '\\' {
			n := strings.IndexByte(before[t.Start:], '\n')
			if n < 0 {
				return t.Start
			}
			from = t.Start + n
		}
	}
}

// command completes a backslash command or its argument.
func command(line string, names *Names) Answer {
	name, args, spaced := strings.Cut(line[1:], " ")
	if !spaced {
		out := Answer{Prefix: line}
		for _, c := range names.Commands {
			if strings.HasPrefix(c, name) {
				out.Candidates = append(out.Candidates, Candidate{`\` + c, "command"})
			}
		}
		return out
	}
	last := args[strings.LastIndexAny(args, " \t(")+1:]
	switch name {
	case "i", "o", "e", "g", "gx", "s":
		return files(last, names)
	case "copy":
		if words := strings.Fields(strings.ToUpper(args)); slices.Contains(words, "TO") {
			return files(last, names)
		}
		a := &at{names: names}
		a.read(args, len(args))
		if strings.HasPrefix(args, "(") {
			a.choose()
		} else {
			a.stored()
		}
		return a.answer
	case "df":
		return filter(last, "function", append(slices.Clone(names.Functions), names.TableFunctions...))
	case "dn":
		return filter(last, "namespace", names.Namespaces)
	case "d", "dt", "dv":
		a := &at{names: names}
		a.read(args, len(args))
		a.stored()
		return a.answer
	case "h":
		upper := strings.ToUpper(args)
		out := Answer{Prefix: args}
		for _, s := range names.Statements {
			if strings.HasPrefix(s, upper) {
				out.Candidates = append(out.Candidates, Candidate{s, "statement"})
			}
		}
		return out
	}
	if words := names.Words[strings.TrimSpace(name+" "+strings.TrimSuffix(args, last))]; words != nil {
		return filter(last, "word", words)
	}
	return Answer{Prefix: last}
}

func files(prefix string, names *Names) Answer {
	quote := ""
	if strings.HasPrefix(prefix, "'") {
		quote = "'"
	}
	out := Answer{Prefix: prefix}
	if names.Files == nil {
		return out
	}
	for _, f := range names.Files(strings.TrimPrefix(prefix, quote)) {
		end := quote
		if strings.HasSuffix(f, "/") {
			end = ""
		}
		out.Candidates = append(out.Candidates, Candidate{quote + f + end, "file"})
	}
	return out
}

// filter are the words that begin with a text, without regard to case.
func filter(prefix, kind string, words []string) Answer {
	out := Answer{Prefix: prefix}
	out.add(kind, words...)
	return out
}

// add adds what goes on from the prefix and is not there yet.
func (a *Answer) add(kind string, words ...string) {
	low := strings.ToLower(a.Prefix)
	for _, w := range words {
		if len(w) >= len(low) && strings.ToLower(w[:len(low)]) == low &&
			!slices.ContainsFunc(a.Candidates, func(c Candidate) bool { return c.Text == w }) {
			a.Candidates = append(a.Candidates, Candidate{w, kind})
		}
	}
}

// at is the cursor in a statement.
type at struct {
	names  *Names
	answer Answer
	// qualifier is the name before the dot before the word.
	qualifier string
	// before are the words before the cursor's, upper case; last first.
	before []string
	// inside is the class of an open or closed token around the cursor, or Operator.
	inside planner.TokenClass
	// used are the objects that the statement names, by what it calls them.
	used map[string]Object
}

// read looks at the statement around the cursor.
func (a *at) read(text string, cursor int) {
	toks := statement(text, cursor)
	a.used = map[string]Object{}
	a.uses(text, toks)
	i := 0
	for i < len(toks) && toks[i].End < cursor {
		i++
	}
	var own []planner.Token
	for _, t := range toks[:min(i+1, len(toks))] {
		if t.Start < cursor {
			own = append(own, t)
		}
	}
	if n := len(own); n > 0 && own[n-1].End >= cursor {
		t := own[n-1]
		word := text[t.Start:cursor]
		switch {
		case t.Class == planner.TokenName || t.Class == planner.TokenKeyword:
			a.answer.Prefix, own = word, own[:n-1]
		case t.Class == planner.TokenQuotedName, t.Class == planner.TokenOpen && word[0] == '"':
			a.answer.Prefix, own = word, own[:n-1]
		case t.Class == planner.TokenOpen, t.Class == planner.TokenComment, t.Class == planner.TokenString && t.End > cursor, t.Class == planner.TokenNumber:
			a.inside, a.answer.Prefix = t.Class, word
		}
	}
	if n := len(own); n >= 2 && text[own[n-1].Start:own[n-1].End] == "." {
		a.qualifier = plain(text[own[n-2].Start:own[n-2].End])
		own = own[:n-2]
	}
	for j := len(own) - 1; j >= 0; j-- {
		a.before = append(a.before, strings.ToUpper(text[own[j].Start:own[j].End]))
	}
}

// statement are the tokens of the statement around the cursor.
func statement(text string, cursor int) []planner.Token {
	var out []planner.Token
	for _, t := range planner.Tokens(text) {
		if text[t.Start:t.End] == ";" {
			if t.Start >= cursor {
				break
			}
			out = out[:0]
			continue
		}
		out = append(out, t)
	}
	return out
}

func plain(name string) string { return strings.ReplaceAll(strings.Trim(name, `"`), `""`, `"`) }

// uses finds the objects that a statement names, under their names and aliases.
func (a *at) uses(text string, toks []planner.Token) {
	word := func(i int) string {
		if i < 0 || i >= len(toks) {
			return ""
		}
		return text[toks[i].Start:toks[i].End]
	}
	for i, t := range toks {
		if t.Class != planner.TokenName && t.Class != planner.TokenKeyword && t.Class != planner.TokenQuotedName {
			continue
		}
		ns := a.names.Namespace
		if word(i-1) == "." {
			ns = plain(word(i - 2))
		}
		obj, ok := a.find(ns, plain(word(i)))
		if !ok {
			continue
		}
		a.used[strings.ToLower(obj.Name)] = obj
		next := i + 1
		if strings.EqualFold(word(next), "as") {
			next++
		}
		if next < len(toks) && aliasToken(toks[next], word(next), next > i+1) {
			a.used[strings.ToLower(plain(word(next)))] = obj
		}
	}
}

// aliasToken reports what may be an alias: a name, after AS any word, and the
// one-letter words of the grammar.
func aliasToken(t planner.Token, word string, afterAs bool) bool {
	return t.Class == planner.TokenName || t.Class == planner.TokenQuotedName || t.Class == planner.TokenKeyword && (afterAs || len(word) == 1)
}

func (a *at) find(namespace, name string) (Object, bool) {
	for _, o := range a.names.Objects {
		if strings.EqualFold(o.Namespace, namespace) && strings.EqualFold(o.Name, name) {
			return o, true
		}
	}
	return Object{}, false
}

// targetWords are followed by the name of an object, and not by a function.
var targetWords = []string{"INTO", "UPDATE", "TABLE", "COLLECTION", "VIEW", "DESCRIBE", "DESC", "TRUNCATE", "COLUMNS"}

// choose offers what fits the place.
func (a *at) choose() {
	prev := ""
	if len(a.before) > 0 {
		prev = a.before[0]
	}
	switch {
	case a.inside == planner.TokenOpen || a.inside == planner.TokenString:
		a.fileInString(prev)
	case a.inside == planner.TokenComment || a.inside == planner.TokenNumber:
	case a.qualifier != "":
		a.qualified()
	case prev == "FROM", prev == "JOIN":
		a.objects()
	case slices.Contains(targetWords, prev), prev == "(" && a.inSearch():
		a.stored()
	case prev == "USE", prev == "NAMESPACE", prev == "SCHEMA":
		a.answer.add("namespace", quote(a.names.Namespaces)...)
	case prev == "SET" && len(a.before) == 1, prev == "SHOW", prev == "RESET":
		a.answer.add("setting", a.names.Settings...)
		a.keywords()
	default:
		a.expression()
	}
}

// inSearch reports a search function before the parenthesis, whose first argument
// is an object.
func (a *at) inSearch() bool {
	return len(a.before) > 1 && strings.HasSuffix(a.before[1], "_SEARCH")
}

// fileInString offers files in the first argument of read_parquet and its like.
func (a *at) fileInString(string) {
	prefix := a.answer.Prefix
	if len(a.before) > 2 && a.before[1] == "(" && strings.HasPrefix(a.before[2], "READ_") && strings.HasPrefix(prefix, "'") {
		a.answer = files(prefix, a.names)
	}
}

// qualified offers the columns of an object or the objects of a namespace.
func (a *at) qualified() {
	if obj, ok := a.used[strings.ToLower(a.qualifier)]; ok {
		a.answer.add("column", quote(obj.Columns)...)
	}
	var names []string
	for _, o := range a.names.Objects {
		if strings.EqualFold(o.Namespace, a.qualifier) {
			names = append(names, o.Name)
		}
	}
	a.answer.add("object", quote(names)...)
	if strings.EqualFold(a.qualifier, "loam") {
		a.answer.add("namespace", quote(a.names.Namespaces)...)
	}
}

// objects offers what FROM reads.
func (a *at) objects() {
	a.stored()
	a.answer.add("function", a.names.TableFunctions...)
}

// stored offers collections, tables and views, and the namespaces they are in.
func (a *at) stored() {
	if a.qualifier != "" {
		a.qualified()
		return
	}
	var names []string
	for _, o := range a.names.Objects {
		if strings.EqualFold(o.Namespace, a.names.Namespace) {
			names = append(names, o.Name)
		}
	}
	a.answer.add("object", quote(names)...)
	a.answer.add("namespace", quote(a.names.Namespaces)...)
}

// expression offers columns, functions, and words of the grammar.
func (a *at) expression() {
	var columns, aliases []string
	for name, o := range a.used {
		columns = append(columns, o.Columns...)
		aliases = append(aliases, name)
	}
	sort.Strings(columns)
	sort.Strings(aliases)
	if len(a.before) > 0 {
		a.answer.add("column", quote(columns)...)
		a.answer.add("table", quote(aliases)...)
	}
	if a.answer.Prefix == "" && len(a.answer.Candidates) > 0 {
		return
	}
	if len(a.before) > 0 && a.answer.Prefix != "" {
		a.answer.add("function", a.names.Functions...)
		a.answer.add("function", a.names.TableFunctions...)
	}
	a.keywords()
}

// statementWords begin a statement.
var statementWords = []string{"SELECT", "FROM", "WITH", "INSERT", "UPDATE", "DELETE", "CREATE", "ALTER", "DROP", "TRUNCATE", "EXPLAIN", "SHOW",
	"DESCRIBE", "SET", "RESET", "USE", "VALUES"}

// clauseWords are the words that are written within statements, of the many that
// the grammar knows.
var clauseWords = strings.Fields(`ADD ALL ALTER ANALYZE AND AS ASC BETWEEN BIGINT BOOLEAN BY CASE CAST COLLECTION COLUMN COLUMNS CREATE CROSS
	CUBE DATE DECIMAL DEFAULT DELETE DESC DISTANCE DISTINCT DOUBLE DROP ELSE END EXCEPT EXISTS EXPLAIN EXTRACT FALSE FILTER FIRST FOLLOWING FORMAT
	FROM FULL FULLTEXT FUNCTIONS GROUP GROUPING HAVING IF ILIKE IN INNER INSERT INT INTERSECT INTERVAL INTO IS JOIN JSON KEY LAST LATERAL LEFT
	LIKE LIMIT NAMESPACE NAMESPACES NOT NULL NULLS OFFSET ON OR ORDER OUTER OVER PARTITION PRECEDING PRIMARY QUALIFY RANGE RENAME REPLACE
	RIGHT ROLLUP ROW ROWS SELECT SET SETS SHOW SIMILAR TABLE TABLES TEXT THEN TIMESTAMP TO TRUE UNBOUNDED UNION UPDATE USING VALUES
	VECTOR VIEW WHEN WHERE WINDOW WITH`)

// keywords offers words of the grammar, in the case of what is typed.
func (a *at) keywords() {
	words := statementWords
	if len(a.before) > 0 {
		if a.answer.Prefix == "" {
			return
		}
		words = clauseWords
	}
	words = slices.Clone(words)
	if p := a.answer.Prefix; p != "" && p == strings.ToLower(p) {
		for i, w := range words {
			words[i] = strings.ToLower(w)
		}
	}
	a.answer.add("keyword", words...)
}

// quote puts names that need it between double quotes.
func quote(names []string) []string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = planner.QuoteName(n)
	}
	return out
}
