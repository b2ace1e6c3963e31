package expr

import (
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// Fold computes what can be computed before the rows are known: parts over
// constants whose functions are immutable or, when env is not nil, stable. A
// part that fails is left as it is: its error is raised only if a row reaches
// it. The result has the type of e; the error is reserved for
// broken trees.
func Fold(env *Env, e Expr) (Expr, error) {
	return Rewrite(e, func(x Expr) Expr { return foldNode(env, x) }), nil
}

func foldNode(env *Env, e Expr) Expr {
	switch x := e.(type) {
	case *Column, *Const, *Param:
		return e
	case *Logic:
		return foldLogic(x)
	case *Case:
		return foldCase(x)
	case *Coalesce:
		return foldCoalesce(x)
	case *Call:
		if x.Fn.Volatility == Volatile || x.Fn.Volatility == Stable && env == nil {
			return e
		}
		if !x.Fn.CalledOnNull && anyNull(x.Args) {
			return &Const{Value: vec.Null(x.T)}
		}
	case *Compare:
		if x.Op < Distinct && anyNull([]Expr{x.Left, x.Right}) {
			return &Const{Value: vec.Null(x.Type())}
		}
	}
	for _, k := range e.Children() {
		if _, ok := k.(*Const); !ok {
			return e
		}
	}
	if env == nil {
		env = &Env{}
	}
	v, err := EvalConst(env, e)
	if err != nil {
		return e
	}
	v.Type = e.Type()
	return &Const{Value: v}
}

func anyNull(es []Expr) bool {
	for _, e := range es {
		if k, ok := e.(*Const); ok && k.Value.Null {
			return true
		}
	}
	return false
}

func constBool(e Expr) (val, ok bool) {
	k, is := e.(*Const)
	if !is || k.Value.Null || k.Value.Type.Kind != types.Boolean {
		return false, false
	}
	return k.Value.Bool, true
}

// foldLogic drops neutral operands and stops at a deciding one.
func foldLogic(x *Logic) Expr {
	var left []Expr
	for _, a := range x.Args {
		b, ok := constBool(a)
		switch {
		case ok && b == x.Or:
			return a
		case !ok:
			left = append(left, a)
		}
	}
	switch len(left) {
	case 0:
		return &Const{Value: vec.Bool(!x.Or)}
	case 1:
		if left[0].Type().Kind == types.Boolean {
			return left[0]
		}
		return &Const{Value: vec.Null(x.Type())}
	case len(x.Args):
		return x
	}
	return &Logic{Or: x.Or, Args: left}
}

// foldCase drops branches that are never taken and ends at one that always is.
func foldCase(x *Case) Expr {
	out := &Case{Else: x.Else, T: x.T}
	for _, w := range x.Whens {
		k, ok := w.Cond.(*Const)
		switch {
		case !ok:
			out.Whens = append(out.Whens, w)
			continue
		case k.Value.Null || !k.Value.Bool:
			continue
		}
		out.Else = w.Result
		break
	}
	return simplestCase(x, out)
}

func simplestCase(x, out *Case) Expr {
	switch {
	case len(out.Whens) > 0:
		if len(out.Whens) == len(x.Whens) {
			return x
		}
		return out
	case out.Else == nil:
		return &Const{Value: vec.Null(x.T)}
	}
	return out.Else
}

// foldCoalesce drops NULL constants and what follows a constant that is not.
func foldCoalesce(x *Coalesce) Expr {
	var left []Expr
	for _, a := range x.Args {
		k, ok := a.(*Const)
		if ok && k.Value.Null {
			continue
		}
		left = append(left, a)
		if ok {
			break
		}
	}
	switch {
	case len(left) == 0:
		return &Const{Value: vec.Null(x.T)}
	case len(left) == 1 && left[0].Type().Equal(x.T):
		return left[0]
	case len(left) == len(x.Args):
		return x
	}
	return &Coalesce{Args: left, T: x.T}
}
