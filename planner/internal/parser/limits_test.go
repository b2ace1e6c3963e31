package parser_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/planner/internal/ast"
	"github.com/loamdb/loam/planner/internal/parser"
)

// nestings are the ways in which a text can nest: n times open, a core, n times close.
var nestings = []struct{ head, open, core, close, tail string }{
	{"SELECT ", "(", "1", ")", ""},
	{"SELECT ", "[", "1", "]", ""},
	{"SELECT ", "NOT ", "a", "", ""},
	{"SELECT ", "- ", "a", "", ""},
	{"SELECT ", "f(", "1", ")", ""},
	{"SELECT ", "{a: ", "1", "}", ""},
	{"SELECT ", "MAP {1: ", "1", "}", ""},
	{"SELECT ", "a[", "1", "]", ""},
	{"SELECT ", "CASE WHEN a THEN ", "1", " END", ""},
	{"SELECT ", "CAST(", "1", " AS INT)", ""},
	{"SELECT ", "(1 + ", "1", ")", ""},
	{"SELECT ", "(1 + 1 * ", "1", " - 1 - 1)", ""},
	{"SELECT ", "1 BETWEEN (", "1", ") AND 2", ""},
	{"SELECT ", "a IN (", "1", ")", ""},
	{"SELECT ", "lambda x: ", "1", "", ""},
	{"SELECT ", "(SELECT ", "1", ")", ""},
	{"SELECT ", "EXISTS (SELECT ", "1", ")", ""},
	{"SELECT ", "count(*) OVER (ORDER BY ", "1", ")", ""},
	{"SELECT ", "a = ANY (", "1", ")", ""},
	{"SELECT ", "INTERVAL (", "1", ") DAY", ""},
	{"SELECT 1", " + 1", "", "", ""},
	{"SELECT 1", "::int", "", "", ""},
	{"SELECT a", "[1]", "", "", ""},
	{"SELECT (a)", ".b", "", "", ""},
	{"SELECT a", " IS NULL", "", "", ""},
	{"SELECT a", " COLLATE c", "", "", ""},
	{"SELECT a", " AND b OR c", "", "", ""},
	{"SELECT 1", " UNION SELECT 1", "", "", ""},
	{"SELECT 1", " INTERSECT SELECT 1", "", "", ""},
	{"", "(", "SELECT 1", ")", ""},
	{"", "(SELECT 1 UNION ", "SELECT 1", " LIMIT 1)", ""},
	{"SELECT * FROM a", " CROSS JOIN b", "", "", ""},
	{"SELECT * FROM a", " JOIN b", "", " ON true", ""},
	{"SELECT * FROM ", "(", "a", ")", ""},
	{"SELECT * FROM ", "(a CROSS JOIN ", "a", ")", ""},
	{"SELECT * FROM ", "(SELECT * FROM ", "a", ")", ""},
	{"SELECT * FROM ", "f(", "a", ")", ""},
	{"SELECT a GROUP BY ", "GROUPING SETS (", "a", ")", ""},
	{"", "WITH a AS (", "SELECT 1", ") SELECT 1", ""},
	{"SELECT CAST(a AS ", "LIST<", "INT", ">", ")"},
	{"SELECT CAST(a AS ", "STRUCT(a ", "INT", ")", ")"},
	{"SELECT CAST(a AS INT", "[]", "", "", ")"},
	{"CREATE LINK l FROM STREAM s INTO TABLE t TRANSFORM ", "(", "SELECT 1", ")", ""},
}

// nodesPerLevel is how many nodes one level of nesting can stack at most.
const nodesPerLevel = 5

func TestNestingIsBounded(t *testing.T) {
	for _, n := range nestings {
		text := func(levels int) string {
			return n.head + strings.Repeat(n.open, levels) + n.core + strings.Repeat(n.close, levels) + n.tail
		}
		stmt, err := parser.ParseOne(text(100))
		if err != nil {
			t.Errorf("%s…: 100 levels: %v", n.head+n.open, err)
			continue
		}
		if d := ast.Depth(stmt); d > parser.MaxDepth*nodesPerLevel {
			t.Errorf("%s…: depth %d", n.head+n.open, d)
		}
		for _, levels := range []int{parser.MaxDepth + 1, 20000} {
			full := text(levels)
			if len(full) > parser.MaxText {
				continue
			}
			_, err := parser.ParseOne(full)
			if !fail.Is(err, fail.TooDeep) && !(err == nil && flat(n.open)) {
				t.Errorf("%s…: %d levels: %v", n.head+n.open, levels, err)
			}
		}
	}
}

