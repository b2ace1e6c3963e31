package file

import (
	"context"
	"encoding/binary"
	"sync"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/storage/lance/internal/pb"
)

// arrayCache keeps what a page decodes once.
type arrayCache struct {
	symbols symbolTable // guards itself

	mu sync.Mutex // guards the caches below
	// plain are buffers after decompression, by number.
	plain map[int][]byte
	// dictionary is the items of a dictionary page.
	dictionary *arrays
}

// maxBytes bounds the bytes that the values of the page can have: those of its
// buffers, which may be compressed.
func (p *arrayPage) maxBytes() int64 {
	n := int64(0)
	for _, b := range p.buffers {
		n += b.size
	}
	return n * maxExpansion
}

// flat reads values of the bits; booleans become a byte each.
func (r *arrayReader) flat(e *pb.ArrayEncoding, ranges []rowRange, bits uint64) ([]byte, error) {
	if e.Bits != bits {
		return nil, corrupt("values of %d bits where %d are due", e.Bits, bits)
	}
	if e.Buffer >= len(r.page.buffers) {
		return nil, corrupt("buffer %d of a page with %d", e.Buffer, len(r.page.buffers))
	}
	at := r.page.buffers[e.Buffer]
	spans := make([]span, len(ranges))
	total := int64(0)
	for i, x := range ranges {
		from, to := x.from*int64(bits)/8, (x.to*int64(bits)+7)/8
		spans[i] = span{at.off + from, to - from}
		total += to - from
		if e.Scheme == "" && to > at.size {
			return nil, corrupt("values %d to %d of %d bits in a buffer of %d bytes", x.from, x.to, bits, at.size)
		}
	}
	bufs, err := r.pieces(e, at, spans)
	if err != nil {
		return nil, err
	}
	if bits != 1 {
		if len(bufs) == 1 {
			return bufs[0], nil
		}
		out := make([]byte, 0, total)
		for _, b := range bufs {
			out = append(out, b...)
		}
		return out, nil
	}
	out := make([]byte, 0, rowsOf(ranges))
	for k, x := range ranges {
		for i := x.from; i < x.to; i++ {
			out = append(out, bufs[k][i/8-x.from/8]>>(i%8)&1)
		}
	}
	return out, nil
}

// pieces reads the spans, out of a decompressed buffer if it is compressed.
func (r *arrayReader) pieces(e *pb.ArrayEncoding, at span, spans []span) ([][]byte, error) {
	if e.Scheme == "" {
		return readSpans(r.ctx, r.src, spans)
	}
	plain, err := r.decompressed(e, at)
	if err != nil {
		return nil, err
	}
	out := make([][]byte, len(spans))
	for i, s := range spans {
		from := s.off - at.off
		if from+s.size > int64(len(plain)) {
			return nil, corrupt("bytes %d+%d of a compressed buffer that has %d", from, s.size, len(plain))
		}
		out[i] = plain[from : from+s.size]
	}
	return out, nil
}

var schemeNumbers = map[string]uint64{"zstd": pb.Zstd, "lz4": pb.LZ4}

func (r *arrayReader) decompressed(e *pb.ArrayEncoding, at span) ([]byte, error) {
	c := &r.page.cache
	c.mu.Lock()
	held, ok := c.plain[e.Buffer]
	c.mu.Unlock()
	if ok {
		return held, nil
	}
	buf := make([]byte, at.size)
	if err := readInto(r.ctx, r.src, buf, at.off); err != nil {
		return nil, err
	}
	number, ok := schemeNumbers[e.Scheme]
	if !ok {
		return nil, unsupported("compression %q is not readable", e.Scheme)
	}
	plain, err := decompress(number, buf)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	if c.plain == nil {
		c.plain = map[int][]byte{}
	}
	c.plain[e.Buffer] = plain
	c.mu.Unlock()
	return plain, nil
}

// items are the items of the page's dictionary.
func (r *arrayReader) items(e *pb.ArrayEncoding, sh *shape) (arrays, error) {
	c := &r.page.cache
	c.mu.Lock()
	held := c.dictionary
	c.mu.Unlock()
	if held != nil {
		return *held, nil
	}
	if e.Items > uint64(r.page.maxBytes()/maxExpansion) {
		return arrays{}, corrupt("dictionary of %d items in a page of %d bytes", e.Items, r.page.maxBytes()/maxExpansion)
	}
	v, err := r.values(e.Inner, []rowRange{{0, int64(e.Items)}}, sh)
	if err != nil {
		return v, err
	}
	c.mu.Lock()
	c.dictionary = &v
	c.mu.Unlock()
	return v, nil
}

// A batch holds at most so many list items, as null items cost the file nothing.
const (
	maxItemsRead    = 1 << 24
	maxItemsPerByte = 64
)

