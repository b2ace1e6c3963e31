package vec

import "github.com/loamdb/loam/internal/types"

// AppendRows copies n rows of src, which may have any encoding, to the end of
// the flat vector v: rows sel[0..n) or, with a nil selection, rows 0..n-1. The
// types' kinds must agree.
func (v *Vector) AppendRows(src *Vector, sel []int32, n int) {
	v.appendValid(src, sel, n)
	if src.Encoding == Flat && sel == nil && v.appendHead(src, n) {
		v.N += n
		return
	}
	base, code := src, func(i int) int { return i }
	switch {
	case src.Encoding == Constant:
		code = func(int) int { return 0 }
	case src.Encoding == Dictionary && sel == nil:
		base, code = src.Dict, func(i int) int { return int(src.Codes[i]) }
	case src.Encoding == Dictionary:
		base, code = src.Dict, func(i int) int { return int(src.Codes[sel[i]]) }
	case sel != nil:
		code = func(i int) int { return int(sel[i]) }
	}
	v.appendValues(base, code, n)
	v.N += n
}

// appendHead copies the first n values of a flat vector of fixed-width values in
// one move; false for the types that need a walk.
func (v *Vector) appendHead(src *Vector, n int) bool {
	switch v.Type.Kind {
	case types.Boolean:
		v.Bools = append(v.Bools, src.Bools[:n]...)
	case types.Int32, types.Date:
		v.Int32s = append(v.Int32s, src.Int32s[:n]...)
	case types.Int64, types.Timestamp, types.Time:
		v.Int64s = append(v.Int64s, src.Int64s[:n]...)
	case types.Double:
		v.Float64s = append(v.Float64s, src.Float64s[:n]...)
	case types.Decimal, types.UUID:
		v.Decimals = append(v.Decimals, src.Decimals[:n]...)
	case types.Vector:
		v.Float32s = append(v.Float32s, src.Float32s[:n*int(v.Type.Dim)]...)
	default:
		return false
	}
	return true
}

func (v *Vector) appendValid(src *Vector, sel []int32, n int) {
	nulls := src.HasNulls()
	if !nulls && v.Valid == nil {
		return
	}
	v.growValid(v.N + n)
	if !nulls {
		return
	}
	for i := range n {
		row := i
		if sel != nil {
			row = int(sel[i])
		}
		if src.IsNull(row) {
			v.Valid.Clear(v.N + i)
		}
	}
}

// growValid extends the bitmap to n rows; new rows are valid.
func (v *Vector) growValid(n int) {
	if v.Valid == nil {
		v.Valid = NewBitmap(n, true)
		return
	}
	for len(v.Valid) < (n+63)/64 {
		v.Valid = append(v.Valid, ^uint64(0))
	}
	for i := v.N; i < n && i&63 != 0; i++ {
		v.Valid.Set(i)
	}
}

func appendOf[T any](dst, src []T, at func(int) int, n int) []T {
	for i := range n {
		dst = append(dst, src[at(i)])
	}
	return dst
}

func (v *Vector) appendValues(src *Vector, at func(int) int, n int) {
	switch v.Type.Kind {
	case types.Boolean:
		v.Bools = appendOf(v.Bools, src.Bools, at, n)
	case types.Int32, types.Date:
		v.Int32s = appendOf(v.Int32s, src.Int32s, at, n)
	case types.Int64, types.Timestamp, types.Time:
		v.Int64s = appendOf(v.Int64s, src.Int64s, at, n)
	case types.Double:
		v.Float64s = appendOf(v.Float64s, src.Float64s, at, n)
	case types.Decimal, types.UUID:
		v.Decimals = appendOf(v.Decimals, src.Decimals, at, n)
	case types.Interval:
		v.Spans = appendOf(v.Spans, src.Spans, at, n)
	case types.Vector:
		d := int(v.Type.Dim)
		for i := range n {
			r := at(i)
			v.Float32s = append(v.Float32s, src.Float32s[r*d:(r+1)*d]...)
		}
	case types.Sparse:
		v.SparseRows = appendOf(v.SparseRows, src.SparseRows, at, n)
	case types.List, types.Map:
		for i := range n {
			r := at(i)
			from, to := int(src.Offsets[r]), int(src.Offsets[r+1])
			v.Child.AppendRows(src.Child.Slice(from, to), nil, to-from)
			v.Offsets = append(v.Offsets, int32(v.Child.N))
		}
	case types.Struct:
		rows := make([]int32, n)
		for i := range rows {
			rows[i] = int32(at(i))
		}
		for i, f := range v.Fields {
			f.AppendRows(src.Fields[i], rows, n)
		}
	default:
		for i := range n {
			v.Strings.Append(src.Strings.At(at(i)))
		}
	}
}

