package rest

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/loamdb/loam/flightsql/internal/enginetest"
)

// TestARefusedBodyIsTakenIn: a client that reads only when it has sent all gets the
// answer, not a reset, and may go on with the same connection.
func TestARefusedBodyIsTakenIn(t *testing.T) {
	srv := httptest.NewServer(newAPI(&enginetest.Engine{}, Options{}).handler())
	defer srv.Close()
	conn, err := net.Dial("tcp", srv.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	in := bufio.NewReader(conn)
	body := strings.Repeat("x", 8<<20)
	for _, path := range []string{"/v1/sql", "/v1/nowhere"} {
		if _, err := fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n%s", path, len(body), body); err != nil {
			t.Fatalf("%s: the body was not taken in: %v", path, err)
		}
		r, err := http.ReadResponse(in, nil)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if r.StatusCode != http.StatusUnsupportedMediaType && r.StatusCode != http.StatusNotFound {
			t.Errorf("%s: %d", path, r.StatusCode)
		}
		if _, err := in.Discard(int(r.ContentLength)); err != nil {
			t.Fatal(err)
		}
	}
}
