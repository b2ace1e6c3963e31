package main

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var fenced = regexp.MustCompile("(?ms)^```(\\w+)(?: (\\S+))?\n(.*?)^```$")

// TestLoadPage runs the examples of docs/load.md: a block with a file's name makes
// the file, a console block holds commands and what they print.
func TestLoadPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/load.md")
	if err != nil {
		t.Fatal(err)
	}
	s := startTest(t)
	t.Chdir(t.TempDir())
	ran := 0
	for _, m := range fenced.FindAllStringSubmatch(string(page), -1) {
		lang, name, text := m[1], m[2], m[3]
		if name != "" {
			if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if lang != "console" {
			continue
		}
		for _, example := range strings.Split("\n"+text, "\n$ ")[1:] {
			command, want, _ := strings.Cut(example, "\n")
			got := strings.TrimSuffix(runExample(t, s, command), "\n")
			if want = strings.TrimSuffix(steady(want, s), "\n"); got != want {
				t.Errorf("$ %s\nprints\n%s\nthe page says\n%s", command, got, want)
			}
			ran++
		}
	}
	if ran < 5 {
		t.Errorf("%d examples were run", ran)
	}
}

// runExample runs a command as a person sees it, without the address of the server.
func runExample(t *testing.T, s *server, command string) string {
	t.Helper()
	words := shellWords(command)
	at := []string{"--endpoint", "grpc://" + s.flightAddr}
	switch {
	case words[0] == "cat":
		text, err := os.ReadFile(words[1])
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	case words[0] == "loam" && words[1] == "load":
		_, out, errs := captured(t, func() int { return loadCommand(context.Background(), append(words[2:], at...)) })
		return strings.ReplaceAll(steady(errs+out, s), " --endpoint grpc://SERVER", "")
	case words[0] == "loam" && words[1] == "sql":
		_, out, errs := captured(t, func() int { return sql(context.Background(), append(words[2:], at...)) })
		return errs + out
	}
	t.Fatalf("there is no command %q", command)
	return ""
}

// shellWords splits a command at blanks outside of double quotes.
func shellWords(command string) []string {
	var out []string
	for i, part := range strings.Split(command, `"`) {
		if i%2 == 1 {
			out = append(out, part)
		} else {
			out = append(out, strings.Fields(part)...)
		}
	}
	return out
}
