package binder

import (
	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/internal/types"
)

// firstRow unnests (SELECT x … WHERE inner = outer ORDER BY k LIMIT 1): the first
// row of each group of inner values is first_value(x ORDER BY k), which keeps a
// NULL that comes first. false where the subquery has another shape.
func (u *unnester) firstRow(left plan.Node, j subJoin) (plan.Node, bool) {
	limit, ok := j.right.(*plan.Limit)
	if !ok || limit.Count != 1 || limit.Offset != 0 || len(limit.Columns()) != 1 {
		return nil, false
	}
	value := limit.Columns()[0]
	input, keys := belowSort(limit.Input)
	p, ok := u.pull(input)
	if !ok || len(p.conds) == 0 || len(p.above) > 0 || !hasColumn(p.node, value.ID) {
		return nil, false
	}
	for _, k := range keys {
		if u.dependent(k.Expr) {
			return nil, false
		}
	}
	first, ok := u.b.firstValue(value, keys)
	if !ok {
		return nil, false
	}
	agg := &plan.Aggregate{Input: p.node, Aggs: []plan.AggCall{first}}
	var conds []expr.Expr
	for _, cond := range p.conds {
		up, ok := u.condAbove(agg, cond)
		if !ok {
			return nil, false
		}
		conds = append(conds, up)
	}
	joined := plainJoin(left, subJoin{kind: plan.Left, off: j.off}, agg, conds)
	out := passColumns(joined, left.Columns())
	out.Exprs = append(out.Exprs, plan.NamedExpr{Column: value, Expr: first.Ref()})
	return out, true
}

// firstValue is the call first_value(value ORDER BY keys) under a new id.
func (b *Binder) firstValue(value plan.Column, keys []plan.SortKey) (plan.AggCall, bool) {
	r, err := b.env.Functions.Aggregate("first_value", []types.Type{value.Type})
	call := plan.AggCall{Column: b.newColumn(value.Name, value.Type), Fn: r.Agg, Args: []expr.Expr{value.Ref()}, OrderBy: keys}
	return call, err == nil && r.Ret.Equal(value.Type)
}

// belowSort finds the sort under projections that only pass columns on.
func belowSort(n plan.Node) (plan.Node, []plan.SortKey) {
	below := n
	for {
		switch x := below.(type) {
		case *plan.Project:
			for _, e := range x.Exprs {
				if c, ok := e.Expr.(*expr.Column); !ok || c.ID != e.ID {
					return n, nil
				}
			}
			below = x.Input
			continue
		case *plan.Sort:
			if x.Limit == plan.NoLimit {
				return x.Input, x.Keys
			}
		}
		return n, nil
	}
}

func hasColumn(n plan.Node, id expr.ColumnID) bool { return columnsOf(n)[id] }
