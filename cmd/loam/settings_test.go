package main

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestConfigPrintShowsOrigins(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("loam.yaml", []byte("data: /srv/loam\nlog_level: WARN\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("LOAM_HTTP", "127.0.0.1:9000")
	t.Setenv("LOAM_FLIHGT", "x")
	code, out, errs := captured(t, func() int {
		return runConfig(context.Background(), []string{"print", "--log-format", "json"})
	})
	if code != 0 || errs != "warning: LOAM_FLIHGT is no setting and is ignored; did you mean LOAM_FLIGHT?\n" {
		t.Errorf("exit %d, %s", code, errs)
	}
	for _, want := range []string{
		"data: /srv/loam                  # loam.yaml line 1\n", "log_level: WARN                  # loam.yaml line 2\n",
		"http: 127.0.0.1:9000             # LOAM_HTTP\n", "log_format: json                 # flag\n",
		"flight: 127.0.0.1:8815           # default\n",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in\n%s", want, out)
		}
	}
}

func TestWrongSettingsAreUsageErrors(t *testing.T) {
	t.Chdir(t.TempDir())
	ctx := context.Background()
	for _, c := range []struct {
		yaml string
		run  func() int
		code int
		want string
	}{
		{"", func() int { return runConfig(ctx, nil) }, 2, "Usage: loam config print"},
		{"", func() int { return runConfig(ctx, []string{"print", "--flihgt", "x"}) }, 2, "Did you mean --flight?"},
		{"htpt: x", func() int { return serve(ctx, nil) }, 2, `loam.yaml line 1: there is no setting "htpt"` + "\n" + `HINT: Did you mean "http"?`},
		{"", func() int { return serve(ctx, []string{"--log-level", "LOUD"}) }, 2, `invalid value "LOUD" for flag -log-level`},
		{"", func() int { return serve(ctx, []string{"--log-format", "xml"}) }, 2, "it takes text, json or auto"},
		{"", func() int { return serve(ctx, []string{"dir"}) }, 2, "the directory goes behind --data"},
		{"", func() int { return serve(ctx, []string{"-h"}) }, 0, ""},
		{"", func() int { return runHealth(ctx, []string{"x"}) }, 2, "the address goes behind --http"},
		{"", func() int { return runHealth(ctx, []string{"--http", ""}) }, 2, "nobody to ask"},
		{"", func() int { return runHealth(ctx, []string{"--http", "127.0.0.1:1"}) }, 1, "Is loam serve running there?"},
		{"", func() int { return version(ctx, []string{"--jsn"}) }, 2, "Did you mean --json?"},
	} {
		if err := os.WriteFile("loam.yaml", []byte(c.yaml), 0o600); err != nil {
			t.Fatal(err)
		}
		if code, _, errs := captured(t, c.run); code != c.code || !strings.Contains(errs, c.want) {
			t.Errorf("exit %d, want %d; %q is not in\n%s", code, c.code, c.want, errs)
		}
	}
}

func TestHealthOfARunningServer(t *testing.T) {
	t.Chdir(t.TempDir())
	s := startTest(t)
	_, port, _ := strings.Cut(s.httpAddr, ":")
	for _, args := range [][]string{{"--http", s.httpAddr}, {"--http", s.httpAddr, "--ready"}, {"--http", "0.0.0.0:" + port}, {"--http", ":" + port, "--ready"}} {
		if code, out, errs := captured(t, func() int { return runHealth(context.Background(), args) }); code != 0 || out == "" {
			t.Errorf("%q: exit %d\n%s%s", args, code, out, errs)
		}
	}
	if err := s.engine.Close(); err != nil {
		t.Fatal(err)
	}
	code, _, errs := captured(t, func() int { return runHealth(context.Background(), []string{"--http", s.httpAddr, "--ready"}) })
	if code != 1 || !strings.Contains(errs, "503") {
		t.Errorf("a closed engine: exit %d\n%s", code, errs)
	}
}

func TestVersionSaysWhatIsRunning(t *testing.T) {
	code, out, _ := captured(t, func() int { return version(context.Background(), nil) })
	if code != 0 || !strings.HasPrefix(out, "loam 0.") || !strings.Contains(out, "go1.") {
		t.Errorf("exit %d, %q", code, out)
	}
	code, out, _ = captured(t, func() int { return version(context.Background(), []string{"--json"}) })
	var b map[string]any
	if err := json.Unmarshal([]byte(out), &b); code != 0 || err != nil || b["platform"] == "" {
		t.Errorf("exit %d, %v, %q", code, err, out)
	}
}

func TestLogsAreJSONAwayFromATerminal(t *testing.T) {
	for _, c := range []struct {
		format   logFormat
		terminal bool
		json     bool
	}{{"", true, false}, {"auto", false, true}, {"json", true, true}, {"text", false, false}} {
		var b bytes.Buffer
		slog.New(logConfig{format: c.format, level: slog.LevelWarn}.handler(&b, c.terminal)).Warn("x", "k", 1)
		if got := strings.HasPrefix(b.String(), "{"); got != c.json {
			t.Errorf("%+v: %s", c, b.String())
		}
	}
	f, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	if isTerminal(f) {
		t.Error("a file is no terminal")
	}
}
