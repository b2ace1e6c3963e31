package vec

import (
	"slices"
	"unicode/utf8"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/types"
)

// fillStrings makes views over the strings or bytes of an array.
func (v *Vector) fillStrings(arr arrow.Array) error {
	var err error
	switch a := arr.(type) {
	case *array.String:
		err = v.wrapOffsets(a.ValueOffsets(), dataBytes(arr, 2))
	case *array.Binary:
		err = v.wrapOffsets(a.ValueOffsets(), dataBytes(arr, 2))
	case *array.LargeString:
		err = wrapLarge(v, a.ValueOffsets(), dataBytes(arr, 2))
	case *array.LargeBinary:
		err = wrapLarge(v, a.ValueOffsets(), dataBytes(arr, 2))
	case *array.FixedSizeBinary:
		width := a.DataType().(*arrow.FixedSizeBinaryType).ByteWidth
		offsets := make([]int64, v.N+1)
		for i := range offsets {
			offsets[i] = int64(arr.Data().Offset()+i) * int64(width)
		}
		err = wrapLarge(v, offsets, dataBytes(arr, 1))
	case *array.StringView:
		err = v.copyViews(arr)
	case *array.BinaryView:
		err = v.copyViews(arr)
	default:
		return fail.New(fail.Unsupported, "Arrow type %s has no SQL type in Loam", arr.DataType())
	}
	if err == nil && v.Type.Kind == types.Text {
		err = v.checkUTF8()
	}
	return err
}

func dataBytes(arr arrow.Array, i int) []byte {
	bufs := arr.Data().Buffers()
	if i >= len(bufs) || bufs[i] == nil {
		return nil
	}
	return bufs[i].Bytes()
}

func (v *Vector) wrapOffsets(offsets []int32, values []byte) error {
	if v.N == 0 {
		return nil
	}
	if err := checkOffsets(offsets, v.N, len(values)); err != nil {
		return err
	}
	v.Strings = Wrap(offsets[:v.N+1], values)
	return nil
}

func checkOffsets[T int32 | int64](offsets []T, n, size int) error {
	if len(offsets) <= n || offsets[0] < 0 || int64(offsets[n]) > int64(size) {
		return fail.New(fail.BadRequest, "the offsets of a variable-length Arrow column lie outside of its values")
	}
	for i := range n {
		if offsets[i] > offsets[i+1] {
			return fail.New(fail.BadRequest, "row %d: the offsets of a variable-length Arrow column decrease", i+1)
		}
	}
	return nil
}

// wrapLarge makes views over 64-bit offsets; values past 4 GiB get further buffers.
func wrapLarge(v *Vector, offsets []int64, values []byte) error {
	if v.N == 0 {
		return nil
	}
	if err := checkOffsets(offsets, v.N, len(values)); err != nil {
		return err
	}
	s := Strings{Views: make([]View, v.N)}
	base := int64(-1)
	for i := range v.N {
		from, to := offsets[i], offsets[i+1]
		if base < 0 || to-base > 1<<32-1 {
			base = from
			s.Bufs = append(s.Bufs, values[base:])
		}
		if to-from > 1<<31-1 {
			return fail.New(fail.TooLarge, "row %d: a value of %d bytes; the limit is 2 GiB", i+1, to-from)
		}
		s.Views[i] = makeView(values[from:to], uint32(len(s.Bufs)-1), uint32(from-base))
	}
	v.Strings = s
	return nil
}

// copyViews copies an Arrow view column's views, so that NULLs, padding and
// prefixes are what this package expects whatever the sender wrote.
func (v *Vector) copyViews(arr arrow.Array) error {
	bufs := arr.Data().Buffers()
	s := Strings{Views: make([]View, v.N)}
	for _, b := range bufs[min(2, len(bufs)):] {
		s.Bufs = append(s.Bufs, b.Bytes())
	}
	if v.N == 0 {
		return nil
	}
	headers := dataBytes(arr, 1)
	if len(headers) < 16*(arr.Data().Offset()+v.N) {
		return fail.New(fail.BadRequest, "an Arrow view column has fewer views than rows")
	}
	raw := castBytes[View](headers[16*arr.Data().Offset():], v.N)
	for i := range v.N {
		if v.IsNull(i) {
			continue
		}
		w := raw[i]
		if w.Len <= InlineLen {
			s.Views[i] = makeView(unsafe.Slice(&w.Prefix[0], w.Len), 0, 0)
			continue
		}
		buf, off := w.place()
		if int(buf) >= len(s.Bufs) || uint64(off)+uint64(w.Len) > uint64(len(s.Bufs[buf])) {
			return fail.New(fail.BadRequest, "row %d: a view points outside of its Arrow buffers", i+1)
		}
		s.Views[i] = makeView(s.Bufs[buf][off:off+w.Len], buf, off)
	}
	v.Strings = s
	return nil
}

