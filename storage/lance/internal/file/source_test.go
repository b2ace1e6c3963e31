package file

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"reflect"
	"sort"
	"sync"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/storage/lance/internal/pb"
)

func TestReadSpans(t *testing.T) {
	data := make([]byte, 40<<20)
	for i := range data {
		data[i] = byte(i * 7 / 3)
	}
	for _, tc := range []struct {
		name  string
		spans []span
		reads int
	}{
		{"none", nil, 0},
		{"one", []span{{5, 10}}, 1},
		{"empty", []span{{5, 0}}, 0},
		{"touching", []span{{0, 10}, {10, 10}}, 1},
		{"overlapping", []span{{0, 100}, {50, 100}, {60, 10}}, 1},
		{"at the gap", []span{{0, 10}, {10 + farGap, 10}}, 1},
		{"past the gap", []span{{0, 10}, {11 + farGap, 10}}, 2},
		{"descending", []span{{500_000, 10}, {0, 10}}, 2},
		{"too long to join", []span{{0, 10 << 20}, {10 << 20, 10 << 20}}, 2},
		{"within a long one", []span{{0, 20 << 20}, {5, 10}}, 1},
	} {
		src := &memSource{b: data}
		out, err := readSpans(context.Background(), src, tc.spans)
		if err != nil {
			t.Fatal(err)
		}
		if src.reads != tc.reads {
			t.Errorf("%s: %d reads, want %d", tc.name, src.reads, tc.reads)
		}
		for i, s := range tc.spans {
			if !bytes.Equal(out[i], data[s.off:s.off+s.size]) {
				t.Errorf("%s: span %d differs", tc.name, i)
			}
		}
	}
	if _, err := readSpans(context.Background(), &memSource{b: data[:10]}, []span{{5, 10}}); err == nil {
		t.Error("a read past the end succeeds")
	}
}

// nearSource is a disk: it is told of what comes.
type nearSource struct {
	memSource
	told []span
}

func (n *nearSource) Prefetch(off, size int64) { n.told = append(n.told, span{off, size}) }

func TestReadSpansOfADisk(t *testing.T) {
	src := &nearSource{memSource: memSource{b: make([]byte, 1<<20)}}
	spans := []span{{0, 10}, {10 + nearGap, 10}, {500_000, 10}, {900_000, 10}}
	if _, err := readSpans(context.Background(), src, spans); err != nil {
		t.Fatal(err)
	}
	if want := []span{{0, 20 + nearGap}, {500_000, 10}, {900_000, 10}}; !reflect.DeepEqual(src.told, want) || src.reads != 3 {
		t.Errorf("told of %v, %d reads; want %v", src.told, src.reads, want)
	}
	src.told = nil
	if _, err := readSpans(context.Background(), src, spans[:1]); err != nil || src.told != nil {
		t.Errorf("told of %v before a single read (%v)", src.told, err)
	}
	long := []span{{100, readAhead + 1}}
	if _, err := readSpans(context.Background(), src, long); err != nil || !reflect.DeepEqual(src.told, long) {
		t.Errorf("told of %v before a long read (%v)", src.told, err)
	}
}

// TestIndexIsReadInParts takes few rows of a large page of long values: of the index
// of their places only parts are read, until it is worth it to keep all of it.
func TestIndexIsReadInParts(t *testing.T) {
	const rows = 80_000
	schema := arrow.NewSchema([]arrow.Field{{Name: "_source", Type: arrow.BinaryTypes.LargeBinary, Nullable: true}}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	for i := range rows {
		if i%7 == 3 {
			b.Field(0).AppendNull()
			continue
		}
		b.Field(0).(*array.BinaryBuilder).Append(fmt.Appendf(nil, "%0300d", i))
	}
	src := &memSource{b: writeFile(t, schema, WriterOptions{}, b.NewRecordBatch())}
	f, err := Open(t.Context(), src, int64(len(src.b)))
	if err != nil {
		t.Fatal(err)
	}
	for try := range 12 {
		src.bytes = 0
		want := []uint32{uint32(17 + try), 9_999, 10_000, 44_444, rows - 1}
		rec, err := f.Take(t.Context(), []string{"_source"}, want)
		if err != nil {
			t.Fatal(err)
		}
		for i, row := range want {
			got := rec.Column(0).(*array.LargeBinary)
			if null := row%7 == 3; null != got.IsNull(i) || !null && string(got.Value(i)) != fmt.Sprintf("%0300d", row) {
				t.Fatalf("row %d is %q", row, got.Value(i))
			}
		}
		if limit := int64(64 << 10); src.bytes > limit && try != keepAfter {
			t.Errorf("take %d reads %d bytes, more than %d", try, src.bytes, limit)
		}
	}
}

// TestReadSpansSideBySide reads far apart from a source where each read costs a
// round trip: the values are the right ones, and the first error is the answer.
func TestReadSpansSideBySide(t *testing.T) {
	data := make([]byte, 100*(farGap+9))
	rand.NewChaCha8([32]byte{}).Read(data)
	var spans []span
	for i := range int64(100) {
		spans = append(spans, span{i * (farGap + 9), 5})
	}
	src := &memSource{b: data}
	out, err := readSpans(context.Background(), src, spans)
	if err != nil || src.reads != 100 {
		t.Fatalf("%d reads: %v", src.reads, err)
	}
	for i, s := range spans {
		if !bytes.Equal(out[i], data[s.off:s.off+s.size]) {
			t.Errorf("span %d differs", i)
		}
	}
	if _, err := readSpans(context.Background(), &memSource{b: data[:len(data)/2]}, spans); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("reads past the end: %v", err)
	}
}

