package lance_test

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/storage/lance"
)

// matrixEnv names the Python interpreters, with different pylance, that make
// lance-matrix uses, separated by colons.
const matrixEnv = "LOAM_LANCE_MATRIX"

// score counts the files of the matrix. Skipped are those that the client refuses to
// write or cannot read back, and the types that Loam does not write.
type score struct {
	passed, failed, skipped int
	unwritten               map[string]int // of the skipped: by type
}

// split says whose refusals the skipped files are.
func (s *score) split() string {
	ours := 0
	var types []string
	for _, name := range slices.Sorted(maps.Keys(s.unwritten)) {
		ours += s.unwritten[name]
		types = append(types, fmt.Sprintf("%s %d", name, s.unwritten[name]))
	}
	return fmt.Sprintf("skipped: %d that the client refuses, %d that Loam does not write (%s)", s.skipped-ours, ours, strings.Join(types, ", "))
}

// TestLanceMatrix proves reader and writer against the real client: what it writes
// is read here, and what is written here it reads, for every type, size, null ratio
// and file version. Its last line is the result of make lance-matrix.
func TestLanceMatrix(t *testing.T) {
	pythons := os.Getenv(matrixEnv)
	if pythons == "" {
		t.Skipf("run make lance-matrix, or set %s to Python interpreters with pylance", matrixEnv)
	}
	total := score{unwritten: map[string]int{}}
	for _, python := range strings.Split(pythons, ":") {
		dir := t.TempDir()
		t.Log(matrixScript(t, python, "write", dir))
		matrixReads(t, dir, &total)
		matrixWrites(t, python, dir, &total)
		tables := t.TempDir()
		matrixScript(t, python, "tables", tables)
		matrixTables(t, tables, &total)
		must(t, os.RemoveAll(dir))
	}
	t.Log(total.split())
	fmt.Printf("lance-matrix: %d passed, %d failed, %d skipped\n", total.passed, total.failed, total.skipped)
}

// matrixScript runs the Python side; its panics over its own files are noise.
func matrixScript(t *testing.T, python, what, dir string) string {
	t.Helper()
	script, err := filepath.Abs("../../conformance/lance/matrix.py")
	must(t, err)
	args := []string{script, what, dir}
	if os.Getenv(matrixEnv+"_QUICK") != "" {
		args = append(args, "quick")
	}
	cmd := exec.Command(python, args...)
	var noise bytes.Buffer
	cmd.Stderr = &noise
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %s: %v\n%.3000s", python, strings.Join(args, " "), err, noise.String())
	}
	return strings.TrimSpace(string(out))
}

// fault reports one failed file and how to look at it alone.
func (s *score) fault(t *testing.T, path, format string, args ...any) {
	t.Helper()
	s.failed++
	t.Errorf("%s: %s", filepath.Base(path), fmt.Sprintf(format, args...))
}

func matrixReads(t *testing.T, dir string, total *score) {
	t.Helper()
	refused, err := filepath.Glob(filepath.Join(dir, "*.refused"))
	must(t, err)
	total.skipped += len(refused)
	for _, path := range refused {
		_ = os.Remove(strings.TrimSuffix(path, ".refused") + ".arrow")
	}
	names, err := filepath.Glob(filepath.Join(dir, "*.arrow"))
	must(t, err)
	if len(names) < 1000 {
		t.Fatalf("the client wrote only %d files", len(names))
	}
	for _, path := range names {
		base := strings.TrimSuffix(path, ".arrow")
		if _, err := os.Stat(base + ".lance"); err != nil {
			continue // rows that the client cannot store itself
		}
		if err := readsEqual(base+".lance", readAllIPC(t, path)); err != nil {
			total.fault(t, base, "%v", err)
			continue
		}
		total.passed++
	}
}

