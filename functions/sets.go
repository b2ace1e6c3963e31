package functions

import (
	"math"
	"slices"

	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/kernel"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// setTable holds the functions that compare, reduce and reshape lists.
var setTable = []def{
	{names: "array_max list_max", help: "the greatest element, NULLs left out", sigs: []sig{{in: "list", bind: elementOf(true), eval: pickElement(1)}}},
	{names: "array_min list_min", help: "the least element, NULLs left out", sigs: []sig{{in: "list", bind: elementOf(true), eval: pickElement(-1)}}},
	{names: "list_first array_first", help: "the first element", sigs: []sig{{in: "list", bind: elementOf(false), eval: endElement(func(int) int { return 0 })}}},
	{names: "list_last array_last", help: "the last element", sigs: []sig{{in: "list", bind: elementOf(false), eval: endElement(func(n int) int { return n - 1 })}}},
	{names: "list_any_value array_any_value", help: "the first element that is not NULL", sigs: []sig{{in: "list", bind: elementOf(false), eval: chosenElement(func(l []vec.Value) int {
		return slices.IndexFunc(l, func(v vec.Value) bool { return !v.Null })
	})}}},
	{names: "list_sum array_sum", help: "the sum of the elements, NULLs left out", sigs: []sig{{in: "double[]", ret: "double", eval: listDouble(func(xs []float64) float64 {
		total := 0.0
		for _, x := range xs {
			total += x
		}
		return total
	})}}},
	{names: "list_avg array_avg", help: "the mean of the elements, NULLs left out", sigs: []sig{{in: "double[]", ret: "double", eval: listDouble(func(xs []float64) float64 {
		total := 0.0
		for _, x := range xs {
			total += x
		}
		return total / float64(len(xs))
	})}}},
	{names: "list_product array_product", help: "the product of the elements, NULLs left out", sigs: []sig{{in: "double[]", ret: "double", eval: listDouble(func(xs []float64) float64 {
		total := 1.0
		for _, x := range xs {
			total *= x
		}
		return total
	})}}},
	{names: "array_remove list_remove array_remove_all list_remove_all", help: "without the elements that are equal to a value", nulls: true, sigs: []sig{{in: "list, any", bind: listAppend, eval: listWith(func(l []vec.Value, x vec.Value) []vec.Value {
		return slices.DeleteFunc(slices.Clone(l), func(y vec.Value) bool { return kernel.CompareBoxed(x, y) == 0 })
	})}}},
	{names: "array_replace list_replace array_replace_all", help: "with every element that is equal to the second argument replaced by the third", nulls: true, sigs: []sig{{in: "list, any, any", bind: listElemElem, eval: evalArrayReplace}}},
	{names: "array_positions list_positions", help: "all places of a value", sigs: []sig{{in: "list, any", bind: listAndElem("bigint[]"), eval: func(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
		for i := range n {
			val, x := vec.Value{Type: out.Type}, args[1].Value(i)
			for k, y := range args[0].Value(i).List {
				if kernel.CompareBoxed(x, y) == 0 {
					val.List = append(val.List, vec.Int64(int64(k)+1))
				}
			}
			out.Append(val)
		}
		return nil
	}}}},
	{names: "array_union list_union", help: "the elements of either list, each once", sigs: listSets(func(a, b []vec.Value) []vec.Value { return distinct(append(slices.Clone(a), b...)) })},
	{names: "array_intersect list_intersect", help: "the elements of both lists, each once", sigs: listSets(func(a, b []vec.Value) []vec.Value {
		return distinct(slices.DeleteFunc(slices.Clone(a), func(x vec.Value) bool { return !among(x, b) }))
	})},
	{names: "array_except list_except", help: "the elements of the first list that are not in the second, each once", sigs: listSets(func(a, b []vec.Value) []vec.Value {
		return distinct(slices.DeleteFunc(slices.Clone(a), func(x vec.Value) bool { return among(x, b) }))
	})},
	{names: "array_reverse_sort list_reverse_sort", help: "in descending order, NULLs first", sigs: []sig{{in: "list", ret: "same", eval: listMap(func(l []vec.Value) []vec.Value {
		slices.SortStableFunc(l, func(a, b vec.Value) int { return kernel.CompareBoxed(b, a) })
		return l
	})}}},
	{names: "list_unique array_unique", help: "number of different elements, NULLs left out", sigs: []sig{{in: "list", ret: "bigint", eval: func(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
		for i := range n {
			l := slices.DeleteFunc(args[0].Value(i).List, func(v vec.Value) bool { return v.Null })
			out.Int64s[i] = int64(len(distinct(l)))
		}
		return nil
	}}}},
	{names: "flatten", help: "a list of lists as one list", sigs: []sig{{in: "list", bind: bindFlatten, eval: func(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
		for i := range n {
			val := vec.Value{Type: out.Type}
			for _, inner := range args[0].Value(i).List {
				val.List = append(val.List, inner.List...)
			}
			out.Append(val)
		}
		return nil
	}}}},
	{names: "array_repeat list_repeat", help: "a list of a value k times", nulls: true, apart: true, sigs: []sig{{in: "any, bigint", bind: bindRepeat, eval: evalArrayRepeat}}},
	{names: "array_resize list_resize", help: "cut or filled up to k elements, with NULL or the third argument", nulls: true, sigs: []sig{
		{in: "list, bigint", bind: bindResize, eval: evalArrayResize}, {in: "list, bigint, any", bind: bindResize, eval: evalArrayResize},
	}},
	{names: "array_pop_back list_pop_back", help: "without the last element", sigs: []sig{{in: "list", ret: "same", eval: listMap(func(l []vec.Value) []vec.Value { return l[:max(len(l)-1, 0)] })}}},
	{names: "array_pop_front list_pop_front", help: "without the first element", sigs: []sig{{in: "list", ret: "same", eval: listMap(func(l []vec.Value) []vec.Value { return l[min(1, len(l)):] })}}},
	{names: "trim_array", help: "without the last k elements", sigs: []sig{{in: "list, bigint", bind: bindTrim, eval: func(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
		k := longs(args[1])
		for i := range n {
			l := args[0].Value(i).List
			if k.at(i) < 0 || k.at(i) > int64(len(l)) {
				return fail.New(fail.OutOfRange, "trim_array: %s of a list of %d", fail.Count(k.at(i), "element"), len(l))
			}
			out.Append(vec.Value{Type: out.Type, List: l[:int64(len(l))-k.at(i)]})
		}
		return nil
	}}}},
	{names: "empty", help: "whether a list or a text has nothing in it", sigs: []sig{
		{in: "list", ret: "boolean", eval: func(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
			for i := range n {
				out.Bools[i] = listLen(args[0], args[0].Row(i)) == 0
			}
			return nil
		}},
		{in: "text", ret: "boolean", eval: func(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
			s := textsOf(args[0])
			for i := range n {
				out.Bools[i] = s.at(i) == ""
			}
			return nil
		}},
	}},
	{names: "array_ndims list_ndims", help: "how deep lists are nested", sigs: []sig{{in: "list", ret: "bigint", eval: func(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
		depth := int64(0)
		for t := args[0].Type; t.Kind == types.List; t = *t.Elem {
			depth++
		}
		for i := range n {
			out.Int64s[i] = depth
		}
		return nil
	}}}},
	{names: "list_zip arrays_zip array_zip", help: "the lists side by side: a list of structs of f1, f2, …; shorter lists are filled up with NULL", sigs: []sig{{in: "list, list...", bind: bindZip, eval: evalZip}}},
	{names: "range", help: "the numbers from 0, or a start, to below an end, by a step of 1 or the third argument, as a list", sigs: rangeSigs()},
}

// elementOf binds one list to a result of its elements' type.
func elementOf(inOrder bool) bindFunc {
	return func(args []types.Type) ([]types.Type, types.Type, error) {
		if len(args) != 1 || args[0].Kind != types.List {
			return nil, types.Type{}, nil
		}
		if inOrder && !args[0].Elem.Orderable() {
			return nil, types.Type{}, fail.New(fail.UndefinedFunction, "values of type %s have no order", args[0].Elem)
		}
		return args, *args[0].Elem, nil
	}
}

// gathered makes the result of elements: hit[k] in the child is row rows[k].
func gathered(list *vec.Vector, rows, hit []int32, n int, out *vec.Vector) {
	m := kernel.NewMerger(out.Type, n)
	if len(rows) > 0 {
		m.Put(kernel.Gather(list.Child, hit), rows)
	}
	*out = *m.Finish()
}

func pickElement(sign int) expr.EvalFunc {
	return func(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
		list := args[0]
		var rows, hit []int32
		for i := range n {
			r, best := list.Row(i), int32(-1)
			for j := list.Offsets[r]; j < list.Offsets[r+1]; j++ {
				if !list.Child.IsNull(int(j)) && (best < 0 || sign*kernel.CompareRows(list.Child, int(j), list.Child, int(best)) > 0) {
					best = j
				}
			}
			if best >= 0 {
				rows, hit = append(rows, int32(i)), append(hit, best)
			}
		}
		gathered(list, rows, hit, n, out)
		return nil
	}
}

func endElement(at func(n int) int) expr.EvalFunc {
	return chosenElement(func(l []vec.Value) int {
		if len(l) == 0 {
			return -1
		}
		return at(len(l))
	})
}

func chosenElement(at func([]vec.Value) int) expr.EvalFunc {
	return func(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
		list := args[0]
		var rows, hit []int32
		for i := range n {
			if k := at(list.Value(i).List); k >= 0 {
				rows, hit = append(rows, int32(i)), append(hit, list.Offsets[list.Row(i)]+int32(k))
			}
		}
		gathered(list, rows, hit, n, out)
		return nil
	}
}

// listDouble reduces the elements that are not NULL; none give NULL.
func listDouble(f func([]float64) float64) expr.EvalFunc {
	return func(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
		for i := range n {
			var xs []float64
			for _, v := range args[0].Value(i).List {
				if !v.Null {
					xs = append(xs, v.Float)
				}
			}
			if len(xs) == 0 {
				out.SetNull(i)
				continue
			}
			if out.Float64s[i] = f(xs); math.IsInf(out.Float64s[i], 0) && !slices.ContainsFunc(xs, func(x float64) bool { return math.IsInf(x, 0) }) {
				return kernel.OutOfRange("the result", out.Type)
			}
		}
		return nil
	}
}

// listWith adapts a function of a list and a value; a NULL list gives NULL.
func listWith(f func([]vec.Value, vec.Value) []vec.Value) expr.EvalFunc {
	return func(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
		for i := range n {
			if args[0].IsNull(i) {
				out.AppendNull()
				continue
			}
			out.Append(vec.Value{Type: out.Type, List: f(args[0].Value(i).List, args[1].Value(i))})
		}
		return nil
	}
}

func listSets(f func(a, b []vec.Value) []vec.Value) []sig {
	return []sig{{in: "list, list", bind: listConcat, eval: func(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
		for i := range n {
			out.Append(vec.Value{Type: out.Type, List: f(args[0].Value(i).List, args[1].Value(i).List)})
		}
		return nil
	}}}
}

func listElemElem(args []types.Type) ([]types.Type, types.Type, error) {
	if len(args) != 3 {
		return nil, types.Type{}, nil
	}
	list, _, ok := elemAndList(args[0], args[1])
	if !ok {
		return nil, types.Type{}, nil
	}
	list, elem, ok := elemAndList(list, args[2])
	if !ok {
		return nil, types.Type{}, nil
	}
	return []types.Type{list, elem, elem}, list, nil
}

func evalArrayReplace(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
	for i := range n {
		if args[0].IsNull(i) {
			out.AppendNull()
			continue
		}
		old, with := args[1].Value(i), args[2].Value(i)
		l := args[0].Value(i).List
		for k := range l {
			if kernel.CompareBoxed(l[k], old) == 0 {
				l[k] = with
			}
		}
		out.Append(vec.Value{Type: out.Type, List: l})
	}
	return nil
}

func bindFlatten(args []types.Type) ([]types.Type, types.Type, error) {
	if len(args) != 1 || args[0].Kind != types.List || args[0].Elem.Kind != types.List {
		return nil, types.Type{}, nil
	}
	return args, *args[0].Elem, nil
}

// maxMade is how many elements a function makes for the rows of one chunk.
const maxMade = 1 << 22

func madeTooMany(name string) error {
	return fail.New(fail.TooLarge, "%s would make more than %d elements", name, maxMade)
}

func bindRepeat(args []types.Type) ([]types.Type, types.Type, error) {
	if len(args) != 2 || types.Cast(args[1], types.Of(types.Int64)) != types.ImplicitCast {
		return nil, types.Type{}, nil
	}
	t := args[0].Settled()
	return []types.Type{t, types.Of(types.Int64)}, types.ListOf(t), nil
}

func evalArrayRepeat(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
	total := int64(0)
	for i := range n {
		if args[1].IsNull(i) {
			out.AppendNull()
			continue
		}
		k := max(longs(args[1]).at(i), 0)
		if total += min(k, maxMade+1); total > maxMade {
			return madeTooMany("array_repeat")
		}
		out.Child.AppendRows(args[0], slices.Repeat([]int32{int32(i)}, int(k)), int(k))
		endList(out)
	}
	return nil
}

// endList ends the next row of a list behind what its child holds.
func endList(out *vec.Vector) {
	out.Append(vec.Value{Type: out.Type})
}

func bindResize(args []types.Type) ([]types.Type, types.Type, error) {
	if len(args) < 2 || len(args) > 3 || args[0].Kind != types.List || types.Cast(args[1], types.Of(types.Int64)) != types.ImplicitCast {
		return nil, types.Type{}, nil
	}
	params := []types.Type{args[0], types.Of(types.Int64)}
	if len(args) == 3 {
		list, elem, ok := elemAndList(args[0], args[2])
		if !ok {
			return nil, types.Type{}, nil
		}
		params = []types.Type{list, params[1], elem}
	}
	return params, params[0], nil
}

func evalArrayResize(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
	total := int64(0)
	list := args[0].Flatten()
	for i := range n {
		if list.IsNull(i) || args[1].IsNull(i) {
			out.AppendNull()
			continue
		}
		k := max(longs(args[1]).at(i), 0)
		if total += min(k, maxMade+1); total > maxMade {
			return madeTooMany("array_resize")
		}
		from, to := int(list.Offsets[i]), int(list.Offsets[i+1])
		to = min(to, from+int(k))
		out.Child.AppendRows(list.Child.Slice(from, to), nil, to-from)
		for range int(k) - (to - from) {
			if len(args) > 2 {
				out.Child.AppendRows(args[2], []int32{int32(i)}, 1)
			} else {
				out.Child.AppendNull()
			}
		}
		endList(out)
	}
	return nil
}

func bindTrim(args []types.Type) ([]types.Type, types.Type, error) {
	if len(args) != 2 || args[0].Kind != types.List || types.Cast(args[1], types.Of(types.Int64)) != types.ImplicitCast {
		return nil, types.Type{}, nil
	}
	return []types.Type{args[0], types.Of(types.Int64)}, args[0], nil
}

func bindZip(args []types.Type) ([]types.Type, types.Type, error) {
	row := types.Type{Kind: types.Struct}
	for i, a := range args {
		if a.Kind != types.List {
			return nil, types.Type{}, nil
		}
		row.Fields = append(row.Fields, types.Field{Name: "f" + vec.Int64(int64(i+1)).String(), Type: *a.Elem})
	}
	if len(args) == 0 {
		return nil, types.Type{}, nil
	}
	return args, types.ListOf(row), nil
}

func evalZip(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
	for i := range n {
		val := vec.Value{Type: out.Type}
		for k, a := range args {
			for at, e := range a.Value(i).List {
				if at == len(val.List) {
					row := vec.Value{Type: *out.Type.Elem, List: make([]vec.Value, len(args))}
					for f := range row.List {
						row.List[f] = vec.Null(out.Type.Elem.Fields[f].Type)
					}
					val.List = append(val.List, row)
				}
				val.List[at].List[k] = e
			}
		}
		out.Append(val)
	}
	return nil
}

// rangeSigs are the overloads of range as a function.
func rangeSigs() []sig {
	eval := func(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
		total := uint64(0)
		for i := range n {
			from, to, step := int64(0), longs(args[0]).at(i), int64(1)
			if len(args) > 1 {
				from, to = to, longs(args[1]).at(i)
			}
			if len(args) > 2 {
				step = longs(args[2]).at(i)
			}
			if step == 0 {
				return fail.New(fail.InvalidParameter, "the step of a range is zero")
			}
			count := steps(from, to, step)
			if total += min(count, maxMade+1); total > maxMade {
				return madeTooMany("range")
			}
			for k := range int64(count) {
				out.Child.Append(vec.Int64(from + k*step))
			}
			endList(out)
		}
		return nil
	}
	return []sig{{in: "bigint", ret: "bigint[]", eval: eval}, {in: "bigint, bigint", ret: "bigint[]", eval: eval}, {in: "bigint, bigint, bigint", ret: "bigint[]", eval: eval}}
}

// steps is how many numbers a range has: from on, by step, while before to.
func steps(from, to, step int64) uint64 {
	switch {
	case step > 0 && from < to:
		return (uint64(to)-uint64(from)-1)/uint64(step) + 1
	case step < 0 && from > to:
		return (uint64(from)-uint64(to)-1)/magnitude(step) + 1
	}
	return 0
}
