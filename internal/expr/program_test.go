package expr_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

var (
	intType  = types.Of(types.Int64)
	boolType = types.Of(types.Boolean)
	textType = types.Of(types.Text)
	colA     = &expr.Column{ID: 1, Name: "a", T: intType}
	colB     = &expr.Column{ID: 2, Name: "b", T: intType}
	colS     = &expr.Column{ID: 3, Name: "s", T: textType}
	layout   = map[expr.ColumnID]int{1: 0, 2: 1, 3: 2}
)

// probe is a function that counts the rows it sees and fails on the value 13.
type probe struct{ rows atomic.Int64 }

func (p *probe) fn(vol expr.Volatility) *expr.ScalarFunc {
	return &expr.ScalarFunc{Name: "probe", Volatility: vol, Eval: func(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
		p.rows.Add(int64(n))
		for i := range n {
			x := args[0].Int64s[args[0].Row(i)]
			if x == 13 {
				return fail.New(fail.OutOfRange, "13")
			}
			out.Int64s[i] = x + 1
		}
		return nil
	}}
}

func (p *probe) call(arg expr.Expr) *expr.Call {
	return &expr.Call{Fn: p.fn(expr.Immutable), Args: []expr.Expr{arg}, T: intType, Offset: -1}
}

func constInt(x int64) *expr.Const { return &expr.Const{Value: vec.Int64(x)} }