// flat reports whether a nesting leaves no depth in the tree: chains of AND and
// OR are one node. The one here mixes them, so that it nests only once.
func flat(open string) bool { return open == " AND b OR c" }

// TestMixedNestingIsBounded stacks chains inside chains, where each level alone
// stays under the limit.
func TestMixedNestingIsBounded(t *testing.T) {
	for _, chain := range []int{10, 100, 500} {
		text := "SELECT " + strings.Repeat("(", 500) + "1" + strings.Repeat(strings.Repeat(" + 1", chain)+")", 500)
		stmt, err := parser.ParseOne(text)
		if err == nil && ast.Depth(stmt) > parser.MaxDepth*nodesPerLevel {
			t.Errorf("chains of %d: depth %d", chain, ast.Depth(stmt))
		}
		if !fail.Is(err, fail.TooDeep) {
			t.Errorf("chains of %d: %v", chain, err)
		}
	}
}

func TestLongListsAndChains(t *testing.T) {
	for name, text := range map[string]string{
		"or":   "SELECT a" + strings.Repeat(" OR a = 1", 20000),
		"in":   "SELECT a IN (1" + strings.Repeat(", 2", parser.MaxList-1) + ")",
		"rows": "VALUES (1)" + strings.Repeat(", (2)", parser.MaxList-1),
	} {
		if _, err := parser.ParseOne(text); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, text := range map[string]string{
		"in":     "SELECT a IN (1" + strings.Repeat(", 2", parser.MaxList) + ")",
		"row":    "SELECT (1" + strings.Repeat(", 2", parser.MaxList) + ")",
		"rows":   "VALUES (1)" + strings.Repeat(", (2)", parser.MaxList),
		"args":   "SELECT f(1" + strings.Repeat(", 2", parser.MaxList) + ")",
		"items":  "SELECT 1" + strings.Repeat(", 2", parser.MaxList+1),
		"length": "SELECT 1" + strings.Repeat(" ", parser.MaxText),
	} {
		if _, err := parser.ParseOne(text); !fail.Is(err, fail.TooLarge) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestInvalidUTF8(t *testing.T) {
	_, err := parser.Parse("SELECT 'ä\xff'")
	if e := fail.As(err); e.Code != fail.InvalidEncoding || e.Pos.Offset != 10 {
		t.Errorf("%v at %d", err, fail.As(err).Pos.Offset)
	}
}

func TestStatementRanges(t *testing.T) {
	const sql = " ; SELECT 1 /* x */ ;;\n(SELECT 2) -- y\n; SHOW TABLES "
	stmts, err := parser.Parse(sql)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range stmts {
		got = append(got, sql[s.Pos():s.End()])
	}
	if want := `["SELECT 1" "(SELECT 2)" "SHOW TABLES"]`; fmt.Sprintf("%q", got) != want {
		t.Errorf("got %q", got)
	}
}

func TestEntryPoints(t *testing.T) {
	if stmts, err := parser.Parse(" ;; -- nothing\n"); err != nil || len(stmts) != 0 {
		t.Errorf("empty text: %v %v", stmts, err)
	}
	for _, sql := range []string{"", ";", "SELECT 1; SELECT 2"} {
		if _, err := parser.ParseOne(sql); !fail.Is(err, fail.Syntax) {
			t.Errorf("ParseOne(%q): %v", sql, err)
		}
	}
	for _, sql := range []string{"", "a = 1;", "a = 1 b", "SELECT 1", "*", "a,"} {
		if _, err := parser.ParseExpr(sql); !fail.Is(err, fail.Syntax) {
			t.Errorf("ParseExpr(%q): %v", sql, err)
		}
	}
	if e, err := parser.ParseExpr("lang = 'en' AND year > $1"); err != nil || ast.Depth(e) != 3 {
		t.Errorf("%v", err)
	}
}
