package file

import (
	"context"
	"encoding/binary"

	"github.com/loamdb/loam/storage/lance/internal/pb"
)

// zip is the derived geometry of a full-zip page.
type zip struct {
	ctrl    int // bytes of a control word
	bitsDef uint32
	width   int // bytes of a fixed-width value, item validity included
	skip    int // bytes of item validity before it
	lenSize int // bytes of a length, for variable width
}

func (p *storedPage) zip() zip {
	l := p.layout.FullZip
	z := zip{bitsDef: l.BitsDef, lenSize: int(l.BitsPerOffset) / 8, width: int(l.BitsPerValue) / 8}
	z.ctrl = controlBytes(l)
	if l.Value.HasValidity {
		z.skip = (p.col.leaf.shape.dim + 7) / 8
	}
	return z
}

// controlBytes is the size of a control word.
func controlBytes(l *pb.FullZipLayout) int {
	switch n := l.BitsRep + l.BitsDef; {
	case n == 0:
		return 0
	case n <= 8:
		return 1
	case n <= 16:
		return 2
	}
	return 4
}

func (p *storedPage) validateFullZip(l *pb.FullZipLayout) error {
	sh := &p.col.leaf.shape
	if l.BitsRep > 16 || l.BitsDef > 16 {
		return corrupt("control words of %d+%d bits", l.BitsRep, l.BitsDef)
	}
	if l.Value == nil || (p.col.leaf.lists > 0) != (l.BitsRep > 0) {
		return corrupt("full-zip layout does not fit the column")
	}
	if sh.variable() {
		if l.BitsPerOffset != 32 && l.BitsPerOffset != 64 {
			return corrupt("lengths of %d bits", l.BitsPerOffset)
		}
		if len(p.buffers) != 2 {
			return corrupt("full-zip page of variable width with %d buffers", len(p.buffers))
		}
		return p.checkZippedIndex(p.zippedVariable(l.Value))
	}
	if err := fixedEncoding(l.Value, sh); err != nil {
		return err
	}
	z := p.zip()
	if int(l.BitsPerValue) != 8*(sh.width+z.skip) {
		return corrupt("values of %d bits where %d are due", l.BitsPerValue, 8*(sh.width+z.skip))
	}
	if p.col.leaf.lists > 0 {
		if len(p.buffers) != 2 {
			return corrupt("full-zip page below a list with %d buffers", len(p.buffers))
		}
		return p.checkZippedIndex(nil)
	}
	if len(p.buffers) < 1 || p.buffers[0].size != p.rows*int64(z.ctrl+z.width) {
		return corrupt("full-zip page of %d rows of %d bytes does not fill its buffer", p.rows, z.ctrl+z.width)
	}
	return nil
}

// checkZippedIndex checks that the repetition index holds rows+1 offsets of a
// known width.
func (p *storedPage) checkZippedIndex(err error) error {
	if err != nil {
		return err
	}
	size := p.buffers[1].size
	switch w := size / (p.rows + 1); {
	case size%(p.rows+1) != 0, w != 1 && w != 2 && w != 4 && w != 8:
		return corrupt("repetition index of %d bytes for %d rows", size, p.rows)
	}
	return nil
}

// fixedEncoding accepts the encodings of a zipped fixed-width value.
func fixedEncoding(e *pb.Encoding, sh *shape) error {
	if sh.dim > 0 {
		if e.Kind != pb.FixedSizeList || e.Inner == nil || e.Items != uint64(sh.dim) {
			return unsupported("vectors encoded as %s of %d are not readable", e.Kind, e.Items)
		}
		e = e.Inner
	}
	if sh.bits || sh.members != nil || e.Kind != pb.Flat || e.Scheme != 0 {
		return unsupported("full-zip values of %s encoded as %s are not readable", sh.typ, e.Kind)
	}
	if want := sh.storedBits(); e.Bits != want {
		return corrupt("values of %d bits where %d are due", e.Bits, want)
	}
	return nil
}

