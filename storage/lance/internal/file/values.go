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
	// items is the validity of the items of vectors of dim, n*dim bits; nil when
	// none is null.
	items []byte
	dim   int
}

// addTo appends values [from, to) to the sink.
func (v *values) addTo(s *sink, from, to int) error {
	if v.items != nil {
		s.addItemBits(v.items, from*v.dim, to*v.dim)
	}
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
	raw, err := decodeFixed(e, bufs, n, 16)
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
	e, err := unwrapGeneral(e, bufs)
	switch {
	case err != nil:
		return values{}, err
	case sh.members != nil:
		return p.decodePackedRows(e, bufs, n)
	case sh.variable():
		return p.decodeVariable(e, bufs[0], n)
	case sh.dim > 0:
		return decodeVectors(e, bufs, n, sh)
	}
	raw, err := decodeFixed(e, bufs, n, sh.storedBits())
	return values{n: n, width: sh.width, fixed: raw}, err
}

// unwrapGeneral decompresses the first buffer in place, as often as it was
// compressed, and returns the encoding beneath.
func unwrapGeneral(e *pb.Encoding, bufs [][]byte) (*pb.Encoding, error) {
	for e.Kind == pb.General {
		if e.Inner == nil {
			return nil, corrupt("compressed values without their encoding")
		}
		plain, err := decompress(e.Scheme, bufs[0])
		if err != nil {
			return nil, err
		}
		bufs[0], e = plain, e.Inner
	}
	return e, nil
}

// decodeVectors decodes vectors; with item validity the bits of all items come
// first.
func decodeVectors(e *pb.Encoding, bufs [][]byte, n int, sh *shape) (values, error) {
	if e.Kind != pb.FixedSizeList || e.Inner == nil || e.Items != uint64(sh.dim) {
		return values{}, unsupported("vectors encoded as %s are not readable", e.Kind)
	}
	out := values{n: n, width: sh.width}
	if e.HasValidity {
		if len(bufs) < 2 {
			return out, corrupt("vectors without their validity buffer")
		}
		if len(bufs[0]) < (n*sh.dim+7)/8 {
			return out, corrupt("validity of %d items in %d bytes", n*sh.dim, len(bufs[0]))
		}
		out.items, out.dim, bufs = bufs[0], sh.dim, bufs[1:]
	}
	var err error
	out.fixed, err = decodeFixed(e.Inner, bufs, n*sh.dim, sh.storedBits())
	return out, err
}

// decodeFixed decodes n values of the bits; the result may alias bufs. Booleans,
// of one bit, become a byte each.
func decodeFixed(e *pb.Encoding, bufs [][]byte, n int, bits uint64) ([]byte, error) {
	width := int(bits / 8)
	switch {
	case e.Scheme != 0:
		return nil, unsupported("%s with buffer compression is not readable", e.Kind)
	case e.Kind == pb.Rle && len(bufs) > 1:
		return decodeRle(e, bufs, n, width)
	case e.Kind == pb.ByteStreamSplit && e.Inner != nil && e.Inner.Kind == pb.Flat && e.Inner.Bits == bits:
		return decodeStreams(bufs[0], n, width)
	case e.Kind != pb.Flat && e.Kind != pb.InlinePacking && e.Kind != pb.OutOfLinePacking:
		return nil, unsupported("values encoded as %s are not readable", e.Kind)
	case e.Bits != bits:
		return nil, corrupt("values of %d bits where %d are due", e.Bits, bits)
	case e.Kind == pb.Flat && bits == 1:
		return decodeBits(bufs[0], n)
	case e.Kind != pb.Flat && !word(width):
		return nil, unsupported("bit-packed values of %d bits are not readable", bits)
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

// decodeBits spreads n bits over a byte each.
func decodeBits(buf []byte, n int) ([]byte, error) {
	if len(buf) < (n+7)/8 {
		return nil, corrupt("%d booleans in a buffer of %d bytes", n, len(buf))
	}
	out := make([]byte, n)
	for i := range out {
		out[i] = buf[i/8] >> (i % 8) & 1
	}
	return out, nil
}

// decodeStreams puts values together whose first bytes, second bytes and so on lie
// side by side.
func decodeStreams(buf []byte, n, width int) ([]byte, error) {
	if len(buf) < n*width {
		return nil, corrupt("%d values of %d bytes in streams of %d", n, width, len(buf))
	}
	out := make([]byte, n*width)
	for j := range width {
		for i, b := range buf[j*n : (j+1)*n] {
			out[i*width+j] = b
		}
	}
	return out, nil
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
func (p *storedPage) zippedVariable(e *pb.Encoding) error {
	if p.col.leaf.shape.members != nil {
		return p.zippedRows(e)
	}
	return storedAlone(e)
}

// storedAlone accepts the encodings of variable-width values that are stored one by
// one, each with its length.
func storedAlone(e *pb.Encoding) error {
	if e.Kind == pb.General && e.Inner != nil && (e.Scheme == pb.Zstd || e.Scheme == pb.LZ4) {
		e = e.Inner
	}
	if e.Kind == pb.Fsst && e.Inner != nil {
		e = e.Inner
	}
	if e.Kind != pb.Variable || e.Scheme != 0 {
		return unsupported("values stored one by one, encoded as %s, are not readable", e.Kind)
	}
	return nil
}

// decodeAlone decodes one such value. It may alias v.
func decodeAlone(e *pb.Encoding, symbols *symbolTable, v []byte) ([]byte, error) {
	if e.Kind == pb.General {
		plain, err := decompress(e.Scheme, v)
		if err != nil {
			return nil, err
		}
		e, v = e.Inner, plain
	}
	if e.Kind != pb.Fsst {
		return v, nil
	}
	t, err := symbols.get(e.Bytes)
	if err != nil {
		return nil, err
	}
	return t.decode(v, nil)
}

// addZipped decodes one zipped value and appends it.
func (p *storedPage) addZipped(v []byte, to *sink) error {
	var err error
	if p.col.leaf.shape.members != nil {
		v, err = p.decodeRow(v)
	} else {
		v, err = decodeAlone(p.layout.FullZip.Value, &p.symbols, v)
	}
	if err != nil {
		return err
	}
	to.addValue(v)
	return nil
}
