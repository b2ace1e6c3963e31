package binder

import (
	"strconv"
	"strings"

	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
	"github.com/loamdb/loam/planner/internal/ast"
)

// maxFieldsOfStruct bounds the fields of one struct.
const maxFieldsOfStruct = 1000

// structLit binds {'a': 1, b: 2}.
func (c *clause) structLit(x *ast.StructLit) (expr.Expr, error) {
	names, values, offs := make([]string, len(x.Fields)), make([]expr.Expr, len(x.Fields)), make([]int, len(x.Fields))
	for i, f := range x.Fields {
		var err error
		if values[i], err = c.expr(f.Value); err != nil {
			return nil, err
		}
		names[i], offs[i] = f.Name.Text, f.Name.Pos()
	}
	return c.b.makeStruct(names, values, offs, x.Pos())
}

// rowValue binds ROW(1, 2) and (1, 2) as a value: a struct of f1, f2, …, the
// names that PostgreSQL gives.
func (c *clause) rowValue(x *ast.Row) (expr.Expr, error) {
	values, err := c.exprs(x.Elems)
	if err != nil {
		return nil, err
	}
	return c.b.numbered("f", 1, values, x.Pos())
}

// numbered makes a struct whose fields are called by a prefix and their number.
func (b *Binder) numbered(prefix string, first int, values []expr.Expr, off int) (expr.Expr, error) {
	names, offs := make([]string, len(values)), make([]int, len(values))
	for i := range values {
		names[i], offs[i] = prefix+strconv.Itoa(i+first), off
	}
	return b.makeStruct(names, values, offs, off)
}

// makeStruct makes a struct; constants make a constant. Values without a type are text.
func (b *Binder) makeStruct(names []string, values []expr.Expr, offs []int, off int) (expr.Expr, error) {
	switch {
	case len(names) == 0:
		return nil, b.fail(fail.InvalidParameter, off, "a struct has at least one field")
	case len(names) > maxFieldsOfStruct:
		return nil, b.fail(fail.TooLarge, off, "a struct has at most %d fields", maxFieldsOfStruct)
	}
	seen := make(map[string]bool, len(names))
	constant := true
	out := vec.Value{Type: types.Type{Kind: types.Struct}}
	for i, n := range names {
		if seen[strings.ToLower(n)] {
			return nil, b.fail(fail.DuplicateColumn, offs[i], "the struct has the field %q twice", n)
		}
		seen[strings.ToLower(n)] = true
		if k, ok := values[i].(*expr.Const); !ok || !k.Value.Null { // NULL keeps its open type
			values[i] = b.settle(values[i])
		}
		k, ok := values[i].(*expr.Const)
		if constant = constant && ok; constant {
			out.List = append(out.List, k.Value)
		}
		out.Type.Fields = append(out.Type.Fields, types.Field{Name: n, Type: values[i].Type()})
	}
	if out.Type.Deep() {
		return nil, b.tooDeep(off)
	}
	if constant {
		return &expr.Const{Value: out}, nil
	}
	return expr.StructOf(names, values, off), nil
}

func (b *Binder) tooDeep(off int) error {
	return b.fail(fail.TooLarge, off, "the type of this value is nested too deep")
}

// mapLit binds MAP {k: v}.
func (c *clause) mapLit(x *ast.MapLit) (expr.Expr, error) {
	n := len(x.Entries)
	if n == 0 {
		return &expr.Const{Value: vec.Value{Type: types.MapOf(types.Type{}, types.Type{})}}, nil
	}
	keys, values := make([]expr.Expr, n), make([]expr.Expr, n)
	keyOffs, valueOffs := make([]int, n), make([]int, n)
	for i, e := range x.Entries {
		var err error
		if keys[i], values[i], err = c.pair(e.Key, e.Value); err != nil {
			return nil, err
		}
		keyOffs[i], valueOffs[i] = e.Key.Pos(), e.Value.Pos()
	}
	keys, _, err := c.b.common(keys, keyOffs, "the keys of a map")
	if err != nil {
		return nil, err
	}
	if values, _, err = c.b.common(values, valueOffs, "the values of a map"); err != nil {
		return nil, err
	}
	args := make([]expr.Expr, 0, 2*n)
	for i := range keys {
		args = append(args, keys[i], values[i])
	}
	return c.b.scalar("map_of", args, x.Pos())
}

