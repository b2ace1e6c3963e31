package loam

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/loamdb/loam/exec"
	"github.com/loamdb/loam/internal/datafile"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/internal/vec"
)

// allowed resolves a path that SQL names: it must lie in a directory that the
// operator allows.
func (e *Engine) allowed(path string) (string, error) {
	for _, dir := range e.cfg.Files {
		root, err := filepath.EvalSymlinks(dir)
		if err == nil {
			root, err = filepath.Abs(root)
		}
		if err != nil {
			continue
		}
		full := path
		if !filepath.IsAbs(full) {
			full = filepath.Join(root, path)
		}
		real, err := filepath.EvalSymlinks(full)
		if err != nil {
			continue
		}
		if rel, err := filepath.Rel(root, real); err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
			return real, nil
		}
	}
	if len(e.cfg.Files) == 0 {
		return "", fail.New(fail.PermissionDenied, "this server reads no files").
			WithHint("The operator allows directories; locally, loam sql --memory and --data read the working directory.")
	}
	return "", fail.New(fail.PermissionDenied, "the file %q is not there, or not in a directory that may be read", path).
		WithHint("Allowed: %s.", strings.Join(e.cfg.Files, ", "))
}

// sampleRows is how many rows of a CSV or JSON file decide its types.
const sampleRows = 10_000

// fileFormats are the formats of file scans as files know them.
var fileFormats = map[plan.FileFormat]datafile.Format{plan.Parquet: datafile.Parquet, plan.NDJSON: datafile.JSON, plan.CSV: datafile.CSV}

// openFile opens a file that SQL names. The caller closes both.
func (e *Engine) openFile(name string, format plan.FileFormat, columns []string) (*datafile.Reader, *os.File, error) {
	path, err := e.allowed(name)
	if err != nil {
		return nil, nil, err
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, fail.Wrap(fail.InvalidParameter, err, "file %s", name)
	}
	info, err := f.Stat()
	if err == nil && info.IsDir() {
		err = fail.New(fail.InvalidParameter, "%s is a directory", name).WithHint("Name a file, or a list of files: ['a.csv', 'b.csv'].")
	}
	if err != nil {
		_ = f.Close()
		return nil, nil, err
	}
	r, err := datafile.Open(datafile.Input{Name: name, Reader: f, At: f, Size: info.Size()}, datafile.Options{Format: fileFormats[format], Names: columns})
	if err != nil {
		_ = f.Close()
		return nil, nil, err
	}
	return r, f, nil
}

// FileSchema implements planner.FileSchema: the columns of the first file.
func (e *Engine) FileSchema(ctx context.Context, scan *plan.FileScan) ([]schema.Field, error) {
	format, paths := scan.Format, scan.Paths
	if len(paths) == 0 {
		return nil, fail.New(fail.InvalidParameter, "no file is named")
	}
	if format == plan.Lance {
		return e.lanceFields(ctx, scan)
	}
	r, f, err := e.openFile(paths[0], format, nil)
	if err != nil {
		return nil, err
	}
	defer func() {
		r.Close()
		_ = f.Close()
	}()
	sample := int64(sampleRows)
	if format == plan.Parquet {
		sample = 0 // the types are the file's
	}
	s, err := r.Sample(sample)
	if err != nil {
		return nil, err
	}
	if len(s.Columns) == 0 {
		return nil, fail.New(fail.InvalidParameter, "%s is empty: there is nothing to infer columns from", paths[0])
	}
	var out []schema.Field
	for _, c := range s.Columns {
		out = append(out, schema.Field{Name: c.Name, Type: c.Type})
	}
	return out, nil
}

// openFiles starts a file scan.
func (e *Engine) openFiles(ctx context.Context, n *plan.FileScan) (exec.Source, error) {
	if n.Format == plan.Lance {
		return e.openLance(ctx, n)
	}
	for _, p := range n.Paths {
		if _, err := e.allowed(p); err != nil {
			return nil, err
		}
	}
	s := &fileSource{engine: e, node: n}
	for _, c := range n.Cols {
		s.names = append(s.names, c.Field)
	}
	return s, nil
}

// fileSource reads files one after the other.
type fileSource struct {
	engine *Engine
	node   *plan.FileScan
	names  []string

	mu   sync.Mutex // guards the fields below
	at   int
	open *datafile.Reader // of file at-1, or nil
	file *os.File
	seq  uint64
}

// Next implements exec.Source.
func (s *fileSource) Next(ctx context.Context) (*vec.Chunk, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		if err := ctx.Err(); err != nil {
			return nil, fail.Wrap(fail.Canceled, err, "reading files")
		}
		if s.open == nil {
			if s.at >= len(s.node.Paths) {
				return nil, nil
			}
			var err error
			if s.open, s.file, err = s.engine.openFile(s.node.Paths[s.at], s.node.Format, s.names); err != nil {
				return nil, err
			}
			s.at++
		}
		b, err := s.open.Next()
		if err != nil {
			return nil, err
		}
		if b == nil {
			s.shut()
			continue
		}
		c, err := s.chunk(s.node.Paths[s.at-1], b)
		if err != nil {
			return nil, err
		}
		c.Seq = s.seq
		s.seq++
		return c, nil
	}
}

func (s *fileSource) shut() {
	if s.open != nil {
		s.open.Close()
		_ = s.file.Close()
		s.open, s.file = nil, nil
	}
}

// Close implements exec.Source.
func (s *fileSource) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shut()
	return nil
}

// chunk casts the wanted columns of a batch to the types of the first file. A
// row that cannot be read ends the statement; a member that no object of the
// batch has is NULL.
func (s *fileSource) chunk(name string, b *datafile.Batch) (*vec.Chunk, error) {
	if len(b.Bad) > 0 {
		return nil, b.Bad[0].In(name)
	}
	at := map[string]int{}
	for i, c := range b.Columns {
		at[c.Name] = i
	}
	c := &vec.Chunk{N: b.N}
	for _, col := range s.node.Cols {
		i, ok := at[col.Field]
		if !ok && s.node.Format != plan.NDJSON {
			return nil, fail.New(fail.UndefinedColumn, "file %s has no column %q", name, col.Field).WithHint("The first file of a list says what columns there are.")
		}
		if !ok {
			c.Cols = append(c.Cols, vec.Const(col.Type, vec.Null(col.Type), b.N))
			continue
		}
		v, bad := datafile.Convert(b.Cols[i], col.Type)
		if len(bad) > 0 {
			e := datafile.RowError{Place: b.Places[bad[0].Row], Column: col.Field, Value: bad[0].Value, Err: bad[0].Err}
			return nil, e.In(name)
		}
		c.Cols = append(c.Cols, v)
	}
	return c, nil
}
