package collection

import (
	"context"
	"slices"
	"sort"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
	"github.com/loamdb/loam/storage/internal/cache"
	"github.com/loamdb/loam/storage/lance"
	"github.com/loamdb/loam/storage/object"
)

// opened is a fragment of an opened split: its rows begin at base in the split.
type opened struct {
	id         uint64
	base, rows int
	files      []*dataFile
}

// dataFile is a Lance file whose footer is read when it is first needed.
type dataFile struct {
	name string
	size int64
	rows int
	ids  []int32 // of its Lance fields, as the manifest has them
	obj  object.Object
	far  bool     // each read costs a round trip
	sums []uint64 // of its blocks

	cache  *cache.Cache
	number uint64 // in the cache

	mu   sync.Mutex // guards file
	file *lance.File
}

// openFragments opens the data files of the segment's fragments.
func (s *split) openFragments(ctx context.Context, store object.Store) error {
	for base, f := range s.seg.placed() {
		o := opened{id: f.ID, base: base, rows: f.Rows}
		for _, d := range f.Files {
			o.files = append(o.files, &dataFile{name: d.Name, size: d.Size, rows: f.Rows, ids: d.IDs, far: object.Far(store), sums: s.bundle.table.fileSums(d.Name), cache: s.cache, number: s.cache.NewFile()})
		}
		s.frags = append(s.frags, o)
	}
	files := s.dataFiles()
	return together(len(files), func(i int) (err error) {
		f := files[i]
		f.obj, err = object.OpenSized(ctx, store, dataKey(s.obj, f.name), f.size)
		return err
	})
}

// dataFiles are the files of all fragments.
func (s *split) dataFiles() []*dataFile {
	var out []*dataFile
	for i := range s.frags {
		out = append(out, s.frags[i].files...)
	}
	return out
}

// open reads the footer, once.
func (d *dataFile) open(ctx context.Context) (*lance.File, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.file != nil {
		return d.file, nil
	}
	b := &blob{cache: d.cache, file: d.number, read: d.obj.ReadAt, far: d.far, size: d.size, sums: d.sums, name: "data file " + d.name}
	if err := b.check(); err != nil {
		return nil, err
	}
	f, err := lance.OpenFile(ctx, b, b.size)
	if err != nil {
		return nil, fail.Wrap(fail.CodeOf(err), err, "data file %s", d.name)
	}
	if int(f.NumRows()) != d.rows {
		return nil, fail.New(fail.Corrupt, "data file %s has %d rows, the manifest says %d", d.name, f.NumRows(), d.rows)
	}
	d.file = f
	return f, nil
}

// anyHas reports whether one of the fragments of the rows has the column.
func (s *split) anyHas(c colRef, from, n int) bool {
	return slices.ContainsFunc(s.stretches(from, n), func(f stretch) bool {
		return slices.ContainsFunc(f.files, func(d *dataFile) bool { return c.inLanceFile(d.ids) })
	})
}

// fileOf is the file of the fragment that has the column; nil when none has it.
func (o *opened) fileOf(ctx context.Context, c colRef) (*lance.File, error) {
	for _, d := range o.files {
		if c.inLanceFile(d.ids) {
			return d.open(ctx)
		}
	}
	return nil, nil
}

// inLance reports the columns that lie in data files and not in the bundle.
func (s *split) inLance(c colRef) bool { return s.obj.Kind == schema.Collection && c.wide() }

// stretch is some rows of a split that lie in one fragment, counted there.
type stretch struct {
	*opened
	from, n int
}

// stretches cuts the rows [from, from+n) where fragments end.
func (s *split) stretches(from, n int) []stretch {
	var out []stretch
	for i := s.fragmentOf(from); n > 0; i++ {
		f := &s.frags[i]
		part := min(n, f.base+f.rows-from)
		out = append(out, stretch{f, from - f.base, part})
		from, n = from+part, n-part
	}
	return out
}

// fragmentOf is the position of the fragment that the row lies in.
func (s *split) fragmentOf(row int) int {
	return sort.Search(len(s.frags), func(i int) bool { return s.frags[i].base > row }) - 1
}

