package planner

import (
	"strings"

	"github.com/loamdb/loam/planner/internal/parser"
)

// Split cuts a script at its semicolons into the texts of its statements, empty
// ones left out. A text that does not parse is an error with its place in the script.
func Split(sql string) ([]string, error) {
	stmts, err := parser.Parse(sql)
	if err != nil {
		return nil, err
	}
	out := make([]string, len(stmts))
	for i, s := range stmts {
		out[i] = strings.TrimSpace(sql[s.Pos():s.End()])
	}
	return out, nil
}
