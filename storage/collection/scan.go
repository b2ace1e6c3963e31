package collection

import (
	"context"
	"sync/atomic"

	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/internal/vec"
)

// Scan reads rows of a snapshot chunk by chunk. Next may be called by several
// goroutines; chunks carry their order in Seq.
type Scan struct {
	snap   *Snapshot
	env    *expr.Env
	pred   *predicate
	cols   []colRef
	chunks []chunkRef
	next   atomic.Int64
	limit  int64
	done   atomic.Int64 // rows handed out, for the limit
}

// chunkRef is a chunk of a view, or the rows of it whose keys were looked up and
// that pass the filter.
type chunkRef struct {
	view  *view
	chunk int
	rows  []uint32
}

// Scan starts a scan of the plan's columns and filter. The plan's object must be
// the snapshot's.
func (s *Snapshot) Scan(env *expr.Env, n *plan.Scan) (*Scan, error) {
	out := &Scan{snap: s, env: env, limit: n.Limit}
	for _, c := range n.Cols {
		ref, err := resolve(s.obj, c.Field)
		if err != nil {
			return nil, err
		}
		out.cols = append(out.cols, ref)
	}
	var err error
	if out.pred, err = compileFilter(s.obj, n.Cols, n.Filter); err != nil {
		return nil, err
	}
	for _, v := range s.views {
		if out.pred.looksUp(v) {
			rows, err := out.pred.found(env, v)
			if err != nil {
				return nil, err
			}
			if len(rows) > 0 {
				out.chunks = append(out.chunks, chunkRef{view: v, rows: rows})
			}
			continue
		}
		if out.pred.skipsAll(v) {
			continue
		}
		for i := range chunksOf(v.part.rows()) {
			out.chunks = append(out.chunks, chunkRef{view: v, chunk: i})
		}
	}
	return out, nil
}

// Next returns the next chunk with rows, or nil at the end.
func (s *Scan) Next(ctx context.Context) (*vec.Chunk, error) {
	for {
		if ctx.Err() != nil {
			return nil, fail.Ended(ctx, "the scan of "+s.snap.obj.Name)
		}
		if s.limit >= 0 && s.done.Load() >= s.limit {
			return nil, nil
		}
		i := s.next.Add(1) - 1
		if i >= int64(len(s.chunks)) {
			return nil, nil
		}
		c, err := s.read(s.chunks[i])
		if err != nil {
			return nil, err
		}
		if c.Rows() > 0 {
			c.Seq = uint64(i)
			s.done.Add(int64(c.Rows()))
			return c, nil
		}
	}
}

// Skipped are the splits, and the chunks of others, that were passed over by what is
// known of their columns.
func (s *Scan) Skipped() (splits, chunks int64) {
	if s.pred == nil {
		return 0, 0
	}
	return s.pred.skippedSplits.Load(), s.pred.skippedChunks.Load()
}

// Close ends the scan; there is nothing to wait for.
func (s *Scan) Close() error { return nil }

func (s *Scan) read(at chunkRef) (*vec.Chunk, error) {
	if at.rows != nil {
		return s.take(at)
	}
	sel, n, err := s.pred.selected(s.env, at.view, at.chunk)
	if err != nil {
		return nil, err
	}
	c := &vec.Chunk{N: n, Sel: sel, Cols: make([]*vec.Vector, len(s.cols))}
	if c.Rows() == 0 {
		return c, nil
	}
	compact := sel != nil && s.anyWide()
	if compact {
		c.N, c.Sel = len(sel), nil
	}
	for i, ref := range s.cols {
		switch {
		case compact && ref.wide():
			c.Cols[i], err = at.view.takeOf(s.env.Ctx, ref, absolute(sel, at.chunk))
		case compact:
			var v *vec.Vector
			if v, err = at.view.columnOf(s.env.Ctx, ref, at.chunk); err == nil {
				c.Cols[i] = vec.New(ref.t, len(sel))
				c.Cols[i].AppendRows(v, sel, len(sel))
			}
		default:
			c.Cols[i], err = at.view.columnOf(s.env.Ctx, ref, at.chunk)
		}
		if err != nil {
			return nil, err
		}
	}
	return c, nil
}

// take reads the rows of a lookup.
func (s *Scan) take(at chunkRef) (*vec.Chunk, error) {
	c := &vec.Chunk{N: len(at.rows), Cols: make([]*vec.Vector, len(s.cols))}
	for i, ref := range s.cols {
		var err error
		if c.Cols[i], err = at.view.takeOf(s.env.Ctx, ref, at.rows); err != nil {
			return nil, err
		}
	}
	return c, nil
}

func (s *Scan) anyWide() bool {
	for _, c := range s.cols {
		if c.wide() {
			return true
		}
	}
	return false
}

// absolute turns positions in a chunk into rows of the part.
func absolute(sel []int32, chunk int) []uint32 {
	out := make([]uint32, len(sel))
	for i, r := range sel {
		out[i] = uint32(chunk*vec.ChunkRows) + uint32(r)
	}
	return out
}
