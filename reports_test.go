package loam

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// cited is a test that docs/conformance.md names, and its file.
var cited = regexp.MustCompile("`([^`]+)` \\(`([^`]+)`\\)")

// TestReportsHaveTheirTests: each row of the table of bug reports names tests that
// are there.
func TestReportsHaveTheirTests(t *testing.T) {
	page := read(t, "docs/conformance.md")
	_, table, ok := strings.Cut(page, "| report |")
	if !ok {
		t.Fatal("the table of reports is gone")
	}
	rows := strings.Split(strings.TrimSpace(table), "\n")[2:]
	if len(rows) < 20 {
		t.Fatalf("%d reports", len(rows))
	}
	for _, row := range rows {
		tests := cited.FindAllStringSubmatch(row, -1)
		if len(tests) == 0 {
			t.Errorf("no test: %s", row)
		}
		for _, c := range tests {
			text, err := os.ReadFile(c[2])
			if err != nil || !strings.Contains(string(text), c[1]) {
				t.Errorf("%s has no test %q", c[2], c[1])
			}
		}
	}
}
