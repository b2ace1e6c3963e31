package planner_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/loamdb/loam/planner"
)

var classNames = []string{"op", "keyword", "name", "quoted", "number", "string", "param", "comment", "open", "bad"}

// drawn shows tokens as class:text.
func drawn(sql string) string {
	var out []string
	for _, t := range planner.Tokens(sql) {
		out = append(out, fmt.Sprintf("%s:%s", classNames[t.Class], sql[t.Start:t.End]))
	}
	return strings.Join(out, " ")
}

func TestTokens(t *testing.T) {
	for sql, want := range map[string]string{
		"":                           "",
		"SELECT a.\"B c\", 1.5;":     `keyword:SELECT name:a op:. quoted:"B c" op:, number:1.5 op:;`,
		"a -- b; 'c\n;":              "name:a comment:-- b; 'c op:;",
		"/* a /* b */ ; */ x":        "comment:/* a /* b */ ; */ name:x",
		"a /* open ; ":               "name:a open:/* open ; ",
		"a 'open ; ":                 "name:a open:'open ; ",
		"a \"open ; ":                "name:a open:\"open ; ",
		"E'\\'; ' $$ ; $$ $1 $x":     "string:E'\\'; ' string:$$ ; $$ param:$1 param:$x",
		"a $t$ ; $$":                 "name:a open:$t$ ; $$",
		"X'1'; b":                    "bad:X string:'1' op:; name:b",
		"a \\g ` é":                  "name:a bad:\\ name:g bad:` name:é",
		"x::int --":                  "name:x op::: name:int comment:--",
		"12ab;":                      "bad:1 bad:2 name:ab op:;",
		"-- only a comment, no line": "comment:-- only a comment, no line",
	} {
		if got := drawn(sql); got != want {
			t.Errorf("%q:\n got %s\nwant %s", sql, got, want)
		}
	}
}

func TestKeywords(t *testing.T) {
	words := planner.Keywords()
	if !slices.Contains(words, "SELECT") || !slices.Contains(words, "COLLECTION") || slices.Contains(words, "") {
		t.Errorf("keywords %q", words)
	}
}

// FuzzTokens: tokens are in order, within the text, and end on characters.
func FuzzTokens(f *testing.F) {
	f.Add("SELECT 'a' /* b */ -- c\n;")
	f.Add("12a X'1' $a$ \\ \x00 '\x00' é")
	f.Fuzz(func(t *testing.T, sql string) {
		at := 0
		for _, tok := range planner.Tokens(sql) {
			if tok.Start < at || tok.End <= tok.Start || tok.End > len(sql) {
				t.Fatalf("token %+v after %d in %q", tok, at, sql)
			}
			at = tok.End
		}
	})
}

// TestQuoteNameReadsBack: whatever the name, the text is one name of that spelling.
func TestQuoteNameReadsBack(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		name := rapid.OneOf(rapid.StringMatching(`[a-zA-Z_][a-zA-Z_0-9]*`), rapid.SampledFrom(planner.Keywords()),
			rapid.StringN(1, 8, -1)).Draw(rt, "name")
		if strings.ContainsRune(name, 0) || !utf8.ValidString(name) {
			rt.Skip()
		}
		tokens := planner.Tokens(planner.QuoteName(name))
		if len(tokens) != 1 {
			rt.Fatalf("%q: %d tokens of %s", name, len(tokens), planner.QuoteName(name))
		}
		text := planner.QuoteName(name)
		if inner, ok := strings.CutPrefix(text, `"`); ok {
			text = strings.ReplaceAll(strings.TrimSuffix(inner, `"`), `""`, `"`)
		}
		if text != name {
			rt.Fatalf("%q became %q", name, text)
		}
	})
}
