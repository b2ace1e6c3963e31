package op

import (
	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/vec"
)

// treeFan is how many rows a leaf of the tree holds, and how many nodes of one
// level a node of the next.
const treeFan = 16

// stateTree holds the states of ranges of rows: group g of level k is that of
// the rows from g·16^(k+1) on. A frame is then the rows at its two ends, and at
// most 30 nodes of each level between them.
type stateTree struct{ levels []expr.Accumulator }

// buildTree folds the arguments into the tree.
func (p *windowPart) buildTree(in *aggInput) (*stateTree, error) {
	t := &stateTree{}
	n := (in.n + treeFan - 1) / treeFan
	if err := p.reserve(int64(n) * (stateBytes + 4) * 17 / 16); err != nil {
		return nil, err
	}
	leaves := in.newState(n)
	s := &foldScratch{}
	for r := range int32(in.n) {
		s.groups, s.rows = append(s.groups, uint32(r/treeFan)), append(s.rows, r)
		if len(s.rows) == vec.ChunkRows {
			if err := s.flush(p, in, leaves); err != nil {
				return nil, err
			}
		}
	}
	if err := s.flush(p, in, leaves); err != nil {
		return nil, err
	}
	t.levels = append(t.levels, leaves)
	for n > treeFan {
		into := make([]uint32, n)
		for g := range into {
			into[g] = uint32(g / treeFan)
		}
		n = (n + treeFan - 1) / treeFan
		next := in.newState(n)
		if err := next.Merge(t.levels[len(t.levels)-1], nil, into); err != nil {
			return nil, err
		}
		t.levels = append(t.levels, next)
		if err := p.ctx.Err(); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// merges are states of one level that go into groups of the result.
type merges struct{ nodes, groups []uint32 }

// cover is what the frames of some rows are made of: rows, then nodes from the
// lowest level up, then nodes from the highest down, then rows. So each frame is
// folded in its order.
type cover struct {
	first, last foldScratch
	up, down    []merges
}

func (m *merges) add(from, to int32, g uint32) {
	for ; from < to; from++ {
		m.nodes, m.groups = append(m.nodes, uint32(from)), append(m.groups, g)
	}
}

func (s *foldScratch) add(from, to int32, g uint32) {
	for ; from < to; from++ {
		s.rows, s.groups = append(s.rows, from), append(s.groups, g)
	}
}

// add adds the rows [lo, hi) to group g.
func (c *cover) add(lo, hi int32, g uint32) {
	l, h := (lo+treeFan-1)/treeFan, hi/treeFan
	if l >= h {
		c.first.add(lo, hi, g)
		return
	}
	c.first.add(lo, l*treeFan, g)
	c.last.add(h*treeFan, hi, g)
	for k := range c.up {
		up, down := (l+treeFan-1)/treeFan, h/treeFan
		if up >= down || k == len(c.up)-1 {
			c.up[k].add(l, h, g)
			return
		}
		c.up[k].add(l, up*treeFan, g)
		c.down[k].add(down*treeFan, h, g)
		l, h = up, down
	}
}

// byTree answers frames of any shape from a tree of states.
func (p *windowPart) byTree(in *aggInput, fr *windowFrames) (*vec.Vector, error) {
	t, err := p.buildTree(in)
	if err != nil {
		return nil, err
	}
	out := vec.New(in.call.Ret, p.n)
	for from := 0; from < p.n; from += vec.ChunkRows {
		to := min(p.n, from+vec.ChunkRows)
		acc := in.newState(to - from)
		for _, piece := range fr.pieces {
			c := &cover{up: make([]merges, len(t.levels)), down: make([]merges, len(t.levels))}
			for i := from; i < to; i++ {
				c.add(piece.lo[i], piece.hi[i], uint32(i-from))
			}
			if err := p.foldCover(in, acc, t, c); err != nil {
				return nil, err
			}
		}
		if err := acc.Finish(out, 0, to-from); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (p *windowPart) foldCover(in *aggInput, acc expr.Accumulator, t *stateTree, c *cover) error {
	if err := c.first.flush(p, in, acc); err != nil {
		return err
	}
	for k, m := range c.up {
		if err := acc.Merge(t.levels[k], m.nodes, m.groups); err != nil {
			return err
		}
	}
	for k := len(c.down) - 1; k >= 0; k-- {
		if err := acc.Merge(t.levels[k], c.down[k].nodes, c.down[k].groups); err != nil {
			return err
		}
	}
	return c.last.flush(p, in, acc)
}
