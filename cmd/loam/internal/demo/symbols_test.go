package demo

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/loamdb/loam/internal/fail"
)

// readOnce reads the library of the Go release that runs the tests.
var readOnce = sync.OnceValues(func() (*Library, error) {
	root, err := FindGoroot(context.Background())
	if err != nil {
		return nil, err
	}
	return ReadLibrary(context.Background(), os.DirFS(root))
})

func libraryT(t *testing.T) *Library {
	t.Helper()
	lib, err := readOnce()
	if err != nil {
		t.Fatal(err)
	}
	return lib
}

func (lib *Library) symbol(t *testing.T, id string) Symbol {
	t.Helper()
	i := slices.IndexFunc(lib.Symbols, func(s Symbol) bool { return s.ID == id })
	if i < 0 {
		t.Fatalf("no symbol %s", id)
	}
	return lib.Symbols[i]
}

func TestLibraryIsWhole(t *testing.T) {
	lib := libraryT(t)
	if !strings.HasPrefix(lib.GoVersion, "go1.") {
		t.Errorf("version %q", lib.GoVersion)
	}
	if n := len(lib.Symbols); n < 5000 || n > 9000 {
		t.Errorf("%d symbols, want 5,000 to 9,000", n)
	}
	if n := len(lib.Packages); n < 130 || n > 250 {
		t.Errorf("%d packages, want 130 to 250", n)
	}
	known := map[string]bool{}
	for _, p := range lib.Packages {
		known[p.Path] = true
		if p.Lines == 0 || p.ExportedSymbols == 0 {
			t.Errorf("package %s: %d lines, %d symbols", p.Path, p.Lines, p.ExportedSymbols)
		}
		if !slices.IsSorted(p.Imports) {
			t.Errorf("package %s: imports not sorted: %v", p.Path, p.Imports)
		}
	}
	kinds := map[string]int{}
	seen := map[string]bool{}
	for _, s := range lib.Symbols {
		kinds[s.Kind]++
		switch {
		case seen[s.ID]:
			t.Errorf("id %s twice", s.ID)
		case s.ID != s.Package+"."+s.Name:
			t.Errorf("id %s is not package %s and name %s", s.ID, s.Package, s.Name)
		case !known[s.Package]:
			t.Errorf("%s: package %s is not in the table", s.ID, s.Package)
		case s.Signature == "" || strings.Contains(s.Signature, "\n") || s.Doc == "":
			t.Errorf("%s: signature %q, doc %q", s.ID, s.Signature, s.Doc)
		case strings.Contains("/"+s.Package+"/", "/internal/") || strings.Contains("/"+s.Package+"/", "/vendor/"):
			t.Errorf("%s is not public", s.ID)
		}
		seen[s.ID] = true
	}
	for _, kind := range []string{KindFunc, KindMethod, KindType, KindConst, KindVar} {
		if kinds[kind] < 200 {
			t.Errorf("%d symbols of kind %s", kinds[kind], kind)
		}
	}
	t.Logf("%s: %d packages, %d symbols, %v", lib.GoVersion, len(lib.Packages), len(lib.Symbols), kinds)
}

