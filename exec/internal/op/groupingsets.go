package op

import (
	"context"
	"sync/atomic"

	"github.com/loamdb/loam/exec/internal/hashtable"
	"github.com/loamdb/loam/exec/internal/sched"
	"github.com/loamdb/loam/internal/mem"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// GroupingSets is a sink that groups rows by several sets of keys. Rows are
// grouped by the sets that lie within no other alone, which are the finest. The
// groups of every other set are united from those of the smallest table that has
// its keys: no row is looked at again, but for the aggregates that keep theirs.
type GroupingSets struct {
	// Keys and KeyTypes are all keys; Sets list positions in them, ascending.
	Keys     Programs
	KeyTypes []types.Type
	Sets     [][]int
	Aggs     []Agg
	// Marks are, for each set, the constants behind the aggregates.
	Marks    [][]int32
	Tracker  *mem.Tracker
	SameHash bool

	finest []*finestSet
	tables []*setTable // by set
}

// finestSet is a set whose rows are grouped as they come.
type finestSet struct {
	keys []int
	agg  *Aggregate
}

// setTable is the finished table of one set. Sets with the same keys share it.
type setTable struct {
	keys   []int
	agg    *Aggregate
	result *aggLocal
	// from maps the groups of the finest table to groups here; nil in that one.
	from []uint32
}

// Prepare finds the finest sets; it is called once, before Local.
func (g *GroupingSets) Prepare() {
	for _, set := range g.Sets {
		if g.within(set) {
			continue
		}
		a := &Aggregate{Aggs: g.Aggs, Tracker: g.Tracker, SameHash: g.SameHash}
		for _, k := range set {
			a.Keys, a.KeyTypes = append(a.Keys, g.Keys[k]), append(a.KeyTypes, g.KeyTypes[k])
		}
		g.finest = append(g.finest, &finestSet{keys: set, agg: a})
	}
}

// within reports whether the set is, or lies within, one of the finest; a set
// within one that comes later counts too.
func (g *GroupingSets) within(set []int) bool {
	for _, f := range g.finest {
		if subset(set, f.keys) {
			return true
		}
	}
	for _, other := range g.Sets {
		if len(other) > len(set) && subset(set, other) {
			return true
		}
	}
	return false
}

// subset reports whether the ascending list a lies within b.
func subset(a, b []int) bool {
	for _, k := range b {
		if len(a) > 0 && a[0] == k {
			a = a[1:]
		}
	}
	return len(a) == 0
}

// Local implements sched.Sink.
func (g *GroupingSets) Local(w *sched.Worker) (sched.Local, error) {
	l := &setsLocal{}
	for _, f := range g.finest {
		part, err := f.agg.Local(w)
		if err != nil {
			return nil, err
		}
		l.parts = append(l.parts, part)
	}
	return l, nil
}

// setsLocal hands each chunk to the finest sets.
type setsLocal struct {
	noProgress
	parts []sched.Local
}

// Push implements sched.Local.
func (l *setsLocal) Push(c *vec.Chunk, pos sched.Pos) error {
	for _, p := range l.parts {
		if err := p.Push(c, pos); err != nil {
			return err
		}
	}
	return nil
}

// Finalize implements sched.Sink.
func (g *GroupingSets) Finalize(w *sched.Worker) error {
	g.tables = make([]*setTable, len(g.Sets))
	for _, f := range g.finest {
		if err := g.finish(w, f); err != nil {
			return err
		}
	}
	return nil
}

// finish makes the tables of one finest set and of all sets within it that have
// none yet, the larger sets first.
func (g *GroupingSets) finish(w *sched.Worker, f *finestSet) error {
	full, mapping, err := f.agg.unite(w)
	if err != nil {
		return err
	}
	done := []*setTable{{keys: f.keys, agg: f.agg, result: f.agg.result}}
	for size := len(f.keys); size >= 0; size-- {
		for i, set := range g.Sets {
			if len(set) != size || g.tables[i] != nil || !subset(set, f.keys) {
				continue
			}
			from := smallest(done, set)
			if len(from.keys) == size {
				g.tables[i] = from
				continue
			}
			if g.tables[i], err = from.coarsen(w, set); err != nil {
				return err
			}
			done = append(done, g.tables[i])
		}
	}
	err = f.agg.foldKept(w.Ctx, full, mapping, func(i int, t *Table) error {
		for _, s := range done[1:] {
			if err := s.refold(w.Ctx, i, t); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, l := range full {
		if l != f.agg.result {
			l.account.Close()
		}
	}
	return nil
}

// smallest is the table with the fewest groups among those that have the keys.
func smallest(tables []*setTable, keys []int) *setTable {
	var best *setTable
	for _, t := range tables {
		if subset(keys, t.keys) && (best == nil || len(t.keys) == len(keys) || t.result.n < best.result.n) {
			best = t
		}
	}
	return best
}

// coarsen unites the groups of a table that agree in some of its keys.
func (t *setTable) coarsen(w *sched.Worker, keys []int) (*setTable, error) {
	var ts []types.Type
	var at []int
	for i, k := range t.keys {
		for _, want := range keys {
			if k == want {
				ts, at = append(ts, t.keyTypes()[i]), append(at, i)
			}
		}
	}
	l, err := t.agg.newLocal(w.Env, ts)
	if err != nil {
		return nil, err
	}
	ids, err := t.regroup(w.Ctx, l, at)
	if err != nil {
		return nil, err
	}
	if err := l.hold(t.result.grown); err != nil {
		return nil, err
	}
	for i, acc := range l.accs {
		if err := acc.Merge(t.result.accs[i], nil, ids); err != nil {
			return nil, err
		}
	}
	out := &setTable{keys: keys, agg: t.agg, result: l, from: ids}
	if t.from != nil {
		out.from = make([]uint32, len(t.from))
		for i, id := range t.from {
			out.from[i] = ids[id]
		}
	}
	return out, nil
}

func (t *setTable) keyTypes() []types.Type {
	if t.result.groups == nil {
		return nil
	}
	return t.result.groups.Types()
}

// regroup numbers the groups of t by the keys at the positions, in l.
func (t *setTable) regroup(ctx context.Context, l *aggLocal, at []int) ([]uint32, error) {
	ids := make([]uint32, t.result.n)
	if l.groups == nil {
		return ids, nil
	}
	for from := 0; from < t.result.n; from += vec.ChunkRows {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		n := min(vec.ChunkRows, t.result.n-from)
		all := vec.NewChunk(t.keyTypes(), n)
		t.result.groups.Keys(all.Cols, from, n)
		keys := make([]*vec.Vector, len(at))
		for i, k := range at {
			keys[i] = all.Cols[k]
		}
		if err := l.groups.Find(keys, nil, n, ids[from:from+n]); err != nil {
			return nil, err
		}
	}
	return ids, l.grow(l.groups.Len())
}

// refold folds the rows that aggregate i kept into the groups of a coarser table;
// what was distinct within a finer group is made distinct again.
func (t *setTable) refold(ctx context.Context, i int, rows *Table) error {
	account := mem.Account{Tracker: t.agg.Tracker}
	defer account.Close()
	ids := vec.NewFlat(types.Of(types.Int64), rows.N)
	if err := account.Grow(int64(rows.N) * 8); err != nil {
		return err
	}
	for k, id := range rows.Cols[0].Int64s {
		ids.Int64s[k] = int64(t.from[id])
	}
	mine := &Table{N: rows.N, Cols: append([]*vec.Vector{ids}, rows.Cols[1:]...)}
	if t.agg.Aggs[i].Distinct {
		ts := t.agg.Aggs[i].keptTypes()
		all := hashtable.NewGroups(ts, &account, t.agg.SameHash)
		for from := 0; from < mine.N; from += vec.ChunkRows {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			c := mine.slice(from, min(mine.N, from+vec.ChunkRows))
			if err := all.Find(c.Cols, nil, c.N, make([]uint32, c.N)); err != nil {
				return err
			}
		}
		var err error
		if mine, err = groupsTable(ctx, all, ts, &account); err != nil {
			return err
		}
	}
	return t.agg.foldTable(ctx, i, mine, t.result, &account)
}

// Source reads the rows of all sets, one set after the other. Valid after Finalize.
func (g *GroupingSets) Source() *SetRows {
	s := &SetRows{g: g}
	for i, t := range g.tables {
		for from := 0; from < t.result.n; from += vec.ChunkRows {
			s.parts = append(s.parts, setPart{set: i, from: from, n: min(vec.ChunkRows, t.result.n-from)})
		}
	}
	return s
}

// SetRows is the source of the rows of grouping sets. Safe for several workers.
type SetRows struct {
	g     *GroupingSets
	parts []setPart
	next  atomic.Int64
}

// setPart is a range of the groups of one set.
type setPart struct{ set, from, n int }

// Morsels is the number of chunks.
func (s *SetRows) Morsels() int { return len(s.parts) }

// Next implements sched.Morsels.
func (s *SetRows) Next(context.Context) (*vec.Chunk, error) {
	i := s.next.Add(1) - 1
	if i >= int64(len(s.parts)) {
		return nil, nil
	}
	p := s.parts[i]
	t := s.g.tables[p.set]
	c, err := t.agg.chunk(t.result, p.from, p.n)
	if err != nil {
		return nil, err
	}
	keys, rest := c.Cols[:len(t.keys)], c.Cols[len(t.keys):]
	out := &vec.Chunk{N: p.n, Seq: uint64(i)}
	for k, kt := range s.g.KeyTypes {
		if len(keys) > 0 && t.keys[len(t.keys)-len(keys)] == k {
			out.Cols, keys = append(out.Cols, keys[0]), keys[1:]
			continue
		}
		out.Cols = append(out.Cols, vec.Const(kt, vec.Null(kt), p.n))
	}
	out.Cols = append(out.Cols, rest...)
	for _, m := range s.g.Marks[p.set] {
		out.Cols = append(out.Cols, vec.Const(types.Of(types.Int32), vec.Int32(m), p.n))
	}
	return out, nil
}

// Close implements sched.Morsels.
func (s *SetRows) Close() error { return nil }
