package functions

import (
	"slices"

	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/kernel"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// listTable holds the functions of lists. Positions count from 1, from the end
// when negative.
var listTable = []def{
	{names: "make_array array list_value", help: "a list of the arguments", nulls: true, sigs: []sig{{in: "any...", bind: bindMakeArray, eval: evalMakeArray}}},
	{names: "array_length list_length", help: "number of elements; NULL for an empty list", sigs: []sig{
		{in: "list", ret: "bigint", eval: listLong(func(v *vec.Vector, r int) (int64, bool) { n := listLen(v, r); return n, n > 0 })},
		{in: "list, bigint", ret: "bigint", eval: listLong(func(v *vec.Vector, r int) (int64, bool) { n := listLen(v, r); return n, n > 0 })},
	}},
	{names: "cardinality", help: "number of elements", sigs: []sig{
		{in: "list", ret: "bigint", eval: listLong(func(v *vec.Vector, r int) (int64, bool) { return listLen(v, r), true })},
		{in: "map", ret: "bigint", eval: listLong(func(v *vec.Vector, r int) (int64, bool) { return listLen(v, r), true })},
	}},
	{names: "array_has array_contains list_contains list_has", help: "whether a value is among the elements", sigs: []sig{{in: "list, any", bind: listAndElem("boolean"), eval: evalArrayHas}}},
	{names: "array_position list_position", help: "where a value first is, NULL if nowhere", sigs: []sig{{in: "list, any", bind: listAndElem("bigint"), eval: evalArrayPosition}}},
	{names: "list_element array_element element_at list_extract map_extract_value []", help: "the element at a position, or a map's value of a key; NULL if there is none", sigs: []sig{
		{in: "list, bigint", bind: bindElement, eval: evalListElement},
		{in: "map, any", bind: mapAndKey(func(value types.Type) types.Type { return value }), eval: evalMapValue},
	}},
	{names: "array_append list_append", help: "with a value behind", nulls: true, sigs: []sig{{in: "list, any", bind: listAppend, eval: evalListAppend}}},
	{names: "array_prepend list_prepend", help: "with a value in front", nulls: true, sigs: []sig{{in: "any, list", bind: listPrepend, eval: evalListPrepend}}},
	{names: "array_concat list_concat array_cat", help: "both lists behind each other", sigs: []sig{{in: "list, list", bind: listConcat, eval: evalListConcat}}},
	{names: "array_has_all list_has_all @>", help: "whether all elements of the second list are in the first", sigs: []sig{{in: "list, list", bind: bindListPair, eval: listPair(hasAll)}}},
	{names: "<@", help: "whether all elements of the first list are in the second", sigs: []sig{{in: "list, list", bind: bindListPair, eval: listPair(func(a, b []vec.Value) bool { return hasAll(b, a) })}}},
	{names: "array_has_any list_has_any arrays_overlap array_overlap &&", help: "whether the lists share an element", sigs: []sig{{in: "list, list", bind: bindListPair, eval: listPair(hasAny)}}},
	{names: "array_slice list_slice", help: "the elements between two positions, both included", sigs: []sig{{in: "list, bigint, bigint", ret: "same", eval: evalArraySlice}}},
	{names: "array_sort list_sort", help: "in ascending order, NULLs last", sigs: []sig{{in: "list", ret: "same", eval: listMap(func(l []vec.Value) []vec.Value {
		slices.SortStableFunc(l, kernel.CompareBoxed)
		return l
	})}}},
	{names: "array_distinct list_distinct", help: "without repetitions, in the order of first occurrence", sigs: []sig{{in: "list", ret: "same", eval: listMap(distinct)}}},
	{names: "array_reverse list_reverse", help: "back to front", sigs: []sig{{in: "list", ret: "same", eval: listMap(func(l []vec.Value) []vec.Value {
		slices.Reverse(l)
		return l
	})}}},
	{names: "array_to_string list_to_string", help: "the elements as text, separated; NULLs left out or shown as the third argument", sigs: []sig{
		{in: "list, text", ret: "text", eval: evalArrayToString},
		{in: "list, text, text", ret: "text", eval: evalArrayToString},
	}},
}

func bindMakeArray(args []types.Type) ([]types.Type, types.Type, error) {
	t, ok := commonOf(args)
	if !ok {
		return nil, types.Type{}, nil
	}
	params := make([]types.Type, len(args))
	for i := range params {
		params[i] = t
	}
	return params, types.ListOf(t), nil
}

func evalMakeArray(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
	for i := range n {
		val := vec.Value{Type: out.Type}
		for _, a := range args {
			val.List = append(val.List, a.Value(i))
		}
		out.Append(val)
	}
	return nil
}

func listLen(v *vec.Vector, r int) int64 { return int64(v.Offsets[r+1] - v.Offsets[r]) }

func listLong(f func(v *vec.Vector, r int) (int64, bool)) expr.EvalFunc {
	return func(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
		for i := range n {
			x, ok := f(args[0], args[0].Row(i))
			out.Int64s[i] = x
			if !ok {
				out.SetNull(i)
			}
		}
		return nil
	}
}

// elemAndList brings a list and an element to one element type.
func elemAndList(list, elem types.Type) (types.Type, types.Type, bool) {
	if list.Kind != types.List {
		return list, elem, false
	}
	t, ok := types.Common(*list.Elem, elem)
	if t.Kind == types.Unknown {
		t = types.Of(types.Text)
	}
	return types.ListOf(t), t, ok
}

func listAndElem(ret string) bindFunc {
	return func(args []types.Type) ([]types.Type, types.Type, error) {
		if len(args) != 2 {
			return nil, types.Type{}, nil
		}
		list, elem, ok := elemAndList(args[0], args[1])
		if !ok {
			return nil, types.Type{}, nil
		}
		return []types.Type{list, elem}, typeNamed(ret), nil
	}
}

func listAppend(args []types.Type) ([]types.Type, types.Type, error) {
	if len(args) != 2 {
		return nil, types.Type{}, nil
	}
	list, elem, ok := elemAndList(args[0], args[1])
	if !ok {
		return nil, types.Type{}, nil
	}
	return []types.Type{list, elem}, list, nil
}

func listPrepend(args []types.Type) ([]types.Type, types.Type, error) {
	if len(args) != 2 {
		return nil, types.Type{}, nil
	}
	list, elem, ok := elemAndList(args[1], args[0])
	if !ok {
		return nil, types.Type{}, nil
	}
	return []types.Type{elem, list}, list, nil
}

func listConcat(args []types.Type) ([]types.Type, types.Type, error) {
	if len(args) != 2 || args[0].Kind != types.List || args[1].Kind != types.List {
		return nil, types.Type{}, nil
	}
	t, ok := types.Common(args[0], args[1])
	if !ok {
		return nil, types.Type{}, nil
	}
	return []types.Type{t, t}, t, nil
}

func evalListConcat(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
	for i := range n {
		val := vec.Value{Type: out.Type}
		for _, a := range args {
			val.List = append(val.List, a.Value(i).List...)
		}
		out.Append(val)
	}
	return nil
}

func evalListAppend(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
	for i := range n {
		out.Append(vec.Value{Type: out.Type, List: append(args[0].Value(i).List, args[1].Value(i))})
	}
	return nil
}

func evalListPrepend(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
	for i := range n {
		out.Append(vec.Value{Type: out.Type, List: append([]vec.Value{args[0].Value(i)}, args[1].Value(i).List...)})
	}
	return nil
}

// findElem is the place from 0 of row i of elem in the list of row i, or -1.
func findElem(list, elem *vec.Vector, i int) int {
	r := list.Row(i)
	for j := list.Offsets[r]; j < list.Offsets[r+1]; j++ {
		if kernel.EqualRows(list.Child, int(j), elem, i) {
			return int(j - list.Offsets[r])
		}
	}
	return -1
}

func evalArrayHas(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
	for i := range n {
		out.Bools[i] = findElem(args[0], args[1], i) >= 0
	}
	return nil
}

func evalArrayPosition(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
	for i := range n {
		at := findElem(args[0], args[1], i)
		out.Int64s[i] = int64(at) + 1
		if at < 0 {
			out.SetNull(i)
		}
	}
	return nil
}

func bindListPair(args []types.Type) ([]types.Type, types.Type, error) {
	params, _, err := listConcat(args)
	return params, types.Of(types.Boolean), err
}

func listPair(f func(a, b []vec.Value) bool) expr.EvalFunc {
	return func(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
		for i := range n {
			out.Bools[i] = f(args[0].Value(i).List, args[1].Value(i).List)
		}
		return nil
	}
}

func among(x vec.Value, list []vec.Value) bool {
	return slices.ContainsFunc(list, func(y vec.Value) bool { return kernel.CompareBoxed(x, y) == 0 })
}

func hasAll(a, b []vec.Value) bool {
	return !slices.ContainsFunc(b, func(x vec.Value) bool { return !among(x, a) })
}

func hasAny(a, b []vec.Value) bool {
	return slices.ContainsFunc(b, func(x vec.Value) bool { return !x.Null && among(x, a) })
}

func distinct(l []vec.Value) []vec.Value {
	var out []vec.Value
	for _, x := range l {
		if !among(x, out) {
			out = append(out, x)
		}
	}
	return out
}

// listMap adapts a function of the boxed elements, which it may reorder.
func listMap(f func([]vec.Value) []vec.Value) expr.EvalFunc {
	return func(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
		for i := range n {
			out.Append(vec.Value{Type: out.Type, List: f(args[0].Value(i).List)})
		}
		return nil
	}
}

func evalArraySlice(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
	from, to := longs(args[1]), longs(args[2])
	for i := range n {
		l := args[0].Value(i).List
		size := int64(len(l))
		f, t := fromEnd(from.at(i), size), fromEnd(to.at(i), size)
		f, t = max(f, 1), min(t, size)
		if f > t {
			l = nil
		} else {
			l = l[f-1 : t]
		}
		out.Append(vec.Value{Type: out.Type, List: l})
	}
	return nil
}

// fromEnd turns a position counted from the end into one counted from 1.
func fromEnd(at, size int64) int64 {
	if at < 0 {
		return at + size + 1
	}
	return at
}

func bindElement(args []types.Type) ([]types.Type, types.Type, error) {
	if len(args) != 2 || args[0].Kind != types.List || types.Cast(args[1], types.Of(types.Int64)) != types.ImplicitCast {
		return nil, types.Type{}, nil
	}
	return []types.Type{args[0], types.Of(types.Int64)}, *args[0].Elem, nil
}

func evalListElement(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
	list, at := args[0], longs(args[1])
	rows := make([]int32, 0, n)
	hit := make([]int32, 0, n)
	for i := range n {
		r, k := list.Row(i), at.at(i)
		size := listLen(list, r)
		if k < 0 {
			k += size + 1
		}
		if k >= 1 && k <= size {
			rows = append(rows, int32(i))
			hit = append(hit, list.Offsets[r]+int32(k)-1)
		}
	}
	m := kernel.NewMerger(out.Type, n)
	if len(rows) > 0 {
		m.Put(kernel.Gather(list.Child, hit), rows)
	}
	*out = *m.Finish()
	return nil
}

func evalArrayToString(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
	list, sep := args[0], textsOf(args[1])
	var b []byte
	for i := range n {
		first := true
		b = b[:0]
		for _, e := range list.Value(i).List {
			text := e.String()
			if e.Null {
				if len(args) < 3 {
					continue
				}
				text = textsOf(args[2]).at(i)
			}
			if !first {
				b = append(b, sep.at(i)...)
			}
			b, first = append(b, text...), false
		}
		out.Strings.Set(i, string(b))
	}
	return nil
}
