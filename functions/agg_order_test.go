package functions_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// pairColumns draws rows of (y, x) from few values; one in six is NULL.
func pairColumns(rng *rand.Rand, n int) []*vec.Vector {
	cols := make([]*vec.Vector, 2)
	for i := range cols {
		cols[i] = vec.New(types.Of(types.Double), n)
		for range n {
			v := vec.Double(float64(rng.IntN(9) - 4))
			v.Null = rng.IntN(6) == 0
			cols[i].Append(v)
		}
	}
	return cols
}

// complete lists the pairs without a NULL.
func complete(cols []*vec.Vector) (ys, xs []float64) {
	for i := range cols[0].N {
		if y, x := cols[0].Value(i), cols[1].Value(i); !y.Null && !x.Null {
			ys, xs = append(ys, y.Float), append(xs, x.Float)
		}
	}
	return ys, xs
}

// sumOf is Σ a·b of deviations from the means.
func sumOf(as, bs []float64) float64 {
	ma, mb, n := 0.0, 0.0, float64(len(as))
	for i := range as {
		ma += as[i] / n
		mb += bs[i] / n
	}
	sum := 0.0
	for i := range as {
		sum += (as[i] - ma) * (bs[i] - mb)
	}
	return sum
}

// pairDefinitions are the textbook forms; NaN stands for NULL.
var pairDefinitions = map[string]func(ys, xs []float64) float64{
	"covar_pop":  func(ys, xs []float64) float64 { return sumOf(ys, xs) / float64(len(xs)) },
	"covar_samp": func(ys, xs []float64) float64 { return sumOf(ys, xs) / float64(len(xs)-1) },
	"corr": func(ys, xs []float64) float64 {
		return sumOf(ys, xs) / math.Sqrt(sumOf(ys, ys)) / math.Sqrt(sumOf(xs, xs))
	},
	"regr_count": func(_, xs []float64) float64 { return float64(len(xs)) },
	"regr_slope": func(ys, xs []float64) float64 { return sumOf(ys, xs) / sumOf(xs, xs) },
	"regr_sxy":   sumOf,
	"regr_r2": func(ys, xs []float64) float64 {
		if sumOf(xs, xs) > 1e-9 && sumOf(ys, ys) < 1e-9 {
			return 1
		}
		return sumOf(ys, xs) * sumOf(ys, xs) / sumOf(ys, ys) / sumOf(xs, xs)
	},
}

// fed are the results of two columns fed at once, and merged from two states.
func fed(t *testing.T, name string, cols []*vec.Vector) []vec.Value {
	t.Helper()
	res, err := registry.Aggregate(name, []types.Type{cols[0].Type, cols[1].Type})
	if err != nil {
		t.Fatal(err)
	}
	n := cols[0].N
	var out []vec.Value
	for _, cut := range []int{n, n / 2} {
		a, b := res.Agg.New(res.Params, res.Ret), res.Agg.New(res.Params, res.Ret)
		a.Grow(1)
		b.Grow(2)
		for i := range n {
			acc, group := a, uint32(0)
			if i >= cut {
				acc, group = b, 1
			}
			if err := acc.Update([]uint32{group}, cols, []int32{int32(i)}); err != nil {
				t.Fatal(err)
			}
		}
		if err := a.Merge(b, []uint32{1}, []uint32{0}); err != nil {
			t.Fatal(err)
		}
		for range 2 { // a state may be finished again
			v := vec.New(res.Ret, 1)
			if err := a.Finish(v, 0, 1); err != nil {
				t.Fatal(err)
			}
			out = append(out, v.Value(0))
		}
	}
	return out
}

func TestPairsAgainstDefinitions(t *testing.T) {
	for seed := range uint64(400) {
		rng := rand.New(rand.NewPCG(seed, 1))
		cols := pairColumns(rng, rng.IntN(12))
		ys, xs := complete(cols)
		for name, define := range pairDefinitions {
			want := define(ys, xs)
			null := math.IsNaN(want) || math.IsInf(want, 0) || len(xs) == 0
			for _, got := range fed(t, name, cols) {
				f := got.Float
				if got.Type.Kind == types.Int64 {
					f, null = float64(got.Int), false
				}
				// Deviations that cancel leave a rest in the definition.
				near := sumOf(xs, xs) < 1e-9 || sumOf(ys, ys) < 1e-9
				if got.Null != null && !near || !got.Null && !null && math.Abs(f-want) > 1e-9*max(1, math.Abs(want)) && !near {
					t.Fatalf("seed %d: %s is %s, want %v of %v, %v", seed, name, got, want, ys, xs)
				}
			}
		}
	}
}

