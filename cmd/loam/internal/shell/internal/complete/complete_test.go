package complete

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/loamdb/loam/planner"
)

var known = &Names{
	Namespace:  "public",
	Namespaces: []string{"public", "papers", "system"},
	Objects: []Object{
		{"public", "docs", "collection", []string{"id", "title", "lang", "Mixed Case"}},
		{"public", "authors", "table", []string{"name", "born"}},
		{"papers", "arxiv", "collection", []string{"doi"}},
		{"system", "queries", "system table", []string{"sql", "state"}},
	},
	Functions:      []string{"lower", "length", "count", "date_trunc"},
	TableFunctions: []string{"text_search", "vector_search", "read_parquet"},
	Settings:       []string{"schema", "sql_dialect"},
	Commands:       []string{"d", "dt", "df", "copy", "i", "x", "pset", "format"},
	Statements:     []string{"SELECT", "CREATE TABLE", "CREATE VIEW"},
	Words:          map[string][]string{"x": {"on", "off", "auto"}, "pset": {"null", "max_rows"}, "pset pager": {"on", "off"}},
	Files: func(prefix string) []string {
		var out []string
		for _, f := range []string{"data/", "data.csv", "dump.parquet"} {
			if strings.HasPrefix(f, prefix) {
				out = append(out, f)
			}
		}
		return out
	},
}

// TestComplete: the cursor is at the ‸.
func TestComplete(t *testing.T) {
	datadriven.RunTest(t, "testdata/complete", func(t *testing.T, d *datadriven.TestData) string {
		var out strings.Builder
		for line := range strings.Lines(d.Input) {
			line = strings.TrimSuffix(line, "\n")
			text := strings.ReplaceAll(line, "⏎", "\n")
			cursor := strings.Index(text, "‸")
			if cursor < 0 {
				t.Fatalf("no cursor in %q", line)
			}
			a := At(strings.Replace(text, "‸", "", 1), cursor, known)
			fmt.Fprintf(&out, "%s\n  %q:", line, a.Prefix)
			for i, c := range a.Candidates {
				if i == 8 {
					fmt.Fprintf(&out, " …")
					break
				}
				fmt.Fprintf(&out, " %s(%s)", c.Text, c.Kind)
			}
			out.WriteString("\n")
		}
		return out.String()
	})
}

// TestWords: what is offered as a word of the grammar is one.
func TestWords(t *testing.T) {
	for _, w := range append(slices.Clone(clauseWords), statementWords...) {
		if !slices.Contains(planner.Keywords(), w) && !slices.Contains([]string{"BIGINT", "BOOLEAN", "DECIMAL", "INT", "JSON", "TEXT"}, w) {
			t.Errorf("%s is no keyword", w)
		}
	}
}

// FuzzAt: any text completes without a crash, and candidates go on from the prefix.
func FuzzAt(f *testing.F) {
	f.Add("SELECT ti FROM docs d WHERE d.", 9)
	f.Add("\\copy (SELECT 'a", 3)
	f.Add("\"", 1)
	f.Fuzz(func(t *testing.T, text string, cursor int) {
		a := At(text, cursor, known)
		if cursor >= 0 && cursor <= len(text) && !strings.HasSuffix(text[:cursor], a.Prefix) {
			t.Fatalf("%q at %d: the prefix %q is not before the cursor", text, cursor, a.Prefix)
		}
		for _, c := range a.Candidates {
			if !strings.HasPrefix(strings.ToLower(c.Text), strings.ToLower(a.Prefix)) {
				t.Fatalf("%q at %d: %q does not go on from %q", text, cursor, c.Text, a.Prefix)
			}
		}
	})
}
