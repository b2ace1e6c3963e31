package binder

import (
	"strings"

	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/planner/internal/ast"
)

// tableFunctions are the functions that stand in FROM only.
var tableFunctions = []string{"vector_search", "text_search", "rrf", "generate_series", "range", "unnest", "read_parquet", "read_csv", "read_json", "read_lance"}

// call binds a function call: an aggregate, a form with its own rules of
// evaluation, or a scalar function of the registry.
func (c *clause) call(x *ast.FuncCall) (expr.Expr, error) {
	name := strings.ToLower(x.Name.Last().Text)
	if isColumns(x) {
		return c.b.chosenColumn(x)
	}
	if x.Over != nil {
		return c.window(name, x)
	}
	if c.b.env.Functions.IsAggregate(name) {
		return c.aggregate(name, x)
	}
	if setReturning[name] {
		return c.setCall(name, x)
	}
	if name == "grouping" || name == "grouping_id" {
		return c.grouping(name, x)
	}
	if c.b.env.Functions.IsWindow(name) {
		return nil, c.b.fail(fail.WrongObjectType, x.Pos(), "window function %s needs OVER", name).
			WithHint("Write %s(…) OVER (PARTITION BY … ORDER BY …).", name)
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
	if conditional[name] {
		defer c.withoutSets(name)()
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
			return c.b.fail(fail.WrongObjectType, x.Pos(), "%s is a table function", name).WithHint("Write SELECT … FROM %s(…).", name)
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
	case "if", "iff", "iif":
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
	case "nvl2":
		if len(args) != 3 {
			return nil, b.fail(fail.UndefinedFunction, off, "nvl2 takes three arguments")
		}
		out, t, err := b.common(args[1:], offs[1:], "the branches of nvl2")
		if err != nil {
			return nil, err
		}
		isNull := &expr.IsNull{Arg: b.settle(args[0])}
		return &expr.Case{Whens: []expr.When{{Cond: isNull, Result: out[1]}}, Else: out[0], T: t}, nil
	case "decode":
		if len(args) > 2 {
			return b.decode(args, offs, off)
		}
	case "arrow_cast":
		return b.arrowCast(args, offs, off)
	}
	return nil, nil
}

// decode is decode(x, search, result, …, default): the result behind the first
// search that equals x, where NULL equals NULL.
func (b *Binder) decode(args []expr.Expr, offs []int, off int) (expr.Expr, error) {
	var results []expr.Expr
	var places []int
	out := &expr.Case{}
	for i := 1; i+1 < len(args); i += 2 {
		cond, err := b.compare(expr.NotDistinct, args[0], args[i], offs[i])
		if err != nil {
			return nil, err
		}
		out.Whens = append(out.Whens, expr.When{Cond: cond})
		results, places = append(results, args[i+1]), append(places, offs[i+1])
	}
	if len(args)%2 == 0 {
		results, places = append(results, args[len(args)-1]), append(places, offs[len(args)-1])
	}
	results, t, err := b.common(results, places, "the results of decode")
	if err != nil {
		return nil, err
	}
	for i := range out.Whens {
		out.Whens[i].Result = results[i]
	}
	if len(args)%2 == 0 {
		out.Else = results[len(results)-1]
	}
	out.T = t
	return out, nil
}

// arrowCast is arrow_cast(x, 'Int64').
func (b *Binder) arrowCast(args []expr.Expr, offs []int, off int) (expr.Expr, error) {
	if len(args) != 2 {
		return nil, b.fail(fail.UndefinedFunction, off, "arrow_cast takes a value and the name of an Arrow type")
	}
	k, ok := args[1].(*expr.Const)
	if !ok || k.Value.Null || !k.Value.Type.Textual() {
		return nil, b.fail(fail.InvalidParameter, offs[1], "arrow_cast names its type by a text literal")
	}
	to, ok := types.ArrowNamed(k.Value.Str)
	if !ok {
		return nil, b.fail(fail.Unsupported, offs[1], "arrow_cast has no type for %q", k.Value.Str).WithHint("Such as 'Int64', 'Utf8', 'Decimal128(10, 2)', 'Timestamp(Microsecond, None)'.")
	}
	return b.castTo(args[0], to, false, offs[0])
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