// TestPercentilesAgainstDefinitions: percentile_disc is the least value whose share
// of values up to it reaches the fraction, percentile_cont lies on the line between
// the two values around it.
func TestPercentilesAgainstDefinitions(t *testing.T) {
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 2))
		cols := pairColumns(rng, 1+rng.IntN(12))
		p := float64(rng.IntN(11)) / 10
		for i := range cols[1].N {
			cols[1].Float64s[i] = p
		}
		cols[1].Valid = nil
		var vals []float64
		for i := range cols[0].N {
			if v := cols[0].Value(i); !v.Null {
				vals = append(vals, v.Float)
			}
		}
		slices.Sort(vals)
		for _, got := range fed(t, "percentile_disc", cols) {
			want := "NULL"
			for i, v := range vals {
				if float64(i+1)/float64(len(vals)) >= p-1e-12 {
					want = vec.FormatDouble(v)
					break
				}
			}
			if got.String() != want {
				t.Fatalf("seed %d: percentile_disc(%v) is %s, want %s of %v", seed, p, got, want, vals)
			}
		}
		for _, got := range fed(t, "percentile_cont", cols) {
			if len(vals) == 0 {
				if !got.Null {
					t.Fatal(got)
				}
				continue
			}
			at := p * float64(len(vals)-1)
			i := min(int(at), max(0, len(vals)-2))
			want := vals[i]
			if i+1 < len(vals) {
				want += (vals[i+1] - vals[i]) * (at - float64(i))
			}
			if math.Abs(got.Float-want) > 1e-12 {
				t.Fatalf("seed %d: percentile_cont(%v) is %s, want %v of %v", seed, p, got, want, vals)
			}
		}
	}
}

// TestArgExtremes: the answer does not depend on how rows come in, ties included.
func TestArgExtremes(t *testing.T) {
	for seed := range uint64(200) {
		cols := pairColumns(rand.New(rand.NewPCG(seed, 3)), 9)
		args, bys := complete(cols)
		for _, sign := range []float64{1, -1} {
			name, want := map[float64]string{1: "arg_max", -1: "arg_min"}[sign], "NULL"
			best := math.Inf(-1)
			least := math.Inf(1)
			for i := range args {
				if by := sign * bys[i]; by > best || by == best && args[i] < least {
					best, least = by, args[i]
					want = vec.FormatDouble(args[i])
				}
			}
			for _, got := range fed(t, name, cols) {
				if got.String() != want {
					t.Fatalf("seed %d: %s is %s, want %s of %v by %v", seed, name, got, want, args, bys)
				}
			}
		}
	}
}

func TestOrderedErrors(t *testing.T) {
	number, text := types.Of(types.Double), types.Of(types.Text)
	for want, call := range map[string][]types.Type{
		"percentile_cont 42883": {text, number},
		"percentile_disc 42883": {types.Of(types.JSON), number},
		"mode 42883":            {number, number},
		"arg_max 42883":         {number},
		"corr 42883":            {number, text},
	} {
		var name, state string
		if _, err := fmt.Sscan(want, &name, &state); err != nil {
			t.Fatal(err)
		}
		if _, err := registry.Aggregate(name, call); fail.CodeOf(err).SQLState() != state {
			t.Errorf("%s(%v): error %v", name, call, err)
		}
	}
	for _, p := range []float64{-0.1, 1.1, math.NaN()} {
		res, err := registry.Aggregate("percentile_cont", []types.Type{number, number})
		if err != nil {
			t.Fatal(err)
		}
		acc := res.Agg.New(res.Params, res.Ret)
		acc.Grow(1)
		if err := acc.Update([]uint32{0}, []*vec.Vector{vec.Const(number, vec.Double(1), 1), vec.Const(number, vec.Double(p), 1)}, nil); err != nil {
			t.Fatal(err)
		}
		if err := acc.Finish(vec.New(number, 1), 0, 1); !fail.Is(err, fail.OutOfRange) {
			t.Errorf("a fraction of %v: error %v", p, err)
		}
	}
}
