package exec

import (
	"context"

	"github.com/loamdb/loam/exec/internal/op"
	"github.com/loamdb/loam/exec/internal/sched"
	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// maxTopN is the number of rows up to which a sort with a limit keeps only its
// best rows while it reads.
const maxTopN = 100_000

func (q *query) buildSort(n *plan.Sort) (stream, error) {
	in, err := q.build(n.Input)
	if err != nil {
		return stream{}, err
	}
	es, dirs := sortKeys(n.Keys)
	stored, err := op.NewStored(typesOf(in.cols), layoutOf(in.cols), es)
	if err != nil {
		return stream{}, err
	}
	cols := n.Columns()
	tracker := q.tracker(n, n.Name())
	offset := max(n.Offset, 0)
	if n.Limit == 0 {
		return q.stored(n, cols, func() sched.Morsels { return op.NewChunks(nil) }), nil
	}
	if n.Limit > 0 && n.Limit <= maxTopN && offset <= maxTopN && len(es) > 0 {
		top := op.NewTopN(int(n.Limit+offset), len(cols), stored, dirs, tracker)
		q.fill(n, in, top)
		return q.stored(n, cols, func() sched.Morsels { return top.Source(offset, n.Limit) }), nil
	}
	sorted := op.NewSort(len(cols), stored, dirs, tracker)
	q.fill(n, in, sorted)
	return q.stored(n, cols, func() sched.Morsels { return sorted.Source(offset, n.Limit) }), nil
}

func sortKeys(keys []plan.SortKey) ([]expr.Expr, []op.Direction) {
	es, dirs := make([]expr.Expr, len(keys)), make([]op.Direction, len(keys))
	for i, k := range keys {
		es[i], dirs[i] = k.Expr, op.Direction{Desc: k.Desc, NullsFirst: k.NullsFirst}
	}
	return es, dirs
}

func (q *query) buildAggregate(n *plan.Aggregate) (stream, error) {
	in, err := q.build(n.Input)
	if err != nil {
		return stream{}, err
	}
	layout := layoutOf(in.cols)
	agg := &op.Aggregate{KeyTypes: op.TypesOf(exprsOf(n.Groups)), Tracker: q.tracker(n, n.Name()), SameHash: q.opt.SameHash}
	if agg.Keys, err = op.Compile(exprsOf(n.Groups), layout); err != nil {
		return stream{}, err
	}
	for _, call := range n.Aggs {
		a, err := compileAgg(call, layout, q.opt.Workers)
		if err != nil {
			return stream{}, err
		}
		agg.Aggs = append(agg.Aggs, a)
	}
	q.fill(n, in, agg)
	return q.stored(n, n.Columns(), func() sched.Morsels { return agg.Source() }), nil
}

func (q *query) buildGroupingSets(n *plan.GroupingSets) (stream, error) {
	in, err := q.build(n.Input)
	if err != nil {
		return stream{}, err
	}
	layout := layoutOf(in.cols)
	sets := &op.GroupingSets{KeyTypes: op.TypesOf(exprsOf(n.Groups)), Sets: n.Sets, Tracker: q.tracker(n, n.Name()), SameHash: q.opt.SameHash}
	if sets.Keys, err = op.Compile(exprsOf(n.Groups), layout); err != nil {
		return stream{}, err
	}
	for _, call := range n.Aggs {
		// Groups are united in an order that is not the rows', whatever the workers.
		a, err := compileAgg(call, layout, max(2, q.opt.Workers))
		if err != nil {
			return stream{}, err
		}
		sets.Aggs = append(sets.Aggs, a)
	}
	for _, set := range n.Sets {
		marks := make([]int32, len(n.Marks))
		for i, m := range n.Marks {
			marks[i] = m.Value(set)
		}
		sets.Marks = append(sets.Marks, marks)
	}
	sets.Prepare()
	q.fill(n, in, sets)
	return q.stored(n, n.Columns(), func() sched.Morsels { return sets.Source() }), nil
}

// compileAgg compiles one aggregate. With several workers an aggregate that
// depends on the order of rows waits for all of them (the others fold rows as
// workers find them; any_value says so by its name); with DISTINCT and no ORDER
// BY it takes its arguments in their own order, as PostgreSQL does.
func compileAgg(call plan.AggCall, layout op.Layout, workers int) (op.Agg, error) {
	ordered := call.Fn.InOrder
	if ordered && call.Distinct && len(call.OrderBy) == 0 {
		for _, e := range call.Args {
			if e.Type().Orderable() {
				call.OrderBy = append(call.OrderBy, plan.SortKey{Expr: e})
			}
		}
	}
	a := op.Agg{Fn: call.Fn, ArgTypes: op.TypesOf(call.Args), Ret: call.Type, Distinct: call.Distinct && len(call.Args) > 0}
	var err error
	if a.Args, err = op.Compile(call.Args, layout); err != nil {
		return a, err
	}
	if call.Filter != nil {
		ps, err := op.Compile([]expr.Expr{call.Filter}, layout)
		if err != nil {
			return a, err
		}
		a.Filter = ps[0]
	}
	es, dirs := sortKeys(call.OrderBy)
	a.Dirs, a.OrderTypes = dirs, op.TypesOf(es)
	a.InOrder = ordered && workers > 1
	a.Grows = call.Fn.Grows
	a.Order, err = op.Compile(es, layout)
	return a, err
}

func (q *query) buildJoin(n *plan.Join) (stream, error) {
	if n.Apply {
		return stream{}, fail.Bug("a dependent join reached the executor: %s", n.Kind)
	}
	build, err := q.buildSide(n)
	if err != nil {
		return stream{}, err
	}
	left, err := q.build(n.Left)
	if err != nil {
		return stream{}, err
	}
	probe, err := joinProbe(n, build, left.cols, n.Right.Columns())
	if err != nil {
		return stream{}, err
	}
	out := left.through(q.profile.transform(n, probe), n.Columns())
	if n.Kind == plan.Right || n.Kind == plan.Full {
		ts := typesOf(left.cols)
		rest := q.stored(n, out.cols, func() sched.Morsels { return build.Unmatched(ts) })
		rest.branches[0].Barrier = true
		out.branches = append(out.branches, rest.branches...)
	}
	return out, nil
}

// buildSide is the right side of a join, in a pipeline before the probe; inside of
// a recursion perhaps the one that an earlier round has built.
func (q *query) buildSide(n *plan.Join) (*op.JoinBuild, error) {
	keep, owner := q.kept.keeps(n), q
	if keep {
		if b := q.kept.built[n]; b != nil {
			return b, nil
		}
		owner = q.kept.owner
	}
	right, err := q.build(n.Right)
	if err != nil {
		return nil, err
	}
	build, err := owner.joinBuild(n, right.cols)
	if err != nil {
		return nil, err
	}
	q.fill(n, right, build)
	if keep {
		q.kept.built[n] = build
	}
	return build, nil
}

func (q *query) joinBuild(n *plan.Join, right []plan.Column) (*op.JoinBuild, error) {
	keys, nullSafe := make([]expr.Expr, len(n.Keys)), make([]bool, len(n.Keys))
	for i, k := range n.Keys {
		keys[i], nullSafe[i] = k.Right, k.NullSafe
		if !k.Left.Type().Equal(k.Right.Type()) {
			return nil, fail.Bug("the join compares %s with %s", k.Left.Type(), k.Right.Type())
		}
	}
	stored, err := op.NewStored(typesOf(right), layoutOf(right), keys)
	if err != nil {
		return nil, err
	}
	return op.NewJoinBuild(n.Kind, len(right), stored, nullSafe, q.tracker(n, n.Name()+" "+n.Kind.String()), q.opt.SameHash), nil
}

// joinProbe compiles the left side of a join.
func joinProbe(n *plan.Join, build *op.JoinBuild, left, right []plan.Column) (*op.Probe, error) {
	p := &op.Probe{Kind: n.Kind, Build: build}
	keys := make([]expr.Expr, len(n.Keys))
	whole := expr.Conjuncts(n.Residual)
	for i, k := range n.Keys {
		keys[i] = k.Left
		cmp := expr.Eq
		if k.NullSafe {
			cmp = expr.NotDistinct
		}
		whole = append(whole, &expr.Compare{Op: cmp, Left: k.Left, Right: k.Right})
	}
	var err error
	if p.Keys, err = op.Compile(keys, layoutOf(left)); err != nil {
		return nil, err
	}
	pairs := layoutOf(append(left[:len(left):len(left)], right...))
	if n.Residual != nil {
		if p.Residual, p.Needs, err = pairProgram(n.Residual, pairs); err != nil {
			return nil, err
		}
	}
	if n.Kind == plan.Mark && len(whole) > 0 {
		p.Whole, p.WholeNeeds, err = pairProgram(expr.AllOf(whole), pairs)
	}
	return p, err
}

// pairProgram compiles a condition over pairs and lists the columns it reads.
func pairProgram(e expr.Expr, layout op.Layout) (*expr.Program, []int, error) {
	ps, err := op.Compile([]expr.Expr{e}, layout)
	if err != nil {
		return nil, nil, err
	}
	set := map[expr.ColumnID]bool{}
	expr.Columns(e, set)
	var needs []int
	for id := range set {
		needs = append(needs, layout[id])
	}
	return ps[0], needs, nil
}

func (q *query) buildUnnest(n *plan.Unnest) (stream, error) {
	in, err := q.build(n.Input)
	if err != nil {
		return stream{}, err
	}
	t := &op.Unnest{Ordinal: n.Ordinal.ID != 0, Outer: n.Outer}
	layout := layoutOf(in.cols)
	for _, c := range n.Columns() {
		if at, ok := layout[c.ID]; ok {
			t.Pass = append(t.Pass, at)
		}
	}
	for _, it := range n.Items {
		args, err := op.Compile(it.Exprs(), layout)
		if err != nil {
			return stream{}, err
		}
		t.Items = append(t.Items, op.UnnestItem{Type: it.Type, Args: args, Series: it.List == nil, Exclusive: it.Exclusive})
	}
	return in.through(q.profile.transform(n, t), n.Columns()), nil
}

func (q *query) buildSeries(n *plan.Series) (stream, error) {
	args, err := op.Compile([]expr.Expr{n.Start, n.Stop, n.Step}, nil)
	if err != nil {
		return stream{}, err
	}
	if k := n.Col.Type.Kind; k != types.Int64 && k != types.Timestamp {
		return stream{}, fail.New(fail.Unsupported, "generate_series over %s", n.Col.Type).
			WithHint("Cast its arguments to BIGINT, or to TIMESTAMP with an INTERVAL step.")
	}
	return q.leaf(n, func(context.Context) (sched.Morsels, error) {
		vals, err := args.Eval(q.env, &vec.Chunk{N: 1})
		if err != nil {
			return nil, err
		}
		return op.NewSeries(vals[0].Value(0), vals[1].Value(0), vals[2].Value(0))
	}), nil
}
