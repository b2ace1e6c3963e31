package file

import (
	"encoding/binary"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"

	"github.com/loamdb/loam/internal/fail"
)

// pending is a run of rows of one leaf, shredded: levels in the canonical
// numbering and the values of the visible entries.
type pending struct {
	leaf *leaf
	rows int64
	// rep is empty for leaves without lists; it is leaf.lists where a row starts.
	rep []uint16
	def []uint16
	// anyDef: some definition level is not zero.
	anyDef bool
	// visible counts the entries that own a value slot.
	visible int
	data    []byte
	// ends[i] is the end of value i in data, for variable width.
	ends []int64
	// longest is the longest value, for variable width.
	longest int
}

func (p *pending) reset() {
	*p = pending{leaf: p.leaf, rep: p.rep[:0], def: p.def[:0], data: p.data[:0], ends: p.ends[:0]}
}

// bytes is the raw size of what is pending.
func (p *pending) bytes() int { return len(p.data) + 8*len(p.ends) + 2*len(p.rep) }

// add shreds rows [from, to) of the top-level array.
func (p *pending) add(arr arrow.Array, from, to int) error {
	if len(p.leaf.path) == 1 {
		if err := p.addItems(arr, from, to, 0, 0); err != nil {
			return err
		}
	} else {
		for i := from; i < to; i++ {
			if err := p.addNode(arr, 0, i, uint16(p.leaf.lists)); err != nil {
				return err
			}
		}
	}
	p.rows += int64(to - from)
	return nil
}

// addNode shreds element i of the array at the depth of the path. rep is the
// repetition level of its first entry.
func (p *pending) addNode(arr arrow.Array, depth, i int, rep uint16) error {
	n := p.leaf.path[depth]
	if n.kind == nodeLeaf {
		return p.addItems(arr, i, i+1, rep, rep)
	}
	if arr.IsNull(i) {
		p.addHole(rep, p.leaf.nullLevel[depth])
		return nil
	}
	if n.kind == nodeStruct {
		st, ok := arr.(*array.Struct)
		if !ok {
			return fail.Bug("lance: column %q: %s where a struct is due", p.leaf.name, arr.DataType())
		}
		return p.addNode(st.Field(n.child), depth+1, i, rep)
	}
	list, ok := arr.(array.ListLike)
	if !ok {
		return fail.Bug("lance: column %q: %s where a list is due", p.leaf.name, arr.DataType())
	}
	start, end := list.ValueOffsets(i)
	if start >= end {
		p.addHole(rep, p.leaf.nullLevel[depth]+1)
		return nil
	}
	if p.leaf.path[depth+1].kind == nodeLeaf {
		return p.addItems(list.ListValues(), int(start), int(end), rep, 0)
	}
	for j := start; j < end; j++ {
		if err := p.addNode(list.ListValues(), depth+1, int(j), rep); err != nil {
			return err
		}
		rep = p.leaf.continues(depth)
	}
	return nil
}

// continues is the repetition level of the elements of the list at the depth after
// its first: the number of lists within it.
func (l *leaf) continues(depth int) uint16 {
	n := uint16(0)
	for _, below := range l.path[depth+1:] {
		if below.kind == nodeList {
			n++
		}
	}
	return n
}

// addHole adds an entry at which a node above the leaf is null or empty.
func (p *pending) addHole(rep, def uint16) {
	p.addLevel(rep, def)
	if def <= p.leaf.maxVisible {
		p.addZero()
	}
}

func (p *pending) addLevel(rep, def uint16) {
	if p.leaf.lists > 0 {
		p.rep = append(p.rep, rep)
	}
	p.def = append(p.def, def)
	p.anyDef = p.anyDef || def != 0
}

func (p *pending) addZero() {
	p.visible++
	if p.leaf.shape.variable() {
		p.ends = append(p.ends, int64(len(p.data)))
		return
	}
	p.data = append(p.data, make([]byte, p.leaf.shape.width)...)
}

// addItems adds elements [from, to) of the leaf's own array; the first gets the
// repetition level first, the others rest.
func (p *pending) addItems(arr arrow.Array, from, to int, first, rest uint16) error {
	if arr.Len() < to {
		return fail.Bug("lance: column %q: array of %d elements read to %d", p.leaf.name, arr.Len(), to)
	}
	for i := from; i < to && p.leaf.lists > 0; i++ {
		p.rep = append(p.rep, rest)
	}
	if p.leaf.lists > 0 && to > from {
		p.rep[len(p.rep)-(to-from)] = first
	}
	start := len(p.def)
	p.def = append(p.def, make([]uint16, to-from)...)
	hasNulls := arr.NullN() > 0
	if p.leaf.shape.empty() {
		for i := range to - from {
			p.def[start+i], p.anyDef = 1, true
		}
	} else if hasNulls {
		for i := from; i < to; i++ {
			if arr.IsNull(i) {
				p.def[start+i-from] = 1
				p.anyDef = true
			}
		}
	}
	p.visible += to - from
	if p.leaf.shape.variable() {
		return p.addVariable(arr, from, to, p.def[start:])
	}
	return p.addFixed(arr, from, to, p.def[start:], hasNulls)
}

