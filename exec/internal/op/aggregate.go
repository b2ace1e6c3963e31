package op

import (
	"context"
	"sort"
	"sync"

	"github.com/loamdb/loam/exec/internal/hashtable"
	"github.com/loamdb/loam/exec/internal/sched"
	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/mem"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// Agg is one aggregate of an Aggregate.
type Agg struct {
	Fn       *expr.AggFunc
	Args     Programs
	ArgTypes []types.Type
	Ret      types.Type
	// Filter passes the rows that count; nil passes all.
	Filter *expr.Program
	// InOrder aggregates depend on the order of their rows: the input's, where
	// Order does not say another.
	InOrder bool
	// Grows says that a state holds its rows.
	Grows bool
	// Distinct folds each combination of arguments once a group.
	Distinct bool
	// Order and Dirs fix the order in which rows are folded.
	Order      Programs
	OrderTypes []types.Type
	Dirs       []Direction
}

// deferred aggregates keep their rows and fold them when all are there.
func (a *Agg) deferred() bool { return a.Distinct || a.InOrder || len(a.Order) > 0 }

func (a *Agg) keptTypes() []types.Type {
	ts := append([]types.Type{types.Of(types.Int64)}, a.ArgTypes...)
	return append(ts, a.OrderTypes...)
}

// Aggregate is a sink that groups rows by keys, in order of first appearance,
// and folds them. Without keys there is one group, of no rows perhaps.
type Aggregate struct {
	Keys     Programs
	KeyTypes []types.Type
	Aggs     []Agg
	Tracker  *mem.Tracker
	SameHash bool

	// mu guards locals, and Finish while the result is read.
	mu     sync.Mutex
	locals []*aggLocal
	result *aggLocal
}

// stateBytes is what is reserved for the state of one group of one aggregate.
const stateBytes = 48

// Local implements sched.Sink.
func (a *Aggregate) Local(w *sched.Worker) (sched.Local, error) {
	l, err := a.newLocal(w.Env, a.KeyTypes)
	if err != nil {
		return nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.locals = append(a.locals, l)
	return l, nil
}

func (a *Aggregate) newLocal(env *expr.Env, keys []types.Type) (*aggLocal, error) {
	l := &aggLocal{a: a, env: env, account: mem.Account{Tracker: a.Tracker}}
	if len(keys) > 0 {
		l.groups = hashtable.NewGroups(keys, &l.account, a.SameHash)
	}
	for i := range a.Aggs {
		agg := &a.Aggs[i]
		l.accs = append(l.accs, agg.Fn.New(agg.ArgTypes, agg.Ret))
		k := &kept{}
		switch {
		case agg.Distinct:
			k.distinct = hashtable.NewGroups(agg.keptTypes(), &l.account, a.SameHash)
		case agg.deferred():
			k.rows = &buffer{account: mem.Account{Tracker: a.Tracker}}
		}
		l.kept = append(l.kept, k)
	}
	if l.groups == nil {
		return l, l.grow(1)
	}
	return l, nil
}

// kept is what a worker keeps of a deferred aggregate: rows of group number,
// arguments and order keys, distinct or all.
type kept struct {
	distinct *hashtable.Groups
	rows     *buffer
}

// aggLocal is one worker's table.
type aggLocal struct {
	noProgress
	a       *Aggregate
	env     *expr.Env
	account mem.Account
	groups  *hashtable.Groups
	n       int
	accs    []expr.Accumulator
	// grown are the bytes taken for states that hold their rows.
	grown int64
	kept  []*kept
	// runs say at which position groups first appeared, ascending.
	runs []groupRun

	ids  []uint32
	byAt []uint32
	dict dictIDs
}

// groupRun is a range of groups that first appeared in one morsel.
type groupRun struct {
	seq      uint64
	from, to int
}

// dictIDs remembers the groups of the entries of the last dictionary seen.
type dictIDs struct {
	dict *vec.Vector
	ids  []uint32 // group + 1
}

// Push implements sched.Local.
func (l *aggLocal) Push(c *vec.Chunk, pos sched.Pos) error {
	if c.Rows() == 0 {
		return nil
	}
	if err := l.assign(c, pos); err != nil {
		return err
	}
	scattered := false
	for i := range l.a.Aggs {
		agg := &l.a.Aggs[i]
		part, ids := c, l.ids
		if agg.Filter != nil {
			sel, err := agg.Filter.Select(l.env, c)
			if err != nil {
				return err
			}
			if len(sel) == 0 {
				continue
			}
			if !scattered {
				l.scatter(c)
				scattered = true
			}
			part = &vec.Chunk{Cols: c.Cols, N: c.N, Sel: sel}
			ids = make([]uint32, len(sel))
			for k, r := range sel {
				ids[k] = l.byAt[r]
			}
		}
		if err := l.fold(i, part, ids, pos); err != nil {
			return err
		}
	}
	return nil
}

// assign finds the group of every row of c.
func (l *aggLocal) assign(c *vec.Chunk, pos sched.Pos) error {
	n := c.Rows()
	if cap(l.ids) < n {
		l.ids = make([]uint32, n)
	}
	l.ids = l.ids[:n]
	if l.groups == nil {
		clear(l.ids)
		return nil
	}
	keys, err := l.a.Keys.Eval(l.env, c)
	if err != nil {
		return err
	}
	if !l.viaDict(keys, c) {
		if err := l.groups.Find(keys, c.Sel, n, l.ids); err != nil {
			return err
		}
	} else if err := l.findDict(keys, c); err != nil {
		return err
	}
	if now := l.groups.Len(); now > l.n {
		l.runs = append(l.runs, groupRun{pos.Seq, l.n, now})
		return l.grow(now)
	}
	return nil
}

// viaDict reports whether the groups can be looked up per dictionary entry.
func (l *aggLocal) viaDict(keys []*vec.Vector, c *vec.Chunk) bool {
	k := keys[0]
	return len(keys) == 1 && k.Encoding == vec.Dictionary && !k.HasNulls() && k.Dict.N <= 4*c.Rows()
}

// findDict looks up each entry of the dictionary once, in order of appearance.
func (l *aggLocal) findDict(keys []*vec.Vector, c *vec.Chunk) error {
	k := keys[0]
	if l.dict.dict != k.Dict {
		l.dict = dictIDs{dict: k.Dict, ids: make([]uint32, k.Dict.N)}
	}
	ids := l.dict.ids
	var fresh []int32
	for i := range l.ids {
		r := c.RowAt(i)
		if code := k.Codes[r]; ids[code] == 0 {
			ids[code] = pendingID
			fresh = append(fresh, int32(r))
		}
	}
	if len(fresh) > 0 {
		found := make([]uint32, len(fresh))
		if err := l.groups.Find(keys, fresh, len(fresh), found); err != nil {
			return err
		}
		for i, r := range fresh {
			ids[k.Codes[r]] = found[i] + 1
		}
	}
	for i := range l.ids {
		l.ids[i] = ids[k.Codes[c.RowAt(i)]] - 1
	}
	return nil
}

const pendingID = ^uint32(0)

// grow makes room for n groups in the accumulators.
func (l *aggLocal) grow(n int) error {
	if err := l.account.Grow(int64(n-l.n) * stateBytes * int64(len(l.accs))); err != nil {
		return err
	}
	l.n = n
	for _, acc := range l.accs {
		acc.Grow(n)
	}
	return nil
}

// scatter makes the groups addressable by position in the chunk.
func (l *aggLocal) scatter(c *vec.Chunk) {
	if c.Sel == nil {
		l.byAt = append(l.byAt[:0], l.ids...)
		return
	}
	if cap(l.byAt) < c.N {
		l.byAt = make([]uint32, c.N)
	}
	l.byAt = l.byAt[:c.N]
	for i, r := range c.Sel {
		l.byAt[r] = l.ids[i]
	}
}

// fold folds the selected rows of c into their groups, or keeps them.
func (l *aggLocal) fold(i int, c *vec.Chunk, ids []uint32, pos sched.Pos) error {
	agg := &l.a.Aggs[i]
	args, err := agg.Args.Eval(l.env, c)
	if err != nil {
		return err
	}
	if !agg.deferred() {
		return l.update(i, ids, args, c.Sel)
	}
	order, err := agg.Order.Eval(l.env, c)
	if err != nil {
		return err
	}
	group := vec.NewFlat(types.Of(types.Int64), c.N)
	for k, id := range ids {
		group.Int64s[c.RowAt(k)] = int64(id)
	}
	cols := append(append([]*vec.Vector{group}, args...), order...)
	if d := l.kept[i].distinct; d != nil {
		return d.Find(cols, c.Sel, c.Rows(), make([]uint32, c.Rows()))
	}
	return l.kept[i].rows.keep(&vec.Chunk{Cols: cols, N: c.N, Sel: c.Sel}, pos)
}

// update folds rows into the states of aggregate i. States that hold their rows
// are taken to be as large as those.
func (l *aggLocal) update(i int, ids []uint32, args []*vec.Vector, rows []int32) error {
	if l.a.Aggs[i].Grows {
		for _, v := range args {
			if err := l.hold(vectorBytes(v, rows, len(ids))); err != nil {
				return err
			}
		}
	}
	return l.accs[i].Update(ids, args, rows)
}

// hold takes bytes for states that hold their rows.
func (l *aggLocal) hold(bytes int64) error {
	l.grown += bytes
	return l.account.Grow(bytes)
}

// Finalize implements sched.Sink.
func (a *Aggregate) Finalize(w *sched.Worker) error {
	full, mapping, err := a.unite(w)
	if err != nil {
		return err
	}
	if err := a.foldKept(w.Ctx, full, mapping, nil); err != nil {
		return err
	}
	for _, l := range full {
		if l != a.result {
			l.account.Close()
		}
	}
	return nil
}

// unite makes the result of all workers' tables but for what deferred aggregates
// kept: that is with the tables full, whose groups mapping numbers in the result
// (nil: they have its numbers).
func (a *Aggregate) unite(w *sched.Worker) (full []*aggLocal, mapping [][]uint32, err error) {
	for _, l := range a.locals {
		if l.groups == nil || l.n > 0 {
			full = append(full, l)
		}
	}
	a.locals = nil
	if len(full) == 1 {
		a.result = full[0]
		return full, nil, nil
	}
	if a.result, err = a.newLocal(w.Env, a.KeyTypes); err != nil || len(full) == 0 {
		return nil, nil, err
	}
	mapping, err = a.merge(w.Ctx, a.result, full)
	return full, mapping, err
}

// merge folds the workers' tables into one, adding groups in the order in which
// they appeared in the input; mapping[w][g] is the merged number of worker w's
// group g.
func (a *Aggregate) merge(ctx context.Context, merged *aggLocal, full []*aggLocal) ([][]uint32, error) {
	type placed struct {
		groupRun
		worker int
	}
	var runs []placed
	mapping := make([][]uint32, len(full))
	for w, l := range full {
		mapping[w] = make([]uint32, l.n)
		for _, r := range l.runs {
			runs = append(runs, placed{r, w})
		}
	}
	sort.SliceStable(runs, func(i, j int) bool { return runs[i].seq < runs[j].seq })
	for _, r := range runs {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err := merged.groups.FindFrom(full[r.worker].groups, r.from, mapping[r.worker][r.from:r.to]); err != nil {
			return nil, err
		}
	}
	if merged.groups != nil {
		if err := merged.grow(merged.groups.Len()); err != nil {
			return nil, err
		}
	}
	for w, l := range full {
		for i, acc := range merged.accs {
			if err := acc.Merge(l.accs[i], nil, mapping[w]); err != nil {
				return nil, err
			}
		}
		merged.grown += l.grown
		l.accs, l.groups = nil, nil
	}
	return mapping, nil
}

// Source reads the groups and their results. Valid after Finalize.
func (a *Aggregate) Source() *Ranges {
	return NewRanges(a.result.n, func(from, to int) (*vec.Chunk, error) { return a.chunk(a.result, from, to-from) })
}

// chunk is n groups of a finished table, keys then results.
func (a *Aggregate) chunk(r *aggLocal, from, n int) (*vec.Chunk, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	c := &vec.Chunk{N: n}
	if r.groups != nil {
		for _, t := range r.groups.Types() {
			c.Cols = append(c.Cols, vec.New(t, n))
		}
		r.groups.Keys(c.Cols, from, n)
	}
	for i, agg := range a.Aggs {
		v := vec.New(agg.Ret, n)
		if err := r.accs[i].Finish(v, from, n); err != nil {
			return nil, err
		}
		c.Cols = append(c.Cols, v)
	}
	return c, nil
}
