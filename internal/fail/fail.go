// Package fail is the one error type of Loam and the one table that maps an
// error to SQLSTATE, gRPC status and HTTP status.
//
// There are three kinds of failure. The user's carries a code, a place, a
// cause and a cure. The world's (files, the metastore) wraps its cause and says
// whether a retry may help. Ours is a bug: [Bug] panics in tests built with the
// tag "invariants" and otherwise becomes an INTERNAL error of one query.
//
// In: codes and texts from every room. Out: *[Error]. It imports nothing of
// Loam and knows no wire.
package fail

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Error is a failure with its code, its place and, where there is one, a cure.
type Error struct {
	Code    Code
	Message string
	// Hint says what the user can do about it; empty where there is nothing to say.
	Hint string
	// Pos is the place in the SQL text, or the zero value.
	Pos Pos
	// RetryAfter is set on refusals that pass with time (backlog budget).
	RetryAfter time.Duration
	cause      error
}

// Pos is a place in a statement. Line and Column count from 1 (Column in
// characters, not bytes); Offset counts bytes from 0. Line 0 means unknown, and
// offsetOnly that the text was not at hand.
type Pos struct {
	Offset, Line, Column int
}

// offsetOnly is the Line of a place whose offset alone is known.
const offsetOnly = -1

// PosAt computes the line and column of the byte offset in the text.
func PosAt(text string, offset int) Pos {
	offset = max(0, min(offset, len(text)))
	head := text[:offset]
	line := strings.Count(head, "\n") + 1
	start := strings.LastIndexByte(head, '\n') + 1
	return Pos{Offset: offset, Line: line, Column: len([]rune(head[start:])) + 1}
}

// New returns an error of the code with a formatted message.
func New(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Wrap returns an error of the code that keeps cause in its chain. A nil cause gives nil.
func Wrap(code Code, cause error, format string, args ...any) error {
	if cause == nil {
		return nil
	}
	return &Error{Code: code, Message: fmt.Sprintf(format, args...) + ": " + cause.Error(), cause: cause}
}

// WithHint returns e with the hint set.
func (e *Error) WithHint(format string, args ...any) *Error {
	e.Hint = fmt.Sprintf(format, args...)
	return e
}

// Located gives an error of a running expression the byte offset of its call, where
// the statement's text is not at hand; Placed finds line and column later. An error
// that has a place, or that is not the user's, stays as it is.
func Located(err error, offset int) error {
	var e *Error
	if offset < 0 || !errors.As(err, &e) || e.Pos.Line != 0 || !hasPlace(e.Code) {
		return err
	}
	out := *e
	out.Pos = Pos{Offset: offset, Line: offsetOnly}
	return &out
}

// hasPlace reports whether an error of the code is about a place in the statement:
// the user's, and what AT asks for and is not there.
func hasPlace(c Code) bool { return c < BadRequest || c == UndefinedTag || c == SnapshotExpired }

// Placed finds line and column of an error that knows its offset in text.
func Placed(err error, text string) error {
	var e *Error
	if !errors.As(err, &e) || e.Pos.Line != offsetOnly {
		return err
	}
	out := *e
	out.Pos = PosAt(text, e.Pos.Offset)
	return &out
}

// At returns e with its place set, unless it already has one.
func (e *Error) At(text string, offset int) *Error {
	if e.Pos.Line == 0 {
		e.Pos = PosAt(text, offset)
	}
	return e
}

// Within returns e with its place counted in script, where e's own statement
// starts at byte offset start. An error without a place stays as it is.
func (e *Error) Within(script string, start int) *Error {
	if e.Pos.Line <= 0 {
		return e
	}
	out, from := *e, PosAt(script, start)
	if e.Pos.Line == 1 {
		out.Pos.Column += from.Column - 1
	}
	out.Pos.Line += from.Line - 1
	out.Pos.Offset += from.Offset
	return &out
}

// Error is the message with place and hint, without the SQLSTATE.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Message)
	if e.Pos.Line > 0 {
		fmt.Fprintf(&b, " (line %d, column %d)", e.Pos.Line, e.Pos.Column)
	}
	if e.Hint != "" {
		b.WriteString(". ")
		b.WriteString(e.Hint)
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.cause }

// Is matches another *Error by code, so that errors.Is(err, fail.New(code, "")) works.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Code == e.Code
}

