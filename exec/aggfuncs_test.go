package exec

import (
	"strings"

	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// The tests bring aggregates of their own, so that the executor is tested
// without the function library: each keeps the boxed arguments of its groups
// and folds them at the end, as the reference does.

func testAgg(name string) *expr.AggFunc {
	return &expr.AggFunc{Name: name, New: func(_ []types.Type, ret types.Type) expr.Accumulator {
		return &boxedAcc{name: name}
	}}
}

type boxedAcc struct {
	name   string
	groups [][]refRow
}

func (a *boxedAcc) Grow(n int) {
	for len(a.groups) < n {
		a.groups = append(a.groups, nil)
	}
}

func (a *boxedAcc) Update(groups []uint32, args []*vec.Vector, rows []int32) error {
	for i, g := range groups {
		r := i
		if rows != nil {
			r = int(rows[i])
		}
		var vals refRow
		for _, v := range args {
			vals = append(vals, v.Value(r))
		}
		a.groups[g] = append(a.groups[g], vals)
	}
	return nil
}

func (a *boxedAcc) Merge(other expr.Accumulator, groups, into []uint32) error {
	for i, to := range into {
		g := i
		if groups != nil {
			g = int(groups[i])
		}
		a.groups[to] = append(a.groups[to], other.(*boxedAcc).groups[g]...)
	}
	return nil
}

func (a *boxedAcc) Finish(out *vec.Vector, from, n int) error {
	for g := from; g < from+n; g++ {
		out.Append(refFold(a.name, a.groups[g]))
	}
	return nil
}

// refFold is the meaning of the test aggregates.
func refFold(name string, rows []refRow) vec.Value {
	n, sum := int64(0), int64(0)
	best := vec.Value{Null: true}
	var list []string
	for _, r := range rows {
		switch {
		case len(r) == 0:
			n++
		case !r[0].Null:
			n++
			sum += r[0].Int
			if best.Null || refCompare(r[0], best) < 0 {
				best = r[0]
			}
			list = append(list, rendered([]refRow{{r[0]}})...)
		case name == "list":
			list = append(list, "NULL")
		}
	}
	switch {
	case name == "count":
		return vec.Int64(n)
	case name == "list":
		return vec.Text(strings.Join(list, ","))
	case n == 0:
		return vec.Null(types.Of(types.Int64))
	case name == "sum":
		return vec.Int64(sum)
	}
	return best
}

// aggType is the result type of a test aggregate.
func aggType(name string, arg types.Type) types.Type {
	switch name {
	case "list":
		return types.Of(types.Text)
	case "min":
		return arg
	}
	return types.Of(types.Int64)
}
