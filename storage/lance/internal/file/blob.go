package file

import (
	"context"
	"encoding/binary"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/loamdb/loam/storage/lance/internal/pb"
)

// blobPlace is the shape of a blob's place: u64 position, u64 size. A size of 0 is
// an empty value, or one without a value: its levels are then the low 32 bits of the
// position, repetition below definition.
var blobPlace = shape{width: 16, members: []shape{{width: 8}, {width: 8}}}

// blobPage makes the page of places within a blob page, and checks what can be
// checked.
func (p *storedPage) blobPage(l *pb.BlobLayout) error {
	switch {
	case l.Inner == nil:
		return corrupt("blob page without the layout of its places")
	case p.col.leaf.lists > 0 || !p.col.leaf.shape.variable():
		return unsupported("blobs of type %s below lists or structs are not readable", p.col.leaf.shape.typ)
	}
	places := &leaf{name: p.col.leaf.name, path: []node{{kind: nodeLeaf}}, shape: blobPlace}
	places.number()
	inner := &storedPage{col: &column{leaf: places}, rows: p.rows, buffers: p.buffers, layout: *l.Inner}
	p.blobs = inner
	return inner.validate()
}

// readBlobs reads the places of the rows, then the values.
func (p *storedPage) readBlobs(ctx context.Context, src Source, ranges []rowRange, to *sink) error {
	at := &sink{leaf: p.blobs.col.leaf, nodes: make([]nodeSink, 1), values: growBuf{mem: memory.DefaultAllocator}}
	at.nodes[0].valid.buf.mem = memory.DefaultAllocator
	defer at.release()
	if err := p.blobs.readLayout(ctx, src, ranges, at); err != nil {
		return err
	}
	places := at.values.used()
	run := levelRun{n: len(places) / blobPlace.width}
	run.def = make([]uint16, run.n)
	spans := make([]span, run.n)
	total := uint64(0)
	for i := range spans {
		pos, size := binary.LittleEndian.Uint64(places[16*i:]), binary.LittleEndian.Uint64(places[16*i+8:])
		if size == 0 {
			run.def[i] = uint16(pos >> 16)
			continue
		}
		if total += size; pos > uint64(p.col.limit) || size > uint64(p.col.limit)-pos || total > uint64(p.col.limit) {
			return corrupt("blob %d: bytes %d+%d lie outside the file of %d or overlap others", i, pos, size, p.col.limit)
		}
		spans[i] = span{int64(pos), int64(size)}
	}
	if err := p.levels.check(run); err != nil {
		return err
	}
	bufs, err := readSpans(ctx, src, spans)
	if err != nil {
		return err
	}
	to.addFlat(&p.levels, run)
	to.values.hint(int(total))
	for _, b := range bufs {
		to.addValue(b)
	}
	return nil
}
