package text

import (
	"strings"
	"sync"

	"github.com/blevesearch/bleve/v2/analysis"
	"github.com/blevesearch/bleve/v2/analysis/lang/cjk"
	"github.com/blevesearch/bleve/v2/analysis/tokenizer/unicode"
)

// wordAnalyzer gives the tokens of one of bleve's word analyzers several times
// faster. ASCII words are cut here, by the word boundaries of Unicode annex 29
// as they read for ASCII; text between spaces that holds anything else goes
// through bleve's tokenizer. Token filters run once per distinct word and are
// then remembered, which is right for filters that look at one token at a time.
type wordAnalyzer struct {
	bleveAnalyzer
	words   unicode.UnicodeTokenizer
	filters []analysis.TokenFilter
	caches  sync.Pool // of *wordCache
}

// newWordAnalyzer is nil for an analyzer that is not a Unicode tokenizer
// followed by filters of single tokens.
func newWordAnalyzer(base bleveAnalyzer) *wordAnalyzer {
	d, ok := base.inner.(*analysis.DefaultAnalyzer)
	if !ok || len(d.CharFilters) > 0 || base.name == cjk.AnalyzerName {
		return nil
	}
	if _, ok := d.Tokenizer.(*unicode.UnicodeTokenizer); !ok {
		return nil
	}
	a := &wordAnalyzer{bleveAnalyzer: base, filters: d.TokenFilters}
	a.caches.New = func() any { return &wordCache{terms: map[string]string{}} }
	return a
}

// wordCache remembers the term of each word; "" is a word without a term.
type wordCache struct{ terms map[string]string }

// Bounds of the cache: words, and bytes of a word worth remembering.
const (
	maxCached     = 1 << 15
	maxCachedWord = 40
)

// Tokens cuts and filters the text; see [Analyzer].
func (a *wordAnalyzer) Tokens(dst []Token, text string) []Token {
	text = validText(text)
	c := a.caches.Get().(*wordCache)
	defer a.caches.Put(c)
	pos := uint32(0)
	for at := 0; at < len(text); {
		if isSpace(text[at]) {
			at++
			continue
		}
		end, ascii := chunkEnd(text, at)
		if ascii {
			dst, pos = a.asciiChunk(dst, text[at:end], pos, c)
		} else {
			dst, pos = a.anyChunk(dst, text[max(at-1, 0):end], pos, c)
		}
		at = end
	}
	return dst
}

// wordClass sorts the bytes of words; every other ASCII byte separates.
var wordClass = func() (t [256]byte) {
	for c := range t {
		switch {
		case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z':
			t[c] = classLetter
		case c >= '0' && c <= '9':
			t[c] = classDigit
		case c == '_' || c >= 0x80:
			t[c] = classOther
		}
	}
	return t
}()

const (
	classLetter = 1 + iota
	classDigit
	classOther
)

// chunkEnd is the end of the text up to the next space, and whether it needs
// no rules but those of letters and digits.
func chunkEnd(text string, at int) (end int, ascii bool) {
	ascii = true
	for ; at < len(text) && !isSpace(text[at]); at++ {
		ascii = ascii && wordClass[text[at]] != classOther
	}
	return at, ascii
}

func (a *wordAnalyzer) asciiChunk(dst []Token, chunk string, pos uint32, c *wordCache) ([]Token, uint32) {
	for at := 0; at < len(chunk); {
		if wordClass[chunk[at]] == 0 {
			at++
			continue
		}
		end := at + 1
		for end < len(chunk) && (wordClass[chunk[end]] != 0 || joins(chunk, end)) {
			end++
		}
		if term := a.term(chunk[at:end], c); term != "" {
			dst = append(dst, Token{Term: term, Pos: pos})
		}
		pos++
		at = end
	}
	return dst, pos
}

// joins reports whether the mark at i holds its neighbors together: between
// letters ' . and : do, between digits ' . , and ; do.
func joins(s string, i int) bool {
	if i+1 >= len(s) {
		return false
	}
	class := wordClass[s[i-1]]
	if class == 0 || class != wordClass[s[i+1]] {
		return false
	}
	switch s[i] {
	case '\'', '.':
		return true
	case ':':
		return class == classLetter
	case ',', ';':
		return class == classDigit
	}
	return false
}

// anyChunk starts with the byte before the chunk, if there is one: a combining
// mark behind a space belongs to the space.
func (a *wordAnalyzer) anyChunk(dst []Token, chunk string, pos uint32, c *wordCache) ([]Token, uint32) {
	for _, t := range a.words.Tokenize([]byte(chunk)) {
		if term := a.term(string(t.Term), c); term != "" {
			dst = append(dst, Token{Term: term, Pos: pos})
		}
		pos++
	}
	return dst, pos
}

func (a *wordAnalyzer) term(word string, c *wordCache) string {
	term, ok := c.terms[word]
	if ok {
		return term
	}
	stream := analysis.TokenStream{{Term: []byte(word), Position: 1, End: len(word)}}
	for _, f := range a.filters {
		stream = f.Filter(stream)
	}
	if len(stream) > 0 {
		term = string(stream[0].Term)
	}
	if len(word) <= maxCachedWord {
		if len(c.terms) >= maxCached {
			clear(c.terms)
		}
		c.terms[strings.Clone(word)] = term
	}
	return term
}
