package loam_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"

	"github.com/loamdb/loam"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/storage/lance"
)

// writeParquet makes a file of n rows: a BIGINT, a text with NULLs, a list, a double.
func writeParquet(t *testing.T, path string, n int) {
	t.Helper()
	sch := arrow.NewSchema([]arrow.Field{
		{Name: "n", Type: arrow.PrimitiveTypes.Int64}, {Name: "Text", Type: arrow.BinaryTypes.String, Nullable: true},
		{Name: "tags", Type: arrow.ListOf(arrow.BinaryTypes.String), Nullable: true}, {Name: "x", Type: arrow.PrimitiveTypes.Float64, Nullable: true},
	}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, sch)
	defer b.Release()
	for i := range n {
		b.Field(0).(*array.Int64Builder).Append(int64(i))
		if i%3 == 0 {
			b.Field(1).AppendNull()
		} else {
			b.Field(1).(*array.StringBuilder).Append(strings.Repeat("ab", i%9))
		}
		l := b.Field(2).(*array.ListBuilder)
		l.Append(true)
		l.ValueBuilder().(*array.StringBuilder).Append("t")
		b.Field(3).(*array.Float64Builder).Append(float64(i) / 2)
	}
	rec := b.NewRecordBatch()
	defer rec.Release()
	var buf bytes.Buffer
	w, err := pqarrow.NewFileWriter(sch, &buf, parquet.NewWriterProperties(), pqarrow.DefaultWriterProps())
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(rec); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, buf.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}

// filesNode is an engine that may read one directory.
func filesNode(t *testing.T) (*node, string) {
	t.Helper()
	dir := t.TempDir()
	e, err := loam.Open(context.Background(), loam.Config{Files: []string{dir}})
	if err != nil {
		t.Fatal(err)
	}
	n := &node{t: t, engine: e, session: e.NewSession(loam.SessionConfig{})}
	t.Cleanup(n.close)
	return n, dir
}

func TestReadParquet(t *testing.T) {
	n, dir := filesNode(t)
	writeParquet(t, filepath.Join(dir, "a.parquet"), 5000)
	writeParquet(t, filepath.Join(dir, "b.parquet"), 10)
	n.want("SELECT count(*), sum(n), count(\"Text\"), max(x) FROM read_parquet('a.parquet')", "5000\t12497500\t3333\t2499.5")
	n.want("SELECT n, text, tags FROM read_parquet('a.parquet') WHERE n IN (2, 3) ORDER BY n", "2\tabab\t[t]\n3\tNULL\t[t]")
	n.want("SELECT count(*) FROM read_parquet(['a.parquet', 'b.parquet'])", "5010")
	if _, _, err := n.query("CREATE TABLE p AS SELECT * FROM read_parquet('b.parquet')"); err != nil {
		t.Fatal(err)
	}
	n.want("SELECT count(*), sum(n) FROM p", "10\t45")
}

