package dense

import (
	"context"
	"math"
	"math/rand"
	"slices"
	"testing"

	"github.com/RoaringBitmap/roaring/v2"
	"pgregory.net/rapid"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/storage/internal/postings"
)

// TestScanEqualsSort: runs, filters, deletes and ties give what sorting all
// scores gives.
func TestScanEqualsSort(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		r := rand.New(rand.NewSource(rapid.Int64().Draw(rt, "seed")))
		dim, n := 1+r.Intn(70), r.Intn(300)
		first := uint32(r.Intn(3) * 1000)
		m := Metric(r.Intn(int(numMetrics)))
		rows := randomVectors(r, n*dim)
		for i := range n { // ties: some rows repeat others
			if j := r.Intn(n); r.Intn(3) == 0 {
				copy(rows[i*dim:(i+1)*dim], rows[j*dim:(j+1)*dim])
			}
		}
		q, err := NewQuery(m, dim, randomVectors(r, dim))
		if err != nil {
			rt.Fatal(err)
		}
		s := Scan{Rows: rows, First: postings.DocID(first)}
		if r.Intn(2) == 0 {
			s.Allowed = randomSet(r, first, n)
		}
		if r.Intn(2) == 0 {
			s.Excluded = randomSet(r, first, n)
		}
		less := func(a, b postings.DocID) bool { return a^3 < b^3 }
		k := r.Intn(20)
		top := postings.NewTopK(k, math.Inf(-1), less)
		cut := r.Intn(n + 1) // two runs, as two morsels would come
		one, two := s, s
		one.Rows, two.Rows, two.First = rows[:cut*dim], rows[cut*dim:], s.First+postings.DocID(cut)
		for _, run := range []Scan{one, two} {
			if err := ScanTopK(context.Background(), q, run, top); err != nil {
				rt.Fatal(err)
			}
		}
		var want []postings.Hit
		for i := range n {
			d := first + uint32(i)
			if s.Allowed != nil && !s.Allowed.Contains(d) || s.Excluded != nil && s.Excluded.Contains(d) {
				continue
			}
			want = append(want, postings.Hit{Doc: postings.DocID(d), Score: q.Score(rows[i*dim : (i+1)*dim])})
		}
		slices.SortFunc(want, func(a, b postings.Hit) int {
			if top.Better(a, b) {
				return -1
			}
			return 1
		})
		want = want[:min(k, len(want))]
		if got := top.Sorted(); !slices.Equal(got, want) {
			rt.Fatalf("got %v\nwant %v", got, want)
		}
	})
}

// randomSet holds documents around the rows, in runs and alone.
func randomSet(r *rand.Rand, first uint32, n int) *roaring.Bitmap {
	b := roaring.New()
	for d := first - min(first, 5); d < first+uint32(n)+5; d++ {
		if r.Intn(3) == 0 {
			for range 1 + r.Intn(80)*r.Intn(2) {
				b.Add(d)
				d++
			}
		}
	}
	return b
}

func TestValidateVector(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for _, c := range []struct {
		m    Metric
		v    []float32
		want string
	}{
		{Cosine, []float32{1, 0}, ""},
		{L2, []float32{0, 0}, ""},
		{Dot, []float32{0, 0}, ""},
		{Dot, []float32{math.MaxFloat32, math.SmallestNonzeroFloat32}, ""},
		{Cosine, []float32{0, 0}, "the zero vector has no direction, which the cosine distance needs. Leave the vector NULL, or declare the column with DISTANCE l2 or dot."},
		{L2, []float32{1}, "the vector has 1 dimension, the column has 2"},
		{L2, []float32{1, nan}, "element 2 of the vector is NaN. All elements must be finite numbers."},
		{Cosine, []float32{inf, 1}, "element 1 of the vector is +Inf. All elements must be finite numbers."},
		{Dot, []float32{-inf, 1}, "element 1 of the vector is -Inf. All elements must be finite numbers."},
	} {
		got := ""
		if err := ValidateVector(c.m, 2, c.v); err != nil {
			got = err.Error()
			if !fail.Is(err, fail.InvalidVector) {
				t.Errorf("%v %v: code %v", c.m, c.v, fail.CodeOf(err))
			}
		}
		if got != c.want {
			t.Errorf("%v %v: %q, want %q", c.m, c.v, got, c.want)
		}
	}
}

func TestMetricNames(t *testing.T) {
	for m := range numMetrics {
		if got, err := MetricByName(" " + m.String()); err != nil || got != m {
			t.Errorf("%v: %v, %v", m, got, err)
		}
	}
	if _, err := MetricByName("hamming"); !fail.Is(err, fail.InvalidParameter) {
		t.Errorf("hamming: %v", err)
	}
	if Metric(9).String() != "unknown" {
		t.Error("an unknown metric has a name")
	}
}

// TestZeroRowIsNoHit: a zero vector cannot be stored under cosine; a scan that
// meets one all the same leaves it out instead of ranking NaN.
func TestZeroRowIsNoHit(t *testing.T) {
	q, err := NewQuery(Cosine, 2, []float32{1, 0})
	if err != nil {
		t.Fatal(err)
	}
	top := postings.NewTopK(5, math.Inf(-1), nil)
	if err := ScanTopK(context.Background(), q, Scan{Rows: []float32{1, 0, 0, 0, .9, .1}}, top); err != nil {
		t.Fatal(err)
	}
	hits := top.Sorted()
	if len(hits) != 2 || hits[0].Doc != 0 || hits[1].Doc != 2 || hits[0].Score != 1 {
		t.Fatalf("hits %v", hits)
	}
}

func TestScanRefuses(t *testing.T) {
	q, err := NewQuery(L2, 3, []float32{1, 2, 3})
	if err != nil {
		t.Fatal(err)
	}
	top := postings.NewTopK(1, math.Inf(-1), nil)
	if err := ScanTopK(context.Background(), q, Scan{Rows: make([]float32, 4)}, top); !fail.Is(err, fail.Corrupt) {
		t.Errorf("part of a vector: %v", err)
	}
	if err := ScanTopK(context.Background(), q, Scan{Rows: make([]float32, 6), First: math.MaxUint32}, top); !fail.Is(err, fail.Corrupt) {
		t.Errorf("past 32 bits: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := ScanTopK(ctx, q, Scan{Rows: make([]float32, 3*2*checkEvery)}, top); !fail.Is(err, fail.Canceled) {
		t.Errorf("canceled: %v", err)
	}
	if _, err := NewQuery(L2, 3, []float32{1}); !fail.Is(err, fail.InvalidVector) {
		t.Errorf("short query: %v", err)
	}
}

// BenchmarkScan reads 100,000 rows of 384 dimensions from memory.
func BenchmarkScan(b *testing.B) {
	const dim, n = 384, 100_000
	r := rand.New(rand.NewSource(1))
	rows := make([]float32, n*dim)
	for i := range rows {
		rows[i] = r.Float32() - .5
	}
	for m := range numMetrics {
		b.Run(m.String(), func(b *testing.B) {
			q, err := NewQuery(m, dim, rows[77*dim:78*dim])
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(4 * dim * n)
			for b.Loop() {
				top := postings.NewTopK(10, math.Inf(-1), nil)
				if err := ScanTopK(context.Background(), q, Scan{Rows: rows}, top); err != nil {
					b.Fatal(err)
				}
				if hits := top.Sorted(); m != Dot && hits[0].Doc != 77 {
					b.Fatalf("the nearest is %v", hits[0])
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/vector")
		})
	}
}
