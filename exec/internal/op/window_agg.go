package op

import (
	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/kernel"
	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// aggInput is what an aggregate of a part folds: flat arguments of n rows, and
// where the part's rows stand among them when FILTER leaves some out.
type aggInput struct {
	call *WindowCall
	args []*vec.Vector
	n    int
	compact
}

func (p *windowPart) aggInput(c *WindowCall) (*aggInput, error) {
	in := &aggInput{call: c, n: p.n}
	var passed *vec.Vector
	if c.Filter >= 0 {
		var err error
		if passed, err = p.column(c.Filter); err != nil {
			return nil, err
		}
		in.compact, err = p.compactOf(func(i int) bool { return !passed.IsNull(i) && passed.Bools[i] })
		if err != nil {
			return nil, err
		}
		in.n = len(in.compact.rows)
	}
	for _, a := range c.Args {
		v, err := p.arg(a)
		if err != nil {
			return nil, err
		}
		if passed != nil {
			if err := p.reserve(int64(in.n) * rowBytes(v.Type)); err != nil {
				return nil, err
			}
			v = kernel.Gather(v, in.compact.rows)
		}
		in.args = append(in.args, v.Flatten())
	}
	return in, nil
}

func (in *aggInput) newState(groups int) expr.Accumulator {
	ts := in.call.argTypes()
	acc := in.call.Agg.New(ts, in.call.Ret)
	acc.Grow(groups)
	return acc
}

func (c *WindowCall) argTypes() []types.Type {
	ts := make([]types.Type, len(c.Args))
	for i, a := range c.Args {
		ts[i] = a.Type
	}
	return ts
}

// bytes is the memory of all rows of the arguments.
func (in *aggInput) bytes() int64 {
	total := int64(0)
	for _, v := range in.args {
		total += vectorBytes(v, nil, v.N)
	}
	return total
}

// aggregate folds the frame of each row, in the way that costs least:
//
//   - frames that are whole partitions: one state a partition;
//   - frames whose bounds only move on: the function's own way to slide, if it has one;
//   - frames that begin where the partition does: one state a partition, which
//     takes the rows that come in;
//   - states that hold their rows: each frame by itself;
//   - all others: a tree of states, so that a frame is a few of its nodes.
func (p *windowPart) aggregate(c *WindowCall) (*vec.Vector, error) {
	in, err := p.aggInput(c)
	if err != nil {
		return nil, err
	}
	if c.Frame.whole(p.w.Orders) {
		return p.wholePartitions(in)
	}
	fr, err := p.frameOf(c.Frame)
	if err != nil {
		return nil, err
	}
	if in.before != nil {
		if fr, err = p.compacted(fr, in.compact); err != nil {
			return nil, err
		}
	}
	if s, ok := in.newState(0).(expr.Slider); ok && fr.ascending && len(fr.pieces) == 1 {
		out := vec.New(c.Ret, p.n)
		return out, s.Slide(p.ctx, in.args, fr.pieces[0].lo, fr.pieces[0].hi, out)
	}
	switch {
	case c.Frame.Lo == plan.UnboundedPreceding && fr.ascending && len(fr.pieces) == 1:
		return p.running(in, fr.pieces[0].hi)
	case c.Agg.Grows:
		return p.eachFrame(in, fr)
	}
	return p.byTree(in, fr)
}

// whole reports whether each frame is its partition.
func (f *WindowFrame) whole(orders int) bool {
	peers := orders == 0 && f.Unit != plan.FrameRows
	return f.Exclude == plan.ExcludeNothing &&
		(f.Lo == plan.UnboundedPreceding || peers && f.Lo == plan.CurrentRow) &&
		(f.Hi == plan.UnboundedFollowing || peers && f.Hi == plan.CurrentRow)
}

// compacted numbers the bounds of frames by the rows that FILTER passes.
func (p *windowPart) compacted(fr *windowFrames, k compact) (*windowFrames, error) {
	out := &windowFrames{ascending: fr.ascending}
	for _, piece := range fr.pieces {
		if err := p.reserve(8 * int64(p.n)); err != nil {
			return nil, err
		}
		c := framePiece{lo: make([]int32, p.n), hi: make([]int32, p.n)}
		for i := range c.lo {
			c.lo[i], c.hi[i] = k.before[piece.lo[i]], k.before[piece.hi[i]]
		}
		out.pieces = append(out.pieces, c)
	}
	return out, nil
}

// fold folds rows [from, to) of the arguments into group g, a chunk at a time.
func (p *windowPart) fold(in *aggInput, acc expr.Accumulator, g uint32, from, to int32, s *foldScratch) error {
	for from < to {
		n := min(to-from, vec.ChunkRows)
		s.groups, s.rows = s.groups[:0], s.rows[:0]
		for r := from; r < from+n; r++ {
			s.groups, s.rows = append(s.groups, g), append(s.rows, r)
		}
		if err := s.flush(p, in, acc); err != nil {
			return err
		}
		from += n
	}
	return nil
}

// foldScratch is rows with their groups that wait to be folded.
type foldScratch struct {
	groups []uint32
	rows   []int32
}

// flush folds what waits.
func (s *foldScratch) flush(p *windowPart, in *aggInput, acc expr.Accumulator) error {
	if len(s.groups) == 0 {
		return nil
	}
	if err := p.ctx.Err(); err != nil {
		return err
	}
	err := acc.Update(s.groups, in.args, s.rows)
	s.groups, s.rows = s.groups[:0], s.rows[:0]
	return err
}

// wholePartitions folds each partition once and gives all its rows the result.
func (p *windowPart) wholePartitions(in *aggInput) (*vec.Vector, error) {
	parts := len(p.starts) - 1
	bytes := int64(parts)*stateBytes + 4*int64(p.n)
	if in.call.Agg.Grows {
		bytes += in.bytes()
	}
	if err := p.reserve(bytes); err != nil {
		return nil, err
	}
	acc := in.newState(parts)
	s := &foldScratch{}
	which := make([]int32, p.n)
	for k := range parts {
		fill(which[p.starts[k]:p.starts[k+1]], int32(k))
		for r := in.at(p.starts[k]); r < in.at(p.starts[k+1]); r++ {
			s.groups, s.rows = append(s.groups, uint32(k)), append(s.rows, r)
			if len(s.rows) == vec.ChunkRows {
				if err := s.flush(p, in, acc); err != nil {
					return nil, err
				}
			}
		}
	}
	if err := s.flush(p, in, acc); err != nil {
		return nil, err
	}
	vals := vec.New(in.call.Ret, parts)
	if err := acc.Finish(vals, 0, parts); err != nil {
		return nil, err
	}
	return kernel.Gather(vals, which), nil
}

// running folds frames that begin with their partition: hi ascends. Rows with
// the same frame share a result.
func (p *windowPart) running(in *aggInput, hi []int32) (*vec.Vector, error) {
	parts := len(p.starts) - 1
	bytes := int64(parts)*stateBytes + 4*int64(p.n)
	if in.call.Agg.Grows {
		bytes += in.bytes()
	}
	if err := p.reserve(bytes); err != nil {
		return nil, err
	}
	acc := in.newState(parts)
	s := &foldScratch{}
	vals := vec.New(in.call.Ret, p.n)
	which := make([]int32, p.n)
	for k := range parts {
		at := in.at(p.starts[k])
		for i := p.starts[k]; i < p.starts[k+1]; i++ {
			if i == p.starts[k] || hi[i] > at {
				if err := p.fold(in, acc, uint32(k), at, hi[i], s); err != nil {
					return nil, err
				}
				at = hi[i]
				if err := acc.Finish(vals, k, 1); err != nil {
					return nil, err
				}
			}
			which[i] = int32(vals.N - 1)
		}
	}
	return kernel.Gather(vals, which), p.ctx.Err()
}

// eachFrame folds the rows of every frame anew, for states that hold their rows.
func (p *windowPart) eachFrame(in *aggInput, fr *windowFrames) (*vec.Vector, error) {
	out := vec.New(in.call.Ret, p.n)
	s := &foldScratch{}
	for i := range p.n {
		acc := in.newState(1)
		for _, piece := range fr.pieces {
			if err := p.fold(in, acc, 0, piece.lo[i], piece.hi[i], s); err != nil {
				return nil, err
			}
		}
		if err := acc.Finish(out, 0, 1); err != nil {
			return nil, err
		}
	}
	return out, nil
}
