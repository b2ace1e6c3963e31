package collection

import (
	"context"
	"sync"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
	"github.com/loamdb/loam/storage/internal/cache"
	"github.com/loamdb/loam/storage/internal/column"
	"github.com/loamdb/loam/storage/internal/text"
	"github.com/loamdb/loam/storage/object"
)

// split is an opened split with its fragments. What it reads goes through the
// node's cache; it keeps the directories of sections and data files. It implements
// part and target; rows deleted since are in the manifest's deletion bitmap, not
// here.
type split struct {
	obj    *schema.Object
	seg    Segment // as committed first; only the immutable members are used
	bundle *bundle
	frags  []opened
	cache  *cache.Cache
	files  cacheFiles

	used        sync.Mutex // guards the versions that it is known to belong to
	first, last uint64

	mu      sync.Mutex // guards the fields below
	cols    *column.Section
	textSrc *blob
	noText  bool
	keys    *keyIndex
}

// cacheFiles are the numbers of the split in the cache, data files apart.
type cacheFiles struct{ decoded, column, text, keys uint64 }

// openSplit opens the bundle and the data files of a segment.
func openSplit(ctx context.Context, store object.Store, c *cache.Cache, obj *schema.Object, seg Segment) (*split, error) {
	b, err := openBundle(ctx, store, seg.SplitKey, seg.SplitSize)
	if err != nil {
		return nil, err
	}
	if b.table.Object != obj.ID || b.table.Rows != seg.Rows {
		return nil, fail.New(fail.Corrupt, "split %s belongs to object %d with %d rows, the manifest says %d with %d",
			seg.SplitKey, b.table.Object, b.table.Rows, obj.ID, seg.Rows)
	}
	s := &split{obj: obj, seg: seg, bundle: b, cache: c,
		files: cacheFiles{c.NewFile(), c.NewFile(), c.NewFile(), c.NewFile()}}
	if err := s.openFragments(ctx, store); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (s *split) close() {
	s.forget()
	for _, d := range s.dataFiles() {
		if d.obj != nil {
			_ = d.obj.Close()
		}
	}
}

// forget drops what the cache holds of the split. Readers of older snapshots may
// fill it in again.
func (s *split) forget() {
	f := s.files
	s.cache.Drop(f.decoded, f.column, f.text, f.keys)
	for _, d := range s.dataFiles() {
		s.cache.Drop(d.number)
	}
}

// section opens a section as a blob; nil when the split has none of the name.
func (s *split) section(name string, file uint64) (*blob, error) {
	b := s.bundle.blob(s.cache, name, file)
	if b == nil {
		return nil, nil
	}
	return b, b.check()
}

func (s *split) rows() int { return s.seg.Rows }

func (s *split) columns() (*column.Section, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cols != nil {
		return s.cols, nil
	}
	b, err := s.section(sectionColumn, s.files.column)
	if err != nil {
		return nil, err
	}
	if b == nil {
		return nil, fail.New(fail.Corrupt, "split %s has no columns", s.seg.SplitKey)
	}
	sec, err := column.OpenSource(b, b.size)
	if err != nil {
		return nil, fail.Wrap(fail.CodeOf(err), err, "split %s", s.seg.SplitKey)
	}
	if sec.Rows() != s.seg.Rows {
		return nil, fail.New(fail.Corrupt, "split %s: column section of %d rows, want %d", s.seg.SplitKey, sec.Rows(), s.seg.Rows)
	}
	s.cols = sec
	return sec, nil
}

func (s *split) column(ctx context.Context, c colRef, chunk int) (*vec.Vector, error) {
	from := chunk * vec.ChunkRows
	n := min(vec.ChunkRows, s.seg.Rows-from)
	switch {
	case c.sys == schema.ColRowID:
		return s.rowIDs(c.t, from, n), nil
	case s.inLance(c) && c.t.Kind == types.Vector:
		return s.vectors(ctx, c, chunk, nil)
	case s.inLance(c):
		return s.readLance(ctx, c, from, n)
	}
	sec, err := s.columns()
	if err != nil || !sec.Has(c.section) {
		return nil, err
	}
	return sec.Scan(c.section, chunk)
}

func (s *split) take(ctx context.Context, c colRef, rows []uint32) (*vec.Vector, error) {
	switch {
	case len(rows) == 0 || c.sys == schema.ColRowID:
		return takeByChunk(ctx, s, c, rows)
	case !s.inLance(c):
		return s.takeInline(ctx, c, rows)
	}
	return s.takeLance(ctx, c, rows)
}

// takeInline reads single rows of a column of the column section.
func (s *split) takeInline(ctx context.Context, c colRef, rows []uint32) (*vec.Vector, error) {
	sec, err := s.columns()
	if err != nil || !sec.Has(c.section) {
		return nil, err
	}
	out := vec.New(c.t, len(rows))
	return out, byChunk(rows, func(chunk int, sel []int32) error {
		return sec.Take(c.section, chunk, sel, out)
	})
}

// vectors is a chunk of a vector column, from the cache if it is there; nil when no
// fragment has it. A chunk for which there is room is kept. One for which there is
// none is read into room, if that is given and has no NULL: a search reads them all,
// which would drive out everything else. It is then valid until room is used again.
func (s *split) vectors(ctx context.Context, c colRef, chunk int, room *vec.Vector) (*vec.Vector, error) {
	key := cache.Key{File: s.files.decoded, Part: int64(c.id)<<32 | int64(chunk)}
	if v, ok := s.cache.Peek(key); ok {
		return v.(*vec.Vector), nil
	}
	from := chunk * vec.ChunkRows
	n := min(vec.ChunkRows, s.seg.Rows-from)
	if !s.anyHas(c, from, n) {
		return nil, nil
	}
	bytes := int64(4*n) * int64(c.t.Dim)
	if room != nil && !s.cache.Room(bytes) {
		if v, err := s.vectorsInto(ctx, c, from, n, room); v != nil || err != nil {
			return v, err
		}
	}
	v, err := s.cache.Get(ctx, key, func() (any, int64, error) {
		v, err := s.readLance(ctx, c, from, n)
		return v, bytes, err
	})
	if err != nil {
		return nil, err
	}
	return v.(*vec.Vector), nil
}

func (s *split) zone(ctx context.Context, c colRef, chunk int) (zone, error) {
	sec, err := s.columns()
	if err != nil || s.inLance(c) || !sec.Has(c.section) {
		return zone{}, err
	}
	z := zone{rows: min(vec.ChunkRows, s.seg.Rows-chunk*vec.ChunkRows), counted: true}
	z.lo, z.hi, z.nulls, z.known = sec.Zone(c.section, chunk)
	return z, nil
}

func (s *split) whole(c colRef) zone {
	r := s.seg.Range
	switch {
	case c.sys == schema.ColIngestTS && r != nil:
		at := func(us int64) vec.Value { return vec.Value{Type: c.t, Int: us} }
		return zone{lo: at(r.MinTS), hi: at(r.MaxTS), known: true}
	case c.field < 0:
		return zone{}
	}
	f := s.fieldOf(c.id)
	if f == nil || f.Stats == nil {
		return zone{}
	}
	z := zone{rows: s.seg.Rows, nulls: f.Stats.Nulls, counted: true}
	z.lo, z.hi, z.known = f.Stats.Bounds(c.t)
	return z
}

// textPart and keysPart number the text index and the first chunk of keys among
// the decoded pieces, below those of fields, whose ids are above 0.
const (
	textPart = -1
	keysPart = 0
)

func (s *split) text(ctx context.Context) (text.Part, error) {
	src, err := s.textSource()
	if src == nil || err != nil {
		return nil, err
	}
	v, err := s.cache.Get(ctx, cache.Key{File: s.files.decoded, Part: textPart}, func() (any, int64, error) {
		idx, err := text.OpenSource(src, src.size)
		if err != nil {
			return nil, 0, fail.Wrap(fail.CodeOf(err), err, "split %s", s.seg.SplitKey)
		}
		return idx, idx.Resident(), nil
	})
	if err != nil {
		return nil, err
	}
	return v.(*text.Segment), nil
}

// textSource is the text section; nil without one.
func (s *split) textSource() (*blob, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.textSrc != nil || s.noText {
		return s.textSrc, nil
	}
	b, err := s.section(sectionText, s.files.text)
	if err != nil {
		return nil, err
	}
	s.textSrc, s.noText = b, b == nil
	return b, nil
}

var (
	pkRef        = systemRef(schema.ColPK, types.Of(types.Text))
	partitionRef = systemRef(schema.ColPartition, types.Of(types.Int32))
	offsetRef    = systemRef(schema.ColOffset, types.Of(types.Int64))
	ingestRef    = systemRef(schema.ColIngestTS, types.Of(types.Timestamp))
)

// key reads the row's key: _pk, or a table row's identity.
func (s *split) key(ctx context.Context, row int) (string, error) {
	chunk := row / vec.ChunkRows
	v, err := s.cache.Get(ctx, cache.Key{File: s.files.decoded, Part: keysPart + int64(chunk)}, func() (any, int64, error) {
		v, err := s.keyColumn(chunk)
		if err != nil {
			return nil, 0, err
		}
		return v, keyBytes(v), nil
	})
	if err != nil {
		return "", err
	}
	return v.(*vec.Vector).Strings.At(row % vec.ChunkRows), nil
}

// keyBytes is about what a column of keys takes.
func keyBytes(v *vec.Vector) int64 {
	n := int64(16 * v.N)
	for _, b := range v.Strings.Bufs {
		n += int64(len(b))
	}
	return n
}

func (s *split) keyColumn(chunk int) (*vec.Vector, error) {
	sec, err := s.columns()
	if err != nil {
		return nil, err
	}
	if s.obj.Kind == schema.Collection {
		v, err := sec.Chunk(pkRef.section, chunk)
		if err != nil {
			return nil, err
		}
		return v.Flatten(), nil
	}
	parts, err := sec.Chunk(partitionRef.section, chunk)
	if err != nil {
		return nil, err
	}
	offsets, err := sec.Chunk(offsetRef.section, chunk)
	if err != nil {
		return nil, err
	}
	v := vec.New(pkRef.t, parts.N)
	for i := range parts.N {
		v.Append(vec.Text(Identity{Partition: parts.Int32s[i], Offset: uint64(offsets.Int64s[i])}.key()))
	}
	return v, nil
}

// lookup implements target.
func (s *split) lookup(key string) (int32, bool, error) {
	if !s.seg.Range.mayHold(key) {
		return 0, false, nil
	}
	ctx := context.Background() // the answer is kept for later readers, whoever asked
	idx, err := s.keyIndexOf()
	if err != nil {
		return 0, false, err
	}
	found, ok := int32(0), false
	err = idx.candidates(key, func(row int32) (bool, error) {
		if int(row) >= s.seg.Rows {
			return false, fail.New(fail.Corrupt, "split %s: key of row %d of %d", s.seg.SplitKey, row, s.seg.Rows)
		}
		k, err := s.key(ctx, int(row))
		if err == nil && k == key {
			found, ok = row, true
		}
		return ok, err
	})
	return found, ok, err
}

func (s *split) keyIndexOf() (*keyIndex, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.keys != nil {
		return s.keys, nil
	}
	b, err := s.section(sectionKeys, s.files.keys)
	if err != nil {
		return nil, err
	}
	if b == nil {
		return nil, fail.New(fail.Corrupt, "split %s has no keys", s.seg.SplitKey)
	}
	if s.keys, err = openKeysOf(b, b.size); err != nil {
		return nil, fail.Wrap(fail.CodeOf(err), err, "split %s", s.seg.SplitKey)
	}
	return s.keys, nil
}
