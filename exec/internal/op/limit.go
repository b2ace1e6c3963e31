package op

import (
	"github.com/loamdb/loam/exec/internal/sched"
	"github.com/loamdb/loam/internal/vec"
)

// Limit skips rows and ends the pipeline after so many. It belongs behind an
// ordered sink: it sees all rows, one chunk at a time.
type Limit struct {
	// Offset rows are skipped; then Count rows pass, or all with a negative Count.
	Offset, Count int64
}

// Stage implements sched.Transform.
func (l *Limit) Stage(*sched.Worker) (sched.Stage, error) {
	return &limitStage{skip: l.Offset, left: l.Count}, nil
}

type limitStage struct{ skip, left int64 }

// Push implements sched.Stage.
func (s *limitStage) Push(c *vec.Chunk, next sched.Next) error {
	if s.left == 0 {
		return sched.ErrStop
	}
	from, n := int64(0), int64(c.Rows())
	from = min(s.skip, n)
	s.skip -= from
	to := n
	if s.left > 0 {
		to = min(n, from+s.left)
		s.left -= to - from
	}
	if from < to {
		if err := next(rowRange(c, int(from), int(to))); err != nil {
			return err
		}
	}
	if s.left == 0 {
		return sched.ErrStop
	}
	return nil
}

// rowRange is the chunk of c's selected rows [from, to).
func rowRange(c *vec.Chunk, from, to int) *vec.Chunk {
	if from == 0 && to == c.Rows() {
		return c
	}
	if c.Sel != nil {
		return &vec.Chunk{Cols: c.Cols, N: c.N, Sel: c.Sel[from:to], Seq: c.Seq}
	}
	out := &vec.Chunk{Cols: make([]*vec.Vector, len(c.Cols)), N: to - from, Seq: c.Seq}
	for i, col := range c.Cols {
		out.Cols[i] = col.Slice(from, to)
	}
	return out
}
