package file

import (
	"encoding/binary"
	"math/bits"

	"github.com/loamdb/loam/storage/lance/internal/pb"
)

// longValue is the length from which a page of utf8 or binary values is stored
// full-zip: one range read per value instead of a chunk of many.
const longValue = 256

// page is an encoded page: its buffers in file order and its layout.
type page struct {
	buffers [][]byte
	layout  pb.PageLayout
	rows    int64
}

// encode lays the segment out. Buffers may alias the segment.
func (s *segment) encode() page {
	sh := &s.leaf.shape
	var p page
	switch {
	case s.allNull():
		p.layout.Constant = &pb.ConstantLayout{Layers: s.layers}
	case s.leaf.lists > 0 && s.visible == 0:
		p = s.encodeHoles()
	case s.leaf.lists > 0:
		p = s.encodeMiniBlock()
	case sh.dim > 0:
		p = s.encodeZippedFixed()
	case sh.variable() && (sh.offsetBits == 64 || s.longest >= longValue):
		p = s.encodeZippedVariable()
	default:
		p = s.encodeMiniBlock()
	}
	p.rows = s.rows
	return p
}

// encodeHoles is a page below a list in which no row has a value: levels only.
func (s *segment) encodeHoles() page {
	return page{
		buffers: [][]byte{levelBytes(s.rep), levelBytes(s.def)},
		layout:  pb.PageLayout{Constant: &pb.ConstantLayout{Layers: s.layers}},
	}
}

func levelBytes(levels []uint16) []byte {
	out := make([]byte, 0, 2*len(levels))
	for _, l := range levels {
		out = binary.LittleEndian.AppendUint16(out, l)
	}
	return out
}

func (s *segment) encodeZippedFixed() page {
	sh := &s.leaf.shape
	l := &pb.FullZipLayout{
		BitsPerValue: uint32(sh.width) * 8, Items: uint32(s.rows), VisibleItems: uint32(s.rows),
		Value: pb.VectorEncoding(uint64(sh.dim), uint64(sh.itemWidth)*8), Layers: s.layers,
	}
	data := s.data
	if s.hasDef {
		l.BitsDef = bitLen(s.maxDef)
		data = make([]byte, 0, len(s.def)*(1+sh.width))
		for i, d := range s.def {
			data = append(data, byte(d))
			data = append(data, s.data[i*sh.width:(i+1)*sh.width]...)
		}
	}
	return page{buffers: [][]byte{data}, layout: pb.PageLayout{FullZip: l}}
}

func (s *segment) encodeZippedVariable() page {
	sh := &s.leaf.shape
	l := &pb.FullZipLayout{
		BitsPerOffset: uint32(sh.offsetBits), Items: uint32(s.rows), VisibleItems: uint32(s.rows),
		Value: pb.VariableEncoding(uint64(sh.offsetBits)), Layers: s.layers,
	}
	if s.hasDef {
		l.BitsDef = bitLen(s.maxDef)
	}
	var total int64
	if n := len(s.ends); n > 0 {
		total = s.ends[n-1] - s.base
	}
	data := make([]byte, 0, int(total)+len(s.def)*(1+sh.offsetBits/8))
	starts := make([]uint64, 0, len(s.def)+1)
	for i := range s.ends {
		starts = append(starts, uint64(len(data)))
		if s.hasDef {
			data = append(data, byte(s.def[i]))
			if s.def[i] != 0 {
				continue
			}
		}
		v := s.value(i)
		if sh.offsetBits == 32 {
			data = binary.LittleEndian.AppendUint32(data, uint32(len(v)))
		} else {
			data = binary.LittleEndian.AppendUint64(data, uint64(len(v)))
		}
		data = append(data, v...)
	}
	starts = append(starts, uint64(len(data)))
	return page{buffers: [][]byte{data, packOffsets(starts)}, layout: pb.PageLayout{FullZip: l}}
}

// packOffsets writes offsets in the narrowest of 1, 2, 4 or 8 bytes; readers
// derive the width from the size.
func packOffsets(offs []uint64) []byte {
	width := offsetWidth(offs[len(offs)-1])
	out := make([]byte, 0, len(offs)*width)
	var word [8]byte
	for _, o := range offs {
		binary.LittleEndian.PutUint64(word[:], o)
		out = append(out, word[:width]...)
	}
	return out
}

func offsetWidth(largest uint64) int {
	switch n := bits.Len64(largest); {
	case n <= 8:
		return 1
	case n <= 16:
		return 2
	case n <= 32:
		return 4
	}
	return 8
}
