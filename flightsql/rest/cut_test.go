package rest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/ipc"

	"github.com/loamdb/loam"
	"github.com/loamdb/loam/flightsql/internal/engine"
	"github.com/loamdb/loam/flightsql/internal/enginetest"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/vec"
)

// TestACutAnswerIsNeverAShortOne: whatever the form, an error in the middle ends
// the body without its end, so that the client's own reading fails. The reader
// that looks at what came sees why.
func TestACutAnswerIsNeverAShortOne(t *testing.T) {
	broken := fail.New(fail.DivisionByZero, "division by zero — früh")
	s := serve(t, scripted(3, broken), Options{})
	for _, accept := range tables {
		r := s.sql(`{"sql":"q"}`, "Accept", accept)
		if r.StatusCode != 200 || !errors.Is(r.readErr, io.ErrUnexpectedEOF) {
			t.Errorf("%s: %d, the client's read ends with %v", accept, r.StatusCode, r.readErr)
		}
		if accept == mediaArrow {
			reader, err := ipc.NewReader(bytes.NewReader([]byte(r.body)))
			if err != nil {
				t.Fatal(err)
			}
			for reader.Next() {
				reader.RecordBatch()
			}
			if strings.HasSuffix(r.body, "\xff\xff\xff\xff\x00\x00\x00\x00") || r.Trailer.Get(headerStatus) != "" {
				t.Errorf("the stream that failed has an end, or the trailer %v", r.Trailer)
			}
			reader.Release()
			continue
		}
		if !strings.Contains(r.body[max(0, len(r.body)-400):], "division by zero — früh") {
			t.Errorf("%s: the cause is not shown: %q", accept, r.body[max(0, len(r.body)-100):])
		}
		if accept == mediaJSON && json.Valid([]byte(r.body)) {
			t.Error("a part of the answer is JSON of its own")
		}
	}
	s = serve(t, scripted(0, broken), Options{})
	for _, accept := range tables {
		if r := s.sql(`{"sql":"q"}`, "Accept", accept); r.StatusCode != 400 || r.Header.Get("Content-Type") != mediaProblem {
			t.Errorf("before the first row: %d %s", r.StatusCode, r.body)
		}
	}
}

