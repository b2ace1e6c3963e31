package file

import (
	"context"
	"encoding/binary"

	"github.com/loamdb/loam/storage/lance/internal/pb"
)

// chunk is one mini-block of a page.
type chunk struct {
	off, size int64 // within buffer 1
	values    int   // entries with a value slot
	// first is the row that the first row start in the chunk begins; rows counts
	// the row starts. A continued chunk begins within the row before.
	first, rows int64
	continued   bool
}

// maxLevelsPerBuffer bounds the levels that one buffer may claim.
const maxLevelsPerBuffer = 1 << 24

// maxForeignChunkValues is the most values of a chunk that newer writers make.
const maxForeignChunkValues = 1 << 15

func (p *storedPage) validateMiniBlock(l *pb.MiniBlockLayout) error {
	want := 2
	if l.Dictionary != nil {
		want++
	}
	if l.RepIndexDepth > 0 {
		want++
	}
	switch {
	case len(p.buffers) != want:
		return corrupt("mini-block page with %d buffers where %d are due", len(p.buffers), want)
	case l.Value == nil || l.Buffers == 0 || l.Buffers > 8:
		return corrupt("mini-block page with %d value buffers", l.Buffers)
	case (p.col.leaf.lists > 0) != (l.Rep != nil) || (l.Rep != nil) != (l.RepIndexDepth > 0):
		return corrupt("repetition levels do not fit the column")
	case l.RepIndexDepth > uint32(p.col.leaf.lists):
		return corrupt("repetition index of depth %d", l.RepIndexDepth)
	case l.Rep == nil && l.Items != uint64(p.rows):
		return corrupt("%d items for %d rows", l.Items, p.rows)
	}
	return nil
}

// chunkTable reads and checks the chunk metadata and the repetition index. It is kept.
func (p *storedPage) chunkTable(ctx context.Context, src Source) ([]chunk, error) {
	p.mu.Lock()
	held := p.chunks
	p.mu.Unlock()
	if held != nil {
		return held, nil
	}
	l := p.layout.MiniBlock
	meta := make([]byte, p.buffers[0].size)
	if err := readInto(ctx, src, meta, p.buffers[0].off); err != nil {
		return nil, err
	}
	chunks, err := p.parseChunks(meta, l)
	if err != nil {
		return nil, err
	}
	if l.RepIndexDepth > 0 {
		last := p.buffers[len(p.buffers)-1]
		index := make([]byte, last.size)
		if err := readInto(ctx, src, index, last.off); err != nil {
			return nil, err
		}
		if err := p.parseRepIndex(index, chunks); err != nil {
			return nil, err
		}
	}
	p.mu.Lock()
	p.chunks = chunks
	p.mu.Unlock()
	return chunks, nil
}

func (p *storedPage) parseChunks(meta []byte, l *pb.MiniBlockLayout) ([]chunk, error) {
	word := 2
	if l.LargeChunks {
		word = 4
	}
	if len(meta) == 0 || len(meta)%word != 0 {
		return nil, corrupt("chunk table of %d bytes", len(meta))
	}
	chunks := make([]chunk, 0, len(meta)/word)
	var off, row int64
	left := l.Items
	for at := 0; at < len(meta); at += word {
		var w uint32
		if word == 2 {
			w = uint32(binary.LittleEndian.Uint16(meta[at:]))
		} else {
			w = binary.LittleEndian.Uint32(meta[at:])
		}
		n := uint64(1) << (w & 15)
		if at+word == len(meta) {
			n = left
		}
		c := chunk{off: off, size: int64(w>>4+1) * chunkAlign, first: row}
		if n > left || n > maxForeignChunkValues || c.size > p.buffers[1].size-off {
			return nil, corrupt("chunk %d: %d values in bytes %d+%d do not fit the page", len(chunks), n, off, c.size)
		}
		c.values = int(n)
		if l.Rep == nil {
			c.rows = int64(n)
		}
		left -= n
		off += c.size
		row += c.rows
		chunks = append(chunks, c)
	}
	return chunks, nil
}

