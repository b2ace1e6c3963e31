package kernel

import (
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/loamdb/loam/internal/types"
)

func sortUint32(s []uint32) { slices.Sort(s) }

// ParseDecimal reads a decimal number, with an exponent or without, exactly,
// then rounds it half away from zero to t's scale.
func ParseDecimal(s string, t types.Type) (decimal128.Num, error) {
	text := strings.TrimSpace(s)
	mant, exp := text, 0
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		e, err := strconv.Atoi(text[i+1:])
		if err != nil || e > 1000 || e < -1000 {
			return decimal128.Num{}, invalidText(s, t)
		}
		mant, exp = text[:i], e
	}
	digits := strings.TrimLeft(mant, "+-")
	if len(mant)-len(digits) > 1 {
		return decimal128.Num{}, invalidText(s, t)
	}
	whole, frac, _ := strings.Cut(digits, ".")
	all := whole + frac
	if all == "" || len(all) > 1000 || strings.Trim(all, "0123456789") != "" {
		return decimal128.Num{}, invalidText(s, t)
	}
	x, _ := new(big.Int).SetString(all, 10)
	if strings.HasPrefix(mant, "-") {
		x.Neg(x)
	}
	d, ok := scaleBig(x, int(t.Scale)+exp-len(frac))
	if !ok || !FitsPrecision(d, t.Precision) {
		return decimal128.Num{}, OutOfRange(quote(s), t)
	}
	return d, nil
}

// scaleBig is x·10^shift, rounded half away from zero.
func scaleBig(x *big.Int, shift int) (decimal128.Num, bool) {
	p := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(shift, -shift))), nil)
	if shift < 0 {
		return divRound(x, p)
	}
	d, ok := fromBig(p.Mul(p, x))
	return d, ok && FitsPrecision(d, types.MaxPrecision)
}

// DoubleToDecimal rounds the shortest decimal form of f to t's scale; ok is
// false for NaN, infinities and numbers too large.
func DoubleToDecimal(f float64, t types.Type) (decimal128.Num, bool) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return decimal128.Num{}, false
	}
	d, err := ParseDecimal(strconv.FormatFloat(f, 'e', -1, 64), t)
	return d, err == nil
}

// DecimalToDouble is the double nearest to the decimal.
func DecimalToDouble(d decimal128.Num, scale uint8) float64 {
	if x, ok := smallInt(d); ok && x > -1<<53 && x < 1<<53 && scale <= 22 {
		return float64(x) / math.Pow10(int(scale))
	}
	f, _ := new(big.Rat).SetFrac(d.BigInt(), pow10Big(scale)).Float64()
	return f
}
