package flightsql

import (
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
)

// answering wraps a listener so that a client which speaks HTTP/1 to the Flight SQL
// port reads what is wrong, in place of bytes that it does not understand.
type answering struct{ net.Listener }

// Accept implements net.Listener.
func (l answering) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &firstWords{Conn: c}, nil
}

// firstWords holds back what the server says first until the client has spoken: both
// sides of HTTP/2 begin without waiting, and HTTP/1 does not expect it.
type firstWords struct {
	net.Conn

	heard atomic.Bool // the client has spoken, and held is written

	mu   sync.Mutex // guards held
	held []byte     // written before the client spoke
}

// Write implements net.Conn.
func (c *firstWords) Write(p []byte) (int, error) {
	if c.heard.Load() {
		return c.Conn.Write(p)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.heard.Load() {
		return c.Conn.Write(p)
	}
	c.held = append(c.held, p...)
	return len(p), nil
}

// Read implements net.Conn.
func (c *firstWords) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if c.heard.Load() || n == 0 {
		return n, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	defer c.heard.Store(true)
	if isHTTP1(string(p[:n])) {
		_, _ = fmt.Fprintf(c.Conn, "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\n"+
			"Content-Length: %d\r\nConnection: close\r\n\r\n%s", len(wrongPort), wrongPort)
		return 0, io.EOF
	}
	if len(c.held) > 0 {
		if _, werr := c.Conn.Write(c.held); werr != nil {
			return 0, werr
		}
		c.held = nil
	}
	return n, err
}

// wrongPort is what a client of HTTP reads on the Flight SQL port.
const wrongPort = "This is the Flight SQL port of a Loam server: it speaks gRPC. HTTP has a port of its own, usually 8816.\n"

// isHTTP1 knows the first bytes of an HTTP/1 request; HTTP/2 begins with PRI.
func isHTTP1(start string) bool {
	for _, method := range []string{"GET ", "POST ", "PUT ", "HEAD ", "DELETE ", "PATCH ", "OPTIONS ", "TRACE ", "CONNECT "} {
		if strings.HasPrefix(start, method) {
			return true
		}
	}
	return false
}
