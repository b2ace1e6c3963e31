package sketch

import (
	"bytes"
	"encoding/binary"
	"math"
	"testing"

	"github.com/zeebo/xxh3"
	"pgregory.net/rapid"

	"github.com/loamdb/loam/internal/fail"
)

func hashOf(n uint64) uint64 { return xxh3.Hash(binary.LittleEndian.AppendUint64(nil, n)) }

// of is the sketch of the numbers [from, to).
func of(from, to uint64) *Sketch {
	s := &Sketch{}
	for i := from; i < to; i++ {
		s.Add(hashOf(i))
	}
	return s
}

// TestError measures the estimate over disjoint sets of each size: no single one is
// off by more than four standard errors, and on the average they are off by no more
// than one and a tenth.
func TestError(t *testing.T) {
	for _, n := range []uint64{1, 2, 10, 100, 500, 1_000, 2_500, 5_000, 20_000, 100_000} {
		trials, squares, sum := 40, 0.0, 0.0
		for i := range uint64(trials) {
			off := of(i*n+1<<40, (i+1)*n+1<<40).Count()/float64(n) - 1
			if math.Abs(off) > 4*RelativeError {
				t.Errorf("%d values, trial %d: off by %.1f %%", n, i, 100*off)
			}
			squares += off * off
			sum += off
		}
		rms := math.Sqrt(squares / float64(trials))
		t.Logf("%7d values: error %.2f %%, bias %+.2f %%", n, 100*rms, 100*sum/float64(trials))
		if rms > 1.1*RelativeError {
			t.Errorf("%d values: error %.2f %%, want at most %.2f %%", n, 100*rms, 110*RelativeError)
		}
	}
}

func TestFewAreExact(t *testing.T) {
	if n := (&Sketch{}).Count(); n != 0 {
		t.Errorf("no values: %g", n)
	}
	for n := uint64(1); n <= 20; n++ {
		s := of(0, n)
		for range 3 {
			s.Merge(of(0, n))
		}
		if got := math.Round(s.Count()); got != float64(n) {
			t.Errorf("%d values count as %g", n, got)
		}
	}
}

// TestExtremes counts where all registers are empty but one, and where all are full.
func TestExtremes(t *testing.T) {
	s := &Sketch{}
	s.Add(0)
	if s.ranks[0] != maxRank || math.Round(s.Count()) != 1 {
		t.Errorf("hash 0: rank %d, count %g", s.ranks[0], s.Count())
	}
	for i := range s.ranks {
		s.ranks[i] = maxRank
	}
	if n := s.Count(); !math.IsInf(n, 1) {
		t.Errorf("full: %g", n)
	}
	for i := range s.ranks {
		s.ranks[i] = maxRank - 1
	}
	if n := s.Count(); math.IsInf(n, 0) || n < 1e18 {
		t.Errorf("almost full: %g", n)
	}
}

func TestMergeIsUnion(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Uint64(), 0, 2_000).Draw(t, "values")
		cut := rapid.IntRange(0, len(values)).Draw(t, "cut")
		overlap := rapid.IntRange(0, cut).Draw(t, "overlap")
		var whole, left, right Sketch
		for i, v := range values {
			whole.Add(hashOf(v))
			if i < cut {
				left.Add(hashOf(v))
			}
			if i >= overlap {
				right.Add(hashOf(v))
			}
		}
		other := right
		other.Merge(&left)
		left.Merge(&right)
		if left != whole || other != whole {
			t.Fatal("the sketch of a union depends on how it was made")
		}
		b := whole.Encode()
		if len(b) > 1+registers {
			t.Fatalf("%d bytes", len(b))
		}
		back, err := Decode(b)
		if err != nil || *back != whole {
			t.Fatalf("encoded and decoded it is another: %v", err)
		}
	})
}

func TestEncodeIsShortForFew(t *testing.T) {
	for _, n := range []uint64{0, 1, 20} {
		if b := of(0, n).Encode(); len(b) != 1+sparseItem*int(n) {
			t.Errorf("%d values: %d bytes", n, len(b))
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	for name, b := range map[string][]byte{
		"empty":             {},
		"unknown form":      {2},
		"dense, short":      append([]byte{formDense}, make([]byte, registers-1)...),
		"dense, long":       append([]byte{formDense}, make([]byte, registers+1)...),
		"dense, rank":       append([]byte{formDense}, bytes.Repeat([]byte{maxRank + 1}, registers)...),
		"sparse, cut":       {formSparse, 1, 0},
		"sparse, twice":     {formSparse, 1, 0, 1, 1, 0, 1},
		"sparse, backwards": {formSparse, 2, 0, 1, 1, 0, 1},
		"sparse, register":  {formSparse, 0, 4, 1},
		"sparse, rank":      {formSparse, 1, 0, maxRank + 1},
	} {
		if _, err := Decode(b); !fail.Is(err, fail.Corrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte{})
	f.Add(of(0, 3).Encode())
	f.Add(of(0, 3_000).Encode())
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := Decode(b)
		if err == nil && !(s.Count() >= 0) {
			t.Fatalf("count %g", s.Count())
		}
	})
}

func BenchmarkAdd(b *testing.B) {
	var s Sketch
	for i := range b.N {
		s.Add(uint64(i) * 0x9E3779B97F4A7C15)
	}
	b.SetBytes(8)
}
