package parser

import (
	"math/big"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/loamdb/loam/internal/fail"
)

// kind is the kind of a token. Punctuation of one character is its own kind.
type kind uint8

const (
	kEOF kind = iota
	kBad      // the text cannot be read from here on; the lexer's error says why
	kWord
	kQuoted
	kNumber
	kString // any form of character string
	kBytes
	kDollar // $1 or $name
)

// Operators of several characters.
const (
	kCast    kind = iota + 128 // ::
	kColonEq                   // :=
	kFatArrow
	kNe
	kLe
	kGe
	kShiftLeft
	kShiftRight
	kConcat
	kIntDiv
	kArrow
	kArrowText
	kHashArrow
	kHashArrowT
	kL2
	kCosine
	kInner
	kContains
	kContained
	kOverlap
	kRegexI    // ~*
	kNotRegex  // !~
	kNotRegexI // !~*
	kLike      // ~~
	kILike     // ~~*
	kNotLike   // !~~
	kNotILike  // !~~*
)

// token is one token; text[start:end] is how it was written.
type token struct {
	start, end int32
	kind       kind
	kw         keyword
}

type lexer struct {
	text string
	pos  int
	toks []token
	err  *fail.Error
}

// lex splits a text into tokens. The last token is kEOF, or kBad with err set.
func lex(text string) ([]token, *fail.Error) {
	l := lexer{text: text, toks: make([]token, 0, len(text)/4+8)}
	for {
		l.skipBlank()
		start := l.pos
		k, kw := l.next()
		l.toks = append(l.toks, token{start: int32(start), end: int32(l.pos), kind: k, kw: kw})
		if k == kEOF || k == kBad {
			return l.toks, l.err
		}
	}
}

func (l *lexer) peek(n int) byte {
	if l.pos+n < len(l.text) {
		return l.text[l.pos+n]
	}
	return 0
}

func (l *lexer) bad(at int, format string, args ...any) kind {
	if l.err == nil {
		l.err = fail.New(fail.Syntax, format, args...).At(l.text, at)
	}
	l.pos = len(l.text)
	return kBad
}

// skipBlank moves over white space and comments; an unclosed comment is left for next.
func (l *lexer) skipBlank() {
	for l.pos < len(l.text) {
		switch c := l.text[l.pos]; {
		case c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == '\f' || c == '\v':
			l.pos++
		case c == '-' && l.peek(1) == '-':
			end := strings.IndexByte(l.text[l.pos:], '\n')
			if end < 0 {
				l.pos = len(l.text)
				return
			}
			l.pos += end + 1
		case c == '/' && l.peek(1) == '*':
			end := commentEnd(l.text[l.pos:])
			if end < 0 {
				return
			}
			l.pos += end
		case c >= utf8.RuneSelf:
			r, n := utf8.DecodeRuneInString(l.text[l.pos:])
			if !unicode.IsSpace(r) && r != '\ufeff' && r != '\u200b' {
				return
			}
			l.pos += n
		default:
			return
		}
	}
}

// commentEnd is the length of the block comment that s begins with; comments
// nest, as in PostgreSQL. It is -1 for an unclosed one.
func commentEnd(s string) int {
	depth := 0
	for i := 0; i+1 < len(s); i++ {
		switch s[i : i+2] {
		case "/*":
			depth++
			i++
		case "*/":
			depth--
			i++
			if depth == 0 {
				return i + 1
			}
		}
	}
	return -1
}

func (l *lexer) next() (kind, keyword) {
	if l.pos >= len(l.text) {
		return kEOF, noKeyword
	}
	c := l.text[l.pos]
	switch {
	case isIdentStart(c):
		return l.word()
	case c >= utf8.RuneSelf:
		r, _ := utf8.DecodeRuneInString(l.text[l.pos:])
		if unicode.IsLetter(r) {
			return l.word()
		}
		return l.strange(r), noKeyword
	case isDigit(c), c == '.' && isDigit(l.peek(1)):
		return l.number(), noKeyword
	case c == '\'':
		return l.quoted('\'', kString, l.pos, false), noKeyword
	case c == '"':
		return l.quoted('"', kQuoted, l.pos, false), noKeyword
	case c == '$':
		return l.dollar(), noKeyword
	default:
		return l.operator(c), noKeyword
	}
}

func isIdentStart(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_'
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func (l *lexer) word() (kind, keyword) {
	start := l.pos
	if k := l.prefixedString(); k != kEOF {
		return k, noKeyword
	}
	ascii := true
	for l.pos < len(l.text) {
		c := l.text[l.pos]
		if isIdentStart(c) || isDigit(c) || c == '$' {
			l.pos++
			continue
		}
		if c < utf8.RuneSelf {
			break
		}
		r, n := utf8.DecodeRuneInString(l.text[l.pos:])
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) {
			break
		}
		ascii = false
		l.pos += n
	}
	if !ascii {
		return kWord, noKeyword
	}
	return kWord, lookupKeyword(l.text[start:l.pos])
}

