package file

import (
	"bytes"
	"context"
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"

	"github.com/loamdb/loam/storage/lance/internal/pb"
)

// fixtures are files that the real client wrote, one a version, with a column of
// every type (conformance/lance/matrix.py, "fixture").
func fixtures(t testing.TB) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	for _, v := range []string{"2.0", "2.1", "2.2"} {
		b, err := os.ReadFile(filepath.Join("testdata", "client-"+v+".lance"))
		if err != nil {
			t.Fatal(err)
		}
		out[v] = b
	}
	return out
}

func TestFixtures(t *testing.T) {
	ctx := context.Background()
	for version, b := range fixtures(t) {
		want := fixtureRows(t, version)
		f := openBytes(t, b)
		if _, minor := f.Version(); "2."+string(rune('0'+minor)) != version {
			t.Errorf("file of %s opens as 2.%d", version, minor)
		}
		if f.Schema().NumFields() < 45 || want.NumRows() != f.NumRows() {
			t.Fatalf("%s: %d columns, %d rows", version, f.Schema().NumFields(), f.NumRows())
		}
		for _, r := range []rowRange{{0, 520}, {0, 0}, {100, 101}, {17, 300}, {519, 520}} {
			got, err := f.Read(ctx, nil, r.from, r.to-r.from)
			if err != nil {
				t.Fatal(version, err)
			}
			for i, field := range f.Schema().Fields() {
				w := array.NewSlice(want.Column(i), r.from, r.to)
				if !array.Equal(w, got.Column(i)) && asJSON(t, w) != asJSON(t, got.Column(i)) {
					t.Errorf("%s, %s, rows %v\nwant %.1000s\ngot  %.1000s", version, field.Name, r, w, got.Column(i))
				}
			}
		}
		ids := []uint32{519, 3, 3, 250, 0, 77, 78, 79, 401}
		got, err := f.Take(ctx, nil, ids)
		if err != nil {
			t.Fatal(version, err)
		}
		for i, field := range f.Schema().Fields() {
			for k, id := range ids {
				w, g := array.NewSlice(want.Column(i), int64(id), int64(id)+1), array.NewSlice(got.Column(i), int64(k), int64(k)+1)
				if !array.Equal(w, g) && asJSON(t, w) != asJSON(t, g) {
					t.Errorf("%s, %s, row %d: want %.300s, got %.300s", version, field.Name, id, w, g)
				}
			}
		}
	}
}

// TestHollow reads structs without fields, which the client stores as nothing.
func TestHollow(t *testing.T) {
	for _, version := range []string{"2.0", "2.1", "2.2"} {
		b, err := os.ReadFile(filepath.Join("testdata", "hollow-"+version+".lance"))
		if err != nil {
			t.Fatal(err)
		}
		f := openBytes(t, b)
		if f.NumRows() != 7 {
			t.Fatalf("%s: %d rows", version, f.NumRows())
		}
		rec, err := f.Take(context.Background(), nil, []uint32{5, 1, 2})
		if err != nil {
			t.Fatal(version, err)
		}
		want := map[string]string{"n": "[5,1,2]", "e": "[{},{},{}]", "s": `[{"e":{},"x":5},{"e":{},"x":1},{"e":{},"x":2}]`, "l": "[[{},{}],[{}],[{},{}]]"}
		for i, field := range rec.Schema().Fields() {
			if got := asJSON(t, rec.Column(i)); got != want[field.Name] {
				t.Errorf("%s: column %s is %s, want %s", version, field.Name, got, want[field.Name])
			}
		}
	}
}

// fixtureRows are the rows of a fixture.
func fixtureRows(t *testing.T, version string) arrow.RecordBatch {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", "client-"+version+".arrow"))
	if err != nil {
		t.Fatal(err)
	}
	r, err := ipc.NewFileReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	want, err := r.RecordBatch(0)
	if err != nil {
		t.Fatal(err)
	}
	return want
}

// encodingsOf collects the encodings of a tree.
func encodingsOf(e *pb.Encoding, seen map[string]bool) {
	if e == nil {
		return
	}
	seen[e.Kind.String()] = true
	encodingsOf(e.Inner, seen)
	encodingsOf(e.Second, seen)
	for _, m := range e.Members {
		encodingsOf(m.Value, seen)
	}
}

func arraysOf(e *pb.ArrayEncoding, seen map[string]bool) {
	if e == nil {
		return
	}
	seen[e.Kind.String()+" array"] = true
	if e.Scheme != "" {
		seen[e.Scheme+" array"] = true
	}
	arraysOf(e.Inner, seen)
	arraysOf(e.Second, seen)
}

