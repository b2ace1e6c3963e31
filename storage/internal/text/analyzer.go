package text

import (
	"sort"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/blevesearch/bleve/v2/analysis"
	"github.com/blevesearch/bleve/v2/analysis/analyzer/keyword"
	"github.com/blevesearch/bleve/v2/analysis/analyzer/simple"
	"github.com/blevesearch/bleve/v2/analysis/analyzer/standard"
	"github.com/blevesearch/bleve/v2/analysis/lang/ar"
	"github.com/blevesearch/bleve/v2/analysis/lang/cjk"
	"github.com/blevesearch/bleve/v2/analysis/lang/da"
	"github.com/blevesearch/bleve/v2/analysis/lang/de"
	"github.com/blevesearch/bleve/v2/analysis/lang/en"
	"github.com/blevesearch/bleve/v2/analysis/lang/es"
	"github.com/blevesearch/bleve/v2/analysis/lang/fi"
	"github.com/blevesearch/bleve/v2/analysis/lang/fr"
	"github.com/blevesearch/bleve/v2/analysis/lang/hu"
	"github.com/blevesearch/bleve/v2/analysis/lang/it"
	"github.com/blevesearch/bleve/v2/analysis/lang/nl"
	"github.com/blevesearch/bleve/v2/analysis/lang/no"
	"github.com/blevesearch/bleve/v2/analysis/lang/pt"
	"github.com/blevesearch/bleve/v2/analysis/lang/ro"
	"github.com/blevesearch/bleve/v2/analysis/lang/ru"
	"github.com/blevesearch/bleve/v2/analysis/lang/sv"
	"github.com/blevesearch/bleve/v2/analysis/lang/tr"
	"github.com/blevesearch/bleve/v2/registry"

	"github.com/loamdb/loam/internal/fail"
)

// Token is one occurrence of a term. Pos counts from 0 within one value and
// leaves holes where the analyzer removed words.
type Token struct {
	Term string
	Pos  uint32
}

// Analyzer turns text into terms. Analyzers are immutable; any number of
// goroutines may use one at once.
type Analyzer interface {
	// Name is the canonical name, as it is stored.
	Name() string
	// Tokens appends the tokens of text to dst in order of position.
	Tokens(dst []Token, text string) []Token
	// Normalize is what a prefix or fuzzy pattern goes through: letter case only.
	Normalize(pattern string) string
}

// analyzerNames maps the names users write to bleve's names. The first name of
// a language is the canonical one.
var analyzerNames = []struct {
	bleve string
	names []string
}{
	{en.AnalyzerName, []string{"english", "en"}},
	{standard.Name, []string{"standard"}},
	{simple.Name, []string{"simple"}},
	{keyword.Name, []string{"keyword"}},
	{ar.AnalyzerName, []string{"arabic", "ar"}},
	{cjk.AnalyzerName, []string{"cjk"}},
	{da.AnalyzerName, []string{"danish", "da"}},
	{nl.AnalyzerName, []string{"dutch", "nl"}},
	{fi.AnalyzerName, []string{"finnish", "fi"}},
	{fr.AnalyzerName, []string{"french", "fr"}},
	{de.AnalyzerName, []string{"german", "de"}},
	{hu.AnalyzerName, []string{"hungarian", "hu"}},
	{it.AnalyzerName, []string{"italian", "it"}},
	{no.AnalyzerName, []string{"norwegian", "no"}},
	{pt.AnalyzerName, []string{"portuguese", "pt"}},
	{ro.AnalyzerName, []string{"romanian", "ro"}},
	{ru.AnalyzerName, []string{"russian", "ru"}},
	{es.AnalyzerName, []string{"spanish", "es"}},
	{sv.AnalyzerName, []string{"swedish", "sv"}},
	{tr.AnalyzerName, []string{"turkish", "tr"}},
}

var analyzers = struct {
	sync.Mutex // guards byName and cache
	byName     map[string]Analyzer
	cache      *registry.Cache
}{byName: map[string]Analyzer{}, cache: registry.NewCache()}

// AnalyzerNames lists the canonical names in order.
func AnalyzerNames() []string {
	var out []string
	for _, a := range analyzerNames {
		out = append(out, a.names[0])
	}
	sort.Strings(out)
	return out
}

// AnalyzerByName finds an analyzer by its name in any letter case. An unknown
// name is InvalidParameter; the hint lists the names.
func AnalyzerByName(name string) (Analyzer, error) {
	low := strings.ToLower(strings.TrimSpace(name))
	analyzers.Lock()
	defer analyzers.Unlock()
	if a, ok := analyzers.byName[low]; ok {
		return a, nil
	}
	for _, row := range analyzerNames {
		for _, n := range row.names {
			if n == low {
				return openAnalyzer(low, row.names[0], row.bleve)
			}
		}
	}
	return nil, fail.New(fail.InvalidParameter, "unknown text analyzer %q", name).
		WithHint("The analyzers are %s.", strings.Join(AnalyzerNames(), ", "))
}

// openAnalyzer builds and remembers an analyzer; the lock is held.
func openAnalyzer(alias, canonical, bleveName string) (Analyzer, error) {
	inner, err := analyzers.cache.AnalyzerNamed(bleveName)
	if err != nil {
		return nil, fail.Wrap(fail.Internal, err, "analyzer %q", canonical)
	}
	base := bleveAnalyzer{name: canonical, inner: inner}
	a := Analyzer(&base)
	if w := newWordAnalyzer(base); w != nil {
		a = w
	}
	analyzers.byName[alias] = a
	return a, nil
}

// bleveAnalyzer adapts one of bleve's analyzers.
type bleveAnalyzer struct {
	name  string
	inner analysis.Analyzer
}

func (a *bleveAnalyzer) Name() string { return a.name }

func (a *bleveAnalyzer) Normalize(pattern string) string {
	if a.name == keyword.Name {
		return pattern
	}
	return strings.ToLower(pattern)
}

// Tokens hands the analyzer its own copy of the text, since filters work in place.
func (a *bleveAnalyzer) Tokens(dst []Token, text string) []Token {
	if text == "" {
		return dst
	}
	text = validText(text)
	var last uint32
	for _, t := range a.inner.Analyze([]byte(text)) {
		if len(t.Term) == 0 {
			continue
		}
		last = max(last, uint32(max(t.Position, 1)-1))
		dst = append(dst, Token{Term: string(t.Term), Pos: last})
	}
	return dst
}

// validText replaces bytes that are not UTF-8, at which tokenizers would stop.
func validText(text string) string {
	if utf8.ValidString(text) {
		return text
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}
