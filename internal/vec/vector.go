package vec

import (
	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/loamdb/loam/internal/types"
)

// ChunkRows is the number of rows that a chunk holds at most.
const ChunkRows = 2048

// Encoding says how a vector's rows map to its values.
type Encoding uint8

// Encodings: one value a row; one value for all rows (position 0); Codes[i] is
// the position in Dict of row i.
const (
	Flat Encoding = iota
	Constant
	Dictionary
)

// Span is a calendar interval, as Arrow's month_day_nano.
type Span struct {
	Months, Days int32
	Nanos        int64
}

// SparseRow is one sparse vector: Indices ascending and distinct, Values beside them.
type SparseRow struct {
	Indices []uint32
	Values  []float32
}

// Vector is one column of a chunk. Which slice holds the values follows from
// the type: Bools (one byte a row); Int32s for INT and DATE (days); Int64s for
// BIGINT and TIMESTAMP (microseconds); Float64s; Decimals (unscaled); Strings
// for TEXT, BINARY, JSON and UNKNOWN; Spans; Float32s for VECTOR (Dim a row);
// SparseRows; Offsets and Child for LIST and MAP (row i is
// Child[Offsets[i]:Offsets[i+1]]); Fields for STRUCT, flat and as long as the
// struct; Decimals for UUID too (see [MakeUUID]), Int64s for TIME (microseconds).
//
// Values under a NULL are unspecified but present, so that fixed-width kernels
// need no branch. Invariant: len(values) == N for Flat, 1 for Constant.
type Vector struct {
	Type     types.Type
	Encoding Encoding
	N        int
	Valid    Bitmap

	Bools      []bool
	Int32s     []int32
	Int64s     []int64
	Float64s   []float64
	Decimals   []decimal128.Num
	Strings    Strings
	Spans      []Span
	Float32s   []float32
	SparseRows []SparseRow
	Offsets    []int32
	Child      *Vector
	Fields     []*Vector

	Codes []int32
	Dict  *Vector
}

// New returns an empty flat vector with room for capacity rows.
func New(t types.Type, capacity int) *Vector {
	v := &Vector{Type: t}
	switch t.Kind {
	case types.Boolean:
		v.Bools = make([]bool, 0, capacity)
	case types.Int32, types.Date:
		v.Int32s = make([]int32, 0, capacity)
	case types.Int64, types.Timestamp, types.Time:
		v.Int64s = make([]int64, 0, capacity)
	case types.Double:
		v.Float64s = make([]float64, 0, capacity)
	case types.Decimal, types.UUID:
		v.Decimals = make([]decimal128.Num, 0, capacity)
	case types.Interval:
		v.Spans = make([]Span, 0, capacity)
	case types.Vector:
		v.Float32s = make([]float32, 0, capacity*int(t.Dim))
	case types.Sparse:
		v.SparseRows = make([]SparseRow, 0, capacity)
	case types.List, types.Map:
		v.Offsets = append(make([]int32, 0, capacity+1), 0)
		v.Child = New(*t.Elem, capacity)
	case types.Struct:
		v.Fields = make([]*Vector, len(t.Fields))
		for i, f := range t.Fields {
			v.Fields[i] = New(f.Type, capacity)
		}
	default:
		v.Strings.Views = make([]View, 0, capacity)
	}
	return v
}

// NewFlat returns a flat vector of n rows whose values may be set in place
// (zero values; lists empty).
func NewFlat(t types.Type, n int) *Vector {
	v := New(t, n)
	v.N = n
	switch t.Kind {
	case types.Boolean:
		v.Bools = v.Bools[:n]
	case types.Int32, types.Date:
		v.Int32s = v.Int32s[:n]
	case types.Int64, types.Timestamp, types.Time:
		v.Int64s = v.Int64s[:n]
	case types.Double:
		v.Float64s = v.Float64s[:n]
	case types.Decimal, types.UUID:
		v.Decimals = v.Decimals[:n]
	case types.Interval:
		v.Spans = v.Spans[:n]
	case types.Vector:
		v.Float32s = v.Float32s[:n*int(t.Dim)]
	case types.Sparse:
		v.SparseRows = v.SparseRows[:n]
	case types.List, types.Map:
		v.Offsets = v.Offsets[:n+1]
	case types.Struct:
		for i, f := range t.Fields {
			v.Fields[i] = NewFlat(f.Type, n)
		}
	default:
		v.Strings.Views = v.Strings.Views[:n]
	}
	return v
}

