package collection

import (
	"sync/atomic"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/internal/vec"
)

// predicate is a compiled filter over some columns of an object.
type predicate struct {
	prog *expr.Program
	cols []colRef
	// bounds are conjuncts by which splits and chunks are passed over, as many as these.
	bounds                       []bound
	skippedSplits, skippedChunks atomic.Int64
	// keyed says that only rows with one of keys, sorted, can pass.
	keyed bool
	keys  []string
}

// compileFilter resolves the columns that the filter reads; nil for no filter.
func compileFilter(obj *schema.Object, cols []plan.ScanColumn, filter expr.Expr) (*predicate, error) {
	if filter == nil {
		return nil, nil
	}
	read := map[expr.ColumnID]bool{}
	expr.Columns(filter, read)
	p := &predicate{}
	layout := map[expr.ColumnID]int{}
	refs := map[expr.ColumnID]colRef{}
	for _, c := range cols {
		if !read[c.ID] {
			continue
		}
		ref, err := resolve(obj, c.Field)
		if err != nil {
			return nil, err
		}
		layout[c.ID] = len(p.cols)
		refs[c.ID] = ref
		p.cols = append(p.cols, ref)
	}
	var err error
	if p.prog, err = expr.Compile(filter, layout); err != nil {
		return nil, err
	}
	p.keys, p.keyed = keysOf(obj, filter, refs)
	for _, c := range expr.Conjuncts(filter) {
		if b, ok := boundOf(c, refs); ok {
			p.bounds = append(p.bounds, b)
		}
	}
	return p, nil
}

// selected returns the rows of a chunk that are live and pass, as positions in
// the chunk; nil means all n.
func (p *predicate) selected(env *expr.Env, v *view, chunk int) (sel []int32, n int, err error) {
	from := chunk * vec.ChunkRows
	n = min(vec.ChunkRows, v.part.rows()-from)
	sel = liveRows(v.excluded, from, n)
	if p == nil || sel != nil && len(sel) == 0 {
		return sel, n, nil
	}
	skip, err := p.skips(env.Ctx, v, chunk)
	if err != nil {
		return nil, n, err
	}
	if skip {
		return []int32{}, n, nil
	}
	c := &vec.Chunk{N: n, Sel: sel, Cols: make([]*vec.Vector, len(p.cols))}
	for i, ref := range p.cols {
		if c.Cols[i], err = v.columnOf(env.Ctx, ref, chunk); err != nil {
			return nil, n, err
		}
	}
	sel, err = p.prog.Select(env, c)
	if sel == nil && err == nil {
		sel = []int32{}
	}
	if len(sel) == n {
		sel = nil
	}
	return sel, n, err
}

// liveRows lists the rows [from, from+n) that are not excluded, as positions
// from 0; nil when all are live.
func liveRows(excluded *roaring.Bitmap, from, n int) []int32 {
	if excluded.IsEmpty() {
		return nil
	}
	it := excluded.Iterator()
	it.AdvanceIfNeeded(uint32(from))
	if !it.HasNext() || int(it.PeekNext()) >= from+n {
		return nil
	}
	sel := make([]int32, 0, n)
	next := int(it.Next())
	for i := range n {
		if from+i == next {
			next = from + n
			if it.HasNext() {
				next = int(it.Next())
			}
			continue
		}
		sel = append(sel, int32(i))
	}
	return sel
}

// matches are the rows of a view that are live and pass the filter; nil when no
// filter was given (the exclusions alone count then).
func (p *predicate) matches(env *expr.Env, v *view) (*roaring.Bitmap, error) {
	if p == nil {
		return nil, nil
	}
	out := roaring.New()
	if p.looksUp(v) {
		rows, err := p.found(env, v)
		out.AddMany(rows)
		return out, err
	}
	if p.skipsAll(v) {
		return out, nil
	}
	for chunk := range chunksOf(v.part.rows()) {
		if err := env.Ctx.Err(); err != nil {
			return nil, err
		}
		sel, n, err := p.selected(env, v, chunk)
		if err != nil {
			return nil, err
		}
		from := uint32(chunk * vec.ChunkRows)
		if sel == nil {
			out.AddRange(uint64(from), uint64(from)+uint64(n))
			continue
		}
		out.AddMany(absolute(sel, chunk))
	}
	return out, nil
}
