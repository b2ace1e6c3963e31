package file

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// memSource is a file in memory that counts its reads.
type memSource struct {
	b []byte

	mu    sync.Mutex // guards the counts
	reads int
	bytes int64
}

func (m *memSource) ReadAt(_ context.Context, p []byte, off int64) error {
	m.mu.Lock()
	m.reads++
	m.bytes += int64(len(p))
	m.mu.Unlock()
	if off < 0 || off+int64(len(p)) > int64(len(m.b)) {
		return io.ErrUnexpectedEOF
	}
	copy(p, m.b[off:])
	return nil
}

func sparseType() arrow.DataType {
	return arrow.StructOf(
		arrow.Field{Name: "indices", Type: arrow.ListOf(arrow.PrimitiveTypes.Uint32), Nullable: true},
		arrow.Field{Name: "values", Type: arrow.ListOf(arrow.PrimitiveTypes.Float32), Nullable: true})
}

func vectorType(dim int) arrow.DataType {
	return arrow.FixedSizeListOf(int32(dim), arrow.PrimitiveTypes.Float32)
}

// loamSchema has every column type that Loam writes.
func loamSchema(dim int) *arrow.Schema {
	return arrow.NewSchema([]arrow.Field{
		{Name: "_pk", Type: arrow.BinaryTypes.String},
		{Name: "_source", Type: arrow.BinaryTypes.LargeBinary, Nullable: true},
		{Name: "_ingest_partition", Type: arrow.PrimitiveTypes.Int32},
		{Name: "_ingest_offset", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
		{Name: "raw", Type: arrow.BinaryTypes.Binary, Nullable: true},
		{Name: "emb", Type: vectorType(dim)},
		{Name: "img", Type: vectorType(dim), Nullable: true},
		{Name: "sp", Type: sparseType(), Nullable: true},
	}, nil)
}

// gen makes random arrays; nullRate is 0 to 1, maxLen bounds values and lists.
type gen struct {
	r        *rand.Rand
	nullRate float64
	maxLen   int
}

func (g *gen) null() bool { return g.nullRate > 0 && g.r.Float64() < g.nullRate }

func (g *gen) length() int {
	if g.r.IntN(4) == 0 {
		return 0
	}
	return g.r.IntN(g.maxLen + 1)
}

func (g *gen) fill(b array.Builder, nullable bool) {
	if nullable && g.null() {
		b.AppendNull()
		return
	}
	switch b := b.(type) {
	case *array.StringBuilder:
		b.Append(fmt.Sprintf("k%d", g.r.Uint64()>>(g.r.IntN(64))))
	case *array.BinaryBuilder:
		p := make([]byte, g.length())
		for i := range p {
			p[i] = byte(g.r.Uint32())
		}
		b.Append(p)
	case *array.Int32Builder:
		b.Append(int32(g.r.Uint32()))
	case *array.Int64Builder:
		b.Append(int64(g.r.Uint64()))
	case *array.Uint32Builder:
		b.Append(g.r.Uint32())
	case *array.Float32Builder:
		b.Append(g.r.Float32())
	case *array.FixedSizeListBuilder:
		b.Append(true)
		for range b.Type().(*arrow.FixedSizeListType).Len() {
			g.fill(b.ValueBuilder(), false)
		}
	case *array.ListBuilder:
		b.Append(true)
		for range g.length() {
			g.fill(b.ValueBuilder(), false)
		}
	case *array.StructBuilder:
		b.Append(true)
		n := g.length()
		for i := range b.NumField() {
			lb := b.FieldBuilder(i).(*array.ListBuilder)
			lb.Append(true)
			for range n {
				g.fill(lb.ValueBuilder(), false)
			}
		}
	default:
		panic(fmt.Sprintf("no generator for %T", b))
	}
}

func (g *gen) batch(schema *arrow.Schema, rows int) arrow.RecordBatch {
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	for i, f := range schema.Fields() {
		for range rows {
			g.fill(b.Field(i), f.Nullable)
		}
	}
	return b.NewRecordBatch()
}

func newGen(seed uint64, nullRate float64, maxLen int) *gen {
	return &gen{r: rand.New(rand.NewPCG(seed, 7)), nullRate: nullRate, maxLen: maxLen}
}

// writeFile writes the batches and returns the file's bytes.
func writeFile(t testing.TB, schema *arrow.Schema, opts WriterOptions, recs ...arrow.RecordBatch) []byte {
	t.Helper()
	var buf bytes.Buffer
	w, err := NewWriter(&buf, schema, opts)
	if err != nil {
		t.Fatal(err)
	}
	rows := int64(0)
	for _, r := range recs {
		if err := w.Write(r); err != nil {
			t.Fatal(err)
		}
		rows += r.NumRows()
	}
	info, err := w.Close()
	if err != nil {
		t.Fatal(err)
	}
	if info.Rows != rows || info.Size != int64(buf.Len()) {
		t.Fatalf("info %+v, want %d rows, %d bytes", info, rows, buf.Len())
	}
	return buf.Bytes()
}

func openBytes(t testing.TB, b []byte) *File {
	t.Helper()
	f, err := Open(context.Background(), &memSource{b: b}, int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// failer is what the helpers need of a test or a rapid check.
type failer interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// sameRows fails unless rows [from, from+n) of want equal got, column by column.
func sameRows(t failer, want arrow.RecordBatch, from, n int64, got arrow.RecordBatch) {
	t.Helper()
	if got.NumRows() != n {
		t.Fatalf("got %d rows, want %d", got.NumRows(), n)
	}
	for i, f := range got.Schema().Fields() {
		at := want.Schema().FieldIndices(f.Name)[0]
		w := array.NewSlice(want.Column(at), from, from+n)
		if !array.Equal(w, got.Column(i)) {
			t.Fatalf("column %q, rows %d+%d differ\nwant %.2000s\ngot  %.2000s", f.Name, from, n, w, got.Column(i))
		}
		w.Release()
	}
}