// checkUTF8 refuses text that is not UTF-8, naming the first such row.
func (v *Vector) checkUTF8() error {
	for i := range v.N {
		if !v.IsNull(i) && !utf8.ValidString(v.Strings.At(i)) {
			return fail.New(fail.InvalidEncoding, "row %d: the text is not valid UTF-8", i+1).
				WithHint("Send bytes as BINARY.")
		}
	}
	return nil
}

// listSpans gives the child array of a list column and each row's range in it.
func listSpans(arr arrow.Array) (child arrow.Array, from, to func(int) int64, ok bool) {
	switch a := arr.(type) {
	case *array.FixedSizeList:
		w := int64(a.DataType().(*arrow.FixedSizeListType).Len())
		off := int64(a.Data().Offset())
		return a.ListValues(), func(i int) int64 { return (off + int64(i)) * w }, func(i int) int64 { return (off + int64(i) + 1) * w }, true
	case array.ListLike:
		return a.ListValues(), func(i int) int64 { s, _ := a.ValueOffsets(i); return s },
			func(i int) int64 { _, e := a.ValueOffsets(i); return e }, true
	}
	return nil, nil, nil, false
}

// listFromArrow reads a list column; the elements become those of t when t is a list.
func listFromArrow(v *Vector, arr arrow.Array, t types.Type) (*Vector, error) {
	if !t.Listed() {
		return v, nil // widen refuses it by name
	}
	child, from, to, ok := listSpans(arr)
	if !ok {
		return nil, fail.New(fail.Unsupported, "Arrow type %s has no SQL type in Loam", arr.DataType())
	}
	elems, err := FromArrow(child, *t.Elem)
	if err != nil {
		return nil, err
	}
	out := New(t, 0)
	out.Child = New(*t.Elem, 0)
	out.N, out.Valid = v.N, v.Valid
	for i := range v.N {
		if !v.IsNull(i) {
			f, e := from(i), to(i)
			if f < 0 || e < f || e > int64(elems.N) {
				return nil, fail.New(fail.BadRequest, "row %d: a list lies outside of its Arrow values", i+1)
			}
			out.Child.AppendRows(elems.Slice(int(f), int(e)), nil, int(e-f))
		}
		out.Offsets = append(out.Offsets, int32(out.Child.N))
	}
	if t.Kind == types.Map {
		return out, out.CheckMaps()
	}
	return out, nil
}

// vectorFromArrow reads a VECTOR: FixedSizeList<float32> without a copy when no row is
// NULL, the other lists of numbers row by row, every row checked for its dimension.
func vectorFromArrow(arr arrow.Array, t types.Type) (*Vector, error) {
	if arr.DataType().ID() == arrow.NULL {
		return allNull(t, arr.Len()), nil
	}
	child, from, to, ok := listSpans(arr)
	if !ok {
		return nil, fail.New(fail.DatatypeMismatch, "Arrow type %s does not fit a column of type %s", arr.DataType(), t).
			WithHint("Send FixedSizeList<float32, %d>.", t.Dim)
	}
	n, dim := arr.Len(), int64(t.Dim)
	v := &Vector{Type: t, N: n, Valid: validOf(arr)}
	floats, err := floatsOf(child, t)
	if err != nil {
		return nil, err
	}
	dense := n == 0
	if _, fixed := arr.(*array.FixedSizeList); fixed && n > 0 {
		dense = to(0)-from(0) == dim && to(n-1) <= int64(len(floats))
		if dense {
			v.Float32s = floats[from(0):to(n-1)]
		}
	}
	if !dense {
		v.Float32s = make([]float32, n*int(dim))
	}
	nulls := child.NullN() > 0
	for i := range n {
		if v.IsNull(i) {
			continue
		}
		f, e := from(i), to(i)
		if e-f != dim {
			return nil, fail.New(fail.InvalidVector, "row %d: a vector of %s, but the column is %s", i+1, fail.Count(e-f, "dimension"), t).
				WithHint("Every vector of the column has %s.", fail.Count(t.Dim, "number"))
		}
		if f < 0 || e > int64(len(floats)) {
			return nil, fail.New(fail.BadRequest, "row %d: a list lies outside of its Arrow values", i+1)
		}
		for j := f; nulls && j < e; j++ {
			if child.IsNull(int(j)) {
				return nil, fail.New(fail.InvalidVector, "row %d: element %d of the vector is NULL", i+1, j-f+1).
					WithHint("A vector has all its numbers, or is NULL as a whole.")
			}
		}
		if !dense {
			copy(v.Float32s[int64(i)*dim:], floats[f:e])
		}
	}
	return v, nil
}

