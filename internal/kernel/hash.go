package kernel

import (
	"math"
	"math/bits"

	"github.com/zeebo/xxh3"

	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

const (
	nullHash = 0x9e3779b97f4a7c15
	mixA     = 0xa0761d6478bd642f
	mixB     = 0xe7037ed1a0b428db
)

// mix64 spreads an integer over 64 bits by a folded multiplication (as wyhash does).
func mix64(x uint64) uint64 {
	hi, lo := bits.Mul64(x^mixA, mixB)
	return (hi ^ lo) * mixA
}

// combine folds a column's hash into the row's.
func combine(seed, h uint64) uint64 {
	hi, lo := bits.Mul64(seed^mixB, h^mixA)
	return hi ^ lo
}

// Hash computes the 64-bit hash of each row of v into out: row sel[i], or i with
// a nil selection, for i < n ≤ len(out). Values that are not distinct hash alike
// whatever the encoding: -0.0 as 0.0, every NaN alike, NULL as a value of its
// own, equal intervals alike. Types must agree between the sides of a join.
func Hash(v *vec.Vector, sel []int32, n int, out []uint64) { hashColumn(v, sel, n, out, false) }

// HashInto folds the hash of each row of a further column into out, for keys of
// several columns.
func HashInto(v *vec.Vector, sel []int32, n int, out []uint64) { hashColumn(v, sel, n, out, true) }

// HashRows hashes rows over all key columns.
func HashRows(cols []*vec.Vector, sel []int32, n int, out []uint64) {
	if len(cols) == 0 {
		clear(out[:n])
	}
	for i, c := range cols {
		hashColumn(c, sel, n, out, i > 0)
	}
}

func hashColumn(v *vec.Vector, sel []int32, n int, out []uint64, fold bool) {
	out = out[:n]
	switch {
	case v.Encoding == vec.Constant:
		h := hashAt(v, 0)
		for i := range out {
			put(out, i, h, fold)
		}
	case v.Encoding == vec.Dictionary && v.Dict.N <= n:
		byValue := make([]uint64, v.Dict.N)
		hashColumn(v.Dict, nil, v.Dict.N, byValue, false)
		for i := range out {
			r := rowOf(sel, i)
			h := uint64(nullHash)
			if v.Valid.Get(r) {
				h = byValue[v.Codes[r]]
			}
			put(out, i, h, fold)
		}
	case v.Encoding == vec.Flat && v.Valid == nil && sel == nil && hashDense(v, out, fold):
	default:
		for i := range out {
			put(out, i, hashAt(v, rowOf(sel, i)), fold)
		}
	}
}

func rowOf(sel []int32, i int) int {
	if sel == nil {
		return i
	}
	return int(sel[i])
}

func put(out []uint64, i int, h uint64, fold bool) {
	if fold {
		h = combine(out[i], h)
	}
	out[i] = h
}

// hashDense runs the typed loop of all rows without NULLs, if there is one.
func hashDense(v *vec.Vector, out []uint64, fold bool) bool {
	switch v.Type.Kind {
	case types.Int32, types.Date:
		hashInts(v.Int32s, out, fold)
	case types.Int64, types.Timestamp, types.Time:
		hashInts(v.Int64s, out, fold)
	case types.Text, types.Binary, types.JSON, types.Unknown:
		for i := range out {
			put(out, i, xxh3.HashString(v.Strings.At(i)), fold)
		}
	case types.Double:
		for i, f := range v.Float64s[:len(out)] {
			put(out, i, mix64(doubleKey(f)), fold)
		}
	case types.Decimal, types.UUID:
		for i, d := range v.Decimals[:len(out)] {
			put(out, i, combine(mix64(uint64(d.HighBits())), d.LowBits()), fold)
		}
	default:
		return false
	}
	return true
}

func hashInts[T integer](vals []T, out []uint64, fold bool) {
	out = out[:len(vals)]
	if fold {
		for i, x := range vals {
			out[i] = combine(out[i], mix64(uint64(x)))
		}
		return
	}
	for i, x := range vals {
		out[i] = mix64(uint64(x))
	}
}

// hashAt hashes one row of any encoding.
func hashAt(v *vec.Vector, i int) uint64 {
	if v.IsNull(i) {
		return nullHash
	}
	v, i = base(v, i)
	switch v.Type.Kind {
	case types.Boolean:
		return mix64(uint64(boolInt(v.Bools[i])))
	case types.Int32, types.Date:
		return mix64(uint64(v.Int32s[i]))
	case types.Int64, types.Timestamp, types.Time:
		return mix64(uint64(v.Int64s[i]))
	case types.Double:
		return mix64(doubleKey(v.Float64s[i]))
	case types.Decimal, types.UUID:
		return combine(mix64(uint64(v.Decimals[i].HighBits())), v.Decimals[i].LowBits())
	case types.Interval:
		days, nanos := spanKey(v.Spans[i])
		return combine(mix64(uint64(days)), uint64(nanos))
	case types.Vector:
		d := int(v.Type.Dim)
		h := mix64(uint64(d))
		for _, f := range v.Float32s[i*d : (i+1)*d] {
			h = combine(h, doubleKey(float64(f)))
		}
		return h
	case types.Sparse:
		h := uint64(mixA)
		for j, ix := range v.SparseRows[i].Indices {
			h = combine(combine(h, uint64(ix)), doubleKey(float64(v.SparseRows[i].Values[j])))
		}
		return h
	case types.List, types.Map:
		h := uint64(mixB)
		for j := v.Offsets[i]; j < v.Offsets[i+1]; j++ {
			h = combine(h, hashAt(v.Child, int(j)))
		}
		return mix64(h)
	case types.Struct:
		h := uint64(mixA)
		for _, f := range v.Fields {
			h = combine(h, hashAt(f, i))
		}
		return h
	}
	return xxh3.HashString(v.Strings.At(i))
}

// doubleKey is a double's bits with one zero and one NaN.
func doubleKey(f float64) uint64 {
	switch {
	case f == 0:
		return 0
	case f != f:
		return 0x7ff8000000000001
	}
	return math.Float64bits(f)
}
