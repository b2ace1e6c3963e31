package file

import (
	"bytes"
	"context"
	"errors"
	"math"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"pgregory.net/rapid"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/storage/lance/internal/pb"
)

// TestProperty: any columns, cut into any batches and pages, read back in any
// range and by any rows.
func TestProperty(t *testing.T) {
	ctx := context.Background()
	rapid.Check(t, func(t *rapid.T) {
		var fields []arrow.Field
		for i, kind := range rapid.SliceOfN(rapid.IntRange(0, 8), 1, 4).Draw(t, "columns") {
			types := []arrow.DataType{
				arrow.BinaryTypes.String, arrow.BinaryTypes.Binary, arrow.BinaryTypes.LargeBinary, arrow.PrimitiveTypes.Int32,
				arrow.PrimitiveTypes.Int64, vectorType(1 + i*7), sparseType(), arrow.ListOf(arrow.PrimitiveTypes.Int64),
				arrow.StructOf(arrow.Field{Name: "l", Type: arrow.ListOf(arrow.PrimitiveTypes.Float32), Nullable: true}),
			}
			fields = append(fields, arrow.Field{Name: string(rune('a' + i)), Type: types[kind], Nullable: rapid.Bool().Draw(t, "nullable")})
		}
		schema := arrow.NewSchema(fields, nil)
		g := newGen(rapid.Uint64().Draw(t, "seed"), rapid.SampledFrom([]float64{0, 0.02, 0.5, 0.98, 1}).Draw(t, "nulls"),
			rapid.SampledFrom([]int{0, 3, 40, 700}).Draw(t, "length"))
		var recs []arrow.RecordBatch
		var buf bytes.Buffer
		w, err := NewWriter(&buf, schema, WriterOptions{
			PageBytes: rapid.SampledFrom([]int{0, 1, 500, 20_000}).Draw(t, "pageBytes"), PageRows: rapid.SampledFrom([]int{0, 1, 90}).Draw(t, "pageRows")})
		if err != nil {
			t.Fatal(err)
		}
		rows := int64(0)
		for _, n := range rapid.SliceOfN(rapid.IntRange(0, 300), 1, 4).Draw(t, "batches") {
			recs = append(recs, g.batch(schema, n))
			rows += int64(n)
			if err := w.Write(recs[len(recs)-1]); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := w.Close(); err != nil {
			t.Fatal(err)
		}
		all := concat(t, schema, recs)
		f, err := Open(ctx, &memSource{b: buf.Bytes()}, int64(buf.Len()))
		if err != nil {
			t.Fatal(err)
		}
		from := rapid.Int64Range(0, rows).Draw(t, "from")
		n := rapid.Int64Range(0, rows-from).Draw(t, "n")
		got, err := f.Read(ctx, nil, from, n)
		if err != nil {
			t.Fatal(err)
		}
		sameRows(t, all, from, n, got)
		if rows == 0 {
			return
		}
		ids := rapid.SliceOfN(rapid.Uint32Range(0, uint32(rows-1)), 0, 20).Draw(t, "ids")
		took, err := f.Take(ctx, nil, ids)
		if err != nil {
			t.Fatal(err)
		}
		for i, id := range ids {
			sameRows(t, all, int64(id), 1, took.NewSlice(int64(i), int64(i)+1))
		}
	})
}

func TestReadVectors(t *testing.T) {
	ctx := context.Background()
	const rows, dim = 1000, 24
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "a", Type: vectorType(dim)}, {Name: "b", Type: vectorType(dim), Nullable: true}, {Name: "id", Type: arrow.PrimitiveTypes.Int64}}, nil)
	rec := newGen(2, 0.3, 1).batch(schema, rows)
	f := openBytes(t, writeFile(t, schema, WriterOptions{PageBytes: 20_000}, rec))
	for col, name := range []string{"a", "b"} {
		list := rec.Column(col).(*array.FixedSizeList)
		items := list.ListValues().(*array.Float32)
		check := func(v Vectors, at int, row int) {
			t.Helper()
			null := v.Valid != nil && v.Valid[at/8]>>(at%8)&1 == 0
			if null != list.IsNull(row) {
				t.Fatalf("%s: row %d null %v, want %v", name, row, null, list.IsNull(row))
			}
			for j := 0; !null && j < dim; j++ {
				if got, want := v.Values[at*dim+j], items.Value(row*dim+j); math.Float32bits(got) != math.Float32bits(want) {
					t.Fatalf("%s: row %d item %d is %v, want %v", name, row, j, got, want)
				}
			}
		}
		for _, r := range []rowRange{{0, rows}, {0, 0}, {5, 6}, {100, 900}} {
			v, err := f.ReadVectors(ctx, name, r.from, r.to-r.from)
			if err != nil {
				t.Fatal(err)
			}
			if v.Dim != dim || v.Rows() != int(r.to-r.from) {
				t.Fatalf("%d vectors of %d", v.Rows(), v.Dim)
			}
			for i := range v.Rows() {
				check(v, i, int(r.from)+i)
			}
		}
		dst := make([]float32, 0, 50*dim)
		into, err := f.ReadVectorsInto(ctx, name, 200, 50, dst)
		if err != nil {
			t.Fatal(err)
		}
		if &into.Values[0] != &dst[:1][0] {
			t.Errorf("%s: the caller's memory was not used", name)
		}
		for i := range 50 {
			check(into, i, 200+i)
		}
		if more, err := f.ReadVectorsInto(ctx, name, 200, 51, dst); err != nil || more.Rows() != 51 {
			t.Errorf("%s: more than fits: %d rows, %v", name, more.Rows(), err)
		}
		ids := []uint32{999, 0, 7, 7, 500, 3}
		v, err := f.TakeVectors(ctx, name, ids)
		if err != nil {
			t.Fatal(err)
		}
		for i, id := range ids {
			check(v, i, int(id))
		}
	}
	if _, err := f.ReadVectors(ctx, "id", 0, 1); !fail.Is(err, fail.DatatypeMismatch) {
		t.Errorf("an integer column as vectors: %v", err)
	}
	if _, err := f.ReadVectors(ctx, "a", 999, 2); !fail.Is(err, fail.InvalidParameter) {
		t.Errorf("rows past the end: %v", err)
	}
}

