package file

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// leafArray makes the array of a leaf and consumes the sink's values; the caller
// keeps valid, which may be nil.
func (s *sink) leafArray(t arrow.DataType, valid *memory.Buffer) (arrow.ArrayData, error) {
	n := &s.nodes[len(s.nodes)-1].valid
	sh := &s.leaf.shape
	switch {
	case t.ID() == arrow.NULL:
		return array.NewData(t, n.n, []*memory.Buffer{nil}, nil, n.n, 0), nil
	case sh.hollow:
		return array.NewData(t, n.n, []*memory.Buffer{valid}, nil, n.nulls, 0), nil
	case sh.members != nil && !sh.blob:
		return s.packedArray(t, valid)
	case sh.dim > 0:
		return s.vectorArray(t, valid), nil
	case sh.bits:
		vals := packBits(&s.values)
		defer vals.Release()
		return array.NewData(t, n.n, []*memory.Buffer{valid, vals}, nil, n.nulls, 0), nil
	}
	bufs := []*memory.Buffer{valid}
	switch {
	case sh.json:
		text, err := s.jsonBuffers(valid)
		if err != nil {
			return nil, err
		}
		bufs = append(bufs, text...)
	case sh.variable():
		bufs = append(bufs, s.offsets.buffer(), s.values.buffer())
	default:
		bufs = append(bufs, s.values.buffer())
	}
	out := array.NewData(t, n.n, bufs, nil, n.nulls, 0)
	for _, b := range bufs[1:] {
		b.Release()
	}
	return out, nil
}

func (s *sink) vectorArray(t arrow.DataType, valid *memory.Buffer) arrow.ArrayData {
	n := &s.nodes[len(s.nodes)-1].valid
	vt, _ := t.(*arrow.FixedSizeListType)
	if s.items.nulls > 0 {
		s.evenItems()
	}
	bufs := []*memory.Buffer{s.items.buffer(), nil}
	if s.leaf.shape.bits {
		bufs[1] = packBits(&s.values)
	} else {
		bufs[1] = s.values.buffer()
	}
	items := array.NewData(vt.Elem(), n.n*int(vt.Len()), bufs, nil, s.items.nulls, 0)
	out := array.NewData(t, n.n, []*memory.Buffer{valid}, []arrow.ArrayData{items}, n.nulls, 0)
	items.Release()
	for _, b := range bufs {
		if b != nil {
			b.Release()
		}
	}
	return out
}

// packBits makes a bitmap of bytes that are 0 or 1, and releases them.
func packBits(g *growBuf) *memory.Buffer {
	out := growBuf{mem: g.mem}
	bits := out.extend(int(bitutil.BytesForBits(int64(g.n))))
	clear(bits)
	for i, v := range g.used() {
		bits[i/8] |= v & 1 << (i % 8)
	}
	g.release()
	return out.buffer()
}
