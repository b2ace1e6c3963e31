package main

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func startAuth(t *testing.T, dir, host string, a accessConfig) (*server, error) {
	t.Helper()
	s, err := startServer(context.Background(), serveConfig{data: dir, flight: host + ":0", http: host + ":0", access: a})
	if err == nil {
		t.Cleanup(s.stop)
	}
	return s, err
}

// TestTheFirstStartMakesAPassword: what the container image does.
func TestTheFirstStartMakesAPassword(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	image := accessConfig{auth: authGenerate, plaintext: true}
	s, err := startAuth(t, dir, "0.0.0.0", image)
	if err != nil {
		t.Fatal(err)
	}
	_, out, _ := captured(t, func() int { s.say(dir, "x"); return 0 })
	m := regexp.MustCompile(`password    (\S{20})   `).FindStringSubmatch(out)
	if m == nil {
		t.Fatalf("no password in\n%s", out)
	}
	text, err := os.ReadFile(filepath.Join(dir, "users"))
	if err != nil || strings.Contains(string(text), m[1]) || !strings.HasPrefix(string(text), "loam:$argon2id$") {
		t.Errorf("users file %q, error %v", text, err)
	}
	info, err := os.Stat(filepath.Join(dir, "users"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("users file has mode %v, error %v", info.Mode(), err)
	}
	_, port, _ := strings.Cut(strings.TrimPrefix(s.httpAddr, "[::]"), ":")
	for _, c := range []struct {
		password string
		want     int
	}{{m[1], 200}, {"guess", 401}, {"", 401}} {
		req, err := http.NewRequest("POST", "http://127.0.0.1:"+port+"/v1/sql", strings.NewReader(`{"sql": "SELECT 1"}`))
		if err != nil {
			t.Fatal(err)
		}
		req.Host = "loam.example" // it asks for a password, so that any name will do
		req.Header.Set("Content-Type", "application/json")
		if c.password != "" {
			req.SetBasicAuth("loam", c.password)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != c.want {
			t.Errorf("password %q: %s", c.password, resp.Status)
		}
	}
	// The second start shows nothing and keeps the password.
	g, err := image.open(dir)
	if err != nil || g.made != "" || !g.users.Password("loam", m[1]) {
		t.Errorf("second start: made %q, error %v", g.made, err)
	}
}

func TestWhoMayCallBeyondThisMachine(t *testing.T) {
	for _, c := range []struct {
		a    accessConfig
		want string
	}{
		{accessConfig{auth: authGenerate}, "speaks plaintext"},
		{accessConfig{plaintext: true}, "asks nobody for credentials"},
		{accessConfig{auth: authNone}, "speaks plaintext"},
		{accessConfig{auth: authNone, plaintext: true}, ""},
		{accessConfig{auth: authNone, plaintext: true, user: "x", password: "y"}, "--auth none asks nobody"},
		{accessConfig{auth: authGenerate, plaintext: true, password: "secret"}, ""},
		{accessConfig{insecure: true}, ""},
	} {
		s, err := startAuth(t, t.TempDir(), "0.0.0.0", c.a)
		switch {
		case c.want == "" && err != nil, c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%+v: error %v, want %q", c.a, err, c.want)
		case c.a.password == "secret" && (s.gate.made != "" || !s.gate.users.Password("loam", "secret")):
			t.Errorf("%+v: the password is not that of the user loam", c.a)
		}
	}
	var m authMode
	if err := m.Set("open"); err == nil || m.String() != "given" {
		t.Errorf("mode %q, error %v", m.String(), err)
	}
}
