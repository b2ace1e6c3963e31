package file

import (
	"context"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/loamdb/loam/internal/fail"
)

// Read returns rows [from, from+n) of the columns, which are top-level names;
// nil means all. The caller releases the batch. Asking past the end is
// InvalidParameter, an unknown column UndefinedColumn.
func (f *File) Read(ctx context.Context, columns []string, from, n int64) (arrow.RecordBatch, error) {
	return f.ReadWith(ctx, memory.DefaultAllocator, columns, from, n)
}

// ReadWith is Read with the allocator of the batch's buffers.
func (f *File) ReadWith(ctx context.Context, mem memory.Allocator, columns []string, from, n int64) (arrow.RecordBatch, error) {
	if err := f.checkRange(from, n); err != nil {
		return nil, err
	}
	return f.read(ctx, mem, scanned(f.src), columns, rangeOf(from, n), nil)
}

func rangeOf(from, n int64) []rowRange {
	if n == 0 {
		return nil
	}
	return []rowRange{{from, from + n}}
}

func (f *File) checkRange(from, n int64) error {
	if from < 0 || n < 0 || from > f.rows || n > f.rows-from {
		return fail.New(fail.InvalidParameter, "lance: rows %d+%d of a file of %d", from, n, f.rows)
	}
	return nil
}

// Take returns the rows by their offsets, in the order given; duplicates are
// allowed. The caller releases the batch.
func (f *File) Take(ctx context.Context, columns []string, rows []uint32) (arrow.RecordBatch, error) {
	return f.TakeWith(ctx, memory.DefaultAllocator, columns, rows)
}

// TakeWith is Take with the allocator of the batch's buffers.
func (f *File) TakeWith(ctx context.Context, mem memory.Allocator, columns []string, rows []uint32) (arrow.RecordBatch, error) {
	if err := f.checkRows(rows); err != nil {
		return nil, err
	}
	runs, order := rangesOf(rows)
	return f.read(ctx, mem, f.src, columns, runs, order)
}

func (f *File) checkRows(rows []uint32) error {
	for _, r := range rows {
		if int64(r) >= f.rows {
			return fail.New(fail.InvalidParameter, "lance: row %d of a file of %d", r, f.rows)
		}
	}
	return nil
}

// topOf resolves names to ordinals of top-level fields.
func (f *File) topOf(columns []string) ([]int, error) {
	var out []int
	if columns == nil {
		for i := range f.schema.NumFields() {
			if f.refused[i] != nil {
				return nil, f.refused[i]
			}
			out = append(out, i)
		}
		return out, nil
	}
	for _, name := range columns {
		at := f.schema.FieldIndices(name)
		if len(at) == 0 {
			return nil, fail.New(fail.UndefinedColumn, "lance: the file has no column %q", name)
		}
		if f.refused[at[0]] != nil {
			return nil, f.refused[at[0]]
		}
		out = append(out, at[0])
	}
	return out, nil
}

func (f *File) read(ctx context.Context, mem memory.Allocator, src Source, columns []string, runs []rowRange, order []int32) (arrow.RecordBatch, error) {
	tops, err := f.topOf(columns)
	if err != nil {
		return nil, err
	}
	var arrs []arrow.Array
	defer func() {
		for _, a := range arrs {
			a.Release()
		}
	}()
	fields := make([]arrow.Field, 0, len(tops))
	for _, top := range tops {
		fields = append(fields, f.schema.Field(top))
		data, err := f.readField(ctx, mem, src, top, runs)
		if err != nil {
			return nil, err
		}
		if order != nil {
			data = reorder(data, order, mem)
		}
		if err := sound(data, f.schema.Field(top).Name); err != nil {
			data.Release()
			return nil, err
		}
		arrs = append(arrs, array.MakeFromData(data))
		data.Release()
	}
	rows := int64(len(order))
	if order == nil {
		rows = int64(rowsOf(runs))
	}
	md := f.schema.Metadata()
	return array.NewRecordBatch(arrow.NewSchema(fields, &md), arrs, rows), nil
}

func rowsOf(runs []rowRange) int {
	n := int64(0)
	for _, r := range runs {
		n += r.to - r.from
	}
	return int(n)
}

func (f *File) readField(ctx context.Context, mem memory.Allocator, src Source, top int, runs []rowRange) (arrow.ArrayData, error) {
	field := f.schema.Field(top)
	var sinks []*sink
	defer func() {
		for _, s := range sinks {
			s.release()
		}
	}()
	for _, c := range f.byTop[top] {
		s := newSink(c.leaf, field, mem)
		sinks = append(sinks, s)
		s.expect(rowsOf(runs))
		if err := c.readRows(ctx, src, runs, s); err != nil {
			return nil, err
		}
		if c.leaf.shape.blob {
			if err := f.fetchBlobs(ctx, s); err != nil {
				return nil, fail.Wrap(fail.CodeOf(err), err, "column %q", c.leaf.name)
			}
		}
		if err := s.checkLimits(); err != nil {
			return nil, err
		}
	}
	return buildArray(field.Type, sinks, 0)
}