func (p *storedPage) readFullZip(ctx context.Context, src Source, ranges []rowRange, to *sink) error {
	if p.col.leaf.lists == 0 && !p.col.leaf.shape.variable() {
		return p.readZippedFixed(ctx, src, ranges, to)
	}
	starts, err := p.rowStarts(ctx, src, ranges)
	if err != nil {
		return err
	}
	spans := make([]span, len(ranges))
	for i, at := range starts {
		spans[i] = span{p.buffers[0].off + int64(at[0]), int64(at[len(at)-1] - at[0])}
	}
	bufs, err := readSpans(ctx, src, spans)
	if err != nil {
		return err
	}
	total := 0
	for _, buf := range bufs {
		total += len(buf)
	}
	if p.col.leaf.shape.variable() {
		to.values.hint(total)
	}
	for i, buf := range bufs {
		r := ranges[i]
		if p.col.leaf.lists == 0 && p.layout.FullZip.Value.Kind == pb.Variable && p.layout.FullZip.BitsDef <= 8 {
			err = p.unzipPlain(buf, r, starts[i], to)
		} else {
			err = p.unzip(buf, r, to)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// unzipPlain appends uncompressed variable-width rows, whose places the
// repetition index gives.
func (p *storedPage) unzipPlain(buf []byte, rows rowRange, starts []uint64, to *sink) error {
	z := p.zip()
	run := levelRun{n: int(rows.to - rows.from)}
	if z.ctrl > 0 {
		run.def = make([]uint16, run.n)
	}
	for i := range run.n {
		row := buf[starts[i]-starts[0] : starts[i+1]-starts[0]]
		if z.ctrl > 0 {
			if len(row) < z.ctrl {
				return corrupt("row %d is cut off", rows.from+int64(i))
			}
			run.def[i] = uint16(row[0]) & (1<<z.bitsDef - 1)
			if run.def[i] > p.levels.max {
				return corrupt("row %d: level %d is out of range", rows.from+int64(i), run.def[i])
			}
			row = row[z.ctrl:]
			if run.def[i] > 0 {
				if len(row) > 0 {
					return corrupt("row %d is null but has %d bytes", rows.from+int64(i), len(row))
				}
				to.putValueEnd()
				continue
			}
		}
		if len(row) < z.lenSize || readWord(row, z.lenSize) != uint64(len(row)-z.lenSize) {
			return corrupt("row %d: its length does not fit the repetition index", rows.from+int64(i))
		}
		to.addValue(row[z.lenSize:])
	}
	to.addFlat(&p.levels, run)
	return nil
}

// readZippedFixed reads rows at computed places. A single range without control
// words is read straight into the Arrow buffer.
func (p *storedPage) readZippedFixed(ctx context.Context, src Source, ranges []rowRange, to *sink) error {
	z := p.zip()
	stride := int64(z.ctrl + z.width)
	spans := make([]span, len(ranges))
	total := 0
	for i, r := range ranges {
		spans[i] = span{p.buffers[0].off + r.from*stride, (r.to - r.from) * stride}
		total += int(r.to - r.from)
	}
	if z.ctrl == 0 && z.skip == 0 {
		to.addFlat(&p.levels, levelRun{n: total})
		if len(spans) == 1 {
			return readInto(ctx, src, to.values.extend(int(spans[0].size)), spans[0].off)
		}
	}
	bufs, err := readSpans(ctx, src, spans)
	if err != nil {
		return err
	}
	for i, buf := range bufs {
		if z.ctrl == 0 && z.skip == 0 {
			copy(to.values.extend(len(buf)), buf)
			continue
		}
		if err := p.unzip(buf, ranges[i], to); err != nil {
			return err
		}
	}
	return nil
}

// An index of offsets is read in parts for few rows of many: where a part of this many
// bytes for each range is less than all of it. After keepAfter such calls all of it is
// read, and kept.
const (
	indexPart = 16 << 10
	keepAfter = 8
)

// rowStarts are the places in buffer 0 of the ranges' rows, by the repetition index:
// of each range one more than it has rows, ascending.
func (p *storedPage) rowStarts(ctx context.Context, src Source, ranges []rowRange) ([][]uint64, error) {
	p.mu.Lock()
	held := p.starts
	part := held == nil && p.parts < keepAfter && int64(len(ranges))*indexPart < p.buffers[1].size
	if part {
		p.parts++
	}
	p.mu.Unlock()
	if part {
		return p.readStarts(ctx, src, ranges)
	}
	if held == nil {
		all, err := p.readStarts(ctx, src, []rowRange{{0, p.rows}})
		if err != nil {
			return nil, err
		}
		held = all[0]
		p.mu.Lock()
		p.starts = held
		p.mu.Unlock()
	}
	out := make([][]uint64, len(ranges))
	for i, r := range ranges {
		out[i] = held[r.from : r.to+1]
	}
	return out, nil
}

// readStarts is rowStarts from the file.
func (p *storedPage) readStarts(ctx context.Context, src Source, ranges []rowRange) ([][]uint64, error) {
	index := p.buffers[1]
	width := index.size / (p.rows + 1)
	spans := make([]span, len(ranges))
	for i, r := range ranges {
		spans[i] = span{index.off + r.from*width, (r.to - r.from + 1) * width}
	}
	bufs, err := readSpans(ctx, src, spans)
	if err != nil {
		return nil, err
	}
	out := make([][]uint64, len(ranges))
	for i, buf := range bufs {
		if out[i], err = p.decodeStarts(buf, int(width), ranges[i].from); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// decodeStarts decodes entries of the repetition index from that of the row on.
func (p *storedPage) decodeStarts(buf []byte, width int, row int64) ([]uint64, error) {
	out := make([]uint64, len(buf)/width)
	before := uint64(0)
	for i := range out {
		at := readWord(buf[i*width:], width)
		if at < before || at > uint64(p.buffers[0].size) {
			return nil, corrupt("repetition index: row %d starts at byte %d, out of order or of the page", row+int64(i), at)
		}
		out[i], before = at, at
	}
	return out, nil
}

// unzip decodes the entries of consecutive rows and appends them.
func (p *storedPage) unzip(buf []byte, rows rowRange, to *sink) error {
	z := p.zip()
	run := levelRun{}
	repMask := uint32(1)<<p.layout.FullZip.BitsRep - 1
	starts := int64(0)
	for at := 0; at < len(buf); {
		rep, def := p.levels.top, uint16(0)
		if z.ctrl > 0 {
			if len(buf)-at < z.ctrl {
				return corrupt("rows %d to %d end within a control word", rows.from, rows.to)
			}
			var word [4]byte
			copy(word[:], buf[at:at+z.ctrl])
			at += z.ctrl
			w := binary.LittleEndian.Uint32(word[:])
			def = uint16(w & (1<<z.bitsDef - 1))
			if p.levels.top > 0 {
				rep = uint16(w >> z.bitsDef & repMask)
			}
		}
		if rep > p.levels.top || def > p.levels.max {
			return corrupt("rows %d to %d: levels %d, %d out of range", rows.from, rows.to, rep, def)
		}
		run.rep, run.def = append(run.rep, rep), append(run.def, def)
		run.n++
		if rep == p.levels.top {
			starts++
		}
		if def > p.levels.visible {
			continue
		}
		n, err := p.unzipValue(buf[at:], z, def, to)
		if err != nil {
			return err
		}
		at += n
	}
	if starts != rows.to-rows.from {
		return corrupt("rows %d to %d hold %d rows", rows.from, rows.to, starts)
	}
	return to.addLevels(&p.levels, run)
}

// unzipValue appends the value at the front of buf and returns its bytes there.
func (p *storedPage) unzipValue(buf []byte, z zip, def uint16, to *sink) (int, error) {
	sh := &p.col.leaf.shape
	if !sh.variable() {
		if len(buf) < z.width {
			return 0, corrupt("a value is cut off")
		}
		if z.skip > 0 {
			to.addItemBits(buf[:z.skip], 0, sh.dim)
		}
		copy(to.values.extend(sh.width), buf[z.skip:z.width])
		return z.width, nil
	}
	if def > 0 {
		to.addZeros(1)
		return 0, nil
	}
	if len(buf) < z.lenSize {
		return 0, corrupt("a length is cut off")
	}
	var word [8]byte
	copy(word[:], buf[:z.lenSize])
	n := binary.LittleEndian.Uint64(word[:])
	if n > uint64(len(buf)-z.lenSize) {
		return 0, corrupt("a value of %d bytes is cut off", n)
	}
	end := z.lenSize + int(n)
	return end, p.addZipped(buf[z.lenSize:end], to)
}
