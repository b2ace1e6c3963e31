package file

import (
	"context"

	"github.com/loamdb/loam/storage/lance/internal/pb"
)

// In format 2.0 every node of a column has pages of its own, whose values are
// encoded as arrays: structs say nothing (their nulls are not stored), lists store
// where each ends in the pages of their items, leaves store validity and values.

// arrayPage is a page of format 2.0.
type arrayPage struct {
	index   int
	first   int64 // the node's row (or item) at which it starts
	rows    int64
	buffers []span
	enc     *pb.ArrayEncoding
	// firstItem is the item of the node below with which a page of lists starts.
	firstItem int64
	cache     arrayCache
}

// arrayNode is the pages of one node of a column.
type arrayNode struct {
	pages []*arrayPage
	rows  int64
}

// arrays is decoded values of some ranges of a page.
type arrays struct {
	n     int
	valid []byte // one byte each, 1 valid; nil: all are
	fixed []byte
	// ends and data are those of variable-width values; ends[i] is the end in data.
	ends []int
	data []byte
	// items is the validity of the items of vectors, one byte each; nil: all valid.
	items []byte
}

// arrayReader reads from one page.
type arrayReader struct {
	ctx  context.Context
	src  Source
	page *arrayPage
}

// values decodes the ranges of values of the shape.
func (r *arrayReader) values(e *pb.ArrayEncoding, ranges []rowRange, sh *shape) (arrays, error) {
	switch e.Kind {
	case pb.ArrayNullable:
		return r.nullable(e, ranges, sh)
	case pb.ArrayFixedSizeList:
		return r.vectors(e, ranges, sh)
	case pb.ArrayBinary:
		return r.binary(e, ranges, sh)
	case pb.ArrayFsst:
		return r.fsst(e, ranges, sh)
	case pb.ArrayDictionary:
		return r.dictionary(e, ranges, sh)
	case pb.ArrayPackedStruct:
		return r.packedRows(e, ranges, sh)
	case pb.ArrayFlat:
		if sh.variable() || sh.dim > 0 || sh.members != nil {
			break
		}
		fixed, err := r.flat(e, ranges, sh.storedBits())
		return arrays{n: rowsOf(ranges), fixed: fixed}, err
	}
	return arrays{}, unsupported("%s encoded as %s are not readable", typeName(sh), e.Kind)
}

func typeName(sh *shape) string {
	if sh.typ == nil {
		return "values"
	}
	return "values of type " + sh.typ.String()
}

func (r *arrayReader) nullable(e *pb.ArrayEncoding, ranges []rowRange, sh *shape) (arrays, error) {
	if e.Inner == nil {
		n := rowsOf(ranges)
		out := arrays{n: n, valid: make([]byte, n)}
		if sh.variable() {
			out.ends = make([]int, n)
		} else {
			out.fixed = make([]byte, n*sh.width)
		}
		return out, nil
	}
	out, err := r.values(e.Inner, ranges, sh)
	if err != nil || e.Second == nil {
		return out, err
	}
	if e.Second.Kind != pb.ArrayFlat {
		return out, unsupported("validity encoded as %s is not readable", e.Second.Kind)
	}
	out.valid, err = r.flat(e.Second, ranges, 1)
	return out, err
}

func (r *arrayReader) vectors(e *pb.ArrayEncoding, ranges []rowRange, sh *shape) (arrays, error) {
	if sh.dim == 0 || e.Items != uint64(sh.dim) || e.Inner == nil {
		return arrays{}, corrupt("vectors of %d items where %d are due", e.Items, sh.dim)
	}
	items := make([]rowRange, len(ranges))
	for i, x := range ranges {
		items[i] = rowRange{x.from * int64(sh.dim), x.to * int64(sh.dim)}
	}
	item := shape{width: sh.itemWidth, bits: sh.bits}
	in, err := r.values(e.Inner, items, &item)
	return arrays{n: rowsOf(ranges), fixed: in.fixed, items: in.valid}, err
}

// packedRows reads the rows of a packed struct, or the places of blobs, which are
// stored one behind the other.
func (r *arrayReader) packedRows(e *pb.ArrayEncoding, ranges []rowRange, sh *shape) (arrays, error) {
	if sh.members == nil || sh.variable() || len(e.Members) != len(sh.members) {
		return arrays{}, unsupported("packed structs of %d members are not readable here", len(e.Members))
	}
	rows := pb.ArrayEncoding{Kind: pb.ArrayFlat, Bits: uint64(sh.width) * 8, Buffer: e.Buffer}
	fixed, err := r.flat(&rows, ranges, rows.Bits)
	return arrays{n: rowsOf(ranges), fixed: fixed}, err
}

// fixedWidth is the bits of integers, whatever wraps them.
func fixedWidth(e *pb.ArrayEncoding) uint64 {
	for e != nil && e.Kind == pb.ArrayNullable {
		e = e.Inner
	}
	if e == nil {
		return 8
	}
	return e.Bits
}

// integers decodes unsigned integers, which must not be null.
func (r *arrayReader) integers(e *pb.ArrayEncoding, ranges []rowRange) ([]uint64, error) {
	bits := fixedWidth(e)
	width := int(bits / 8)
	if bits%8 != 0 || !word(width) {
		return nil, unsupported("integers of %d bits are not readable", bits)
	}
	v, err := r.values(e, ranges, &shape{width: width})
	if err != nil {
		return nil, err
	}
	out := make([]uint64, v.n)
	for i := range out {
		out[i] = readWord(v.fixed[i*width:], width)
	}
	return out, nil
}

