package loam

import (
	"context"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/loamdb/loam/exec"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
	"github.com/loamdb/loam/storage/lance"
)

// lanceDir is a dataset in an allowed directory. Every path that a manifest names
// goes through the same check as the path in the statement.
type lanceDir struct {
	engine *Engine
	root   string
}

func (e *Engine) openDataset(ctx context.Context, n *plan.FileScan) (*lance.Table, error) {
	name := n.Paths[0]
	root, err := e.allowed(name)
	if err != nil {
		return nil, err
	}
	if info, err := os.Stat(root); err != nil || !info.IsDir() {
		return nil, fail.New(fail.InvalidParameter, "%s is a file; a Lance dataset is a directory", name).
			WithHint("Name the directory that has _versions and data in it.")
	}
	t, err := lance.OpenTable(ctx, &lanceDir{engine: e, root: root}, lance.At{Tag: n.Tag, Version: n.Version})
	if err != nil {
		return nil, inDataset(name, err)
	}
	return t, nil
}

// inDataset names the dataset in front of what is wrong with it; the cure stays.
func inDataset(name string, err error) error {
	e := *fail.As(err)
	e.Message = "read_lance('" + name + "'): " + e.Message
	return &e
}

// Open implements lance.Store.
func (d *lanceDir) Open(_ context.Context, base, path string) (lance.StoredFile, error) {
	root := d.root
	if base != "" {
		place, err := localBase(base)
		if err != nil {
			return nil, err
		}
		if !filepath.IsAbs(place) {
			place = filepath.Join(d.root, place)
		}
		root = place
	}
	full := filepath.Join(root, filepath.FromSlash(path))
	if _, err := os.Lstat(full); errors.Is(err, fs.ErrNotExist) {
		return nil, fail.New(fail.UndefinedObject, "the file %s is not there", path)
	}
	real, err := d.engine.allowed(full)
	if err != nil {
		return nil, err
	}
	f, err := os.Open(real)
	if err != nil {
		return nil, fail.Wrap(fail.InvalidParameter, err, "file %s", path)
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fail.New(fail.InvalidParameter, "%s is no regular file", path)
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return &lanceFile{f, info.Size(), path}, nil
}

// localBase is the directory of a base path, which is a URI or a path.
func localBase(base string) (string, error) {
	if !strings.Contains(base, "://") {
		return base, nil
	}
	u, err := url.Parse(base)
	if err != nil || u.Scheme != "file" || (u.Host != "" && u.Host != "localhost") {
		return "", fail.New(fail.Unsupported, "files of the dataset lie in %s; only local directories are read", base)
	}
	return filepath.FromSlash(u.Path), nil
}

// List implements lance.Store.
func (d *lanceDir) List(_ context.Context, folder string) ([]string, error) {
	real, err := d.engine.allowed(filepath.Join(d.root, filepath.FromSlash(folder)))
	if err != nil {
		return nil, fail.New(fail.UndefinedObject, "the folder %s is not there", folder)
	}
	entries, err := os.ReadDir(real)
	if err != nil {
		return nil, fail.Wrap(fail.InvalidParameter, err, "folder %s", folder)
	}
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out, nil
}

// lanceFile is a data file, manifest or deletion file.
type lanceFile struct {
	*os.File
	size int64
	name string
}

// Size implements lance.StoredFile.
func (f *lanceFile) Size() int64 { return f.size }

// ReadAt implements lance.Reader.
func (f *lanceFile) ReadAt(ctx context.Context, p []byte, off int64) error {
	if err := ctx.Err(); err != nil {
		return fail.Wrap(fail.Canceled, err, "reading %s", f.name)
	}
	if _, err := f.File.ReadAt(p, off); err != nil {
		return fail.Wrap(fail.Corrupt, err, "file %s: %d bytes at byte %d", f.name, len(p), off)
	}
	return nil
}

// lanceFields are the columns of a dataset. One that cannot be read, or whose type SQL
// does not have, is of unknown type: openLance refuses it where it is selected.
func (e *Engine) lanceFields(ctx context.Context, n *plan.FileScan) ([]schema.Field, error) {
	t, err := e.openDataset(ctx, n)
	if err != nil {
		return nil, err
	}
	var out []schema.Field
	for i, f := range t.Schema().Fields() {
		st, err := lanceType(t, i)
		if err != nil {
			st = types.Of(types.Unknown)
		}
		out = append(out, schema.Field{Name: f.Name, Type: st})
	}
	return out, nil
}

// lanceType is the SQL type of column i, or why it cannot be read.
func lanceType(t *lance.Table, i int) (types.Type, error) {
	if err := t.Refused(i); err != nil {
		return types.Type{}, err
	}
	f := t.Schema().Field(i)
	st, err := types.FromArrow(f.Type)
	if err != nil {
		return st, fail.Wrap(fail.CodeOf(err), err, "column %q", f.Name)
	}
	return st, nil
}

// otherColumns is the cure for a column that cannot be read.
func otherColumns(t *lance.Table) string {
	var names []string
	for i, f := range t.Schema().Fields() {
		if _, err := lanceType(t, i); err == nil {
			names = append(names, f.Name)
		}
	}
	if len(names) == 0 {
		return "No column of the dataset can be read."
	}
	return "Select the columns that can be read: " + strings.Join(names[:min(len(names), 30)], ", ") + "."
}

// openLance starts a scan of a dataset.
func (e *Engine) openLance(ctx context.Context, n *plan.FileScan) (exec.Source, error) {
	t, err := e.openDataset(ctx, n)
	if err != nil {
		return nil, err
	}
	s := &lanceSource{name: n.Paths[0], table: t}
	for _, c := range n.Cols {
		at := t.Schema().FieldIndices(c.Field)
		if len(at) == 0 {
			return nil, fail.New(fail.UndefinedColumn, "read_lance('%s'): the dataset has no column %q any more", s.name, c.Field).
				WithHint("It changed since the statement was prepared; prepare it again, or name a version.")
		}
		if _, err := lanceType(t, at[0]); err != nil {
			return nil, fail.As(inDataset(s.name, err)).WithHint("%s", otherColumns(t))
		}
		s.columns, s.types = append(s.columns, at[0]), append(s.types, c.Type)
	}
	return s, nil
}

// lanceSource hands out the chunks of a dataset, fragment by fragment. The rows
// of a fragment are read outside of its lock, by as many workers as ask.
type lanceSource struct {
	name    string
	table   *lance.Table
	columns []int
	types   []types.Type

	mu   sync.Mutex // guards the fields below
	at   int        // the next fragment to open
	open *sharedFragment
	row  int64 // the next row of it
	seq  uint64
}

// sharedFragment is a fragment with the number of its users.
type sharedFragment struct {
	*lance.OpenFragment
	users int
}

// piece is the rows of one chunk.
type piece struct {
	fragment *sharedFragment
	from, n  int64
	seq      uint64
}

// Next implements exec.Source.
func (s *lanceSource) Next(ctx context.Context) (*vec.Chunk, error) {
	for {
		p, err := s.take(ctx)
		if err != nil || p.fragment == nil {
			return nil, err
		}
		c, err := s.read(ctx, p)
		s.giveBack(p.fragment)
		if err != nil {
			return nil, inDataset(s.name, err)
		}
		if c.N > 0 {
			return c, nil
		}
	}
}

// take hands out the next rows; no fragment is the end.
func (s *lanceSource) take(ctx context.Context) (piece, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.open == nil || s.row >= s.open.Rows() {
		if err := ctx.Err(); err != nil {
			return piece{}, fail.Wrap(fail.Canceled, err, "reading files")
		}
		s.drop(s.open)
		s.open = nil
		if s.at >= s.table.Fragments() {
			return piece{}, nil
		}
		f, err := s.table.OpenFragment(ctx, s.at, s.columns)
		if err != nil {
			return piece{}, inDataset(s.name, err)
		}
		s.open, s.row = &sharedFragment{f, 1}, 0
		s.at++
	}
	p := piece{fragment: s.open, from: s.row, n: min(vec.ChunkRows, s.open.Rows()-s.row), seq: s.seq}
	s.row += p.n
	s.seq++
	s.open.users++
	return p, nil
}

func (s *lanceSource) giveBack(f *sharedFragment) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drop(f)
}

// drop closes a fragment behind its last user. The lock is held.
func (s *lanceSource) drop(f *sharedFragment) {
	if f == nil {
		return
	}
	if f.users--; f.users == 0 {
		_ = f.Close()
	}
}

func (s *lanceSource) read(ctx context.Context, p piece) (*vec.Chunk, error) {
	rec, err := p.fragment.Read(ctx, p.from, p.n)
	if err != nil {
		return nil, err
	}
	// The vectors share the batch's memory, which the garbage collector frees.
	c := &vec.Chunk{N: int(rec.NumRows()), Seq: p.seq}
	for i, col := range rec.Columns() {
		v, err := vec.FromArrow(col, s.types[i])
		if err != nil {
			return nil, fail.Wrap(fail.CodeOf(err), err, "column %q", columnName(rec, i))
		}
		c.Cols = append(c.Cols, v)
	}
	return c, nil
}

func columnName(rec arrow.RecordBatch, i int) string { return rec.Schema().Field(i).Name }

// Close implements exec.Source.
func (s *lanceSource) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drop(s.open)
	s.open = nil
	return nil
}
