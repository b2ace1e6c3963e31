package fail

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/cockroachdb/datadriven"
	"pgregory.net/rapid"
)

var rewriteCodes = flag.Bool("rewrite-codes", false, "write testdata/codes.golden anew")

// TestCodes pins the table: names, SQLSTATEs and both statuses are promises to clients.
func TestCodes(t *testing.T) {
	var b strings.Builder
	b.WriteString("# name sqlstate grpc http\n")
	seen := map[string]Code{}
	for c := range numCodes {
		fmt.Fprintf(&b, "%s %s %d %d\n", c, c.SQLState(), c.GRPC(), c.HTTP())
		for _, key := range []string{c.String(), c.SQLState()} {
			if other, ok := seen[key]; ok || key == "" {
				t.Errorf("%q stands for %d and %d", key, other, c)
			}
			seen[key] = c
		}
		if len(c.SQLState()) != 5 || strings.ToUpper(c.SQLState()) != c.SQLState() {
			t.Errorf("%s has the SQLSTATE %q", c, c.SQLState())
		}
		if got, ok := CodeNamed(c.String()); !ok || got != c {
			t.Errorf("the name %s is %s", c, got)
		}
	}
	const file = "testdata/codes.golden"
	if *rewriteCodes {
		if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if b.String() != string(want) {
		t.Errorf("the codes changed; look at them, then run with -rewrite-codes:\n%s", b.String())
	}
	if got, ok := CodeNamed("no such name"); ok || got != Internal {
		t.Errorf("an unknown name is %s, %t", got, ok)
	}
	if c := Code(9999); c.String() != "internal_error" || c.SQLState() != "XX000" || c.GRPC() != 13 || c.HTTP() != 500 {
		t.Errorf("a code outside of the table: %s %s %d %d", c, c.SQLState(), c.GRPC(), c.HTTP())
	}
}

// TestRender shows errors as a terminal does: "render line:col [hint]", where the
// input is the statement, and "\t" in it a tab.
func TestRender(t *testing.T) {
	datadriven.RunTest(t, "testdata/render", func(t *testing.T, d *datadriven.TestData) string {
		text := strings.ReplaceAll(d.Input, `\t`, "\t")
		var at int
		d.ScanArgs(t, "at", &at)
		e := New(Syntax, "unexpected thing").At(text, at)
		if d.HasArg("hint") {
			e = e.WithHint("Do it %s.", "otherwise")
		}
		out := Render(fmt.Errorf("run: %w", e), text) + "\n" + e.Error() + "\n"
		return strings.ReplaceAll(out, "\t", `\t`)
	})
}

// TestRenderOfOthers: errors without a place, or from elsewhere, and a statement
// that is not the one of the place.
func TestRenderOfOthers(t *testing.T) {
	if got := Render(io.EOF, "SELECT 1"); got != "ERROR XX000: EOF" {
		t.Error(got)
	}
	if got := Render(New(NotNull, "x is NULL").WithHint("Give it."), "SELECT 1"); got != "ERROR 23502: x is NULL\nHINT: Give it." {
		t.Error(got)
	}
	if got := Render(New(Syntax, "bad").At("a\nb\nc", 4), "a"); got != "ERROR 42601: bad\nLINE 3, COLUMN 1:" {
		t.Error(got)
	}
}

// TestWithin: a place in a statement, counted in the script, is the place that
// the script itself would give.
func TestWithin(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		script := rapid.StringOf(rapid.SampledFrom([]rune("a\n\t;ä"))).Draw(rt, "script")
		var starts []int
		for i := range script {
			starts = append(starts, i)
		}
		starts = append(starts, len(script))
		i := rapid.IntRange(0, len(starts)-1).Draw(rt, "start")
		start, at := starts[i], starts[rapid.IntRange(i, len(starts)-1).Draw(rt, "at")]
		got := New(Syntax, "bad").At(script[start:], at-start).Within(script, start).Pos
		if want := PosAt(script, at); got != want {
			rt.Fatalf("%q, statement from %d, place %d: %+v, want %+v", script, start, at, got, want)
		}
	})
	if e := New(Syntax, "bad"); e.Within("a\nb", 2) != e {
		t.Error("an error without a place got one")
	}
}

