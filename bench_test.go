package loam_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/loamdb/loam"
	"github.com/loamdb/loam/storage/collection"
)

// The benchmarks of the main job: documents with text and a 384-d vector come
// in, are applied, and are read back. On a shared machine only processor time
// and allocations compare, so that each reports rows or calls by processor second.

const (
	benchDim  = 384
	benchRows = 20_000
	batchRows = 1_000
)

// cpuTime is the processor time of this process so far.
func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// perCPU reports n units a processor second since start, and the microseconds of one.
func perCPU(b *testing.B, start time.Duration, n int, unit string) {
	b.Helper()
	spent := cpuTime(b) - start
	b.ReportMetric(float64(n)/spent.Seconds(), unit+"/cpu-s")
	b.ReportMetric(float64(spent.Microseconds())/float64(n), "cpu-us/"+unit)
}

// benchNode is an engine in memory that applies only when told to.
func benchNode(b *testing.B) *loam.Session { return benchNodeIn(b, "") }

// benchNodeIn is benchNode with a data directory.
func benchNodeIn(b *testing.B, dir string) *loam.Session {
	b.Helper()
	const never = 1 << 40
	e, err := loam.Open(context.Background(), loam.Config{Dir: dir, Collection: collection.Options{
		ApplyBytes: never, ApplyRows: never, BatchInterval: time.Hour, MaxBatchInterval: time.Hour,
		MaxUnappliedRecords: never, MaxUnappliedBytes: never, MaxSplits: never,
	}})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := e.Close(); err != nil {
			b.Error(err)
		}
	})
	return e.NewSession(loam.SessionConfig{User: "bench"})
}

func must(b *testing.B, s *loam.Session, sql string) {
	b.Helper()
	if _, err := benchQuery(s, sql); err != nil {
		b.Fatalf("%s: %v", sql, err)
	}
}

// benchQuery runs a statement to its end and returns the rows as text.
func benchQuery(s *loam.Session, sql string) ([]string, error) {
	ctx := context.Background()
	r, err := s.Query(ctx, sql)
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }()
	var out []string
	for {
		c, err := r.Next(ctx)
		if err != nil || c == nil {
			return out, err
		}
		for i := range c.Rows() {
			var cells []string
			for _, col := range c.Cols {
				cells = append(cells, col.Value(c.RowAt(i)).String())
			}
			out = append(out, strings.Join(cells, "|"))
		}
	}
}

// drain runs a query to its end and counts its rows.
func drain(b *testing.B, s *loam.Session, sql string) int {
	b.Helper()
	ctx := context.Background()
	r, err := s.Query(ctx, sql)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	n := 0
	for {
		c, err := r.Next(ctx)
		if err != nil {
			b.Fatal(err)
		}
		if c == nil {
			return n
		}
		n += c.Rows()
	}
}

const docsDDL = `CREATE COLLECTION docs (id TEXT PRIMARY KEY, title TEXT, body TEXT FULLTEXT 'english',
	lang TEXT, year INT, price DOUBLE, published TIMESTAMP, emb VECTOR(384) DISTANCE cosine)`

// words have a frequency that falls like 1/rank, as those of a language.
func words(r *rand.Rand, n int) string {
	var sb strings.Builder
	for i := range n {
		if i > 0 {
			sb.WriteByte(' ')
		}
		u := r.Float64()
		fmt.Fprintf(&sb, "word%d", int(u*u*u*20_000))
	}
	return sb.String()
}

