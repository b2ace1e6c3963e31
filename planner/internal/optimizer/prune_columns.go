package optimizer

import (
	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/plan"
)

// pruneColumns drops columns that nothing above reads, down to the scans.
//
// Safety rules: grouping keys stay, since they make the rows; the inputs of a
// union keep their columns in the order of its outputs; a scan keeps what its own
// filter reads. Joins stay even where none of their columns is read: they make
// and drop rows.
func pruneColumns(_ *context, n plan.Node) plan.Node { return prune(n, columnsOf(n)) }

// prune returns n without the columns that are not in need, where it can.
func prune(n plan.Node, need idSet) plan.Node {
	switch x := n.(type) {
	case *plan.Scan:
		return pruneScan(x, need)
	case *plan.SearchScan:
		return pruneSearch(x, need)
	case *plan.SystemScan:
		return &plan.SystemScan{Table: x.Table, Cols: keepScan(x.Cols, need)}
	case *plan.FileScan:
		k := *x
		k.Cols = keepScan(x.Cols, need)
		return &k
	case *plan.Filter:
		return x.WithChildren([]plan.Node{prune(x.Input, with(need, x.Pred))})
	case *plan.Project:
		return pruneProject(x, need)
	case *plan.Aggregate:
		return pruneAggregate(x, need)
	case *plan.GroupingSets:
		return pruneGroupingSets(x, need)
	case *plan.Window:
		return pruneWindow(x, need)
	case *plan.Recursive:
		// Each column of a round may decide about the next one.
		base, step := x.Base.Columns(), x.Step.Columns()
		return x.WithChildren([]plan.Node{exactly(prune(x.Base, columnsOf(x.Base)), base), exactly(prune(x.Step, columnsOf(x.Step)), step)})
	case *plan.Unnest:
		return pruneUnnest(x, need)
	case *plan.Sort:
		below := with(need)
		for _, k := range x.Keys {
			expr.Columns(k.Expr, below)
		}
		return x.WithChildren([]plan.Node{prune(x.Input, below)})
	case *plan.Limit:
		return x.WithChildren([]plan.Node{prune(x.Input, need)})
	case *plan.Join:
		return pruneJoin(x, need)
	case *plan.UnionAll:
		return pruneUnion(x, need)
	}
	return n
}

// with is need and the columns of expressions.
func with(need idSet, es ...expr.Expr) idSet {
	out := make(idSet, len(need))
	for id := range need {
		out[id] = true
	}
	for _, e := range es {
		expr.Columns(e, out)
	}
	return out
}

func keepScan(cols []plan.ScanColumn, need idSet) []plan.ScanColumn {
	var out []plan.ScanColumn
	for _, c := range cols {
		if need[c.ID] {
			out = append(out, c)
		}
	}
	return out
}

func pruneScan(x *plan.Scan, need idSet) plan.Node {
	k := *x
	k.Cols = keepScan(x.Cols, with(need, x.Filter))
	return &k
}

func pruneSearch(x *plan.SearchScan, need idSet) plan.Node {
	below := with(need, x.Filter)
	for _, l := range x.Legs {
		expr.Columns(l.Filter, below)
	}
	values := make([]plan.Node, len(x.Within))
	for i, w := range x.Within {
		expr.Columns(w.Key, below)
		values[i] = exactly(prune(w.Values, columnsOf(w.Values)), w.Values.Columns())
	}
	k := *x.WithChildren(values).(*plan.SearchScan)
	k.Cols = keepScan(x.Cols, below)
	return &k
}

func pruneProject(x *plan.Project, need idSet) plan.Node {
	k := &plan.Project{}
	below := idSet{}
	for _, e := range x.Exprs {
		if need[e.ID] {
			k.Exprs = append(k.Exprs, e)
			expr.Columns(e.Expr, below)
		}
	}
	k.Input = prune(x.Input, below)
	return k
}

