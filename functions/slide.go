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
	value := func(r int) (w wide) {
		switch v.Type.Kind {
		case types.Int32:
			w.addInt(int64(v.Int32s[r]))
		case types.Int64:
			w.addInt(v.Int64s[r])
		default:
			w.add(v.Decimals[r])
		}
		return w
	}
	take := func(r int) {
		if v.Valid.Get(r) {
			sum.merge(value(r))
			n++
		}
	}
	drop := func(r int) {
		if v.Valid.Get(r) {
			sum.sub(value(r))
			n--
		}
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
	// front holds the sums from each row to before some middle of the frame, the
	// first row's last; back is the sum from there to the frame's end.
	var front []frameSum
	var back frameSum
	end := 0
	take := func(r int) {
		back.add(one(r))
		end = r + 1
	}
	drop := func(r int) {
		if len(front) == 0 {
			var sum frameSum
			for i := end - 1; i >= r; i-- {
				sum.add(one(i))
				front = append(front, sum)
			}
			back = frameSum{}
		}
		front = front[:len(front)-1]
	}
	var failed error
	i := -1
	err := slide(ctx, lo, hi, take, drop, func() { front, back = front[:0], frameSum{} }, func() {
		i++
		total := back
		if len(front) > 0 {
			total.add(front[len(front)-1])
		}
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
