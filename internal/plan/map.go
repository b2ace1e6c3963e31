package plan

import "github.com/loamdb/loam/internal/expr"

// MapExprs rewrites every expression of the plan bottom-up by f, applied through
// expr.Rewrite, and returns the new plan.
func MapExprs(n Node, f func(expr.Expr) expr.Expr) Node {
	kids := n.Children()
	if len(kids) > 0 {
		out := make([]Node, len(kids))
		for i, k := range kids {
			out[i] = MapExprs(k, f)
		}
		n = n.WithChildren(out)
	}
	return mapOwn(n, func(e expr.Expr) expr.Expr { return expr.Rewrite(e, f) })
}

// mapOwn rewrites the expressions of one node.
func mapOwn(n Node, f func(expr.Expr) expr.Expr) Node {
	switch x := n.(type) {
	case *Scan:
		k := *x
		k.At, k.Filter = x.At.mapped(f), f(x.Filter)
		return &k
	case *SearchScan:
		return mapSearch(x, f)
	case *Series:
		return &Series{Start: f(x.Start), Stop: f(x.Stop), Step: f(x.Step), Col: x.Col}
	case *Filter:
		return &Filter{Input: x.Input, Pred: f(x.Pred)}
	case *Project:
		return &Project{Input: x.Input, Exprs: mapNamed(x.Exprs, f)}
	case *Aggregate:
		return &Aggregate{Input: x.Input, Groups: mapNamed(x.Groups, f), Aggs: mapAggs(x.Aggs, f)}
	case *GroupingSets:
		k := *x
		k.Groups, k.Aggs = mapNamed(x.Groups, f), mapAggs(x.Aggs, f)
		return &k
	case *Window:
		return MapWindow(x, f)
	case *Unnest:
		return mapUnnest(x, f)
	case *Join:
		k := *x
		k.Residual = f(x.Residual)
		k.Keys = make([]EquiKey, len(x.Keys))
		for i, e := range x.Keys {
			k.Keys[i] = EquiKey{Left: f(e.Left), Right: f(e.Right), NullSafe: e.NullSafe}
		}
		return &k
	case *Sort:
		k := *x
		k.Keys = mapKeys(x.Keys, f)
		return &k
	case *Values:
		rows := make([][]expr.Expr, len(x.Rows))
		for i, r := range x.Rows {
			rows[i] = mapList(r, f)
		}
		return &Values{Rows: rows, Cols: x.Cols}
	}
	return n
}

func mapSearch(x *SearchScan, f func(expr.Expr) expr.Expr) Node {
	k := *x
	k.At, k.Filter, k.MinScore = x.At.mapped(f), f(x.Filter), f(x.MinScore)
	k.Within = make([]Within, len(x.Within))
	for i, w := range x.Within {
		k.Within[i] = Within{Key: f(w.Key), Values: w.Values}
	}
	k.Legs = make([]Leg, len(x.Legs))
	for i, l := range x.Legs {
		l.Query, l.Filter = f(l.Query), f(l.Filter)
		k.Legs[i] = l
	}
	return &k
}

func mapAggs(calls []AggCall, f func(expr.Expr) expr.Expr) []AggCall {
	out := make([]AggCall, len(calls))
	for i, a := range calls {
		a.Args, a.Filter, a.OrderBy = mapList(a.Args, f), f(a.Filter), mapKeys(a.OrderBy, f)
		out[i] = a
	}
	return out
}

func mapNamed(es []NamedExpr, f func(expr.Expr) expr.Expr) []NamedExpr {
	out := make([]NamedExpr, len(es))
	for i, e := range es {
		out[i] = NamedExpr{Column: e.Column, Expr: f(e.Expr)}
	}
	return out
}

func mapList(es []expr.Expr, f func(expr.Expr) expr.Expr) []expr.Expr {
	out := make([]expr.Expr, len(es))
	for i, e := range es {
		out[i] = f(e)
	}
	return out
}

func mapKeys(ks []SortKey, f func(expr.Expr) expr.Expr) []SortKey {
	out := make([]SortKey, len(ks))
	for i, k := range ks {
		out[i] = SortKey{Expr: f(k.Expr), Desc: k.Desc, NullsFirst: k.NullsFirst}
	}
	return out
}
