package functions_test

import (
	"bufio"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"pgregory.net/rapid"

	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// TestAggregates runs "name(value, …) → result" lines of testdata/aggregate.tbl:
// each argument is one row. All ways of feeding the rows must agree: at once, one
// by one, through a selection, as a dictionary, and merged from two workers.
func TestAggregates(t *testing.T) {
	f, err := os.Open("testdata/aggregate.tbl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	scan := bufio.NewScanner(f)
	for line := 1; scan.Scan(); line++ {
		in, want, ok := strings.Cut(scan.Text(), " → ")
		if !ok || in[0] == '#' {
			continue
		}
		name, list, _ := strings.Cut(strings.TrimSuffix(in, ")"), "(")
		cols, err := aggColumns(list)
		if err != nil {
			t.Errorf("line %d: %v", line, err)
			continue
		}
		for how := range feeds {
			v, err := aggregate(name, cols, how)
			if got := show(v, err); !matches(got, strings.TrimSpace(want)) {
				t.Errorf("line %d: %s (%s)\n got  %s\n want %s", line, in, how, got, want)
			}
		}
	}
}

// aggColumns reads "v, v, …" or, for two arguments, "(v, w), (v, w)" as columns.
func aggColumns(list string) ([]*vec.Vector, error) {
	if list == "*" {
		return nil, nil
	}
	e, err := parse("["+list+"]", nil)
	if err != nil {
		return nil, err
	}
	v, err := expr.EvalConst(env, e)
	if err != nil {
		return nil, err
	}
	col := vec.New(*e.Type().Elem, len(v.List))
	for _, x := range v.List {
		col.Append(x)
	}
	return []*vec.Vector{col}, nil
}

type feed = func(acc func() expr.Accumulator, cols []*vec.Vector, n int) (expr.Accumulator, error)

var feeds = map[string]feed{
	"at once": func(acc func() expr.Accumulator, cols []*vec.Vector, n int) (expr.Accumulator, error) {
		a := acc()
		a.Grow(1)
		return a, a.Update(make([]uint32, n), cols, nil)
	},
	"one by one": func(acc func() expr.Accumulator, cols []*vec.Vector, n int) (expr.Accumulator, error) {
		a := acc()
		a.Grow(1)
		for i := range n {
			if err := a.Update([]uint32{0}, cols, []int32{int32(i)}); err != nil {
				return nil, err
			}
		}
		return a, nil
	},
	"as a dictionary": func(acc func() expr.Accumulator, cols []*vec.Vector, n int) (expr.Accumulator, error) {
		var dicts []*vec.Vector
		for _, c := range cols {
			if c.Encoding == vec.Constant {
				dicts = append(dicts, c)
				continue
			}
			d := &vec.Vector{Type: c.Type, Encoding: vec.Dictionary, N: n, Dict: c}
			for i := range n {
				d.Codes = append(d.Codes, int32(i))
			}
			dicts = append(dicts, d)
		}
		a := acc()
		a.Grow(1)
		return a, a.Update(make([]uint32, n), dicts, nil)
	},
	"merged": func(acc func() expr.Accumulator, cols []*vec.Vector, n int) (expr.Accumulator, error) {
		a, b := acc(), acc()
		a.Grow(3)
		b.Grow(2)
		for i := range n {
			part, group := a, uint32(2)
			if i >= n/2 {
				part, group = b, 1
			}
			if err := part.Update([]uint32{group}, cols, []int32{int32(i)}); err != nil {
				return nil, err
			}
		}
		// b's group 0 has no rows and goes to a's group 0, which is not asked for.
		if err := a.Merge(b, nil, []uint32{0, 2}); err != nil {
			return nil, err
		}
		return shifted{a}, nil
	},
}

// shifted answers for group 2 as group 0.
type shifted struct{ expr.Accumulator }

func (s shifted) Finish(out *vec.Vector, _, n int) error { return s.Accumulator.Finish(out, 2, n) }

func aggregate(name string, cols []*vec.Vector, how string) (vec.Value, error) {
	name, extra, _ := strings.Cut(name, "/") // string_agg/,: the separator
	n := 4
	var ts []types.Type
	if len(cols) > 0 {
		n = cols[0].N
		ts = append(ts, cols[0].Type)
	}
	if extra != "" {
		ts = append(ts, types.Of(types.Unknown))
	}
	res, err := registry.Aggregate(name, ts)
	if err != nil {
		return vec.Value{}, err
	}
	var args []*vec.Vector
	for i, p := range res.Params {
		col := vec.Const(types.Of(types.Text), vec.Text(extra), n)
		if i == 0 {
			col = castColumn(cols[0], p)
		}
		args = append(args, col)
	}
	a, err := feeds[how](func() expr.Accumulator { return res.Agg.New(res.Params, res.Ret) }, args, n)
	if err != nil {
		return vec.Value{}, err
	}
	out := vec.New(res.Ret, 1)
	if err := a.Finish(out, 0, 1); err != nil {
		return vec.Value{}, err
	}
	return out.Value(0), nil
}

func castColumn(c *vec.Vector, t types.Type) *vec.Vector {
	ref := &expr.Column{ID: 1, Name: "c", T: c.Type}
	p, err := expr.Compile(cast(ref, t), map[expr.ColumnID]int{1: 0})
	if err != nil {
		panic(err)
	}
	v, err := p.Eval(env, &vec.Chunk{Cols: []*vec.Vector{c}, N: c.N})
	if err != nil {
		panic(err)
	}
	return v
}

// TestSumsAreExact checks sums and means of decimals over many groups, split over
// workers, against 128-bit-free arithmetic in floats of small numbers.
func TestSumsAreExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const groups = 4
		n := rapid.IntRange(0, 40).Draw(t, "n")
		col := vec.New(types.DecimalOf(10, 2), n)
		ids := make([]uint32, n)
		var want [groups]int64
		var count [groups]int64
		for i := range n {
			ids[i] = uint32(rapid.IntRange(0, groups-1).Draw(t, "group"))
			x := rapid.Int64Range(-1e9, 1e9).Draw(t, "x")
			if x%5 == 0 {
				col.AppendNull()
				continue
			}
			col.Append(vec.Value{Type: col.Type, Dec: decimal128.FromI64(x)})
			want[ids[i]] += x
			count[ids[i]]++
		}
		for _, name := range []string{"sum", "count", "min"} {
			res, err := registry.Aggregate(name, []types.Type{col.Type})
			if err != nil {
				t.Fatal(err)
			}
			a := res.Agg.New(res.Params, res.Ret)
			a.Grow(groups)
			if err := a.Update(ids, []*vec.Vector{col}, nil); err != nil {
				t.Fatal(err)
			}
			out := vec.New(res.Ret, groups)
			if err := a.Finish(out, 0, groups); err != nil {
				t.Fatal(err)
			}
			for g := range groups {
				v := out.Value(g)
				switch {
				case name == "count" && v.Int != count[g],
					name != "count" && v.Null != (count[g] == 0),
					name == "sum" && !v.Null && v.Dec != decimal128.FromI64(want[g]):
					t.Fatalf("%s of group %d: %s, want %d over %d rows", name, g, v, want[g], count[g])
				}
			}
		}
	})
}

