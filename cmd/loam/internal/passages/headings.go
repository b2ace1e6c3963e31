package passages

import (
	"regexp"
	"strings"
)

// trail is the path of headings above a place.
type trail struct {
	levels []int
	names  []string
}

// enter goes under a heading of a level and returns the path.
func (t *trail) enter(level int, name string) string {
	for len(t.levels) > 0 && t.levels[len(t.levels)-1] >= level {
		t.levels, t.names = t.levels[:len(t.levels)-1], t.names[:len(t.names)-1]
	}
	if name == "" {
		return strings.Join(t.names, " > ")
	}
	t.levels, t.names = append(t.levels, level), append(t.names, name)
	return strings.Join(t.names, " > ")
}

// splitter collects sections line by line.
type splitter struct {
	trail    trail
	sections []section
}

func newSplitter() *splitter { return &splitter{sections: []section{{}}} }

// begin starts a section at a byte.
func (s *splitter) begin(at, level int, name string) {
	s.sections[len(s.sections)-1].end = at
	s.sections = append(s.sections, section{heading: s.trail.enter(level, name), start: at, titled: true})
}

func (s *splitter) done(end int) []section {
	s.sections[len(s.sections)-1].end = end
	return s.sections
}

// lines calls f with each line, without its end, and where it begins.
func lines(text string, f func(line string, at int)) {
	at := 0
	for line := range strings.SplitSeq(text, "\n") {
		f(strings.TrimSuffix(line, "\r"), at)
		at += len(line) + 1
	}
}

// lineSections splits where heading finds a level and a name.
func lineSections(text string, heading func(line string) (int, string)) []section {
	s := newSplitter()
	lines(text, func(line string, at int) {
		if level, name := heading(line); level > 0 {
			s.begin(at, level, name)
		}
	})
	return s.done(len(text))
}

var (
	atxHeading = regexp.MustCompile(`^ {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*$`)
	setext     = regexp.MustCompile(`^ {0,3}(=+|-{2,})[ \t]*$`)
	fence      = regexp.MustCompile("^ {0,3}(```+|~~~+)")
	orgLine    = regexp.MustCompile(`^(\*+) +(.+)$`)
	texLine    = regexp.MustCompile(`^\s*\\(part|chapter|section|subsection|subsubsection|paragraph)\*?\{(.+?)\}`)
	adornment  = regexp.MustCompile("^([=\\-~^\"'`#*+:.<>_])+$")
)

// markdownSections splits at ATX and setext headings outside of fenced code.
func markdownSections(text string) []section {
	s := newSplitter()
	open, above, aboveAt := "", "", 0
	lines(text, func(line string, at int) {
		m := fence.FindStringSubmatch(line)
		switch {
		case open != "":
			if m != nil && strings.HasPrefix(m[1], open) {
				open = ""
			}
			above = ""
			return
		case m != nil:
			open, above = m[1], ""
			return
		}
		if m := atxHeading.FindStringSubmatch(line); m != nil {
			s.begin(at, len(m[1]), strings.TrimSpace(m[2]))
			above = ""
			return
		}
		if m := setext.FindStringSubmatch(line); m != nil && above != "" {
			level := 1
			if m[1][0] == '-' {
				level = 2
			}
			s.begin(aboveAt, level, above)
			above = ""
			return
		}
		above, aboveAt = setextTitle(line), at
	})
	return s.done(len(text))
}

// setextTitle is a line that an underline makes a heading, or "".
func setextTitle(line string) string {
	title := strings.TrimSpace(line)
	if strings.HasPrefix(line, "    ") || strings.HasPrefix(title, "|") || strings.HasPrefix(title, ">") || strings.HasPrefix(title, "- ") || setext.MatchString(line) {
		return ""
	}
	return title
}

func orgHeading(line string) (int, string) {
	if m := orgLine.FindStringSubmatch(line); m != nil {
		return len(m[1]), strings.TrimSpace(m[2])
	}
	return 0, ""
}

var texLevels = map[string]int{"part": 1, "chapter": 2, "section": 3, "subsection": 4, "subsubsection": 5, "paragraph": 6}

func texHeading(line string) (int, string) {
	if m := texLine.FindStringSubmatch(line); m != nil {
		return texLevels[m[1]], m[2]
	}
	return 0, ""
}

// rstSections splits at titles that are underlined, at least as long as they
// are. A character's level is the order in which it turns up.
func rstSections(text string) []section {
	s := newSplitter()
	levels := map[byte]int{}
	var above [2]string
	var at [2]int // of the last two lines
	lines(text, func(line string, here int) {
		title := strings.TrimRight(above[1], " ")
		if adornment.MatchString(line) && sameBytes(line) && title != "" && !adornment.MatchString(title) && len(line) >= len([]rune(title)) && title == strings.TrimSpace(title) {
			if levels[line[0]] == 0 {
				levels[line[0]] = len(levels) + 1
			}
			start := at[1]
			if above[0] == line {
				start = at[0] // overlined too
			}
			s.begin(start, levels[line[0]], title)
		}
		above, at = [2]string{above[1], line}, [2]int{at[1], here}
	})
	return s.done(len(text))
}

func sameBytes(line string) bool { return len(line) >= 2 && strings.Count(line, line[:1]) == len(line) }

// preamble are lines that declare nothing that people look for.
var preamble = regexp.MustCompile(`^(package|import|from|use|using|#include|#pragma|extern|module|"""|'''|$)`)

// codeSections splits at declarations: lines at the margin behind a blank line,
// with the comments right above them. One of fewer than least words takes in
// what follows.
func codeSections(text string, least int) []section {
	s := newSplitter()
	heads := func(line string) {
		// The first declaration names the section; a comment is about the next one.
		if last := &s.sections[len(s.sections)-1]; preamble.MatchString(last.heading) && !isComment(line) {
			last.heading = declaration(line)
		}
	}
	begun, blank := 0, true
	comment := false // the last line was one, at the margin
	lines(text, func(line string, at int) {
		atMargin := line != "" && !strings.ContainsAny(line[:1], " \t})]")
		if atMargin && blank {
			if len(strings.Fields(text[begun:at])) >= max(1, least) {
				s.begin(at, 1, "")
				s.sections[len(s.sections)-1].titled = false
				begun = at
			}
		}
		if atMargin && (blank || comment) {
			heads(line)
		}
		blank, comment = strings.TrimSpace(line) == "", atMargin && isComment(line)
	})
	return s.done(len(text))
}

func isComment(line string) bool {
	for _, p := range []string{"//", "/*", " *", "*", "#!", "# ", "--", ";;", "@", "#["} {
		if strings.HasPrefix(line, p) {
			return true
		}
	}
	return line == "#"
}

// declaration is a line of code as a heading.
func declaration(line string) string {
	line = strings.TrimRight(strings.TrimSpace(line), "{:(;= ")
	const most = 100
	if len(line) > most {
		line = strings.ToValidUTF8(line[:most], "") + "…"
	}
	return line
}
