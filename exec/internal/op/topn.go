package op

import (
	"sync/atomic"

	"github.com/loamdb/loam/exec/internal/sched"
	"github.com/loamdb/loam/internal/kernel"
	"github.com/loamdb/loam/internal/mem"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// TopN is a sink that keeps the first N rows in the order of its keys. Each
// worker holds about 2·N rows and two chunks: when they are reached it keeps the
// best N, and the worst of them is what later rows must beat.
type TopN struct {
	Sort
	n int
	// bound is the smallest first-key prefix that some worker's N best rows reach:
	// rows with a greater one are wanted by no worker.
	bound atomic.Uint64
}

const noBound = ^uint64(0)

// NewTopN returns a top-n sink, as NewSort; n > 0.
func NewTopN(n, width int, s *Stored, dirs []Direction, t *mem.Tracker) *TopN {
	top := &TopN{Sort: *NewSort(width, s, dirs, t), n: n}
	top.bound.Store(noBound)
	return top
}

// Local implements sched.Sink.
func (t *TopN) Local(w *sched.Worker) (sched.Local, error) {
	return &topLocal{t: t, buffer: t.add(), w: w, own: noBound}, nil
}

type topLocal struct {
	*buffer
	noProgress
	t  *TopN
	w  *sched.Worker
	es []entry
	// own is this worker's bound. Later rows must have a smaller prefix when the
	// prefix is the whole key, since ties keep the input's order.
	own uint64
}

// Push implements sched.Local.
func (l *topLocal) Push(c *vec.Chunk, pos sched.Pos) error {
	wide, err := l.t.stored.Widen(l.w.Env, c)
	if err != nil {
		return err
	}
	if bound := min(l.own, l.t.bound.Load()); bound != noBound {
		wide = l.within(wide, bound)
	}
	if wide.Sel == nil {
		// A few rows of it may be kept for long: have them copied out of the input's columns.
		wide = &vec.Chunk{Cols: wide.Cols, N: wide.N, Sel: kernel.Identity(wide.N), Seq: wide.Seq}
	}
	if err := l.keep(wide, pos); err != nil {
		return err
	}
	if l.rows >= 2*l.t.n+2*vec.ChunkRows {
		return l.cut()
	}
	return nil
}

// within keeps the rows whose first key may still be among the best.
func (l *topLocal) within(c *vec.Chunk, bound uint64) *vec.Chunk {
	key, dir := c.Cols[l.t.stored.At[0]], l.t.dirs[0]
	if bound == l.own && len(l.t.dirs) == 1 && exact(key.Type) && bound > 0 {
		bound--
	}
	nulls := key.HasNulls()
	n := c.Rows()
	l.es = l.es[:0]
	for i := range n {
		if r := c.RowAt(i); !nulls || !key.IsNull(r) {
			l.es = append(l.es, entry{row: int32(key.Row(r))})
		}
	}
	prefixes(flatBase(key), dir.Desc, l.es)
	sel := make([]int32, 0, 64)
	k := 0
	for i := range n {
		r := c.RowAt(i)
		if nulls && key.IsNull(r) {
			if dir.NullsFirst {
				sel = append(sel, int32(r))
			}
			continue
		}
		if l.es[k].prefix <= bound {
			sel = append(sel, int32(r))
		}
		k++
	}
	return &vec.Chunk{Cols: c.Cols, N: c.N, Sel: sel, Seq: c.Seq}
}

// cut drops all but the best n rows. What stays keeps its chunk's position.
func (l *topLocal) cut() error {
	if err := l.w.Ctx.Err(); err != nil {
		return err
	}
	t := l.t
	stored := make([]types.Type, len(t.stored.At))
	for i, at := range t.stored.At {
		stored[i] = t.stored.Types[at]
	}
	all := vec.NewChunk(stored, l.rows)
	for _, h := range l.chunks {
		all.AppendRows(&vec.Chunk{Cols: t.stored.Columns(h.c.Cols), N: h.c.N})
	}
	order, err := sortRows(l.w.Ctx, all.Cols, t.dirs, l.rows, &l.account)
	if err != nil {
		return err
	}
	l.lower(all.Cols[0], order[t.n-1])
	wanted := make([]bool, l.rows)
	for _, r := range order[:t.n] {
		wanted[r] = true
	}
	l.account.Shrink(int64(len(order)) * 4)
	return l.retain(wanted)
}

// lower sets the bounds to the prefix of the worst row that stays.
func (l *topLocal) lower(key *vec.Vector, worst int32) {
	if !radixable(key.Type) || key.IsNull(int(worst)) {
		return
	}
	es := []entry{{row: worst}}
	prefixes(key, l.t.dirs[0].Desc, es)
	l.own = es[0].prefix
	for {
		old := l.t.bound.Load()
		if l.own >= old || l.t.bound.CompareAndSwap(old, l.own) {
			return
		}
	}
}

// retain replaces the held chunks by their wanted rows.
func (l *topLocal) retain(wanted []bool) error {
	old := l.chunks
	l.chunks, l.rows = nil, 0
	from, bytes := 0, int64(0)
	for _, h := range old {
		sel := make([]int32, 0, h.c.N)
		for i := range h.c.N {
			if wanted[from+i] {
				sel = append(sel, int32(i))
			}
		}
		from += h.c.N
		if len(sel) == 0 {
			continue
		}
		k := vec.NewChunk(l.t.stored.Types, len(sel))
		k.AppendRows(&vec.Chunk{Cols: h.c.Cols, N: h.c.N, Sel: sel})
		bytes += chunkBytes(k)
		l.chunks = append(l.chunks, held{h.pos, k})
		l.rows += len(sel)
	}
	return l.account.Set(bytes)
}
