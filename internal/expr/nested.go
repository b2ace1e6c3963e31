package expr

import (
	"github.com/loamdb/loam/internal/kernel"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// getField reads one field of a struct; the second argument is its name.
var getField = &ScalarFunc{Name: "get_field", Eval: func(_ *Env, args []*vec.Vector, n int, out *vec.Vector) error {
	field := args[0].Fields[args[0].Type.FieldNamed(args[1].Strings.At(0))]
	if args[0].Encoding == vec.Constant && n != field.N {
		field = kernel.Gather(field, make([]int32, n))
	}
	*out = *field
	return nil
}}

// FieldOf reads field i of a struct; a NULL struct gives NULL. offset is its
// place in the statement.
func FieldOf(arg Expr, i, offset int) Expr {
	f := arg.Type().Fields[i]
	return &Call{Fn: getField, Args: []Expr{arg, &Const{Value: vec.Text(f.Name)}}, T: f.Type, Offset: offset}
}

// namedStruct makes a struct of names and values in turn.
var namedStruct = &ScalarFunc{Name: "named_struct", CalledOnNull: true, Eval: func(_ *Env, args []*vec.Vector, n int, out *vec.Vector) error {
	for i := range out.Fields {
		out.Fields[i] = args[2*i+1].Flatten()
	}
	return nil
}}

// StructOf makes a struct whose fields have these names, unique without regard
// to case, and values.
func StructOf(names []string, values []Expr, offset int) Expr {
	call := &Call{Fn: namedStruct, T: types.Type{Kind: types.Struct}, Offset: offset}
	for i, v := range values {
		call.T.Fields = append(call.T.Fields, types.Field{Name: names[i], Type: v.Type()})
		call.Args = append(call.Args, &Const{Value: vec.Text(names[i])}, v)
	}
	return call
}
