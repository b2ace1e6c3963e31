package file

import (
	"encoding/binary"
	"unsafe"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/storage/lance/internal/pb"
)

// values is decoded values of a chunk or dictionary: fixed-width bytes, or
// offsets into data.
type values struct {
	n     int
	width int
	fixed []byte
	offs  []uint32 // n+1, into data
	data  []byte
}

// addTo appends values [from, to) to the sink.
func (v *values) addTo(s *sink, from, to int) error {
	if v.width > 0 {
		copy(s.values.extend((to-from)*v.width), v.fixed[from*v.width:to*v.width])
		return nil
	}
	s.addValues(v.data[v.offs[from]:v.offs[to]], v.offs[from:to+1])
	return nil
}

func corruptChunk(err error, i int, off int64) error {
	return fail.Wrap(fail.CodeOf(err), err, "chunk %d (byte %d of the page)", i, off)
}

// decodeLevels decodes n u16 levels, which are one block in one buffer.
func decodeLevels(e *pb.Encoding, buf []byte, n int) ([]uint16, error) {
	if n > maxLevelsPerBuffer {
		return nil, corrupt("%d levels in one buffer", n)
	}
	bufs := [][]byte{buf}
	if e.Kind == pb.Rle {
		// As a block, the runs are one buffer: u64 size of the values, values, lengths.
		if len(buf) < 8 || binary.LittleEndian.Uint64(buf) > uint64(len(buf)-8) {
			return nil, corrupt("run-length block of %d bytes", len(buf))
		}
		at := 8 + binary.LittleEndian.Uint64(buf)
		bufs = [][]byte{buf[8:at], buf[at:]}
	}
	raw, err := decodeFixed(e, bufs, n, 2)
	if err != nil {
		return nil, err
	}
	return levelsOf(raw), nil
}

// levelsOf views little-endian bytes as levels, in place where they are aligned.
func levelsOf(raw []byte) []uint16 {
	n := len(raw) / 2
	if n == 0 {
		return []uint16{}
	}
	if uintptr(unsafe.Pointer(&raw[0]))%2 == 0 {
		return unsafe.Slice((*uint16)(unsafe.Pointer(&raw[0])), n)
	}
	out := make([]uint16, n)
	for i := range out {
		out[i] = binary.LittleEndian.Uint16(raw[2*i:])
	}
	return out
}

// decodeValues decodes the value buffers of a chunk.
func (p *storedPage) decodeValues(bufs [][]byte, n int) (values, error) {
	e, sh := p.layout.MiniBlock.Value, &p.col.leaf.shape
	if p.layout.MiniBlock.Dictionary != nil {
		return p.decodeIndices(bufs, n)
	}
	if sh.variable() {
		return p.decodeVariable(e, bufs[0], n)
	}
	if sh.dim > 0 {
		raw, err := decodeVectors(e, bufs, n, sh)
		return values{n: n, width: sh.width, fixed: raw}, err
	}
	raw, err := decodeFixed(e, bufs, n, sh.width)
	return values{n: n, width: sh.width, fixed: raw}, err
}

// decodeVectors decodes vectors; with item validity the bits come first, and only
// items of null vectors may be null.
func decodeVectors(e *pb.Encoding, bufs [][]byte, n int, sh *shape) ([]byte, error) {
	if e.Kind != pb.FixedSizeList || e.Inner == nil || e.Items != uint64(sh.dim) {
		return nil, unsupported("vectors encoded as %s are not readable", e.Kind)
	}
	if e.HasValidity {
		if len(bufs) < 2 {
			return nil, corrupt("vectors without their validity buffer")
		}
		bufs = bufs[1:]
	}
	return decodeFixed(e.Inner, bufs, n*sh.dim, sh.itemWidth)
}

// checkItems refuses null items of the chunk's vectors, except in null vectors.
// The bits of all items follow each other.
func (p *storedPage) checkItems(bits []byte, n int, def []uint16) error {
	dim := p.col.leaf.shape.dim
	if len(bits) < (n*dim+7)/8 {
		return corrupt("validity of %d items in %d bytes", n*dim, len(bits))
	}
	check := func(i int) error {
		for j := i * dim; j < (i+1)*dim; j++ {
			if bits[j/8]>>(j%8)&1 == 0 {
				return unsupported("vectors with null items are not readable (item %d)", j-i*dim)
			}
		}
		return nil
	}
	i := 0
	for k := 0; i < n; k++ {
		level := uint16(0)
		if def != nil {
			level = def[k]
		}
		if level > p.levels.visible {
			continue // no value slot
		}
		if level == 0 {
			if err := check(i); err != nil {
				return err
			}
		}
		i++
	}
	return nil
}

