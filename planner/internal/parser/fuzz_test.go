package parser_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/planner/internal/ast"
	"github.com/loamdb/loam/planner/internal/parser"
)

// FuzzParse: any text gives trees of bounded depth whose nodes lie in the text,
// or an error of one of the parser's codes with a place.
func FuzzParse(f *testing.F) {
	for _, sql := range corpus(f) {
		f.Add(sql)
	}
	files, _ := filepath.Glob("testdata/errors/*")
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for _, sql := range strings.Split(string(text), "\n") {
			f.Add(sql)
		}
	}
	f.Fuzz(func(t *testing.T, sql string) {
		stmts, err := parser.Parse(sql)
		if err != nil {
			e := fail.As(err)
			switch e.Code {
			case fail.Syntax, fail.TooDeep, fail.Unsupported, fail.InvalidEncoding:
				if e.Pos.Line == 0 || e.Pos.Offset > len(sql) {
					t.Errorf("no place: %v", err)
				}
			case fail.TooLarge:
			default:
				t.Errorf("code %v: %v", e.Code, err)
			}
			return
		}
		end := 0
		for _, s := range stmts {
			if s.Pos() < end || s.End() > len(sql) {
				t.Errorf("statement at [%d,%d) after %d", s.Pos(), s.End(), end)
			}
			end = s.End()
			if d := ast.Depth(s); d > parser.MaxDepth*nodesPerLevel {
				t.Errorf("depth %d", d)
			}
			checkPlaces(t, sql, s)
		}
	})
}

func BenchmarkParseTPCH(b *testing.B) {
	text, err := os.ReadFile("testdata/corpus/tpch.sql")
	if err != nil {
		b.Fatal(err)
	}
	queries := strings.Split(string(text), "\n\n")
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		for _, q := range queries {
			if _, err := parser.ParseOne(q); err != nil {
				b.Fatal(err)
			}
		}
	}
}
