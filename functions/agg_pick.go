package functions

import (
	"strings"

	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/kernel"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// newExtreme makes min (sign -1) or max (sign 1).
func newExtreme(sign int) newAgg {
	return func(args []types.Type, _ types.Type) expr.Accumulator {
		switch args[0].Kind {
		case types.Int32, types.Date, types.Int64, types.Timestamp:
			return &extremeInt{sign: sign}
		case types.Double:
			return &extremeDouble{sign: sign}
		}
		return &extremeAny{sign: sign}
	}
}

// extremeInt is min or max of whole numbers, dates and timestamps.
type extremeInt struct {
	sign int
	val  []int64
	seen []bool
}

func (a *extremeInt) Grow(n int) { a.val, a.seen = grow(a.val, n), grow(a.seen, n) }

func (a *extremeInt) Update(groups []uint32, args []*vec.Vector, rows []int32) error {
	v := dense(args[0], rows, len(groups))
	vals := v.Int64s
	if v.Int32s != nil {
		vals = make([]int64, v.N)
		for i, x := range v.Int32s {
			vals[i] = int64(x)
		}
	}
	for i, g := range groups {
		if v.Valid.Get(i) {
			a.fold(g, vals[i])
		}
	}
	return nil
}

func (a *extremeInt) fold(g uint32, x int64) {
	if !a.seen[g] || a.sign < 0 && x < a.val[g] || a.sign > 0 && x > a.val[g] {
		a.val[g], a.seen[g] = x, true
	}
}

func (a *extremeInt) Merge(other expr.Accumulator, groups, into []uint32) error {
	o, ok := other.(*extremeInt)
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

func (a *extremeInt) Finish(out *vec.Vector, from, n int) error {
	for g := from; g < from+n; g++ {
		out.Append(vec.Value{Type: out.Type, Null: !a.seen[g], Int: a.val[g]})
	}
	return nil
}

// extremeDouble is min or max of doubles; NaN is the greatest.
type extremeDouble struct {
	sign int
	val  []float64
	seen []bool
}

func (a *extremeDouble) Grow(n int) { a.val, a.seen = grow(a.val, n), grow(a.seen, n) }

func (a *extremeDouble) Update(groups []uint32, args []*vec.Vector, rows []int32) error {
	v := dense(args[0], rows, len(groups))
	for i, g := range groups {
		if v.Valid.Get(i) {
			a.fold(g, v.Float64s[i])
		}
	}
	return nil
}

func (a *extremeDouble) fold(g uint32, x float64) {
	if !a.seen[g] || a.sign*kernel.CompareDoubles(x, a.val[g]) > 0 {
		a.val[g], a.seen[g] = x, true
	}
}

func (a *extremeDouble) Merge(other expr.Accumulator, groups, into []uint32) error {
	o, ok := other.(*extremeDouble)
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

func (a *extremeDouble) Finish(out *vec.Vector, from, n int) error {
	for g := from; g < from+n; g++ {
		out.Append(vec.Value{Type: out.Type, Null: !a.seen[g], Float: a.val[g]})
	}
	return nil
}

// extremeAny is min or max of the other types, on boxed values.
type extremeAny struct {
	sign int
	val  []vec.Value
	seen []bool
}

func (a *extremeAny) Grow(n int) { a.val, a.seen = grow(a.val, n), grow(a.seen, n) }

func (a *extremeAny) Update(groups []uint32, args []*vec.Vector, rows []int32) error {
	v := dense(args[0], rows, len(groups))
	text := v.Type.Textual() || v.Type.Kind == types.Binary
	for i, g := range groups {
		switch {
		case !v.Valid.Get(i):
		case text:
			a.foldText(g, v, i)
		default:
			a.fold(g, v.Value(i))
		}
	}
	return nil
}

// foldText boxes a text only when it becomes the new extreme.
func (a *extremeAny) foldText(g uint32, v *vec.Vector, i int) {
	s := v.Strings.At(i)
	if !a.seen[g] || a.sign*strings.Compare(s, a.val[g].Str) > 0 {
		a.val[g], a.seen[g] = vec.Value{Type: v.Type, Str: strings.Clone(s)}, true
	}
}

func (a *extremeAny) fold(g uint32, x vec.Value) {
	if !a.seen[g] || a.sign*kernel.CompareBoxed(x, a.val[g]) > 0 {
		a.val[g], a.seen[g] = owned(x), true
	}
}

// owned copies what a boxed value shares with its column.
func owned(x vec.Value) vec.Value {
	x.Str = strings.Clone(x.Str)
	x.Vec = append([]float32(nil), x.Vec...)
	for i := range x.List {
		x.List[i] = owned(x.List[i])
	}
	return x
}

func (a *extremeAny) Merge(other expr.Accumulator, groups, into []uint32) error {
	o, ok := other.(*extremeAny)
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

func (a *extremeAny) Finish(out *vec.Vector, from, n int) error {
	for g := from; g < from+n; g++ {
		if a.seen[g] {
			out.Append(a.val[g])
		} else {
			out.AppendNull()
		}
	}
	return nil
}

type pickKind uint8

const (
	pickFirst pickKind = iota
	pickLast
	pickAny
)

// pick keeps one row's value of each group. The order of rows is the order of
// Update calls, then of Merge calls.
type pick struct {
	kind pickKind
	val  []vec.Value
	seen []bool
}

func newPick(kind pickKind) newAgg {
	return func([]types.Type, types.Type) expr.Accumulator { return &pick{kind: kind} }
}

func (a *pick) Grow(n int) { a.val, a.seen = grow(a.val, n), grow(a.seen, n) }

func (a *pick) Update(groups []uint32, args []*vec.Vector, rows []int32) error {
	v := args[0]
	for i, g := range groups {
		r := i
		if rows != nil {
			r = int(rows[i])
		}
		if a.seen[g] && a.kind != pickLast || a.kind == pickAny && v.IsNull(r) {
			continue
		}
		a.val[g], a.seen[g] = owned(v.Value(r)), true
	}
	return nil
}

func (a *pick) Merge(other expr.Accumulator, groups, into []uint32) error {
	o, ok := other.(*pick)
	if !ok {
		return mismatch(a, other)
	}
	for g, to := range pairs(groups, into) {
		if o.seen[g] && (!a.seen[to] || a.kind == pickLast) {
			a.val[to], a.seen[to] = o.val[g], true
		}
	}
	return nil
}

func (a *pick) Finish(out *vec.Vector, from, n int) error {
	for g := from; g < from+n; g++ {
		if a.seen[g] {
			out.Append(a.val[g])
		} else {
			out.AppendNull()
		}
	}
	return nil
}

// arrayAgg collects values, NULLs too.
type arrayAgg struct{ vals [][]vec.Value }

func newArrayAgg([]types.Type, types.Type) expr.Accumulator { return &arrayAgg{} }

func (a *arrayAgg) Grow(n int) { a.vals = grow(a.vals, n) }

func (a *arrayAgg) Update(groups []uint32, args []*vec.Vector, rows []int32) error {
	for i, g := range groups {
		r := i
		if rows != nil {
			r = int(rows[i])
		}
		a.vals[g] = append(a.vals[g], owned(args[0].Value(r)))
	}
	return nil
}

func (a *arrayAgg) Merge(other expr.Accumulator, groups, into []uint32) error {
	o, ok := other.(*arrayAgg)
	if !ok {
		return mismatch(a, other)
	}
	for g, to := range pairs(groups, into) {
		a.vals[to] = append(a.vals[to], o.vals[g]...)
	}
	return nil
}

func (a *arrayAgg) Finish(out *vec.Vector, from, n int) error {
	for g := from; g < from+n; g++ {
		if a.vals[g] == nil {
			out.AppendNull()
		} else {
			out.Append(vec.Value{Type: out.Type, List: a.vals[g]})
		}
	}
	return nil
}

// stringAgg joins texts; each brings the separator that stands before it.
type stringAgg struct {
	text  [][]byte
	first []string // separator of the group's first text, needed when groups are merged
	seen  []bool
}

func newStringAgg([]types.Type, types.Type) expr.Accumulator { return &stringAgg{} }

func (a *stringAgg) Grow(n int) {
	a.text, a.first, a.seen = grow(a.text, n), grow(a.first, n), grow(a.seen, n)
}

func (a *stringAgg) add(g uint32, sep, s string) {
	if a.seen[g] {
		a.text[g] = append(a.text[g], sep...)
	} else {
		a.first[g], a.seen[g] = strings.Clone(sep), true
	}
	a.text[g] = append(a.text[g], s...)
}

func (a *stringAgg) Update(groups []uint32, args []*vec.Vector, rows []int32) error {
	s, sep := dense(args[0], rows, len(groups)), dense(args[1], rows, len(groups))
	for i, g := range groups {
		if !s.Valid.Get(i) {
			continue
		}
		between := ""
		if sep.Valid.Get(i) {
			between = sep.Strings.At(i)
		}
		a.add(g, between, s.Strings.At(i))
	}
	return nil
}

func (a *stringAgg) Merge(other expr.Accumulator, groups, into []uint32) error {
	o, ok := other.(*stringAgg)
	if !ok {
		return mismatch(a, other)
	}
	for g, to := range pairs(groups, into) {
		if o.seen[g] {
			a.add(to, o.first[g], string(o.text[g]))
		}
	}
	return nil
}

func (a *stringAgg) Finish(out *vec.Vector, from, n int) error {
	for g := from; g < from+n; g++ {
		if a.seen[g] {
			out.Append(vec.Text(string(a.text[g])))
		} else {
			out.AppendNull()
		}
	}
	return nil
}
