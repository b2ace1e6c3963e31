package lance_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/loamdb/loam/storage/lance"
)

// pythonEnv names the Python interpreter that has pylance and pyarrow.
const pythonEnv = "LOAM_CONFORMANCE_PYTHON"

// checkCase is one dataset as the Python side gets it.
type checkCase struct {
	Name      string          `json:"name"`
	URI       string          `json:"uri"`
	Version   string          `json:"version"`
	Tag       string          `json:"tag,omitempty"`
	Export    string          `json:"export,omitempty"`
	Expected  string          `json:"expected"` // Arrow IPC file of the live rows
	Vector    string          `json:"vector,omitempty"`
	Deletions []string        `json:"deletions,omitempty"`
	Fragments []checkFragment `json:"fragments"`
}

type checkFragment struct {
	ID   uint64          `json:"id"`
	Live uint64          `json:"live"`
	JSON json.RawMessage `json:"json"`
}

// part is one fragment to write.
type part struct {
	rec     arrow.RecordBatch
	deleted []uint32
	opts    lance.WriterOptions
}

// datasetWriter puts a dataset on disk the way a collection does: version 1
// first, then data files, deletion files, and the detached manifest.
type datasetWriter struct {
	t    *testing.T
	root string
	rand *rand.ChaCha8
	now  time.Time
}

func newDatasetWriter(t *testing.T, root string) *datasetWriter {
	return &datasetWriter{t: t, root: root, rand: rand.NewChaCha8([32]byte{1}), now: time.Unix(1_700_000_000, 5000).UTC()}
}

