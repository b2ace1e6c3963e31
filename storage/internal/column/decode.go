package column

import (
	"encoding/binary"
	"math"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/klauspost/compress/zstd"

	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// maxDecoded bounds what one chunk of strings may decompress to.
const maxDecoded = 1 << 31

var decoder, _ = zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderMaxMemory(maxDecoded))

// cursor reads a chunk; short reads set bad and return zeros.
type cursor struct {
	b   []byte
	bad bool
}

func (c *cursor) take(n int) []byte {
	if n < 0 || n > len(c.b) {
		c.bad = true
		return nil
	}
	out := c.b[:n]
	c.b = c.b[n:]
	return out
}

func (c *cursor) u32() uint32 {
	if b := c.take(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

func (c *cursor) u64() uint64 {
	if b := c.take(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

// maxListRows bounds the elements of one chunk of lists.
const maxListRows = 1 << 28

func decodeChunk(b []byte, t types.Type) (*vec.Vector, *cursor, error) {
	c := &cursor{b: b}
	head := c.take(4)
	n := int(c.u32())
	if c.bad || n > maxListRows {
		return nil, c, corrupt("chunk header")
	}
	v := &vec.Vector{Type: t, N: n}
	if head[1]&flagValidity != 0 {
		words := c.take((n + 63) / 64 * 8)
		if c.bad {
			return nil, c, corrupt("validity")
		}
		v.Valid = make(vec.Bitmap, len(words)/8)
		for i := range v.Valid {
			v.Valid[i] = binary.LittleEndian.Uint64(words[8*i:])
		}
	}
	if err := decodeValues(c, v, head[0]); err != nil {
		return nil, c, err
	}
	if c.bad {
		return nil, c, corrupt("values of %s are cut short", t)
	}
	return v, c, nil
}

func decodeValues(c *cursor, v *vec.Vector, enc byte) error {
	n := v.N
	switch v.Type.Kind {
	case types.Boolean:
		b := c.take((n + 7) / 8)
		if c.bad {
			return nil
		}
		v.Bools = make([]bool, n)
		for i := range v.Bools {
			v.Bools[i] = b[i/8]>>(i&7)&1 == 1
		}
	case types.Int32, types.Date:
		wide, err := decodePacked(c, n)
		if err != nil {
			return err
		}
		v.Int32s = make([]int32, n)
		for i, x := range wide {
			v.Int32s[i] = int32(x)
		}
	case types.Int64, types.Timestamp:
		wide, err := decodePacked(c, n)
		v.Int64s = wide
		return err
	case types.Double:
		if b := c.take(8 * n); b != nil {
			v.Float64s = append(make([]float64, 0, n), castSlice[float64](b, n)...)
		}
	case types.Decimal:
		if b := c.take(16 * n); b != nil {
			v.Decimals = make([]decimal128.Num, n)
			for i := range v.Decimals {
				v.Decimals[i] = decimal128.New(int64(binary.LittleEndian.Uint64(b[16*i+8:])), binary.LittleEndian.Uint64(b[16*i:]))
			}
		}
	case types.Interval:
		if b := c.take(16 * n); b != nil {
			v.Spans = make([]vec.Span, n)
			for i := range v.Spans {
				r := b[16*i:]
				v.Spans[i] = vec.Span{Months: int32(binary.LittleEndian.Uint32(r)), Days: int32(binary.LittleEndian.Uint32(r[4:])), Nanos: int64(binary.LittleEndian.Uint64(r[8:]))}
			}
		}
	case types.Vector:
		if b := c.take(4 * n * int(v.Type.Dim)); b != nil {
			v.Float32s = append(make([]float32, 0, len(b)/4), castSlice[float32](b, len(b)/4)...)
		}
	case types.Sparse:
		decodeSparse(c, v)
	case types.List:
		return decodeList(c, v)
	default:
		return decodeStrings(c, v, enc)
	}
	return nil
}

// castSlice views little-endian bytes as numbers; used only to copy from.
func castSlice[T any](b []byte, n int) []T {
	if n == 0 {
		return nil
	}
	if uintptr(unsafe.Pointer(&b[0]))%unsafe.Alignof(*new(T)) != 0 {
		b = append(make([]byte, 0, len(b)), b...)
	}
	return unsafe.Slice((*T)(unsafe.Pointer(&b[0])), n)
}

func decodePacked(c *cursor, n int) ([]int64, error) {
	lo := c.u64()
	head := c.take(8)
	if c.bad {
		return nil, corrupt("packed header")
	}
	width := int(head[0])
	if width > 64 {
		return nil, corrupt("packed width %d", width)
	}
	deltas, err := unpackBits(c, n, width)
	if err != nil {
		return nil, err
	}
	out := make([]int64, n)
	for i := range out {
		out[i] = int64(lo)
		if deltas != nil {
			out[i] = int64(lo + deltas[i])
		}
	}
	return out, nil
}

// unpackBits reads n values of width bits; nil for width 0.
func unpackBits(c *cursor, n, width int) ([]uint64, error) {
	if width == 0 {
		return nil, nil
	}
	b := c.take((n*width + 63) / 64 * 8)
	if c.bad {
		return nil, corrupt("packed values are cut short")
	}
	words := castSlice[uint64](b, len(b)/8)
	mask := ^uint64(0) >> (64 - width)
	out := make([]uint64, n)
	for i := range out {
		bit := i * width
		w, off := bit>>6, bit&63
		x := words[w] >> off
		if off+width > 64 {
			x |= words[w+1] << (64 - off)
		}
		out[i] = x & mask
	}
	return out, nil
}

func decodeStrings(c *cursor, v *vec.Vector, enc byte) error {
	switch enc {
	case encFlat, encZstd:
		s, err := decodeFlatStrings(c, v.N, enc == encZstd)
		v.Strings = s
		return err
	case encDict:
	default:
		return corrupt("unknown encoding %d", enc)
	}
	size, width := int(c.u32()), int(c.u32())
	if c.bad || width > 32 || size > v.N {
		return corrupt("dictionary header")
	}
	codes, err := unpackBits(c, v.N, width)
	if err != nil {
		return err
	}
	v.Codes = make([]int32, v.N)
	for i := range codes {
		if codes[i] >= uint64(size) {
			return corrupt("dictionary code %d of %d", codes[i], size)
		}
		v.Codes[i] = int32(codes[i])
	}
	if v.N > 0 && size == 0 {
		return corrupt("empty dictionary")
	}
	dict := &vec.Vector{Type: v.Type, N: size}
	if dict.Strings, err = decodeFlatStrings(c, size, false); err != nil {
		return err
	}
	v.Encoding, v.Dict = vec.Dictionary, dict
	return nil
}

func decodeFlatStrings(c *cursor, n int, packed bool) (vec.Strings, error) {
	b := c.take(4 * (n + 1))
	if c.bad {
		return vec.Strings{}, corrupt("offsets are cut short")
	}
	offsets := append(make([]int32, 0, n+1), castSlice[int32](b, n+1)...)
	last := int32(0)
	for _, o := range offsets {
		if o < last {
			return vec.Strings{}, corrupt("offsets are not ascending")
		}
		last = o
	}
	if !packed {
		values := c.take(int(last))
		if c.bad {
			return vec.Strings{}, corrupt("string bytes are cut short")
		}
		return vec.Wrap(offsets, values), nil
	}
	values, err := decoder.DecodeAll(c.b, make([]byte, 0, last))
	if err != nil || len(values) != int(last) {
		return vec.Strings{}, corrupt("compressed strings: %v", err)
	}
	c.b = nil
	return vec.Wrap(offsets, values), nil
}

func decodeSparse(c *cursor, v *vec.Vector) {
	v.SparseRows = make([]vec.SparseRow, v.N)
	for i := range v.SparseRows {
		n := int(c.u32())
		b := c.take(8 * n)
		if c.bad {
			return
		}
		r := vec.SparseRow{Indices: make([]uint32, n), Values: make([]float32, n)}
		for j := range n {
			r.Indices[j] = binary.LittleEndian.Uint32(b[4*j:])
			r.Values[j] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*(n+j):]))
		}
		v.SparseRows[i] = r
	}
}

func decodeList(c *cursor, v *vec.Vector) error {
	b := c.take(4 * (v.N + 1))
	if c.bad {
		return corrupt("list offsets are cut short")
	}
	v.Offsets = append(make([]int32, 0, v.N+1), castSlice[int32](b, v.N+1)...)
	child, rest, err := decodeChunk(c.b, *v.Type.Elem)
	if err != nil {
		return err
	}
	c.b = rest.b
	last := int32(0)
	for _, o := range v.Offsets {
		if o < last || int(o) > child.N {
			return corrupt("list offset %d of %d elements", o, child.N)
		}
		last = o
	}
	v.Child = child.Flatten()
	return nil
}
