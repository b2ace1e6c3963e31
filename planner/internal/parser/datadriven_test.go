package parser_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/planner/internal/ast"
	"github.com/loamdb/loam/planner/internal/parser"
)

// TestTrees draws the trees of representative texts.
//
//	stmt   one or more statements
//	expr   an expression
//	place  an expression; each node with the text it stands for
func TestTrees(t *testing.T) {
	datadriven.Walk(t, "testdata/tree", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "stmt":
				stmts, err := parser.Parse(d.Input)
				if err != nil {
					return errorText(err)
				}
				var b strings.Builder
				for _, s := range stmts {
					fmt.Fprintln(&b, ast.Dump(s))
				}
				return b.String()
			case "expr", "place":
				e, err := parser.ParseExpr(d.Input)
				if err != nil {
					return errorText(err)
				}
				if d.Cmd == "expr" {
					return ast.Dump(e) + "\n"
				}
				return places(d.Input, e, 0)
			}
			d.Fatalf(t, "unknown command %s", d.Cmd)
			return ""
		})
	})
}

func places(sql string, n ast.Node, depth int) string {
	var b strings.Builder
	kind := strings.TrimPrefix(fmt.Sprintf("%T", n), "*ast.")
	fmt.Fprintf(&b, "%s%s %d-%d %s\n", strings.Repeat("  ", depth), kind, n.Pos(), n.End(), sql[n.Pos():n.End()])
	ast.Children(n, func(c ast.Node) { b.WriteString(places(sql, c, depth+1)) })
	return b.String()
}

// errorText is the error as a person reads it, without the excerpt of the text.
func errorText(err error) string {
	e := fail.As(err)
	text := fmt.Sprintf("%s %d:%d %s\n", e.Code.SQLState(), e.Pos.Line, e.Pos.Column, e.Message)
	if e.Hint != "" {
		text += "hint: " + e.Hint + "\n"
	}
	return text
}

// TestErrors is the negative corpus. Every line of the input of "each" is a
// statement that must be refused; the output gives, for each, its SQLSTATE, the
// place, the message and the hint. "text" takes the whole input as one text.
func TestErrors(t *testing.T) {
	refused := 0
	datadriven.Walk(t, "testdata/errors", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			texts := strings.Split(d.Input, "\n")
			if d.Cmd == "text" {
				texts = []string{d.Input}
			}
			var b strings.Builder
			for _, sql := range texts {
				stmts, err := parser.Parse(sql)
				if err == nil {
					t.Errorf("%s: accepted: %s\n%s", d.Pos, sql, ast.Dump(stmts[0]))
					continue
				}
				refused++
				e := fail.As(err)
				if e.Pos.Line == 0 {
					t.Errorf("%s: no place: %s: %v", d.Pos, sql, err)
				}
				fmt.Fprint(&b, errorText(err))
			}
			return b.String()
		})
	})
	if refused < 150 {
		t.Errorf("only %d statements were refused: is the negative corpus there?", refused)
	}
}