func (w *datasetWriter) put(path string, b []byte) {
	w.t.Helper()
	full := filepath.Join(w.root, path)
	must(w.t, os.MkdirAll(filepath.Dir(full), 0o755))
	must(w.t, os.WriteFile(full, b, 0o644))
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (w *datasetWriter) dataFile(rec arrow.RecordBatch, opts lance.WriterOptions) lance.DataFile {
	w.t.Helper()
	var buf bytes.Buffer
	fw, err := lance.NewWriterWith(&buf, rec.Schema(), opts)
	must(w.t, err)
	must(w.t, fw.Write(rec))
	info, err := fw.Close()
	must(w.t, err)
	name, err := lance.NewDataFileName(w.rand)
	must(w.t, err)
	w.put(lance.DataPath(name), buf.Bytes())
	return lance.NewDataFile(name, info)
}

// fragment writes one part and returns its description; ok is false when all its
// rows are deleted, and nothing of it belongs into a manifest.
func (w *datasetWriter) fragment(id uint64, p part, parent uint64) lance.Fragment {
	w.t.Helper()
	rows := uint64(p.rec.NumRows())
	f := lance.Fragment{ID: id, PhysicalRows: rows, Files: []lance.DataFile{w.dataFile(p.rec, p.opts)}}
	if len(p.deleted) > 0 {
		d, body, err := lance.NewDeletionFile(roaring.BitmapOf(p.deleted...), rows, parent, w.rand)
		must(w.t, err)
		w.put(lance.DeletionPath(id, d), body)
		f.DeletionFile = &d
	}
	return f
}

func (w *datasetWriter) version1(fields []lance.Field) {
	w.t.Helper()
	b, err := lance.EncodeManifest(lance.NewManifest(fields, 1, w.now))
	must(w.t, err)
	w.put(lance.ManifestPath(1), b)
}

// commit writes a detached manifest of the fragments and returns it.
func (w *datasetWriter) commit(fields []lance.Field, fragments []lance.Fragment) (*lance.Manifest, int) {
	w.t.Helper()
	id, err := lance.NewDetachedID(w.rand)
	must(w.t, err)
	m := lance.NewManifest(fields, id, w.now.Add(time.Hour))
	maxID := uint32(0)
	if n := len(fragments); n > 0 {
		maxID = uint32(fragments[n-1].ID)
	}
	lance.SetFragments(m, fragments, maxID)
	b, err := lance.EncodeManifest(m)
	must(w.t, err)
	w.put(lance.ManifestPath(id), b)
	return m, len(b)
}

// dataset writes the parts as fragments and describes the case.
func (w *datasetWriter) dataset(name, vector string, parts []part) checkCase {
	w.t.Helper()
	schema := parts[0].rec.Schema()
	fields, err := lance.FieldsOf(schema, nil)
	must(w.t, err)
	w.version1(fields)
	c := checkCase{Name: name, URI: w.root, Vector: vector, Tag: "v1.0-rc_1"}
	var fragments []lance.Fragment
	var live []arrow.RecordBatch
	for i, p := range parts {
		f := w.fragment(uint64(2*i), p, 1)
		fragments = append(fragments, f)
		if f.DeletionFile != nil {
			c.Deletions = append(c.Deletions, filepath.Join(w.root, lance.DeletionPath(f.ID, *f.DeletionFile)))
		}
		live = append(live, liveRows(w.t, p.rec, p.deleted)...)
	}
	w.finish(&c, fields, fragments, live)
	return c
}

// finish commits, tags, exports and writes what Python shall find.
func (w *datasetWriter) finish(c *checkCase, fields []lance.Field, fragments []lance.Fragment, live []arrow.RecordBatch) {
	w.t.Helper()
	m, size := w.commit(fields, fragments)
	c.Version = fmt.Sprint(m.Version)
	for _, f := range fragments {
		j, err := lance.FragmentJSON(f)
		must(w.t, err)
		cf := checkFragment{ID: f.ID, Live: f.PhysicalRows, JSON: j}
		if f.DeletionFile != nil {
			cf.Live -= f.DeletionFile.DeletedRows
		}
		c.Fragments = append(c.Fragments, cf)
	}
	must(w.t, lance.CheckTagName(c.Tag))
	tag, err := lance.TagJSON(lance.Tag{Version: m.Version, ManifestSize: int64(size), CreatedAt: w.now, UpdatedAt: w.now})
	must(w.t, err)
	w.put(lance.TagPath(c.Tag), tag)
	export, err := lance.EncodeManifest(lance.ExportManifest(m, w.root, w.now))
	must(w.t, err)
	w.put(lance.ExportPath(c.Tag)+lance.ManifestPath(1), export)
	c.Export = filepath.Join(w.root, lance.ExportPath(c.Tag))
	c.Expected = w.root + ".arrow"
	writeIPC(w.t, c.Expected, live)
}

func writeIPC(t *testing.T, path string, recs []arrow.RecordBatch) {
	t.Helper()
	f, err := os.Create(path)
	must(t, err)
	fw, err := ipc.NewFileWriter(f, ipc.WithSchema(recs[0].Schema()))
	must(t, err)
	for _, r := range recs {
		must(t, fw.Write(r))
	}
	must(t, fw.Close())
	must(t, f.Close())
}

// liveRows is the batch without the deleted rows, as slices.
func liveRows(t *testing.T, rec arrow.RecordBatch, deleted []uint32) []arrow.RecordBatch {
	t.Helper()
	var out []arrow.RecordBatch
	at := int64(0)
	for _, d := range deleted {
		if int64(d) > at {
			out = append(out, rec.NewSlice(at, int64(d)))
		}
		at = int64(d) + 1
	}
	return append(out, rec.NewSlice(at, rec.NumRows()))
}

func TestPylance(t *testing.T) {
	python := os.Getenv(pythonEnv)
	if python == "" {
		t.Skipf("%s is not set: name a Python interpreter with pylance and pyarrow to check against the real client", pythonEnv)
	}
	cases := buildCases(t, t.TempDir())
	b, err := json.MarshalIndent(cases, "", " ")
	must(t, err)
	list := filepath.Join(t.TempDir(), "cases.json")
	must(t, os.WriteFile(list, b, 0o644))
	script, err := filepath.Abs("../../conformance/lance/check_lance.py")
	must(t, err)
	cmd := exec.Command(python, script, list)
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("pylance disagrees: %v\nrerun: %s %s", err, python, script)
	}
}

