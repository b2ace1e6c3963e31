package file

import (
	"context"
	"encoding/binary"

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
	for i := from; i < to; i++ {
		s.addValue(v.data[v.offs[i]:v.offs[i+1]])
	}
	return nil
}

func corruptChunk(err error, i int, off int64) error {
	return fail.Wrap(fail.CodeOf(err), err, "chunk %d (byte %d of the page)", i, off)
}

// decodeLevels decodes n u16 levels.
func decodeLevels(e *pb.Encoding, buf []byte, n int) ([]uint16, error) {
	if n > maxLevelsPerBuffer {
		return nil, corrupt("%d levels in one buffer", n)
	}
	raw, err := decodeFixed(e, [][]byte{buf}, n, 2)
	if err != nil {
		return nil, err
	}
	out := make([]uint16, n)
	for i := range out {
		out[i] = binary.LittleEndian.Uint16(raw[2*i:])
	}
	return out, nil
}

// decodeValues decodes the value buffers of a chunk.
func decodeValues(e *pb.Encoding, bufs [][]byte, n int, sh *shape, dict *values) (values, error) {
	if dict != nil {
		return values{}, unsupported("dictionary-encoded pages are not readable")
	}
	if sh.variable() {
		return decodeVariable(e, bufs, n)
	}
	width := sh.width
	if sh.dim > 0 {
		if e.Kind != pb.FixedSizeList || e.Inner == nil || e.Items != uint64(sh.dim) {
			return values{}, unsupported("vectors encoded as %s are not readable", e.Kind)
		}
		if e.HasValidity {
			return values{}, unsupported("vectors with item validity in mini-blocks are not readable")
		}
		raw, err := decodeFixed(e.Inner, bufs, n*sh.dim, sh.itemWidth)
		return values{n: n, width: width, fixed: raw}, err
	}
	raw, err := decodeFixed(e, bufs, n, width)
	return values{n: n, width: width, fixed: raw}, err
}

// decodeFixed decodes n values of the byte width; the result may alias bufs.
func decodeFixed(e *pb.Encoding, bufs [][]byte, n, width int) ([]byte, error) {
	if e.Scheme != 0 && e.Kind != pb.General {
		return nil, unsupported("%s with buffer compression is not readable", e.Kind)
	}
	if e.Kind != pb.Flat {
		return nil, unsupported("values encoded as %s are not readable", e.Kind)
	}
	if e.Bits != uint64(width)*8 {
		return nil, corrupt("values of %d bits where %d are due", e.Bits, width*8)
	}
	if len(bufs[0]) < n*width {
		return nil, corrupt("%d values of %d bytes in a buffer of %d", n, width, len(bufs[0]))
	}
	return bufs[0][:n*width], nil
}

// decodeVariable decodes n variable-width values: n+1 offsets from the start of
// the buffer, then the bytes.
func decodeVariable(e *pb.Encoding, bufs [][]byte, n int) (values, error) {
	if e.Kind != pb.Variable || e.Inner == nil || e.Inner.Kind != pb.Flat || e.Scheme != 0 || e.Inner.Scheme != 0 {
		return values{}, unsupported("strings encoded as %s are not readable", e.Kind)
	}
	w := int(e.Inner.Bits / 8)
	buf := bufs[0]
	if w != 4 && w != 8 {
		return values{}, corrupt("offsets of %d bits", e.Inner.Bits)
	}
	if len(buf) < (n+1)*w {
		return values{}, corrupt("%d offsets in a buffer of %d bytes", n+1, len(buf))
	}
	v := values{n: n, offs: make([]uint32, n+1), data: buf}
	for i := range v.offs {
		var o uint64
		if w == 4 {
			o = uint64(binary.LittleEndian.Uint32(buf[4*i:]))
		} else {
			o = binary.LittleEndian.Uint64(buf[8*i:])
		}
		if o > uint64(len(buf)) || (i > 0 && o < uint64(v.offs[i-1])) {
			return values{}, corrupt("offset %d of value %d is out of order or of the chunk", o, i)
		}
		v.offs[i] = uint32(o)
	}
	return v, nil
}

// valueCodecOf accepts the encodings of a zipped variable-width value.
func valueCodecOf(e *pb.Encoding) error {
	if e.Kind != pb.Variable || e.Scheme != 0 {
		return unsupported("full-zip values encoded as %s are not readable", e.Kind)
	}
	return nil
}

// addCoded decodes one zipped value and appends it.
func addCoded(_ *pb.Encoding, v []byte, to *sink) error {
	to.addValue(v)
	return nil
}

func (p *storedPage) loadDictionary(_ context.Context, _ Source) error {
	return unsupported("dictionary-encoded pages are not readable")
}
