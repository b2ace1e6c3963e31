package expr

import (
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/kernel"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

type columnNode struct{ index int }

func (nd *columnNode) eval(f *frame) (*vec.Vector, error) { return f.col(nd.index) }

// constNode holds its literal as a constant vector of one row.
type constNode struct{ value *vec.Vector }

func (nd *constNode) eval(f *frame) (*vec.Vector, error) { return resized(nd.value, f.n), nil }

// resized is a constant vector with another number of rows.
func resized(v *vec.Vector, n int) *vec.Vector {
	k := *v
	k.N = n
	return &k
}

type castNode struct {
	arg node
	to  types.Type
	try bool
	at  int // offset in the statement, for errors
}

func (nd *castNode) eval(f *frame) (*vec.Vector, error) {
	v, err := nd.arg.eval(f)
	if err != nil {
		return nil, err
	}
	out, err := kernel.Cast(v, nd.to, nd.try)
	if err != nil {
		return nil, fail.Located(err, nd.at)
	}
	return out, nil
}

type compareNode struct {
	op          kernel.Op
	left, right node
}

func (nd *compareNode) eval(f *frame) (*vec.Vector, error) {
	a, err := nd.left.eval(f)
	if err != nil {
		return nil, err
	}
	b, err := nd.right.eval(f)
	if err != nil {
		return nil, err
	}
	t := types.Of(types.Boolean)
	if allNull(a) || allNull(b) {
		return nullsOf(t, f.n), nil
	}
	if a.Encoding == vec.Constant && b.Encoding == vec.Constant {
		out := kernel.Compare(nd.op, resized(a, 1), resized(b, 1), 1)
		out.Encoding, out.N = vec.Constant, f.n
		return out, nil
	}
	return kernel.Compare(nd.op, plain(a), plain(b), f.n), nil
}

func allNull(v *vec.Vector) bool { return v.Encoding == vec.Constant && v.IsNull(0) }

// plain is v as a flat or constant vector.
func plain(v *vec.Vector) *vec.Vector {
	if v.Encoding == vec.Dictionary {
		return v.Flatten()
	}
	return v
}

func (nd *compareNode) selectRows(f *frame, cand []int32) ([]int32, error) {
	col, isCol := nd.left.(*columnNode)
	k, isConst := nd.right.(*constNode)
	if !isCol || !isConst {
		return selectByEval(nd, f, cand)
	}
	if k.value.IsNull(0) {
		return []int32{}, nil
	}
	v, err := f.col(col.index)
	if err != nil {
		return nil, err
	}
	if v.Encoding == vec.Flat {
		if out, ok := kernel.SelectConst(nd.op, v, k.value, cand); ok {
			return out, nil
		}
	}
	return selectByEval(nd, f, cand)
}

// distinctNode is IS [NOT] DISTINCT FROM.
type distinctNode struct {
	left, right node
	negate      bool
}

func (nd *distinctNode) eval(f *frame) (*vec.Vector, error) {
	a, err := nd.left.eval(f)
	if err != nil {
		return nil, err
	}
	b, err := nd.right.eval(f)
	if err != nil {
		return nil, err
	}
	out := vec.NewFlat(types.Of(types.Boolean), f.n)
	for i := range f.n {
		out.Bools[i] = kernel.EqualRows(a, i, b, i) == nd.negate
	}
	return out, nil
}

type notNode struct{ arg node }

func (nd *notNode) eval(f *frame) (*vec.Vector, error) {
	v, err := nd.arg.eval(f)
	if err != nil || allNull(v) {
		return v, err
	}
	out := *v
	if v.Encoding == vec.Dictionary {
		dict := *v.Dict
		dict.Bools = negated(dict.Bools)
		out.Dict = &dict
		return &out, nil
	}
	out.Bools = negated(v.Bools)
	return &out, nil
}

func negated(in []bool) []bool {
	out := make([]bool, len(in))
	for i, b := range in {
		out[i] = !b
	}
	return out
}

type isNullNode struct {
	arg    node
	negate bool
}

func (nd *isNullNode) eval(f *frame) (*vec.Vector, error) {
	v, err := nd.arg.eval(f)
	if err != nil {
		return nil, err
	}
	t := types.Of(types.Boolean)
	if v.Encoding == vec.Constant || !v.HasNulls() {
		null := v.Encoding == vec.Constant && v.IsNull(0)
		return constantOf(t, vec.Bool(null != nd.negate), f.n), nil
	}
	out := vec.NewFlat(t, f.n)
	for i := range out.Bools {
		out.Bools[i] = v.IsNull(i) != nd.negate
	}
	return out, nil
}

// caseNode evaluates each branch on the rows that take it.
type caseNode struct {
	conds, results []node
	other          node // or nil
	typ            types.Type
}

func (nd *caseNode) eval(f *frame) (*vec.Vector, error) {
	m := kernel.NewMerger(nd.typ, f.n)
	var left []int32 // nil: all rows
	for i, cond := range nd.conds {
		taken, err := selectRows(cond, f, left)
		if err != nil {
			return nil, err
		}
		if len(taken) == 0 {
			continue
		}
		v, err := nd.results[i].eval(f.sub(taken))
		if err != nil || len(taken) == f.n {
			return v, err
		}
		m.Put(v, taken)
		left = kernel.Subtract(left, f.n, taken)
		if len(left) == 0 {
			return m.Finish(), nil
		}
	}
	if nd.other == nil {
		return m.Finish(), nil
	}
	v, err := nd.other.eval(f.sub(left))
	if err != nil || left == nil {
		return v, err
	}
	m.Put(v, left)
	return m.Finish(), nil
}

// coalesceNode evaluates each operand on the rows that are still NULL.
type coalesceNode struct {
	args []node
	typ  types.Type
}

func (nd *coalesceNode) eval(f *frame) (*vec.Vector, error) {
	m := kernel.NewMerger(nd.typ, f.n)
	var left []int32 // nil: all rows
	for _, arg := range nd.args {
		v, err := arg.eval(f.sub(left))
		if err != nil {
			return nil, err
		}
		if !v.HasNulls() && left == nil {
			return v, nil
		}
		here := kernel.ValidRows(kernel.Validity(v), v.N)
		if len(here) == 0 {
			continue
		}
		rows := here
		if left != nil {
			rows = make([]int32, len(here))
			for i, p := range here {
				rows[i] = left[p]
			}
		}
		m.Put(kernel.Gather(v, here), rows)
		left = kernel.Subtract(left, f.n, rows)
		if len(left) == 0 {
			break
		}
	}
	return m.Finish(), nil
}
