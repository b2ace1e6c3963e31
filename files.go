package loam

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	"github.com/tidwall/gjson"

	"github.com/loamdb/loam/exec"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// allowed resolves a path that SQL names: it must lie in a directory that the
// operator allows.
func (e *Engine) allowed(path string) (string, error) {
	for _, dir := range e.cfg.Files {
		root, err := filepath.EvalSymlinks(dir)
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

// FileSchema implements planner.FileSchema.
func (e *Engine) FileSchema(_ context.Context, format plan.FileFormat, paths []string) ([]schema.Field, error) {
	if len(paths) == 0 {
		return nil, fail.New(fail.InvalidParameter, "no file is named")
	}
	path, err := e.allowed(paths[0])
	if err != nil {
		return nil, err
	}
	if format == plan.NDJSON {
		return jsonSchema(path)
	}
	r, closer, err := openParquet(path)
	if err != nil {
		return nil, err
	}
	defer closer()
	sch, err := r.Schema()
	if err != nil {
		return nil, fail.Wrap(fail.Corrupt, err, "Parquet file %s", path)
	}
	var out []schema.Field
	for _, f := range sch.Fields() {
		t, err := types.FromArrow(f.Type)
		if err != nil {
			return nil, columnError(f.Name, err)
		}
		out = append(out, schema.Field{Name: f.Name, Type: t})
	}
	return out, nil
}

func openParquet(path string) (*pqarrow.FileReader, func(), error) {
	pf, err := file.OpenParquetFile(path, false)
	if err != nil {
		return nil, nil, fail.Wrap(fail.InvalidParameter, err, "Parquet file %s", path)
	}
	r, err := pqarrow.NewFileReader(pf, pqarrow.ArrowReadProperties{BatchSize: vec.ChunkRows}, memory.DefaultAllocator)
	if err != nil {
		_ = pf.Close()
		return nil, nil, fail.Wrap(fail.InvalidParameter, err, "Parquet file %s", path)
	}
	return r, func() { _ = pf.Close() }, nil
}

// openFiles starts a file scan.
func (e *Engine) openFiles(n *plan.FileScan) (exec.Source, error) {
	s := &fileSource{node: n}
	for _, p := range n.Paths {
		path, err := e.allowed(p)
		if err != nil {
			return nil, err
		}
		s.paths = append(s.paths, path)
	}
	return s, nil
}

// fileSource reads files one after the other.
type fileSource struct {
	node  *plan.FileScan
	paths []string

	mu   sync.Mutex // guards the fields below
	at   int
	read func() (*vec.Chunk, error) // of the open file
	stop func()
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
		if s.read == nil {
			if s.at >= len(s.paths) {
				return nil, nil
			}
			if err := s.open(s.paths[s.at]); err != nil {
				return nil, err
			}
			s.at++
		}
		c, err := s.read()
		if err != nil {
			return nil, err
		}
		if c != nil {
			c.Seq = s.seq
			s.seq++
			return c, nil
		}
		s.shut()
	}
}

func (s *fileSource) shut() {
	if s.stop != nil {
		s.stop()
	}
	s.read, s.stop = nil, nil
}

// Close implements exec.Source.
func (s *fileSource) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shut()
	return nil
}

func (s *fileSource) open(path string) error {
	if s.node.Format == plan.NDJSON {
		f, err := os.Open(path)
		if err != nil {
			return fail.Wrap(fail.InvalidParameter, err, "JSON file")
		}
		lines := bufio.NewReaderSize(f, 1<<20)
		s.read, s.stop = func() (*vec.Chunk, error) { return readJSON(path, lines, s.node.Cols) }, func() { _ = f.Close() }
		return nil
	}
	r, closer, err := openParquet(path)
	if err != nil {
		return err
	}
	rr, err := r.GetRecordReader(context.Background(), nil, nil)
	if err != nil {
		closer()
		return fail.Wrap(fail.Corrupt, err, "Parquet file %s", path)
	}
	s.read = func() (*vec.Chunk, error) {
		if !rr.Next() {
			if err := rr.Err(); err != nil && err.Error() != "EOF" {
				return nil, fail.Wrap(fail.Corrupt, err, "Parquet file %s", path)
			}
			return nil, nil
		}
		return fileChunk(path, rr.RecordBatch(), s.node.Cols)
	}
	s.stop = func() { rr.Release(); closer() }
	return nil
}

