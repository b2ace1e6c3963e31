package kernel_test

import (
	"math"
	"math/big"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"pgregory.net/rapid"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/kernel"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

var edges = []int64{0, 1, -1, 2, 3, -7, 1 << 31, -1 << 31, 1<<31 - 1, 1 << 32, 3037000499, 3037000500, math.MaxInt64, math.MinInt64, math.MaxInt64 - 1}

// integerOps are the operators with the exact result; nil for a division by zero.
var integerOps = []struct {
	name     string
	ops      [2]kernel.Binary // INT, BIGINT
	exact    func(a, b *big.Int) *big.Int
	division bool
}{
	{"+", [2]kernel.Binary{kernel.AddInt32, kernel.AddInt64}, func(a, b *big.Int) *big.Int { return new(big.Int).Add(a, b) }, false},
	{"-", [2]kernel.Binary{kernel.SubInt32, kernel.SubInt64}, func(a, b *big.Int) *big.Int { return new(big.Int).Sub(a, b) }, false},
	{"*", [2]kernel.Binary{kernel.MulInt32, kernel.MulInt64}, func(a, b *big.Int) *big.Int { return new(big.Int).Mul(a, b) }, false},
	{"/", [2]kernel.Binary{kernel.DivInt32, kernel.DivInt64}, func(a, b *big.Int) *big.Int { return new(big.Int).Quo(a, b) }, true},
	{"%", [2]kernel.Binary{kernel.ModInt32, kernel.ModInt64}, func(a, b *big.Int) *big.Int { return new(big.Int).Rem(a, b) }, true},
}

// TestIntegerArithmetic checks all pairs of edge values, as columns and constants,
// against exact arithmetic.
func TestIntegerArithmetic(t *testing.T) {
	for wide, ty := range []types.Type{types.Of(types.Int32), types.Of(types.Int64)} {
		for _, op := range integerOps {
			for _, x := range edges {
				for _, y := range edges {
					if wide == 0 && (x != int64(int32(x)) || y != int64(int32(y))) {
						continue
					}
					for shape := range 4 {
						checkInteger(t, op.ops[wide], op.name, ty, x, y, shape, func() *big.Int {
							if op.division && y == 0 {
								return nil
							}
							return op.exact(big.NewInt(x), big.NewInt(y))
						}())
					}
				}
			}
		}
	}
}

func shaped(v vec.Value, constant bool) *vec.Vector {
	if constant {
		return vec.Const(v.Type, v, 3)
	}
	out := vec.New(v.Type, 3)
	for range 3 {
		out.Append(v)
	}
	return out
}

func checkInteger(t *testing.T, op kernel.Binary, name string, ty types.Type, x, y int64, shape int, exact *big.Int) {
	t.Helper()
	a, b := vec.Value{Type: ty, Int: x}, vec.Value{Type: ty, Int: y}
	out := vec.NewFlat(ty, 3)
	err := op(shaped(a, shape&1 == 1), shaped(b, shape&2 == 2), 3, out)
	want := fail.OK
	switch {
	case exact == nil:
		want = fail.DivisionByZero
	case !exact.IsInt64() || ty.Kind == types.Int32 && exact.Int64() != int64(int32(exact.Int64())):
		want = fail.OutOfRange
	}
	if fail.CodeOf(err) != want {
		t.Errorf("%d %s %d (shape %d): %v, want %v", x, name, y, shape, err, want)
		return
	}
	if err == nil && out.Value(2).Int != exact.Int64() {
		t.Errorf("%d %s %d (shape %d): %d, want %s", x, name, y, shape, out.Value(2).Int, exact)
	}
}

func drawDecimal(t *rapid.T, label string) (vec.Value, *big.Rat) {
	p := uint8(rapid.IntRange(1, 38).Draw(t, label+" precision"))
	s := uint8(rapid.IntRange(0, int(p)).Draw(t, label+" scale"))
	digits := rapid.StringMatching(`-?[0-9]{1,38}`).Draw(t, label)
	x, _ := new(big.Int).SetString(digits, 10)
	x.Rem(x, new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(p)), nil))
	v := vec.Value{Type: types.DecimalOf(p, s), Dec: decimal128.FromBigInt(x)}
	return v, new(big.Rat).SetFrac(x, new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(s)), nil))
}

