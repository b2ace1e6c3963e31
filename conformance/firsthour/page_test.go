package firsthour

import (
	"fmt"
	"regexp"
	"strings"
)

// step is one command of a page and what it must print.
type step struct {
	line    int // of the command in the page
	command string
	want    []string
	at, end int // the lines of want in the page, half open
}

// background says that the page goes on while the command runs.
func (s step) background() bool { return strings.HasSuffix(s.command, "&") }

// parsePage returns the steps of the ```console blocks. A command goes on over lines
// that begin with "> ".
func parsePage(text string) []step {
	var out []step
	inside := false
	for i, line := range strings.Split(text, "\n") {
		switch {
		case line == "```console":
			inside = true
		case line == "```":
			inside = false
		case !inside:
		case strings.HasPrefix(line, "$ "):
			out = append(out, step{line: i + 1, command: line[2:], at: i + 1, end: i + 1})
		case len(out) == 0:
		case strings.HasPrefix(line, "> ") && len(out[len(out)-1].want) == 0:
			s := &out[len(out)-1]
			s.command += "\n" + line[2:]
			s.at, s.end = i+1, i+1
		default:
			s := &out[len(out)-1]
			s.want = append(s.want, line)
			s.end = i + 1
		}
	}
	return out
}

// block is a fenced block of a page, without the fences.
type block struct {
	line       int // of its first line in the page
	lang, text string
}

// parseBlocks returns the ```sh and ```python blocks of a page.
func parseBlocks(text string) []block {
	var out []block
	inside := false
	for i, line := range strings.Split(text, "\n") {
		lang, fence := strings.CutPrefix(line, "```")
		switch {
		case fence && !inside && (lang == "sh" || lang == "python"):
			inside = true
			out = append(out, block{line: i + 2, lang: lang})
		case fence:
			inside = false
		case inside:
			b := &out[len(out)-1]
			b.text = strings.TrimPrefix(b.text+"\n"+line, "\n")
		}
	}
	return out
}

// matches compares what was printed with what is expected: "…" stands for any text
// within a line, a line "…" for any lines.
func matches(got, want []string) bool {
	if len(want) == 0 {
		return len(got) == 0
	}
	if strings.TrimSpace(want[0]) == "…" {
		for i := range len(got) + 1 {
			if matches(got[i:], want[1:]) {
				return true
			}
		}
		return false
	}
	return len(got) > 0 && lineMatches(got[0], want[0]) && matches(got[1:], want[1:])
}

func lineMatches(got, want string) bool {
	if !strings.Contains(want, "…") {
		return strings.TrimRight(got, " ") == strings.TrimRight(want, " ")
	}
	parts := strings.Split(want, "…")
	for i, p := range parts {
		parts[i] = regexp.QuoteMeta(p)
	}
	ok, err := regexp.MatchString("^"+strings.Join(parts, ".*")+"$", got)
	return err == nil && ok
}

// lines cuts output into lines, without the empty one at its end.
func lines(out string) []string {
	out = strings.TrimRight(out, "\n")
	if out == "" {
		return nil
	}
	return strings.Split(out, "\n")
}

// replaced is the page with the steps' outputs put in the place of what was expected.
func replaced(page string, steps []step, got map[int][]string) string {
	in := strings.Split(page, "\n")
	var out []string
	next := 0
	for _, s := range steps {
		g, ok := got[s.line]
		if !ok {
			continue
		}
		out = append(out, in[next:s.at]...)
		out = append(out, g...)
		next = s.end
	}
	return strings.Join(append(out, in[next:]...), "\n")
}

func (s step) String() string { return fmt.Sprintf("line %d: $ %s", s.line, s.command) }
