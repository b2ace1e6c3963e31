package op

import (
	"github.com/loamdb/loam/exec/internal/sched"
	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// Layout maps the columns of an input to their positions.
type Layout map[expr.ColumnID]int

// Programs are compiled expressions over one layout.
type Programs []*expr.Program

// Compile compiles the expressions over the layout. Error: fail.Internal for a
// column that the layout does not have.
func Compile(es []expr.Expr, layout Layout) (Programs, error) {
	out := make(Programs, len(es))
	for i, e := range es {
		p, err := expr.Compile(e, layout)
		if err != nil {
			return nil, err
		}
		out[i] = p
	}
	return out, nil
}

// Eval computes the expressions over the chunk's selected rows. The vectors have
// c.N rows; rows that are not selected are unspecified.
func (ps Programs) Eval(env *expr.Env, c *vec.Chunk) ([]*vec.Vector, error) {
	out := make([]*vec.Vector, len(ps))
	for i, p := range ps {
		v, err := p.Eval(env, c)
		if err != nil {
			return nil, err
		}
		out[i] = v
	}
	return out, nil
}

// TypesOf lists the types of expressions.
func TypesOf(es []expr.Expr) []types.Type {
	out := make([]types.Type, len(es))
	for i, e := range es {
		out[i] = e.Type()
	}
	return out
}

// Filter keeps the rows for which Pred is true.
type Filter struct{ Pred *expr.Program }

// Stage implements sched.Transform.
func (f *Filter) Stage(w *sched.Worker) (sched.Stage, error) {
	return &filterStage{pred: f.Pred, env: w.Env}, nil
}

type filterStage struct {
	pred *expr.Program
	env  *expr.Env
}

// sparse is the density under which a selection is copied out: below one row in eight.
const sparse = 8

// Push implements sched.Stage.
func (s *filterStage) Push(c *vec.Chunk, next sched.Next) error {
	sel, err := s.pred.Select(s.env, c)
	if err != nil || len(sel) == 0 {
		return err
	}
	return next(Narrow(c, sel))
}

// Narrow returns the rows sel of c, positions in its columns: a selection while
// they are dense, else a copy.
func Narrow(c *vec.Chunk, sel []int32) *vec.Chunk {
	if len(sel) == c.N {
		return &vec.Chunk{Cols: c.Cols, N: c.N, Seq: c.Seq}
	}
	out := &vec.Chunk{Cols: c.Cols, N: c.N, Sel: sel, Seq: c.Seq}
	if len(sel)*sparse < c.N {
		return Dense(out)
	}
	return out
}

// Project computes the columns of its output.
type Project struct{ Exprs Programs }

// Stage implements sched.Transform.
func (p *Project) Stage(w *sched.Worker) (sched.Stage, error) {
	return &projectStage{exprs: p.Exprs, env: w.Env}, nil
}

type projectStage struct {
	exprs Programs
	env   *expr.Env
}

// Push implements sched.Stage.
func (s *projectStage) Push(c *vec.Chunk, next sched.Next) error {
	cols, err := s.exprs.Eval(s.env, c)
	if err != nil {
		return err
	}
	return next(&vec.Chunk{Cols: cols, N: c.N, Sel: c.Sel, Seq: c.Seq})
}
