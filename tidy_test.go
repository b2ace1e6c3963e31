package loam

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"
)

// The figures of the house style. They only tighten.
const (
	maxFileLines    = 1000
	maxFileMedian   = 180
	maxFileP90      = 450
	maxFuncLines    = 100
	maxComplexity   = 50
	usualComplexity = 15
	// usualShare is the share of functions that stay within usualComplexity, in percent.
	usualShare = 95
	maxGolden  = 300
)

// dispatchers are the listed functions that may reach 150 lines: one a room, a
// switch over all kinds of a thing.
var dispatchers = map[string]bool{}

const maxDispatcher = 150

// source is one parsed Go file of the project, generated files left out.
type sourceFile struct {
	path  string
	lines int
	file  *ast.File
	fset  *token.FileSet
	test  bool
}

func readSources(t *testing.T) []sourceFile {
	t.Helper()
	var out []sourceFile
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") && path != "." || d.Name() == "conformance" || d.Name() == "bench") {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(path, ".go") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if strings.Contains(string(text), "// Code generated ") {
			return nil
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, path, text, parser.ParseComments)
		if err != nil {
			return err
		}
		out = append(out, sourceFile{path, strings.Count(string(text), "\n"), f, fset, strings.HasSuffix(path, "_test.go")})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestFileLengths(t *testing.T) {
	var lengths []int
	for _, s := range readSources(t) {
		if s.lines > maxFileLines {
			t.Errorf("%s has %d lines; a file has at most %d", s.path, s.lines, maxFileLines)
		}
		if !s.test {
			lengths = append(lengths, s.lines)
		}
	}
	sort.Ints(lengths)
	median, p90 := lengths[len(lengths)/2], lengths[len(lengths)*9/10]
	if median > maxFileMedian || p90 > maxFileP90 {
		t.Errorf("files: median %d lines (at most %d), p90 %d (at most %d)", median, maxFileMedian, p90, maxFileP90)
	}
}

func TestFunctions(t *testing.T) {
	total, complex := 0, 0
	for _, s := range readSources(t) {
		for _, d := range s.file.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Body == nil {
				continue
			}
			name := s.path + ":" + fn.Name.Name
			lines := s.fset.Position(fn.End()).Line - s.fset.Position(fn.Pos()).Line + 1
			if limit := limitOf(name); lines > limit && !s.test {
				t.Errorf("%s has %d lines; a function has at most %d", name, lines, limit)
			}
			if s.test {
				continue
			}
			c := cognitive(fn.Body)
			if c > maxComplexity {
				t.Errorf("%s has the cognitive complexity %d; at most %d is allowed", name, c, maxComplexity)
			}
			total++
			if c > usualComplexity {
				complex++
			}
		}
	}
	if 100*(total-complex) < usualShare*total {
		t.Errorf("%d of %d functions have a cognitive complexity over %d", complex, total, usualComplexity)
	}
}

func limitOf(name string) int {
	if dispatchers[name] {
		return maxDispatcher
	}
	return maxFuncLines
}

// cognitive is the cognitive complexity of a body (Campbell, 2018): one for each
// break of the flow, plus its nesting; one for each run of like boolean operators.
func cognitive(body ast.Node) int {
	score := 0
	var visit func(n ast.Node, nesting int)
	children := func(n ast.Node, nesting int) {
		ast.Inspect(n, func(c ast.Node) bool {
			if c == n || c == nil {
				return c == n
			}
			visit(c, nesting)
			return false
		})
	}
	var ifStmt func(s *ast.IfStmt, nesting int, chained bool)
	ifStmt = func(s *ast.IfStmt, nesting int, chained bool) {
		score++
		if !chained {
			score += nesting
		}
		if s.Init != nil {
			visit(s.Init, nesting)
		}
		visit(s.Cond, nesting)
		children(s.Body, nesting+1)
		switch e := s.Else.(type) {
		case *ast.IfStmt:
			ifStmt(e, nesting, true)
		case *ast.BlockStmt:
			score++
			children(e, nesting+1)
		}
	}
	visit = func(n ast.Node, nesting int) {
		switch s := n.(type) {
		case *ast.IfStmt:
			ifStmt(s, nesting, false)
		case *ast.ForStmt, *ast.RangeStmt, *ast.SwitchStmt, *ast.TypeSwitchStmt, *ast.SelectStmt:
			score += 1 + nesting
			children(n, nesting+1)
		case *ast.FuncLit:
			children(s.Body, nesting+1)
		case *ast.BranchStmt:
			if s.Label != nil {
				score++
			}
		case *ast.BinaryExpr:
			if s.Op == token.LAND || s.Op == token.LOR {
				if p, ok := s.X.(*ast.BinaryExpr); !ok || p.Op != s.Op {
					score++
				}
			}
			children(n, nesting)
		default:
			children(n, nesting)
		}
	}
	children(body, 0)
	return score
}

