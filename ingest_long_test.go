package loam_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime/pprof"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/loamdb/loam"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/mem"
	"github.com/loamdb/loam/storage/object"
)

var (
	ingestRows = flag.Int("ingest", 0, "documents that TestIngestLong writes; 0 skips it")
	ingestMiB  = flag.Int64("ingest-mib", 1024, "anonymous memory that TestIngestLong may take, in MiB")
	ingestHeap = flag.String("ingest-heap", "", "file for a heap profile at the peak")
)

// countingStore counts what is written, by the kind of object.
type countingStore struct {
	object.Store
	mu      sync.Mutex // guards the fields below
	bytes   map[string]int64
	applies int
	merges  int
	applied string
}

// kindOf is the part of a key that tells what an object is: wal, data, splits, manifests.
func kindOf(key string) string {
	parts := strings.Split(key, "/")
	if parts[0] != "objects" || len(parts) < 4 {
		return parts[0]
	}
	if parts[2] == "data.lance" {
		return parts[3]
	}
	return parts[2]
}

func (s *countingStore) count(key string, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bytes[kindOf(key)] += int64(n)
}

func (s *countingStore) Put(ctx context.Context, key string, body []byte, opt object.PutOptions) (object.Info, error) {
	s.count(key, len(body))
	if kindOf(key) == "manifests" && strings.HasSuffix(key, ".lman") {
		s.countCommit(body)
	}
	return s.Store.Put(ctx, key, body, opt)
}

// countCommit tells an apply, which moves the applied offsets, from a merge.
func (s *countingStore) countCommit(body []byte) {
	var m struct{ Applied json.RawMessage }
	at := bytes.IndexByte(body, '{')
	if at < 0 || json.Unmarshal(body[at:], &m) != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if applied := string(m.Applied); applied != s.applied {
		s.applied = applied
		s.applies++
	} else {
		s.merges++
	}
}

func (s *countingStore) Create(ctx context.Context, key string) (object.Writer, error) {
	w, err := s.Store.Create(ctx, key)
	if err != nil {
		return nil, err
	}
	return &countingWriter{Writer: w, s: s, key: key}, nil
}

type countingWriter struct {
	object.Writer
	s   *countingStore
	key string
}

func (w *countingWriter) Write(p []byte) (int, error) {
	w.s.count(w.key, len(p))
	return w.Writer.Write(p)
}

// rssAnon is the anonymous memory of this process in bytes.
func rssAnon(t *testing.T) int64 {
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Skip("needs /proc/self/status")
	}
	var kib int64
	if _, rest, ok := strings.Cut(string(b), "RssAnon:"); ok {
		fmt.Sscan(rest, &kib)
	}
	return kib << 10
}

const longDDL = `CREATE COLLECTION docs (id TEXT PRIMARY KEY, title TEXT, body TEXT FULLTEXT 'english',
	year INT, emb VECTOR(384) DISTANCE cosine)`

// longBatch makes documents of 1 KiB of source and a vector.
func longBatch(from, n int) (arrow.RecordBatch, int64) {
	r := rand.New(rand.NewPCG(11, uint64(from)))
	bld := array.NewRecordBuilder(memory.DefaultAllocator, arrow.NewSchema([]arrow.Field{
		{Name: "id", Type: arrow.BinaryTypes.String}, {Name: "title", Type: arrow.BinaryTypes.String},
		{Name: "body", Type: arrow.BinaryTypes.String}, {Name: "year", Type: arrow.PrimitiveTypes.Int32},
		{Name: "emb", Type: arrow.FixedSizeListOf(benchDim, arrow.PrimitiveTypes.Float32)},
	}, nil))
	defer bld.Release()
	size := 0
	for i := from; i < from+n; i++ {
		id, title, body := fmt.Sprintf("doc-%08d", i), words(r, 6), words(r, 95)
		size += len(id) + len(title) + len(body) + 60 + 4*benchDim
		bld.Field(0).(*array.StringBuilder).Append(id)
		bld.Field(1).(*array.StringBuilder).Append(title)
		bld.Field(2).(*array.StringBuilder).Append(body)
		bld.Field(3).(*array.Int32Builder).Append(int32(1920 + i%100))
		l := bld.Field(4).(*array.FixedSizeListBuilder)
		l.Append(true)
		v := l.ValueBuilder().(*array.Float32Builder)
		for range benchDim {
			v.Append(r.Float32() - 0.5)
		}
	}
	return bld.NewRecordBatch(), int64(size)
}

// longReader searches until it is told to stop.
type longReader struct {
	session *loam.Session
	queries int
	longest map[string]time.Duration
}

func (l *longReader) run(ctx context.Context, t *testing.T, written *atomic.Int64) {
	var vector strings.Builder
	for i := range benchDim {
		fmt.Fprintf(&vector, ",%d", i%7-3)
	}
	for ctx.Err() == nil {
		n := written.Load()
		if n == 0 {
			time.Sleep(10 * time.Millisecond)
			continue
		}
		for _, q := range []struct{ name, sql string }{
			{"text", "SELECT id, _score FROM text_search(docs, 'word17 word233', body) ORDER BY _score DESC LIMIT 10"},
			{"vector", "SELECT id, _score FROM vector_search(docs, [" + vector.String()[1:] + "], emb) LIMIT 10"},
			{"key", fmt.Sprintf("SELECT year FROM docs WHERE id = 'doc-%08d'", n/2)},
		} {
			start := time.Now()
			rows, err := benchQuery(l.session, q.sql)
			if err != nil {
				t.Errorf("%s: %v", q.name, err)
				return
			}
			if len(rows) == 0 {
				t.Errorf("%s after %d documents: no rows", q.name, n)
			}
			l.longest[q.name] = max(l.longest[q.name], time.Since(start))
			l.queries++
		}
		time.Sleep(500 * time.Millisecond)
	}
}

