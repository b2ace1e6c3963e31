package lance_test

import (
	"bufio"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"golang.org/x/sys/unix"

	"github.com/loamdb/loam/internal/clock"
	"github.com/loamdb/loam/storage/lance"
	"github.com/loamdb/loam/storage/object"
)

var (
	pylanceBench = flag.Bool("pylance-bench", false, "run TestBenchLance: open, scan, take and write, ours and pylance's (minutes)")
	pylanceCases = flag.String("pylance-cases", "", "only the cases of TestBenchLance that begin so")
	pylanceRows  = flag.Int("pylance-rows", 100_000, "rows of the dataset in TestBenchLance")
)

const (
	lanceBenchDim    = 384
	lanceBenchSource = 1024
	lanceBenchRuns   = 5
	benchRoot        = "bench.lance/"
)

// TestBenchLance compares opening, scanning, taking rows and writing with pylance:
// the same files, in turns, five times each, the fastest of each side counts, and
// the values of both sides must be the same. It prints a line of JSON a case;
// ratio is our time over pylance's. It asserts answers, never times.
func TestBenchLance(t *testing.T) {
	if !*pylanceBench {
		t.Skip("runs with -pylance-bench (make bench-lance)")
	}
	b := newLanceBench(t)
	b.compare("open", lanceTask{Op: "open"}, b.open)
	for _, column := range []string{"emb", "_source", "_ingest_offset", "_pk"} {
		b.compare("scan "+column, lanceTask{Op: "scan", Columns: []string{column}}, b.scan)
	}
	for _, op := range []string{"take", "cold-take"} {
		for _, n := range []int{1, 10, 100, 1000} {
			for _, column := range []string{"emb", "_source", "_ingest_offset"} {
				task := lanceTask{Op: op, Columns: []string{column}, Rows: b.pick(n)}
				b.compare(fmt.Sprintf("%s %d %s", op, n, column), task, b.take)
			}
		}
	}
	b.compare("write", lanceTask{Op: "write", Columns: []string{"_pk", "_source", "_ingest_partition", "_ingest_offset", "emb"}}, b.write)
}

// lanceTask is one piece of work for either side.
type lanceTask struct {
	Op      string   `json:"op"`
	URI     string   `json:"uri"`
	Version string   `json:"version"`
	Columns []string `json:"columns"`
	Rows    []uint32 `json:"rows"`
	Reps    int      `json:"reps"`
	Files   []string `json:"files"`
}

type lanceBench struct {
	t       *testing.T
	root    string
	store   diskStore
	version uint64
	data    string // the one data file, under root
	rec     arrow.RecordBatch
	file    *lance.File // kept open, as pylance keeps its dataset
	in      *json.Encoder
	out     *json.Decoder
	anchor  string
}

func newLanceBench(t *testing.T) *lanceBench {
	t.Helper()
	python := os.Getenv(pythonEnv)
	if python == "" {
		t.Fatalf("%s is not set: name a Python interpreter with pylance", pythonEnv)
	}
	dir := t.TempDir()
	files, err := object.OpenFile(dir, clock.RandomIDs(clock.Real()), object.FileOptions{})
	must(t, err)
	b := &lanceBench{t: t, root: filepath.Join(dir, benchRoot), store: diskStore{files}, rec: benchBatch(*pylanceRows)}
	w := newDatasetWriter(t, b.root)
	fields, err := lance.FieldsOf(b.rec.Schema(), nil)
	must(t, err)
	w.version1(fields)
	f := w.fragment(0, part{rec: b.rec}, 1)
	m, _ := w.commit(fields, []lance.Fragment{f})
	b.version, b.data = m.Version, lance.DataPath(f.Files[0].Path)
	b.file = b.openData()
	script, err := filepath.Abs("../../conformance/lance/bench_lance.py")
	must(t, err)
	cmd := exec.Command(python, script)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	must(t, err)
	stdout, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	t.Cleanup(func() { _ = stdin.Close(); _ = cmd.Wait() })
	b.in, b.out = json.NewEncoder(stdin), json.NewDecoder(bufio.NewReader(stdout))
	var hello struct{ Version string }
	must(t, b.out.Decode(&hello))
	b.anchor = "pylance " + hello.Version
	return b
}