// prefixedString reads E'…', N'…' and X'…', where one letter touches the quote.
func (l *lexer) prefixedString() kind {
	start := l.pos
	if q := l.peek(2); l.text[start]|0x20 == 'u' && l.peek(1) == '&' && (q == '\'' || q == '"') {
		k := l.bad(start, "U&… is not supported")
		l.err.Hint = "Write the character itself, or E'\\u00e9'."
		return k
	}
	if l.peek(1) != '\'' {
		return kEOF
	}
	switch l.text[l.pos] {
	case 'e', 'E':
		l.pos++
		return l.quoted('\'', kString, start, true)
	case 'n', 'N':
		l.pos++
		return l.quoted('\'', kString, start, false)
	case 'x', 'X':
		l.pos++
		return l.hexBytes(start)
	case 'b', 'B':
		k := l.bad(start, "bit strings are not supported")
		l.err.Hint = "Write X'…' for bytes, or 0b… for a number."
		return k
	}
	return kEOF
}

// quoted moves over a quoted token whose opening quote is at l.pos.
func (l *lexer) quoted(quote byte, k kind, start int, escapes bool) kind {
	for i := l.pos + 1; i < len(l.text); i++ {
		switch c := l.text[i]; {
		case c == '\\' && escapes:
			i++
		case c == 0:
			return l.bad(i, "a NUL character is not allowed in a quoted text")
		case c != quote:
		case i+1 < len(l.text) && l.text[i+1] == quote:
			i++
		default:
			l.pos = i + 1
			if k == kQuoted && l.pos == start+2 {
				return l.bad(start, `a name between double quotes must not be empty`)
			}
			return k
		}
	}
	what := "string: the quote ' that opens here is never closed"
	if quote == '"' {
		what = `quoted name: the quote " that opens here is never closed`
	}
	bad := l.bad(start, "unclosed %s", what)
	if quote == '\'' {
		l.err.Hint = "Inside a string, write a quote twice: 'it''s'."
	}
	return bad
}

func (l *lexer) hexBytes(start int) kind {
	body := l.pos + 1
	if k := l.quoted('\'', kBytes, start, false); k == kBad {
		return k
	}
	digits := l.text[body : l.pos-1]
	for i := range len(digits) {
		if !isHex(digits[i]) {
			return l.bad(body+i, "X'…' holds hexadecimal digits only")
		}
	}
	if len(digits)%2 != 0 {
		return l.bad(start, "X'…' holds an even number of hexadecimal digits, two a byte")
	}
	return kBytes
}

func isHex(c byte) bool { return isDigit(c) || 'a' <= c|0x20 && c|0x20 <= 'f' }

// dollar reads $1, $name, and the string $tag$…$tag$.
func (l *lexer) dollar() kind {
	start := l.pos
	l.pos++
	if isDigit(l.peek(0)) {
		for isDigit(l.peek(0)) {
			l.pos++
		}
		return kDollar
	}
	for isIdentStart(l.peek(0)) || isDigit(l.peek(0)) {
		l.pos++
	}
	if l.peek(0) != '$' {
		if l.pos == start+1 {
			return l.bad(start, `"$" must be followed by the number of a parameter, as in $1`)
		}
		return kDollar
	}
	l.pos++
	tag := l.text[start:l.pos]
	end := strings.Index(l.text[l.pos:], tag)
	if end < 0 {
		return l.bad(start, "unclosed string: %s that opens here is never closed", tag)
	}
	if nul := strings.IndexByte(l.text[l.pos:l.pos+end], 0); nul >= 0 {
		return l.bad(l.pos+nul, "a NUL character is not allowed in a quoted text")
	}
	l.pos += end + len(tag)
	return kString
}

// maxRadixDigits bounds 0x, 0o and 0b numbers, whose conversion is not linear.
const maxRadixDigits = 128

func (l *lexer) number() kind {
	start := l.pos
	if l.text[start] == '0' {
		if base := radix(l.peek(1)); base != 0 {
			l.pos += 2
			l.digits(base)
			return l.numberEnd(start, l.pos > start+2 && l.pos-start <= maxRadixDigits)
		}
	}
	l.digits(10)
	if l.peek(0) == '.' {
		l.pos++
		l.digits(10)
	}
	if c := l.peek(0); c == 'e' || c == 'E' {
		sign := 0
		if s := l.peek(1); s == '+' || s == '-' {
			sign = 1
		}
		if !isDigit(l.peek(1 + sign)) {
			return l.numberEnd(start, false)
		}
		l.pos += 1 + sign
		l.digits(10)
	}
	return l.numberEnd(start, true)
}

