package collection

import (
	"context"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/zeebo/xxh3"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/internal/vec"
	"github.com/loamdb/loam/storage/internal/column"
	"github.com/loamdb/loam/storage/internal/source"
	"github.com/loamdb/loam/storage/internal/text"
	"github.com/loamdb/loam/storage/lance"
	"github.com/loamdb/loam/storage/object"
)

// segmentBuilder writes the live rows of views as one fragment and one split,
// in the order of the views. Columns of the split are held in memory; the data
// file is streamed.
type segmentBuilder struct {
	c    *Collection
	obj  *schema.Object
	rows int
	// inline are the columns of the split's column section; wide go to the data file.
	inline, wide []colRef
	cols         []*vec.Vector
	keys         []string
	text         *text.Builder
	textCols     []int // positions in inline
	out          object.Writer
	sums         *summing
	lance        *lance.Writer
	schema       *arrow.Schema
	file         string
}

// buildSegment returns nil when the views have no live rows. The files are
// durable when it returns; an error leaves files that nothing refers to.
func (c *Collection) buildSegment(ctx context.Context, obj *schema.Object, views []*view, fragment uint64) (*Segment, error) {
	b := &segmentBuilder{c: c, obj: obj}
	b.plan()
	if err := b.open(ctx); err != nil {
		return nil, err
	}
	defer func() {
		if b.out != nil {
			b.out.Abort()
		}
	}()
	for _, v := range views {
		for chunk := range chunksOf(v.part.rows()) {
			if ctx.Err() != nil {
				return nil, fail.Ended(ctx, "the build of a segment of "+obj.Name)
			}
			if err := b.add(ctx, v, chunk); err != nil {
				return nil, err
			}
		}
	}
	if b.rows == 0 {
		return nil, nil
	}
	return b.finish(ctx, fragment)
}

// plan sorts the columns into those of the split and those of the data file.
func (b *segmentBuilder) plan() {
	system := []colRef{partitionRef, offsetRef, ingestRef}
	if b.obj.Kind == schema.Collection {
		system = append([]colRef{pkRef}, system...)
		b.wide = append(b.wide, sourceRef)
	}
	b.inline = append(b.inline, system...)
	for i, f := range b.obj.Fields {
		ref := fieldRef(b.obj, i)
		if b.obj.Kind == schema.Collection && source.Outside(f.Type) {
			b.wide = append(b.wide, ref)
			continue
		}
		if f.FullText != "" {
			b.textCols = append(b.textCols, len(b.inline))
		}
		b.inline = append(b.inline, ref)
	}
	for _, ref := range b.inline {
		b.cols = append(b.cols, vec.New(ref.t, 0))
	}
}

func (b *segmentBuilder) open(ctx context.Context) error {
	fields, _ := textFields(b.obj)
	var err error
	if len(fields) > 0 {
		if b.text, err = text.NewBuilder(fields); err != nil {
			return err
		}
	}
	if b.obj.Kind != schema.Collection {
		return nil
	}
	if b.file, err = lance.NewDataFileName(b.c.random()); err != nil {
		return err
	}
	if b.out, err = b.c.deps.Objects.Create(ctx, dataKey(b.obj, b.file)); err != nil {
		return err
	}
	b.schema = lanceSchema(b.obj)
	b.sums = &summing{w: b.out}
	b.lance, err = lance.NewWriter(b.sums, b.schema)
	return err
}

// lanceSchema is the schema of the collection's Lance dataset.
func lanceSchema(obj *schema.Object) *arrow.Schema {
	fields := []arrow.Field{
		{Name: string(schema.ColPK), Type: arrow.BinaryTypes.String},
		{Name: string(schema.ColSource), Type: arrow.BinaryTypes.LargeBinary, Nullable: true},
		{Name: string(schema.ColPartition), Type: arrow.PrimitiveTypes.Int32},
		{Name: string(schema.ColOffset), Type: arrow.PrimitiveTypes.Int64},
	}
	for _, f := range obj.Fields {
		if source.Outside(f.Type) {
			fields = append(fields, arrow.Field{Name: f.Name, Type: f.Type.Arrow(), Nullable: true})
		}
	}
	return arrow.NewSchema(fields, nil)
}

// add appends the live rows of one chunk.
func (b *segmentBuilder) add(ctx context.Context, v *view, chunk int) error {
	from := chunk * vec.ChunkRows
	n := min(vec.ChunkRows, v.part.rows()-from)
	sel := liveRows(v.excluded, from, n)
	if sel != nil && len(sel) == 0 {
		return nil
	}
	count := n
	if sel != nil {
		count = len(sel)
	}
	for i, ref := range b.inline {
		col, err := v.columnOf(ctx, ref, chunk)
		if err != nil {
			return err
		}
		b.cols[i].AppendRows(col, sel, count)
	}
	if err := b.addText(count); err != nil {
		return err
	}
	if b.lance != nil {
		if err := b.addLance(ctx, v, chunk, sel, count); err != nil {
			return err
		}
	} else {
		for i := b.rows; i < b.rows+count; i++ {
			b.keys = append(b.keys, Identity{Partition: b.cols[0].Int32s[i], Offset: uint64(b.cols[1].Int64s[i])}.key())
		}
	}
	b.rows += count
	return nil
}

