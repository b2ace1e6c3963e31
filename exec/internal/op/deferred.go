package op

import (
	"context"

	"github.com/loamdb/loam/exec/internal/hashtable"
	"github.com/loamdb/loam/internal/mem"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// foldKept folds the rows that deferred aggregates kept into the result, whose
// group numbers mapping gives (nil: the one worker's own). coarser, when not nil,
// is then called with the rows, by the result's group numbers.
func (a *Aggregate) foldKept(ctx context.Context, full []*aggLocal, mapping [][]uint32, coarser func(i int, t *Table) error) error {
	for i := range a.Aggs {
		if !a.Aggs[i].deferred() || len(full) == 0 {
			continue
		}
		account := mem.Account{Tracker: a.Tracker}
		t, err := a.keptTable(ctx, i, full, mapping, &account)
		if err == nil {
			err = a.foldTable(ctx, i, t, a.result, &account)
		}
		if err == nil && coarser != nil {
			err = coarser(i, t)
		}
		account.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

// keptTable gathers the rows of aggregate i from all workers, in input order,
// with the result's group numbers in the first column.
func (a *Aggregate) keptTable(ctx context.Context, i int, full []*aggLocal, mapping [][]uint32, account *mem.Account) (*Table, error) {
	agg := &a.Aggs[i]
	if agg.Distinct {
		return a.distinctTable(ctx, i, full, mapping, account)
	}
	bufs := make([]*buffer, len(full))
	for w, l := range full {
		bufs[w] = l.kept[i].rows
		for _, h := range bufs[w].chunks {
			renumber(h.c.Cols[0], mapping, w)
		}
	}
	return concat(ctx, agg.keptTypes(), bufs, account)
}

// renumber replaces worker w's group numbers by the result's.
func renumber(ids *vec.Vector, mapping [][]uint32, w int) {
	if mapping == nil {
		return
	}
	for k, id := range ids.Int64s {
		ids.Int64s[k] = int64(mapping[w][id])
	}
}

// distinctTable unites the workers' distinct rows.
func (a *Aggregate) distinctTable(ctx context.Context, i int, full []*aggLocal, mapping [][]uint32, account *mem.Account) (*Table, error) {
	ts := a.Aggs[i].keptTypes()
	all := full[0].kept[i].distinct
	if len(full) > 1 {
		all = hashtable.NewGroups(ts, account, a.SameHash)
		for w, l := range full {
			d := l.kept[i].distinct
			for from := 0; from < d.Len(); from += vec.ChunkRows {
				if ctx.Err() != nil {
					return nil, ctx.Err()
				}
				n := min(vec.ChunkRows, d.Len()-from)
				c := vec.NewChunk(ts, n)
				d.Keys(c.Cols, from, n)
				renumber(c.Cols[0], mapping, w)
				if err := all.Find(c.Cols, nil, n, make([]uint32, n)); err != nil {
					return nil, err
				}
			}
			l.kept[i].distinct = nil
		}
	}
	return groupsTable(ctx, all, ts, account)
}

// groupsTable lists the keys of a table of groups of the types.
func groupsTable(ctx context.Context, all *hashtable.Groups, ts []types.Type, account *mem.Account) (*Table, error) {
	t := &Table{N: all.Len()}
	c := vec.NewChunk(ts, vec.ChunkRows)
	for from := 0; from < t.N; from += vec.ChunkRows {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		n := min(vec.ChunkRows, t.N-from)
		part := vec.NewChunk(ts, n)
		all.Keys(part.Cols, from, n)
		part.N = n
		if err := account.Grow(chunkBytes(part)); err != nil {
			return nil, err
		}
		c.AppendRows(part)
	}
	t.Cols = c.Cols
	return t, nil
}

// foldTable folds kept rows into groups of a table, in the order that the aggregate asks for.
func (a *Aggregate) foldTable(ctx context.Context, i int, t *Table, into *aggLocal, account *mem.Account) error {
	agg := &a.Aggs[i]
	keys := t.Cols[1+len(agg.ArgTypes):]
	var order []int32
	if len(agg.Dirs) > 0 {
		var err error
		if order, err = sortRows(ctx, keys, agg.Dirs, t.N, account); err != nil {
			return err
		}
	}
	ids := make([]uint32, 0, vec.ChunkRows)
	for from := 0; from < t.N; from += vec.ChunkRows {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		to := min(t.N, from+vec.ChunkRows)
		part := t.slice(from, to)
		if order != nil {
			part = Pick(t.Cols, order[from:to], 0)
		}
		ids = ids[:0]
		for _, id := range part.Cols[0].Int64s {
			ids = append(ids, uint32(id))
		}
		if err := into.update(i, ids, part.Cols[1:1+len(agg.ArgTypes)], nil); err != nil {
			return err
		}
	}
	return nil
}
