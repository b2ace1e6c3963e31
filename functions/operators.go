package functions

import (
	"math"

	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/kernel"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// operatorTable holds the operators. Arithmetic of INT and BIGINT gives the wider
// of the two, checked; integer division truncates; a DOUBLE operand makes it
// DOUBLE; decimals follow kernel.AddDecimalType and its siblings.
var operatorTable = []def{
	{names: "+", help: "sum; a date or timestamp moved by days or an interval", sigs: []sig{
		{in: "int, int", ret: "int", eval: op2(kernel.AddInt32)},
		{in: "bigint, bigint", ret: "bigint", eval: op2(kernel.AddInt64)},
		{in: "decimal, decimal", bind: decimalPair(kernel.AddDecimalType), eval: op2(kernel.AddDecimal)},
		{in: "double, double", ret: "double", eval: op2(kernel.AddDouble)},
		{in: "interval, interval", ret: "interval", eval: op2(kernel.AddSpans)},
		{in: "timestamp, interval", ret: "timestamp", eval: op2(kernel.AddTimeSpan)},
		{in: "interval, timestamp", ret: "timestamp", eval: op2(kernel.AddSpanTime)},
		{in: "date, interval", ret: "timestamp", eval: op2(kernel.AddTimeSpan)},
		{in: "time, interval", ret: "time", eval: op2(kernel.AddClockSpan)},
		{in: "interval, time", ret: "time", eval: op2(kernel.AddSpanClock)},
		{in: "date, time", ret: "timestamp", eval: op2(kernel.AddDateClock)},
		{in: "time, date", ret: "timestamp", eval: op2(kernel.AddClockDate)},
		{in: "interval, date", ret: "timestamp", eval: op2(kernel.AddSpanTime)},
		{in: "date, bigint", ret: "date", eval: op2(kernel.AddDateInt)},
		{in: "bigint, date", ret: "date", eval: op2(kernel.AddIntDate)},
		{in: "any", bind: signOnly, eval: identity},
	}},
	{names: "-", help: "difference; minus", sigs: []sig{
		{in: "int, int", ret: "int", eval: op2(kernel.SubInt32)},
		{in: "bigint, bigint", ret: "bigint", eval: op2(kernel.SubInt64)},
		{in: "decimal, decimal", bind: decimalPair(kernel.AddDecimalType), eval: op2(kernel.SubDecimal)},
		{in: "double, double", ret: "double", eval: op2(kernel.SubDouble)},
		{in: "interval, interval", ret: "interval", eval: op2(kernel.SubSpans)},
		{in: "date, date", ret: "int", eval: op2(kernel.SubDates)},
		{in: "timestamp, timestamp", ret: "interval", eval: op2(kernel.SubTimes)},
		{in: "timestamp, interval", ret: "timestamp", eval: op2(kernel.SubTimeSpan)},
		{in: "date, interval", ret: "timestamp", eval: op2(kernel.SubTimeSpan)},
		{in: "time, time", ret: "interval", eval: op2(kernel.SubClocks)},
		{in: "time, interval", ret: "time", eval: op2(kernel.SubClockSpan)},
		{in: "date, bigint", ret: "date", eval: op2(kernel.SubDateInt)},
		{in: "any", bind: signOnly, eval: negate},
	}},
	{names: "*", help: "product; an interval stretched by a number", sigs: []sig{
		{in: "int, int", ret: "int", eval: op2(kernel.MulInt32)},
		{in: "bigint, bigint", ret: "bigint", eval: op2(kernel.MulInt64)},
		{in: "decimal, decimal", bind: decimalPair(kernel.MulDecimalType), eval: op2(kernel.MulDecimal)},
		{in: "double, double", ret: "double", eval: op2(kernel.MulDouble)},
		{in: "interval, double", ret: "interval", eval: op2(kernel.MulSpan)},
		{in: "double, interval", ret: "interval", eval: op2(kernel.MulBySpan)},
	}},
	{names: "/", help: "quotient; integers truncate toward zero", sigs: []sig{
		{in: "int, int", ret: "int", eval: op2(kernel.DivInt32)},
		{in: "bigint, bigint", ret: "bigint", eval: op2(kernel.DivInt64)},
		{in: "decimal, decimal", bind: decimalPair(kernel.DivDecimalType), eval: op2(kernel.DivDecimal)},
		{in: "double, double", ret: "double", eval: op2(kernel.DivDouble)},
		{in: "interval, double", ret: "interval", eval: op2(kernel.DivSpan)},
	}},
	{names: "div //", help: "whole quotient, toward zero", sigs: []sig{
		{in: "int, int", ret: "int", eval: op2(kernel.DivInt32)},
		{in: "bigint, bigint", ret: "bigint", eval: op2(kernel.DivInt64)},
		{in: "double, double", ret: "double", eval: double2e(wholeQuotient)},
	}},
	{names: "% mod", help: "remainder, with the sign of the dividend", sigs: []sig{
		{in: "int, int", ret: "int", eval: op2(kernel.ModInt32)},
		{in: "bigint, bigint", ret: "bigint", eval: op2(kernel.ModInt64)},
		{in: "decimal, decimal", bind: decimalPair(kernel.ModDecimalType), eval: op2(kernel.ModDecimal)},
		{in: "double, double", ret: "double", eval: op2(kernel.ModDouble)},
	}},
	{names: "||", help: "concatenation of text, binary or lists", sigs: []sig{
		{in: "text, text", ret: "text", eval: text2(func(a, b string) string { return a + b })},
		{in: "binary, binary", ret: "binary", eval: text2(func(a, b string) string { return a + b })},
		{in: "list, list", bind: listConcat, eval: evalListConcat},
		{in: "list, any", bind: listAppend, eval: evalListAppend},
		{in: "any, list", bind: listPrepend, eval: evalListPrepend},
		{in: "text, astext", ret: "text", eval: text2(func(a, b string) string { return a + b })},
		{in: "astext, text", ret: "text", eval: text2(func(a, b string) string { return a + b })},
	}},
	{names: "&", help: "bitwise and", sigs: []sig{{in: "bigint, bigint", ret: "bigint", eval: bitwise('&')}}},
	{names: "|", help: "bitwise or", sigs: []sig{{in: "bigint, bigint", ret: "bigint", eval: bitwise('|')}}},
	{names: "# xor", help: "bitwise exclusive or", sigs: []sig{{in: "bigint, bigint", ret: "bigint", eval: bitwise('#')}}},
	{names: "<<", help: "bits moved left", sigs: []sig{{in: "bigint, bigint", ret: "bigint", eval: bitwise('<')}}},
	{names: ">>", help: "bits moved right, the sign kept", sigs: []sig{{in: "bigint, bigint", ret: "bigint", eval: bitwise('>')}}},
	{names: "bit_not", help: "bitwise complement", sigs: []sig{{in: "bigint", ret: "bigint", eval: bitNot}}},
	{names: "^", help: "power", sigs: []sig{
		{in: "double, double", ret: "double", eval: double2e(power)},
	}},
}

// decimalPair binds two numbers of which at least one is a decimal and none a
// double; each keeps its own precision and scale.
func decimalPair(result func(a, b types.Type) types.Type) func([]types.Type) ([]types.Type, types.Type, error) {
	return func(args []types.Type) ([]types.Type, types.Type, error) {
		if len(args) != 2 || args[0].Kind != types.Decimal && args[1].Kind != types.Decimal {
			return nil, types.Type{}, nil
		}
		params := make([]types.Type, 2)
		for i, a := range args {
			switch {
			case a.Kind == types.Unknown:
				params[i] = types.DecimalOf(types.MaxPrecision, args[1-i].Scale)
			case a.Kind == types.Decimal || a.Integer():
				params[i] = a.AsDecimal()
			default:
				return nil, types.Type{}, nil
			}
		}
		return params, result(params[0], params[1]), nil
	}
}

// signOnly binds unary plus and minus.
func signOnly(args []types.Type) ([]types.Type, types.Type, error) {
	if len(args) != 1 {
		return nil, types.Type{}, nil
	}
	t := args[0]
	if t.Kind == types.Unknown {
		t = types.Of(types.Double)
	}
	if !t.Numeric() && t.Kind != types.Interval {
		return nil, types.Type{}, nil
	}
	return []types.Type{t}, t, nil
}

func identity(_ *expr.Env, args []*vec.Vector, _ int, out *vec.Vector) error {
	t := out.Type
	*out = *args[0].Flatten()
	out.Type = t
	return nil
}

func negate(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
	return kernel.Negate(args[0], n, out)
}

func bitwise(op byte) expr.EvalFunc {
	return func(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
		a, b := longs(args[0]), longs(args[1])
		for i := range n {
			x, y := a.at(i), b.at(i)
			switch op {
			case '&':
				x &= y
			case '|':
				x |= y
			case '#':
				x ^= y
			default:
				if y < 0 || y > 63 {
					return fail.New(fail.OutOfRange, "a shift by %s; BIGINT has 64", fail.Count(y, "bit"))
				}
				if op == '<' {
					x <<= y
				} else {
					x >>= y
				}
			}
			out.Int64s[i] = x
		}
		return nil
	}
}

func bitNot(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
	x := longs(args[0])
	for i := range n {
		out.Int64s[i] = ^x.at(i)
	}
	return nil
}

func wholeQuotient(x, y float64) (float64, error) {
	if y == 0 {
		return 0, fail.New(fail.DivisionByZero, "division by zero")
	}
	return math.Trunc(x / y), nil
}

// nullTable holds the functions about NULL and choice.
var nullTable = []def{
	{names: "coalesce ifnull nvl", help: "the first argument that is not NULL", nulls: true, sigs: []sig{
		{in: "any, any...", bind: common(1), eval: evalCoalesce},
	}},
	{names: "nullif", help: "NULL when both are equal, else the first", nulls: true, sigs: []sig{
		{in: "any, any", bind: exactly(2, common(2)), eval: evalNullif},
	}},
	{names: "greatest", help: "the greatest argument, NULLs left out", nulls: true, sigs: []sig{
		{in: "any, any...", bind: ordered(common(1)), eval: extreme(1)},
	}},
	{names: "least", help: "the least argument, NULLs left out", nulls: true, sigs: []sig{
		{in: "any, any...", bind: ordered(common(1)), eval: extreme(-1)},
	}},
}

type bindFunc = func([]types.Type) ([]types.Type, types.Type, error)

func exactly(n int, b bindFunc) bindFunc {
	return func(args []types.Type) ([]types.Type, types.Type, error) {
		if len(args) != n {
			return nil, types.Type{}, nil
		}
		return b(args)
	}
}

// ordered refuses types that have no order.
func ordered(b bindFunc) bindFunc {
	return func(args []types.Type) ([]types.Type, types.Type, error) {
		params, ret, err := b(args)
		if err == nil && params != nil && !ret.Orderable() {
			return nil, ret, fail.New(fail.UndefinedFunction, "values of type %s have no order", ret)
		}
		return params, ret, err
	}
}

func evalCoalesce(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
	choose(args, n, out, func(i int) int {
		for a, v := range args {
			if !v.IsNull(i) {
				return a
			}
		}
		return -1
	})
	return nil
}

func evalNullif(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
	choose(args[:1], n, out, func(i int) int {
		if args[0].IsNull(i) || kernel.EqualRows(args[0], i, args[1], i) {
			return -1
		}
		return 0
	})
	return nil
}

func extreme(sign int) expr.EvalFunc {
	return func(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
		choose(args, n, out, func(i int) int {
			best := -1
			for a, v := range args {
				if !v.IsNull(i) && (best < 0 || sign*kernel.CompareRows(v, i, args[best], i) > 0) {
					best = a
				}
			}
			return best
		})
		return nil
	}
}