func (b *segmentBuilder) addText(count int) error {
	if b.text == nil {
		return nil
	}
	values := make([][]string, len(b.textCols))
	for i := b.rows; i < b.rows+count; i++ {
		for f, c := range b.textCols {
			values[f] = textValues(b.cols[c], i)
		}
		if err := b.text.Add(values); err != nil {
			return err
		}
	}
	return nil
}

// addLance writes the chunk's rows to the data file.
func (b *segmentBuilder) addLance(ctx context.Context, v *view, chunk int, sel []int32, count int) error {
	wide := make(map[string]*vec.Vector, len(b.wide))
	for _, ref := range b.wide {
		col, err := v.columnOf(ctx, ref, chunk)
		if err != nil {
			return err
		}
		if sel == nil {
			wide[ref.name] = col.Flatten()
			continue
		}
		out := vec.New(ref.t, count)
		out.AppendRows(col, sel, count)
		wide[ref.name] = out
	}
	for i := b.rows; i < b.rows+count; i++ {
		b.keys = append(b.keys, b.cols[0].Strings.At(i))
	}
	arrays := make([]arrow.Array, 0, b.schema.NumFields())
	defer func() {
		for _, a := range arrays {
			a.Release()
		}
	}()
	for _, f := range b.schema.Fields() {
		col := wide[f.Name]
		for i, ref := range b.inline[:4] {
			if ref.name == f.Name {
				col = b.cols[i].Slice(b.rows, b.rows+count)
			}
		}
		a, err := lanceArray(col, f.Type)
		if err != nil {
			return err
		}
		arrays = append(arrays, a)
	}
	rec := array.NewRecordBatch(b.schema, arrays, int64(count))
	defer rec.Release()
	return b.lance.Write(rec)
}

// lanceArray converts a column; _source is a large binary there.
func lanceArray(v *vec.Vector, t arrow.DataType) (arrow.Array, error) {
	if t.ID() != arrow.LARGE_BINARY {
		return vec.ToArrow(v, nil, v.N, memory.DefaultAllocator)
	}
	bld := array.NewBinaryBuilder(memory.DefaultAllocator, arrow.BinaryTypes.LargeBinary)
	defer bld.Release()
	for i := range v.N {
		if v.IsNull(i) {
			bld.AppendNull()
		} else {
			bld.Append(v.Strings.Bytes(i))
		}
	}
	return bld.NewArray(), nil
}

// finish makes data file and bundle durable and describes them.
func (b *segmentBuilder) finish(ctx context.Context, fragment uint64) (*Segment, error) {
	seg := &Segment{Fragment: fragment, Rows: b.rows}
	table := bundleTable{Object: b.obj.ID, Rows: b.rows}
	for _, f := range b.obj.Fields {
		table.Fields = append(table.Fields, bundleField{ID: f.ID, Name: f.Name, Type: f.Type.String(), FullText: f.FullText})
	}
	if b.lance != nil {
		if err := b.finishData(seg, &table); err != nil {
			return nil, err
		}
	}
	sections, err := b.sections()
	if err != nil {
		return nil, err
	}
	body, err := encodeBundle(table, []string{sectionColumn, sectionText, sectionKeys}, sections)
	if err != nil {
		return nil, err
	}
	seg.SplitKey = splitKey(b.obj, b.c.deps.IDs.ULID())
	info, err := b.c.deps.Objects.Put(ctx, seg.SplitKey, body, object.PutOptions{})
	if err != nil {
		return nil, err
	}
	seg.SplitSize, seg.SplitChecksum = int64(len(body)), info.Checksum
	seg.Bytes = seg.SplitSize + seg.DataSize
	return seg, nil
}

func (b *segmentBuilder) finishData(seg *Segment, table *bundleTable) error {
	info, err := b.lance.Close()
	if err != nil {
		return err
	}
	stored, err := b.out.Commit()
	if err != nil {
		return err
	}
	b.out = nil
	seg.DataChecksum = stored.Checksum
	seg.DataFile, seg.DataSize, seg.DataIDs, seg.DataColumns = b.file, info.Size, info.Fields, info.Columns
	table.Lance = b.sums.finish()
	return nil
}

func (b *segmentBuilder) sections() (map[string][]byte, error) {
	w := column.NewWriter(b.rows)
	for i, ref := range b.inline {
		if err := w.Add(ref.section, b.cols[i]); err != nil {
			return nil, err
		}
	}
	cols, err := w.Finish()
	if err != nil {
		return nil, err
	}
	out := map[string][]byte{sectionColumn: cols, sectionKeys: encodeKeys(b.keys)}
	if b.text != nil {
		if out[sectionText], err = b.text.Finish(); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// summing passes bytes on and sums each block of them.
type summing struct {
	w    io.Writer
	buf  []byte
	sums []uint64
}

func (s *summing) Write(p []byte) (int, error) {
	n, err := s.w.Write(p)
	rest := p[:n]
	for len(rest) > 0 {
		k := min(blockBytes-len(s.buf), len(rest))
		s.buf = append(s.buf, rest[:k]...)
		rest = rest[k:]
		if len(s.buf) == blockBytes {
			s.sums = append(s.sums, xxh3.Hash(s.buf))
			s.buf = s.buf[:0]
		}
	}
	return n, err
}

func (s *summing) finish() []uint64 {
	if len(s.buf) > 0 {
		s.sums = append(s.sums, xxh3.Hash(s.buf))
		s.buf = nil
	}
	return s.sums
}
