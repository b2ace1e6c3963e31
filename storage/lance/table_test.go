package lance_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/storage/lance"
)

// bytesReader is a file in memory.
type bytesReader []byte

func (b bytesReader) ReadAt(_ context.Context, p []byte, off int64) error {
	if off < 0 || off+int64(len(p)) > int64(len(b)) {
		return io.ErrUnexpectedEOF
	}
	copy(p, b[off:])
	return nil
}

// dirStore is a dataset in memory: its files by path, and other places by base.
type dirStore struct {
	files map[string][]byte
	bases map[string]*dirStore
	open  int // files that are not closed
}

type memFile struct {
	bytesReader
	store *dirStore
}

func (f *memFile) Size() int64  { return int64(len(f.bytesReader)) }
func (f *memFile) Close() error { f.store.open--; return nil }

func (s *dirStore) Open(_ context.Context, base, path string) (lance.StoredFile, error) {
	from := s
	if base != "" {
		if from = s.bases[base]; from == nil {
			return nil, fail.New(fail.Unsupported, "no base %s", base)
		}
	}
	b, ok := from.files[path]
	if !ok {
		return nil, fail.New(fail.UndefinedObject, "the file %s is not there", path)
	}
	s.open++
	return &memFile{bytesReader(b), s}, nil
}

func (s *dirStore) List(_ context.Context, folder string) ([]string, error) {
	var out []string
	for name := range s.files {
		if rest, ok := strings.CutPrefix(name, folder); ok && !strings.Contains(rest, "/") {
			out = append(out, rest)
		}
	}
	return out, nil
}

// loadStore reads a dataset of testdata into memory.
func loadStore(t testing.TB, name string) *dirStore {
	t.Helper()
	return storeAt(t, filepath.Join("../../testdata/lance", name))
}

// storeAt reads a dataset in a directory into memory.
func storeAt(t testing.TB, root string) *dirStore {
	t.Helper()
	s := &dirStore{files: map[string][]byte{}}
	must(t, filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}
		s.files[filepath.ToSlash(rel)], err = os.ReadFile(p)
		return err
	}))
	return s
}

