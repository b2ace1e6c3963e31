package datafile

import (
	"bytes"
	"encoding/csv"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	"pgregory.net/rapid"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/types"
)

// batchOf is a record batch of several types with n rows.
func batchOf(t testing.TB, n int) arrow.RecordBatch {
	t.Helper()
	sc := arrow.NewSchema([]arrow.Field{
		{Name: "id", Type: arrow.PrimitiveTypes.Int64},
		{Name: "s", Type: arrow.BinaryTypes.String, Nullable: true},
		{Name: "v", Type: arrow.FixedSizeListOf(2, arrow.PrimitiveTypes.Float32), Nullable: true},
		{Name: "l", Type: arrow.ListOf(arrow.PrimitiveTypes.Float32), Nullable: true},
		{Name: "st", Type: arrow.StructOf(arrow.Field{Name: "x", Type: arrow.PrimitiveTypes.Int32, Nullable: true}), Nullable: true},
	}, nil)
	row := `{"id": 1, "s": "one", "v": [1, 2], "l": [0.5, 1, 2], "st": {"x": 5}}, {"id": 2, "s": null, "v": [3, 4], "l": null, "st": null}`
	rec, _, err := array.RecordFromJSON(memory.DefaultAllocator, sc, strings.NewReader("["+strings.Repeat(row+",", n/2-1)+row+"]"))
	if err != nil {
		t.Fatal(err)
	}
	return rec
}

