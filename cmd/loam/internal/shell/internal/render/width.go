package render

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/displaywidth"
)

// Width is how many cells of a terminal s takes.
func Width(s string) int {
	if plain(s) {
		return len(s)
	}
	return displaywidth.String(s)
}

// Cut shortens s to at most width cells; a cut text ends in "…".
func Cut(s string, width int) string {
	if len(s) <= width || Width(s) <= width {
		return s
	}
	if width < 1 {
		return ""
	}
	return displaywidth.TruncateString(s, width, "…")
}

// Clean makes a text safe and one line: control characters, marks that turn the
// direction of text, and bytes that are not UTF-8 are shown as escapes, a line's
// end as ⏎.
func Clean(s string) string {
	if plain(s) || strings.IndexFunc(s, strange) < 0 {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case r == '\n':
			b.WriteString("⏎")
		case !strange(r):
			b.WriteRune(r)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\r':
			b.WriteString(`\r`)
		case r < 0x100:
			fmt.Fprintf(&b, `\x%02x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
		i += n
	}
	return b.String()
}

// plain reports printable ASCII: what most cells are.
func plain(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// strange are characters that do not stand on a line as themselves. Joiners and
// variation selectors do: emoji need them.
func strange(r rune) bool {
	switch {
	case r == utf8.RuneError, unicode.IsControl(r), r == '\u2028', r == '\u2029', r == '\ufeff', r == '\u200e', r == '\u200f':
		return true
	}
	return r >= '\u202a' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069'
}
