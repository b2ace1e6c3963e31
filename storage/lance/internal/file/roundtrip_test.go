package file

import (
	"context"
	"fmt"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

func TestRoundTripSizesAndNulls(t *testing.T) {
	ctx := context.Background()
	for _, rows := range []int{0, 1, 511, 512, 513, 1024, 4096, 4097} {
		for _, nulls := range []float64{0, 0.01, 0.5, 1} {
			t.Run(fmt.Sprintf("rows=%d/nulls=%v", rows, nulls), func(t *testing.T) {
				g := newGen(uint64(rows)+uint64(nulls*100), nulls, 40)
				schema := loamSchema(8)
				rec := g.batch(schema, rows)
				f := openBytes(t, writeFile(t, schema, WriterOptions{}, rec))
				if f.NumRows() != int64(rows) || !f.Schema().Equal(schema) {
					t.Fatalf("opened %d rows of %s", f.NumRows(), f.Schema())
				}
				mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
				defer mem.AssertSize(t, 0)
				got, err := f.ReadWith(ctx, mem, nil, 0, int64(rows))
				if err != nil {
					t.Fatal(err)
				}
				sameRows(t, rec, 0, int64(rows), got)
				got.Release()
			})
		}
	}
}

func TestRoundTripDims(t *testing.T) {
	for _, dim := range []int{1, 8, 63, 64, 384, 768} {
		g := newGen(uint64(dim), 0.1, 10)
		schema := arrow.NewSchema([]arrow.Field{
			{Name: "a", Type: vectorType(dim)}, {Name: "b", Type: vectorType(dim), Nullable: true}}, nil)
		rec := g.batch(schema, 700)
		f := openBytes(t, writeFile(t, schema, WriterOptions{PageBytes: 100_000}, rec))
		got, err := f.Read(context.Background(), nil, 0, 700)
		if err != nil {
			t.Fatal(err)
		}
		sameRows(t, rec, 0, 700, got)
	}
}

// TestPages cuts pages small and reads ranges that cross them.
func TestPages(t *testing.T) {
	ctx := context.Background()
	g := newGen(3, 0.2, 30)
	schema := loamSchema(16)
	const rows = 20_000
	var recs []arrow.RecordBatch
	for range 4 {
		recs = append(recs, g.batch(schema, rows/4))
	}
	all := concat(t, schema, recs)
	f := openBytes(t, writeFile(t, schema, WriterOptions{PageBytes: 64 << 10, PageRows: 3000}, recs...))
	for _, c := range f.cols {
		if len(c.pages) < 4 {
			t.Errorf("column %q has %d pages; the test wants several", c.leaf.name, len(c.pages))
		}
	}
	for range 200 {
		from := g.r.Int64N(rows + 1)
		n := g.r.Int64N(min(rows-from, 5000) + 1)
		got, err := f.Read(ctx, nil, from, n)
		if err != nil {
			t.Fatal(err)
		}
		sameRows(t, all, from, n, got)
		got.Release()
	}
	got, err := f.Read(ctx, []string{"sp", "_pk"}, 0, rows)
	if err != nil {
		t.Fatal(err)
	}
	sameRows(t, all, 0, rows, got)
}

func concat(t failer, schema *arrow.Schema, recs []arrow.RecordBatch) arrow.RecordBatch {
	t.Helper()
	var cols []arrow.Array
	rows := int64(0)
	for i := range schema.Fields() {
		var parts []arrow.Array
		for _, r := range recs {
			parts = append(parts, r.Column(i))
		}
		c, err := array.Concatenate(parts, memory.DefaultAllocator)
		if err != nil {
			t.Fatal(err)
		}
		cols = append(cols, c)
		rows = int64(c.Len())
	}
	return array.NewRecordBatch(schema, cols, rows)
}

func TestTake(t *testing.T) {
	ctx := context.Background()
	g := newGen(5, 0.15, 60)
	schema := loamSchema(8)
	const rows = 9000
	rec := g.batch(schema, rows)
	f := openBytes(t, writeFile(t, schema, WriterOptions{PageBytes: 128 << 10}, rec))
	for _, n := range []int{0, 1, 2, 10, 300, 3000} {
		for _, sorted := range []bool{true, false} {
			var ids []uint32
			next := uint32(0)
			for range n {
				if sorted {
					next += 1 + g.r.Uint32N(3)
					ids = append(ids, min(next, rows-1))
				} else {
					ids = append(ids, g.r.Uint32N(rows))
				}
			}
			mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
			got, err := f.TakeWith(ctx, mem, nil, ids)
			if err != nil {
				t.Fatal(err)
			}
			if got.NumRows() != int64(n) {
				t.Fatalf("took %d rows of %d", got.NumRows(), n)
			}
			for i, id := range ids {
				row := got.NewSlice(int64(i), int64(i)+1)
				sameRows(t, rec, int64(id), 1, row)
				row.Release()
			}
			got.Release()
			mem.AssertSize(t, 0)
		}
	}
}

func TestLongValues(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "s", Type: arrow.BinaryTypes.String, Nullable: true},
		{Name: "b", Type: arrow.BinaryTypes.LargeBinary, Nullable: true}}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	big := make([]byte, 1<<20)
	for i := range 40 {
		switch {
		case i%3 == 0:
			b.Field(0).AppendNull()
			b.Field(1).(*array.BinaryBuilder).Append(nil)
		case i%5 == 0:
			b.Field(0).(*array.StringBuilder).Append("")
			b.Field(1).AppendNull()
		default:
			big[i] = byte(i)
			b.Field(0).(*array.StringBuilder).Append(string(big[:255+i%3]))
			b.Field(1).(*array.BinaryBuilder).Append(big)
		}
	}
	rec := b.NewRecordBatch()
	f := openBytes(t, writeFile(t, schema, WriterOptions{}, rec))
	if n := len(f.cols[1].pages); n < 2 {
		t.Errorf("20 MiB of values are in %d page", n)
	}
	got, err := f.Read(context.Background(), nil, 0, 40)
	if err != nil {
		t.Fatal(err)
	}
	sameRows(t, rec, 0, 40, got)
}

