package file

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/klauspost/compress/zstd"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/storage/lance/internal/pb"
)

// TestPackBlock packs values and unpacks them with the reader, whose layout
// TestUnpackBlock proves.
func TestPackBlock(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	for _, width := range []int{1, 2, 4, 8} {
		for bits := 0; bits <= width*8; bits++ {
			in := make([]byte, packBlock*width)
			for i := 0; i < packBlock && bits > 0; i++ {
				putWord(in[i*width:], width, r.Uint64()>>(64-bits))
			}
			packed := make([]byte, bits*packBlock/8)
			packInto(in, width, bits, packed)
			out := make([]byte, len(in))
			unpackBlock(packed, width, bits, out)
			if !bytes.Equal(in, out) {
				t.Fatalf("width %d, %d bits: other values come back", width, bits)
			}
			if got := usedBits(in, width); got > bits {
				t.Errorf("width %d: %d bits counted of %d", width, got, bits)
			}
		}
	}
}

func TestPackedLevels(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	for _, n := range []int{0, 1, 63, 64, 65, 600, 1023, 1024, 1025, 1088, 1100, 5000} {
		for _, highest := range []uint16{1, 2, 5, 300} {
			levels := make([]uint16, n)
			for i := range levels {
				levels[i] = uint16(r.UintN(uint(highest) + 1))
			}
			e := levelEncoding(highest, n)
			buf := appendLevels(nil, levels, e)
			if len(buf) > 2*n {
				t.Errorf("%d levels to %d take %d bytes", n, highest, len(buf))
			}
			got, err := decodeLevels(e, buf, n)
			if err != nil {
				t.Fatal(err)
			}
			for i := range levels {
				if got[i] != levels[i] {
					t.Fatalf("%d levels to %d: level %d is %d, want %d", n, highest, i, got[i], levels[i])
				}
			}
		}
	}
}

// TestWritesEveryType writes the rows of the client's files again, in several page
// sizes, and reads them back.
func TestWritesEveryType(t *testing.T) {
	want := fixtureRows(t, "2.2")
	written := 0
	for i, f := range want.Schema().Fields() {
		schema := arrow.NewSchema([]arrow.Field{f}, nil)
		rec := array.NewRecordBatch(schema, []arrow.Array{want.Column(i)}, want.NumRows())
		for _, opts := range []WriterOptions{{}, {PageBytes: 700}, {PageRows: 33}} {
			var buf bytes.Buffer
			w, err := NewWriter(&buf, schema, opts)
			if err == nil {
				err = w.Write(rec)
			}
			if strings.HasPrefix(f.Name, "vector_holes") && fail.Is(err, fail.InvalidVector) {
				continue
			}
			if err != nil {
				t.Errorf("%s: %v", f.Name, err)
				continue
			}
			if _, err := w.Close(); err != nil {
				t.Errorf("%s: %v", f.Name, err)
				continue
			}
			got, err := openBytes(t, buf.Bytes()).Read(context.Background(), nil, 0, want.NumRows())
			if err != nil {
				t.Errorf("%s: %v", f.Name, err)
				continue
			}
			if !array.Equal(want.Column(i), got.Column(0)) && asJSON(t, want.Column(i)) != asJSON(t, got.Column(0)) {
				t.Errorf("%s, %+v: other values come back", f.Name, opts)
			}
			written++
		}
	}
	if written < 3*45 {
		t.Errorf("only %d files were written", written)
	}
}