func TestReadJSON(t *testing.T) {
	n, dir := filesNode(t)
	text := "{\"a\": 1, \"b\": \"x\", \"c\": [1, 2]}\n\n{\"a\": 2.5, \"b\": null, \"d\": true}\n"
	if err := os.WriteFile(filepath.Join(dir, "f.jsonl"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	n.want("SELECT a, b, c, d FROM read_json('f.jsonl') ORDER BY a", "1.0\tx\t[1, 2]\tNULL\n2.5\tNULL\tNULL\ttrue")
}

func TestReadCSV(t *testing.T) {
	n, dir := filesNode(t)
	for name, text := range map[string]string{"a.csv": "id;name;day\n1;\"x; y\";2024-01-02\n2;;\n", "b.csv": "day;id\n2024-01-03;3\n", "c.tsv": "v\tw\n1.5\ttrue\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	n.want("SELECT * FROM read_csv('a.csv') ORDER BY id", "1\tx; y\t2024-01-02\n2\tNULL\tNULL")
	n.want("SELECT max(day), sum(id) FROM read_csv(['a.csv', 'b.csv'])", "2024-01-03\t6")
	n.want("SELECT v * 2, NOT w FROM read_csv('c.tsv')", "3.0\tfalse")
	_, _, err := n.query("CREATE TABLE t AS SELECT id, upper(name) AS name FROM read_csv('a.csv')")
	if err != nil {
		t.Fatal(err)
	}
	n.want("SELECT count(name) FROM t", "1")
	if err := os.WriteFile(filepath.Join(dir, "late.csv"), []byte("n\n"+strings.Repeat("1\n", 30_000)+"x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, _, err = n.query("SELECT sum(n) FROM read_csv('late.csv')")
	if err == nil || !strings.Contains(err.Error(), `late.csv line 30002, column "n": "x" is not a valid BIGINT`) {
		t.Error(err)
	}
}

func TestFilesThatMayNotBeRead(t *testing.T) {
	n, dir := filesNode(t)
	if err := os.WriteFile(filepath.Join(dir, "bad.parquet"), []byte("not parquet at all"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "bad.jsonl"), []byte("{\"a\": 1}\n{\"a\":\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"bad.csv": "a,b\n1,2\n3\n", "late.csv": "n\n" + strings.Repeat("1\n", 30_000) + "x\n", "wide.csv": "\xff\xfea\x00\n\x00",
		"empty.csv": "", "one.csv": "a,b\n1,2\n", "other.csv": "a,c\n1,2\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/etc", filepath.Join(dir, "out")); err != nil {
		t.Fatal(err)
	}
	for sql, code := range map[string]fail.Code{
		"SELECT * FROM read_parquet('missing.parquet')":     fail.PermissionDenied,
		"SELECT * FROM read_parquet('/etc/passwd')":         fail.PermissionDenied,
		"SELECT * FROM read_parquet('../../../etc/passwd')": fail.PermissionDenied,
		"SELECT * FROM read_json('out/passwd')":             fail.PermissionDenied,
		"SELECT * FROM read_parquet('bad.parquet')":         fail.InvalidParameter,
		"SELECT * FROM read_json('bad.jsonl')":              fail.InvalidJSON,
		"SELECT * FROM read_csv('bad.csv')":                 fail.InvalidText,
		"SELECT * FROM read_csv('late.csv')":                fail.InvalidText,
		"SELECT * FROM read_csv('wide.csv')":                fail.InvalidEncoding,
		"SELECT * FROM read_csv('empty.csv')":               fail.InvalidParameter,
		"SELECT * FROM read_csv('.')":                       fail.InvalidParameter,
		"SELECT * FROM read_csv(['one.csv', 'other.csv'])":  fail.UndefinedColumn,
		"SELECT * FROM read_csv('one.csv', delim => ';')":   fail.Unsupported,
	} {
		if _, _, err := n.query(sql); !fail.Is(err, code) {
			t.Errorf("%s: %v, want %s", sql, err, code)
		}
	}
	closed := &node{t: t}
	closed.dir = t.TempDir()
	e, err := loam.Open(context.Background(), loam.Config{})
	if err != nil {
		t.Fatal(err)
	}
	closed.engine, closed.session = e, e.NewSession(loam.SessionConfig{})
	defer closed.close()
	if _, _, err := closed.query("SELECT * FROM read_parquet('a.parquet')"); !fail.Is(err, fail.PermissionDenied) {
		t.Errorf("an engine without files: %v", err)
	}
}

// TestLanceStaysInside: what a manifest or a link names outside of the allowed
// directories is not read.
func TestLanceStaysInside(t *testing.T) {
	n, dir := filesNode(t)
	if err := os.CopyFS(filepath.Join(dir, "a.lance"), os.DirFS("testdata/lance/pylance-14/old-names.lance")); err != nil {
		t.Fatal(err)
	}
	n.want("SELECT count(*), sum(id) FROM read_lance('a.lance')", "6\t15")
	outside := t.TempDir()
	if err := os.Rename(filepath.Join(dir, "a.lance", "data"), filepath.Join(outside, "data")); err != nil {
		t.Fatal(err)
	}
	if _, _, err := n.query("SELECT sum(id) FROM read_lance('a.lance')"); !fail.Is(err, fail.UndefinedObject) {
		t.Errorf("without its data: %v", err)
	}
	if err := os.Symlink(filepath.Join(outside, "data"), filepath.Join(dir, "a.lance", "data")); err != nil {
		t.Fatal(err)
	}
	if _, _, err := n.query("SELECT sum(id) FROM read_lance('a.lance')"); !fail.Is(err, fail.PermissionDenied) {
		t.Errorf("through a link: %v", err)
	}
	path := filepath.Join(dir, "a.lance", "_versions", "2.manifest")
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for base, code := range map[string]fail.Code{outside: fail.PermissionDenied, "file://" + outside: fail.PermissionDenied, "s3://bucket/x": fail.Unsupported} {
		m, err := lance.DecodeManifest(b)
		if err != nil {
			t.Fatal(err)
		}
		one := uint32(1)
		m.BasePaths = []lance.BasePath{{ID: 1, IsDatasetRoot: true, Path: base}}
		m.ReaderFlags |= lance.FlagBasePaths
		for i := range m.Fragments {
			m.Fragments[i].Files[0].BaseID = &one
		}
		out, err := lance.EncodeManifest(m)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, out, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, _, err := n.query("SELECT sum(id) FROM read_lance('a.lance')"); !fail.Is(err, code) {
			t.Errorf("base %s: %v, want %s", base, err, code)
		}
	}
}
