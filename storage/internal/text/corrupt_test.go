package text

import (
	"context"
	"encoding/binary"
	"math/rand"
	"strings"
	"testing"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/zeebo/xxh3"

	"github.com/loamdb/loam/internal/fail"
)

// smallSegment has every kind of block: full, tail, short terms, several fields.
func smallSegment(t testing.TB) []byte {
	t.Helper()
	b, err := NewBuilder(testFields)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range drawDocs(rand.New(rand.NewSource(11)), 300) {
		if err := b.Add(d); err != nil {
			t.Fatal(err)
		}
	}
	data, err := b.Finish()
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestEveryBitFlipIsFound: the checksums cover every byte of the segment.
func TestEveryBitFlipIsFound(t *testing.T) {
	data := smallSegment(t)
	if _, err := Open(data); err != nil {
		t.Fatal(err)
	}
	for i := range data {
		data[i] ^= 1 << (i % 8)
		if _, err := Open(data); !fail.Is(err, fail.Corrupt) && !(i >= 8 && i < 12 && fail.Is(err, fail.Unsupported)) {
			t.Fatalf("a flipped bit in byte %d of %d: %v", i, len(data), err)
		}
		data[i] ^= 1 << (i % 8)
	}
}

func TestEveryTruncationIsFound(t *testing.T) {
	data := smallSegment(t)
	for n := range data {
		if _, err := Open(data[:n]); !fail.Is(err, fail.Corrupt) {
			t.Fatalf("cut to %d of %d bytes: %v", n, len(data), err)
		}
	}
	if _, err := Open(append(append([]byte{}, data...), 0)); !fail.Is(err, fail.Corrupt) {
		t.Fatalf("a byte more: %v", err)
	}
}

func TestUnknownVersionIsRefusedByName(t *testing.T) {
	data := smallSegment(t)
	data[8] = 3
	_, err := Open(data)
	if !fail.Is(err, fail.Unsupported) || !strings.Contains(err.Error(), "version 3") {
		t.Fatal(err)
	}
}

func TestCorruptionNamesItsPlace(t *testing.T) {
	data := smallSegment(t)
	data[100] ^= 1
	if _, err := Open(data); err == nil || !strings.Contains(err.Error(), "block at byte 0") {
		t.Errorf("flip: %v", err)
	}
	if _, err := Open([]byte("not a segment, but as long as one must be to have a header and a trailer")); err == nil || !strings.Contains(err.Error(), "magic") {
		t.Errorf("foreign bytes: %v", err)
	}
}

// reseal makes the checksums of changed bytes right again, as a faulty writer would.
func reseal(data []byte) {
	le := binary.LittleEndian
	blocks := int(le.Uint32(data[len(data)-trailerBytes+12:]))
	end := len(data) - trailerBytes - 8*blocks
	for i := range blocks {
		at := i * checksumBlock
		le.PutUint64(data[end+8*i:], xxh3.Hash(data[at:min(at+checksumBlock, end)]))
	}
	le.PutUint64(data[len(data)-16:], xxh3.Hash(data[end:len(data)-16]))
}

// exercise reads all there is: every answer must be Corrupt or an answer.
func exercise(t testing.TB, data []byte) {
	t.Helper()
	s, err := Open(data)
	if err != nil {
		if c := fail.CodeOf(err); c != fail.Corrupt && c != fail.Unsupported {
			t.Fatalf("open: %v", err)
		}
		return
	}
	if s.NumDocs() > 1<<16 {
		return // more documents than bytes: only costs time
	}
	for _, f := range s.fields {
		if f.terms > 1<<16 {
			return
		}
	}
	check := func(err error) {
		if err != nil && !fail.Is(err, fail.Corrupt) {
			t.Fatal(err)
		}
	}
	dead := roaring.BitmapOf(1, 5, 77, 200)
	excl := NewExclusion(dead)
	check(excl.fillTable(s))
	for f := range s.fields {
		check(s.Terms(f, func(string, int) bool { return true }))
	}
	for _, text := range []string{"alpha", "alpha beta ring of straße", `"alpha beta"`, `"ring ring"~3`, "a*", "ring~2", "alpha AND beta NOT gamma"} {
		q, err := ParseQuery(text, testFields, QueryOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range []*Exclusion{nil, excl, NewExclusion(dead)} {
			b, err := s.Bind(context.Background(), q, e)
			check(err)
			if err != nil {
				continue
			}
			for _, exhaustive := range []bool{false, true} {
				_, err = b.Search(context.Background(), b.Stats(), SearchOptions{K: 5, exhaustive: exhaustive})
				check(err)
			}
			_, err = b.Matches(context.Background(), nil)
			check(err)
		}
	}
}

// TestResealedCorruption changes bytes under right checksums: nothing may panic.
func TestResealedCorruption(t *testing.T) {
	good := smallSegment(t)
	r := rand.New(rand.NewSource(8))
	for range 1000 {
		data := append([]byte{}, good...)
		for range 1 + r.Intn(3) {
			at := 12 + r.Intn(len(data)-trailerBytes-12)
			data[at] = []byte{0, 1, 0x7f, 0x80, 0xff, byte(r.Intn(256))}[r.Intn(6)]
		}
		reseal(data)
		exercise(t, data)
	}
}

func FuzzOpen(f *testing.F) {
	good := smallSegment(f)
	f.Add(uint32(100), []byte{0xff}, true)
	f.Add(uint32(len(good)-200), []byte{0, 0, 0, 0x80}, true)
	f.Add(uint32(0), []byte("LOAMTXT\x00"), false)
	f.Fuzz(func(t *testing.T, at uint32, patch []byte, whole bool) {
		if !whole {
			exercise(t, patch)
			return
		}
		data := append([]byte{}, good...)
		copy(data[int(at)%(len(data)-trailerBytes):len(data)-trailerBytes], patch)
		reseal(data)
		exercise(t, data)
	})
}