func radix(c byte) int {
	switch c {
	case 'x', 'X':
		return 16
	case 'o', 'O':
		return 8
	case 'b', 'B':
		return 2
	}
	return 0
}

// digits moves over digits of the base; single underscores may separate them.
func (l *lexer) digits(base int) {
	ok := func(c byte) bool { return isDigit(c) && int(c-'0') < base || base == 16 && isHex(c) }
	for ok(l.peek(0)) || l.peek(0) == '_' && ok(l.peek(1)) && l.pos > 0 && ok(l.text[l.pos-1]) {
		l.pos++
	}
}

// numberEnd refuses a number that runs into a name, such as 12abc or 1e.
func (l *lexer) numberEnd(start int, ok bool) kind {
	end := l.pos
	for isIdentStart(l.peek(0)) || isDigit(l.peek(0)) {
		l.pos++
	}
	if ok && end == l.pos {
		return kNumber
	}
	written := l.text[start:l.pos]
	k := l.bad(start, "%s is not a number", excerpt(written))
	l.err.Hint = "A name that begins with a digit needs double quotes."
	return k
}

// decimalText is the number in plain decimal digits.
func decimalText(written string) string {
	if strings.IndexByte(written, '_') >= 0 {
		written = strings.ReplaceAll(written, "_", "")
	}
	if len(written) > 2 && written[0] == '0' {
		if base := radix(written[1]); base != 0 {
			n, _ := new(big.Int).SetString(written[2:], base)
			return n.String()
		}
	}
	return written
}

// operators lists the tokens of punctuation, longer ones before their prefixes.
var operators = [...]struct {
	text string
	kind kind
}{
	{"!~~*", kNotILike}, {"!~~", kNotLike}, {"!~*", kNotRegexI}, {"!~", kNotRegex}, {"!=", kNe},
	{"~~*", kILike}, {"~~", kLike}, {"~*", kRegexI}, {"~", '~'},
	{"<->", kL2}, {"<=>", kCosine}, {"<#>", kInner}, {"<=", kLe}, {"<>", kNe}, {"<<", kShiftLeft}, {"<@", kContained}, {"<", '<'},
	{">=", kGe}, {">>", kShiftRight}, {">", '>'},
	{"=>", kFatArrow}, {"==", '='}, {"=", '='},
	{"->>", kArrowText}, {"->", kArrow}, {"-", '-'},
	{"#>>", kHashArrowT}, {"#>", kHashArrow}, {"#", '#'},
	{"||", kConcat}, {"|", '|'}, {"&&", kOverlap}, {"&", '&'}, {"@>", kContains},
	{"::", kCast}, {":=", kColonEq}, {":", ':'},
	{"**", '^'}, {"*", '*'}, {"//", kIntDiv}, {"/", '/'},
	{"+", '+'}, {"%", '%'}, {"^", '^'}, {"(", '('}, {")", ')'}, {"[", '['}, {"]", ']'}, {"{", '{'}, {"}", '}'},
	{",", ','}, {".", '.'}, {";", ';'}, {"?", '?'},
}

// operatorsBy holds the range of operators that begin with each byte.
var operatorsBy = func() (by [utf8.RuneSelf][2]uint8) {
	for i := len(operators) - 1; i >= 0; i-- {
		c := operators[i].text[0]
		if by[c][1] == 0 {
			by[c][1] = uint8(i + 1)
		}
		by[c][0] = uint8(i)
	}
	return by
}()

func (l *lexer) operator(c byte) kind {
	start := l.pos
	if strings.HasPrefix(l.text[start:], "/*") {
		return l.bad(start, "unclosed comment: the /* that opens here is never closed")
	}
	for _, op := range operators[operatorsBy[c][0]:operatorsBy[c][1]] {
		if strings.HasPrefix(l.text[start:], op.text) {
			l.pos += len(op.text)
			return op.kind
		}
	}
	return l.strange(rune(c))
}

// strange reports a character that begins no token.
func (l *lexer) strange(r rune) kind {
	start := l.pos
	k := l.bad(start, "unexpected character %q", r)
	switch r {
	case '`':
		l.err.Hint = `Names are quoted with double quotes, "like this"; backticks belong to the MySQL dialect (SET sql_dialect = 'mysql').`
	case '‘', '’', '“', '”', '„', '«', '»':
		l.err.Hint = `Typographic quotes are not quotes of SQL: write ' for strings and " for names.`
	case '@':
		l.err.Hint = "Session variables are not supported; pass a parameter, $1 or ?."
	case '!':
		l.err.Hint = "Write NOT for negation and != for inequality."
	}
	return k
}