// TestReads counts range reads: one for an open, one per page for a scan of
// vectors, and near rows joined.
func TestReads(t *testing.T) {
	ctx := context.Background()
	const rows, dim = 4000, 64
	schema := arrow.NewSchema([]arrow.Field{{Name: "v", Type: vectorType(dim)}, {Name: "s", Type: arrow.BinaryTypes.LargeBinary}}, nil)
	rec := newGen(2, 0, 400).batch(schema, rows)
	b := writeFile(t, schema, WriterOptions{}, rec)
	src := &memSource{b: b}
	count := func(what string, wantReads int, maxBytes int64, do func() error) {
		t.Helper()
		src.reads, src.bytes = 0, 0
		if err := do(); err != nil {
			t.Fatal(err)
		}
		if src.reads != wantReads || src.bytes > maxBytes {
			t.Errorf("%s: %d reads of %d bytes, want %d of at most %d", what, src.reads, src.bytes, wantReads, maxBytes)
		}
	}
	var f *File
	count("open", 1, tailRead, func() (err error) { f, err = Open(ctx, src, int64(len(b))); return })
	count("scan of vectors", 1, rows*dim*4, func() error { _, err := f.ReadVectors(ctx, "v", 0, rows); return err })
	count("one vector", 1, dim*4, func() error { _, err := f.TakeVectors(ctx, "v", []uint32{1234}); return err })
	count("near vectors", 1, 150*dim*4, func() error { _, err := f.TakeVectors(ctx, "v", []uint32{100, 110, 249}); return err })
	count("far vectors", 2, 2*dim*4, func() error { _, err := f.TakeVectors(ctx, "v", []uint32{100, 3900}); return err })
	count("first value: index and value", 2, 4*(rows+1)+500, func() error { _, err := f.Take(ctx, []string{"s"}, []uint32{3}); return err })
	count("later value", 1, 500, func() error { _, err := f.Take(ctx, []string{"s"}, []uint32{3999}); return err })
}

