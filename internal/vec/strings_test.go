package vec_test

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// TestStringsModel runs appends and replacements of strings around the inline
// length and the buffer sizes against a plain list.
func TestStringsModel(t *testing.T) {
	long := strings.Repeat("0123456789abcdef", 1<<16)
	rapid.Check(t, func(rt *rapid.T) {
		var s vec.Strings
		var want []string
		for range rapid.IntRange(0, 40).Draw(rt, "steps") {
			size := rapid.SampledFrom([]int{0, 1, 4, 11, 12, 13, 100, 4095, 4096, 4097, 1 << 20, 1<<20 - 1}).Draw(rt, "size")
			off := rapid.IntRange(0, min(15, len(long)-size)).Draw(rt, "offset")
			str := long[off : off+size]
			if len(want) > 0 && rapid.Bool().Draw(rt, "set") {
				i := rapid.IntRange(0, len(want)-1).Draw(rt, "i")
				s.Set(i, str)
				want[i] = str
				continue
			}
			s.Append(str)
			want = append(want, str)
		}
		if s.Len() != len(want) {
			rt.Fatalf("%d strings, want %d", s.Len(), len(want))
		}
		for i, w := range want {
			if s.At(i) != w || string(s.Bytes(i)) != w {
				rt.Fatalf("string %d of %d bytes differs", i, len(w))
			}
			if v := s.Views[i]; int(v.Len) != len(w) || len(w) >= 4 && string(v.Prefix[:]) != w[:4] {
				rt.Fatalf("view %d: %+v", i, v)
			}
		}
		s.Reset()
		if s.Len() != 0 {
			rt.Fatal("not empty after Reset")
		}
	})
}

// TestShortStringsArePadded: views of equal short strings are equal as bytes.
func TestShortStringsArePadded(t *testing.T) {
	var s vec.Strings
	for range 2 {
		s.Append("abc")
		s.Append("")
		s.Append("twelve bytes")
	}
	for i := range 3 {
		if s.Views[i] != s.Views[i+3] {
			t.Errorf("%q: %+v and %+v", s.At(i), s.Views[i], s.Views[i+3])
		}
	}
	if s.Views[0].Rest != [8]byte{} || s.Views[1] != (vec.View{}) || s.Bufs != nil {
		t.Errorf("%+v, %d buffers", s.Views, len(s.Bufs))
	}
}

// TestWrapKeepsItsBytes: a column over foreign bytes reads them in place and
// never writes behind them.
func TestWrapKeepsItsBytes(t *testing.T) {
	whole := []byte("a string that is not inline, then what belongs to another column")
	before := slices.Clone(whole)
	s := vec.Wrap([]int32{0, 1, 1, 27}, whole[:27])
	for i, want := range []string{"a", "", " string that is not inline"} {
		if s.At(i) != want {
			t.Errorf("string %d: %q", i, s.At(i))
		}
	}
	s.Append("another string that is not inline")
	if s.At(3) != "another string that is not inline" || string(whole) != string(before) {
		t.Errorf("%q, and around it %q", s.At(3), whole)
	}
	if empty := vec.Wrap([]int32{5}, nil); empty.Len() != 0 {
		t.Error("one offset is no string")
	}
}

// TestSlicesOwnTheirEnd: appending numbers to a view does not reach its vector.
func TestSlicesOwnTheirEnd(t *testing.T) {
	for _, ty := range []types.Type{types.Of(types.Boolean), types.Of(types.Int32), types.Of(types.Int64), types.Of(types.Double),
		types.DecimalOf(10, 2), types.Of(types.Interval), types.VectorOf(2), types.Of(types.Sparse)} {
		v := vec.NewFlat(ty, 4)
		before := textsOf(v)
		part := v.Slice(1, 2)
		part.Append(nonZero(ty))
		if got := textsOf(v); !slices.Equal(got, before) {
			t.Errorf("%s: %v became %v", ty, before, got)
		}
		if part.N != 2 || part.Value(1).String() != nonZero(ty).String() {
			t.Errorf("%s: %v", ty, textsOf(part))
		}
	}
}

func nonZero(ty types.Type) vec.Value {
	return vec.Value{Type: ty, Bool: true, Int: 7, Float: 7, Dec: vec.Value{}.Dec.Add(one), Span: vec.Span{Days: 7}, Vec: []float32{7, 7},
		Sparse: vec.SparseRow{Indices: []uint32{7}, Values: []float32{7}}}
}