// CodeOf is the code of As(err); OK for nil.
func CodeOf(err error) Code {
	if err == nil {
		return OK
	}
	return As(err).Code
}

// As returns the first *Error in the chain. The end of a context is Canceled or
// DeadlineExceeded, any other error is Internal.
func As(err error) *Error {
	var e *Error
	switch {
	case errors.As(err, &e):
		return e
	case isEnd(err):
		return endedBy(nil, err, "the call")
	}
	return &Error{Code: Internal, Message: err.Error(), cause: err}
}

// Is reports whether err carries the code.
func Is(err error, code Code) bool { return err != nil && CodeOf(err) == code }

// Render prints an error as a person reads it in a terminal: the SQLSTATE and
// message, then the line of the statement with a caret under the place.
func Render(err error, statement string) string {
	e := As(err)
	var b strings.Builder
	fmt.Fprintf(&b, "ERROR %s: %s", e.Code.SQLState(), e.Message)
	if e.Pos.Line > 0 {
		fmt.Fprintf(&b, "\nLINE %d, COLUMN %d:", e.Pos.Line, e.Pos.Column)
		lines := strings.Split(statement, "\n")
		if e.Pos.Line <= len(lines) {
			line, column := window(lines[e.Pos.Line-1], e.Pos.Column-1)
			fmt.Fprintf(&b, "\n  %s\n  %s^", line, caretPad(line, column))
		}
	}
	if e.Hint != "" {
		b.WriteString("\nHINT: " + e.Hint)
	}
	return b.String()
}

// maxExcerpt is the widest excerpt of a statement under an error, in characters.
const maxExcerpt = 100

// window cuts a long line to what surrounds character at, and says where at is
// in what is left.
func window(line string, at int) (string, int) {
	runes := []rune(line)
	if len(runes) <= maxExcerpt {
		return line, at
	}
	from := min(max(at-maxExcerpt/2, 0), len(runes)-maxExcerpt)
	head, tail := "", ""
	if from > 0 {
		head = "…"
	}
	if from+maxExcerpt < len(runes) {
		tail = "…"
	}
	return head + string(runes[from:from+maxExcerpt]) + tail, at - from + len([]rune(head))
}

// caretPad keeps tabs so that the caret stays under its character.
func caretPad(line string, n int) string {
	var b strings.Builder
	for i, r := range []rune(line) {
		if i >= n {
			break
		}
		if r == '\t' {
			b.WriteRune('\t')
		} else {
			b.WriteByte(' ')
		}
	}
	return b.String()
}

// Closest returns the candidate nearest to name by edit distance (case folded),
// or "" when none is close enough to suggest. Of several as near, it is the first of
// the alphabet, so that an error reads the same in each run.
func Closest(name string, candidates []string) string {
	name = strings.ToLower(name)
	best, bestDist := "", min(max(2, len(name)/3)+1, len(name))
	for _, c := range candidates {
		d := editDistance(name, strings.ToLower(c), bestDist+1)
		if d < bestDist || d == bestDist && best != "" && c < best {
			best, bestDist = c, d
		}
	}
	return best
}

func editDistance(a, b string, bound int) int {
	if d := len(a) - len(b); d >= bound || -d >= bound {
		return bound
	}
	prev, cur := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		cur[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			cur[j] = min(prev[j]+1, cur[j-1]+1, prev[j-1]+cost)
		}
		prev, cur = cur, prev
	}
	return prev[len(b)]
}
