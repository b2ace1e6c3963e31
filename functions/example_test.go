package functions_test

import (
	"fmt"

	"github.com/loamdb/loam/functions"
	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// A call is resolved by name and argument types, compiled, and run over a chunk.
func Example() {
	reg := functions.Default()
	word := &expr.Column{ID: 1, Name: "word", T: types.Of(types.Text)}
	r, err := reg.Scalar("upper", []types.Type{word.T})
	if err != nil {
		fmt.Println(err)
		return
	}
	call := &expr.Call{Fn: r.Scalar, Args: []expr.Expr{word}, T: r.Ret, Offset: -1}
	prog, err := expr.Compile(call, map[expr.ColumnID]int{1: 0})
	if err != nil {
		fmt.Println(err)
		return
	}
	c := vec.NewChunk([]types.Type{word.T}, 2)
	c.Cols[0].Append(vec.Text("loam"))
	c.Cols[0].AppendNull()
	c.N = 2
	out, err := prog.Eval(&expr.Env{}, c)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(out.Value(0), out.Value(1))
	// Output: LOAM NULL
}

// An unknown name comes back with the nearest known one.
func ExampleDefault() {
	_, err := functions.Default().Scalar("uper", []types.Type{types.Of(types.Text)})
	fmt.Println(err)
	// Output: there is no function uper. Did you mean upper?
}
