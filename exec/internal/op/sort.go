package op

import (
	"github.com/loamdb/loam/exec/internal/sched"
	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/mem"
	"github.com/loamdb/loam/internal/vec"
)

// Sort is a sink that holds all rows and orders them by its keys.
type Sort struct {
	buffers
	stored *Stored
	dirs   []Direction
	width  int
	out    mem.Account
	table  *Table
	order  []int32
}

// NewSort returns a sort of rows of width columns, stored with the keys as s says.
func NewSort(width int, s *Stored, dirs []Direction, t *mem.Tracker) *Sort {
	return &Sort{buffers: buffers{tracker: t}, stored: s, dirs: dirs, width: width, out: mem.Account{Tracker: t}}
}

// Local implements sched.Sink.
func (s *Sort) Local(w *sched.Worker) (sched.Local, error) {
	return &sortLocal{buffer: s.add(), stored: s.stored, env: w.Env}, nil
}

type sortLocal struct {
	*buffer
	noProgress
	stored *Stored
	env    *expr.Env
}

// Push implements sched.Local.
func (l *sortLocal) Push(c *vec.Chunk, pos sched.Pos) error {
	wide, err := l.stored.Widen(l.env, c)
	if err != nil {
		return err
	}
	return l.keep(wide, pos)
}

// Finalize implements sched.Sink.
func (s *Sort) Finalize(w *sched.Worker) (err error) {
	s.table, err = concat(w.Ctx, s.stored.Types, s.all, &s.out)
	if err != nil {
		return err
	}
	s.order, err = sortRows(w.Ctx, s.stored.Columns(s.table.Cols), s.dirs, s.table.N, &s.out)
	return err
}

// Source reads the sorted rows, without the first offset and at most limit (all
// with a negative limit). Valid after Finalize.
func (s *Sort) Source(offset, limit int64) *Ranges {
	order := s.order[min(offset, int64(len(s.order))):]
	if limit >= 0 {
		order = order[:min(limit, int64(len(order)))]
	}
	cols := s.table.Cols[:s.width]
	return NewRanges(len(order), func(from, to int) (*vec.Chunk, error) {
		return Pick(cols, order[from:to], 0), nil
	})
}
