package loam_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// The words that users read keep a few rules; what holds for one message is looked
// for in all of them.

// endsWell: a hint is one or more sentences. It ends as a sentence does, or with
// text to copy behind a colon, where a period could be taken for a part of it.
func endsWell(hint string) bool {
	return strings.HasSuffix(hint, ".") && !strings.HasSuffix(hint, "..") || strings.HasSuffix(hint, "?") || strings.Contains(hint, ": ")
}

func TestEndsWell(t *testing.T) {
	for hint, want := range map[string]bool{
		"Write VECTOR(384).": true, "Did you mean upper?": true, "Start one with: loam serve": true,
		"Name it with AS": false, "": false, "The columns are a, b..": false,
	} {
		if endsWell(hint) != want {
			t.Errorf("%q: %t", hint, !want)
		}
	}
}

// TestHintsInCode reads the literals of WithHint and of the field Hint.
func TestHintsInCode(t *testing.T) {
	seen := 0
	check := func(files *token.FileSet, e ast.Expr) {
		lit, ok := e.(*ast.BasicLit)
		if !ok || lit.Kind != token.STRING {
			return
		}
		hint, err := strconv.Unquote(lit.Value)
		seen++
		if err != nil || hint != "%s" && !endsWell(hint) {
			t.Errorf("%s: the hint %s does not end with a period, a question mark or text to copy behind a colon", files.Position(lit.Pos()), lit.Value)
		}
	}
	eachFile(t, ".go", func(path string, text []byte) {
		if strings.HasSuffix(path, "_test.go") {
			return
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, path, text, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch x := n.(type) {
			case *ast.CallExpr:
				if f, ok := x.Fun.(*ast.SelectorExpr); ok && f.Sel.Name == "WithHint" && len(x.Args) > 0 {
					check(files, x.Args[0])
				}
			case *ast.AssignStmt:
				if f, ok := x.Lhs[0].(*ast.SelectorExpr); ok && f.Sel.Name == "Hint" {
					check(files, x.Rhs[0])
				}
			}
			return true
		})
	})
	if seen < 300 {
		t.Errorf("%d hints were found, there are more", seen)
	}
}

var (
	hintLine = regexp.MustCompile(`^ *(?:hint|HINT): (.*)$`)
	oneMany  = regexp.MustCompile(`\b1 (?:arguments|characters|columns|dimensions|elements|groups|keys|numbers|objects|parameters|parts|values)\b`)
)

// TestHintsInGoldenFiles: also hints that code puts together, and counted words.
func TestHintsInGoldenFiles(t *testing.T) {
	seen := 0
	eachFile(t, "", func(path string, text []byte) {
		if !strings.Contains(path, "testdata") && filepath.Ext(path) != ".md" || strings.HasPrefix(path, "storage/lance/") {
			return
		}
		for i, line := range strings.Split(string(text), "\n") {
			if m := hintLine.FindStringSubmatch(line); m != nil {
				seen++
				if !endsWell(m[1]) {
					t.Errorf("%s:%d: the hint %q does not end well", path, i+1, m[1])
				}
			}
			if m := oneMany.FindString(line); m != "" {
				t.Errorf("%s:%d: %q is for fail.Count", path, i+1, m)
			}
		}
	})
	if seen < 300 {
		t.Errorf("%d hints were found, there are more", seen)
	}
}

// eachFile reads the text files of the module with an extension, or all.
func eachFile(t *testing.T, ext string, do func(path string, text []byte)) {
	t.Helper()
	const largest = 1 << 20
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			if err == nil && path != "." && strings.HasPrefix(d.Name(), ".") {
				return filepath.SkipDir
			}
			return err
		}
		info, err := d.Info()
		if err != nil || info.Size() > largest || !info.Mode().IsRegular() || ext != "" && filepath.Ext(path) != ext {
			return err
		}
		text, err := os.ReadFile(path)
		if err == nil {
			do(path, text)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