func TestPosAt(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		text := rapid.StringOf(rapid.SampledFrom([]rune("a\n\tä😀"))).Draw(rt, "text")
		offset := rapid.IntRange(-2, len(text)+2).Draw(rt, "offset")
		p := PosAt(text, offset)
		if p.Offset < 0 || p.Offset > len(text) || p.Line < 1 || p.Column < 1 {
			rt.Fatalf("%+v", p)
		}
		if !utf8.ValidString(text[:p.Offset]) {
			return // inside a character
		}
		line, column := 1, 1
		for _, r := range text[:p.Offset] {
			column++
			if r == '\n' {
				line, column = line+1, 1
			}
		}
		if p.Line != line || p.Column != column {
			rt.Fatalf("%q at %d: %+v, want %d:%d", text, offset, p, line, column)
		}
	})
	e := New(Syntax, "x").At("abc", 1)
	if e.At("abc", 2).Pos.Offset != 1 {
		t.Error("the first place counts")
	}
}

func TestClosest(t *testing.T) {
	names := []string{"documents", "Packages", "id", "docs", "größe"}
	for name, want := range map[string]string{
		"document": "documents", "documnets": "documents", "DOCUMENTS": "documents", "packges": "Packages",
		"doc": "docs", "dcos": "docs", "ix": "id", "vectors": "", "zzzzzzzzzzzz": "", "grösse": "größe",
	} {
		if got := Closest(name, names); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
	for _, order := range [][]string{{"doy", "dow"}, {"dow", "doy"}} {
		if got := Closest("foo", order); got != "dow" {
			t.Errorf("of two as near in the order %q: %q", order, got)
		}
	}
	if got := Closest("x", nil); got != "" {
		t.Errorf("of nothing: %q", got)
	}
}

func TestEditDistance(t *testing.T) {
	word := rapid.StringOfN(rapid.SampledFrom([]rune("abcä")), 0, 6, -1)
	rapid.Check(t, func(rt *rapid.T) {
		a, b, c := word.Draw(rt, "a"), word.Draw(rt, "b"), word.Draw(rt, "c")
		const far = 100
		ab := editDistance(a, b, far)
		if ab != editDistance(b, a, far) || (ab == 0) != (a == b) {
			rt.Fatalf("%q %q: %d", a, b, ab)
		}
		if ac, cb := editDistance(a, c, far), editDistance(c, b, far); ab > ac+cb {
			rt.Fatalf("%q %q %q: %d > %d + %d", a, c, b, ab, ac, cb)
		}
	})
}

func TestChains(t *testing.T) {
	if Wrap(Corrupt, nil, "reading") != nil {
		t.Error("a cause of nil is no error")
	}
	err := fmt.Errorf("outer: %w", Wrap(Unavailable, io.ErrUnexpectedEOF, "read %d", 7))
	if err.Error() != "outer: read 7: unexpected EOF" || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Error(err)
	}
	if !Is(err, Unavailable) || Is(err, Corrupt) || Is(nil, OK) || CodeOf(nil) != OK || CodeOf(io.EOF) != Internal {
		t.Error("codes of chains")
	}
	if !errors.Is(err, New(Unavailable, "")) || errors.Is(err, New(Corrupt, "")) {
		t.Error("errors.Is goes by code")
	}
	if e := As(io.EOF); e.Code != Internal || !errors.Is(e, io.EOF) {
		t.Errorf("As of a foreign error: %v", e)
	}
	// The outermost code counts: who wraps knows more.
	if got := CodeOf(Wrap(Corrupt, New(UndefinedTable, "x"), "y")); got != Corrupt {
		t.Errorf("%s", got)
	}
}

func TestBugs(t *testing.T) {
	e := New(NotNull, "x")
	if FromPanic(e) != e {
		t.Error("a thrown *Error stays what it is")
	}
	if got := FromPanic("boom"); got.Code != Internal || got.Message != "bug: panic: boom" {
		t.Error(got)
	}
	defer func() {
		if v := recover(); (v != nil) != invariants {
			t.Errorf("recovered %v", v)
		}
	}()
	if got := Bug("row %d", 3); got.Code != Internal || got.Message != "bug: row 3" {
		t.Error(got)
	}
}
