package load

import (
	"bufio"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/loamdb/loam/internal/datafile"
	"github.com/loamdb/loam/internal/fail"
)

// item is one file of a load.
type item struct {
	name string // as people read it
	path string // absolute, for the state file; "" for standard input
	size int64  // in bytes; 0 when nobody knows
	id   identity

	// The tracker guards these.
	done     ranges
	complete bool
	open     int // units that are under way
	ended    bool
}

// stdin is the argument that means standard input.
const stdin = "-"

// expand turns arguments into files: globs (** too), directories, standard input.
// Files come in the order of the arguments, within one by name; each once.
func expand(args []string, o *Options) ([]*item, error) {
	var out []*item
	seen := map[string]bool{}
	for _, arg := range args {
		if arg == stdin {
			out = append(out, &item{name: "standard input"})
			continue
		}
		names, err := filesOf(arg, o)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			abs, err := filepath.Abs(name)
			if err != nil {
				return nil, err
			}
			if seen[abs] {
				continue
			}
			seen[abs] = true
			it := &item{name: name, path: abs}
			if it.id, err = identify(abs); err != nil {
				return nil, cannotRead(name, err)
			}
			it.size = it.id.Size
			out = append(out, it)
		}
	}
	return out, nil
}

func cannotRead(name string, err error) error {
	if e, ok := err.(*fs.PathError); ok {
		err = e.Err
	}
	return fail.New(fail.InvalidParameter, "%s cannot be read: %v", name, err)
}

// filesOf are the files of one argument.
func filesOf(arg string, o *Options) ([]string, error) {
	info, err := os.Stat(arg)
	switch {
	case err == nil && info.IsDir():
		return dataFiles(arg)
	case err == nil:
		return []string{arg}, nil
	case strings.ContainsAny(arg, "*?["):
		return glob(arg)
	}
	e := fail.As(cannotRead(arg, err))
	if near := neighbour(arg); near != "" {
		return nil, e.WithHint("Did you mean %s?", near)
	}
	return nil, e
}

// neighbour is a file whose name is like that of one that is not there.
func neighbour(name string) string {
	entries, err := os.ReadDir(filepath.Dir(name))
	if err != nil {
		return ""
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if near := fail.Closest(filepath.Base(name), names); near != "" {
		return filepath.Join(filepath.Dir(name), near)
	}
	return ""
}

// dataFiles are the files of a directory and those below it that have the name
// of a data file; hidden ones are passed over.
func dataFiles(dir string) ([]string, error) {
	var out []string
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return cannotRead(p, err)
		case strings.HasPrefix(d.Name(), ".") && p != dir:
			if d.IsDir() {
				return filepath.SkipDir
			}
		case d.Type().IsRegular() && datafile.FormatOfName(p) != "":
			out = append(out, p)
		}
		return nil
	})
	if err == nil && len(out) == 0 {
		err = fail.New(fail.InvalidParameter, "the directory %s has no data files", dir).
			WithHint("Data files end in .csv, .tsv, .json, .jsonl, .parquet or .arrow, plain or with .gz or .zst.")
	}
	return out, err
}

// glob expands *, ?, […] within names and ** over directories.
func glob(pattern string) ([]string, error) {
	parts := strings.Split(filepath.ToSlash(filepath.Clean(pattern)), "/")
	root := 0
	for root < len(parts) && !strings.ContainsAny(parts[root], "*?[") {
		root++
	}
	dir := strings.Join(parts[:root], "/")
	switch {
	case root == 0:
		dir = "."
	case dir == "":
		dir = "/"
	}
	for _, p := range parts[root:] {
		if _, err := path.Match(p, ""); err != nil {
			return nil, fail.New(fail.InvalidParameter, "%s is not a pattern of file names: %v", pattern, err)
		}
	}
	var out []string
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			if p == dir && errors.Is(err, fs.ErrNotExist) {
				return filepath.SkipAll
			}
			return cannotRead(p, err)
		}
		rel, err := filepath.Rel(dir, p)
		if err != nil || d.IsDir() {
			return err
		}
		if matches(parts[root:], strings.Split(filepath.ToSlash(rel), "/")) {
			out = append(out, p)
		}
		return nil
	})
	if err == nil && len(out) == 0 {
		err = fail.New(fail.InvalidParameter, "no file matches %s", pattern)
	}
	return out, err
}

// matches reports whether the names of a path match the parts of a pattern.
// Hidden names match only where the pattern says the dot.
func matches(pattern, names []string) bool {
	if len(pattern) == 0 {
		return len(names) == 0
	}
	if pattern[0] == "**" {
		if matches(pattern[1:], names) {
			return true
		}
		return len(names) > 0 && !strings.HasPrefix(names[0], ".") && matches(pattern, names[1:])
	}
	if len(names) == 0 || strings.HasPrefix(names[0], ".") && !strings.HasPrefix(pattern[0], ".") {
		return false
	}
	ok, _ := path.Match(pattern[0], names[0])
	return ok && matches(pattern[1:], names[1:])
}

// opened is a file that is being read.
type opened struct {
	*datafile.Reader
	close func()
}

// Close closes reader and file.
func (o *opened) Close() {
	o.Reader.Close()
	o.close()
}

// openItem opens a file and finds out what it is.
func (l *loader) openItem(it *item) (*opened, error) {
	in := datafile.Input{Name: it.name}
	closer := func() {}
	if it.path == "" {
		spooled, err := l.standardInput(&in)
		if err != nil {
			return nil, err
		}
		closer = spooled
	} else {
		f, err := os.Open(it.path)
		if err != nil {
			return nil, cannotRead(it.name, err)
		}
		closer = func() { _ = f.Close() }
		in.Reader, in.At, in.Size = countingReader{f, l.status}, countingAt{f, l.status}, it.size
	}
	r, err := datafile.Open(in, l.fileOptions())
	if err != nil {
		closer()
		return nil, err
	}
	return &opened{r, closer}, nil
}

// standardInput reads from standard input. Parquet is copied to a file first,
// for it is read from its end.
func (l *loader) standardInput(in *datafile.Input) (func(), error) {
	b := bufio.NewReader(l.io.In)
	in.Reader = countingReader{b, l.status}
	if head, _ := b.Peek(4); string(head) != "PAR1" {
		return func() {}, nil
	}
	f, err := os.CreateTemp("", "loam-load-*.parquet")
	if err != nil {
		return nil, fail.Wrap(fail.InvalidParameter, err, "a place for standard input")
	}
	done := func() { _, _ = f.Close(), os.Remove(f.Name()) }
	n, err := io.Copy(f, b)
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		done()
		return nil, fail.Wrap(fail.InvalidParameter, err, "standard input")
	}
	in.Reader, in.At, in.Size = f, f, n
	return done, nil
}

func (l *loader) fileOptions() datafile.Options {
	o := l.opts.file
	if l.target != nil {
		o.Names = l.target.columnNames()
	}
	return o
}
