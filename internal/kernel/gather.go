package kernel

import (
	"encoding/binary"

	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

func pick[T any](src []T, rows []int32) []T {
	out := make([]T, len(rows))
	for i, r := range rows {
		out[i] = src[r]
	}
	return out
}

// Gather returns the rows of v at the given positions as a vector of len(rows)
// rows. Constants and dictionaries keep their encoding; string bytes are shared
// with v, so the result must not be appended to.
func Gather(v *vec.Vector, rows []int32) *vec.Vector {
	n := len(rows)
	out := &vec.Vector{Type: v.Type, Encoding: v.Encoding, N: n}
	switch v.Encoding {
	case vec.Constant:
		*out = *v
		out.N = n
		return out
	case vec.Dictionary:
		out.Dict, out.Codes, out.Valid = v.Dict, pick(v.Codes, rows), gatherValid(v.Valid, rows)
		return out
	}
	out.Valid = gatherValid(v.Valid, rows)
	switch v.Type.Kind {
	case types.Boolean:
		out.Bools = pick(v.Bools, rows)
	case types.Int32, types.Date:
		out.Int32s = pick(v.Int32s, rows)
	case types.Int64, types.Timestamp, types.Time:
		out.Int64s = pick(v.Int64s, rows)
	case types.Double:
		out.Float64s = pick(v.Float64s, rows)
	case types.Decimal, types.UUID:
		out.Decimals = pick(v.Decimals, rows)
	case types.Interval:
		out.Spans = pick(v.Spans, rows)
	case types.Vector:
		d := int(v.Type.Dim)
		out.Float32s = make([]float32, n*d)
		for i, r := range rows {
			copy(out.Float32s[i*d:(i+1)*d], v.Float32s[int(r)*d:])
		}
	case types.Sparse:
		out.SparseRows = pick(v.SparseRows, rows)
	case types.Struct:
		out.Fields = make([]*vec.Vector, len(v.Fields))
		for i, f := range v.Fields {
			out.Fields[i] = Gather(f, rows)
		}
	case types.List, types.Map:
		flat := vec.New(v.Type, n)
		flat.AppendRows(v, rows, n)
		return flat
	default:
		out.Strings = vec.Strings{Views: pick(v.Strings.Views, rows), Bufs: v.Strings.Bufs}
	}
	return out
}

func gatherValid(b vec.Bitmap, rows []int32) vec.Bitmap {
	if b == nil {
		return nil
	}
	out := vec.NewBitmap(len(rows), false)
	for i, r := range rows {
		if b.Get(int(r)) {
			out.Set(i)
		}
	}
	return out
}

// Merger assembles a flat vector of n rows from parts that each cover some of
// them; rows that no part covers are NULL.
type Merger struct {
	out     *vec.Vector
	covered vec.Bitmap
	left    int
	lists   []listOrigin
}

type listOrigin struct {
	src *vec.Vector
	row int
}

// NewMerger starts a vector of n rows of type t.
func NewMerger(t types.Type, n int) *Merger {
	m := &Merger{covered: vec.NewBitmap(n, false), left: n}
	if t.Nested() {
		m.out = vec.New(t, n)
		m.out.N = 0
		m.lists = make([]listOrigin, n)
	} else {
		m.out = vec.NewFlat(t, n)
	}
	return m
}

// Put makes row rows[i] of the result row i of src (any encoding, any nil rows
// mean all). A row is put at most once.
func (m *Merger) Put(src *vec.Vector, rows []int32) {
	n := src.N
	if rows == nil {
		rows = Identity(n)
	}
	m.left -= n
	for _, r := range rows {
		m.covered.Set(int(r))
	}
	if src.Encoding == vec.Constant && src.IsNull(0) {
		// Also a NULL of another type, such as the untyped literal.
		for _, r := range rows {
			m.covered.Clear(int(r))
		}
		m.left += n
		return
	}
	if m.lists != nil {
		for i, r := range rows {
			m.lists[r] = listOrigin{src, i}
		}
		return
	}
	src = src.Flatten()
	if src.Valid != nil {
		for i, r := range rows {
			if !src.Valid.Get(i) {
				m.out.SetNull(int(r))
			}
		}
	}
	scatterValues(m.out, src, rows)
}

func place[T any](dst, src []T, rows []int32) {
	for i, r := range rows {
		dst[r] = src[i]
	}
}

func scatterValues(out, src *vec.Vector, rows []int32) {
	switch out.Type.Kind {
	case types.Boolean:
		place(out.Bools, src.Bools, rows)
	case types.Int32, types.Date:
		place(out.Int32s, src.Int32s, rows)
	case types.Int64, types.Timestamp, types.Time:
		place(out.Int64s, src.Int64s, rows)
	case types.Double:
		place(out.Float64s, src.Float64s, rows)
	case types.Decimal, types.UUID:
		place(out.Decimals, src.Decimals, rows)
	case types.Interval:
		place(out.Spans, src.Spans, rows)
	case types.Vector:
		d := int(out.Type.Dim)
		for i, r := range rows {
			copy(out.Float32s[int(r)*d:(int(r)+1)*d], src.Float32s[i*d:])
		}
	case types.Sparse:
		place(out.SparseRows, src.SparseRows, rows)
	default:
		scatterStrings(&out.Strings, &src.Strings, rows)
	}
}

// scatterStrings places views and adds the source's buffers behind out's own.
func scatterStrings(out, src *vec.Strings, rows []int32) {
	base := uint32(len(out.Bufs))
	out.Bufs = append(out.Bufs[:base:base], src.Bufs...)
	for i, r := range rows {
		v := src.Views[i]
		if v.Len > vec.InlineLen {
			binary.LittleEndian.PutUint32(v.Rest[:4], binary.LittleEndian.Uint32(v.Rest[:4])+base)
		}
		out.Views[r] = v
	}
}

// Finish returns the vector.
func (m *Merger) Finish() *vec.Vector {
	if m.lists != nil {
		for _, o := range m.lists {
			if o.src == nil {
				m.out.AppendNull()
			} else {
				m.out.AppendRows(o.src, []int32{int32(o.row)}, 1)
			}
		}
		return m.out
	}
	if m.left > 0 {
		for i := range m.out.N {
			if !m.covered.Get(i) {
				m.out.SetNull(i)
			}
		}
	}
	return m.out
}

// Scatter spreads the rows of src over a vector of n rows: row rows[i] is row i
// of src, the others are NULL.
func Scatter(src *vec.Vector, rows []int32, n int) *vec.Vector {
	if src.Encoding == vec.Constant {
		k := *src
		k.N = n
		return &k
	}
	m := NewMerger(src.Type, n)
	m.Put(src, rows)
	return m.Finish()
}

// Identity is the selection 0..n-1.
func Identity(n int) []int32 {
	out := make([]int32, n)
	for i := range out {
		out[i] = int32(i)
	}
	return out
}

// Subtract returns the rows of a that are not in b; both ascending, nil a means 0..n-1.
func Subtract(a []int32, n int, b []int32) []int32 {
	out := make([]int32, 0, max(0, n-len(b)))
	j := 0
	keep := func(r int32) {
		for j < len(b) && b[j] < r {
			j++
		}
		if j == len(b) || b[j] != r {
			out = append(out, r)
		}
	}
	if a == nil {
		for r := range int32(n) {
			keep(r)
		}
		return out
	}
	for _, r := range a {
		keep(r)
	}
	return out
}

// Union merges two ascending disjoint selections.
func Union(a, b []int32) []int32 {
	out := make([]int32, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		if a[0] < b[0] {
			out, a = append(out, a[0]), a[1:]
		} else {
			out, b = append(out, b[0]), b[1:]
		}
	}
	return append(append(out, a...), b...)
}

// SelectTrue returns the rows that are TRUE of a boolean vector: among the
// positions in rows, or all with nil rows.
func SelectTrue(v *vec.Vector, rows []int32) []int32 {
	if v.Encoding == vec.Constant {
		switch {
		case v.IsNull(0) || !v.Bools[0]:
			return []int32{}
		case rows == nil:
			return Identity(v.N)
		}
		return rows
	}
	vals, codes := v.Bools, []int32(nil)
	if v.Encoding == vec.Dictionary {
		vals, codes = v.Dict.Bools, v.Codes
		if v.Dict.Encoding == vec.Constant {
			codes = make([]int32, v.N)
		}
	}
	n := v.N
	if rows != nil {
		n = len(rows)
	}
	out, k := make([]int32, n), 0
	switch {
	case rows == nil && codes == nil:
		for i, b := range vals[:n] {
			out[k] = int32(i)
			if b {
				k++
			}
		}
	case rows == nil:
		for i, c := range codes {
			out[k] = int32(i)
			if vals[c] {
				k++
			}
		}
	case codes == nil:
		for _, r := range rows {
			out[k] = r
			if vals[r] {
				k++
			}
		}
	default:
		for _, r := range rows {
			out[k] = r
			if vals[codes[r]] {
				k++
			}
		}
	}
	return DropNulls(v, out[:k])
}

// DropNulls removes the rows that are NULL in v, in place.
func DropNulls(v *vec.Vector, rows []int32) []int32 {
	if !v.HasNulls() {
		return rows
	}
	k := 0
	for _, r := range rows {
		if !v.IsNull(int(r)) {
			rows[k] = r
			k++
		}
	}
	return rows[:k]
}

// ValidRows lists the rows that are set in the bitmap of n rows.
func ValidRows(b vec.Bitmap, n int) []int32 {
	if b == nil {
		return Identity(n)
	}
	out, k := make([]int32, n), 0
	for i := range n {
		out[k] = int32(i)
		if b.Get(i) {
			k++
		}
	}
	return out[:k]
}

// Validity is the bitmap of rows that are not NULL, whatever the encoding; nil
// when all are. It may alias v's.
func Validity(v *vec.Vector) vec.Bitmap {
	if !v.HasNulls() {
		return nil
	}
	if v.Encoding == vec.Flat {
		return v.Valid
	}
	out := vec.NewBitmap(v.N, true)
	for i := range v.N {
		if v.IsNull(i) {
			out.Clear(i)
		}
	}
	return out
}
