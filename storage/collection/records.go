package collection

import (
	"context"
	"slices"
	"sort"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// RecordRange asks for records of one partition.
type RecordRange struct {
	Partition int
	// From is the first offset that is wanted.
	From uint64
	// Oldest begins at the oldest record that is kept, if From is older.
	Oldest bool
	// Rows is the most rows of the answer, 0 for vec.ChunkRows; Bytes ends it after the
	// row that reaches it, 0 for 8 MiB.
	Rows  int
	Bytes int64
	// Fields are the declared names of the fields to read; nil is all, in order.
	Fields []string
}

// recordBytes is the size of an answer that does not say one.
const recordBytes = 8 << 20

// RecordRun is records of one partition in the order of their offsets. Offsets
// that are missing belong to rows that were deleted, and to deletes.
type RecordRun struct {
	// Chunks have the columns _ingest_partition, _ingest_offset, _ingest_ts, then the
	// fields. They are the caller's.
	Chunks []*vec.Chunk
	Rows   int
	Bytes  int64
	// Next is the offset to go on with: all records below it, from From, are here. It
	// is the snapshot's bound when nothing is left.
	Next uint64
}

// Oldest are the first offsets that retention has left, by partition. The caller
// must not change them.
func (s *Snapshot) Oldest() []uint64 {
	if len(s.manifest.Oldest) == len(s.bounds) {
		return s.manifest.Oldest
	}
	return make([]uint64, len(s.bounds))
}

// Records reads records of a partition from an offset on. Errors: OffsetExpired,
// with the oldest offset, when retention has dropped what is asked for;
// InvalidParameter for a partition or an offset that is not there.
func (s *Snapshot) Records(ctx context.Context, r RecordRange) (*RecordRun, error) {
	if r.Partition < 0 || r.Partition >= len(s.bounds) {
		return nil, noPartition(s.obj, r.Partition)
	}
	bound := s.bounds[r.Partition]
	oldest := s.Oldest()[r.Partition]
	if r.Oldest {
		r.From = max(r.From, oldest)
	}
	if r.From < oldest {
		return nil, fail.New(fail.OffsetExpired, "offset %d of partition %d of %s is no longer kept; the oldest is %d", r.From, r.Partition, s.obj.Name, oldest).
			WithHint("Read from offset %d, or give the stream a longer retention.", oldest)
	}
	if r.From > bound {
		return nil, fail.New(fail.InvalidParameter, "partition %d of %s ends at offset %d; %d is beyond it", r.Partition, s.obj.Name, bound, r.From)
	}
	if r.Rows <= 0 {
		r.Rows = vec.ChunkRows
	}
	if r.Bytes <= 0 {
		r.Bytes = recordBytes
	}
	cols, err := s.recordColumns(r.Fields)
	if err != nil {
		return nil, err
	}
	places, err := s.recordPlaces(ctx, r, bound)
	if err != nil {
		return nil, err
	}
	out := &RecordRun{Next: bound}
	if len(places) == r.Rows {
		out.Next = places[len(places)-1].offset + 1
	}
	return out, out.fill(ctx, cols, places, r.Bytes)
}

func (s *Snapshot) recordColumns(fields []string) ([]colRef, error) {
	cols := []colRef{partitionRef, offsetRef, ingestRef}
	if fields == nil {
		fields = s.obj.FieldNames()
	}
	for _, name := range fields {
		ref, err := resolve(s.obj, name)
		if err != nil {
			return nil, err
		}
		cols = append(cols, ref)
	}
	return cols, nil
}

// recordPlace is where a record lies.
type recordPlace struct {
	offset uint64
	view   *view
	row    uint32
}

// recordPlaces finds the first r.Rows records at and above r.From. Those of splits
// come before those of the tail.
func (s *Snapshot) recordPlaces(ctx context.Context, r RecordRange, bound uint64) ([]recordPlace, error) {
	out, err := s.splitPlaces(ctx, r, bound)
	if err != nil {
		return nil, err
	}
	for _, v := range s.views {
		t, ok := v.part.(*tailPart)
		if !ok || t.g.partition != r.Partition {
			continue
		}
		first := 0
		if r.From > t.g.base {
			first = int(min(r.From-t.g.base, uint64(t.n)))
		}
		for row := first; row < t.n && len(out) < r.Rows; row++ {
			if !v.excluded.Contains(uint32(row)) {
				out = append(out, recordPlace{t.g.base + uint64(row), v, uint32(row)})
			}
		}
	}
	return out[:min(len(out), r.Rows)], nil
}

// offsetRun is a chunk of a split that may hold wanted records; none of them lies
// below lo.
type offsetRun struct {
	view  *view
	chunk int
	lo    uint64
}

// splitPlaces reads the chunks in the order of their least offsets, until what the
// others may hold lies behind what is wanted.
func (s *Snapshot) splitPlaces(ctx context.Context, r RecordRange, bound uint64) ([]recordPlace, error) {
	var runs []offsetRun
	for _, v := range s.views {
		if v.segment < 0 {
			continue
		}
		for chunk := range chunksOf(v.part.rows()) {
			lo, ok, err := v.offsetsFrom(ctx, r, chunk)
			if err != nil {
				return nil, err
			}
			if ok && lo < bound {
				runs = append(runs, offsetRun{v, chunk, max(lo, r.From)})
			}
		}
	}
	sort.SliceStable(runs, func(i, j int) bool { return runs[i].lo < runs[j].lo })
	var out []recordPlace
	for i, run := range runs {
		if len(out) >= r.Rows && i > 0 && run.lo > runs[i-1].lo {
			slices.SortFunc(out, byOffset)
			if out[r.Rows-1].offset < run.lo {
				break
			}
		}
		var err error
		if out, err = run.collect(ctx, r, bound, out); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(out, byOffset)
	return out[:min(len(out), r.Rows)], nil
}

func byOffset(a, b recordPlace) int {
	switch {
	case a.offset < b.offset:
		return -1
	case a.offset > b.offset:
		return 1
	}
	return 0
}

// offsetsFrom is the least offset that the chunk may hold for the partition; ok is
// false when it holds none from r.From on.
func (v *view) offsetsFrom(ctx context.Context, r RecordRange, chunk int) (lo uint64, ok bool, err error) {
	z, err := v.part.zone(ctx, partitionRef, chunk)
	if err != nil || z.known && (z.lo.Int > int64(r.Partition) || z.hi.Int < int64(r.Partition)) {
		return 0, false, err
	}
	if z, err = v.part.zone(ctx, offsetRef, chunk); err != nil || !z.known {
		return 0, err == nil, err
	}
	return uint64(z.lo.Int), uint64(z.hi.Int) >= r.From, nil
}

// collect adds the wanted records of the chunk.
func (o offsetRun) collect(ctx context.Context, r RecordRange, bound uint64, out []recordPlace) ([]recordPlace, error) {
	if ctx.Err() != nil {
		return nil, fail.Ended(ctx, "the read of a partition")
	}
	parts, err := o.view.columnOf(ctx, partitionRef, o.chunk)
	if err != nil {
		return nil, err
	}
	offsets, err := o.view.columnOf(ctx, offsetRef, o.chunk)
	if err != nil {
		return nil, err
	}
	parts, offsets = parts.Flatten(), offsets.Flatten()
	for i, p := range parts.Int32s[:parts.N] {
		at := uint64(offsets.Int64s[i])
		row := uint32(o.chunk*vec.ChunkRows + i)
		if int(p) == r.Partition && at >= r.From && at < bound && !o.view.excluded.Contains(row) {
			out = append(out, recordPlace{at, o.view, row})
		}
	}
	return out, nil
}

// fill reads the rows chunk by chunk until they are all there or reach the bytes.
func (out *RecordRun) fill(ctx context.Context, cols []colRef, places []recordPlace, bytes int64) error {
	const step = 256
	for len(places) > 0 {
		n := min(len(places), step)
		c, err := readPlaces(ctx, cols, places[:n])
		if err != nil {
			return err
		}
		for i := range n {
			if out.Bytes += rowBytes(c.Cols[3:], i); out.Bytes >= bytes && i+1 < len(places) {
				out.Next = places[i].offset + 1
				out.add(cut(c, i+1))
				return nil
			}
		}
		out.add(c)
		places = places[n:]
	}
	return nil
}

// add appends rows, to the last chunk while it has room.
func (out *RecordRun) add(c *vec.Chunk) {
	out.Rows += c.N
	if k := len(out.Chunks); k > 0 && out.Chunks[k-1].N+c.N <= vec.ChunkRows {
		out.Chunks[k-1].AppendRows(c)
		return
	}
	out.Chunks = append(out.Chunks, c)
}

func cut(c *vec.Chunk, n int) *vec.Chunk {
	out := &vec.Chunk{N: n, Cols: make([]*vec.Vector, len(c.Cols))}
	for i, col := range c.Cols {
		out.Cols[i] = vec.New(col.Type, n)
		out.Cols[i].AppendRows(col, nil, n)
	}
	return out
}

// readPlaces reads rows in the order given: runs of one view whose rows ascend at
// once.
func readPlaces(ctx context.Context, cols []colRef, places []recordPlace) (*vec.Chunk, error) {
	c := &vec.Chunk{N: len(places), Cols: make([]*vec.Vector, len(cols))}
	for i, ref := range cols {
		c.Cols[i] = vec.New(ref.t, len(places))
	}
	for from := 0; from < len(places); {
		to := from + 1
		for to < len(places) && places[to].view == places[from].view && places[to].row > places[to-1].row {
			to++
		}
		rows := make([]uint32, to-from)
		for i := range rows {
			rows[i] = places[from+i].row
		}
		for i, ref := range cols {
			v, err := places[from].view.takeOf(ctx, ref, rows)
			if err != nil {
				return nil, err
			}
			c.Cols[i].AppendRows(v, nil, len(rows))
		}
		from = to
	}
	return c, nil
}

// rowBytes is the size of a row as the limits of records count it: texts and bytes
// by their length, other values by their width.
func rowBytes(cols []*vec.Vector, i int) int64 {
	n := int64(0)
	for _, c := range cols {
		if c == nil || c.IsNull(i) {
			continue
		}
		switch c.Type.Kind {
		case types.Text, types.Binary, types.JSON, types.Unknown:
			at, src := c.Row(i), c
			if c.Encoding == vec.Dictionary {
				src = c.Dict
			}
			n += int64(len(src.Strings.At(at)))
		default:
			n += valueBytes(c.Value(i))
		}
	}
	return n
}

func valueBytes(v vec.Value) int64 {
	if v.Null {
		return 0
	}
	switch v.Type.Kind {
	case types.Text, types.Binary, types.JSON, types.Unknown:
		return int64(len(v.Str))
	case types.Vector:
		return int64(4 * len(v.Vec))
	case types.Sparse:
		return int64(8 * len(v.Sparse.Indices))
	case types.List, types.Struct, types.Map:
		n := int64(0)
		for _, e := range v.List {
			n += valueBytes(e)
		}
		return n
	case types.Boolean:
		return 1
	case types.Int32, types.Date:
		return 4
	case types.Decimal, types.UUID, types.Interval:
		return 16
	}
	return 8
}
