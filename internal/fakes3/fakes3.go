package fakes3

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/xml"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"time"
)

// Bucket is the one bucket that a server has.
const Bucket = "loam-test"

// Lies are promises of S3 that a server breaks. The zero value is an honest server.
type Lies struct {
	IgnoreConditions bool // If-None-Match is not looked at
	RacyConditions   bool // it is looked at, and the object written a moment later
	IgnoreChecksums  bool // a body that does not match its checksum is stored
	IgnoreRanges     bool // every read answers the whole object
	ForgetListing    bool // new objects are not listed
}

// Kind says what a fault does.
type Kind uint8

// What can go wrong with a request.
const (
	// Status answers with Fault.Status and the S3 code Fault.Code, and does nothing.
	Status Kind = iota
	// StatusAfter does the request, then answers with Status and Code.
	StatusAfter
	// ResetBefore closes the connection and does nothing.
	ResetBefore
	// ResetAfter does the request and closes the connection without an answer.
	ResetAfter
	// Truncate sends half of the body, then closes the connection.
	Truncate
	// Corrupt flips a bit of the body.
	Corrupt
	// Slow waits for Fault.Delay, or until the client has gone, before the request.
	Slow
	// Page answers with an HTML page, like a server that is no S3.
	Page
)

// Fault is a rule. It hits the requests of the method whose path and query
// contain Match.
type Fault struct {
	Method, Match string
	Kind          Kind
	Status        int
	Code          string
	Header        http.Header // added to the answer of Status
	Delay         time.Duration
	Skip          int // matching requests to let pass first
	N             int // requests to hit then; 0: all
}

type stored struct {
	body []byte
	crc  string
	meta http.Header
}

type upload struct {
	key   string
	meta  http.Header
	parts map[string][]byte
}

// Server is a running server.
type Server struct {
	URL  string
	http *httptest.Server

	mu       sync.Mutex // guards the fields below
	lies     Lies
	faults   []*Fault
	objects  map[string]stored
	uploads  map[string]*upload
	nextID   int
	requests []string
}

// Start starts a server with the bucket [Bucket]. The caller closes it.
func Start() *Server {
	s := &Server{objects: map[string]stored{}, uploads: map[string]*upload{}}
	s.http = httptest.NewServer(http.HandlerFunc(s.serve))
	s.URL = s.http.URL
	return s
}

// Close ends the server and its connections.
func (s *Server) Close() { s.http.CloseClientConnections(); s.http.Close() }

// Lie makes the server break promises from now on.
func (s *Server) Lie(l Lies) { s.mu.Lock(); defer s.mu.Unlock(); s.lies = l }

// Add puts a fault in force. The first that matches a request decides.
func (s *Server) Add(f Fault) {
	if f.N == 0 {
		f.N = -1
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, &f)
}

// Heal removes all faults and forgets the requests so far.
func (s *Server) Heal() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults, s.requests = nil, nil
}

// Requests are the requests so far, as "METHOD /path?query".
func (s *Server) Requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Object is what is stored under the key.
func (s *Server) Object(key string) ([]byte, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o, ok := s.objects[key]
	return o.body, ok
}

// Keys are the names of all objects, sorted.
func (s *Server) Keys() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.objects))
}

// Store puts an object there, as another client would.
func (s *Server) Store(key, body string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.objects[key] = stored{body: []byte(body), crc: crcOf([]byte(body))}
}

// Uploads is the number of multipart uploads that were neither completed nor aborted.
func (s *Server) Uploads() int { s.mu.Lock(); defer s.mu.Unlock(); return len(s.uploads) }

func (s *Server) fault(r *http.Request) (Fault, Lies, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	line := r.Method + " " + r.URL.RequestURI()
	s.requests = append(s.requests, line)
	for _, f := range s.faults {
		if f.N == 0 || (f.Method != "" && f.Method != r.Method) || !strings.Contains(line, f.Match) {
			continue
		}
		if f.Skip > 0 {
			f.Skip--
			continue
		}
		if f.N > 0 {
			f.N--
		}
		return *f, s.lies, true
	}
	return Fault{}, s.lies, false
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client has gone
	}
	f, lies, hit := s.fault(r)
	if !hit {
		s.answer(r, body, lies).send(w, r)
		return
	}
	switch f.Kind {
	case Status:
		e := failure(f.Status, f.Code)
		maps.Copy(e.header, f.Header)
		e.send(w, r)
	case StatusAfter:
		s.answer(r, body, lies)
		failure(f.Status, f.Code).send(w, r)
	case ResetBefore:
		reset(w)
	case ResetAfter:
		s.answer(r, body, lies)
		reset(w)
	case Truncate:
		a := s.answer(r, body, lies)
		a.cut = true
		a.send(w, r)
	case Corrupt:
		a := s.answer(r, body, lies)
		if a.body = slices.Clone(a.body); len(a.body) > 0 {
			a.body[len(a.body)/2] ^= 1
		}
		a.send(w, r)
	case Slow:
		select {
		case <-r.Context().Done():
		case <-time.After(f.Delay):
			s.answer(r, body, lies).send(w, r)
		}
	case Page:
		a := answer{status: http.StatusOK, header: http.Header{"Content-Type": {"text/html"}}, body: []byte("<html><body>Console</body></html>")}
		if f.Status != 0 {
			a.status = f.Status
		}
		a.send(w, r)
	}
}

func reset(w http.ResponseWriter) {
	if c, _, err := http.NewResponseController(w).Hijack(); err == nil {
		_ = c.Close()
	}
}

// answer is a reply in the making.
type answer struct {
	status int
	header http.Header
	body   []byte
	cut    bool
}

func (a answer) send(w http.ResponseWriter, r *http.Request) {
	maps.Copy(w.Header(), a.header)
	w.Header().Set("Content-Length", fmt.Sprint(len(a.body)))
	w.WriteHeader(a.status)
	if r.Method == http.MethodHead {
		return
	}
	if a.cut {
		_, _ = w.Write(a.body[:len(a.body)/2])
		_ = http.NewResponseController(w).Flush()
		reset(w)
		return
	}
	_, _ = w.Write(a.body)
}

func failure(status int, code string) answer {
	return answer{status: status, header: http.Header{"Content-Type": {"application/xml"}},
		body: fmt.Appendf(nil, "<?xml version=\"1.0\"?><Error><Code>%s</Code><Message>fake %s</Message></Error>", code, code)}
}

func document(v any) answer {
	b, err := xml.Marshal(v)
	if err != nil {
		return failure(http.StatusInternalServerError, "InternalError")
	}
	return answer{status: http.StatusOK, header: http.Header{"Content-Type": {"application/xml"}}, body: b}
}

func crcOf(b []byte) string {
	var out [4]byte
	binary.BigEndian.PutUint32(out[:], crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)))
	return base64.StdEncoding.EncodeToString(out[:])
}
