package vec

import (
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/types"
)

// column is one column of a Builder in Arrow's layout.
//
// Invariants: valid is nil as long as no row is NULL; offsets has n+1 entries
// once it is not nil; values holds n values of fixed width, n bits, or the bytes
// up to the last offset.
type column struct {
	typ    types.Type
	mem    memory.Allocator
	n      int
	nulls  int
	expect int

	valid, values, offsets *memory.Buffer
	// second is a sparse vector's values beside its indices.
	second *memory.Buffer
	// child holds the elements of a list or the entries of a map, fields those of a struct.
	child  *column
	fields []*column
	// at is room for row positions.
	at []int32
}

func newColumn(t types.Type, mem memory.Allocator) *column {
	c := &column{typ: t, mem: mem}
	if t.Listed() {
		c.child = newColumn(*t.Elem, mem)
	}
	for _, f := range t.Fields {
		c.fields = append(c.fields, newColumn(f.Type, mem))
	}
	return c
}

// grow makes *b size bytes long, with room for slack more, and returns its
// bytes. It grows to what is expected at first, then by doubling.
func (c *column) grow(b **memory.Buffer, size, slack int) []byte {
	if *b == nil {
		*b = memory.NewResizableBuffer(c.mem)
	}
	if need := size + slack; need > (*b).Cap() {
		had := (*b).Len()
		room := max(need, min(2*(*b).Cap(), need+maxBuf))
		if had == 0 {
			room = max(need, c.foresee(size, slack))
		}
		(*b).Reserve(room)
	}
	(*b).ResizeNoShrink(size)
	return (*b).Buf()
}

// foresee extrapolates from the size that the first rows need.
func (c *column) foresee(size, slack int) int {
	if c.n == 0 || c.expect <= c.n {
		return size + slack
	}
	all := int64(size) * int64(c.expect) / int64(c.n)
	return int(all+all/16) + slack + 64
}

// growBits makes a bitmap n bits long; new bits are clear, also those past n,
// which go out with the last byte.
func (c *column) growBits(b **memory.Buffer, n int) []byte {
	had := 0
	if *b != nil {
		had = (*b).Len()
	}
	bits := c.grow(b, (n+7)/8, 0)
	clear(bits[had : (n+7)/8])
	return bits
}

// append copies n rows of v.
func (c *column) append(v *Vector, sel []int32, n int) error {
	if n == 0 {
		return nil
	}
	from := c.n
	c.n += n
	c.appendValid(v, sel, from, n)
	base, at := c.positions(v, sel, n)
	switch c.typ.Kind {
	case types.Boolean:
		c.appendBools(base.Bools, at, from, n)
	case types.Int32, types.Date:
		appendFixed(c, base.Int32s, at, from, n)
	case types.Int64, types.Timestamp, types.Time:
		appendFixed(c, base.Int64s, at, from, n)
	case types.Double:
		appendFixed(c, base.Float64s, at, from, n)
	case types.Decimal:
		appendFixed(c, base.Decimals, at, from, n)
	case types.Interval:
		appendFixed(c, base.Spans, at, from, n)
	case types.Vector:
		c.appendFloats(base, at, from, n)
	case types.Sparse:
		return c.appendSparse(base, at, from, n)
	case types.List, types.Map:
		return c.appendLists(base, at, from, n)
	case types.Struct:
		return c.appendStructs(base, at, n)
	case types.UUID:
		return c.appendUUIDs(base, at, from, n)
	default:
		return c.appendText(base, at, from, n)
	}
	return nil
}

// positions gives the vector that holds v's values and where row i of the n is
// in it; a nil list means that row i is at i.
func (c *column) positions(v *Vector, sel []int32, n int) (*Vector, []int32) {
	switch {
	case v.Encoding == Flat && sel == nil:
		return v, nil
	case v.Encoding == Flat:
		return v, sel[:n]
	case v.Encoding == Dictionary && sel == nil:
		return v.Dict, v.Codes[:n]
	}
	if cap(c.at) < n {
		c.at = make([]int32, max(n, ChunkRows))
	}
	at := c.at[:n]
	if v.Encoding == Constant {
		clear(at)
		return v, at
	}
	for i := range at {
		at[i] = v.Codes[sel[i]]
	}
	return v.Dict, at
}

// appendValid marks the NULL rows; the first one makes the bitmap.
func (c *column) appendValid(v *Vector, sel []int32, from, n int) {
	if !v.HasNulls() {
		if c.valid != nil {
			bitutil.SetBitsTo(c.growBits(&c.valid, from+n), int64(from), int64(n), true)
		}
		return
	}
	fresh := c.valid == nil
	bits := c.growBits(&c.valid, from+n)
	if fresh {
		bitutil.SetBitsTo(bits, 0, int64(from), true)
	}
	if v.Encoding == Flat && sel == nil {
		bitutil.CopyBitmap(bytesOf(v.Valid), 0, n, bits, from)
		c.nulls += n - v.Valid.Count(n)
		return
	}
	for i := range n {
		if v.IsNull(selAt(sel, i)) {
			c.nulls++
		} else {
			bitutil.SetBit(bits, from+i)
		}
	}
}

