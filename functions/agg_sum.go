package functions

import (
	"math"
	"math/big"
	mbits "math/bits"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/kernel"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// wide is a signed 192-bit sum: no number of decimals of 38 digits overflows it.
type wide struct {
	lo, mid uint64
	hi      int64
}

func (w *wide) add(d decimal128.Num) {
	var c uint64
	w.lo, c = mbits.Add64(w.lo, d.LowBits(), 0)
	w.mid, c = mbits.Add64(w.mid, uint64(d.HighBits()), c)
	w.hi += d.HighBits()>>63 + int64(c)
}

func (w *wide) addInt(x int64) {
	var c uint64
	w.lo, c = mbits.Add64(w.lo, uint64(x), 0)
	w.mid, c = mbits.Add64(w.mid, uint64(x>>63), c)
	w.hi += x>>63 + int64(c)
}

func (w *wide) merge(o wide) {
	var c uint64
	w.lo, c = mbits.Add64(w.lo, o.lo, 0)
	w.mid, c = mbits.Add64(w.mid, o.mid, c)
	w.hi += o.hi + int64(c)
}

func (w wide) big() *big.Int {
	x := big.NewInt(w.hi)
	x.Lsh(x, 64).Add(x, new(big.Int).SetUint64(w.mid))
	return x.Lsh(x, 64).Add(x, new(big.Int).SetUint64(w.lo))
}

// exact sums integers and decimals without loss, with the number of values.
type exact struct {
	sum    []wide
	n      []int64
	arg    types.Type
	mean   bool
	finish func(w wide, n int64, arg, ret types.Type) (vec.Value, error)
}

func newSumInt(args []types.Type, _ types.Type) expr.Accumulator {
	return &exact{arg: args[0], finish: finishSum}
}

func newSumDecimal(args []types.Type, _ types.Type) expr.Accumulator {
	return &exact{arg: args[0], finish: finishSum}
}

func newAvgInt(args []types.Type, _ types.Type) expr.Accumulator {
	return &exact{arg: args[0], mean: true, finish: finishAvgInt}
}

func newAvgDecimal(args []types.Type, _ types.Type) expr.Accumulator {
	return &exact{arg: args[0], mean: true, finish: finishAvgDecimal}
}

func (a *exact) Grow(n int) { a.sum, a.n = grow(a.sum, n), grow(a.n, n) }

func (a *exact) Update(groups []uint32, args []*vec.Vector, rows []int32) error {
	v := dense(args[0], rows, len(groups))
	switch v.Type.Kind {
	case types.Int32:
		a.ints32(groups, v)
	case types.Int64:
		a.ints64(groups, v)
	default:
		for i, g := range groups {
			if v.Valid.Get(i) {
				a.sum[g].add(v.Decimals[i])
				a.n[g]++
			}
		}
	}
	return nil
}

func (a *exact) ints32(groups []uint32, v *vec.Vector) {
	for i, g := range groups {
		if v.Valid.Get(i) {
			a.sum[g].addInt(int64(v.Int32s[i]))
			a.n[g]++
		}
	}
}

func (a *exact) ints64(groups []uint32, v *vec.Vector) {
	for i, g := range groups {
		if v.Valid.Get(i) {
			a.sum[g].addInt(v.Int64s[i])
			a.n[g]++
		}
	}
}

func (a *exact) Merge(other expr.Accumulator, groups, into []uint32) error {
	o, ok := other.(*exact)
	if !ok {
		return mismatch(a, other)
	}
	for g, to := range pairs(groups, into) {
		a.sum[to].merge(o.sum[g])
		a.n[to] += o.n[g]
	}
	return nil
}

func (a *exact) Finish(out *vec.Vector, from, n int) error {
	for g := from; g < from+n; g++ {
		if a.n[g] == 0 {
			out.AppendNull()
			continue
		}
		if err := a.appendResult(out, a.sum[g], a.n[g]); err != nil {
			return err
		}
	}
	return nil
}

func finishSum(w wide, _ int64, arg, ret types.Type) (vec.Value, error) {
	x := w.big()
	val := vec.Value{Type: ret}
	if ret.Kind == types.Int64 {
		if !x.IsInt64() {
			return val, kernel.OutOfRange("the sum "+x.String(), ret)
		}
		val.Int = x.Int64()
		return val, nil
	}
	if x.BitLen() > 127 {
		return val, kernel.OutOfRange("the sum of "+arg.String(), ret)
	}
	val.Dec = decimal128.FromBigInt(x)
	if !kernel.FitsPrecision(val.Dec, ret.Precision) {
		return val, kernel.OutOfRange("the sum of "+arg.String(), ret)
	}
	return val, nil
}

func finishAvgInt(w wide, n int64, _, _ types.Type) (vec.Value, error) {
	f, _ := new(big.Rat).SetFrac(w.big(), big.NewInt(n)).Float64()
	return vec.Double(f), nil
}

// finishAvgDecimal rounds the exact mean half away from zero.
func finishAvgDecimal(w wide, n int64, arg, ret types.Type) (vec.Value, error) {
	x := w.big()
	x.Mul(x, new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(ret.Scale-arg.Scale)), nil))
	q, r := x.QuoRem(x, big.NewInt(n), new(big.Int))
	sign := int64(r.Sign())
	if r.Abs(r).Lsh(r, 1).Cmp(big.NewInt(n)) >= 0 {
		q.Add(q, big.NewInt(sign))
	}
	val := vec.Value{Type: ret, Dec: decimal128.FromBigInt(q)}
	if !kernel.FitsPrecision(val.Dec, ret.Precision) {
		return val, kernel.OutOfRange("the mean of "+arg.String(), ret)
	}
	return val, nil
}

