package file

import (
	"encoding/binary"
	"math/bits"

	"github.com/loamdb/loam/storage/lance/internal/pb"
)

// packInto packs one block of 1,024 values of width bytes to the bits, in the
// FastLanes layout; it is unpackBlock's way back. in has 1024*width bytes; out has
// 128*bits and must be zero.
func packInto(in []byte, width, bits int, out []byte) {
	if bits == 0 {
		return
	}
	wordBits := width * 8
	for row := range wordBits {
		at := row * bits
		word, shift := at/wordBits, at%wordBits
		base := (laneOrder[row/8]*16 + row%8*128) * width
		from, low := in[base:base+rowBytes], out[word*rowBytes:(word+1)*rowBytes]
		mask := inLanes(^lowBits(shift), width)
		for i := 0; i < rowBytes; i += 8 {
			v := binary.LittleEndian.Uint64(from[i:]) << shift & mask
			binary.LittleEndian.PutUint64(low[i:], binary.LittleEndian.Uint64(low[i:])|v)
		}
		if shift+bits <= wordBits {
			continue
		}
		have := wordBits - shift
		high := out[(word+1)*rowBytes : (word+2)*rowBytes]
		mask = inLanes(lowBits(bits-have), width)
		for i := 0; i < rowBytes; i += 8 {
			v := binary.LittleEndian.Uint64(from[i:]) >> have & mask
			binary.LittleEndian.PutUint64(high[i:], binary.LittleEndian.Uint64(high[i:])|v)
		}
	}
}

// usedBits is the bits of the largest of values of width bytes, as unsigned numbers.
func usedBits(b []byte, width int) int {
	var all uint64
	switch width {
	case 8:
		for ; len(b) >= 8; b = b[8:] {
			all |= binary.LittleEndian.Uint64(b)
		}
	case 4:
		for ; len(b) >= 4; b = b[4:] {
			all |= uint64(binary.LittleEndian.Uint32(b))
		}
	default:
		for ; len(b) >= width; b = b[width:] {
			all |= readWord(b, width)
		}
	}
	return bits.Len64(all)
}

// packedSize is the bytes of values in chunks of a block with its width in front.
func packedSize(data []byte, width int) int {
	size := 0
	for len(data) > 0 {
		n := min(len(data), packBlock*width)
		size += width + usedBits(data[:n], width)*packBlock/8
		data = data[n:]
	}
	return size
}

// appendInlinePacked appends one chunk of at most a block: the width, then the block.
func appendInlinePacked(to, values []byte, width int) []byte {
	n := usedBits(values, width)
	var block [packBlock * 8]byte
	copy(block[:packBlock*width], values)
	at := len(to)
	to = append(to, make([]byte, width+n*packBlock/8)...)
	putWord(to[at:], width, uint64(n))
	packInto(block[:packBlock*width], width, n, to[at+width:])
	return to
}

// levelEncoding is how n levels up to the highest are stored: packed blocks, with a
// tail that is padded or left as it is, whichever is shorter; or plain, where packing
// cannot make even one block shorter.
func levelEncoding(highest uint16, n int) *pb.Encoding {
	packed := bits.Len16(highest)
	if packed*packBlock/8 >= 2*n {
		return pb.FlatEncoding(16)
	}
	return &pb.Encoding{Kind: pb.OutOfLinePacking, Bits: 16, Inner: pb.FlatEncoding(uint64(packed))}
}

// appendLevels appends levels in the encoding, one of levelEncoding. Readers tell the
// two forms of the tail apart by its length, so that a padded block must be shorter.
func appendLevels(to []byte, levels []uint16, e *pb.Encoding) []byte {
	if e.Kind == pb.Flat {
		return append(to, levelBytes(levels)...)
	}
	n := int(e.Inner.Bits)
	var block [packBlock * 2]byte
	for len(levels) > 0 {
		part := levels[:min(len(levels), packBlock)]
		levels = levels[len(part):]
		for i, l := range part {
			binary.LittleEndian.PutUint16(block[2*i:], l)
		}
		if size := n * packBlock / 8; len(part) == packBlock || size < 2*len(part) {
			clear(block[2*len(part):])
			at := len(to)
			to = append(to, make([]byte, size)...)
			packInto(block[:], 2, n, to[at:])
		} else {
			to = append(to, block[:2*len(part)]...)
		}
	}
	return to
}
