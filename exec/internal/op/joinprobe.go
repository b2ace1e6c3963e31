package op

import (
	"github.com/loamdb/loam/exec/internal/hashtable"
	"github.com/loamdb/loam/exec/internal/sched"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/internal/vec"
)

// probeStage is one worker's probe. For each chunk it lists candidate pairs
// (left position, right row), judges them, and hands on joined rows.
type probeStage struct {
	*Probe
	w     *sched.Worker
	probe *hashtable.Probe

	c    *vec.Chunk
	next sched.Next
	// heads[i] is the first candidate + 1 of selected row i.
	heads []uint32
	// hit[i] says that selected row i has a match.
	hit []bool
	// The batch of candidate pairs: ordinal among the selected rows, and right row.
	ord, right []int32
	// Matches of an outer join with a residual that wait until their left row is
	// settled, so that rows without a match come in their place; rows below
	// settled are handed on.
	waitOrd, waitRight []int32
	settled            int
}

// Push implements sched.Stage.
func (s *probeStage) Push(c *vec.Chunk, next sched.Next) error {
	if c.Rows() == 0 {
		return nil
	}
	s.c, s.next = c, next
	keys, err := s.findHeads()
	if err != nil {
		return err
	}
	switch {
	case s.Kind == plan.Mark:
		return s.markRows(keys)
	case s.Residual == nil && (s.Kind == plan.Semi || s.Kind == plan.Anti):
		return s.semi(func(i int) bool { return s.heads[i] != 0 })
	case s.Residual == nil && s.Build.index != nil && s.Build.index.Unique():
		return s.unique()
	case s.Residual == nil && s.Build.index == nil && s.Build.table.N == 1 && s.Kind != plan.Semi && s.Kind != plan.Anti:
		return s.single()
	}
	return s.pairs()
}

// single joins every left row with the only right row.
func (s *probeStage) single() error {
	if s.Build.marks {
		s.Build.mark([]int32{0})
	}
	out := &vec.Chunk{Cols: s.c.Cols[:len(s.c.Cols):len(s.c.Cols)], N: s.c.N, Sel: s.c.Sel}
	for _, col := range s.Build.columns() {
		out.Cols = append(out.Cols, vec.Const(col.Type, col.Value(0), s.c.N))
	}
	return s.next(out)
}

// findHeads looks the left keys up.
func (s *probeStage) findHeads() ([]*vec.Vector, error) {
	n := s.c.Rows()
	if cap(s.heads) < n {
		s.heads, s.hit = make([]uint32, n), make([]bool, n)
	}
	s.heads, s.hit = s.heads[:n], s.hit[:n]
	clear(s.hit)
	if s.Build.index == nil {
		first := uint32(min(1, s.Build.table.N))
		for i := range s.heads {
			s.heads[i] = first
		}
		return nil, nil
	}
	keys, err := s.Keys.Eval(s.w.Env, s.c)
	if err != nil {
		return nil, err
	}
	if s.probe == nil {
		s.probe = s.Build.index.NewProbe()
	}
	s.probe.Heads(keys, s.c.Sel, n, s.heads)
	return keys, nil
}

// after is the candidate after a right row.
func (s *probeStage) after(right uint32) (uint32, bool) {
	if s.Build.index == nil {
		return right + 1, int(right)+1 < s.Build.table.N
	}
	return s.Build.index.Next(right)
}

// semi hands on the left rows for which found (for Anti: not found) holds.
func (s *probeStage) semi(found func(i int) bool) error {
	want := s.Kind == plan.Semi
	sel := make([]int32, 0, s.c.Rows())
	for i := range s.heads {
		if found(i) == want {
			sel = append(sel, int32(s.c.RowAt(i)))
		}
	}
	if len(sel) == 0 {
		return nil
	}
	return s.next(Narrow(s.c, sel))
}

// unique joins with a build in which every key has one row: each left row has
// at most one partner, so left columns need not be copied while most rows match.
func (s *probeStage) unique() error {
	outer := s.Kind != plan.Inner && s.Kind != plan.Right
	n, hits := s.c.Rows(), 0
	right := make([]int32, n)
	for i, h := range s.heads {
		right[i] = int32(h) - 1
		if h != 0 {
			hits++
		}
	}
	if s.Build.marks {
		s.Build.mark(right)
	}
	if s.Build.table.N == 0 && !outer || hits == 0 && !outer {
		return nil
	}
	if s.c.Sel == nil && (outer || 2*hits > n) {
		return s.beside(right, hits, outer)
	}
	left := make([]int32, 0, n)
	kept := right[:0]
	for i, r := range right {
		if r != noRow || outer {
			left = append(left, int32(s.c.RowAt(i)))
			kept = append(kept, r)
		}
	}
	return s.emit(left, kept)
}

// beside puts right columns beside the left ones in place.
func (s *probeStage) beside(right []int32, hits int, outer bool) error {
	out := &vec.Chunk{Cols: s.c.Cols[:len(s.c.Cols):len(s.c.Cols)], N: s.c.N}
	if !outer && hits < len(right) {
		out.Sel = make([]int32, 0, hits)
		for i, r := range right {
			if r != noRow {
				out.Sel = append(out.Sel, int32(i))
			} else {
				right[i] = 0
			}
		}
	}
	out.Cols = append(out.Cols, s.rightColumns(right)...)
	return s.next(out)
}

func (s *probeStage) rightColumns(rows []int32) []*vec.Vector {
	return pickOuter(s.Build.columns(), rows)
}