// round brings a rational to a scale, half away from zero.
func round(x *big.Rat, scale uint8) *big.Int {
	p := new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(scale)), nil))
	y := new(big.Rat).Mul(x, p)
	half := big.NewRat(1, 2)
	if y.Sign() < 0 {
		half.Neg(half)
	}
	y.Add(y, half)
	return new(big.Int).Quo(y.Num(), y.Denom())
}

// TestDecimalArithmetic checks decimals of all precisions against rationals.
func TestDecimalArithmetic(t *testing.T) {
	for _, op := range []struct {
		name  string
		run   kernel.Binary
		typ   func(a, b types.Type) types.Type
		exact func(a, b *big.Rat) *big.Rat
	}{
		{"+", kernel.AddDecimal, kernel.AddDecimalType, func(a, b *big.Rat) *big.Rat { return new(big.Rat).Add(a, b) }},
		{"-", kernel.SubDecimal, kernel.AddDecimalType, func(a, b *big.Rat) *big.Rat { return new(big.Rat).Sub(a, b) }},
		{"*", kernel.MulDecimal, kernel.MulDecimalType, func(a, b *big.Rat) *big.Rat { return new(big.Rat).Mul(a, b) }},
		{"/", kernel.DivDecimal, kernel.DivDecimalType, func(a, b *big.Rat) *big.Rat { return new(big.Rat).Quo(a, b) }},
	} {
		t.Run(op.name, rapid.MakeCheck(func(t *rapid.T) {
			a, x := drawDecimal(t, "a")
			b, y := drawDecimal(t, "b")
			if op.name == "/" && y.Sign() == 0 {
				return
			}
			ty := op.typ(a.Type, b.Type)
			out := vec.NewFlat(ty, 3)
			err := op.run(shaped(a, false), shaped(b, rapid.Bool().Draw(t, "const")), 3, out)
			want := round(op.exact(x, y), ty.Scale)
			fits := new(big.Int).Abs(want).Cmp(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(ty.Precision)), nil)) < 0
			switch {
			case fail.Is(err, fail.OutOfRange) && !fits:
			case fail.Is(err, fail.OutOfRange) && (op.name == "+" || op.name == "-") && ty.Precision == types.MaxPrecision && a.Type.Scale != b.Type.Scale:
				// One operand alone may exceed 38 digits at the common scale.
			case err != nil || !fits:
				t.Fatalf("%s %s %s: %v, fits %t", a, op.name, b, err, fits)
			case out.Decimals[1].BigInt().Cmp(want) != 0:
				t.Fatalf("%s %s %s: %s, want %s", a, op.name, b, out.Value(1), want)
			}
		}))
	}
}

// TestDays compares the calendar with package time over eight centuries and at
// the edges.
func TestDays(t *testing.T) {
	for days := int64(-719162); days < 2932896; days += 37 {
		d := time.Unix(days*86400, 0).UTC()
		y, m, day := kernel.DateOf(days)
		if y != int64(d.Year()) || m != int(d.Month()) || day != d.Day() || kernel.DaysOf(y, m, day) != days {
			t.Fatalf("%d: %d-%d-%d, want %s", days, y, m, day, d)
		}
	}
}

// TestAddSpan checks calendar arithmetic against package time where both agree:
// days and months that do not overflow a month.
func TestAddSpan(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		us := rapid.Int64Range(-1<<50, 1<<50).Draw(t, "us")
		months, days := rapid.Int32Range(-500, 500).Draw(t, "months"), rapid.Int32Range(-500, 500).Draw(t, "days")
		got, ok := kernel.AddSpan(us, vec.Span{Months: months, Days: days})
		start := time.UnixMicro(us).UTC()
		first := time.Date(start.Year(), start.Month()+time.Month(months), 1, 0, 0, 0, 0, time.UTC)
		day := min(start.Day(), kernel.DaysIn(int64(first.Year()), int(first.Month())))
		want := first.AddDate(0, 0, day-1+int(days)).Add(start.Sub(time.Date(start.Year(), start.Month(), start.Day(), 0, 0, 0, 0, time.UTC)))
		if !ok || got != want.UnixMicro() {
			t.Fatalf("%s + %d months %d days: %s, want %s", start, months, days, time.UnixMicro(got).UTC(), want)
		}
	})
	if _, ok := kernel.AddSpan(math.MaxInt64-1, vec.Span{Nanos: 5000}); ok {
		t.Error("an overflow is not seen")
	}
}
