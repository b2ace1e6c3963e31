package lance_test

import (
	"bytes"
	"context"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/loamdb/loam/storage/lance"
)

const (
	benchRows = 20_000
	benchDim  = 96
)

// benchFile is 20,000 documents of about 400 bytes, a vector of 96, 20 sparse entries.
func benchFile(b *testing.B) (arrow.RecordBatch, *lance.File) {
	b.Helper()
	rec := loamBatch(1, benchRows, benchDim, 0.02, 400)
	var buf bytes.Buffer
	w, err := lance.NewWriter(&buf, rec.Schema())
	must(b, err)
	must(b, w.Write(rec))
	_, err = w.Close()
	must(b, err)
	f, err := lance.OpenFile(context.Background(), bytesReader(buf.Bytes()), int64(buf.Len()))
	must(b, err)
	return rec, f
}

func BenchmarkWrite(b *testing.B) {
	rec, f := benchFile(b)
	b.SetBytes(f.Size())
	for b.Loop() {
		w, err := lance.NewWriter(io.Discard, rec.Schema())
		must(b, err)
		must(b, w.Write(rec))
		_, err = w.Close()
		must(b, err)
	}
}

func BenchmarkScan(b *testing.B) {
	_, f := benchFile(b)
	for _, column := range []string{"_pk", "_source", "_ingest_offset", "emb", "img", "sp"} {
		b.Run(column, func(b *testing.B) {
			for b.Loop() {
				for from := int64(0); from < benchRows; from += 5000 {
					rec, err := f.Read(context.Background(), []string{column}, from, 5000)
					must(b, err)
					rec.Release()
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchRows, "ns/row")
		})
	}
	b.Run("vectors", func(b *testing.B) {
		b.SetBytes(benchRows * benchDim * 4)
		for b.Loop() {
			_, err := f.ReadVectors(context.Background(), "emb", 0, benchRows)
			must(b, err)
		}
	})
}

func BenchmarkTake(b *testing.B) {
	_, f := benchFile(b)
	r := rand.New(rand.NewPCG(1, 1))
	rows := make([]uint32, 500)
	for i := range rows {
		rows[i] = r.Uint32N(benchRows)
	}
	for _, column := range []string{"_pk", "_source", "_ingest_offset", "emb", "img", "sp"} {
		b.Run(column, func(b *testing.B) {
			for b.Loop() {
				rec, err := f.Take(context.Background(), []string{column}, rows)
				must(b, err)
				rec.Release()
			}
		})
	}
	b.Run("vectors", func(b *testing.B) {
		for b.Loop() {
			_, err := f.TakeVectors(context.Background(), "emb", rows)
			must(b, err)
		}
	})
}
