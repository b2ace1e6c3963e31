package fakes3

import (
	"encoding/xml"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

const crcHeader = "X-Amz-Checksum-Crc32c"

// answer does a request.
func (s *Server) answer(r *http.Request, body []byte, lies Lies) answer {
	bucket, key, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	if bucket != Bucket {
		return failure(http.StatusNotFound, "NoSuchBucket")
	}
	if got := r.Header.Get(crcHeader); got != "" && r.Method == http.MethodPut && got != crcOf(body) && !lies.IgnoreChecksums {
		return failure(http.StatusBadRequest, "BadDigest")
	}
	q := r.URL.Query()
	switch {
	case q.Has("uploads") && r.Method == http.MethodPost:
		return s.startUpload(r, key)
	case q.Has("uploadId"):
		return s.onUpload(r, key, q.Get("uploadId"), body, lies)
	case key == "" && r.Method == http.MethodGet:
		return s.list(r, lies)
	case r.Method == http.MethodPut:
		return s.create(r, key, stored{body: body, crc: crcOf(body), meta: metaOf(r)}, lies)
	case r.Method == http.MethodGet, r.Method == http.MethodHead:
		return s.read(r, key, lies)
	case r.Method == http.MethodDelete:
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.objects, key)
		return answer{status: http.StatusNoContent, header: http.Header{}}
	}
	return failure(http.StatusMethodNotAllowed, "MethodNotAllowed")
}

func metaOf(r *http.Request) http.Header {
	out := http.Header{}
	for k, v := range r.Header {
		if strings.HasPrefix(k, "X-Amz-Meta-") {
			out[k] = v
		}
	}
	return out
}

func (s *Server) create(r *http.Request, key string, o stored, lies Lies) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, taken := s.objects[key]
	if r.Header.Get("If-None-Match") == "*" && taken && !lies.IgnoreConditions {
		return failure(http.StatusPreconditionFailed, "PreconditionFailed")
	}
	if lies.RacyConditions {
		s.mu.Unlock()
		time.Sleep(5 * time.Millisecond) // others look meanwhile
		s.mu.Lock()
	}
	if lies.ForgetListing {
		o.meta.Set("Unlisted", "yes")
	}
	s.objects[key] = o
	return answer{status: http.StatusOK, header: http.Header{"Etag": {`"` + o.crc + `"`}}}
}

func (s *Server) read(r *http.Request, key string, lies Lies) answer {
	s.mu.Lock()
	o, ok := s.objects[key]
	s.mu.Unlock()
	if !ok {
		return failure(http.StatusNotFound, "NoSuchKey")
	}
	a := answer{status: http.StatusOK, header: http.Header{"Etag": {`"` + o.crc + `"`}}, body: o.body}
	maps.Copy(a.header, o.meta)
	a.header.Del("Unlisted")
	rng, whole := r.Header.Get("Range"), r.Header.Get("Range") == "" || lies.IgnoreRanges
	if whole {
		if r.Header.Get("X-Amz-Checksum-Mode") == "ENABLED" {
			a.header.Set(crcHeader, o.crc)
		}
		return a
	}
	var from, to int
	if n, _ := fmt.Sscanf(rng, "bytes=%d-%d", &from, &to); n != 2 || from >= len(o.body) || to < from {
		return failure(http.StatusRequestedRangeNotSatisfiable, "InvalidRange")
	}
	to = min(to, len(o.body)-1)
	a.status, a.body = http.StatusPartialContent, o.body[from:to+1]
	a.header.Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, to, len(o.body)))
	return a
}

type listing struct {
	XMLName               xml.Name `xml:"ListBucketResult"`
	Name                  string
	IsTruncated           bool
	NextContinuationToken string `xml:",omitempty"`
	Contents              []listed
}

type listed struct {
	Key  string
	Size int
}

func (s *Server) list(r *http.Request, lies Lies) answer {
	q := r.URL.Query()
	after := max(q.Get("start-after"), q.Get("continuation-token"))
	limit, err := strconv.Atoi(q.Get("max-keys"))
	if err != nil {
		limit = 1000
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	out := listing{Name: Bucket}
	for _, key := range slices.Sorted(maps.Keys(s.objects)) {
		o := s.objects[key]
		if !strings.HasPrefix(key, q.Get("prefix")) || key <= after || (lies.ForgetListing && o.meta.Get("Unlisted") != "") {
			continue
		}
		// A page is cut short now and then, as S3 may.
		if len(out.Contents) == min(limit, 700) {
			out.IsTruncated, out.NextContinuationToken = true, out.Contents[len(out.Contents)-1].Key
			break
		}
		out.Contents = append(out.Contents, listed{key, len(o.body)})
	}
	return document(out)
}

type uploadStarted struct {
	XMLName  xml.Name `xml:"InitiateMultipartUploadResult"`
	UploadID string   `xml:"UploadId"`
}

func (s *Server) startUpload(r *http.Request, key string) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.nextID++
	id := fmt.Sprintf("upload-%d", s.nextID)
	s.uploads[id] = &upload{key: key, meta: metaOf(r), parts: map[string][]byte{}}
	return document(uploadStarted{UploadID: id})
}

type completion struct {
	Parts []struct {
		PartNumber string
		ETag       string
	} `xml:"Part"`
}

type completed struct {
	XMLName xml.Name `xml:"CompleteMultipartUploadResult"`
	ETag    string
}

func (s *Server) onUpload(r *http.Request, key, id string, body []byte, lies Lies) answer {
	s.mu.Lock()
	u := s.uploads[id]
	s.mu.Unlock()
	if u == nil || u.key != key {
		return failure(http.StatusNotFound, "NoSuchUpload")
	}
	switch r.Method {
	case http.MethodPut:
		s.mu.Lock()
		defer s.mu.Unlock()
		u.parts[r.URL.Query().Get("partNumber")] = body
		return answer{status: http.StatusOK, header: http.Header{"Etag": {`"` + crcOf(body) + `"`}, crcHeader: {crcOf(body)}}}
	case http.MethodDelete:
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.uploads, id)
		return answer{status: http.StatusNoContent, header: http.Header{}}
	}
	var c completion
	if err := xml.Unmarshal(body, &c); err != nil {
		return failure(http.StatusBadRequest, "MalformedXML")
	}
	var all []byte
	for _, p := range c.Parts {
		part, ok := u.parts[p.PartNumber]
		if !ok || p.ETag != `"`+crcOf(part)+`"` {
			return failure(http.StatusBadRequest, "InvalidPart")
		}
		all = append(all, part...)
	}
	if want := r.Header.Get(crcHeader); want != "" && want != crcOf(all) {
		return failure(http.StatusBadRequest, "BadDigest")
	}
	a := s.create(r, key, stored{body: all, crc: crcOf(all), meta: u.meta}, lies)
	if a.status != http.StatusOK {
		return a
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.uploads, id)
	return document(completed{ETag: crcOf(all)})
}