// benchBatch is documents of 1 KiB of JSON-like text with a vector of 384.
func benchBatch(rows int) arrow.RecordBatch {
	r := rand.New(rand.NewPCG(7, 7))
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "_pk", Type: arrow.BinaryTypes.String},
		{Name: "_source", Type: arrow.BinaryTypes.LargeBinary, Nullable: true},
		{Name: "_ingest_partition", Type: arrow.PrimitiveTypes.Int32},
		{Name: "_ingest_offset", Type: arrow.PrimitiveTypes.Int64},
		{Name: "emb", Type: arrow.FixedSizeListOf(lanceBenchDim, arrow.PrimitiveTypes.Float32)},
	}, nil)
	rb := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer rb.Release()
	emb := rb.Field(4).(*array.FixedSizeListBuilder)
	values := emb.ValueBuilder().(*array.Float32Builder)
	for i := range rows {
		rb.Field(0).(*array.StringBuilder).Append("doc-" + strconv.Itoa(i))
		rb.Field(1).(*array.BinaryBuilder).Append(benchSource(r, i))
		rb.Field(2).(*array.Int32Builder).Append(0)
		rb.Field(3).(*array.Int64Builder).Append(int64(i))
		emb.Append(true)
		for range lanceBenchDim {
			values.Append(r.Float32())
		}
	}
	return rb.NewRecordBatch()
}

func benchSource(r *rand.Rand, i int) []byte {
	words := []string{"query", "engine", "vector", "stream", "table", "index", "lance", "fragment", "manifest", "token"}
	b := fmt.Appendf(nil, `{"id":"doc-%d","body":"`, i)
	for len(b) < lanceBenchSource-2 {
		b = append(append(b, words[r.IntN(len(words))]...), ' ')
	}
	return append(b, `"}`...)
}

// diskStore is a dataset under Loam's own file store.
type diskStore struct{ *object.FileStore }

func (d diskStore) Open(ctx context.Context, _, path string) (lance.StoredFile, error) {
	return d.FileStore.Open(ctx, benchRoot+path)
}

func (d diskStore) List(context.Context, string) ([]string, error) { return nil, nil }

func (b *lanceBench) openData() *lance.File {
	b.t.Helper()
	f, err := b.store.Open(context.Background(), "", b.data)
	must(b.t, err)
	b.t.Cleanup(func() { _ = f.Close() })
	file, err := lance.OpenFile(context.Background(), f, f.Size())
	must(b.t, err)
	return file
}

// pick draws rows in ascending order, as pylance's take sorts them anyway.
func (b *lanceBench) pick(n int) []uint32 {
	r := rand.New(rand.NewPCG(uint64(n), 3))
	rows := make([]uint32, 0, n)
	for len(rows) < n {
		if v := r.Uint32N(uint32(b.rec.NumRows())); !slices.Contains(rows, v) {
			rows = append(rows, v)
		}
	}
	slices.Sort(rows)
	return rows
}

// side runs the task once and returns what is compared.
type side func(task *lanceTask) (time.Duration, any)

func (b *lanceBench) compare(name string, task lanceTask, ours side) {
	b.t.Helper()
	if !strings.HasPrefix(name, *pylanceCases) {
		return
	}
	task.URI, task.Version, task.Files = b.root, strconv.FormatUint(b.version, 10), []string{filepath.Join(b.root, b.data)}
	var best, theirs time.Duration
	var got, want any
	for range lanceBenchRuns {
		task.Reps = 3
		for range task.Reps {
			d, answer := ours(&task)
			best, got = fastest(best, d), answer
		}
		must(b.t, b.in.Encode(task))
		var reply struct {
			NS     int64
			Answer any
		}
		must(b.t, b.out.Decode(&reply))
		theirs, want = fastest(theirs, time.Duration(reply.NS)), reply.Answer
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		b.t.Errorf("%s: we answer %v, %s answers %v", name, got, b.anchor, want)
	}
	line, err := json.Marshal(map[string]any{"bench": "lance", "case": name, "ours": micros(best), "anchor": b.anchor,
		"theirs": micros(theirs), "ratio": math.Round(1000*float64(best)/float64(theirs)) / 1000, "unit": "us"})
	must(b.t, err)
	fmt.Println(string(line))
}

