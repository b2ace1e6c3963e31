package expr

import (
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/kernel"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// callNode applies a scalar function.
type callNode struct {
	fn   *ScalarFunc
	args []node
	typ  types.Type
	run  EvalFunc
	at   int // offset in the statement, for errors
}

func (nd *callNode) eval(f *frame) (*vec.Vector, error) {
	args := make([]*vec.Vector, len(nd.args))
	constant := nd.fn.Volatility != Volatile
	for i, a := range nd.args {
		v, err := a.eval(f)
		if err != nil {
			return nil, err
		}
		args[i] = plain(v)
		constant = constant && v.Encoding == vec.Constant
	}
	if !constant {
		v, err := nd.rows(f.env, args, f.n)
		return v, fail.Located(err, nd.at)
	}
	for i := range args {
		args[i] = resized(args[i], 1)
	}
	v, err := nd.rows(f.env, args, 1)
	if err != nil {
		return nil, fail.Located(err, nd.at)
	}
	k := *v
	k.Encoding, k.N = vec.Constant, f.n
	return &k, nil
}

// rows calls the function on n rows of flat or constant arguments, leaving out
// NULL rows where the function is not to see them.
func (nd *callNode) rows(env *Env, args []*vec.Vector, n int) (*vec.Vector, error) {
	if nd.fn.CalledOnNull {
		return nd.call(env, args, n)
	}
	var valid vec.Bitmap
	for _, a := range args {
		if allNull(a) {
			return nullsOf(nd.typ, n), nil
		}
		if a.Encoding == vec.Flat {
			valid = vec.And(valid, a.Valid)
		}
	}
	if valid == nil {
		return nd.call(env, args, n)
	}
	count := valid.Count(n)
	if count == 0 {
		return nullsOf(nd.typ, n), nil
	}
	if 2*count > n {
		// Values under NULLs are arbitrary: an error counts only if the valid rows repeat it.
		if out, err := nd.call(env, args, n); err == nil {
			out.Valid = vec.And(out.Valid, valid)
			return out, nil
		}
	}
	rows := kernel.ValidRows(valid, n)
	dense := make([]*vec.Vector, len(args))
	for i, a := range args {
		dense[i] = kernel.Gather(a, rows)
	}
	out, err := nd.call(env, dense, len(rows))
	if err != nil {
		return nil, err
	}
	return kernel.Scatter(out, rows, n), nil
}

func (nd *callNode) call(env *Env, args []*vec.Vector, n int) (*vec.Vector, error) {
	return evalInto(nd.run, nd.typ, env, args, n)
}

// evalInto runs a function into a new vector: for lists and maps an empty one that the
// function appends to, else one of n rows.
func evalInto(run EvalFunc, t types.Type, env *Env, args []*vec.Vector, n int) (*vec.Vector, error) {
	var out *vec.Vector
	if t.Listed() {
		out = vec.New(t, n)
	} else {
		out = vec.NewFlat(t, n)
	}
	if err := run(env, args, n, out); err != nil {
		return nil, err
	}
	return out, nil
}
