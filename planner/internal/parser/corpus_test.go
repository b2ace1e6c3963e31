package parser_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loamdb/loam/planner/internal/ast"
	"github.com/loamdb/loam/planner/internal/parser"
)

// corpus reads the accepted statements: one a paragraph, comments included.
func corpus(t testing.TB) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/corpus/*.sql")
	if err != nil || len(files) == 0 {
		t.Fatalf("no corpus: %v", err)
	}
	var out []string
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range strings.Split(string(text), "\n\n") {
			if s = strings.TrimSpace(s); s != "" {
				out = append(out, s)
			}
		}
	}
	return out
}

func TestCorpusIsAccepted(t *testing.T) {
	for _, sql := range corpus(t) {
		stmt, err := parser.ParseOne(sql)
		if err != nil {
			t.Errorf("%s\n  %v", sql, err)
			continue
		}
		checkPlaces(t, sql, stmt)
	}
}

// checkPlaces demands that every node lies in the text and inside its parent,
// and that a bare name stands where its node says.
func checkPlaces(t *testing.T, sql string, root ast.Node) {
	t.Helper()
	ast.Inspect(root, func(n ast.Node) bool {
		if n.Pos() < 0 || n.End() > len(sql) || n.Pos() > n.End() {
			t.Errorf("%s\n  %T at [%d,%d) of %d bytes", sql, n, n.Pos(), n.End(), len(sql))
		}
		if c, ok := n.(*ast.ColumnRef); ok {
			for _, part := range c.Parts {
				written := sql[part.Pos():part.End()]
				if part.Quoted {
					written = strings.ReplaceAll(written[1:len(written)-1], `""`, `"`)
				}
				if written != part.Text {
					t.Errorf("%s\n  the name %s is placed at %q", sql, part.Text, written)
				}
			}
		}
		ast.Children(n, func(c ast.Node) {
			if c.Pos() < n.Pos() || c.End() > n.End() {
				t.Errorf("%s\n  %T [%d,%d) lies outside its parent %T [%d,%d)", sql, c, c.Pos(), c.End(), n, n.Pos(), n.End())
			}
		})
		return true
	})
}
