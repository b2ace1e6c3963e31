package collection

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/loamdb/loam/internal/fault"
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/internal/vec"
	"github.com/loamdb/loam/storage/lance"
	"github.com/loamdb/loam/storage/object"
)

// dataWriter writes a Lance file of a fragment of a collection.
type dataWriter struct {
	name   string
	out    object.Writer // nil once it is durable
	sums   *summing
	lance  *lance.Writer
	schema *arrow.Schema
	cols   []colRef // in the order of the schema
}

// newDataWriter begins a file with the columns, for all rows of a fragment.
func (c *Collection) newDataWriter(ctx context.Context, obj *schema.Object, cols []colRef) (*dataWriter, error) {
	columns, ids := lanceSchema(cols)
	w := &dataWriter{schema: columns, cols: cols}
	var err error
	if w.name, err = lance.NewDataFileName(c.random()); err != nil {
		return nil, err
	}
	if w.out, err = c.deps.Objects.Create(ctx, dataKey(obj, w.name)); err != nil {
		return nil, err
	}
	w.sums = &summing{w: w.out}
	if w.lance, err = lance.NewWriterWith(w.sums, columns, lance.WriterOptions{FieldIDs: ids}); err != nil {
		w.abort()
		return nil, err
	}
	return w, nil
}

// abort drops the file unless it is durable.
func (w *dataWriter) abort() {
	if w.out != nil {
		w.out.Abort()
	}
}

// add writes a chunk's rows; inline are the columns of the split, of the rows sel.
func (w *dataWriter) add(ctx context.Context, v *view, chunk int, inline []*vec.Vector, sel []int32, count int) error {
	of := map[string]*vec.Vector{}
	for i, ref := range []colRef{pkRef, partitionRef, offsetRef} {
		of[ref.name] = inline[i]
	}
	cols := make([]*vec.Vector, len(w.cols))
	for i, ref := range w.cols {
		if cols[i] = of[ref.name]; cols[i] != nil {
			continue
		}
		col, err := v.columnOf(ctx, ref, chunk)
		if err != nil {
			return err
		}
		if sel == nil {
			cols[i] = col.Flatten()
			continue
		}
		cols[i] = vec.New(ref.t, count)
		cols[i].AppendRows(col, sel, count)
	}
	return w.write(cols, count)
}

// write appends rows; cols are the file's columns in order.
func (w *dataWriter) write(cols []*vec.Vector, count int) error {
	arrays := make([]arrow.Array, 0, len(cols))
	defer func() {
		for _, a := range arrays {
			a.Release()
		}
	}()
	for i, f := range w.schema.Fields() {
		a, err := lanceArray(cols[i], f.Type)
		if err != nil {
			return err
		}
		arrays = append(arrays, a)
	}
	rec := array.NewRecordBatch(w.schema, arrays, int64(count))
	defer rec.Release()
	return w.lance.Write(rec)
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

// finish makes the file durable and describes it, with the sums of its blocks.
func (w *dataWriter) finish() (DataFile, []uint64, error) {
	info, err := w.lance.Close()
	if err != nil {
		return DataFile{}, nil, err
	}
	stored, err := w.out.Commit()
	if err != nil {
		return DataFile{}, nil, err
	}
	fault.Point("segment/data file written")
	w.out = nil
	return DataFile{Name: w.name, Size: info.Size, Checksum: stored.Checksum, IDs: info.Fields, Columns: info.Columns}, w.sums.finish(), nil
}
