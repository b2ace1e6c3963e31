package collection

import (
	"context"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
	"github.com/loamdb/loam/storage/internal/column"
	"github.com/loamdb/loam/storage/internal/text"
	"github.com/loamdb/loam/storage/lance"
	"github.com/loamdb/loam/storage/object"
)

// split is an opened split with its fragment. Sections are loaded when first
// used and kept. It implements part and target; rows deleted since are in the
// manifest's deletion bitmap, not here.
type split struct {
	obj    *schema.Object
	seg    Segment // as committed first; only the immutable members are used
	bundle *bundle
	data   object.Object // the Lance data file, nil for tables

	used        sync.Mutex // guards the versions that it is known to belong to
	first, last uint64

	mu      sync.Mutex // guards the fields below
	cols    *column.Section
	textIdx *text.Segment
	noText  bool
	keys    *keyIndex
	pks     []*vec.Vector
	file    *lance.File
	vectors map[int32]*vec.Vector
}

// openSplit opens the bundle and the data file of a segment.
func openSplit(ctx context.Context, store object.Store, obj *schema.Object, seg Segment) (*split, error) {
	b, err := openBundle(ctx, store, seg.SplitKey, seg.SplitSize)
	if err != nil {
		return nil, err
	}
	if b.table.Object != obj.ID || b.table.Rows != seg.Rows {
		return nil, fail.New(fail.Corrupt, "split %s belongs to object %d with %d rows, the manifest says %d with %d",
			seg.SplitKey, b.table.Object, b.table.Rows, obj.ID, seg.Rows)
	}
	s := &split{obj: obj, seg: seg, bundle: b, vectors: map[int32]*vec.Vector{}}
	if seg.DataFile != "" {
		if s.data, err = object.OpenSized(ctx, store, dataKey(obj, seg.DataFile), seg.DataSize); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func (s *split) close() {
	if s.data != nil {
		_ = s.data.Close()
	}
}

func (s *split) rows() int { return s.seg.Rows }

func (s *split) columns(ctx context.Context) (*column.Section, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cols != nil {
		return s.cols, nil
	}
	data, err := s.bundle.section(ctx, sectionColumn)
	if err != nil {
		return nil, err
	}
	sec, err := column.Open(data)
	if err != nil {
		return nil, fail.Wrap(fail.CodeOf(err), err, "split %s", s.seg.SplitKey)
	}
	if sec.Rows() != s.seg.Rows {
		return nil, fail.New(fail.Corrupt, "split %s: column section of %d rows, want %d", s.seg.SplitKey, sec.Rows(), s.seg.Rows)
	}
	s.cols = sec
	return sec, nil
}

// lanceFile opens the data file's footer once.
func (s *split) lanceFile(ctx context.Context) (*lance.File, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file != nil {
		return s.file, nil
	}
	f, err := lance.OpenFile(ctx, s.data, s.data.Size())
	if err != nil {
		return nil, fail.Wrap(fail.CodeOf(err), err, "data file %s", s.seg.DataFile)
	}
	if int(f.NumRows()) != s.seg.Rows {
		return nil, fail.New(fail.Corrupt, "data file %s has %d rows, the manifest says %d", s.seg.DataFile, f.NumRows(), s.seg.Rows)
	}
	s.file = f
	return f, nil
}

// inLance reports the columns that lie in the data file and not in the bundle.
func (s *split) inLance(c colRef) bool { return s.data != nil && c.wide() }

func (s *split) column(ctx context.Context, c colRef, chunk int) (*vec.Vector, error) {
	from := chunk * vec.ChunkRows
	n := min(vec.ChunkRows, s.seg.Rows-from)
	switch {
	case c.sys == schema.ColRowID:
		v := vec.NewFlat(c.t, n)
		for i := range v.Int64s {
			v.Int64s[i] = int64(s.seg.Fragment)<<32 + int64(from+i)
		}
		return v, nil
	case s.inLance(c) && c.field >= 0 && !s.hasField(c.id):
		return nil, nil
	case s.inLance(c) && c.t.Kind == types.Vector:
		all, err := s.vectorColumn(ctx, c)
		if err != nil {
			return nil, err
		}
		return all.Slice(from, from+n), nil
	case s.inLance(c):
		f, err := s.lanceFile(ctx)
		if err != nil {
			return nil, err
		}
		rec, err := f.ReadWith(ctx, heap, []string{c.name}, int64(from), int64(n))
		return fromRecord(rec, c.t, err)
	}
	sec, err := s.columns(ctx)
	if err != nil || !sec.Has(c.section) {
		return nil, err
	}
	return sec.Chunk(c.section, chunk)
}

// hasField reports whether the field existed when the split was built.
func (s *split) hasField(id int32) bool {
	for _, f := range s.bundle.table.Fields {
		if f.ID == id {
			return true
		}
	}
	return false
}

// heap gives memory that the collector owns: vectors share it with the record
// batches that they are made of, which need no release.
var heap = memory.NewGoAllocator()

// fromRecord is the one column of a record batch from heap.
func fromRecord(rec arrow.RecordBatch, t types.Type, err error) (*vec.Vector, error) {
	if err != nil {
		return nil, err
	}
	return vec.FromArrow(rec.Column(0), t)
}

func (s *split) take(ctx context.Context, c colRef, rows []uint32) (*vec.Vector, error) {
	switch {
	case len(rows) == 0 || c.sys == schema.ColRowID || c.t.Kind == types.Vector && s.inLance(c) && s.loaded(c.id):
		return takeByChunk(ctx, s, c, rows)
	case !s.inLance(c):
		return s.takeInline(ctx, c, rows)
	}
	if c.field >= 0 && !s.hasField(c.id) {
		return nil, nil
	}
	f, err := s.lanceFile(ctx)
	if err != nil {
		return nil, err
	}
	rec, err := f.TakeWith(ctx, heap, []string{c.name}, rows)
	return fromRecord(rec, c.t, err)
}

// takeInline reads single rows of a column of the column section.
func (s *split) takeInline(ctx context.Context, c colRef, rows []uint32) (*vec.Vector, error) {
	sec, err := s.columns(ctx)
	if err != nil || !sec.Has(c.section) {
		return nil, err
	}
	out := vec.New(c.t, len(rows))
	return out, byChunk(rows, func(chunk int, sel []int32) error {
		return sec.Take(c.section, chunk, sel, out)
	})
}

func (s *split) loaded(id int32) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.vectors[id] != nil
}

// vectorColumn is the whole vector column, loaded once: a search reads all of it.
func (s *split) vectorColumn(ctx context.Context, c colRef) (*vec.Vector, error) {
	f, err := s.lanceFile(ctx)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if v := s.vectors[c.id]; v != nil {
		return v, nil
	}
	rec, err := f.ReadWith(ctx, heap, []string{c.name}, 0, int64(s.seg.Rows))
	v, err := fromRecord(rec, c.t, err)
	if err != nil {
		return nil, err
	}
	s.vectors[c.id] = v
	return v, nil
}

func (s *split) zone(ctx context.Context, c colRef, chunk int) (zone, error) {
	sec, err := s.columns(ctx)
	if err != nil || s.inLance(c) || !sec.Has(c.section) {
		return zone{}, err
	}
	var z zone
	z.lo, z.hi, z.nulls, z.known = sec.Zone(c.section, chunk)
	return z, nil
}

func (s *split) text(ctx context.Context) (text.Part, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.textIdx != nil {
		return s.textIdx, nil
	}
	if s.noText {
		return nil, nil
	}
	data, err := s.bundle.section(ctx, sectionText)
	if err != nil {
		return nil, err
	}
	if data == nil {
		s.noText = true
		return nil, nil
	}
	idx, err := text.Open(data)
	if err != nil {
		return nil, fail.Wrap(fail.CodeOf(err), err, "split %s", s.seg.SplitKey)
	}
	s.textIdx = idx
	return idx, nil
}

var (
	pkRef        = systemRef(schema.ColPK, types.Of(types.Text))
	partitionRef = systemRef(schema.ColPartition, types.Of(types.Int32))
	offsetRef    = systemRef(schema.ColOffset, types.Of(types.Int64))
	ingestRef    = systemRef(schema.ColIngestTS, types.Of(types.Timestamp))
)

// key reads the row's key: _pk, or a table row's identity.
func (s *split) key(ctx context.Context, row int) (string, error) {
	chunk, at := row/vec.ChunkRows, row%vec.ChunkRows
	s.mu.Lock()
	if s.pks == nil {
		s.pks = make([]*vec.Vector, chunksOf(s.seg.Rows))
	}
	v := s.pks[chunk]
	s.mu.Unlock()
	if v == nil {
		var err error
		if v, err = s.keyColumn(ctx, chunk); err != nil {
			return "", err
		}
		s.mu.Lock()
		s.pks[chunk] = v
		s.mu.Unlock()
	}
	return v.Strings.At(at), nil
}

func (s *split) keyColumn(ctx context.Context, chunk int) (*vec.Vector, error) {
	if s.obj.Kind == schema.Collection {
		v, err := s.column(ctx, pkRef, chunk)
		if err != nil {
			return nil, err
		}
		return v.Flatten(), nil
	}
	parts, err := s.column(ctx, partitionRef, chunk)
	if err != nil {
		return nil, err
	}
	offsets, err := s.column(ctx, offsetRef, chunk)
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
	ctx := context.Background() // the answer is kept for later readers, whoever asked
	idx, err := s.keyIndexOf(ctx)
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

func (s *split) keyIndexOf(ctx context.Context) (*keyIndex, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.keys != nil {
		return s.keys, nil
	}
	data, err := s.bundle.section(ctx, sectionKeys)
	if err != nil {
		return nil, err
	}
	if s.keys, err = openKeys(data); err != nil {
		return nil, fail.Wrap(fail.CodeOf(err), err, "split %s", s.seg.SplitKey)
	}
	return s.keys, nil
}
