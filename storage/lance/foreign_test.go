package lance_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"

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

// TestForeignFiles reads files that the real client wrote, in versions 2.1 and
// 2.2, whole and by rows.
func TestForeignFiles(t *testing.T) {
	python := os.Getenv(pythonEnv)
	if python == "" {
		t.Skipf("%s is not set: name a Python interpreter with pylance and pyarrow to read files of the real client", pythonEnv)
	}
	dir := t.TempDir()
	script, err := filepath.Abs("../../conformance/lance/write_lance.py")
	must(t, err)
	out, err := exec.Command(python, script, dir).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	names, err := filepath.Glob(filepath.Join(dir, "*.lance"))
	must(t, err)
	if len(names) < 500 {
		t.Fatalf("only %d files: %s", len(names), out)
	}
	for _, name := range names {
		base := strings.TrimSuffix(name, ".lance")
		t.Run(filepath.Base(base), func(t *testing.T) {
			b, err := os.ReadFile(name)
			must(t, err)
			checkForeign(t, b, readIPC(t, base+".arrow"))
		})
	}
}

func checkForeign(t *testing.T, b []byte, want arrow.RecordBatch) {
	t.Helper()
	ctx := context.Background()
	f, err := lance.OpenFile(ctx, bytesReader(b), int64(len(b)))
	must(t, err)
	got, err := f.Read(ctx, nil, 0, f.NumRows())
	must(t, err)
	sameColumn(t, want.Column(0), got.Column(0))
	var ids []uint32
	for i := int64(0); i < f.NumRows(); i += 1 + f.NumRows()/97 {
		ids = append(ids, uint32(f.NumRows()-1-i))
	}
	took, err := f.Take(ctx, nil, ids)
	must(t, err)
	for i, id := range ids {
		sameColumn(t, array.NewSlice(want.Column(0), int64(id), int64(id)+1), array.NewSlice(took.Column(0), int64(i), int64(i)+1))
	}
}

// sameColumn compares what a person sees: children of null structs do not count.
func sameColumn(t *testing.T, want, got arrow.Array) {
	t.Helper()
	if array.Equal(want, got) {
		return
	}
	w, err := json.Marshal(want)
	must(t, err)
	g, err := json.Marshal(got)
	must(t, err)
	if !bytes.Equal(w, g) || !arrow.TypeEqual(want.DataType(), got.DataType()) {
		t.Fatalf("%s\nwant %.1500s\ngot  %.1500s", fmt.Sprint(want.DataType(), got.DataType()), w, g)
	}
}

func readIPC(t *testing.T, path string) arrow.RecordBatch {
	t.Helper()
	b, err := os.ReadFile(path)
	must(t, err)
	r, err := ipc.NewFileReader(bytes.NewReader(b))
	must(t, err)
	rec, err := r.RecordBatch(0)
	must(t, err)
	rec.Retain()
	return rec
}
