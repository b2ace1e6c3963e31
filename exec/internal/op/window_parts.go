package op

import (
	"context"

	"github.com/loamdb/loam/exec/internal/hashtable"
	"github.com/loamdb/loam/exec/internal/sched"
	"github.com/loamdb/loam/internal/kernel"
	"github.com/loamdb/loam/internal/mem"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// part finds the partitions: by hash, numbered as they first appear. Calls that
// are all over whole partitions are folded at once, and no row moves.
func (w *Window) part(k *sched.Worker) error {
	n := w.table.N
	if n == 0 {
		return nil
	}
	if w.Parts == 0 {
		w.starts = []int32{0}
		if w.Orders == 0 {
			return nil
		}
		if err := w.out.Grow(8 * int64(n)); err != nil {
			return err
		}
		w.order, w.place = kernel.Identity(n), make([]int32, n)
		return nil
	}
	ids, parts, err := w.group(k.Ctx)
	if err != nil {
		return err
	}
	if w.allWhole() {
		return w.foldParts(k.Ctx, ids, parts)
	}
	if err := w.out.Grow(4*int64(n) + 8*int64(parts)); err != nil {
		return err
	}
	w.starts = make([]int32, parts+1)
	for _, id := range ids {
		w.starts[id+1]++
	}
	for i := range parts {
		w.starts[i+1] += w.starts[i]
	}
	next := append([]int32(nil), w.starts...)
	w.starts = w.starts[:parts]
	w.order, w.place = make([]int32, n), make([]int32, n)
	for r, id := range ids {
		w.order[next[id]] = int32(r)
		next[id]++
	}
	return nil
}

// group numbers the partition of each row.
func (w *Window) group(ctx context.Context) (ids []uint32, parts int, err error) {
	n := w.table.N
	if err := w.out.Grow(8 * int64(n)); err != nil {
		return nil, 0, err
	}
	account := mem.Account{Tracker: w.tracker}
	defer account.Close()
	keys := &Table{Cols: w.stored.Columns(w.table.Cols)[:w.Parts], N: n}
	ts := make([]types.Type, w.Parts)
	for i, col := range keys.Cols {
		ts[i] = col.Type
	}
	groups := hashtable.NewGroups(ts, &account, w.SameHash)
	ids = make([]uint32, n)
	for from := 0; from < n; from += vec.ChunkRows {
		if ctx.Err() != nil {
			return nil, 0, ctx.Err()
		}
		to := min(n, from+vec.ChunkRows)
		if err := groups.Find(keys.slice(from, to).Cols, nil, to-from, ids[from:to]); err != nil {
			return nil, 0, err
		}
	}
	return ids, groups.Len(), nil
}

// allWhole reports whether each call is an aggregate of whole partitions.
func (w *Window) allWhole() bool {
	for i := range w.Calls {
		if c := &w.Calls[i]; c.Agg == nil || !c.Frame.whole(w.Orders) {
			return false
		}
	}
	return w.Orders == 0
}

// foldParts folds each call over all partitions; a row's place is its partition.
func (w *Window) foldParts(ctx context.Context, ids []uint32, parts int) error {
	for i := range w.Calls {
		vals, err := w.foldCall(ctx, &w.Calls[i], ids, parts)
		if err != nil {
			return err
		}
		w.assembled = append(w.assembled, windowResult{vals: vals})
	}
	w.place = make([]int32, len(ids))
	for r, id := range ids {
		w.place[r] = int32(id)
	}
	return nil
}

// foldCall is the result of one call for each partition, in the rows' order.
func (w *Window) foldCall(ctx context.Context, c *WindowCall, ids []uint32, parts int) (*vec.Vector, error) {
	if err := w.out.Grow(int64(parts) * (stateBytes + rowBytes(c.Ret))); err != nil {
		return nil, err
	}
	acc := c.Agg.New(c.argTypes(), c.Ret)
	acc.Grow(parts)
	cols := make([]*vec.Vector, len(c.Args))
	for i, a := range c.Args {
		cols[i] = w.column(a)
	}
	var passed *vec.Vector
	if c.Filter >= 0 {
		passed = w.table.Cols[w.stored.At[c.Filter]]
	}
	for from := 0; from < len(ids); from += vec.ChunkRows {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		to := min(len(ids), from+vec.ChunkRows)
		args := (&Table{Cols: cols, N: w.table.N}).slice(from, to).Cols
		groups, rows := ids[from:to], []int32(nil)
		if passed != nil {
			rows = kernel.SelectTrue(passed.Slice(from, to), nil)
			if len(rows) == 0 {
				continue
			}
			groups = make([]uint32, len(rows))
			for i, r := range rows {
				groups[i] = ids[from+int(r)]
			}
		}
		if c.Agg.Grows {
			for _, v := range args {
				if err := w.out.Grow(vectorBytes(v, rows, len(groups))); err != nil {
					return nil, err
				}
			}
		}
		if err := acc.Update(groups, args, rows); err != nil {
			return nil, err
		}
	}
	vals := vec.New(c.Ret, parts)
	return vals, acc.Finish(vals, 0, parts)
}

// cutTasks groups partitions into tasks.
func (w *Window) cutTasks() {
	for from := 0; from < len(w.starts); {
		to := from + 1
		for to < len(w.starts) && w.starts[to]-w.starts[from] < taskRows {
			to++
		}
		w.tasks = append(w.tasks, [2]int{from, to})
		from = to
	}
}

// sort sorts the part's partitions and notes where their rows lie.
func (p *windowPart) sort() error {
	if p.rows == nil {
		return nil
	}
	if p.w.Orders > 0 {
		largest := 0
		for k, s := range p.starts[:len(p.starts)-1] {
			largest = max(largest, int(p.starts[k+1]-s))
		}
		if err := p.account.Grow(int64(largest) * entryBytes); err != nil {
			return err
		}
		defer p.account.Shrink(int64(largest) * entryBytes)
		keys := p.w.stored.Columns(p.w.table.Cols)[p.w.Parts : p.w.Parts+p.w.Orders]
		s := newSorter(p.ctx, keys, p.w.dirs[p.w.Parts:], largest)
		for k, from := range p.starts[:len(p.starts)-1] {
			s.sort(p.rows[from:p.starts[k+1]], 0)
		}
		if s.err != nil {
			return s.err
		}
	}
	for i, r := range p.rows {
		p.w.place[r] = int32(p.from + i)
	}
	return p.ctx.Err()
}
