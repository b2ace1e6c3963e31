package render

import (
	"fmt"
	"io"
	"testing"

	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// BenchmarkRender prints chunks of 2,048 rows of five columns in each format;
// a row should take 2 µs of one processor at most.
func BenchmarkRender(b *testing.B) {
	cols := []plan.Column{{Name: "n", Type: types.Of(types.Int64)}, {Name: "title", Type: types.Of(types.Text)},
		{Name: "lang", Type: types.Of(types.Text)}, {Name: "score", Type: types.Of(types.Double)}, {Name: "empty", Type: types.Of(types.Text)}}
	c := &vec.Chunk{N: 2048}
	for _, col := range cols {
		c.Cols = append(c.Cols, vec.New(col.Type, c.N))
	}
	for i := range c.N {
		c.Cols[0].Append(vec.Int64(int64(i)))
		c.Cols[1].Append(vec.Text(fmt.Sprintf("The quick brown fox, number %d", i)))
		c.Cols[2].Append(vec.Text("Zoë"))
		c.Cols[3].Append(vec.Double(float64(i) / 3))
		c.Cols[4].Append(vec.Null(types.Of(types.Text)))
	}
	for _, f := range Formats {
		b.Run(string(f), func(b *testing.B) {
			w, err := New(io.Discard, cols, Options{Format: f, Width: 100})
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if err := w.Chunk(c); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/2048, "ns/row")
		})
	}
}