// field binds (x).name.
func (c *clause) field(x *ast.Field) (expr.Expr, error) {
	arg, err := c.expr(x.X)
	if err != nil {
		return nil, err
	}
	return c.b.fieldOf(arg, x.Name)
}

// fieldOf reads a field of a struct by name.
func (b *Binder) fieldOf(arg expr.Expr, id ast.Ident) (expr.Expr, error) {
	t := arg.Type()
	if t.Kind != types.Struct {
		err := b.fail(fail.DatatypeMismatch, id.Pos(), "a value of type %s has no field %q", t, id.Text)
		switch t.Kind {
		case types.JSON:
			return nil, err.WithHint("Write -> '%s' to read JSON.", id.Text)
		case types.Map:
			return nil, err.WithHint("Write ['%s'] to read a map.", id.Text)
		}
		return nil, err
	}
	i := t.FieldNamed(id.Text)
	if i < 0 || id.Quoted && t.Fields[i].Name != id.Text {
		return nil, b.suggest(fail.UndefinedColumn, id, t.FieldNames(), "the struct has no field %q", id.Text)
	}
	return expr.FieldOf(arg, i, id.Pos()), nil
}

// fieldPath reads a reference whose front is a column and whose rest are fields
// of it: the longest front that names a column wins. nil when there is none.
func (c *clause) fieldPath(ref *ast.ColumnRef) (expr.Expr, error) {
	for n := len(ref.Parts) - 1; n > 0; n-- {
		arg, err := c.b.resolve(c.scope, &ast.ColumnRef{Span: ref.Span, Parts: ref.Parts[:n]})
		if err != nil {
			continue
		}
		for _, id := range ref.Parts[n:] {
			if arg, err = c.b.fieldOf(arg, id); err != nil {
				return nil, err
			}
		}
		return arg, nil
	}
	return nil, nil
}

// member is x[i] where x is a struct or a map.
func (b *Binder) member(arg, index expr.Expr, off int) (expr.Expr, error) {
	t := arg.Type()
	if t.Kind == types.Map {
		return b.scalar("element_at", []expr.Expr{arg, index}, off)
	}
	k, ok := index.(*expr.Const)
	if !ok || k.Value.Null || !k.Value.Type.Textual() && !k.Value.Type.Integer() {
		return nil, b.fail(fail.InvalidParameter, off, "a field of a struct is chosen by a literal: its name, or its number from 1")
	}
	if k.Value.Type.Textual() {
		return b.fieldOf(arg, ast.Ident{Span: ast.Span{Start: off, Stop: off}, Text: k.Value.Str})
	}
	if i := k.Value.Int; i >= 1 && i <= int64(len(t.Fields)) {
		return expr.FieldOf(arg, int(i-1), off), nil
	}
	return nil, b.fail(fail.UndefinedColumn, off, "the struct has no field number %d: it has %d", k.Value.Int, len(t.Fields))
}

// slice is x[lo:hi]: elements of a list or characters of a text, both included.
func (c *clause) slice(x *ast.Slice) (expr.Expr, error) {
	arg, err := c.expr(x.X)
	if err != nil {
		return nil, err
	}
	bounds := []expr.Expr{&expr.Const{Value: vec.Int64(1)}, &expr.Const{Value: vec.Int64(-1)}}
	for i, e := range []ast.Expr{x.Lo, x.Hi} {
		if e == nil {
			continue
		}
		if bounds[i], err = c.expr(e); err != nil {
			return nil, err
		}
	}
	return c.b.scalar("array_slice", append([]expr.Expr{arg}, bounds...), x.Pos())
}