func compile(t *testing.T, e expr.Expr) *expr.Program {
	t.Helper()
	p, err := expr.Compile(e, layout)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func chunk(a, b []int64, s []string) *vec.Chunk {
	c := vec.NewChunk([]types.Type{intType, intType, textType}, len(a))
	for i := range a {
		c.Cols[0].Append(vec.Int64(a[i]))
		c.Cols[1].Append(vec.Int64(b[i]))
		c.Cols[2].Append(vec.Text(s[i]))
	}
	c.N = len(a)
	return c
}

func five(a ...int64) *vec.Chunk {
	return chunk(a, []int64{1, 2, 3, 4, 5}, []string{"v", "w", "x", "y", "z"})
}

var env = &expr.Env{}

func TestCompileRefuses(t *testing.T) {
	for name, e := range map[string]expr.Expr{
		"parameter":      &expr.Param{Index: 0, T: intType},
		"unknown column": &expr.Column{ID: 99, Name: "zz", T: intType},
		"nil":            &expr.Not{Arg: nil},
		"deep":           &expr.Case{Whens: []expr.When{{Cond: &expr.Param{T: boolType}, Result: colA}}, T: intType},
	} {
		t.Run(name, func(t *testing.T) {
			defer func() { _ = recover() }() // Bug panics under the tag invariants
			if _, err := expr.Compile(e, layout); !fail.Is(err, fail.Internal) {
				t.Errorf("%v", err)
			}
		})
	}
}

// TestErrorsComeFromSelectedRows: a bad value in a row that is not selected, or
// that a branch does not take, is no error, however few or many rows are.
func TestErrorsComeFromSelectedRows(t *testing.T) {
	var p probe
	prog := compile(t, p.call(colA))
	c := five(1, 13, 2, 3, 4)
	for _, sel := range [][]int32{{0}, {0, 2, 3, 4}, {4}} {
		c.Sel = sel
		v, err := prog.Eval(env, c)
		if err != nil {
			t.Errorf("%v: %v", sel, err)
			continue
		}
		for _, r := range sel {
			if got := v.Value(int(r)).Int; got != c.Cols[0].Int64s[r]+1 {
				t.Errorf("%v: row %d is %d", sel, r, got)
			}
		}
	}
	c.Sel = []int32{0, 1, 2, 3}
	if _, err := prog.Eval(env, c); !fail.Is(err, fail.OutOfRange) {
		t.Errorf("the error of a selected row is lost: %v", err)
	}
	not13 := &expr.Compare{Op: expr.Ne, Left: colA, Right: constInt(13)}
	big := &expr.Compare{Op: expr.Gt, Left: p.call(colA), Right: constInt(2)}
	for _, e := range []expr.Expr{&expr.Logic{Args: []expr.Expr{not13, big}}, &expr.Logic{Args: []expr.Expr{big, not13}}} {
		c.Sel = nil
		sel, err := compile(t, e).Select(env, c)
		if err != nil || fmt.Sprint(sel) != "[2 3 4]" {
			t.Errorf("%s: %v %v", e, sel, err)
		}
	}
}

// TestCheapOperandsFirst: the costly operand sees only the rows that the cheap one leaves.
func TestCheapOperandsFirst(t *testing.T) {
	var p probe
	costly := &expr.Compare{Op: expr.Gt, Left: p.call(colA), Right: constInt(0)}
	cheap := &expr.Compare{Op: expr.Eq, Left: colB, Right: constInt(3)}
	prog := compile(t, &expr.Logic{Args: []expr.Expr{costly, cheap}})
	sel, err := prog.Select(env, five(1, 2, 3, 4, 5))
	if err != nil || fmt.Sprint(sel) != "[2]" || p.rows.Load() != 1 {
		t.Errorf("%v %v, %d rows seen", sel, err, p.rows.Load())
	}
}

// TestBranchesSeeTheirRows: CASE and COALESCE evaluate what is needed only.
func TestBranchesSeeTheirRows(t *testing.T) {
	var then, other, rest probe
	e := &expr.Case{Whens: []expr.When{{Cond: &expr.Compare{Op: expr.Lt, Left: colB, Right: constInt(3)}, Result: then.call(colA)}}, Else: other.call(colA), T: intType}
	v, err := compile(t, e).Eval(env, five(1, 2, 3, 4, 5))
	if err != nil || v.Value(4).Int != 6 || then.rows.Load() != 2 || other.rows.Load() != 3 {
		t.Errorf("%v: %d and %d rows", err, then.rows.Load(), other.rows.Load())
	}
	c := five(1, 2, 3, 4, 5)
	c.Cols[0].SetNull(1)
	co := &expr.Coalesce{Args: []expr.Expr{colA, rest.call(colB)}, T: intType}
	v, err = compile(t, co).Eval(env, c)
	if err != nil || v.Value(1).Int != 3 || v.Value(2).Int != 3 || rest.rows.Load() != 1 {
		t.Errorf("%v: %s, %d rows", err, v.Value(1), rest.rows.Load())
	}
}

// TestDictionaryByValue: over a dictionary a function sees each value once, over
// all chunks that share it, and a value that no row has cannot fail.
func TestDictionaryByValue(t *testing.T) {
	var p probe
	dict := vec.New(intType, 3)
	for _, x := range []int64{10, 20, 13} {
		dict.Append(vec.Int64(x))
	}
	col := func(codes ...int32) *vec.Chunk {
		v := &vec.Vector{Type: intType, Encoding: vec.Dictionary, N: len(codes), Dict: dict, Codes: codes}
		return &vec.Chunk{Cols: []*vec.Vector{v}, N: len(codes)}
	}
	prog := compile(t, p.call(colA))
	v, err := prog.Eval(env, col(0, 1, 0, 1, 0, 1))
	if err != nil || v.Value(1).Int != 21 {
		t.Errorf("unused value 13: %v %v", v, err)
	}
	dict.Int64s[2] = 30
	dict2 := *dict
	dict = &dict2
	p.rows.Store(0)
	for range 5 {
		v, err = prog.Eval(env, col(0, 1, 2, 2, 1, 0, 0))
		if err != nil || v.Value(2).Int != 31 || v.Encoding != vec.Dictionary {
			t.Fatalf("%v %v", v, err)
		}
	}
	if n := p.rows.Load(); n > 4 {
		t.Errorf("%d rows seen for 3 values and NULL", n)
	}
}

// TestConstantsOnce: a call over constants is computed for one row.
func TestConstantsOnce(t *testing.T) {
	var p probe
	v, err := compile(t, p.call(constInt(1))).Eval(env, five(1, 2, 3, 4, 5))
	if err != nil || v.Encoding != vec.Constant || v.N != 5 || p.rows.Load() != 1 {
		t.Errorf("%v %v, %d rows", v, err, p.rows.Load())
	}
	vol := &expr.Call{Fn: p.fn(expr.Volatile), Args: []expr.Expr{constInt(1)}, T: intType}
	p.rows.Store(0)
	if _, err := compile(t, vol).Eval(env, five(1, 2, 3, 4, 5)); err != nil || p.rows.Load() != 5 {
		t.Errorf("volatile: %v, %d rows", err, p.rows.Load())
	}
}

func TestFold(t *testing.T) {
	var p probe
	sum := p.call(constInt(1))
	boom := p.call(constInt(13))
	isTrue := &expr.Const{Value: vec.Bool(true)}
	cond := &expr.Compare{Op: expr.Lt, Left: colA, Right: sum}
	for _, c := range []struct {
		e    expr.Expr
		want string
	}{
		{sum, "2"},
		{boom, "probe(13)"},
		{p.call(sum), "3"},
		{cond, "(a < 2)"},
		{&expr.Logic{Args: []expr.Expr{isTrue, cond}}, "(a < 2)"},
		{&expr.Logic{Or: true, Args: []expr.Expr{cond, isTrue}}, "true"},
		{&expr.Logic{Args: []expr.Expr{cond, &expr.Not{Arg: isTrue}}}, "false"},
		{&expr.Case{Whens: []expr.When{{Cond: isTrue, Result: colA}}, Else: boom, T: intType}, "a"},
		{&expr.Case{Whens: []expr.When{{Cond: &expr.Not{Arg: isTrue}, Result: boom}, {Cond: cond, Result: colB}}, T: intType}, "CASE WHEN (a < 2) THEN b END"},
		{&expr.Coalesce{Args: []expr.Expr{&expr.Const{Value: vec.Null(intType)}, colA, constInt(1), colB}, T: intType}, "coalesce(a, 1)"},
		{p.call(&expr.Const{Value: vec.Null(intType)}), "NULL"},
		{&expr.Compare{Op: expr.Eq, Left: colA, Right: &expr.Const{Value: vec.Null(intType)}}, "NULL"},
		{&expr.Call{Fn: p.fn(expr.Volatile), Args: []expr.Expr{constInt(1)}, T: intType}, "probe(1)"},
		{&expr.In{Arg: constInt(1), List: []expr.Expr{constInt(2), constInt(1)}}, "true"},
	} {
		got, err := expr.Fold(nil, c.e)
		if err != nil || got.String() != c.want || !got.Type().Equal(c.e.Type()) {
			t.Errorf("%s: %s %s (%v), want %s", c.e, got, got.Type(), err, c.want)
		}
	}
	stable := &expr.Call{Fn: p.fn(expr.Stable), Args: []expr.Expr{constInt(1)}, T: intType}
	if got, _ := expr.Fold(nil, stable); got != stable {
		t.Error("a stable call is folded without a statement")
	}
	if got, _ := expr.Fold(env, stable); got.String() != "2" {
		t.Error("a stable call is not folded with a statement")
	}
}

// TestManyGoroutines runs one program from many goroutines over chunks with
// different dictionaries.
func TestManyGoroutines(t *testing.T) {
	e := &expr.Logic{Or: true, Args: []expr.Expr{
		&expr.In{Arg: colS, List: []expr.Expr{&expr.Const{Value: vec.Text("k1")}, &expr.Const{Value: vec.Text("k3")}}},
		&expr.Compare{Op: expr.Eq, Left: colS, Right: &expr.Const{Value: vec.Text("k5")}},
	}}
	prog := compile(t, e)
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			dict := vec.New(textType, 6)
			for k := range 6 {
				dict.Append(vec.Text(fmt.Sprintf("k%d", (k+g)%6)))
			}
			for range 200 {
				v := &vec.Vector{Type: textType, Encoding: vec.Dictionary, N: 12, Dict: dict}
				for i := range int32(12) {
					v.Codes = append(v.Codes, i%6)
				}
				sel, err := prog.Select(env, &vec.Chunk{Cols: []*vec.Vector{nil, nil, v}, N: 12})
				if err != nil || len(sel) != 6 || v.Value(int(sel[0])).Str[1]%2 != 1 {
					t.Errorf("%v %v", sel, err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// TestEmptyChunks: no rows, or none selected, is an empty answer and no call.
func TestEmptyChunks(t *testing.T) {
	var p probe
	c := five(13, 13, 13, 13, 13)
	c.Sel = []int32{}
	if v, err := compile(t, p.call(colA)).Eval(env, c); err != nil || v.N != 5 {
		t.Error(v, err)
	}
	sel, err := compile(t, &expr.Compare{Op: expr.Eq, Left: colA, Right: constInt(1)}).Select(env, c)
	if err != nil || sel == nil || len(sel) != 0 || p.rows.Load() != 0 {
		t.Error(sel, err, p.rows.Load())
	}
}
