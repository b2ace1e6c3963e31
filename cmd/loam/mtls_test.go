package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/loamdb/loam/flightsql/client"
	"github.com/loamdb/loam/internal/fail"
)

// TestClientCertificatesNameUsers: with --tls-client-ca a connection belongs to the
// name in its certificate, over Flight SQL and HTTP, and nobody else connects.
func TestClientCertificatesNameUsers(t *testing.T) {
	dir := t.TempDir()
	cert, key := selfSigned(t, dir, "server")
	own, ownKey := selfSigned(t, dir, "ann") // its own authority
	foreign, foreignKey := selfSigned(t, dir, "eve")
	s, err := startServer(context.Background(), serveConfig{
		data: t.TempDir(), flight: "127.0.0.1:0", http: "127.0.0.1:0", access: accessConfig{cert: cert, key: key, clientCA: own},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer s.stop()
	text, err := os.ReadFile(cert)
	if err != nil {
		t.Fatal(err)
	}
	with := func(cert, key string) *tls.Config {
		cfg := &tls.Config{RootCAs: x509.NewCertPool()}
		cfg.RootCAs.AppendCertsFromPEM(text)
		if cert != "" {
			pair, err := tls.LoadX509KeyPair(cert, key)
			if err != nil {
				t.Fatal(err)
			}
			cfg.Certificates = []tls.Certificate{pair}
		}
		return cfg
	}
	ask := func(cfg *tls.Config, o client.Options) (string, error) {
		o.TLS = cfg
		c, err := client.Dial("grpc+tls://"+s.flightAddr, o)
		if err != nil {
			return "", err
		}
		defer func() { _ = c.Close() }()
		rows, err := c.Query(t.Context(), "SELECT current_user")
		if err != nil {
			return "", err
		}
		defer func() { _ = rows.Close() }()
		chunk, err := rows.Next(t.Context())
		if err != nil {
			return "", err
		}
		return chunk.Cols[0].Value(0).String(), nil
	}
	if who, err := ask(with(own, ownKey), client.Options{}); err != nil || !strings.Contains(who, "ann") {
		t.Errorf("%q, %v", who, err)
	}
	if who, err := ask(with(own, ownKey), client.Options{User: "bob", Password: "x"}); !fail.Is(err, fail.Unauthenticated) {
		t.Errorf("a password where there are no users: %q, %v", who, err)
	}
	for what, cfg := range map[string]*tls.Config{"no certificate": with("", ""), "a foreign one": with(foreign, foreignKey)} {
		if who, err := ask(cfg, client.Options{}); err == nil {
			t.Errorf("%s: %q", what, who)
		}
		transport := &http.Transport{TLSClientConfig: cfg}
		if res, err := (&http.Client{Transport: transport}).Get("https://" + s.httpAddr + "/healthz"); err == nil {
			_ = res.Body.Close()
			t.Errorf("%s over HTTP: %d", what, res.StatusCode)
		}
	}
}