// floatsOf gives the elements of a vector column as float32.
func floatsOf(child arrow.Array, t types.Type) ([]float32, error) {
	switch a := child.(type) {
	case *array.Float32:
		return a.Float32Values(), nil
	case *array.Float64:
		return narrowFloats(a.Float64Values()), nil
	case *array.Float16:
		out := make([]float32, a.Len())
		for i, f := range a.Values() {
			out[i] = f.Float32()
		}
		return out, nil
	case *array.Int32:
		return convert[float32](a.Int32Values()), nil
	case *array.Int64:
		return convert[float32](a.Int64Values()), nil
	}
	return nil, fail.New(fail.DatatypeMismatch, "a list of %s does not fit a column of type %s", child.DataType(), t).
		WithHint("Send FixedSizeList<float32, %d>.", t.Dim)
}

// fillSparse reads struct<indices, values> as sparse vectors, sorted by index.
func (v *Vector) fillSparse(a *array.Struct) error {
	indices, err := FromArrow(a.Field(0), types.ListOf(types.Of(types.Int64)))
	if err != nil {
		return err
	}
	values, err := FromArrow(a.Field(1), types.ListOf(types.Of(types.Double)))
	if err != nil {
		return err
	}
	indices, values = indices.Flatten(), values.Flatten()
	v.SparseRows = make([]SparseRow, v.N)
	for i := range v.N {
		if v.IsNull(i) {
			continue
		}
		row, err := sparseRow(indices, values, i)
		if err != nil {
			return err
		}
		v.SparseRows[i] = row
	}
	return nil
}

func sparseRow(indices, values *Vector, i int) (SparseRow, error) {
	f, e := int(indices.Offsets[i]), int(indices.Offsets[i+1])
	vf, ve := int(values.Offsets[i]), int(values.Offsets[i+1])
	if e-f != ve-vf || indices.IsNull(i) || values.IsNull(i) {
		return SparseRow{}, fail.New(fail.InvalidVector, "row %d: a sparse vector with %s and %s", i+1, fail.Count(e-f, "index", "indices"), fail.Count(ve-vf, "value"))
	}
	type pair struct {
		ix uint32
		x  float32
	}
	pairs := make([]pair, e-f)
	for j := range pairs {
		ix := indices.Child.Int64s[f+j]
		if ix < 0 || ix > 1<<32-1 || indices.Child.IsNull(f+j) || values.Child.IsNull(vf+j) {
			return SparseRow{}, fail.New(fail.InvalidVector, "row %d: entry %d of the sparse vector is NULL or its index is not a uint32", i+1, j+1)
		}
		pairs[j] = pair{uint32(ix), float32(values.Child.Float64s[vf+j])}
	}
	slices.SortStableFunc(pairs, func(a, b pair) int { return int(int64(a.ix) - int64(b.ix)) })
	row := SparseRow{Indices: make([]uint32, len(pairs)), Values: make([]float32, len(pairs))}
	for j, p := range pairs {
		if j > 0 && p.ix == row.Indices[j-1] {
			return SparseRow{}, fail.New(fail.InvalidVector, "row %d: index %d appears twice in the sparse vector", i+1, p.ix)
		}
		row.Indices[j], row.Values[j] = p.ix, p.x
	}
	return row, nil
}
