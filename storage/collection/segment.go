package collection

import (
	"context"
	"slices"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/fault"
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
	"github.com/loamdb/loam/storage/internal/column"
	"github.com/loamdb/loam/storage/internal/source"
	"github.com/loamdb/loam/storage/internal/text"
	"github.com/loamdb/loam/storage/object"
)

// rowSource is rows for a segment that is built: those of a view that count.
type rowSource struct {
	*view
	// kept are the fragments whose rows these are, one after the other, where the
	// fragments stay as they are; files are the block sums of their files, and the
	// view's deleted is set. Without them the rows go to a new fragment.
	kept  []Fragment
	files []bundleFile
}

// segmentBuilder writes a split of rows, and the new fragment of those of them that
// are in none that stays. Both are streamed: what it holds does not grow with the
// rows, but for 16 bytes a row and a few a word.
type segmentBuilder struct {
	c    *Collection
	obj  *schema.Object
	rows int
	// inline are the columns of the split's column section.
	inline []colRef
	keys   keyHashes
	bounds rangeBuilder
	// fragments are those that stay, then the new one; files the sums of their files.
	fragments []Fragment
	files     []bundleFile
	// data is the new fragment's data file; nil without one.
	data *dataWriter
	// analyzed are the text indexes of the sources; without them text is built anew.
	analyzed []text.MergePart
	text     *text.Builder
	textCols []int // positions in inline

	split     object.Writer
	splitName string
	bundle    *bundleWriter
	columns   *column.Stream
}

// buildSegment writes a segment of the sources' rows, in their order; nil when they
// have none. Sources with kept fragments come first. The rows of the others make one
// new fragment with the id. All files are durable when it returns; an error leaves
// files that nothing refers to.
//
// Kept fragments are indexed anew and otherwise left alone: nothing is read of their
// files but columns that the part does not have. Their source's view excludes whole
// fragments, never single rows, so that rows keep their numbers: rows that are
// deleted are indexed with the others, and subtracted as ever; only the index of keys
// is without the view's deleted rows. The part may be an opened split, or one that
// reads some columns elsewhere, as when a later file of a fragment replaces them; kept
// then names that file too, files has its sums, and the replaced fields have the id -2
// in the files before. Kept fragments come back with the deletions that they were
// given: whoever commits the segment gives them those of the version that it is
// committed on.
func (c *Collection) buildSegment(ctx context.Context, obj *schema.Object, sources []rowSource, fragment uint64) (*Segment, error) {
	b := &segmentBuilder{c: c, obj: obj}
	b.plan()
	fresh, err := b.place(sources, fragment)
	if err != nil || len(b.fragments) == 0 {
		return nil, err
	}
	defer b.abort()
	if err := b.open(ctx, sources, fresh); err != nil {
		return nil, err
	}
	for _, s := range sources {
		for chunk := range chunksOf(s.part.rows()) {
			if ctx.Err() != nil {
				return nil, fail.Ended(ctx, "the build of a segment of "+obj.Name)
			}
			if err := b.add(ctx, &s, chunk); err != nil {
				return nil, err
			}
		}
	}
	return b.finish(ctx)
}

// place lists the segment's fragments. It reports whether the last of them is new.
func (b *segmentBuilder) place(sources []rowSource, fragment uint64) (fresh bool, err error) {
	rows := 0
	for _, s := range sources {
		n := 0
		for _, f := range s.kept {
			n += f.Rows
		}
		switch {
		case s.kept == nil:
			rows += s.live()
		case n != s.live() || rows > 0:
			return false, fail.Bug("%d rows in the fragments that stay, %d in their source, after %d new ones", n, s.live(), rows)
		}
		b.fragments, b.files = append(b.fragments, s.kept...), append(b.files, s.files...)
	}
	if rows > 0 {
		b.fragments = append(b.fragments, Fragment{ID: fragment, Rows: rows})
	}
	return rows > 0, nil
}

// abort drops the objects that were not committed.
func (b *segmentBuilder) abort() {
	if b.split != nil {
		b.split.Abort()
	}
	if b.data != nil {
		b.data.abort()
	}
}

// plan lists the columns of the split.
func (b *segmentBuilder) plan() {
	system := []colRef{partitionRef, offsetRef, ingestRef}
	if b.obj.Kind == schema.Collection {
		system = append([]colRef{pkRef}, system...)
	}
	b.inline = append(b.inline, system...)
	for i, f := range b.obj.Fields {
		ref := fieldRef(b.obj, i)
		if b.obj.Kind == schema.Collection && source.Outside(f.Type) {
			continue
		}
		if f.FullText != "" {
			b.textCols = append(b.textCols, len(b.inline))
		}
		b.inline = append(b.inline, ref)
	}
}

func (b *segmentBuilder) open(ctx context.Context, sources []rowSource, fresh bool) error {
	fields, _ := textFields(b.obj)
	var err error
	if len(fields) > 0 {
		if b.analyzed, err = analyzed(ctx, fields, sources); err != nil {
			return err
		}
		if b.analyzed == nil {
			if b.text, err = text.NewBuilder(fields); err != nil {
				return err
			}
		}
	}
	if err := b.openSplit(ctx); err != nil || !fresh || b.obj.Kind != schema.Collection {
		return err
	}
	b.data, err = b.c.newDataWriter(ctx, b.obj, lanceRefs(b.obj))
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

// analyzed are the text indexes of the sources, when all of them have the fields:
// then nothing needs to be analyzed again. Else nil.
func analyzed(ctx context.Context, fields []text.FieldConfig, sources []rowSource) ([]text.MergePart, error) {
	out := make([]text.MergePart, 0, len(sources))
	for _, v := range sources {
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

// add appends the rows of one chunk that count.
func (b *segmentBuilder) add(ctx context.Context, v *rowSource, chunk int) error {
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
	b.addKeys(v, cols, from, sel, count)
	b.rows += count
	if b.data == nil || v.kept != nil {
		return nil
	}
	return b.data.add(ctx, v.view, chunk, cols, sel, count)
}

// addKeys adds the keys of rows that are not deleted; of one that is, the key may be
// that of a row in a later fragment.
func (b *segmentBuilder) addKeys(v *rowSource, cols []*vec.Vector, from int, sel []int32, count int) {
	for i := range count {
		row := from + i
		if sel != nil {
			row = from + int(sel[i])
		}
		switch {
		case v.kept != nil && v.deleted.Contains(uint32(row)):
		case b.obj.Kind == schema.Collection:
			b.keys.add(cols[0].Strings.At(i), b.rows+i)
		default:
			b.keys.add(Identity{Partition: cols[0].Int32s[i], Offset: uint64(cols[1].Int64s[i])}.key(), b.rows+i)
		}
	}
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

// finish makes data file and bundle durable and describes them.
func (b *segmentBuilder) finish(ctx context.Context) (*Segment, error) {
	if b.data != nil {
		file, sums, err := b.data.finish()
		if err != nil {
			return nil, err
		}
		b.fragments[len(b.fragments)-1].Files = []DataFile{file}
		b.files = append(b.files, bundleFile{Name: file.Name, Blocks: sums})
	}
	seg := &Segment{Fragments: b.fragments, Rows: b.rows, Range: b.bounds.finish()}
	table := bundleTable{Object: b.obj.ID, Rows: b.rows, Files: b.files}
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
	for _, f := range seg.Fragments {
		seg.Deleted += f.Deleted
		seg.Bytes += f.dataBytes()
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
