package kernel_test

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"pgregory.net/rapid"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/kernel"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

var nestedStruct = types.StructOf(types.Field{Name: "n", Type: types.Of(types.Int64)}, types.Field{Name: "two words", Type: types.ListOf(types.Of(types.Text))})

var allTypes = []types.Type{
	types.Of(types.Boolean), types.Of(types.Int32), types.Of(types.Int64), types.Of(types.Double), types.DecimalOf(10, 2), types.DecimalOf(38, 10),
	types.Of(types.Text), types.Of(types.Binary), types.Of(types.Date), types.Of(types.Timestamp), types.Of(types.Interval),
	types.VectorOf(2), types.Of(types.Sparse), types.Of(types.JSON), types.ListOf(types.Of(types.Int32)), types.ListOf(types.Of(types.Text)), types.Of(types.Unknown),
	types.Of(types.UUID), types.Of(types.Time), nestedStruct, types.MapOf(types.Of(types.Int32), types.Of(types.Text)), types.ListOf(nestedStruct),
}

// drawValue draws from few values, so that equal ones are common, edges included.
func drawValue(t *rapid.T, ty types.Type) vec.Value {
	v := vec.Value{Type: ty}
	if rapid.IntRange(0, 4).Draw(t, "null") == 0 {
		return vec.Null(ty)
	}
	k := rapid.IntRange(0, 7).Draw(t, "k")
	switch ty.Kind {
	case types.Boolean:
		v.Bool = k > 3
	case types.Int32, types.Date:
		v.Int = []int64{0, 1, -1, 5, math.MaxInt32, math.MinInt32, 100, -100}[k]
	case types.Int64, types.Timestamp:
		v.Int = []int64{0, 1, -1, 5, math.MaxInt64, math.MinInt64, 1 << 40, -1 << 40}[k]
	case types.Double:
		v.Float = []float64{0, math.Copysign(0, -1), 1, -1, math.NaN(), math.Inf(1), math.Inf(-1), math.Float64frombits(0x7ff8000000000abc)}[k]
	case types.Decimal:
		v.Dec = []decimal128.Num{{}, decimal128.FromI64(1), decimal128.FromI64(-1), decimal128.FromI64(math.MaxInt64), decimal128.New(1, 0), decimal128.New(-1, 0), decimal128.New(0, math.MaxUint64), decimal128.FromI64(-500)}[k]
	case types.Interval:
		v.Span = []vec.Span{{}, {Months: 1}, {Days: 30}, {Days: 29, Nanos: 24 * 3600e9}, {Nanos: -1}, {Months: -1, Days: 31}, {Months: math.MaxInt32}, {Nanos: math.MinInt64}}[k]
	case types.Vector:
		v.Vec = []float32{float32(k % 3), []float32{0, float32(math.Copysign(0, -1)), float32(math.NaN())}[k%3]}
	case types.Sparse:
		v.Sparse = vec.SparseRow{Indices: []uint32{1, uint32(k%2) + 2}[:k%3], Values: []float32{1, 2}[:k%3]}
	case types.UUID:
		v.Dec = decimal128.New(int64(k%4)-2, uint64(k))
	case types.Time:
		v.Int = []int64{0, 1, 86_400_000_000, 3_600_000_000, 59_999_999, 2, 3, 86_399_999_999}[k]
	case types.Struct:
		for _, f := range ty.Fields {
			v.List = append(v.List, drawValue(t, f.Type))
		}
	case types.Map: // keys are distinct and not NULL
		for i := range k % 3 {
			key := vec.Int32(int32(i))
			v.List = append(v.List, vec.Value{Type: *ty.Elem, List: []vec.Value{key, drawValue(t, ty.Value())}})
		}
	case types.List:
		for range k % 3 {
			v.List = append(v.List, drawValue(t, *ty.Elem))
		}
	default:
		v.Str = []string{"", "a", "ab", "a\x00", "a\x00b", "\xff", "twelve bytes", "more than twelve bytes"}[k]
	}
	return v
}