// floats sums doubles. scaled is the same sum by 2^-64, which answers for the
// mean where the plain sum overflows.
type floats struct {
	sum, scaled []float64
	n           []int64
	infinite    bool // an argument was infinite or NaN
	mean        bool
}

func newSumDouble([]types.Type, types.Type) expr.Accumulator { return &floats{} }

func newAvgDouble([]types.Type, types.Type) expr.Accumulator { return &floats{mean: true} }

func (a *floats) Grow(n int) {
	a.sum, a.n = grow(a.sum, n), grow(a.n, n)
	if a.mean {
		a.scaled = grow(a.scaled, n)
	}
}

func (a *floats) Update(groups []uint32, args []*vec.Vector, rows []int32) error {
	v := dense(args[0], rows, len(groups))
	for i, g := range groups {
		if !v.Valid.Get(i) {
			continue
		}
		x := v.Float64s[i]
		a.sum[g] += x
		a.n[g]++
		if x-x != 0 {
			a.infinite = true
		}
	}
	if a.mean {
		for i, g := range groups {
			if v.Valid.Get(i) {
				a.scaled[g] += v.Float64s[i] * 0x1p-64
			}
		}
	}
	return nil
}

func (a *floats) Merge(other expr.Accumulator, groups, into []uint32) error {
	o, ok := other.(*floats)
	if !ok {
		return mismatch(a, other)
	}
	a.infinite = a.infinite || o.infinite
	for g, to := range pairs(groups, into) {
		a.sum[to] += o.sum[g]
		a.n[to] += o.n[g]
		if a.mean {
			a.scaled[to] += o.scaled[g]
		}
	}
	return nil
}

func (a *floats) Finish(out *vec.Vector, from, n int) error {
	for g := from; g < from+n; g++ {
		if a.n[g] == 0 {
			out.AppendNull()
			continue
		}
		x := a.sum[g]
		over := (math.IsInf(x, 0) || math.IsNaN(x)) && !a.infinite
		switch {
		case a.mean && over:
			x = a.scaled[g] / float64(a.n[g]) * 0x1p64
		case a.mean:
			x /= float64(a.n[g])
		case over:
			return kernel.OutOfRange("the sum", out.Type)
		}
		out.Append(vec.Double(x))
	}
	return nil
}
