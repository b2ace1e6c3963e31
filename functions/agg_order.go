package functions

import (
	"math"
	"slices"

	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/kernel"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// orderedTable holds the aggregates that answer from the order of values. They are
// written f(p) WITHIN GROUP (ORDER BY x) or f(x, p); a further argument true
// counts from the greatest value, which is what ORDER BY x DESC stands for.
var orderedTable = []def{
	{names: "percentile_cont quantile_cont approx_percentile_cont approx_quantile", grows: true, sorted: true,
		help: "value at a fraction of the ordered values, between two of them where it falls there; exact", sigs: []sig{
			{in: "double, double", ret: "double", agg: newPercentile(between)}, {in: "double, double, boolean", ret: "double", agg: newPercentile(between)},
			{in: "double, double[]", ret: "double[]", agg: newPercentile(between)}, {in: "double, double[], boolean", ret: "double[]", agg: newPercentile(between)},
		}},
	{names: "percentile_disc quantile_disc quantile", grows: true, sorted: true,
		help: "first of the ordered values at or behind a fraction of them", sigs: []sig{
			{in: "any, double", bind: percentileArgs, agg: newPercentile(nearest)},
		}},
	{names: "mode", grows: true, sorted: true, help: "most frequent value, of several the least", sigs: []sig{
		{in: "any", bind: orderedAny, agg: newMode}, {in: "any, boolean", bind: modeArgs, agg: newMode},
	}},
	{names: "nth_value", inOrder: true, grows: true, help: "value of the n-th row, from 1", sigs: []sig{{in: "any, bigint", ret: "same", agg: newNth}}},
	{names: "arg_max max_by", help: "first argument where the second is greatest, of several the least; rows with a NULL do not count", sigs: []sig{
		{in: "any, any", bind: argExtreme, agg: newArgExtreme(1)},
	}},
	{names: "arg_min min_by", help: "first argument where the second is least, of several the least; rows with a NULL do not count", sigs: []sig{
		{in: "any, any", bind: argExtreme, agg: newArgExtreme(-1)},
	}},
}

// settled is the type that an argument of any type has: an untyped literal is text.
func settled(t types.Type) types.Type {
	if t.Kind == types.Unknown {
		return types.Of(types.Text)
	}
	return t
}

func percentileArgs(args []types.Type) ([]types.Type, types.Type, error) {
	if len(args) < 2 || len(args) > 3 || !settled(args[0]).Orderable() || len(args) == 3 && args[2].Kind != types.Boolean {
		return nil, types.Type{}, nil
	}
	value := settled(args[0])
	params := []types.Type{value, types.Of(types.Double), types.Of(types.Boolean)}[:len(args)]
	switch {
	case args[1].Kind == types.List && args[1].Elem.Numeric():
		params[1] = types.ListOf(types.Of(types.Double))
		return params, types.ListOf(value), nil
	case args[1].Numeric() || args[1].Kind == types.Unknown:
		return params, value, nil
	}
	return nil, types.Type{}, nil
}

func modeArgs(args []types.Type) ([]types.Type, types.Type, error) {
	if len(args) != 2 || args[1].Kind != types.Boolean || !settled(args[0]).Orderable() {
		return nil, types.Type{}, nil
	}
	t := settled(args[0])
	return []types.Type{t, args[1]}, t, nil
}

func argExtreme(args []types.Type) ([]types.Type, types.Type, error) {
	if len(args) != 2 || !settled(args[1]).Orderable() {
		return nil, types.Type{}, nil
	}
	return []types.Type{settled(args[0]), settled(args[1])}, settled(args[0]), nil
}

// bag keeps the values of each group that are not NULL: one column for all, and
// the rows of each group in it.
type bag struct {
	vals *vec.Vector
	rows [][]int32
	// asc says that the rows of a group are in ascending order.
	asc []bool
	// desc is whether the group's last argument asked to count from the greatest.
	desc []bool
}

func newBag(t types.Type) bag { return bag{vals: vec.New(t, 0)} }

func (b *bag) Grow(n int) { b.rows, b.asc, b.desc = grow(b.rows, n), grow(b.asc, n), grow(b.desc, n) }

// take appends the rows' values to their groups.
func (b *bag) take(groups []uint32, v *vec.Vector, rows []int32) {
	for i, g := range groups {
		r := int32(i)
		if rows != nil {
			r = rows[i]
		}
		if !v.IsNull(int(r)) {
			b.rows[g] = append(b.rows[g], int32(b.vals.N))
			b.asc[g] = false
			b.vals.AppendRows(v, []int32{r}, 1)
		}
	}
}

// flag notes the boolean argument of each group, if there is one.
func (b *bag) flag(groups []uint32, v *vec.Vector, rows []int32) {
	for i, g := range groups {
		r := i
		if rows != nil {
			r = int(rows[i])
		}
		b.desc[g] = !v.IsNull(r) && v.Bools[v.Row(r)]
	}
}

func (b *bag) merge(o *bag, groups, into []uint32) {
	for g, to := range pairs(groups, into) {
		at := int32(b.vals.N)
		b.vals.AppendRows(o.vals, o.rows[g], len(o.rows[g]))
		for i := range o.rows[g] {
			b.rows[to] = append(b.rows[to], at+int32(i))
		}
		b.asc[to] = false
		b.desc[to] = b.desc[to] || o.desc[g]
	}
}

// sort brings the rows of a group into ascending order of their values.
func (b *bag) sort(g int) []int32 {
	rows := b.rows[g]
	if !b.asc[g] {
		slices.SortFunc(rows, func(x, y int32) int { return kernel.CompareRows(b.vals, int(x), b.vals, int(y)) })
		b.asc[g] = true
	}
	return rows
}

// position says what a percentile is: from the fraction and the ascending rows of
// a group, counted from the greatest with desc.
type position func(b *bag, rows []int32, p float64, desc bool) vec.Value

// nearest is SQL's percentile_disc: the first row whose share of the rows up to it
// reaches the fraction.
func nearest(b *bag, rows []int32, p float64, desc bool) vec.Value {
	n := len(rows)
	at := max(0, int(math.Ceil(p*float64(n)))-1)
	if desc {
		at = n - 1 - at
	}
	return b.vals.Value(int(rows[at]))
}

// between is SQL's percentile_cont: it interpolates between the two rows.
func between(b *bag, rows []int32, p float64, desc bool) vec.Value {
	if desc {
		p = 1 - p
	}
	at := p * float64(len(rows)-1)
	lo, hi := int(math.Floor(at)), int(math.Ceil(at))
	x, y := b.vals.Float64s[rows[lo]], b.vals.Float64s[rows[hi]]
	if x == y || lo == hi {
		return vec.Double(x)
	}
	return vec.Double(x + (y-x)*(at-float64(lo)))
}

// percentile answers for one fraction or a list of them, those of each group's last row.
type percentile struct {
	bag
	at        position
	fractions []vec.Value
}

func newPercentile(at position) newAgg {
	return func(args []types.Type, _ types.Type) expr.Accumulator {
		return &percentile{bag: newBag(args[0]), at: at}
	}
}

func (a *percentile) Grow(n int) {
	a.bag.Grow(n)
	a.fractions = grow(a.fractions, n)
}

func (a *percentile) Update(groups []uint32, args []*vec.Vector, rows []int32) error {
	a.take(groups, args[0], rows)
	if len(args) > 2 {
		a.flag(groups, args[2], rows)
	}
	for i, g := range groups {
		if args[1].Encoding == vec.Constant && a.fractions[g].Type.Kind != types.Unknown {
			continue
		}
		r := i
		if rows != nil {
			r = int(rows[i])
		}
		a.fractions[g] = owned(args[1].Value(r))
	}
	return nil
}

func (a *percentile) Merge(other expr.Accumulator, groups, into []uint32) error {
	o, ok := other.(*percentile)
	if !ok {
		return mismatch(a, other)
	}
	a.merge(&o.bag, groups, into)
	for g, to := range pairs(groups, into) {
		if o.fractions[g].Type.Kind != types.Unknown {
			a.fractions[to] = o.fractions[g]
		}
	}
	return nil
}

func (a *percentile) Finish(out *vec.Vector, from, n int) error {
	for g := from; g < from+n; g++ {
		p := a.fractions[g]
		if len(a.rows[g]) == 0 || p.Null {
			out.AppendNull()
			continue
		}
		rows := a.sort(g)
		if p.Type.Kind != types.List {
			v, err := a.one(rows, p, a.desc[g])
			if err != nil {
				return err
			}
			out.Append(v)
			continue
		}
		list := vec.Value{Type: out.Type, List: make([]vec.Value, len(p.List))}
		for i, e := range p.List {
			var err error
			if list.List[i], err = a.one(rows, e, a.desc[g]); err != nil {
				return err
			}
		}
		out.Append(list)
	}
	return nil
}

// one is the percentile at one fraction.
func (a *percentile) one(rows []int32, p vec.Value, desc bool) (vec.Value, error) {
	if p.Null {
		return vec.Null(a.vals.Type), nil
	}
	if !(p.Float >= 0 && p.Float <= 1) {
		return p, fail.New(fail.OutOfRange, "a percentile is a fraction from 0 to 1, not %s", p)
	}
	return a.at(&a.bag, rows, p.Float, desc), nil
}

// mode finds the longest run of equal values.
type mode struct{ bag }

func newMode(args []types.Type, _ types.Type) expr.Accumulator { return &mode{newBag(args[0])} }

func (a *mode) Update(groups []uint32, args []*vec.Vector, rows []int32) error {
	a.take(groups, args[0], rows)
	if len(args) > 1 {
		a.flag(groups, args[1], rows)
	}
	return nil
}

func (a *mode) Merge(other expr.Accumulator, groups, into []uint32) error {
	o, ok := other.(*mode)
	if !ok {
		return mismatch(a, other)
	}
	a.merge(&o.bag, groups, into)
	return nil
}

func (a *mode) Finish(out *vec.Vector, from, n int) error {
	for g := from; g < from+n; g++ {
		rows := a.sort(g)
		best, longest := -1, 0
		for i := 0; i < len(rows); {
			j := i + 1
			for j < len(rows) && kernel.EqualRows(a.vals, int(rows[i]), a.vals, int(rows[j])) {
				j++
			}
			if j-i > longest || j-i == longest && a.desc[g] {
				best, longest = i, j-i
			}
			i = j
		}
		if best < 0 {
			out.AppendNull()
		} else {
			out.Append(a.vals.Value(int(rows[best])))
		}
	}
	return nil
}

// nth keeps the first rows of each group, NULLs too, as many as it must count.
type nth struct {
	arrayAgg
	n []int64
}

func newNth([]types.Type, types.Type) expr.Accumulator { return &nth{} }

func (a *nth) Grow(n int) {
	a.arrayAgg.Grow(n)
	a.n = grow(a.n, n)
}

func (a *nth) Update(groups []uint32, args []*vec.Vector, rows []int32) error {
	for i, g := range groups {
		r := i
		if rows != nil {
			r = int(rows[i])
		}
		if a.n[g] == 0 && !args[1].IsNull(r) {
			if a.n[g] = args[1].Int64s[args[1].Row(r)]; a.n[g] <= 0 {
				return fail.New(fail.NthValueArgument, "nth_value counts rows from 1, not %d", a.n[g])
			}
		}
		if int64(len(a.vals[g])) < a.n[g] {
			a.vals[g] = append(a.vals[g], owned(args[0].Value(r)))
		}
	}
	return nil
}

func (a *nth) Merge(other expr.Accumulator, groups, into []uint32) error {
	o, ok := other.(*nth)
	if !ok {
		return mismatch(a, other)
	}
	for g, to := range pairs(groups, into) {
		if a.n[to] == 0 {
			a.n[to] = o.n[g]
		}
		a.vals[to] = append(a.vals[to], o.vals[g]...)
	}
	return nil
}

func (a *nth) Finish(out *vec.Vector, from, n int) error {
	for g := from; g < from+n; g++ {
		if at := a.n[g]; at > 0 && at <= int64(len(a.vals[g])) {
			out.Append(a.vals[g][at-1])
		} else {
			out.AppendNull()
		}
	}
	return nil
}

// argExtremes keeps, of each group, the first argument of the row whose second is
// the extreme; of equal rows the least first argument, so that the order of rows
// does not matter.
type argExtremes struct {
	sign    int
	arg, by []vec.Value
	seen    []bool
}

func newArgExtreme(sign int) newAgg {
	return func([]types.Type, types.Type) expr.Accumulator { return &argExtremes{sign: sign} }
}

func (a *argExtremes) Grow(n int) {
	a.arg, a.by, a.seen = grow(a.arg, n), grow(a.by, n), grow(a.seen, n)
}

func (a *argExtremes) fold(g uint32, arg, by vec.Value) {
	if a.seen[g] {
		c := a.sign * kernel.CompareBoxed(by, a.by[g])
		if c < 0 || c == 0 && kernel.CompareBoxed(arg, a.arg[g]) >= 0 {
			return
		}
	}
	a.arg[g], a.by[g], a.seen[g] = owned(arg), owned(by), true
}

func (a *argExtremes) Update(groups []uint32, args []*vec.Vector, rows []int32) error {
	for i, g := range groups {
		r := i
		if rows != nil {
			r = int(rows[i])
		}
		if !args[0].IsNull(r) && !args[1].IsNull(r) {
			a.fold(g, args[0].Value(r), args[1].Value(r))
		}
	}
	return nil
}

func (a *argExtremes) Merge(other expr.Accumulator, groups, into []uint32) error {
	o, ok := other.(*argExtremes)
	if !ok {
		return mismatch(a, other)
	}
	for g, to := range pairs(groups, into) {
		if o.seen[g] {
			a.fold(to, o.arg[g], o.by[g])
		}
	}
	return nil
}

func (a *argExtremes) Finish(out *vec.Vector, from, n int) error {
	for g := from; g < from+n; g++ {
		if a.seen[g] {
			out.Append(a.arg[g])
		} else {
			out.AppendNull()
		}
	}
	return nil
}
