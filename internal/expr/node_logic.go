package expr

import (
	"github.com/loamdb/loam/internal/kernel"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// logicNode is AND or OR. safe[i] says that operand i cannot fail and is cheap,
// so that it may be computed on rows that are already decided.
type logicNode struct {
	or   bool
	args []node
	safe []bool
}

// eval keeps a value and a validity per row. A row is decided once it is FALSE
// (AND) or TRUE (OR); only the others meet the next operand.
func (nd *logicNode) eval(f *frame) (*vec.Vector, error) {
	out := vec.NewFlat(types.Of(types.Boolean), f.n)
	for i := range out.Bools {
		out.Bools[i] = !nd.or
	}
	open := []int32(nil) // nil: all rows
	for i, arg := range nd.args {
		if i > 0 {
			open = nd.undecided(out, open)
			if len(open) == 0 {
				break
			}
		}
		rows := open
		if nd.safe[i] && len(open)*2 > f.n {
			rows = nil
		}
		v, err := arg.eval(f.sub(rows))
		if err != nil {
			return nil, err
		}
		nd.combine(out, v, rows)
	}
	return out, nil
}

// undecided lists the rows of rows whose outcome is still open.
func (nd *logicNode) undecided(out *vec.Vector, rows []int32) []int32 {
	if rows == nil {
		rows = kernel.Identity(out.N)
	}
	left, k := make([]int32, len(rows)), 0
	for _, r := range rows {
		left[k] = r
		if out.Bools[r] != nd.or || out.IsNull(int(r)) {
			k++
		}
	}
	return left[:k]
}

// combine folds the operand v, computed on rows, into out. The value under a
// NULL is kept at the neutral element, so that a later operand may still decide.
func (nd *logicNode) combine(out, v *vec.Vector, rows []int32) {
	if allNull(v) {
		// The untyped NULL too, which has no booleans.
		v = vec.Const(out.Type, vec.Null(out.Type), v.N)
	}
	v = v.Flatten()
	for i, b := range v.Bools {
		r := i
		if rows != nil {
			r = int(rows[i])
		}
		switch {
		case v.Valid != nil && !v.Valid.Get(i):
			if out.Bools[r] != nd.or {
				out.SetNull(r)
			}
		case b == nd.or:
			out.Bools[r] = nd.or
			if out.Valid != nil {
				out.Valid.Set(r)
			}
		}
	}
}

func (nd *logicNode) selectRows(f *frame, cand []int32) ([]int32, error) {
	if nd.or {
		return nd.selectAny(f, cand)
	}
	for _, arg := range nd.args {
		var err error
		if cand, err = selectRows(arg, f, cand); err != nil || len(cand) == 0 {
			return cand, err
		}
	}
	return cand, nil
}

// selectAny looks for TRUE among the rows that no earlier operand has chosen.
func (nd *logicNode) selectAny(f *frame, cand []int32) ([]int32, error) {
	chosen := []int32{}
	for _, arg := range nd.args {
		got, err := selectRows(arg, f, cand)
		if err != nil {
			return nil, err
		}
		if len(got) == 0 {
			continue
		}
		chosen = kernel.Union(chosen, got)
		cand = kernel.Subtract(cand, f.n, got)
		if len(cand) == 0 {
			break
		}
	}
	return chosen, nil
}
