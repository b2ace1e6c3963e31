package functions

import (
	"context"
	"iter"

	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/kernel"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// newAgg makes an accumulator for arguments and result of these types.
type newAgg = func(args []types.Type, ret types.Type) expr.Accumulator

// aggregateTable holds the aggregates. All but count, first_value, last_value and
// array_agg leave NULLs out; over no rows they are NULL, counts 0.
//
// Result types: sum of INT is BIGINT (an overflow is an error), of BIGINT
// DECIMAL(38,0), of DECIMAL(p,s) DECIMAL(38,s) (checked, its intermediate exact);
// avg of numbers is DOUBLE, of DECIMAL(p,s) DECIMAL(p+4,s+4) within 38 digits.
var aggregateTable = []def{
	{names: "count", zero: true, help: "number of rows, or of values that are not NULL", sigs: []sig{
		{ret: "bigint", agg: newCount}, {in: "any", ret: "bigint", agg: newCount},
	}},
	{names: "sum", help: "sum", sigs: []sig{
		{in: "int", ret: "bigint", agg: newSumInt},
		{in: "bigint", bind: sumWide, agg: newSumInt},
		{in: "decimal", bind: sumWide, agg: newSumDecimal},
		{in: "double", ret: "double", agg: newSumDouble},
	}},
	{names: "avg mean", help: "arithmetic mean", sigs: []sig{
		{in: "int", ret: "double", agg: newAvgInt}, {in: "bigint", ret: "double", agg: newAvgInt},
		{in: "decimal", bind: avgDecimal, agg: newAvgDecimal},
		{in: "double", ret: "double", agg: newAvgDouble},
	}},
	{names: "min", help: "least value", sigs: []sig{{in: "any", bind: orderedAny, agg: newExtreme(-1)}}},
	{names: "max", help: "greatest value", sigs: []sig{{in: "any", bind: orderedAny, agg: newExtreme(1)}}},
	{names: "stddev stddev_samp", help: "sample standard deviation", sigs: momentSigs(true, true)},
	{names: "stddev_pop", help: "population standard deviation", sigs: momentSigs(false, true)},
	{names: "variance var_samp var", help: "sample variance", sigs: momentSigs(true, false)},
	{names: "var_pop", help: "population variance", sigs: momentSigs(false, false)},
	{names: "median approx_median", grows: true, help: "middle value, the mean of two in the middle", sigs: []sig{{in: "double", ret: "double", agg: newMedian}}},
	{names: "bool_and every", help: "whether all are true", sigs: []sig{{in: "boolean", ret: "boolean", agg: newBool(true)}}},
	{names: "bool_or any_true", help: "whether any is true", sigs: []sig{{in: "boolean", ret: "boolean", agg: newBool(false)}}},
	{names: "bit_and", help: "bitwise and", sigs: []sig{{in: "bigint", ret: "bigint", agg: newBits('&')}}},
	{names: "bit_or", help: "bitwise or", sigs: []sig{{in: "bigint", ret: "bigint", agg: newBits('|')}}},
	{names: "bit_xor", help: "bitwise exclusive or", sigs: []sig{{in: "bigint", ret: "bigint", agg: newBits('^')}}},
	{names: "count_if countif", zero: true, help: "number of rows for which the condition is true", sigs: []sig{{in: "boolean", ret: "bigint", agg: newCountIf}}},
	{names: "array_agg list", inOrder: true, grows: true, help: "all values as a list, NULLs too", sigs: []sig{{in: "any", bind: listOfAny, agg: newArrayAgg}}},
	{names: "string_agg listagg", inOrder: true, grows: true, help: "all texts, separated by the second argument", sigs: []sig{{in: "astext, text", ret: "text", agg: newStringAgg}}},
	{names: "approx_distinct approx_count_distinct", zero: true, help: "number of different values, exact to 1,024, then within about 1 %", sigs: []sig{{in: "any", ret: "bigint", agg: newApproxDistinct}}},
	{names: "first_value first", inOrder: true, help: "value of the first row", sigs: []sig{{in: "any", ret: "same", agg: newPick(pickFirst)}}},
	{names: "last_value last", inOrder: true, help: "value of the last row", sigs: []sig{{in: "any", ret: "same", agg: newPick(pickLast)}}},
	{names: "any_value arbitrary", help: "some value that is not NULL", sigs: []sig{{in: "any", ret: "same", agg: newPick(pickAny)}}},
}

func orderedAny(args []types.Type) ([]types.Type, types.Type, error) {
	return ordered(exactly(1, common(1)))(args)
}

func listOfAny(args []types.Type) ([]types.Type, types.Type, error) {
	params, t, err := exactly(1, common(1))(args)
	return params, types.ListOf(t), err
}

// sumWide is the sum of BIGINT and DECIMAL.
func sumWide(args []types.Type) ([]types.Type, types.Type, error) {
	if len(args) != 1 || args[0].Kind != types.Int64 && args[0].Kind != types.Decimal {
		return nil, types.Type{}, nil
	}
	return args, types.DecimalOf(types.MaxPrecision, args[0].Scale), nil
}

func avgDecimal(args []types.Type) ([]types.Type, types.Type, error) {
	if len(args) != 1 || args[0].Kind != types.Decimal {
		return nil, types.Type{}, nil
	}
	whole := args[0].Precision - args[0].Scale
	scale := min(args[0].Scale+4, types.MaxPrecision-whole)
	return args, types.DecimalOf(whole+scale, scale), nil
}

// dense gives an argument as a flat vector with one row per group entry.
func dense(v *vec.Vector, rows []int32, n int) *vec.Vector {
	switch {
	case v.Encoding == vec.Constant:
		k := *v
		k.N = n
		return k.Flatten()
	case rows == nil:
		return v.Flatten()
	}
	return kernel.Gather(v, rows).Flatten()
}

// grow lengthens a slice to n zero values.
func grow[T any](s []T, n int) []T {
	if n <= len(s) {
		return s
	}
	return append(s, make([]T, n-len(s))...)
}

// pairs are the groups to merge and where they go: groups[i], or i, and into[i].
func pairs(groups, into []uint32) iter.Seq2[uint32, uint32] {
	return func(yield func(uint32, uint32) bool) {
		for i, to := range into {
			g := uint32(i)
			if groups != nil {
				g = groups[i]
			}
			if !yield(g, to) {
				return
			}
		}
	}
}

func mismatch(a, b expr.Accumulator) error { return fail.Bug("merging %T with %T", a, b) }

// count counts rows, or the values that are not NULL.
type count struct{ n []int64 }

func newCount([]types.Type, types.Type) expr.Accumulator { return &count{} }

func (a *count) Grow(n int) { a.n = grow(a.n, n) }

func (a *count) Update(groups []uint32, args []*vec.Vector, rows []int32) error {
	if len(args) == 0 || !args[0].HasNulls() {
		for _, g := range groups {
			a.n[g]++
		}
		return nil
	}
	for i, g := range groups {
		r := i
		if rows != nil {
			r = int(rows[i])
		}
		if !args[0].IsNull(r) {
			a.n[g]++
		}
	}
	return nil
}

func (a *count) Merge(other expr.Accumulator, groups, into []uint32) error {
	o, ok := other.(*count)
	if !ok {
		return mismatch(a, other)
	}
	for g, to := range pairs(groups, into) {
		a.n[to] += o.n[g]
	}
	return nil
}

func (a *count) Finish(out *vec.Vector, from, n int) error {
	for _, x := range a.n[from : from+n] {
		out.Append(vec.Int64(x))
	}
	return nil
}

// flags folds booleans by AND or OR.
type flags struct {
	and  bool
	val  []bool
	seen []bool
}

func newBool(and bool) newAgg {
	return func([]types.Type, types.Type) expr.Accumulator { return &flags{and: and} }
}

func (a *flags) Grow(n int) { a.val, a.seen = grow(a.val, n), grow(a.seen, n) }

func (a *flags) fold(g uint32, b bool) {
	if !a.seen[g] {
		a.val[g], a.seen[g] = b, true
	} else if b != a.and {
		a.val[g] = b
	}
}

func (a *flags) Update(groups []uint32, args []*vec.Vector, rows []int32) error {
	v := dense(args[0], rows, len(groups))
	for i, g := range groups {
		if v.Valid.Get(i) {
			a.fold(g, v.Bools[i])
		}
	}
	return nil
}

func (a *flags) Merge(other expr.Accumulator, groups, into []uint32) error {
	o, ok := other.(*flags)
	if !ok {
		return mismatch(a, other)
	}
	for g, to := range pairs(groups, into) {
		if o.seen[g] {
			a.fold(to, o.val[g])
		}
	}
	return nil
}

func (a *flags) Finish(out *vec.Vector, from, n int) error {
	for g := from; g < from+n; g++ {
		out.Append(vec.Value{Type: out.Type, Null: !a.seen[g], Bool: a.val[g]})
	}
	return nil
}

// countIf counts the rows whose argument is true.
type countIf struct{ count }

func newCountIf([]types.Type, types.Type) expr.Accumulator { return &countIf{} }

func (a *countIf) Update(groups []uint32, args []*vec.Vector, rows []int32) error {
	v := dense(args[0], rows, len(groups))
	for i, g := range groups {
		if v.Valid.Get(i) && v.Bools[i] {
			a.n[g]++
		}
	}
	return nil
}

func (a *countIf) Merge(other expr.Accumulator, groups, into []uint32) error {
	o, ok := other.(*countIf)
	if !ok {
		return mismatch(a, other)
	}
	return a.count.Merge(&o.count, groups, into)
}

// Slide implements expr.Slider.
func (a *countIf) Slide(ctx context.Context, args []*vec.Vector, lo, hi []int32, out *vec.Vector) error {
	v := *args[0]
	v.Valid = kernel.Validity(&v).Clone()
	if v.Valid == nil {
		v.Valid = vec.NewBitmap(v.N, true)
	}
	for i, b := range v.Bools {
		if !b {
			v.Valid.Clear(i)
		}
	}
	return a.count.Slide(ctx, []*vec.Vector{&v}, lo, hi, out)
}

// bits folds integers by bitwise AND, OR or exclusive OR.
type bits struct {
	op   byte
	val  []int64
	seen []bool
}

func newBits(op byte) newAgg {
	return func([]types.Type, types.Type) expr.Accumulator { return &bits{op: op} }
}

func (a *bits) Grow(n int) { a.val, a.seen = grow(a.val, n), grow(a.seen, n) }

func (a *bits) fold(g uint32, x int64) {
	switch {
	case !a.seen[g]:
		a.val[g], a.seen[g] = x, true
	case a.op == '&':
		a.val[g] &= x
	case a.op == '^':
		a.val[g] ^= x
	default:
		a.val[g] |= x
	}
}

func (a *bits) Update(groups []uint32, args []*vec.Vector, rows []int32) error {
	v := dense(args[0], rows, len(groups))
	for i, g := range groups {
		if v.Valid.Get(i) {
			a.fold(g, v.Int64s[i])
		}
	}
	return nil
}

func (a *bits) Merge(other expr.Accumulator, groups, into []uint32) error {
	o, ok := other.(*bits)
	if !ok {
		return mismatch(a, other)
	}
	for g, to := range pairs(groups, into) {
		if o.seen[g] {
			a.fold(to, o.val[g])
		}
	}
	return nil
}

func (a *bits) Finish(out *vec.Vector, from, n int) error {
	for g := from; g < from+n; g++ {
		out.Append(vec.Value{Type: out.Type, Null: !a.seen[g], Int: a.val[g]})
	}
	return nil
}
