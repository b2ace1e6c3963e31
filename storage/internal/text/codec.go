package text

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

// packedPad is how many bytes behind a bit-packed array may be read with it.
const packedPad = 8

// appendPacked appends the values with width bits each, low bits first.
func appendPacked(dst []byte, values []uint32, width uint) []byte {
	var acc uint64
	var have uint
	for _, v := range values {
		acc |= uint64(v) << have
		have += width
		for have >= 8 {
			dst = append(dst, byte(acc))
			acc >>= 8
			have -= 8
		}
	}
	if have > 0 {
		dst = append(dst, byte(acc))
	}
	return dst
}

func packedBytes(n int, width uint) int { return (n*int(width) + 7) / 8 }

func widthOf(values []uint32) uint {
	var or uint32
	for _, v := range values {
		or |= v
	}
	return uint(bits.Len32(or))
}

// unpack fills dst from src, which holds a whole block at its start. width ≤ 32.
func unpack(dst *[blockSize]uint32, src []byte, width uint) {
	if width == 0 {
		clear(dst[:])
		return
	}
	need := packedBytes(blockSize, width)
	var padded [blockSize*4 + packedPad]byte
	if len(src) < need+packedPad {
		copy(padded[:], src[:need])
		src = padded[:]
	}
	mask := uint64(1)<<width - 1
	at := uint(0)
	for i := range dst {
		dst[i] = uint32(binary.LittleEndian.Uint64(src[at>>3:]) >> (at & 7) & mask)
		at += width
	}
}

// decoder reads varints and never past the end; bad is sticky.
type decoder struct {
	b   []byte
	at  int
	bad bool
}

func (d *decoder) uvarint() uint64 {
	if d.at < len(d.b) && d.b[d.at] < 0x80 {
		d.at++
		return uint64(d.b[d.at-1])
	}
	if d.at > len(d.b) {
		d.bad = true
		return 0
	}
	v, n := binary.Uvarint(d.b[d.at:])
	if n <= 0 {
		d.bad = true
		return 0
	}
	d.at += n
	return v
}

// u32 is a varint that must fit 32 bits.
func (d *decoder) u32() uint32 {
	v := d.uvarint()
	if v > 1<<32-1 {
		d.bad = true
		return 0
	}
	return uint32(v)
}

func (d *decoder) bytes(n uint64) []byte {
	if d.bad || d.at > len(d.b) || n > uint64(len(d.b)-d.at) {
		d.bad = true
		return nil
	}
	d.at += int(n)
	return d.b[d.at-int(n) : d.at]
}

// skip passes n varints.
func (d *decoder) skip(n uint64) {
	for ; n > 0; n-- {
		for d.at < len(d.b) && d.b[d.at] >= 0x80 {
			d.at++
		}
		d.at++
		if d.at > len(d.b) {
			d.bad = true
			return
		}
	}
}

// maxImpacts bounds the pairs kept of a block.
const maxImpacts = 8

// frontier keeps the pairs no other pair dominates (more occurrences and not
// longer), by rising frequency and length; past maxImpacts neighbors are
// joined, which loosens the bound but keeps it a bound. It reorders list.
func frontier(list []impact) []impact {
	slices.SortFunc(list, func(a, b impact) int {
		if a.freq != b.freq {
			return int(b.freq) - int(a.freq)
		}
		return int(a.length) - int(b.length)
	})
	var out []impact
	for _, p := range list {
		if len(out) == 0 || p.length < out[len(out)-1].length {
			out = append(out, p)
		}
	}
	slices.Reverse(out)
	if len(out) <= maxImpacts {
		return out
	}
	joined := make([]impact, 0, maxImpacts)
	for i := range maxImpacts {
		lo, hi := i*len(out)/maxImpacts, (i+1)*len(out)/maxImpacts
		joined = append(joined, impact{freq: out[hi-1].freq, length: out[lo].length})
	}
	return joined
}

func appendImpacts(dst []byte, list []impact) []byte {
	dst = append(dst, byte(len(list)))
	var prev impact
	for _, p := range list {
		dst = binary.AppendUvarint(dst, uint64(p.freq-prev.freq))
		dst = binary.AppendUvarint(dst, uint64(p.length-prev.length))
		prev = p
	}
	return dst
}

// impacts reads a list into buf.
func (d *decoder) impacts(buf *[maxImpacts]impact) []impact {
	n := d.bytes(1)
	if d.bad || n[0] == 0 || n[0] > maxImpacts {
		d.bad = true
		return nil
	}
	var prev impact
	for i := range n[0] {
		prev.freq += d.u32()
		prev.length += d.u32()
		buf[i] = prev
	}
	return buf[:n[0]]
}