// ends decodes for each range the ends of its elements and, in front of them, the
// end before it; an end with adjust added marks a null.
func (r *arrayReader) ends(e *pb.ArrayEncoding, ranges []rowRange) ([]uint64, error) {
	wide := make([]rowRange, len(ranges))
	for i, x := range ranges {
		wide[i] = rowRange{max(x.from-1, 0), x.to}
	}
	return r.integers(e, wide)
}

// element is one variable-width value or list of a page.
type element struct {
	from, to uint64
	null     bool
}

// elements turns ends into bounds.
func (r *arrayReader) elements(e *pb.ArrayEncoding, adjust uint64, ranges []rowRange, limit uint64) ([]element, error) {
	if e == nil || adjust == 0 {
		if rowsOf(ranges) == 0 {
			return nil, nil
		}
		return nil, corrupt("offsets without their adjustment")
	}
	ends, err := r.ends(e, ranges)
	if err != nil {
		return nil, err
	}
	out := make([]element, 0, rowsOf(ranges))
	for _, x := range ranges {
		prev := uint64(0)
		if x.from > 0 {
			prev, ends = ends[0]%adjust, ends[1:]
		}
		for range x.to - x.from {
			el := element{from: prev, to: ends[0] % adjust, null: ends[0] >= adjust}
			if el.to < el.from || el.to > limit {
				return nil, corrupt("offset %d of value %d is out of order or of the page", el.to, len(out))
			}
			out = append(out, el)
			prev, ends = el.to, ends[1:]
		}
	}
	return out, nil
}

func (r *arrayReader) binary(e *pb.ArrayEncoding, ranges []rowRange, sh *shape) (arrays, error) {
	if !sh.variable() || e.Inner == nil || e.Inner.Kind != pb.ArrayFlat {
		return arrays{}, unsupported("%s encoded as binary are not readable", typeName(sh))
	}
	els, err := r.elements(e.Second, e.Adjust, ranges, uint64(r.page.maxBytes()))
	if err != nil {
		return arrays{}, err
	}
	out := arrays{n: len(els), ends: make([]int, len(els))}
	var bytes []rowRange
	end := 0
	for i, el := range els {
		if el.null {
			if out.valid == nil {
				out.valid = allValid(len(els))
			}
			out.valid[i] = 0
		}
		bytes = appendRange(bytes, rowRange{int64(el.from), int64(el.to)})
		end += int(el.to - el.from)
		out.ends[i] = end
	}
	out.data, err = r.flat(e.Inner, bytes, 8)
	return out, err
}

func allValid(n int) []byte {
	out := make([]byte, n)
	for i := range out {
		out[i] = 1
	}
	return out
}

// appendRange appends a range, joined with the last one if it continues it.
func appendRange(to []rowRange, x rowRange) []rowRange {
	if x.from == x.to {
		return to
	}
	if n := len(to); n > 0 && to[n-1].to == x.from {
		to[n-1].to = x.to
		return to
	}
	return append(to, x)
}

func (r *arrayReader) fsst(e *pb.ArrayEncoding, ranges []rowRange, sh *shape) (arrays, error) {
	if e.Inner == nil {
		return arrays{}, corrupt("compressed strings without their encoding")
	}
	v, err := r.values(e.Inner, ranges, sh)
	if err != nil {
		return v, err
	}
	t, err := r.page.cache.symbols.get(e.Table)
	if err != nil || t.plain {
		return v, err
	}
	if !sh.variable() {
		return v, corrupt("symbols for values of fixed width")
	}
	var data []byte
	from := 0
	for i, end := range v.ends {
		if data, err = t.decode(v.data[from:end], data); err != nil {
			return v, err
		}
		from, v.ends[i] = end, len(data)
	}
	v.data = data
	return v, nil
}

// dictionary looks values up. In a column that is no dictionary itself, index 0
// means null, and the items count from 1.
func (r *arrayReader) dictionary(e *pb.ArrayEncoding, ranges []rowRange, sh *shape) (arrays, error) {
	if e.Second == nil || e.Inner == nil {
		return arrays{}, corrupt("dictionary without indices or items")
	}
	items, err := r.items(e, sh)
	if err != nil {
		return arrays{}, err
	}
	indices, err := r.integers(e.Second, ranges)
	if err != nil {
		return arrays{}, err
	}
	out := arrays{n: len(indices)}
	for i, k := range indices {
		if !sh.dictionary {
			k-- // 0 becomes the highest number, which no dictionary has
		}
		null := k == ^uint64(0) && !sh.dictionary
		if !null && k >= uint64(items.n) {
			return out, corrupt("dictionary index %d of %d", k, items.n)
		}
		if null || (items.valid != nil && items.valid[k] == 0) {
			if out.valid == nil {
				out.valid = allValid(len(indices))
			}
			out.valid[i] = 0
			null = true
		}
		if len(out.data) > maxChunkExpansion*16 {
			return out, unsupported("dictionary values expand to more than %d bytes", maxChunkExpansion*16)
		}
		out.addItem(&items, int(k), null, sh)
	}
	return out, nil
}

func (v *arrays) addItem(items *arrays, k int, null bool, sh *shape) {
	switch {
	case sh.variable():
		if !null {
			from := 0
			if k > 0 {
				from = items.ends[k-1]
			}
			v.data = append(v.data, items.data[from:items.ends[k]]...)
		}
		v.ends = append(v.ends, len(v.data))
	case null:
		v.fixed = append(v.fixed, make([]byte, sh.width)...)
	default:
		v.fixed = append(v.fixed, items.fixed[k*sh.width:(k+1)*sh.width]...)
	}
}