func (p *pending) addFixed(arr arrow.Array, from, to int, def []uint16, hasNulls bool) error {
	sh := &p.leaf.shape
	off := arr.Data().Offset() + from
	if sh.dim > 0 {
		items := arr.Data().Children()[0]
		off = off*sh.dim + items.Offset()
		if err := p.checkItems(items, off, def); err != nil {
			return err
		}
		return p.copyFixed(items, off, (to-from)*sh.dim, sh.itemWidth, def, hasNulls)
	}
	return p.copyFixed(arr.Data(), off, to-from, sh.width, def, hasNulls)
}

// copyFixed appends n values (or items of vectors) of width bytes from place at.
func (p *pending) copyFixed(src arrow.ArrayData, at, n, width int, def []uint16, hasNulls bool) error {
	if n == 0 || p.leaf.shape.empty() {
		return nil
	}
	buf := src.Buffers()[1]
	start := len(p.data)
	need := (at + n) * width
	if p.leaf.shape.bits {
		need = (at + n + 7) / 8
	}
	if buf == nil || buf.Len() < need {
		return fail.Bug("lance: column %q: value buffer is too short", p.leaf.name)
	}
	if p.leaf.shape.bits {
		for i := at; i < at+n; i++ {
			p.data = append(p.data, buf.Bytes()[i/8]>>(i%8)&1)
		}
	} else {
		p.data = append(p.data, buf.Bytes()[at*width:(at+n)*width]...)
	}
	if !hasNulls {
		return nil
	}
	w := p.leaf.shape.width
	for i, d := range def {
		if d != 0 {
			clear(p.data[start+i*w : start+(i+1)*w])
		}
	}
	return nil
}

// checkItems refuses vectors with null items; def marks the null vectors.
func (p *pending) checkItems(items arrow.ArrayData, off int, def []uint16) error {
	if items.NullN() == 0 || items.Buffers()[0] == nil {
		return nil
	}
	bits, dim := items.Buffers()[0].Bytes(), p.leaf.shape.dim
	for i, d := range def {
		for j := 0; d == 0 && j < dim; j++ {
			if !bitutil.BitIsSet(bits, off+i*dim+j) {
				return fail.New(fail.InvalidVector, "lance: column %q: vector %d has a null item at position %d",
					p.leaf.name, i, j).WithHint("Store the whole vector as NULL, or fill the item.")
			}
		}
	}
	return nil
}

func (p *pending) addVariable(arr arrow.Array, from, to int, def []uint16) error {
	if to == from {
		return nil
	}
	data := arr.Data()
	offs, vals := data.Buffers()[1], data.Buffers()[2]
	w := p.leaf.shape.offsetBits / 8
	if offs == nil || offs.Len() < (data.Offset()+to+1)*w {
		return fail.Bug("lance: column %q: offset buffer is too short", p.leaf.name)
	}
	ob := offs.Bytes()[data.Offset()*w:]
	for i := from; i < to; i++ {
		if def[i-from] == 0 {
			a, b := offsetAt(ob, i, w), offsetAt(ob, i+1, w)
			if b > a {
				if vals == nil || a < 0 || b > int64(vals.Len()) {
					return fail.Bug("lance: column %q: value %d lies outside its buffer", p.leaf.name, i)
				}
				p.data = append(p.data, vals.Bytes()[a:b]...)
				p.longest = max(p.longest, int(b-a))
			}
		}
		p.ends = append(p.ends, int64(len(p.data)))
	}
	return nil
}

func offsetAt(b []byte, i, width int) int64 {
	if width == 4 {
		return int64(int32(binary.LittleEndian.Uint32(b[i*4:])))
	}
	return int64(binary.LittleEndian.Uint64(b[i*8:]))
}

// fits is how many rows of [from, to) may be added before the page budget is
// reached, at least 1 if there are any.
func (p *pending) fits(arr arrow.Array, from, to, budget int) int {
	sh := &p.leaf.shape
	switch {
	case len(p.leaf.path) > 1:
		return min(to-from, nestedStep)
	case sh.empty():
		return to - from
	case !sh.variable():
		return min(to-from, max(1, budget/sh.width))
	}
	data := arr.Data()
	w := sh.offsetBits / 8
	if offs := data.Buffers()[1]; offs == nil || offs.Len() < (data.Offset()+to+1)*w {
		return to - from
	}
	ob := data.Buffers()[1].Bytes()[data.Offset()*w:]
	base := offsetAt(ob, from, w)
	n := 1
	for n < to-from && offsetAt(ob, from+n, w)-base+int64(8*n) < int64(budget) {
		n++
	}
	return n
}

// nestedStep is the rows of a nested column added between two looks at the
// page's size; a row is the unit, however large it is.
const nestedStep = 64
