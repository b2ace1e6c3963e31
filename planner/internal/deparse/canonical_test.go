package deparse_test

import (
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/loamdb/loam/planner/internal/ast"
	"github.com/loamdb/loam/planner/internal/deparse"
	"github.com/loamdb/loam/planner/internal/parser"
)

// TestCanonicalText pins the text of representative statements, one a line of
// "stmt", and expressions, one a line of "expr".
func TestCanonicalText(t *testing.T) {
	datadriven.RunTest(t, "testdata/canonical", func(t *testing.T, d *datadriven.TestData) string {
		var b strings.Builder
		for _, line := range strings.Split(d.Input, "\n") {
			if d.Cmd == "expr" {
				e, err := parser.ParseExpr(line)
				if err != nil {
					d.Fatalf(t, "%s: %v", line, err)
				}
				b.WriteString(deparse.Expr(e) + "\n")
				continue
			}
			s, err := parser.ParseOne(line)
			if err != nil {
				d.Fatalf(t, "%s: %v", line, err)
			}
			b.WriteString(deparse.Statement(s) + "\n")
		}
		return b.String()
	})
}

// TestNamesAndLiterals: what code-built trees rely on.
func TestNamesAndLiterals(t *testing.T) {
	for want, id := range map[string]ast.Ident{
		"Plain":     {Text: "Plain"},
		"a$1":       {Text: "a$1"},
		"größe":     {Text: "größe"},
		`"1a"`:      {Text: "1a"},
		`"a b"`:     {Text: "a b"},
		`""`:        {Text: ""},
		`"a""b"`:    {Text: `a"b`, Quoted: true},
		`"select"`:  {Text: "select", Quoted: true},
		`"größe 2"`: {Text: "größe 2"},
	} {
		if got := deparse.Ident(id); got != want {
			t.Errorf("%q: got %s, want %s", id.Text, got, want)
		}
	}
	if got := deparse.Literal(`it's \n`); got != `'it''s \n'` {
		t.Errorf("got %s", got)
	}
	array := &ast.TypeName{Name: "ARRAY", Size: 3, Elem: &ast.TypeName{Name: "FLOAT"}}
	if got := deparse.Type(array); got != "FLOAT[3]" {
		t.Errorf("got %s", got)
	}
}
