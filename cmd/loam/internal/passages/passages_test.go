package passages

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"pgregory.net/rapid"
)

// TestSplit: "split NAME [words=N] [overlap=N]" prints the passages of the input.
func TestSplit(t *testing.T) {
	datadriven.RunTest(t, "testdata/split", func(t *testing.T, d *datadriven.TestData) string {
		o := Options{Words: 12, Overlap: 3}
		d.MaybeScanArgs(t, "words", &o.Words)
		d.MaybeScanArgs(t, "overlap", &o.Overlap)
		var b strings.Builder
		for i, p := range Split(d.CmdArgs[0].Key, d.Input, o) {
			fmt.Fprintf(&b, "#%d line %d [%s]\n  %s\n", i, p.Line, p.Heading, strings.ReplaceAll(p.Text, "\n", "\n  "))
		}
		return strings.ReplaceAll(b.String(), "  \n", "  ~\n")
	})
}

// drawText draws a text with what splitters look at.
func drawText(t *rapid.T) string {
	piece := rapid.SampledFrom([]string{"# A\n", "## B b\n", "A\n===\n", "B\n-\n", "```\n", "~~~\n", "* o\n", "\\section{S}\n", "func f() {\n", "}\n", "// c\n", "class X:\n", "  in\n", "\n", "\n\n",
		"word ", "sentence. ", "é ", "日本 ", "\t", "- li\n", "| t |\n", "---\n", "\r\n", "x"})
	return strings.Join(rapid.SliceOfN(piece, 0, 60).Draw(t, "pieces"), "")
}

// TestSectionsCoverTheText: they lie one behind the other, from its start to its end.
func TestSectionsCoverTheText(t *testing.T) {
	for name, split := range map[string]func(string) []section{
		"markdown": markdownSections, "rst": rstSections,
		"org": func(s string) []section { return lineSections(s, orgHeading) }, "tex": func(s string) []section { return lineSections(s, texHeading) },
		"code": func(s string) []section { return codeSections(s, 3) },
	} {
		rapid.Check(t, func(t *rapid.T) {
			text := drawText(t)
			for _, sections := range [][]section{split(text), joinEmpty(text, split(text))} {
				at := 0
				for _, s := range sections {
					if s.start < at && name != "rst" || s.end < s.start {
						t.Fatalf("%s: section [%d, %d) behind %d of %q", name, s.start, s.end, at, text)
					}
					if words := strings.Fields(text[min(at, s.start):s.start]); len(words) > 0 {
						t.Fatalf("%s: %q is in no section of %q", name, words, text)
					}
					at = s.end
				}
				if at != len(text) && strings.TrimSpace(text[at:]) != "" {
					t.Fatalf("%s: %q is in no section", name, text[at:])
				}
			}
		})
	}
}

// TestPassagesCoverTheirSection: every word is in one, none has too many words,
// and each begins with exactly the overlap of the one before.
func TestPassagesCoverTheirSection(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := drawText(t)
		o := Options{Words: rapid.IntRange(2, 20).Draw(t, "words")}
		o.Overlap = rapid.IntRange(0, o.Words/2).Draw(t, "overlap")
		words := strings.Fields(text)
		spans := cut(text, o, rapid.Bool().Draw(t, "code"))
		next := 0 // the first word that no passage has yet
		for i, s := range spans {
			got := strings.Fields(text[s[0]:s[1]])
			if len(got) == 0 || len(got) > o.Words {
				t.Fatalf("passage %d has %d words, at most %d", i, len(got), o.Words)
			}
			from := next
			if i > 0 {
				from -= o.Overlap
			}
			if from < 0 || from+len(got) > len(words) || strings.Join(got, " ") != strings.Join(words[from:from+len(got)], " ") {
				t.Fatalf("passage %d is %q, from word %d of %q", i, got, from, words)
			}
			if next = from + len(got); i > 0 && len(got) <= o.Overlap {
				t.Fatalf("passage %d says nothing new", i)
			}
		}
		if next != len(words) {
			t.Fatalf("%d of %d words are in passages", next, len(words))
		}
	})
}

// TestSplitIsDeterministic, and its lines are those of the text.
func TestSplitIsDeterministic(t *testing.T) {
	names := []string{"a.md", "a.txt", "a.rst", "a.org", "a.tex", "a.go", "a.html"}
	rapid.Check(t, func(t *rapid.T) {
		text, name := drawText(t), rapid.SampledFrom(names).Draw(t, "name")
		o := Options{Words: 7, Overlap: 2}
		a, b := Split(name, text, o), Split(name, text, o)
		if fmt.Sprint(a) != fmt.Sprint(b) {
			t.Fatalf("%v and %v", a, b)
		}
		all := strings.Split(text, "\n")
		for _, p := range a {
			if name == "a.html" {
				continue
			}
			first, _, _ := strings.Cut(p.Text, "\n")
			if p.Line < 1 || p.Line > len(all) || !strings.Contains(all[p.Line-1], strings.TrimRight(first, "\r")) {
				t.Fatalf("line %d is not where %q begins in %q", p.Line, p.Text, text)
			}
		}
	})
}

func FuzzSplit(f *testing.F) {
	f.Add("a.html", "<h1>A<p>b<script>x</script><nav>n</nav>")
	f.Add("a.md", "# A\n\ntext\n")
	f.Fuzz(func(t *testing.T, name, text string) {
		for _, p := range Split(name, text, Options{Words: 10, Overlap: 5}) {
			if strings.TrimSpace(p.Text) == "" {
				t.Fatalf("an empty passage of %q", text)
			}
		}
	})
}

func TestNames(t *testing.T) {
	for name, want := range map[string][2]bool{"a.md": {true, false}, "A.HTML": {true, false}, "x/y.go": {true, true}, "a.csv": {}, "a": {}, "a.png": {}, "Makefile": {}} {
		if got := [2]bool{Known(name), Code(name)}; got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
