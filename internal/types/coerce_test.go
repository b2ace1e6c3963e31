package types_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/loamdb/loam/internal/types"
)

var rewrite = flag.Bool("rewrite", false, "write the golden file anew")

var samples = []types.Type{
	types.Of(types.Unknown), types.Of(types.Boolean), types.Of(types.Int32), types.Of(types.Int64), types.Of(types.Double),
	types.DecimalOf(10, 2), types.DecimalOf(38, 10), types.Of(types.Text), types.Of(types.Binary), types.Of(types.Date),
	types.Of(types.Timestamp), types.Of(types.Interval), types.VectorOf(3), types.Of(types.Sparse), types.Of(types.JSON),
	types.ListOf(types.Of(types.Int32)), types.ListOf(types.Of(types.Text)),
	types.Of(types.UUID), types.Of(types.Time), types.StructOf(types.Field{Name: "a", Type: types.Of(types.Int32)}),
	types.StructOf(types.Field{Name: "a", Type: types.Of(types.Int64)}), types.MapOf(types.Of(types.Text), types.Of(types.Int32)),
}

// TestCoercionTable pins which casts exist and what two types have in common.
func TestCoercionTable(t *testing.T) {
	var b strings.Builder
	b.WriteString("# type: implicit casts to | explicit casts to | common with\n")
	for _, from := range samples {
		var implicit, explicit, common []string
		for _, to := range samples {
			switch types.Cast(from, to) {
			case types.ImplicitCast:
				implicit = append(implicit, to.String())
			case types.ExplicitCast:
				explicit = append(explicit, to.String())
			}
			if c, ok := types.Common(from, to); ok && !from.Equal(to) {
				common = append(common, fmt.Sprintf("%s→%s", to, c))
			}
		}
		fmt.Fprintf(&b, "%s:\n  implicit: %s\n  explicit: %s\n  common: %s\n", from,
			strings.Join(implicit, ", "), strings.Join(explicit, ", "), strings.Join(common, ", "))
	}
	const file = "testdata/coerce.txt"
	if *rewrite {
		if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if b.String() != string(want) {
		t.Errorf("the coercion table changed; look at it, then run with -rewrite:\n%s", b.String())
	}
}

// TestCommonIsSymmetric: the order of operands never decides the type, and both
// sides reach it by an implicit cast.
func TestCommonIsSymmetric(t *testing.T) {
	for _, a := range samples {
		for _, b := range samples {
			x, okx := types.Common(a, b)
			y, oky := types.Common(b, a)
			if okx != oky || okx && !x.Equal(y) {
				t.Errorf("%s, %s: %s %t; the other way %s %t", a, b, x, okx, y, oky)
			}
			if okx && x.Kind != types.Decimal && (types.Cast(a, x) != types.ImplicitCast || types.Cast(b, x) != types.ImplicitCast) {
				t.Errorf("%s, %s have %s in common, but one cannot be cast to it implicitly", a, b, x)
			}
		}
	}
}

// TestNamesReadBack: the name of a type denotes the type.
func TestNamesReadBack(t *testing.T) {
	for _, ty := range samples {
		name, rest, _ := strings.Cut(ty.String(), "(")
		if ty.Kind == types.Unknown || ty.Nested() {
			continue
		}
		var args []int64
		for _, a := range strings.FieldsFunc(rest, func(r rune) bool { return r == ',' || r == ')' }) {
			var x int64
			fmt.Sscan(a, &x)
			args = append(args, x)
		}
		if got, ok := types.Named(name, args); !ok || !got.Equal(ty) {
			t.Errorf("%s reads back as %s %t", ty, got, ok)
		}
	}
	if _, ok := types.Named("DECIMAL", []int64{39, 0}); ok {
		t.Error("DECIMAL(39,0) exists")
	}
	if _, ok := types.Named("VECTOR", []int64{types.MaxDim + 1}); ok {
		t.Error("a vector above the limit exists")
	}
}

// TestArrowReadsBack: the Arrow form of a type is read as the type.
func TestArrowReadsBack(t *testing.T) {
	for _, ty := range samples {
		got, err := types.FromArrow(ty.Arrow())
		want := ty
		if ty.Kind == types.Unknown || ty.Kind == types.JSON || ty.Kind == types.UUID {
			want = types.Of(types.Text)
		}
		if err != nil || !got.Equal(want) {
			t.Errorf("%s → %s → %s %v", ty, ty.Arrow(), got, err)
		}
	}
}
