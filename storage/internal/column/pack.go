package column

import (
	"encoding/binary"
	"math/bits"

	"github.com/loamdb/loam/internal/vec"
)

// appendPacked writes minimum i64, width u8, 7 zero bytes, then the differences
// to the minimum, width bits each, least significant bit first in 64-bit words.
// NULL rows count as the minimum.
func appendPacked[T int32 | int64](dst []byte, vals []T, v *vec.Vector) []byte {
	lo, hi, _ := span(vals, v.Valid)
	width := bits.Len64(uint64(int64(hi)) - uint64(int64(lo)))
	dst = binary.LittleEndian.AppendUint64(dst, uint64(int64(lo)))
	dst = append(dst, byte(width), 0, 0, 0, 0, 0, 0, 0)
	deltas := make([]uint64, len(vals))
	for i, x := range vals {
		if v.Valid.Get(i) {
			deltas[i] = uint64(int64(x)) - uint64(int64(lo))
		}
	}
	return packBits(dst, deltas, width)
}

// span is the least and the greatest valid value; ok is false when there is none.
func span[T int32 | int64](vals []T, valid vec.Bitmap) (lo, hi T, ok bool) {
	for i, x := range vals {
		switch {
		case !valid.Get(i):
		case !ok:
			lo, hi, ok = x, x, true
		default:
			lo, hi = min(lo, x), max(hi, x)
		}
	}
	return lo, hi, ok
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

// packed is a run of n values of width bits, each a difference to base.
type packed struct {
	b     []byte
	n     int
	width int
	base  uint64
}

// packedInts reads the head of packed integers and takes their words.
func packedInts(c *cursor, n int) (packed, error) {
	lo := c.u64()
	head := c.take(8)
	if c.bad {
		return packed{}, corrupt("packed header")
	}
	return packedBits(c, n, int(head[0]), lo)
}

func packedBits(c *cursor, n, width int, base uint64) (packed, error) {
	if width > 64 {
		return packed{}, corrupt("packed width %d", width)
	}
	b := c.take((n*width + 63) / 64 * 8)
	if c.bad {
		return packed{}, corrupt("packed values are cut short")
	}
	return packed{b: b, n: n, width: width, base: base}, nil
}

// maxLoad is the widest value that eight bytes hold wherever in its first byte it begins.
const maxLoad = 57

// at is value i.
func (p packed) at(i int) uint64 {
	if p.width == 0 {
		return p.base
	}
	bit := i * p.width
	w, off := bit>>6<<3, bit&63
	x := binary.LittleEndian.Uint64(p.b[w:]) >> off
	if off+p.width > 64 {
		x |= binary.LittleEndian.Uint64(p.b[w+8:]) << (64 - off)
	}
	return p.base + x&(^uint64(0)>>(64-p.width))
}

// unpack returns all values.
func unpack[T int32 | int64](p packed) []T {
	out := make([]T, p.n)
	i := 0
	if p.width > 0 && 64%p.width == 0 {
		i = unpackWords(out, p)
	} else if p.width > 0 && p.width <= maxLoad && len(p.b) >= 8 {
		mask := ^uint64(0) >> (64 - p.width)
		// Up to here eight bytes from the value's first byte on lie inside.
		whole := min(p.n, ((len(p.b)-8)*8+7)/p.width+1)
		bit := 0
		for ; i < whole; i++ {
			x := binary.LittleEndian.Uint64(p.b[bit>>3:]) >> (bit & 7) & mask
			out[i] = T(p.base + x)
			bit += p.width
		}
	}
	for ; i < p.n; i++ {
		out[i] = T(p.at(i))
	}
	return out
}

// unpackWords is unpack for widths of which a word holds a whole number, as far
// as words are full. It returns the number of values.
func unpackWords[T int32 | int64](out []T, p packed) int {
	per := 64 / p.width
	mask, shift := ^uint64(0)>>(64-p.width), p.width&63
	full := p.n / per
	for w := range full {
		x := binary.LittleEndian.Uint64(p.b[8*w:])
		dst := out[w*per : (w+1)*per]
		for j := range dst {
			dst[j] = T(p.base + x&mask)
			x >>= shift
		}
	}
	return full * per
}
