package vec_test

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"pgregory.net/rapid"

	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

var one = decimal128.FromI64(1)

// TestBitmapModel: sets and clears against a list of booleans, at sizes around words.
func TestBitmapModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.SampledFrom([]int{1, 63, 64, 65, 127, 128, 129, 2048}).Draw(rt, "n")
		set := rapid.Bool().Draw(rt, "set")
		b, want := vec.NewBitmap(n, set), make([]bool, n)
		for i := range want {
			want[i] = set
		}
		for range rapid.IntRange(0, 50).Draw(rt, "steps") {
			i := rapid.IntRange(0, n-1).Draw(rt, "i")
			if want[i] = rapid.Bool().Draw(rt, "to"); want[i] {
				b.Set(i)
			} else {
				b.Clear(i)
			}
		}
		other := b.Clone()
		count := 0
		for i, w := range want {
			if b.Get(i) != w {
				rt.Fatalf("bit %d of %d", i, n)
			}
			if got := b.Count(i); got != count {
				rt.Fatalf("%d bits before %d, want %d", got, i, count)
			}
			if w {
				count++
			}
		}
		if b.Count(n) != count {
			rt.Fatalf("%d bits, want %d", b.Count(n), count)
		}
		other.Clear(0)
		both := vec.And(b, other)
		if b.Get(0) != want[0] || both.Get(0) || both.Count(n) != other.Count(n) {
			rt.Fatal("a clone and its intersection")
		}
	})
}

// TestNilBitmaps: nil means that every row is valid.
func TestNilBitmaps(t *testing.T) {
	var none vec.Bitmap
	b := vec.NewBitmap(3, false)
	if !none.Get(7) || none.Count(7) != 7 || none.Clone() != nil || vec.And(none, none) != nil {
		t.Error("nil is all")
	}
	if vec.And(none, b).Count(3) != 0 || vec.And(b, none).Count(3) != 0 {
		t.Error("the intersection with nil is the other")
	}
	if got := vec.NewBitmap(0, true); len(got) != 0 || got.Count(0) != 0 {
		t.Error("a bitmap of no rows")
	}
}

// TestSetNull: on vectors with and without a bitmap, and growing after it.
func TestSetNull(t *testing.T) {
	for _, n := range []int{1, 63, 64, 65} {
		v := vec.NewFlat(types.Of(types.Int64), n)
		v.SetNull(n - 1)
		v.AppendNull()
		v.Append(vec.Int64(5))
		if v.N != n+2 || v.Valid.Count(v.N) != n || !v.IsNull(n-1) || !v.IsNull(n) || v.IsNull(n+1) || v.Value(n+1).Int != 5 {
			t.Errorf("%d rows: %v", n, textsOf(v))
		}
	}
}
