package column

import (
	"encoding/binary"
	"encoding/json"
	"slices"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// Source is the bytes of a section. Range returns bytes [off, off+n), which lie in
// the section; they never change and stay valid for as long as they are used. Safe
// for concurrent use. The bytes must have been verified.
type Source interface {
	Range(off, n int64) ([]byte, error)
}

// Follower is a Source that can be told what will be read next. RangeOn is Range by a
// reader who will go on to the offset until; Soon tells of a range that a reader will
// come to. Both may do nothing with it.
type Follower interface {
	RangeOn(off, n, until int64) ([]byte, error)
	Soon(off, n int64)
}

// bytesSource is a section in memory.
type bytesSource []byte

func (b bytesSource) Range(off, n int64) ([]byte, error) { return b[off : off+n : off+n], nil }

// Section is an opened column section. Safe for concurrent use; it keeps its
// directory and reads chunks from the source when they are asked for.
type Section struct {
	src  Source
	size int64 // of the chunks
	dir  directory
	cols map[string]*columnMeta
}

type columnMeta struct {
	columnDir
	t types.Type
	// stretches are the chunks that begin a run of chunks that lie behind each other,
	// ascending, and the count of chunks at the end.
	stretches []int
}

// Open opens a section in memory; see [OpenSource].
func Open(data []byte) (*Section, error) { return OpenSource(bytesSource(data), int64(len(data))) }

// OpenSource reads the directory of a section of the size and checks its bounds.
// The types are resolved by name. Errors: fail.Corrupt, fail.Unsupported for
// another version, and the source's own.
func OpenSource(src Source, size int64) (*Section, error) {
	if size < trailerLen {
		return nil, corrupt("no %q at the end", magic)
	}
	tail, err := src.Range(size-trailerLen, trailerLen)
	if err != nil {
		return nil, err
	}
	if string(tail[trailerLen-4:]) != magic {
		return nil, corrupt("no %q at the end", magic)
	}
	if v := binary.LittleEndian.Uint16(tail[4:]); v != version {
		return nil, fail.New(fail.Unsupported, "column section version %d is not known", v)
	}
	if tail[6] != 0 || tail[7] != 0 {
		return nil, corrupt("the reserved bytes at its end are not zero")
	}
	n := int64(binary.LittleEndian.Uint32(tail))
	if n > size-trailerLen {
		return nil, corrupt("directory of %d bytes in a section of %d", n, size)
	}
	s := &Section{src: src, size: size - trailerLen - n, cols: map[string]*columnMeta{}}
	dir, err := src.Range(s.size, n)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(dir, &s.dir); err != nil {
		return nil, corrupt("directory: %v", err)
	}
	if len(s.dir.Columns) == 0 && s.dir.Rows != 0 {
		return nil, corrupt("%d rows of no columns", s.dir.Rows)
	}
	for i := range s.dir.Columns {
		if err := s.check(&s.dir.Columns[i]); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func (s *Section) check(c *columnDir) error {
	t, ok := types.Parse(c.Type)
	if !ok {
		return fail.New(fail.Unsupported, "column %q has the unknown type %q", c.Name, c.Type)
	}
	if s.dir.Rows < 0 || len(c.Chunks) != (s.dir.Rows+vec.ChunkRows-1)/vec.ChunkRows {
		return corrupt("column %q has %d chunks for %d rows", c.Name, len(c.Chunks), s.dir.Rows)
	}
	for i, k := range c.Chunks {
		if k.Off < 0 || k.Len < 8 || k.Off > s.size || k.Len > s.size-k.Off {
			return corrupt("column %q chunk %d lies outside the section", c.Name, i)
		}
	}
	m := &columnMeta{columnDir: *c, t: t}
	for i, k := range c.Chunks {
		if i == 0 || k.Off != c.Chunks[i-1].Off+c.Chunks[i-1].Len {
			m.stretches = append(m.stretches, i)
		}
	}
	m.stretches = append(m.stretches, len(c.Chunks))
	s.cols[c.Name] = m
	return nil
}

// follow reads chunk i for a scan, which goes on behind it.
func (c *columnMeta) follow(src Follower, i int) ([]byte, error) {
	at, begins := slices.BinarySearch(c.stretches, i)
	if !begins {
		at--
	}
	end := func(at int) int64 {
		k := c.Chunks[c.stretches[at+1]-1]
		return k.Off + k.Len
	}
	if begins && at+2 < len(c.stretches) {
		next := c.Chunks[c.stretches[at+1]].Off
		src.Soon(next, end(at+1)-next)
	}
	k := c.Chunks[i]
	return src.RangeOn(k.Off, k.Len, end(at))
}

// Rows is the number of rows.
func (s *Section) Rows() int { return s.dir.Rows }

// Has reports whether the section has the column.
func (s *Section) Has(name string) bool { return s.cols[name] != nil }

// Names are the columns in order.
func (s *Section) Names() []string {
	out := make([]string, len(s.dir.Columns))
	for i, c := range s.dir.Columns {
		out[i] = c.Name
	}
	return out
}

// Type is the type of a column that exists.
func (s *Section) Type(name string) types.Type { return s.cols[name].t }

// Zone is the zone map of a chunk: no value is below lo or above hi; and the number
// of NULLs. ok is false when the chunk has no bounds.
func (s *Section) Zone(name string, chunk int) (lo, hi vec.Value, nulls int, ok bool) {
	c := s.cols[name]
	k := c.Chunks[chunk]
	lo, hi, ok = decodeZones(c.t, k.Min, k.Max)
	return lo, hi, k.Nulls, ok
}

// Chunk decodes chunk i of a column. The vector must not be changed: its values
// may alias the section, which is immutable.
func (s *Section) Chunk(name string, i int) (*vec.Vector, error) { return s.decode(name, i, false) }

// Scan is Chunk for one who goes on to the chunks behind it.
func (s *Section) Scan(name string, i int) (*vec.Vector, error) { return s.decode(name, i, true) }

func (s *Section) decode(name string, i int, scan bool) (*vec.Vector, error) {
	c, data, err := s.chunk(name, i, scan)
	if err != nil {
		return nil, err
	}
	v, _, err := decodeChunk(data, c.t, s.chunkRows(i))
	if err != nil {
		return nil, fail.Wrap(fail.Corrupt, err, "column %q chunk %d", name, i)
	}
	return v, nil
}

// chunk finds the bytes of chunk i of a column; scan says that the next ones follow.
func (s *Section) chunk(name string, i int, scan bool) (*columnMeta, []byte, error) {
	c := s.cols[name]
	if c == nil {
		return nil, nil, fail.Bug("column section has no column %q", name)
	}
	if i < 0 || i >= len(c.Chunks) {
		return nil, nil, fail.Bug("column %q has no chunk %d", name, i)
	}
	if src, ok := s.src.(Follower); ok && scan {
		data, err := c.follow(src, i)
		return c, data, err
	}
	k := c.Chunks[i]
	data, err := s.src.Range(k.Off, k.Len)
	return c, data, err
}

// chunkRows is the number of rows of chunk i.
func (s *Section) chunkRows(i int) int { return min(vec.ChunkRows, s.dir.Rows-i*vec.ChunkRows) }

func corrupt(format string, args ...any) *fail.Error {
	return fail.New(fail.Corrupt, "column section: "+format, args...)
}
