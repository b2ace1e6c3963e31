package main

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/loamdb/loam/cmd/loam/internal/config"
)

// rewriting reports whether pages are to be written anew; datadriven declares the flag.
func rewriting() bool {
	f := flag.Lookup("rewrite")
	return f != nil && f.Value.String() == "true"
}

const (
	pagePath  = "../../docs/configuration.md"
	pageBegin = "-rewrite -->\n"
	pageEnd   = "<!-- end -->"
)

// settingsTable is the table of the page, one row a flag of loam serve.
func settingsTable(t *testing.T) string {
	var cfg serveConfig
	s, err := config.Parse(serveFlags(&cfg), config.Sources{}, "password")
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.WriteString("| flag | variable | key | default | what it is |\n| --- | --- | --- | --- | --- |\n")
	for _, set := range s.All() {
		word := strings.ReplaceAll(set.Name, "-", "_")
		key := "`" + word + "`"
		if set.Name == "config" {
			key = ""
		}
		def := ""
		if set.Default != "" {
			def = "`" + set.Default + "`"
		}
		fmt.Fprintf(&b, "| `--%s` | `LOAM_%s` | %s | %s | %s |\n", set.Name, strings.ToUpper(word), key, def, strings.ReplaceAll(set.Help, "`", ""))
	}
	return b.String()
}

func TestConfigurationPage(t *testing.T) {
	raw, err := os.ReadFile(pagePath)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(raw), pageBegin)
	was, tail, ok2 := strings.Cut(rest, pageEnd)
	if !ok || !ok2 {
		t.Fatalf("%s has lost the marks around its table", pagePath)
	}
	want := settingsTable(t)
	if rewriting() {
		if err := os.WriteFile(pagePath, []byte(head+pageBegin+want+pageEnd+tail), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if was != want {
		t.Errorf("%s is stale: go test ./cmd/loam -run TestConfigurationPage -rewrite\n%s", pagePath, want)
	}
}
