package op

import (
	"context"
	"time"

	"github.com/loamdb/loam/exec/internal/sched"
	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// UnnestItem is what one item of an Unnest computes: a list, or a series.
type UnnestItem struct {
	Type types.Type
	// Args is the list, or start, stop and step.
	Args      Programs
	Series    bool
	Exclusive bool
}

// Unnest makes a row of each element of its items; see plan.Unnest.
type Unnest struct {
	// Pass are the positions of the input's columns that the output has.
	Pass    []int
	Items   []UnnestItem
	Ordinal bool
	Outer   bool
}

// Stage implements sched.Transform.
func (u *Unnest) Stage(w *sched.Worker) (sched.Stage, error) {
	return &unnestStage{u: u, ctx: w.Ctx, env: w.Env}, nil
}

// unnestStage collects output rows and hands them on in chunks of ChunkRows.
type unnestStage struct {
	u   *Unnest
	ctx context.Context
	env *expr.Env

	in       *vec.Chunk
	next     sched.Next
	cursors  []cursor
	rows     []int32 // input row of each output row
	ordinals []int64
	outer    []int32 // output rows that stand for no element
}

// cursor walks the elements of one item of one input row.
type cursor interface {
	// start moves to an input row and returns the number of its elements.
	start(row int) (uint64, error)
	// take appends the next n elements to the output, and NULLs for pad rows.
	take(n, pad int)
	// column is what was taken since the last call.
	column() *vec.Vector
}

// Push implements sched.Stage.
func (s *unnestStage) Push(c *vec.Chunk, next sched.Next) error {
	s.in, s.next, s.cursors = c, next, s.cursors[:0]
	for _, it := range s.u.Items {
		args, err := it.Args.Eval(s.env, c)
		if err != nil {
			return err
		}
		s.cursors = append(s.cursors, newCursor(s.ctx, it, args))
	}
	counts := make([]uint64, len(s.cursors))
	for i := range c.Rows() {
		most := uint64(0)
		for k, cur := range s.cursors {
			var err error
			if counts[k], err = cur.start(c.RowAt(i)); err != nil {
				return err
			}
			most = max(most, counts[k])
		}
		if err := s.row(int32(c.RowAt(i)), most, counts); err != nil {
			return err
		}
	}
	return s.flush()
}

// row makes the output rows of one input row.
func (s *unnestStage) row(row int32, most uint64, counts []uint64) error {
	if most == 0 && s.u.Outer {
		s.add(row, 1, 0)
		s.ordinals[len(s.ordinals)-1] = 0
		s.outer = append(s.outer, int32(len(s.rows)-1))
		for _, cur := range s.cursors {
			cur.take(0, 1)
		}
	}
	for done := uint64(0); done < most; {
		n := int(min(most-done, uint64(vec.ChunkRows-len(s.rows))))
		s.add(row, n, int64(done))
		for k, cur := range s.cursors {
			have := 0
			if counts[k] > done {
				have = int(min(uint64(n), counts[k]-done))
			}
			cur.take(have, n-have)
		}
		if done += uint64(n); len(s.rows) == vec.ChunkRows {
			if err := s.flush(); err != nil {
				return err
			}
		}
	}
	if len(s.rows) == vec.ChunkRows {
		return s.flush()
	}
	return nil
}

// add notes n output rows, numbered from behind done.
func (s *unnestStage) add(row int32, n int, done int64) {
	for i := range n {
		s.rows = append(s.rows, row)
		s.ordinals = append(s.ordinals, done+int64(i)+1)
	}
}

// flush hands the collected rows on.
func (s *unnestStage) flush() error {
	if len(s.rows) == 0 {
		return nil
	}
	if s.ctx.Err() != nil {
		return fail.Ended(s.ctx, "the statement")
	}
	cols := make([]*vec.Vector, len(s.u.Pass))
	for i, at := range s.u.Pass {
		cols[i] = s.in.Cols[at]
	}
	out := Pick(cols, s.rows, s.in.Seq)
	for _, cur := range s.cursors {
		out.Cols = append(out.Cols, cur.column())
	}
	if s.u.Ordinal {
		v := vec.New(types.Of(types.Int64), 0)
		v.Int64s, v.N = append([]int64(nil), s.ordinals...), len(s.ordinals)
		for _, i := range s.outer {
			v.SetNull(int(i))
		}
		out.Cols = append(out.Cols, v)
	}
	s.rows, s.ordinals, s.outer = s.rows[:0], s.ordinals[:0], s.outer[:0]
	return s.next(out)
}

func newCursor(ctx context.Context, it UnnestItem, args []*vec.Vector) cursor {
	switch {
	case !it.Series:
		return &listCursor{list: args[0]}
	case it.Type.Kind == types.Timestamp:
		return &spanCursor{ctx: ctx, args: args, exclusive: it.Exclusive, out: vec.New(it.Type, 0)}
	}
	return &intCursor{args: args, exclusive: it.Exclusive, out: vec.New(it.Type, 0)}
}

// listCursor walks a list column.
type listCursor struct {
	list *vec.Vector
	at   int32
	idx  []int32 // elements taken; noRow for NULL
}

func (l *listCursor) start(row int) (uint64, error) {
	if l.list.IsNull(row) {
		return 0, nil
	}
	base, r := flatBase(l.list), l.list.Row(row)
	l.at = base.Offsets[r]
	return uint64(base.Offsets[r+1] - l.at), nil
}

func (l *listCursor) take(n, pad int) {
	for range n {
		l.idx = append(l.idx, l.at)
		l.at++
	}
	for range pad {
		l.idx = append(l.idx, noRow)
	}
}

func (l *listCursor) column() *vec.Vector {
	v := pickOuter([]*vec.Vector{flatBase(l.list).Child}, l.idx)[0]
	l.idx = l.idx[:0]
	return v
}

// intCursor walks a series of BIGINT.
type intCursor struct {
	args      []*vec.Vector
	exclusive bool
	at, step  int64
	out       *vec.Vector
}

func (s *intCursor) start(row int) (uint64, error) {
	start, stop, step := s.args[0].Value(row), s.args[1].Value(row), s.args[2].Value(row)
	if start.Null || stop.Null || step.Null {
		return 0, nil
	}
	if step.Int == 0 {
		return 0, zeroStep()
	}
	s.at, s.step = start.Int, step.Int
	n := seriesLen(start.Int, stop.Int, step.Int)
	if n > 1<<48 {
		return 0, fail.New(fail.TooLarge, "generate_series would make %d rows", n)
	}
	if s.exclusive && n > 0 && start.Int+int64(n-1)*step.Int == stop.Int {
		n--
	}
	return n, nil
}

func (s *intCursor) take(n, pad int) {
	for range n {
		s.out.Append(vec.Int64(s.at))
		s.at += s.step
	}
	for range pad {
		s.out.AppendNull()
	}
}

func (s *intCursor) column() *vec.Vector {
	v := s.out
	s.out = vec.New(v.Type, v.N)
	return v
}

// spanCursor walks a series of TIMESTAMP; it adds its interval again and again, so
// that a month's end stays within its month.
type spanCursor struct {
	ctx       context.Context
	args      []*vec.Vector
	exclusive bool
	series    *spanSeries
	out       *vec.Vector
}

func (s *spanCursor) start(row int) (uint64, error) {
	start, stop, step := s.args[0].Value(row), s.args[1].Value(row), s.args[2].Value(row)
	if start.Null || stop.Null || step.Null {
		return 0, nil
	}
	var err error
	if s.series, err = newSpanSeries(start, stop, step); err != nil {
		return 0, err
	}
	count := &walk{series: s.series, at: s.series.at, exclusive: s.exclusive}
	for count.more() {
		if count.n%vec.ChunkRows == 0 && s.ctx.Err() != nil {
			return 0, fail.Ended(s.ctx, "the statement")
		}
		if err := count.step(); err != nil {
			return 0, err
		}
	}
	return count.n, nil
}

func (s *spanCursor) take(n, pad int) {
	for range n {
		s.out.Append(vec.Value{Type: s.out.Type, Int: s.series.at.UnixMicro()})
		s.series.at = addSpan(s.series.at, s.series.step)
	}
	for range pad {
		s.out.AppendNull()
	}
}

func (s *spanCursor) column() *vec.Vector {
	v := s.out
	s.out = vec.New(v.Type, v.N)
	return v
}

// walk counts the elements of a series of timestamps without keeping them.
type walk struct {
	series    *spanSeries
	at        time.Time
	exclusive bool
	n         uint64
}

func (w *walk) more() bool {
	if w.exclusive && w.at.Equal(w.series.stop) {
		return false
	}
	return w.series.up && !w.at.After(w.series.stop) || !w.series.up && !w.at.Before(w.series.stop)
}

func (w *walk) step() error {
	before := w.at
	w.at = addSpan(w.at, w.series.step)
	w.n++
	if w.series.up != w.at.After(before) {
		return fail.New(fail.OutOfRange, "generate_series leaves the range of timestamps")
	}
	return nil
}
