package rest

import (
	"fmt"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/loamdb/loam/flightsql/internal/engine"
	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// sampleChunk is a chunk of the columns that results usually have.
func sampleChunk() (*vec.Chunk, *engine.Result) {
	columns := []plan.Column{
		{Name: "id", Type: types.Of(types.Int64)}, {Name: "title", Type: types.Of(types.Text)}, {Name: "score", Type: types.Of(types.Double)},
		{Name: "at", Type: types.Of(types.Timestamp)}, {Name: "price", Type: types.DecimalOf(12, 2)}, {Name: "ok", Type: types.Of(types.Boolean)},
	}
	ts := make([]types.Type, len(columns))
	for i, c := range columns {
		ts[i] = c.Type
	}
	c := vec.NewChunk(ts, vec.ChunkRows)
	for i := range vec.ChunkRows {
		c.Cols[0].Append(vec.Int64(int64(i)))
		c.Cols[1].Append(vec.Text(fmt.Sprintf("the title of document %d", i)))
		c.Cols[2].Append(vec.Double(float64(i) / 7))
		c.Cols[3].Append(vec.Value{Type: ts[3], Int: 1_700_000_000_000_000 + int64(i)*1_000_003})
		c.Cols[4].Append(vec.Value{Type: ts[4], Dec: decimal128.FromI64(int64(i) * 101)})
		c.Cols[5].Append(vec.Bool(i%2 == 0))
	}
	c.N = vec.ChunkRows
	return c, &engine.Result{Columns: columns, Affected: -1}
}

func render(buf []byte, enc encoder, c *vec.Chunk) []byte {
	for i := range c.Rows() {
		buf = enc.row(buf, c, c.RowAt(i))
		if len(buf) >= flushBytes {
			buf = buf[:0]
		}
	}
	return buf
}

// TestRenderingAllocatesNothing per row, in any form.
func TestRenderingAllocatesNothing(t *testing.T) {
	c, res := sampleChunk()
	for _, enc := range []encoder{&table{}, &table{objects: true}, &lines{}, &sheet{}} {
		buf := make([]byte, 0, 2*flushBytes)
		if _, err := enc.begin(nil, res); err != nil {
			t.Fatal(err)
		}
		if n := testing.AllocsPerRun(5, func() { buf = render(buf[:0], enc, c) }); n > 1 {
			t.Errorf("%T: %v allocations for %d rows", enc, n, c.Rows())
		}
	}
}

// BenchmarkRender reports rows per second; one million rows of six columns
// should take less than a second on one core.
func BenchmarkRender(b *testing.B) {
	c, res := sampleChunk()
	for name, enc := range map[string]encoder{"arrays": &table{}, "objects": &table{objects: true}, "ndjson": &lines{}, "csv": &sheet{}} {
		b.Run(name, func(b *testing.B) {
			buf := make([]byte, 0, 2*flushBytes)
			if _, err := enc.begin(nil, res); err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				buf = render(buf[:0], enc, c)
			}
			b.ReportMetric(float64(b.N)*float64(c.Rows())/b.Elapsed().Seconds(), "rows/s")
		})
	}
}
