package column

import (
	"encoding/binary"
	"math"
	"math/bits"

	"github.com/klauspost/compress/zstd"

	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// Chunk encodings: the first byte of a chunk.
const (
	encFlat   = 0 // values as they are, little endian
	encPacked = 1 // integers: minimum, bit width, packed differences
	encDict   = 2 // strings: distinct values, packed codes
	encZstd   = 3 // strings: a flat chunk's value bytes under zstd
)

// flagValidity is set in the second byte when a validity bitmap follows.
const flagValidity = 1

var encoder, _ = zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1))

// appendChunk writes: encoding u8, flags u8, 2 zero bytes, rows u32, validity
// words if flagged, then the values.
func appendChunk(dst []byte, v *vec.Vector) []byte {
	start := len(dst)
	dst = append(dst, encFlat, 0, 0, 0)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(v.N))
	if v.Valid.Count(v.N) != v.N {
		dst[start+1] |= flagValidity
		for i := range (v.N + 63) / 64 {
			dst = binary.LittleEndian.AppendUint64(dst, v.Valid[i])
		}
	}
	enc, dst := appendValues(dst, v)
	dst[start] = enc
	return dst
}

func appendValues(dst []byte, v *vec.Vector) (byte, []byte) {
	switch v.Type.Kind {
	case types.Boolean:
		return encPacked, appendBools(dst, v.Bools)
	case types.Int32, types.Date:
		wide := make([]int64, v.N)
		for i, x := range v.Int32s {
			wide[i] = int64(x)
		}
		return encPacked, appendPacked(dst, wide, v)
	case types.Int64, types.Timestamp:
		return encPacked, appendPacked(dst, v.Int64s, v)
	case types.Double:
		for _, f := range v.Float64s {
			dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(f))
		}
	case types.Decimal:
		for _, d := range v.Decimals {
			dst = binary.LittleEndian.AppendUint64(dst, d.LowBits())
			dst = binary.LittleEndian.AppendUint64(dst, uint64(d.HighBits()))
		}
	case types.Interval:
		for _, s := range v.Spans {
			dst = binary.LittleEndian.AppendUint32(dst, uint32(s.Months))
			dst = binary.LittleEndian.AppendUint32(dst, uint32(s.Days))
			dst = binary.LittleEndian.AppendUint64(dst, uint64(s.Nanos))
		}
	case types.Vector:
		for _, f := range v.Float32s {
			dst = binary.LittleEndian.AppendUint32(dst, math.Float32bits(f))
		}
	case types.Sparse:
		return encFlat, appendSparse(dst, v.SparseRows)
	case types.List:
		return encFlat, appendList(dst, v)
	default:
		return appendStrings(dst, v)
	}
	return encFlat, dst
}

func appendBools(dst []byte, bs []bool) []byte {
	for i := 0; i < len(bs); i += 8 {
		var b byte
		for j := i; j < min(i+8, len(bs)); j++ {
			if bs[j] {
				b |= 1 << (j - i)
			}
		}
		dst = append(dst, b)
	}
	return dst
}

// appendPacked writes minimum i64, width u8, 7 zero bytes, then the differences
// to the minimum, width bits each, least significant bit first in 64-bit words.
// NULL rows count as the minimum.
func appendPacked(dst []byte, vals []int64, v *vec.Vector) []byte {
	lo, hi, any := int64(0), int64(0), false
	for i, x := range vals {
		if v.IsNull(i) {
			continue
		}
		if !any || x < lo {
			lo = x
		}
		if !any || x > hi {
			hi = x
		}
		any = true
	}
	width := bits.Len64(uint64(hi) - uint64(lo))
	dst = binary.LittleEndian.AppendUint64(dst, uint64(lo))
	dst = append(dst, byte(width), 0, 0, 0, 0, 0, 0, 0)
	deltas := make([]uint64, len(vals))
	for i, x := range vals {
		if !v.IsNull(i) {
			deltas[i] = uint64(x) - uint64(lo)
		}
	}
	return packBits(dst, deltas, width)
}

