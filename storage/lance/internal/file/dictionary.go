package file

import (
	"context"
	"encoding/binary"

	"github.com/loamdb/loam/storage/lance/internal/pb"
)

// loadDictionary reads the values that the page's indices point at. They are kept.
func (p *storedPage) loadDictionary(ctx context.Context, src Source) error {
	p.mu.Lock()
	held := p.dictionary
	p.mu.Unlock()
	l := p.layout.MiniBlock
	if held != nil || l.Dictionary == nil {
		return nil
	}
	at := p.buffers[2]
	buf := make([]byte, at.size)
	if err := readInto(ctx, src, buf, at.off); err != nil {
		return err
	}
	e := l.Dictionary
	if e.Kind == pb.General && e.Inner != nil {
		var err error
		if buf, err = decompress(e.Scheme, buf); err != nil {
			return err
		}
		e = e.Inner
	}
	v, err := p.parseDictionary(e, buf, l.DictionaryItems)
	if err != nil {
		return err
	}
	p.mu.Lock()
	p.dictionary = &v
	p.mu.Unlock()
	return nil
}

// parseDictionary reads the items: fixed-width ones one behind the other,
// variable-width ones as offset bits, start of the bytes (both in words of the
// offsets' width), offsets, bytes.
func (p *storedPage) parseDictionary(e *pb.Encoding, buf []byte, items uint64) (values, error) {
	if items > uint64(len(buf)) {
		return values{}, corrupt("dictionary of %d items in %d bytes", items, len(buf))
	}
	n, sh := int(items), &p.col.leaf.shape
	if sh.dim > 0 || sh.members != nil {
		return values{}, unsupported("dictionaries of %s are not readable", sh.typ)
	}
	if !sh.variable() {
		raw, err := decodeFixed(e, [][]byte{buf}, n, sh.storedBits())
		return values{n: n, width: sh.width, fixed: raw}, err
	}
	if e.Kind != pb.Variable || len(buf) < 8 {
		return values{}, unsupported("dictionaries encoded as %s are not readable", e.Kind)
	}
	bits := binary.LittleEndian.Uint32(buf)
	w := int(bits / 8)
	if (bits != 32 && bits != 64) || len(buf) < 2*w {
		return values{}, corrupt("dictionary: offsets of %d bits", bits)
	}
	start := readWord(buf[w:], w)
	if start < uint64(2*w) || start > uint64(len(buf)) {
		return values{}, corrupt("dictionary: bytes start at %d of %d", start, len(buf))
	}
	return parseVariable(buf[2*w:], n, w, int(start)-2*w)
}

// maxChunkExpansion bounds what the indices of one chunk may expand to; writers
// use dictionaries for short values.
const maxChunkExpansion = 64 << 20

// decodeIndices decodes a chunk of dictionary indices into the values they name.
func (p *storedPage) decodeIndices(bufs [][]byte, n int) (values, error) {
	e, err := unwrapGeneral(p.layout.MiniBlock.Value, bufs)
	if err != nil {
		return values{}, err
	}
	bits := e.Bits
	if (e.Kind == pb.Rle || e.Kind == pb.ByteStreamSplit) && e.Inner != nil {
		bits = e.Inner.Bits
	}
	width := int(bits / 8)
	if !word(width) {
		return values{}, unsupported("dictionary indices of %d bits, encoded as %s, are not readable", bits, e.Kind)
	}
	raw, err := decodeFixed(e, bufs, n, uint64(width)*8)
	if err != nil {
		return values{}, err
	}
	p.mu.Lock()
	d := p.dictionary
	p.mu.Unlock()
	out := values{n: n, width: d.width}
	if d.width == 0 {
		out.offs = make([]uint32, 1, n+1)
	}
	for i := range n {
		k := readWord(raw[i*width:], width)
		if k >= uint64(d.n) {
			return out, corrupt("dictionary index %d of %d", k, d.n)
		}
		if len(out.data) > maxChunkExpansion {
			return out, unsupported("a chunk of dictionary values expands to more than %d bytes", maxChunkExpansion)
		}
		if d.width > 0 {
			out.fixed = append(out.fixed, d.fixed[int(k)*d.width:(int(k)+1)*d.width]...)
			continue
		}
		out.data = append(out.data, d.data[d.offs[k]:d.offs[k+1]]...)
		out.offs = append(out.offs, uint32(len(out.data)))
	}
	return out, nil
}
