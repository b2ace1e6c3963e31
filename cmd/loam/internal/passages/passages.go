package passages

import (
	"path"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Options say how long passages are, in words: runs of characters between blanks.
type Options struct {
	// Words is the most words of a passage, Overlap how many of them the next
	// passage of the same section repeats: at most half of Words.
	Words, Overlap int
}

// Passage is a piece of a text.
type Passage struct {
	// Heading is the path of headings, "Guide > Install", or the declaration.
	Heading string
	Text    string
	// Line is where it begins in the text, from 1; 0 in HTML.
	Line int
}

// section is a run of a text under one heading.
type section struct {
	heading    string
	start, end int  // in bytes
	titled     bool // it begins with its heading
}

// kind is how a file is split.
type kind uint8

const (
	notText kind = iota
	plain
	markdown
	web
	rst
	org
	tex
	code
)

var kinds = map[string]kind{
	".txt": plain, ".text": plain, ".md": markdown, ".markdown": markdown, ".html": web, ".htm": web,
	".rst": rst, ".org": org, ".tex": tex,
	".go": code, ".py": code, ".rs": code, ".java": code, ".c": code, ".h": code, ".cpp": code, ".cc": code, ".hpp": code,
	".js": code, ".ts": code, ".jsx": code, ".tsx": code, ".kt": code, ".rb": code, ".cs": code, ".swift": code, ".scala": code, ".sh": code,
}

func kindOf(name string) kind { return kinds[strings.ToLower(path.Ext(name))] }

// Known reports whether a file's name is that of a text which can be split.
func Known(name string) bool { return kindOf(name) != notText }

// Code reports whether a file's name is that of source code.
func Code(name string) bool { return kindOf(name) == code }

// Split splits a text, which must be UTF-8. A text without words has no passages.
func Split(name, text string, o Options) []Passage {
	k := kindOf(name)
	var sections []section
	switch k {
	case web:
		text, sections = readHTML(text)
	case markdown:
		sections = markdownSections(text)
	case rst:
		sections = rstSections(text)
	case org:
		sections = lineSections(text, orgHeading)
	case tex:
		sections = lineSections(text, texHeading)
	case code:
		sections = codeSections(text, o.Words/4)
	default:
		sections = []section{{end: len(text)}}
	}
	var out []Passage
	line, at := 1, 0
	for _, s := range joinEmpty(text, sections) {
		for _, span := range cut(text[s.start:s.end], o, k == code) {
			from := s.start + span[0]
			if from >= at {
				line += strings.Count(text[at:from], "\n")
			} else {
				line -= strings.Count(text[from:at], "\n")
			}
			at = from
			p := Passage{Heading: s.heading, Text: text[from : s.start+span[1]], Line: line}
			if k == web {
				p.Line = 0
			}
			out = append(out, p)
		}
	}
	return out
}

// joinEmpty gives sections that are a heading and nothing else to the next one.
func joinEmpty(text string, in []section) []section {
	var out []section
	from := -1
	for i, s := range in {
		if from >= 0 {
			s.start = from
		}
		from = -1
		body := strings.TrimSpace(text[s.start:s.end])
		if i+1 < len(in) && (body == "" || s.titled && !strings.Contains(body, "\n")) {
			from = s.start
			continue
		}
		out = append(out, s)
	}
	return out
}

// word is a word's place in bytes, and how good an end it is.
type word struct{ start, end, rank int }

// cut returns the spans of a section's passages, in bytes. A passage ends at
// the best place in the last quarter of its words: the end of a paragraph, then
// of a sentence (of a line in code), then of a line.
func cut(text string, o Options, code bool) [][2]int {
	words := wordsOf(text, code)
	var out [][2]int
	for from := 0; from < len(words); {
		to := from + o.Words
		if to >= len(words) {
			return append(out, span(words[from:]))
		}
		best := to
		for e := to; e > from+o.Words*3/4; e-- {
			if words[e-1].rank > words[best-1].rank {
				best = e
			}
		}
		out = append(out, span(words[from:best]))
		from = best - o.Overlap
	}
	return out
}

func span(words []word) [2]int { return [2]int{words[0].start, words[len(words)-1].end} }

func wordsOf(text string, code bool) []word {
	var out []word
	start := -1
	for i, r := range text {
		switch {
		case unicode.IsSpace(r):
			if start >= 0 {
				out = append(out, word{start: start, end: i})
				start = -1
			}
		case start < 0:
			start = i
		}
	}
	if start >= 0 {
		out = append(out, word{start: start, end: len(text)})
	}
	for i := range out {
		next := len(text)
		if i+1 < len(out) {
			next = out[i+1].start
		}
		out[i].rank = rank(text[out[i].start:out[i].end], strings.Count(text[out[i].end:next], "\n"), code)
	}
	return out
}

// rank is how good it is to end behind a word that n line breaks follow.
func rank(w string, n int, code bool) int {
	last, _ := utf8.DecodeLastRuneInString(strings.TrimRight(w, `"')]*_`))
	switch {
	case n >= 2:
		return 3
	case code && n == 1, !code && strings.ContainsRune(".!?。！？", last):
		return 2
	}
	return n
}