func parquetOf(t testing.TB, rec arrow.RecordBatch) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := pqarrow.NewFileWriter(rec.Schema(), &b, parquet.NewWriterProperties(), pqarrow.DefaultWriterProps())
	if err == nil {
		err = w.Write(rec)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func arrowOf(t testing.TB, rec arrow.RecordBatch, stream bool) []byte {
	t.Helper()
	var b bytes.Buffer
	var w interface {
		Write(arrow.RecordBatch) error
		Close() error
	}
	w, err := ipc.NewFileWriter(&b, ipc.WithSchema(rec.Schema()))
	if stream {
		w, err = ipc.NewWriter(&b, ipc.WithSchema(rec.Schema())), nil
	}
	if err == nil {
		err = w.Write(rec)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func inputOf(data []byte) Input {
	return Input{Name: "f", Reader: bytes.NewReader(data), At: bytes.NewReader(data), Size: int64(len(data))}
}

func TestColumnarFormats(t *testing.T) {
	rec := batchOf(t, 2)
	const rows = `id BIGINT; s TEXT; v VECTOR(2); l DOUBLE[] of 3; st STRUCT(x INT); 2 rows, all true
1:0: 1 | "one" | [1, 2] | [0.5, 1.0, 2.0] | {'x': 5}
2:0: 2 | NULL | [3, 4] | NULL | NULL
`
	for _, c := range []struct {
		note string
		data []byte
	}{{"Parquet", parquetOf(t, rec)}, {"Arrow IPC file", arrowOf(t, rec, false)}, {"Arrow IPC stream", arrowOf(t, rec, true)}, {"Arrow IPC stream", packed("zst", arrowOf(t, rec, true))}} {
		got := show(inputOf(c.data), Options{}, nil)
		if c.note == "Parquet" {
			got = strings.ReplaceAll(got, "v DOUBLE[]", "v VECTOR(2)")
			got = strings.ReplaceAll(got, "VECTOR(2) of 2", "VECTOR(2)")
			got = strings.ReplaceAll(got, "[1.0, 2.0] | [0.5", "[1, 2] | [0.5")
			got = strings.ReplaceAll(got, "[3.0, 4.0]", "[3, 4]")
		}
		if got != c.note+"\n"+rows {
			t.Errorf("%s:\n%s", c.note, got)
		}
	}
}

// TestRowNumbersOfLargeBatches: a batch larger than a chunk is cut, and rows keep their numbers.
func TestRowNumbersOfLargeBatches(t *testing.T) {
	for _, data := range [][]byte{parquetOf(t, batchOf(t, 5000)), arrowOf(t, batchOf(t, 5000), false)} {
		r, err := Open(inputOf(data), Options{})
		if err != nil {
			t.Fatal(err)
		}
		rows := int64(0)
		for {
			b, err := r.Next()
			if err != nil {
				t.Fatal(err)
			}
			if b == nil {
				break
			}
			if b.From != rows+1 || b.To-b.From != int64(b.N) || b.Places[b.N-1].Row != b.To-1 {
				t.Fatalf("batch [%d, %d) of %d rows behind row %d", b.From, b.To, b.N, rows)
			}
			if v := b.Cols[0].Value(1); v.Int != 2 {
				t.Fatalf("row %d: %s", rows+2, v)
			}
			rows += int64(b.N)
		}
		if rows != 5000 {
			t.Fatal(rows)
		}
		r.Close()
	}
}

func TestParquetNeedsAFile(t *testing.T) {
	data := parquetOf(t, batchOf(t, 2))
	in := inputOf(data)
	in.At = nil
	if _, err := Open(in, Options{}); !fail.Is(err, fail.Unsupported) {
		t.Error(err)
	}
	if _, err := Open(inputOf(packed("gz", data)), Options{}); !fail.Is(err, fail.Unsupported) {
		t.Error(err)
	}
	if _, err := Open(inputOf(data[:len(data)-9]), Options{}); !fail.Is(err, fail.InvalidParameter) {
		t.Error(err)
	}
}

// TestCSVReadsWhatIsWritten: any table that a writer quotes by the rules is read
// back, whatever the texts are.
func TestCSVReadsWhatIsWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		width := rapid.IntRange(2, 4).Draw(t, "width")
		cell := rapid.StringOfN(rapid.RuneFrom([]rune("ab\",;\t|'\n\r 1.é")), 0, 8, -1)
		rows := rapid.SliceOfN(rapid.SliceOfN(cell, width, width), 1, 9).Draw(t, "rows")
		crlf := rapid.Bool().Draw(t, "crlf")
		var b bytes.Buffer
		w := csv.NewWriter(&b)
		w.UseCRLF = crlf
		if err := w.WriteAll(rows); err != nil {
			t.Fatal(err)
		}
		no := false
		r, err := Open(inputOf(b.Bytes()), Options{Format: CSV, Header: &no, Delimiter: ',', Quote: '"', Nulls: []string{"none"}})
		if err != nil {
			t.Fatal(err)
		}
		rows, err = csv.NewReader(bytes.NewReader(b.Bytes())).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		if len(rows) == 0 {
			return
		}
		batch, err := r.Next()
		if err != nil || batch == nil || len(batch.Bad) > 0 || batch.N != len(rows) {
			t.Fatalf("%v, %v of %q", err, batch, b.String())
		}
		for i, want := range rows {
			for j, text := range want {
				got := strings.ReplaceAll(batch.Cols[j].Value(i).Str, "\r\n", "\n")
				if got != text {
					t.Fatalf("row %d, column %d: %q, want %q, of %q", i, j, got, text, b.String())
				}
			}
		}
	})
}

// FuzzOpen: whatever the bytes are, there is an end, and no panic. Parquet and
// Arrow are left out: arrow-go allocates what the file says that it needs.
func FuzzOpen(f *testing.F) {
	for _, seed := range [][]byte{[]byte("a,b\n1,\"x\ny\"\n"), []byte(`[{"a":1},{"b":[1,"x"]}]`), []byte("{\"a\":1}\n{\"a\n"), packed("gz", []byte("a\n1\n"))} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if magic(data).binary() {
			return
		}
		r, err := Open(inputOf(data), Options{Names: []string{"a"}})
		if err != nil {
			return
		}
		defer r.Close()
		if _, err := r.Sample(10); err != nil {
			return
		}
		last := int64(1)
		for {
			b, err := r.Next()
			if err != nil || b == nil {
				return
			}
			if b.From != last || b.To < b.From || len(b.Places) != b.N || int64(b.N+len(b.Bad)) != b.To-b.From {
				t.Fatalf("batch [%d, %d) with %d rows, %d bad, behind %d", b.From, b.To, b.N, len(b.Bad), last)
			}
			for _, c := range b.Cols {
				if c.N != b.N {
					t.Fatalf("a column of %d rows in a batch of %d", c.N, b.N)
				}
				Convert(c, types.Of(types.Int64))
			}
			last = b.To
		}
	})
}
