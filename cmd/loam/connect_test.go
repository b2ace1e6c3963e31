package main

import (
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loamdb/loam"
	"github.com/loamdb/loam/cmd/loam/internal/shell"
	"github.com/loamdb/loam/flightsql"
	"github.com/loamdb/loam/flightsql/access"
	"github.com/loamdb/loam/internal/clock"
)

// silent is a listener that accepts and says nothing.
func silent(t *testing.T) string {
	t.Helper()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = lis.Close() })
	go func() {
		for {
			c, err := lis.Accept()
			if err != nil {
				return
			}
			_ = c.Close()
		}
	}()
	return lis.Addr().String()
}

// TestWrongAddresses: what listens there is named, with what to write instead.
func TestWrongAddresses(t *testing.T) {
	s := startTest(t)
	web := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(web.Close)
	secure := func(h2 bool) string {
		s := httptest.NewUnstartedServer(http.NotFoundHandler())
		s.EnableHTTP2 = h2
		s.Config.ErrorLog = log.New(io.Discard, "", 0)
		s.StartTLS()
		t.Cleanup(s.Close)
		return s.Listener.Addr().String()
	}
	for _, c := range []struct{ name, endpoint, message, cure string }{
		{"nothing", "grpc://127.0.0.1:1", "no server answers at 127.0.0.1:1", "loam serve"},
		{"Loam's HTTP", "grpc://" + s.httpAddr, "is the HTTP port of a Loam server", "grpc://127.0.0.1:8815"},
		{"a web server", "grpc://" + web.Listener.Addr().String(), "is a web server", "8815"},
		{"TLS", "grpc://" + secure(true), "speaks TLS", "grpc+tls://"},
		{"no TLS", "grpc+tls://" + s.flightAddr, "speaks no TLS", "grpc://" + s.flightAddr},
		{"a certificate of nobody", "grpc+tls://" + secure(true), "is not trusted: x509:", "--tls-ca"},
		{"a web server with TLS", "grpc+tls://" + secure(false), "is a web server", "8815"},
		{"silence", "grpc://" + silent(t), "ended the connection", "connects again"},
	} {
		code, _, errs := captured(t, func() int { return sql(t.Context(), []string{"--endpoint", c.endpoint, "-c", "SELECT 1"}) })
		if code != shell.ExitConnection || !strings.Contains(errs, c.message) || !strings.Contains(errs, c.cure) {
			t.Errorf("%s: exit %d\n%s", c.name, code, errs)
		}
	}
}

// TestLogin: without credentials the error says how to give them.
func TestLogin(t *testing.T) {
	e, err := loam.Open(t.Context(), loam.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	users := access.Plain(map[string]string{"ann": "secret"}, map[string]string{"tok": "bot"}, clock.Real(), clock.RandomIDs(clock.Real()))
	srv, err := flightsql.NewServer(e, flightsql.Options{Users: users})
	if err != nil {
		t.Fatal(err)
	}
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = srv.Serve(lis) }()
	t.Cleanup(func() { _ = srv.Shutdown(context.Background()) })
	run := func(args ...string) (int, string, string) {
		return captured(t, func() int {
			return sql(t.Context(), append(args, "--endpoint", "grpc://"+lis.Addr().String(), "-c", "SELECT 1 AS a", "--format", "csv"))
		})
	}
	for _, args := range [][]string{nil, {"--user", "ann", "--password", "wrong"}, {"--token", "wrong"}} {
		if code, _, errs := run(args...); code != shell.ExitConnection || !strings.Contains(errs, "ERROR 28000") || !strings.Contains(errs, "LOAM_TOKEN") {
			t.Errorf("%q: exit %d\n%s", args, code, errs)
		}
	}
	for _, args := range [][]string{{"--user", "ann", "--password", "secret"}, {"--token", "tok"}} {
		if code, out, errs := run(args...); code != 0 || out != "a\n1\n" {
			t.Errorf("%q: exit %d\n%s%s", args, code, out, errs)
		}
	}
	t.Setenv("LOAM_TOKEN", "tok")
	if code, out, errs := run(); code != 0 || out != "a\n1\n" {
		t.Errorf("LOAM_TOKEN: exit %d\n%s%s", code, out, errs)
	}
}

// TestSessionOverFlight: what SET sets, later statements of the script see.
func TestSessionOverFlight(t *testing.T) {
	s := startTest(t)
	t.Setenv("LOAM_ENDPOINT", "grpc://"+s.flightAddr)
	script := "CREATE NAMESPACE papers; USE papers; CREATE TABLE t (a INT); SELECT namespace, name FROM system.tables WHERE name = 't'"
	code, out, errs := captured(t, func() int { return sql(t.Context(), []string{"-c", script, "--format", "csv"}) })
	if code != 0 || out != "namespace,name\npapers,t\n" {
		t.Errorf("exit %d\n%s%s", code, out, errs)
	}
	t.Setenv("LOAM_NAMESPACE", "papers")
	code, out, errs = captured(t, func() int { return sql(t.Context(), []string{"-c", "SELECT count(*) AS n FROM t", "--format", "csv"}) })
	if code != 0 || out != "n\n0\n" {
		t.Errorf("exit %d\n%s%s", code, out, errs)
	}
}

// TestServerComesBack: after a restart at the same address the session goes on.
func TestServerComesBack(t *testing.T) {
	s := startTest(t)
	addr := s.flightAddr
	r, err := (&connFlags{endpoint: "grpc://" + addr}).open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer r.close()
	ask := func() error {
		a, err := r.Query(t.Context(), "SELECT 1")
		if err == nil {
			err = a.Rows.Close()
		}
		return err
	}
	if r.Fresh() {
		t.Error("the first connection is no new one")
	}
	if err := ask(); err != nil || r.Fresh() {
		t.Fatal(err)
	}
	s.stop()
	r.Fresh()
	if err := ask(); err == nil || !strings.Contains(err.Error(), "no server answers at "+addr) {
		t.Errorf("without a server: %v", err)
	}
	again, err := startServer(t.Context(), serveConfig{data: filepath.Join(t.TempDir(), "d"), flight: addr, http: ""})
	if err != nil {
		t.Skip("the address was taken: ", err)
	}
	defer again.stop()
	if !r.Fresh() {
		t.Error("the new connection is not told of")
	}
	if err := ask(); err != nil || r.Fresh() {
		t.Errorf("after the restart: %v", err)
	}
}

// TestFormatsToAFile: an Arrow stream and rows, whole, where there is no terminal.
func TestFormatsToAFile(t *testing.T) {
	code, out, _ := captured(t, func() int { return sql(t.Context(), []string{"--memory", "-c", "SELECT 1 AS a", "--format", "arrow"}) })
	if code != 0 || !strings.HasPrefix(out, "\xff\xff\xff\xff") {
		t.Errorf("exit %d, %q", code, out)
	}
	file := filepath.Join(t.TempDir(), "script.sql")
	if err := os.WriteFile(file, []byte("\\format jsonl\nSELECT 1 AS a;\n\\x\nSELECT 'no such file' AS b"), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, errs := captured(t, func() int { return sql(t.Context(), []string{"--memory", "-f", file}) })
	if code != 0 || out != "{\"a\":1}\n{\"b\":\"no such file\"}\n" {
		t.Errorf("exit %d\n%s%s", code, out, errs)
	}
	code, _, errs = captured(t, func() int { return sql(t.Context(), []string{"--memory", "-f", file + ".none"}) })
	if code != shell.ExitUsage || !strings.Contains(errs, "no such file") {
		t.Errorf("exit %d\n%s", code, errs)
	}
}
