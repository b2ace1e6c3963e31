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
	pin, snaps, err := st.session.pin(ctx, n.Input)
	if err != nil {
		return nil, err
	}
	cols, rows, err := st.collect(ctx, n.Input, pin, snaps)
	if err != nil {
		return nil, err
	}
	back, err := st.returning(ctx, n.Returning, pin, cols, rows)
	if err != nil {
		return nil, err
	}
	c, err := e.byID(ctx, n.Object.ID)
	if err != nil {
		return nil, err
	}
	token, err := appendColumns(ctx, c, n.Object, n.Fields, cols, rows)
	if err != nil {
		return nil, err
	}
	return back.with(written(rows, token)), nil
}

func written(rows int, token snapshot.Token) *Result {
	r := &Result{Affected: int64(rows)}
	if token.Incarnation != "" {
		r.Token = &token
	}
	return r
}

// appendColumns writes columns of fields that an earlier description of the object names.
func appendColumns(ctx context.Context, c *collection.Collection, planned *schema.Object, fields []string, cols []*vec.Vector, rows int) (snapshot.Token, error) {
	if rows == 0 {
		return snapshot.Token{}, nil
	}
	obj := c.Object()
	byField := make([]*vec.Vector, len(obj.Fields))
	for i, name := range fields {
		at, err := position(obj, planned, name)
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

// position finds a field of a statement in the object as it is now, by its id: it
// may have got another name since the statement was planned.
func position(now, planned *schema.Object, name string) (int, error) {
	for _, f := range planned.Fields {
		if f.Name != name {
			continue
		}
		for i := range now.Fields {
			if now.Fields[i].ID == f.ID {
				return i, nil
			}
		}
	}
	return 0, fail.New(fail.UndefinedColumn, "column %q of %s was dropped meanwhile", name, now.QualifiedName())
}

func fieldNamed(obj *schema.Object, name string) (int, error) {
	for i, f := range obj.Fields {
		if f.Name == name {
			return i, nil
		}
	}
	return 0, fail.New(fail.UndefinedColumn, "%s %s has no field %q", obj.Kind, obj.Name, name)
}

// targets are the rows that UPDATE or DELETE changes.
type targets struct {
	c    *collection.Collection
	snap *collection.Snapshot
	cols []*vec.Vector // the identity columns, then what the statement needs
	rows int
	back *returned
}

// targets runs the input of UPDATE or DELETE and finds its rows, and what
// RETURNING says of them: an error of it comes before anything is written.
func (st *Statement) targets(ctx context.Context, obj *schema.Object, input, returning plan.Node, joined bool) (*targets, error) {
	e := st.session.engine
	pin, snaps, err := st.session.pin(ctx, input)
	if err != nil {
		return nil, err
	}
	t := &targets{}
	if t.cols, t.rows, err = st.collect(ctx, input, pin, snaps); err != nil {
		return nil, err
	}
	if joined {
		t.once()
	}
	if t.back, err = st.returning(ctx, returning, pin, t.cols, t.rows); err != nil {
		return nil, err
	}
	if t.c, err = e.byID(ctx, obj.ID); err != nil {
		return nil, err
	}
	if t.snap = snaps[stateKey{id: obj.ID}]; t.snap == nil { // the optimizer proved that no row matches
		t.snap, err = t.c.Strong(ctx)
	}
	return t, err
}

// positions of the identity columns in the input of UPDATE and DELETE.
const (
	colPartition = 0
	colOffset    = 1
	colKey       = 2
)

func (t *targets) identity(i int) collection.Identity {
	return collection.Identity{Partition: int32(t.cols[colPartition].Value(i).Int), Offset: uint64(t.cols[colOffset].Value(i).Int)}
}

func (t *targets) identities() []collection.Identity {
	out := make([]collection.Identity, t.rows)
	for i := range out {
		out[i] = t.identity(i)
	}
	return out
}

func (t *targets) keys() []string {
	out := make([]string, t.rows)
	for i := range out {
		out[i] = t.cols[colKey].Value(i).Str
	}
	return out
}

// once keeps the first of the rows with one identity.
func (t *targets) once() {
	seen := make(map[collection.Identity]bool, t.rows)
	var keep []int
	for i := range t.rows {
		if id := t.identity(i); !seen[id] {
			seen[id] = true
			keep = append(keep, i)
		}
	}
	if len(keep) == t.rows {
		return
	}
	for c, col := range t.cols {
		t.cols[c] = vec.New(col.Type, len(keep))
		for _, i := range keep {
			t.cols[c].Append(col.Value(i))
		}
	}
	t.rows = len(keep)
}

func (st *Statement) delete(ctx context.Context, n *plan.Delete) (*Result, error) {
	t, err := st.targets(ctx, n.Object, n.Input, n.Returning, n.Joined)
	if err != nil {
		return nil, err
	}
	if t.rows == 0 {
		return t.back.with(&Result{}), nil
	}
	obj := t.snap.Object()
	var batch *collection.Rows
	if obj.Kind.Tabular() {
		batch = &collection.Rows{Cols: make([]*vec.Vector, len(obj.Fields)), Gone: t.identities()}
	} else {
		batch = collection.DeleteKeys(obj, t.keys())
	}
	token, err := t.c.AppendIf(ctx, batch, t.snap)
	if err != nil {
		return nil, err
	}
	return t.back.with(written(t.rows, token)), nil
}

func (st *Statement) update(ctx context.Context, n *plan.Update) (*Result, error) {
	t, err := st.targets(ctx, n.Object, n.Input, n.Returning, n.Joined)
	if err != nil {
		return nil, err
	}
	if t.rows == 0 {
		return t.back.with(&Result{}), nil
	}
	obj := t.snap.Object()
	first := colKey
	if obj.Kind == schema.Collection {
		first++
	}
	values := make([]*vec.Vector, len(obj.Fields))
	for i, name := range n.Fields {
		at, err := position(obj, n.Object, name)
		if err != nil {
			return nil, err
		}
		values[at] = t.cols[first+i].Flatten()
	}
	var batch *collection.Rows
	if obj.Kind.Tabular() {
		batch, err = t.snap.UpdateTable(ctx, t.identities(), values)
	} else {
		batch, err = t.snap.Patch(ctx, t.keys(), values)
	}
	if err != nil {
		return nil, err
	}
	token, err := t.c.AppendIf(ctx, batch, t.snap)
	if err != nil {
		return nil, err
	}
	return t.back.with(written(t.rows, token)), nil
}
