package collection

import (
	"context"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/fault"
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
	"github.com/loamdb/loam/storage/internal/column"
	"github.com/loamdb/loam/storage/internal/source"
	"github.com/loamdb/loam/storage/internal/text"
	"github.com/loamdb/loam/storage/lance"
	"github.com/loamdb/loam/storage/object"
)

// segmentBuilder writes the live rows of views as one fragment and one split,
// in the order of the views. Both are streamed: what it holds does not grow with
// the rows, but for 16 bytes a row and a few a word.
type segmentBuilder struct {
	c    *Collection
	obj  *schema.Object
	rows int
	// inline are the columns of the split's column section; wide go to the data file.
	inline, wide []colRef
	keys         keyHashes
	bounds       rangeBuilder
	// analyzed are the text indexes of the views; without them text is built anew.
	analyzed []text.MergePart
	text     *text.Builder
	textCols []int // positions in inline

	split     object.Writer
	splitName string
	bundle    *bundleWriter
	columns   *column.Stream

	out    object.Writer
	sums   *summing
	lance  *lance.Writer
	schema *arrow.Schema
	file   string
}

// buildSegment returns nil when the views have no live rows. The files are
// durable when it returns; an error leaves files that nothing refers to.
func (c *Collection) buildSegment(ctx context.Context, obj *schema.Object, views []*view, fragment uint64) (*Segment, error) {
	b := &segmentBuilder{c: c, obj: obj}
	b.plan()
	live := 0
	for _, v := range views {
		live += v.live()
	}
	if live == 0 {
		return nil, nil
	}
	defer b.abort()
	if err := b.open(ctx, views); err != nil {
		return nil, err
	}
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
	return b.finish(ctx, fragment)
}

// abort drops the objects that were not committed.
func (b *segmentBuilder) abort() {
	for _, w := range []object.Writer{b.out, b.split} {
		if w != nil {
			w.Abort()
		}
	}
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
}

func (b *segmentBuilder) open(ctx context.Context, views []*view) error {
	fields, _ := textFields(b.obj)
	var err error
	if len(fields) > 0 {
		if b.analyzed, err = analyzed(ctx, fields, views); err != nil {
			return err
		}
		if b.analyzed == nil {
			if b.text, err = text.NewBuilder(fields); err != nil {
				return err
			}
		}
	}
	if err := b.openSplit(ctx); err != nil || b.obj.Kind != schema.Collection {
		return err
	}
	if b.file, err = lance.NewDataFileName(b.c.random()); err != nil {
		return err
	}
	if b.out, err = b.c.deps.Objects.Create(ctx, dataKey(b.obj, b.file)); err != nil {
		return err
	}
	columns, ids := lanceColumns(b.obj)
	b.schema = columns
	b.sums = &summing{w: b.out}
	b.lance, err = lance.NewWriterWith(b.sums, columns, lance.WriterOptions{FieldIDs: ids})
	return err
}

// openSplit begins the bundle with its column section.
func (b *segmentBuilder) openSplit(ctx context.Context) error {
	b.splitName = splitKey(b.obj, b.c.deps.IDs.ULID())
	var err error
	if b.split, err = b.c.deps.Objects.Create(ctx, b.splitName); err != nil {
		return err
	}
	b.bundle = &bundleWriter{w: b.split}
	names := make([]string, len(b.inline))
	columns := make([]types.Type, len(b.inline))
	for i, ref := range b.inline {
		names[i], columns[i] = ref.section, ref.t
	}
	b.columns = column.NewStream(b.bundle, names, columns)
	return b.bundle.begin(sectionColumn)
}

// analyzed are the text indexes of the views, when all of them have the fields:
// then nothing needs to be analyzed again. Else nil.
func analyzed(ctx context.Context, fields []text.FieldConfig, views []*view) ([]text.MergePart, error) {
	out := make([]text.MergePart, 0, len(views))
	for _, v := range views {
		p, err := v.part.text(ctx)
		if err != nil {
			return nil, err
		}
		known, ok := p.(interface{ Fields() []text.FieldConfig })
		if !ok || !slices.Equal(known.Fields(), fields) {
			return nil, nil
		}
		out = append(out, text.MergePart{Part: p, Deleted: v.excluded})
	}
	return out, nil
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
	cols := make([]*vec.Vector, len(b.inline))
	for i, ref := range b.inline {
		col, err := v.columnOf(ctx, ref, chunk)
		if err != nil {
			return err
		}
		cols[i] = vec.New(ref.t, count)
		cols[i].AppendRows(col, sel, count)
	}
	b.bounds.add(b.obj.Kind, cols, count)
	if err := b.columns.Append(cols, count); err != nil {
		return err
	}
	if err := b.addText(cols, count); err != nil {
		return err
	}
	b.rows += count
	if b.lance != nil {
		for i := range count {
			b.keys.add(cols[0].Strings.At(i))
		}
		return b.addLance(ctx, v, chunk, cols, sel, count)
	}
	for i := range count {
		b.keys.add(Identity{Partition: cols[0].Int32s[i], Offset: uint64(cols[1].Int64s[i])}.key())
	}
	return nil
}

