package text

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/loamdb/loam/internal/fail"
)

// plainTokens are the tokens of bleve's own analyzer.
func plainTokens(t testing.TB, name, text string) []Token {
	t.Helper()
	a, err := AnalyzerByName(name)
	if err != nil {
		t.Fatal(err)
	}
	if w, ok := a.(*wordAnalyzer); ok {
		return w.bleveAnalyzer.Tokens(nil, text)
	}
	return a.Tokens(nil, text)
}

func checkAnalyzers(t testing.TB, text string) {
	t.Helper()
	for _, name := range AnalyzerNames() {
		a, err := AnalyzerByName(name)
		if err != nil {
			t.Fatal(err)
		}
		got, want := a.Tokens(nil, text), plainTokens(t, name, text)
		if !slices.Equal(got, want) {
			t.Fatalf("%s: %q\n got %v\nwant %v", name, text, got, want)
		}
		for i := 1; i < len(got); i++ {
			if got[i].Pos < got[i-1].Pos {
				t.Fatalf("%s: %q: positions fall: %v", name, text, got)
			}
		}
	}
}

// TestFastPathEqualsBleve runs texts made of what word boundaries turn on.
func TestFastPathEqualsBleve(t *testing.T) {
	pieces := strings.Split("a|B|the|Running|ring's|I'm|7|42|.|,|;|:|'|’|_|-|/|@| |  |\n|\r\n|\t|\v|\x00|é|ß|\u0301|\u200d|漢|字|カタ|ひ|한|٣|ñ|\u00ad|״|\"|·|\ufeff|\U0001F600|K|Ⅷ|\u0085|\u2028|\xff", "|")
	rapid.Check(t, func(rt *rapid.T) {
		checkAnalyzers(t, strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 12).Draw(rt, "pieces"), ""))
	})
	marks := strings.Split("a|B|s|7|0|'|.|,|:|;|_|-| ", "|")
	rapid.Check(t, func(rt *rapid.T) {
		for range 10 {
			checkAnalyzers(t, strings.Join(rapid.SliceOfN(rapid.SampledFrom(marks), 3, 9).Draw(rt, "marks"), ""))
		}
	})
}

func FuzzAnalyzers(f *testing.F) {
	for _, s := range []string{"", "It's 3.14, e.g. a:b 1:2 x_y", "naïve 東京 \u0301a", "a.b.c. 1,000;2 'q'"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if len(s) < 4096 {
			checkAnalyzers(t, s)
		}
	})
}

// TestFastPathEqualsBleveOnCorpora compares real texts, of which there are many.
func TestFastPathEqualsBleveOnCorpora(t *testing.T) {
	if testing.Short() {
		t.Skip("reads whole corpora")
	}
	for _, set := range []string{"cranfield", "cisi", "scifact"} {
		for i, text := range readCorpus(t, set).texts {
			if i%5 != 0 {
				continue
			}
			for _, name := range []string{"english", "standard", "german"} {
				a, _ := AnalyzerByName(name)
				if !slices.Equal(a.Tokens(nil, text), plainTokens(t, name, text)) {
					t.Fatalf("%s: %s: %q", set, name, text)
				}
			}
		}
	}
}

func TestAnalyzerTokens(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"english", "The ring's buffers were running", "1:ring 2:buffer 4:run"},
		{"EN", "The dogs", "1:dog"},
		{"standard", "The ring's Buffers", "1:ring's 2:buffers"},
		{"simple", "The ring-7 Buffers", "0:the 1:ring 2:buffers"},
		{"keyword", "New York", "0:New York"},
		{"german", "Die Häuser", "1:haus"},
		{"cjk", "東京都", "0:東京 1:京都"},
		{"english", "", ""},
		{"english", "the of and", ""},
	} {
		a, err := AnalyzerByName(c.name)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, tok := range a.Tokens(nil, c.text) {
			got = append(got, fmt.Sprintf("%d:%s", tok.Pos, tok.Term))
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%s %q: %s, want %s", c.name, c.text, s, c.want)
		}
	}
}

func TestAnalyzerByName(t *testing.T) {
	_, err := AnalyzerByName("klingon")
	if !fail.Is(err, fail.InvalidParameter) || !strings.Contains(err.Error(), "english") || !strings.Contains(err.Error(), "keyword") {
		t.Errorf("unknown analyzer: %v", err)
	}
	for _, n := range AnalyzerNames() {
		a, err := AnalyzerByName(strings.ToUpper(n))
		if err != nil || a.Name() != n {
			t.Errorf("%s: %v", n, err)
		}
	}
	en, _ := AnalyzerByName("en")
	if en.Name() != "english" {
		t.Errorf("en is stored as %q", en.Name())
	}
}

// BenchmarkAnalyze compares the fast path with bleve on plain English.
func BenchmarkAnalyze(b *testing.B) {
	text := strings.Repeat("The quick brown foxes weren't jumping over 3.5 lazy dogs' backs, e.g. yesterday's (or so they said). ", 50)
	for _, name := range []string{"english", "standard"} {
		a, _ := AnalyzerByName(name)
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			var dst []Token
			for b.Loop() {
				dst = a.Tokens(dst[:0], text)
			}
		})
		b.Run(name+"/bleve", func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				plainTokens(b, name, text)
			}
		})
	}
}
