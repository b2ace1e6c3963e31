package exec

import (
	"context"

	"github.com/loamdb/loam/exec/internal/op"
	"github.com/loamdb/loam/exec/internal/sched"
	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/plan"
)

// buildWindow makes two pipelines: one that collects and sorts the rows, and one
// whose workers compute partitions.
func (q *query) buildWindow(n *plan.Window) (stream, error) {
	in, err := q.build(n.Input)
	if err != nil {
		return stream{}, err
	}
	b := &windowBuild{stored: append([]expr.Expr(nil), n.PartitionBy...), frames: map[string]*op.WindowFrame{}}
	es, dirs := sortKeys(n.OrderBy)
	b.stored = append(b.stored, es...)
	calls := make([]op.WindowCall, len(n.Calls))
	for i, c := range n.Calls {
		if calls[i], err = b.call(c); err != nil {
			return stream{}, err
		}
	}
	stored, err := op.NewStored(typesOf(in.cols), layoutOf(in.cols), b.stored)
	if err != nil {
		return stream{}, err
	}
	w := op.NewWindow(len(in.cols), len(n.PartitionBy), stored, dirs, q.tracker(n, n.Name()))
	w.Calls, w.SameHash = calls, q.opt.SameHash
	q.fill(n, in, w)
	tasks := sched.Branch{Open: func(context.Context) (sched.Morsels, error) { return w.Tasks(), nil }}
	q.pipelines = append(q.pipelines, sched.Pipeline{Branches: []sched.Branch{tasks}, Sink: q.profile.sink(n, w.Results())})
	return q.stored(n, n.Columns(), func() sched.Morsels { return w.Source() }), nil
}

// windowBuild collects what the rows of a window are stored with.
type windowBuild struct {
	stored []expr.Expr
	frames map[string]*op.WindowFrame
}

// store adds an expression and returns its number.
func (b *windowBuild) store(e expr.Expr) int {
	if c, ok := e.(*expr.Column); ok {
		for i, s := range b.stored {
			if have, ok := s.(*expr.Column); ok && have.ID == c.ID {
				return i
			}
		}
	}
	b.stored = append(b.stored, e)
	return len(b.stored) - 1
}

func (b *windowBuild) call(c plan.WindowCall) (op.WindowCall, error) {
	call := op.WindowCall{Fn: c.Fn, Agg: c.Agg, Ret: c.Type, Filter: -1, IgnoreNulls: c.IgnoreNulls}
	for _, e := range c.Args {
		arg := op.WindowArg{Type: e.Type()}
		if k, ok := e.(*expr.Const); ok {
			arg.Const = &k.Value
		} else {
			arg.At = b.store(e)
		}
		call.Args = append(call.Args, arg)
	}
	if c.Filter != nil {
		call.Filter = b.store(c.Filter)
	}
	var err error
	call.Frame, err = b.frame(c.Frame)
	return call, err
}

// frame compiles a frame, or finds the same one.
func (b *windowBuild) frame(f plan.Frame) (*op.WindowFrame, error) {
	key := f.String()
	if f.Key != nil {
		key += " " + f.Key.Type().String()
	}
	if have := b.frames[key]; have != nil {
		return have, nil
	}
	out := &op.WindowFrame{Unit: f.Unit, Lo: f.Lo.Kind, Hi: f.Hi.Kind, Exclude: f.Exclude, Key: -1}
	if f.Key != nil {
		out.Key = b.store(f.Key)
	}
	for _, end := range []struct {
		e  expr.Expr
		to **expr.Program
	}{{f.Lo.Offset, &out.LoProg}, {f.Hi.Offset, &out.HiProg}} {
		if end.e == nil {
			continue
		}
		ps, err := op.Compile([]expr.Expr{end.e}, nil)
		if err != nil {
			return nil, err
		}
		*end.to = ps[0]
	}
	b.frames[key] = out
	return out, nil
}
