package functions

import (
	"math"

	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// vectorTable holds distances between vectors of one dimension, summed in double
// precision.
var vectorTable = []def{
	{names: "cosine_distance <=>", help: "1 - cosine similarity; NaN for a zero vector", sigs: pairSigs(cosineDistance)},
	{names: "l2_distance array_distance <->", help: "Euclidean distance", sigs: pairSigs(l2Distance)},
	{names: "inner_product", help: "inner product", sigs: pairSigs(innerProduct)},
	{names: "<#>", help: "negative inner product", sigs: pairSigs(func(a, b []float32) float64 { return -innerProduct(a, b) })},
	{names: "vector_dims", help: "dimension of a vector", sigs: []sig{{in: "vector", ret: "int", eval: func(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
		for i := range n {
			out.Int32s[i] = args[0].Type.Dim
		}
		return nil
	}}}},
	{names: "vector_norm l2_norm", help: "Euclidean length", sigs: []sig{{in: "vector", ret: "double", eval: func(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
		for i := range n {
			x := vectorAt(args[0], i)
			out.Float64s[i] = math.Sqrt(innerProduct(x, x))
		}
		return nil
	}}}},
}

func cosineDistance(a, b []float32) float64 {
	var dot, aa, bb float64
	b = b[:len(a)]
	for i, x := range a {
		x, y := float64(x), float64(b[i])
		dot += x * y
		aa += x * x
		bb += y * y
	}
	return 1 - dot/math.Sqrt(aa*bb)
}

func l2Distance(a, b []float32) float64 {
	var sum float64
	b = b[:len(a)]
	for i, x := range a {
		d := float64(x) - float64(b[i])
		sum += d * d
	}
	return math.Sqrt(sum)
}

func innerProduct(a, b []float32) float64 {
	var sum float64
	b = b[:len(a)]
	for i, x := range a {
		sum += float64(x) * float64(b[i])
	}
	return sum
}

func wrongDims(a, b int) error {
	return fail.New(fail.InvalidVector, "vectors of %d and %d dimensions have no distance", a, b)
}

func pairSigs(f func(a, b []float32) float64) []sig {
	return []sig{
		{in: "vector, vector", ret: "double", bind: vectorPair, eval: func(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
			if args[0].Type.Dim != args[1].Type.Dim {
				return wrongDims(int(args[0].Type.Dim), int(args[1].Type.Dim))
			}
			for i := range n {
				out.Float64s[i] = f(vectorAt(args[0], i), vectorAt(args[1], i))
			}
			return nil
		}},
		{in: "double[], double[]", ret: "double", eval: func(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
			for i := range n {
				a, b := floatsAt(args[0], i), floatsAt(args[1], i)
				if len(a) != len(b) {
					return wrongDims(len(a), len(b))
				}
				out.Float64s[i] = f(a, b)
			}
			return nil
		}},
	}
}

// vectorPair binds two vectors, of which one may be a list or an untyped literal.
// Vectors of different dimensions are refused at once.
func vectorPair(args []types.Type) ([]types.Type, types.Type, error) {
	ret := types.Of(types.Double)
	if len(args) != 2 {
		return nil, ret, nil
	}
	if args[0].Kind == types.Vector && args[1].Kind == types.Vector {
		if args[0].Dim != args[1].Dim {
			return nil, ret, wrongDims(int(args[0].Dim), int(args[1].Dim))
		}
		return args, ret, nil
	}
	for i, a := range args {
		if a.Kind == types.Vector && types.Cast(args[1-i], a) == types.ImplicitCast {
			return []types.Type{a, a}, ret, nil
		}
	}
	return nil, ret, nil
}

func vectorAt(v *vec.Vector, i int) []float32 {
	d := int(v.Type.Dim)
	r := v.Row(i)
	return v.Float32s[r*d : (r+1)*d]
}

// floatsAt is a list of doubles as a vector; a NULL element counts as NaN.
func floatsAt(v *vec.Vector, i int) []float32 {
	r := v.Row(i)
	var out []float32
	for j := v.Offsets[r]; j < v.Offsets[r+1]; j++ {
		f := float32(math.NaN())
		if !v.Child.IsNull(int(j)) {
			f = float32(v.Child.Float64s[v.Child.Row(int(j))])
		}
		out = append(out, f)
	}
	return out
}