// longRun is one run of the test.
type longRun struct {
	t       *testing.T
	session *loam.Session
	written atomic.Int64
	bytes   int64
	refused time.Duration // that the writer waited
}

func (l *longRun) write(rows int) {
	const batch = 500
	ctx := context.Background()
	for from := 0; from < rows; from += batch {
		rec, size := longBatch(from, min(batch, rows-from))
		for {
			_, err := l.session.AppendRecords(ctx, loam.Target{Name: "docs"}, rec)
			if err == nil {
				break
			}
			if !fail.Is(err, fail.BacklogFull) {
				l.t.Fatal(err)
			}
			time.Sleep(50 * time.Millisecond)
			l.refused += 50 * time.Millisecond
		}
		rec.Release()
		l.bytes += size
		l.written.Store(int64(min(rows, from+batch)))
		if (from+batch)%50_000 == 0 {
			l.t.Logf("%d documents, %d MiB", from+batch, rssAnon(l.t)>>20)
		}
	}
}

// watch follows the memory until stop is closed and returns the peak.
func watch(t *testing.T, stop <-chan struct{}) int64 {
	peak := int64(0)
	for profiled := int64(0); ; {
		select {
		case <-stop:
			return peak
		case <-time.After(20 * time.Millisecond):
		}
		now := rssAnon(t)
		if peak = max(peak, now); *ingestHeap != "" && now > profiled+profiled/10 && now > 400<<20 {
			profiled = now
			var b bytes.Buffer
			if pprof.Lookup("heap").WriteTo(&b, 0) == nil {
				_ = os.WriteFile(*ingestHeap, b.Bytes(), 0o600)
			}
		}
	}
}

// TestIngestLong writes documents while a reader searches them, and reports what
// it took: rows a second, anonymous memory, bytes written for each byte of the
// documents, splits, and the longest time that a reader waited. It fails above
// the memory that it may take, or when a document is missing at the end.
func TestIngestLong(t *testing.T) {
	if *ingestRows == 0 {
		t.Skip("make ingest-long runs it")
	}
	mem.LimitProcess(*ingestMiB << 20 / 10 * 9) // as loam serve does where there is so much
	var store *countingStore
	e, err := loam.Open(context.Background(), loam.Config{
		Dir: filepath.Join(t.TempDir(), "data"), OnError: func(task string, err error) { t.Errorf("%s: %v", task, err) },
		WrapStore: func(s object.Store) object.Store {
			store = &countingStore{Store: s, bytes: map[string]int64{}}
			return store
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = e.Close() }()
	run := &longRun{t: t, session: e.NewSession(loam.SessionConfig{User: "writer"})}
	if _, err := benchQuery(run.session, longDDL); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	reader := &longReader{session: e.NewSession(loam.SessionConfig{User: "reader"}), longest: map[string]time.Duration{}}
	stop, peak := make(chan struct{}), make(chan int64, 1)
	var wait sync.WaitGroup
	wait.Go(func() { reader.run(ctx, t, &run.written) })
	wait.Go(func() { peak <- watch(t, stop) })
	start := time.Now()
	run.write(*ingestRows)
	spent := time.Since(start)
	cancel()
	if _, err := run.session.ScanPlan(context.Background(), loam.ScanRequest{Target: loam.Target{Name: "docs"}, Tail: loam.TailWait}); err != nil {
		t.Error(err)
	}
	close(stop)
	wait.Wait()
	got, err := benchQuery(run.session, "SELECT count(*), count(DISTINCT id) FROM docs")
	if want := fmt.Sprint(*ingestRows, "|", *ingestRows); err != nil || len(got) != 1 || got[0] != want {
		t.Errorf("documents at the end: %v %v, want %s", got, err, want)
	}
	splits, err := benchQuery(run.session, "SELECT count(*) FROM system.segments WHERE kind = 'split'")
	if err != nil {
		t.Fatal(err)
	}
	report(t, run, store, reader, spent, <-peak, splits[0])
}

func report(t *testing.T, run *longRun, store *countingStore, reader *longReader, spent time.Duration, peak int64, splits string) {
	store.mu.Lock()
	defer store.mu.Unlock()
	total := int64(0)
	for _, n := range store.bytes {
		total += n
	}
	t.Logf("rows %d, %.0f rows/s, the writer was refused for %s", *ingestRows, float64(*ingestRows)/spent.Seconds(), run.refused)
	t.Logf("anonymous memory at most %d MiB", peak>>20)
	t.Logf("documents %d MiB, written %d MiB (%v), amplification %.2f", run.bytes>>20, total>>20, mib(store.bytes), float64(total)/float64(run.bytes))
	t.Logf("splits %s, applies %d, merges %d", splits, store.applies, store.merges)
	t.Logf("%d searches, the longest %v", reader.queries, reader.longest)
	if peak > *ingestMiB<<20 {
		t.Errorf("%d MiB of anonymous memory, %d are allowed", peak>>20, *ingestMiB)
	}
}

func mib(bytes map[string]int64) map[string]int64 {
	out := map[string]int64{}
	for k, n := range bytes {
		out[k] = n >> 20
	}
	return out
}
