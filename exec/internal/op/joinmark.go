package op

import (
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// markRows adds the mark: TRUE when some right row satisfies the condition,
// else NULL when for some it is unknown, else FALSE.
func (s *probeStage) markRows(keys []*vec.Vector) error {
	mark := vec.NewFlat(types.Of(types.Boolean), s.c.N)
	unknown := make([]bool, s.c.Rows())
	if s.Residual == nil && s.Build.index != nil {
		for i, h := range s.heads {
			s.hit[i] = h != 0
		}
	} else if err := s.judgeAll(s.Whole == nil, unknown); err != nil {
		return err
	}
	if err := s.judgeNulls(keys, unknown); err != nil {
		return err
	}
	for i := range s.hit {
		r := s.c.RowAt(i)
		mark.Bools[r] = s.hit[i]
		if !s.hit[i] && unknown[i] {
			mark.SetNull(r)
		}
	}
	return s.next(&vec.Chunk{Cols: append(s.c.Cols[:len(s.c.Cols):len(s.c.Cols)], mark), N: s.c.N, Sel: s.c.Sel, Seq: s.c.Seq})
}

// judgeAll judges the candidates of all rows; always says that each is a match.
func (s *probeStage) judgeAll(always bool, unknown []bool) error {
	s.ord, s.right = s.ord[:0], s.right[:0]
	for i, h := range s.heads {
		if h == 0 {
			continue
		}
		if always {
			s.hit[i] = true
			continue
		}
		for r, ok := h-1, true; ok && !s.hit[i]; r, ok = s.after(r) {
			if err := s.judge(i, int32(r), unknown); err != nil {
				return err
			}
		}
	}
	return s.judgeBatch(unknown)
}

// judgeNulls looks at the pairs that no key can find: those with a NULL in a key.
func (s *probeStage) judgeNulls(keys []*vec.Vector, unknown []bool) error {
	b := s.Build
	if b.index == nil || b.table.N == 0 {
		return nil
	}
	simple := s.Residual == nil && len(keys) == 1
	for i := range s.hit {
		if s.hit[i] {
			continue
		}
		null := b.nullKey(keys, s.c.RowAt(i))
		switch {
		case simple:
			unknown[i] = null || len(b.nullRows) > 0
			if b.nullSafe[0] {
				unknown[i] = false
			}
		case null:
			for r := 0; r < b.table.N && !s.hit[i]; r++ {
				if err := s.judge(i, int32(r), unknown); err != nil {
					return err
				}
			}
		default:
			for _, r := range b.nullRows {
				if err := s.judge(i, r, unknown); err != nil {
					return err
				}
			}
		}
	}
	return s.judgeBatch(unknown)
}

func (s *probeStage) judge(i int, right int32, unknown []bool) error {
	s.ord, s.right = append(s.ord, int32(i)), append(s.right, right)
	if len(s.ord) < vec.ChunkRows {
		return nil
	}
	return s.judgeBatch(unknown)
}

// judgeBatch evaluates the whole condition on the batch of pairs.
func (s *probeStage) judgeBatch(unknown []bool) error {
	if len(s.ord) == 0 {
		return nil
	}
	if err := s.w.Ctx.Err(); err != nil {
		return err
	}
	v, err := s.Whole.Eval(s.w.Env, s.pairChunk(s.ord, s.right, s.WholeNeeds))
	if err != nil {
		return err
	}
	flat := flatBase(v)
	for k, i := range s.ord {
		switch {
		case v.IsNull(k):
			unknown[i] = true
		case flat.Bools[v.Row(k)]:
			s.hit[i] = true
		}
	}
	s.ord, s.right = s.ord[:0], s.right[:0]
	return nil
}
