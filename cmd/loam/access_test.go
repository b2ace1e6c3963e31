package main

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// selfSigned writes a certificate for loopback, its own authority, and its key.
func selfSigned(t *testing.T, dir, name string) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name},
		DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = filepath.Join(dir, name+".crt"), filepath.Join(dir, name+".key")
	write(t, cert, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})))
	write(t, key, string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})))
	return cert, key
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// passwd runs loam passwd with a password on standard input; the result is the
// line, and what went to standard error.
func passwd(t *testing.T, password string, args ...string) (line, errs string, code int) {
	t.Helper()
	in := filepath.Join(t.TempDir(), "in")
	write(t, in, password)
	file, err := os.Open(in)
	if err != nil {
		t.Fatal(err)
	}
	old := os.Stdin
	os.Stdin = file
	defer func() { os.Stdin = old; _ = file.Close() }()
	code, line, errs = captured(t, func() int { return runPasswd(context.Background(), args) })
	return line, errs, code
}

func TestTLSAndUsers(t *testing.T) {
	dir := t.TempDir()
	cert, key := selfSigned(t, dir, "server")
	wrong, _ := selfSigned(t, dir, "wrong")
	ann, _, _ := passwd(t, "s:3\n", "ann")
	bot, token, _ := passwd(t, "", "--token", "ml/bot")
	users := filepath.Join(dir, "users")
	write(t, users, "# two\n"+ann+bot)
	s, err := startServer(context.Background(), serveConfig{
		data: filepath.Join(dir, "data"), flight: "127.0.0.1:0", http: "127.0.0.1:0", access: accessConfig{cert: cert, key: key, users: users},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer s.stop()
	endpoint := "grpc+tls://" + s.flightAddr
	ask := func(password string, args ...string) (int, string, string) {
		t.Setenv("LOAM_PASSWORD", password)
		args = append(args, "--format", "csv", "-c", "SELECT current_user")
		return captured(t, func() int { return sql(context.Background(), args) })
	}
	for _, c := range []struct {
		password string
		args     []string
		want     string // of output or of errors
	}{
		{"s:3", []string{"--endpoint", endpoint, "--tls-ca", cert, "--user", "ann"}, "\nann\n"},
		{"", []string{"--endpoint", endpoint, "--tls-ca", cert, "--token", strings.TrimSpace(token)}, "\nbot\n"},
		{"wrong", []string{"--endpoint", endpoint, "--tls-ca", cert, "--user", "ann"}, "wrong user or password"},
		{"", []string{"--endpoint", endpoint, "--tls-ca", cert}, "needs a user and a password, or a token"},
		{"s:3", []string{"--endpoint", endpoint, "--tls-ca", wrong, "--user", "ann"}, "certificate"},
		{"s:3", []string{"--endpoint", endpoint, "--user", "ann"}, "certificate"},
		{"s:3", []string{"--endpoint", "grpc://" + s.flightAddr, "--user", "ann"}, "speaks TLS"},
		{"s:3", []string{"--endpoint", "ftp://" + s.flightAddr}, "has the scheme ftp"},
		{"s:3", []string{"--endpoint", endpoint, "--tls-ca", key}, "holds no certificate"},
		{"s:3", []string{"--endpoint", endpoint, "--tls-ca", filepath.Join(dir, "none")}, "--tls-ca"},
	} {
		_, out, errs := ask(c.password, c.args...)
		if !strings.Contains("\n"+strings.TrimPrefix(out, "current_user")+errs, c.want) {
			t.Errorf("%v: out %q, err %q, want %q", c.args, out, errs, c.want)
		}
	}
	t.Run("HTTP", func(t *testing.T) { overHTTPS(t, s, cert) })
	t.Run("hang-up", func(t *testing.T) {
		fresh, _, _ := passwd(t, "new\n", "ann")
		write(t, users, fresh)
		s.gate.reload()
		if _, out, errs := ask("new", "--endpoint", endpoint, "--tls-ca", cert, "--user", "ann"); !strings.Contains(out, "ann") {
			t.Errorf("the new password: %s%s", out, errs)
		}
		if _, _, errs := ask("s:3", "--endpoint", endpoint, "--tls-ca", cert, "--user", "ann"); !strings.Contains(errs, "wrong user") {
			t.Errorf("the old password: %s", errs)
		}
		write(t, users, "ann:plain\n")
		s.gate.reload()
		if _, out, errs := ask("new", "--endpoint", endpoint, "--tls-ca", cert, "--user", "ann"); !strings.Contains(out, "ann") {
			t.Errorf("after a bad file: %s%s", out, errs)
		}
	})
}

// overHTTPS asks the HTTP side of a server with users.
func overHTTPS(t *testing.T, s *server, cert string) {
	roots := x509.NewCertPool()
	text, err := os.ReadFile(cert)
	if err != nil || !roots.AppendCertsFromPEM(text) {
		t.Fatal(err)
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}
	for _, c := range []struct {
		user, password, host string
		status               int
	}{{"ann", "s:3", "", 200}, {"ann", "s:3", "db.example.com", 200}, {"ann", "no", "", 401}, {"", "", "", 401}} {
		req, err := http.NewRequest("POST", "https://"+s.httpAddr+"/v1/sql", strings.NewReader(`{"sql": "SELECT current_user"}`))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		if c.user != "" {
			req.SetBasicAuth(c.user, c.password)
		}
		if c.host != "" {
			req.Host = c.host
		}
		res, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if res.StatusCode != c.status || c.status == 200 && !bytes.Contains(body, []byte(`"ann"`)) {
			t.Errorf("%+v: %d %s", c, res.StatusCode, body)
		}
	}
	code, out, errs := captured(t, func() int { return runHealth(context.Background(), []string{"--http", s.httpAddr, "--tls-cert", cert}) })
	if code != 0 {
		t.Errorf("loam health: %d %s%s", code, out, errs)
	}
}

func TestAccessRules(t *testing.T) {
	dir := t.TempDir()
	cert, key := selfSigned(t, dir, "server")
	secret := filepath.Join(dir, "secret")
	write(t, secret, "pässwort\n")
	users := filepath.Join(dir, "users")
	write(t, users, "ann:plain\n")
	withTLS := accessConfig{cert: cert, key: key}
	for _, c := range []struct {
		name, address string
		access        accessConfig
		want          string
	}{
		{"loopback, nothing", "127.0.0.1:0", accessConfig{}, ""},
		{"everywhere, nothing", "0.0.0.0:0", accessConfig{}, "--tls-cert"},
		{"everywhere, TLS", "0.0.0.0:0", withTLS, "--users"},
		{"everywhere, users", "0.0.0.0:0", accessConfig{user: "ann", passwordFile: secret}, "plaintext"},
		{"everywhere, both", "0.0.0.0:0", accessConfig{cert: cert, key: key, user: "ann", passwordFile: secret}, ""},
		{"everywhere, client certificates", "0.0.0.0:0", accessConfig{cert: cert, key: key, clientCA: cert}, ""},
		{"everywhere, insecure", "0.0.0.0:0", accessConfig{insecure: true}, ""},
		{"half a pair", "127.0.0.1:0", accessConfig{cert: cert}, "both --tls-cert and --tls-key"},
		{"authorities without a certificate", "127.0.0.1:0", accessConfig{clientCA: cert}, "both --tls-cert and --tls-key"},
		{"no such certificate", "127.0.0.1:0", accessConfig{cert: "none", key: key}, "TLS"},
		{"no such users", "127.0.0.1:0", accessConfig{users: "none"}, "--users"},
		{"wrong users", "127.0.0.1:0", accessConfig{users: users}, "users, line 1"},
		{"two ways", "127.0.0.1:0", accessConfig{users: users, user: "ann"}, "exclude each other"},
		{"two passwords", "127.0.0.1:0", accessConfig{user: "ann", password: "x", passwordFile: secret}, "exclude each other"},
		{"a user alone", "127.0.0.1:0", accessConfig{user: "ann"}, `"ann" has no password`},
		{"a password alone", "127.0.0.1:0", accessConfig{password: "x"}, "without a user"},
		{"no such password", "127.0.0.1:0", accessConfig{user: "ann", passwordFile: "none"}, "--password-file"},
	} {
		s, err := startServer(context.Background(), serveConfig{data: t.TempDir(), flight: c.address, http: "", access: c.access})
		if err == nil {
			s.stop()
		}
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

func TestInsecureWarns(t *testing.T) {
	dir := t.TempDir()
	cert, key := selfSigned(t, dir, "server")
	old := slog.Default()
	defer slog.SetDefault(old)
	for _, c := range []struct {
		access        accessConfig
		plain, nobody bool
	}{
		{accessConfig{}, false, false},
		{accessConfig{insecure: true}, true, true},
		{accessConfig{insecure: true, user: "ann", password: "x"}, true, false},
		{accessConfig{insecure: true, cert: cert, key: key}, false, true},
	} {
		var log bytes.Buffer
		slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
		g, err := c.access.open(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		g.warn()
		if strings.Contains(log.String(), "plaintext") != c.plain || strings.Contains(log.String(), "without users") != c.nobody {
			t.Errorf("%+v: %s", c.access, log.String())
		}
	}
}

func TestPasswd(t *testing.T) {
	line, _, code := passwd(t, "secret\n", "ann")
	if code != 0 || !strings.HasPrefix(line, "ann:$argon2id$") || strings.Contains(line, "secret") {
		t.Errorf("%d %s", code, line)
	}
	line, token, code := passwd(t, "", "--token", "ci")
	if code != 0 || !strings.HasPrefix(line, "ci:$token$") || !strings.HasPrefix(token, "loam_") || strings.Contains(line, strings.TrimSpace(token)) {
		t.Errorf("%d %s%s", code, line, token)
	}
	for _, c := range []struct {
		password string
		args     []string
		code     int
	}{{"", []string{"ann"}, 1}, {"x", nil, 2}, {"x", []string{"a:b"}, 2}, {"x", []string{"a", "b"}, 2}, {"x", []string{"--tokn", "a"}, 2}} {
		if _, errs, code := passwd(t, c.password, c.args...); code != c.code || errs == "" {
			t.Errorf("%v: %d %s", c.args, code, errs)
		}
	}
}

// TestPasswdHelp: help is not an error, and says what stands behind the flags.
func TestPasswdHelp(t *testing.T) {
	_, errs, code := passwd(t, "", "-h")
	for _, want := range []string{"Usage: loam passwd [FLAGS] NAME >>users\n", "hidden on a terminal", "  --token "} {
		if code != 0 || !strings.Contains(errs, want) {
			t.Errorf("%d: no %q in\n%s", code, want, errs)
		}
	}
}

// TestLocalUser: a session without a server belongs to who runs the program.
func TestLocalUser(t *testing.T) {
	l, err := openLocal(context.Background(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.engine.Close() }()
	if who := l.session.User(); who == "" || who != systemUser() {
		t.Errorf("the user is %q, not %q", who, systemUser())
	}
}
