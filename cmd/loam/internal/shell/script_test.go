package shell

import (
	"fmt"
	"strings"
	"testing"
)

// pieces draws a script as it is cut.
func pieces(text string) string {
	var out []string
	for at := 0; ; {
		p, end, ok := nextPiece(text, at)
		if !ok {
			return strings.Join(out, " | ")
		}
		s := p.sql
		if p.command != "" {
			s += fmt.Sprintf(` \%s(%s)`, p.command, p.args)
		}
		if !p.ended {
			s += " …" + p.open
		}
		out = append(out, strings.TrimSpace(s))
		if p.sql != "" && !strings.HasPrefix(text[p.start:], p.sql) {
			return "wrong start of " + p.sql
		}
		if end <= at {
			return "no progress"
		}
		at = end
	}
}

func TestPieces(t *testing.T) {
	for text, want := range map[string]string{
		"":                                  "",
		" -- nothing\n /* at all */ ;; ":    "",
		"SELECT 1":                          "SELECT 1 …",
		"SELECT 1; SELECT 2 ;":              "SELECT 1 | SELECT 2",
		"SELECT ';' -- ;\n, $$;$$;":         "SELECT ';' -- ;\n, $$;$$",
		"SELECT 'a":                         "SELECT 'a …'",
		"SELECT \"a;":                       "SELECT \"a; …\"",
		"SELECT $x$ ; $$":                   "SELECT $x$ ; $$ …$",
		"SELECT /* ;":                       "SELECT /* ; …/",
		"SELECT (1, [2;":                    "SELECT (1, [2",
		"SELECT (1, [2":                     "SELECT (1, [2 …(",
		"\\d docs\nSELECT 1;":               "\\d(docs) | SELECT 1",
		"\\? ":                              "\\?()",
		"\\!ls -l ; 'it":                    "\\!(ls -l ; 'it)",
		"\\":                                "\\()",
		"SELECT 1 \\g out.txt\nSELECT 2;":   "SELECT 1 \\g(out.txt) | SELECT 2",
		"SELECT '\\g' \\gx":                 "SELECT '\\g' \\gx()",
		"quit\nSELECT 2":                    "quit | SELECT 2 …",
		"help me":                           "help me …",
		"-- first\n\\x on\n  SELECT 1 ; ":   "\\x(on) | SELECT 1",
		"SELECT 1;\n\\copy (SELECT 1) TO x": "SELECT 1 | \\copy((SELECT 1) TO x)",
	} {
		// A command without a name draws as \().
		got := pieces(text)
		if text == "\\" {
			want = ""
			got = strings.TrimPrefix(got, "\\()")
		}
		if got != want {
			t.Errorf("%q:\n got %s\nwant %s", text, got, want)
		}
	}
}

func TestFinished(t *testing.T) {
	for text, want := range map[string]bool{
		"": true, "  \n": true, "SELECT 1": false, "SELECT 1;": true, "SELECT 1; -- done": true, "SELECT 1; SELECT": false,
		"SELECT ';": false, "SELECT ';'": false, "SELECT (1;": true, "\\d docs": true, "SELECT 1\n\\g": true, "quit": true, "HELP": true,
		"Exit": true, "quit now": false, "/* ; */": true, "/* ;": false, "$$ ; $$": false,
	} {
		if got := finished(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func TestSubstitute(t *testing.T) {
	vars := map[string]string{"n": "7", "who": "O'Neil", "col": `a"b`, "year": "1991"}
	for sql, want := range map[string]string{
		"SELECT :n":                         "SELECT 7",
		"SELECT :n+:n, ':n', a::int":        "SELECT 7+7, ':n', a::int",
		"SELECT :'who', :\"col\", :\"who\"": `SELECT 'O''Neil', "a""b", "O'Neil"`,
		"SELECT a[1:2], :unknown":           "SELECT a[1:2], :unknown",
		"SELECT :year -- :n":                "SELECT 1991 -- :n",
		"SELECT : n":                        "SELECT : n",
	} {
		got, changed := substitute(sql, vars)
		if got != want || changed != (got != sql) {
			t.Errorf("%s: %s (%v)", sql, got, changed)
		}
	}
}

func FuzzPieces(f *testing.F) {
	f.Add("SELECT 1; \\d x\n'")
	f.Fuzz(func(t *testing.T, text string) {
		if got := pieces(text); strings.HasPrefix(got, "no progress") || strings.HasPrefix(got, "wrong start") {
			t.Fatalf("%q: %s", text, got)
		}
	})
}