// docsBatch makes rows [from, from+n) of the collection docs.
func docsBatch(from, n int) arrow.RecordBatch {
	r := rand.New(rand.NewPCG(7, uint64(from)))
	sch := arrow.NewSchema([]arrow.Field{
		{Name: "id", Type: arrow.BinaryTypes.String}, {Name: "title", Type: arrow.BinaryTypes.String},
		{Name: "body", Type: arrow.BinaryTypes.String}, {Name: "lang", Type: arrow.BinaryTypes.String},
		{Name: "year", Type: arrow.PrimitiveTypes.Int32}, {Name: "price", Type: arrow.PrimitiveTypes.Float64},
		{Name: "published", Type: arrow.FixedWidthTypes.Timestamp_us},
		{Name: "emb", Type: arrow.FixedSizeListOf(benchDim, arrow.PrimitiveTypes.Float32)},
	}, nil)
	bld := array.NewRecordBuilder(memory.DefaultAllocator, sch)
	defer bld.Release()
	langs := []string{"en", "de", "fr", "es", "nl"}
	for i := from; i < from+n; i++ {
		bld.Field(0).(*array.StringBuilder).Append(fmt.Sprintf("doc-%08d", i))
		bld.Field(1).(*array.StringBuilder).Append(words(r, 6))
		bld.Field(2).(*array.StringBuilder).Append(words(r, 60))
		bld.Field(3).(*array.StringBuilder).Append(langs[i%5])
		bld.Field(4).(*array.Int32Builder).Append(int32(i % 100))
		bld.Field(5).(*array.Float64Builder).Append(float64(i) / 8)
		bld.Field(6).(*array.TimestampBuilder).Append(arrow.Timestamp(1_700_000_000_000_000 + int64(i)*1_000_000))
		l := bld.Field(7).(*array.FixedSizeListBuilder)
		l.Append(true)
		v := l.ValueBuilder().(*array.Float32Builder)
		for range benchDim {
			v.Append(r.Float32() - 0.5)
		}
	}
	return bld.NewRecordBatch()
}

func docsBatches(n int) []arrow.RecordBatch {
	var out []arrow.RecordBatch
	for from := 0; from < n; from += batchRows {
		out = append(out, docsBatch(from, min(batchRows, n-from)))
	}
	return out
}

func load(b *testing.B, s *loam.Session, name string, recs []arrow.RecordBatch) {
	b.Helper()
	for _, rec := range recs {
		if _, err := s.AppendRecords(context.Background(), loam.Target{Name: name}, rec); err != nil {
			b.Fatal(err)
		}
	}
}

// settle applies what waits.
func settle(b *testing.B, s *loam.Session, name string) {
	b.Helper()
	if _, err := s.ScanPlan(context.Background(), loam.ScanRequest{Target: loam.Target{Name: name}, Tail: loam.TailWait}); err != nil {
		b.Fatal(err)
	}
}

func wantRow(b *testing.B, s *loam.Session, sql, want string) {
	b.Helper()
	rows, err := benchQuery(s, sql)
	if err != nil {
		b.Fatal(err)
	}
	if len(rows) != 1 || rows[0] != want {
		b.Fatalf("%s: %q, want %q", sql, rows, want)
	}
}

// BenchmarkIngest appends documents; nothing is applied.
func BenchmarkIngest(b *testing.B) {
	recs := docsBatches(benchRows)
	b.ReportAllocs()
	var spent time.Duration
	for b.Loop() {
		s := benchNode(b)
		must(b, s, docsDDL)
		start := cpuTime(b)
		load(b, s, "docs", recs)
		spent += cpuTime(b) - start
		wantRow(b, s, "SELECT count(*), max(year) FROM docs WHERE lang = 'de'", fmt.Sprint(benchRows/5, "|", 96))
	}
	b.ReportMetric(float64(b.N*benchRows)/spent.Seconds(), "rows/cpu-s")
}

// BenchmarkApply folds documents into a fragment and a split.
func BenchmarkApply(b *testing.B) {
	recs := docsBatches(benchRows)
	var spent time.Duration
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		s := benchNode(b)
		must(b, s, docsDDL)
		load(b, s, "docs", recs)
		b.StartTimer()
		start := cpuTime(b)
		settle(b, s, "docs")
		spent += cpuTime(b) - start
		wantRow(b, s, "SELECT count(*), max(year) FROM docs WHERE lang = 'de'", fmt.Sprint(benchRows/5, "|", 96))
	}
	b.ReportMetric(float64(b.N*benchRows)/spent.Seconds(), "rows/cpu-s")
}

