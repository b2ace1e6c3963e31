package vec

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/types"
)

// FromArrow reads an Arrow array of any type that [types.FromArrow] accepts as a
// vector of type t. It shares the array's buffers where the layouts agree, so
// the caller keeps the array alive and unchanged as long as the vector is used.
//
// Conversions are lossless: to a wider type always; to INT from BIGINT, and to
// BIGINT or DOUBLE from wider numbers, when every value fits. Errors:
// fail.DatatypeMismatch for types that do not fit by kind, fail.OutOfRange for a
// value that does not fit, fail.InvalidEncoding for TEXT that is not UTF-8,
// fail.InvalidVector for a wrong dimension or a NULL inside a vector,
// fail.InvalidJSON, fail.BadRequest for offsets outside of their buffer.
func FromArrow(arr arrow.Array, t types.Type) (*Vector, error) {
	if ext, ok := arr.(array.ExtensionArray); ok {
		return FromArrow(ext.Storage(), t)
	}
	if d, ok := arr.(*array.Dictionary); ok {
		return fromDictionary(d, t)
	}
	if t.Kind == types.Vector {
		return vectorFromArrow(arr, t)
	}
	st, err := types.FromArrow(arr.DataType())
	if err != nil {
		return nil, err
	}
	if st.Kind == types.Unknown {
		return allNull(t, arr.Len()), nil
	}
	v, err := plainFromArrow(arr, st, t)
	if err != nil {
		return nil, err
	}
	return widen(v, t, arr.DataType())
}

// plainFromArrow decodes the array as its own SQL type st; the target only says
// whether strings must be UTF-8 and what list elements become.
func plainFromArrow(arr arrow.Array, st, t types.Type) (*Vector, error) {
	n := arr.Len()
	v := &Vector{Type: st, N: n, Valid: validOf(arr)}
	switch a := arr.(type) {
	case *array.Boolean:
		v.Bools = make([]bool, n)
		for i := range n {
			v.Bools[i] = a.Value(i)
		}
		return v, nil
	case *array.Decimal128:
		v.Decimals = a.Values()
		return v, nil
	case *array.Decimal32:
		v.Decimals = smallDecimals(a.Values())
		return v, nil
	case *array.Decimal64:
		v.Decimals = smallDecimals(a.Values())
		return v, nil
	case *array.MonthDayNanoInterval:
		v.Spans = castSlice[Span](a.MonthDayNanoIntervalValues())
		return v, nil
	case *array.Struct:
		if st.Kind == types.Sparse && t.Kind != types.Struct {
			return v, v.fillSparse(a)
		}
		return structFromArrow(v, a, t)
	}
	switch st.Kind {
	case types.Interval:
		return v, v.fillSpans(arr)
	case types.Text, types.Binary:
		return v, v.fillStrings(arr)
	case types.List, types.Vector, types.Map:
		return listFromArrow(v, arr, t)
	case types.Date, types.Timestamp, types.Time:
		return v, v.fillTimes(arr)
	}
	return v, v.fillNumbers(arr)
}

func (v *Vector) fillNumbers(arr arrow.Array) error {
	switch a := arr.(type) {
	case *array.Int8:
		v.Int32s = convert[int32](a.Int8Values())
	case *array.Int16:
		v.Int32s = convert[int32](a.Int16Values())
	case *array.Int32:
		v.Int32s = a.Int32Values()
	case *array.Uint8:
		v.Int32s = convert[int32](a.Uint8Values())
	case *array.Uint16:
		v.Int32s = convert[int32](a.Uint16Values())
	case *array.Int64:
		v.Int64s = a.Int64Values()
	case *array.Uint32:
		v.Int64s = convert[int64](a.Uint32Values())
	case *array.Uint64:
		v.Decimals = decimalsOf(a.Uint64Values())
	case *array.Float16:
		vals := a.Values()
		v.Float64s = make([]float64, len(vals))
		for i, f := range vals {
			v.Float64s[i] = float64(f.Float32())
		}
	case *array.Float32:
		v.Float64s = convert[float64](a.Float32Values())
	case *array.Float64:
		v.Float64s = a.Float64Values()
	default:
		return fail.New(fail.Unsupported, "Arrow type %s has no SQL type in Loam", arr.DataType())
	}
	return nil
}

const microsPerDay = 86_400_000_000

