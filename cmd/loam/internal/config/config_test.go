package config_test

import (
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/loamdb/loam/cmd/loam/internal/config"
	"github.com/loamdb/loam/internal/fail"
)

// values are the settings of the tests' command.
type values struct {
	http, password string
	wait           time.Duration
	n              int
	insecure       bool
	files          config.List
}

func command() (*flag.FlagSet, *values) {
	f, v := flag.NewFlagSet("loam try", flag.ContinueOnError), &values{}
	f.SetOutput(io.Discard)
	f.StringVar(&v.http, "http-addr", "127.0.0.1:1", "`address` of HTTP")
	f.StringVar(&v.password, "password", "", "the `word`")
	f.DurationVar(&v.wait, "wait", time.Second, "how long")
	f.IntVar(&v.n, "streams", 2, "how many")
	f.BoolVar(&v.insecure, "insecure", false, "in plaintext")
	f.Var(&v.files, "allow-files", "`directory` to read")
	return f, v
}

func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "loam.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func parse(t *testing.T, yaml string, env []string, args ...string) (*config.Settings, *values, error) {
	t.Helper()
	f, v := command()
	src := config.Sources{Args: args, Env: env, Other: []string{"LOAM_TOKEN"}}
	if yaml != "" {
		src.Files = []string{filepath.Join(t.TempDir(), "absent.yaml"), write(t, yaml)}
	}
	s, err := config.Parse(f, src, "password")
	return s, v, err
}

func TestTheBetterSourceWins(t *testing.T) {
	const yaml = "http_addr: file:1\nstreams: 4\nwait: 5s\ninsecure: true\nallow_files: [a, b]\n"
	env := []string{"LOAM_HTTP_ADDR=env:1", "LOAM_STREAMS=3", "HOME=/x", "LOAM_TOKEN=t"}
	s, v, err := parse(t, yaml, env, "--http-addr", "flag:1", "rest")
	if err != nil {
		t.Fatal(err)
	}
	if v.http != "flag:1" || v.n != 3 || v.wait != 5*time.Second || !v.insecure || strings.Join(v.files, " ") != "a b" {
		t.Errorf("values %+v", *v)
	}
	if len(s.Rest) != 1 || s.Rest[0] != "rest" || len(s.Warnings) != 0 {
		t.Errorf("rest %q, warnings %q", s.Rest, s.Warnings)
	}
	want := map[string]string{"http-addr": "flag", "streams": "LOAM_STREAMS", "password": "default", "wait": s.File() + " line 3"}
	for _, set := range s.All() {
		if o, ok := want[set.Name]; ok && set.Origin != o {
			t.Errorf("%s comes from %q, want %q", set.Name, set.Origin, o)
		}
	}
}

func TestAListOnTheCommandLineReplacesTheFiles(t *testing.T) {
	_, v, err := parse(t, "allow_files: [a, b]", []string{"LOAM_ALLOW_FILES=c,d"}, "--allow-files", "e", "--allow-files", "f")
	if err != nil || strings.Join(v.files, " ") != "e f" {
		t.Errorf("files %q, error %v", v.files, err)
	}
	_, v, err = parse(t, "allow_files: [a, b]", []string{"LOAM_ALLOW_FILES=c,d"})
	if err != nil || strings.Join(v.files, " ") != "c d" {
		t.Errorf("files %q, error %v", v.files, err)
	}
}