// Const returns a constant vector of n rows.
func Const(t types.Type, val Value, n int) *Vector {
	v := New(t, 1)
	v.Append(val)
	v.Encoding, v.N = Constant, n
	return v
}

// Row is the position of row i among the values of its flat, constant or
// dictionary vector; for a dictionary it indexes v.Dict.
func (v *Vector) Row(i int) int {
	switch v.Encoding {
	case Constant:
		return 0
	case Dictionary:
		return int(v.Codes[i])
	}
	return i
}

// IsNull reports whether row i is NULL.
func (v *Vector) IsNull(i int) bool {
	switch v.Encoding {
	case Constant:
		return !v.Valid.Get(0)
	case Dictionary:
		return !v.Valid.Get(i) || v.Dict.IsNull(int(v.Codes[i]))
	}
	return !v.Valid.Get(i)
}

// HasNulls reports whether any row may be NULL; false is certain.
func (v *Vector) HasNulls() bool {
	if v.Encoding == Dictionary && v.Dict.Valid != nil {
		return true
	}
	return v.Valid != nil
}

// SetNull makes row i of a flat vector NULL.
func (v *Vector) SetNull(i int) {
	if v.Valid == nil {
		v.Valid = NewBitmap(max(v.N, i+1), true)
	}
	v.Valid.Clear(i)
}

// Flatten returns v as a flat vector: itself, or a copy for constants and dictionaries.
func (v *Vector) Flatten() *Vector {
	if v.Encoding == Flat {
		return v
	}
	out := New(v.Type, v.N)
	out.AppendRows(v, nil, v.N)
	return out
}

// Slice returns rows [from, to) of a flat vector as a view that shares its
// values (validity is copied). Constants and dictionaries are sliced alike. A view
// is read, not appended to: strings and elements of lists would go into v's buffers.
func (v *Vector) Slice(from, to int) *Vector {
	n := to - from
	out := &Vector{Type: v.Type, Encoding: v.Encoding, N: n, Dict: v.Dict}
	if v.Encoding == Constant {
		*out = *v
		out.N = n
		return out
	}
	if v.Valid != nil {
		out.Valid = NewBitmap(n, false)
		for i := range n {
			if v.Valid.Get(from + i) {
				out.Valid.Set(i)
			}
		}
	}
	if v.Encoding == Dictionary {
		out.Codes = v.Codes[from:to:to]
		return out
	}
	switch v.Type.Kind {
	case types.Boolean:
		out.Bools = v.Bools[from:to:to]
	case types.Int32, types.Date:
		out.Int32s = v.Int32s[from:to:to]
	case types.Int64, types.Timestamp, types.Time:
		out.Int64s = v.Int64s[from:to:to]
	case types.Double:
		out.Float64s = v.Float64s[from:to:to]
	case types.Decimal, types.UUID:
		out.Decimals = v.Decimals[from:to:to]
	case types.Interval:
		out.Spans = v.Spans[from:to:to]
	case types.Vector:
		d := int(v.Type.Dim)
		out.Float32s = v.Float32s[from*d : to*d : to*d]
	case types.Sparse:
		out.SparseRows = v.SparseRows[from:to:to]
	case types.List, types.Map:
		out.Offsets, out.Child = v.Offsets[from:to+1:to+1], v.Child
	case types.Struct:
		out.Fields = make([]*Vector, len(v.Fields))
		for i, f := range v.Fields {
			out.Fields[i] = f.Slice(from, to)
		}
	default:
		out.Strings = Strings{Views: v.Strings.Views[from:to:to], Bufs: v.Strings.Bufs}
	}
	return out
}