// structCall binds the functions whose result depends on names and literals
// rather than on types. nil means that the registry has the function.
func (b *Binder) structCall(name string, x *ast.FuncCall, args []expr.Expr, offs []int) (expr.Expr, error) {
	switch name {
	case "struct", "row":
		prefix, first := "c", 0
		if name == "row" {
			prefix, first = "f", 1
		}
		return b.numbered(prefix, first, args, x.Pos())
	case "struct_pack":
		names := make([]string, len(args))
		for i, a := range x.Args {
			names[i] = a.Name.Text
			if ref, ok := a.Value.(*ast.ColumnRef); ok && names[i] == "" {
				names[i] = ref.Parts[len(ref.Parts)-1].Text
			}
			if names[i] == "" {
				return nil, b.fail(fail.UndefinedFunction, a.Pos(), "struct_pack needs the name of each field").WithHint("Write struct_pack(a => 1, b => 'x').")
			}
		}
		return b.makeStruct(names, args, offs, x.Pos())
	case "named_struct":
		return b.namedStruct(args, offs, x.Pos())
	case "get_field", "struct_extract":
		if len(args) != 2 {
			return nil, b.fail(fail.UndefinedFunction, x.Pos(), "%s takes two arguments: a struct and the name of a field", name)
		}
		switch args[0].Type().Kind {
		case types.Struct, types.Map:
			return b.member(args[0], args[1], offs[1])
		}
		return nil, b.fail(fail.DatatypeMismatch, offs[0], "%s takes a struct or a map, not %s", name, args[0].Type())
	}
	return nil, nil
}

// namedStruct is named_struct('a', 1, 'b', 2).
func (b *Binder) namedStruct(args []expr.Expr, offs []int, off int) (expr.Expr, error) {
	var names []string
	var values []expr.Expr
	var places []int
	for i := 0; i+1 < len(args); i += 2 {
		k, ok := args[i].(*expr.Const)
		if !ok || k.Value.Null || !k.Value.Type.Textual() {
			return nil, b.fail(fail.InvalidParameter, offs[i], "the name of a field is a text literal")
		}
		names, values, places = append(names, k.Value.Str), append(values, args[i+1]), append(places, offs[i])
	}
	if len(args)%2 == 1 {
		return nil, b.fail(fail.UndefinedFunction, off, "named_struct takes names and values in turn; the last name has no value")
	}
	return b.makeStruct(names, values, places, off)
}

// nestedType is the type that STRUCT(…) and MAP(…) denote.
func (b *Binder) nestedType(t *ast.TypeName) (types.Type, bool, error) {
	switch {
	case len(t.Fields) > 0:
		out := types.Type{Kind: types.Struct}
		if len(t.Fields) > maxFieldsOfStruct {
			return out, true, b.fail(fail.TooLarge, t.Pos(), "a struct has at most %d fields", maxFieldsOfStruct)
		}
		for _, f := range t.Fields {
			if out.FieldNamed(f.Name.Text) >= 0 {
				return out, true, b.fail(fail.DuplicateColumn, f.Pos(), "the struct has the field %q twice", f.Name.Text)
			}
			ft, err := b.typeNamed(f.Type)
			if err != nil {
				return out, true, err
			}
			out.Fields = append(out.Fields, types.Field{Name: f.Name.Text, Type: ft})
		}
		return out, true, b.checkDepth(out, t.Pos())
	case t.Key != nil && t.Value != nil:
		key, err := b.typeNamed(t.Key)
		if err != nil {
			return types.Type{}, true, err
		}
		value, err := b.typeNamed(t.Value)
		if err != nil {
			return types.Type{}, true, err
		}
		if !key.Orderable() {
			return types.Type{}, true, b.fail(fail.DatatypeMismatch, t.Key.Pos(), "a map cannot have keys of type %s", key)
		}
		out := types.MapOf(key, value)
		return out, true, b.checkDepth(out, t.Pos())
	}
	return types.Type{}, false, nil
}

func (b *Binder) checkDepth(t types.Type, off int) error {
	if t.Deep() {
		return b.tooDeep(off)
	}
	return nil
}
