package op

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/loamdb/loam/exec/internal/sched"
	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/kernel"
	"github.com/loamdb/loam/internal/mem"
	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// WindowArg is an argument of a call: a stored expression, or a constant.
type WindowArg struct {
	At    int // of Window.stored.At
	Const *vec.Value
	Type  types.Type
}

// WindowCall is one call of a Window: the function Fn, or the aggregate Agg.
type WindowCall struct {
	Fn          *expr.WindowFunc
	Agg         *expr.AggFunc
	Args        []WindowArg
	Ret         types.Type
	Filter      int // stored expression, or -1
	IgnoreNulls bool
	Frame       *WindowFrame
}

// WindowFrame is a frame with its offsets as programs; calls with equal frames
// share one.
type WindowFrame struct {
	Unit           plan.FrameUnit
	Lo, Hi         plan.BoundKind
	LoProg, HiProg *expr.Program
	Exclude        plan.FrameExclude
	// Key is the stored expression of RANGE's key, or -1.
	Key int
	// lo and hi are the values of the offsets.
	lo, hi vec.Value
}

// Window is a sink that holds all rows, parts them by hash, sorts each partition
// once, and computes its calls over them. Its result has the rows in the input's order.
//
// It works in two pipelines: the first fills it and parts the rows; the second, of
// Tasks and Results, sorts and computes partitions, by several workers.
type Window struct {
	buffers
	Calls []WindowCall
	// SameHash makes all hashes equal, for tests.
	SameHash bool
	// Parts and Orders count the stored expressions that part and order the rows:
	// the first of them.
	Parts, Orders int

	stored *Stored
	dirs   []Direction
	width  int
	out    mem.Account
	table  *Table
	// order lists the rows by partition and, when the tasks are done, as sorted;
	// place[r] is where row r lies in it, or where its results lie. Both are nil where
	// that is the input's order.
	order, place []int32
	// starts are the begins of the partitions in order; a task is a range of them.
	starts []int32
	tasks  [][2]int
	// results[c][t] is what task t computed for call c; assembled joins them.
	results   [][]windowResult
	assembled []windowResult
}

// windowResult is the outcome of a call for rows in sorted order: values, or rows
// of the table whose value of the first argument it is.
type windowResult struct {
	vals *vec.Vector
	rows []int32
}

// Where a result is no row of the table.
const (
	nullRow    int32 = -1
	defaultRow int32 = -2 // the third argument, at the row itself
)

// NewWindow returns a window over rows of width columns, stored with the
// expressions as s says; dirs are those of the order keys.
func NewWindow(width, parts int, s *Stored, dirs []Direction, t *mem.Tracker) *Window {
	all := append(make([]Direction, parts), dirs...)
	return &Window{buffers: buffers{tracker: t}, stored: s, dirs: all, width: width,
		Parts: parts, Orders: len(dirs), out: mem.Account{Tracker: t}}
}

// Local implements sched.Sink.
func (w *Window) Local(k *sched.Worker) (sched.Local, error) {
	return &sortLocal{buffer: w.add(), stored: w.stored, env: k.Env}, nil
}

// taskRows is how many rows a task takes at least, if there are so many.
const taskRows = 16 << 10

// Finalize implements sched.Sink: it parts the rows and cuts them into tasks, which
// sort them.
func (w *Window) Finalize(k *sched.Worker) (err error) {
	for i := range w.Calls {
		if err := w.Calls[i].Frame.offsets(k.Env); err != nil {
			return err
		}
	}
	if w.table, err = concat(k.Ctx, w.stored.Types, w.all, &w.out); err != nil {
		return err
	}
	if err := w.part(k); err != nil {
		return err
	}
	w.cutTasks()
	w.results = make([][]windowResult, len(w.Calls))
	for i := range w.results {
		w.results[i] = make([]windowResult, len(w.tasks))
	}
	return nil
}

// offsets computes the offsets of the frame.
func (f *WindowFrame) offsets(env *expr.Env) error {
	if f == nil {
		return nil
	}
	for _, end := range []struct {
		p  *expr.Program
		to *vec.Value
	}{{f.LoProg, &f.lo}, {f.HiProg, &f.hi}} {
		if end.p == nil {
			continue
		}
		v, err := end.p.Eval(env, &vec.Chunk{N: 1})
		if err != nil {
			return err
		}
		*end.to = v.Value(0)
		if err := plan.CheckOffset(*end.to); err != nil {
			return err
		}
	}
	return nil
}

// changes marks the rows of a flat column that differ from the row before; the
// first row is left alone.
func changes(v *vec.Vector, fresh []bool) {
	switch {
	case v.Valid == nil && v.Int64s != nil:
		changesOf(v.Int64s, fresh)
	case v.Valid == nil && v.Int32s != nil:
		changesOf(v.Int32s, fresh)
	default:
		for i := 1; i < len(fresh); i++ {
			if !fresh[i] && !sameRow(v, i-1, i) {
				fresh[i] = true
			}
		}
	}
}

func changesOf[T int32 | int64](vals []T, fresh []bool) {
	for i := 1; i < len(fresh); i++ {
		if vals[i] != vals[i-1] {
			fresh[i] = true
		}
	}
}

// sameRow compares two rows of one column; NULL equals NULL.
func sameRow(v *vec.Vector, a, b int) bool {
	if na, nb := v.IsNull(a), v.IsNull(b); na || nb {
		return na == nb
	}
	return kernel.EqualRows(v, a, v, b)
}