// emit joins left positions with right rows.
func (s *probeStage) emit(left, right []int32) error {
	for from := 0; from < len(left); from += vec.ChunkRows {
		to := min(len(left), from+vec.ChunkRows)
		out := Pick(s.c.Cols, left[from:to], 0)
		out.Cols = append(out.Cols, s.rightColumns(right[from:to])...)
		if err := s.next(out); err != nil {
			return err
		}
	}
	return nil
}

// pairs is the general way: all candidates, batch by batch, then what is left.
func (s *probeStage) pairs() error {
	inline := s.Residual == nil && (s.Kind == plan.Left || s.Kind == plan.Full || s.Kind == plan.Single)
	decided := s.Kind == plan.Semi || s.Kind == plan.Anti
	s.ord, s.right, s.settled = s.ord[:0], s.right[:0], 0
	for i, h := range s.heads {
		if h == 0 {
			if inline {
				if err := s.candidate(i, noRow); err != nil {
					return err
				}
			}
			continue
		}
		for r, ok := h-1, true; ok; r, ok = s.after(r) {
			if err := s.candidate(i, int32(r)); err != nil {
				return err
			}
			if decided && s.hit[i] {
				break
			}
		}
	}
	if err := s.flush(); err != nil {
		return err
	}
	switch {
	case decided:
		return s.semi(func(i int) bool { return s.hit[i] })
	case s.waits():
		return s.settle(len(s.heads))
	}
	return nil
}

// waits reports an outer join with a residual.
func (s *probeStage) waits() bool {
	return s.Residual != nil && (s.Kind == plan.Left || s.Kind == plan.Full || s.Kind == plan.Single)
}

func (s *probeStage) candidate(i int, right int32) error {
	s.ord, s.right = append(s.ord, int32(i)), append(s.right, right)
	if len(s.ord) < vec.ChunkRows {
		return nil
	}
	return s.flush()
}

// flush judges the batch of pairs and hands on those that match.
func (s *probeStage) flush() error {
	if len(s.ord) == 0 {
		return nil
	}
	if s.w.Ctx.Err() != nil {
		return fail.Ended(s.w.Ctx, "the statement")
	}
	ord, right := s.ord, s.right
	s.ord, s.right = s.ord[:0], s.right[:0]
	if s.Residual != nil {
		sel, err := s.Residual.Select(s.w.Env, s.pairChunk(ord, right, s.Needs))
		if err != nil {
			return err
		}
		o, r := make([]int32, len(sel)), make([]int32, len(sel))
		for k, p := range sel {
			o[k], r[k] = ord[p], right[p]
		}
		ord, right = o, r
	}
	if err := s.note(ord, right); err != nil {
		return err
	}
	switch {
	case s.Kind == plan.Semi || s.Kind == plan.Anti:
		return nil
	case s.waits():
		last := 0
		if len(ord) > 0 {
			last = int(ord[len(ord)-1])
		}
		s.waitOrd, s.waitRight = append(s.waitOrd, ord...), append(s.waitRight, right...)
		return s.settle(last)
	}
	for k, i := range ord {
		ord[k] = int32(s.c.RowAt(int(i)))
	}
	return s.emit(ord, right)
}

// note records the matches of a batch.
func (s *probeStage) note(ord, right []int32) error {
	if s.Build.marks {
		s.Build.mark(right)
	}
	for k, i := range ord {
		if s.Kind == plan.Single && s.hit[i] && right[k] != noRow {
			return fail.New(fail.Cardinality, "a subquery used as an expression returned more than one row").
				WithHint("Add LIMIT 1 or an aggregate to the subquery.")
		}
		s.hit[i] = true
	}
	return nil
}

// pairChunk is the pairs as a chunk of left, then right columns; only those that
// are needed are filled.
func (s *probeStage) pairChunk(ord, right []int32, needs []int) *vec.Chunk {
	left := make([]int32, len(ord))
	for k, i := range ord {
		left[k] = int32(s.c.RowAt(int(i)))
	}
	width := len(s.c.Cols)
	c := &vec.Chunk{Cols: make([]*vec.Vector, width+s.Build.width), N: len(ord)}
	for _, at := range needs {
		if at < width {
			c.Cols[at] = Pick(s.c.Cols[at:at+1], left, 0).Cols[0]
		} else {
			c.Cols[at] = Pick(s.Build.table.Cols[at-width:at-width+1], right, 0).Cols[0]
		}
	}
	return c
}

// settle hands on the left rows from s.settled to before done: their matches, or
// NULLs beside them.
func (s *probeStage) settle(done int) error {
	var left, right []int32
	k := 0
	for ; s.settled < done; s.settled++ {
		at, none := int32(s.c.RowAt(s.settled)), true
		for ; k < len(s.waitOrd) && int(s.waitOrd[k]) == s.settled; k++ {
			left, right, none = append(left, at), append(right, s.waitRight[k]), false
		}
		if none && !s.hit[s.settled] {
			left, right = append(left, at), append(right, noRow)
		}
	}
	// The matches of the row at done are handed on as they come.
	for ; k < len(s.waitOrd); k++ {
		left, right = append(left, int32(s.c.RowAt(int(s.waitOrd[k])))), append(right, s.waitRight[k])
	}
	s.waitOrd, s.waitRight = s.waitOrd[:0], s.waitRight[:0]
	return s.emit(left, right)
}
