package file

import (
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/storage/lance/internal/pb"
)

// TestLayouts pins which layout each column type gets.
func TestLayouts(t *testing.T) {
	schema := loamSchema(8)
	f := openBytes(t, writeFile(t, schema, WriterOptions{}, newGen(3, 0.3, 20).batch(schema, 600), newGen(3, 0.3, 20).batch(schema, 10)))
	var got []string
	for _, c := range f.cols {
		l := c.pages[0].layout
		switch {
		case l.MiniBlock != nil:
			got = append(got, c.leaf.name+" mini-block "+l.MiniBlock.Value.Kind.String())
		case l.FullZip != nil:
			got = append(got, c.leaf.name+" full-zip "+l.FullZip.Value.Kind.String())
		}
		for i, b := range c.pages[0].buffers {
			if b.off%bufferAlign != 0 {
				t.Errorf("%s: buffer %d starts at %d", c.leaf.name, i, b.off)
			}
		}
	}
	want := []string{
		"_pk mini-block variable", "_source full-zip variable", "_ingest_partition mini-block flat", "_ingest_offset mini-block flat",
		"raw mini-block variable", "emb full-zip fixed size list", "img full-zip fixed size list",
		"sp.indices mini-block flat", "sp.values mini-block flat",
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// TestLayersFollowContent: the layers of a flat page say what it contains.
func TestLayersFollowContent(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{{Name: "i", Type: arrow.PrimitiveTypes.Int64, Nullable: true}}, nil)
	f := openBytes(t, writeFile(t, schema, WriterOptions{PageRows: 100},
		newGen(1, 0, 1).batch(schema, 100), newGen(1, 0.5, 1).batch(schema, 100), newGen(1, 1, 1).batch(schema, 100)))
	pages := f.cols[0].pages
	if l := pages[0].layout.MiniBlock; l == nil || l.Layers[0] != pb.AllValidItem || l.Def != nil {
		t.Errorf("page without nulls: %+v", l)
	}
	if l := pages[1].layout.MiniBlock; l == nil || l.Layers[0] != pb.NullableItem || l.Def == nil {
		t.Errorf("page with nulls: %+v", l)
	}
	if l := pages[2].layout.Constant; l == nil || l.Layers[0] != pb.NullableItem || len(pages[2].buffers) != 0 {
		t.Errorf("page of nulls: %+v", l)
	}
}

func TestFieldIDs(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{{Name: "sp", Type: sparseType(), Nullable: true}, {Name: "v", Type: vectorType(2)}}, nil)
	w, err := NewWriter(io.Discard, schema, WriterOptions{FieldIDs: []int32{4, 5, 6, 7, 8, 30}})
	if err != nil {
		t.Fatal(err)
	}
	info, err := w.Close()
	if err != nil || !reflect.DeepEqual(info.Fields, []int32{6, 8, 30}) || !reflect.DeepEqual(info.Columns, []int32{0, 1, 2}) {
		t.Errorf("info %+v, %v", info, err)
	}
	for _, ids := range [][]int32{{1}, {1, 2, 3, 4, 5, 6, 7}} {
		if _, err := NewWriter(io.Discard, schema, WriterOptions{FieldIDs: ids}); !fail.Is(err, fail.InvalidParameter) {
			t.Errorf("%d ids: %v", len(ids), err)
		}
	}
}

