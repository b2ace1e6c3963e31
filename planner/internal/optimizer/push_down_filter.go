package optimizer

import (
	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/plan"
)

// pushDownFilter moves conditions towards the rows: through projections, below
// grouping and joins, into every input of a union, and into the filters of scans
// and searches. Equalities between the sides of an inner join become its keys.
//
// Safety rules:
//   - Never below a LIMIT, a top-n or a scan with a limit: which rows they keep
//     would change.
//   - A condition with a volatile function stays where it is written.
//   - Below grouping go conditions on grouping columns only, and none where there
//     are no groups, since the one row of an ungrouped aggregate is always there;
//     below grouping sets go those on keys that are in every set.
//   - Below window functions go conditions on what parts the rows only: they take or
//     leave whole partitions.
//   - Below an outer join go conditions on its preserved side only. Its own ON
//     conditions go down the null-supplying side only: on the preserved side they
//     decide about matches, not about rows.
//   - Conditions that read the score of a search stay above it; all others are
//     pre-filters of every leg, whatever the limit of the search. That is what
//     WHERE over a search means, so this pass cannot be switched off there.
//   - A condition that substitution would blow up stays above the projection.
//   - Columns are matched by id, so that a condition never lands on the wrong side
//     of a join of equal names.
func pushDownFilter(_ *context, n plan.Node) plan.Node { return push(n, nil) }

// push returns a plan that equals Filter(preds, n), with the conditions as low as
// they may go.
func push(n plan.Node, preds []expr.Expr) plan.Node {
	switch x := n.(type) {
	case *plan.Filter:
		return push(x.Input, append(expr.Conjuncts(x.Pred), preds...))
	case *plan.Project:
		return pushProject(x, preds)
	case *plan.Aggregate:
		return pushAggregate(x, preds)
	case *plan.GroupingSets:
		return pushGroupingSets(x, preds)
	case *plan.Window:
		return pushWindow(x, preds)
	case *plan.Unnest:
		return pushUnnest(x, preds)
	case *plan.Join:
		return pushJoin(x, preds)
	case *plan.UnionAll:
		return pushUnion(x, preds)
	case *plan.Sort:
		if x.Limit == plan.NoLimit && x.Offset == 0 {
			down, stay := splitVolatile(preds)
			return filtered(x.WithChildren([]plan.Node{push(x.Input, down)}), stay)
		}
	case *plan.Scan:
		return pushScan(x, preds)
	case *plan.SearchScan:
		return pushSearch(x, preds)
	}
	return filtered(pushChildren(n), preds)
}

// pushChildren pushes inside each input.
func pushChildren(n plan.Node) plan.Node {
	kids := n.Children()
	if len(kids) == 0 {
		return n
	}
	out := make([]plan.Node, len(kids))
	for i, k := range kids {
		out[i] = push(k, nil)
	}
	return n.WithChildren(out)
}

func filtered(n plan.Node, preds []expr.Expr) plan.Node {
	if pred := expr.AllOf(preds); pred != nil {
		return &plan.Filter{Input: n, Pred: pred}
	}
	return n
}

func alwaysTrue(e expr.Expr) bool {
	k, ok := e.(*expr.Const)
	return ok && !k.Value.Null && k.Value.Bool
}

func splitVolatile(preds []expr.Expr) (calm, volatile []expr.Expr) {
	for _, p := range preds {
		if expr.HasVolatile(p) {
			volatile = append(volatile, p)
		} else {
			calm = append(calm, p)
		}
	}
	return calm, volatile
}

// pushProject replaces columns by what computes them.
func pushProject(x *plan.Project, preds []expr.Expr) plan.Node {
	defs := definitions(x.Exprs)
	var down, stay []expr.Expr
	for _, p := range preds {
		moved := substitute(p, defs)
		if tooBig(moved) || expr.HasVolatile(p) || expr.HasVolatile(moved) {
			stay = append(stay, p)
		} else if moved = Simplify(moved); !alwaysTrue(moved) {
			down = append(down, moved)
		}
	}
	return filtered(x.WithChildren([]plan.Node{push(x.Input, down)}), stay)
}

func pushAggregate(x *plan.Aggregate, preds []expr.Expr) plan.Node {
	down, stay := splitByGroups(x.Groups, preds)
	return filtered(x.WithChildren([]plan.Node{push(x.Input, down)}), stay)
}

func pushGroupingSets(x *plan.GroupingSets, preds []expr.Expr) plan.Node {
	var common []plan.NamedExpr
	for _, k := range x.Common() {
		common = append(common, x.Groups[k])
	}
	down, stay := splitByGroups(common, preds)
	return filtered(x.WithChildren([]plan.Node{push(x.Input, down)}), stay)
}

// pushUnnest pushes what reads the columns of the input alone.
func pushUnnest(x *plan.Unnest, preds []expr.Expr) plan.Node {
	in := columnsOf(x.Input)
	var down, stay []expr.Expr
	for _, p := range preds {
		if reads(p).within(in) && !expr.HasVolatile(p) {
			down = append(down, p)
		} else {
			stay = append(stay, p)
		}
	}
	return filtered(x.WithChildren([]plan.Node{push(x.Input, down)}), stay)
}

