package file

import (
	"encoding/binary"
	"math/bits"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/loamdb/loam/internal/fail"
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

// Limits of the format for one chunk: its size is 12 bits of eight bytes, its levels
// are counted in 16 bits.
const (
	maxChunkBytes  = 1 << 15
	maxChunkLevels = 1<<16 - 1
)

// storedBytes is the bytes of n values in a chunk.
func (s *shape) storedBytes(n int) int {
	if s.bits {
		return (n*s.width + 7) / 8
	}
	return n * s.width
}

// chunkValues is the values per full chunk of a fixed width: 1024 for 4 bytes, 512
// for 8.
func (s *shape) chunkValues() int {
	n := maxChunkValues
	for n > 2 && s.storedBytes(n) >= flatChunkBytes {
		n /= 2
	}
	return n
}

// miniBlocks builds the buffers of a mini-block page.
type miniBlocks struct {
	seg      *segment
	packed   bool // integers packed to the bits that each chunk needs
	rep, def *pb.Encoding
	meta     []byte
	data     []byte
	repIndex []uint64
	level    int // next entry
	done     int // values written
}

func (s *segment) encodeMiniBlock() (page, error) {
	b := &miniBlocks{seg: s, packed: s.packs()}
	if s.hasDef {
		b.def = levelEncoding(s.maxDef, len(s.def))
	}
	if s.rep != nil {
		b.rep = levelEncoding(uint16(s.leaf.lists), len(s.rep))
	}
	for first := true; first || b.done < s.visible; first = false {
		n := b.plan()
		if err := b.add(n, b.done+n == s.visible); err != nil {
			return page{}, err
		}
	}
	l := &pb.MiniBlockLayout{Rep: b.rep, Def: b.def, Layers: s.layers, Buffers: 1, Items: uint64(s.visible), Value: s.zippedEncoding()}
	if b.packed {
		l.Value = &pb.Encoding{Kind: pb.InlinePacking, Bits: s.leaf.shape.storedBits()}
	}
	p := page{buffers: [][]byte{b.meta, b.data}, layout: pb.PageLayout{MiniBlock: l}}
	if s.rep != nil {
		l.RepIndexDepth = 1
		var index []byte
		for _, v := range b.repIndex {
			index = binary.LittleEndian.AppendUint64(index, v)
		}
		p.buffers = append(p.buffers, index)
	}
	return p, nil
}

// packs says whether bit-packing shrinks the page's values: integers, dates and times.
func (s *segment) packs() bool {
	sh := &s.leaf.shape
	switch sh.typ.ID() {
	case arrow.INT8, arrow.INT16, arrow.INT32, arrow.INT64, arrow.UINT8, arrow.UINT16, arrow.UINT32, arrow.UINT64,
		arrow.DATE32, arrow.DATE64, arrow.TIME32, arrow.TIME64, arrow.TIMESTAMP, arrow.DURATION:
		return packedSize(s.data, sh.width) < len(s.data)/10*9
	}
	return false
}

// plan is the number of values in the next chunk: all that are left, if they
// fit, or else a power of two.
func (b *miniBlocks) plan() int {
	left := b.seg.visible - b.done
	sh := &b.seg.leaf.shape
	if b.packed {
		return min(left, packBlock)
	}
	if !sh.variable() {
		return min(left, sh.chunkValues())
	}
	fits := func(n int) bool {
		from := b.seg.base
		if b.done > 0 {
			from = b.seg.ends[b.done-1]
		}
		return (n+1)*(sh.offsetBits/8)+int(b.seg.ends[b.done+n-1]-from) <= variableChunkBytes &&
			(b.seg.rep == nil || b.levelEnd(n, n == left)-b.level <= maxChunkValues+maxHoles)
	}
	if left <= maxChunkValues && (left == 0 || fits(left)) {
		return left
	}
	n := maxChunkValues
	for n > 2 && (n > left || !fits(n)) {
		n /= 2
	}
	return min(n, left)
}

// add writes the next chunk of n values; the last one takes all entries left.
func (b *miniBlocks) add(n int, last bool) error {
	s := b.seg
	end := b.levelEnd(n, last)
	start := len(b.data)
	count := 0
	if s.hasDef || s.rep != nil {
		count = end - b.level
	}
	if count > maxChunkLevels {
		return b.tooLarge()
	}
	var rep, def []byte
	b.data = binary.LittleEndian.AppendUint16(b.data, uint16(count))
	if s.rep != nil {
		rep = appendLevels(nil, s.rep[b.level:end], b.rep)
		b.data = binary.LittleEndian.AppendUint16(b.data, uint16(len(rep)))
	}
	if s.hasDef {
		def = appendLevels(nil, s.def[b.level:end], b.def)
		b.data = binary.LittleEndian.AppendUint16(b.data, uint16(len(def)))
	}
	values := b.values(n)
	b.data = binary.LittleEndian.AppendUint16(b.data, uint16(len(values)))
	b.pad(start)
	if s.rep != nil {
		b.data = append(b.data, rep...)
		b.pad(start)
		b.addRepIndex(s.rep[b.level:end], last)
	}
	if s.hasDef {
		b.data = append(b.data, def...)
		b.pad(start)
	}
	b.data = append(b.data, values...)
	b.pad(start)
	if len(b.data)-start > maxChunkBytes {
		return b.tooLarge()
	}
	word := uint16((len(b.data)-start)/chunkAlign-1) << 4
	if !last {
		word |= uint16(bits.TrailingZeros(uint(n)))
	}
	b.meta = binary.LittleEndian.AppendUint16(b.meta, word)
	b.level, b.done = end, b.done+n
	return nil
}

// tooLarge: a chunk cannot hold even one value with its levels.
func (b *miniBlocks) tooLarge() error {
	return fail.New(fail.TooLarge, "lance: column %q: a value of a list, or the empty lists between two values, need more than the %d bytes that a chunk has", b.seg.leaf.name, maxChunkBytes).
		WithHint("Store the list without a nullable struct around it, or without its empty lists.")
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

// bitsOf packs bytes that are 0 or 1.
func bitsOf(b []byte) []byte {
	out := make([]byte, (len(b)+7)/8)
	for i, v := range b {
		out[i/8] |= v << (i % 8)
	}
	return out
}

// values is the value buffer of the next n values.
func (b *miniBlocks) values(n int) []byte {
	s := b.seg
	if w := s.leaf.shape.width; !s.leaf.shape.variable() {
		part := s.data[b.done*w : (b.done+n)*w]
		switch {
		case b.packed:
			return appendInlinePacked(nil, part, w)
		case s.leaf.shape.bits:
			return bitsOf(part)
		}
		return part
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