// AppendNull appends one NULL row.
func (v *Vector) AppendNull() {
	v.growValid(v.N + 1)
	v.Valid.Clear(v.N)
	switch v.Type.Kind {
	case types.Boolean:
		v.Bools = append(v.Bools, false)
	case types.Int32, types.Date:
		v.Int32s = append(v.Int32s, 0)
	case types.Int64, types.Timestamp, types.Time:
		v.Int64s = append(v.Int64s, 0)
	case types.Double:
		v.Float64s = append(v.Float64s, 0)
	case types.Decimal, types.UUID:
		v.Decimals = append(v.Decimals, Value{}.Dec)
	case types.Interval:
		v.Spans = append(v.Spans, Span{})
	case types.Vector:
		v.Float32s = append(v.Float32s, make([]float32, v.Type.Dim)...)
	case types.Sparse:
		v.SparseRows = append(v.SparseRows, SparseRow{})
	case types.List, types.Map:
		v.Offsets = append(v.Offsets, int32(v.Child.N))
	case types.Struct:
		for _, f := range v.Fields {
			f.AppendNull()
		}
	default:
		v.Strings.Append("")
	}
	v.N++
}

// Append appends one boxed value, whose kind must be the vector's.
func (v *Vector) Append(val Value) {
	if val.Null {
		v.AppendNull()
		return
	}
	if v.Valid != nil {
		v.growValid(v.N + 1)
	}
	switch v.Type.Kind {
	case types.Boolean:
		v.Bools = append(v.Bools, val.Bool)
	case types.Int32, types.Date:
		v.Int32s = append(v.Int32s, int32(val.Int))
	case types.Int64, types.Timestamp, types.Time:
		v.Int64s = append(v.Int64s, val.Int)
	case types.Double:
		v.Float64s = append(v.Float64s, val.Float)
	case types.Decimal, types.UUID:
		v.Decimals = append(v.Decimals, val.Dec)
	case types.Interval:
		v.Spans = append(v.Spans, val.Span)
	case types.Vector:
		v.Float32s = append(v.Float32s, val.Vec...)
	case types.Sparse:
		v.SparseRows = append(v.SparseRows, val.Sparse)
	case types.List, types.Map:
		for _, e := range val.List {
			v.Child.Append(e)
		}
		v.Offsets = append(v.Offsets, int32(v.Child.N))
	case types.Struct:
		for i, f := range v.Fields {
			f.Append(val.List[i])
		}
	default:
		v.Strings.Append(val.Str)
	}
	v.N++
}

// Value boxes row i. Strings and slices are copies or aliases of immutable data.
func (v *Vector) Value(i int) Value {
	if v.IsNull(i) {
		return Value{Type: v.Type, Null: true}
	}
	r := v.Row(i)
	if v.Encoding == Dictionary {
		return v.Dict.Value(r)
	}
	val := Value{Type: v.Type}
	switch v.Type.Kind {
	case types.Boolean:
		val.Bool = v.Bools[r]
	case types.Int32, types.Date:
		val.Int = int64(v.Int32s[r])
	case types.Int64, types.Timestamp, types.Time:
		val.Int = v.Int64s[r]
	case types.Double:
		val.Float = v.Float64s[r]
	case types.Decimal, types.UUID:
		val.Dec = v.Decimals[r]
	case types.Interval:
		val.Span = v.Spans[r]
	case types.Vector:
		d := int(v.Type.Dim)
		val.Vec = v.Float32s[r*d : (r+1)*d : (r+1)*d]
	case types.Sparse:
		val.Sparse = v.SparseRows[r]
	case types.List, types.Map:
		for j := v.Offsets[r]; j < v.Offsets[r+1]; j++ {
			val.List = append(val.List, v.Child.Value(int(j)))
		}
	case types.Struct:
		val.List = make([]Value, len(v.Fields))
		for i, f := range v.Fields {
			val.List[i] = f.Value(r)
		}
	default:
		val.Str = string(v.Strings.Bytes(r))
	}
	return val
}