// fileChunk converts the wanted columns of a record batch, which its reader reuses.
func fileChunk(path string, rec arrow.RecordBatch, cols []plan.ScanColumn) (*vec.Chunk, error) {
	c := &vec.Chunk{N: int(rec.NumRows())}
	for _, col := range cols {
		idx := rec.Schema().FieldIndices(col.Field)
		if len(idx) == 0 {
			return nil, fail.New(fail.UndefinedColumn, "file %s has no column %q", path, col.Field)
		}
		v, err := vec.FromArrow(rec.Column(idx[0]), col.Type)
		if err != nil {
			return nil, columnError(col.Field, err)
		}
		out := vec.New(col.Type, v.N)
		out.AppendRows(v, nil, v.N)
		c.Cols = append(c.Cols, out)
	}
	return c, nil
}

// sampleLines is how many lines of a JSON file decide its types.
const sampleLines = 1000

// jsonSchema infers the fields of a file of JSON lines: BIGINT, DOUBLE, BOOLEAN,
// TEXT, and JSON for everything else or mixed.
func jsonSchema(path string) ([]schema.Field, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fail.Wrap(fail.InvalidParameter, err, "JSON file")
	}
	defer f.Close()
	r := bufio.NewReaderSize(f, 1<<20)
	var out []schema.Field
	index := map[string]int{}
	for line := 1; line <= sampleLines; line++ {
		b, err := r.ReadBytes('\n')
		if len(bytes.TrimSpace(b)) > 0 {
			if !json.Valid(b) {
				return nil, fail.New(fail.InvalidJSON, "file %s line %d is not JSON", path, line)
			}
			gjson.ParseBytes(b).ForEach(func(k, v gjson.Result) bool {
				i, ok := index[k.String()]
				if !ok {
					i = len(out)
					index[k.String()] = i
					out = append(out, schema.Field{Name: k.String(), Type: types.Of(types.Unknown)})
				}
				out[i].Type = joinJSON(out[i].Type, v)
				return true
			})
		}
		if err != nil {
			break
		}
	}
	for i := range out {
		if out[i].Type.Kind == types.Unknown {
			out[i].Type = types.Of(types.Text)
		}
	}
	return out, nil
}

func joinJSON(t types.Type, v gjson.Result) types.Type {
	k := types.JSON
	switch v.Type {
	case gjson.Null:
		return t
	case gjson.String:
		k = types.Text
	case gjson.True, gjson.False:
		k = types.Boolean
	case gjson.Number:
		k = types.Int64
		if strings.ContainsAny(v.Raw, ".eE") {
			k = types.Double
		}
	}
	switch {
	case t.Kind == types.Unknown || t.Kind == k:
		return types.Of(k)
	case t.Numeric() && (k == types.Int64 || k == types.Double):
		return types.Of(types.Double)
	}
	return types.Of(types.JSON)
}

// readJSON reads up to a chunk of lines.
func readJSON(path string, r *bufio.Reader, cols []plan.ScanColumn) (*vec.Chunk, error) {
	ts := make([]types.Type, len(cols))
	for i, c := range cols {
		ts[i] = c.Type
	}
	c := vec.NewChunk(ts, vec.ChunkRows)
	for c.N < vec.ChunkRows {
		b, rerr := r.ReadBytes('\n')
		if len(bytes.TrimSpace(b)) > 0 {
			if !json.Valid(b) {
				return nil, fail.New(fail.InvalidJSON, "file %s: a line is not JSON: %.60s", path, b)
			}
			if err := jsonRow(path, gjson.ParseBytes(b), cols, c); err != nil {
				return nil, err
			}
			c.N++
		}
		if rerr != nil {
			break
		}
	}
	if c.N == 0 {
		return nil, nil
	}
	return c, nil
}

func jsonRow(path string, doc gjson.Result, cols []plan.ScanColumn, c *vec.Chunk) error {
	found := map[string]gjson.Result{}
	doc.ForEach(func(k, v gjson.Result) bool { found[k.String()] = v; return true })
	for i, col := range cols {
		v := found[col.Field]
		val := vec.Value{Type: col.Type, Bool: v.Bool(), Int: v.Int(), Float: v.Float(), Str: v.String()}
		ok := v.Type == gjson.Null
		switch col.Type.Kind {
		case types.Boolean:
			ok = ok || v.IsBool()
		case types.Int64, types.Double:
			ok = ok || v.Type == gjson.Number
		case types.JSON:
			val.Str, ok = v.Raw, true
		default:
			ok = ok || v.Type == gjson.String
		}
		if !ok {
			return fail.New(fail.DatatypeMismatch, "file %s: member %q is %.40s where %s is expected from the first lines", path, col.Field, v.Raw, col.Type)
		}
		val.Null = v.Type == gjson.Null
		c.Cols[i].Append(val)
	}
	return nil
}