// TestWritesSmall pins what the encodings save: bytes a row of a nullable column of
// small integers, of long documents, and of lists.
func TestWritesSmall(t *testing.T) {
	const rows = 20_000
	b := array.NewRecordBuilder(memory.DefaultAllocator, arrow.NewSchema([]arrow.Field{
		{Name: "n", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
		{Name: "flag", Type: arrow.FixedWidthTypes.Boolean, Nullable: true},
		{Name: "l", Type: arrow.ListOf(arrow.PrimitiveTypes.Uint32), Nullable: true},
	}, nil))
	for i := range rows {
		if i%9 == 0 {
			b.Field(0).AppendNull()
			b.Field(1).AppendNull()
			b.Field(2).AppendNull()
			continue
		}
		b.Field(0).(*array.Int64Builder).Append(int64(i))
		b.Field(1).(*array.BooleanBuilder).Append(i%2 == 0)
		b.Field(2).(*array.ListBuilder).Append(true)
		for k := range 5 {
			b.Field(2).(*array.ListBuilder).ValueBuilder().(*array.Uint32Builder).Append(uint32(i + k))
		}
	}
	rec := b.NewRecordBatch()
	for i, most := range []float64{2.2, 0.3, 14} {
		schema := arrow.NewSchema([]arrow.Field{rec.Schema().Field(i)}, nil)
		file := writeFile(t, schema, WriterOptions{}, array.NewRecordBatch(schema, []arrow.Array{rec.Column(i)}, rows))
		if got := float64(len(file)) / rows; got > most {
			t.Errorf("%s takes %.2f bytes a row, at most %.2f were due", rec.Schema().Field(i).Name, got, most)
		}
	}
}

// TestLongValuesCompress: documents of several KiB are compressed one by one where that
// saves a quarter, and only there.
func TestLongValuesCompress(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{{Name: "d", Type: arrow.BinaryTypes.LargeBinary, Nullable: true}}, nil)
	r := rand.New(rand.NewPCG(5, 5))
	noise := make([]byte, 9000)
	for i := range noise {
		noise[i] = byte(r.Uint32())
	}
	for name, tc := range map[string]struct {
		value []byte
		packs bool
	}{
		"text":  {bytes.Repeat([]byte(`{"title": "a title", "year": 1999} `), 200), true},
		"noise": {noise, false},
		"short": {bytes.Repeat([]byte("abc"), 100), false},
	} {
		b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
		for i := range 40 {
			if i%7 == 3 {
				b.Field(0).AppendNull()
				continue
			}
			b.Field(0).(*array.BinaryBuilder).Append(append([]byte{byte(i)}, tc.value...))
		}
		rec := b.NewRecordBatch()
		f := openBytes(t, writeFile(t, schema, WriterOptions{}, rec))
		if got := f.cols[0].pages[0].layout.FullZip.Value.Kind == pb.General; got != tc.packs {
			t.Errorf("%s: compressed %v", name, got)
		}
		if tc.packs && f.Size() > 40*int64(len(tc.value))/10 {
			t.Errorf("%s: %d bytes for 40 values of %d", name, f.Size(), len(tc.value))
		}
		got, err := f.Take(context.Background(), nil, []uint32{39, 0, 3, 20})
		if err != nil || !array.Equal(array.NewSlice(rec.Column(0), 20, 21), array.NewSlice(got.Column(0), 3, 4)) || !got.Column(0).IsNull(2) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}

// TestTooManyHoles: one row with more empty lists than a chunk counts is refused.
func TestTooManyHoles(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{{Name: "l", Type: arrow.ListOf(arrow.ListOf(arrow.PrimitiveTypes.Int8))}}, nil)
	for n, ok := range map[int]bool{1000: true, 70_000: false} {
		b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
		outer := b.Field(0).(*array.ListBuilder)
		outer.Append(true)
		inner := outer.ValueBuilder().(*array.ListBuilder)
		for range n {
			inner.Append(true)
		}
		inner.Append(true)
		inner.ValueBuilder().(*array.Int8Builder).Append(1)
		rec := b.NewRecordBatch()
		var buf bytes.Buffer
		w, err := NewWriter(&buf, schema, WriterOptions{})
		if err == nil {
			err = w.Write(rec)
		}
		if err == nil {
			_, err = w.Close()
		}
		if (err == nil) != ok || (err != nil && !fail.Is(err, fail.TooLarge)) {
			t.Errorf("%d empty lists: %v", n, err)
		}
	}
}

// TestBombs: a compressed buffer takes memory for what it holds, not for what it claims.
func TestBombs(t *testing.T) {
	plain := bytes.Repeat([]byte("loam "), 1000)
	e, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	frame := e.EncodeAll(plain, nil)
	sized := append(binary.LittleEndian.AppendUint64(nil, uint64(len(plain))), frame...)
	var stream bytes.Buffer
	sw, err := zstd.NewWriter(&stream)
	if err == nil {
		_, err = sw.Write(plain)
	}
	if err != nil || sw.Close() != nil {
		t.Fatal(err)
	}
	zeros := e.EncodeAll(make([]byte, 8<<20), nil)
	for name, b := range map[string][]byte{"sized": sized, "bare": frame, "without its size": stream.Bytes()} {
		if got, err := decompress(pb.Zstd, b); err != nil || !bytes.Equal(got, plain) {
			t.Errorf("%s: %d bytes, %v", name, len(got), err)
		}
	}
	if got, err := decompress(pb.Zstd, zeros); err != nil || len(got) != 8<<20 {
		t.Errorf("zeros: %d bytes, %v", len(got), err)
	}
	wrong := append([]byte(nil), sized...)
	wrong[0]++
	bad := [][]byte{nil, {1, 2, 3}, wrong, sized[:len(sized)-3], append(append([]byte(nil), sized[:8]...), "no frame"...)}
	for i, b := range bad {
		if _, err := decompress(pb.Zstd, b); !fail.Is(err, fail.Corrupt) {
			t.Errorf("zstd %d: %v", i, err)
		}
	}
	lz := []byte{0, 0, 0, 200, 0x10, 'a'}
	if _, err := decompress(pb.LZ4, lz); !fail.Is(err, fail.Corrupt) {
		t.Errorf("LZ4 that claims 3 GB: %v", err)
	}
	if _, err := decompress(7, nil); !fail.Is(err, fail.Unsupported) {
		t.Errorf("unknown scheme: %v", err)
	}
}

// BenchmarkUnpack: no allocation; GB/s of unpacked values.
func BenchmarkUnpack(b *testing.B) {
	for _, width := range []int{2, 4, 8} {
		b.Run(fmt.Sprintf("width=%d", width), func(b *testing.B) {
			packed, out := make([]byte, 11*packBlock/8), make([]byte, packBlock*width)
			b.SetBytes(int64(len(out)))
			b.ReportAllocs()
			for b.Loop() {
				unpackBlock(packed, width, 11, out)
			}
		})
	}
}