func selAt(sel []int32, i int) int {
	if sel == nil {
		return i
	}
	return int(sel[i])
}

// null reports whether row i was appended as NULL.
func (c *column) null(i int) bool {
	return c.nulls > 0 && !bitutil.BitIsSet(c.valid.Buf(), i)
}

// bytesOf views values as bytes.
func bytesOf[S ~[]T, T any](vals S) []byte {
	if len(vals) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(&vals[0])), len(vals)*int(unsafe.Sizeof(vals[0])))
}

// appendFixed copies values of fixed width: rows as they are in one move.
func appendFixed[T any](c *column, vals []T, at []int32, from, n int) {
	var zero T
	width := int(unsafe.Sizeof(zero))
	dst := castBytes[T](c.grow(&c.values, (from+n)*width, 0)[from*width:], n)
	if at == nil {
		copy(dst, vals[:n])
		return
	}
	for i, r := range at[:len(dst)] {
		dst[i] = vals[r]
	}
}

func (c *column) appendBools(vals []bool, at []int32, from, n int) {
	bits := c.growBits(&c.values, from+n)
	for i := range n {
		if vals[selAt(at, i)] {
			bitutil.SetBit(bits, from+i)
		}
	}
}

// appendFloats copies the elements of dense vectors.
func (c *column) appendFloats(base *Vector, at []int32, from, n int) {
	d := int(c.typ.Dim)
	if d == 0 {
		return
	}
	dst := castBytes[float32](c.grow(&c.values, 4*(from+n)*d, 0)[4*from*d:], n*d)
	if at == nil {
		copy(dst, base.Float32s[:n*d])
		return
	}
	for i, r := range at {
		copy(dst[i*d:(i+1)*d], base.Float32s[int(r)*d:(int(r)+1)*d])
	}
}

const maxOffset = 1<<31 - 1

func tooLong(what string) error {
	return fail.New(fail.TooLarge, "a result batch has more than 2 GiB of %s in one column", what).
		WithHint("Select fewer rows or shorter values.")
}

// openOffsets makes room for n more offsets and returns all of them; the entry
// at from is set.
func (c *column) openOffsets(from, n int) []int32 {
	fresh := c.offsets == nil
	off := castBytes[int32](c.grow(&c.offsets, 4*(from+n+1), 0), from+n+1)
	if fresh {
		off[0] = 0
	}
	return off
}

// appendText copies strings behind each other; those of NULL rows are left out.
func (c *column) appendText(base *Vector, at []int32, from, n int) error {
	off := c.openOffsets(from, n)
	views := base.Strings.Views
	start := int(off[from])
	end := start
	for i := range n {
		if !c.null(from + i) {
			end += int(views[selAt(at, i)].Len)
		}
		if end > maxOffset {
			return tooLong("text")
		}
		off[from+i+1] = int32(end)
	}
	dst := c.grow(&c.values, end, InlineLen)[:end+InlineLen]
	pos := start
	for i, to := range off[from+1 : from+n+1] {
		if int(to) == pos {
			continue
		}
		v := &views[selAt(at, i)]
		if v.Len <= InlineLen {
			// All twelve bytes in one move; the next string covers what is too much.
			*(*[InlineLen]byte)(dst[pos:]) = *(*[InlineLen]byte)(unsafe.Pointer(&v.Prefix))
		} else {
			buf, place := v.place()
			copy(dst[pos:to], base.Strings.Bufs[buf][place:])
		}
		pos = int(to)
	}
	return nil
}

func (c *column) appendLists(base *Vector, at []int32, from, n int) error {
	off := c.openOffsets(from, n)
	elems := make([]int32, 0, n)
	start := int64(off[from])
	for i := range n {
		if r := selAt(at, i); !c.null(from + i) {
			for j := base.Offsets[r]; j < base.Offsets[r+1]; j++ {
				elems = append(elems, j)
			}
		}
		if start+int64(len(elems)) > maxOffset {
			return tooLong("list elements")
		}
		off[from+i+1] = int32(start) + int32(len(elems))
	}
	return c.child.append(base.Child, elems, len(elems))
}

// appendStructs copies fields. Values under a NULL struct go along: readers look
// at the struct first.
func (c *column) appendStructs(base *Vector, at []int32, n int) error {
	if at != nil {
		at = append([]int32(nil), at...) // a field of a dictionary takes the scratch space
	}
	for i, f := range c.fields {
		if err := f.append(base.Fields[i], at, n); err != nil {
			return err
		}
	}
	return nil
}

