package main

import (
	"bytes"
	"context"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/loamdb/loam"
	"github.com/loamdb/loam/cmd/loam/internal/shell"
	"github.com/loamdb/loam/internal/clock"
	"github.com/loamdb/loam/internal/fail"
)

// sqlPages are the pages whose examples run.
var sqlPages = []string{"../../docs/sql.md", "../../docs/streams.md", "../../docs/time-travel.md", "../../docs/links.md"}

// block is a fenced part of a page: its lines lie in [from, to).
type block struct {
	kind     string
	from, to int
}

// blocks are the fenced parts of a page.
func blocks(lines []string) []block {
	var out []block
	open := -1
	for i, line := range lines {
		switch {
		case open < 0 && strings.HasPrefix(line, "```"):
			open = i
		case open >= 0 && line == "```":
			out = append(out, block{lines[open][3:], open + 1, i})
			open = -1
		}
	}
	return out
}

// TestSQLPages runs the examples of each page in their order and compares what the
// shell prints with the block below each, which -rewrite writes anew.
func TestSQLPages(t *testing.T) {
	for _, page := range sqlPages {
		runPage(t, page)
	}
}

// alike compares two answers but for estimates, which change when rows are applied:
// rows≈12, and the line as long as the longest of a plan's.
func alike(got, want string) bool {
	if !strings.Contains(want, "≈") {
		return got == want
	}
	return estimates.ReplaceAllString(got, "") == estimates.ReplaceAllString(want, "")
}

var estimates = regexp.MustCompile("≈[0-9]+|─+")

func runPage(t *testing.T, sqlPage string) {
	t.Helper()
	raw, err := os.ReadFile(sqlPage)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := (&connFlags{memory: true}).open(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.close()
	lines := strings.Split(string(raw), "\n")
	all := blocks(lines)
	var page []string
	next := 0
	for i, b := range all {
		if b.kind != "sql" {
			continue
		}
		got := printed(conn, strings.Join(lines[b.from:b.to], "\n"))
		want := ""
		if i+1 < len(all) && all[i+1].kind == "text" && all[i+1].from == b.to+3 {
			want = strings.Join(lines[all[i+1].from:all[i+1].to], "\n")
		}
		if !alike(got, want) && !rewriting() {
			t.Errorf("%s line %d:\n%s\ngot\n%s\nwant\n%s", sqlPage, b.from+1, strings.Join(lines[b.from:b.to], "\n"), got, want)
		}
		page = append(page, lines[next:b.to+1]...)
		next = b.to + 1
		if want != "" {
			next = all[i+1].to + 1
		}
		if got != "" {
			page = append(page, "", "```text")
			page = append(page, strings.Split(got, "\n")...)
			page = append(page, "```")
		}
	}
	page = append(page, lines[next:]...)
	if rewriting() {
		if err := os.WriteFile(sqlPage, []byte(strings.Join(page, "\n")), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// printed is what the shell prints for each statement of a script, one after the
// other, errors included; statements that only say OK print nothing.
func printed(conn shell.Conn, script string) string {
	var out []string
	parts, err := loam.SplitScript(script)
	if err != nil {
		return fail.Render(err, script)
	}
	for _, part := range parts {
		var b bytes.Buffer
		sh := shell.New(shell.Config{Conn: conn, Out: &b, Err: &b, Clock: clock.Real(), GoOn: true})
		sh.Run(context.Background(), part.Text)
		text := strings.TrimRight(b.String(), "\n")
		if text != "" && !strings.HasPrefix(text, "OK") {
			out = append(out, text)
		}
	}
	return strings.Join(out, "\n\n")
}