// TestGoReadersSeeTheCut: Arrow's reader over the body itself does not take the
// part for the whole.
func TestGoReadersSeeTheCut(t *testing.T) {
	for _, broken := range []error{nil, fail.New(fail.DivisionByZero, "x")} {
		s := serve(t, scripted(3, broken), Options{})
		resp, err := s.srv.Client().Do(s.request("POST", "/v1/sql", `{"sql":"q"}`, "Accept", mediaArrow))
		if err != nil {
			t.Fatal(err)
		}
		reader, err := ipc.NewReader(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		rows := int64(0)
		for reader.Next() {
			rows += reader.RecordBatch().NumRows()
		}
		if (reader.Err() == nil) != (broken == nil) || broken == nil && rows != 300 {
			t.Errorf("broken by %v: %d rows, then %v", broken, rows, reader.Err())
		}
		reader.Release()
		resp.Body.Close()
	}
}

// TestAWholeAnswerEnds is the control of the test above.
func TestAWholeAnswerEnds(t *testing.T) {
	s := serve(t, scripted(3, nil), Options{})
	for _, accept := range tables {
		r := s.sql(`{"sql":"q"}`, "Accept", accept)
		if r.StatusCode != 200 || r.readErr != nil || len(r.body) < 6_000_000 {
			t.Errorf("%s: %d, %d bytes, %v", accept, r.StatusCode, len(r.body), r.readErr)
		}
		if accept == mediaArrow && !strings.HasSuffix(r.body, "\xff\xff\xff\xff\x00\x00\x00\x00") {
			t.Error("no end of stream")
		}
	}
}

// TestHTTP10IsReset: without chunks a body ends when the connection does; a cut
// one is reset instead.
func TestHTTP10IsReset(t *testing.T) {
	s := serve(t, scripted(3, fail.New(fail.DivisionByZero, "x")), Options{})
	conn, err := net.Dial("tcp", s.srv.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "POST /v1/sql HTTP/1.0\r\nHost: localhost\r\nAccept: %s\r\nContent-Type: %s\r\nContent-Length: 11\r\n\r\n{\"sql\":\"q\"}", mediaNDJSON, mediaJSON)
	if _, err := io.Copy(io.Discard, bufio.NewReader(conn)); err == nil {
		t.Error("the cut body reads as a whole one")
	}
}

// TestAnEndlessAnswerStreams: its first bytes arrive though it never ends.
func TestAnEndlessAnswerStreams(t *testing.T) {
	fake, _ := endless(t)
	s := serve(t, fake, Options{})
	for _, accept := range tables {
		r, err := s.srv.Client().Do(s.request("POST", "/v1/sql", `{"sql":"q"}`, "Accept", accept))
		if err != nil {
			t.Fatal(err)
		}
		if n, err := io.CopyN(io.Discard, r.Body, 64<<20); err != nil {
			t.Errorf("%s: %d bytes, %v", accept, n, err)
		}
		r.Body.Close()
	}
}

// TestBulkStops: a write that cannot go on tells what is written, and where to
// go on.
func TestBulkStops(t *testing.T) {
	full := fail.New(fail.BacklogFull, "the backlog is full")
	full.RetryAfter = 1200e6
	taken := int64(0)
	s := serve(t, &enginetest.Engine{Append: func(rows int64) (loam.Ack, error) {
		if taken+rows > 7000 {
			return loam.Ack{}, full
		}
		taken += rows
		return loam.Ack{Rows: rows, UnappliedRecords: taken}, nil
	}}, Options{})
	r := s.do("POST", "/v1/namespaces/public/collections/docs/documents:bulk", strings.Repeat("{}\n\n", 10_000), "Content-Type", mediaNDJSON)
	if r.StatusCode != 429 || r.Header.Get("Retry-After") != "2" || !strings.Contains(r.body, `"bulk":{"rows":5000,"failed":0,"errors":[],"next_line":10000}`) {
		t.Errorf("%d %v %s", r.StatusCode, r.Header, r.body)
	}
	s = serve(t, &enginetest.Engine{Append: func(rows int64) (loam.Ack, error) { return loam.Ack{Rows: rows}, nil }}, Options{MaxBulkBytes: 1 << 20})
	r = s.do("POST", "/v1/namespaces/public/collections/docs/documents:bulk", strings.Repeat("{}\n", 1<<19), "Content-Type", mediaNDJSON)
	if r.StatusCode != 413 || !strings.Contains(r.body, "1048576 bytes") || !strings.Contains(r.body, `"next_line":345001`) {
		t.Errorf("%d %s", r.StatusCode, r.body)
	}
}

// TestBulkKeepsTheOrder: of two documents with one key the later wins, also
// around lines that are left out.
func TestBulkKeepsTheOrder(t *testing.T) {
	s := real(t, Options{})
	s.run("CREATE COLLECTION docs (id INT PRIMARY KEY, v INT)")
	var text strings.Builder
	for i := range 12_000 {
		if i%1000 == 7 {
			text.WriteString("{\"id\": \"bad\"}\n")
		}
		fmt.Fprintf(&text, "{\"id\": %d, \"v\": %d}\n", i%10, i)
	}
	r := s.do("POST", "/v1/namespaces/public/collections/docs/documents:bulk", text.String(), "Content-Type", mediaNDJSON)
	if r.StatusCode != 200 || !strings.Contains(r.body, `"rows":12000,"failed":12`) {
		t.Fatalf("%d %s", r.StatusCode, r.body)
	}
	r = s.sql(`{"sql":"SELECT count(*), min(v), max(v) FROM docs"}`)
	if !strings.Contains(r.body, "[[10,11990,11999]]") {
		t.Error(r.body)
	}
}

// TestPins: a query at the pin of a scan plan does not see later writes.
func TestPins(t *testing.T) {
	s := real(t, Options{})
	s.run("CREATE COLLECTION docs (id INT PRIMARY KEY)", "CREATE COLLECTION other (id INT PRIMARY KEY)", "INSERT INTO docs VALUES (1), (2)")
	var plan struct {
		Pin struct {
			ManifestVersion int64 `json:"manifest_version"`
			Token           string
		}
	}
	r := s.do("POST", "/v1/namespaces/public/collections/docs/scan-plans", `{"tail":"wait"}`)
	if err := json.Unmarshal([]byte(r.body), &plan); err != nil || r.StatusCode != 200 {
		t.Fatal(err, r.body)
	}
	s.run("INSERT INTO docs VALUES (3)", "DELETE FROM docs WHERE id = 1")
	pin := []string{headerConsistency, "pinned", headerPinManifest, fmt.Sprint(plan.Pin.ManifestVersion), headerToken, plan.Pin.Token}
	for sql, want := range map[string]string{
		"SELECT id FROM docs ORDER BY id":        "[[1],\n[2]]",
		"SELECT id FROM other":                   "the pin is of another object",
		"SELECT 1":                               "the pin is of another object",
		"SELECT d.id FROM docs AS d, other AS o": "reads several",
		"INSERT INTO docs VALUES (4)":            "another object",
		"SELECT a.id FROM docs AS a JOIN docs AS b USING (id) ORDER BY 1": "[[1],\n[2]]",
	} {
		if r := s.sql(`{"sql":"`+sql+`"}`, pin...); !strings.Contains(r.body, want) {
			t.Errorf("%s: %d %s", sql, r.StatusCode, r.body)
		}
	}
	if r := s.sql(`{"sql":"SELECT id FROM docs ORDER BY id"}`, headerConsistency, "token", headerToken, plan.Pin.Token); !strings.Contains(r.body, "[[2],\n[3]]") {
		t.Error(r.body)
	}
}

// TestACutAnswerOverHTTP2: the stream is reset.
func TestACutAnswerOverHTTP2(t *testing.T) {
	for _, broken := range []error{nil, fail.New(fail.DivisionByZero, "x")} {
		srv := httptest.NewUnstartedServer(newAPI(scripted(3, broken), Options{}).handler())
		srv.EnableHTTP2 = true
		srv.StartTLS()
		for _, accept := range tables {
			r, err := http.NewRequest("POST", srv.URL+"/v1/sql", strings.NewReader(`{"sql":"q"}`))
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Content-Type", mediaJSON)
			r.Header.Set("Accept", accept)
			resp, err := srv.Client().Do(r)
			if err != nil {
				t.Fatal(err)
			}
			_, err = io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
			if resp.ProtoMajor != 2 || (err == nil) != (broken == nil) {
				t.Errorf("%s over %s, broken by %v: the client reads %v", accept, resp.Proto, broken, err)
			}
		}
		srv.Client().CloseIdleConnections()
		srv.Close()
	}
}

// endless answers q with chunks that never end; closed tells that the result was.
func endless(t *testing.T) (*enginetest.Engine, *enginetest.Chunks) {
	t.Helper()
	fake := scripted(1, nil)
	q := fake.Answers["q"]
	first, err := q.Run(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	chunk, err := first.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	chunks := &enginetest.Chunks{Forever: true, List: []*vec.Chunk{chunk}}
	q.Run = func(context.Context, []vec.Value) (*engine.Result, error) { return chunks.Rows(q.Columns), nil }
	fake.Answers["q"] = q
	return fake, chunks
}

// TestReadersThatStop: one that leaves and one that takes nothing any more both
// end their statement.
func TestReadersThatStop(t *testing.T) {
	for _, leave := range []bool{true, false} {
		fake, chunks := endless(t)
		s := serve(t, fake, Options{StallTimeout: 100 * time.Millisecond})
		resp, err := s.srv.Client().Do(s.request("POST", "/v1/sql", `{"sql":"q"}`, "Accept", mediaNDJSON))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.CopyN(io.Discard, resp.Body, 1<<20); err != nil {
			t.Error(err)
		}
		if leave {
			resp.Body.Close()
		}
		for range 500 {
			if chunks.Closed() > 0 {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		if chunks.Closed() == 0 {
			t.Errorf("leave %t: the statement runs on", leave)
		}
		resp.Body.Close()
	}
}

// TestHeadReadsNoRows: it answers with the headers of GET.
func TestHeadReadsNoRows(t *testing.T) {
	s := real(t, Options{})
	s.run("CREATE TABLE t (a INT)", "INSERT INTO t VALUES (0)")
	path := "/v1/namespaces/public/tables/t/rows?filter=1/a%20=%201"
	if r := s.do("GET", path, ""); r.StatusCode != 400 {
		t.Fatalf("the rows can be read: %d %s", r.StatusCode, r.body)
	}
	for _, accept := range tables {
		r := s.do("HEAD", path, "", "Accept", accept)
		if r.StatusCode != 200 || r.body != "" || r.Header.Get(headerQueryID) == "" || !strings.HasPrefix(r.Header.Get("Content-Type"), accept) {
			t.Errorf("%s: %d %v %q", accept, r.StatusCode, r.Header, r.body)
		}
	}
}

// TestACutBodyIsTheClientsFault, and none of its lines after the cut is written.
func TestACutBodyIsTheClientsFault(t *testing.T) {
	s := serve(t, &enginetest.Engine{Append: func(rows int64) (loam.Ack, error) { return loam.Ack{Rows: rows}, nil }}, Options{})
	for path, media := range map[string]string{"/v1/sql": mediaJSON, "/v1/namespaces/public/collections/docs/documents:bulk": mediaNDJSON} {
		conn, err := net.Dial("tcp", s.srv.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: %s\r\nContent-Length: 100\r\n\r\n{}\n{}", path, media)
		if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
			t.Fatal(err)
		}
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode != 400 || !strings.Contains(string(text), "ends before its length") {
			t.Errorf("%s: %d %s %v", path, resp.StatusCode, text, err)
		}
		resp.Body.Close()
		conn.Close()
	}
}