// splitByGroups rewrites the conditions on groups alone to conditions on their input.
func splitByGroups(list []plan.NamedExpr, preds []expr.Expr) (down, stay []expr.Expr) {
	defs := definitions(list)
	groups := idSet{}
	for _, g := range list {
		groups[g.ID] = true
	}
	for _, p := range preds {
		used := reads(p)
		moved := substitute(p, defs)
		if len(used) > 0 && used.within(groups) && !tooBig(moved) && !expr.HasVolatile(moved) {
			down = append(down, moved)
		} else {
			stay = append(stay, p)
		}
	}
	return down, stay
}

func pushWindow(x *plan.Window, preds []expr.Expr) plan.Node {
	parts := idSet{}
	for _, e := range x.PartitionBy {
		if c, ok := e.(*expr.Column); ok {
			parts[c.ID] = true
		}
	}
	var down, stay []expr.Expr
	for _, p := range preds {
		if used := reads(p); len(used) > 0 && used.within(parts) && !expr.HasVolatile(p) {
			down = append(down, p)
		} else {
			stay = append(stay, p)
		}
	}
	return filtered(x.WithChildren([]plan.Node{push(x.Input, down)}), stay)
}

func pushUnion(x *plan.UnionAll, preds []expr.Expr) plan.Node {
	down, stay := splitVolatile(preds)
	out := make([]plan.Node, len(x.Inputs))
	for i, in := range x.Inputs {
		cols := in.Columns()
		defs := map[expr.ColumnID]expr.Expr{}
		for j, c := range x.Cols {
			defs[c.ID] = cols[j].Ref()
		}
		moved := make([]expr.Expr, len(down))
		for j, p := range down {
			moved[j] = substitute(p, defs)
		}
		out[i] = push(in, moved)
	}
	return filtered(x.WithChildren(out), stay)
}

func pushScan(x *plan.Scan, preds []expr.Expr) plan.Node {
	down, stay := splitVolatile(preds)
	if len(down) == 0 || x.Limit != plan.NoLimit {
		return filtered(x, preds)
	}
	k := *x
	k.Filter = expr.AllOf(append(expr.Conjuncts(x.Filter), down...))
	return filtered(&k, stay)
}

func pushSearch(x *plan.SearchScan, preds []expr.Expr) plan.Node {
	k := *pushChildren(x).(*plan.SearchScan)
	pre := expr.Conjuncts(x.Filter)
	var stay []expr.Expr
	for _, p := range preds {
		if reads(p)[x.Score.ID] || expr.HasVolatile(p) {
			stay = append(stay, p)
		} else {
			pre = append(pre, p)
		}
	}
	k.Filter = expr.AllOf(pre)
	return filtered(&k, stay)
}

// sides says where the conditions of a join may go: those from above it, and its own.
type sides struct{ aboveLeft, aboveRight, onLeft, onRight bool }

var joinSides = map[plan.JoinKind]sides{
	plan.Inner:  {aboveLeft: true, aboveRight: true, onLeft: true, onRight: true},
	plan.Left:   {aboveLeft: true, onRight: true},
	plan.Right:  {aboveRight: true, onLeft: true},
	plan.Full:   {},
	plan.Semi:   {aboveLeft: true, onLeft: true, onRight: true},
	plan.Anti:   {aboveLeft: true, onRight: true},
	plan.Single: {aboveLeft: true, onRight: true},
	plan.Mark:   {aboveLeft: true},
}

func pushJoin(x *plan.Join, preds []expr.Expr) plan.Node {
	may := joinSides[x.Kind]
	lc, rc := columnsOf(x.Left), columnsOf(x.Right)
	var left, right, stay, on []expr.Expr
	for _, p := range preds {
		used := reads(p)
		switch {
		case expr.HasVolatile(p):
			stay = append(stay, p)
		case may.aboveLeft && used.within(lc):
			left = append(left, p)
		case may.aboveRight && used.within(rc):
			right = append(right, p)
		case x.Kind == plan.Inner:
			on = append(on, p)
		default:
			stay = append(stay, p)
		}
	}
	for _, p := range expr.Conjuncts(x.Residual) {
		used := reads(p)
		switch {
		case expr.HasVolatile(p) || len(used) == 0:
			on = append(on, p)
		case may.onLeft && used.within(lc):
			left = append(left, p)
		case may.onRight && used.within(rc):
			right = append(right, p)
		default:
			on = append(on, p)
		}
	}
	k := *x
	k.Left, k.Right = push(x.Left, left), push(x.Right, right)
	k.Keys = append([]plan.EquiKey(nil), x.Keys...)
	k.Residual = nil
	var rest []expr.Expr
	for _, p := range on {
		// The keys of a Mark join are the comparison of IN: nothing else joins them.
		if key, ok := equiKey(p, lc, rc); ok && x.Kind != plan.Mark {
			k.Keys = append(k.Keys, key)
		} else {
			rest = append(rest, p)
		}
	}
	k.Residual = expr.AllOf(rest)
	return filtered(&k, stay)
}
