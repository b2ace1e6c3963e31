package expr

import (
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/kernel"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// EvalConst computes an expression that reads no columns, one value at a time.
func EvalConst(env *Env, e Expr) (vec.Value, error) {
	return EvalRow(env, e, func(ColumnID) (vec.Value, bool) { return vec.Value{}, false })
}

// EvalRow computes an expression over one row whose columns are given by row. It
// walks the tree, shares no code with programs but functions and casts, and is
// the oracle that they are tested against.
func EvalRow(env *Env, e Expr, row func(ColumnID) (vec.Value, bool)) (vec.Value, error) {
	r := rowEval{env: env, row: row}
	return r.eval(e)
}

type rowEval struct {
	env *Env
	row func(ColumnID) (vec.Value, bool)
}

func (r rowEval) eval(e Expr) (vec.Value, error) {
	switch x := e.(type) {
	case *Column:
		v, ok := r.row(x.ID)
		if !ok {
			return vec.Value{}, fail.Bug("column %s (%d) is not an input of this expression", x.Name, x.ID)
		}
		return v, nil
	case *Const:
		return x.Value, nil
	case *Call:
		return r.call(x)
	case *Cast:
		return r.cast(x)
	case *Compare:
		return r.compare(x)
	case *Logic:
		return r.logic(x)
	case *Not:
		v, err := r.eval(x.Arg)
		if err != nil || v.Null {
			return vec.Null(e.Type()), err
		}
		return vec.Bool(!v.Bool), nil
	case *IsNull:
		v, err := r.eval(x.Arg)
		return vec.Bool(v.Null != x.Negate), err
	case *Case:
		return r.cases(x)
	case *Coalesce:
		for _, a := range x.Args {
			v, err := r.eval(a)
			if err != nil || !v.Null {
				return v, err
			}
		}
		return vec.Null(x.T), nil
	case *In:
		return r.in(x)
	}
	return vec.Value{}, fail.Bug("an expression of kind %T", e)
}

func (r rowEval) call(x *Call) (vec.Value, error) {
	args, null := make([]*vec.Vector, len(x.Args)), false
	for i, a := range x.Args {
		v, err := r.eval(a)
		if err != nil {
			return vec.Value{}, err
		}
		null = null || v.Null
		args[i] = vec.New(a.Type(), 1)
		args[i].Append(v)
	}
	if null && !x.Fn.CalledOnNull {
		return vec.Null(x.T), nil
	}
	out, err := evalInto(x.Fn.Eval, x.T, r.env, args, 1)
	if err != nil {
		return vec.Value{}, err
	}
	return out.Value(0), nil
}

func (r rowEval) cast(x *Cast) (vec.Value, error) {
	v, err := r.eval(x.Arg)
	if err != nil || v.Null {
		return vec.Null(x.To), err
	}
	return kernel.CastValue(v, x.To, x.Try)
}

func (r rowEval) compare(x *Compare) (vec.Value, error) {
	a, err := r.eval(x.Left)
	if err != nil {
		return vec.Value{}, err
	}
	b, err := r.eval(x.Right)
	if err != nil {
		return vec.Value{}, err
	}
	if x.Op >= Distinct {
		same := a.Null && b.Null || !a.Null && !b.Null && kernel.CompareBoxed(a, b) == 0
		return vec.Bool(same == (x.Op == NotDistinct)), nil
	}
	if a.Null || b.Null {
		return vec.Null(types.Of(types.Boolean)), nil
	}
	c := kernel.CompareBoxed(a, b)
	return vec.Bool(map[CompareOp]bool{Eq: c == 0, Ne: c != 0, Lt: c < 0, Le: c <= 0, Gt: c > 0, Ge: c >= 0}[x.Op]), nil
}

func (r rowEval) logic(x *Logic) (vec.Value, error) {
	null := false
	for _, a := range x.Args {
		v, err := r.eval(a)
		switch {
		case err != nil:
			return v, err
		case v.Null:
			null = true
		case v.Bool == x.Or:
			return v, nil
		}
	}
	if null {
		return vec.Null(types.Of(types.Boolean)), nil
	}
	return vec.Bool(!x.Or), nil
}

func (r rowEval) cases(x *Case) (vec.Value, error) {
	for _, w := range x.Whens {
		c, err := r.eval(w.Cond)
		if err != nil {
			return c, err
		}
		if !c.Null && c.Bool {
			return r.eval(w.Result)
		}
	}
	if x.Else == nil {
		return vec.Null(x.T), nil
	}
	return r.eval(x.Else)
}

func (r rowEval) in(x *In) (vec.Value, error) {
	null := vec.Null(types.Of(types.Boolean))
	v, err := r.eval(x.Arg)
	if err != nil || v.Null {
		return null, err
	}
	unknown := false
	for _, e := range x.List {
		k, err := r.eval(e)
		switch {
		case err != nil:
			return k, err
		case k.Null:
			unknown = true
		case kernel.CompareBoxed(v, k) == 0:
			return vec.Bool(!x.Negate), nil
		}
	}
	if unknown {
		return null, nil
	}
	return vec.Bool(x.Negate), nil
}
