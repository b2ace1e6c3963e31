package kernel

import (
	"math"
	"math/bits"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// Binary computes n rows of an operator into the flat vector out. Arguments are
// flat or constant. It does not look at validity.
type Binary = func(a, b *vec.Vector, n int, out *vec.Vector) error

// spread gives n values of a flat or constant vector's value slice.
func spread[T any](vals []T, v *vec.Vector, n int) []T {
	if v.Encoding != vec.Constant {
		return vals[:n]
	}
	out := make([]T, n)
	for i := range out {
		out[i] = vals[0]
	}
	return out
}

func overflow(a, b *vec.Vector, i int, op string, t types.Type) error {
	return fail.New(fail.OutOfRange, "%s %s %s is out of range for %s", a.Value(i), op, b.Value(i), t)
}

func divZero() error { return fail.New(fail.DivisionByZero, "division by zero") }

// AddInt32 adds INTs.
func AddInt32(a, b *vec.Vector, n int, out *vec.Vector) error {
	return addInts(a, b, a.Int32s, b.Int32s, n, out, out.Int32s)
}

// AddInt64 adds BIGINTs.
func AddInt64(a, b *vec.Vector, n int, out *vec.Vector) error {
	return addInts(a, b, a.Int64s, b.Int64s, n, out, out.Int64s)
}

// addInts adds and collects the overflow of all rows in one sign bit.
func addInts[T integer](a, b *vec.Vector, x, y []T, n int, out *vec.Vector, res []T) error {
	var over T
	res = res[:n]
	if ca, cb := a.Encoding == vec.Constant, b.Encoding == vec.Constant; ca != cb {
		c, flat := y[0], x
		if ca {
			c, flat = x[0], y
		}
		for i, v := range flat[:n] {
			s := v + c
			res[i] = s
			over |= (v ^ s) & (c ^ s)
		}
	} else {
		x, y = spread(x, a, n), spread(y, b, n)
		y = y[:len(x)]
		for i, v := range x {
			s := v + y[i]
			res[i] = s
			over |= (v ^ s) & (y[i] ^ s)
		}
	}
	if over >= 0 {
		return nil
	}
	x, y = spread(x, a, n), spread(y, b, n)
	for i := range n {
		if (x[i]^res[i])&(y[i]^res[i]) < 0 {
			return overflow(a, b, i, "+", out.Type)
		}
	}
	return nil
}

// SubInt32 subtracts INTs.
func SubInt32(a, b *vec.Vector, n int, out *vec.Vector) error {
	return subInts(a, b, a.Int32s, b.Int32s, n, out, out.Int32s)
}

// SubInt64 subtracts BIGINTs.
func SubInt64(a, b *vec.Vector, n int, out *vec.Vector) error {
	return subInts(a, b, a.Int64s, b.Int64s, n, out, out.Int64s)
}

func subInts[T integer](a, b *vec.Vector, x, y []T, n int, out *vec.Vector, res []T) error {
	x, y = spread(x, a, n), spread(y, b, n)
	y, res = y[:len(x)], res[:len(x)]
	var over T
	for i, v := range x {
		s := v - y[i]
		res[i] = s
		over |= (v ^ y[i]) & (v ^ s)
	}
	if over >= 0 {
		return nil
	}
	for i, v := range x {
		if (v^y[i])&(v^res[i]) < 0 {
			return overflow(a, b, i, "-", out.Type)
		}
	}
	return nil
}

// MulInt32 multiplies INTs.
func MulInt32(a, b *vec.Vector, n int, out *vec.Vector) error {
	x, y := spread(a.Int32s, a, n), spread(b.Int32s, b, n)
	y = y[:len(x)]
	res, over := out.Int32s[:len(x)], int64(0)
	for i, v := range x {
		p := int64(v) * int64(y[i])
		res[i] = int32(p)
		over |= p ^ int64(int32(p))
	}
	if over == 0 {
		return nil
	}
	for i, v := range x {
		if p := int64(v) * int64(y[i]); p != int64(int32(p)) {
			return overflow(a, b, i, "*", out.Type)
		}
	}
	return nil
}

// MulInt64 multiplies BIGINTs.
func MulInt64(a, b *vec.Vector, n int, out *vec.Vector) error {
	x, y := spread(a.Int64s, a, n), spread(b.Int64s, b, n)
	y = y[:len(x)]
	res, over := out.Int64s[:len(x)], int64(0)
	for i, v := range x {
		hi, lo := mul64(v, y[i])
		res[i] = lo
		over |= hi ^ lo>>63
	}
	if over == 0 {
		return nil
	}
	for i, v := range x {
		if hi, lo := mul64(v, y[i]); hi != lo>>63 {
			return overflow(a, b, i, "*", out.Type)
		}
	}
	return nil
}

// mul64 is the signed 128-bit product.
func mul64(x, y int64) (hi, lo int64) {
	h, l := bits.Mul64(uint64(x), uint64(y))
	return int64(h) - x>>63&y - y>>63&x, int64(l)
}

// DivInt32 divides INTs, truncating toward zero.
func DivInt32(a, b *vec.Vector, n int, out *vec.Vector) error {
	return divInts(a, b, a.Int32s, b.Int32s, n, out, out.Int32s)
}

// DivInt64 divides BIGINTs, truncating toward zero.
func DivInt64(a, b *vec.Vector, n int, out *vec.Vector) error {
	return divInts(a, b, a.Int64s, b.Int64s, n, out, out.Int64s)
}

func divInts[T integer](a, b *vec.Vector, x, y []T, n int, out *vec.Vector, res []T) error {
	x, y = spread(x, a, n), spread(y, b, n)
	y, res = y[:len(x)], res[:len(x)]
	for i, v := range x {
		d := y[i]
		if d == 0 {
			return divZero()
		}
		res[i] = v / d
		if d == -1 && v == -v && v != 0 {
			return overflow(a, b, i, "/", out.Type)
		}
	}
	return nil
}

// ModInt32 is the remainder of INTs, with the sign of the dividend.
func ModInt32(a, b *vec.Vector, n int, out *vec.Vector) error {
	return modInts(spread(a.Int32s, a, n), spread(b.Int32s, b, n), out.Int32s)
}

// ModInt64 is the remainder of BIGINTs, with the sign of the dividend.
func ModInt64(a, b *vec.Vector, n int, out *vec.Vector) error {
	return modInts(spread(a.Int64s, a, n), spread(b.Int64s, b, n), out.Int64s)
}

func modInts[T integer](x, y, res []T) error {
	y, res = y[:len(x)], res[:len(x)]
	for i, v := range x {
		if y[i] == 0 {
			return divZero()
		}
		res[i] = v % y[i]
	}
	return nil
}

// infinite reports the rows that became infinite although both operands are finite.
func infinite(a, b *vec.Vector, x, y, res []float64, op string, t types.Type) error {
	for i, r := range res {
		if math.IsInf(r, 0) && !math.IsInf(x[i], 0) && !math.IsInf(y[i], 0) {
			return overflow(a, b, i, op, t)
		}
	}
	return nil
}

// AddDouble adds DOUBLEs; finite operands whose sum is infinite are an overflow.
func AddDouble(a, b *vec.Vector, n int, out *vec.Vector) error {
	x, y := spread(a.Float64s, a, n), spread(b.Float64s, b, n)
	y = y[:len(x)]
	res, bad := out.Float64s[:len(x)], false
	for i, v := range x {
		s := v + y[i]
		res[i] = s
		bad = bad || s-s != 0
	}
	if bad {
		return infinite(a, b, x, y, res, "+", out.Type)
	}
	return nil
}

// SubDouble subtracts DOUBLEs.
func SubDouble(a, b *vec.Vector, n int, out *vec.Vector) error {
	x, y := spread(a.Float64s, a, n), spread(b.Float64s, b, n)
	y = y[:len(x)]
	res, bad := out.Float64s[:len(x)], false
	for i, v := range x {
		s := v - y[i]
		res[i] = s
		bad = bad || s-s != 0
	}
	if bad {
		return infinite(a, b, x, y, res, "-", out.Type)
	}
	return nil
}

// MulDouble multiplies DOUBLEs.
func MulDouble(a, b *vec.Vector, n int, out *vec.Vector) error {
	x, y := spread(a.Float64s, a, n), spread(b.Float64s, b, n)
	y = y[:len(x)]
	res, bad := out.Float64s[:len(x)], false
	for i, v := range x {
		s := v * y[i]
		res[i] = s
		bad = bad || s-s != 0
	}
	if bad {
		return infinite(a, b, x, y, res, "*", out.Type)
	}
	return nil
}

// DivDouble divides DOUBLEs; a zero divisor is an error.
func DivDouble(a, b *vec.Vector, n int, out *vec.Vector) error {
	x, y := spread(a.Float64s, a, n), spread(b.Float64s, b, n)
	y = y[:len(x)]
	res, bad := out.Float64s[:len(x)], false
	for i, v := range x {
		if y[i] == 0 {
			return divZero()
		}
		s := v / y[i]
		res[i] = s
		bad = bad || s-s != 0
	}
	if bad {
		return infinite(a, b, x, y, res, "/", out.Type)
	}
	return nil
}

// ModDouble is the floating point remainder.
func ModDouble(a, b *vec.Vector, n int, out *vec.Vector) error {
	x, y := spread(a.Float64s, a, n), spread(b.Float64s, b, n)
	for i, v := range x {
		if y[i] == 0 {
			return divZero()
		}
		out.Float64s[i] = math.Mod(v, y[i])
	}
	return nil
}

// Negate computes -a for INT, BIGINT, DOUBLE, DECIMAL and INTERVAL.
func Negate(a *vec.Vector, n int, out *vec.Vector) error {
	switch a.Type.Kind {
	case types.Int32:
		return negateInts(a, spread(a.Int32s, a, n), out.Int32s)
	case types.Int64:
		return negateInts(a, spread(a.Int64s, a, n), out.Int64s)
	case types.Double:
		for i, x := range spread(a.Float64s, a, n) {
			out.Float64s[i] = -x
		}
	case types.Decimal:
		for i, d := range spread(a.Decimals, a, n) {
			out.Decimals[i] = d.Negate()
		}
	case types.Interval:
		for i, s := range spread(a.Spans, a, n) {
			out.Spans[i] = vec.Span{Months: -s.Months, Days: -s.Days, Nanos: -s.Nanos}
		}
	default:
		return fail.Bug("negation of %s", a.Type)
	}
	return nil
}

func negateInts[T integer](a *vec.Vector, x, res []T) error {
	for i, v := range x {
		res[i] = -v
		if v == -v && v != 0 {
			return fail.New(fail.OutOfRange, "-(%s) is out of range for %s", a.Value(i), a.Type)
		}
	}
	return nil
}
