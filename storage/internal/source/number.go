package source

import (
	"math"
	"math/big"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/tidwall/gjson"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/types"
)

// appendDouble writes the shortest text that reads back as f, in the form of
// ECMAScript's Number (RFC 8785 §3.2.2.3), but -0 keeps its sign. JSON has no
// NaN and no infinities.
func appendDouble(dst []byte, f float64) ([]byte, error) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil, fail.New(fail.OutOfRange, "%v cannot be stored in a document", f).WithHint("Store NULL instead.")
	}
	format := byte('f')
	if abs := math.Abs(f); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		format = 'e'
	}
	dst = strconv.AppendFloat(dst, f, format, -1, 64)
	if n := len(dst); format == 'e' && dst[n-4] == 'e' && dst[n-3] == '-' && dst[n-2] == '0' {
		dst = append(dst[:n-2], dst[n-1]) // e-07 is e-7
	}
	return dst, nil
}

func double(r gjson.Result, t types.Type) (float64, error) {
	if r.Type != gjson.Number {
		return 0, want(r, t, false)
	}
	f, err := strconv.ParseFloat(r.Raw, 64)
	if err != nil {
		return 0, fail.New(fail.OutOfRange, "%s is out of range for %s", clip(r.Raw), t)
	}
	return f, nil
}

func integer(r gjson.Result, t types.Type, size int) (int64, error) {
	if r.Type != gjson.Number {
		return 0, want(r, t, false)
	}
	n, err := strconv.ParseInt(r.Raw, 10, size)
	if err == nil {
		return n, nil
	}
	if strings.ContainsAny(r.Raw, ".eE") {
		return 0, want(r, t, false)
	}
	return 0, fail.New(fail.OutOfRange, "%s is out of range for %s", clip(r.Raw), t)
}

// maxDecimalText bounds the text of a decimal: with 38 digits, nobody needs more.
const maxDecimalText = 200

// decimalOf reads a JSON number, or a number in a JSON string, without a float
// in between and without rounding.
func decimalOf(r gjson.Result, t types.Type) (decimal128.Num, error) {
	text := r.Raw
	if r.Type == gjson.String {
		text = r.Str
	} else if r.Type != gjson.Number {
		return decimal128.Num{}, want(r, t, false)
	}
	negative, digits, exp, ok := parseDecimal(text)
	if !ok {
		return decimal128.Num{}, want(r, t, false)
	}
	if digits == "" {
		return decimal128.Num{}, nil
	}
	shift := exp + int(t.Scale)
	switch {
	case shift < 0:
		return decimal128.Num{}, fail.New(fail.OutOfRange, "%s has more than %s after the point", clip(text), fail.Count(t.Scale, "digit"))
	case len(digits)+shift > int(t.Precision):
		return decimal128.Num{}, fail.New(fail.OutOfRange, "%s does not fit %s", clip(text), t)
	}
	x, _ := new(big.Int).SetString(digits+strings.Repeat("0", shift), 10)
	if negative {
		x.Neg(x)
	}
	return decimal128.FromBigInt(x), nil
}

// parseDecimal takes a JSON number apart: the value is digits · 10^exp, digits
// without zeros at either end, "" for zero.
func parseDecimal(s string) (negative bool, digits string, exp int, ok bool) {
	if len(s) == 0 || len(s) > maxDecimalText || !gjson.Valid(s) || strings.Trim(s, "+-.0123456789eE") != "" {
		return false, "", 0, false
	}
	mantissa := s
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		var err error
		if exp, err = strconv.Atoi(s[i+1:]); err != nil || exp > 1<<20 || exp < -1<<20 {
			return false, "", 0, false
		}
		mantissa = s[:i]
	}
	mantissa, negative = strings.CutPrefix(mantissa, "-")
	whole, fraction, _ := strings.Cut(mantissa, ".")
	exp -= len(fraction)
	digits = strings.TrimLeft(whole+fraction, "0")
	trimmed := strings.TrimRight(digits, "0")
	return negative, trimmed, exp + len(digits) - len(trimmed), true
}