// encode builds the same rows in a given encoding.
func encode(ty types.Type, vals []vec.Value, enc vec.Encoding) *vec.Vector {
	flat := vec.New(ty, len(vals))
	for _, x := range vals {
		flat.Append(x)
	}
	switch enc {
	case vec.Constant:
		return vec.Const(ty, vals[0], len(vals))
	case vec.Dictionary:
		codes := make([]int32, len(vals))
		for i := range codes {
			codes[i] = int32(i)
		}
		return &vec.Vector{Type: ty, Encoding: enc, N: len(vals), Dict: flat, Codes: codes}
	}
	return flat
}

func drawValues(t *rapid.T, ty types.Type) []vec.Value {
	vals := make([]vec.Value, rapid.IntRange(1, 8).Draw(t, "n"))
	for i := range vals {
		vals[i] = drawValue(t, ty)
	}
	return vals
}

func eachType(t *testing.T, check func(*rapid.T, types.Type)) {
	for _, ty := range allTypes {
		t.Run(ty.String(), rapid.MakeCheck(func(rt *rapid.T) { check(rt, ty) }))
	}
}

// TestEveryCastExists: each pair that the table allows has a conversion; between
// families that it keeps apart there is none.
func TestEveryCastExists(t *testing.T) {
	for _, from := range allTypes {
		for _, to := range allTypes {
			v := vec.NewFlat(from, 0)
			if from.Listed() {
				v = vec.New(from, 0)
			}
			_, err := kernel.Cast(v, to, false)
			if types.Cast(from, to) != types.NoCast && err != nil {
				t.Errorf("%s to %s is allowed, but: %v", from, to, err)
			}
		}
	}
	for _, pair := range [][2]types.Kind{{types.Boolean, types.Date}, {types.Date, types.Int32}, {types.Double, types.Timestamp}, {types.Binary, types.Int32}, {types.Interval, types.Int64}} {
		v := vec.NewFlat(types.Of(pair[0]), 1)
		if _, err := kernel.Cast(v, types.Of(pair[1]), true); !fail.Is(err, fail.DatatypeMismatch) {
			t.Errorf("%s to %s: %v", types.Of(pair[0]), types.Of(pair[1]), err)
		}
	}
}

// TestListsOfOthersDoNotMatter: elements that no row has are not converted.
func TestListsOfOthersDoNotMatter(t *testing.T) {
	texts, ints := types.ListOf(types.Of(types.Text)), types.ListOf(types.Of(types.Int32))
	v := vec.New(texts, 3)
	for _, s := range []string{"x", "1", "y"} {
		v.Append(vec.Value{Type: texts, List: []vec.Value{vec.Text(s)}})
	}
	got, err := kernel.Cast(v.Slice(1, 2), ints, false)
	if err != nil || got.Value(0).String() != "[1]" {
		t.Error(got, err)
	}
	got, err = kernel.Cast(v.Slice(1, 2), types.VectorOf(1), false)
	if err != nil || got.Value(0).String() != "[1]" {
		t.Error(got, err)
	}
	if _, err := kernel.Cast(v, ints, false); !fail.Is(err, fail.InvalidText) {
		t.Error(err)
	}
}