// parseRepIndex fills the row bounds of the chunks of a page with lists.
func (p *storedPage) parseRepIndex(index []byte, chunks []chunk) error {
	stride := 8 * (int(p.layout.MiniBlock.RepIndexDepth) + 1)
	if len(index) != stride*len(chunks) {
		return corrupt("repetition index of %d bytes for %d chunks", len(index), len(chunks))
	}
	var row int64
	open := false
	for i := range chunks {
		ends := binary.LittleEndian.Uint64(index[i*stride:])
		trailer := binary.LittleEndian.Uint64(index[i*stride+8:]) > 0
		if ends > uint64(p.rows) {
			return corrupt("repetition index: chunk %d ends %d rows of %d", i, ends, p.rows)
		}
		c := &chunks[i]
		c.continued, c.first, c.rows = open, row, int64(ends)
		if open {
			c.rows--
		}
		if trailer {
			c.rows++
		}
		if c.rows < 0 {
			return corrupt("repetition index: chunk %d ends no row, the one before is open", i)
		}
		row += c.rows
		open = trailer
	}
	if row != p.rows || open {
		return corrupt("repetition index counts %d rows of %d", row, p.rows)
	}
	return nil
}

// chunkOf is the chunk in which the row starts.
func chunkOf(chunks []chunk, row int64) int {
	lo, hi := 0, len(chunks)-1
	for lo < hi {
		mid := (lo + hi) / 2
		if chunks[mid].first+chunks[mid].rows > row {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	return lo
}

// decodedChunk is a chunk's levels and values.
type decodedChunk struct {
	levels levelRun
	vals   values
}

func (p *storedPage) readMiniBlock(ctx context.Context, src Source, ranges []rowRange, to *sink) error {
	chunks, err := p.chunkTable(ctx, src)
	if err != nil {
		return err
	}
	if err := p.loadDictionary(ctx, src); err != nil {
		return err
	}
	var need []int
	var spans []span
	for _, r := range ranges {
		for i := chunkOf(chunks, r.from); i < len(chunks) && p.touches(&chunks[i], r); i++ {
			if n := len(need); n == 0 || need[n-1] < i {
				need = append(need, i)
				spans = append(spans, span{p.buffers[1].off + chunks[i].off, chunks[i].size})
			}
		}
	}
	bufs, err := readSpans(ctx, src, spans)
	if err != nil {
		return err
	}
	if len(ranges) == 1 {
		p.expectChunks(chunks, need, to)
	}
	at := 0
	for k, i := range need {
		d, err := p.decodeChunk(&chunks[i], bufs[k])
		if err != nil {
			return corruptChunk(err, i, chunks[i].off)
		}
		for at < len(ranges) && ranges[at].to <= chunks[i].start() {
			at++
		}
		for j := at; j < len(ranges) && p.touches(&chunks[i], ranges[j]); j++ {
			if err := p.addChunk(&chunks[i], d, ranges[j], to); err != nil {
				return corruptChunk(err, i, chunks[i].off)
			}
		}
	}
	return nil
}

// expectChunks makes room for the values of the chunks.
func (p *storedPage) expectChunks(chunks []chunk, need []int, to *sink) {
	total := 0
	for _, i := range need {
		if sh := &p.col.leaf.shape; sh.variable() {
			total += int(chunks[i].size)
		} else if p.levels.top > 0 {
			total += chunks[i].values * sh.width
		}
	}
	to.values.hint(total)
}

// start is the first row of which the chunk holds entries.
func (c *chunk) start() int64 {
	if c.continued {
		return c.first - 1
	}
	return c.first
}

// touches: the chunk holds entries of the rows.
func (p *storedPage) touches(c *chunk, r rowRange) bool {
	return r.from < c.first+c.rows && r.to > c.start()
}

// addChunk appends the chunk's entries of the rows.
func (p *storedPage) addChunk(c *chunk, d decodedChunk, r rowRange, to *sink) error {
	if r.from <= c.start() && r.to >= c.first+c.rows {
		if err := to.addLevels(&p.levels, d.levels); err != nil {
			return err
		}
		return d.vals.addTo(to, 0, d.vals.n)
	}
	var from, end int
	if p.levels.top == 0 {
		from, end = int(max(r.from-c.first, 0)), int(min(r.to-c.first, c.rows))
	} else {
		from, end = p.levels.entriesOf(d.levels, c.first, r)
	}
	valFrom := p.levels.countVisible(d.levels.slice(0, from))
	part := d.levels.slice(from, end)
	valEnd := valFrom + p.levels.countVisible(part)
	if valEnd > d.vals.n {
		return corrupt("%d values for %d visible entries", d.vals.n, valEnd)
	}
	if err := to.addLevels(&p.levels, part); err != nil {
		return err
	}
	return d.vals.addTo(to, valFrom, valEnd)
}

// decodeChunk parses one chunk: a header of u16 sizes, then levels and value
// buffers, each padded to eight bytes.
func (p *storedPage) decodeChunk(c *chunk, buf []byte) (decodedChunk, error) {
	l := p.layout.MiniBlock
	r := chunkReader{buf: buf}
	count := int(r.u16())
	var repSize, defSize int
	if l.Rep != nil {
		repSize = int(r.u16())
	}
	if l.Def != nil {
		defSize = int(r.u16())
	}
	sizes := make([]int, l.Buffers)
	for i := range sizes {
		sizes[i] = r.size(l.LargeChunks)
	}
	rep, def := r.part(repSize), r.part(defSize)
	bufs := make([][]byte, len(sizes))
	for i, n := range sizes {
		bufs[i] = r.part(n)
	}
	if r.short {
		return decodedChunk{}, corrupt("its buffers are longer than the chunk of %d bytes", len(buf))
	}
	d := decodedChunk{levels: levelRun{n: c.values}}
	var err error
	if l.Rep != nil || l.Def != nil {
		d.levels.n = count
	}
	if l.Rep != nil {
		if d.levels.rep, err = decodeLevels(l.Rep, rep, count); err != nil {
			return d, err
		}
	}
	if l.Def != nil {
		if d.levels.def, err = decodeLevels(l.Def, def, count); err != nil {
			return d, err
		}
	}
	if err := p.checkLevels(c, d.levels); err != nil {
		return d, err
	}
	d.vals, err = p.decodeValues(bufs, c.values)
	return d, err
}

func (p *storedPage) checkLevels(c *chunk, run levelRun) error {
	if err := p.levels.check(run); err != nil {
		return err
	}
	if n := p.levels.countVisible(run); n != c.values {
		return corrupt("%d entries with a value where the chunk has %d", n, c.values)
	}
	if p.levels.top == 0 {
		return nil
	}
	starts := int64(0)
	for _, v := range run.rep {
		if v == p.levels.top {
			starts++
		}
	}
	if starts != c.rows || (!c.continued && run.n > 0 && run.rep[0] != p.levels.top) {
		return corrupt("%d rows start where the repetition index has %d", starts, c.rows)
	}
	return nil
}

// chunkReader walks the parts of a chunk; short is set once it runs out.
type chunkReader struct {
	buf   []byte
	at    int
	short bool
}

func (r *chunkReader) take(n int) []byte {
	if n < 0 || n > len(r.buf)-r.at {
		r.short = true
		return make([]byte, min(max(n, 0), 8))
	}
	r.at += n
	return r.buf[r.at-n : r.at]
}

func (r *chunkReader) u16() uint16 { return binary.LittleEndian.Uint16(r.take(2)) }

func (r *chunkReader) size(large bool) int {
	if large {
		return int(binary.LittleEndian.Uint32(r.take(4)))
	}
	return int(r.u16())
}

// part is the next n bytes, after padding to eight.
func (r *chunkReader) part(n int) []byte {
	r.at = min((r.at+chunkAlign-1)/chunkAlign*chunkAlign, len(r.buf))
	return r.take(n)
}
