package main

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// TestLoad runs the files of testdata/load, each against a server of its own, in
// an empty directory. Commands:
//
//	file NAME          the input becomes a file
//	load ARGS…         loam load; input lines are standard input
//	sql                loam sql, the input is the SQL
//	show NAME          the content of a file
//
// What differs from run to run (times, rates, tokens, addresses) is replaced.
func TestLoad(t *testing.T) {
	root, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	datadriven.Walk(t, filepath.Join(root, "testdata", "load"), func(t *testing.T, path string) {
		s := startTest(t)
		t.Chdir(t.TempDir())
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			return loadStep(t, s, d)
		})
	})
}

func loadStep(t *testing.T, s *server, d *datadriven.TestData) string {
	t.Helper()
	args := unquoted(d.CmdArgs)
	switch d.Cmd {
	case "file":
		if err := os.MkdirAll(filepath.Dir(args[0]), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(args[0], []byte(d.Input+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		return ""
	case "show":
		text, err := os.ReadFile(args[0])
		if err != nil {
			return err.Error() + "\n"
		}
		return string(text)
	case "load":
		code, out, errs := captured(t, func() int {
			defer stdinOf(t, d.Input)()
			return loadCommand(context.Background(), append(args, "--endpoint", "grpc://"+s.flightAddr))
		})
		return steady(outcome(code, out, errs), s)
	case "sql":
		code, out, errs := captured(t, func() int {
			return sql(context.Background(), []string{"--endpoint", "grpc://" + s.flightAddr, "--format", "csv", "-c", d.Input})
		})
		return steady(outcome(code, out, errs), s)
	}
	t.Fatalf("%s: there is no command %s", d.Pos, d.Cmd)
	return ""
}

// unquoted are the arguments as a shell hands them on: a=b as one word, lists as
// they were written.
func unquoted(args []datadriven.CmdArg) []string {
	var out []string
	for _, a := range args {
		word := a.Key
		if len(a.Vals) > 0 {
			word += "=" + strings.Join(a.Vals, ",")
		}
		out = append(out, word)
	}
	return out
}

func outcome(code int, out, errs string) string {
	if code != 0 {
		errs += "exit " + string(rune('0'+code)) + "\n"
	}
	if errs != "" && out != "" {
		errs = strings.ReplaceAll("\n"+strings.TrimSuffix(errs, "\n"), "\n", "\n2> ")[1:] + "\n"
	}
	return strings.ReplaceAll(out+errs, "\n\n", "\n")
}

var unsteady = []struct {
	what *regexp.Regexp
	with string
}{
	{regexp.MustCompile(` in [0-9.]+ s \([^)]*\)`), ""},
	{regexp.MustCompile(`token v1:\S+`), "token …"},
	{regexp.MustCompile(`/tmp/\S+/`), "/…/"},
}

func steady(text string, s *server) string {
	text = strings.ReplaceAll(text, s.flightAddr, "SERVER")
	for _, u := range unsteady {
		text = u.what.ReplaceAllString(text, u.with)
	}
	return text
}

// stdinOf makes a text standard input until the returned function is called.
func stdinOf(t *testing.T, text string) func() {
	t.Helper()
	name := filepath.Join(t.TempDir(), "in")
	if text != "" {
		text += "\n"
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	old := os.Stdin
	os.Stdin = f
	return func() {
		os.Stdin = old
		_ = f.Close()
	}
}

func TestLoadUsage(t *testing.T) {
	for _, c := range []struct {
		args []string
		code int
		errs string
	}{
		{nil, 2, "loam load TARGET FILE"},
		{[]string{"t"}, 2, "no file is named"},
		{[]string{"t", "f", "--streams", "0"}, 2, "1 to 64"},
		{[]string{"t", "f", "--max-errors", "-1"}, 2, "negative"},
		{[]string{"t", "f", "--key", "id"}, 2, "Add --create"},
		{[]string{"t", "-", "--resume", "s"}, 2, "cannot be read twice"},
		{[]string{"t", "f", "--format", "xls"}, 2, "csv, tsv, json, parquet or arrow"},
		{[]string{"t", "f", "--delim", "ab"}, 2, "one character"},
		{[]string{"t", "f", "--quote", "ab"}, 2, "one character"},
		{[]string{"t", "f", "--header", "maybe"}, 2, "yes or no"},
		{[]string{"t", "f", "--create", "--vector", "v"}, 2, "column:dimension:metric"},
		{[]string{"t", "f", "--create", "--vector", "v:0"}, 2, "not a dimension"},
		{[]string{"t", "f", "--create", "--vector", "v:3:far"}, 2, "cosine, l2 and dot"},
		{[]string{"t", "f", "--create", "--type", "a=WIDE"}, 2, "column=TYPE"},
		{[]string{"t", "f", "--rename", "a"}, 2, "file_column=target_column"},
		{[]string{"t", "f", "--nope"}, 2, "nope"},
		{[]string{"t", "f", "--data", "d", "--endpoint", "e"}, 2, "Give one of them"},
		{[]string{"t", "f", "--endpoint", "grpc://127.0.0.1:1"}, 3, "loam serve"},
	} {
		if len(c.args) > 1 && c.args[1] == "f" {
			c.args[1] = filepath.Join(t.TempDir(), "f")
			if err := os.WriteFile(c.args[1], []byte("a\n1\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		code, out, errs := captured(t, func() int { return loadCommand(context.Background(), c.args) })
		if code != c.code || out != "" || !strings.Contains(errs, c.errs) {
			t.Errorf("loam load %q: exit %d\nout %q\nerr %q", c.args, code, out, errs)
		}
	}
	code, _, errs := captured(t, func() int { return loadCommand(context.Background(), []string{"-h"}) })
	if code != 0 || !strings.Contains(errs, "--chunk WORDS") || !strings.Contains(errs, "Exit codes:") {
		t.Errorf("exit %d\n%s", code, errs)
	}
}
