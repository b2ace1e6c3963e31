package functions

import (
	"math"
	"math/big"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/kernel"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

var mathTable = []def{
	{names: "abs", help: "absolute value", sigs: []sig{
		{in: "int", ret: "int", eval: evalAbs}, {in: "bigint", ret: "bigint", eval: evalAbs},
		{in: "decimal", ret: "same", eval: evalAbs}, {in: "double", ret: "double", eval: evalAbs},
	}},
	{names: "sign", help: "-1, 0 or 1", sigs: []sig{{in: "double", ret: "double", eval: double1(signOf)}}},
	rounding("ceil ceiling", "the next whole number above", math.Ceil, 1),
	rounding("floor", "the next whole number below", math.Floor, -1),
	{names: "round", help: "rounded to d digits behind the point, half away from zero", sigs: []sig{
		{in: "int", ret: "int", eval: identity}, {in: "bigint", ret: "bigint", eval: identity},
		{in: "decimal", bind: wholeDecimal, eval: decimalTo(halfAway)},
		{in: "double", ret: "double", eval: double1(math.Round)},
		{in: "decimal, bigint", ret: "same", eval: decimalDigits(halfAway)},
		{in: "double, bigint", ret: "double", eval: doubleDigits(math.Round)},
	}},
	{names: "trunc", help: "cut off at d digits behind the point", sigs: []sig{
		{in: "int", ret: "int", eval: identity}, {in: "bigint", ret: "bigint", eval: identity},
		{in: "decimal", bind: wholeDecimal, eval: decimalTo(towardZero)},
		{in: "double", ret: "double", eval: double1(math.Trunc)},
		{in: "decimal, bigint", ret: "same", eval: decimalDigits(towardZero)},
		{in: "double, bigint", ret: "double", eval: doubleDigits(math.Trunc)},
	}},
	{names: "sqrt", help: "square root", sigs: []sig{{in: "double", ret: "double", eval: double1e(func(x float64) (float64, error) {
		if x < 0 {
			return 0, badDomain("sqrt", x)
		}
		return math.Sqrt(x), nil
	})}}},
	{names: "cbrt", help: "cube root", sigs: []sig{{in: "double", ret: "double", eval: double1(math.Cbrt)}}},
	{names: "power pow", help: "x to the power y", sigs: []sig{{in: "double, double", ret: "double", eval: double2e(power)}}},
	{names: "exp", help: "e to the power x", sigs: []sig{{in: "double", ret: "double", eval: double1e(func(x float64) (float64, error) {
		return finite("exp", math.Exp(x), x)
	})}}},
	{names: "ln", help: "natural logarithm", sigs: []sig{{in: "double", ret: "double", eval: double1e(logOf("ln", math.Log))}}},
	{names: "log", help: "logarithm to base 10, or log(base, x)", sigs: []sig{
		{in: "double", ret: "double", eval: double1e(logOf("log", math.Log10))},
		{in: "double, double", ret: "double", eval: double2e(logBase)},
	}},
	{names: "log10", help: "logarithm to base 10", sigs: []sig{{in: "double", ret: "double", eval: double1e(logOf("log10", math.Log10))}}},
	{names: "log2", help: "logarithm to base 2", sigs: []sig{{in: "double", ret: "double", eval: double1e(logOf("log2", math.Log2))}}},
	{names: "sin", help: "sine", sigs: []sig{{in: "double", ret: "double", eval: double1(math.Sin)}}},
	{names: "cos", help: "cosine", sigs: []sig{{in: "double", ret: "double", eval: double1(math.Cos)}}},
	{names: "tan", help: "tangent", sigs: []sig{{in: "double", ret: "double", eval: double1(math.Tan)}}},
	{names: "asin", help: "inverse sine", sigs: []sig{{in: "double", ret: "double", eval: double1e(inverse("asin", math.Asin))}}},
	{names: "acos", help: "inverse cosine", sigs: []sig{{in: "double", ret: "double", eval: double1e(inverse("acos", math.Acos))}}},
	{names: "atan", help: "inverse tangent", sigs: []sig{{in: "double", ret: "double", eval: double1(math.Atan)}}},
	{names: "atan2", help: "angle of the point (x, y): atan2(y, x)", sigs: []sig{{in: "double, double", ret: "double", eval: double2e(func(y, x float64) (float64, error) {
		return math.Atan2(y, x), nil
	})}}},
	{names: "degrees", help: "radians to degrees", sigs: []sig{{in: "double", ret: "double", eval: double1(func(x float64) float64 { return x * 180 / math.Pi })}}},
	{names: "radians", help: "degrees to radians", sigs: []sig{{in: "double", ret: "double", eval: double1(func(x float64) float64 { return x * math.Pi / 180 })}}},
	{names: "pi", help: "the number pi", sigs: []sig{{ret: "double", eval: func(_ *expr.Env, _ []*vec.Vector, n int, out *vec.Vector) error {
		for i := range n {
			out.Float64s[i] = math.Pi
		}
		return nil
	}}}},
	{names: "random", help: "a random number in [0, 1), new for each row", vol: expr.Volatile, sigs: []sig{{ret: "double", eval: evalRandom}}},
}

func signOf(x float64) float64 {
	switch {
	case x > 0:
		return 1
	case x < 0:
		return -1
	}
	return x
}

func badDomain(name string, x float64) error {
	return fail.New(fail.OutOfRange, "%s(%s) is not defined", name, vec.FormatDouble(x))
}

// finite turns an infinity that comes from a finite argument into an error.
func finite(name string, r, x float64) (float64, error) {
	if math.IsInf(r, 0) && !math.IsInf(x, 0) {
		return 0, fail.New(fail.OutOfRange, "%s(%s) is out of range for DOUBLE", name, vec.FormatDouble(x))
	}
	return r, nil
}

func power(x, y float64) (float64, error) {
	switch r := math.Pow(x, y); {
	case x == 0 && y < 0:
		return 0, fail.New(fail.OutOfRange, "zero to a negative power")
	case math.IsNaN(r) && !math.IsNaN(x) && !math.IsNaN(y):
		return 0, fail.New(fail.OutOfRange, "a negative number (%s) to a fractional power", vec.FormatDouble(x))
	case math.IsInf(r, 0) && !math.IsInf(x, 0) && !math.IsInf(y, 0):
		return 0, fail.New(fail.OutOfRange, "power(%s, %s) is out of range for DOUBLE", vec.FormatDouble(x), vec.FormatDouble(y))
	default:
		return r, nil
	}
}

func logOf(name string, f func(float64) float64) func(float64) (float64, error) {
	return func(x float64) (float64, error) {
		if x <= 0 {
			return 0, badDomain(name, x)
		}
		return f(x), nil
	}
}

func logBase(b, x float64) (float64, error) {
	if b <= 0 || b == 1 {
		return 0, badDomain("log to base", b)
	}
	if x <= 0 {
		return 0, badDomain("log", x)
	}
	return math.Log(x) / math.Log(b), nil
}

func inverse(name string, f func(float64) float64) func(float64) (float64, error) {
	return func(x float64) (float64, error) {
		if x < -1 || x > 1 {
			return 0, badDomain(name, x)
		}
		return f(x), nil
	}
}

func evalAbs(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
	v := args[0].Flatten()
	if v.Type.Kind == types.Double {
		for i, x := range v.Float64s[:n] {
			out.Float64s[i] = math.Abs(x)
		}
		return nil
	}
	if v.Type.Kind == types.Decimal {
		for i, d := range v.Decimals[:n] {
			out.Decimals[i] = d.Abs()
		}
		return nil
	}
	if err := kernel.Negate(v, n, out); err != nil {
		return err
	}
	for i := range out.Int32s {
		out.Int32s[i] = max(out.Int32s[i], v.Int32s[i])
	}
	for i := range out.Int64s {
		out.Int64s[i] = max(out.Int64s[i], v.Int64s[i])
	}
	return nil
}

func rounding(names, help string, f func(float64) float64, side int) def {
	return def{names: names, help: help, sigs: []sig{
		{in: "int", ret: "int", eval: identity}, {in: "bigint", ret: "bigint", eval: identity},
		{in: "decimal", bind: wholeDecimal, eval: decimalTo(side)},
		{in: "double", ret: "double", eval: double1(f)},
	}}
}

// Ways to round a decimal: up (1) and down (-1) besides these two.
const (
	halfAway   = 2
	towardZero = 0
)

// wholeDecimal binds decimal → decimal of scale 0 with a digit to spare.
func wholeDecimal(args []types.Type) ([]types.Type, types.Type, error) {
	if len(args) != 1 || args[0].Kind != types.Decimal {
		return nil, types.Type{}, nil
	}
	return args, types.DecimalOf(min(args[0].Precision-args[0].Scale+1, types.MaxPrecision), 0), nil
}

// decimalTo rounds decimals to whole numbers of scale 0.
func decimalTo(way int) expr.EvalFunc {
	return func(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
		d := decimals(args[0])
		for i := range n {
			r := roundBig(d.at(i).BigInt(), int64(args[0].Type.Scale), way)
			out.Decimals[i] = decimal128.FromBigInt(r)
			if !kernel.FitsPrecision(out.Decimals[i], out.Type.Precision) {
				return kernel.OutOfRange(args[0].Value(i).String(), out.Type)
			}
		}
		return nil
	}
}

// roundBig is x / 10^digits, rounded.
func roundBig(x *big.Int, digits int64, way int) *big.Int {
	p := new(big.Int).Exp(big.NewInt(10), big.NewInt(digits), nil)
	q, r := new(big.Int).QuoRem(x, p, new(big.Int))
	up := way == 1 && r.Sign() > 0 || way == -1 && r.Sign() < 0
	if way == halfAway {
		up = r.Sign() != 0 && new(big.Int).Abs(r).Lsh(r.Abs(r), 1).Cmp(p) >= 0
	}
	if up {
		q.Add(q, big.NewInt(int64(x.Sign())))
	}
	return q
}

// decimalDigits rounds decimals to a number of digits and keeps their type.
func decimalDigits(way int) expr.EvalFunc {
	return func(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
		d, digits, scale := decimals(args[0]), longs(args[1]), int64(args[0].Type.Scale)
		for i := range n {
			drop := scale - digits.at(i)
			if drop <= 0 {
				out.Decimals[i] = d.at(i)
				continue
			}
			drop = min(drop, 77)
			x := roundBig(d.at(i).BigInt(), drop, way)
			x.Mul(x, new(big.Int).Exp(big.NewInt(10), big.NewInt(drop), nil))
			if x.BitLen() > 127 || !kernel.FitsPrecision(decimal128.FromBigInt(x), out.Type.Precision) {
				return kernel.OutOfRange("the rounded "+args[0].Value(i).String(), out.Type)
			}
			out.Decimals[i] = decimal128.FromBigInt(x)
		}
		return nil
	}
}

// doubleDigits rounds doubles at a decimal digit.
func doubleDigits(f func(float64) float64) expr.EvalFunc {
	return func(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
		x, digits := doubles(args[0]), longs(args[1])
		for i := range n {
			v, d := x.at(i), max(-400, min(400, digits.at(i)))
			p := math.Pow10(int(max(d, -d)))
			switch {
			case d < 0 && math.IsInf(p, 0):
				out.Float64s[i] = 0
			case d < 0:
				out.Float64s[i] = f(v/p) * p
			case math.IsInf(v*p, 0) || math.Abs(v) >= 1<<53:
				out.Float64s[i] = v
			default:
				out.Float64s[i] = f(v*p) / p
			}
		}
		return nil
	}
}

func evalRandom(env *expr.Env, _ []*vec.Vector, n int, out *vec.Vector) error {
	if env.Random == nil {
		return fail.New(fail.Unsupported, "random() has no source of randomness here")
	}
	for i := range n {
		out.Float64s[i] = float64(env.Random()>>11) / (1 << 53)
	}
	return nil
}
