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

	"github.com/loamdb/loam/cmd/loam/internal/passages"
	"github.com/loamdb/loam/internal/datafile"
	"github.com/loamdb/loam/internal/fail"
)

// item is one file of a load.
type item struct {
	name string // as people read it
	path string // absolute, for the state file; "" for standard input
	rel  string // what the ids of a text's passages begin with
	text bool   // it is split into passages
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

// textFormat is the --format of texts.
const textFormat = "text"

// file is what an argument names: where it lies, and how ids call it.
type file struct {
	name, rel string
	text      bool
}

// expand turns arguments into files: globs (** too), directories, standard input.
// Files come in the order of the arguments, within one by name; each once.
func expand(args []string, o *Options) ([]*item, error) {
	var out []*item
	seen, rels := map[string]bool{}, map[string]string{}
	for _, arg := range args {
		if arg == stdin {
			out = append(out, &item{name: "standard input"})
			continue
		}
		found, err := filesOf(arg, len(args) > 1, o)
		if err != nil {
			return nil, err
		}
		for _, f := range found {
			it, err := newItem(f)
			if err != nil {
				return nil, err
			}
			if seen[it.path] {
				continue
			}
			seen[it.path] = true
			if other := rels[it.rel]; it.text && other != "" {
				return nil, fail.New(fail.InvalidParameter, "%s and %s would both have the ids %s#…", other, it.name, it.rel).
					WithHint("Load them into two collections, or name a directory above both.")
			}
			rels[it.rel] = it.name
			out = append(out, it)
		}
	}
	return out, nil
}

func newItem(f file) (*item, error) {
	abs, err := filepath.Abs(f.name)
	if err != nil {
		return nil, cannotRead(f.name, err)
	}
	it := &item{name: f.name, path: abs, rel: f.rel, text: f.text}
	if it.id, err = identify(abs); err != nil {
		return nil, cannotRead(f.name, err)
	}
	it.size = it.id.Size
	return it, nil
}

func cannotRead(name string, err error) error {
	var e *fs.PathError
	if errors.As(err, &e) {
		err = e.Err
	}
	return fail.New(fail.InvalidParameter, "%s cannot be read: %v", name, err)
}

// filesOf are the files of one argument. With others beside it, the ids of a
// directory's texts begin with its name.
func filesOf(arg string, others bool, o *Options) ([]file, error) {
	info, err := os.Stat(arg)
	switch {
	case err == nil && info.IsDir():
		prefix := ""
		if abs, err := filepath.Abs(arg); err == nil && others {
			prefix = filepath.Base(abs) + "/"
		}
		return directory(arg, prefix, o)
	case err == nil:
		return []file{single(arg, o)}, nil
	case strings.ContainsAny(arg, "*?["):
		names, err := glob(arg)
		var out []file
		for _, n := range names {
			out = append(out, single(n, o))
		}
		return out, err
	}
	e := fail.As(cannotRead(arg, err))
	if near := neighbor(arg); near != "" {
		return nil, e.WithHint("Did you mean %s?", near)
	}
	return nil, e
}

// single is a file that is named by itself, or by a glob.
func single(name string, o *Options) file {
	text := o.Format == textFormat || o.Format == "" && datafile.FormatOfName(name) == "" && passages.Known(name)
	return file{name: name, rel: filepath.ToSlash(filepath.Clean(name)), text: text}
}

// neighbor is a file whose name is like that of one that is not there.
func neighbor(name string) string {
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

// directory is the data files or the texts of a directory and of those below it.
// Hidden files, links and what .gitignore names are passed over.
func directory(dir, prefix string, o *Options) ([]file, error) {
	texts, data, err := walk(dir, prefix)
	switch {
	case err != nil:
		return nil, err
	case o.Format == textFormat || o.Format == "" && len(data) == 0:
		data = texts
	case o.Format == "" && len(texts) > 0:
		return nil, fail.New(fail.InvalidParameter, "the directory %s has %s (such as %s) and %s (such as %s)", dir,
			plural(int64(len(texts)), "text"), texts[0].rel, plural(int64(len(data)), "data file"), data[0].rel).
			WithHint("Take the texts with --format text, or the data with a pattern: %q", filepath.Join(dir, "**", "*"+filepath.Ext(data[0].name)))
	}
	if len(data) == 0 {
		return nil, fail.New(fail.InvalidParameter, "the directory %s has no files that can be loaded", dir).
			WithHint("Data files end in .csv, .tsv, .json, .jsonl, .parquet or .arrow, plain or with .gz or .zst; texts in .md, .txt, .html, .go, .py and the like.")
	}
	return data, nil
}

func walk(dir, prefix string) (texts, data []file, err error) {
	rules := map[string]ignores{}
	err = filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return cannotRead(p, err)
		}
		rel, err := filepath.Rel(dir, p)
		if err != nil {
			return cannotRead(p, err)
		}
		rel = filepath.ToSlash(rel)
		above := rules[path.Dir(rel)]
		if rel == "." {
			rules["."] = ignores{}.read(dir, "")
			return nil
		}
		if strings.HasPrefix(d.Name(), ".") || above.match(rel, d.IsDir()) {
			if d.IsDir() {
				return filepath.SkipDir
			}
			return nil
		}
		f := file{name: p, rel: prefix + rel, text: datafile.FormatOfName(p) == "" && passages.Known(p)}
		switch {
		case d.IsDir():
			rules[rel] = above.read(dir, rel)
		case !d.Type().IsRegular():
		case f.text:
			texts = append(texts, f)
		case datafile.FormatOfName(p) != "":
			data = append(data, f)
		}
		return nil
	})
	return texts, data, err
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
	var closer func()
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
