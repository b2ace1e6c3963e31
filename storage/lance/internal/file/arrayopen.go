package file

import (
	"encoding/binary"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/storage/lance/internal/pb"
)

// maxNodeRows bounds the items that the lists of a file may claim.
const maxNodeRows = 1 << 40

// shared is how many nodes two leaves of a field have in common, outermost first.
func shared(a, b *leaf) int {
	n := 0
	for n < len(a.path) && n < len(b.path) && a.path[n].kind == b.path[n].kind && a.path[n].kind != nodeLeaf {
		n++
		if a.path[n-1].child != b.path[n-1].child {
			break
		}
	}
	return n
}

// arrayColumns counts the columns of a field's leaves in format 2.0, in which every
// node has one.
func arrayColumns(leaves []*leaf) int {
	n := 0
	for i, l := range leaves {
		n += len(l.path)
		if i > 0 {
			n -= shared(leaves[i-1], l)
		}
	}
	return n
}

// readArrayField reads the metadata of a top-level field whose columns begin at
// index first. table is the file's column table.
func (f *File) readArrayField(r *metaReader, leaves []*leaf, table []byte, first int) ([]*column, error) {
	var out []*column
	at := first
	for i, l := range leaves {
		c := &column{leaf: l, index: at, limit: f.size}
		keep := 0
		if i > 0 {
			keep = shared(leaves[i-1], l)
			c.arrays = append(c.arrays, out[i-1].arrays[:keep]...)
		}
		for depth := keep; depth < len(l.path); depth++ {
			rows := f.rows
			if depth > 0 {
				rows = below(l.path[depth-1], c.arrays[depth-1])
			}
			kind := l.path[depth].kind
			if l.shape.hollow && kind == nodeLeaf {
				kind = nodeStruct
			}
			node, err := f.readArrayNode(r, kind, table[16*at:], rows)
			if err != nil {
				return nil, fail.Wrap(fail.CodeOf(err), err, "column %q (column %d of the file)", l.name, at)
			}
			c.arrays = append(c.arrays, node)
			at++
		}
		out = append(out, c)
	}
	return out, nil
}

// below is how many rows the node under this one has.
func below(n node, a *arrayNode) int64 {
	if n.kind != nodeList {
		return a.rows
	}
	items := int64(0)
	for _, p := range a.pages {
		items += int64(p.enc.Items)
	}
	return items
}

// readArrayNode reads the pages of one node, which hold the rows.
func (f *File) readArrayNode(r *metaReader, kind nodeKind, entry []byte, rows int64) (*arrayNode, error) {
	node := &arrayNode{rows: rows}
	if kind == nodeStruct {
		return node, nil
	}
	at, size := binary.LittleEndian.Uint64(entry), binary.LittleEndian.Uint64(entry[8:])
	buf, err := r.read("column metadata", at, size)
	if err != nil {
		return nil, err
	}
	meta, err := pb.DecodeColumnMetadata(buf)
	if err != nil {
		return nil, err
	}
	var first, firstItem int64
	for i := range meta.Pages {
		p, err := f.readArrayPage(&meta.Pages[i])
		if err != nil {
			return nil, fail.Wrap(fail.CodeOf(err), err, "page %d", i)
		}
		if p.rows == 0 {
			continue
		}
		if kind == nodeList && (p.enc.Kind != pb.ArrayList || p.enc.Items > maxNodeRows) {
			return nil, unsupported("page %d: lists encoded as %s of %d items are not readable", i, p.enc.Kind, p.enc.Items)
		}
		p.index, p.first, p.firstItem = i, first, firstItem
		first += p.rows
		firstItem += int64(p.enc.Items)
		node.pages = append(node.pages, p)
		if first > rows || firstItem > maxNodeRows {
			break
		}
	}
	if first != rows {
		return nil, corrupt("its pages hold %d rows where %d are due", first, rows)
	}
	return node, nil
}

func (f *File) readArrayPage(meta *pb.Page) (*arrayPage, error) {
	if meta.TypeURL != pb.ArrayEncodingURL {
		return nil, unsupported("page encoding %q is not readable", meta.TypeURL)
	}
	if meta.Rows > maxNodeRows {
		return nil, corrupt("it claims %d rows", meta.Rows)
	}
	enc, err := pb.DecodeArrayEncoding(meta.Encoding)
	if err != nil {
		return nil, err
	}
	p := &arrayPage{rows: int64(meta.Rows), enc: enc}
	p.buffers, err = f.spansOf(meta)
	return p, err
}

// spansOf are the places of a page's buffers, which must lie in the file.
func (f *File) spansOf(meta *pb.Page) ([]span, error) {
	out := make([]span, 0, len(meta.BufferOffsets))
	for i, off := range meta.BufferOffsets {
		size := meta.BufferSizes[i]
		if off > uint64(f.size) || size > uint64(f.size)-off {
			return nil, corrupt("buffer %d: bytes %d+%d lie outside the file of %d", i, off, size, f.size)
		}
		out = append(out, span{int64(off), int64(size)})
	}
	return out, nil
}
