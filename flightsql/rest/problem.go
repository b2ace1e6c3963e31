package rest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"

	"github.com/loamdb/loam/internal/fail"
)

const mediaProblem = "application/problem+json"

// problem is RFC 9457 with Loam's fields.
type problem struct {
	Type     string    `json:"type"`
	Title    string    `json:"title"`
	Status   int       `json:"status"`
	Detail   string    `json:"detail"`
	Code     string    `json:"code"`
	SQLState string    `json:"sqlstate"`
	Position *position `json:"position,omitempty"`
	Hint     string    `json:"hint,omitempty"`
	// Bulk is where a bulk write stands that could not go on.
	Bulk *bulkReport `json:"bulk,omitempty"`
}

type position struct {
	Line   int `json:"line"`
	Column int `json:"column"`
	Offset int `json:"offset"`
}

// refusal is an error that HTTP has a status of its own for.
type refusal struct {
	err    *fail.Error
	status int         // 0: that of the error
	allow  string      // of 405
	bulk   *bulkReport // of a bulk write that stopped
}

// Error implements error.
func (r *refusal) Error() string { return r.err.Error() }

// Unwrap lets errors.As find the error of Loam.
func (r *refusal) Unwrap() error { return r.err }

func refuse(status int, format string, args ...any) *refusal {
	return &refusal{err: fail.New(fail.BadRequest, format, args...), status: status}
}

func (r *refusal) hint(format string, args ...any) *refusal {
	r.err = r.err.WithHint(format, args...)
	return r
}

// statusOf is the HTTP status of an error.
func statusOf(err error) int {
	var r *refusal
	if errors.As(err, &r) && r.status != 0 {
		return r.status
	}
	return failure(err).Code.HTTP()
}

// failure finds the error of Loam in any error.
func failure(err error) *fail.Error {
	var tooLarge *http.MaxBytesError
	var own *fail.Error
	switch {
	case errors.As(err, &tooLarge):
		return fail.New(fail.TooLarge, "the body is larger than %d bytes", tooLarge.Limit).WithHint("Send it in several requests.")
	case errors.Is(err, io.ErrUnexpectedEOF) && !errors.As(err, &own):
		return fail.New(fail.BadRequest, "the body ends before its length is reached")
	}
	return fail.As(err)
}

func problemOf(status int, e *fail.Error) problem {
	p := problem{
		Type: "about:blank", Title: http.StatusText(status), Status: status,
		Detail: e.Message, Code: e.Code.String(), SQLState: e.Code.SQLState(), Hint: e.Hint,
	}
	if status == 499 {
		p.Title = "Client Closed Request"
	}
	if e.Pos.Line > 0 {
		p.Position = &position{e.Pos.Line, e.Pos.Column, e.Pos.Offset}
	}
	return p
}

func problemBody(status int, e *fail.Error) []byte {
	return encode(problemOf(status, e))
}

// encode writes a value of ours as JSON whose text people read: < stays <.
func encode(v any) []byte {
	var buf bytes.Buffer
	out := json.NewEncoder(&buf)
	out.SetEscapeHTML(false)
	if err := out.Encode(v); err != nil { // our own structs have no such values
		return []byte(`{"type":"about:blank","status":500}`)
	}
	return bytes.TrimSpace(buf.Bytes())
}

// writeProblem answers with an error. Refusals that pass say when to try again.
func writeProblem(w http.ResponseWriter, err error) {
	e, status := failure(err), statusOf(err)
	p := problemOf(status, e)
	var r *refusal
	if errors.As(err, &r) {
		p.Bulk = r.bulk
		if r.allow != "" {
			w.Header().Set("Allow", r.allow)
		}
	}
	if e.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.FormatInt((e.RetryAfter.Milliseconds()+999)/1000, 10))
	}
	if e.Code == fail.Unauthenticated {
		w.Header().Set("WWW-Authenticate", `Basic realm="loam", Bearer`)
	}
	w.Header().Set("Content-Type", mediaProblem)
	w.WriteHeader(status)
	_, _ = w.Write(append(encode(p), '\n'))
}