func buildCases(t *testing.T, dir string) []checkCase {
	t.Helper()
	at := func(name string) *datasetWriter { return newDatasetWriter(t, filepath.Join(dir, name)) }
	small := lance.WriterOptions{PageBytes: 64 << 10}
	cases := []checkCase{
		at("documents").dataset("documents", "emb", []part{
			{rec: loamBatch(1, 5000, 96, 0.1, 60), deleted: []uint32{0, 1, 17, 511, 512, 4999}, opts: small},
			{rec: loamBatch(2, 1000, 96, 0, 300)},
			{rec: loamBatch(3, 4097, 96, 0.5, 20), deleted: every(4097, 3), opts: small},
		}),
		at("nulls").dataset("nulls", "emb", []part{
			{rec: loamBatch(4, 3000, 8, 1, 10)}, {rec: loamBatch(5, 800, 8, 0, 10)},
			{rec: loamBatch(6, 700, 8, 1, 10), deleted: every(700, 2)}, {rec: loamBatch(7, 900, 8, 0.01, 10)},
		}),
		at("long").dataset("long", "", []part{{rec: longBatch(8, 30)}, {rec: longBatch(9, 3), deleted: []uint32{1}}}),
		at("runs").dataset("runs", "", []part{{rec: sparseRuns()}, {rec: sparseRuns(), deleted: every(14_000, 5), opts: lance.WriterOptions{PageRows: 5000}}}),
		at("large").dataset("large", "emb", []part{{rec: loamBatch(10, 100_000, 4, 0.02, 12), deleted: append(upTo(65_536), 99_999)}, {rec: loamBatch(13, 5000, 4, 0, 12), deleted: upTo(4500)}}),
		patched(t, at("patched")),
		at("mixed").dataset("mixed", "", []part{
			{rec: mixedBatch(11), opts: lance.WriterOptions{PageRows: 500}},
			{rec: mixedBatch(12), deleted: every(8000, 9), opts: lance.WriterOptions{PageRows: 500}}}),
	}
	var sizes []part
	for i, n := range []int{1, 511, 512, 513, 1024, 4096, 4097} {
		sizes = append(sizes, part{rec: loamBatch(uint64(20+i), n, 16, 0.05, 30)})
	}
	cases = append(cases, at("sizes").dataset("sizes", "emb", sizes))
	for _, dim := range []int{1, 8, 63, 64, 384, 768} {
		name := fmt.Sprintf("dim%d", dim)
		cases = append(cases, at(name).dataset(name, "emb", []part{
			{rec: loamBatch(uint64(dim), 300, dim, 0.2, 5), deleted: every(300, 7), opts: small}, {rec: loamBatch(uint64(dim)+1, 100, dim, 0, 5)}}))
	}
	return cases
}

func every(n, step int) []uint32 {
	var out []uint32
	for i := 0; i < n; i += step {
		out = append(out, uint32(i))
	}
	return out
}

// upTo is the first n rows.
func upTo(n int) []uint32 { return every(n, 1) }

// patched is a table in which one fragment got a new file for its vector column
// (the old field is tombstoned) and another lacks a column that came later.
func patched(t *testing.T, w *datasetWriter) checkCase {
	t.Helper()
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "_pk", Type: arrow.BinaryTypes.String},
		{Name: "emb", Type: arrow.FixedSizeListOf(4, arrow.PrimitiveTypes.Float32)},
		{Name: "later", Type: arrow.PrimitiveTypes.Int64, Nullable: true}}, nil)
	fields, err := lance.FieldsOf(schema, nil)
	must(t, err)
	w.version1(fields)
	whole := fillBatch(schema, 40, 50, 0.3, 5)
	old := pick(fillBatch(schema, 41, 50, 0, 5), 0, 1)
	fresh := pick(fillBatch(schema, 42, 50, 0, 5), 1)
	f0 := w.fragment(0, part{rec: whole}, 1)
	f1 := w.fragment(1, part{rec: old, deleted: []uint32{3}}, 1)
	f1.Files[0].Fields[1] = -2
	f1.Files = append(f1.Files, w.dataFile(fresh, lance.WriterOptions{FieldIDs: []int32{1}}))
	nulls := array.MakeArrayOfNull(memory.DefaultAllocator, arrow.PrimitiveTypes.Int64, 50)
	merged := array.NewRecordBatch(schema, []arrow.Array{old.Column(0), fresh.Column(0), nulls}, 50)
	c := checkCase{Name: "patched", URI: w.root, Vector: "emb", Tag: "patched"}
	w.finish(&c, fields, []lance.Fragment{f0, f1}, append([]arrow.RecordBatch{whole}, liveRows(t, merged, []uint32{3})...))
	return c
}

func pick(rec arrow.RecordBatch, columns ...int) arrow.RecordBatch {
	var fields []arrow.Field
	var cols []arrow.Array
	for _, i := range columns {
		fields, cols = append(fields, rec.Schema().Field(i)), append(cols, rec.Column(i))
	}
	return array.NewRecordBatch(arrow.NewSchema(fields, nil), cols, rec.NumRows())
}