// TestSparseRuns covers runs of empty and null sparse vectors longer than a
// chunk may hold, lists longer than a chunk, and pages without any value.
func TestSparseRuns(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{{Name: "sp", Type: sparseType(), Nullable: true}}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	sb := b.Field(0).(*array.StructBuilder)
	add := func(n int) {
		if n < 0 {
			sb.AppendNull()
			return
		}
		sb.Append(true)
		ib, vb := sb.FieldBuilder(0).(*array.ListBuilder), sb.FieldBuilder(1).(*array.ListBuilder)
		ib.Append(true)
		vb.Append(true)
		for i := range n {
			ib.ValueBuilder().(*array.Uint32Builder).Append(uint32(i))
			vb.ValueBuilder().(*array.Float32Builder).Append(float32(i) / 2)
		}
	}
	rows := 0
	for _, part := range []struct{ count, n int }{
		{3, 5}, {9000, 0}, {1, 10_000}, {2, 1024}, {5000, -1}, {2, 512}, {1, 0}, {2047, -1}, {1, 1024}, {2049, 0}, {3, 1}, {30_000, -1},
	} {
		for range part.count {
			add(part.n)
		}
		rows += part.count
	}
	rec := b.NewRecordBatch()
	for _, pageRows := range []int{0, 4000} {
		f := openBytes(t, writeFile(t, schema, WriterOptions{PageRows: pageRows}, rec))
		got, err := f.Read(context.Background(), nil, 0, int64(rows))
		if err != nil {
			t.Fatal(err)
		}
		sameRows(t, rec, 0, int64(rows), got)
		for from := int64(0); from < int64(rows)-40; from += 997 {
			part, err := f.Read(context.Background(), nil, from, 40)
			if err != nil {
				t.Fatal(err)
			}
			sameRows(t, rec, from, 40, part)
		}
	}
}
