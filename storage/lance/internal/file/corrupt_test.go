package file

import (
	"context"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"github.com/loamdb/loam/internal/fail"
)

// smallFile has every layout: mini-block with and without levels, full-zip fixed
// and variable, constant with and without levels.
func smallFile(t testing.TB) []byte {
	g := newGen(9, 0.2, 6)
	schema := loamSchema(3)
	return writeFile(t, schema, WriterOptions{PageRows: 16}, g.batch(schema, 24), newGen(1, 1, 3).batch(schema, 16))
}

// readAll opens the bytes and reads everything, in ranges and by rows. It
// returns the first error.
func readAll(b []byte) error {
	ctx := context.Background()
	f, err := Open(ctx, &memSource{b: b}, int64(len(b)))
	if err != nil {
		return err
	}
	n := min(f.NumRows(), 2000)
	for i := range f.schema.NumFields() {
		name := []string{f.schema.Field(i).Name}
		rec, err := f.Read(ctx, name, 0, n)
		if err != nil {
			return err
		}
		_ = rec.Column(0).String()
		rec.Release()
		if n == 0 {
			continue
		}
		rec, err = f.Take(ctx, name, []uint32{uint32(n - 1), 0, uint32(n / 2)})
		if err != nil {
			return err
		}
		rec.Release()
	}
	return nil
}

// checkError fails unless the error is one of those that bytes may cause.
func checkError(t testing.TB, err error, what string) {
	t.Helper()
	switch {
	case err == nil || fail.Is(err, fail.Corrupt) || fail.Is(err, fail.Unsupported) || fail.Is(err, fail.TooLarge):
	default:
		t.Fatalf("%s: error of another kind: %v", what, err)
	}
}

// TestBitFlips flips each bit of a small file: reading gives rows or an error
// that says where, never a panic, and never takes memory without bound.
func TestBitFlips(t *testing.T) {
	good := smallFile(t)
	metadata := int(openBytes(t, good).cols[7].pages[0].buffers[0].off)
	var before, after runtime.MemStats
	refused := 0
	for at := range good {
		runtime.ReadMemStats(&before)
		for bit := range 8 {
			if (at < metadata && bit != at%8) || (at+bit)%3 != 0 {
				continue
			}
			bad := append([]byte(nil), good...)
			bad[at] ^= 1 << bit
			err := readAll(bad)
			checkError(t, err, "flip")
			if err != nil {
				refused++
			}
		}
		runtime.ReadMemStats(&after)
		if got := after.TotalAlloc - before.TotalAlloc; got > 8*64*uint64(len(good))+64<<20 {
			t.Fatalf("byte %d: %d bytes allocated for a file of %d", at, got, len(good))
		}
	}
	if refused == 0 {
		t.Error("no flip was noticed")
	}
}

// TestTruncation cuts the file at each length.
func TestTruncation(t *testing.T) {
	good := smallFile(t)
	for n := range good {
		if err := readAll(good[:n]); err == nil {
			t.Fatalf("a file cut at %d of %d reads without error", n, len(good))
		} else {
			checkError(t, err, "cut")
		}
	}
}

// TestScramble overwrites random stretches.
func TestScramble(t *testing.T) {
	good := smallFile(t)
	r := rand.New(rand.NewPCG(4, 4))
	for range 3000 {
		bad := append([]byte(nil), good...)
		at := r.IntN(len(bad))
		for i := at; i < min(at+1+r.IntN(24), len(bad)); i++ {
			bad[i] = byte(r.Uint32())
		}
		checkError(t, readAll(bad), "scramble")
	}
}

func TestErrorsNameThePlace(t *testing.T) {
	good := smallFile(t)
	f := openBytes(t, good)
	damage := func(p *storedPage, buffer, at int, v byte) []byte {
		bad := append([]byte(nil), good...)
		bad[p.buffers[buffer].off+int64(at)] = v
		return bad
	}
	for _, tc := range []struct {
		bytes []byte
		want  []string
	}{
		{damage(f.cols[0].pages[0], 0, 0, 0), []string{`"_pk"`, "page 0", "chunk 0"}},
		{damage(f.cols[0].pages[0], 1, 9, 0xFF), []string{`"_pk"`, "page 0", "chunk 0"}},
		{damage(f.cols[1].pages[1], 1, 0, 0xFF), []string{`"_source"`, "page 1", "repetition index"}},
		{damage(f.cols[7].pages[0], 1, 0, 0xFF), []string{`"sp.indices"`, "page 0", "chunk 0"}},
		{good[:39], []string{"footer"}},
		{append(append([]byte(nil), good[:len(good)-8]...), 2, 0, 3, 0, 'L', 'A', 'N', 'C'), []string{"2.3"}},
		{append(append([]byte(nil), good[:len(good)-8]...), 0, 0, 2, 0, 'L', 'A', 'N', 'C'), []string{"0.2"}},
		{append(append([]byte(nil), good[:len(good)-4]...), 'L', 'A', 'N', 'D'), []string{"LAND"}},
	} {
		err := readAll(tc.bytes)
		if err == nil {
			t.Errorf("no error, want one with %q", tc.want)
			continue
		}
		for _, w := range tc.want {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("error %q does not name %q", err, w)
			}
		}
	}
}

func FuzzOpen(f *testing.F) {
	f.Add(smallFile(f))
	schema := loamSchema(2)
	f.Add(writeFile(f, schema, WriterOptions{}))
	for _, b := range fixtures(f) {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) { checkError(t, readAll(b), "fuzz") })
}