// readArrays appends the rows of the runs to the sink: from the outermost node
// inwards, each list turning ranges of rows into ranges of items.
func (c *column) readArrays(ctx context.Context, src Source, runs []rowRange, to *sink) error {
	for i, n := range c.leaf.path {
		node := c.arrays[i]
		switch n.kind {
		case nodeStruct:
			to.nodes[i].valid.addValid(rowsOf(runs))
		case nodeList:
			var below []rowRange
			err := node.eachPage(runs, func(p *arrayPage, local []rowRange) error {
				r := arrayReader{ctx, src, p}
				els, err := r.elements(p.enc.Inner, p.enc.Adjust, local, p.enc.Items)
				if err != nil {
					return err
				}
				for _, el := range els {
					below = to.nodes[i].addList(el, p.firstItem, below)
				}
				return nil
			})
			if err != nil {
				return c.arrayError(err)
			}
			runs = below
			if n := rowsOf(runs); n > maxItemsRead && int64(n) > maxItemsPerByte*c.limit {
				return fail.New(fail.TooLarge, "lance: column %q: %d list items in one batch of a file of %d bytes", c.leaf.name, n, c.limit)
			}
		case nodeLeaf:
			if c.leaf.shape.hollow {
				to.nodes[i].valid.addValid(rowsOf(runs))
				break
			}
			err := node.eachPage(runs, func(p *arrayPage, local []rowRange) error {
				return c.readArrayLeaf(&arrayReader{ctx, src, p}, local, to)
			})
			if err != nil {
				return c.arrayError(err)
			}
		}
	}
	return nil
}

func (c *column) arrayError(err error) error {
	return fail.Wrap(fail.CodeOf(err), err, "column %q", c.leaf.name)
}

// addList appends one list and the range of its items to below.
func (n *nodeSink) addList(el element, firstItem int64, below []rowRange) []rowRange {
	if el.null {
		n.valid.addNull()
		n.putOffset()
		return below
	}
	n.valid.addValid(1)
	n.putOffset()
	n.addElements(int(el.to - el.from))
	return appendRange(below, rowRange{firstItem + int64(el.from), firstItem + int64(el.to)})
}

// eachPage calls f with each page that has rows of the ranges, and those rows.
func (a *arrayNode) eachPage(ranges []rowRange, f func(p *arrayPage, local []rowRange) error) error {
	var local []rowRange
	k := 0
	for _, p := range a.pages {
		local = local[:0]
		end := p.first + p.rows
		for k < len(ranges) && ranges[k].from < end {
			local = append(local, rowRange{max(ranges[k].from, p.first) - p.first, min(ranges[k].to, end) - p.first})
			if ranges[k].to > end {
				break
			}
			k++
		}
		if len(local) == 0 {
			continue
		}
		if err := f(p, local); err != nil {
			return fail.Wrap(fail.CodeOf(err), err, "page %d", p.index)
		}
	}
	return nil
}

func (c *column) readArrayLeaf(r *arrayReader, local []rowRange, to *sink) error {
	sh := &c.leaf.shape
	if r.page.enc.Kind == pb.ArrayPackedStruct && sh.members == nil {
		return c.readArrayBlobs(r, local, to)
	}
	v, err := r.values(r.page.enc, local, sh)
	if err != nil {
		return err
	}
	if len(v.fixed) != v.n*sh.width && !sh.variable() || sh.variable() && len(v.ends) != v.n {
		return corrupt("%d values where %d are due", len(v.fixed)/max(sh.width, 1), v.n)
	}
	valid := &to.nodes[len(to.nodes)-1].valid
	addValidity(valid, v.valid, v.n)
	if !sh.variable() {
		if v.items != nil {
			to.evenItems()
			addValidity(&to.items, v.items, len(v.items))
		}
		copy(to.values.extend(len(v.fixed)), v.fixed)
		return nil
	}
	to.values.hint(len(v.data))
	from := 0
	for _, end := range v.ends {
		to.addValue(v.data[from:end])
		from = end
	}
	return nil
}

func addValidity(to *bitmap, valid []byte, n int) {
	if valid == nil {
		to.addValid(n)
		return
	}
	for i := 0; i < len(valid); {
		if valid[i] == 0 {
			to.addNull()
			i++
			continue
		}
		j := i + 1
		for j < len(valid) && valid[j] != 0 {
			j++
		}
		to.addValid(j - i)
		i = j
	}
}

// readArrayBlobs reads values that lie in the file one by one. A place of position
// 1 and size 0 is null.
func (c *column) readArrayBlobs(r *arrayReader, local []rowRange, to *sink) error {
	v, err := r.values(r.page.enc, local, &blobPlace)
	if err != nil {
		return err
	}
	spans := blobSpans{limit: uint64(c.limit)}
	valid := &to.nodes[len(to.nodes)-1].valid
	for i := range v.n {
		pos, size := binary.LittleEndian.Uint64(v.fixed[16*i:]), binary.LittleEndian.Uint64(v.fixed[16*i+8:])
		if pos == 1 && size == 0 {
			valid.addNull()
		} else {
			valid.addValid(1)
		}
		if err := spans.add(pos, size); err != nil {
			return err
		}
	}
	bufs, err := readSpans(r.ctx, r.src, spans.all)
	if err != nil {
		return err
	}
	for _, b := range bufs {
		to.addValue(b)
	}
	return nil
}
