package shell

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Styles of a terminal.
const (
	bold  = "\x1b[1m"
	dim   = "\x1b[2m"
	red   = "\x1b[1;31m"
	cyan  = "\x1b[36m"
	reset = "\x1b[0m"
)

func (s *Shell) paint(style, text string) string {
	if !s.render.Color || s.file != nil {
		return text
	}
	return style + text + reset
}

// hint is a text beside the results, on standard error.
func (s *Shell) hint(text string) string {
	if !s.cfg.Term.ColorErr {
		return text
	}
	return dim + text + reset
}

// paintError colors a rendered error: its code, the caret, the word HINT.
func paintError(text string, color bool) string {
	if !color {
		return text
	}
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		head, rest, _ := strings.Cut(line, ": ")
		switch {
		case i == 0 && strings.HasPrefix(line, "ERROR "):
			lines[i] = red + head + ":" + reset + " " + bold + rest + reset
		case strings.TrimLeft(line, " \t") == "^":
			lines[i] = red + line + reset
		case head == "HINT":
			lines[i] = cyan + "HINT:" + reset + " " + rest
		case strings.HasPrefix(line, "LINE ") && rest == "":
			lines[i] = dim + line + reset
		}
	}
	return strings.Join(lines, "\n")
}

// count is a number with its noun: "1 row", "1,234 rows".
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return grouped(n) + " " + noun + "s"
}

// grouped writes a number with commas at the thousands.
func grouped(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// duration is a time as a person says it.
func duration(d time.Duration) string {
	switch {
	case d < 10*time.Millisecond:
		return fmt.Sprintf("%.1f ms", float64(d.Microseconds())/1000)
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%.2f s", d.Seconds())
	}
	return d.Round(time.Second).String()
}
