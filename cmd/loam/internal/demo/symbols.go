package demo

import (
	"cmp"
	"context"
	"fmt"
	"go/ast"
	"go/doc"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/loamdb/loam/internal/fail"
)

// The kinds of a [Symbol].
const (
	KindFunc   = "func"
	KindMethod = "method"
	KindType   = "type"
	KindConst  = "const"
	KindVar    = "var"
)

// Symbol is one documented exported name of the standard library.
type Symbol struct {
	// ID is unique within a [Library] and stable over hosts and, while the name
	// exists, over Go releases: "strings.Builder.WriteString",
	// "crypto/subtle.ConstantTimeCompare".
	ID string
	// Package is the import path.
	Package string
	// Kind is one of the Kind constants.
	Kind string
	// Name is the name within the package; a method's carries its type
	// ("Builder.WriteString").
	Name string
	// Signature is the declaration on one line, without a body; the fields of a
	// struct are left out.
	Signature string
	// Doc is the doc comment as plain text, at least two words. For a constant or
	// variable it is the name's own comment, never that of a group of several.
	Doc string
}

// EmbeddingText is the text that stands for the symbol when a sentence model
// embeds it.
func (s Symbol) EmbeddingText() string {
	return s.Package + "." + s.Name + ": " + s.Signature + ". " + s.Doc
}

// Package is one importable package of the standard library.
type Package struct {
	// Path is the import path.
	Path string
	// Synopsis is the first sentence of the package's documentation; it may be empty.
	Synopsis string
	// Lines counts the lines of the package's files, tests apart.
	Lines int
	// ExportedSymbols counts exported names, documented or not.
	ExportedSymbols int
	// Imports are the import paths of the package's files, sorted.
	Imports []string
}

// Library is the documentation of one Go release. It is plain data; nobody
// changes it after [ReadLibrary] returned it, so any number may read it.
type Library struct {
	// GoVersion is as in the file VERSION, such as "go1.26.8"; empty where there is none.
	GoVersion string
	// Packages are ordered by path.
	Packages []Package
	// Symbols are ordered by package and, within it, by name.
	Symbols []Symbol
}

// ReadLibrary reads the public packages under src of a Go installation: all but
// commands, internal and vendored packages, tests and test data. goroot is a
// file system rooted at the installation. An unreadable or unparsable file is
// an error that names it; a tree without any package is one too.
func ReadLibrary(ctx context.Context, goroot fs.FS) (*Library, error) {
	lib := &Library{GoVersion: goVersion(goroot)}
	parser := newPackageParser(goroot)
	err := fs.WalkDir(goroot, "src", func(dir string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if !entry.IsDir() {
			return nil
		}
		if skipDir(dir) {
			return fs.SkipDir
		}
		parsed, err := parser.parse(dir)
		if err != nil || parsed == nil {
			return err
		}
		lib.add(parsed)
		return nil
	})
	if ctx.Err() != nil {
		return nil, fail.Wrap(fail.Canceled, ctx.Err(), "reading Go's documentation")
	}
	if err != nil {
		return nil, fail.Wrap(fail.InvalidParameter, err, "reading Go's documentation")
	}
	if len(lib.Symbols) == 0 {
		return nil, fail.New(fail.InvalidParameter, "no Go packages under src").
			WithHint("Name the root of a Go installation, the folder that holds src/fmt.")
	}
	slices.SortFunc(lib.Packages, func(a, b Package) int { return cmp.Compare(a.Path, b.Path) })
	slices.SortFunc(lib.Symbols, func(a, b Symbol) int {
		return cmp.Or(cmp.Compare(a.Package, b.Package), cmp.Compare(a.Name, b.Name))
	})
	for i := 1; i < len(lib.Symbols); i++ {
		if id := lib.Symbols[i].ID; id == lib.Symbols[i-1].ID {
			return nil, fail.New(fail.InvalidParameter, "%s is declared twice", id).
				WithHint("The sources are not those of a Go release that builds.")
		}
	}
	return lib, nil
}

func goVersion(goroot fs.FS) string {
	text, err := fs.ReadFile(goroot, "VERSION")
	if err != nil {
		return ""
	}
	first, _, _ := strings.Cut(string(text), "\n")
	return strings.TrimSpace(first)
}

// skipDir says whether a folder (a slash path that starts with "src") and all
// below it hold no public package.
func skipDir(dir string) bool {
	switch dir {
	case "src/cmd", "src/builtin": // builtin documents the language and cannot be imported
		return true
	}
	base := path.Base(dir)
	switch base {
	case "internal", "vendor", "testdata":
		return true
	}
	return strings.HasPrefix(base, "_") || strings.HasPrefix(base, ".")
}

// add appends a package and its documented symbols.
func (lib *Library) add(p *parsedPackage) {
	c := collector{pkg: p.doc.ImportPath, print: p.printer}
	c.values(KindConst, p.doc.Consts)
	c.values(KindVar, p.doc.Vars)
	c.funcs(p.doc.Funcs)
	for _, t := range p.doc.Types {
		c.typ(t)
	}
	if c.exported == 0 {
		return
	}
	lib.Packages = append(lib.Packages, Package{
		Path:            p.doc.ImportPath,
		Synopsis:        p.doc.Synopsis(p.doc.Doc),
		Lines:           p.lines,
		ExportedSymbols: c.exported,
		Imports:         p.imports,
	})
	lib.Symbols = append(lib.Symbols, c.symbols...)
}

// collector turns the declarations of one package into symbols. exported counts
// every name it was shown, with documentation or without.
type collector struct {
	pkg      string
	print    printer
	symbols  []Symbol
	exported int
}

func (c *collector) emit(kind, name, signature, text string) {
	c.exported++
	text = strings.TrimSpace(text)
	if !strings.ContainsAny(text, " \n") {
		return // a bare word, such as a relocation's other name, documents nothing
	}
	c.symbols = append(c.symbols, Symbol{
		ID: c.pkg + "." + name, Package: c.pkg, Kind: kind, Name: name,
		Signature: signature, Doc: text,
	})
}

func (c *collector) typ(t *doc.Type) {
	for _, spec := range t.Decl.Specs {
		if s, ok := spec.(*ast.TypeSpec); ok && s.Name.Name == t.Name {
			c.emit(KindType, t.Name, c.print.typeLine(s), t.Doc)
		}
	}
	c.values(KindConst, t.Consts)
	c.values(KindVar, t.Vars)
	c.funcs(t.Funcs)
	for _, m := range t.Methods {
		c.emit(KindMethod, fmt.Sprintf("%s.%s", t.Name, m.Name), c.print.funcLine(m.Decl), m.Doc)
	}
}

func (c *collector) funcs(list []*doc.Func) {
	for _, f := range list {
		c.emit(KindFunc, f.Name, c.print.funcLine(f.Decl), f.Doc)
	}
}

func (c *collector) values(kind string, groups []*doc.Value) {
	for _, group := range groups {
		for _, spec := range group.Decl.Specs {
			s, ok := spec.(*ast.ValueSpec)
			if !ok {
				continue
			}
			text := cmp.Or(strings.TrimSpace(s.Doc.Text()), strings.TrimSpace(s.Comment.Text()))
			if text == "" && len(group.Decl.Specs) == 1 {
				text = group.Doc
			}
			for i, name := range s.Names {
				if name.IsExported() {
					c.emit(kind, name.Name, c.print.valueLine(kind, s, i), text)
				}
			}
		}
	}
}
