package file

import (
	"math/bits"

	"github.com/loamdb/loam/storage/lance/internal/pb"
)

// segment is the content of one page: a row-aligned part of a pending.
type segment struct {
	leaf     *leaf
	rows     int64
	rep, def []uint16
	visible  int
	data     []byte
	// ends are absolute within the pending; base is where this segment's data starts.
	ends    []int64
	base    int64
	longest int

	layers []pb.Layer
	// hasDef: def holds compact levels up to maxDef; otherwise every entry is valid.
	hasDef bool
	maxDef uint16
}

// maxHoles bounds the entries without a value (empty or null lists) that may
// fall into one mini-block chunk, whose level count is a u16 and whose size is
// at most 32 KiB. A page that would exceed it is cut instead, at the next row.
const maxHoles = 2048

// segments cuts the pending rows into pages. Only leaves below a list are ever
// cut; all others become one segment.
func (p *pending) segments() []*segment {
	if p.rows == 0 {
		return nil
	}
	if p.leaf.lists == 0 || p.visible == 0 {
		return []*segment{p.segment(0, len(p.def), 0, p.visible)}
	}
	var out []*segment
	perChunk := 1 // of variable width the next value may start a chunk
	if !p.leaf.shape.variable() {
		perChunk = p.leaf.shape.chunkValues()
	}
	holes, seen, start, startSeen := 0, 0, 0, 0
	for i, d := range p.def {
		if d > p.leaf.maxVisible {
			if holes >= maxHoles && int(p.rep[i]) == p.leaf.lists { // pages hold whole rows
				out = append(out, p.segment(start, i, startSeen, seen))
				start, startSeen, holes = i, seen, 0
			}
			holes++
			continue
		}
		seen++
		if (seen-startSeen)&(perChunk-1) == 0 { // a power of two
			holes = 0
		}
	}
	return append(out, p.segment(start, len(p.def), startSeen, seen))
}

// segment makes the page of entries [from, to) with values [visFrom, visTo).
func (p *pending) segment(from, to, visFrom, visTo int) *segment {
	s := &segment{leaf: p.leaf, def: p.def[from:to], visible: visTo - visFrom, longest: p.longest}
	if p.leaf.lists > 0 {
		s.rep = p.rep[from:to]
		for _, r := range s.rep {
			if int(r) == p.leaf.lists {
				s.rows++
			}
		}
	} else {
		s.rows = int64(to - from)
	}
	if w := p.leaf.shape.width; !p.leaf.shape.variable() {
		s.data = p.data[visFrom*w : visTo*w]
	} else {
		if visFrom > 0 {
			s.base = p.ends[visFrom-1]
		}
		s.ends = p.ends[visFrom:visTo]
		s.data = p.data
	}
	s.compact(p.anyDef)
	return s
}

// compact chooses the layers by what the segment contains and rewrites the
// levels into the compact numbering. One layer does not depend on the content: a
// nullable struct around a list is always stored as such, because Lance 12
// miscounts the rows of a batch that spans pages with and without that layer.
func (s *segment) compact(anyDef bool) {
	used := make([]bool, s.leaf.levels())
	if anyDef {
		for _, d := range s.def {
			used[d] = true
		}
	}
	for i, n := range s.leaf.path {
		if s.leaf.lists > 0 && n.kind == nodeStruct && n.nullable {
			used[s.leaf.nullLevel[i]] = true
		}
	}
	remap := make([]uint16, len(used))
	for i := len(s.leaf.path) - 1; i >= 0; i-- {
		null := s.leaf.nullLevel[i]
		if s.leaf.path[i].kind != nodeList {
			layer := pb.AllValidItem
			if used[null] {
				s.maxDef++
				remap[null], layer = s.maxDef, pb.NullableItem
			}
			s.layers = append(s.layers, layer)
			continue
		}
		layer := pb.AllValidList
		if used[null] {
			s.maxDef++
			remap[null], layer = s.maxDef, pb.NullableList
		}
		if used[null+1] {
			s.maxDef++
			remap[null+1] = s.maxDef
			layer = pb.EmptyableList
			if used[null] {
				layer = pb.NullAndEmptyList
			}
		}
		s.layers = append(s.layers, layer)
	}
	if s.hasDef = s.maxDef > 0; s.hasDef {
		for i, d := range s.def {
			s.def[i] = remap[d]
		}
	}
}

// allNull: a flat page without any value, stored without buffers.
func (s *segment) allNull() bool {
	if len(s.leaf.path) != 1 || !s.hasDef {
		return false
	}
	for _, d := range s.def {
		if d == 0 {
			return false
		}
	}
	return true
}

// value is the i-th value of a variable-width segment.
func (s *segment) value(i int) []byte {
	from := s.base
	if i > 0 {
		from = s.ends[i-1]
	}
	return s.data[from:s.ends[i]]
}

func bitLen(v uint16) uint32 { return uint32(bits.Len16(v)) }