func packBits(dst []byte, vals []uint64, width int) []byte {
	if width == 0 {
		return dst
	}
	var word uint64
	used := 0
	for _, x := range vals {
		word |= x << used
		if used+width >= 64 {
			dst = binary.LittleEndian.AppendUint64(dst, word)
			used = used + width - 64
			word = 0
			if used > 0 {
				word = x >> (width - used)
			}
			continue
		}
		used += width
	}
	if used > 0 {
		dst = binary.LittleEndian.AppendUint64(dst, word)
	}
	return dst
}

// appendStrings picks a dictionary when at most half of the values are
// distinct, zstd when long values shrink by a quarter, else flat: (n+1) u32
// offsets, then the bytes.
func appendStrings(dst []byte, v *vec.Vector) (byte, []byte) {
	codes := make([]uint64, v.N)
	index := make(map[string]uint64, v.N)
	var distinct []string
	for i := range v.N {
		s := ""
		if !v.IsNull(i) {
			s = v.Strings.At(i)
		}
		c, ok := index[s]
		if !ok {
			c = uint64(len(distinct))
			index[s] = c
			distinct = append(distinct, s)
		}
		codes[i] = c
	}
	if v.N >= 16 && len(distinct) <= v.N/2 {
		width := bits.Len(uint(len(distinct) - 1))
		dst = binary.LittleEndian.AppendUint32(dst, uint32(len(distinct)))
		dst = binary.LittleEndian.AppendUint32(dst, uint32(width))
		dst = packBits(dst, codes, width)
		return encDict, appendFlatStrings(dst, len(distinct), func(i int) string { return distinct[i] })
	}
	at := func(i int) string { return distinct[codes[i]] }
	plain := appendFlatStrings(nil, v.N, at)
	offsets := 4 * (v.N + 1)
	if bytes := plain[offsets:]; len(bytes) >= 32*v.N && len(bytes) > 0 {
		packed := encoder.EncodeAll(bytes, nil)
		if len(packed) < len(bytes)*3/4 {
			dst = append(dst, plain[:offsets]...)
			return encZstd, append(dst, packed...)
		}
	}
	return encFlat, append(dst, plain...)
}

func appendFlatStrings(dst []byte, n int, at func(int) string) []byte {
	off := uint32(0)
	dst = binary.LittleEndian.AppendUint32(dst, 0)
	for i := range n {
		off += uint32(len(at(i)))
		dst = binary.LittleEndian.AppendUint32(dst, off)
	}
	for i := range n {
		dst = append(dst, at(i)...)
	}
	return dst
}

// appendSparse writes per row: count u32, indices, values.
func appendSparse(dst []byte, rows []vec.SparseRow) []byte {
	for _, r := range rows {
		dst = binary.LittleEndian.AppendUint32(dst, uint32(len(r.Indices)))
		for _, ix := range r.Indices {
			dst = binary.LittleEndian.AppendUint32(dst, ix)
		}
		for _, f := range r.Values {
			dst = binary.LittleEndian.AppendUint32(dst, math.Float32bits(f))
		}
	}
	return dst
}

// appendList writes (n+1) u32 offsets from 0, then the elements as a chunk of their own.
func appendList(dst []byte, v *vec.Vector) []byte {
	base := v.Offsets[0]
	for _, o := range v.Offsets {
		dst = binary.LittleEndian.AppendUint32(dst, uint32(o-base))
	}
	return appendChunk(dst, v.Child.Slice(int(base), int(v.Offsets[v.N])))
}

// encodeZone writes a zone bound: 8 bytes for numbers, the bytes of a text.
func encodeZone(val vec.Value) []byte {
	switch val.Type.Kind {
	case types.Text:
		return []byte(val.Str)
	case types.Double:
		return binary.LittleEndian.AppendUint64(nil, math.Float64bits(val.Float))
	}
	return binary.LittleEndian.AppendUint64(nil, uint64(val.Int))
}
