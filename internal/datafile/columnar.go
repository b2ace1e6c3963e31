package datafile

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// recordSource reads record batches of Parquet or Arrow.
type recordSource struct {
	cols    []Column
	records func() (arrow.RecordBatch, error) // nil at the end
	row     int64
	rest    arrow.RecordBatch // of a batch that is larger than a chunk
}

func (s *recordSource) columns() []Column { return s.cols }

func (s *recordSource) next() (*Batch, error) {
	for s.rest == nil || s.rest.NumRows() == 0 {
		rec, err := s.records()
		if err != nil || rec == nil {
			return nil, err
		}
		s.rest = rec
	}
	n := min(s.rest.NumRows(), vec.ChunkRows)
	rec := s.rest.NewSlice(0, n)
	s.rest = s.rest.NewSlice(n, s.rest.NumRows())
	b := &Batch{Columns: s.cols, N: int(n), From: s.row + 1, To: s.row + 1 + n}
	for i, c := range s.cols {
		v, err := columnOf(rec.Column(i), c.Type)
		if err != nil {
			e := *fail.As(err)
			e.Message = "column \"" + c.Name + "\": " + e.Message
			return nil, &e
		}
		b.Cols = append(b.Cols, v)
	}
	b.Places = make([]Place, n)
	for i := range b.Places {
		s.row++
		b.Places[i].Row = s.row
	}
	return b, nil
}

// arrowColumns are the columns of a schema; what has no SQL type is JSON.
func arrowColumns(sch *arrow.Schema) ([]Column, error) {
	var out []Column
	seen := map[string]bool{}
	for _, f := range sch.Fields() {
		if seen[f.Name] {
			return nil, fail.New(fail.DuplicateColumn, "the file has two columns %q", f.Name)
		}
		seen[f.Name] = true
		t, err := types.FromArrow(f.Type)
		if err != nil {
			t = types.Of(types.JSON)
		}
		out = append(out, Column{Name: f.Name, Type: t})
	}
	return out, nil
}

func columnOf(arr arrow.Array, t types.Type) (*vec.Vector, error) {
	if t.Kind != types.JSON {
		return vec.FromArrow(arr, t)
	}
	out := vec.New(t, arr.Len())
	for i := range arr.Len() {
		if arr.IsNull(i) {
			out.AppendNull()
			continue
		}
		text, err := json.Marshal(arr.GetOneForMarshal(i))
		if err != nil {
			return nil, fail.Wrap(fail.Unsupported, err, "Arrow type %s", arr.DataType())
		}
		out.Append(vec.Value{Type: t, Str: string(text)})
	}
	return out, nil
}

// openParquet reads row groups one after the other.
func (r *Reader) openParquet(in Input, packed bool) error {
	if in.At == nil || packed {
		return fail.New(fail.Unsupported, "a Parquet file is read at its end first, and this one cannot be").
			WithHint("Unpack it to a file; Parquet is compressed inside.")
	}
	props := parquet.NewReaderProperties(memory.DefaultAllocator)
	props.BufferedStreamEnabled = true
	pf, err := file.NewParquetReader(io.NewSectionReader(in.At, 0, in.Size), file.WithReadProps(props))
	if err != nil {
		return fail.Wrap(fail.InvalidParameter, err, "it is no Parquet file, or it was not written completely")
	}
	pr, err := pqarrow.NewFileReader(pf, pqarrow.ArrowReadProperties{BatchSize: vec.ChunkRows}, memory.DefaultAllocator)
	if err != nil {
		return fail.Wrap(fail.InvalidParameter, err, "the schema of the Parquet file is broken")
	}
	sch, err := pr.Schema()
	if err != nil {
		return fail.Wrap(fail.Unsupported, err, "the schema of the Parquet file")
	}
	rr, err := pr.GetRecordReader(context.Background(), nil, nil)
	if err != nil {
		return fail.Wrap(fail.InvalidParameter, err, "the Parquet file cannot be read")
	}
	r.note = "Parquet"
	return r.openRecords(sch, func() (arrow.RecordBatch, error) {
		if !rr.Next() {
			if err := rr.Err(); err != nil && !errors.Is(err, io.EOF) {
				return nil, fail.Wrap(fail.InvalidParameter, err, "the Parquet file is damaged")
			}
			return nil, nil
		}
		rec := rr.RecordBatch()
		rec.Retain()
		return rec, nil
	})
}

func (r *Reader) openRecords(sch *arrow.Schema, records func() (arrow.RecordBatch, error)) error {
	cols, err := arrowColumns(sch)
	if err != nil {
		return err
	}
	r.src = &recordSource{cols: cols, records: guarded(records)}
	return nil
}

// guarded turns a panic of arrow-go over a damaged file into an error.
func guarded(records func() (arrow.RecordBatch, error)) func() (arrow.RecordBatch, error) {
	return func() (rec arrow.RecordBatch, err error) {
		defer func() {
			if v := recover(); v != nil {
				rec, err = nil, fail.New(fail.InvalidParameter, "the file is damaged: %v", v)
			}
		}()
		return records()
	}
}

// openArrow reads an IPC stream; an IPC file is a stream between a magic and a footer.
func (r *Reader) openArrow(in *bufio.Reader, head []byte) (err error) {
	r.note = "Arrow IPC stream"
	if bytes.HasPrefix(head, []byte("ARROW1")) {
		r.note = "Arrow IPC file"
		if _, err := in.Discard(8); err != nil {
			return io.ErrUnexpectedEOF
		}
	}
	defer func() {
		if v := recover(); v != nil {
			err = fail.New(fail.InvalidParameter, "it is no Arrow IPC file, or it is damaged: %v", v)
		}
	}()
	ir, err := ipc.NewReader(in)
	if err != nil {
		return fail.Wrap(fail.InvalidParameter, err, "it is no Arrow IPC file, or it is damaged")
	}
	return r.openRecords(ir.Schema(), func() (arrow.RecordBatch, error) {
		if !ir.Next() {
			if err := ir.Err(); err != nil && !errors.Is(err, io.EOF) {
				return nil, fail.Wrap(fail.InvalidParameter, err, "the Arrow file is damaged")
			}
			return nil, nil
		}
		rec := ir.RecordBatch()
		rec.Retain()
		return rec, nil
	})
}