// rowIDs are the ids of the rows, as Lance counts them.
func (s *split) rowIDs(t types.Type, from, n int) *vec.Vector {
	v := vec.NewFlat(t, n)
	at := 0
	for _, f := range s.stretches(from, n) {
		for i := range f.n {
			v.Int64s[at] = int64(f.id)<<32 + int64(f.from+i)
			at++
		}
	}
	return v
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

// readLance reads rows of a column from the data files; nil when no fragment has it.
func (s *split) readLance(ctx context.Context, c colRef, from, n int) (*vec.Vector, error) {
	j := joiner{t: c.t}
	for _, f := range s.stretches(from, n) {
		file, err := f.fileOf(ctx, c)
		if err != nil {
			return nil, err
		}
		var v *vec.Vector
		if file != nil {
			rec, err := file.ReadWith(ctx, heap, []string{c.name}, int64(f.from), int64(f.n))
			if v, err = fromRecord(rec, c.t, err); err != nil {
				return nil, err
			}
		}
		j.add(v, f.n)
	}
	return j.out, nil
}

// takeLance is readLance for single rows, ascending.
func (s *split) takeLance(ctx context.Context, c colRef, rows []uint32) (*vec.Vector, error) {
	j := joiner{t: c.t}
	for len(rows) > 0 {
		f := &s.frags[s.fragmentOf(int(rows[0]))]
		n := sort.Search(len(rows), func(i int) bool { return int(rows[i]) >= f.base+f.rows })
		file, err := f.fileOf(ctx, c)
		if err != nil {
			return nil, err
		}
		var v *vec.Vector
		if file != nil {
			rec, err := file.TakeWith(ctx, heap, []string{c.name}, f.local(rows[:n]))
			if v, err = fromRecord(rec, c.t, err); err != nil {
				return nil, err
			}
		}
		j.add(v, n)
		rows = rows[n:]
	}
	return j.out, nil
}

// local are rows of the split as rows of the fragment.
func (o *opened) local(rows []uint32) []uint32 {
	if o.base == 0 {
		return rows
	}
	out := make([]uint32, len(rows))
	for i, r := range rows {
		out[i] = r - uint32(o.base)
	}
	return out
}

// joiner puts the pieces of a column together. A nil piece has no values; out is nil
// as long as all are. One piece is not copied.
type joiner struct {
	t    types.Type
	out  *vec.Vector
	n    int  // rows so far
	mine bool // out was made here
}

func (j *joiner) add(v *vec.Vector, n int) {
	switch {
	case j.n == 0:
		j.out = v
	case v == nil && j.out == nil:
	default:
		j.own()
		if v == nil {
			v = vec.Const(j.t, vec.Null(j.t), n)
		}
		j.out.AppendRows(v, nil, n)
	}
	j.n += n
}

// own makes out a vector that can be appended to.
func (j *joiner) own() {
	if j.mine {
		return
	}
	v := j.out
	if v == nil {
		v = vec.Const(j.t, vec.Null(j.t), j.n)
	}
	j.out, j.mine = vec.New(j.t, vec.ChunkRows), true
	j.out.AppendRows(v, nil, j.n)
}

// vectorsInto reads a chunk's vectors into room; nil when a row has none.
func (s *split) vectorsInto(ctx context.Context, c colRef, from, n int, room *vec.Vector) (*vec.Vector, error) {
	dim := int(c.t.Dim)
	if cap(room.Float32s) < n*dim {
		room.Float32s = make([]float32, 0, vec.ChunkRows*dim)
	}
	out := room.Float32s[:n*dim]
	at := 0
	for _, f := range s.stretches(from, n) {
		file, err := f.fileOf(ctx, c)
		if file == nil || err != nil {
			return nil, err
		}
		v, err := file.ReadVectorsInto(ctx, c.name, int64(f.from), int64(f.n), out[at:at:at+f.n*dim])
		if err != nil || v.Nulls > 0 {
			return nil, err
		}
		at += copy(out[at:], v.Values)
	}
	return &vec.Vector{Type: c.t, N: n, Float32s: out}, nil
}
