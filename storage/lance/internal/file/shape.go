package file

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/extensions"

	"github.com/loamdb/loam/internal/fail"
)

// nodeKind says what one step of the path from a top-level field to a leaf is.
type nodeKind uint8

const (
	nodeStruct nodeKind = iota
	nodeList
	nodeLeaf
)

// node is one step of a leaf's path. child is the position of the next step
// within a struct; nullable is the step's own field's.
type node struct {
	kind     nodeKind
	child    int
	nullable bool
}

// shape is how the values of a leaf lie in memory.
type shape struct {
	typ arrow.DataType
	// width is the bytes of one value while it is read, 0 for variable width and
	// for the null type.
	width int
	// bits: the values (of a vector: the items) are booleans, stored as bits and
	// one byte each while they are read.
	bits bool
	// offsetBits is 32 or 64 for variable width.
	offsetBits int
	// dim and itemWidth describe vectors; dim is 0 otherwise.
	dim, itemWidth int
	// dictionary: the column's own type is a dictionary, read as its values.
	dictionary bool
	// members are the fields of a packed struct, whose values lie one behind the
	// other in each row.
	members []shape
	// blob: the members are the place of a value that lies elsewhere.
	blob bool
	// json: the values are documents in a binary form, read as text.
	json bool
	// hollow: a struct without fields, of which there is nothing to read.
	hollow bool
}

func (s *shape) variable() bool { return s.offsetBits > 0 }

// empty: the null type, which has no values.
func (s *shape) empty() bool { return s.width == 0 && s.offsetBits == 0 }

// storedBits is the bits of one value, or item of a vector, in a file.
func (s *shape) storedBits() uint64 {
	switch {
	case s.bits:
		return 1
	case s.dim > 0:
		return uint64(s.itemWidth) * 8
	}
	return uint64(s.width) * 8
}

// leaf is one column of a file: a path of nodes, outermost first, and the shape
// of its values.
//
// Definition levels in this package have two numberings. The canonical one
// assumes that every layer may be null and every list empty, counted from the
// leaf: a leaf or struct takes one level (null), a list two (null, then empty).
// Pages store the compact numbering, in which layers that hold no nulls or
// empties take no level.
type leaf struct {
	name  string // dotted path, for errors
	top   int    // ordinal of the top-level field
	path  []node
	lists int
	shape shape
	// nullLevel[i] is the canonical level "node i is null"; a list's empty level
	// is one above.
	nullLevel []uint16
	// maxVisible is the highest canonical level whose entries own a value slot:
	// those of the nodes inside the innermost list.
	maxVisible uint16
}

// levels is the count of canonical levels, 0 included.
func (l *leaf) levels() int {
	n := 1
	for _, p := range l.path {
		n++
		if p.kind == nodeList {
			n++
		}
	}
	return n
}

// leavesOf lists the leaves of the schema in depth-first order, which is the
// order of a 2.1 file's columns.
func leavesOf(schema *arrow.Schema) ([]*leaf, error) {
	var out []*leaf
	for i, f := range schema.Fields() {
		ls, err := collectLeaves(f, i, f.Name, nil, 0)
		if err != nil {
			return nil, err
		}
		out = append(out, ls...)
	}
	return out, nil
}

func collectLeaves(f arrow.Field, top int, name string, path []node, depth int) ([]*leaf, error) {
	if depth > maxNesting {
		return nil, fail.New(fail.Unsupported, "lance: column %q is nested deeper than %d", name, maxNesting)
	}
	switch t := f.Type.(type) {
	case *arrow.StructType:
		if packed(f) || t.NumFields() == 0 {
			break
		}
		var out []*leaf
		for i, c := range t.Fields() {
			sub, err := collectLeaves(c, top, name+"."+c.Name, appendNode(path, node{nodeStruct, i, f.Nullable}), depth+1)
			if err != nil {
				return nil, err
			}
			out = append(out, sub...)
		}
		return out, nil
	case *arrow.ListType:
		return collectLeaves(t.ElemField(), top, name, appendNode(path, node{kind: nodeList, nullable: f.Nullable}), depth+1)
	case *arrow.LargeListType:
		return collectLeaves(t.ElemField(), top, name, appendNode(path, node{kind: nodeList, nullable: f.Nullable}), depth+1)
	case *arrow.MapType:
		return collectLeaves(t.ElemField(), top, name, appendNode(path, node{kind: nodeList, nullable: f.Nullable}), depth+1)
	}
	sh, err := shapeOf(f.Type)
	if err == nil && placedBlob(f) {
		sh = blobShape
	}
	if err != nil {
		return nil, fail.Wrap(fail.CodeOf(err), err, "lance: column %q", name)
	}
	l := &leaf{name: name, top: top, path: appendNode(path, node{kind: nodeLeaf, nullable: f.Nullable}), shape: sh}
	l.number()
	return []*leaf{l}, nil
}

// appendNode copies, because siblings share the prefix.
func appendNode(path []node, n node) []node {
	return append(append(make([]node, 0, len(path)+1), path...), n)
}

func (l *leaf) number() {
	l.nullLevel = make([]uint16, len(l.path))
	next := uint16(1)
	for i := len(l.path) - 1; i >= 0; i-- {
		l.nullLevel[i] = next
		next++
		if l.path[i].kind == nodeList {
			next++
			l.lists++
		} else if l.lists == 0 {
			l.maxVisible = l.nullLevel[i]
		}
	}
}

func shapeOf(t arrow.DataType) (shape, error) {
	switch dt := t.(type) {
	case *arrow.NullType:
		return shape{typ: t}, nil
	case *arrow.BooleanType:
		return shape{typ: t, width: 1, bits: true}, nil
	case *arrow.StringType, *arrow.BinaryType:
		return shape{typ: t, offsetBits: 32}, nil
	case *arrow.LargeStringType, *arrow.LargeBinaryType:
		return shape{typ: t, offsetBits: 64}, nil
	case *arrow.FixedSizeListType:
		item, err := shapeOf(dt.Elem())
		if err == nil && vectorItem(dt.Elem()) && dt.Len() > 0 {
			return shape{typ: t, width: item.width * int(dt.Len()), bits: item.bits, dim: int(dt.Len()), itemWidth: item.width}, nil
		}
	case *extensions.JSONType:
		return shape{typ: t, offsetBits: 64, json: true}, nil
	case *arrow.StructType:
		if dt.NumFields() == 0 {
			return shape{typ: t, hollow: true}, nil
		}
		return packedShape(dt)
	case arrow.FixedWidthDataType:
		if dt.BitWidth()%8 == 0 && dt.BitWidth() > 0 {
			return shape{typ: t, width: dt.BitWidth() / 8}, nil
		}
	}
	return shape{}, fail.New(fail.Unsupported, "type %s is not supported", t)
}
