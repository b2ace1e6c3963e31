package file

import (
	"encoding/binary"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/storage/lance/internal/pb"
)

// A packed struct is one column, whose values are rows: the members side by side,
// those of variable width behind their length.

// packed: the struct is one column, its members side by side in each row.
func packed(f arrow.Field) bool {
	for _, key := range []string{"packed", "lance-encoding:packed"} {
		if v, ok := f.Metadata.GetValue(key); ok && strings.EqualFold(v, "true") {
			return true
		}
	}
	return false
}

// packedShape is the shape of a packed struct: rows of one width, or rows with
// lengths in them when a member has no width of its own.
func packedShape(t *arrow.StructType) (shape, error) {
	out := shape{typ: t}
	variable := false
	for _, f := range t.Fields() {
		m, err := shapeOf(f.Type)
		if err != nil {
			return out, err
		}
		if m.members != nil || m.bits || (m.width == 0 && !m.variable()) {
			return out, fail.New(fail.Unsupported, "packed structs with members of type %s are not supported", f.Type)
		}
		variable = variable || m.variable()
		out.width += m.width
		out.members = append(out.members, m)
	}
	if variable {
		out.width, out.offsetBits = 0, 64
	}
	return out, nil
}

// decodePackedRows decodes the rows of a packed struct of fixed width.
func (p *storedPage) decodePackedRows(e *pb.Encoding, bufs [][]byte, n int) (values, error) {
	sh := &p.col.leaf.shape
	if e.Kind != pb.PackedStruct || e.Inner == nil || sh.variable() {
		return values{}, unsupported("packed structs encoded as %s are not readable", e.Kind)
	}
	if err := checkMembers(e, sh); err != nil {
		return values{}, err
	}
	raw, err := decodeFixed(e.Inner, bufs, n, uint64(sh.width)*8)
	return values{n: n, width: sh.width, fixed: raw}, err
}

// checkMembers compares the widths that an encoding of packed structs gives with
// the column's type.
func checkMembers(e *pb.Encoding, sh *shape) error {
	if len(e.Members) != len(sh.members) {
		return corrupt("packed struct of %d members, the column has %d", len(e.Members), len(sh.members))
	}
	for i, m := range e.Members {
		have := &sh.members[i]
		want := uint64(have.width) * 8
		if have.variable() {
			want = uint64(have.offsetBits)
		}
		if m.Bits != want || m.Variable != have.variable() {
			return corrupt("member %d of a packed struct has %d bits where %d are due", i, m.Bits, want)
		}
	}
	return nil
}

// zippedRows accepts the encodings of packed structs of variable width.
func (p *storedPage) zippedRows(e *pb.Encoding) error {
	if e.Kind != pb.VariablePacked {
		return unsupported("packed structs encoded as %s are not readable", e.Kind)
	}
	if err := checkMembers(e, &p.col.leaf.shape); err != nil {
		return err
	}
	p.members = make([]symbolTable, len(e.Members))
	for i, m := range e.Members {
		v := m.Value
		for v != nil && v.Kind == pb.FixedSizeList && !v.HasValidity {
			v = v.Inner
		}
		if v == nil || (!m.Variable && (v.Kind != pb.Flat || v.Scheme != 0)) {
			return unsupported("member %d of a packed struct has an encoding that is not readable", i)
		}
		if !m.Variable {
			continue
		}
		if err := storedAlone(v); err != nil {
			return err
		}
		p.decodeMembers = p.decodeMembers || v.Kind != pb.Variable
	}
	return nil
}

// decodeRow undoes the compression of a row's members.
func (p *storedPage) decodeRow(row []byte) ([]byte, error) {
	if !p.decodeMembers {
		return row, nil
	}
	var out []byte
	for k := range p.col.leaf.shape.members {
		m := &p.col.leaf.shape.members[k]
		skip, n, ok := m.member(row)
		if !ok {
			return nil, corrupt("member %d of a packed struct is cut off", k)
		}
		v := row[skip : skip+n]
		row = row[skip+n:]
		if m.variable() {
			var err error
			if v, err = decodeAlone(p.layout.FullZip.Value.Members[k].Value, &p.members[k], v); err != nil {
				return nil, err
			}
			var length [8]byte
			binary.LittleEndian.PutUint64(length[:], uint64(len(v)))
			out = append(out, length[:skip]...)
		}
		out = append(out, v...)
	}
	return append(out, row...), nil
}

// member finds the member at the front of a row: skip bytes of length, then n bytes.
func (s *shape) member(row []byte) (skip, n int, ok bool) {
	n = s.width
	if s.variable() {
		skip = s.offsetBits / 8
		if len(row) < skip || readWord(row, skip) > uint64(len(row)-skip) {
			return 0, 0, false
		}
		n = int(readWord(row, skip))
	}
	return skip, n, len(row) >= skip+n
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
			skip, n, ok := m.member(row)
			if !ok {
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
