package functions_test

import (
	"fmt"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"pgregory.net/rapid"

	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/kernel"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// The expressions of the property test; columns are drawn anew for each run.
var templates = []string{
	"$i + $j", "$i - $j", "$i * $j", "$i / $j", "$i % $j", "$i + 1", "1 + $i", "-$i",
	"$l + $i", "$l * $l", "$l / $i", "$f + $f", "$f / $g", "$f * 1e300", "$d + $d", "$d * $d", "$d / $i", "$d - 1.5", "$d % 0.7",
	"$i < $j", "$i = 3", "3 > $i", "$l <= $i", "$f > $g", "$f = 0e0", "$f <> 'NaN'::double", "$s = $t", "$s < $t", "$s = 'b'", "$d >= 1.5", "$b = true",
	"$b and $c", "$b or $c", "not $b", "$b and $i > 2 and $s = 'b'", "$i > 2 or $s like '%b%' or $b",
	"$i <> 0 and 10 / $i > 2", "$i = 0 or 10 / $i > 2", "10 / $i > 2 and $i <> 0",
	"case when $i = 0 then 0 else 10 / $i end", "case when $b then $s when $c then $t end",
	"case when $i > $j then $i when $i < $j then $l else 7 end", "case when $b then 1 / $i end",
	"coalesce_($i, $j, 1 / $i)", "coalesce_($s, $t)", "coalesce_($i, 1 / 0)", "ifnull($d, 1.5)",
	"$i in (1, 2, 3)", "$s in ('a', 'b', null)", "$l in (0, null)", "$f in (1e0, 'NaN'::double)", "$d in (1.5)",
	"$i is null", "$s is not null", "($i + 1) is null", "lower($s)", "upper($s) || $t", "length($s)", "substr($s, $i)", "$s like 'a%'", "$s like $t",
	"$s ~ 'a|b'", "concat($s, $i, $t)", "replace($s, 'b', $t)", "left($s, $i)", "nullif($i, $j)", "greatest($i, $j, $l)", "least($s, $t)",
	"$i::text", "$s::int", "try($s::int)", "$f::int", "$i::boolean", "$d::int", "$d::decimal(3,0)", "$l::int", "$f::text", "$d::double", "$f::decimal(10,2)",
	"$x + $i", "$x - $y", "$x::timestamp + interval '1 month'", "date_trunc('month', $x)", "date_part('year', $x)", "$x < $y",
	"[$i, $j]", "[$i, $j][1]", "array_has([$i, $j], 2)", "[$s] || $t", "cardinality([$i])",
	"abs($i)", "round($d, 1)", "sqrt($f)", "sqrt($f * $f)", "ceil($d)", "power($f, 2)",
	"case when $s = 'a' then 1 / 0 else length($s) end", "case when length($s) > 1 then upper($s) else $s end",
	"coalesce_(try($s::int), -1) > 0 and $s <> 'b'", "$s = 'a' or $s = 'b'", "$s is null or $s = 'b'", "coalesce_($s, 'none') = 'none'", "not ($s = 'a')",
}

var columnTypes = map[string]types.Type{
	"i": types.Of(types.Int32), "j": types.Of(types.Int32), "l": types.Of(types.Int64), "f": types.Of(types.Double), "g": types.Of(types.Double),
	"d": types.DecimalOf(6, 2), "s": types.Of(types.Text), "t": types.Of(types.Text), "b": types.Of(types.Boolean), "c": types.Of(types.Boolean),
	"x": types.Of(types.Date), "y": types.Of(types.Date),
}

var columnNames = []string{"i", "j", "l", "f", "g", "d", "s", "t", "b", "c", "x", "y"}

func columnRefs() map[string]*expr.Column {
	out := map[string]*expr.Column{}
	for i, n := range columnNames {
		out[n] = &expr.Column{ID: expr.ColumnID(i + 100), Name: n, T: columnTypes[n]}
	}
	return out
}

func drawValue(t *rapid.T, ty types.Type) vec.Value {
	v := vec.Value{Type: ty}
	if rapid.IntRange(0, 4).Draw(t, "null") == 0 {
		return vec.Null(ty)
	}
	switch ty.Kind {
	case types.Int32:
		v.Int = int64(rapid.SampledFrom([]int32{0, 1, 2, 3, 7, -1, -2147483648, 2147483647}).Draw(t, "i"))
	case types.Int64:
		v.Int = rapid.SampledFrom([]int64{0, 1, 3, -5, 4294967296, 9223372036854775807, -9223372036854775808}).Draw(t, "l")
	case types.Double:
		v.Float, _ = kernel.ParseDouble(rapid.SampledFrom([]string{"0", "-0", "1", "2.5", "-3", "1e300", "NaN", "Infinity"}).Draw(t, "f"))
	case types.Decimal:
		v.Dec = decimal128.FromI64(rapid.SampledFrom([]int64{0, 150, 70, -1, 999999, -999999}).Draw(t, "d"))
	case types.Text:
		v.Str = rapid.SampledFrom([]string{"", "a", "b", "ab", "7", "héllo", "a long text of many bytes", "a long text of more bytes"}).Draw(t, "s")
	case types.Boolean:
		v.Bool = rapid.Bool().Draw(t, "b")
	case types.Date:
		v.Int = int64(rapid.SampledFrom([]int32{0, 59, 19782, -1, 2147483647}).Draw(t, "x"))
	}
	return v
}

// drawColumn builds a column of n rows in a random encoding; a dictionary may
// hold values that no row has, and NULLs of its own.
func drawColumn(t *rapid.T, ty types.Type, n int) *vec.Vector {
	switch rapid.IntRange(0, 3).Draw(t, "encoding") {
	case 0:
		return vec.Const(ty, drawValue(t, ty), n)
	case 1:
		size := rapid.IntRange(1, 5).Draw(t, "dict")
		v := &vec.Vector{Type: ty, Encoding: vec.Dictionary, N: n, Dict: flatColumn(t, ty, size), Codes: make([]int32, n)}
		for i := range v.Codes {
			v.Codes[i] = int32(rapid.IntRange(0, size-1).Draw(t, "code"))
			if rapid.IntRange(0, 9).Draw(t, "row null") == 0 {
				if v.Valid == nil {
					v.Valid = vec.NewBitmap(n, true)
				}
				v.Valid.Clear(i)
			}
		}
		return v
	}
	return flatColumn(t, ty, n)
}

func flatColumn(t *rapid.T, ty types.Type, n int) *vec.Vector {
	v := vec.New(ty, n)
	for range n {
		v.Append(drawValue(t, ty))
	}
	// Values under NULLs are unspecified: make them nasty.
	for i := range v.Int32s {
		if v.IsNull(i) {
			v.Int32s[i] = -2147483648 * int32(i%2)
		}
	}
	return v
}

func drawSelection(t *rapid.T, n int) []int32 {
	if rapid.IntRange(0, 2).Draw(t, "all") == 0 {
		return nil
	}
	keep := rapid.IntRange(0, 9).Draw(t, "keep")
	sel := []int32{}
	for i := range n {
		if rapid.IntRange(0, 9).Draw(t, "row") <= keep {
			sel = append(sel, int32(i))
		}
	}
	return sel
}

// TestProgramsAgreeWithRows compares programs over random chunks with the row
// evaluator: same values; an error exactly when some selected row has one (for
// AND and OR, when not every order of operands would avoid it).
func TestProgramsAgreeWithRows(t *testing.T) {
	for _, text := range templates {
		refs := columnRefs()
		e, err := parse(text, refs)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		t.Run(text, rapid.MakeCheck(func(rt *rapid.T) { checkProgram(rt, e, refs) }))
	}
}

func checkProgram(t *rapid.T, e expr.Expr, refs map[string]*expr.Column) {
	n := rapid.IntRange(1, 12).Draw(t, "rows")
	c := &vec.Chunk{N: n, Sel: drawSelection(t, n)}
	layout := map[expr.ColumnID]int{}
	for i, name := range columnNames {
		c.Cols = append(c.Cols, drawColumn(t, columnTypes[name], n))
		layout[refs[name].ID] = i
	}
	folded, err := expr.Fold(env, e)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []expr.Expr{e, folded} {
		p, err := expr.Compile(x, layout)
		if err != nil {
			t.Fatal(err)
		}
		compareWithRows(t, p, e, c, layout, x != e)
		compareWithRows(t, p, e, c, layout, x != e) // again, with dictionaries remembered
	}
}

func compareWithRows(t *rapid.T, p *expr.Program, e expr.Expr, c *vec.Chunk, layout map[expr.ColumnID]int, folded bool) {
	want := map[int]vec.Value{}
	var wantErr error
	for k := range c.Rows() {
		r := c.RowAt(k)
		v, err := expr.EvalRow(env, e, func(id expr.ColumnID) (vec.Value, bool) { return c.Cols[layout[id]].Value(r), true })
		if err != nil {
			wantErr = err
			continue
		}
		want[r] = v
	}
	got, err := p.Eval(env, c)
	if !sameOutcome(err, wantErr, e, folded) {
		t.Fatalf("program: %v, rows: %v", err, wantErr)
	}
	if err == nil {
		for r, w := range want {
			if g := got.Value(r); !sameValue(g, w) {
				t.Fatalf("row %d: program %s, row evaluator %s", r, g, w)
			}
		}
	}
	if e.Type().Kind == types.Boolean {
		compareSelection(t, p, c, want, wantErr, e, folded)
	}
}

func compareSelection(t *rapid.T, p *expr.Program, c *vec.Chunk, want map[int]vec.Value, wantErr error, e expr.Expr, folded bool) {
	sel, err := p.Select(env, c)
	if !sameOutcome(err, wantErr, e, folded) {
		t.Fatalf("select: %v, rows: %v", err, wantErr)
	}
	if err != nil || wantErr != nil {
		return
	}
	var list []int32
	for k := range c.Rows() {
		if r := c.RowAt(k); !want[r].Null && want[r].Bool {
			list = append(list, int32(r))
		}
	}
	if fmt.Sprint(sel) != fmt.Sprint(list) {
		t.Fatalf("select %v, rows say %v", sel, list)
	}
}

// sameOutcome: the program fails if the rows do. It may also succeed where AND
// and OR put a cheap operand first, and where folding made a NULL of a call with
// a NULL argument, whose other arguments then do not matter.
func sameOutcome(got, want error, e expr.Expr, folded bool) bool {
	if got == nil && want != nil {
		reordered := folded
		expr.Walk(e, func(x expr.Expr) bool {
			_, is := x.(*expr.Logic)
			reordered = reordered || is
			return true
		})
		return reordered
	}
	return (got == nil) == (want == nil) && (got == nil || !fail.Is(got, fail.Internal))
}

func sameValue(a, b vec.Value) bool {
	if a.Null || b.Null {
		return a.Null && b.Null
	}
	return a.String() == b.String() || kernel.CompareBoxed(a, b) == 0
}
