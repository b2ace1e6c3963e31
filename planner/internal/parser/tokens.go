package parser

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Class is what a piece of text is to a person who reads or completes it.
type Class uint8

// The classes. Open is a string, quoted name or comment without an end; it is
// the last piece. Bad is a character that no token begins with.
const (
	Operator Class = iota // also punctuation
	Keyword
	Name
	QuotedName
	Number
	String
	Parameter
	Comment
	Open
	Bad
)

// Token is text[Start:End] with its class.
type Token struct {
	Class      Class
	Start, End int
}

// Tokens splits any text into tokens, comments included and white space left
// out. It never fails: what the lexer refuses is Open or Bad, and it goes on
// after a Bad character.
func Tokens(text string) []Token {
	var out []Token
	for from := 0; ; {
		t, ok := NextToken(text, from)
		if !ok {
			return out
		}
		out = append(out, t)
		from = t.End
	}
}

// NextToken is the first token of text at or after byte from, where no token is
// cut; false when there is none.
func NextToken(text string, from int) (Token, bool) {
	l := lexer{text: text, pos: from}
	for l.pos < len(text) {
		if n := commentAt(text[l.pos:]); n > 0 {
			return Token{Comment, l.pos, l.pos + n}, true
		}
		r, n := utf8.DecodeRuneInString(text[l.pos:])
		if !unicode.IsSpace(r) && r != '\ufeff' && r != '\u200b' {
			break
		}
		l.pos += n
	}
	start := l.pos
	k, kw := l.next()
	switch {
	case k == kEOF:
		return Token{}, false
	case k != kBad:
		return Token{classOf(k, kw), start, l.pos}, true
	case strings.HasPrefix(l.err.Message, "unclosed"):
		return Token{Open, start, len(text)}, true
	}
	_, n := utf8.DecodeRuneInString(text[start:])
	return Token{Bad, start, start + n}, true
}

// commentAt is the length of the comment that s begins with, without the end of
// its line; 0 when there is none, or none that ends.
func commentAt(s string) int {
	switch {
	case strings.HasPrefix(s, "--"):
		if n := strings.IndexByte(s, '\n'); n >= 0 {
			return n
		}
		return len(s)
	case strings.HasPrefix(s, "/*"):
		return max(commentEnd(s), 0)
	}
	return 0
}

func classOf(k kind, kw keyword) Class {
	switch k {
	case kWord:
		if kw != noKeyword {
			return Keyword
		}
		return Name
	case kQuoted:
		return QuotedName
	case kNumber:
		return Number
	case kString, kBytes:
		return String
	case kDollar:
		return Parameter
	}
	return Operator
}

// Keywords lists the words of the grammar in upper case, in no promised order.
func Keywords() []string {
	out := make([]string, 0, len(keywordText))
	for _, w := range keywordText {
		if w != "" {
			out = append(out, strings.ToUpper(w))
		}
	}
	return out
}