func fastest(a, b time.Duration) time.Duration { return min(cmp.Or(a, b), b) }

func micros(d time.Duration) float64 { return math.Round(float64(d.Nanoseconds())/100) / 10 }

// open is what a reader does before its first row: the manifest, then the file.
func (b *lanceBench) open(*lanceTask) (time.Duration, any) {
	start := time.Now()
	t, err := lance.OpenTable(context.Background(), b.store, lance.At{Version: b.version})
	d := time.Since(start)
	must(b.t, err)
	f, err := t.OpenFragment(context.Background(), 0, []int{3})
	must(b.t, err)
	defer func() { _ = f.Close() }()
	return d, f.Rows()
}

func (b *lanceBench) scan(task *lanceTask) (time.Duration, any) {
	var recs []arrow.RecordBatch
	start := time.Now()
	for from := int64(0); from < b.file.NumRows(); from += 8192 {
		rec, err := b.file.Read(context.Background(), task.Columns, from, min(8192, b.file.NumRows()-from))
		must(b.t, err)
		recs = append(recs, rec)
	}
	d := time.Since(start)
	return d, digest(b.t, recs)
}

func (b *lanceBench) take(task *lanceTask) (time.Duration, any) {
	file := b.file
	if task.Op == "cold-take" {
		b.forget()
	}
	start := time.Now()
	if task.Op == "cold-take" {
		_, err := lance.OpenTable(context.Background(), b.store, lance.At{Version: b.version})
		must(b.t, err)
		file = b.openData()
	}
	rec, err := file.Take(context.Background(), task.Columns, task.Rows)
	d := time.Since(start)
	must(b.t, err)
	return d, digest(b.t, []arrow.RecordBatch{rec})
}

// forget drops the data file from the page cache.
func (b *lanceBench) forget() {
	f, err := os.Open(filepath.Join(b.root, b.data))
	must(b.t, err)
	must(b.t, unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED))
	must(b.t, f.Close())
}

func (b *lanceBench) write(task *lanceTask) (time.Duration, any) {
	path := filepath.Join(b.root, "data", "copy.lance")
	f, err := os.Create(path)
	must(b.t, err)
	defer func() { _, _ = f.Close(), os.Remove(path) }()
	start := time.Now()
	w, err := lance.NewWriter(f, b.rec.Schema())
	must(b.t, err)
	for from := int64(0); from < b.rec.NumRows(); from += 8192 {
		must(b.t, w.Write(b.rec.NewSlice(from, min(from+8192, b.rec.NumRows()))))
	}
	info, err := w.Close()
	d := time.Since(start)
	must(b.t, err)
	return d, info.Rows
}

// digest hashes the values column by column, without offsets and padding.
func digest(t *testing.T, recs []arrow.RecordBatch) string {
	t.Helper()
	h := sha256.New()
	for c := range int(recs[0].NumCols()) {
		for _, rec := range recs {
			switch a := rec.Column(c).(type) {
			case *array.FixedSizeList:
				n := int64(a.DataType().(*arrow.FixedSizeListType).Len())
				v := a.ListValues().(*array.Float32).Float32Values()[int64(a.Offset())*n : int64(a.Offset()+a.Len())*n]
				must(t, binary.Write(h, binary.LittleEndian, v))
			case *array.LargeBinary:
				for i := range a.Len() {
					_, _ = h.Write(a.Value(i))
				}
			case *array.String:
				for i := range a.Len() {
					_, _ = h.Write([]byte(a.Value(i)))
				}
			case *array.Int64:
				must(t, binary.Write(h, binary.LittleEndian, a.Int64Values()))
			default:
				t.Fatalf("no digest of %s", a.DataType())
			}
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}