// readTable reads every column of a version, three rows at a time, as text.
func readTable(s *dirStore, at lance.At) ([]string, error) {
	ctx := context.Background()
	t, err := lance.OpenTable(ctx, s, at)
	if err != nil {
		return nil, err
	}
	columns := make([]int, t.Schema().NumFields())
	for i := range columns {
		columns[i] = i
	}
	var out []string
	for i := range t.Fragments() {
		f, err := t.OpenFragment(ctx, i, columns)
		if err != nil {
			return nil, err
		}
		for from := int64(0); from < f.Rows() && err == nil; from += 777 {
			var rec arrow.RecordBatch
			if rec, err = f.Read(ctx, from, min(777, f.Rows()-from)); err == nil {
				out = append(out, rowsOf(rec)...)
				rec.Release()
			}
		}
		if err := errors.Join(err, f.Close()); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func rowsOf(rec arrow.RecordBatch) []string {
	out := make([]string, rec.NumRows())
	for i := range out {
		for _, c := range rec.Columns() {
			out[i] += c.ValueStr(i) + "|"
		}
	}
	return out
}

// rewrite changes the latest manifest of a store and puts it under a version.
func rewrite(t testing.TB, s *dirStore, from, to uint64, change func(*lance.Manifest)) {
	t.Helper()
	m, err := lance.DecodeManifest(s.files[lance.ManifestPath(from)])
	must(t, err)
	m.Version = to
	change(m)
	b, err := lance.EncodeManifest(m)
	must(t, err)
	s.files[lance.ManifestPath(to)] = b
}

func TestTableVersions(t *testing.T) {
	for _, client := range []string{"pylance-12/", "pylance-14/"} {
		s := loadStore(t, client+"people.lance")
		for _, tc := range []struct {
			at   lance.At
			rows int
		}{{lance.At{}, 75}, {lance.At{Version: 1}, 50}, {lance.At{Version: 2}, 80}, {lance.At{Version: 3}, 75}, {lance.At{Tag: "all"}, 80}} {
			rows, err := readTable(s, tc.at)
			if err != nil || len(rows) != tc.rows {
				t.Errorf("%s %+v: %d rows, %v", client, tc.at, len(rows), err)
			}
		}
		for _, at := range []lance.At{{Version: 4}, {Version: 1 << 63}, {Tag: "none"}} {
			if _, err := readTable(s, at); !fail.Is(err, fail.UndefinedObject) {
				t.Errorf("%+v: %v", at, err)
			}
		}
		if s.open != 0 {
			t.Errorf("%d files stay open", s.open)
		}
	}
}

// TestTableDetached reads a detached version by its id and by a tag; the latest
// stays the mainline's.
func TestTableDetached(t *testing.T) {
	s := loadStore(t, "pylance-14/people.lance")
	id := uint64(1<<63 | 77<<11)
	rewrite(t, s, 1, id, func(*lance.Manifest) {})
	s.files[lance.TagPath("pinned")] = []byte(fmt.Sprintf(`{"branch":null,"version":%d}`, id))
	for _, at := range []lance.At{{Version: id}, {Tag: "pinned"}} {
		if rows, err := readTable(s, at); err != nil || len(rows) != 50 {
			t.Errorf("%+v: %d rows, %v", at, len(rows), err)
		}
	}
	if rows, err := readTable(s, lance.At{}); err != nil || len(rows) != 75 {
		t.Errorf("latest: %d rows, %v", len(rows), err)
	}
	for text, code := range map[string]fail.Code{`{"branch":"side","version":1}`: fail.Unsupported, `{}`: fail.Corrupt, `x`: fail.Corrupt, `{"version":99}`: fail.UndefinedObject} {
		s.files[lance.TagPath("pinned")] = []byte(text)
		if _, err := readTable(s, lance.At{Tag: "pinned"}); !fail.Is(err, code) {
			t.Errorf("tag %s: %v, want %s", text, err, code)
		}
	}
}

// TestTableBasePaths reads a manifest whose files lie in another dataset, as
// pointer datasets and shallow clones have it, and in a bare folder of data.
func TestTableBasePaths(t *testing.T) {
	home := loadStore(t, "pylance-12/people.lance")
	want, err := readTable(home, lance.At{})
	must(t, err)
	for _, root := range []bool{true, false} {
		base := home
		if !root {
			base = &dirStore{files: map[string][]byte{}}
			for name, b := range home.files {
				base.files[strings.TrimPrefix(name, "data/")] = b
			}
		}
		s := &dirStore{files: map[string][]byte{lance.ManifestPath(3): home.files[lance.ManifestPath(3)]}, bases: map[string]*dirStore{"s3://elsewhere": base}}
		one := uint32(1)
		rewrite(t, s, 3, 4, func(m *lance.Manifest) {
			m.BasePaths = []lance.BasePath{{ID: 1, IsDatasetRoot: root, Path: "s3://elsewhere"}}
			m.ReaderFlags |= lance.FlagBasePaths
			for i := range m.Fragments {
				m.Fragments[i].Files[0].BaseID = &one
				if d := m.Fragments[i].DeletionFile; d != nil {
					d.BaseID = &one
				}
			}
		})
		got, err := readTable(s, lance.At{})
		if err != nil || strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("root %v: %d rows, %v", root, len(got), err)
		}
	}
}

func TestTableRefuses(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(s *dirStore, m *lance.Manifest)
		code   fail.Code
		text   string
	}{
		"unknown flag":     {func(_ *dirStore, m *lance.Manifest) { m.ReaderFlags |= 64 }, fail.Unsupported, "0x40"},
		"wrong size":       {func(_ *dirStore, m *lance.Manifest) { m.Fragments[0].Files[0].Size++ }, fail.Corrupt, "the manifest says"},
		"wrong rows":       {func(_ *dirStore, m *lance.Manifest) { m.Fragments[0].PhysicalRows++ }, fail.Corrupt, "rows, the fragment"},
		"wrong deletions":  {func(_ *dirStore, m *lance.Manifest) { m.Fragments[0].DeletionFile.DeletedRows++ }, fail.Corrupt, "deletion file"},
		"missing deletion": {func(_ *dirStore, m *lance.Manifest) { m.Fragments[0].DeletionFile.ID++ }, fail.UndefinedObject, "_deletions/"},
		"missing file":     {func(_ *dirStore, m *lance.Manifest) { m.Fragments[0].Files[0].Path = "x.lance" }, fail.UndefinedObject, "data/x.lance"},
		"other type":       {func(_ *dirStore, m *lance.Manifest) { m.Fields[0].LogicalType = "int32" }, fail.Unsupported, `column "id" is int64 in file`},
		"unknown type":     {func(_ *dirStore, m *lance.Manifest) { m.Fields[0].LogicalType = "quaternion" }, fail.Unsupported, "quaternion"},
	} {
		s := loadStore(t, "pylance-12/people.lance")
		rewrite(t, s, 3, 4, func(m *lance.Manifest) { tc.change(s, m) })
		if _, err := readTable(s, lance.At{}); !fail.Is(err, tc.code) || !strings.Contains(err.Error(), tc.text) {
			t.Errorf("%s: %v, want %s with %q", name, err, tc.code, tc.text)
		}
		if s.open != 0 {
			t.Errorf("%s: %d files stay open", name, s.open)
		}
	}
	if _, err := readTable(&dirStore{}, lance.At{}); !fail.Is(err, fail.UndefinedObject) {
		t.Errorf("an empty folder: %v", err)
	}
}

