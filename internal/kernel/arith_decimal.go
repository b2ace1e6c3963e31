package kernel

import (
	"math/big"
	"math/bits"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// AddDecimalType is the type of a + b and a - b: the larger scale, one more
// whole digit, at most 38 digits in all.
func AddDecimalType(a, b types.Type) types.Type {
	s := max(a.Scale, b.Scale)
	whole := max(a.Precision-a.Scale, b.Precision-b.Scale)
	return types.DecimalOf(min(whole+s+1, types.MaxPrecision), s)
}

// MulDecimalType is the type of a * b: precisions and scales added, at most 38.
// A value that needs more whole digits than are left is an overflow at run time.
func MulDecimalType(a, b types.Type) types.Type {
	s := min(a.Scale+b.Scale, types.MaxPrecision)
	return types.DecimalOf(min(a.Precision+b.Precision, types.MaxPrecision), s)
}

// DivDecimalType is the type of a / b: scale max(6, scale of a), whole digits of
// a plus the scale of b, at most 38 digits in all. The quotient is rounded half
// away from zero.
func DivDecimalType(a, b types.Type) types.Type {
	s := max(6, a.Scale)
	return types.DecimalOf(min(a.Precision-a.Scale+b.Scale+s, types.MaxPrecision), s)
}

// ModDecimalType is the type of a % b.
func ModDecimalType(a, b types.Type) types.Type {
	s := max(a.Scale, b.Scale)
	whole := max(a.Precision-a.Scale, b.Precision-b.Scale)
	return types.DecimalOf(min(whole+s, types.MaxPrecision), s)
}

// AddDecimal adds DECIMALs of any scales; out has AddDecimalType.
func AddDecimal(a, b *vec.Vector, n int, out *vec.Vector) error {
	x, y := spread(a.Decimals, a, n), spread(b.Decimals, b, n)
	sa, sb, t := a.Type.Scale, b.Type.Scale, out.Type
	checked := t.Precision == types.MaxPrecision
	if sa == sb && !checked {
		for i, v := range x {
			out.Decimals[i], _ = addDecimal(v, y[i])
		}
		return nil
	}
	for i, v := range x {
		p, okp := Rescale(v, sa, t.Scale)
		q, okq := Rescale(y[i], sb, t.Scale)
		s, ok := addDecimal(p, q)
		if !okp || !okq || !ok || !FitsPrecision(s, t.Precision) {
			return overflow(a, b, i, "+", t)
		}
		out.Decimals[i] = s
	}
	return nil
}

// SubDecimal subtracts DECIMALs of any scales; out has AddDecimalType.
func SubDecimal(a, b *vec.Vector, n int, out *vec.Vector) error {
	x, y := spread(a.Decimals, a, n), spread(b.Decimals, b, n)
	sa, sb, t := a.Type.Scale, b.Type.Scale, out.Type
	for i, v := range x {
		p, okp := Rescale(v, sa, t.Scale)
		q, okq := Rescale(y[i], sb, t.Scale)
		s, ok := addDecimal(p, q.Negate())
		if !okp || !okq || !ok || !FitsPrecision(s, t.Precision) {
			return overflow(a, b, i, "-", t)
		}
		out.Decimals[i] = s
	}
	return nil
}

// MulDecimal multiplies DECIMALs; out has MulDecimalType.
func MulDecimal(a, b *vec.Vector, n int, out *vec.Vector) error {
	x, y := spread(a.Decimals, a, n), spread(b.Decimals, b, n)
	t := out.Type
	drop := a.Type.Scale + b.Type.Scale - t.Scale
	checked := a.Type.Precision+b.Type.Precision > types.MaxPrecision
	for i, v := range x {
		p, ok := mulDecimal(v, y[i])
		if drop > 0 {
			p, ok = divRound(new(big.Int).Mul(v.BigInt(), y[i].BigInt()), pow10Big(drop))
		}
		if !ok || checked && !FitsPrecision(p, t.Precision) {
			return overflow(a, b, i, "*", t)
		}
		out.Decimals[i] = p
	}
	return nil
}

// DivDecimal divides DECIMALs; out has DivDecimalType.
func DivDecimal(a, b *vec.Vector, n int, out *vec.Vector) error {
	x, y := spread(a.Decimals, a, n), spread(b.Decimals, b, n)
	t := out.Type
	shift := t.Scale + b.Type.Scale - a.Type.Scale
	for i, v := range x {
		if y[i] == (decimal128.Num{}) {
			return divZero()
		}
		q, ok := divSmall(v, y[i], shift)
		if !ok {
			num := v.BigInt()
			q, ok = divRound(num.Mul(num, pow10Big(shift)), y[i].BigInt())
		}
		if !ok || !FitsPrecision(q, t.Precision) {
			return overflow(a, b, i, "/", t)
		}
		out.Decimals[i] = q
	}
	return nil
}

// divSmall is v·10^shift / d, rounded, when the machine's 128-by-64 division does it.
func divSmall(v, d decimal128.Num, shift uint8) (decimal128.Num, bool) {
	x, okx := smallInt(v)
	y, oky := smallInt(d)
	if !okx || !oky || shift > 18 {
		return decimal128.Num{}, false
	}
	neg := (x < 0) != (y < 0)
	ux, uy := magnitude(x), magnitude(y)
	hi, lo := bits.Mul64(ux, decimal128.GetScaleMultiplier(int(shift)).LowBits())
	if hi >= uy {
		return decimal128.Num{}, false
	}
	q, r := bits.Div64(hi, lo, uy)
	out := decimal128.FromU64(q)
	if r >= uy-r {
		out, _ = addDecimal(out, decimal128.FromI64(1))
	}
	if neg {
		out = out.Negate()
	}
	return out, true
}

func magnitude(x int64) uint64 {
	if x < 0 {
		return -uint64(x)
	}
	return uint64(x)
}

// ModDecimal is the remainder, with the sign of the dividend; out has ModDecimalType.
func ModDecimal(a, b *vec.Vector, n int, out *vec.Vector) error {
	x, y := spread(a.Decimals, a, n), spread(b.Decimals, b, n)
	s := out.Type.Scale
	for i, v := range x {
		if y[i] == (decimal128.Num{}) {
			return divZero()
		}
		p, q := v.BigInt(), y[i].BigInt()
		p.Mul(p, pow10Big(s-a.Type.Scale))
		q.Mul(q, pow10Big(s-b.Type.Scale))
		r, ok := fromBig(p.Rem(p, q))
		if !ok || !FitsPrecision(r, out.Type.Precision) {
			return overflow(a, b, i, "%", out.Type)
		}
		out.Decimals[i] = r
	}
	return nil
}
