package functions_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

var env = &expr.Env{
	Ctx: context.Background(), Now: time.Date(2024, 2, 29, 13, 14, 15, 678_901_000, time.UTC),
	Namespace: "public", User: "ada", Random: func() uint64 { return 1 << 63 },
}

// TestTables runs "expression → result" lines. A result is "value : TYPE", or
// "! SQLSTATE part of the message". Each line is computed by the row evaluator,
// by folding, and by a program over chunks.
func TestTables(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no test files", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) { runFile(t, file) })
	}
}

func runFile(t *testing.T, file string) {
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	scan := bufio.NewScanner(f)
	for line := 1; scan.Scan(); line++ {
		text := strings.TrimSpace(scan.Text())
		if text == "" || text[0] == '#' {
			continue
		}
		in, want, ok := strings.Cut(text, " → ")
		if !ok {
			t.Errorf("%s:%d: no arrow", file, line)
			continue
		}
		in, want = strings.TrimSpace(in), strings.TrimSpace(want)
		in, dense := strings.CutPrefix(in, "~ ")
		e, err := parse(in, nil)
		if err != nil {
			if got := show(vec.Value{}, err); !matches(got, want) {
				t.Errorf("%s:%d: %s\n got  %s\n want %s", file, line, in, got, want)
			}
			continue
		}
		for how, run := range ways {
			v, err := run(e, dense)
			if got := show(v, err); !matches(got, want) {
				t.Errorf("%s:%d: %s (%s)\n got  %s\n want %s", file, line, in, how, got, want)
			}
		}
	}
}

func show(v vec.Value, err error) string {
	if err != nil {
		return "! " + fail.CodeOf(err).SQLState() + " " + err.Error()
	}
	return v.String() + " : " + v.Type.String()
}

// matches compares; an expected error may name a part of the message only.
func matches(got, want string) bool {
	if !strings.HasPrefix(want, "! ") {
		return strings.TrimSpace(got) == want
	}
	state, part, _ := strings.Cut(want[2:], " ")
	return strings.HasPrefix(got, "! "+state) && strings.Contains(got, part)
}

var ways = map[string]func(e expr.Expr, dense bool) (vec.Value, error){
	"row": func(e expr.Expr, _ bool) (vec.Value, error) { return typed(e, first(expr.EvalConst(env, e))) },
	"fold": func(e expr.Expr, _ bool) (vec.Value, error) {
		f, err := expr.Fold(env, e)
		if err != nil {
			return vec.Value{}, err
		}
		if !f.Type().Equal(e.Type()) {
			return vec.Value{}, fmt.Errorf("folding changed %s to %s", e.Type(), f.Type())
		}
		return typed(e, first(expr.EvalConst(env, f)))
	},
	"flat": func(e expr.Expr, dense bool) (vec.Value, error) { return overChunk(e, dense, vec.Flat, nil) },
	"few":  func(e expr.Expr, dense bool) (vec.Value, error) { return overChunk(e, dense, vec.Flat, []int32{1}) },
	"most": func(e expr.Expr, dense bool) (vec.Value, error) {
		return overChunk(e, dense, vec.Flat, []int32{1, 2, 3})
	},
	"dict":    func(e expr.Expr, dense bool) (vec.Value, error) { return overChunk(e, dense, vec.Dictionary, nil) },
	"literal": overLiterals,
}

type outcome struct {
	v   vec.Value
	err error
}

func first(v vec.Value, err error) outcome { return outcome{v, err} }

func typed(e expr.Expr, o outcome) (vec.Value, error) {
	if o.err == nil && !o.v.Type.Equal(e.Type()) && !o.v.Null {
		return o.v, fmt.Errorf("a %s where %s was promised", o.v.Type, e.Type())
	}
	o.v.Type = e.Type()
	return o.v, o.err
}

// overLiterals runs a program of the expression as it is, literals and all.
func overLiterals(e expr.Expr, _ bool) (vec.Value, error) {
	p, err := expr.Compile(e, nil)
	if err != nil {
		return vec.Value{}, err
	}
	v, err := p.Eval(env, &vec.Chunk{N: 3})
	if err != nil {
		return vec.Value{}, err
	}
	return v.Value(2), nil
}