func (b *segmentBuilder) addText(cols []*vec.Vector, count int) error {
	if b.text == nil {
		return nil
	}
	values := make([][]string, len(b.textCols))
	for i := range count {
		for f, c := range b.textCols {
			values[f] = textValues(cols[c], i)
		}
		if err := b.text.Add(values); err != nil {
			return err
		}
	}
	return nil
}

// addLance writes the chunk's rows to the data file; cols are the inline columns.
func (b *segmentBuilder) addLance(ctx context.Context, v *view, chunk int, cols []*vec.Vector, sel []int32, count int) error {
	of := make(map[string]*vec.Vector, len(b.wide)+4)
	for i, ref := range b.inline[:4] {
		of[ref.name] = cols[i]
	}
	for _, ref := range b.wide {
		col, err := v.columnOf(ctx, ref, chunk)
		if err != nil {
			return err
		}
		if sel == nil {
			of[ref.name] = col.Flatten()
			continue
		}
		out := vec.New(ref.t, count)
		out.AppendRows(col, sel, count)
		of[ref.name] = out
	}
	arrays := make([]arrow.Array, 0, b.schema.NumFields())
	defer func() {
		for _, a := range arrays {
			a.Release()
		}
	}()
	for _, f := range b.schema.Fields() {
		a, err := lanceArray(of[f.Name], f.Type)
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
	seg := &Segment{Fragments: []Fragment{{ID: fragment, Rows: b.rows}}, Rows: b.rows, Range: b.bounds.finish()}
	table := bundleTable{Object: b.obj.ID, Rows: b.rows}
	if b.lance != nil {
		if err := b.finishData(&seg.Fragments[0], &table); err != nil {
			return nil, err
		}
	}
	if err := b.columns.Finish(); err != nil {
		return nil, err
	}
	table.Fields = bundleFields(b.obj, b.inline, b.columns.Statistics())
	if err := b.finishText(ctx); err != nil {
		return nil, err
	}
	if err := b.bundle.begin(sectionKeys); err != nil {
		return nil, err
	}
	if err := b.keys.writeTo(b.bundle); err != nil {
		return nil, err
	}
	size, err := b.bundle.finish(table)
	if err != nil {
		return nil, err
	}
	info, err := b.split.Commit()
	if err != nil {
		return nil, err
	}
	fault.Point("segment/bundle written")
	b.split = nil
	seg.SplitKey, seg.SplitSize, seg.SplitChecksum = b.splitName, size, info.Checksum
	seg.Bytes = size
	for _, f := range seg.Fragments[0].Files {
		seg.Bytes += f.Size
	}
	return seg, nil
}

// finishText writes the text section, if there is one.
func (b *segmentBuilder) finishText(ctx context.Context) error {
	fields, _ := textFields(b.obj)
	if len(fields) == 0 {
		return nil
	}
	if err := b.bundle.begin(sectionText); err != nil {
		return err
	}
	if b.text != nil {
		return b.text.FinishTo(ctx, b.bundle)
	}
	return text.Merge(ctx, b.bundle, fields, b.analyzed)
}

func (b *segmentBuilder) finishData(f *Fragment, table *bundleTable) error {
	info, err := b.lance.Close()
	if err != nil {
		return err
	}
	stored, err := b.out.Commit()
	if err != nil {
		return err
	}
	fault.Point("segment/data file written")
	b.out = nil
	f.Files = []DataFile{{Name: b.file, Size: info.Size, Checksum: stored.Checksum, IDs: info.Fields, Columns: info.Columns}}
	table.Files = []bundleFile{{Name: b.file, Blocks: b.sums.finish()}}
	return nil
}
