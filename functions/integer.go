package functions

import (
	"math"
	"math/big"
	mathbits "math/bits"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/kernel"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// numberTable holds the less usual functions of numbers.
var numberTable = []def{
	{names: "gcd greatest_common_divisor", help: "greatest common divisor, never negative", sigs: []sig{{in: "bigint, bigint", ret: "bigint", eval: long2e(gcd)}}},
	{names: "lcm least_common_multiple", help: "least common multiple, never negative", sigs: []sig{{in: "bigint, bigint", ret: "bigint", eval: long2e(lcm)}}},
	{names: "factorial", help: "the product of 1 to n, for n up to 33", sigs: []sig{{in: "bigint", bind: toHuge, eval: evalFactorial}}},
	{names: "width_bucket", help: "the number of the bucket, of n equal ones between two bounds, that a value lies in; 0 below, n+1 above", sigs: []sig{
		{in: "double, double, double, bigint", ret: "bigint", eval: evalWidthBucket},
	}},
	{names: "bit_count", help: "number of bits that are set", sigs: []sig{
		{in: "bigint", ret: "bigint", eval: long1(func(x int64) int64 { return int64(mathbits.OnesCount64(uint64(x))) })},
		{in: "binary", ret: "bigint", eval: textLong(func(s string) int64 {
			total := 0
			for i := range len(s) {
				total += mathbits.OnesCount8(s[i])
			}
			return int64(total)
		})},
	}},
	{names: "get_bit", help: "bit k of a number, counted from 0 at the least", sigs: []sig{{in: "bigint, bigint", ret: "bigint", eval: long2e(func(x, k int64) (int64, error) {
		if k < 0 || k > 63 {
			return 0, fail.New(fail.OutOfRange, "get_bit: bit %d; BIGINT has 0 to 63", k)
		}
		return x >> k & 1, nil
	})}}},
	{names: "cot", help: "cotangent", sigs: []sig{{in: "double", ret: "double", eval: double1e(func(x float64) (float64, error) {
		if x == 0 {
			return 0, badDomain("cot", x)
		}
		return 1 / math.Tan(x), nil
	})}}},
	{names: "sinh", help: "hyperbolic sine", sigs: []sig{{in: "double", ret: "double", eval: double1(math.Sinh)}}},
	{names: "cosh", help: "hyperbolic cosine", sigs: []sig{{in: "double", ret: "double", eval: double1(math.Cosh)}}},
	{names: "tanh", help: "hyperbolic tangent", sigs: []sig{{in: "double", ret: "double", eval: double1(math.Tanh)}}},
	{names: "asinh", help: "inverse hyperbolic sine", sigs: []sig{{in: "double", ret: "double", eval: double1(math.Asinh)}}},
	{names: "acosh", help: "inverse hyperbolic cosine", sigs: []sig{{in: "double", ret: "double", eval: double1e(func(x float64) (float64, error) {
		if x < 1 {
			return 0, badDomain("acosh", x)
		}
		return math.Acosh(x), nil
	})}}},
	{names: "atanh", help: "inverse hyperbolic tangent", sigs: []sig{{in: "double", ret: "double", eval: double1e(func(x float64) (float64, error) {
		if x <= -1 || x >= 1 {
			return 0, badDomain("atanh", x)
		}
		return math.Atanh(x), nil
	})}}},
	{names: "hypot", help: "length of the hypotenuse over two sides", sigs: []sig{{in: "double, double", ret: "double", eval: double2e(func(x, y float64) (float64, error) { return math.Hypot(x, y), nil })}}},
	{names: "gamma", help: "the gamma function, (x-1)!", sigs: []sig{{in: "double", ret: "double", eval: double1e(func(x float64) (float64, error) {
		if x == 0 || x < 0 && x == math.Trunc(x) {
			return 0, badDomain("gamma", x)
		}
		return finite("gamma", math.Gamma(x), x)
	})}}},
	{names: "lgamma", help: "natural logarithm of the gamma function", sigs: []sig{{in: "double", ret: "double", eval: double1e(func(x float64) (float64, error) {
		r, _ := math.Lgamma(x)
		return finite("lgamma", r, x)
	})}}},
	{names: "isnan", help: "whether a double is not a number", sigs: []sig{{in: "double", ret: "boolean", eval: doubleBool(math.IsNaN)}}},
	{names: "isinf", help: "whether a double is infinite", sigs: []sig{{in: "double", ret: "boolean", eval: doubleBool(func(x float64) bool { return math.IsInf(x, 0) })}}},
	{names: "isfinite", help: "whether a value is neither infinite nor NaN; dates and times always are", sigs: []sig{
		{in: "date", ret: "boolean", eval: always}, {in: "timestamp", ret: "boolean", eval: always}, {in: "interval", ret: "boolean", eval: always},
		{in: "double", ret: "boolean", eval: doubleBool(func(x float64) bool { return x-x == 0 })},
	}},
	{names: "signbit", help: "whether a double has a minus sign", sigs: []sig{{in: "double", ret: "boolean", eval: doubleBool(math.Signbit)}}},
	{names: "even", help: "rounded away from zero to an even number", sigs: []sig{{in: "double", ret: "double", eval: double1(func(x float64) float64 {
		return math.Copysign(2*math.Ceil(math.Abs(x)/2), x)
	})}}},
	{names: "nanvl", help: "the first argument, or the second where the first is NaN", sigs: []sig{{in: "double, double", ret: "double", eval: double2e(func(x, y float64) (float64, error) {
		if math.IsNaN(x) {
			return y, nil
		}
		return x, nil
	})}}},
	{names: "format_bytes pg_size_pretty", help: "a number of bytes with a unit of 1,024", sigs: []sig{{in: "bigint", ret: "text", eval: longText(formatBytes)}}},
}

func long1(f func(int64) int64) expr.EvalFunc {
	return func(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
		x := longs(args[0])
		for i := range n {
			out.Int64s[i] = f(x.at(i))
		}
		return nil
	}
}

func long2e(f func(a, b int64) (int64, error)) expr.EvalFunc {
	return func(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) (err error) {
		a, b := longs(args[0]), longs(args[1])
		for i := range n {
			if out.Int64s[i], err = f(a.at(i), b.at(i)); err != nil {
				return err
			}
		}
		return nil
	}
}

func doubleBool(f func(float64) bool) expr.EvalFunc {
	return func(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
		x := doubles(args[0])
		for i := range n {
			out.Bools[i] = f(x.at(i))
		}
		return nil
	}
}

func always(_ *expr.Env, _ []*vec.Vector, n int, out *vec.Vector) error {
	for i := range n {
		out.Bools[i] = true
	}
	return nil
}

func magnitude(x int64) uint64 {
	if x < 0 {
		return -uint64(x)
	}
	return uint64(x)
}

func gcd(a, b int64) (int64, error) {
	x, y := magnitude(a), magnitude(b)
	for y != 0 {
		x, y = y, x%y
	}
	if x > math.MaxInt64 {
		return 0, fail.New(fail.OutOfRange, "gcd(%d, %d) is out of range for BIGINT", a, b)
	}
	return int64(x), nil
}

func lcm(a, b int64) (int64, error) {
	g, err := gcd(a, b)
	if err != nil || g == 0 {
		return 0, err
	}
	hi, lo := mathbits.Mul64(magnitude(a)/uint64(g), magnitude(b))
	if hi != 0 || lo > math.MaxInt64 {
		return 0, fail.New(fail.OutOfRange, "lcm(%d, %d) is out of range for BIGINT", a, b)
	}
	return int64(lo), nil
}

// toHuge binds one whole number to a result of 38 digits.
func toHuge(args []types.Type) ([]types.Type, types.Type, error) {
	if len(args) != 1 || types.Cast(args[0], types.Of(types.Int64)) != types.ImplicitCast {
		return nil, types.Type{}, nil
	}
	return []types.Type{types.Of(types.Int64)}, types.DecimalOf(types.MaxPrecision, 0), nil
}

// maxFactorial is the greatest number whose factorial has at most 38 digits.
const maxFactorial = 33

func evalFactorial(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
	x := longs(args[0])
	for i := range n {
		k := x.at(i)
		if k < 0 || k > maxFactorial {
			return fail.New(fail.OutOfRange, "factorial(%d): the argument is from 0 to %d", k, maxFactorial)
		}
		out.Decimals[i] = decimal128.FromBigInt(new(big.Int).MulRange(1, k))
	}
	return nil
}

func evalWidthBucket(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
	x, lo, hi, count := doubles(args[0]), doubles(args[1]), doubles(args[2]), longs(args[3])
	for i := range n {
		v, a, b, k := x.at(i), lo.at(i), hi.at(i), count.at(i)
		if k < 1 || !(a != b) || math.IsNaN(v) || a-a != 0 || b-b != 0 {
			return fail.New(fail.InvalidParameter, "width_bucket(%s, %s, %s, %d): the bounds are finite and differ, there is at least one bucket",
				vec.FormatDouble(v), vec.FormatDouble(a), vec.FormatDouble(b), k)
		}
		if a > b {
			v, a, b = -v, -a, -b
		}
		switch {
		case v < a:
			out.Int64s[i] = 0
		case v >= b:
			out.Int64s[i] = k + 1
		default:
			out.Int64s[i] = min(k, int64((v-a)/(b-a)*float64(k))+1)
		}
		if out.Int64s[i] < 0 {
			return kernel.OutOfRange("the bucket", out.Type)
		}
	}
	return nil
}

func formatBytes(n int64) string {
	units := []string{"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"}
	size, unit := float64(n), 0
	for math.Abs(size) >= 1024 && unit < len(units)-1 {
		size, unit = size/1024, unit+1
	}
	if unit == 0 {
		return vec.Int64(n).String() + " bytes"
	}
	return vec.FormatDouble(math.Round(size*10)/10) + " " + units[unit]
}
