package file

import "encoding/binary"

// packBlock is the values of one bit-packed block.
const packBlock = 1024

// laneOrder is the order in which the FastLanes layout visits groups of eight rows.
var laneOrder = [8]int{0, 4, 2, 6, 1, 5, 3, 7}

// readWord reads a little-endian word of 1, 2, 4 or 8 bytes.
func readWord(b []byte, width int) uint64 {
	switch width {
	case 1:
		return uint64(b[0])
	case 2:
		return uint64(binary.LittleEndian.Uint16(b))
	case 4:
		return uint64(binary.LittleEndian.Uint32(b))
	}
	return binary.LittleEndian.Uint64(b)
}

// word: the width is that of a machine word.
func word(width int) bool { return width == 1 || width == 2 || width == 4 || width == 8 }

func putWord(b []byte, width int, v uint64) {
	switch width {
	case 1:
		b[0] = byte(v)
	case 2:
		binary.LittleEndian.PutUint16(b, uint16(v))
	case 4:
		binary.LittleEndian.PutUint32(b, uint32(v))
	default:
		binary.LittleEndian.PutUint64(b, v)
	}
}

// rowBytes is the bytes of one row of a block: the same for every width.
const rowBytes = 128

// inLanes repeats a mask of width bytes over a machine word, which holds several lanes.
func inLanes(mask uint64, width int) uint64 {
	switch width {
	case 1:
		return mask & 0xFF * 0x0101010101010101
	case 2:
		return mask & 0xFFFF * 0x0001000100010001
	case 4:
		return mask & 0xFFFFFFFF * 0x0000000100000001
	}
	return mask
}

// lowBits is a mask of n bits.
func lowBits(n int) uint64 { return 1<<n - 1 }

// unpackBlock decodes one block of 1,024 values of width bytes that were packed to
// bits each, in the FastLanes layout: lane by lane, the rows of a lane follow each
// other in words that are interleaved over the lanes. packed has 128*bits bytes,
// out 1024*width. A row is sixteen machine words, in each of which all lanes are
// shifted at once; masks drop what crosses into another lane.
func unpackBlock(packed []byte, width, bits int, out []byte) {
	if bits == 0 {
		clear(out)
		return
	}
	wordBits := width * 8
	for row := range wordBits {
		at := row * bits
		word, shift := at/wordBits, at%wordBits
		low := packed[word*rowBytes : (word+1)*rowBytes]
		base := (laneOrder[row/8]*16 + row%8*128) * width
		to := out[base : base+rowBytes]
		if shift+bits <= wordBits {
			mask := inLanes(lowBits(bits), width)
			for i := 0; i < rowBytes; i += 8 {
				binary.LittleEndian.PutUint64(to[i:], binary.LittleEndian.Uint64(low[i:])>>shift&mask)
			}
			continue
		}
		have := wordBits - shift
		lowMask, highMask := inLanes(lowBits(have), width), inLanes(lowBits(bits)&^lowBits(have), width)
		high := packed[(word+1)*rowBytes : (word+2)*rowBytes]
		for i := 0; i < rowBytes; i += 8 {
			v := binary.LittleEndian.Uint64(low[i:])>>shift&lowMask | binary.LittleEndian.Uint64(high[i:])<<have&highMask
			binary.LittleEndian.PutUint64(to[i:], v)
		}
	}
}

// decodeInlinePacked decodes a chunk of at most one block: a word with the packed
// width, then the block.
func decodeInlinePacked(buf []byte, n, width int) ([]byte, error) {
	if n == 0 {
		return nil, nil
	}
	if n > packBlock || len(buf) < width {
		return nil, corrupt("bit-packed chunk of %d values in %d bytes", n, len(buf))
	}
	bits := readWord(buf, width)
	if bits > uint64(width)*8 || len(buf)-width < int(bits)*packBlock/8 {
		return nil, corrupt("bit-packed chunk: %d values of %d bits in %d bytes", n, bits, len(buf))
	}
	out := make([]byte, packBlock*width)
	unpackBlock(buf[width:], width, int(bits), out)
	return out[:n*width], nil
}

// decodePacked decodes blocks of values packed to the same width; a last, short
// block is either padded and packed or left as plain values, told apart by length.
func decodePacked(buf []byte, n, width int, bits uint64) ([]byte, error) {
	if bits == 0 || bits > uint64(width)*8 {
		return nil, corrupt("values of %d bytes packed to %d bits", width, bits)
	}
	size := int(bits) * packBlock / 8
	full, tail := n/packBlock, n%packBlock
	rest := len(buf) - full*size
	if rest < 0 || (tail > 0 && rest != tail*width && rest < size) {
		return nil, corrupt("%d values packed to %d bits in %d bytes", n, bits, len(buf))
	}
	out := make([]byte, (full+1)*packBlock*width)
	for i := range full {
		unpackBlock(buf[i*size:], width, int(bits), out[i*packBlock*width:(i+1)*packBlock*width])
	}
	if tail > 0 {
		last := buf[full*size:]
		if rest == tail*width {
			copy(out[full*packBlock*width:], last)
		} else {
			unpackBlock(last, width, int(bits), out[full*packBlock*width:])
		}
	}
	return out[:n*width], nil
}

// decodeRuns expands run lengths: values of the width, and one length each.
func decodeRuns(vals, lengths []byte, n, width, lengthWidth int) ([]byte, error) {
	if len(vals)/width < len(lengths)/lengthWidth {
		return nil, corrupt("%d run lengths for %d values", len(lengths)/lengthWidth, len(vals)/width)
	}
	total := uint64(0)
	for i := range len(lengths) / lengthWidth {
		total += readWord(lengths[i*lengthWidth:], lengthWidth)
	}
	if total != uint64(n) {
		return nil, corrupt("runs hold %d of %d values", total, n)
	}
	out := make([]byte, 0, n*width)
	for i := range len(lengths) / lengthWidth {
		for range readWord(lengths[i*lengthWidth:], lengthWidth) {
			out = append(out, vals[i*width:(i+1)*width]...)
		}
	}
	return out, nil
}
