package column

import (
	"fmt"
	"math"
	"math/rand"
	"strings"
	"testing"

	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// longTexts are texts that compress, of several frames a chunk, some NULL.
func longTexts(r *rand.Rand, n int) *vec.Vector {
	v := vec.New(types.Of(types.Text), n)
	for i := range n {
		if r.Intn(9) == 0 {
			v.AppendNull()
			continue
		}
		v.Append(vec.Text(strings.Repeat(fmt.Sprint("word", r.Intn(30), " "), r.Intn(80)) + fmt.Sprint(i)))
	}
	return v
}

// write makes a section of one column.
func write(t testing.TB, v *vec.Vector) []byte {
	t.Helper()
	w := NewWriter(v.N)
	if err := w.Add("x", v); err != nil {
		t.Fatal(err)
	}
	data, err := w.Finish()
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func open(t testing.TB, data []byte) *Section {
	t.Helper()
	s, err := Open(data)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func dataOf(s *Section) []byte { return s.src.(bytesSource) }

// encodingOf is the encoding of the first chunk of column x.
func encodingOf(s *Section) byte { return dataOf(s)[s.cols["x"].Chunks[0].Off] }

func TestFrames(t *testing.T) {
	v := longTexts(rand.New(rand.NewSource(3)), 5000)
	s := open(t, write(t, v))
	if encodingOf(s) != encZstd {
		t.Fatalf("encoding %d, want zstd", encodingOf(s))
	}
	h, c, err := readHead(dataOf(s)[s.cols["x"].Chunks[0].Off:], s.chunkRows(0))
	if err != nil {
		t.Fatal(err)
	}
	block, err := readStrings(c, h.rows, true)
	if err != nil {
		t.Fatal(err)
	}
	if len(block.frames) < 5 {
		t.Fatalf("%d frames", len(block.frames))
	}
	checkColumn(t, s, "x", v)
}

// Take gives what Chunk gives, for every type, after rows that are there already.
func TestTake(t *testing.T) {
	for seed := range int64(12) {
		r := rand.New(rand.NewSource(seed))
		n := 1 + r.Intn(3000)
		cols := []*vec.Vector{longTexts(r, n)}
		for _, ty := range testTypes {
			cols = append(cols, randomColumn(r, ty, n))
		}
		for _, v := range cols {
			checkTake(t, r, open(t, write(t, v)), v)
		}
	}
}

func checkTake(t *testing.T, r *rand.Rand, s *Section, v *vec.Vector) {
	t.Helper()
	out, want := vec.New(v.Type, 0), vec.New(v.Type, 0)
	for chunk := range (v.N + vec.ChunkRows - 1) / vec.ChunkRows {
		from := chunk * vec.ChunkRows
		var rows []int32
		for i := from; i < min(v.N, from+vec.ChunkRows); i++ {
			if r.Intn(1+v.N/20) == 0 {
				rows = append(rows, int32(i-from))
				want.Append(v.Value(i))
			}
		}
		if err := s.Take("x", chunk, rows, out); err != nil {
			t.Fatal(err)
		}
	}
	if out.N != want.N {
		t.Fatalf("%s: %d rows, want %d", v.Type, out.N, want.N)
	}
	for i := range out.N {
		if g, w := out.Value(i), want.Value(i); g.Null != w.Null || g.String() != w.String() {
			t.Fatalf("%s row %d: %s, want %s", v.Type, i, g, w)
		}
	}
	if err := s.Take("x", 0, []int32{int32(v.N)}, vec.New(v.Type, 1)); err == nil && v.N < vec.ChunkRows {
		t.Fatal("a row after the last was taken")
	}
}

// Take of damaged sections gives errors or other values, never a panic.
func TestTakeDamage(t *testing.T) {
	r := rand.New(rand.NewSource(5))
	cols := []*vec.Vector{longTexts(r, 300)}
	for _, ty := range testTypes {
		cols = append(cols, randomColumn(r, ty, 300))
	}
	for _, v := range cols {
		data := write(t, v)
		for i := 0; i < len(data); i += 1 + len(data)/2000 {
			b := append([]byte(nil), data...)
			b[i] ^= 1 << r.Intn(8)
			s, err := Open(b)
			if err != nil || !s.Has("x") || s.Rows() < 300 {
				continue
			}
			out := vec.New(s.Type("x"), 0)
			if err := s.Take("x", 0, []int32{0, 17, 299}, out); err == nil {
				_ = out.Value(2).String()
			}
		}
	}
}

// Integers of every width come back, all at once and one by one, wherever the
// section begins in memory.
func TestWidths(t *testing.T) {
	r := rand.New(rand.NewSource(9))
	for width := range 65 {
		for _, n := range []int{1, 2, 63, 64, 100, 2048} {
			v := vec.New(types.Of(types.Int64), n)
			for range n {
				x := r.Uint64()
				if width < 64 {
					x &= 1<<width - 1
				}
				v.Append(vec.Int64(int64(x)))
			}
			data := write(t, v)
			for shift := range 2 {
				s := open(t, append(make([]byte, shift), data...)[shift:])
				got, err := s.Chunk("x", 0)
				if err != nil {
					t.Fatal(err)
				}
				one := vec.New(v.Type, 0)
				if err := s.Take("x", 0, []int32{int32(n - 1)}, one); err != nil {
					t.Fatal(err)
				}
				for i := range n {
					if got.Int64s[i] != v.Int64s[i] {
						t.Fatalf("width %d, %d rows: row %d is %d, want %d", width, n, i, got.Int64s[i], v.Int64s[i])
					}
				}
				if one.Int64s[0] != v.Int64s[n-1] {
					t.Fatalf("width %d: the last of %d is %d, want %d", width, n, one.Int64s[0], v.Int64s[n-1])
				}
			}
		}
	}
}

// Numbers that are read without a copy are right wherever the section begins.
func TestUnaligned(t *testing.T) {
	v := vec.New(types.Of(types.Double), 0)
	for i := range 100 {
		v.Append(vec.Double(math.Sqrt(float64(i))))
	}
	data := write(t, v)
	for shift := range 8 {
		checkColumn(t, open(t, append(make([]byte, shift), data...)[shift:]), "x", v)
	}
}

// Short strings at the end of the bytes, of every length, with zero bytes beyond them.
func TestViews(t *testing.T) {
	v := vec.New(types.Of(types.Text), 0)
	for n := range 30 {
		v.Append(vec.Text(strings.Repeat("x", n)))
	}
	for cut := 1; cut <= v.N; cut++ {
		part := v.Slice(0, cut)
		got, err := open(t, write(t, part)).Chunk("x", 0)
		if err != nil {
			t.Fatal(err)
		}
		got = got.Flatten()
		for i := range cut {
			if got.Strings.At(i) != part.Strings.At(i) {
				t.Fatalf("%q, want %q", got.Strings.At(i), part.Strings.At(i))
			}
			if i <= vec.InlineLen && got.Strings.Views[i] != part.Strings.Views[i] {
				t.Fatalf("view of %q is %v, want %v", part.Strings.At(i), got.Strings.Views[i], part.Strings.Views[i])
			}
		}
	}
}

// BenchmarkChunk decodes one chunk: it may allocate per chunk, not per row.
func BenchmarkChunk(b *testing.B) {
	r := rand.New(rand.NewSource(1))
	cols := map[string]*vec.Vector{"long": longTexts(r, vec.ChunkRows)}
	for _, c := range []struct {
		name string
		t    types.Type
		at   func(i int) vec.Value
	}{
		{"int", types.Of(types.Int32), func(i int) vec.Value { return vec.Int32(int32(i * 7 % 365)) }},
		{"double", types.Of(types.Double), func(i int) vec.Value { return vec.Double(float64(i)) }},
		{"dict", types.Of(types.Text), func(i int) vec.Value { return vec.Text([]string{"view", "click", "buy"}[i%3]) }},
		{"short", types.Of(types.Text), func(i int) vec.Value { return vec.Text(fmt.Sprint("key", i)) }},
		{"url", types.Of(types.Text), func(i int) vec.Value { return vec.Text(fmt.Sprint("https://example.org/", i)) }},
	} {
		v := vec.New(c.t, 0)
		for i := range vec.ChunkRows {
			v.Append(c.at(i))
		}
		cols[c.name] = v
	}
	for name, v := range cols {
		s := open(b, write(b, v))
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(vec.ChunkRows)
			for b.Loop() {
				if got, err := s.Chunk("x", 0); err != nil || got.N != vec.ChunkRows {
					b.Fatal(err)
				}
			}
		})
		b.Run(name+"-take", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				out := vec.New(v.Type, 1)
				if err := s.Take("x", 0, []int32{1000}, out); err != nil || out.N != 1 {
					b.Fatal(err)
				}
			}
		})
	}
}