// TestCastsKeepNulls casts random rows in every encoding between all types: the
// encodings agree, NULL stays NULL, and TRY only turns errors into NULLs.
func TestCastsKeepNulls(t *testing.T) {
	eachType(t, func(t *rapid.T, from types.Type) {
		to := rapid.SampledFrom(allTypes).Draw(t, "to")
		if types.Cast(from, to) == types.NoCast {
			return
		}
		vals := drawValues(t, from)
		flat, errFlat := kernel.Cast(encode(from, vals, vec.Flat), to, false)
		dict, errDict := kernel.Cast(encode(from, vals, vec.Dictionary), to, false)
		try, err := kernel.Cast(encode(from, vals, vec.Flat), to, true)
		if err != nil {
			t.Fatalf("TRY_CAST fails: %v", err)
		}
		if fail.CodeOf(errFlat) != fail.CodeOf(errDict) || fail.Is(errFlat, fail.Internal) {
			t.Fatalf("flat: %v, dictionary: %v", errFlat, errDict)
		}
		for i, x := range vals {
			one, errOne := kernel.CastValue(x, to, false)
			want := one.String()
			if errOne != nil {
				want = "NULL"
			}
			if errOne != nil && from.Nested() {
				continue // there the elements become NULL
			}
			if got := try.Value(i).String(); got != want || x.Null && got != "NULL" {
				t.Fatalf("TRY_CAST(%s): %s, want %s (%v)", x, got, want, errOne)
			}
			if errFlat == nil && (flat.Value(i).String() != want || dict.Value(i).String() != want) {
				t.Fatalf("%s: flat %s, dictionary %s, want %s", x, flat.Value(i), dict.Value(i), want)
			}
		}
	})
}

// TestTextReadsBack: the text of a value is read as the value.
func TestTextReadsBack(t *testing.T) {
	eachType(t, func(t *rapid.T, ty types.Type) {
		switch ty.Kind {
		case types.List, types.Struct, types.Map, types.Sparse, types.Vector, types.Unknown, types.JSON:
			return // their text form is for people
		}
		x := drawValue(t, ty)
		if x.Null || ty.Kind == types.Decimal && !kernel.FitsPrecision(x.Dec, ty.Precision) {
			return
		}
		if ty.Kind == types.Date && x.Int != int64(int16(x.Int)) || ty.Kind == types.Timestamp && (x.Int > 1<<50 || x.Int < -1<<50) || ty.Kind == types.Interval && (x.Span.Nanos%1000 != 0 || x.Span.Nanos == math.MinInt64) {
			return
		}
		back, err := kernel.CastValue(vec.Text(x.String()), ty, false)
		if err != nil || kernel.CompareBoxed(x, back) != 0 {
			t.Fatalf("%s reads back as %s %v", x, back, err)
		}
	})
}

// TestCompare checks the loops of all operators, shapes and types against CompareRows.
func TestCompare(t *testing.T) {
	eachType(t, func(t *rapid.T, ty types.Type) {
		a, b := drawValues(t, ty), drawValues(t, ty)
		n := min(len(a), len(b))
		ea, eb := rapid.IntRange(0, 1).Draw(t, "a"), rapid.IntRange(0, 1).Draw(t, "b")
		va, vb := encode(ty, a[:n], vec.Encoding(ea)), encode(ty, b[:n], vec.Encoding(eb))
		for op := kernel.Eq; op <= kernel.Ge; op++ {
			got := kernel.Compare(op, va, vb, n)
			for i := range n {
				c := kernel.CompareRows(va, i, vb, i)
				want := map[kernel.Op]bool{kernel.Eq: c == 0, kernel.Ne: c != 0, kernel.Lt: c < 0, kernel.Le: c <= 0, kernel.Gt: c > 0, kernel.Ge: c >= 0}[op]
				null := va.IsNull(i) || vb.IsNull(i)
				if got.IsNull(i) != null || !null && got.Bools[i] != want {
					t.Fatalf("op %d row %d: %s, %s: %s, want %t", op, i, va.Value(i), vb.Value(i), got.Value(i), want)
				}
			}
			checkSelect(t, op, va, vb, got)
		}
	})
}

func checkSelect(t *rapid.T, op kernel.Op, va, vb, got *vec.Vector) {
	if va.Encoding != vec.Flat || vb.Encoding != vec.Constant || vb.IsNull(0) {
		return
	}
	rows := []int32{}
	for i := range int32(va.N) {
		if i%2 == 0 {
			rows = append(rows, i)
		}
	}
	for _, cand := range [][]int32{nil, rows} {
		sel, ok := kernel.SelectConst(op, va, vb, cand)
		if want := kernel.SelectTrue(got, cand); ok && !slices.Equal(sel, want) {
			t.Fatalf("op %d among %v: %v, want %v", op, cand, sel, want)
		}
	}
}