// decodeFixed decodes n values of the byte width; the result may alias bufs.
func decodeFixed(e *pb.Encoding, bufs [][]byte, n, width int) ([]byte, error) {
	switch {
	case e.Scheme != 0:
		return nil, unsupported("%s with buffer compression is not readable", e.Kind)
	case e.Kind == pb.Rle && len(bufs) > 1:
		return decodeRle(e, bufs, n, width)
	case e.Kind != pb.Flat && e.Kind != pb.InlinePacking && e.Kind != pb.OutOfLinePacking:
		return nil, unsupported("values encoded as %s are not readable", e.Kind)
	case e.Bits != uint64(width)*8:
		return nil, corrupt("values of %d bits where %d are due", e.Bits, width*8)
	case e.Kind == pb.InlinePacking:
		return decodeInlinePacked(bufs[0], n, width)
	case e.Kind == pb.OutOfLinePacking:
		if e.Inner == nil || e.Inner.Kind != pb.Flat {
			return nil, unsupported("out-of-line bitpacking over another encoding is not readable")
		}
		return decodePacked(bufs[0], n, width, e.Inner.Bits)
	}
	if len(bufs[0]) < n*width {
		return nil, corrupt("%d values of %d bytes in a buffer of %d", n, width, len(bufs[0]))
	}
	return bufs[0][:n*width], nil
}

func decodeRle(e *pb.Encoding, bufs [][]byte, n, width int) ([]byte, error) {
	if e.Inner == nil || e.Second == nil || e.Inner.Kind != pb.Flat || e.Second.Kind != pb.Flat {
		return nil, unsupported("run lengths over other encodings are not readable")
	}
	lengthWidth := int(e.Second.Bits / 8)
	if e.Inner.Bits != uint64(width)*8 || (lengthWidth != 1 && lengthWidth != 2 && lengthWidth != 4) {
		return nil, corrupt("runs of %d-bit values with %d-bit lengths", e.Inner.Bits, e.Second.Bits)
	}
	return decodeRuns(bufs[0], bufs[1], n, width, lengthWidth)
}

// decodeVariable decodes n variable-width values: n+1 offsets from the start of
// the buffer, then the bytes.
func (p *storedPage) decodeVariable(e *pb.Encoding, buf []byte, n int) (values, error) {
	inner := e
	if e.Kind == pb.Fsst && e.Inner != nil {
		inner = e.Inner
	}
	if err := plainVariable(inner); err != nil {
		return values{}, err
	}
	v, err := parseVariable(buf, n, int(inner.Inner.Bits/8), 0)
	if err != nil || e.Kind != pb.Fsst {
		return v, err
	}
	return p.expand(v, e)
}

// plainVariable accepts uncompressed values with plain offsets.
func plainVariable(e *pb.Encoding) error {
	if e.Kind != pb.Variable || e.Inner == nil || e.Inner.Kind != pb.Flat || e.Scheme != 0 || e.Inner.Scheme != 0 {
		return unsupported("strings encoded as %s are not readable", e.Kind)
	}
	if e.Inner.Bits != 32 && e.Inner.Bits != 64 {
		return corrupt("offsets of %d bits", e.Inner.Bits)
	}
	return nil
}

// parseVariable reads n+1 offsets of w bytes at the front of buf. They count from
// the byte at base.
func parseVariable(buf []byte, n, w, base int) (values, error) {
	if len(buf)/w < n+1 {
		return values{}, corrupt("%d offsets in a buffer of %d bytes", n+1, len(buf))
	}
	v := values{n: n, offs: make([]uint32, n+1), data: buf[base:]}
	for i := range v.offs {
		o := readWord(buf[i*w:], w)
		if o > uint64(len(v.data)) || (i > 0 && o < uint64(v.offs[i-1])) {
			return values{}, corrupt("offset %d of value %d is out of order or of the chunk", o, i)
		}
		v.offs[i] = uint32(o)
	}
	return v, nil
}

// expand undoes FSST.
func (p *storedPage) expand(v values, e *pb.Encoding) (values, error) {
	t, err := p.symbols.get(e.Bytes)
	if err != nil || t.plain {
		return v, err
	}
	out := values{n: v.n, offs: make([]uint32, 1, v.n+1)}
	for i := range v.n {
		if out.data, err = t.decode(v.data[v.offs[i]:v.offs[i+1]], out.data); err != nil {
			return out, err
		}
		out.offs = append(out.offs, uint32(len(out.data)))
	}
	return out, nil
}

// zippedVariable accepts the encodings of a zipped variable-width value.
func zippedVariable(e *pb.Encoding) error {
	if e.Kind == pb.General && e.Inner != nil && (e.Scheme == pb.Zstd || e.Scheme == pb.LZ4) {
		e = e.Inner
	}
	if e.Kind == pb.Fsst && e.Inner != nil {
		e = e.Inner
	}
	if e.Kind != pb.Variable || e.Scheme != 0 {
		return unsupported("full-zip values encoded as %s are not readable", e.Kind)
	}
	return nil
}

// addZipped decodes one zipped value and appends it.
func (p *storedPage) addZipped(v []byte, to *sink) error {
	e := p.layout.FullZip.Value
	if e.Kind == pb.General {
		plain, err := decompress(e.Scheme, v)
		if err != nil {
			return err
		}
		e, v = e.Inner, plain
	}
	if e.Kind == pb.Fsst {
		t, err := p.symbols.get(e.Bytes)
		if err != nil {
			return err
		}
		if v, err = t.decode(v, nil); err != nil {
			return err
		}
	}
	to.addValue(v)
	return nil
}
