package exec

import (
	"context"

	"github.com/loamdb/loam/exec/internal/op"
	"github.com/loamdb/loam/exec/internal/sched"
	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/mem"
	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/internal/types"
)

// valueBytes is what is reserved for one value of a list, beside its bytes.
const valueBytes = 160

// buildSearch makes the leaf of a search. The plans within whose values it searches
// run first; their values join its filter when it is opened.
func (q *query) buildSearch(n *plan.SearchScan) (stream, error) {
	if len(n.Within) == 0 {
		return q.leaf(n, func(ctx context.Context) (sched.Morsels, error) { return q.src.Search(ctx, n) }), nil
	}
	account := &mem.Account{Tracker: q.tracker(n, n.Name())}
	var sinks []*op.Collect
	for _, w := range n.Within {
		in, err := q.build(w.Values)
		if err != nil {
			return stream{}, err
		}
		rows := op.NewCollect(typesOf(in.cols), account.Tracker)
		q.pipelines = append(q.pipelines, sched.Pipeline{Branches: in.branches, Sink: rows})
		sinks = append(sinks, rows)
	}
	return q.leaf(n, func(ctx context.Context) (sched.Morsels, error) {
		k := *n
		k.Within = nil
		filter := expr.Conjuncts(n.Filter)
		for i, w := range n.Within {
			list, err := distinctValues(ctx, sinks[i].Table(), w.Key.Type(), account, q.opt.SameHash)
			if err != nil {
				return nil, err
			}
			if len(list) == 0 {
				return op.NewChunks(nil), nil
			}
			filter = append(filter, &expr.In{Arg: w.Key, List: list})
		}
		k.Filter = expr.AllOf(filter)
		return q.src.Search(ctx, &k)
	}), nil
}

// distinctValues lists the values of a table of one column, each once, without NULL.
func distinctValues(ctx context.Context, t *op.Table, typ types.Type, account *mem.Account, sameHash bool) ([]expr.Expr, error) {
	fresh, err := op.NewSeen([]types.Type{typ}, account.Tracker, sameHash).Fresh(ctx, t)
	if err != nil {
		return nil, err
	}
	if err := account.Grow(int64(fresh.N) * valueBytes); err != nil {
		return nil, err
	}
	var out []expr.Expr
	for i := range fresh.N {
		if v := fresh.Cols[0].Value(i); !v.Null {
			out = append(out, &expr.Const{Value: v})
		}
	}
	return out, nil
}
