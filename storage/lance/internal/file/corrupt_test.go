package file

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
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

// readAll opens the bytes and reads everything, in ranges and by rows. It goes on
// after an error in one column, and returns the first of another kind than bytes may
// cause, or else the first.
func readAll(b []byte) error {
	ctx := context.Background()
	f, err := Open(ctx, &memSource{b: b}, int64(len(b)))
	if err != nil {
		return err
	}
	var first error
	for i := range f.schema.NumFields() {
		err := readOne(ctx, f, f.schema.Field(i).Name)
		if err != nil && (first == nil || !expected(err)) {
			first = err
		}
	}
	return first
}

func readOne(ctx context.Context, f *File, name string) error {
	n := min(f.NumRows(), 2000)
	rec, err := f.Read(ctx, []string{name}, 0, n)
	if err != nil {
		return err
	}
	_ = rec.Column(0).String()
	rec.Release()
	if n == 0 {
		return nil
	}
	rec, err = f.Take(ctx, []string{name}, []uint32{uint32(n - 1), 0, uint32(n / 2)})
	if err == nil {
		rec.Release()
	}
	return err
}

// expected errors are those that bytes may cause.
func expected(err error) bool {
	return fail.Is(err, fail.Corrupt) || fail.Is(err, fail.Unsupported) || fail.Is(err, fail.TooLarge)
}

// checkError fails unless the error is one of those that bytes may cause.
func checkError(t testing.TB, err error, what string) {
	t.Helper()
	if err != nil && !expected(err) {
		t.Fatalf("%s: error of another kind: %v", what, err)
	}
}

// everyByte makes the damage tests visit each byte of the client's files instead of
// some.
const everyByte = "LOAM_LANCE_EVERY_BYTE"

// smallFiles are a file of Loam and the client's small ones.
func smallFiles(t testing.TB) map[string][]byte {
	t.Helper()
	out := map[string][]byte{"loam": smallFile(t)}
	for _, v := range []string{"2.0", "2.1", "2.2"} {
		b, err := os.ReadFile(filepath.Join("testdata", "small-"+v+".lance"))
		if err != nil {
			t.Fatal(err)
		}
		out[v] = b
	}
	return out
}

// fixedCost is what reading a file may allocate whatever its size: decoders and
// blocks of a fixed size for each column.
const fixedCost = 24 << 20

// checkAllocated reads damaged bytes and fails unless they gave rows or an error that
// bytes may cause, in memory of no more than 64 times the file.
func checkAllocated(t *testing.T, bad []byte, what string) error {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	err := readAll(bad)
	runtime.ReadMemStats(&after)
	checkError(t, err, what)
	if got := after.TotalAlloc - before.TotalAlloc; got > 64*uint64(len(bad))+fixedCost {
		t.Fatalf("%s: %d bytes allocated for a file of %d (%v)", what, got, len(bad), err)
	}
	return err
}

// TestByteFlips damages each byte of small files in turn: reading gives rows or an
// error that says where, never a panic, and never takes memory without bound.
func TestByteFlips(t *testing.T) {
	for name, good := range smallFiles(t) {
		step := 1
		if os.Getenv(everyByte) == "" {
			step = 1 + len(good)/350
		}
		refused := 0
		for at := 0; at < len(good); at += step {
			bad := append([]byte(nil), good...)
			for _, flip := range []byte{1 << (at % 8), 0xFF, 0x80} {
				bad[at] = good[at] ^ flip
				if checkAllocated(t, bad, fmt.Sprintf("%s, byte %d ^ %#x", name, at, flip)) != nil {
					refused++
				}
			}
		}
		if refused == 0 {
			t.Errorf("%s: no damage was noticed", name)
		}
	}
}

// TestTruncation cuts the file at each length.
func TestTruncation(t *testing.T) {
	for name, good := range smallFiles(t) {
		step := 1
		if os.Getenv(everyByte) == "" {
			step = 1 + len(good)/1500
		}
		for n := 0; n < len(good); n += step {
			if err := readAll(good[:n]); err == nil {
				t.Fatalf("%s: a file cut at %d of %d reads without error", name, n, len(good))
			} else {
				checkError(t, err, "cut")
			}
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
	for _, b := range smallFiles(f) {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) { checkError(t, readAll(b), "fuzz") })
}