func TestKnownSymbols(t *testing.T) {
	lib := libraryT(t)
	for _, want := range []Symbol{
		{ID: "strings.Builder.WriteString", Kind: KindMethod, Name: "Builder.WriteString",
			Signature: "func (b *Builder) WriteString(s string) (int, error)", Doc: "WriteString appends the contents of s"},
		{ID: "crypto/subtle.ConstantTimeCompare", Kind: KindFunc, Name: "ConstantTimeCompare",
			Signature: "func ConstantTimeCompare(x, y []byte) int", Doc: "ConstantTimeCompare returns 1 if"},
		{ID: "io.Reader", Kind: KindType, Name: "Reader",
			Signature: "type Reader interface{ Read(p []byte) (n int, err error) }", Doc: "Reader is the interface"},
		{ID: "sync.Mutex", Kind: KindType, Name: "Mutex", Signature: "type Mutex struct{ ... }", Doc: "A Mutex is a mutual exclusion lock."},
		{ID: "io.EOF", Kind: KindVar, Name: "EOF", Signature: `var EOF = errors.New("EOF")`, Doc: "EOF is the error returned by Read"},
		{ID: "net/http.StatusOK", Kind: KindConst, Name: "StatusOK", Signature: "const StatusOK = 200", Doc: "RFC 9110"},
		{ID: "slices.Sort", Kind: KindFunc, Name: "Sort", Signature: "func Sort[S ~[]E, E cmp.Ordered](x S)", Doc: "Sort sorts a slice"},
		{ID: "time.AfterFunc", Kind: KindFunc, Name: "AfterFunc",
			Signature: "func AfterFunc(d Duration, f func()) *Timer", Doc: "AfterFunc waits for the duration to elapse"},
	} {
		got := lib.symbol(t, want.ID)
		if got.Kind != want.Kind || got.Name != want.Name || got.Signature != want.Signature || !strings.HasPrefix(got.Doc, want.Doc) {
			t.Errorf("%s:\n got %+v\nwant %+v", want.ID, got, want)
		}
	}
}

func TestKnownPackage(t *testing.T) {
	lib := libraryT(t)
	i := slices.IndexFunc(lib.Packages, func(p Package) bool { return p.Path == "bufio" })
	if i < 0 {
		t.Fatal("no package bufio")
	}
	p := lib.Packages[i]
	if !strings.HasPrefix(p.Synopsis, "Package bufio implements buffered I/O") || p.Lines < 500 ||
		!slices.Contains(p.Imports, "unicode/utf8") || p.ExportedSymbols < 40 {
		t.Fatalf("%+v", p)
	}
}

// tree is a small installation with everything that must be left out.
func tree() fstest.MapFS {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	return fstest.MapFS{
		"VERSION": file("go1.99\ntime 2026-01-01T00:00:00Z\n"),
		"src/fmt/print.go": file(`// Package fmt prints. It is small.
package fmt

import (
	"os"
	"io"
)

// W is where it prints.
type W struct {
	Out io.Writer // the sink
	n   int
}

// New makes one.
func New(out io.Writer) *W { return &W{Out: out} }

// Print prints.
func (w *W) Print(args ...any) { os.Exit(1) }

// The sizes of a print.
const (
	Small = 1 << iota // one of the small ones
	Large
	hidden
)

// Std is the standard place.
var Std, Err = New(os.Stdout), New(os.Stderr)

func Bare() {}

// R reads
// and writes.
type R interface {
	// Read reads.
	Read(p []byte) (n int, err error)
	io.Writer
}

// Empty has nothing.
type Empty struct{}

// Alias stands for W.
type Alias = W

// Of is generic.
type Of[T any] []T
`),
		"src/fmt/print_linux.go":      file("package fmt\n\n// OnLinux says so.\nfunc OnLinux() bool { return true }\n"),
		"src/fmt/print_windows.go":    file("package fmt\n\n// OnWindows says so.\nfunc OnWindows() bool { return true }\n"),
		"src/fmt/gen.go":              file("//go:build ignore\n\npackage main\n\nfunc main() {}\n"),
		"src/fmt/print_test.go":       file("package fmt\n\n// Tested is not shown.\nfunc Tested() {}\n"),
		"src/fmt/internal/x/x.go":     file("package x\n\n// X is not public.\nfunc X() {}\n"),
		"src/fmt/testdata/broken.go":  file("package {"),
		"src/vendor/golang/x/x.go":    file("package x\n\n// X is vendored here.\nfunc X() {}\n"),
		"src/cmd/go/x.go":             file("package x\n\n// X is a command.\nfunc X() {}\n"),
		"src/_hidden/x.go":            file("package x\n\n// X is hidden here.\nfunc X() {}\n"),
		"src/tool/main.go":            file("package main\n\n// Run runs the tool.\nfunc Run() {}\n"),
		"src/a/b/b.go":                file("package b\n\n// B is below a.\nfunc B() {}\n"),
		"src/undocumented/private.go": file("package undocumented\n\nfunc private() {}\n"),
	}
}

