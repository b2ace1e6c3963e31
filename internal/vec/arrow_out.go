package vec

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/types"
)

// Schema is the Arrow schema of columns with these names and types; every field is nullable.
func Schema(names []string, ts []types.Type) *arrow.Schema {
	fields := make([]arrow.Field, len(ts))
	for i, t := range ts {
		fields[i] = arrow.Field{Name: names[i], Type: t.Arrow(), Nullable: true}
	}
	return arrow.NewSchema(fields, nil)
}

// ChunkToRecord copies the selected rows of a chunk into a record batch of the
// schema, whose field types are those of [types.Type.Arrow]. The caller releases it.
func ChunkToRecord(c *Chunk, schema *arrow.Schema, mem memory.Allocator) (arrow.RecordBatch, error) {
	if schema.NumFields() != len(c.Cols) {
		return nil, fail.Bug("a chunk of %d columns for a schema of %d", len(c.Cols), schema.NumFields())
	}
	n := c.Rows()
	cols := make([]arrow.Array, 0, len(c.Cols))
	defer func() {
		for _, a := range cols {
			a.Release()
		}
	}()
	for i, col := range c.Cols {
		a, err := ToArrow(col, c.Sel, n, mem)
		if err != nil {
			return nil, err
		}
		cols = append(cols, a)
		if !arrow.TypeEqual(a.DataType(), schema.Field(i).Type) {
			return nil, fail.Bug("column %d is %s, but its field says %s", i, a.DataType(), schema.Field(i).Type)
		}
	}
	return array.NewRecordBatch(schema, cols, int64(n)), nil
}

// ToArrow copies n rows of v (rows sel[0..n), or 0..n-1 with a nil selection)
// into an Arrow array of type v.Type.Arrow(): flat, no views, no dictionaries.
// Only these rows' bytes are in its buffers. The caller releases it. Error:
// fail.TooLarge when strings or list elements exceed 2 GiB.
func ToArrow(v *Vector, sel []int32, n int, mem memory.Allocator) (arrow.Array, error) {
	o := out{mem: mem, row: rowMapper(v, sel)}
	base := v
	if v.Encoding == Dictionary {
		base = v.Dict
	}
	data, err := o.data(base, v, sel, n)
	if err != nil {
		return nil, err
	}
	defer data.Release()
	return array.MakeFromData(data), nil
}

// rowMapper maps the i-th output row to its place among the vector's values.
func rowMapper(v *Vector, sel []int32) func(int) int {
	switch {
	case v.Encoding == Constant:
		return func(int) int { return 0 }
	case v.Encoding == Dictionary && sel == nil:
		return func(i int) int { return int(v.Codes[i]) }
	case v.Encoding == Dictionary:
		return func(i int) int { return int(v.Codes[sel[i]]) }
	case sel == nil:
		return nil
	}
	return func(i int) int { return int(sel[i]) }
}

// out is the state of one array's copy; row nil means rows as they are.
type out struct {
	mem memory.Allocator
	row func(int) int
}

func (o *out) at(i int) int {
	if o.row == nil {
		return i
	}
	return o.row(i)
}

func (o *out) buffer(size int) *memory.Buffer {
	b := memory.NewResizableBuffer(o.mem)
	b.Resize(size)
	return b
}

// fixed copies fixed-width values.
func fixed[T any](o *out, vals []T, n, width int) *memory.Buffer {
	b := o.buffer(n * width)
	if n == 0 {
		return b
	}
	dst := castBytes[T](b.Bytes(), n)
	if o.row == nil {
		copy(dst, vals[:n])
		return b
	}
	for i := range dst {
		dst[i] = vals[o.row(i)]
	}
	return b
}

func (o *out) validity(v *Vector, sel []int32, n int) (*memory.Buffer, int) {
	if !v.HasNulls() {
		return nil, 0
	}
	b := o.buffer((n + 7) / 8)
	bits, nulls := b.Bytes(), 0
	clear(bits)
	for i := range n {
		r := i
		if sel != nil {
			r = int(sel[i])
		}
		if v.IsNull(r) {
			nulls++
		} else {
			bits[i>>3] |= 1 << (i & 7)
		}
	}
	return b, nulls
}

// data copies values of base, nulls of v, and hands over the buffers.
func (o *out) data(base, v *Vector, sel []int32, n int) (*array.Data, error) {
	valid, nulls := o.validity(v, sel, n)
	bufs := []*memory.Buffer{valid}
	var children []arrow.ArrayData
	defer func() {
		for _, b := range bufs {
			if b != nil {
				b.Release()
			}
		}
		for _, c := range children {
			c.Release()
		}
	}()
	var err error
	switch v.Type.Kind {
	case types.Boolean:
		bufs = append(bufs, o.bools(base.Bools, n))
	case types.Int32, types.Date:
		bufs = append(bufs, fixed(o, base.Int32s, n, 4))
	case types.Int64, types.Timestamp:
		bufs = append(bufs, fixed(o, base.Int64s, n, 8))
	case types.Double:
		bufs = append(bufs, fixed(o, base.Float64s, n, 8))
	case types.Decimal:
		bufs = append(bufs, fixed(o, base.Decimals, n, 16))
	case types.Interval:
		bufs = append(bufs, fixed(o, base.Spans, n, 16))
	case types.Vector:
		children = append(children, o.floats(base, n))
	case types.Sparse:
		children, err = o.sparse(base, v, sel, n)
	case types.List:
		var offsets *memory.Buffer
		offsets, children, err = o.list(base, v, sel, n)
		bufs = append(bufs, offsets)
	default:
		var offsets, values *memory.Buffer
		offsets, values, err = o.strings(base, v, sel, n)
		bufs = append(bufs, offsets, values)
	}
	if err != nil {
		return nil, err
	}
	return array.NewData(v.Type.Arrow(), n, bufs, children, nulls, 0), nil
}

