package render

import (
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"

	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/internal/vec"
)

// batchWriter writes record batches: an Arrow stream or a Parquet file.
type batchWriter struct {
	schema *arrow.Schema
	write  func(arrow.RecordBatch) error
	end    func() error
}

func schemaOf(cols []plan.Column) *arrow.Schema {
	fields := make([]arrow.Field, len(cols))
	for i, c := range cols {
		fields[i] = arrow.Field{Name: c.Name, Type: c.Type.Arrow(), Nullable: true}
	}
	return arrow.NewSchema(fields, nil)
}

func newArrow(out io.Writer, cols []plan.Column) (*batchWriter, error) {
	sch := schemaOf(cols)
	w := ipc.NewWriter(out, ipc.WithSchema(sch))
	return &batchWriter{schema: sch, write: w.Write, end: w.Close}, nil
}

func newParquet(out io.Writer, cols []plan.Column) (*batchWriter, error) {
	sch := schemaOf(cols)
	props := parquet.NewWriterProperties(parquet.WithCompression(compress.Codecs.Zstd))
	// The writer closes what it writes to; the caller does that here.
	w, err := pqarrow.NewFileWriter(sch, struct{ io.Writer }{out}, props, pqarrow.NewArrowWriterProperties(pqarrow.WithStoreSchema()))
	if err != nil {
		return nil, err
	}
	return &batchWriter{schema: sch, write: w.WriteBuffered, end: w.Close}, nil
}

// Chunk implements Writer.
func (w *batchWriter) Chunk(c *vec.Chunk) error {
	rec, err := vec.ChunkToRecord(c, w.schema, memory.DefaultAllocator)
	if err != nil {
		return err
	}
	defer rec.Release()
	return w.write(rec)
}

// End implements Writer.
func (w *batchWriter) End() error { return w.end() }