func TestReadSmallTree(t *testing.T) {
	lib, err := ReadLibrary(context.Background(), tree())
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.WriteString(lib.GoVersion + "\n")
	for _, s := range lib.Symbols {
		b.WriteString(strings.Join([]string{s.ID, s.Kind, s.Signature, strings.ReplaceAll(s.Doc, "\n", "⏎")}, " | ") + "\n")
	}
	want := `go1.99
a/b.B | func | func B() | B is below a.
fmt.Alias | type | type Alias = W | Alias stands for W.
fmt.Empty | type | type Empty struct{} | Empty has nothing.
fmt.Err | var | var Err = New(os.Stderr) | Std is the standard place.
fmt.New | func | func New(out io.Writer) *W | New makes one.
fmt.Of | type | type Of[T any] []T | Of is generic.
fmt.OnLinux | func | func OnLinux() bool | OnLinux says so.
fmt.R | type | type R interface{ Read(p []byte) (n int, err error); io.Writer } | R reads⏎and writes.
fmt.Small | const | const Small = 1 << iota | one of the small ones
fmt.Std | var | var Std = New(os.Stdout) | Std is the standard place.
fmt.W | type | type W struct{ ... } | W is where it prints.
fmt.W.Print | method | func (w *W) Print(args ...any) | Print prints.
`
	if got := b.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	packages := []Package{
		{Path: "a/b", Lines: 4, ExportedSymbols: 1},
		{Path: "fmt", Synopsis: "Package fmt prints.", Lines: 52, ExportedSymbols: 13, Imports: []string{"io", "os"}},
	}
	if !reflect.DeepEqual(lib.Packages, packages) {
		t.Errorf("got %+v\nwant %+v", lib.Packages, packages)
	}
}

func TestLongSignaturesAreCut(t *testing.T) {
	long := strings.Repeat("x", maxLine)
	lib, err := ReadLibrary(context.Background(), fstest.MapFS{"src/fmt/a.go": &fstest.MapFile{Data: []byte(
		"package fmt\n\n// V is long.\nvar V = \"" + long + "\"\n\n// I is long.\ntype I interface{ " + strings.ToUpper(long) + "() }\n\n" +
			"// E is empty.\ntype E interface{}\n\n// S hides a field.\ntype S struct{ hidden int }\n\n// H hides a method.\ntype H interface{ A(); b() }\n")}})
	if err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]string{
		"fmt.V": "var V = ...", "fmt.I": "type I interface{ ... }", "fmt.E": "type E interface{}",
		"fmt.S": "type S struct{ ... }", "fmt.H": "type H interface{ A(); ... }",
	} {
		if got := lib.symbol(t, id).Signature; got != want {
			t.Errorf("%s: %q, want %q", id, got, want)
		}
	}
}

func TestReadLibraryErrors(t *testing.T) {
	broken := tree()
	broken["src/fmt/broken.go"] = &fstest.MapFile{Data: []byte("package fmt\n\nfunc (")}
	mixed := tree()
	mixed["src/fmt/other.go"] = &fstest.MapFile{Data: []byte("package other\n\n// O is out of place.\nfunc O() {}\n")}
	twice := tree()
	twice["src/fmt/twice.go"] = &fstest.MapFile{Data: []byte("package fmt\n\n// Small is here again.\nvar Small = 1\n")}
	cases := []struct {
		name, want string
		fsys       fs.FS
	}{
		{"declared twice", "fmt.Small is declared twice", twice},
		{"no src", "src", fstest.MapFS{"VERSION": &fstest.MapFile{}}},
		{"no packages", "no Go packages", fstest.MapFS{"src/empty/README": &fstest.MapFile{}}},
		{"syntax", "src/fmt/broken.go:3", broken},
		{"two packages in a folder", "src/fmt", mixed},
		{"unreadable file", "src/fmt/print.go", faultyFS{tree(), "src/fmt/print.go"}},
		{"unreadable folder", "src/fmt", faultyFS{tree(), "src/fmt"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			lib, err := ReadLibrary(context.Background(), c.fsys)
			if lib != nil || !fail.Is(err, fail.InvalidParameter) || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("got %v, %v; want an error naming %q", lib, err, c.want)
			}
		})
	}
}

