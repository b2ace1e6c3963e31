package functions_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// generator draws typed expressions over the columns of the property test.
type generator struct {
	t    *rapid.T
	refs map[string]*expr.Column
}

// of draws an expression of a type; the deeper, the sooner it ends in a column.
func (g generator) of(ty types.Type, depth int) expr.Expr {
	k := rapid.IntRange(0, 9).Draw(g.t, "node")
	if depth == 0 || k == 0 {
		return g.leaf(ty)
	}
	depth--
	switch k {
	case 1:
		return &expr.Case{Whens: []expr.When{{Cond: g.of(types.Of(types.Boolean), depth), Result: g.of(ty, depth)}}, Else: g.of(ty, depth), T: ty}
	case 2:
		return &expr.Case{Whens: []expr.When{
			{Cond: g.of(types.Of(types.Boolean), depth), Result: g.of(ty, depth)},
			{Cond: g.of(types.Of(types.Boolean), depth), Result: g.of(ty, depth)},
		}, T: ty}
	case 3:
		return &expr.Coalesce{Args: []expr.Expr{g.of(ty, depth), g.of(ty, depth)}, T: ty}
	case 4:
		return call("nullif", []expr.Expr{g.of(ty, depth), g.of(ty, depth)})
	}
	switch ty.Kind {
	case types.Boolean:
		return g.predicate(depth)
	case types.Int32:
		return g.integer(depth)
	case types.Text:
		return g.text(depth)
	}
	return call(rapid.SampledFrom([]string{"+", "-", "*", "/"}).Draw(g.t, "op"), []expr.Expr{g.of(ty, depth), g.of(ty, depth)})
}

func (g generator) leaf(ty types.Type) expr.Expr {
	if rapid.IntRange(0, 2).Draw(g.t, "leaf") == 0 {
		return &expr.Const{Value: drawValue(g.t, ty)}
	}
	var names []string
	for _, n := range columnNames {
		if columnTypes[n].Equal(ty) {
			names = append(names, n)
		}
	}
	return g.refs[rapid.SampledFrom(names).Draw(g.t, "column")]
}

var operandTypes = []types.Type{types.Of(types.Int32), types.Of(types.Text), types.Of(types.Double), types.Of(types.Boolean)}

func (g generator) predicate(depth int) expr.Expr {
	b := types.Of(types.Boolean)
	ty := rapid.SampledFrom(operandTypes).Draw(g.t, "operand")
	switch rapid.IntRange(0, 6).Draw(g.t, "predicate") {
	case 0:
		return &expr.Not{Arg: g.of(b, depth)}
	case 1, 2:
		args := []expr.Expr{g.of(b, depth), g.of(b, depth), g.of(b, depth)}
		return &expr.Logic{Or: rapid.Bool().Draw(g.t, "or"), Args: args[:rapid.IntRange(2, 3).Draw(g.t, "n")]}
	case 3:
		return &expr.IsNull{Arg: g.of(ty, depth), Negate: rapid.Bool().Draw(g.t, "negate")}
	case 4:
		list := []expr.Expr{&expr.Const{Value: drawValue(g.t, ty)}, &expr.Const{Value: drawValue(g.t, ty)}}
		return &expr.In{Arg: g.of(ty, depth), List: list, Negate: rapid.Bool().Draw(g.t, "negate")}
	case 5:
		return call(rapid.SampledFrom([]string{"like", "starts_with", "contains", "ilike"}).Draw(g.t, "match"),
			[]expr.Expr{g.of(types.Of(types.Text), depth), g.of(types.Of(types.Text), depth)})
	}
	op := expr.CompareOp(rapid.IntRange(0, int(expr.NotDistinct)).Draw(g.t, "compare"))
	return &expr.Compare{Op: op, Left: g.of(ty, depth), Right: g.of(ty, depth)}
}

func (g generator) integer(depth int) expr.Expr {
	i := types.Of(types.Int32)
	switch rapid.IntRange(0, 3).Draw(g.t, "integer") {
	case 0:
		return &expr.Cast{Arg: g.of(types.Of(types.Text), depth), To: i, Try: rapid.Bool().Draw(g.t, "try"), Offset: -1}
	case 1:
		return &expr.Cast{Arg: g.of(types.Of(types.Boolean), depth), To: i, Offset: -1}
	case 2:
		return call("abs", []expr.Expr{g.of(i, depth)})
	}
	return call(rapid.SampledFrom([]string{"+", "-", "*", "/", "%"}).Draw(g.t, "op"), []expr.Expr{g.of(i, depth), g.of(i, depth)})
}

func (g generator) text(depth int) expr.Expr {
	s := types.Of(types.Text)
	switch rapid.IntRange(0, 4).Draw(g.t, "text") {
	case 0:
		return &expr.Cast{Arg: g.of(types.Of(types.Int32), depth), To: s, Offset: -1}
	case 1:
		return call("||", []expr.Expr{g.of(s, depth), g.of(s, depth)})
	case 2:
		return call("concat", []expr.Expr{g.of(s, depth), g.of(types.Of(types.Int32), depth)})
	case 3:
		return call("greatest", []expr.Expr{g.of(s, depth), g.of(s, depth)})
	}
	return call(rapid.SampledFrom([]string{"lower", "upper", "reverse", "trim"}).Draw(g.t, "fn"), []expr.Expr{g.of(s, depth)})
}

// TestRandomExpressions compares programs with the row evaluator on random trees,
// for values, errors and selections, and the trees with their folded form.
func TestRandomExpressions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		refs := columnRefs()
		ty := rapid.SampledFrom(operandTypes).Draw(t, "type")
		e := generator{t, refs}.of(ty, rapid.IntRange(1, 4).Draw(t, "depth"))
		t.Log(e)
		checkProgram(t, e, refs)
	})
}

// TestPartitions: a
// row is TRUE under exactly one of p, NOT p, p IS NULL (ternary
// logic partitioning).
func TestPartitions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		refs := columnRefs()
		p := generator{t, refs}.of(types.Of(types.Boolean), 2)
		n := rapid.IntRange(1, 20).Draw(t, "rows")
		c := &vec.Chunk{N: n}
		layout := map[expr.ColumnID]int{}
		for i, name := range columnNames {
			c.Cols = append(c.Cols, drawColumn(t, columnTypes[name], n))
			layout[refs[name].ID] = i
		}
		seen := make([]int, n)
		for _, e := range []expr.Expr{p, &expr.Not{Arg: p}, &expr.IsNull{Arg: p}} {
			prog, err := expr.Compile(e, layout)
			if err != nil {
				t.Fatal(err)
			}
			sel, err := prog.Select(env, c)
			if err != nil {
				return // an error of some row; the other test compares those
			}
			for _, r := range sel {
				seen[r]++
			}
		}
		for r, k := range seen {
			if k != 1 {
				t.Fatalf("%s: row %d is in %d of the three parts", p, r, k)
			}
		}
	})
}