// TestCompareIsATotalOrder: antisymmetric, transitive, and equal to EqualRows.
func TestCompareIsATotalOrder(t *testing.T) {
	eachType(t, func(t *rapid.T, ty types.Type) {
		v := encode(ty, []vec.Value{drawValue(t, ty), drawValue(t, ty), drawValue(t, ty)}, vec.Flat)
		for i := range 3 {
			for j := range 3 {
				c := kernel.CompareRows(v, i, v, j)
				if c != -kernel.CompareRows(v, j, v, i) || (c == 0) != kernel.EqualRows(v, i, v, j) {
					t.Fatalf("%s, %s: %d", v.Value(i), v.Value(j), c)
				}
			}
		}
		ab, bc, ac := kernel.CompareRows(v, 0, v, 1), kernel.CompareRows(v, 1, v, 2), kernel.CompareRows(v, 0, v, 2)
		if ab <= 0 && bc <= 0 && ac > 0 {
			t.Fatalf("%s ≤ %s ≤ %s, but not %s ≤ %s", v.Value(0), v.Value(1), v.Value(2), v.Value(0), v.Value(2))
		}
	})
}

// TestHash: rows that are not distinct hash alike in every encoding and selection;
// the folded hash of two columns depends on both.
func TestHash(t *testing.T) {
	eachType(t, func(t *rapid.T, ty types.Type) {
		vals := drawValues(t, ty)
		n := len(vals)
		flat := encode(ty, vals, vec.Flat)
		want := make([]uint64, n)
		kernel.Hash(flat, nil, n, want)
		for i := range n {
			for j := range n {
				if kernel.EqualRows(flat, i, flat, j) && want[i] != want[j] {
					t.Fatalf("%s and %s are equal but hash apart", vals[i], vals[j])
				}
			}
			one := make([]uint64, 1)
			kernel.Hash(vec.Const(ty, vals[i], 9), []int32{4}, 1, one)
			if one[0] != want[i] {
				t.Fatalf("%s: as a constant %x, flat %x", vals[i], one[0], want[i])
			}
		}
		got := make([]uint64, n)
		kernel.Hash(encode(ty, vals, vec.Dictionary), nil, n, got)
		if !slices.Equal(got, want) {
			t.Fatalf("dictionary %x, flat %x", got, want)
		}
		kernel.Hash(flat, kernel.Identity(n), n, got)
		if !slices.Equal(got, want) {
			t.Fatalf("selected %x, all %x", got, want)
		}
		both, folded := make([]uint64, n), slices.Clone(want)
		kernel.HashRows([]*vec.Vector{flat, encode(ty, vals, vec.Dictionary)}, nil, n, both)
		kernel.HashInto(flat, nil, n, folded)
		if !slices.Equal(both, folded) {
			t.Fatalf("two columns %x, folded %x", both, folded)
		}
	})
}

// TestHashSpreads: sequential integers fill the buckets of both ends of the hash evenly.
func TestHashSpreads(t *testing.T) {
	const n, buckets = 1 << 16, 256
	v := vec.NewFlat(types.Of(types.Int64), n)
	for i := range v.Int64s {
		v.Int64s[i] = int64(i) * 8
	}
	h := make([]uint64, n)
	kernel.Hash(v, nil, n, h)
	for _, shift := range []int{0, 56} {
		var fill [buckets]int
		for _, x := range h {
			fill[x>>shift%buckets]++
		}
		for b, k := range fill {
			if k < n/buckets*2/3 || k > n/buckets*4/3 {
				t.Errorf("shift %d: bucket %d has %d of %d", shift, b, k, n/buckets)
			}
		}
	}
}

