package functions

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// ascending draws n frames over rows whose bounds never go back; some leave rows
// out, and some start where the last one ended.
func ascending(rng *rand.Rand, n, rows int) (lo, hi []int32) {
	l, h := 0, 0
	for range n {
		switch rng.IntN(6) {
		case 0:
			l = min(rows, h+rng.IntN(5))
		case 1, 2:
			l = min(h, l+rng.IntN(3))
		}
		h = max(l, min(rows, h+rng.IntN(4)))
		lo, hi = append(lo, int32(l)), append(hi, int32(h))
	}
	return lo, hi
}

// slideValue draws from few values, so that extremes tie; sums of them are exact.
func slideValue(rng *rand.Rand, t types.Type) vec.Value {
	k := rng.Int64N(9) - 4
	v := vec.Value{Type: t, Null: rng.IntN(5) == 0, Int: k, Float: float64(k) / 2, Bool: k > 0, Str: string(rune('a' + k + 4)), Dec: decimal128.FromI64(k * 25)}
	if t.Kind == types.Double && rng.IntN(9) == 0 {
		v.Float = [...]float64{math.Inf(1), math.NaN(), math.Copysign(0, -1)}[rng.IntN(3)]
	}
	return v
}

// TestSlideEqualsFolding compares each aggregate that slides with itself folding
// the rows of every frame.
func TestSlideEqualsFolding(t *testing.T) {
	ctx, all := context.Background(), Default()
	slid := map[string]bool{}
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 7))
		rows := rng.IntN(60)
		lo, hi := ascending(rng, 50, rows)
		for _, typ := range []types.Type{types.Of(types.Int32), types.Of(types.Int64), types.Of(types.Double), types.DecimalOf(9, 2), types.Of(types.Boolean), types.Of(types.Text), types.Of(types.Date)} {
			v := vec.New(typ, rows)
			for range rows {
				v.Append(slideValue(rng, typ))
			}
			for _, name := range []string{"count", "sum", "avg", "min", "max", "bool_and", "bool_or"} {
				r, err := all.Aggregate(name, []types.Type{typ})
				if err != nil || !r.Params[0].Equal(typ) {
					continue
				}
				acc := r.Agg.New(r.Params, r.Ret)
				got := vec.New(r.Ret, len(lo))
				if err := acc.(expr.Slider).Slide(ctx, []*vec.Vector{v}, lo, hi, got); err != nil {
					t.Fatal(name, typ, err)
				}
				slid[name+" "+typ.String()] = true
				for i := range lo {
					one := r.Agg.New(r.Params, r.Ret)
					one.Grow(1)
					n := int(hi[i] - lo[i])
					if err := one.Update(make([]uint32, n), []*vec.Vector{v.Slice(int(lo[i]), int(hi[i]))}, nil); err != nil {
						t.Fatal(err)
					}
					want := vec.New(r.Ret, 1)
					if err := one.Finish(want, 0, 1); err != nil {
						t.Fatal(err)
					}
					if a, b := got.Value(i).String(), want.Value(0).String(); a != b && a != "-"+b && b != "-"+a {
						t.Fatalf("seed %d: %s of %s in [%d, %d) is %s, want %s", seed, name, typ, lo[i], hi[i], a, b)
					}
				}
			}
		}
	}
	if len(slid) != 31 {
		t.Errorf("%d pairs of aggregate and type slide: %v", len(slid), slid)
	}
}

// TestSlideOverflow: a sum that no double holds is an error, its mean is not.
func TestSlideOverflow(t *testing.T) {
	v := vec.New(types.Of(types.Double), 3)
	for _, x := range []float64{1.5e308, 1.5e308, 1} {
		v.Append(vec.Double(x))
	}
	args, lo, hi := []*vec.Vector{v}, []int32{0, 0, 1}, []int32{1, 2, 3}
	out := vec.New(v.Type, 3)
	if err := (&floats{}).Slide(context.Background(), args, lo, hi, out); !fail.Is(err, fail.OutOfRange) {
		t.Errorf("error %v", err)
	}
	out = vec.New(v.Type, 3)
	if err := (&floats{mean: true}).Slide(context.Background(), args, lo, hi, out); err != nil || out.Float64s[1] != 1.5e308 {
		t.Errorf("mean %v, %v", out.Float64s, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := (&floats{}).Slide(ctx, args, lo, hi, vec.New(v.Type, 3)); err == nil {
		t.Error("a canceled slide went on")
	}
}
