package main

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/loamdb/loam/cmd/loam/internal/demo"
)

// captured runs f with standard output and error redirected and returns both.
func captured(t *testing.T, f func() int) (code int, out, errs string) {
	t.Helper()
	oldOut, oldErr := os.Stdout, os.Stderr
	defer func() { os.Stdout, os.Stderr = oldOut, oldErr }()
	dir := t.TempDir()
	open := func(name string) *os.File {
		file, err := os.Create(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return file
	}
	o, e := open("out"), open("err")
	os.Stdout, os.Stderr = o, e
	code = f()
	_, _ = o.Seek(0, io.SeekStart)
	_, _ = e.Seek(0, io.SeekStart)
	bo, _ := io.ReadAll(o)
	be, _ := io.ReadAll(e)
	_, _ = o.Close(), e.Close()
	return code, string(bo), string(be)
}

func startTest(t *testing.T) *server {
	t.Helper()
	s, err := startServer(context.Background(), serveConfig{data: t.TempDir(), flight: "127.0.0.1:0", http: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.stop)
	return s
}

func TestSQLInMemory(t *testing.T) {
	ctx := context.Background()
	for _, c := range []struct {
		args      []string
		code      int
		out, errs string
	}{
		{[]string{"--memory", "-c", "SELECT 1+1 AS two", "--format", "csv"}, 0, "two\n2\n", ""},
		{[]string{"--memory", "-c", "SELECT 'x' AS a, NULL AS b", "--format", "json"}, 0, "[\n {\"a\":\"x\",\"b\":null}\n]\n", ""},
		{[]string{"--memory", "-c", "CREATE TABLE t (a INT); INSERT INTO t VALUES (1), (2)"}, 0, "OK, 2 rows\n", ""},
		{[]string{"--memory", "-c", "SELECT 1 +"}, 1, "", "ERROR 42601: "},
		{[]string{"--memory", "-c", "SELECT\n nope"}, 1, "", "LINE 2, COLUMN 2:\n   nope\n   ^"},
		{[]string{"--memory", "-c", "SELECT :n + 1 AS n, :'s' AS s", "-v", "n=41", "-v", "s=it's", "--format", "csv"}, 0, "n,s\n42,it's\n", ""},
		{[]string{"--memory", "-c", "SELECT 1 AS a; SELECT nope; SELECT 2 AS b", "--format", "csv", "--on-error", "continue"}, 1, "a\n1\nb\n2\n", "ERROR 42703"},
		{[]string{"--memory", "-c", "\\d nothing"}, 1, "", "there is no object \"nothing\""},
		{[]string{"--memory", "-c", "SELECT 1", "--format", "yaml"}, 2, "", "there is no format \"yaml\""},
		{[]string{"--memory", "-c", "SELECT 1", "--color", "yes"}, 2, "", "auto, always or never"},
		{[]string{"--memory", "-c", "SELECT 1", "--on-error", "x"}, 2, "", "stop or continue"},
		{[]string{"--memory", "-c", "SELECT 1", "--fromat", "csv"}, 2, "", "Did you mean --format?"},
		{[]string{"--memory", "-c", "SELECT 1", "-v", "x"}, 2, "", "name=value"},
		{[]string{"--memory", "-c", "SELECT 1", "-f", "x.sql"}, 2, "", "exclude each other"},
		{[]string{"--memory", "--data", "x", "-c", "SELECT 1"}, 2, "", "exclude each other"},
		{[]string{"--memory", "--endpoint", "grpc://h:1", "-c", "SELECT 1"}, 2, "", "Give one of them"},
		{[]string{"--endpoint", "http://h:1", "-c", "SELECT 1"}, 2, "", "Write grpc://host:port"},
		{[]string{"--memory", "SELECT 1"}, 2, "", "Put the SQL behind -c"},
		{[]string{"--memory", "--namespace", "nowhere", "-c", "SELECT 1"}, 1, "", "there is no namespace \"nowhere\""},
		{[]string{"--endpoint", "grpc://127.0.0.1:1", "-c", "SELECT 1"}, 3, "", "loam serve"},
	} {
		code, out, errs := captured(t, func() int { return sql(ctx, c.args) })
		if code != c.code || out != c.out || !strings.Contains(errs, c.errs) || c.errs == "" && errs != "" {
			t.Errorf("loam sql %q: exit %d\nout %q\nerr %q", c.args, code, out, errs)
		}
	}
}

func TestSQLAgainstAServer(t *testing.T) {
	s := startTest(t)
	script := filepath.Join(t.TempDir(), "script.sql")
	text := `CREATE COLLECTION d (id TEXT PRIMARY KEY, body TEXT FULLTEXT 'english');
INSERT INTO d VALUES ('a', 'quick foxes'), ('b', 'lazy dogs'); -- two
SELECT id FROM text_search(d, 'fox');`
	if err := os.WriteFile(script, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	endpoint := "grpc://" + s.flightAddr
	code, out, errs := captured(t, func() int {
		return sql(context.Background(), []string{"--endpoint", endpoint, "-f", script})
	})
	if code != 0 || out != "id\n──\na\n" {
		t.Errorf("exit %d\n%s%s", code, out, errs)
	}
	// The error of a server reads like the error of an engine in the process.
	for _, where := range [][]string{{"--endpoint", endpoint}, {"--memory"}} {
		code, _, errs = captured(t, func() int { return sql(context.Background(), append(where, "-c", "SELECT uper('x')")) })
		if code != 1 || !strings.Contains(errs, "ERROR 42883: ") || !strings.Contains(errs, "upper") || !strings.Contains(errs, "\n         ^") {
			t.Errorf("%v: exit %d\n%s", where, code, errs)
		}
	}
}

func TestSecondProcessIsTurnedAway(t *testing.T) {
	dir := t.TempDir()
	s, err := startServer(context.Background(), serveConfig{data: dir, flight: "127.0.0.1:0", http: ""})
	if err != nil {
		t.Fatal(err)
	}
	code, _, errs := captured(t, func() int { return sql(context.Background(), []string{"--data", dir, "-c", "SELECT 1"}) })
	if code != 1 || !strings.Contains(errs, "in use by process") || !strings.Contains(errs, "grpc://") {
		t.Errorf("exit %d\n%s", code, errs)
	}
	s.stop()
	code, out, errs := captured(t, func() int {
		return sql(context.Background(), []string{"--data", dir, "-c", "SELECT 1 AS a", "--format", "csv"})
	})
	if code != 0 || out != "a\n1\n" {
		t.Errorf("after the stop: exit %d\n%s%s", code, out, errs)
	}
}

func TestAddressesBeyondLoopbackAreRefused(t *testing.T) {
	_, err := startServer(context.Background(), serveConfig{data: t.TempDir(), flight: "0.0.0.0:0", http: ""})
	if err == nil || !strings.Contains(err.Error(), "--tls-cert") {
		t.Fatalf("error %v", err)
	}
}

func TestHealthOverHTTP(t *testing.T) {
	s := startTest(t)
	for _, path := range []string{"/healthz", "/readyz", "/metrics"} {
		res, err := http.Get("http://" + s.httpAddr + path)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if res.StatusCode != http.StatusOK {
			t.Errorf("%s answers %d", path, res.StatusCode)
		}
	}
}

// TestDemo is the README's first command; its queries run again from what --print prints.
func TestDemo(t *testing.T) {
	if testing.Short() {
		t.Skip("the demo reads the whole standard library")
	}
	dir := t.TempDir()
	s, err := startServer(context.Background(), serveConfig{data: dir, flight: "127.0.0.1:0", http: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.stop()
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	var out bytes.Buffer
	if err := demo.Run(ctx, &out, demo.Server{Flight: s.flightAddr, HTTP: s.httpAddr, Dir: dir, Keep: true}); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	for _, want := range []string{"loaded over Flight", "path/filepath.WalkDir", "sync.WaitGroup", "endpoint 0", "Lance dataset file://", "http://" + s.httpAddr, "adbc_driver_flightsql"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the demo does not print %q:\n%s", want, out.String())
		}
	}
	var script bytes.Buffer
	if err := demo.Print(&script); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "demo.sql")
	if err := os.WriteFile(file, script.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	code, printed, errs := captured(t, func() int { return sql(ctx, []string{"--endpoint", "grpc://" + s.flightAddr, "-f", file}) })
	if code != 0 || errs != "" || strings.Count(printed, "sync.WaitGroup ") != 2 || strings.Count(printed, "──┼──") < 4 {
		t.Errorf("what loam demo --print prints ends with %d\n%s%s", code, printed, errs)
	}
}
