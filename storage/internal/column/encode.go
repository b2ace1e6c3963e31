package column

import (
	"encoding/binary"
	"math"

	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// Chunk encodings: the first byte of a chunk.
const (
	encFlat   = 0 // values as they are, little endian
	encPacked = 1 // integers: minimum, bit width, packed differences
	encDict   = 2 // strings: distinct values, packed codes
	encZstd   = 3 // strings: offsets as in a flat chunk, the bytes in zstd frames
)

// flagValidity is set in the second byte when a validity bitmap follows.
const flagValidity = 1

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
		return encPacked, appendPacked(dst, v.Int32s, v)
	case types.Int64, types.Timestamp, types.Time:
		return encPacked, appendPacked(dst, v.Int64s, v)
	case types.Double:
		for _, f := range v.Float64s {
			dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(f))
		}
	case types.Decimal, types.UUID:
		for _, d := range v.Decimals {
			dst = appendDecimal(dst, d)
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
	case types.List, types.Map:
		return encFlat, appendList(dst, v)
	case types.Struct:
		for _, f := range v.Fields {
			dst = appendChunk(dst, f)
		}
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
