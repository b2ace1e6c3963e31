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
func (s *segment) encode() (page, error) {
	var p page
	var err error
	switch {
	case s.allNull():
		p.layout.Constant = &pb.ConstantLayout{Layers: s.layers}
	case s.leaf.lists > 0 && s.visible == 0:
		p = s.encodeHoles()
	default:
		p, err = s.encodeValues()
	}
	p.rows = s.rows
	return p, err
}

// encodeValues lays out a segment that has values.
func (s *segment) encodeValues() (page, error) {
	p, ok, err := s.dictionaryPage()
	switch {
	case ok || err != nil:
		return p, err
	case s.zipped():
		return s.encodeZipped()
	}
	return s.encodeMiniBlock()
}

// longFixed is the width from which values (not vectors) are stored full-zip, as one
// chunk of them would hold too few.
const longFixed = 1024

// zipped says whether the page is full-zip: each value a range of its own. Vectors
// are, but for those of booleans and the short ones below a list. Nothing is below a
// nullable struct around a list: Lance 12 fails, or ends its process, over such a page.
func (s *segment) zipped() bool {
	sh := &s.leaf.shape
	switch {
	case sh.bits || s.leaf.nullableAround():
		return false
	case sh.variable() && s.leaf.lists == 0:
		return sh.offsetBits == 64 || s.longest >= longValue
	case sh.variable():
		return s.longest >= longValue
	case sh.dim > 0 && s.leaf.lists == 0:
		return true
	}
	return sh.width >= longFixed
}

// nullableAround: a nullable struct lies around a list of the path.
func (l *leaf) nullableAround() bool {
	lists := l.lists
	for _, n := range l.path {
		if n.kind == nodeList {
			lists--
		}
		if n.kind == nodeStruct && n.nullable && lists > 0 {
			return true
		}
	}
	return false
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

// encodeZipped writes the values one behind the other, each behind its control word
// and, for variable width, its length. Entries without a value are control words alone.
// Long values of variable width are compressed one by one where that pays.
func (s *segment) encodeZipped() (page, error) {
	sh := &s.leaf.shape
	l := &pb.FullZipLayout{Items: uint32(len(s.def)), VisibleItems: uint32(s.visible), Value: s.zippedEncoding(), Layers: s.layers}
	if s.hasDef {
		l.BitsDef = bitLen(s.maxDef)
	}
	if s.leaf.lists > 0 {
		l.BitsRep = bitLen(uint16(s.leaf.lists))
	}
	p := page{layout: pb.PageLayout{FullZip: l}}
	if !sh.variable() {
		l.BitsPerValue = uint32(sh.width) * 8
		if !s.hasDef && s.leaf.lists == 0 {
			p.buffers = [][]byte{s.data}
			return p, nil
		}
	} else {
		l.BitsPerOffset = uint32(sh.offsetBits)
	}
	z := zipper{seg: s, ctrl: controlBytes(l), bitsDef: l.BitsDef, visible: s.visibleLevel()}
	var err error
	if sh.variable() {
		z.compress, err = s.compressPays()
	}
	if z.compress {
		l.Value = &pb.Encoding{Kind: pb.General, Scheme: pb.Zstd, Inner: l.Value}
	}
	if err == nil {
		err = z.run()
	}
	p.buffers = [][]byte{z.data}
	if sh.variable() || s.leaf.lists > 0 {
		p.buffers = append(p.buffers, packOffsets(z.starts))
	}
	return p, err
}

func (s *segment) zippedEncoding() *pb.Encoding {
	sh := &s.leaf.shape
	switch {
	case sh.variable():
		return pb.VariableEncoding(uint64(sh.offsetBits))
	case sh.dim > 0:
		return pb.VectorEncoding(uint64(sh.dim), sh.storedBits())
	}
	return pb.FlatEncoding(sh.storedBits())
}

// zipper writes the entries of a full-zip page.
type zipper struct {
	seg     *segment
	ctrl    int // bytes of a control word
	bitsDef uint32
	visible uint16 // the highest level with a value slot
	data    []byte
	starts  []uint64 // where each row starts, and the end
	// compress each value; packed is the memory for it.
	compress bool
	packed   []byte
}

func (z *zipper) run() error {
	s, sh := z.seg, &z.seg.leaf.shape
	total := len(s.data)
	if n := len(s.ends); n > 0 {
		total = int(s.ends[n-1]-s.base) + n*sh.offsetBits/8
	}
	z.data = make([]byte, 0, total+len(s.def)*z.ctrl)
	value := 0
	for i, def := range s.def {
		if s.rep == nil || int(s.rep[i]) == s.leaf.lists {
			z.starts = append(z.starts, uint64(len(z.data)))
		}
		z.control(i, def)
		if def > z.visible {
			continue
		}
		switch {
		case !sh.variable():
			z.data = append(z.data, s.data[value*sh.width:(value+1)*sh.width]...)
		case def == 0:
			if err := z.variable(s.value(value)); err != nil {
				return err
			}
		}
		value++
	}
	z.starts = append(z.starts, uint64(len(z.data)))
	return nil
}

// variable appends a value of variable width behind its length.
func (z *zipper) variable(v []byte) error {
	if z.compress {
		var err error
		if z.packed, err = appendCompressed(z.packed[:0], v); err != nil {
			return err
		}
		v = z.packed
	}
	if z.seg.leaf.shape.offsetBits == 32 {
		z.data = binary.LittleEndian.AppendUint32(z.data, uint32(len(v)))
	} else {
		z.data = binary.LittleEndian.AppendUint64(z.data, uint64(len(v)))
	}
	z.data = append(z.data, v...)
	return nil
}

func (z *zipper) control(i int, def uint16) {
	if z.ctrl == 0 {
		return
	}
	w := uint32(0)
	if z.seg.hasDef {
		w = uint32(def)
	}
	if z.seg.rep != nil {
		w |= uint32(z.seg.rep[i]) << z.bitsDef
	}
	var word [4]byte
	binary.LittleEndian.PutUint32(word[:], w)
	z.data = append(z.data, word[:z.ctrl]...)
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
