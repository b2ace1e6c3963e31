package optimizer

import (
	"math"

	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// simplify folds constants, flattens conditions, unwraps casts around columns,
// and removes filters that always pass and inputs that never do.
//
// Safe because: only immutable functions are folded; a part that fails stays, so
// that its error is raised only if a row reaches it; every rule of conditions
// holds in three-valued logic; an outer join keeps its NULL-extension, since only
// Filter nodes are removed, never conditions of joins.
func simplify(_ *context, n plan.Node) plan.Node {
	n = plan.MapExprs(n, func(e expr.Expr) expr.Expr {
		if e == nil {
			return nil
		}
		return simplifyNode(e)
	})
	return rewriteUp(n, dropFilter)
}

// Simplify simplifies one expression.
func Simplify(e expr.Expr) expr.Expr { return expr.Rewrite(e, simplifyNode) }

// dropFilter removes a Filter whose condition is a constant.
func dropFilter(n plan.Node) plan.Node {
	f, ok := n.(*plan.Filter)
	if !ok {
		return n
	}
	k, ok := f.Pred.(*expr.Const)
	switch {
	case !ok:
		return n
	case !k.Value.Null && k.Value.Bool:
		return f.Input
	}
	return plan.Empty(f.Columns())
}

// simplifyNode simplifies one node over operands that are simple already.
func simplifyNode(e expr.Expr) expr.Expr {
	switch x := e.(type) {
	case *expr.Column, *expr.Const, *expr.Param:
		return e
	case *expr.Not:
		e = pushNot(x)
	case *expr.Logic:
		e = flatten(x)
	case *expr.Compare:
		e = unwrapCompare(x)
	case *expr.In:
		e = simplifyIn(x)
	}
	folded, err := expr.Fold(nil, e)
	if err != nil {
		return e
	}
	return folded
}

var inverse = map[expr.CompareOp]expr.CompareOp{
	expr.Eq: expr.Ne, expr.Ne: expr.Eq, expr.Lt: expr.Ge, expr.Ge: expr.Lt, expr.Gt: expr.Le, expr.Le: expr.Gt,
	expr.Distinct: expr.NotDistinct, expr.NotDistinct: expr.Distinct,
}

// pushNot moves NOT into its operand; comparisons are total, NaN included, so
// each has an inverse.
func pushNot(n *expr.Not) expr.Expr {
	switch x := n.Arg.(type) {
	case *expr.Not:
		return x.Arg
	case *expr.Compare:
		return &expr.Compare{Op: inverse[x.Op], Left: x.Left, Right: x.Right}
	case *expr.IsNull:
		return &expr.IsNull{Arg: x.Arg, Negate: !x.Negate}
	case *expr.In:
		return &expr.In{Arg: x.Arg, List: x.List, Negate: !x.Negate}
	case *expr.Logic:
		args := make([]expr.Expr, len(x.Args))
		for i, a := range x.Args {
			args[i] = pushNot(&expr.Not{Arg: a})
		}
		return &expr.Logic{Or: !x.Or, Args: args}
	}
	return n
}

// flatten joins nested AND or OR of one kind, drops repeated operands, and takes
// what all branches of an OR have in common out of it.
func flatten(l *expr.Logic) expr.Expr {
	var args []expr.Expr
	seen := map[string]bool{}
	for _, a := range l.Args {
		parts := []expr.Expr{a}
		if inner, ok := a.(*expr.Logic); ok && inner.Or == l.Or {
			parts = inner.Args
		}
		for _, p := range parts {
			if key := sameKey(p); !seen[key] || expr.HasVolatile(p) {
				seen[key] = true
				args = append(args, p)
			}
		}
	}
	switch {
	case len(args) == 1:
		return args[0]
	case l.Or:
		return factor(args)
	}
	return &expr.Logic{Args: args}
}

// factor rewrites (a AND b) OR (a AND c) to a AND (b OR c): a can then be pushed
// down, or be the key of a join.
func factor(branches []expr.Expr) expr.Expr {
	or := &expr.Logic{Or: true, Args: branches}
	var common []expr.Expr
	for _, a := range expr.Conjuncts(branches[0]) {
		key, everywhere := sameKey(a), !expr.HasVolatile(a)
		for _, b := range branches[1:] {
			everywhere = everywhere && hasConjunct(b, key)
		}
		if everywhere {
			common = append(common, a)
		}
	}
	if len(common) == 0 {
		return or
	}
	keys := map[string]bool{}
	for _, a := range common {
		keys[sameKey(a)] = true
	}
	var rest []expr.Expr
	for _, b := range branches {
		var left []expr.Expr
		for _, a := range expr.Conjuncts(b) {
			if !keys[sameKey(a)] {
				left = append(left, a)
			}
		}
		if len(left) == 0 {
			return expr.AllOf(common) // a OR (a AND b) is a
		}
		rest = append(rest, expr.AllOf(left))
	}
	return expr.AllOf(append(common, &expr.Logic{Or: true, Args: rest}))
}

func hasConjunct(e expr.Expr, key string) bool {
	for _, a := range expr.Conjuncts(e) {
		if sameKey(a) == key {
			return true
		}
	}
	return false
}

// unwrapCompare puts a constant on the right, and compares the column itself
// instead of a wider form of it, so that zone maps and indexes can answer.
func unwrapCompare(c *expr.Compare) expr.Expr {
	if _, ok := c.Left.(*expr.Const); ok {
		c = &expr.Compare{Op: c.Op.Flip(), Left: c.Right, Right: c.Left}
	}
	cast, ok := c.Left.(*expr.Cast)
	k, isConst := c.Right.(*expr.Const)
	if !ok || !isConst || k.Value.Null {
		return c
	}
	if narrow, ok := narrowed(cast, k); ok {
		return &expr.Compare{Op: c.Op, Left: cast.Arg, Right: narrow}
	}
	return c
}

// narrowed brings a constant to the type under a widening cast, where that
// changes neither its value nor any comparison with it.
func narrowed(cast *expr.Cast, k *expr.Const) (*expr.Const, bool) {
	from, to := cast.Arg.Type(), cast.To
	switch {
	case cast.Try:
	case from.Kind == types.Int32 && to.Kind == types.Int64:
		if k.Value.Int >= math.MinInt32 && k.Value.Int <= math.MaxInt32 {
			return &expr.Const{Value: vec.Int32(int32(k.Value.Int))}, true
		}
	case from.Kind == types.Date && to.Kind == types.Timestamp:
		const day = 24 * 3600 * 1000000
		if k.Value.Int%day == 0 && k.Value.Int/day >= math.MinInt32 && k.Value.Int/day <= math.MaxInt32 {
			return &expr.Const{Value: vec.Value{Type: from, Int: k.Value.Int / day}}, true
		}
	}
	return nil, false
}

// simplifyIn drops repeated elements, unwraps casts, and turns a list of one into
// a comparison.
func simplifyIn(in *expr.In) expr.Expr {
	out := &expr.In{Arg: in.Arg, Negate: in.Negate}
	seen := map[string]bool{}
	for _, e := range in.List {
		if key := sameKey(e); !seen[key] {
			seen[key] = true
			out.List = append(out.List, e)
		}
	}
	if cast, ok := out.Arg.(*expr.Cast); ok {
		list := make([]expr.Expr, 0, len(out.List))
		for _, e := range out.List {
			k, isConst := e.(*expr.Const)
			if !isConst || k.Value.Null {
				break
			}
			if n, ok := narrowed(cast, k); ok {
				list = append(list, n)
			}
		}
		if len(list) == len(out.List) {
			out.Arg, out.List = cast.Arg, list
		}
	}
	if len(out.List) == 1 {
		op := expr.Eq
		if in.Negate {
			op = expr.Ne
		}
		return &expr.Compare{Op: op, Left: out.Arg, Right: out.List[0]}
	}
	if len(out.List) == len(in.List) && out.Arg == in.Arg {
		return in
	}
	return out
}
