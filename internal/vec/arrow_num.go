package vec

import (
	"encoding/binary"
	"math"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal"
	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/types"
)

type number interface {
	~int8 | ~int16 | ~int32 | ~int64 | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~float32 | ~float64
}

// convert copies a slice of numbers into another number type.
func convert[To, From number](in []From) []To {
	out := make([]To, len(in))
	for i, x := range in {
		out[i] = To(x)
	}
	return out
}

// castSlice views a slice as another type of the same size and layout.
func castSlice[To, From any](in []From) []To {
	if len(in) == 0 {
		return nil
	}
	return unsafe.Slice((*To)(unsafe.Pointer(&in[0])), len(in))
}

func decimalsOf(in []uint64) []decimal128.Num {
	out := make([]decimal128.Num, len(in))
	for i, x := range in {
		out[i] = decimal128.FromU64(x)
	}
	return out
}

// validOf copies an array's validity bitmap; nil when no row is NULL.
func validOf(arr arrow.Array) Bitmap {
	n := arr.Len()
	if arr.NullN() == 0 {
		return nil
	}
	out := NewBitmap(n, false)
	raw, off := arr.NullBitmapBytes(), arr.Data().Offset()
	if off&7 == 0 && len(raw) > 0 {
		raw = raw[off/8:]
		for w := range out {
			var word [8]byte
			copy(word[:], raw[min(8*w, len(raw)):])
			out[w] = binary.LittleEndian.Uint64(word[:])
		}
		return out
	}
	for i := range n {
		if arr.IsValid(i) {
			out.Set(i)
		}
	}
	return out
}

// widenNumber fills v, whose type is the target, from the numbers of src.
func (v *Vector) widenNumber(src *Vector) error {
	v.alloc()
	for i := range v.N {
		if src.IsNull(i) {
			continue
		}
		var ok bool
		switch src.Type.Kind {
		case types.Int32:
			ok = v.setInt(i, int64(src.Int32s[i]))
		case types.Int64:
			ok = v.setInt(i, src.Int64s[i])
		case types.Decimal:
			ok = v.setDecimal(i, src.Decimals[i], int32(src.Type.Scale))
		default:
			return fail.New(fail.DatatypeMismatch, "floating point numbers do not fit a column of type %s", v.Type).
				WithHint("Cast the column to %s before sending it.", v.Type.Arrow())
		}
		if !ok {
			return fail.New(fail.OutOfRange, "row %d: %s does not fit %s exactly", i+1, src.Value(i), v.Type).
				WithHint("Send values that fit, or widen the column.")
		}
	}
	return nil
}

// alloc makes zero values for v's N rows.
func (v *Vector) alloc() {
	flat := NewFlat(v.Type, v.N)
	flat.Valid = v.Valid
	*v = *flat
}

func (v *Vector) setInt(i int, x int64) bool {
	switch v.Type.Kind {
	case types.Int32:
		v.Int32s[i] = int32(x)
		return int64(int32(x)) == x
	case types.Int64:
		v.Int64s[i] = x
	case types.Double:
		v.Float64s[i] = float64(x)
		return x >= -1<<53 && x <= 1<<53
	case types.Decimal:
		return v.setDecimal(i, decimal128.FromI64(x), 0)
	}
	return true
}

func (v *Vector) setDecimal(i int, d decimal128.Num, scale int32) bool {
	switch v.Type.Kind {
	case types.Decimal:
		r, err := d.Rescale(scale, int32(v.Type.Scale))
		v.Decimals[i] = r
		return err == nil && r.FitsInPrecision(int32(v.Type.Precision))
	case types.Double:
		v.Float64s[i] = d.ToFloat64(scale)
		back, err := decimal128.FromFloat64(v.Float64s[i], 38, scale)
		return err == nil && back == d
	}
	r, err := d.Rescale(scale, 0)
	if err != nil || r.HighBits() != int64(r.LowBits())>>63 {
		return false
	}
	return v.setInt(i, int64(r.LowBits()))
}

// narrowFloats converts doubles to the float32 of a VECTOR.
func narrowFloats(in []float64) []float32 {
	out := make([]float32, len(in))
	for i, x := range in {
		out[i] = float32(x)
		if math.IsInf(float64(out[i]), 0) && !math.IsInf(x, 0) {
			out[i] = float32(math.Copysign(math.MaxFloat32, x))
		}
	}
	return out
}

// castBytes views the first bytes of a buffer as n values.
func castBytes[T any](b []byte, n int) []T {
	return unsafe.Slice((*T)(unsafe.Pointer(&b[0])), n)
}

// smallDecimals widens decimals of 4 or 8 bytes.
func smallDecimals[T decimal.Decimal32 | decimal.Decimal64](in []T) []decimal128.Num {
	out := make([]decimal128.Num, len(in))
	for i, x := range in {
		out[i] = decimal128.FromI64(int64(x))
	}
	return out
}

// fillSpans reads durations, and intervals of months or of days and milliseconds.
func (v *Vector) fillSpans(arr arrow.Array) error {
	v.Spans = make([]Span, v.N)
	switch a := arr.(type) {
	case *array.MonthInterval:
		for i, m := range a.MonthIntervalValues() {
			v.Spans[i].Months = int32(m)
		}
	case *array.DayTimeInterval:
		for i, d := range a.DayTimeIntervalValues() {
			v.Spans[i] = Span{Days: d.Days, Nanos: int64(d.Milliseconds) * 1_000_000}
		}
	case *array.Duration:
		factor := int64(a.DataType().(*arrow.DurationType).Unit.Multiplier())
		for i, d := range a.DurationValues() {
			v.Spans[i].Nanos = int64(d) * factor
			if v.Spans[i].Nanos/factor != int64(d) && !v.IsNull(i) {
				return fail.New(fail.OutOfRange, "row %d: the duration %d %s is outside of INTERVAL's range", i+1, d, a.DataType())
			}
		}
	default:
		return fail.New(fail.Unsupported, "Arrow type %s has no SQL type in Loam", arr.DataType())
	}
	return nil
}
