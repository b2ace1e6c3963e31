package expr

import (
	"sync/atomic"

	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// dictNode computes an expression over one column. When the column is a
// dictionary with fewer values than there are rows, the values are worked
// through instead of the rows; the result keeps the codes.
type dictNode struct {
	inner     node
	index     int
	typ       types.Type
	immutable bool
	last      atomic.Pointer[dictResult]
}

// dictResult is what the values of dict became; result has one more row at the
// end, for NULL.
type dictResult struct {
	dict, result *vec.Vector
}

func (nd *dictNode) eval(f *frame) (*vec.Vector, error) {
	col, res := nd.byValue(f)
	if res == nil {
		return nd.inner.eval(f)
	}
	if res.Encoding == vec.Constant {
		return resized(res, f.n), nil
	}
	out := &vec.Vector{Type: nd.typ, Encoding: vec.Dictionary, N: f.n, Dict: res, Codes: col.Codes}
	if col.Valid == nil {
		return out, nil
	}
	null := int32(res.N - 1)
	out.Codes = make([]int32, f.n)
	for i, c := range col.Codes {
		if col.Valid.Get(i) {
			out.Codes[i] = c
		} else {
			out.Codes[i] = null
		}
	}
	return out, nil
}

// byValue gives the column and the results of its values, or nil when going by
// rows is better. An error of a value sends all rows the other way: no row may
// have that value.
func (nd *dictNode) byValue(f *frame) (col, res *vec.Vector) {
	if nd.index >= len(f.src) || f.src[nd.index] == nil || f.src[nd.index].Encoding != vec.Dictionary {
		return nil, nil
	}
	dict := f.src[nd.index].Dict
	last := nd.last.Load()
	known := last != nil && last.dict == dict
	if !known && dict.N >= f.n {
		return nil, nil
	}
	col, err := f.col(nd.index)
	if err != nil {
		return nil, nil
	}
	if known {
		return col, last.result
	}
	values := vec.New(dict.Type, dict.N+1)
	values.AppendRows(dict, nil, dict.N)
	values.AppendNull()
	src := make([]*vec.Vector, nd.index+1)
	src[nd.index] = values
	res, err = nd.inner.eval(&frame{env: f.env, src: src, n: values.N})
	if err != nil {
		return nil, nil
	}
	if res.Encoding == vec.Dictionary {
		res = res.Flatten()
	}
	if nd.immutable {
		nd.last.Store(&dictResult{dict: dict, result: res})
	}
	return col, res
}

func (nd *dictNode) selectRows(f *frame, cand []int32) ([]int32, error) {
	if nd.index < len(f.src) && f.src[nd.index] != nil && f.src[nd.index].Encoding == vec.Dictionary {
		return selectByEval(nd, f, cand)
	}
	return selectRows(nd.inner, f, cand)
}