func TestConcurrentReads(t *testing.T) {
	ctx := context.Background()
	schema := loamSchema(8)
	rec := newGen(6, 0.1, 30).batch(schema, 3000)
	b := writeFile(t, schema, WriterOptions{PageBytes: 30_000}, rec)
	f, err := Open(ctx, safeSource(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	fb := fixtures(t)["2.1"]
	foreign, err := Open(ctx, safeSource(fb), int64(len(fb)))
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	var bad atomic.Int64
	for g := range 8 {
		wg.Go(func() {
			r := newGen(uint64(g), 0, 1).r
			for range 15 {
				from := r.Int64N(2900)
				got, err := f.Read(ctx, nil, from, 100)
				if err != nil || !array.Equal(got.Column(0), array.NewSlice(rec.Column(0), from, from+100)) {
					bad.Add(1)
					return
				}
				if _, err := foreign.Read(ctx, nil, r.Int64N(300), 20); err != nil {
					bad.Add(1)
				}
			}
		})
	}
	wg.Wait()
	if bad.Load() > 0 {
		t.Errorf("%d readers failed", bad.Load())
	}
}

// safeSource is a file in memory without counters, for many goroutines.
type safeSource []byte

func (s safeSource) ReadAt(ctx context.Context, p []byte, off int64) error {
	return (&memSource{b: s}).ReadAt(ctx, p, off)
}

// faultySource fails the n-th read.
type faultySource struct {
	memSource
	at int
}

var errDisk = errors.New("disk fell out")

func (s *faultySource) ReadAt(ctx context.Context, p []byte, off int64) error {
	s.mu.Lock()
	fails := s.reads == s.at
	if fails {
		s.reads++
	}
	s.mu.Unlock()
	if fails {
		return errDisk
	}
	return s.memSource.ReadAt(ctx, p, off)
}

// TestSourceFailures: a failed read is passed on, nothing is cached of it, no
// memory is kept, and the next attempt works.
func TestSourceFailures(t *testing.T) {
	ctx := context.Background()
	schema := loamSchema(4)
	rec := newGen(11, 0.2, 10).batch(schema, 200)
	b := writeFile(t, schema, WriterOptions{PageRows: 90}, rec)
	for at := 0; ; at++ {
		src := &faultySource{memSource: memSource{b: b}, at: at}
		f, err := Open(ctx, src, int64(len(b)))
		if at == 0 {
			if !errors.Is(err, errDisk) {
				t.Fatalf("open: %v", err)
			}
			continue
		}
		mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
		rec2, err := f.ReadWith(ctx, mem, nil, 0, 200)
		if err == nil {
			rec2.Release()
		}
		mem.AssertSize(t, 0)
		if err == nil {
			if at < 10 {
				t.Errorf("only %d reads", at)
			}
			return
		}
		if !errors.Is(err, errDisk) {
			t.Fatalf("read %d: %v", at, err)
		}
		got, err := f.Read(ctx, nil, 0, 200)
		if err != nil {
			t.Fatalf("after a failed read %d: %v", at, err)
		}
		sameRows(t, rec, 0, 200, got)
	}
}

func TestCanceled(t *testing.T) {
	schema := loamSchema(4)
	b := writeFile(t, schema, WriterOptions{}, newGen(1, 0, 3).batch(schema, 10))
	f := openBytes(t, b)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := f.Read(ctx, nil, 0, 10); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func TestReadRefused(t *testing.T) {
	ctx := context.Background()
	schema := loamSchema(4)
	f := openBytes(t, writeFile(t, schema, WriterOptions{}, newGen(1, 0, 3).batch(schema, 10)))
	for name, tc := range map[string]struct {
		do   func() error
		code fail.Code
	}{
		"past the end":   {func() error { _, err := f.Read(ctx, nil, 5, 6); return err }, fail.InvalidParameter},
		"negative":       {func() error { _, err := f.Read(ctx, nil, -1, 2); return err }, fail.InvalidParameter},
		"overflow":       {func() error { _, err := f.Read(ctx, nil, 5, math.MaxInt64); return err }, fail.InvalidParameter},
		"row":            {func() error { _, err := f.Take(ctx, nil, []uint32{10}); return err }, fail.InvalidParameter},
		"unknown column": {func() error { _, err := f.Read(ctx, []string{"x"}, 0, 1); return err }, fail.UndefinedColumn},
	} {
		if err := tc.do(); !fail.Is(err, tc.code) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestStructLayerIsStable: a nullable struct around a list keeps its layer in
// every page. Lance 12 miscounts rows over pages that differ in it.
func TestStructLayerIsStable(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{{Name: "sp", Type: sparseType(), Nullable: true}}, nil)
	full, holed := newGen(1, 0, 5).batch(schema, 50), newGen(2, 0.5, 5).batch(schema, 50)
	f := openBytes(t, writeFile(t, schema, WriterOptions{PageRows: 50}, full, holed, full))
	for _, c := range f.cols {
		if len(c.pages) != 3 {
			t.Fatalf("%d pages", len(c.pages))
		}
		for i, p := range c.pages {
			if layers := p.layout.MiniBlock.Layers; layers[2] != pb.NullableItem {
				t.Errorf("page %d of %s has layers %v", i, c.leaf.name, layers)
			}
		}
	}
}
