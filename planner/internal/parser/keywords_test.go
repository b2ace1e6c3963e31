package parser

import (
	"fmt"
	"strings"
	"testing"

	"github.com/loamdb/loam/planner/internal/ast"
)

// TestSoftKeywordsAreNames: every word that is not reserved names a column, a
// table, a CTE and an alias; reserved words do so after AS, after a dot and in
// quotes only.
func TestSoftKeywordsAreNames(t *testing.T) {
	for k := noKeyword + 1; k < numKeywords; k++ {
		w := strings.ToLower(k.String())
		if lookupKeyword(w) != k || lookupKeyword(k.String()) != k {
			t.Fatalf("%s is not found", w)
		}
		accepts := func(want bool, forms ...string) {
			for _, form := range forms {
				sql := fmt.Sprintf(form, w)
				if _, err := ParseOne(sql); (err == nil) != want {
					t.Errorf("%s: %v", sql, err)
				}
			}
		}
		accepts(true, "SELECT 1 AS %s", "SELECT t.%s FROM t", `SELECT "%s" FROM "%[1]s"`, "SELECT a.%s.b")
		if k.reserved() {
			accepts(false, "SELECT * FROM %s AS x", "UPDATE %s SET a = 1", "CREATE TABLE %s (a INT)", "CREATE TABLE t (%s INT)")
			continue
		}
		accepts(true, "SELECT %s FROM t", "SELECT a, %s, b FROM t", "SELECT * FROM %s", "SELECT * FROM %s AS x, y",
			"SELECT %s + 1, f(%[1]s) FROM t WHERE %[1]s = 1 ORDER BY %[1]s", "SELECT * FROM t GROUP BY %s, a",
			"SELECT * FROM t AS %s (%[1]s, a)", "INSERT INTO %s (%[1]s) VALUES (1)", "UPDATE %s AS x SET %[1]s = 1",
			"CREATE COLLECTION %s (%[1]s TEXT, a INT)", "DELETE FROM %s WHERE %[1]s IS NULL", "ALTER TABLE %s DROP COLUMN %[1]s")
		if k != kwRecursive {
			accepts(true, "WITH %s AS (SELECT 1) SELECT 1")
		}
		if k.bareAlias() {
			accepts(true, "SELECT a %s FROM t", "SELECT * FROM t %s WHERE a", "SELECT * FROM t %s (a)")
		}
	}
}

// TestSpecialWordsStayNames: the words with a syntax of their own are names
// where that syntax does not follow.
func TestSpecialWordsStayNames(t *testing.T) {
	for _, w := range []string{"date", "time", "timestamp", "interval", "map", "json", "exists", "cast", "extract",
		"trim", "substring", "position", "overlay", "row", "lambda", "if", "left_", "any"} {
		for _, form := range []string{"%s", "%s = '1'", "%s.a", "(%s)", "%s IS NULL", "-%s", "%s[1]", "a AND %s"} {
			sql := fmt.Sprintf(form, w)
			e, err := ParseExpr(sql)
			if err != nil {
				t.Errorf("%s: %v", sql, err)
				continue
			}
			found := false
			ast.Inspect(e, func(n ast.Node) bool {
				c, ok := n.(*ast.ColumnRef)
				found = found || ok && c.Parts[0].Text == w
				return true
			})
			if !found {
				t.Errorf("%s: %s is no column:\n%s", sql, w, ast.Dump(e))
			}
		}
	}
}

// TestTokens: tokens cover the text, in order, with blanks and comments between.
func TestTokens(t *testing.T) {
	const sql = "SELECT a.b::c,/* /* x */ */'it''s' -- y\n||$1!~~*?\ufeff {größe:[1.5e3,.2,0xF]}=>:=x'0A'$$q$$"
	toks, bad := lex(sql)
	if bad != nil {
		t.Fatal(bad)
	}
	var words []string
	for _, tok := range toks[:len(toks)-1] {
		words = append(words, sql[tok.start:tok.end])
	}
	want := "SELECT a . b :: c , 'it''s' || $1 !~~* ? { größe : [ 1.5e3 , .2 , 0xF ] } => := x'0A' $$q$$"
	if got := strings.Join(words, " "); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestOperatorTable: longer operators stand before their prefixes, and each is
// read as one token of its kind.
func TestOperatorTable(t *testing.T) {
	for i, op := range operators {
		for _, later := range operators[i+1:] {
			if strings.HasPrefix(later.text, op.text) {
				t.Errorf("%s hides %s", op.text, later.text)
			}
		}
		toks, bad := lex(op.text + " ")
		if bad != nil || len(toks) != 2 || toks[0].kind != op.kind {
			t.Errorf("%s: %v %v", op.text, toks, bad)
		}
	}
}

func TestStringValues(t *testing.T) {
	for written, want := range map[string]string{
		`'it''s \n'`:              `it's \n`,
		`E'\n\t\r\b\f\\\''''`:     "\n\t\r\b\f\\''",
		`e'\x41\u00e9\U0001f600'`: "Aé😀",
		`E'\101\7\1012'`:          "A\aA2",
		`E'\é\"'`:                 `é"`,
		`N'x'`:                    "x",
		`$$it's$$`:                "it's",
		`$a$ $$ $a$`:              " $$ ",
		`''`:                      "",
	} {
		e, err := ParseExpr(written)
		if err != nil {
			t.Errorf("%s: %v", written, err)
			continue
		}
		if s, ok := e.(*ast.StringLit); !ok || s.Value != want {
			t.Errorf("%s: got %s, want %q", written, ast.Dump(e), want)
		}
	}
}

func TestUnitWords(t *testing.T) {
	for word, want := range map[string]string{"day": "DAY", "Days": "DAY", "HOURS": "HOUR", "dayss": "", "s": "", "": "",
		"century": "", "microseconds": "MICROSECOND"} {
		if got := unitWord(word); got != want {
			t.Errorf("%q: got %q", word, got)
		}
	}
}
