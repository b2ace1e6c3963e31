package functions

import (
	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/kernel"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// nestedTable holds the functions of structs and maps. Those whose result
// depends on literals, such as the name of a field, are bound by the planner and
// are here for their description only.
var nestedTable = []def{
	{names: "named_struct", help: "a struct of names and values in turn", form: "TEXT, ANY, …", example: "named_struct('a', 1, 'b', 'x')"},
	{names: "struct_pack", help: "a struct of named arguments", form: "name => ANY, …", example: "struct_pack(a => 1, b => 'x')"},
	{names: "struct", help: "a struct of the arguments, its fields called c0, c1, …", form: "ANY, …", example: "struct(1, 'x')"},
	{names: "row", help: "a struct of the arguments, its fields called f1, f2, …", form: "ANY, …", example: "row(1, 'x')"},
	{names: "get_field struct_extract", help: "a field of a struct by its name, or its number from 1", form: "STRUCT, TEXT", example: "get_field({'a': 1, 'b': 2}, 'b')"},
	{names: "map_of", help: "a map of keys and values in turn: MAP {key: value, …}", nulls: true, apart: true, example: "map_of('a', 1, 'b', 2)", sigs: []sig{{in: "any, any...", bind: bindMapOf, eval: evalMapOf}}},
	{names: "map make_map map_from_arrays", help: "a map of a list of keys and a list of values", example: "map(['a', 'b'], [1, 2])", sigs: []sig{{in: "list, list", bind: bindMap, eval: evalMap}}},
	{names: "map_from_entries", help: "a map of a list of structs of key and value", example: "map_from_entries([{'k': 'a', 'v': 1}])", sigs: []sig{{in: "list", bind: bindFromEntries, eval: evalFromEntries}}},
	{names: "map_keys", help: "the keys of a map as a list", example: "map_keys(MAP {'a': 1, 'b': 2})", sigs: []sig{{in: "map", bind: ofMap(func(t types.Type) types.Type { return types.ListOf(t.Key()) }), eval: mapSide(0)}}},
	{names: "map_values", help: "the values of a map as a list", example: "map_values(MAP {'a': 1, 'b': 2})", sigs: []sig{{in: "map", bind: ofMap(func(t types.Type) types.Type { return types.ListOf(t.Value()) }), eval: mapSide(1)}}},
	{names: "map_entries", help: "the entries of a map as a list of structs of key and value", example: "map_entries(MAP {'a': 1})", sigs: []sig{{in: "map", bind: ofMap(func(t types.Type) types.Type { return types.ListOf(*t.Elem) }), eval: retyped}}},
	{names: "map_contains_key map_contains", help: "whether a map has a key", example: "map_contains_key(MAP {'a': 1}, 'b')", sigs: []sig{{in: "map, any", bind: mapAndKey(func(types.Type) types.Type { return types.Of(types.Boolean) }), eval: func(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
		for i := range n {
			out.Bools[i] = findKey(args[0], args[1], i) >= 0
		}
		return nil
	}}}},
}

// bindMapOf brings all keys to one type and all values to another.
func bindMapOf(args []types.Type) ([]types.Type, types.Type, error) {
	if len(args) == 0 || len(args)%2 == 1 {
		return nil, types.Type{}, nil
	}
	var sides [2][]types.Type
	for i, a := range args {
		sides[i%2] = append(sides[i%2], a)
	}
	key, ok := commonOf(sides[0])
	value, ok2 := commonOf(sides[1])
	if !ok || !ok2 {
		return nil, types.Type{}, nil
	}
	if err := keyType(key); err != nil {
		return nil, types.Type{}, err
	}
	params := make([]types.Type, len(args))
	for i := range params {
		params[i] = []types.Type{key, value}[i%2]
	}
	return params, types.MapOf(key, value), nil
}

func keyType(t types.Type) error {
	if t.Orderable() {
		return nil
	}
	return fail.New(fail.DatatypeMismatch, "a map cannot have keys of type %s", t)
}

// entryOf is one entry of a map.
func entryOf(t types.Type, key, value vec.Value) vec.Value {
	return vec.Value{Type: *t.Elem, List: []vec.Value{key, value}}
}

func evalMapOf(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
	for i := range n {
		val := vec.Value{Type: out.Type}
		for k := 0; k < len(args); k += 2 {
			val.List = append(val.List, entryOf(out.Type, args[k].Value(i), args[k+1].Value(i)))
		}
		if err := vec.CheckEntries(val.List); err != nil {
			return err
		}
		out.Append(val)
	}
	return nil
}

func bindMap(args []types.Type) ([]types.Type, types.Type, error) {
	if len(args) != 2 || args[0].Kind != types.List || args[1].Kind != types.List {
		return nil, types.Type{}, nil
	}
	if err := keyType(*args[0].Elem); err != nil {
		return nil, types.Type{}, err
	}
	return args, types.MapOf(*args[0].Elem, *args[1].Elem), nil
}

func evalMap(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
	for i := range n {
		keys, values := args[0].Value(i).List, args[1].Value(i).List
		if len(keys) != len(values) {
			return fail.New(fail.InvalidParameter, "a map of %s and %s", fail.Count(len(keys), "key"), fail.Count(len(values), "value"))
		}
		val := vec.Value{Type: out.Type}
		for k := range keys {
			val.List = append(val.List, entryOf(out.Type, keys[k], values[k]))
		}
		if err := vec.CheckEntries(val.List); err != nil {
			return err
		}
		out.Append(val)
	}
	return nil
}

func bindFromEntries(args []types.Type) ([]types.Type, types.Type, error) {
	if len(args) != 1 || args[0].Kind != types.List || args[0].Elem.Kind != types.Struct || len(args[0].Elem.Fields) != 2 {
		return nil, types.Type{}, nil
	}
	f := args[0].Elem.Fields
	if err := keyType(f[0].Type); err != nil {
		return nil, types.Type{}, err
	}
	return args, types.MapOf(f[0].Type, f[1].Type), nil
}

func evalFromEntries(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
	for i := range n {
		val := vec.Value{Type: out.Type}
		for _, e := range args[0].Value(i).List {
			if e.Null {
				return fail.New(fail.InvalidParameter, "an entry of the map is NULL")
			}
			val.List = append(val.List, entryOf(out.Type, e.List[0], e.List[1]))
		}
		if err := vec.CheckEntries(val.List); err != nil {
			return err
		}
		out.Append(val)
	}
	return nil
}

// ofMap binds a function of one map by the type of its result.
func ofMap(ret func(types.Type) types.Type) bindFunc {
	return func(args []types.Type) ([]types.Type, types.Type, error) {
		if len(args) != 1 || args[0].Kind != types.Map {
			return nil, types.Type{}, nil
		}
		return args, ret(args[0]), nil
	}
}

// retyped is the argument under the type of the result, which has the same layout.
func retyped(_ *expr.Env, args []*vec.Vector, _ int, out *vec.Vector) error {
	t := out.Type
	*out = *args[0].Flatten()
	out.Type = t
	return nil
}

// mapSide is the keys (0) or the values (1) of maps as lists, without a copy.
func mapSide(side int) expr.EvalFunc {
	return func(_ *expr.Env, args []*vec.Vector, _ int, out *vec.Vector) error {
		m := args[0].Flatten()
		*out = vec.Vector{Type: out.Type, N: m.N, Valid: m.Valid, Offsets: m.Offsets, Child: m.Child.Fields[side]}
		return nil
	}
}

// mapAndKey binds a map and a key, both brought to their common type.
func mapAndKey(ret func(value types.Type) types.Type) bindFunc {
	return func(args []types.Type) ([]types.Type, types.Type, error) {
		if len(args) != 2 || args[0].Kind != types.Map {
			return nil, types.Type{}, nil
		}
		key, ok := types.Common(args[0].Key(), args[1])
		if !ok {
			return nil, types.Type{}, nil
		}
		if key.Kind == types.Unknown {
			key = types.Of(types.Text)
		}
		return []types.Type{types.MapOf(key, args[0].Value()), key}, ret(args[0].Value()), nil
	}
}

// findKey is where the entry of row i's key is in the child of row i's map, or -1.
func findKey(m, key *vec.Vector, i int) int32 {
	r := m.Row(i)
	for j := m.Offsets[r]; j < m.Offsets[r+1]; j++ {
		if kernel.EqualRows(m.Child.Fields[0], int(j), key, i) {
			return j
		}
	}
	return -1
}

func evalMapValue(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
	var rows, hit []int32
	for i := range n {
		if j := findKey(args[0], args[1], i); j >= 0 {
			rows, hit = append(rows, int32(i)), append(hit, j)
		}
	}
	m := kernel.NewMerger(out.Type, n)
	if len(rows) > 0 {
		m.Put(kernel.Gather(args[0].Child.Fields[1], hit), rows)
	}
	*out = *m.Finish()
	return nil
}