// TestFixtureEncodings pins which encodings the fixtures exercise, so that a new
// fixture cannot silently lose one.
func TestFixtureEncodings(t *testing.T) {
	seen := map[string]bool{}
	for _, b := range fixtures(t) {
		for _, c := range openBytes(t, b).cols {
			for _, p := range c.pages {
				switch l := p.layout; {
				case l.MiniBlock != nil:
					for _, e := range []*pb.Encoding{l.MiniBlock.Rep, l.MiniBlock.Def, l.MiniBlock.Value, l.MiniBlock.Dictionary} {
						encodingsOf(e, seen)
					}
					seen["large chunks"] = seen["large chunks"] || l.MiniBlock.LargeChunks
				case l.FullZip != nil:
					encodingsOf(l.FullZip.Value, seen)
					seen["full zip"] = true
				case l.Constant != nil:
					seen["constant"] = true
					seen["inline constant"] = seen["inline constant"] || l.Constant.Inline != nil
				}
			}
			for _, node := range c.arrays {
				for _, p := range node.pages {
					arraysOf(p.enc, seen)
				}
			}
		}
	}
	for _, want := range []string{
		"flat", "variable", "out-of-line bitpacking", "inline bitpacking", "fsst", "run lengths", "byte stream split", "general",
		"fixed size list", "packed struct", "variable packed struct", "large chunks", "full zip", "constant", "inline constant",
		"flat array", "nullable array", "fixed size list array", "list array", "binary array", "dictionary array", "fsst array",
		"zstd array", "lz4 array",
	} {
		if !seen[want] {
			t.Errorf("no page is encoded as %s", want)
		}
	}
}

func asJSON(t testing.TB, a arrow.Array) string {
	t.Helper()
	b, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestFixtureDamage scrambles the client's files: errors, never panics.
func TestFixtureDamage(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 8))
	for _, good := range fixtures(t) {
		for range 8 {
			bad := append([]byte(nil), good...)
			for at, n := r.IntN(len(bad)), 1+r.IntN(6); n > 0 && at < len(bad); at, n = at+1, n-1 {
				bad[at] = byte(r.Uint32())
			}
			checkError(t, readAll(bad), "scramble")
		}
	}
}

// TestUnpackBlock packs values in the FastLanes order with a second, plain
// implementation of it and unpacks them.
func TestUnpackBlock(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, width := range []int{1, 2, 4, 8} {
		for bits := 0; bits <= width*8; bits++ {
			want := make([]uint64, packBlock)
			for i := range want {
				if bits > 0 {
					want[i] = r.Uint64() >> (64 - bits)
				}
			}
			packed := make([]byte, 128*bits+8)
			pack(want, width, bits, packed)
			out := make([]byte, packBlock*width)
			unpackBlock(packed, width, bits, out)
			for i, w := range want {
				if got := readWord(out[i*width:], width); got != w {
					t.Fatalf("width %d, %d bits: value %d is %d, want %d", width, bits, i, got, w)
				}
			}
		}
	}
}

// pack sets the bits one at a time.
func pack(vals []uint64, width, bits int, out []byte) {
	wordBits := width * 8
	lanes := packBlock / wordBits
	for lane := range lanes {
		for row := range wordBits {
			v := vals[laneOrder[row/8]*16+row%8*128+lane]
			for k := range bits {
				at := row*bits + k
				if v>>k&1 == 1 {
					bit := ((at/wordBits)*lanes+lane)*wordBits + at%wordBits
					out[bit/8] |= 1 << (bit % 8)
				}
			}
		}
	}
}

func TestDecodeRuns(t *testing.T) {
	got, err := decodeRuns([]byte{1, 0, 2, 0, 3, 0}, []byte{2, 0, 1}, 3, 2, 1)
	if err != nil || !bytes.Equal(got, []byte{1, 0, 1, 0, 3, 0}) {
		t.Errorf("got %v, %v", got, err)
	}
	for _, lengths := range [][]byte{{2}, {4}, {1, 1, 1, 0}} {
		if _, err := decodeRuns([]byte{1, 0, 2, 0, 3, 0}, lengths, 3, 2, 1); (err == nil) != (len(lengths) == 3) {
			t.Errorf("lengths %v: error %v", lengths, err)
		}
	}
}

func TestFsst(t *testing.T) {
	table := make([]byte, fsstTableSize)
	table[0], table[3] = 2, 1 // two symbols, compression on
	copy(table[8:], "ab")
	copy(table[16:], "retrieva")
	table[24], table[25] = 2, 8
	f, err := parseFsst(table)
	if err != nil {
		t.Fatal(err)
	}
	got, err := f.decode([]byte{1, fsstEscape, 'l', 0}, nil)
	if err != nil || string(got) != "retrievalab" {
		t.Errorf("got %q, %v", got, err)
	}
	for _, v := range [][]byte{{2}, {fsstEscape}} {
		if _, err := f.decode(v, nil); err == nil {
			t.Errorf("%v decodes", v)
		}
	}
	table[24] = 9
	if _, err := parseFsst(table); err == nil {
		t.Error("a symbol of nine bytes is accepted")
	}
}
