package scan

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"time"

	"github.com/loamdb/loam"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/snapshot"
)

// body is the JSON of a request; namespace and collection are given over Flight
// only, where no path names them.
type body struct {
	Namespace  *string         `json:"namespace"`
	Collection *string         `json:"collection"`
	At         json.RawMessage `json:"at"`
	Tail       *string         `json:"tail"`
	Columns    *[]string       `json:"columns"`
}

// keys are the known keys, for suggestions.
var keys = []string{"namespace", "collection", "at", "tail", "columns"}

// ParseJSON reads a request from JSON. target is what the path names; when it is
// nil the body names it. Errors: fail.BadRequest with the nearest key for an
// unknown one, fail.InvalidParameter.
func ParseJSON(data []byte, target *loam.Target) (loam.ScanRequest, error) {
	var b body
	if len(bytes.TrimSpace(data)) > 0 {
		if err := Strict(data, &b, keys); err != nil {
			return loam.ScanRequest{}, err
		}
	}
	var r loam.ScanRequest
	switch {
	case target != nil && (b.Namespace != nil || b.Collection != nil):
		return r, fail.New(fail.BadRequest, "the path names the collection; the body must not")
	case target != nil:
		r.Target = *target
	case b.Collection == nil || *b.Collection == "":
		return r, fail.New(fail.BadRequest, "the scan request names no collection").
			WithHint("Add \"collection\": \"name\".")
	default:
		r.Target.Name = *b.Collection
		if b.Namespace != nil {
			r.Target.Namespace = *b.Namespace
		}
	}
	if b.Columns != nil {
		r.Columns = *b.Columns
	}
	if b.Tail != nil {
		r.Tail = loam.ScanTail(*b.Tail)
	}
	if err := ParseAt(b.At, &r); err != nil {
		return r, err
	}
	return r, validate(&r)
}

// atHint names the states.
const atHint = `Use "current", {"manifest_version": n}, {"tag": "name"}, {"timestamp": "2026-01-02T03:04:05Z"} or {"token": "v1:…"}.`

// ParseAt reads the value of "at" into the request; absent, it is the current state.
func ParseAt(raw json.RawMessage, r *loam.ScanRequest) error {
	var word string
	switch {
	case len(raw) == 0 || string(raw) == "null":
		return nil
	case json.Unmarshal(raw, &word) == nil:
		if word != "current" {
			return fail.New(fail.InvalidParameter, "\"at\" is %.60q", word).WithHint("%s", atHint)
		}
		return nil
	}
	var at struct {
		ManifestVersion *uint64 `json:"manifest_version"`
		Token           *string `json:"token"`
		Tag             *string `json:"tag"`
		Timestamp       *string `json:"timestamp"`
	}
	if err := Strict(raw, &at, []string{"manifest_version", "token", "tag", "timestamp"}); err != nil {
		return err
	}
	given := 0
	for _, is := range []bool{at.ManifestVersion != nil, at.Token != nil, at.Tag != nil, at.Timestamp != nil} {
		if is {
			given++
		}
	}
	if given != 1 {
		return fail.New(fail.InvalidParameter, "\"at\" names %s; name one of manifest_version, tag, timestamp and token", fail.Count(given, "state"))
	}
	r.ManifestVersion, r.Tag = at.ManifestVersion, at.Tag
	if at.Timestamp != nil {
		t, err := time.Parse(time.RFC3339Nano, *at.Timestamp)
		if err != nil {
			return fail.New(fail.InvalidDatetime, "the timestamp %.60q is not of RFC 3339", *at.Timestamp).
				WithHint("Write it as in 2026-01-02T03:04:05Z.")
		}
		r.Timestamp = &t
	}
	if at.Token != nil {
		return setToken(r, *at.Token)
	}
	return nil
}

func setToken(r *loam.ScanRequest, text string) error {
	token, err := snapshot.ParseToken(text)
	if err != nil {
		return err
	}
	r.Token = &token
	return nil
}

func validate(r *loam.ScanRequest) error {
	switch r.Tail {
	case "", loam.TailNone, loam.TailMerge, loam.TailWait:
	default:
		return fail.New(fail.InvalidParameter, "\"tail\" is %.60q", string(r.Tail)).
			WithHint("Use \"none\", \"merge\" or \"wait\".")
	}
	if r.Past() && (r.Tail == loam.TailMerge || r.Tail == loam.TailWait) {
		return fail.New(fail.InvalidParameter, "a manifest version is read with \"tail\": \"none\", not %q", string(r.Tail))
	}
	return nil
}

// Strict decodes one JSON object without unknown keys; known are the keys for
// suggestions. Errors: fail.BadRequest.
func Strict(data []byte, into any, known []string) error {
	if string(bytes.TrimSpace(data)) == "null" {
		return fail.New(fail.BadRequest, "a JSON null where an object is expected")
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	err := d.Decode(into)
	if err == nil {
		if _, err := d.Token(); !errors.Is(err, io.EOF) {
			return fail.New(fail.BadRequest, "there is text after the JSON object")
		}
		return nil
	}
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		// Without the words of Go's types.
		kind, value, _ := strings.Cut(wrong.Value, " ")
		if wrong.Field == "" {
			return fail.New(fail.BadRequest, "a JSON %s where an object is expected", kind)
		}
		return fail.New(fail.BadRequest, "a JSON %s is not what %q takes%s", kind, wrong.Field, shown(value))
	}
	if name, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		e := fail.New(fail.BadRequest, "unknown key %.80s in the request", name)
		if near := fail.Closest(strings.Trim(name, `"`), known); near != "" {
			return e.WithHint("Did you mean %q?", near)
		}
		return e.WithHint("The keys are %s.", strings.Join(known, ", "))
	}
	return fail.Wrap(fail.BadRequest, err, "the request is not the JSON that is expected")
}

// shown is a value for a message, "" when there is none.
func shown(value string) string {
	if value == "" {
		return ""
	}
	return ": " + value
}
