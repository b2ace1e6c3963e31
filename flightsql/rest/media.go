package rest

import (
	"io"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// body reads a request of one of the media types, whole.
func body(r *http.Request, allowed ...string) ([]byte, string, error) {
	given, err := bodyType(r, allowed...)
	if err != nil {
		return nil, "", err
	}
	data, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, "", failure(err)
	}
	return data, given, nil
}

// bodyType is the media type of a request, one of the allowed. A form of a
// foreign page cannot post: the types that it can send are not among them.
func bodyType(r *http.Request, allowed ...string) (string, error) {
	given, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err == nil && slices.Contains(allowed, given) {
		return given, nil
	}
	return "", refuse(http.StatusUnsupportedMediaType, "the Content-Type is %.60q", r.Header.Get("Content-Type")).
		hint("Send Content-Type: %s.", strings.Join(allowed, " or "))
}

// accepted chooses among the media types that an answer can have, the first of
// the best. Without the header it is the first.
func accepted(r *http.Request, offers ...string) (string, error) {
	header := strings.Join(r.Header.Values("Accept"), ",")
	if strings.TrimSpace(header) == "" {
		return offers[0], nil
	}
	best, bestQ := "", 0.0
	for _, offer := range offers {
		if q := quality(header, offer); q > bestQ {
			best, bestQ = offer, q
		}
	}
	if best == "" {
		return "", refuse(http.StatusNotAcceptable, "no answer is of a type that Accept names: %.100q", header).
			hint("Accept one of %s.", strings.Join(offers, ", "))
	}
	return best, nil
}

// quality is the q of the most specific range that matches; 0 when none does.
func quality(header, media string) float64 {
	kind, _, _ := strings.Cut(media, "/")
	q, specific := 0.0, 0
	for part := range strings.SplitSeq(header, ",") {
		given, params, err := mime.ParseMediaType(part)
		rank := 0
		switch {
		case err != nil:
		case given == media:
			rank = 3
		case given == kind+"/*":
			rank = 2
		case given == "*/*":
			rank = 1
		}
		if rank <= specific {
			continue
		}
		specific, q = rank, 1
		if text, ok := params["q"]; ok {
			if v, err := strconv.ParseFloat(text, 64); err == nil {
				q = v
			}
		}
	}
	return q
}

// tables are the media types of rows.
var tables = []string{mediaJSON, mediaNDJSON, mediaCSV, mediaArrow}

// mediaOf is the media type that an encoder writes; nil is Arrow.
func mediaOf(enc encoder) string {
	if enc == nil {
		return mediaArrow
	}
	return enc.media()
}

// encoderOf is the encoder of a media type of tables; nil is Arrow.
func encoderOf(media string, objects bool) encoder {
	switch media {
	case mediaNDJSON:
		return &lines{}
	case mediaCSV:
		return &sheet{}
	case mediaArrow:
		return nil
	}
	return &table{objects: objects}
}
