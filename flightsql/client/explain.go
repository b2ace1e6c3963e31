package client

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/loamdb/loam/internal/fail"
)

// probeTime bounds how long a probe of an address takes.
const probeTime = 2 * time.Second

// Explain says more of an error that ended a call to endpoint: what else listens
// there, what is missing to log in, and what to write instead. Errors of statements
// stay as they are.
func Explain(ctx context.Context, endpoint string, err error) error {
	e := fail.As(err)
	switch e.Code {
	case fail.Unauthenticated:
		if e.Hint == "" {
			out := *e
			return out.WithHint("Log in with --user and LOAM_PASSWORD, or with LOAM_TOKEN.")
		}
	case fail.Unavailable:
		if strings.HasPrefix(e.Message, noAnswer) {
			return unreachable(ctx, endpoint, e)
		}
	}
	return err
}

func unreachable(ctx context.Context, endpoint string, e *fail.Error) error {
	addr, secure, err := address(endpoint)
	if err != nil {
		return err
	}
	out := *e
	host, _, _ := net.SplitHostPort(addr)
	switch seen := probe(ctx, addr); {
	case seen == speaksNothing:
		out.Message = "no server answers at " + addr
		return out.WithHint("Start one with loam serve, or name another address with --endpoint.")
	case secure && strings.Contains(e.Message, "x509:"):
		out.Message = fmt.Sprintf("the certificate of %s is not trusted: %s", addr, e.Message[strings.Index(e.Message, "x509:"):])
		return out.WithHint("--tls-ca FILE trusts the authority that signed it.")
	case secure && seen != speaksTLS:
		out.Message = addr + " speaks no TLS"
		return out.WithHint("Write grpc://%s.", addr)
	case !secure && seen == speaksTLS:
		out.Message = addr + " speaks TLS, and this connection does not"
		return out.WithHint("Write grpc+tls://%s.", addr)
	case seen == speaksLoamHTTP:
		out.Message = addr + " is the HTTP port of a Loam server"
		return out.WithHint("SQL goes to its Flight SQL port, usually grpc://%s.", net.JoinHostPort(host, DefaultPort))
	case seen == speaksHTTP, secure && strings.Contains(e.Message, "no application protocol"):
		out.Message = addr + " is a web server, and no Flight SQL server"
		return out.WithHint("loam serve prints the address of its Flight SQL port, usually grpc://%s.", net.JoinHostPort(host, DefaultPort))
	}
	out.Message = addr + " ended the connection: " + strings.TrimPrefix(e.Message, noAnswer+": ")
	return out.WithHint("The next statement connects again.")
}

// speaks is what an address answers to a plain request.
type speaks uint8

const (
	speaksNothing speaks = iota // nothing listens
	speaksOther
	speaksTLS
	speaksHTTP
	speaksLoamHTTP
)

// probe asks an address with one HTTP request who it is.
func probe(ctx context.Context, addr string) speaks {
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
	if err != nil {
		return speaksNothing
	}
	defer func() { _ = conn.Close() }()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	if _, err := fmt.Fprintf(conn, "GET /v1 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"); err != nil {
		return speaksOther
	}
	var answer []byte
	buf := make([]byte, 4096)
	for len(answer) < 1<<16 {
		n, err := conn.Read(buf)
		answer = append(answer, buf[:n]...)
		if err != nil {
			break
		}
	}
	text := strings.ToLower(string(answer))
	switch {
	case len(answer) > 1 && answer[0] == 0x15 && answer[1] == 3, strings.Contains(text, "http request to an https server"):
		return speaksTLS
	case len(answer) == 0 && saysHello(ctx, addr):
		return speaksTLS
	case !strings.HasPrefix(text, "http/"):
		return speaksOther
	case strings.Contains(text, "sqlstate"):
		return speaksLoamHTTP
	}
	return speaksHTTP
}

// saysHello reports whether an address that answered nothing to a plain request
// makes a TLS connection. Whose certificate it has does not matter here.
func saysHello(ctx context.Context, addr string) bool {
	dialer := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}}}
	conn, err := dialer.DialContext(ctx, "tcp", addr)
	if err != nil {
		return false
	}
	_ = conn.Close()
	return true
}
