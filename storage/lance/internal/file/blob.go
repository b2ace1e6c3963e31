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

// blobSpans are the places of blobs in a file of limit bytes, which they share.
type blobSpans struct {
	limit, total uint64
	all          []span
}

// add appends a place. One without bytes goes behind the last, so that reads on both
// sides of it can be one.
func (b *blobSpans) add(pos, size uint64) error {
	if size == 0 {
		at := int64(0)
		if n := len(b.all); n > 0 {
			at = b.all[n-1].off + b.all[n-1].size
		}
		b.all = append(b.all, span{at, 0})
		return nil
	}
	if b.total += size; pos > b.limit || size > b.limit-pos || b.total > b.limit {
		return corrupt("blob %d: bytes %d+%d lie outside the file of %d or overlap others", len(b.all), pos, size, b.limit)
	}
	b.all = append(b.all, span{int64(pos), int64(size)})
	return nil
}

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
	spans := blobSpans{limit: uint64(p.col.limit)}
	for i := range run.n {
		pos, size := binary.LittleEndian.Uint64(places[16*i:]), binary.LittleEndian.Uint64(places[16*i+8:])
		if size == 0 {
			run.def[i], pos = uint16(pos>>16), 0
		}
		if err := spans.add(pos, size); err != nil {
			return err
		}
	}
	if err := p.levels.check(run); err != nil {
		return err
	}
	bufs, err := readSpans(ctx, src, spans.all)
	if err != nil {
		return err
	}
	to.addFlat(&p.levels, run)
	to.values.hint(int(spans.total))
	for _, b := range bufs {
		to.addValue(b)
	}
	return nil
}
