package shell

import (
	"strings"
	"unicode"

	"github.com/loamdb/loam/planner"
)

// piece is the next thing of a script: a statement, a backslash command, or a
// statement and the command that runs it (\g, \watch).
type piece struct {
	// sql is the statement without its semicolon; "" without one. It starts at byte
	// start of the script.
	sql   string
	start int
	// command is the name behind the backslash; args is the rest of its line.
	command, args string
	// ended is false for a statement at the end of the text without a semicolon;
	// open is then what is not closed: ' " $ / (, or "".
	ended bool
	open  string
}

// nextPiece reads the piece at or after byte from and says where it ends; false
// when nothing but space and comments is left.
func nextPiece(text string, from int) (p piece, end int, ok bool) {
	p.start = -1
	depth, last := 0, from
	for {
		t, ok := planner.NextToken(text, last)
		if !ok {
			break
		}
		word := text[t.Start:t.End]
		switch {
		case t.Class == planner.TokenComment:
			last = t.End
			continue
		case t.Class == planner.TokenBad && word == `\`:
			if p.start >= 0 {
				p.sql = strings.TrimSpace(text[p.start:t.Start])
			}
			p.ended = true
			p.command, p.args, end = commandAt(text, t.End)
			return p, end, true
		case word == ";":
			if p.start < 0 {
				return nextPiece(text, t.End)
			}
			p.sql, p.ended = strings.TrimSpace(text[p.start:t.Start]), true
			return p, t.End, true
		case t.Class == planner.TokenOpen:
			p.open = opener(word)
		case word == "(" || word == "[":
			depth++
		case word == ")" || word == "]":
			depth--
		}
		if p.start < 0 {
			p.start = t.Start
			if wordCommand(word) != "" && aloneOnLine(text[t.End:]) {
				p.sql, p.ended = word, true
				return p, t.End, true
			}
		}
		last = t.End
	}
	if p.start < 0 {
		return piece{}, len(text), false
	}
	p.sql = strings.TrimSpace(text[p.start:])
	if p.open == "" && depth > 0 {
		p.open = "("
	}
	return p, len(text), true
}

// aloneOnLine reports that nothing follows on the line.
func aloneOnLine(rest string) bool {
	line, _, _ := strings.Cut(rest, "\n")
	return strings.TrimSpace(line) == ""
}

// opener is the quote or sign that begins an open token.
func opener(word string) string {
	if i := strings.IndexAny(word, `'"$/`); i >= 0 {
		return word[i : i+1]
	}
	return ""
}

// commandAt reads the name of a command and its arguments up to the line's end.
func commandAt(text string, from int) (name, args string, end int) {
	end = len(text)
	if n := strings.IndexByte(text[from:], '\n'); n >= 0 {
		end = from + n
	}
	line := text[from:end]
	n := strings.IndexFunc(line, func(r rune) bool { return !unicode.IsLetter(r) && r != '_' })
	switch {
	case n < 0:
		n = len(line)
	case n == 0 && line != "":
		n = 1 // \? and \!
	}
	return line[:n], strings.TrimSpace(line[n:]), end
}

// finished reports whether a text can be run as it stands: every statement in it
// has its end. A word such as quit needs none.
func finished(text string) bool {
	for at := 0; ; {
		p, end, ok := nextPiece(text, at)
		switch {
		case !ok:
			return true
		case !p.ended:
			return false
		}
		at = end
	}
}

// wordCommand is the command that a bare word stands for.
func wordCommand(sql string) string {
	switch strings.ToLower(sql) {
	case "quit", "exit":
		return "q"
	case "help":
		return "?"
	}
	return ""
}

// substitute replaces :name, :'name' and :"name" by the value of a variable: as it
// is, as a string, as a quoted name. Names without a variable stay, and so do
// casts (a::int). It says whether anything was replaced.
func substitute(sql string, vars map[string]string) (string, bool) {
	if len(vars) == 0 || !strings.Contains(sql, ":") {
		return sql, false
	}
	var b strings.Builder
	copied, colon := 0, -1
	for _, t := range planner.Tokens(sql) {
		word := sql[t.Start:t.End]
		if colon >= 0 && t.Start == colon+1 {
			if text, ok := variable(word, t.Class, vars); ok {
				b.WriteString(sql[copied:colon] + text)
				copied = t.End
			}
		}
		colon = -1
		if word == ":" {
			colon = t.Start
		}
	}
	if copied == 0 {
		return sql, false
	}
	return b.String() + sql[copied:], true
}

func variable(word string, class planner.TokenClass, vars map[string]string) (string, bool) {
	switch class {
	case planner.TokenName, planner.TokenKeyword:
		v, ok := vars[word]
		return v, ok
	case planner.TokenString, planner.TokenQuotedName:
		v, ok := vars[word[1:len(word)-1]]
		q := word[:1]
		return q + strings.ReplaceAll(v, q, q+q) + q, ok && (q == `'` || q == `"`)
	}
	return "", false
}
