package loam_test

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/loamdb/loam/functions"
	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/planner"
)

const functionsPage = "docs/functions.md"

const functionsHead = `# Functions

Every function of Loam SQL, with an example and its result. The page is made from the
registry, and each example is run, by a test: ` + "`go test -run FunctionsPage -rewrite .`" + `
writes it anew. In SQL the same is in ` + "`system.functions`" + `.

- Names match in any case. A function with a NULL argument is NULL unless it says otherwise.
- Positions and lengths of text count characters, from 1. Positions in lists count from 1,
  from the end when negative.
- An argument is cast where the cast loses nothing (INT to BIGINT to DECIMAL to DOUBLE,
  DATE to TIMESTAMP); a literal takes the type that is asked for.
- What is out of range, not a number or badly written is an error, never a wrapped or
  cut value. TRY_CAST gives NULL instead.
- Timestamps are UTC. ` + "`x AT TIME ZONE zone`" + ` gives the local time in a zone.
`

// TestFunctionsPage: docs/functions.md is what the registry says, and every
// example runs and gives what the page shows.
func TestFunctionsPage(t *testing.T) {
	n := &node{t: t, dir: t.TempDir()}
	n.open()
	defer n.close()
	n.ok("CREATE COLLECTION docs (id TEXT PRIMARY KEY, title TEXT FULLTEXT 'english', emb VECTOR(2))")
	n.ok("INSERT INTO docs VALUES " + sampleDocs)
	page := functionsHead
	names, group := map[string]bool{}, ""
	for _, f := range definitions(n.engine.Functions()) {
		for _, name := range f.names {
			names[name] = true
		}
		if f.Group != group {
			group = f.Group
			page += "\n## " + group + "\n\n" + groupNote(f.FuncHelp) + "| function | what it gives | example | result |\n| --- | --- | --- | --- |\n"
		}
		page += f.line(t, n)
	}
	if len(names) < 450 {
		t.Errorf("%d distinct names", len(names))
	}
	if rewrite := flag.Lookup("rewrite"); rewrite != nil && rewrite.Value.String() == "true" {
		if err := os.WriteFile(functionsPage, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(functionsPage)
	if err != nil {
		t.Fatal(err)
	}
	if string(have) != page {
		t.Errorf("%s is stale: go test -run FunctionsPage -rewrite .\n%s", functionsPage, firstDifference(string(have), page))
	}
}

// sampleDocs are the rows that the examples of searches read.
const sampleDocs = "('a', 'The quick fox', [1, 0]), ('b', 'A lazy dog', [0, 1]), ('c', 'A quick dog', [1, 1])"

func groupNote(f expr.FuncHelp) string {
	switch f.Kind {
	case "scalar":
		return ""
	case "search":
		return "They are called in `FROM` and return rows; `tbl` is a collection, and `k` another word for\n`limit` (of `rrf`, the constant of the ranks). The examples give `id`, of\n`CREATE COLLECTION docs (id TEXT PRIMARY KEY, title TEXT FULLTEXT 'english', emb VECTOR(2))`\nwith the rows `" + sampleDocs + "`.\n\n"
	case "table":
		return "They are called in `FROM`. Files lie in directories that the operator allows\n(`--allow-files`); examples with files are not run.\n\n"
	}
	return "The examples read `FROM " + functions.SampleRows + "`.\n\n"
}

func firstDifference(have, want string) string {
	a, b := strings.Split(have, "\n"), strings.Split(want, "\n")
	for i := range b {
		if i >= len(a) || a[i] != b[i] {
			return fmt.Sprintf("line %d should be\n%s", i+1, b[i])
		}
	}
	return "lines at the end are too many"
}

// definition is one function with its overloads and aliases.
type definition struct {
	expr.FuncHelp
	signatures, names []string
}

// definitions groups the registry's entries, in the order of their groups.
func definitions(all []expr.FuncHelp) []*definition {
	at := map[string]*definition{}
	var out []*definition
	groups := functions.Groups()
	for _, h := range planner.TableFunctions() {
		if !slices.Contains(groups, h.Group) {
			groups = append(groups, h.Group)
		}
	}
	for _, group := range groups {
		for _, h := range all {
			if h.Group != group {
				continue
			}
			key := h.Kind + " " + h.Of + " " + h.Help
			d := at[key]
			if d == nil {
				d = &definition{FuncHelp: h}
				at[key] = d
				out = append(out, d)
			}
			if h.Name == h.Of {
				d.signatures = append(d.signatures, h.Signature)
			}
			if len(d.names) == 0 || d.names[len(d.names)-1] != h.Name {
				d.names = append(d.names, h.Name)
			}
		}
	}
	return out
}

// run runs the example, unless it reads a file.
func (d *definition) run(t *testing.T, n *node) []string {
	sql := "SELECT " + d.Example + " FROM " + functions.SampleRows
	switch {
	case strings.HasPrefix(d.Of, "read_"):
		return nil
	case d.Kind == "scalar":
		sql = "SELECT " + d.Example
	case d.Kind == "search":
		sql = "SELECT id FROM " + d.Example
	case d.Kind == "table":
		sql = "SELECT * FROM " + d.Example
	}
	rows, _, err := n.query(sql)
	if err != nil {
		t.Errorf("the example of %s: %s", d.Of, fail.Render(err, sql))
	}
	return rows
}

// line is the function's row of the table; its example is run.
func (d *definition) line(t *testing.T, n *node) string {
	if d.Example == "" {
		t.Errorf("%s %s has no example", d.Kind, d.Of)
	}
	rows := d.run(t, n)
	signatures := make([]string, len(d.signatures))
	for i, s := range d.signatures {
		signatures[i] = code(s)
	}
	help := strings.ReplaceAll(d.Help, "|", `\|`)
	var aliases []string
	for _, name := range d.names {
		if name != d.Of {
			aliases = append(aliases, code(name))
		}
	}
	if len(aliases) > 0 {
		help += ". Also " + strings.Join(aliases, ", ")
	}
	results := make([]string, len(rows))
	for i, r := range rows {
		results[i] = code(r)
	}
	return fmt.Sprintf("| %s | %s | %s | %s |\n", strings.Join(signatures, "<br>"), help, code(d.Example), strings.Join(results, "<br>"))
}

// code is a code span inside a table.
func code(s string) string { return "`" + strings.ReplaceAll(s, "|", `\|`) + "`" }
