package functions

import (
	"context"
	mbits "math/bits"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/loamdb/loam/internal/kernel"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// Aggregates over the frames of a window. What is exact (counts, sums of
// integers and decimals, AND and OR) takes rows in at one end of the frame and
// out at the other. Sums of doubles keep two stacks, since a double that was
// added cannot be taken out again: sums from each row to the middle of the frame,
// and the sum behind it. Extremes keep the rows that can still become one. All
// visit each row a fixed number of times on average.

// slideEvery is how many frames are answered between looks at the context.
const slideEvery = 16 << 10

// slide moves over frames: take(r) when row r comes into the frame, drop(r) when
// it leaves, empty() when all of them leave at once, emit() when the frame is that
// of the next result. Rows that no frame holds are skipped.
func slide(ctx context.Context, lo, hi []int32, take, drop func(r int), empty, emit func()) error {
	from, to := 0, 0
	for i := range lo {
		if i%slideEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		l, h := int(lo[i]), int(hi[i])
		if to <= l {
			empty()
			from, to = l, l
		}
		for ; from < l; from++ {
			drop(from)
		}
		for to < h {
			take(to)
			to++
		}
		emit()
	}
	return nil
}

// Slide implements expr.Slider.
func (a *count) Slide(ctx context.Context, args []*vec.Vector, lo, hi []int32, out *vec.Vector) error {
	if len(args) == 0 || !args[0].HasNulls() {
		for i := range lo {
			out.Int64s = append(out.Int64s, int64(hi[i]-lo[i]))
		}
		out.N += len(lo)
		return nil
	}
	valid, n := args[0].Valid, int64(0)
	step := func(by int64) func(int) {
		return func(r int) {
			if valid.Get(r) {
				n += by
			}
		}
	}
	defer func() { out.N = len(out.Int64s) }()
	return slide(ctx, lo, hi, step(1), step(-1), func() { n = 0 }, func() { out.Int64s = append(out.Int64s, n) })
}

// Slide implements expr.Slider.
func (a *flags) Slide(ctx context.Context, args []*vec.Vector, lo, hi []int32, out *vec.Vector) error {
	v := args[0]
	var n [2]int // values in the frame: false, true
	step := func(by int) func(int) {
		return func(r int) {
			if v.Valid.Get(r) {
				n[boolIndex(v.Bools[r])] += by
			}
		}
	}
	return slide(ctx, lo, hi, step(1), step(-1), func() { n = [2]int{} }, func() {
		val := n[1] > 0
		if a.and {
			val = n[0] == 0
		}
		out.Append(vec.Value{Type: out.Type, Null: n[0]+n[1] == 0, Bool: val})
	})
}

func boolIndex(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (w *wide) sub(o wide) {
	var c uint64
	w.lo, c = mbits.Sub64(w.lo, o.lo, 0)
	w.mid, c = mbits.Sub64(w.mid, o.mid, c)
	w.hi -= o.hi + int64(c)
}

// small is the sum as an int64, where it is one.
func (w *wide) small() (int64, bool) {
	sign := int64(w.lo) >> 63
	return int64(w.lo), w.mid == uint64(sign) && w.hi == sign
}

// Slide implements expr.Slider.
func (a *exact) Slide(ctx context.Context, args []*vec.Vector, lo, hi []int32, out *vec.Vector) error {
	v := args[0]
	var sum wide
	var n int64
	var failed error
	take, drop := func(r int) {
		if v.Valid.Get(r) {
			sum.add(v.Decimals[r])
			n++
		}
	}, func(r int) {
		if v.Valid.Get(r) {
			var w wide
			w.add(v.Decimals[r])
			sum.sub(w)
			n--
		}
	}
	switch v.Type.Kind {
	case types.Int32:
		take, drop = sumInts(v.Int32s, v.Valid, &sum, &n)
	case types.Int64:
		take, drop = sumInts(v.Int64s, v.Valid, &sum, &n)
	}
	err := slide(ctx, lo, hi, take, drop, func() { sum, n = wide{}, 0 }, func() {
		if failed != nil {
			return
		}
		if n == 0 {
			out.AppendNull()
			return
		}
		failed = a.appendResult(out, sum, n)
	})
	if err == nil {
		err = failed
	}
	return err
}

// sumInts takes integers into a sum, and drops them.
func sumInts[T int32 | int64](vals []T, valid vec.Bitmap, sum *wide, n *int64) (take, drop func(r int)) {
	take = func(r int) {
		if valid.Get(r) {
			sum.addInt(int64(vals[r]))
			*n++
		}
	}
	drop = func(r int) {
		if valid.Get(r) {
			x := int64(vals[r])
			sum.sub(wide{lo: uint64(x), mid: uint64(x >> 63), hi: x >> 63})
			*n--
		}
	}
	return take, drop
}

// appendResult appends the result of a sum of n values.
func (a *exact) appendResult(out *vec.Vector, w wide, n int64) error {
	const exactDouble = 1 << 53
	if x, ok := w.small(); ok && !a.mean {
		switch out.Type.Kind {
		case types.Int64:
			appendFixed(out, &out.Int64s, x)
			return nil
		case types.Decimal:
			if out.Type.Precision == types.MaxPrecision {
				appendFixed(out, &out.Decimals, decimal128.FromI64(x))
				return nil
			}
		}
	} else if ok && out.Type.Kind == types.Double && x < exactDouble && x > -exactDouble {
		// Both are exact frameSum, so the quotient is rounded once.
		appendFixed(out, &out.Float64s, float64(x)/float64(n))
		return nil
	}
	v, err := a.finish(w, n, a.arg, out.Type)
	if err == nil {
		out.Append(v)
	}
	return err
}

// appendFixed appends a value that is not NULL to a flat vector.
func appendFixed[T any](out *vec.Vector, vals *[]T, x T) {
	*vals = append(*vals, x)
	if out.Valid != nil {
		if out.N>>6 >= len(out.Valid) {
			out.Valid = append(out.Valid, ^uint64(0))
		}
		out.Valid.Set(out.N)
	}
	out.N++
}

// frameSum is the sum of some doubles: how many there are, and how many of them
// are infinite or NaN.
type frameSum struct {
	sum    float64
	n, odd int32
}

func (d *frameSum) add(o frameSum) {
	d.sum += o.sum
	d.n += o.n
	d.odd += o.odd
}

// slideFold moves over frames with states that cannot be taken apart: front holds
// the folds from each row to before some middle of the frame, the first row's last;
// back is the fold from there to the frame's end. emit is given the fold of the
// frame of result i.
func slideFold[T any](ctx context.Context, lo, hi []int32, one func(r int) T, merge func(to *T, o T), emit func(i int, total T)) error {
	var front []T
	var back, total, none T // total is declared here so that no row allocates it
	end, i := 0, -1
	take := func(r int) {
		merge(&back, one(r))
		end = r + 1
	}
	drop := func(r int) {
		if len(front) == 0 {
			var sum T
			for i := end - 1; i >= r; i-- {
				merge(&sum, one(i))
				front = append(front, sum)
			}
			back = none
		}
		front = front[:len(front)-1]
	}
	return slide(ctx, lo, hi, take, drop, func() { front, back = front[:0], none }, func() {
		i++
		total = back
		if len(front) > 0 {
			merge(&total, front[len(front)-1])
		}
		emit(i, total)
	})
}

// Slide implements expr.Slider.
func (a *floats) Slide(ctx context.Context, args []*vec.Vector, lo, hi []int32, out *vec.Vector) error {
	v := args[0]
	one := func(r int) (d frameSum) {
		if v.Valid.Get(r) {
			x := v.Float64s[r]
			d = frameSum{sum: x, n: 1}
			if x-x != 0 {
				d.odd = 1
			}
		}
		return d
	}
	var failed error
	err := slideFold(ctx, lo, hi, one, (*frameSum).add, func(i int, total frameSum) {
		if total.n == 0 {
			out.AppendNull()
			return
		}
		x := total.sum
		over := x-x != 0 && total.odd == 0
		switch {
		case a.mean && over:
			x = scaledMean(v, lo[i], hi[i])
		case a.mean:
			x /= float64(total.n)
		case over && failed == nil:
			failed = kernel.OutOfRange("the sum", out.Type)
		}
		appendFixed(out, &out.Float64s, x)
	})
	if err == nil {
		err = failed
	}
	return err
}

// Slide implements expr.Slider.
func (a *moments) Slide(ctx context.Context, args []*vec.Vector, lo, hi []int32, out *vec.Vector) error {
	v := args[0]
	one := func(r int) (m moment) {
		if v.Valid.Get(r) {
			m = moment{n: 1, mean: v.Float64s[r]}
		}
		return m
	}
	return slideFold(ctx, lo, hi, one, (*moment).merge, func(_ int, total moment) { a.appendResult(out, total) })
}

// Slide implements expr.Slider.
func (a *pairAgg) Slide(ctx context.Context, args []*vec.Vector, lo, hi []int32, out *vec.Vector) error {
	y, x := args[0], args[1]
	one := func(r int) (p pairMoments) {
		if y.Valid.Get(r) && x.Valid.Get(r) {
			p = pairMoments{n: 1, my: y.Float64s[r], mx: x.Float64s[r]}
		}
		return p
	}
	return slideFold(ctx, lo, hi, one, (*pairMoments).merge, func(_ int, total pairMoments) { a.appendResult(out, &total) })
}

// scaledMean is the mean of values whose plain sum overflows.
func scaledMean(v *vec.Vector, lo, hi int32) float64 {
	sum, n := 0.0, 0.0
	for r := int(lo); r < int(hi); r++ {
		if v.Valid.Get(r) {
			sum += v.Float64s[r] * 0x1p-64
			n++
		}
	}
	return sum / n * 0x1p64
}

// slideExtreme appends the value of the row of each frame that no other row is
// better than, the first of equals.
func slideExtreme(ctx context.Context, v *vec.Vector, lo, hi []int32, better func(a, b int) bool, out *vec.Vector) error {
	// Rows that are better than all behind them in the frame, the best first.
	var best []int32
	head := 0
	take := func(r int) {
		if !v.Valid.Get(r) {
			return
		}
		for len(best) > head && better(r, int(best[len(best)-1])) {
			best = best[:len(best)-1]
		}
		best = append(best, int32(r))
	}
	drop := func(r int) {
		if head < len(best) && int(best[head]) == r {
			head++
		}
	}
	rows := make([]int32, 0, len(lo))
	missing := false
	err := slide(ctx, lo, hi, take, drop, func() { best, head = best[:0], 0 }, func() {
		if head == len(best) {
			best, head = best[:0], 0
			rows, missing = append(rows, -1), true
			return
		}
		rows = append(rows, best[head])
	})
	if err == nil {
		appendRows(out, v, rows, missing)
	}
	return err
}

// appendRows appends rows of v; -1 is NULL.
func appendRows(out, v *vec.Vector, rows []int32, missing bool) {
	if !missing {
		out.AppendRows(v, rows, len(rows))
		return
	}
	for from := 0; from < len(rows); {
		to := from
		for to < len(rows) && rows[to] >= 0 {
			to++
		}
		out.AppendRows(v, rows[from:to], to-from)
		for ; to < len(rows) && rows[to] < 0; to++ {
			out.AppendNull()
		}
		from = to
	}
}

// Slide implements expr.Slider.
func (a *extremeInt) Slide(ctx context.Context, args []*vec.Vector, lo, hi []int32, out *vec.Vector) error {
	v := args[0]
	if v.Int32s != nil {
		return slideExtreme(ctx, v, lo, hi, betterOf(v.Int32s, a.sign), out)
	}
	return slideExtreme(ctx, v, lo, hi, betterOf(v.Int64s, a.sign), out)
}

func betterOf[T int32 | int64](vals []T, sign int) func(a, b int) bool {
	if sign < 0 {
		return func(a, b int) bool { return vals[a] < vals[b] }
	}
	return func(a, b int) bool { return vals[a] > vals[b] }
}

// Slide implements expr.Slider.
func (a *extremeDouble) Slide(ctx context.Context, args []*vec.Vector, lo, hi []int32, out *vec.Vector) error {
	vals := args[0].Float64s
	return slideExtreme(ctx, args[0], lo, hi, func(x, y int) bool {
		return a.sign*kernel.CompareDoubles(vals[x], vals[y]) > 0
	}, out)
}

// Slide implements expr.Slider.
func (a *extremeAny) Slide(ctx context.Context, args []*vec.Vector, lo, hi []int32, out *vec.Vector) error {
	v := args[0]
	return slideExtreme(ctx, v, lo, hi, func(x, y int) bool {
		return a.sign*kernel.CompareRows(v, x, v, y) > 0
	}, out)
}
