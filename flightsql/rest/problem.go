package rest

import (
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"strconv"

	"github.com/loamdb/loam/internal/fail"
)

const problemType = "application/problem+json"

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
}

type position struct {
	Line   int `json:"line"`
	Column int `json:"column"`
	Offset int `json:"offset"`
}

// failure finds the error of Loam in any error.
func failure(err error) *fail.Error {
	var own *fail.Error
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &own):
		return own
	case errors.As(err, &tooLarge):
		return fail.New(fail.TooLarge, "the body is larger than %d bytes", tooLarge.Limit).WithHint("Send it in several requests.")
	}
	return fail.As(err)
}

func problemBody(status int, e *fail.Error) []byte {
	p := problem{
		Type: "about:blank", Title: http.StatusText(status), Status: status,
		Detail: e.Message, Code: e.Code.String(), SQLState: e.Code.SQLState(), Hint: e.Hint,
	}
	if e.Pos.Line > 0 {
		p.Position = &position{e.Pos.Line, e.Pos.Column, e.Pos.Offset}
	}
	body, err := json.Marshal(p)
	if err != nil {
		return []byte(`{"type":"about:blank","status":500}`)
	}
	return body
}

// writeProblem answers with an error. Refusals that pass say when to try again.
func writeProblem(w http.ResponseWriter, err error) {
	e := failure(err)
	if e.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.FormatInt((e.RetryAfter.Milliseconds()+999)/1000, 10))
	}
	if e.Code == fail.Unauthenticated {
		w.Header().Set("WWW-Authenticate", `Basic realm="loam", Bearer`)
	}
	w.Header().Set("Content-Type", problemType)
	w.WriteHeader(e.Code.HTTP())
	_, _ = w.Write(problemBody(e.Code.HTTP(), e))
}

func writeJSON(w http.ResponseWriter, body []byte) error {
	w.Header().Set("Content-Type", "application/json")
	_, err := w.Write(append(body, '\n'))
	return err
}

// body reads a request of one of the media types; others are refused, so that a
// form of a foreign page cannot post. The result is the type without parameters.
func body(r *http.Request, allowed ...string) ([]byte, string, error) {
	given, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil {
		given = ""
	}
	for _, a := range allowed {
		if a == given {
			data, err := io.ReadAll(r.Body)
			if err != nil {
				return nil, "", failure(err)
			}
			return data, given, nil
		}
	}
	return nil, "", fail.New(fail.BadRequest, "the Content-Type is %.60q", r.Header.Get("Content-Type")).
		WithHint("Send Content-Type: %s.", allowed[0])
}
