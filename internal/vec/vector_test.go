package vec_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// drawVector builds a vector in a random encoding, and its rows as texts.
func drawVector(t *rapid.T, ty types.Type, n int) (*vec.Vector, []string) {
	flat := vec.New(ty, n)
	for range n {
		flat.Append(drawValue(t, ty))
	}
	v := flat
	switch k := rapid.IntRange(0, 3).Draw(t, "encoding"); {
	case k == 0:
		v = vec.Const(ty, drawValue(t, ty), n)
	case k == 1 && n > 0:
		v = &vec.Vector{Type: ty, Encoding: vec.Dictionary, N: n, Dict: flat, Codes: make([]int32, n)}
		for i := range v.Codes {
			v.Codes[i] = int32(rapid.IntRange(0, n-1).Draw(t, "code"))
		}
		if rapid.Bool().Draw(t, "row nulls") {
			v.Valid = vec.NewBitmap(n, true)
			v.Valid.Clear(rapid.IntRange(0, n-1).Draw(t, "null"))
		}
	}
	return v, textsOf(v)
}

func textsOf(v *vec.Vector) []string {
	out := make([]string, v.N)
	for i := range out {
		out[i] = v.Value(i).String()
	}
	return out
}

func drawRows(t *rapid.T, n int) []int32 {
	if rapid.Bool().Draw(t, "all") {
		return nil
	}
	rows := []int32{}
	for i := range n {
		if rapid.Bool().Draw(t, "row") {
			rows = append(rows, int32(i))
		}
	}
	return rows
}

// TestVectorModel runs appends of rows, values and NULLs, slices and flattening
// against a plain list of texts.
func TestVectorModel(t *testing.T) {
	for _, ty := range allTypes {
		t.Run(ty.String(), rapid.MakeCheck(func(t *rapid.T) {
			v, want := vec.New(ty, 0), []string{}
			for range rapid.IntRange(0, 6).Draw(t, "steps") {
				switch rapid.IntRange(0, 3).Draw(t, "step") {
				case 0:
					v.AppendNull()
					want = append(want, "NULL")
				case 1:
					x := drawValue(t, ty)
					v.Append(x)
					want = append(want, x.String())
				default:
					src, rows := drawVector(t, ty, rapid.IntRange(0, 70).Draw(t, "n"))
					sel := drawRows(t, src.N)
					n := src.N
					if sel != nil {
						n = len(sel)
					}
					v.AppendRows(src, sel, n)
					for i := range n {
						r := i
						if sel != nil {
							r = int(sel[i])
						}
						want = append(want, rows[r])
					}
				}
			}
			compareTexts(t, v, want)
			if len(want) == 0 {
				return
			}
			from := rapid.IntRange(0, len(want)).Draw(t, "from")
			to := rapid.IntRange(from, len(want)).Draw(t, "to")
			compareTexts(t, v.Slice(from, to), want[from:to])
		}))
	}
}

func compareTexts(t *rapid.T, v *vec.Vector, want []string) {
	if v.N != len(want) {
		t.Fatalf("%d rows, want %d", v.N, len(want))
	}
	nulls := 0
	for i, w := range want {
		if got := v.Value(i).String(); got != w {
			t.Fatalf("row %d: %s, want %s", i, got, w)
		}
		if v.IsNull(i) {
			nulls++
		}
	}
	if nulls > 0 && !v.HasNulls() {
		t.Fatalf("%d NULLs, but HasNulls says none", nulls)
	}
	if v.Encoding == vec.Flat && v.Valid != nil && v.N-v.Valid.Count(v.N) != nulls {
		t.Fatalf("%d NULLs by the bitmap, %d by row", v.N-v.Valid.Count(v.N), nulls)
	}
}

// TestEncodingsSliceAndFlatten: slices and flat copies of every encoding show the same rows.
func TestEncodingsSliceAndFlatten(t *testing.T) {
	for _, ty := range allTypes {
		t.Run(ty.String(), rapid.MakeCheck(func(t *rapid.T) {
			v, want := drawVector(t, ty, rapid.IntRange(1, 20).Draw(t, "n"))
			compareTexts(t, v.Flatten(), want)
			from := rapid.IntRange(0, v.N).Draw(t, "from")
			to := rapid.IntRange(from, v.N).Draw(t, "to")
			compareTexts(t, v.Slice(from, to), want[from:to])
			compareTexts(t, v.Slice(from, to).Flatten(), want[from:to])
		}))
	}
}

// TestChunkCompact: a compacted chunk holds the selected rows and no selection.
func TestChunkCompact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 20).Draw(t, "n")
		c := &vec.Chunk{N: n, Sel: drawRows(t, n)}
		var want [][]string
		for _, ty := range allTypes {
			v, rows := drawVector(t, ty, n)
			c.Cols = append(c.Cols, v)
			want = append(want, rows)
		}
		out := c.Compact()
		all := vec.NewChunk(allTypes, n)
		all.AppendRows(c)
		if out.Sel != nil || out.N != c.Rows() || all.N != c.Rows() {
			t.Fatalf("%d and %d rows of %d", out.N, all.N, c.Rows())
		}
		for k, rows := range want {
			var selected []string
			for i := range c.Rows() {
				selected = append(selected, rows[c.RowAt(i)])
			}
			compareTexts(t, out.Cols[k], selected)
			compareTexts(t, all.Cols[k], selected)
		}
	})
}

// TestStrings: texts around the inline length and the buffer size are kept, also
// when they are replaced.
func TestStrings(t *testing.T) {
	var s vec.Strings
	var want []string
	for n := 0; n < 40; n++ {
		want = append(want, strings.Repeat("x", n), strings.Repeat("y", n*n*n))
	}
	for _, w := range want {
		s.Append(w)
	}
	s.Set(3, "a replacement that is long")
	want[3] = "a replacement that is long"
	for i, w := range want {
		if s.At(i) != w || string(s.Bytes(i)) != w {
			t.Fatalf("string %d of %d bytes: %d bytes", i, len(w), len(s.At(i)))
		}
	}
}