func pruneAggregate(x *plan.Aggregate, need idSet) plan.Node {
	k := &plan.Aggregate{Groups: x.Groups}
	below := idSet{}
	for _, g := range x.Groups {
		expr.Columns(g.Expr, below)
	}
	for i, a := range x.Aggs {
		// Without groups one call stays: it makes the one row.
		if !need[a.ID] && (len(x.Groups) > 0 || i > 0) {
			continue
		}
		k.Aggs = append(k.Aggs, a)
		readCall(a, below)
	}
	k.Input = prune(x.Input, below)
	return k
}

// readCall adds the columns that an aggregate reads.
func readCall(a plan.AggCall, below idSet) {
	expr.Columns(a.Filter, below)
	for _, e := range a.Args {
		expr.Columns(e, below)
	}
	for _, s := range a.OrderBy {
		expr.Columns(s.Expr, below)
	}
}

// pruneGroupingSets keeps the keys and sets, which make the rows.
func pruneGroupingSets(x *plan.GroupingSets, need idSet) plan.Node {
	k := &plan.GroupingSets{Groups: x.Groups, Sets: x.Sets}
	below := idSet{}
	for _, g := range x.Groups {
		expr.Columns(g.Expr, below)
	}
	for _, a := range x.Aggs {
		if need[a.ID] {
			k.Aggs = append(k.Aggs, a)
			readCall(a, below)
		}
	}
	for _, m := range x.Marks {
		if need[m.ID] {
			k.Marks = append(k.Marks, m)
		}
	}
	k.Input = prune(x.Input, below)
	return k
}

// pruneWindow drops calls that nobody reads, and the node with the last of them.
func pruneWindow(x *plan.Window, need idSet) plan.Node {
	k := &plan.Window{PartitionBy: x.PartitionBy, OrderBy: x.OrderBy}
	below := with(need, x.PartitionBy...)
	for _, key := range x.OrderBy {
		expr.Columns(key.Expr, below)
	}
	for _, c := range x.Calls {
		if !need[c.ID] {
			continue
		}
		k.Calls = append(k.Calls, c)
		below = with(with(below, c.Args...), c.Filter, c.Frame.Key)
	}
	if len(k.Calls) == 0 {
		return prune(x.Input, need)
	}
	k.Input = prune(x.Input, below)
	return k
}

// pruneUnnest passes on what is read above alone, so that lists are not copied to
// each of their elements.
func pruneUnnest(x *plan.Unnest, need idSet) plan.Node {
	k := *x
	k.Pass = []plan.Column{}
	in := columnsOf(x.Input)
	for _, c := range x.Columns() {
		if in[c.ID] && need[c.ID] {
			k.Pass = append(k.Pass, c)
		}
	}
	below := with(need)
	for _, it := range x.Items {
		below = with(below, it.Exprs()...)
	}
	k.Input = prune(x.Input, below)
	return &k
}

func pruneJoin(x *plan.Join, need idSet) plan.Node {
	below := with(need, x.Residual)
	for _, k := range x.Keys {
		expr.Columns(k.Left, below)
		expr.Columns(k.Right, below)
	}
	return x.WithChildren([]plan.Node{prune(x.Left, below), prune(x.Right, below)})
}

func pruneUnion(x *plan.UnionAll, need idSet) plan.Node {
	k := &plan.UnionAll{}
	var kept []int
	for i, c := range x.Cols {
		if need[c.ID] {
			k.Cols = append(k.Cols, c)
			kept = append(kept, i)
		}
	}
	for _, in := range x.Inputs {
		cols := in.Columns()
		want := make([]plan.Column, len(kept))
		below := idSet{}
		for i, at := range kept {
			want[i] = cols[at]
			below[cols[at].ID] = true
		}
		k.Inputs = append(k.Inputs, exactly(prune(in, below), want))
	}
	return k
}

// exactly projects a node to these columns in this order, unless it has them so.
func exactly(n plan.Node, want []plan.Column) plan.Node {
	have := n.Columns()
	same := len(have) == len(want)
	for i := range want {
		same = same && have[i].ID == want[i].ID
	}
	if same {
		return n
	}
	p := &plan.Project{Input: n}
	for _, c := range want {
		p.Exprs = append(p.Exprs, plan.NamedExpr{Column: c, Expr: c.Ref()})
	}
	return p
}
