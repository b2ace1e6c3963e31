package collection

import (
	"context"
	"slices"
	"sort"

	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
	"github.com/loamdb/loam/storage/internal/source"
)

// freeLookups is the number of keys that are always looked up, and
// rowsPerLookup the number of rows that are filtered in the time of one lookup.
const (
	freeLookups   = 16
	rowsPerLookup = 64
)

// keysOf finds a conjunct "key = constant" or "key IN (constants)" of a
// collection with a key of one field: no row with another key can pass. ok is
// false without one; keys may be empty.
func keysOf(obj *schema.Object, filter expr.Expr, refs map[expr.ColumnID]colRef) (keys []string, ok bool) {
	if obj.Kind != schema.Collection || len(obj.Key) != 1 {
		return nil, false
	}
	for _, c := range expr.Conjuncts(filter) {
		col, consts := constantsOf(c)
		if col == nil || refs[col.ID].field != obj.Key[0] {
			continue
		}
		if keys, ok = canonical(obj, consts); ok {
			return keys, true
		}
	}
	return nil, false
}

// constantsOf takes "column = constant" and "column IN (constants)" apart; nil for anything else.
func constantsOf(e expr.Expr) (*expr.Column, []expr.Expr) {
	switch x := e.(type) {
	case *expr.Compare:
		if x.Op != expr.Eq {
			return nil, nil
		}
		if col, ok := x.Left.(*expr.Column); ok {
			return col, []expr.Expr{x.Right}
		}
		col, _ := x.Right.(*expr.Column)
		return col, []expr.Expr{x.Left}
	case *expr.In:
		if col, ok := x.Arg.(*expr.Column); ok && !x.Negate {
			return col, x.List
		}
	}
	return nil, nil
}

// canonical makes keys of constants of the key's type; NULL equals no key.
func canonical(obj *schema.Object, consts []expr.Expr) ([]string, bool) {
	want := obj.Fields[obj.Key[0]].Type.Kind
	if want != types.Text && want != types.Int32 && want != types.Int64 {
		return nil, false
	}
	keys := make([]string, 0, len(consts))
	for _, e := range consts {
		c, ok := e.(*expr.Const)
		if !ok || c.Value.Type.Kind != want {
			return nil, false
		}
		if c.Value.Null {
			continue
		}
		key, err := source.Key(obj, []vec.Value{c.Value})
		if err != nil {
			continue // no document can have such a key
		}
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return slices.Compact(keys), true
}

// looksUp reports whether the predicate's keys are looked up in the view; else
// its chunks are filtered.
func (p *predicate) looksUp(v *view) bool {
	return p != nil && p.keyed && (len(p.keys) <= freeLookups || len(p.keys)*rowsPerLookup <= v.part.rows())
}

// lookup are the rows of the view that are live and have one of the predicate's
// keys, ascending. They may still fail its other conjuncts.
func (p *predicate) lookup(ctx context.Context, v *view) ([]uint32, error) {
	var out []uint32
	for _, k := range p.keys {
		row, ok, err := v.rowOf(ctx, k)
		if err != nil {
			return nil, err
		}
		if ok {
			out = append(out, row)
		}
	}
	slices.Sort(out)
	return out, nil
}

// rowOf is the live row of a view that has the key.
func (v *view) rowOf(ctx context.Context, key string) (uint32, bool, error) {
	var row int32
	var ok bool
	var err error
	switch p := v.part.(type) {
	case *tailPart:
		row, ok = p.g.lookupAt(key, p.n)
	case *split:
		row, ok, err = p.lookup(key)
	}
	if err != nil || !ok || v.excluded.Contains(uint32(row)) {
		return 0, false, err
	}
	return uint32(row), true, ctx.Err()
}

// lookupAt is the last of the first n rows that has the key, a delete included.
func (g *generation) lookupAt(key string, n int) (int32, bool) {
	g.mu.RLock()
	defer g.mu.RUnlock()
	row, ok := g.latest[key]
	for ok && int(row) >= n {
		// The row that this one replaced is noted under it, unless it was the first.
		at := sort.Search(len(g.own), func(i int) bool { return g.own[i].by >= row })
		ok = at < len(g.own) && g.own[at].by == row && g.own[at].row != row
		if ok {
			row = g.own[at].row
		}
	}
	return row, ok
}

// pass keeps the rows, ascending, for which the filter is true.
func (p *predicate) pass(env *expr.Env, v *view, rows []uint32) ([]uint32, error) {
	if len(rows) == 0 {
		return nil, nil
	}
	c := &vec.Chunk{N: len(rows), Cols: make([]*vec.Vector, len(p.cols))}
	for i, ref := range p.cols {
		var err error
		if c.Cols[i], err = v.takeOf(env.Ctx, ref, rows); err != nil {
			return nil, err
		}
	}
	sel, err := p.prog.Select(env, c)
	if err != nil {
		return nil, err
	}
	out := make([]uint32, len(sel))
	for i, at := range sel {
		out[i] = rows[at]
	}
	return out, nil
}

// found are the rows of a view that pass a filter whose keys are looked up.
func (p *predicate) found(env *expr.Env, v *view) ([]uint32, error) {
	rows, err := p.lookup(env.Ctx, v)
	if err != nil {
		return nil, err
	}
	return p.pass(env, v, rows)
}