func TestRangesOf(t *testing.T) {
	for _, tc := range []struct {
		rows  []uint32
		runs  []rowRange
		order []int32
	}{
		{nil, nil, nil},
		{[]uint32{4}, []rowRange{{4, 5}}, nil},
		{[]uint32{1, 2, 3, 7}, []rowRange{{1, 4}, {7, 8}}, nil},
		{[]uint32{3, 1}, []rowRange{{1, 2}, {3, 4}}, []int32{1, 0}},
		{[]uint32{5, 5, 4}, []rowRange{{4, 6}}, []int32{1, 1, 0}},
		{[]uint32{1<<32 - 1}, []rowRange{{1<<32 - 1, 1 << 32}}, nil},
	} {
		before := append([]uint32(nil), tc.rows...)
		runs, order := rangesOf(tc.rows)
		if !reflect.DeepEqual(runs, tc.runs) || !reflect.DeepEqual(order, tc.order) {
			t.Errorf("%v: %v, %v", tc.rows, runs, order)
		}
		if !reflect.DeepEqual(before, append([]uint32(nil), tc.rows...)) {
			t.Errorf("%v: the input was changed", before)
		}
	}
}

// TestGather compares picking rows with slices of the original.
func TestGather(t *testing.T) {
	schema := loamSchema(3)
	rec := newGen(3, 0.3, 9).batch(schema, 200)
	f := openBytes(t, writeFile(t, schema, WriterOptions{}, rec))
	r := rand.New(rand.NewPCG(1, 9))
	for range 20 {
		order := make([]int32, r.IntN(60))
		for i := range order {
			order[i] = r.Int32N(200)
		}
		mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
		got, err := f.read(context.Background(), mem, f.src, nil, []rowRange{{0, 200}}, order)
		if err != nil {
			t.Fatal(err)
		}
		for i, at := range order {
			row := got.NewSlice(int64(i), int64(i)+1)
			sameRows(t, rec, int64(at), 1, row)
			row.Release()
		}
		got.Release()
		mem.AssertSize(t, 0)
	}
}

func TestBitmap(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 9))
	for range 200 {
		m := bitmap{buf: growBuf{mem: memory.DefaultAllocator}}
		var want []bool
		for range r.IntN(30) {
			if n := r.IntN(20); r.IntN(2) == 0 {
				m.addValid(n)
				for range n {
					want = append(want, true)
				}
			} else {
				m.addNull()
				want = append(want, false)
			}
		}
		nulls := 0
		for i, valid := range want {
			if !valid {
				nulls++
			}
			if got := m.nulls == 0 || m.buf.used()[i/8]>>(i%8)&1 == 1; got != valid {
				t.Fatalf("bit %d of %v is %v", i, want, got)
			}
		}
		if m.n != len(want) || m.nulls != nulls {
			t.Fatalf("%d bits, %d nulls, want %d and %d", m.n, m.nulls, len(want), nulls)
		}
	}
}

func TestDecompress(t *testing.T) {
	plain := bytes.Repeat([]byte("retrieval data "), 500)
	block := make([]byte, lz4.CompressBlockBound(len(plain)))
	n, err := lz4.CompressBlock(plain, block, nil)
	if err != nil {
		t.Fatal(err)
	}
	lz := append(binary.LittleEndian.AppendUint32(nil, uint32(len(plain))), block[:n]...)
	enc, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	frame := enc.EncodeAll(plain, nil)
	sized := append(binary.LittleEndian.AppendUint64(nil, uint64(len(plain))), frame...)
	for name, tc := range map[string]struct {
		scheme uint64
		b      []byte
	}{"lz4": {pb.LZ4, lz}, "zstd": {pb.Zstd, frame}, "zstd with size": {pb.Zstd, sized}} {
		got, err := decompress(tc.scheme, tc.b)
		if err != nil || !bytes.Equal(got, plain) {
			t.Errorf("%s: %d bytes, %v", name, len(got), err)
		}
		for cut := range len(tc.b) - 1 {
			if _, err := decompress(tc.scheme, tc.b[:cut]); cut > 0 && !fail.Is(err, fail.Corrupt) {
				t.Fatalf("%s cut at %d: %v", name, cut, err)
			}
		}
	}
	if _, err := decompress(9, lz); !fail.Is(err, fail.Unsupported) {
		t.Errorf("scheme 9: %v", err)
	}
	if _, err := decompress(pb.LZ4, []byte{255, 255, 255, 127, 0}); !fail.Is(err, fail.Corrupt) {
		t.Errorf("2 GiB from five bytes: %v", err)
	}
}