// readsEqual compares a file with its rows: whole, by random rows, and by ranges.
func readsEqual(path string, want arrow.RecordBatch) error {
	ctx := context.Background()
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	f, err := lance.OpenFile(ctx, bytesReader(b), int64(len(b)))
	if err != nil {
		return err
	}
	if f.NumRows() != want.NumRows() {
		return fmt.Errorf("%d rows where %d are due", f.NumRows(), want.NumRows())
	}
	got, err := f.Read(ctx, nil, 0, f.NumRows())
	if err != nil {
		return err
	}
	if err := equalRows(want, got); err != nil || want.NumRows() == 0 {
		return err
	}
	r := rand.New(rand.NewPCG(uint64(want.NumRows()), 1))
	for range 4 {
		from := r.Int64N(want.NumRows())
		n := min(want.NumRows()-from, r.Int64N(900)+1)
		if got, err = f.Read(ctx, []string{"c"}, from, n); err != nil {
			return err
		}
		if err := equalRows(want.NewSlice(from, from+n), got); err != nil {
			return fmt.Errorf("rows %d+%d: %w", from, n, err)
		}
	}
	for _, n := range []int{1, 10, 200} {
		ids := make([]uint32, n)
		parts := make([]arrow.Array, n)
		for i := range ids {
			ids[i] = uint32(r.Int64N(want.NumRows()))
			parts[i] = array.NewSlice(want.Column(0), int64(ids[i]), int64(ids[i])+1)
		}
		if got, err = f.Take(ctx, nil, ids); err != nil {
			return err
		}
		all, err := array.Concatenate(parts, memory.DefaultAllocator)
		if err != nil {
			return err
		}
		if err := equalArrays(all, got.Column(0)); err != nil {
			return fmt.Errorf("rows %v: %w", ids, err)
		}
	}
	return nil
}

// readAllIPC is the rows of an Arrow file as one batch.
func readAllIPC(t *testing.T, path string) arrow.RecordBatch {
	t.Helper()
	b, err := os.ReadFile(path)
	must(t, err)
	r, err := ipc.NewFileReader(bytes.NewReader(b))
	must(t, err)
	cols := make([][]arrow.Array, r.Schema().NumFields())
	for i := range r.NumRecords() {
		rec, err := r.RecordBatch(i)
		must(t, err)
		for k, c := range rec.Columns() {
			c.Retain()
			cols[k] = append(cols[k], c)
		}
	}
	out := make([]arrow.Array, len(cols))
	rows := int64(0)
	for k, parts := range cols {
		if len(parts) == 0 {
			out[k] = array.MakeArrayOfNull(memory.DefaultAllocator, r.Schema().Field(k).Type, 0)
			continue
		}
		out[k], err = array.Concatenate(parts, memory.DefaultAllocator)
		must(t, err)
		rows = int64(out[k].Len())
	}
	return array.NewRecordBatch(r.Schema(), out, rows)
}

func equalRows(want, got arrow.RecordBatch) error {
	for i, f := range want.Schema().Fields() {
		if err := equalArrays(want.Column(i), got.Column(i)); err != nil {
			return fmt.Errorf("column %q: %w", f.Name, err)
		}
	}
	return nil
}

// equalArrays compares what a person sees: children of null structs do not count.
func equalArrays(want, got arrow.Array) error {
	if !sameType(want.DataType(), got.DataType()) {
		return fmt.Errorf("type %s where %s is due", got.DataType(), want.DataType())
	}
	if array.Equal(want, got) {
		return nil
	}
	if want.Len() != got.Len() {
		return fmt.Errorf("%d values where %d are due", got.Len(), want.Len())
	}
	for i := range want.Len() {
		if w, g := seen(want, i), seen(got, i); w != g {
			return fmt.Errorf("value %d is %.300s where %.300s is due", i, g, w)
		}
	}
	return nil
}

// sameType does not look at the names of list items, nor at nullability.
func sameType(a, b arrow.DataType) bool {
	if a.ID() != b.ID() {
		return false
	}
	an, ok := a.(arrow.NestedType)
	if !ok {
		return arrow.TypeEqual(a, b)
	}
	bn, _ := b.(arrow.NestedType)
	if an.NumFields() != bn.NumFields() {
		return false
	}
	for i := range an.NumFields() {
		if !sameType(an.Fields()[i].Type, bn.Fields()[i].Type) {
			return false
		}
	}
	return true
}

// seen is a value with all that is in it.
func seen(a arrow.Array, i int) string {
	if a.IsNull(i) {
		return "NULL"
	}
	switch x := a.(type) {
	case *array.Struct:
		out := "{"
		for k := range x.NumField() {
			out += seen(x.Field(k), i) + ", "
		}
		return out + "}"
	case array.ListLike:
		from, to := x.ValueOffsets(i)
		out := "["
		for k := from; k < to; k++ {
			out += seen(x.ListValues(), int(k)) + ", "
		}
		return out + "]"
	}
	return a.ValueStr(i)
}

