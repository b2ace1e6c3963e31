package parser

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/loamdb/loam/internal/fail"
)

// stringValue undoes the quotes and escapes of a string token at byte offset at.
func stringValue(sql string, at int, written string) (string, *fail.Error) {
	switch written[0] {
	case '$':
		tag := strings.IndexByte(written[1:], '$') + 2
		return written[tag : len(written)-tag], nil
	case 'e', 'E':
		return unescape(sql, at+2, written[2:len(written)-1])
	case 'n', 'N':
		written = written[1:]
	}
	return undouble(written, `'`), nil
}

// undouble strips the quotes around s and undoes doubled ones inside.
func undouble(s, quote string) string {
	s = s[1 : len(s)-1]
	if strings.Contains(s, quote) {
		s = strings.ReplaceAll(s, quote+quote, quote)
	}
	return s
}

// unescape undoes the backslashes of E'…', whose body begins at byte offset at.
func unescape(sql string, at int, body string) (string, *fail.Error) {
	var b strings.Builder
	for i := 0; i < len(body); {
		c := body[i]
		if c == '\'' { // the lexer has seen to it that quotes come in pairs
			b.WriteByte('\'')
			i += 2
			continue
		}
		if c != '\\' {
			b.WriteByte(c)
			i++
			continue
		}
		n, ok := escape(&b, body[i+1:])
		if !ok {
			return "", fail.New(fail.Syntax, "invalid escape in E'…'").At(sql, at+i).
				WithHint(`Known escapes are \n \t \r \b \f \\ \' \xHH \uHHHH \UHHHHHHHH and up to three octal digits.`)
		}
		i += 1 + n
	}
	if s := b.String(); !utf8.ValidString(s) || strings.IndexByte(s, 0) >= 0 {
		return "", fail.New(fail.InvalidEncoding, "the escapes in E'…' give text that is not UTF-8, or a NUL character").At(sql, at)
	}
	return b.String(), nil
}

// escape writes what follows a backslash and returns how many bytes it took.
func escape(b *strings.Builder, s string) (int, bool) {
	switch c := s[0]; c {
	case 'n', 't', 'r', 'b', 'f':
		b.WriteByte(map[byte]byte{'n': '\n', 't': '\t', 'r': '\r', 'b': '\b', 'f': '\f'}[c])
		return 1, true
	case 'x':
		return escapeCode(b, s[1:], 1, 2, 16, false)
	case 'u':
		return escapeCode(b, s[1:], 4, 4, 16, true)
	case 'U':
		return escapeCode(b, s[1:], 8, 8, 16, true)
	case '0', '1', '2', '3', '4', '5', '6', '7':
		n, ok := escapeCode(b, s, 1, 3, 8, false)
		return n - 1, ok
	default:
		if 'a' <= c|0x20 && c|0x20 <= 'z' || isDigit(c) {
			return 0, false
		}
		r, n := utf8.DecodeRuneInString(s)
		b.WriteRune(r)
		return n, true
	}
}

// escapeCode reads between least and most digits, as a code point or a byte. It
// counts the letter before the digits.
func escapeCode(b *strings.Builder, s string, least, most, base int, point bool) (int, bool) {
	n := 0
	for n < min(most, len(s)) {
		if _, err := strconv.ParseUint(s[n:n+1], base, 8); err != nil {
			break
		}
		n++
	}
	if n < least {
		return 0, false
	}
	v, err := strconv.ParseUint(s[:n], base, 32)
	switch {
	case err != nil:
		return 0, false
	case point:
		if !utf8.ValidRune(rune(v)) {
			return 0, false
		}
		b.WriteRune(rune(v))
	case v > 0xff:
		return 0, false
	default:
		b.WriteByte(byte(v))
	}
	return n + 1, true
}

// excerpt shortens a piece of the text for a message.
func excerpt(s string) string {
	const most = 40
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	runes := []rune(s)
	return string(runes[:most]) + "…"
}
