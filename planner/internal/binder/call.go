package binder

import (
	"strings"

	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/planner/internal/ast"
)

// tableFunctions are the functions that stand in FROM only.
var tableFunctions = []string{"vector_search", "text_search", "rrf", "generate_series", "range", "read_parquet", "read_json"}

// call binds a function call: an aggregate, a form with its own rules of
// evaluation, or a scalar function of the registry.
func (c *clause) call(x *ast.FuncCall) (expr.Expr, error) {
	name := strings.ToLower(x.Name.Last().Text)
	if x.Over != nil {
		return c.window(name, x)
	}
	if c.b.env.Functions.IsAggregate(name) {
		return c.aggregate(name, x)
	}
	if name == "grouping" || name == "grouping_id" {
		return c.grouping(name, x)
	}
	if c.b.env.Functions.IsWindow(name) {
		return nil, c.b.fail(fail.WrongObjectType, x.Pos(), "window function %s needs OVER", name).
			WithHint("Write %s(…) OVER (PARTITION BY … ORDER BY …)", name)
	}
	if err := c.scalarOnly(name, x); err != nil {
		return nil, err
	}
	asts := make([]ast.Expr, len(x.Args))
	for i, a := range x.Args {
		if !a.Name.IsZero() && name != "struct_pack" {
			return nil, c.b.fail(fail.Syntax, a.Pos(), "function %s takes no named arguments", name)
		}
		asts[i] = a.Value
	}
	args, err := c.exprs(asts)
	if err != nil {
		return nil, err
	}
	offs := make([]int, len(args))
	for i, a := range asts {
		offs[i] = a.Pos()
	}
	if bound, err := c.b.catalogCall(name, args, offs, x.Pos()); bound != nil || err != nil {
		return bound, err
	}
	if bound, err := c.b.structCall(name, x, args, offs); bound != nil || err != nil {
		return bound, err
	}
	if bound, err := c.b.specialCall(name, args, offs, x.Pos()); bound != nil || err != nil {
		return bound, err
	}
	return c.b.scalarAt(name, args, offs, x.Pos())
}

// scalarOnly refuses the clauses that only aggregates take.
func (c *clause) scalarOnly(name string, x *ast.FuncCall) error {
	for _, t := range tableFunctions {
		if t == name && name != "range" {
			return c.b.fail(fail.WrongObjectType, x.Pos(), "%s is a table function", name).WithHint("Write SELECT … FROM %s(…)", name)
		}
	}
	switch {
	case x.Distinct:
		return c.b.fail(fail.WrongObjectType, x.Pos(), "DISTINCT is for aggregates, and %s is not one", name)
	case x.Filter != nil:
		return c.b.fail(fail.WrongObjectType, x.Filter.Pos(), "FILTER is for aggregates, and %s is not one", name)
	case len(x.OrderBy) > 0 || len(x.WithinGroup) > 0:
		return c.b.fail(fail.WrongObjectType, x.Pos(), "%s is not an aggregate: it takes no ORDER BY", name)
	case x.Nulls != ast.NullsUnsaid:
		return c.b.unsupported(x.Pos(), x.Nulls.String())
	}
	return nil
}

// specialCall binds the functions that evaluate their arguments only where they
// are needed. nil means that the registry has the function.
func (b *Binder) specialCall(name string, args []expr.Expr, offs []int, off int) (expr.Expr, error) {
	switch name {
	case "coalesce", "ifnull", "nvl":
		if len(args) == 0 || name != "coalesce" && len(args) != 2 {
			return nil, b.fail(fail.UndefinedFunction, off, "%s takes %s", name, map[bool]string{true: "one or more arguments", false: "two arguments"}[name == "coalesce"])
		}
		out, t, err := b.common(args, offs, "the arguments of "+name)
		if err != nil || len(out) == 1 {
			return first(out), err
		}
		return &expr.Coalesce{Args: out, T: t}, nil
	case "nullif":
		if len(args) != 2 {
			return nil, b.fail(fail.UndefinedFunction, off, "nullif takes two arguments")
		}
		eq, err := b.compare(expr.Eq, args[0], args[1], off)
		if err != nil {
			return nil, err
		}
		value := b.settle(args[0])
		return &expr.Case{Whens: []expr.When{{Cond: eq, Result: nullConst(value.Type())}}, Else: value, T: value.Type()}, nil
	case "if", "iff":
		if len(args) != 3 {
			return nil, b.fail(fail.UndefinedFunction, off, "%s takes three arguments", name)
		}
		cond, err := b.boolean(args[0], name, offs[0])
		if err != nil {
			return nil, err
		}
		out, t, err := b.common(args[1:], offs[1:], "the branches of "+name)
		if err != nil {
			return nil, err
		}
		return &expr.Case{Whens: []expr.When{{Cond: cond, Result: out[0]}}, Else: out[1], T: t}, nil
	}
	return nil, nil
}

func first(es []expr.Expr) expr.Expr {
	if len(es) == 0 {
		return nil
	}
	return es[0]
}

// scalar binds a call whose arguments share one place for errors.
func (b *Binder) scalar(name string, args []expr.Expr, off int) (expr.Expr, error) {
	offs := make([]int, len(args))
	for i := range offs {
		offs[i] = off
	}
	return b.scalarAt(name, args, offs, off)
}

// scalarAt resolves a scalar function and brings the arguments to its parameter types.
func (b *Binder) scalarAt(name string, args []expr.Expr, offs []int, off int) (expr.Expr, error) {
	args, err := b.vectorPartners(args, offs)
	if err != nil {
		return nil, err
	}
	r, err := b.env.Functions.Scalar(name, typesOf(args))
	if err != nil {
		return nil, b.at(err, off)
	}
	if args, err = b.toParams(args, r.Params, offs); err != nil {
		return nil, err
	}
	if r.Scalar.Volatility == expr.Stable {
		b.stable = true
	}
	return &expr.Call{Fn: r.Scalar, Args: args, T: r.Ret, Offset: off}, nil
}

// vectorPartners turns lists of numbers, and values without a type, into
// vectors where another argument is a vector: distances take both alike.
func (b *Binder) vectorPartners(args []expr.Expr, offs []int) ([]expr.Expr, error) {
	var want types.Type
	for _, a := range args {
		if a.Type().Kind == types.Vector {
			want = a.Type()
		}
	}
	if want.Kind != types.Vector {
		return args, nil
	}
	out := append([]expr.Expr(nil), args...)
	for i, a := range args {
		k := a.Type().Kind
		if k != types.List && k != types.Unknown {
			continue
		}
		var err error
		if out[i], err = b.coerce(a, want, offs[i]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// toParams coerces arguments to parameter types.
func (b *Binder) toParams(args []expr.Expr, params []types.Type, offs []int) ([]expr.Expr, error) {
	out := make([]expr.Expr, len(args))
	for i, a := range args {
		out[i] = a
		if i >= len(params) {
			continue
		}
		var err error
		if out[i], err = b.toParam(a, params[i], offs[i]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// toParam casts an argument as the registry says, also where the cast would
// otherwise have to be written.
func (b *Binder) toParam(a expr.Expr, to types.Type, off int) (expr.Expr, error) {
	if a.Type().Equal(to) || to.Kind == types.Unknown || types.Cast(a.Type(), to) != types.ExplicitCast {
		return b.coerce(a, to, off)
	}
	return b.fold(&expr.Cast{Arg: a, To: to, Offset: off}, off)
}

func typesOf(es []expr.Expr) []types.Type {
	out := make([]types.Type, len(es))
	for i, e := range es {
		out[i] = e.Type()
	}
	return out
}
