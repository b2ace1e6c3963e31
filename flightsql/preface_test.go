package flightsql

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
)

func TestHTTPOnTheFlightPortIsTold(t *testing.T) {
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = lis.Close() }()
	go func() {
		for {
			c, err := answering{lis}.Accept()
			if err != nil {
				return
			}
			// What gRPC does: it speaks, then reads the client's preface.
			_, _ = c.Write([]byte("settings"))
			_, _ = io.ReadFull(c, make([]byte, 24))
			_ = c.Close()
		}
	}()
	for _, method := range []string{"GET", "POST", "DELETE"} {
		req, err := http.NewRequest(method, "http://"+lis.Addr().String()+"/v1/sql", strings.NewReader(""))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatalf("%s: %v", method, err)
		}
		body, _ := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if resp.StatusCode != 400 || !strings.Contains(string(body), "usually 8816") {
			t.Errorf("%s: %s %s", method, resp.Status, body)
		}
	}
}

// TestFirstWordsKeepTheirOrder: a client of HTTP/2 gets every byte, in order.
func TestFirstWordsKeepTheirOrder(t *testing.T) {
	client, server := net.Pipe()
	c := &firstWords{Conn: server}
	const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
	done := make(chan error, 1)
	go func() {
		_, err1 := c.Write([]byte("a"))
		_, err2 := c.Write([]byte("b"))
		got := make([]byte, len(preface))
		_, err3 := io.ReadFull(c, got)
		_, err4 := c.Write([]byte("c"))
		if string(got) != preface {
			t.Errorf("read %q", got)
		}
		for _, err := range []error{err1, err2, err3, err4} {
			if err != nil {
				t.Error(err)
			}
		}
		done <- c.Close()
	}()
	go func() { _, _ = client.Write([]byte(preface)) }()
	var got bytes.Buffer
	_, _ = io.Copy(&got, client)
	if err := <-done; err != nil || got.String() != "abc" {
		t.Errorf("got %q, error %v", got.String(), err)
	}
}
