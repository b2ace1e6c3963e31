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
	case sh.members != nil:
		return s.packedArray(t, valid)
	case sh.dim > 0:
		return s.vectorArray(t, valid), nil
	case sh.bits:
		vals := packBits(&s.values)
		defer vals.Release()
		return array.NewData(t, n.n, []*memory.Buffer{valid, vals}, nil, n.nulls, 0), nil
	}
	bufs := []*memory.Buffer{valid}
	if sh.variable() {
		bufs = append(bufs, s.offsets.buffer())
	}
	bufs = append(bufs, s.values.buffer())
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

// packedArray takes the rows of a packed struct apart.
func (s *sink) packedArray(t arrow.DataType, valid *memory.Buffer) (arrow.ArrayData, error) {
	n := &s.nodes[len(s.nodes)-1].valid
	st, _ := t.(*arrow.StructType)
	sinks := make([]*sink, st.NumFields())
	for i, f := range st.Fields() {
		l := &leaf{name: s.leaf.name + "." + f.Name, path: []node{{kind: nodeLeaf}}, shape: s.leaf.shape.members[i]}
		sinks[i] = newSink(l, f, s.values.mem)
		defer sinks[i].release()
		sinks[i].nodes[0].valid.addValid(n.n)
	}
	if err := s.splitRows(sinks, n.n); err != nil {
		return nil, err
	}
	children := make([]arrow.ArrayData, len(sinks))
	for i, m := range sinks {
		var err error
		if children[i], err = m.leafArray(st.Field(i).Type, nil); err != nil {
			return nil, err
		}
		defer children[i].Release()
	}
	return array.NewData(t, n.n, []*memory.Buffer{valid}, children, n.nulls, 0), nil
}

// splitRows hands the members of each row to their sinks.
func (s *sink) splitRows(to []*sink, rows int) error {
	sh := &s.leaf.shape
	data, end := s.values.used(), 0
	for i := range rows {
		at := end
		if sh.variable() {
			end = int(offsetAt(s.offsets.used(), i+1, 8))
		} else {
			end += sh.width
		}
		row := data[at:end]
		if sh.variable() && len(row) == 0 {
			for _, m := range to {
				m.addZeros(1)
			}
			continue
		}
		for k := range sh.members {
			m := &sh.members[k]
			n, skip := m.width, 0
			if m.variable() {
				skip = m.offsetBits / 8
				if len(row) < skip || readWord(row, skip) > uint64(len(row)-skip) {
					return corrupt("column %q: a member of row %d is cut off", s.leaf.name, i)
				}
				n = int(readWord(row, skip))
			}
			if len(row) < skip+n {
				return corrupt("column %q: row %d is cut off", s.leaf.name, i)
			}
			if m.variable() {
				to[k].addValue(row[skip : skip+n])
			} else {
				copy(to[k].values.extend(n), row[skip:skip+n])
			}
			row = row[skip+n:]
		}
		if len(row) > 0 {
			return corrupt("column %q: row %d has %d bytes too many", s.leaf.name, i, len(row))
		}
	}
	return nil
}