func (v *Vector) fillTimes(arr arrow.Array) error {
	switch a := arr.(type) {
	case *array.Date32:
		v.Int32s = castSlice[int32](a.Date32Values())
	case *array.Date64:
		vals := a.Date64Values()
		v.Int32s = make([]int32, len(vals))
		for i, ms := range vals {
			day := floorDiv(int64(ms), 86_400_000)
			if int64(int32(day)) != day && !v.IsNull(i) {
				return fail.New(fail.OutOfRange, "row %d: date %d ms is outside of DATE's range", i+1, ms)
			}
			v.Int32s[i] = int32(day)
		}
	case *array.Time32:
		return fillClock(v, castSlice[int32](a.Time32Values()), a.DataType().(*arrow.Time32Type).Unit)
	case *array.Time64:
		return fillClock(v, castSlice[int64](a.Time64Values()), a.DataType().(*arrow.Time64Type).Unit)
	case *array.Timestamp:
		return v.fillTimestamps(castSlice[int64](a.TimestampValues()), a.DataType().(*arrow.TimestampType).Unit)
	default:
		return fail.New(fail.Unsupported, "Arrow type %s has no SQL type in Loam", arr.DataType())
	}
	return nil
}

func (v *Vector) fillTimestamps(vals []int64, unit arrow.TimeUnit) error {
	if unit == arrow.Microsecond {
		v.Int64s = vals
		return nil
	}
	v.Int64s = make([]int64, len(vals))
	if unit == arrow.Nanosecond {
		for i, x := range vals {
			v.Int64s[i] = floorDiv(x, 1000)
		}
		return nil
	}
	factor := int64(1000)
	if unit == arrow.Second {
		factor = 1_000_000
	}
	for i, x := range vals {
		y := x * factor
		if y/factor != x && !v.IsNull(i) {
			return fail.New(fail.OutOfRange, "row %d: timestamp %d %s is outside of TIMESTAMP's range", i+1, x, unit)
		}
		v.Int64s[i] = y
	}
	return nil
}

// floorDiv divides rounding down, also for negative a; b > 0.
func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// fromDictionary keeps the dictionary: its values become Dict, its indexes Codes.
func fromDictionary(d *array.Dictionary, t types.Type) (*Vector, error) {
	dict, err := FromArrow(d.Dictionary(), t)
	if err != nil {
		return nil, err
	}
	dict = dict.Flatten()
	n := d.Len()
	v := &Vector{Type: t, Encoding: Dictionary, N: n, Valid: validOf(d), Dict: dict, Codes: make([]int32, n)}
	for i := range n {
		if v.Valid != nil && !v.Valid.Get(i) {
			continue
		}
		code := d.GetValueIndex(i)
		if code < 0 || code >= dict.N {
			return nil, fail.New(fail.BadRequest, "row %d: dictionary index %d, but the dictionary has %s", i+1, code, fail.Count(dict.N, "value"))
		}
		v.Codes[i] = int32(code)
	}
	if dict.N == 0 && n > 0 {
		return allNull(t, n), nil
	}
	return v, nil
}

func allNull(t types.Type, n int) *Vector { return Const(t, Null(t), n) }

// widen brings a decoded vector to the requested type.
func widen(v *Vector, t types.Type, dt arrow.DataType) (*Vector, error) {
	if v.Type.Equal(t) {
		return v, nil
	}
	out := &Vector{Type: t, N: v.N, Valid: v.Valid}
	from := v.Type.Kind
	switch {
	case from == types.Text && t.Kind == types.Unknown:
		out.Strings = v.Strings
		return out, nil
	case from == types.Text && t.Kind == types.JSON:
		out.Strings = v.Strings
		return out, out.checkJSON()
	case from == types.Date && t.Kind == types.Timestamp:
		out.Int64s = make([]int64, v.N)
		for i, d := range v.Int32s {
			out.Int64s[i] = int64(d) * microsPerDay
			if out.Int64s[i]/microsPerDay != int64(d) && !v.IsNull(i) {
				return nil, fail.New(fail.OutOfRange, "row %d: date %d is outside of TIMESTAMP's range", i+1, d)
			}
		}
		return out, nil
	case t.Kind == types.UUID && (from == types.Text || from == types.Binary):
		return out, out.fillUUIDs(v)
	case v.Type.Numeric() && t.Numeric():
		return out, out.widenNumber(v)
	}
	return nil, fail.New(fail.DatatypeMismatch, "Arrow type %s does not fit a column of type %s", dt, t).
		WithHint("Cast the column to %s before sending it.", t.Arrow())
}

func (v *Vector) checkJSON() error {
	for i := range v.N {
		if !v.IsNull(i) && !ValidJSON(v.Strings.At(i)) {
			return fail.New(fail.InvalidJSON, "row %d: %.60q is not valid JSON", i+1, v.Strings.At(i)).
				WithHint("Quote a text as JSON does, or declare the column TEXT.")
		}
	}
	return nil
}