// matrixWrites writes the rows of each type again and has the client read them.
func matrixWrites(t *testing.T, python, dir string, total *score) {
	t.Helper()
	out := t.TempDir()
	names, err := filepath.Glob(filepath.Join(dir, "*-2.2.arrow"))
	must(t, err)
	count := 0
	for _, path := range names {
		want := readAllIPC(t, path)
		for _, opts := range writerForms {
			base := filepath.Join(out, strings.TrimSuffix(filepath.Base(path), "-2.2.arrow")+opts.name)
			err := writeForm(base+".lance", want, opts.opts)
			if fail.Is(err, fail.Unsupported) || fail.Is(err, fail.InvalidVector) || fail.Is(err, fail.TooLarge) {
				total.skipped++
				name, _, _ := strings.Cut(filepath.Base(path), "-")
				total.unwritten[name]++
				continue
			}
			must(t, err)
			must(t, os.Symlink(path, base+".arrow"))
			count++
			if err := readsEqual(base+".lance", want); err != nil {
				total.fault(t, base, "written and read here: %v", err)
			}
		}
	}
	lines := strings.Split(matrixScript(t, python, "read", out), "\n")
	for _, line := range lines {
		if verdict, rest, _ := strings.Cut(line, " "); verdict == "ok" {
			total.passed++
		} else {
			total.fault(t, rest, "the client reads it: %s", rest)
		}
	}
	if len(lines) != count {
		t.Errorf("%d files were written, the client read %d", count, len(lines))
	}
}

// writerForms are the ways in which the matrix writes each column.
var writerForms = []struct {
	name string
	opts lance.WriterOptions
}{{"-one", lance.WriterOptions{}}, {"-many", lance.WriterOptions{PageBytes: 3000, PageRows: 700}}}

func writeForm(path string, rec arrow.RecordBatch, opts lance.WriterOptions) error {
	var buf bytes.Buffer
	w, err := lance.NewWriterWith(&buf, rec.Schema(), opts)
	if err != nil {
		return err
	}
	half := rec.NumRows() / 3
	for _, part := range []arrow.RecordBatch{rec.NewSlice(0, half), rec.NewSlice(half, rec.NumRows())} {
		if err := w.Write(part); err != nil {
			return err
		}
	}
	if _, err := w.Close(); err != nil {
		return err
	}
	return os.WriteFile(path, buf.Bytes(), 0o644)
}

// matrixTables reads the client's datasets: deletion files of both kinds, stable row
// ids, tags, base paths, columns that were added, rows that were updated.
func matrixTables(t *testing.T, dir string, total *score) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.arrow"))
	must(t, err)
	if len(names) == 0 {
		t.Fatal("the client wrote no datasets")
	}
	for _, path := range names {
		name, tag, _ := strings.Cut(strings.TrimSuffix(filepath.Base(path), ".arrow"), "@")
		store := storeAt(t, filepath.Join(dir, name+".lance"))
		place := filepath.Join(dir, name+"-place")
		if _, err := os.Stat(place); err == nil {
			store.bases = map[string]*dirStore{place: storeAt(t, place)}
		}
		if err := tableEqual(store, lance.At{Tag: tag}, readAllIPC(t, path)); err != nil {
			total.fault(t, path, "%v", err)
			continue
		}
		total.passed++
	}
}

func tableEqual(store *dirStore, at lance.At, want arrow.RecordBatch) error {
	ctx := context.Background()
	table, err := lance.OpenTable(ctx, store, at)
	if err != nil {
		return err
	}
	columns := make([]int, table.Schema().NumFields())
	for i := range columns {
		columns[i] = i
	}
	row := int64(0)
	for i := range table.Fragments() {
		f, err := table.OpenFragment(ctx, i, columns)
		if err != nil {
			return err
		}
		for from := int64(0); from < f.Rows(); from += 1500 {
			got, err := f.Read(ctx, from, min(1500, f.Rows()-from))
			if err != nil {
				return err
			}
			if row+got.NumRows() > want.NumRows() {
				return fmt.Errorf("more than %d rows", want.NumRows())
			}
			if err := equalRows(want.NewSlice(row, row+got.NumRows()), got); err != nil {
				return fmt.Errorf("fragment %d from row %d: %w", i, from, err)
			}
			row += got.NumRows()
		}
		if err := f.Close(); err != nil {
			return err
		}
	}
	if row != want.NumRows() {
		return fmt.Errorf("%d rows where %d are due", row, want.NumRows())
	}
	return nil
}
