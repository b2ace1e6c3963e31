package hashtable

import (
	"encoding/binary"
	"math"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// Encoder turns rows of key columns into byte strings that are equal exactly
// when the keys are: a bitmap of NULLs, then each value: fixed width, or length
// (uint32, little endian) and bytes. Its buffers are reused by the next Encode.
type Encoder struct {
	Types []types.Type
	buf   []byte
	offs  []uint32
	cur   []uint32
}

// Encode encodes rows sel[0..n) of cols, or rows 0..n-1 with nil sel.
func (e *Encoder) Encode(cols []*vec.Vector, sel []int32, n int) {
	head := (len(cols) + 7) / 8
	e.offs = grow(e.offs, n+1)
	e.cur = grow(e.cur, n)
	fixed := head
	for _, t := range e.Types {
		fixed += width(t)
	}
	for i := range e.cur {
		e.cur[i] = uint32(fixed)
	}
	for c, col := range cols {
		if width(e.Types[c]) == 0 {
			e.measure(col, sel, n)
		}
	}
	total := uint32(0)
	for i, size := range e.cur {
		e.offs[i], e.cur[i] = total, total+uint32(head)
		total += size
	}
	e.offs[n] = total
	e.buf = grow(e.buf, int(total))
	for i := range n {
		clear(e.buf[e.offs[i] : e.offs[i]+uint32(head)])
	}
	for c, col := range cols {
		e.column(c, col, sel, n)
	}
}

// Row is the encoded key of row i of the last Encode.
func (e *Encoder) Row(i int) []byte { return e.buf[e.offs[i]:e.offs[i+1]:e.offs[i+1]] }

func grow[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n, n+n/4)
	}
	return s[:n]
}

// width is the number of bytes of a fixed-width type, 0 for the others.
func width(t types.Type) int {
	switch t.Kind {
	case types.Boolean:
		return 1
	case types.Int32, types.Date:
		return 4
	case types.Int64, types.Timestamp, types.Time, types.Double:
		return 8
	case types.Decimal, types.UUID, types.Interval:
		return 16
	}
	return 0
}

func rowOf(sel []int32, i int) int {
	if sel == nil {
		return i
	}
	return int(sel[i])
}

// measure adds the encoded sizes of a column of variable width.
func (e *Encoder) measure(col *vec.Vector, sel []int32, n int) {
	nulls := col.HasNulls()
	for i := range n {
		r := rowOf(sel, i)
		size := 4
		if !nulls || !col.IsNull(r) {
			size += len(variable(col, r))
		}
		e.cur[i] += uint32(size)
	}
}

// column writes one column at the cursors and moves them.
func (e *Encoder) column(c int, col *vec.Vector, sel []int32, n int) {
	nulls := col.HasNulls()
	base := base(col)
	w := width(e.Types[c])
	for i := range n {
		r := rowOf(sel, i)
		at := e.cur[i]
		if nulls && col.IsNull(r) {
			e.buf[e.offs[i]+uint32(c/8)] |= 1 << (c % 8)
			size := w
			if w == 0 {
				size = 4
			}
			clear(e.buf[at : at+uint32(size)])
			e.cur[i] += uint32(size)
			continue
		}
		r = col.Row(r)
		if w == 0 {
			b := variable(base, r)
			binary.LittleEndian.PutUint32(e.buf[at:], uint32(len(b)))
			copy(e.buf[at+4:], b)
			e.cur[i] += 4 + uint32(len(b))
			continue
		}
		putFixed(e.buf[at:], base, r)
		e.cur[i] += uint32(w)
	}
}

// base is the vector that holds the values: the dictionary of a dictionary vector.
func base(v *vec.Vector) *vec.Vector {
	if v.Encoding == vec.Dictionary {
		return v.Dict
	}
	return v
}

func putFixed(b []byte, v *vec.Vector, r int) {
	switch v.Type.Kind {
	case types.Boolean:
		b[0] = 0
		if v.Bools[r] {
			b[0] = 1
		}
	case types.Int32, types.Date:
		binary.LittleEndian.PutUint32(b, uint32(v.Int32s[r]))
	case types.Int64, types.Timestamp, types.Time:
		binary.LittleEndian.PutUint64(b, uint64(v.Int64s[r]))
	case types.Double:
		binary.LittleEndian.PutUint64(b, floatWord(v.Float64s[r]))
	case types.Decimal, types.UUID:
		binary.LittleEndian.PutUint64(b, v.Decimals[r].LowBits())
		binary.LittleEndian.PutUint64(b[8:], uint64(v.Decimals[r].HighBits()))
	case types.Interval:
		s := normalSpan(v.Spans[r])
		binary.LittleEndian.PutUint32(b, uint32(s.Months))
		binary.LittleEndian.PutUint32(b[4:], uint32(s.Days))
		binary.LittleEndian.PutUint64(b[8:], uint64(s.Nanos))
	}
}

const dayNanos = 24 * 60 * 60 * 1e9