// TestSortKey: the bytes order as CompareRows does, also with a column behind.
func TestSortKey(t *testing.T) {
	eachType(t, func(t *rapid.T, ty types.Type) {
		v := encode(ty, []vec.Value{drawValue(t, ty), drawValue(t, ty)}, vec.Encoding(2*rapid.IntRange(0, 1).Draw(t, "dict")))
		desc, first := rapid.Bool().Draw(t, "desc"), rapid.Bool().Draw(t, "nulls first")
		tail := encode(types.Of(types.Int32), []vec.Value{drawValue(t, types.Of(types.Int32)), drawValue(t, types.Of(types.Int32))}, vec.Flat)
		var keys [2][]byte
		for i := range keys {
			keys[i] = kernel.AppendSortKey(nil, v, i, desc, first)
			keys[i] = kernel.AppendSortKey(keys[i], tail, i, false, false)
		}
		want := orderOf(v, desc, first)
		if want == 0 {
			want = kernel.CompareRows(tail, 0, tail, 1)
		}
		if got := bytes.Compare(keys[0], keys[1]); got != want {
			t.Fatalf("%s, %s (desc %t, nulls first %t): %d, want %d", v.Value(0), v.Value(1), desc, first, got, want)
		}
	})
}

func orderOf(v *vec.Vector, desc, nullsFirst bool) int {
	a, b := v.IsNull(0), v.IsNull(1)
	c := kernel.CompareRows(v, 0, v, 1)
	switch {
	case a || b:
		if nullsFirst {
			return -c
		}
		return c
	case desc:
		return -c
	}
	return c
}

// TestGatherScatter: what is gathered, merged and scattered is found again.
func TestGatherScatter(t *testing.T) {
	eachType(t, func(t *rapid.T, ty types.Type) {
		vals := drawValues(t, ty)
		n := len(vals)
		v := encode(ty, vals, vec.Encoding(rapid.IntRange(0, 2).Draw(t, "encoding")))
		var rows []int32
		for i := range n {
			if rapid.Bool().Draw(t, "row") {
				rows = append(rows, int32(i))
			}
		}
		g := kernel.Gather(v, rows)
		m := kernel.NewMerger(ty, n)
		m.Put(g, append([]int32{}, rows...))
		rest := kernel.Subtract(nil, n, rows)
		m.Put(kernel.Gather(v, rest), rest)
		merged, scattered := m.Finish(), kernel.Scatter(g, append([]int32{}, rows...), n)
		if merged.N != n || scattered.N != n || !slices.Equal(kernel.Union(rows, rest), kernel.Identity(n)) {
			t.Fatalf("%d and %d rows of %d", merged.N, scattered.N, n)
		}
		for i := range n {
			if kernel.CompareRows(merged, i, v, i) != 0 {
				t.Fatalf("row %d: %s, want %s", i, merged.Value(i), v.Value(i))
			}
		}
		for _, r := range rows {
			if kernel.CompareRows(scattered, int(r), v, int(r)) != 0 {
				t.Fatalf("row %d: %s, want %s", r, scattered.Value(int(r)), v.Value(int(r)))
			}
		}
	})
}

// FuzzParse: no text makes a parser panic, and what is read prints and reads again.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"", "1", "-1.5e3", "2024-02-29T01:02:03.5+01:00", "1 year -2 days 03:04", "P1Y2DT3H", "[1, 2]", `{"1": 2}`, `{"indices": [1], "values": [2]}`, `\x00ff`, "true", "9999999999999999999999"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, ty := range allTypes {
			v, err := kernel.CastValue(vec.Text(s), ty, false)
			if err != nil {
				if fail.Is(err, fail.Internal) {
					t.Errorf("%q as %s: %v", s, ty, err)
				}
				continue
			}
			if _, err := kernel.CastValue(vec.Text(v.String()), ty, false); err != nil && strings.Contains(fmt.Sprint(ty), "DECIMAL") {
				t.Errorf("%q as %s prints as %q, which fails: %v", s, ty, v, err)
			}
		}
	})
}
