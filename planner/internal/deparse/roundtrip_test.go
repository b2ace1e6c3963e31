package deparse_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loamdb/loam/planner/internal/ast"
	"github.com/loamdb/loam/planner/internal/deparse"
	"github.com/loamdb/loam/planner/internal/parser"
)

// TestRoundTripOfCorpus: parse, print, parse again gives the same tree, and
// printing that gives the same text, for every accepted statement.
func TestRoundTripOfCorpus(t *testing.T) {
	files, err := filepath.Glob("../parser/testdata/corpus/*.sql")
	if err != nil || len(files) == 0 {
		t.Fatalf("no corpus: %v", err)
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, sql := range strings.Split(string(text), "\n\n") {
			roundTrip(t, sql)
		}
	}
}

func roundTrip(t *testing.T, sql string) {
	t.Helper()
	first, err := parser.ParseOne(sql)
	if err != nil {
		t.Errorf("%s\n  %v", sql, err)
		return
	}
	text := deparse.Statement(first)
	second, err := parser.ParseOne(text)
	if err != nil {
		t.Errorf("%s\n  printed as %s\n  %v", sql, text, err)
		return
	}
	if !ast.Equal(first, second) {
		t.Errorf("%s\n  printed as %s\n  first\n%s\n  second\n%s", sql, text, ast.Dump(first), ast.Dump(second))
		return
	}
	if again := deparse.Statement(second); again != text {
		t.Errorf("%s\n  printed as %s\n  then as    %s", sql, text, again)
	}
}

// FuzzRoundTrip: whatever text the parser accepts, its printed form is read
// back to the same tree.
func FuzzRoundTrip(f *testing.F) {
	files, err := filepath.Glob("../parser/testdata/corpus/*.sql")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for _, sql := range strings.Split(string(text), "\n\n") {
			f.Add(sql)
		}
	}
	f.Fuzz(func(t *testing.T, sql string) {
		// The printed form has the depth of the tree, not of the text, and may be
		// longer: stay clear of the limits.
		if len(sql) > 2000 {
			return
		}
		if _, err := parser.ParseOne(sql); err != nil {
			return
		}
		roundTrip(t, sql)
	})
}
