package file

import (
	"encoding/binary"
	"math/bits"

	"github.com/loamdb/loam/storage/lance/internal/pb"
)

// Bounds of a mini-block chunk.
const (
	maxChunkValues = 4096
	// flatChunkBytes: a chunk of fixed-width values stays below it.
	flatChunkBytes = 8186
	// variableChunkBytes: a chunk of variable-width values aims at it, offsets included.
	variableChunkBytes = 8192
	chunkAlign         = 8
	chunkFill          = 0xFE
)

// flatChunkValues is the values per full chunk of a fixed width: 1024 for 4
// bytes, 512 for 8.
func flatChunkValues(width int) int {
	n := maxChunkValues
	for n > 2 && n*width >= flatChunkBytes {
		n /= 2
	}
	return n
}

// miniBlocks builds the buffers of a mini-block page.
type miniBlocks struct {
	seg      *segment
	meta     []byte
	data     []byte
	repIndex []uint64
	level    int // next entry
	done     int // values written
}

func (s *segment) encodeMiniBlock() page {
	b := &miniBlocks{seg: s}
	for first := true; first || b.done < s.visible; first = false {
		n := b.plan()
		b.add(n, b.done+n == s.visible)
	}
	l := &pb.MiniBlockLayout{Layers: s.layers, Buffers: 1, Items: uint64(s.visible)}
	if s.leaf.shape.variable() {
		l.Value = pb.VariableEncoding(uint64(s.leaf.shape.offsetBits))
	} else {
		l.Value = pb.FlatEncoding(uint64(s.leaf.shape.width) * 8)
	}
	if s.hasDef {
		l.Def = pb.FlatEncoding(16)
	}
	p := page{buffers: [][]byte{b.meta, b.data}, layout: pb.PageLayout{MiniBlock: l}}
	if s.rep != nil {
		l.Rep, l.RepIndexDepth = pb.FlatEncoding(16), 1
		var index []byte
		for _, v := range b.repIndex {
			index = binary.LittleEndian.AppendUint64(index, v)
		}
		p.buffers = append(p.buffers, index)
	}
	return p
}

// plan is the number of values in the next chunk: all that are left, if they
// fit, or else a power of two.
func (b *miniBlocks) plan() int {
	left := b.seg.visible - b.done
	sh := &b.seg.leaf.shape
	if !sh.variable() {
		return min(left, flatChunkValues(sh.width))
	}
	fits := func(n int) bool {
		from := b.seg.base
		if b.done > 0 {
			from = b.seg.ends[b.done-1]
		}
		return (n+1)*(sh.offsetBits/8)+int(b.seg.ends[b.done+n-1]-from) <= variableChunkBytes
	}
	if left <= maxChunkValues && (left == 0 || fits(left)) {
		return left
	}
	n := maxChunkValues
	for n > 2 && (n > left || !fits(n)) {
		n /= 2
	}
	return n
}

// add writes the next chunk of n values; the last one takes all entries left.
func (b *miniBlocks) add(n int, last bool) {
	s := b.seg
	end := b.levelEnd(n, last)
	start := len(b.data)
	count := 0
	if s.hasDef || s.rep != nil {
		count = end - b.level
	}
	b.data = binary.LittleEndian.AppendUint16(b.data, uint16(count))
	if s.rep != nil {
		b.data = binary.LittleEndian.AppendUint16(b.data, uint16(2*count))
	}
	if s.hasDef {
		b.data = binary.LittleEndian.AppendUint16(b.data, uint16(2*count))
	}
	values := b.values(n)
	b.data = binary.LittleEndian.AppendUint16(b.data, uint16(len(values)))
	b.pad(start)
	if s.rep != nil {
		b.data = append(b.data, levelBytes(s.rep[b.level:end])...)
		b.pad(start)
		b.addRepIndex(s.rep[b.level:end], last)
	}
	if s.hasDef {
		b.data = append(b.data, levelBytes(s.def[b.level:end])...)
		b.pad(start)
	}
	b.data = append(b.data, values...)
	b.pad(start)
	word := uint16((len(b.data)-start)/chunkAlign-1) << 4
	if !last {
		word |= uint16(bits.TrailingZeros(uint(n)))
	}
	b.meta = binary.LittleEndian.AppendUint16(b.meta, word)
	b.level, b.done = end, b.done+n
}

func (b *miniBlocks) pad(start int) {
	for (len(b.data)-start)%chunkAlign != 0 {
		b.data = append(b.data, chunkFill)
	}
}

// levelEnd is the entry after the n-th next value; entries without a value that
// follow it belong to the next chunk.
func (b *miniBlocks) levelEnd(n int, last bool) int {
	s := b.seg
	if last {
		return len(s.def)
	}
	if s.rep == nil {
		return b.level + n
	}
	visible := s.visibleLevel()
	i := b.level
	for n > 0 {
		if !s.hasDef || s.def[i] <= visible {
			n--
		}
		i++
	}
	return i
}

// visibleLevel is the highest compact level with a value slot.
func (s *segment) visibleLevel() uint16 {
	n := uint16(0)
	for i := len(s.leaf.path) - 1; i >= 0 && s.leaf.path[i].kind != nodeList; i-- {
		if s.layers[len(s.leaf.path)-1-i] == pb.NullableItem {
			n++
		}
	}
	return n
}

// addRepIndex appends the chunk's pair: rows that end in it, and the entries
// after the last row start if that row goes on in the next chunk.
func (b *miniBlocks) addRepIndex(rep []uint16, last bool) {
	top := uint16(b.seg.leaf.lists)
	at := len(b.repIndex)
	if at > 0 && len(rep) > 0 && rep[0] == top && b.repIndex[at-1] > 0 {
		b.repIndex[at-2]++
		b.repIndex[at-1] = 0
	}
	open := at > 0 && b.repIndex[at-1] > 0
	var rows, since uint64
	for _, r := range rep {
		if r == top {
			if open {
				rows++
			}
			open, since = true, 0
		}
		since++
	}
	if last && open {
		rows, since = rows+1, 0
	}
	b.repIndex = append(b.repIndex, rows, since)
}

// values is the value buffer of the next n values.
func (b *miniBlocks) values(n int) []byte {
	s := b.seg
	if w := s.leaf.shape.width; w > 0 {
		return s.data[b.done*w : (b.done+n)*w]
	}
	w := s.leaf.shape.offsetBits / 8
	from := s.base
	if b.done > 0 {
		from = s.ends[b.done-1]
	}
	head := int64((n + 1) * w)
	out := make([]byte, 0, variableChunkBytes)
	put := func(v int64) {
		if w == 4 {
			out = binary.LittleEndian.AppendUint32(out, uint32(v))
		} else {
			out = binary.LittleEndian.AppendUint64(out, uint64(v))
		}
	}
	put(head)
	for i := range n {
		put(head + s.ends[b.done+i] - from)
	}
	if n > 0 {
		out = append(out, s.data[from:s.ends[b.done+n-1]]...)
	}
	for len(out)%w != 0 {
		out = append(out, 0)
	}
	return out
}