// TestTableEvolved: columns come by field id, not by name or place.
func TestTableEvolved(t *testing.T) {
	s := loadStore(t, "pylance-14/evolved.lance")
	rows, err := readTable(s, lance.At{})
	must(t, err)
	want := map[int]string{0: "0|name 0|0|", 9: "10|name 10|20|", 19: "7|new|14|", 22: "22|(null)|(null)|"}
	if len(rows) != 23 {
		t.Fatalf("%d rows: %q", len(rows), rows)
	}
	for i, w := range want {
		if rows[i] != w {
			t.Errorf("row %d is %q, want %q", i, rows[i], w)
		}
	}
}

// TestDatasetDamage flips bytes of every file of a dataset, and cuts them:
// answers or errors that bytes may cause, never a panic.
func TestDatasetDamage(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 5))
	for _, name := range []string{"people", "bitmap", "evolved", "old-names"} {
		s := loadStore(t, "pylance-14/"+name+".lance")
		for path, good := range s.files {
			for round := range 60 {
				bad := append([]byte(nil), good...)
				if round%5 == 0 {
					bad = bad[:r.IntN(len(bad))]
				} else {
					for range 1 + r.IntN(3) {
						bad[r.IntN(len(bad))] ^= byte(1 << r.IntN(8))
					}
				}
				s.files[path] = bad
				_, err := readTable(s, lance.At{})
				if err != nil && !fail.Is(err, fail.Corrupt) && !fail.Is(err, fail.Unsupported) && !fail.Is(err, fail.TooLarge) && !fail.Is(err, fail.UndefinedObject) {
					t.Fatalf("%s/%s: %v", name, path, err)
				}
			}
			s.files[path] = good
		}
	}
}

