package exec

import (
	"context"
	"sync"

	"github.com/loamdb/loam/exec/internal/op"
	"github.com/loamdb/loam/exec/internal/sched"
	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/mem"
	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/internal/vec"
)

// recursion is the source of a Recursive node. It hands out the rows of one round
// and runs the next when somebody asks for more: a LIMIT above ends the recursion.
// Whoever runs a round runs its pipelines with all workers; the others wait.
type recursion struct {
	q       *query
	n       *plan.Recursive
	rounds  *mem.Tracker // parent of each round's rows
	invents *keptJoins

	// mu guards the fields below.
	mu      sync.Mutex
	started bool
	working *op.Table
	held    *mem.Tracker // of working
	pending *op.Ranges
	seen    *op.Seen
	seq     uint64
}

// keptJoins are the build sides in the step of a recursion that read nothing of
// the working table: they are built in the first round and probed in all. They
// belong to the query around the recursion.
type keptJoins struct {
	owner *query
	built map[*plan.Join]*op.JoinBuild
}

// keeps reports whether the build side of a join may be used again.
func (k *keptJoins) keeps(n *plan.Join) bool {
	return k != nil && n.Kind != plan.Right && n.Kind != plan.Full && !plan.ReadsWorkingTable(n.Right)
}

func (q *query) buildRecursive(n *plan.Recursive) (stream, error) {
	r := &recursion{q: q, n: n, rounds: q.tracker(n, n.Name()), invents: &keptJoins{owner: q, built: map[*plan.Join]*op.JoinBuild{}}}
	if n.Distinct && len(n.Cols) > 0 {
		r.seen = op.NewSeen(typesOf(n.Cols), r.rounds, q.opt.SameHash)
	}
	return q.leaf(n, func(context.Context) (sched.Morsels, error) { return r, nil }), nil
}

// buildWorking reads the rows of the last round.
func (q *query) buildWorking(n *plan.WorkingTable) (stream, error) {
	t := q.working[n.Table]
	if t == nil {
		return stream{}, fail.Bug("the working table of %s is read outside of its recursion", n.Label)
	}
	return q.leaf(n, func(context.Context) (sched.Morsels, error) { return t.Source(), nil }), nil
}

// Next implements sched.Morsels.
func (r *recursion) Next(ctx context.Context) (*vec.Chunk, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for {
		if r.pending != nil {
			c, err := r.pending.Next(ctx)
			if err != nil {
				return nil, err
			}
			if c != nil {
				c.Seq = r.seq
				r.seq++
				return c, nil
			}
			r.pending = nil
		}
		if r.started && r.working == nil {
			return nil, nil
		}
		if ctx.Err() != nil {
			return nil, fail.Ended(ctx, "the statement")
		}
		if err := r.round(ctx); err != nil {
			return nil, err
		}
	}
}

// Close implements sched.Morsels.
func (r *recursion) Close() error { return nil }

// round computes the rows of the next round; working is nil when there are none.
func (r *recursion) round(ctx context.Context) error {
	side := r.n.Step
	if !r.started {
		side = r.n.Base
	}
	held := r.rounds.Child("round", mem.NoLimit)
	t, err := r.run(ctx, side, held)
	if err == nil && r.seen != nil {
		t, err = r.seen.Fresh(ctx, t)
	}
	if r.held != nil {
		r.held.Close()
	}
	r.started, r.held, r.working = true, held, nil
	if err != nil || t.N == 0 {
		held.Close()
		r.held = nil
		return err
	}
	r.working, r.pending = t, t.Source()
	return nil
}

// run collects the rows of a plan under a tracker.
func (r *recursion) run(ctx context.Context, n plan.Node, held *mem.Tracker) (*op.Table, error) {
	q := &query{ctx: ctx, env: r.q.env, src: r.q.src, opt: r.q.opt, profile: r.q.profile, kept: r.invents}
	q.working = map[expr.ColumnID]*op.Table{r.n.Table: r.working}
	for id, t := range r.q.working {
		q.working[id] = t
	}
	defer q.release()
	s, err := q.build(n)
	if err != nil {
		return nil, err
	}
	if len(s.cols) != len(r.n.Cols) {
		return nil, fail.Bug("a side of Recursive has %d columns, not %d", len(s.cols), len(r.n.Cols))
	}
	rows := op.NewCollect(typesOf(s.cols), held)
	q.pipelines = append(q.pipelines, sched.Pipeline{Branches: s.branches, Sink: rows})
	if err := q.run(ctx); err != nil {
		return nil, err
	}
	return rows.Table(), nil
}