func TestMistakesAreNamed(t *testing.T) {
	for _, c := range []struct {
		yaml string
		env  string
		args []string
		want string
	}{
		{"http-adr: x", "", nil, `line 1: there is no setting "http-adr"` + "\n" + `HINT: Did you mean "http_addr"?`},
		{"zzz: x", "", nil, "HINT: The settings are: allow_files, http_addr,"},
		{"a: 1\n  b: 2\n", "", nil, "loam.yaml: yaml:"},
		{"- a\n- b\n", "", nil, `line 1: a settings file is a list of lines "key: value"`},
		{"streams: 1\nstreams: 2\n", "", nil, "line 2: streams stands already in line 1"},
		{"\nstreams: many\n", "", nil, `line 2: "many" is no value of streams`},
		{"streams: {a: 1}", "", nil, "line 1: streams takes a value, or a list of values"},
		{"config: other.yaml", "", nil, `there is no setting "config"`},
		{"", "LOAM_WAIT=5", nil, `LOAM_WAIT: "5" is no value of wait`},
		{"", "LOAM_PASSWORD_FILE=/nonexistent/x", nil, "LOAM_PASSWORD_FILE: open /nonexistent/x"},
		{"", "", []string{"--config", "/nonexistent/loam.yaml"}, "--config: open /nonexistent/loam.yaml"},
		{"", "", []string{"--htp-addr=1"}, "loam try has no flag --htp-addr\nHINT: Did you mean --http-addr?"},
		{"", "", []string{"--qqq"}, "HINT: loam try -h lists the flags."},
		{"", "", []string{"--streams", "x"}, "HINT: loam try -h says what the flags take."},
	} {
		_, _, err := parse(t, c.yaml, []string{c.env}, c.args...)
		if err == nil {
			t.Errorf("%q %q %q: no error", c.yaml, c.env, c.args)
		} else if got := fail.Render(err, ""); !strings.HasPrefix(got, "ERROR 22023: ") || !strings.Contains(got, c.want) {
			t.Errorf("%q %q %q:\n%s\nwant %s", c.yaml, c.env, c.args, got, c.want)
		}
	}
}

func TestAnUnknownVariableIsAWarning(t *testing.T) {
	s, _, err := parse(t, "", []string{"LOAM_PORT=tcp://10.0.0.1:80", "LOAM_STREAM=1", "LOAM_HTTP_ADDR_FILE=x"})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"LOAM_PORT is no setting and is ignored",
		"LOAM_STREAM is no setting and is ignored; did you mean LOAM_STREAMS?",
		"LOAM_HTTP_ADDR_FILE is no setting and is ignored",
	}
	for i, w := range want {
		if !strings.HasPrefix(s.Warnings[i], w) {
			t.Errorf("warning %q, want %q", s.Warnings[i], w)
		}
	}
}

func TestASecretIsReadFromAFileAndNeverShown(t *testing.T) {
	path := write(t, "open sesame\n")
	s, v, err := parse(t, "", []string{"LOAM_PASSWORD_FILE=" + path})
	if err != nil || v.password != "open sesame" {
		t.Fatalf("password %q, error %v", v.password, err)
	}
	if text := s.YAML(); strings.Contains(text, "sesame") || !strings.Contains(text, "password: '***'") {
		t.Errorf("printed:\n%s", text)
	}
}

func TestWhatIsPrintedReadsBack(t *testing.T) {
	s, v, err := parse(t, "http_addr: 'a: b # c'\nstreams: 7\ninsecure: true\nallow_files: ['x, y', 'true', z]\nwait: 90s", nil)
	if err != nil {
		t.Fatal(err)
	}
	s2, v2, err := parse(t, s.YAML(), nil)
	if err != nil {
		t.Fatalf("%v in\n%s", err, s.YAML())
	}
	if v.http != v2.http || v.n != v2.n || v.insecure != v2.insecure || v.wait != v2.wait || strings.Join(v.files, "|") != strings.Join(v2.files, "|") {
		t.Errorf("%+v became %+v by\n%s", *v, *v2, s.YAML())
	}
	if !strings.Contains(s2.YAML(), "streams: 7  ") {
		t.Errorf("numbers need no quotes:\n%s", s2.YAML())
	}
}

func TestHelpNamesEveryFlag(t *testing.T) {
	f, _ := command()
	var out strings.Builder
	f.SetOutput(&out)
	if _, err := config.Parse(f, config.Sources{Args: []string{"-h"}}); !errors.Is(err, flag.ErrHelp) {
		t.Fatalf("error %v", err)
	}
	for _, want := range []string{"--http-addr ADDRESS", "(default 127.0.0.1:1)", "--insecure ", "--config STRING"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, out.String())
		}
	}
}

func FuzzYAML(f *testing.F) {
	f.Add("http_addr: x\nallow_files: [a, b]\n")
	f.Add("a: &x 1\nstreams: *x\n")
	f.Add("{}")
	f.Fuzz(func(t *testing.T, text string) {
		_, _, err := parse(t, text, nil)
		if err != nil && fail.CodeOf(err) != fail.InvalidParameter {
			t.Errorf("untyped error %v", err)
		}
	})
}