func TestWriterRefused(t *testing.T) {
	one := func(typ arrow.DataType) *arrow.Schema {
		return arrow.NewSchema([]arrow.Field{{Name: "bad", Type: typ, Nullable: true}}, nil)
	}
	for _, typ := range []arrow.DataType{
		arrow.ListOf(arrow.Null), arrow.FixedSizeListOf(2, arrow.BinaryTypes.String), arrow.FixedSizeListOf(5000, arrow.FixedWidthTypes.Boolean),
		arrow.FixedWidthTypes.MonthInterval, arrow.StructOf(),
	} {
		if _, err := NewWriter(io.Discard, one(typ), WriterOptions{}); !fail.Is(err, fail.Unsupported) || !strings.Contains(err.Error(), "bad") {
			t.Errorf("%s: %v", typ, err)
		}
	}
	schema := arrow.NewSchema([]arrow.Field{{Name: "n", Type: arrow.PrimitiveTypes.Int32}}, nil)
	w, err := NewWriter(io.Discard, schema, WriterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	nullable := arrow.NewSchema([]arrow.Field{{Name: "n", Type: arrow.PrimitiveTypes.Int32, Nullable: true}}, nil)
	if err := w.Write(newGen(1, 1, 1).batch(nullable, 3)); !fail.Is(err, fail.NotNull) {
		t.Errorf("nulls: %v", err)
	}
	other := arrow.NewSchema([]arrow.Field{{Name: "n", Type: arrow.PrimitiveTypes.Int64}}, nil)
	if err := w.Write(newGen(1, 0, 1).batch(other, 3)); !fail.Is(err, fail.DatatypeMismatch) {
		t.Errorf("another type: %v", err)
	}
	if err := w.Write(newGen(1, 0, 1).batch(loamSchema(1), 3)); !fail.Is(err, fail.InvalidParameter) {
		t.Errorf("more columns: %v", err)
	}
	if err := w.Write(newGen(1, 0, 1).batch(schema, 3)); err != nil {
		t.Errorf("a good batch after bad ones: %v", err)
	}
	if _, err := w.Close(); err != nil {
		t.Error(err)
	}
}

func TestNullItemsRefused(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{{Name: "v", Type: vectorType(2), Nullable: true}}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	fb := b.Field(0).(*array.FixedSizeListBuilder)
	fb.AppendNull()
	fb.Append(true)
	fb.ValueBuilder().(*array.Float32Builder).Append(1)
	fb.ValueBuilder().AppendNull()
	w, err := NewWriter(io.Discard, schema, WriterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(b.NewRecordBatch()); !fail.Is(err, fail.InvalidVector) || !strings.Contains(err.Error(), "vector 1") {
		t.Errorf("error %v", err)
	}
}

// failingWriter fails after n bytes.
type failingWriter struct{ left int }

func (w *failingWriter) Write(p []byte) (int, error) {
	n := min(len(p), w.left)
	if w.left -= n; n < len(p) {
		return n, errDisk
	}
	return n, nil
}

// TestWriterFailures: a failed write surfaces and sticks.
func TestWriterFailures(t *testing.T) {
	schema := loamSchema(2)
	rec := newGen(4, 0.1, 9).batch(schema, 100)
	size := len(writeFile(t, schema, WriterOptions{PageRows: 30}, rec))
	for n := 0; n < size; n += 97 {
		w, err := NewWriter(&failingWriter{n}, schema, WriterOptions{PageRows: 30})
		if err != nil {
			t.Fatal(err)
		}
		err = w.Write(rec)
		if _, closeErr := w.Close(); !errors.Is(closeErr, errDisk) || (err != nil && !errors.Is(err, errDisk)) {
			t.Fatalf("after %d bytes: write %v, close %v", n, err, closeErr)
		}
	}
}

// TestSlicedInput writes slices of larger arrays: offsets must be honored.
func TestSlicedInput(t *testing.T) {
	schema := loamSchema(5)
	rec := newGen(12, 0.2, 12).batch(schema, 500)
	f := openBytes(t, writeFile(t, schema, WriterOptions{PageRows: 64}, rec.NewSlice(33, 300), rec.NewSlice(300, 301), rec.NewSlice(301, 499)))
	got, err := f.Read(t.Context(), nil, 0, 466)
	if err != nil {
		t.Fatal(err)
	}
	sameRows(t, rec, 33, 466, got)
}

func TestEmptyFileOpens(t *testing.T) {
	schema := loamSchema(5)
	f := openBytes(t, writeFile(t, schema, WriterOptions{}))
	got, err := f.Read(t.Context(), nil, 0, 0)
	if err != nil || got.NumRows() != 0 || !got.Schema().Equal(schema) {
		t.Errorf("%v, %v", got, err)
	}
}