func TestOffsets(t *testing.T) {
	for _, tc := range []struct {
		offs  []uint64
		width int
	}{
		{[]uint64{0, 255}, 1}, {[]uint64{0, 256}, 2}, {[]uint64{0, 65_535}, 2}, {[]uint64{0, 65_536}, 4}, {[]uint64{0, 1 << 32}, 8}, {[]uint64{0}, 1},
	} {
		b := packOffsets(tc.offs)
		if len(b) != tc.width*len(tc.offs) {
			t.Errorf("%v take %d bytes", tc.offs, len(b))
		}
		for i, want := range tc.offs {
			if got := readWord(b[i*tc.width:], tc.width); got != want {
				t.Errorf("%v: offset %d is %d", tc.offs, i, got)
			}
		}
	}
}

// TestHundredThousand is the largest size of the round trips.
func TestHundredThousand(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "pk", Type: arrow.BinaryTypes.String}, {Name: "n", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
		{Name: "v", Type: vectorType(3), Nullable: true}, {Name: "sp", Type: sparseType(), Nullable: true}}, nil)
	g := newGen(8, 0.01, 4)
	rec := g.batch(schema, 100_000)
	f := openBytes(t, writeFile(t, schema, WriterOptions{}, rec))
	got, err := f.Read(context.Background(), nil, 0, 100_000)
	if err != nil {
		t.Fatal(err)
	}
	sameRows(t, rec, 0, 100_000, got)
	rows := make([]uint32, 1000)
	for i := range rows {
		rows[i] = g.r.Uint32N(100_000)
	}
	sort.Slice(rows, func(i, j int) bool { return rows[i] < rows[j] })
	took, err := f.Take(context.Background(), []string{"sp"}, rows)
	if err != nil {
		t.Fatal(err)
	}
	for i, row := range rows {
		want := array.NewSlice(rec.Column(3), int64(row), int64(row)+1)
		if !array.Equal(want, array.NewSlice(took.Column(0), int64(i), int64(i)+1)) {
			t.Fatalf("row %d differs", row)
		}
	}
}

// followSource is a file that notes up to where its readers will go on.
type followSource struct {
	*memSource
	mu    sync.Mutex // guards until
	until []int64
}

func (s *followSource) ReadOn(ctx context.Context, p []byte, off, until int64) error {
	s.mu.Lock()
	s.until = append(s.until, until)
	s.mu.Unlock()
	return s.ReadAt(ctx, p, off)
}

// TestFollower: a read of a range goes on to the end of the page's buffer, a take does not.
func TestFollower(t *testing.T) {
	ctx := context.Background()
	b := writeFile(t, loamSchema(16), WriterOptions{PageRows: 400}, newGen(3, 0.1, 20).batch(loamSchema(16), 1000))
	src := &followSource{memSource: &memSource{b: b}}
	f, err := Open(ctx, src, int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	ends := map[int64]bool{}
	for _, c := range f.cols {
		for _, p := range c.pages {
			for _, s := range p.buffers {
				ends[s.off+s.size] = true
			}
		}
	}
	for range 2 {
		rec, err := f.Read(ctx, nil, 100, 500)
		if err != nil {
			t.Fatal(err)
		}
		rec.Release()
	}
	v, err := f.ReadVectors(ctx, "emb", 0, 10)
	if err != nil || v.Rows() != 10 || len(src.until) < 10 {
		t.Fatal(v.Rows(), err, len(src.until))
	}
	for _, u := range src.until {
		if !ends[u] {
			t.Errorf("a scan goes on to %d, where no buffer ends", u)
		}
	}
	n := len(src.until)
	rec, err := f.Take(ctx, nil, []uint32{1, 500, 999})
	if err != nil {
		t.Fatal(err)
	}
	rec.Release()
	if _, err := f.TakeVectors(ctx, "emb", []uint32{3}); err != nil || len(src.until) != n {
		t.Error("a take goes on:", src.until[n:], err)
	}
}
