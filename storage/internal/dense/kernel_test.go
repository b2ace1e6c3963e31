package dense

import (
	"math"
	"math/rand"
	"testing"
	"unsafe"

	"pgregory.net/rapid"
)

func randomVectors(r *rand.Rand, n int) []float32 {
	v := make([]float32, n)
	for i := range v {
		v[i] = float32(r.NormFloat64())
	}
	return v
}

// TestKernelsAreBitEqual: every implementation gives the twin's sums, to the
// bit, for any number of rows, stride and alignment.
func TestKernelsAreBitEqual(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		blocks := rapid.IntRange(1, 25).Draw(t, "blocks")
		n := rapid.IntRange(1, 40).Draw(t, "rows")
		extra := rapid.IntRange(0, 5).Draw(t, "extra elements a row")
		offset := rapid.IntRange(0, 3).Draw(t, "offset")
		shared := rapid.Bool().Draw(t, "one query")
		r := rand.New(rand.NewSource(rapid.Int64().Draw(t, "seed")))
		stride := blocks*lanes + extra
		aStride := stride
		if shared {
			aStride = 0
		}
		a, b := randomVectors(r, offset+n*stride), randomVectors(r, offset+n*stride)
		for _, sum := range []func(kernels) kernel{
			func(k kernels) kernel { return k.dot }, func(k kernels) kernel { return k.l2 },
		} {
			want := make([]float32, n)
			sum(goKernels)(&a[offset], &b[offset], aStride, stride, blocks, n, &want[0])
			for _, k := range available() {
				got := make([]float32, n+1)
				got[n] = 7
				sum(k)(&a[offset], &b[offset], aStride, stride, blocks, n, &got[0])
				for i := range want {
					if math.Float32bits(got[i]) != math.Float32bits(want[i]) {
						t.Fatalf("%s: row %d is %v, the twin says %v", k.name, i, got[i], want[i])
					}
				}
				if got[n] != 7 {
					t.Fatalf("%s wrote past its rows", k.name)
				}
			}
		}
	})
}

// TestReductionOrder pins the order of additions: with numbers whose sum
// depends on it, the twin equals the order written out by hand.
func TestReductionOrder(t *testing.T) {
	r := rand.New(rand.NewSource(3))
	a, b := randomVectors(r, 128), randomVectors(r, 128)
	for i := range a {
		a[i] *= float32(math.Pow(10, float64(i%9)))
	}
	var lane [64]float32
	for i := range a {
		lane[i%64] += float32(a[i] * b[i])
	}
	var s [16]float32
	for i := range s {
		s[i] = (lane[i] + lane[i+16]) + (lane[i+32] + lane[i+48])
	}
	e := func(i int) float32 { return s[i] + s[i+8] }
	f := func(i int) float32 { return e(i) + e(i+4) }
	want := (f(0) + f(2)) + (f(1) + f(3))
	for _, k := range available() {
		var got float32
		k.dot(unsafe.SliceData(a), unsafe.SliceData(b), 0, 0, 2, 1, &got)
		if got != want {
			t.Errorf("%s: %v, want %v", k.name, got, want)
		}
	}
}

// TestScoresAgainstFloat64 compares every metric over odd dimensions with the
// plain formula in float64.
func TestScoresAgainstFloat64(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dim := rapid.IntRange(1, 700).Draw(t, "dim")
		r := rand.New(rand.NewSource(rapid.Int64().Draw(t, "seed")))
		scale := float32(math.Pow(10, float64(rapid.IntRange(-30, 30).Draw(t, "magnitude"))))
		a, b := randomVectors(r, dim), randomVectors(r, dim)
		for i := range a {
			a[i], b[i] = a[i]*scale, b[i]*scale
		}
		dot, na, nb := dot64(a, b), math.Sqrt(dot64(a, a)), math.Sqrt(dot64(b, b))
		dist := math.Sqrt(square64(a, b))
		for m, c := range map[Metric]struct{ want, size float64 }{
			Cosine: {dot / (na * nb), 1},
			L2:     {-dist, dist},
			Dot:    {dot, na * nb},
		} {
			got := Score(m, a, b)
			if !(math.Abs(got-c.want) <= 1e-5*c.size) {
				t.Fatalf("%v of %d dimensions at %g: %v, want %v", m, dim, scale, got, c.want)
			}
		}
	})
}

// TestPlaceDoesNotMatter: a row scores the same alone, in a batch, and anywhere.
func TestPlaceDoesNotMatter(t *testing.T) {
	r := rand.New(rand.NewSource(5))
	for _, dim := range []int{1, 3, 63, 64, 65, 100, 384} {
		query, rows := randomVectors(r, dim), randomVectors(r, 100*dim)
		for m := range numMetrics {
			q, err := NewQuery(m, dim, query)
			if err != nil {
				t.Fatal(err)
			}
			out := make([]float64, 100)
			q.ScoreRows(rows, out)
			for i, want := range out {
				moved := append([]float32{1}, rows[i*dim:(i+1)*dim]...)[1:]
				if got := q.Score(moved); got != want {
					t.Fatalf("%v, dim %d: row %d scores %v alone and %v in the batch", m, dim, i, got, want)
				}
			}
		}
	}
}

func BenchmarkKernel(b *testing.B) {
	for _, dim := range []int{128, 384, 768, 1536} {
		for _, k := range available() {
			for name, f := range map[string]kernel{"dot": k.dot, "l2": k.l2} {
				b.Run(name+"/"+itoa(dim)+"/"+k.name, func(b *testing.B) { benchKernel(b, f, dim) })
			}
		}
	}
}

func itoa(n int) string {
	if n < 10 {
		return string(rune('0' + n))
	}
	return itoa(n/10) + itoa(n%10)
}

// benchKernel scores rows that fit the second-level cache and checks the answer.
func benchKernel(b *testing.B, f kernel, dim int) {
	n := 256 << 10 / (4 * dim)
	r := rand.New(rand.NewSource(1))
	q, rows, out := randomVectors(r, dim), randomVectors(r, n*dim), make([]float32, n)
	want := make([]float32, n)
	g := goKernels.dot
	f(&q[0], &q[0], 0, 0, dim/lanes, 1, &out[0])
	if out[0] == 0 {
		g = goKernels.l2
	}
	g(&q[0], &rows[0], 0, dim, dim/lanes, n, &want[0])
	b.SetBytes(int64(4 * dim * n))
	for b.Loop() {
		f(&q[0], &rows[0], 0, dim, dim/lanes, n, &out[0])
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/vector")
	for i := range want {
		if out[i] != want[i] {
			b.Fatalf("row %d: %v, want %v", i, out[i], want[i])
		}
	}
}
