package scan

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"

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
// unknown one, fail.InvalidParameter, fail.Unsupported for a tag.
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
	if err := parseAt(b.At, &r); err != nil {
		return r, err
	}
	return r, validate(&r)
}

// parseAt reads "current", {"manifest_version": v} or {"token": "v1:…"}.
func parseAt(raw json.RawMessage, r *loam.ScanRequest) error {
	var word string
	switch {
	case len(raw) == 0 || string(raw) == "null":
		return nil
	case json.Unmarshal(raw, &word) == nil:
		if word != "current" {
			return fail.New(fail.InvalidParameter, "\"at\" is %.60q", word).
				WithHint("Use \"current\", {\"manifest_version\": n} or {\"token\": \"v1:…\"}.")
		}
		return nil
	}
	var at struct {
		ManifestVersion *uint64 `json:"manifest_version"`
		Token           *string `json:"token"`
		Tag             *string `json:"tag"`
	}
	if err := Strict(raw, &at, []string{"manifest_version", "token", "tag"}); err != nil {
		return err
	}
	given := 0
	for _, is := range []bool{at.ManifestVersion != nil, at.Token != nil, at.Tag != nil} {
		if is {
			given++
		}
	}
	if given != 1 {
		return fail.New(fail.InvalidParameter, "\"at\" names %s; name one of manifest_version and token", fail.Count(given, "state"))
	}
	r.ManifestVersion = at.ManifestVersion
	if at.Tag != nil {
		return noTags(*at.Tag)
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

func noTags(name string) error {
	return fail.New(fail.Unsupported, "tags are not supported yet (%.60q)", name).
		WithHint("Pin a manifest version: {\"manifest_version\": n}.")
}

func validate(r *loam.ScanRequest) error {
	switch r.Tail {
	case "", loam.TailNone, loam.TailMerge, loam.TailWait:
	default:
		return fail.New(fail.InvalidParameter, "\"tail\" is %.60q", string(r.Tail)).
			WithHint("Use \"none\", \"merge\" or \"wait\".")
	}
	if r.ManifestVersion != nil && (r.Tail == loam.TailMerge || r.Tail == loam.TailWait) {
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
