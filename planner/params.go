package planner

import (
	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
	"github.com/loamdb/loam/planner/internal/optimizer"
)

// BindParams returns the statement with its parameters replaced by values, each
// cast to the parameter's type, and the passes run that can use them. pr is not changed and can be
// bound many times, also at once. A statement with parameters must not run
// before. Errors: fail.UndefinedParameter for a wrong number of values,
// fail.InvalidParameter naming the parameter whose value does not fit its type.
func BindParams(pr *plan.Prepared, values []vec.Value) (*plan.Prepared, error) {
	if len(values) != len(pr.Params) {
		return nil, fail.New(fail.UndefinedParameter, "the statement has %s, %s given", fail.Count(len(pr.Params), "parameter"), fail.Count(len(values), "value is", "values are"))
	}
	if len(values) == 0 {
		return pr, nil
	}
	cast := make([]vec.Value, len(values))
	for i, v := range values {
		var err error
		if cast[i], err = castParam(v, pr.Params[i]); err != nil {
			return nil, paramError(i, pr.Params[i], err)
		}
	}
	stmt, err := optimizer.BindParams(pr.Statement, cast)
	if err != nil {
		return nil, err
	}
	out := *pr
	out.Statement, out.Params, out.Names = stmt, nil, nil
	return &out, nil
}

// castParam brings a value to a parameter's type; a type that no context gave is text.
func castParam(v vec.Value, to types.Type) (vec.Value, error) {
	if v.Null {
		return vec.Null(to), nil
	}
	if to.Kind == types.Unknown {
		out, err := castParam(v, types.Of(types.Text))
		out.Type = to
		return out, err
	}
	if v.Type.Equal(to) {
		return v, nil
	}
	if to.Kind == types.Vector && v.Type.Kind == types.Vector {
		return v, fail.New(fail.InvalidVector, "the vector has %s, %s", fail.Count(v.Type.Dim, "dimension"), fail.Count(to.Dim, "is needed", "are needed"))
	}
	if types.Cast(v.Type, to) == types.NoCast {
		return v, fail.New(fail.InvalidParameter, "a value of type %s cannot be used", v.Type)
	}
	out, err := expr.EvalConst(&expr.Env{}, &expr.Cast{Arg: &expr.Const{Value: v}, To: to, Offset: -1})
	out.Type = to
	return out, err
}

// paramError names the parameter in the error about its value.
func paramError(i int, t types.Type, err error) error {
	e := *fail.As(err)
	if e.Code == fail.DatatypeMismatch {
		e.Code = fail.InvalidParameter
	}
	e.Message = "parameter $" + vec.Int64(int64(i+1)).String() + " (" + t.String() + "): " + e.Message
	return &e
}