func (o *out) bools(vals []bool, n int) *memory.Buffer {
	b := o.buffer((n + 7) / 8)
	bits := b.Bytes()
	clear(bits)
	for i := range n {
		if vals[o.at(i)] {
			bits[i>>3] |= 1 << (i & 7)
		}
	}
	return b
}

// floats copies the elements of vectors as the child of a fixed-size list.
func (o *out) floats(v *Vector, n int) arrow.ArrayData {
	d := int(v.Type.Dim)
	b := o.buffer(4 * n * d)
	defer b.Release()
	if n*d > 0 {
		dst := castBytes[float32](b.Bytes(), n*d)
		for i := range n {
			r := o.at(i)
			copy(dst[i*d:(i+1)*d], v.Float32s[r*d:(r+1)*d])
		}
	}
	return array.NewData(arrow.PrimitiveTypes.Float32, n*d, []*memory.Buffer{nil, b}, nil, 0, 0)
}

const maxOffset = 1<<31 - 1

func tooLong(what string) error {
	return fail.New(fail.TooLarge, "a result batch has more than 2 GiB of %s in one column", what).
		WithHint("Select fewer rows or shorter values.")
}

// strings copies the strings of valid rows behind each other.
func (o *out) strings(base, v *Vector, sel []int32, n int) (*memory.Buffer, *memory.Buffer, error) {
	offsets := o.buffer(4 * (n + 1))
	off := castBytes[int32](offsets.Bytes(), n+1)
	off[0] = 0
	total, nulls := 0, v.HasNulls()
	for i := range n {
		if !nulls || !v.IsNull(selAt(sel, i)) {
			total += int(base.Strings.Views[o.at(i)].Len)
		}
		if total > maxOffset {
			offsets.Release()
			return nil, nil, tooLong("text")
		}
		off[i+1] = int32(total)
	}
	values := o.buffer(total)
	dst := values.Bytes()
	for i := range n {
		if from, to := off[i], off[i+1]; from < to {
			copy(dst[from:to], base.Strings.At(o.at(i)))
		}
	}
	return offsets, values, nil
}

func selAt(sel []int32, i int) int {
	if sel == nil {
		return i
	}
	return int(sel[i])
}

func (o *out) list(base, v *Vector, sel []int32, n int) (*memory.Buffer, []arrow.ArrayData, error) {
	offsets := o.buffer(4 * (n + 1))
	off := castBytes[int32](offsets.Bytes(), n+1)
	off[0] = 0
	var rows []int32
	for i := range n {
		if !v.IsNull(selAt(sel, i)) {
			r := o.at(i)
			for j := base.Offsets[r]; j < base.Offsets[r+1]; j++ {
				rows = append(rows, j)
			}
		}
		off[i+1] = int32(len(rows))
	}
	if rows == nil {
		rows = []int32{}
	}
	child, err := ToArrow(base.Child, rows, len(rows), o.mem)
	if err != nil {
		offsets.Release()
		return nil, nil, err
	}
	child.Data().Retain()
	defer child.Release()
	return offsets, []arrow.ArrayData{child.Data()}, nil
}

// sparse copies sparse vectors as struct<indices: list<uint32>, values: list<float32>>.
func (o *out) sparse(base, v *Vector, sel []int32, n int) ([]arrow.ArrayData, error) {
	total := 0
	offsets := o.buffer(4 * (n + 1))
	defer offsets.Release()
	off := castBytes[int32](offsets.Bytes(), n+1)
	off[0] = 0
	for i := range n {
		if !v.IsNull(selAt(sel, i)) {
			total += len(base.SparseRows[o.at(i)].Indices)
		}
		if total > maxOffset/4 {
			return nil, tooLong("sparse vectors")
		}
		off[i+1] = int32(total)
	}
	indices, values := o.buffer(4*total), o.buffer(4*total)
	defer indices.Release()
	defer values.Release()
	for i := range n {
		from, to := off[i], off[i+1]
		if from == to {
			continue
		}
		row := base.SparseRows[o.at(i)]
		copy(castBytes[uint32](indices.Bytes(), total)[from:to], row.Indices)
		copy(castBytes[float32](values.Bytes(), total)[from:to], row.Values)
	}
	list := func(field int, elem arrow.DataType, b *memory.Buffer) arrow.ArrayData {
		child := array.NewData(elem, total, []*memory.Buffer{nil, b}, nil, 0, 0)
		defer child.Release()
		return array.NewData(types.SparseArrow.Field(field).Type, n, []*memory.Buffer{nil, offsets}, []arrow.ArrayData{child}, 0, 0)
	}
	return []arrow.ArrayData{
		list(0, arrow.PrimitiveTypes.Uint32, indices),
		list(1, arrow.PrimitiveTypes.Float32, values),
	}, nil
}