func TestExportedNamesAreDocumented(t *testing.T) {
	documented := map[string]bool{}
	for _, s := range readSources(t) {
		if s.test {
			continue
		}
		dir := filepath.Dir(s.path)
		documented[dir] = documented[dir] || s.file.Doc != nil
		for _, d := range s.file.Decls {
			for _, name := range undocumented(d) {
				t.Errorf("%s: %s has no doc comment", s.path, name)
			}
		}
	}
	for dir, ok := range documented {
		if !ok {
			t.Errorf("package %s has no package comment", dir)
		}
	}
}

// undocumented lists the exported names of a declaration without a comment. A
// run of one-line methods shares the comment of the first.
func undocumented(d ast.Decl) []string {
	var out []string
	switch x := d.(type) {
	case *ast.FuncDecl:
		if x.Name.IsExported() && x.Doc == nil && exportedReceiver(x) && !oneLine(x) {
			out = append(out, x.Name.Name)
		}
	case *ast.GenDecl:
		for _, spec := range x.Specs {
			switch s := spec.(type) {
			case *ast.TypeSpec:
				if s.Name.IsExported() && s.Doc == nil && x.Doc == nil {
					out = append(out, s.Name.Name)
				}
			case *ast.ValueSpec:
				if s.Names[0].IsExported() && s.Doc == nil && s.Comment == nil && x.Doc == nil {
					out = append(out, s.Names[0].Name)
				}
			}
		}
	}
	return out
}

func exportedReceiver(f *ast.FuncDecl) bool {
	if f.Recv == nil {
		return true
	}
	t := f.Recv.List[0].Type
	if p, ok := t.(*ast.StarExpr); ok {
		t = p.X
	}
	if g, ok := t.(*ast.IndexExpr); ok {
		t = g.X
	}
	id, ok := t.(*ast.Ident)
	return ok && id.IsExported()
}

// oneLine methods of a sealed family stand in a block under one comment.
func oneLine(f *ast.FuncDecl) bool {
	return f.Recv != nil && f.Body != nil && len(f.Body.List) <= 1
}

func TestBans(t *testing.T) {
	for _, s := range readSources(t) {
		if s.test {
			continue
		}
		for _, g := range s.file.Comments {
			if strings.Contains(g.Text(), "TO"+"DO") || strings.Contains(g.Text(), "FIX"+"ME") {
				t.Errorf("%s: finish it or write an issue, do not leave a mark", s.fset.Position(g.Pos()))
			}
		}
		if s.path == filepath.Join("internal", "fail", "bug.go") {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok {
				if id, ok := call.Fun.(*ast.Ident); ok && id.Name == "panic" {
					t.Errorf("%s: use fail.Bug instead of panic", s.fset.Position(n.Pos()))
				}
			}
			return true
		})
	}
}

func TestGoldenFilesAreShort(t *testing.T) {
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.Contains(path, "testdata") || filepath.Ext(path) != ".golden" {
			return err
		}
		text, err := os.ReadFile(path)
		if n := strings.Count(string(text), "\n"); err == nil && n > maxGolden {
			err = fmt.Errorf("%s has %d lines; nobody checks more than %d by eye", path, n, maxGolden)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