// overChunk turns each literal into a column. Row 1 holds the literals; row 0 is
// NULL (the literal with dense, written as "~ " before a line, for expressions
// that refuse NULLs) and must not disturb it.
func overChunk(e expr.Expr, dense bool, enc vec.Encoding, sel []int32) (vec.Value, error) {
	layout := map[expr.ColumnID]int{}
	c := &vec.Chunk{N: 4, Sel: sel}
	e = expr.Rewrite(e, func(x expr.Expr) expr.Expr {
		k, ok := x.(*expr.Const)
		if !ok {
			return x
		}
		id := expr.ColumnID(len(c.Cols) + 7)
		layout[id] = len(c.Cols)
		c.Cols = append(c.Cols, column(k.Value, dense, enc))
		return &expr.Column{ID: id, Name: "c", T: k.Value.Type}
	})
	p, err := expr.Compile(e, layout)
	if err != nil {
		return vec.Value{}, err
	}
	v, err := p.Eval(env, c)
	if err != nil {
		return vec.Value{}, err
	}
	if v.N != c.N || !v.Type.Equal(e.Type()) {
		return vec.Value{}, fmt.Errorf("%d rows of %s, want %d of %s", v.N, v.Type, c.N, e.Type())
	}
	return v.Value(1), nil
}

func column(val vec.Value, dense bool, enc vec.Encoding) *vec.Vector {
	flat := vec.New(val.Type, 4)
	if dense {
		flat.Append(val)
	} else {
		flat.Append(vec.Null(val.Type))
	}
	flat.Append(val)
	if enc == vec.Dictionary {
		return &vec.Vector{Type: val.Type, Encoding: enc, N: 4, Dict: flat, Codes: []int32{0, 1, 1, 1}}
	}
	flat.Append(val)
	flat.Append(val)
	return flat
}

func TestResolution(t *testing.T) {
	for _, c := range []struct {
		name string
		args []types.Type
		want string
	}{
		{"+", ts(types.Int32, types.Int64), "+(BIGINT, BIGINT) BIGINT"},
		{"+", ts(types.Int32, types.Double), "+(DOUBLE, DOUBLE) DOUBLE"},
		{"+", ts(types.Date, types.Unknown), "+(DATE, INTERVAL) TIMESTAMP"},
		{"-", ts(types.Timestamp, types.Unknown), "-(TIMESTAMP, TIMESTAMP) INTERVAL"},
		{"*", ts(types.Unknown, types.Int64), "*(BIGINT, BIGINT) BIGINT"},
		{"ROUND", ts(types.Int32, types.Int32), "round(DECIMAL(10,0), BIGINT) DECIMAL(10,0)"},
		{"concat", ts(types.Int32, types.Unknown), "concat(TEXT, TEXT) TEXT"},
		{"lower", ts(types.JSON), "lower(TEXT) TEXT"},
	} {
		r, err := registry.Scalar(c.name, c.args)
		if err != nil {
			t.Errorf("%s%v: %v", c.name, c.args, err)
			continue
		}
		var ps []string
		for _, p := range r.Params {
			ps = append(ps, p.String())
		}
		if got := fmt.Sprintf("%s(%s) %s", r.Scalar.Name, strings.Join(ps, ", "), r.Ret); got != c.want {
			t.Errorf("%s%v: %s, want %s", c.name, c.args, got, c.want)
		}
	}
}

func ts(kinds ...types.Kind) []types.Type {
	out := make([]types.Type, len(kinds))
	for i, k := range kinds {
		out[i] = types.Of(k)
	}
	return out
}

func TestResolutionErrors(t *testing.T) {
	for _, c := range []struct {
		name string
		args []types.Type
		want string
	}{
		{"lowr", ts(types.Text), "Did you mean lower?"},
		{"zzzzzz", nil, "SHOW FUNCTIONS"},
		{"lower", ts(types.Int32), "lower(TEXT) → TEXT"},
		{"sum", ts(types.Int32), "used in the wrong place"},
		{"l2_distance", []types.Type{types.VectorOf(3), types.VectorOf(4)}, "3 and 4 dimensions"},
		{"greatest", []types.Type{types.VectorOf(3)}, "no order"},
	} {
		_, err := registry.Scalar(c.name, c.args)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want …%s…", c.name, err, c.want)
		}
	}
	if _, err := registry.Aggregate("sum", ts(types.Text)); !fail.Is(err, fail.UndefinedFunction) {
		t.Errorf("sum(TEXT): %v", err)
	}
}

// TestNames checks that help, names and kinds are there for SHOW FUNCTIONS.
func TestNames(t *testing.T) {
	names := registry.Names()
	for i, h := range names {
		if h.Help == "" || h.Signature == "" || h.Kind == "" {
			t.Errorf("%s has no help, signature or kind", h.Name)
		}
		if i > 0 && names[i-1].Name > h.Name {
			t.Errorf("%s before %s", names[i-1].Name, h.Name)
		}
	}
	if !registry.IsAggregate("SUM") || registry.IsAggregate("lower") {
		t.Error("IsAggregate")
	}
}
