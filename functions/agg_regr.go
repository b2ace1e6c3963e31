package functions

import (
	"math"

	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// regrTable holds the aggregates of pairs (y, x); a pair with a NULL does not count.
var regrTable = []def{
	{names: "corr", help: "correlation of the pairs, from -1 to 1", sigs: regrSigs(func(p *pairMoments) float64 { return p.sxy / math.Sqrt(p.sxx*p.syy) }, 1, sloped)},
	{names: "covar_samp covar", help: "sample covariance", sigs: regrSigs(func(p *pairMoments) float64 { return p.sxy / (p.n - 1) }, 2, anyPairs)},
	{names: "covar_pop", help: "population covariance", sigs: regrSigs(func(p *pairMoments) float64 { return p.sxy / p.n }, 1, anyPairs)},
	{names: "regr_count", zero: true, help: "number of pairs", sigs: []sig{{in: "double, double", ret: "bigint", agg: newPairs(func(p *pairMoments) float64 { return p.n }, 0, anyPairs)}}},
	{names: "regr_avgx", help: "mean of the second argument", sigs: regrSigs(func(p *pairMoments) float64 { return p.mx }, 1, anyPairs)},
	{names: "regr_avgy", help: "mean of the first argument", sigs: regrSigs(func(p *pairMoments) float64 { return p.my }, 1, anyPairs)},
	{names: "regr_sxx", help: "sum of the squared deviations of the second argument", sigs: regrSigs(func(p *pairMoments) float64 { return p.sxx }, 1, anyPairs)},
	{names: "regr_syy", help: "sum of the squared deviations of the first argument", sigs: regrSigs(func(p *pairMoments) float64 { return p.syy }, 1, anyPairs)},
	{names: "regr_sxy", help: "sum of the products of both deviations", sigs: regrSigs(func(p *pairMoments) float64 { return p.sxy }, 1, anyPairs)},
	{names: "regr_slope", help: "slope of the line that fits the pairs best", sigs: regrSigs(func(p *pairMoments) float64 { return p.sxy / p.sxx }, 1, sloping)},
	{names: "regr_intercept", help: "where the line that fits the pairs best meets x = 0", sigs: regrSigs(func(p *pairMoments) float64 { return p.my - p.mx*p.sxy/p.sxx }, 1, sloping)},
	{names: "regr_r2", help: "part of the variation of the first argument that the line explains", sigs: regrSigs(rSquared, 1, sloping)},
}

func anyPairs(*pairMoments) bool { return true }

// sloping pairs have a line: their x differ. sloped pairs have a y that differs too.
func sloping(p *pairMoments) bool { return p.sxx != 0 }
func sloped(p *pairMoments) bool  { return p.sxx != 0 && p.syy != 0 }

func rSquared(p *pairMoments) float64 {
	if p.syy == 0 {
		return 1
	}
	return p.sxy * p.sxy / (p.sxx * p.syy)
}

// pairMoments are the count, the means and the sums of products of deviations of
// pairs (Welford; merged as Chan, Golub and LeVeque do).
type pairMoments struct{ n, mx, my, sxx, syy, sxy float64 }

func (p *pairMoments) add(y, x float64) {
	p.n++
	dx, dy := x-p.mx, y-p.my
	p.mx += dx / p.n
	p.my += dy / p.n
	p.sxx += dx * (x - p.mx)
	p.syy += dy * (y - p.my)
	p.sxy += dx * (y - p.my)
}

func (p *pairMoments) merge(o pairMoments) {
	if o.n == 0 {
		return
	}
	n := p.n + o.n
	dx, dy, w := o.mx-p.mx, o.my-p.my, p.n*o.n/n
	p.sxx += o.sxx + dx*dx*w
	p.syy += o.syy + dy*dy*w
	p.sxy += o.sxy + dx*dy*w
	p.mx += dx * o.n / n
	p.my += dy * o.n / n
	p.n = n
}

// pairAgg answers from the moments of at least least pairs that pass defined.
type pairAgg struct {
	groups  []pairMoments
	value   func(*pairMoments) float64
	least   float64
	defined func(*pairMoments) bool
}

func newPairs(value func(*pairMoments) float64, least float64, defined func(*pairMoments) bool) newAgg {
	return func([]types.Type, types.Type) expr.Accumulator {
		return &pairAgg{value: value, least: least, defined: defined}
	}
}

func regrSigs(value func(*pairMoments) float64, least float64, defined func(*pairMoments) bool) []sig {
	return []sig{{in: "double, double", ret: "double", agg: newPairs(value, least, defined)}}
}

func (a *pairAgg) Grow(n int) { a.groups = grow(a.groups, n) }

func (a *pairAgg) Update(groups []uint32, args []*vec.Vector, rows []int32) error {
	y, x := dense(args[0], rows, len(groups)), dense(args[1], rows, len(groups))
	for i, g := range groups {
		if y.Valid.Get(i) && x.Valid.Get(i) {
			a.groups[g].add(y.Float64s[i], x.Float64s[i])
		}
	}
	return nil
}

func (a *pairAgg) Merge(other expr.Accumulator, groups, into []uint32) error {
	o, ok := other.(*pairAgg)
	if !ok {
		return mismatch(a, other)
	}
	for g, to := range pairs(groups, into) {
		a.groups[to].merge(o.groups[g])
	}
	return nil
}

func (a *pairAgg) Finish(out *vec.Vector, from, n int) error {
	for g := from; g < from+n; g++ {
		a.appendResult(out, &a.groups[g])
	}
	return nil
}

func (a *pairAgg) appendResult(out *vec.Vector, p *pairMoments) {
	if p.n < a.least || !a.defined(p) {
		out.AppendNull()
		return
	}
	x := a.value(p)
	out.Append(vec.Value{Type: out.Type, Float: x, Int: int64(x)})
}
