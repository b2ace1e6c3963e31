package exec

import (
	"context"

	"github.com/loamdb/loam/exec/internal/op"
	"github.com/loamdb/loam/exec/internal/sched"
	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/internal/vec"
)

// build makes the stream of a node; pipelines that must run before it are
// appended to q.
func (q *query) build(n plan.Node) (stream, error) {
	switch x := n.(type) {
	case *plan.Scan:
		return q.leaf(n, func(ctx context.Context) (sched.Morsels, error) { return q.src.Scan(ctx, x) }), nil
	case *plan.SearchScan:
		return q.buildSearch(x)
	case *plan.SystemScan:
		return q.leaf(n, func(ctx context.Context) (sched.Morsels, error) { return q.src.System(ctx, x) }), nil
	case *plan.FileScan:
		return q.leaf(n, func(ctx context.Context) (sched.Morsels, error) { return q.src.File(ctx, x) }), nil
	case *plan.Materialized:
		return q.leaf(n, func(context.Context) (sched.Morsels, error) { return op.NewChunks(x.Chunks), nil }), nil
	case *plan.Values:
		return q.buildValues(x)
	case *plan.Unnest:
		return q.buildUnnest(x)
	case *plan.Recursive:
		return q.buildRecursive(x)
	case *plan.WorkingTable:
		return q.buildWorking(x)
	case *plan.Filter, *plan.Project:
		in, err := q.build(n.Children()[0])
		if err != nil {
			return stream{}, err
		}
		t, err := q.rowwise(n, in.cols)
		if err != nil {
			return stream{}, err
		}
		return in.through(t, n.Columns()), nil
	case *plan.Limit:
		return q.buildLimit(x)
	case *plan.UnionAll:
		return q.buildUnion(x)
	case *plan.Series:
		return q.buildSeries(x)
	case *plan.Sort:
		return q.buildSort(x)
	case *plan.Aggregate:
		return q.buildAggregate(x)
	case *plan.GroupingSets:
		return q.buildGroupingSets(x)
	case *plan.Window:
		return q.buildWindow(x)
	case *plan.Join:
		return q.buildJoin(x)
	case nil:
		return stream{}, fail.Bug("a plan without a node")
	}
	return stream{}, fail.New(fail.Unsupported, "the executor cannot run the operator %s", n.Name())
}

// leaf is the stream of one source.
func (q *query) leaf(n plan.Node, open func(context.Context) (sched.Morsels, error)) stream {
	return stream{cols: n.Columns(), branches: []sched.Branch{{Open: q.profile.source(n, open)}}}
}

func (q *query) buildValues(n *plan.Values) (stream, error) {
	rows := make([]op.Row, len(n.Rows))
	for i, r := range n.Rows {
		if len(r) != len(n.Cols) {
			return stream{}, fail.Bug("row %d of Values has %d expressions for %d columns", i, len(r), len(n.Cols))
		}
		row, err := op.NewRow(r)
		if err != nil {
			return stream{}, err
		}
		rows[i] = row
	}
	ts := typesOf(n.Cols)
	return q.leaf(n, func(context.Context) (sched.Morsels, error) {
		return op.NewRanges(len(rows), func(from, to int) (*vec.Chunk, error) {
			return op.Rows(q.env, ts, rows[from:to])
		}), nil
	}), nil
}

// buildLimit makes a limit inside a plan: a pipeline that keeps its rows.
func (q *query) buildLimit(n *plan.Limit) (stream, error) {
	in, err := q.build(n.Input)
	if err != nil {
		return stream{}, err
	}
	cols := n.Columns()
	rows := op.NewCollect(typesOf(cols), q.tracker(n, n.Name()))
	keep, err := rows.Local(nil)
	if err != nil {
		return stream{}, err
	}
	at := sched.Pos{}
	out := func(c *vec.Chunk) error {
		at.Seq++
		return keep.Push(c, at)
	}
	sink, err := q.serial([]plan.Node{n}, in.cols, out, func() error {
		return rows.Finalize(&sched.Worker{Ctx: q.ctx, Env: q.env})
	})
	if err != nil {
		return stream{}, err
	}
	q.pipelines = append(q.pipelines, sched.Pipeline{Branches: in.branches, Sink: sink})
	return stream{cols: cols, branches: []sched.Branch{{
		Open: func(context.Context) (sched.Morsels, error) { return rows.Table().Source(), nil },
	}}}, nil
}

// stored is the stream of a finished sink of the node.
func (q *query) stored(n plan.Node, cols []plan.Column, open func() sched.Morsels) stream {
	return stream{cols: cols, branches: []sched.Branch{{
		Open: q.profile.source(n, func(context.Context) (sched.Morsels, error) { return open(), nil }),
	}}}
}

func (q *query) buildUnion(n *plan.UnionAll) (stream, error) {
	out := stream{cols: n.Cols}
	for _, input := range n.Inputs {
		in, err := q.build(input)
		if err != nil {
			return stream{}, err
		}
		if len(in.cols) != len(n.Cols) {
			return stream{}, fail.Bug("an input of UnionAll has %d columns, not %d", len(in.cols), len(n.Cols))
		}
		out.branches = append(out.branches, in.branches...)
	}
	return out.through(q.profile.transform(n, passing{}), n.Cols), nil
}

// passing is the transform of a union: it changes nothing.
type passing struct{}

// Stage implements sched.Transform.
func (passing) Stage(*sched.Worker) (sched.Stage, error) { return passing{}, nil }

// Push implements sched.Stage.
func (passing) Push(c *vec.Chunk, next sched.Next) error { return next(c) }

func exprsOf(es []plan.NamedExpr) []expr.Expr {
	out := make([]expr.Expr, len(es))
	for i, e := range es {
		out[i] = e.Expr
	}
	return out
}
