package planner

import (
	"strings"
	"unicode"

	"github.com/loamdb/loam/planner/internal/parser"
)

// Part is one statement of a script: its text, without the space around it, and
// the byte offset in the script where it starts.
type Part struct {
	Text  string
	Start int
}

// Split cuts a script at its semicolons into its statements, empty ones left
// out. A text that does not parse is an error with its place in the script.
func Split(sql string) ([]Part, error) {
	stmts, err := parser.Parse(sql)
	if err != nil {
		return nil, err
	}
	out := make([]Part, len(stmts))
	for i, s := range stmts {
		text := strings.TrimLeftFunc(sql[s.Pos():s.End()], unicode.IsSpace)
		out[i] = Part{Text: strings.TrimSpace(text), Start: s.End() - len(text)}
	}
	return out, nil
}