// readRows appends the file rows of the runs to the sink.
func (c *column) readRows(ctx context.Context, src Source, runs []rowRange, to *sink) error {
	switch {
	case c.arrays != nil:
		return c.readArrays(ctx, src, runs, to)
	case c.leaf.shape.hollow:
		for i := range to.nodes {
			to.nodes[i].valid.addValid(rowsOf(runs))
		}
		return nil
	}
	return c.readPages(ctx, src, runs, to)
}

// readPages is readRows page by page.
func (c *column) readPages(ctx context.Context, src Source, runs []rowRange, to *sink) error {
	var local []rowRange
	k := 0
	for _, p := range c.pages {
		local = local[:0]
		end := p.first + p.rows
		for k < len(runs) && runs[k].from < end {
			local = append(local, rowRange{max(runs[k].from, p.first) - p.first, min(runs[k].to, end) - p.first})
			if runs[k].to > end {
				break
			}
			k++
		}
		if len(local) == 0 {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		from := src
		if s, ok := src.(scan); ok {
			from = pageScan{s.Follower, p}
		}
		if err := p.read(ctx, from, local, to); err != nil {
			return err
		}
	}
	return nil
}

// Vectors is a run of float32 vectors, row after row.
type Vectors struct {
	Dim    int
	Values []float32 // rows × Dim; zeros or leftovers where a row is null
	// Nulls is the number of null rows; Valid is their bitmap (bit set: not null,
	// least significant bit first) and nil when there are none.
	Nulls int
	Valid []byte
}

// Rows is the number of vectors.
func (v Vectors) Rows() int {
	if v.Dim == 0 {
		return 0
	}
	return len(v.Values) / v.Dim
}

// ReadVectors returns rows [from, from+n) of a fixed_size_list<float32> column.
// Pages without nulls are read straight into the result, which belongs to the caller.
func (f *File) ReadVectors(ctx context.Context, column string, from, n int64) (Vectors, error) {
	if err := f.checkRange(from, n); err != nil {
		return Vectors{}, err
	}
	return f.vectors(ctx, scanned(f.src), column, rangeOf(from, n), int(n), nil, nil)
}

// ReadVectorsInto is ReadVectors into the caller's memory: if dst has the capacity
// for the rows, the result's values lie in it and nothing is allocated for them.
func (f *File) ReadVectorsInto(ctx context.Context, column string, from, n int64, dst []float32) (Vectors, error) {
	if err := f.checkRange(from, n); err != nil {
		return Vectors{}, err
	}
	return f.vectors(ctx, scanned(f.src), column, rangeOf(from, n), int(n), nil, dst)
}

// TakeVectors returns the vectors of the rows in the order given.
func (f *File) TakeVectors(ctx context.Context, column string, rows []uint32) (Vectors, error) {
	if err := f.checkRows(rows); err != nil {
		return Vectors{}, err
	}
	runs, order := rangesOf(rows)
	return f.vectors(ctx, f.src, column, runs, len(rows), order, nil)
}

func (f *File) vectors(ctx context.Context, src Source, column string, runs []rowRange, n int, order []int32, dst []float32) (Vectors, error) {
	tops, err := f.topOf([]string{column})
	if err != nil {
		return Vectors{}, err
	}
	field := f.schema.Field(tops[0])
	c := f.byTop[tops[0]][0]
	if c.leaf.shape.dim == 0 || field.Type.(arrow.NestedType).Fields()[0].Type.ID() != arrow.FLOAT32 {
		return Vectors{}, fail.New(fail.DatatypeMismatch, "lance: column %q is %s, not a vector of float32", column, field.Type)
	}
	s := newSink(c.leaf, field, memory.DefaultAllocator)
	s.values.b = bytesOf(dst)
	s.values.reserve(n * c.leaf.shape.width)
	if err := c.readRows(ctx, src, runs, s); err != nil {
		return Vectors{}, err
	}
	if err := s.checkItems(); err != nil {
		return Vectors{}, err
	}
	out := Vectors{Dim: c.leaf.shape.dim, Values: floatsOf(s.values.used()), Nulls: s.nodes[0].valid.nulls}
	if out.Nulls > 0 {
		out.Valid = s.nodes[0].valid.buf.used()
	}
	if order != nil {
		out = out.reorder(order)
	}
	return out, nil
}

// floatsOf views bytes from an Arrow allocator (aligned to 64) as float32, which
// on the little-endian machines Loam runs on is how the file stores them.
func floatsOf(b []byte) []float32 {
	if len(b) < 4 {
		return nil
	}
	return unsafe.Slice((*float32)(unsafe.Pointer(&b[0])), len(b)/4)
}

// bytesOf views the whole capacity of v as bytes.
func bytesOf(v []float32) []byte {
	if cap(v) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(&v[:1][0])), 4*cap(v))
}

func (v Vectors) reorder(order []int32) Vectors {
	out := Vectors{Dim: v.Dim, Values: make([]float32, len(order)*v.Dim)}
	var valid bitmap
	valid.buf.mem = memory.DefaultAllocator
	for i, from := range order {
		copy(out.Values[i*v.Dim:(i+1)*v.Dim], v.Values[int(from)*v.Dim:(int(from)+1)*v.Dim])
		if v.Valid != nil && v.Valid[from/8]>>(from%8)&1 == 0 {
			valid.addNull()
		} else {
			valid.addValid(1)
		}
	}
	if out.Nulls = valid.nulls; out.Nulls > 0 {
		out.Valid = valid.buf.used()
	}
	return out
}
