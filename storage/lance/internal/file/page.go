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
	case p.col.leaf.shape.hollow:
		err = unsupported("lists of structs without fields are not readable")
	case p.col.leaf.shape.empty() && l.Constant == nil:
		err = corrupt("a page of nulls with values")
	case l.MiniBlock != nil:
		layers, err = l.MiniBlock.Layers, p.validateMiniBlock(l.MiniBlock)
	case l.FullZip != nil:
		layers, err = l.FullZip.Layers, p.validateFullZip(l.FullZip)
	case l.Constant != nil:
		layers, err = l.Constant.Layers, p.validateConstant(l.Constant)
	case l.Blob != nil:
		layers, err = l.Blob.Layers, p.blobPage(l.Blob)
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
	sh := &p.col.leaf.shape
	switch {
	case len(p.buffers) > 3:
		return corrupt("constant page with %d buffers", len(p.buffers))
	case l.Inline != nil && len(l.Inline) != sh.width:
		return corrupt("constant of %d bytes for a value of %d", len(l.Inline), sh.width)
	case len(p.buffers) < 2 && p.col.leaf.lists > 0:
		return corrupt("constant page below a list without levels")
	case len(p.buffers)%2 == 1 && sh.empty():
		return corrupt("a constant of the null type")
	}
	return nil
}

// levelBuffers are the places of the levels: the last two buffers, if any. An odd
// number of buffers begins with the constant itself.
func (p *storedPage) levelBuffers() []span { return p.buffers[len(p.buffers)%2:] }

// constantValue is the value of every visible entry, or nil for null.
func (p *storedPage) constantValue(ctx context.Context, src Source) ([]byte, error) {
	if len(p.buffers)%2 == 0 {
		return p.layout.Constant.Inline, nil
	}
	p.mu.Lock()
	held := p.constant
	p.mu.Unlock()
	if held != nil {
		return held, nil
	}
	buf := make([]byte, p.buffers[0].size)
	if err := readInto(ctx, src, buf, p.buffers[0].off); err != nil {
		return nil, err
	}
	// u32 count of buffers (1, or 2 with the offsets of variable width), their u32
	// lengths, then the buffers, of which the last is the value.
	sh := &p.col.leaf.shape
	r := chunkReader{buf: buf}
	count, offsets, due := r.size(true), 0, 1
	if sh.variable() {
		offsets, due = r.size(true), 2
	}
	size := r.size(true)
	r.take(offsets)
	value := r.take(size)
	if r.short || count != due || (!sh.variable() && size != sh.width) {
		return nil, corrupt("constant value of %d buffers, %d bytes, in %d bytes", count, size, len(buf))
	}
	p.mu.Lock()
	p.constant = value
	p.mu.Unlock()
	return value, nil
}

// read appends the page rows of the ranges (ascending, disjoint, within the
// page) to the sink.
func (p *storedPage) read(ctx context.Context, src Source, ranges []rowRange, to *sink) error {
	if err := p.readLayout(ctx, src, ranges, to); err != nil {
		return fail.Wrap(fail.CodeOf(err), err, "column %q, page %d", p.col.leaf.name, p.index)
	}
	return nil
}

func (p *storedPage) readLayout(ctx context.Context, src Source, ranges []rowRange, to *sink) error {
	switch {
	case p.layout.MiniBlock != nil:
		return p.readMiniBlock(ctx, src, ranges, to)
	case p.layout.FullZip != nil:
		return p.readFullZip(ctx, src, ranges, to)
	case p.layout.Blob != nil:
		return p.readBlobs(ctx, src, ranges, to)
	}
	return p.readConstant(ctx, src, ranges, to)
}

func (p *storedPage) readConstant(ctx context.Context, src Source, ranges []rowRange, to *sink) error {
	value, err := p.constantValue(ctx, src)
	if err != nil {
		return err
	}
	if len(p.levelBuffers()) == 0 {
		for _, r := range ranges {
			p.addConstant(int(r.to-r.from), value, to)
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
		addConstantValues(p.levels.countVisible(part), value, to)
	}
	return nil
}

// addConstant appends n rows of a page without levels: all null, or all the value.
func (p *storedPage) addConstant(n int, value []byte, to *sink) {
	run := levelRun{n: n}
	if value == nil {
		run.def = make([]uint16, n)
		for i := range run.def {
			run.def[i] = p.levels.max
		}
	}
	to.addFlat(&p.levels, run)
	addConstantValues(n, value, to)
}

func addConstantValues(n int, value []byte, to *sink) {
	if value == nil {
		to.addZeros(n)
		return
	}
	for range n {
		if to.leaf.shape.variable() {
			to.addValue(value)
		} else {
			copy(to.values.extend(len(value)), value)
		}
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
	bufs, err := readSpans(ctx, src, p.levelBuffers())
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
