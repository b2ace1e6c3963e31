package expr

import (
	"github.com/loamdb/loam/internal/kernel"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// inNode looks a value up in a set of constants, held as a hash set for
// integers and text and as a list for the other types.
type inNode struct {
	arg     node
	ints    map[int64]struct{}
	texts   map[string]struct{}
	list    *vec.Vector
	hasNull bool
	negate  bool
}

func newInNode(arg node, t types.Type, vals []vec.Value, negate bool) *inNode {
	nd := &inNode{arg: arg, negate: negate}
	switch t.Kind {
	case types.Int32, types.Int64, types.Date, types.Timestamp, types.Time:
		nd.ints = make(map[int64]struct{}, len(vals))
	case types.Text, types.Binary, types.Unknown, types.JSON:
		nd.texts = make(map[string]struct{}, len(vals))
	default:
		nd.list = vec.New(t, len(vals))
	}
	for _, v := range vals {
		switch {
		case v.Null:
			nd.hasNull = true
		case nd.ints != nil:
			nd.ints[v.Int] = struct{}{}
		case nd.texts != nil:
			nd.texts[v.Str] = struct{}{}
		default:
			nd.list.Append(v)
		}
	}
	return nd
}

func (nd *inNode) eval(f *frame) (*vec.Vector, error) {
	v, err := nd.arg.eval(f)
	if err != nil {
		return nil, err
	}
	v = plain(v)
	out := vec.NewFlat(types.Of(types.Boolean), v.N)
	if v.Encoding == vec.Constant {
		v = resized(v, 1)
		out = vec.NewFlat(types.Of(types.Boolean), 1)
	}
	out.Valid = v.Valid.Clone()
	nd.lookUp(v, out.Bools)
	if nd.hasNull {
		// Not found among values, but the NULL might have been it.
		for i, found := range out.Bools {
			if !found {
				out.SetNull(i)
			}
		}
	}
	if nd.negate {
		for i, found := range out.Bools {
			out.Bools[i] = !found
		}
	}
	if v.Encoding == vec.Constant {
		out.Encoding, out.N = vec.Constant, f.n
	}
	return out, nil
}

func (nd *inNode) lookUp(v *vec.Vector, found []bool) {
	switch {
	case nd.texts != nil:
		for i := range found {
			_, found[i] = nd.texts[v.Strings.At(i)]
		}
	case nd.ints != nil && v.Int32s != nil:
		for i := range found {
			_, found[i] = nd.ints[int64(v.Int32s[i])]
		}
	case nd.ints != nil:
		for i := range found {
			_, found[i] = nd.ints[v.Int64s[i]]
		}
	default:
		for i := range found {
			for j := 0; j < nd.list.N && !found[i]; j++ {
				found[i] = !v.IsNull(i) && kernel.EqualRows(v, i, nd.list, j)
			}
		}
	}
}