// normalSpan brings intervals that compare equal (a month is 30 days, a day 24
// hours) to one form.
func normalSpan(s vec.Span) vec.Span {
	days := int64(s.Months)*30 + int64(s.Days) + s.Nanos/dayNanos
	nanos := s.Nanos % dayNanos
	if nanos < 0 {
		nanos += dayNanos
		days--
	}
	return vec.Span{Months: int32(days / 30), Days: int32(days % 30), Nanos: nanos}
}

// variable is the value of a variable-width column as bytes.
func variable(v *vec.Vector, r int) []byte {
	if v.Encoding == vec.Dictionary {
		return variable(v.Dict, int(v.Codes[r]))
	}
	r = v.Row(r)
	switch v.Type.Kind {
	case types.Vector:
		d := int(v.Type.Dim)
		return floats(v.Float32s[r*d : (r+1)*d])
	case types.Sparse:
		s := v.SparseRows[r]
		b := make([]byte, 0, 8*len(s.Indices))
		for i, ix := range s.Indices {
			b = binary.LittleEndian.AppendUint32(b, ix)
			b = append(b, floats(s.Values[i:i+1])...)
		}
		return b
	case types.List, types.Map:
		from, to := int(v.Offsets[r]), int(v.Offsets[r+1])
		child := Encoder{Types: []types.Type{v.Child.Type}}
		child.Encode([]*vec.Vector{v.Child.Slice(from, to)}, nil, to-from)
		return child.buf
	case types.Struct:
		return structKey(v, r)
	}
	return v.Strings.Bytes(r)
}

// structKey is a struct as a key of its fields.
func structKey(v *vec.Vector, r int) []byte {
	row, e := []int32{int32(r)}, Encoder{}
	for _, f := range v.Fields {
		e.Types = append(e.Types, f.Type)
	}
	e.Encode(v.Fields, row, 1)
	return e.buf
}

func floats(fs []float32) []byte {
	b := make([]byte, 0, 4*len(fs))
	for _, f := range fs {
		switch {
		case f == 0:
			f = 0
		case f != f:
			f = float32(math.NaN())
		}
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(f))
	}
	return b
}

// Decode appends the key to cols, flat vectors of the types.
func Decode(key []byte, cols []*vec.Vector) {
	at := (len(cols) + 7) / 8
	for c, col := range cols {
		null := key[c/8]>>(c%8)&1 == 1
		w := width(col.Type)
		size := w
		if w == 0 {
			size = int(binary.LittleEndian.Uint32(key[at:]))
			at += 4
		}
		if null {
			col.AppendNull()
		} else {
			decodeValue(key[at:at+size], col)
		}
		at += size
	}
}

func decodeValue(b []byte, v *vec.Vector) {
	growValid(v)
	switch v.Type.Kind {
	case types.Boolean:
		v.Bools = append(v.Bools, b[0] == 1)
	case types.Int32, types.Date:
		v.Int32s = append(v.Int32s, int32(binary.LittleEndian.Uint32(b)))
	case types.Int64, types.Timestamp, types.Time:
		v.Int64s = append(v.Int64s, int64(binary.LittleEndian.Uint64(b)))
	case types.Double:
		v.Float64s = append(v.Float64s, math.Float64frombits(binary.LittleEndian.Uint64(b)))
	case types.Decimal, types.UUID:
		v.Decimals = append(v.Decimals, decimal128.New(int64(binary.LittleEndian.Uint64(b[8:])), binary.LittleEndian.Uint64(b)))
	case types.Interval:
		v.Spans = append(v.Spans, vec.Span{Months: int32(binary.LittleEndian.Uint32(b)),
			Days: int32(binary.LittleEndian.Uint32(b[4:])), Nanos: int64(binary.LittleEndian.Uint64(b[8:]))})
	case types.Vector:
		for ; len(b) > 0; b = b[4:] {
			v.Float32s = append(v.Float32s, math.Float32frombits(binary.LittleEndian.Uint32(b)))
		}
	case types.Sparse:
		var s vec.SparseRow
		for ; len(b) > 0; b = b[8:] {
			s.Indices = append(s.Indices, binary.LittleEndian.Uint32(b))
			s.Values = append(s.Values, math.Float32frombits(binary.LittleEndian.Uint32(b[4:])))
		}
		v.SparseRows = append(v.SparseRows, s)
	case types.List, types.Map:
		decodeList(b, v)
	case types.Struct:
		Decode(b, v.Fields)
	default:
		v.Strings.Append(string(b))
	}
	v.N++
}

// decodeList reads elements, each encoded as a key of one column.
func decodeList(b []byte, v *vec.Vector) {
	w := width(*v.Type.Elem)
	for len(b) > 0 {
		size := 1 + w
		if w == 0 {
			size = 1 + 4 + int(binary.LittleEndian.Uint32(b[1:]))
		}
		Decode(b[:size], []*vec.Vector{v.Child})
		b = b[size:]
	}
	v.Offsets = append(v.Offsets, int32(v.Child.N))
}