// BenchmarkSmall runs statements that touch few rows, over a collection of
// which most is applied and some waits in the tail: in memory, and in a
// directory, whose metastore is an embedded etcd.
func BenchmarkSmall(b *testing.B) {
	b.Run("mem", func(b *testing.B) { benchSmall(b, benchNode(b)) })
	b.Run("dir", func(b *testing.B) { benchSmall(b, benchNodeIn(b, b.TempDir())) })
}

func benchSmall(b *testing.B, s *loam.Session) {
	must(b, s, docsDDL)
	recs := docsBatches(benchRows)
	load(b, s, "docs", recs[:len(recs)-2])
	settle(b, s, "docs")
	load(b, s, "docs", recs[len(recs)-2:])
	for _, q := range []struct{ name, sql, want string }{
		{"one", "SELECT 1", "1"},
		{"key-split", "SELECT year, lang FROM docs WHERE id = 'doc-00001234'", "34|nl"},
		{"key-tail", "SELECT year, lang FROM docs WHERE id = 'doc-00019001'", "1|de"},
		{"key-in", "SELECT count(*), sum(year) FROM docs WHERE id IN ('doc-00001234', 'doc-00019001', 'none')", "2|35"},
		{"key-source", "SELECT length(_source) > 10 FROM docs WHERE id = 'doc-00001234'", "true"},
	} {
		b.Run(q.name, func(b *testing.B) {
			wantRow(b, s, q.sql, q.want)
			b.ReportAllocs()
			start := cpuTime(b)
			for b.Loop() {
				if drain(b, s, q.sql) != 1 {
					b.Fatal("not one row")
				}
			}
			perCPU(b, start, b.N, "query")
		})
	}
}

// tableBatch makes rows [from, from+n) of the table events.
func tableBatch(from, n int) arrow.RecordBatch {
	sch := arrow.NewSchema([]arrow.Field{
		{Name: "id", Type: arrow.PrimitiveTypes.Int64}, {Name: "kind", Type: arrow.BinaryTypes.String},
		{Name: "url", Type: arrow.BinaryTypes.String}, {Name: "amount", Type: arrow.PrimitiveTypes.Float64},
		{Name: "day", Type: arrow.PrimitiveTypes.Int32},
	}, nil)
	bld := array.NewRecordBuilder(memory.DefaultAllocator, sch)
	defer bld.Release()
	for i := from; i < from+n; i++ {
		bld.Field(0).(*array.Int64Builder).Append(int64(i))
		bld.Field(1).(*array.StringBuilder).Append([]string{"view", "click", "purchase", "return"}[i*7%4])
		bld.Field(2).(*array.StringBuilder).Append(fmt.Sprintf("https://example.org/item/%d", i*31%5000))
		bld.Field(3).(*array.Float64Builder).Append(float64(i % 1000))
		bld.Field(4).(*array.Int32Builder).Append(int32(i % 365))
	}
	return bld.NewRecordBatch()
}

// BenchmarkTable reads a table of a million rows that is applied.
func BenchmarkTable(b *testing.B) {
	const rows = 1_000_000
	s := benchNode(b)
	must(b, s, "CREATE TABLE events (id BIGINT, kind TEXT, url TEXT, amount DOUBLE, day INT)")
	start := cpuTime(b)
	for from := 0; from < rows; from += 50_000 {
		load(b, s, "events", []arrow.RecordBatch{tableBatch(from, 50_000)})
		if from%250_000 == 200_000 {
			settle(b, s, "events")
		}
	}
	b.Logf("load and apply: %.2f cpu-us/row", (cpuTime(b)-start).Seconds()*1e6/rows)
	for _, q := range []struct{ name, sql, want string }{
		{"count-filter", "SELECT count(*) FROM events WHERE amount < 100", "100000"},
		{"sum-by-kind", "SELECT count(*), sum(n) FROM (SELECT kind, count(*) n, sum(amount) FROM events GROUP BY kind)", "4|1000000"},
		{"count-text", "SELECT count(*) FROM events WHERE kind = 'click'", "250000"},
		{"like", "SELECT count(*) FROM events WHERE url LIKE '%item/77'", "200"},
		{"by-url", "SELECT count(*) FROM (SELECT url, sum(amount) FROM events WHERE day < 180 GROUP BY url)", "5000"},
		{"zone", "SELECT count(*) FROM events WHERE id BETWEEN 500000 AND 500999", "1000"},
	} {
		b.Run(q.name, func(b *testing.B) {
			wantRow(b, s, q.sql, q.want)
			b.ReportAllocs()
			start := cpuTime(b)
			for b.Loop() {
				drain(b, s, q.sql)
			}
			perCPU(b, start, b.N*rows/1000, "krow")
		})
	}
}