// TestDeletionArrays reads what the Arrow library writes, plain and compressed,
// and refuses other contents.
func TestDeletionArrays(t *testing.T) {
	sch := arrow.NewSchema([]arrow.Field{{Name: "row_id", Type: arrow.PrimitiveTypes.Uint32}}, nil)
	write := func(sch *arrow.Schema, fill func(*array.RecordBuilder), opts ...ipc.Option) []byte {
		b := array.NewRecordBuilder(memory.DefaultAllocator, sch)
		defer b.Release()
		fill(b)
		rec := b.NewRecordBatch()
		defer rec.Release()
		var buf bytes.Buffer
		w, err := ipc.NewFileWriter(&buf, append(opts, ipc.WithSchema(sch))...)
		must(t, err)
		must(t, w.Write(rec))
		must(t, w.Close())
		return buf.Bytes()
	}
	rows := func(b *array.RecordBuilder) {
		for i := range 3000 {
			b.Field(0).(*array.Uint32Builder).Append(uint32(3 * i))
		}
	}
	d := lance.DeletionFile{Type: lance.DeletionArray, DeletedRows: 3000}
	for _, opts := range [][]ipc.Option{nil, {ipc.WithZstd()}, {ipc.WithLZ4()}} {
		good := write(sch, rows, opts...)
		got, err := lance.DecodeDeletions(good, d, 9000)
		if err != nil || got.GetCardinality() != 3000 || !got.Contains(8997) || got.Contains(1) {
			t.Fatalf("%d options: %v", len(opts), err)
		}
		for at := range good {
			if at > 600 && at < len(good)-600 && at%31 != 0 {
				continue // the numbers themselves
			}
			for _, bad := range [][]byte{good[:at], flip(good, at, 0x40), flip(good, at, 0xFF)} {
				if _, err := lance.DecodeDeletions(bad, d, 9000); err != nil && !fail.Is(err, fail.Corrupt) {
					t.Fatalf("byte %d: %v", at, err)
				}
			}
		}
	}
	null := write(sch, func(b *array.RecordBuilder) { b.Field(0).AppendNull() })
	two := write(arrow.NewSchema([]arrow.Field{sch.Field(0), {Name: "b", Type: arrow.PrimitiveTypes.Uint32}}, nil), func(b *array.RecordBuilder) {
		b.Field(0).(*array.Uint32Builder).Append(1)
		b.Field(1).(*array.Uint32Builder).Append(1)
	})
	for _, bad := range [][]byte{null, two, []byte("ARROW1"), nil} {
		if _, err := lance.DecodeDeletions(bad, lance.DeletionFile{}, 9000); !fail.Is(err, fail.Corrupt) {
			t.Errorf("%d bytes: %v", len(bad), err)
		}
	}
}

func flip(b []byte, at int, mask byte) []byte {
	out := append([]byte(nil), b...)
	out[at] ^= mask
	return out
}

// TestBlobs reads the client's blobs of version 2, and what is wrong with their files.
func TestBlobs(t *testing.T) {
	for _, client := range []string{"pylance-12", "pylance-14"} {
		s := loadStore(t, client+"/places.lance")
		columns := []int{1, 0}
		read := func() (int, error) {
			t.Helper()
			table, err := lance.OpenTable(context.Background(), s, lance.At{})
			must(t, err)
			f, err := table.OpenFragment(context.Background(), 0, columns)
			must(t, err)
			defer func() { must(t, f.Close()) }()
			rec, err := f.Read(context.Background(), 2, 11)
			if err != nil {
				return 0, err
			}
			total := 0
			for i := range int(rec.NumRows()) {
				n := int(rec.Column(1).(*array.Int64).Value(i))
				b := rec.Column(0).(*array.LargeBinary)
				if b.IsNull(i) != (n%7 == 3) || (b.IsValid(i) && string(b.Value(i)) != strings.Repeat(string(rune('a'+n)), []int{0, 5, 40, 60, 120}[n%5])) {
					t.Errorf("%s: blob %d is %q", client, n, b.Value(i))
				}
				total += len(b.Value(i))
			}
			return total, nil
		}
		if total, err := read(); err != nil || total != 425 {
			t.Errorf("%s: %d bytes, %v", client, total, err)
		}
		if s.open != 0 {
			t.Errorf("%d files are open", s.open)
		}
		for name, b := range s.files {
			if strings.HasSuffix(name, ".blob") {
				s.files[name] = b[:20]
			}
		}
		if _, err := read(); !fail.Is(err, fail.Corrupt) || !strings.Contains(err.Error(), "column \"b\"") {
			t.Errorf("%s: cut off: %v", client, err)
		}
		maps.DeleteFunc(s.files, func(name string, _ []byte) bool { return strings.HasSuffix(name, ".blob") })
		if _, err := read(); !fail.Is(err, fail.UndefinedObject) || s.open != 0 {
			t.Errorf("%s: gone: %v, %d files open", client, err, s.open)
		}
		for name, b := range s.files {
			if strings.HasSuffix(name, ".lance") {
				f, err := lance.OpenFile(context.Background(), bytesReader(b), int64(len(b)))
				must(t, err)
				if _, err := f.Read(context.Background(), []string{"b"}, 0, f.NumRows()); !fail.Is(err, fail.Unsupported) {
					t.Errorf("%s: without its dataset: %v", client, err)
				}
			}
		}
	}
}