// faultyFS refuses to open one name.
type faultyFS struct {
	fs.FS
	bad string
}

func (f faultyFS) Open(name string) (fs.File, error) {
	if name == f.bad {
		return nil, &fs.PathError{Op: "open", Path: name, Err: errors.New("input/output error")}
	}
	return f.FS.Open(name)
}

func TestReadLibraryStopsWhenCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	lib, err := ReadLibrary(ctx, tree())
	if lib != nil || !fail.Is(err, fail.Canceled) || !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v, %v", lib, err)
	}
}

func TestFirstGoroot(t *testing.T) {
	good := t.TempDir()
	if err := os.MkdirAll(filepath.Join(good, "src", "fmt"), 0o755); err != nil {
		t.Fatal(err)
	}
	empty := t.TempDir()
	is := func(root string) func() string { return func() string { return root } }
	got, err := firstGoroot([]func() string{is(""), is(empty), is(good), func() string {
		t.Error("asked further after an answer")
		return ""
	}})
	if err != nil || got != good {
		t.Fatalf("got %q, %v", got, err)
	}
	for _, roots := range [][]func() string{nil, {is(""), is(empty)}} {
		_, err := firstGoroot(roots)
		if !fail.Is(err, fail.InvalidParameter) || !strings.Contains(err.Error(), "set GOROOT") {
			t.Fatalf("%v", err)
		}
		if len(roots) > 0 && !strings.Contains(err.Error(), empty) {
			t.Fatalf("the error does not say where it looked: %v", err)
		}
	}
}

func TestFindGorootByEnvironment(t *testing.T) {
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, "src", "fmt"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOROOT", root)
	if got, err := FindGoroot(context.Background()); err != nil || got != root {
		t.Fatalf("got %q, %v", got, err)
	}
}

func TestReadLibraryIsDeterministic(t *testing.T) {
	root, err := FindGoroot(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	again, err := ReadLibrary(context.Background(), os.DirFS(root))
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(again, libraryT(t)) {
		t.Fatal("two readings of one installation differ")
	}
	// An id's order and uniqueness do not depend on the order in which a file
	// system lists folders: sorting is by package and name alone.
	sorted := slices.IsSortedFunc(again.Symbols, func(a, b Symbol) int {
		return strings.Compare(a.Package+"\x00"+a.Name, b.Package+"\x00"+b.Name)
	})
	if !sorted {
		t.Fatal("symbols are not in order")
	}
}

// Any file either is refused or gives symbols that keep the contract.
func FuzzReadLibrary(f *testing.F) {
	for _, file := range tree() {
		f.Add(string(file.Data))
	}
	f.Add("package fmt\n\ntype A = struct{ B }\n\n// B b\ntype B interface{ ~int | *A; M() }\n\n// C c\nconst C, D = iota, 'x'\n")
	f.Fuzz(func(t *testing.T, source string) {
		lib, err := ReadLibrary(context.Background(), fstest.MapFS{"src/p/p.go": &fstest.MapFile{Data: []byte(source)}})
		if err != nil {
			if !fail.Is(err, fail.InvalidParameter) {
				t.Fatalf("not an error of the input: %v", err)
			}
			return
		}
		for i, s := range lib.Symbols {
			if strings.ContainsAny(s.Signature, "\n\t") || s.Signature == "" || s.Doc == "" || s.ID != "p."+s.Name {
				t.Errorf("%+v", s)
			}
			if i > 0 && lib.Symbols[i-1].ID >= s.ID {
				t.Errorf("%s after %s", s.ID, lib.Symbols[i-1].ID)
			}
		}
	})
}
