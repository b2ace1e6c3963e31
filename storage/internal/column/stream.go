package column

import (
	"encoding/binary"
	"encoding/json"
	"io"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
	"github.com/loamdb/loam/storage/internal/sketch"
)

// runBytes is the size at which the chunks that a Stream holds of a column are
// written, behind each other, so that a scan of one column reads long runs.
// flushBytes is what it holds of all columns before it writes them all.
const (
	runBytes   = 512 << 10
	flushBytes = 16 << 20
)

// Stream writes a section whose number of rows is not known before: NewStream,
// Append as often as it takes, Finish, Statistics. It holds one chunk of rows and at
// most runBytes of encoded chunks a column, flushBytes of all. A section whose columns are
// below that has the bytes that a [Writer] makes. Not for concurrent use.
type Stream struct {
	w    io.Writer
	cols []streamColumn
	off  int64 // bytes written
	held int
	rows int
}

type streamColumn struct {
	dir     columnDir
	pending *vec.Vector // less than a chunk of rows
	encoded []byte
	written int // chunks of dir whose offsets are final
	// distinct counts the values of the chunks of dir; nil of types without.
	distinct *sketch.Sketch
}

// NewStream starts a section of columns with the names and types.
func NewStream(w io.Writer, names []string, columns []types.Type) *Stream {
	s := &Stream{w: w}
	for i, t := range columns {
		c := streamColumn{dir: columnDir{Name: names[i], Type: typeName(t)}, pending: vec.New(t, 0)}
		if counted(t) {
			c.distinct = &sketch.Sketch{}
		}
		s.cols = append(s.cols, c)
	}
	return s
}

// Rows is the number of rows that were appended.
func (s *Stream) Rows() int { return s.rows }

// Append adds n rows, at most a chunk, of each column: flat vectors, which it does
// not keep.
func (s *Stream) Append(cols []*vec.Vector, n int) error {
	if len(cols) != len(s.cols) || n > vec.ChunkRows {
		return fail.Bug("%d columns and %d rows for a section of %d columns", len(cols), n, len(s.cols))
	}
	for i, v := range cols {
		c := &s.cols[i]
		c.pending.AppendRows(v, nil, n)
		if c.pending.N < vec.ChunkRows {
			continue
		}
		s.held += c.encode(c.pending.Slice(0, vec.ChunkRows))
		rest := vec.New(c.pending.Type, vec.ChunkRows)
		if c.pending.N > vec.ChunkRows {
			tail := c.pending.Slice(vec.ChunkRows, c.pending.N)
			rest.AppendRows(tail, nil, tail.N)
		}
		c.pending = rest
		if len(c.encoded) >= runBytes {
			if err := s.flushColumn(c); err != nil {
				return err
			}
		}
	}
	s.rows += n
	if s.held >= flushBytes {
		return s.flush()
	}
	return nil
}

// encode adds a chunk and returns its bytes. Its offset counts from what is held.
func (c *streamColumn) encode(part *vec.Vector) int {
	from := len(c.encoded)
	c.encoded = appendChunk(c.encoded, part)
	k := chunkDir{Off: int64(from), Len: int64(len(c.encoded) - from), Nulls: part.N - part.Valid.Count(part.N)}
	k.Min, k.Max = zone(part)
	c.dir.Chunks = append(c.dir.Chunks, k)
	if c.distinct != nil {
		addDistinct(c.distinct, part)
	}
	c.encoded = append(c.encoded, make([]byte, -len(c.encoded)&7)...)
	return len(c.encoded) - from
}

// flush writes what is held, column by column.
func (s *Stream) flush() error {
	for i := range s.cols {
		if err := s.flushColumn(&s.cols[i]); err != nil {
			return err
		}
	}
	return nil
}

// flushColumn writes what is held of a column.
func (s *Stream) flushColumn(c *streamColumn) error {
	for k := range c.dir.Chunks[c.written:] {
		c.dir.Chunks[c.written+k].Off += s.off
	}
	c.written = len(c.dir.Chunks)
	if _, err := s.w.Write(c.encoded); err != nil {
		return err
	}
	s.off += int64(len(c.encoded))
	s.held -= len(c.encoded)
	c.encoded = c.encoded[:0]
	return nil
}

// Finish writes the rest of the section.
func (s *Stream) Finish() error {
	for i := range s.cols {
		if c := &s.cols[i]; c.pending.N > 0 {
			s.held += c.encode(c.pending.Slice(0, c.pending.N))
		}
	}
	if err := s.flush(); err != nil {
		return err
	}
	dir := directory{Rows: s.rows}
	for i := range s.cols {
		dir.Columns = append(dir.Columns, s.cols[i].dir)
	}
	tail, err := appendDirectory(nil, dir)
	if err == nil {
		_, err = s.w.Write(tail)
	}
	return err
}

// appendDirectory ends a section.
func appendDirectory(out []byte, d directory) ([]byte, error) {
	dir, err := json.Marshal(d)
	if err != nil {
		return nil, fail.Wrap(fail.Internal, err, "column directory")
	}
	out = append(out, dir...)
	out = binary.LittleEndian.AppendUint32(out, uint32(len(dir)))
	out = binary.LittleEndian.AppendUint16(out, version)
	out = append(out, 0, 0)
	return append(out, magic...), nil
}
