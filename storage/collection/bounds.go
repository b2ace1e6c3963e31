package collection

import (
	"context"
	"slices"
	"strings"

	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
	"github.com/loamdb/loam/storage/internal/column"
)

// zone is what is known of a column in some rows, deleted ones included: a chunk of
// a part, or all of it.
type zone struct {
	// No value is below lo or above hi; known is false without bounds.
	lo, hi vec.Value
	known  bool
	// nulls of the rows are NULL; counted is false where their number is not known.
	rows, nulls int
	counted     bool
}

// bound is a conjunct of a filter over one column that a zone can show to pass no row.
type bound struct {
	col  colRef
	test boundTest
	op   expr.CompareOp // of a comparison
	// vals are the values that are compared with, ascending: one, or of Eq any of some.
	vals []vec.Value
}

type boundTest uint8

const (
	compares boundTest = iota
	isNull
	isNotNull
	begins // with the text
)

// boundOf reads a conjunct: a column compared with constants of its type, or with NULL.
func boundOf(e expr.Expr, refs map[expr.ColumnID]colRef) (bound, bool) {
	switch x := e.(type) {
	case *expr.Compare:
		return comparison(x, refs)
	case *expr.In:
		return listed(x, refs)
	case *expr.IsNull:
		col, ok := x.Arg.(*expr.Column)
		if !ok {
			return bound{}, false
		}
		b := bound{col: refs[col.ID], test: isNull}
		if x.Negate {
			b.test = isNotNull
		}
		return b, true
	case *expr.Call:
		return beginning(x, refs)
	}
	return bound{}, false
}

// beginning reads LIKE and starts_with: what stands before the first special character
// of a pattern.
func beginning(call *expr.Call, refs map[expr.ColumnID]colRef) (bound, bool) {
	if len(call.Args) != 2 || call.Fn.Name != "like" && call.Fn.Name != "starts_with" {
		return bound{}, false
	}
	col, okCol := call.Args[0].(*expr.Column)
	k, okVal := call.Args[1].(*expr.Const)
	if !okCol || !okVal || col.T.Kind != types.Text || k.Value.Null {
		return bound{}, false
	}
	prefix := k.Value
	if i := strings.IndexAny(prefix.Str, `%_\`); i >= 0 && call.Fn.Name == "like" {
		prefix.Str = prefix.Str[:i]
	}
	return bound{col: refs[col.ID], test: begins, vals: []vec.Value{prefix}}, true
}

func comparison(cmp *expr.Compare, refs map[expr.ColumnID]colRef) (bound, bool) {
	if cmp.Op == expr.Ne || cmp.Op >= expr.Distinct {
		return bound{}, false
	}
	col, okCol := cmp.Left.(*expr.Column)
	val, okVal := cmp.Right.(*expr.Const)
	op := cmp.Op
	if !okCol || !okVal {
		col, okCol = cmp.Right.(*expr.Column)
		val, okVal = cmp.Left.(*expr.Const)
		op = op.Flip()
	}
	if !okCol || !okVal || val.Value.Null || !ordered(col.T, val.Value) {
		return bound{}, false
	}
	return bound{col: refs[col.ID], op: op, vals: []vec.Value{val.Value}}, true
}

// listed reads IN: NULL in the list makes no row pass.
func listed(in *expr.In, refs map[expr.ColumnID]colRef) (bound, bool) {
	col, ok := in.Arg.(*expr.Column)
	if !ok || in.Negate {
		return bound{}, false
	}
	b := bound{col: refs[col.ID], op: expr.Eq}
	for _, e := range in.List {
		k, ok := e.(*expr.Const)
		if !ok || !k.Value.Null && !ordered(col.T, k.Value) {
			return bound{}, false
		}
		if !k.Value.Null {
			b.vals = append(b.vals, k.Value)
		}
	}
	slices.SortFunc(b.vals, func(x, y vec.Value) int {
		switch {
		case column.Less(x, y):
			return -1
		case column.Less(y, x):
			return 1
		}
		return 0
	})
	return b, len(b.vals) > 0
}

// ordered reports whether a value is compared with a column's as bounds are: it has
// the type, of decimals the scale too. NaN, which is above every bound, is left out.
func ordered(t types.Type, v vec.Value) bool {
	return v.Type.Kind == t.Kind && (t.Kind != types.Decimal || v.Type.Scale == t.Scale) &&
		(t.Kind != types.Double || v.Float == v.Float)
}

// excludes reports whether no row of the zone passes.
func (b *bound) excludes(z zone) bool {
	switch {
	case b.test == isNull:
		return z.counted && z.nulls == 0
	case z.counted && z.nulls == z.rows:
		return true
	}
	return b.test != isNotNull && z.known && b.outside(z)
}

func (b *bound) outside(z zone) bool {
	val := b.vals[0]
	if b.test == begins {
		return z.hi.Str < val.Str || z.lo.Str > val.Str && !strings.HasPrefix(z.lo.Str, val.Str)
	}
	switch b.op {
	case expr.Eq:
		at, _ := slices.BinarySearchFunc(b.vals, z.lo, func(v, lo vec.Value) int {
			if column.Less(v, lo) {
				return -1
			}
			return 1
		})
		return at == len(b.vals) || column.Less(z.hi, b.vals[at])
	case expr.Lt:
		return !column.Less(z.lo, val)
	case expr.Le:
		return column.Less(val, z.lo)
	case expr.Gt:
		return !column.Less(val, z.hi)
	case expr.Ge:
		return column.Less(z.hi, val)
	}
	return false
}

// skipsAll reports whether no row of the view can pass, by what is in memory.
func (p *predicate) skipsAll(v *view) bool {
	if p == nil {
		return false
	}
	for i := range p.bounds {
		if p.bounds[i].excludes(v.part.whole(p.bounds[i].col)) {
			p.skippedSplits.Add(1)
			return true
		}
	}
	return false
}

// skips reports whether no row of the chunk can pass.
func (p *predicate) skips(ctx context.Context, v *view, chunk int) (bool, error) {
	for i := range p.bounds {
		z, err := v.part.zone(ctx, p.bounds[i].col, chunk)
		if err != nil {
			return false, err
		}
		if p.bounds[i].excludes(z) {
			p.skippedChunks.Add(1)
			return true, nil
		}
	}
	return false, nil
}