// Tasks is the source of the second pipeline: an empty chunk for each task,
// numbered by its Seq.
func (w *Window) Tasks() sched.Morsels { return &windowTasks{n: len(w.tasks)} }

type windowTasks struct {
	n    int
	next atomic.Int64
}

// Morsels is the number of tasks.
func (t *windowTasks) Morsels() int { return t.n }

// Next implements sched.Morsels.
func (t *windowTasks) Next(context.Context) (*vec.Chunk, error) {
	i := t.next.Add(1) - 1
	if i >= int64(t.n) {
		return nil, nil
	}
	return &vec.Chunk{Seq: uint64(i)}, nil
}

// Close implements sched.Morsels.
func (t *windowTasks) Close() error { return nil }

// Results is the sink of the second pipeline.
func (w *Window) Results() sched.Sink { return &windowSink{w: w} }

type windowSink struct {
	w *Window
	// mu guards accounts.
	mu       sync.Mutex
	accounts []*mem.Account
}

// Local implements sched.Sink.
func (s *windowSink) Local(k *sched.Worker) (sched.Local, error) {
	l := &windowLocal{w: s.w, ctx: k.Ctx, account: mem.Account{Tracker: s.w.tracker}}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.accounts = append(s.accounts, &l.account)
	return l, nil
}

type windowLocal struct {
	noProgress
	w       *Window
	ctx     context.Context
	account mem.Account
}

// Push computes the task that the empty chunk stands for.
func (l *windowLocal) Push(c *vec.Chunk, _ sched.Pos) error {
	t := int(c.Seq)
	part := newWindowPart(l.ctx, l.w, l.w.tasks[t], &l.account)
	defer part.close()
	if err := part.sort(); err != nil {
		return err
	}
	for i := range l.w.Calls {
		need := int64(part.n) * max(4, rowBytes(l.w.Calls[i].Ret))
		if err := l.account.Grow(need); err != nil {
			return err
		}
		r, err := part.call(&l.w.Calls[i])
		if err != nil {
			return err
		}
		if err := l.account.Grow(max(0, r.bytes()-need)); err != nil { // long strings
			return err
		}
		l.w.results[i][t] = r
	}
	return nil
}

func (r windowResult) bytes() int64 {
	if r.vals != nil {
		return vectorBytes(r.vals, nil, r.vals.N)
	}
	return 4 * int64(len(r.rows))
}

// Finalize joins the results of the tasks.
func (s *windowSink) Finalize(k *sched.Worker) error {
	w := s.w
	for i, parts := range w.results {
		if k.Ctx.Err() != nil {
			return k.Ctx.Err()
		}
		if len(parts) == 1 {
			w.assembled = append(w.assembled, parts[0])
			continue
		}
		whole := windowResult{}
		bytes := int64(0)
		for _, p := range parts {
			bytes += p.bytes()
		}
		if err := w.out.Grow(bytes); err != nil {
			return err
		}
		if len(parts) == 0 || parts[0].vals != nil {
			whole.vals = vec.New(w.Calls[i].Ret, w.table.N)
		}
		for t, p := range parts {
			if p.vals != nil {
				appendAll(whole.vals, p.vals)
			} else {
				whole.rows = append(whole.rows, p.rows...)
			}
			parts[t] = windowResult{}
		}
		for _, a := range s.accounts {
			give := min(bytes, a.Bytes())
			a.Shrink(give)
			bytes -= give
		}
		w.assembled = append(w.assembled, whole)
	}
	w.results = nil
	return nil
}

// Source reads the rows with the calls behind their columns. Valid after both
// pipelines.
func (w *Window) Source() *Ranges {
	return NewRanges(w.table.N, func(from, to int) (*vec.Chunk, error) {
		c := (&Table{Cols: w.table.Cols[:w.width], N: w.table.N}).slice(from, to)
		for i := range w.Calls {
			c.Cols = append(c.Cols, w.output(i, from, to))
		}
		return c, nil
	})
}

// output is the result of a call for the table's rows [from, to).
func (w *Window) output(call, from, to int) *vec.Vector {
	r := w.assembled[call]
	if r.vals != nil {
		if w.place == nil {
			return r.vals.Slice(from, to)
		}
		return kernel.Gather(r.vals, w.place[from:to])
	}
	rows := make([]int32, to-from)
	var own []int32
	for i := range rows {
		at := from + i
		if w.place != nil {
			at = int(w.place[at])
		}
		rows[i] = r.rows[at]
		if rows[i] == defaultRow {
			own = append(own, int32(i))
			rows[i] = nullRow
		}
	}
	c := &w.Calls[call]
	out := pickOuter([]*vec.Vector{w.column(c.Args[0])}, rows)[0]
	if len(own) > 0 {
		out = w.withDefaults(c, out, own, from)
	}
	return out
}

// column is an argument for all rows of the table.
func (w *Window) column(a WindowArg) *vec.Vector {
	if a.Const != nil {
		return vec.Const(a.Type, *a.Const, w.table.N)
	}
	return w.table.Cols[w.stored.At[a.At]]
}

// withDefaults puts the third argument into the rows own of out, whose first is row from.
func (w *Window) withDefaults(c *WindowCall, out *vec.Vector, own []int32, from int) *vec.Vector {
	m := kernel.NewMerger(c.Ret, out.N)
	others := kernel.Subtract(nil, out.N, own)
	m.Put(kernel.Gather(out, others), others)
	rows := make([]int32, len(own))
	for i, r := range own {
		rows[i] = r + int32(from)
	}
	m.Put(kernel.Gather(w.column(c.Args[2]), rows), own)
	return m.Finish()
}
