package kernel

import (
	"math"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// Cast converts v to another type; with try a value that cannot be converted
// becomes NULL. NULL rows are not looked at. Dictionaries and constants keep
// their encoding. The result may alias v. Which pairs exist is [types.Cast]'s
// to say; a pair without a conversion is fail.DatatypeMismatch.
//
// Doubles round half to even on the way to integers, decimals half away from
// zero. Errors: fail.OutOfRange, fail.InvalidText, fail.InvalidDatetime,
// fail.InvalidJSON, fail.InvalidVector.
func Cast(v *vec.Vector, to types.Type, try bool) (*vec.Vector, error) {
	if v.Type.Equal(to) {
		return v, nil
	}
	switch v.Encoding {
	case vec.Constant:
		if v.IsNull(0) {
			return vec.Const(to, vec.Null(to), v.N), nil
		}
		one := *v
		one.Encoding, one.N = vec.Flat, 1
		out, err := castFlat(&one, to, try)
		if err != nil {
			return nil, err
		}
		k := *out
		k.Encoding, k.N = vec.Constant, v.N
		return &k, nil
	case vec.Dictionary:
		// A value that no row has may fail to convert; then the rows decide.
		if dict, err := Cast(v.Dict, to, try); err == nil {
			k := *v
			k.Type, k.Dict = to, dict.Flatten()
			return &k, nil
		}
		v = v.Flatten()
	}
	return castFlat(v, to, try)
}

// castFlat converts a flat vector.
func castFlat(v *vec.Vector, to types.Type, try bool) (*vec.Vector, error) {
	if sameLayout(v.Type, to) {
		k := *v
		k.Type = to
		return &k, nil
	}
	c := &caster{in: v, to: to, try: try}
	if to.Nested() {
		c.out = vec.New(to, v.N)
		return c.out, c.nested()
	}
	c.out = vec.NewFlat(to, v.N)
	c.out.Valid = v.Valid.Clone()
	if c.wide() {
		return c.out, nil
	}
	convert := c.conversion()
	if convert == nil {
		return nil, fail.New(fail.DatatypeMismatch, "cannot cast %s to %s", v.Type, to)
	}
	for i := range v.N {
		if v.Valid != nil && !v.Valid.Get(i) {
			continue
		}
		if err := convert(i); err != nil {
			if !try {
				return nil, err
			}
			c.out.SetNull(i)
		}
	}
	return c.out, nil
}

// sameLayout reports casts that change the type only.
func sameLayout(from, to types.Type) bool {
	switch from.Kind {
	case types.Unknown:
		return to.Kind == types.Text
	case types.Text:
		return to.Kind == types.Unknown
	case types.JSON:
		return to.Kind == types.Text || to.Kind == types.Unknown
	case types.Vector:
		return false
	}
	return from.Equal(to)
}

type caster struct {
	in, out *vec.Vector
	to      types.Type
	try     bool
}

// wide runs the conversions that cannot fail as loops over all rows.
func (c *caster) wide() bool {
	in, out := c.in, c.out
	switch from := in.Type.Kind; {
	case from == types.Int32 && c.to.Kind == types.Int64:
		for i, x := range in.Int32s {
			out.Int64s[i] = int64(x)
		}
	case from == types.Int32 && c.to.Kind == types.Double:
		for i, x := range in.Int32s {
			out.Float64s[i] = float64(x)
		}
	case from == types.Int64 && c.to.Kind == types.Double:
		for i, x := range in.Int64s {
			out.Float64s[i] = float64(x)
		}
	case from == types.Decimal && c.to.Kind == types.Double:
		decimalsToDoubles(in.Decimals, in.Type.Scale, out.Float64s)
	default:
		return false
	}
	return true
}

// decimalsToDoubles divides exactly representable values by exact powers of ten,
// which rounds once; larger ones go through arrow's conversion.
func decimalsToDoubles(in []decimal128.Num, scale uint8, out []float64) {
	p := math.Pow10(int(scale))
	for i, d := range in {
		if x, ok := smallInt(d); ok && x > -1<<53 && x < 1<<53 && scale <= 22 {
			out[i] = float64(x) / p
		} else {
			out[i] = DecimalToDouble(d, scale)
		}
	}
}

// conversion is the row conversion for the pair of types, or nil.
func (c *caster) conversion() func(i int) error {
	switch c.to.Kind {
	case types.Text, types.Unknown:
		return c.toText
	case types.JSON:
		return c.toJSON()
	}
	switch c.in.Type.Kind {
	case types.Text, types.Unknown:
		return c.fromText(func(i int) string { return c.in.Strings.At(i) })
	case types.JSON:
		return c.fromJSON()
	case types.Int32:
		return c.fromInt(func(i int) int64 { return int64(c.in.Int32s[i]) })
	case types.Int64:
		return c.fromInt(func(i int) int64 { return c.in.Int64s[i] })
	case types.Boolean:
		if c.to.Integer() {
			return func(i int) error { return c.setInt(i, int64(boolInt(c.in.Bools[i]))) }
		}
	case types.Double:
		return c.fromDouble()
	case types.Decimal:
		return c.fromDecimal()
	case types.Date:
		if c.to.Kind == types.Timestamp {
			return c.dateToTimestamp
		}
	case types.Timestamp:
		switch c.to.Kind {
		case types.Date:
			return c.timestampToDate
		case types.Time:
			return func(i int) error {
				c.out.Int64s[i] = ClockOf(c.in.Int64s[i])
				return nil
			}
		}
	case types.Time:
		if c.to.Kind == types.Interval {
			return func(i int) error {
				c.out.Spans[i] = vec.Span{Nanos: c.in.Int64s[i] * 1000}
				return nil
			}
		}
	case types.Interval:
		if c.to.Kind == types.Time {
			return func(i int) error {
				c.out.Int64s[i] = ClockOf(FloorDiv(c.in.Spans[i].Nanos, 1000))
				return nil
			}
		}
	case types.UUID, types.Binary:
		return c.uuidBytes()
	case types.List:
		if c.to.Kind == types.Vector {
			return c.listToVector()
		}
	case types.Vector:
		if c.to.Kind == types.Vector {
			return func(i int) error {
				return fail.New(fail.InvalidVector, "a vector of %s where %s is needed", fail.Count(c.in.Type.Dim, "dimension"), c.to)
			}
		}
	}
	return nil
}

// OutOfRange is the error of a number that does not fit a type.
func OutOfRange(value string, t types.Type) error {
	return fail.New(fail.OutOfRange, "%s is out of range for %s", value, t)
}

func (c *caster) outOfRange(i int) error { return OutOfRange(c.in.Value(i).String(), c.to) }

func (c *caster) setInt(i int, x int64) error {
	if c.to.Kind == types.Int64 {
		c.out.Int64s[i] = x
		return nil
	}
	c.out.Int32s[i] = int32(x)
	if int64(int32(x)) != x {
		return c.outOfRange(i)
	}
	return nil
}

func (c *caster) fromInt(at func(int) int64) func(int) error {
	switch c.to.Kind {
	case types.Int32, types.Int64:
		return func(i int) error { return c.setInt(i, at(i)) }
	case types.Decimal:
		return func(i int) error { return c.setDecimal(i, decimal128.FromI64(at(i)), 0) }
	case types.Boolean:
		return func(i int) error {
			c.out.Bools[i] = at(i) != 0
			return nil
		}
	}
	return nil
}

func (c *caster) setDecimal(i int, d decimal128.Num, scale uint8) error {
	r, ok := Rescale(d, scale, c.to.Scale)
	if !ok || !FitsPrecision(r, c.to.Precision) {
		return c.outOfRange(i)
	}
	c.out.Decimals[i] = r
	return nil
}

func (c *caster) fromDouble() func(int) error {
	switch c.to.Kind {
	case types.Int32, types.Int64:
		return func(i int) error {
			x, ok := DoubleToInt(c.in.Float64s[i])
			if !ok {
				return c.outOfRange(i)
			}
			return c.setInt(i, x)
		}
	case types.Decimal:
		return func(i int) error {
			d, ok := DoubleToDecimal(c.in.Float64s[i], c.to)
			if !ok {
				return c.outOfRange(i)
			}
			c.out.Decimals[i] = d
			return nil
		}
	}
	return nil
}

// DoubleToInt rounds half to even; ok is false outside of BIGINT and for NaN.
func DoubleToInt(f float64) (x int64, ok bool) {
	f = math.RoundToEven(f)
	if !(f >= -(1<<63) && f < 1<<63) {
		return 0, false
	}
	return int64(f), true
}

func (c *caster) fromDecimal() func(int) error {
	scale := c.in.Type.Scale
	switch c.to.Kind {
	case types.Int32, types.Int64:
		return func(i int) error {
			r, ok := Rescale(c.in.Decimals[i], scale, 0)
			x, fits := smallInt(r)
			if !ok || !fits {
				return c.outOfRange(i)
			}
			return c.setInt(i, x)
		}
	case types.Decimal:
		return func(i int) error { return c.setDecimal(i, c.in.Decimals[i], scale) }
	}
	return nil
}

func (c *caster) dateToTimestamp(i int) error {
	us, ok := DateToMicros(c.in.Int32s[i])
	c.out.Int64s[i] = us
	if !ok {
		return c.outOfRange(i)
	}
	return nil
}

// MicrosPerDay is the length of a day in the unit of TIMESTAMP.
const MicrosPerDay = 86_400_000_000

// DateToMicros is midnight UTC of a date; ok is false when TIMESTAMP cannot hold it.
func DateToMicros(days int32) (us int64, ok bool) {
	us = int64(days) * MicrosPerDay
	return us, us/MicrosPerDay == int64(days)
}

func (c *caster) timestampToDate(i int) error {
	c.out.Int32s[i] = int32(FloorDiv(c.in.Int64s[i], MicrosPerDay))
	return nil
}

// FloorDiv divides rounding down; b > 0.
func FloorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

func (c *caster) listToVector() func(int) error {
	double, dim := types.Of(types.Double), int(c.to.Dim)
	all, errAll := Cast(c.in.Child, double, c.try)
	if errAll == nil {
		all = all.Flatten()
	}
	return func(i int) error {
		f, e, elems := int(c.in.Offsets[i]), int(c.in.Offsets[i+1]), all
		if errAll != nil {
			// Some element fails, perhaps one that no row has.
			own, err := Cast(c.in.Child.Slice(f, e), double, c.try)
			if err != nil {
				return err
			}
			f, e, elems = 0, e-f, own.Flatten()
		}
		if e-f != dim {
			return wrongDim(e-f, c.to)
		}
		for j := f; j < e; j++ {
			if elems.IsNull(j) {
				return fail.New(fail.InvalidVector, "element %d of the vector is NULL", j-f+1)
			}
			c.out.Float32s[i*dim+j-f] = float32(elems.Float64s[j])
		}
		return nil
	}
}

func wrongDim(n int, to types.Type) error {
	return fail.New(fail.InvalidVector, "a vector of %s where %s is needed", fail.Count(n, "dimension"), to)
}