// BenchmarkDocs reads and searches 100,000 applied documents in five splits.
func BenchmarkDocs(b *testing.B) {
	const rows = 100_000
	s := benchNode(b)
	must(b, s, docsDDL)
	for from := 0; from < rows; from += benchRows {
		for at := from; at < from+benchRows; at += batchRows {
			load(b, s, "docs", []arrow.RecordBatch{docsBatch(at, batchRows)})
		}
		settle(b, s, "docs")
	}
	q := vectorText(rand.New(rand.NewPCG(1, 2)))
	for _, c := range []struct {
		name, sql string
		rows      int
	}{
		{"filter-aggregate", "SELECT lang, count(*), avg(price) FROM docs WHERE year < 50 GROUP BY lang", 5},
		{"scan-source", "SELECT _source FROM docs", rows},
		{"scan-vectors", "SELECT emb FROM docs", rows},
		{"text", "SELECT id, _score FROM text_search(docs, 'word7 word300', limit => 10)", 10},
		{"text-10%", "SELECT id, _score FROM text_search(docs, 'word7 word300', limit => 10) WHERE year < 10", 10},
		{"text-1%", "SELECT id, _score FROM text_search(docs, 'word7 word300', limit => 10) WHERE year = 3", 10},
		{"vector", "SELECT id, _score FROM vector_search(docs, " + q + ", limit => 10)", 10},
		{"vector-10%", "SELECT id, _score FROM vector_search(docs, " + q + ", limit => 10) WHERE year < 10", 10},
		{"vector-1%", "SELECT id, _score FROM vector_search(docs, " + q + ", limit => 10) WHERE year = 3", 10},
		{"vector-wide", "SELECT * FROM vector_search(docs, " + q + ", limit => 100)", 100},
	} {
		b.Run(c.name, func(b *testing.B) {
			if n := drain(b, s, c.sql); n != c.rows {
				b.Fatalf("%d rows, want %d", n, c.rows)
			}
			b.ReportAllocs()
			start := cpuTime(b)
			for b.Loop() {
				drain(b, s, c.sql)
			}
			perCPU(b, start, b.N, "query")
		})
	}
}

func vectorText(r *rand.Rand) string {
	cells := make([]string, benchDim)
	for i := range cells {
		cells[i] = fmt.Sprintf("%.4f", r.Float32()-0.5)
	}
	return "[" + strings.Join(cells, ", ") + "]"
}

// BenchmarkWrite runs statements that write one row, over 20,000 rows of which
// half are applied.
func BenchmarkWrite(b *testing.B) {
	s := benchNode(b)
	must(b, s, docsDDL)
	recs := docsBatches(benchRows)
	load(b, s, "docs", recs[:len(recs)/2])
	settle(b, s, "docs")
	load(b, s, "docs", recs[len(recs)/2:])
	for _, q := range []struct{ name, sql string }{
		{"insert", "INSERT INTO docs (id, body, lang, year) VALUES ('doc-%08d', 'some words of a text', 'xx', 7)"},
		{"update", "UPDATE docs SET year = 7, lang = 'xx' WHERE id = 'doc-%08d'"},
		{"delete", "DELETE FROM docs WHERE id = 'doc-%08d'"},
	} {
		b.Run(q.name, func(b *testing.B) {
			b.ReportAllocs()
			start := cpuTime(b)
			i := 0
			for b.Loop() {
				must(b, s, fmt.Sprintf(q.sql, i*7%benchRows))
				i++
			}
			perCPU(b, start, b.N, "query")
		})
	}
}
