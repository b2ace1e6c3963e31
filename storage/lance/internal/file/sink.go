package file

import (
	"encoding/binary"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/loamdb/loam/internal/fail"
)

// sink collects the rows of one leaf, whatever pages they come from, as the
// Arrow buffers of its path.
type sink struct {
	leaf  *leaf
	nodes []nodeSink
	// values is the fixed-width values, or the bytes of the variable-width ones.
	values  growBuf
	offsets growBuf // variable width: len+1 offsets of the type's width
	items   bitmap  // validity of the items of vectors
}

// nodeSink is the validity of one path node and, for a list, its offsets.
type nodeSink struct {
	valid   bitmap
	items   int64 // list: child elements so far
	offsets growBuf
	wide    bool
}

func newSink(l *leaf, field arrow.Field, mem memory.Allocator) *sink {
	s := &sink{leaf: l, nodes: make([]nodeSink, len(l.path)), values: growBuf{mem: mem}, offsets: growBuf{mem: mem}}
	s.items.buf.mem = mem
	t := field.Type
	for i, n := range l.path {
		ns := &s.nodes[i]
		ns.valid.buf.mem, ns.offsets.mem = mem, mem
		switch dt := t.(type) {
		case *arrow.StructType:
			if n.kind == nodeStruct {
				t = dt.Field(n.child).Type
			}
		case *arrow.ListType:
			t = dt.Elem()
			ns.putOffset()
		case *arrow.MapType:
			t = dt.Elem()
			ns.putOffset()
		case *arrow.LargeListType:
			ns.wide = true
			t = dt.Elem()
			ns.putOffset()
		}
	}
	if l.shape.variable() {
		s.putValueEnd()
	}
	return s
}

func (s *sink) release() {
	s.values.release()
	s.offsets.release()
	s.items.buf.release()
	for i := range s.nodes {
		s.nodes[i].valid.buf.release()
		s.nodes[i].offsets.release()
	}
}

func (n *nodeSink) putOffset() {
	if n.wide {
		binary.LittleEndian.PutUint64(n.offsets.extend(8), uint64(n.items))
	} else {
		binary.LittleEndian.PutUint32(n.offsets.extend(4), uint32(n.items))
	}
}

// addElements counts more children of the list that was started last.
func (n *nodeSink) addElements(k int) {
	n.items += int64(k)
	if b := n.offsets.used(); n.wide {
		binary.LittleEndian.PutUint64(b[len(b)-8:], uint64(n.items))
	} else {
		binary.LittleEndian.PutUint32(b[len(b)-4:], uint32(n.items))
	}
}

func (s *sink) putValueEnd() {
	if s.leaf.shape.offsetBits == 64 {
		binary.LittleEndian.PutUint64(s.offsets.extend(8), uint64(s.values.n))
	} else {
		binary.LittleEndian.PutUint32(s.offsets.extend(4), uint32(s.values.n))
	}
}

// addValue appends one variable-width value.
func (s *sink) addValue(v []byte) {
	copy(s.values.extend(len(v)), v)
	s.putValueEnd()
}

// addValues appends variable-width values that lie one behind the other: value i
// ends at offs[i+1]-offs[0].
func (s *sink) addValues(data []byte, offs []uint32) {
	base := s.values.n
	copy(s.values.extend(len(data)), data)
	if s.leaf.shape.offsetBits == 64 {
		out := s.offsets.extend(8 * (len(offs) - 1))
		for i, o := range offs[1:] {
			binary.LittleEndian.PutUint64(out[8*i:], uint64(base)+uint64(o-offs[0]))
		}
		return
	}
	out := s.offsets.extend(4 * (len(offs) - 1))
	for i, o := range offs[1:] {
		binary.LittleEndian.PutUint32(out[4*i:], uint32(base)+(o-offs[0]))
	}
}

// addItemBits appends the validity of items, bits [from, to), set where valid;
// their values follow.
func (s *sink) addItemBits(bits []byte, from, to int) {
	s.evenItems()
	for i := from; i < to; {
		if bits[i/8]>>(i%8)&1 == 0 {
			s.items.addNull()
			i++
			continue
		}
		j := i + 1
		for j < to && bits[j/8]>>(j%8)&1 == 1 {
			j++
		}
		s.items.addValid(j - i)
		i = j
	}
}

// checkItems refuses null items of vectors that are not null themselves.
func (s *sink) checkItems() error {
	if s.items.nulls == 0 {
		return nil
	}
	s.evenItems()
	valid, dim := &s.nodes[len(s.nodes)-1].valid, s.leaf.shape.dim
	for i := range s.items.n {
		if bitutil.BitIsSet(s.items.buf.used(), i) || (valid.nulls > 0 && !bitutil.BitIsSet(valid.buf.used(), i/dim)) {
			continue
		}
		return unsupported("column %q: vector %d has a null item at position %d", s.leaf.name, i/dim, i%dim)
	}
	return nil
}

// evenItems makes the item validity as long as the values so far.
func (s *sink) evenItems() {
	if n := s.values.n/s.leaf.shape.itemWidth - s.items.n; n > 0 {
		s.items.addValid(n)
	}
}

// expect makes room for the rows where their size is known.
func (s *sink) expect(rows int) {
	switch {
	case s.leaf.lists > 0:
	case s.leaf.shape.variable():
		s.offsets.hint(rows * s.leaf.shape.offsetBits / 8)
	default:
		s.values.hint(rows * s.leaf.shape.width)
	}
}

