package file

import (
	"context"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/storage/lance/internal/pb"
)

// validate checks everything about a page that its metadata alone can show, so
// that reading relies on it.
func (p *storedPage) validate() error {
	var layers []pb.Layer
	var err error
	switch l := p.layout; {
	case l.MiniBlock != nil:
		layers, err = l.MiniBlock.Layers, p.validateMiniBlock(l.MiniBlock)
	case l.FullZip != nil:
		layers, err = l.FullZip.Layers, p.validateFullZip(l.FullZip)
	case l.Constant != nil:
		layers, err = l.Constant.Layers, p.validateConstant(l.Constant)
	default:
		err = unsupported("page layout %d is not readable", l.Other)
	}
	if err != nil {
		return err
	}
	p.levels, err = newLevelMap(p.col.leaf, layers)
	return err
}

func (p *storedPage) validateConstant(l *pb.ConstantLayout) error {
	if len(p.buffers) != 0 && len(p.buffers) != 2 {
		return corrupt("constant page with %d buffers", len(p.buffers))
	}
	if l.Inline != nil && len(l.Inline) != p.col.leaf.shape.width {
		return corrupt("constant of %d bytes for a value of %d", len(l.Inline), p.col.leaf.shape.width)
	}
	if len(p.buffers) == 0 && p.col.leaf.lists > 0 {
		return corrupt("constant page below a list without levels")
	}
	return nil
}

// read appends the page rows of the ranges (ascending, disjoint, within the
// page) to the sink.
func (p *storedPage) read(ctx context.Context, src Source, ranges []rowRange, to *sink) error {
	var err error
	switch {
	case p.layout.MiniBlock != nil:
		err = p.readMiniBlock(ctx, src, ranges, to)
	case p.layout.FullZip != nil:
		err = p.readFullZip(ctx, src, ranges, to)
	default:
		err = p.readConstant(ctx, src, ranges, to)
	}
	if err != nil {
		return fail.Wrap(fail.CodeOf(err), err, "column %q, page %d", p.col.leaf.name, p.index)
	}
	return nil
}

func (p *storedPage) readConstant(ctx context.Context, src Source, ranges []rowRange, to *sink) error {
	if len(p.buffers) == 0 {
		for _, r := range ranges {
			p.addConstant(int(r.to-r.from), to)
		}
		return nil
	}
	run, err := p.holeLevels(ctx, src)
	if err != nil {
		return err
	}
	for _, r := range ranges {
		from, end := int(r.from), int(r.to)
		if int64(run.n) != p.rows {
			from, end = p.levels.entriesOf(run, 0, r)
		}
		part := run.slice(from, end)
		if err := to.addLevels(&p.levels, part); err != nil {
			return err
		}
		p.addConstantValues(p.levels.countVisible(part), to)
	}
	return nil
}

// addConstant appends n rows of a page without levels: all null, or all the
// inline value.
func (p *storedPage) addConstant(n int, to *sink) {
	run := levelRun{n: n}
	if p.layout.Constant.Inline == nil {
		run.def = make([]uint16, n)
		for i := range run.def {
			run.def[i] = p.levels.max
		}
	}
	to.addFlat(&p.levels, run)
	p.addConstantValues(n, to)
}

func (p *storedPage) addConstantValues(n int, to *sink) {
	inline := p.layout.Constant.Inline
	if inline == nil {
		to.addZeros(n)
		return
	}
	for range n {
		copy(to.values.extend(len(inline)), inline)
	}
}

// holeLevels reads the levels of a constant page; they are kept.
func (p *storedPage) holeLevels(ctx context.Context, src Source) (levelRun, error) {
	p.mu.Lock()
	held := p.holes
	p.mu.Unlock()
	if held != nil {
		return *held, nil
	}
	var run levelRun
	l := p.layout.Constant
	bufs, err := readSpans(ctx, src, p.buffers)
	if err != nil {
		return run, err
	}
	if run.rep, err = constantLevels(l.Rep, bufs[0], l.RepValues); err != nil {
		return run, err
	}
	if run.def, err = constantLevels(l.Def, bufs[1], l.DefValues); err != nil {
		return run, err
	}
	run.n = max(len(run.rep), len(run.def))
	if (run.rep != nil && len(run.rep) != run.n) || (run.def != nil && len(run.def) != run.n) {
		return run, corrupt("%d repetition and %d definition levels", len(run.rep), len(run.def))
	}
	if run.rep == nil && p.levels.top > 0 {
		return run, corrupt("no repetition levels below a list")
	}
	if run.rep == nil && int64(run.n) != p.rows {
		return run, corrupt("%d levels for %d rows", run.n, p.rows)
	}
	if err := p.levels.check(run); err != nil {
		return run, err
	}
	p.mu.Lock()
	p.holes = &run
	p.mu.Unlock()
	return run, nil
}

func constantLevels(enc *pb.Encoding, buf []byte, n uint64) ([]uint16, error) {
	if len(buf) == 0 {
		return nil, nil
	}
	if enc == nil {
		n = uint64(len(buf) / 2)
		enc = pb.FlatEncoding(16)
	}
	if n > maxLevelsPerBuffer {
		return nil, corrupt("%d levels in one buffer", n)
	}
	return decodeLevels(enc, buf, int(n))
}
