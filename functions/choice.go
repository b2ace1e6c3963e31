package functions

import (
	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/vec"
)

// choiceTable holds the functions about NULL and choice beside nullTable's.
var choiceTable = []def{
	{names: "if iff iif", help: "the second argument where the first is true, else the third", form: "BOOLEAN, ANY, ANY"},
	{names: "nvl2", help: "the second argument where the first is not NULL, else the third", form: "ANY, ANY, ANY"},
	{names: "arrow_cast", help: "cast to the type that an Arrow type's name denotes", form: "ANY, TEXT"},
	{names: "nullifzero", help: "NULL for zero, else the number", sigs: []sig{
		{in: "bigint", ret: "bigint", eval: zeroNull(func(v *vec.Vector, i int) bool { return longs(v).at(i) == 0 })},
		{in: "decimal", ret: "same", eval: zeroNull(func(v *vec.Vector, i int) bool { return decimals(v).at(i).Sign() == 0 })},
		{in: "double", ret: "double", eval: zeroNull(func(v *vec.Vector, i int) bool { return doubles(v).at(i) == 0 })},
	}},
	{names: "zeroifnull", help: "zero for NULL, else the number", nulls: true, sigs: []sig{
		{in: "int", ret: "int", eval: nullZero}, {in: "bigint", ret: "bigint", eval: nullZero}, {in: "decimal", ret: "same", eval: nullZero}, {in: "double", ret: "double", eval: nullZero},
	}},
	{names: "num_nulls", apart: true, help: "how many arguments are NULL", nulls: true, sigs: []sig{{in: "any, any...", ret: "bigint", eval: countNulls(true)}}},
	{names: "num_nonnulls", apart: true, help: "how many arguments are not NULL", nulls: true, sigs: []sig{{in: "any, any...", ret: "bigint", eval: countNulls(false)}}},
}

func zeroNull(isZero func(v *vec.Vector, i int) bool) expr.EvalFunc {
	return func(env *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
		choose(args, n, out, func(i int) int {
			if isZero(args[0], i) {
				return -1
			}
			return 0
		})
		return nil
	}
}

func nullZero(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
	zero := vec.Const(args[0].Type, vec.Value{Type: args[0].Type}, n)
	choose([]*vec.Vector{args[0], zero}, n, out, func(i int) int {
		if args[0].IsNull(i) {
			return 1
		}
		return 0
	})
	return nil
}

func countNulls(null bool) expr.EvalFunc {
	return func(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
		for i := range n {
			for _, a := range args {
				if a.IsNull(i) == null {
					out.Int64s[i]++
				}
			}
		}
		return nil
	}
}