// addZeros appends n value slots without content (nulls).
func (s *sink) addZeros(n int) {
	if !s.leaf.shape.variable() {
		clear(s.values.extend(n * s.leaf.shape.width))
		return
	}
	for range n {
		s.putValueEnd()
	}
}

// addLevels appends entries; the caller appends their visible values. m must
// have checked the run.
func (s *sink) addLevels(m *levelMap, r levelRun) error {
	if s.leaf.lists == 0 {
		s.addFlat(m, r)
		return nil
	}
	for i := 0; i < r.n; i++ {
		if n := r.plainItems(i); n > 0 {
			if err := s.addItems(m, n); err != nil {
				return err
			}
			if i += n; i == r.n {
				return nil
			}
		}
		rep, def := m.top, uint16(0)
		if r.rep != nil {
			rep = r.rep[i]
		}
		if r.def != nil {
			def = r.def[i]
		}
		depth := m.start[rep]
		if rep == m.top {
			depth = 0
		}
		if depth > 0 {
			if s.nodes[depth-1].valid.n == 0 {
				return errNoList
			}
			s.nodes[depth-1].addElements(1)
		}
		s.addEntry(m, depth, def)
	}
	return nil
}

var errNoList = corrupt("the first entry continues a list that has not begun")

// addItems appends n valid items to the innermost list: most of what a page with
// lists holds.
func (s *sink) addItems(m *levelMap, n int) error {
	depth := m.start[0]
	if s.nodes[depth-1].valid.n == 0 {
		return errNoList
	}
	s.nodes[depth-1].addElements(n)
	for i := depth; i < len(s.nodes); i++ {
		s.nodes[i].valid.addValid(n)
	}
	return nil
}

func (s *sink) addFlat(m *levelMap, r levelRun) {
	for i := range s.nodes {
		v := &s.nodes[i].valid
		null := m.null[i]
		if r.def == nil || m.max == 0 {
			v.addValid(r.n)
			continue
		}
		// A null further out (a higher level) makes this node null too.
		lowest := null
		for j := i - 1; j >= 0 && lowest == 0; j-- {
			lowest = m.null[j]
		}
		for _, d := range r.def {
			if lowest != 0 && d >= lowest {
				v.addNull()
			} else {
				v.addValid(1)
			}
		}
	}
}

// addEntry appends one entry from the depth inwards.
func (s *sink) addEntry(m *levelMap, depth int, def uint16) {
	for i := depth; i < len(s.nodes); i++ {
		n, isList := &s.nodes[i], s.leaf.path[i].kind == nodeList
		if def != 0 && def == m.null[i] {
			s.addNullFrom(i)
			return
		}
		n.valid.addValid(1)
		if !isList {
			continue
		}
		n.putOffset()
		if def != 0 && def == m.empty[i] {
			return
		}
		n.addElements(1)
	}
}

// addNullFrom makes node i null, and with it what Arrow keeps aligned below: all
// nodes down to the next list, which stays without elements.
func (s *sink) addNullFrom(i int) {
	for ; i < len(s.nodes); i++ {
		s.nodes[i].valid.addNull()
		if s.leaf.path[i].kind == nodeList {
			s.nodes[i].putOffset()
			return
		}
	}
}

// checkLimits refuses arrays that outgrow 32-bit offsets.
func (s *sink) checkLimits() error {
	tooLarge := s.leaf.shape.variable() && s.leaf.shape.offsetBits == 32 && s.values.n > math.MaxInt32
	for i := range s.nodes {
		tooLarge = tooLarge || (!s.nodes[i].wide && s.nodes[i].items > math.MaxInt32)
	}
	if tooLarge {
		return tooLong(s.leaf.name)
	}
	return nil
}

func tooLong(column string) error {
	return fail.New(fail.TooLarge, "lance: column %q: more than 2 GiB in one batch", column).
		WithHint("Read fewer rows at a time.")
}

// buildArray makes the array of a field from the sinks of its leaves and
// consumes their buffers.
func buildArray(t arrow.DataType, sinks []*sink, depth int) (arrow.ArrayData, error) {
	s := sinks[0]
	n := &s.nodes[depth]
	count, nulls := n.valid.n, n.valid.nulls
	var bufs []*memory.Buffer
	var children []arrow.ArrayData
	defer func() {
		for _, b := range bufs {
			if b != nil {
				b.Release()
			}
		}
		for _, c := range children {
			c.Release()
		}
	}()
	bufs = append(bufs, n.valid.buffer())
	if s.leaf.path[depth].kind == nodeLeaf {
		return s.leafArray(t, bufs[0])
	}
	switch dt := t.(type) {
	case *arrow.StructType:
		for i := 0; i < len(sinks); {
			child := sinks[i].leaf.path[depth].child
			j := i
			for j < len(sinks) && sinks[j].leaf.path[depth].child == child {
				j++
			}
			c, err := buildArray(dt.Field(child).Type, sinks[i:j], depth+1)
			if err != nil {
				return nil, err
			}
			children = append(children, c)
			if c.Len() != count {
				return nil, corrupt("struct of column %q: %d rows against %d of its child", s.leaf.name, count, c.Len())
			}
			i = j
		}
	case arrow.ListLikeType:
		bufs = append(bufs, n.offsets.buffer())
		c, err := buildArray(dt.Elem(), sinks, depth+1)
		if err != nil {
			return nil, err
		}
		children = append(children, c)
		if int64(c.Len()) != n.items {
			return nil, corrupt("list of column %q: %d elements against %d of its child", s.leaf.name, n.items, c.Len())
		}
	}
	return array.NewData(t, count, bufs, children, nulls, 0), nil
}
