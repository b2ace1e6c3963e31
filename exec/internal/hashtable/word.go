package hashtable

import (
	"math"
	"math/bits"

	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// isWord reports whether every value of the type fits a 64-bit word.
func isWord(t types.Type) bool {
	switch t.Kind {
	case types.Boolean, types.Int32, types.Date, types.Int64, types.Timestamp, types.Time, types.Double:
		return true
	}
	return false
}

// floatWord maps a double to its bits so that equal keys have equal words.
func floatWord(f float64) uint64 {
	switch {
	case f == 0:
		return 0
	case f != f:
		return math.Float64bits(math.NaN())
	}
	return math.Float64bits(f)
}

// words fills out[i] with the word of row sel[i] (of row i with nil sel). Words
// under a NULL are unspecified.
func words(v *vec.Vector, sel []int32, n int, out []uint64) {
	switch v.Encoding {
	case vec.Constant:
		wordsOf(v, func(int) int { return 0 }, 1, out)
		for i := 1; i < n; i++ {
			out[i] = out[0]
		}
	case vec.Dictionary:
		codes, dict := v.Codes, v.Dict
		if sel == nil {
			wordsOf(dict, func(i int) int { return int(codes[i]) }, n, out)
		} else {
			wordsOf(dict, func(i int) int { return int(codes[sel[i]]) }, n, out)
		}
	default:
		if sel == nil {
			wordsFlat(v, n, out)
		} else {
			wordsSel(v, sel, n, out)
		}
	}
}

func wordsFlat(v *vec.Vector, n int, out []uint64) {
	switch v.Type.Kind {
	case types.Int64, types.Timestamp, types.Time:
		for i, x := range v.Int64s[:n] {
			out[i] = uint64(x)
		}
	case types.Int32, types.Date:
		for i, x := range v.Int32s[:n] {
			out[i] = uint64(int64(x))
		}
	default:
		wordsOf(v, func(i int) int { return i }, n, out)
	}
}

func wordsSel(v *vec.Vector, sel []int32, n int, out []uint64) {
	switch v.Type.Kind {
	case types.Int64, types.Timestamp, types.Time:
		for i, r := range sel[:n] {
			out[i] = uint64(v.Int64s[r])
		}
	case types.Int32, types.Date:
		for i, r := range sel[:n] {
			out[i] = uint64(int64(v.Int32s[r]))
		}
	default:
		wordsOf(v, func(i int) int { return int(sel[i]) }, n, out)
	}
}

func wordsOf(v *vec.Vector, at func(int) int, n int, out []uint64) {
	for i := range n {
		r := at(i)
		switch v.Type.Kind {
		case types.Boolean:
			out[i] = 0
			if v.Bools[r] {
				out[i] = 1
			}
		case types.Int32, types.Date:
			out[i] = uint64(int64(v.Int32s[r]))
		case types.Double:
			out[i] = floatWord(v.Float64s[r])
		default:
			out[i] = uint64(v.Int64s[r])
		}
	}
}

// growValid makes room for the validity of one valid row more.
func growValid(v *vec.Vector) {
	if v.Valid != nil && len(v.Valid) <= v.N/64 {
		v.Valid = append(v.Valid, ^uint64(0))
	}
}

// appendWord appends the value that a word stands for.
func appendWord(v *vec.Vector, w uint64) {
	growValid(v)
	switch v.Type.Kind {
	case types.Boolean:
		v.Bools = append(v.Bools, w != 0)
	case types.Int32, types.Date:
		v.Int32s = append(v.Int32s, int32(int64(w)))
	case types.Double:
		v.Float64s = append(v.Float64s, math.Float64frombits(w))
	default:
		v.Int64s = append(v.Int64s, int64(w))
	}
	v.N++
}

// hashWord mixes a word: the two halves of a 128-bit product, folded.
func hashWord(w uint64) uint64 {
	hi, lo := bits.Mul64(w^0x9e3779b97f4a7c15, 0xd6e8feb86659fd93)
	return hi ^ lo
}

// saltOf is the part of a hash that a slot keeps beside its row.
func saltOf(h uint64) uint64 { return h >> 48 << 48 }

const rowMask = 1<<48 - 1

// slotsFor is the number of slots, a power of two, that keeps n entries under
// half load.
func slotsFor(n int) int {
	size := 1024
	for size < 2*n {
		size *= 2
	}
	return size
}
