package loam

import (
	"context"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/internal/snapshot"
	"github.com/loamdb/loam/internal/vec"
	"github.com/loamdb/loam/storage/collection"
)

// insert runs INSERT: the input at a strong snapshot, then one append.
func (st *Statement) insert(ctx context.Context, n *plan.Insert) (*Result, error) {
	e := st.session.engine
	pin, snaps, err := e.pin(ctx, n.Input)
	if err != nil {
		return nil, err
	}
	cols, rows, err := st.collect(ctx, n.Input, pin, snaps)
	if err != nil {
		return nil, err
	}
	c, err := e.byID(ctx, n.Object.ID)
	if err != nil {
		return nil, err
	}
	token, err := appendColumns(ctx, c, n.Fields, cols, rows)
	if err != nil {
		return nil, err
	}
	return written(rows, token), nil
}

func written(rows int, token snapshot.Token) *Result {
	r := &Result{Affected: int64(rows)}
	if token.Incarnation != "" {
		r.Token = &token
	}
	return r
}

// appendColumns writes columns of named fields.
func appendColumns(ctx context.Context, c *collection.Collection, fields []string, cols []*vec.Vector, rows int) (snapshot.Token, error) {
	if rows == 0 {
		return snapshot.Token{}, nil
	}
	obj := c.Object()
	byField := make([]*vec.Vector, len(obj.Fields))
	for i, name := range fields {
		at, err := fieldNamed(obj, name)
		if err != nil {
			return snapshot.Token{}, err
		}
		byField[at] = cols[i].Flatten()
	}
	batch, err := collection.FromColumns(obj, byField, rows)
	if err != nil {
		return snapshot.Token{}, err
	}
	return c.Append(ctx, batch)
}

func fieldNamed(obj *schema.Object, name string) (int, error) {
	for i, f := range obj.Fields {
		if f.Name == name {
			return i, nil
		}
	}
	return 0, fail.New(fail.UndefinedColumn, "%s %s has no field %q", obj.Kind, obj.Name, name)
}

// target runs the input of UPDATE or DELETE and finds its rows.
func (st *Statement) target(ctx context.Context, obj *schema.Object, input plan.Node) (*collection.Collection, *collection.Snapshot, []*vec.Vector, int, error) {
	e := st.session.engine
	pin, snaps, err := e.pin(ctx, input)
	if err != nil {
		return nil, nil, nil, 0, err
	}
	cols, rows, err := st.collect(ctx, input, pin, snaps)
	if err != nil {
		return nil, nil, nil, 0, err
	}
	c, err := e.byID(ctx, obj.ID)
	if err != nil {
		return nil, nil, nil, 0, err
	}
	snap := snaps[obj.ID]
	if snap == nil { // the optimizer proved that no row matches
		snap, err = c.Strong(ctx)
	}
	return c, snap, cols, rows, err
}

// positions of the identity columns in the input of UPDATE and DELETE.
const (
	colPartition = 0
	colOffset    = 1
	colKey       = 2
)

func identities(cols []*vec.Vector, rows int) []collection.Identity {
	out := make([]collection.Identity, rows)
	for i := range out {
		out[i] = collection.Identity{Partition: int32(cols[colPartition].Value(i).Int), Offset: uint64(cols[colOffset].Value(i).Int)}
	}
	return out
}

func (st *Statement) delete(ctx context.Context, n *plan.Delete) (*Result, error) {
	c, snap, cols, rows, err := st.target(ctx, n.Object, n.Input)
	if err != nil || rows == 0 {
		return &Result{}, err
	}
	obj := snap.Object()
	var batch *collection.Rows
	if obj.Kind == schema.Table {
		batch = &collection.Rows{Cols: make([]*vec.Vector, len(obj.Fields)), Gone: identities(cols, rows)}
	} else {
		keys := make([]string, rows)
		for i := range keys {
			keys[i] = cols[colKey].Value(i).Str
		}
		batch = collection.DeleteKeys(obj, keys)
	}
	token, err := c.AppendIf(ctx, batch, snap)
	if err != nil {
		return nil, err
	}
	return written(rows, token), nil
}

func (st *Statement) update(ctx context.Context, n *plan.Update) (*Result, error) {
	c, snap, cols, rows, err := st.target(ctx, n.Object, n.Input)
	if err != nil || rows == 0 {
		return &Result{}, err
	}
	obj := snap.Object()
	first := colKey
	if obj.Kind == schema.Collection {
		first++
	}
	values := make([]*vec.Vector, len(obj.Fields))
	for i, name := range n.Fields {
		at, err := fieldNamed(obj, name)
		if err != nil {
			return nil, err
		}
		values[at] = cols[first+i].Flatten()
	}
	var batch *collection.Rows
	if obj.Kind == schema.Table {
		batch, err = snap.UpdateTable(ctx, identities(cols, rows), values)
	} else {
		keys := make([]string, rows)
		for i := range keys {
			keys[i] = cols[colKey].Value(i).Str
		}
		batch, err = snap.Patch(ctx, keys, values)
	}
	if err != nil {
		return nil, err
	}
	token, err := c.AppendIf(ctx, batch, snap)
	if err != nil {
		return nil, err
	}
	return written(rows, token), nil
}
