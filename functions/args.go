package functions

import (
	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/kernel"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

type vecValue = vec.Value

// reader reads values of one flat or constant argument by row.
type reader[T any] struct {
	vals []T
	step int
}

func (r reader[T]) at(i int) T { return r.vals[i*r.step] }

func step(v *vec.Vector) int {
	if v.Encoding == vec.Constant {
		return 0
	}
	return 1
}

func doubles(v *vec.Vector) reader[float64] { return reader[float64]{v.Float64s, step(v)} }
func longs(v *vec.Vector) reader[int64]     { return reader[int64]{v.Int64s, step(v)} }
func spans(v *vec.Vector) reader[vec.Span]  { return reader[vec.Span]{v.Spans, step(v)} }
func decimals(v *vec.Vector) reader[decimal128.Num] {
	return reader[decimal128.Num]{v.Decimals, step(v)}
}

// texts reads strings of one argument.
type texts struct {
	s    *vec.Strings
	step int
}

func textsOf(v *vec.Vector) texts { return texts{&v.Strings, step(v)} }

func (t texts) at(i int) string { return t.s.At(i * t.step) }

// op2 adapts a kernel of two operands.
func op2(k kernel.Binary) expr.EvalFunc {
	return func(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
		return k(args[0], args[1], n, out)
	}
}

// double1 adapts a function of one double.
func double1(f func(float64) float64) expr.EvalFunc {
	return func(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
		x := doubles(args[0])
		for i := range n {
			out.Float64s[i] = f(x.at(i))
		}
		return nil
	}
}

// double1e adapts a function of one double that may fail.
func double1e(f func(float64) (float64, error)) expr.EvalFunc {
	return func(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) (err error) {
		x := doubles(args[0])
		for i := range n {
			if out.Float64s[i], err = f(x.at(i)); err != nil {
				return err
			}
		}
		return nil
	}
}

// double2e adapts a function of two doubles that may fail.
func double2e(f func(x, y float64) (float64, error)) expr.EvalFunc {
	return func(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) (err error) {
		x, y := doubles(args[0]), doubles(args[1])
		for i := range n {
			if out.Float64s[i], err = f(x.at(i), y.at(i)); err != nil {
				return err
			}
		}
		return nil
	}
}

// text1 adapts text → text.
func text1(f func(string) string) expr.EvalFunc {
	return func(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
		s := textsOf(args[0])
		for i := range n {
			out.Strings.Set(i, f(s.at(i)))
		}
		return nil
	}
}

// text2 adapts (text, text) → text.
func text2(f func(a, b string) string) expr.EvalFunc {
	return func(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
		a, b := textsOf(args[0]), textsOf(args[1])
		for i := range n {
			out.Strings.Set(i, f(a.at(i), b.at(i)))
		}
		return nil
	}
}

// text3 adapts (text, text, text) → text.
func text3(f func(a, b, c string) string) expr.EvalFunc {
	return func(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
		a, b, c := textsOf(args[0]), textsOf(args[1]), textsOf(args[2])
		for i := range n {
			out.Strings.Set(i, f(a.at(i), b.at(i), c.at(i)))
		}
		return nil
	}
}

// textBool adapts (text, text) → boolean.
func textBool(f func(a, b string) bool) expr.EvalFunc {
	return func(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
		a, b := textsOf(args[0]), textsOf(args[1])
		for i := range n {
			out.Bools[i] = f(a.at(i), b.at(i))
		}
		return nil
	}
}

// textLong adapts text → bigint.
func textLong(f func(string) int64) expr.EvalFunc {
	return func(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
		s := textsOf(args[0])
		for i := range n {
			out.Int64s[i] = f(s.at(i))
		}
		return nil
	}
}

// textNum adapts (text, bigint) → text, which may fail.
func textNum(f func(s string, k int64) (string, error)) expr.EvalFunc {
	return func(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
		s, k := textsOf(args[0]), longs(args[1])
		return growing(n, out, func(i int) (string, error) { return f(s.at(i), k.at(i)) })
	}
}

// maxText is the longest text that a function makes out of a short one, and
// maxChunkText what it makes for the rows of one chunk.
const (
	maxText      = 16 << 20
	maxChunkText = 256 << 20
)

func tooLong(name string) error {
	return fail.New(fail.TooLarge, "%s would make a text of more than %d MiB", name, maxText>>20)
}

// growing sets the texts of n rows that may be longer than the arguments, and
// stops before they fill the memory.
func growing(n int, out *vec.Vector, f func(i int) (string, error)) error {
	total := 0
	for i := range n {
		r, err := f(i)
		if err != nil {
			return err
		}
		if total += len(r); total > maxChunkText {
			return fail.New(fail.TooLarge, "the texts made for %s exceed %d MiB", fail.Count(i+1, "row"), maxChunkText>>20)
		}
		out.Strings.Set(i, r)
	}
	return nil
}

// choose builds the result by naming for each row the argument that it takes
// (-1: NULL).
func choose(args []*vec.Vector, n int, out *vec.Vector, pick func(row int) int) {
	rows := make([][]int32, len(args))
	for i := range n {
		if a := pick(i); a >= 0 {
			rows[a] = append(rows[a], int32(i))
		}
	}
	m := kernel.NewMerger(out.Type, n)
	for a, list := range rows {
		if len(list) > 0 {
			m.Put(kernel.Gather(args[a], list), list)
		}
	}
	*out = *m.Finish()
}

// common is the bind function of calls whose arguments share one type, which is
// also the result's.
func common(least int) func([]types.Type) ([]types.Type, types.Type, error) {
	return func(args []types.Type) ([]types.Type, types.Type, error) {
		if len(args) < least {
			return nil, types.Type{}, nil
		}
		t, ok := commonOf(args)
		if !ok {
			return nil, types.Type{}, nil
		}
		params := make([]types.Type, len(args))
		for i := range params {
			params[i] = t
		}
		return params, t, nil
	}
}

// commonOf is the common type of all; untyped literals alone are text.
func commonOf(args []types.Type) (types.Type, bool) {
	t := types.Of(types.Unknown)
	for _, a := range args {
		var ok bool
		if t, ok = types.Common(t, a); !ok {
			return t, false
		}
	}
	return t.Settled(), true
}