// appendUUIDs writes UUIDs as their texts.
func (c *column) appendUUIDs(base *Vector, at []int32, from, n int) error {
	off := c.openOffsets(from, n)
	end := int(off[from])
	for i := range n {
		if !c.null(from + i) {
			end += uuidLen
		}
		if end > maxOffset {
			return tooLong("text")
		}
		off[from+i+1] = int32(end)
	}
	dst := c.grow(&c.values, end, 0)
	for i := range n {
		if lo := int(off[from+i]); int(off[from+i+1]) > lo {
			AppendUUID(dst[lo:lo:lo+uuidLen], base.Decimals[selAt(at, i)])
		}
	}
	return nil
}

// appendSparse copies sparse vectors: offsets shared by indices and values.
func (c *column) appendSparse(base *Vector, at []int32, from, n int) error {
	off := c.openOffsets(from, n)
	start := int(off[from])
	end := start
	for i := range n {
		if !c.null(from + i) {
			end += len(base.SparseRows[selAt(at, i)].Indices)
		}
		if end > maxOffset/4 {
			return tooLong("sparse vectors")
		}
		off[from+i+1] = int32(end)
	}
	indices, values := c.grow(&c.values, 4*end, 4), c.grow(&c.second, 4*end, 4)
	for i := range n {
		if lo, hi := int(off[from+i]), int(off[from+i+1]); lo < hi {
			row := base.SparseRows[selAt(at, i)]
			copy(castBytes[uint32](indices[4*lo:], hi-lo), row.Indices)
			copy(castBytes[float32](values[4*lo:], hi-lo), row.Values)
		}
	}
	return nil
}

// array hands the rows over; the column is empty again.
func (c *column) array() arrow.Array {
	defer c.release()
	if c.n == 0 {
		c.empty()
	}
	data := c.data()
	defer data.Release()
	return array.MakeFromData(data)
}

// empty makes the buffers that readers want of an array without rows.
func (c *column) empty() {
	switch c.typ.Kind {
	case types.Text, types.Binary, types.JSON, types.Unknown, types.Sparse, types.List, types.Map, types.UUID:
		c.openOffsets(0, 0)
	}
}

func (c *column) data() *array.Data {
	t := c.typ.Arrow()
	switch c.typ.Kind {
	case types.Vector:
		elems := array.NewData(arrow.PrimitiveTypes.Float32, c.n*int(c.typ.Dim), []*memory.Buffer{nil, c.values}, nil, 0, 0)
		defer elems.Release()
		return array.NewData(t, c.n, []*memory.Buffer{c.valid}, []arrow.ArrayData{elems}, c.nulls, 0)
	case types.Sparse:
		indices, values := c.list(0, arrow.PrimitiveTypes.Uint32, c.values), c.list(1, arrow.PrimitiveTypes.Float32, c.second)
		defer indices.Release()
		defer values.Release()
		return array.NewData(t, c.n, []*memory.Buffer{c.valid}, []arrow.ArrayData{indices, values}, c.nulls, 0)
	case types.Map:
		entries := c.child.structData(t.(*arrow.MapType).Elem())
		defer entries.Release()
		defer c.child.release()
		return array.NewData(t, c.n, []*memory.Buffer{c.valid, c.offsets}, []arrow.ArrayData{entries}, c.nulls, 0)
	case types.List:
		elems := c.child.array()
		defer elems.Release()
		return array.NewData(t, c.n, []*memory.Buffer{c.valid, c.offsets}, []arrow.ArrayData{elems.Data()}, c.nulls, 0)
	}
	if c.typ.Kind == types.Struct {
		return c.structData(t)
	}
	bufs := []*memory.Buffer{c.valid, c.values}
	if c.offsets != nil {
		bufs = []*memory.Buffer{c.valid, c.offsets, c.values}
	}
	return array.NewData(t, c.n, bufs, nil, c.nulls, 0)
}

func (c *column) structData(t arrow.DataType) *array.Data {
	fields := make([]arrow.ArrayData, len(c.fields))
	for i, f := range c.fields {
		arr := f.array()
		defer arr.Release()
		fields[i] = arr.Data()
	}
	return array.NewData(t, c.n, []*memory.Buffer{c.valid}, fields, c.nulls, 0)
}

// list is one half of sparse vectors.
func (c *column) list(field int, elem arrow.DataType, values *memory.Buffer) *array.Data {
	total := 0
	if values != nil {
		total = values.Len() / 4
	}
	child := array.NewData(elem, total, []*memory.Buffer{nil, values}, nil, 0, 0)
	defer child.Release()
	return array.NewData(types.SparseArrow.Field(field).Type, c.n, []*memory.Buffer{nil, c.offsets}, []arrow.ArrayData{child}, 0, 0)
}

func (c *column) release() {
	for _, b := range []**memory.Buffer{&c.valid, &c.values, &c.offsets, &c.second} {
		if *b != nil {
			(*b).Release()
			*b = nil
		}
	}
	if c.child != nil {
		c.child.release()
	}
	for _, f := range c.fields {
		f.release()
	}
	c.n, c.nulls = 0, 0
}
