package demo

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/build"
	"go/doc"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// parsedPackage is one folder's package as go/doc sees it.
type parsedPackage struct {
	doc     *doc.Package
	printer printer
	lines   int
	imports []string
}

// packageParser parses folders of one file system. Files are chosen as a build
// for linux/amd64 without cgo chooses them, so that every host sees the same
// symbols.
type packageParser struct {
	fsys  fs.FS
	match build.Context
}

func newPackageParser(fsys fs.FS) *packageParser {
	match := build.Context{
		GOOS: "linux", GOARCH: "amd64", Compiler: "gc",
		ReleaseTags: build.Default.ReleaseTags,
		JoinPath:    path.Join,
		OpenFile:    func(name string) (io.ReadCloser, error) { return fsys.Open(name) },
	}
	return &packageParser{fsys: fsys, match: match}
}

// parse returns the package of the folder, or nil where the folder holds none
// that can be imported.
func (p *packageParser) parse(dir string) (*parsedPackage, error) {
	entries, err := fs.ReadDir(p.fsys, dir)
	if err != nil {
		return nil, err
	}
	fset := token.NewFileSet()
	var files []*ast.File
	lines := 0
	for _, entry := range entries {
		name := entry.Name()
		if entry.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, count, err := p.parseFile(fset, dir, name)
		if err != nil {
			return nil, err
		}
		if file == nil {
			continue
		}
		if len(files) > 0 && file.Name.Name != files[0].Name.Name {
			return nil, fmt.Errorf("%s holds package %s and, in %s, package %s", dir, files[0].Name.Name, name, file.Name.Name)
		}
		files = append(files, file)
		lines += count
	}
	if len(files) == 0 || files[0].Name.Name == "main" {
		return nil, nil
	}
	imports := importsOf(files)
	pkg, err := doc.NewFromFiles(fset, files, strings.TrimPrefix(dir, "src/"))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	return &parsedPackage{doc: pkg, printer: printer{fset}, lines: lines, imports: imports}, nil
}

// parseFile parses one file and counts its lines; nil where the build leaves it out.
func (p *packageParser) parseFile(fset *token.FileSet, dir, name string) (*ast.File, int, error) {
	ok, err := p.match.MatchFile(dir, name)
	if err != nil || !ok {
		return nil, 0, err
	}
	full := path.Join(dir, name)
	source, err := fs.ReadFile(p.fsys, full)
	if err != nil {
		return nil, 0, err
	}
	file, err := parser.ParseFile(fset, full, source, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, 0, err
	}
	return file, bytes.Count(source, []byte("\n")), nil
}

// importsOf lists the import paths of the files, sorted, each once.
func importsOf(files []*ast.File) []string {
	var paths []string
	for _, file := range files {
		for _, spec := range file.Imports {
			if p, err := strconv.Unquote(spec.Path.Value); err == nil {
				paths = append(paths, p)
			}
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}
