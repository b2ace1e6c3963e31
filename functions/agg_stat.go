package functions

import (
	"math"
	mbits "math/bits"
	"slices"

	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/kernel"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// moments keeps count, mean and sum of squared deviations (Welford; merged as
// Chan, Golub and LeVeque do).
type moments struct {
	n            []float64
	mean, m2     []float64
	sample, root bool
}

func momentSigs(sample, root bool) []sig {
	return []sig{{in: "double", ret: "double", agg: func([]types.Type, types.Type) expr.Accumulator {
		return &moments{sample: sample, root: root}
	}}}
}

func (a *moments) Grow(n int) { a.n, a.mean, a.m2 = grow(a.n, n), grow(a.mean, n), grow(a.m2, n) }

func (a *moments) Update(groups []uint32, args []*vec.Vector, rows []int32) error {
	v := dense(args[0], rows, len(groups))
	for i, g := range groups {
		if !v.Valid.Get(i) {
			continue
		}
		x := v.Float64s[i]
		a.n[g]++
		d := x - a.mean[g]
		a.mean[g] += d / a.n[g]
		a.m2[g] += d * (x - a.mean[g])
	}
	return nil
}

// moment is the state of one group.
type moment struct{ n, mean, m2 float64 }

func (m *moment) merge(o moment) {
	if o.n == 0 {
		return
	}
	n := m.n + o.n
	d := o.mean - m.mean
	m.m2 += o.m2 + d*d*m.n*o.n/n
	m.mean += d * o.n / n
	m.n = n
}

func (a *moments) Merge(other expr.Accumulator, groups, into []uint32) error {
	o, ok := other.(*moments)
	if !ok {
		return mismatch(a, other)
	}
	for g, to := range pairs(groups, into) {
		m := moment{a.n[to], a.mean[to], a.m2[to]}
		m.merge(moment{o.n[g], o.mean[g], o.m2[g]})
		a.n[to], a.mean[to], a.m2[to] = m.n, m.mean, m.m2
	}
	return nil
}

func (a *moments) Finish(out *vec.Vector, from, n int) error {
	for g := from; g < from+n; g++ {
		a.appendResult(out, moment{a.n[g], a.mean[g], a.m2[g]})
	}
	return nil
}

func (a *moments) appendResult(out *vec.Vector, m moment) {
	div := m.n
	if a.sample {
		div--
	}
	if div <= 0 {
		out.AppendNull()
		return
	}
	x := m.m2 / div
	if a.root {
		x = math.Sqrt(x)
	}
	appendFixed(out, &out.Float64s, x)
}

// median keeps all values.
type median struct{ vals [][]float64 }

func newMedian([]types.Type, types.Type) expr.Accumulator { return &median{} }

func (a *median) Grow(n int) { a.vals = grow(a.vals, n) }

func (a *median) Update(groups []uint32, args []*vec.Vector, rows []int32) error {
	v := dense(args[0], rows, len(groups))
	for i, g := range groups {
		if v.Valid.Get(i) {
			a.vals[g] = append(a.vals[g], v.Float64s[i])
		}
	}
	return nil
}

func (a *median) Merge(other expr.Accumulator, groups, into []uint32) error {
	o, ok := other.(*median)
	if !ok {
		return mismatch(a, other)
	}
	for g, to := range pairs(groups, into) {
		a.vals[to] = append(a.vals[to], o.vals[g]...)
	}
	return nil
}

func (a *median) Finish(out *vec.Vector, from, n int) error {
	for g := from; g < from+n; g++ {
		s := a.vals[g]
		if len(s) == 0 {
			out.AppendNull()
			continue
		}
		slices.SortFunc(s, kernel.CompareDoubles)
		x := s[len(s)/2]
		if len(s)%2 == 0 {
			x = s[len(s)/2-1]/2 + x/2
		}
		out.Append(vec.Double(x))
	}
	return nil
}

// approxDistinct keeps the hashes of up to exactHashes values of a group, then a
// HyperLogLog of 2^14 registers.
type approxDistinct struct{ groups []sketch }

const (
	exactHashes = 1024
	hllBits     = 14
)

type sketch struct {
	hashes    map[uint64]struct{}
	registers []uint8
}

func newApproxDistinct([]types.Type, types.Type) expr.Accumulator { return &approxDistinct{} }

func (a *approxDistinct) Grow(n int) { a.groups = grow(a.groups, n) }

func (a *approxDistinct) Update(groups []uint32, args []*vec.Vector, rows []int32) error {
	v := args[0]
	hashes := make([]uint64, len(groups))
	kernel.Hash(v, rows, len(groups), hashes)
	for i, g := range groups {
		r := i
		if rows != nil {
			r = int(rows[i])
		}
		if !v.IsNull(r) {
			a.groups[g].add(hashes[i])
		}
	}
	return nil
}

func (s *sketch) add(h uint64) {
	if s.registers != nil {
		s.register(h)
		return
	}
	if s.hashes == nil {
		s.hashes = map[uint64]struct{}{}
	}
	s.hashes[h] = struct{}{}
	if len(s.hashes) > exactHashes {
		s.spread()
	}
}

func (s *sketch) spread() {
	s.registers = make([]uint8, 1<<hllBits)
	for h := range s.hashes {
		s.register(h)
	}
	s.hashes = nil
}

func (s *sketch) register(h uint64) {
	rank := uint8(mbits.LeadingZeros64(h<<hllBits|1<<(hllBits-1))) + 1
	if r := &s.registers[h>>(64-hllBits)]; rank > *r {
		*r = rank
	}
}

func (s *sketch) merge(o *sketch) {
	if o.registers == nil {
		for h := range o.hashes {
			s.add(h)
		}
		return
	}
	if s.registers == nil {
		s.spread()
	}
	for i, r := range o.registers {
		s.registers[i] = max(s.registers[i], r)
	}
}

// estimate is Flajolet's harmonic mean, with linear counting while registers are empty.
func (s *sketch) estimate() int64 {
	if s.registers == nil {
		return int64(len(s.hashes))
	}
	const m = 1 << hllBits
	sum, zeros := 0.0, 0
	for _, r := range s.registers {
		sum += math.Ldexp(1, -int(r))
		if r == 0 {
			zeros++
		}
	}
	e := 0.7213 / (1 + 1.079/m) * m * m / sum
	if e <= 2.5*m && zeros > 0 {
		e = m * math.Log(m/float64(zeros))
	}
	return int64(math.Round(e))
}

func (a *approxDistinct) Merge(other expr.Accumulator, groups, into []uint32) error {
	o, ok := other.(*approxDistinct)
	if !ok {
		return mismatch(a, other)
	}
	for g, to := range pairs(groups, into) {
		a.groups[to].merge(&o.groups[g])
	}
	return nil
}

func (a *approxDistinct) Finish(out *vec.Vector, from, n int) error {
	for g := from; g < from+n; g++ {
		out.Append(vec.Int64(a.groups[g].estimate()))
	}
	return nil
}