func TestApproxDistinct(t *testing.T) {
	for _, n := range []int{10, 1000, 5000, 200_000} {
		res, err := registry.Aggregate("approx_distinct", ts(types.Int64))
		if err != nil {
			t.Fatal(err)
		}
		parts := []expr.Accumulator{res.Agg.New(res.Params, res.Ret), res.Agg.New(res.Params, res.Ret)}
		for k, a := range parts {
			a.Grow(1)
			col := vec.NewFlat(types.Of(types.Int64), n)
			for i := range n {
				col.Int64s[i] = int64(i + k*n/2) // half of the values are in both parts
			}
			if err := a.Update(make([]uint32, n), []*vec.Vector{col, col}[:1], nil); err != nil {
				t.Fatal(err)
			}
		}
		if err := parts[0].Merge(parts[1], nil, []uint32{0}); err != nil {
			t.Fatal(err)
		}
		out := vec.New(res.Ret, 1)
		if err := parts[0].Finish(out, 0, 1); err != nil {
			t.Fatal(err)
		}
		want := float64(n + n/2)
		if off := math.Abs(float64(out.Int64s[0])-want) / want; off > 0.03 || want < 1000 && off > 0 {
			t.Errorf("%d values: %d", int(want), out.Int64s[0])
		}
	}
}

// TestMergeOfDifferentKinds: a broken plan is a bug report, not a panic.
func TestMergeOfDifferentKinds(t *testing.T) {
	var accs []expr.Accumulator
	for _, name := range []string{"count", "sum", "avg", "min", "median", "stddev", "any_value", "array_agg", "approx_distinct"} {
		res, err := registry.Aggregate(name, ts(types.Double))
		if err != nil {
			t.Fatal(err)
		}
		accs = append(accs, res.Agg.New(res.Params, res.Ret))
	}
	merge := func(a, b expr.Accumulator) (err error) {
		defer func() {
			if recover() != nil { // bugs panic under the tag invariants
				err = fail.New(fail.Internal, "panic")
			}
		}()
		return a.Merge(b, nil, nil)
	}
	for i, a := range accs {
		for j, b := range accs {
			if err := merge(a, b); fmt.Sprintf("%T", a) != fmt.Sprintf("%T", b) && !fail.Is(err, fail.Internal) {
				t.Errorf("%d, %d: %v", i, j, err)
			}
		}
	}
}
