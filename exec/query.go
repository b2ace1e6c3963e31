package exec

import (
	"context"

	"github.com/loamdb/loam/exec/internal/op"
	"github.com/loamdb/loam/exec/internal/sched"
	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/mem"
	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// query is a compiled plan: pipelines in the order in which they run, the last
// of which delivers the result.
type query struct {
	ctx       context.Context
	env       *expr.Env
	src       Sources
	opt       Options
	pipelines []sched.Pipeline
	trackers  []*mem.Tracker
	profile   *Profile
	// working are the rows of the last rounds of the recursions around this query,
	// kept the joins of the innermost whose build sides outlive it.
	working map[expr.ColumnID]*op.Table
	kept    *keptJoins
}

// stream is a part of a pipeline under construction: what its branches deliver,
// one after the other, has the columns cols.
type stream struct {
	branches []sched.Branch
	cols     []plan.Column
}

// compile makes the pipelines of a plan. A panic is a bug of the plan or of the
// executor and fails this query alone.
func compile(ctx context.Context, root plan.Node, env *expr.Env, src Sources, opt Options, deliver sched.Next) (q *query, err error) {
	e := expr.Env{}
	if env != nil {
		e = *env
	}
	e.Ctx = ctx
	q = &query{ctx: ctx, env: &e, src: src, opt: opt, profile: newProfile(root, opt)}
	defer func() {
		if v := recover(); v != nil {
			err = q.abandon(fail.FromPanic(v))
		}
	}()
	body, tail := splitTail(root)
	s, err := q.build(body)
	if err != nil {
		return nil, q.abandon(err)
	}
	out := func(c *vec.Chunk) error {
		if c.Rows() == 0 {
			return nil
		}
		return deliver(op.Dense(c))
	}
	sink, err := q.serial(tail, s.cols, out, nil)
	if err != nil {
		return nil, q.abandon(err)
	}
	q.pipelines = append(q.pipelines, sched.Pipeline{Branches: s.branches, Sink: sink})
	return q, nil
}

func (q *query) abandon(err error) error {
	q.release()
	return err
}

// run runs the pipelines one after the other.
func (q *query) run(ctx context.Context) error {
	for i := range q.pipelines {
		p := q.pipelines[i]
		q.pipelines[i] = sched.Pipeline{}
		if err := sched.Run(ctx, q.env, p, q.opt.Workers); err != nil {
			return err
		}
	}
	return nil
}

// release gives all memory back.
func (q *query) release() {
	q.pipelines = nil
	for _, t := range q.trackers {
		t.Close()
	}
	q.trackers = nil
}

// tracker makes the memory tracker of a node's operator.
func (q *query) tracker(n plan.Node, name string) *mem.Tracker {
	t := q.opt.Memory.Child(name, mem.NoLimit)
	q.trackers = append(q.trackers, t)
	q.profile.nodes[n].memory.Store(t)
	return t
}

// splitTail cuts the operators at the top of the plan that must see rows one
// chunk at a time in order: the lowest Limit of the chain of row-wise nodes at
// the root, and what lies above it. The tail is listed from the bottom up.
func splitTail(root plan.Node) (body plan.Node, tail []plan.Node) {
	body = root
	var chain []plan.Node
	for n := root; ; {
		switch x := n.(type) {
		case *plan.Limit:
			chain = append(chain, n)
			body, tail = x.Input, append([]plan.Node(nil), chain...)
			n = x.Input
			continue
		case *plan.Project:
			chain = append(chain, n)
			n = x.Input
			continue
		case *plan.Filter:
			chain = append(chain, n)
			n = x.Input
			continue
		}
		break
	}
	for i, j := 0, len(tail)-1; i < j; i, j = i+1, j-1 {
		tail[i], tail[j] = tail[j], tail[i]
	}
	return body, tail
}

// serial makes an ordered sink that passes rows through the row-wise nodes.
func (q *query) serial(nodes []plan.Node, cols []plan.Column, out sched.Next, fin func() error) (sched.Sink, error) {
	next := out
	for i := len(nodes) - 1; i >= 0; i-- {
		in := cols
		if i > 0 {
			in = nodes[i-1].Columns()
		}
		t, err := q.rowwise(nodes[i], in)
		if err != nil {
			return nil, err
		}
		st, err := t.Stage(&sched.Worker{Ctx: q.ctx, Env: q.env})
		if err != nil {
			return nil, err
		}
		after := next
		next = func(c *vec.Chunk) error { return st.Push(c, after) }
	}
	return sched.NewOrdered(next, fin), nil
}

// rowwise makes the transform of a node that works row by row.
func (q *query) rowwise(n plan.Node, in []plan.Column) (sched.Transform, error) {
	switch x := n.(type) {
	case *plan.Filter:
		ps, err := op.Compile([]expr.Expr{x.Pred}, layoutOf(in))
		if err != nil {
			return nil, err
		}
		return q.profile.transform(n, &op.Filter{Pred: ps[0]}), nil
	case *plan.Project:
		es := make([]expr.Expr, len(x.Exprs))
		for i, e := range x.Exprs {
			es[i] = e.Expr
		}
		ps, err := op.Compile(es, layoutOf(in))
		if err != nil {
			return nil, err
		}
		return q.profile.transform(n, &op.Project{Exprs: ps}), nil
	case *plan.Limit:
		return q.profile.transform(n, &op.Limit{Offset: x.Offset, Count: x.Count}), nil
	}
	return nil, fail.Bug("%s is no row-wise operator", n.Name())
}

func layoutOf(cols []plan.Column) op.Layout {
	l := make(op.Layout, len(cols))
	for i, c := range cols {
		l[c.ID] = i
	}
	return l
}

func typesOf(cols []plan.Column) []types.Type {
	out := make([]types.Type, len(cols))
	for i, c := range cols {
		out[i] = c.Type
	}
	return out
}

// through appends the transform to every branch.
func (s stream) through(t sched.Transform, cols []plan.Column) stream {
	for i := range s.branches {
		ts := s.branches[i].Transforms
		s.branches[i].Transforms = append(ts[:len(ts):len(ts)], t)
	}
	s.cols = cols
	return s
}

// fill ends the stream's pipeline in a sink.
func (q *query) fill(n plan.Node, s stream, sink sched.Sink) {
	q.pipelines = append(q.pipelines, sched.Pipeline{Branches: s.branches, Sink: q.profile.sink(n, sink)})
}
