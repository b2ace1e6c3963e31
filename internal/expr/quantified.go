package expr

import (
	"github.com/loamdb/loam/internal/kernel"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// quantified are the functions behind x op ANY (list) and x op ALL (list), by
// comparison; the second of each pair is ALL.
var quantified = func() map[CompareOp][2]*ScalarFunc {
	out := map[CompareOp][2]*ScalarFunc{}
	for op, k := range map[CompareOp]kernel.Op{Eq: kernel.Eq, Ne: kernel.Ne, Lt: kernel.Lt, Le: kernel.Le, Gt: kernel.Gt, Ge: kernel.Ge} {
		out[op] = [2]*ScalarFunc{
			{Name: op.String() + " ANY", CalledOnNull: true, Eval: evalQuantified(k, false)},
			{Name: op.String() + " ALL", CalledOnNull: true, Eval: evalQuantified(k, true)},
		}
	}
	return out
}()

// Quantify is arg op ANY (list), or ALL: list holds values of arg's type, which has
// an order. The comparisons with the elements are joined by OR (by AND for ALL)
// with SQL's NULLs: no element gives FALSE (TRUE for ALL) even to a NULL arg, a
// NULL list gives NULL. op is one of the six that NULL makes NULL. offset is its
// place in the statement.
func Quantify(op CompareOp, all bool, arg, list Expr, offset int) Expr {
	if k, ok := list.(*Const); ok && !k.Value.Null && (op == Eq && !all || op == Ne && all) {
		if len(k.Value.List) == 0 {
			return &Const{Value: vec.Bool(all)}
		}
		in := &In{Arg: arg, Negate: all}
		for _, v := range k.Value.List {
			in.List = append(in.List, &Const{Value: v})
		}
		return in
	}
	fn := quantified[op][0]
	if all {
		fn = quantified[op][1]
	}
	return &Call{Fn: fn, Args: []Expr{arg, list}, T: types.Of(types.Boolean), Offset: offset}
}

// evalQuantified compares each value with the elements of its list until one
// decides: one that holds for ANY, one that does not for ALL.
func evalQuantified(op kernel.Op, all bool) EvalFunc {
	return func(_ *Env, args []*vec.Vector, n int, out *vec.Vector) error {
		arg, list := args[0], args[1]
		for i := range n {
			r := list.Row(i)
			if list.IsNull(i) {
				out.SetNull(i)
				continue
			}
			out.Bools[i] = all
			from, to := list.Offsets[r], list.Offsets[r+1]
			if from == to {
				continue
			}
			unknown := arg.IsNull(i)
			for j := from; j < to && !arg.IsNull(i); j++ {
				if list.Child.IsNull(int(j)) {
					unknown = true
				} else if op.Holds(kernel.CompareRows(arg, i, list.Child, int(j))) != all {
					out.Bools[i], unknown = !all, false
					break
				}
			}
			if unknown {
				out.SetNull(i)
			}
		}
		return nil
	}
}
