package loam

import (
	"context"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/internal/snapshot"
	"github.com/loamdb/loam/internal/vec"
	"github.com/loamdb/loam/storage/collection"
)

// arrivals are the rows of an INSERT … ON CONFLICT and what is there already.
type arrivals struct {
	c    *collection.Collection
	snap *collection.Snapshot
	cols []*vec.Vector // as the input has them
	keys []string
	// fresh are the rows whose key is not there, the first of each key.
	fresh []int32
}

// insertOr runs INSERT … ON CONFLICT: which keys are there is decided on one state,
// and the append fails with Conflict if one of them has changed since.
func (st *Statement) insertOr(ctx context.Context, n *plan.Insert) (*Result, error) {
	e := st.session.engine
	pin, snaps, err := st.session.pin(ctx, n.Input)
	if err != nil {
		return nil, err
	}
	cols, rows, err := st.collect(ctx, n.Input, pin, snaps)
	if err != nil {
		return nil, err
	}
	update := n.Conflict.Update
	if update != nil {
		if pin, snaps, err = st.session.pin(ctx, update); err != nil {
			return nil, err
		}
	}
	a := &arrivals{cols: cols, snap: snaps[stateKey{id: n.Object.ID}]}
	if a.c, err = e.byID(ctx, n.Object.ID); err != nil {
		return nil, err
	}
	if update == nil || a.snap == nil {
		if a.snap, err = a.c.Strong(ctx); err != nil {
			return nil, err
		}
	}
	byField, err := a.find(ctx, n, rows)
	if err != nil {
		return nil, err
	}
	back, err := st.returning(ctx, n.Returning, pin, picked(cols, a.fresh), len(a.fresh))
	if err != nil {
		return nil, err
	}
	batch, err := collection.FromColumns(a.snap.Object(), picked(byField, a.fresh), len(a.fresh))
	if err != nil {
		return nil, err
	}
	changed := 0
	if update != nil {
		if batch, changed, err = st.patchThere(ctx, n, a, rows, pin, snaps, batch); err != nil {
			return nil, err
		}
	}
	total := len(a.fresh) + changed
	if total == 0 {
		return back.with(written(0, snapshot.Token{})), nil
	}
	token, err := a.c.AppendIf(ctx, batch, a.snap)
	if err != nil {
		return nil, err
	}
	return back.with(written(total, token)), nil
}

// find sets keys and fresh, and returns the columns by field.
func (a *arrivals) find(ctx context.Context, n *plan.Insert, rows int) ([]*vec.Vector, error) {
	obj := a.snap.Object()
	byField := make([]*vec.Vector, len(obj.Fields))
	for i, name := range n.Fields {
		at, err := position(obj, n.Object, name)
		if err != nil {
			return nil, err
		}
		a.cols[i] = a.cols[i].Flatten()
		byField[at] = a.cols[i]
	}
	var err error
	if a.keys, err = collection.KeysOf(obj, byField, rows); err != nil {
		return nil, err
	}
	there, err := a.snap.Has(ctx, a.keys)
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	for i, k := range a.keys {
		switch {
		case !seen[k]:
			seen[k] = true
			if !there[i] {
				a.fresh = append(a.fresh, int32(i))
			}
		case n.Conflict.Update != nil:
			return nil, fail.New(fail.Cardinality, "row %d: the key %q comes twice, and ON CONFLICT DO UPDATE changes a row once", i+1, k).
				WithHint("Leave one row of each key, with DISTINCT ON or GROUP BY.")
		}
	}
	return byField, nil
}

// patchThere adds the changes of DO UPDATE to the new rows.
func (st *Statement) patchThere(ctx context.Context, n *plan.Insert, a *arrivals, rows int, pin Pin, snaps snapshots, fresh *collection.Rows) (*collection.Rows, int, error) {
	out, count, err := st.collect(ctx, withWritten(n.Conflict.Update, a.cols, rows), pin, snaps)
	if err != nil || count == 0 {
		return fresh, 0, err
	}
	obj := a.snap.Object()
	keys := make([]string, count)
	for i := range keys {
		keys[i] = out[0].Value(i).Str
	}
	values := make([]*vec.Vector, len(obj.Fields))
	for i, name := range n.Conflict.Fields {
		at, err := position(obj, n.Object, name)
		if err != nil {
			return nil, 0, err
		}
		values[at] = out[i+1].Flatten()
	}
	patch, err := a.snap.Patch(ctx, keys, values)
	if err != nil || len(a.fresh) == 0 {
		return patch, count, err
	}
	both, err := collection.Concat(patch, fresh)
	return both, count, err
}

// picked are some rows of columns.
func picked(cols []*vec.Vector, rows []int32) []*vec.Vector {
	out := make([]*vec.Vector, len(cols))
	for i, c := range cols {
		if c != nil {
			out[i] = vec.New(c.Type, len(rows))
			out[i].AppendRows(c, rows, len(rows))
		}
	}
	return out
}
