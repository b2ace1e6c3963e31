package kernel

import (
	"cmp"
	"math/big"
	"math/bits"

	"github.com/apache/arrow-go/v18/arrow/decimal128"
)

// CompareDecimals orders two unscaled decimals of the given scales.
func CompareDecimals(a decimal128.Num, sa uint8, b decimal128.Num, sb uint8) int {
	if sa == sb {
		return cmp.Or(cmp.Compare(a.HighBits(), b.HighBits()), cmp.Compare(a.LowBits(), b.LowBits()))
	}
	x, y := a.BigInt(), b.BigInt()
	if sa < sb {
		x.Mul(x, pow10Big(sb-sa))
	} else {
		y.Mul(y, pow10Big(sa-sb))
	}
	return x.Cmp(y)
}

func pow10Big(n uint8) *big.Int {
	return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil)
}

// smallInt gives a decimal's unscaled value as int64 and whether it fits.
func smallInt(d decimal128.Num) (int64, bool) {
	lo := int64(d.LowBits())
	return lo, d.HighBits() == lo>>63
}

// addDecimal adds; ok is false when 128 bits overflow.
func addDecimal(a, b decimal128.Num) (decimal128.Num, bool) {
	lo, carry := bits.Add64(a.LowBits(), b.LowBits(), 0)
	ah, bh := a.HighBits(), b.HighBits()
	hi := int64(uint64(ah) + uint64(bh) + carry)
	return decimal128.New(hi, lo), (ah^hi)&(bh^hi) >= 0
}

// mulDecimal multiplies; ok is false when 128 bits overflow.
func mulDecimal(a, b decimal128.Num) (decimal128.Num, bool) {
	x, okx := smallInt(a)
	y, oky := smallInt(b)
	if okx && oky {
		hi, lo := bits.Mul64(uint64(x), uint64(y))
		h := int64(hi)
		if x < 0 {
			h -= y
		}
		if y < 0 {
			h -= x
		}
		return decimal128.New(h, lo), true
	}
	return fromBig(new(big.Int).Mul(a.BigInt(), b.BigInt()))
}

// fromBig converts; ok is false when the value exceeds 127 bits.
func fromBig(x *big.Int) (decimal128.Num, bool) {
	if x.BitLen() > 127 {
		return decimal128.Num{}, false
	}
	return decimal128.FromBigInt(x), true
}

// maxOf is 10^p - 1 for every precision p.
var maxOf = func() (m [39]decimal128.Num) {
	for p := range m {
		m[p] = decimal128.GetScaleMultiplier(p).Sub(decimal128.FromI64(1))
	}
	return m
}()

// FitsPrecision reports whether the unscaled value has at most p digits.
func FitsPrecision(d decimal128.Num, p uint8) bool {
	m := maxOf[p]
	if d.HighBits() < 0 {
		d = d.Negate()
		if d.HighBits() < 0 {
			return false
		}
	}
	return d.HighBits() < m.HighBits() || d.HighBits() == m.HighBits() && d.LowBits() <= m.LowBits()
}

// Rescale changes a decimal's scale, rounding half away from zero when digits
// are lost; ok is false when the result exceeds 38 digits.
func Rescale(d decimal128.Num, from, to uint8) (decimal128.Num, bool) {
	switch {
	case from == to:
		return d, FitsPrecision(d, 38)
	case from < to:
		out, ok := mulDecimal(d, decimal128.GetScaleMultiplier(int(to-from)))
		return out, ok && FitsPrecision(out, 38)
	}
	if d.HighBits() == 0 && from-to < 19 {
		m := decimal128.GetScaleMultiplier(int(from - to)).LowBits()
		q, r := d.LowBits()/m, d.LowBits()%m
		if r >= m-r {
			q++
		}
		return decimal128.FromU64(q), true
	}
	return divRound(d.BigInt(), pow10Big(from-to))
}

// divRound divides rounding half away from zero.
func divRound(x, y *big.Int) (decimal128.Num, bool) {
	q, r := new(big.Int).QuoRem(x, y, new(big.Int))
	if r.Sign() != 0 && r.Abs(r).Lsh(r, 1).CmpAbs(y) >= 0 {
		if (x.Sign() < 0) != (y.Sign() < 0) {
			q.Sub(q, big.NewInt(1))
		} else {
			q.Add(q, big.NewInt(1))
		}
	}
	out, ok := fromBig(q)
	return out, ok && FitsPrecision(out, 38)
}
