package deparse_test

import (
	"flag"
	"os"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/loamdb/loam/planner/internal/ast"
	"github.com/loamdb/loam/planner/internal/deparse"
	"github.com/loamdb/loam/planner/internal/parser"
)

// TestRandomExpressions: a random tree, printed and parsed, is the same tree.
// It holds the parser's precedences against the printer's parentheses.
func TestRandomExpressions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := genExpr(t, rapid.IntRange(0, 3).Draw(t, "depth"))
		text := deparse.Expr(want)
		got, err := parser.ParseExpr(text)
		if err != nil {
			t.Fatalf("%s\n%v\n%s", text, err, ast.Dump(want))
		}
		if !ast.Equal(got, want) {
			t.Fatalf("%s\nis read as\n%s\nwant\n%s\ngot\n%s", text, deparse.Expr(got), ast.Dump(want), ast.Dump(got))
		}
	})
}

// TestMain keeps rapid from writing files: a failure prints its seed.
func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("rapid.nofailfile", "true"); err != nil {
		os.Exit(2)
	}
	os.Exit(m.Run())
}

// TestParenthesesAreNeeded: for random trees, no pair of parentheses in the
// text can be left out, but for those around NOT. It blanks each pair and
// demands another tree, or an error.
func TestParenthesesAreNeeded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := genOperators(t, rapid.IntRange(0, 5).Draw(t, "depth"))
		text := deparse.Expr(want)
		var open []int
		for i := range len(text) {
			switch text[i] {
			case '(':
				open = append(open, i)
			case ')':
				from := open[len(open)-1]
				open = open[:len(open)-1]
				if strings.HasPrefix(text[from:], "(NOT ") {
					continue // an operand may be NOT without parentheses, but nobody could read it
				}
				bare := []byte(text)
				bare[from], bare[i] = ' ', ' '
				if got, err := parser.ParseExpr(string(bare)); err == nil && ast.Equal(got, want) {
					t.Fatalf("%s\nmeans the same as\n%s", text, bare)
				}
			}
		}
	})
}

// TestRandomQueries: the same for whole queries.
func TestRandomQueries(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := genQuery(t, rapid.IntRange(0, 3).Draw(t, "depth"))
		text := deparse.Statement(want)
		got, err := parser.ParseOne(text)
		if err != nil {
			t.Fatalf("%s\n%v\n%s", text, err, ast.Dump(want))
		}
		if !ast.Equal(got, want) {
			t.Fatalf("%s\nwant\n%s\ngot\n%s", text, ast.Dump(want), ast.Dump(got))
		}
	})
}

var binaryOps = []ast.Op{ast.OpEq, ast.OpNe, ast.OpLt, ast.OpLe, ast.OpGt, ast.OpGe, ast.OpDistinct, ast.OpNotDistinct,
	ast.OpAdd, ast.OpSub, ast.OpMul, ast.OpDiv, ast.OpIntDiv, ast.OpMod, ast.OpPow, ast.OpConcat, ast.OpBitAnd,
	ast.OpBitOr, ast.OpBitXor, ast.OpShiftLeft, ast.OpShiftRight, ast.OpRegex, ast.OpRegexI, ast.OpNotRegex,
	ast.OpNotRegexI, ast.OpContains, ast.OpContained, ast.OpOverlap, ast.OpArrow, ast.OpArrowText, ast.OpHashArrow,
	ast.OpHashArrowT, ast.OpL2Distance, ast.OpCosineDistance, ast.OpInnerProduct}

func pick[T any](t *rapid.T, items []T) T {
	return items[rapid.IntRange(0, len(items)-1).Draw(t, "pick")]
}

func flip(t *rapid.T) bool { return rapid.Bool().Draw(t, "flip") }

func genIdent(t *rapid.T) ast.Ident {
	return pick(t, []ast.Ident{{Text: "a"}, {Text: "key"}, {Text: "date"}, {Text: "Filter"}, {Text: "interval"},
		{Text: "größe"}, {Text: "a b", Quoted: true}, {Text: `q"q`, Quoted: true}, {Text: "select", Quoted: true}})
}

func genColumn(t *rapid.T) ast.Expr {
	c := &ast.ColumnRef{Parts: []ast.Ident{genIdent(t)}}
	for range rapid.IntRange(0, 2).Draw(t, "parts") {
		c.Parts = append(c.Parts, genIdent(t))
	}
	return c
}

func genLeaf(t *rapid.T) ast.Expr {
	leaves := []func() ast.Expr{
		func() ast.Expr { return genColumn(t) },
		func() ast.Expr { return &ast.NullLit{} },
		func() ast.Expr { return &ast.BoolLit{Value: flip(t)} },
		func() ast.Expr { return &ast.NumberLit{Text: pick(t, []string{"1", "0.50", "1e-3", ".5", "5."})} },
		func() ast.Expr { return &ast.StringLit{Value: pick(t, []string{"", "it's", `a\n`, "é", "--", "$$"})} },
		func() ast.Expr { return &ast.BytesLit{Value: []byte{0, 255}} },
		func() ast.Expr { return &ast.Param{Index: rapid.IntRange(1, 9).Draw(t, "param")} },
		func() ast.Expr { return &ast.Param{Name: "p"} },
		func() ast.Expr { return &ast.TypedLit{Type: genType(t, 0), Value: "x"} },
		func() ast.Expr { return &ast.IntervalLit{Value: &ast.StringLit{Value: "1 day"}} },
		func() ast.Expr { return &ast.IntervalLit{Value: &ast.NumberLit{Text: "2"}, Unit: "DAY"} },
		func() ast.Expr {
			return &ast.IntervalLit{Value: &ast.StringLit{Value: "1-2"}, Unit: "YEAR", ToUnit: "MONTH"}
		},
	}
	return pick(t, leaves)()
}

// genType draws a type; at depth 0 one that may stand before a string.
func genType(t *rapid.T, depth int) *ast.TypeName {
	if depth == 0 {
		return pick(t, []*ast.TypeName{{Name: "DATE"}, {Name: "TIMESTAMP", Mods: []int64{3}},
			{Name: "TIMESTAMP WITH TIME ZONE"}, {Name: "TIME WITH TIME ZONE", Mods: []int64{6}}, {Name: "JSON"}})
	}
	switch rapid.IntRange(0, 4).Draw(t, "type") {
	case 0:
		return &ast.TypeName{Name: "ARRAY", Elem: genType(t, depth-1), Size: int64(rapid.IntRange(0, 3).Draw(t, "size"))}
	case 1:
		return &ast.TypeName{Name: "MAP", Key: genType(t, depth-1), Value: genType(t, depth-1)}
	case 2:
		return &ast.TypeName{Name: "STRUCT", Fields: []*ast.TypeField{{Name: genIdent(t), Type: genType(t, depth-1)}}}
	default:
		return pick(t, []*ast.TypeName{{Name: "BIGINT UNSIGNED"}, {Name: "DOUBLE PRECISION"}, {Name: "SPARSE VECTOR"},
			{Name: "DECIMAL", Mods: []int64{12, 2}}, {Name: "INTERVAL DAY TO SECOND"}, {Name: "VECTOR", Mods: []int64{3}}})
	}
}

func genList(t *rapid.T, depth, least int) []ast.Expr {
	var out []ast.Expr
	for range rapid.IntRange(least, least+2).Draw(t, "n") {
		out = append(out, genExpr(t, depth))
	}
	return out
}

// genOperators draws trees of operators over columns, where every pair of
// parentheses must count.
func genOperators(t *rapid.T, depth int) ast.Expr {
	if depth == 0 {
		return &ast.ColumnRef{Parts: []ast.Ident{{Text: pick(t, []string{"a", "b", "c"})}}}
	}
	switch e := genOperator(t, depth, genOperators).(type) {
	case *ast.Is: // what follows a value needs no parentheses to follow another such
		return e.X
	case *ast.Collate:
		return e.X
	default:
		return e
	}
}

func genOperator(t *rapid.T, depth int, gen func(*rapid.T, int) ast.Expr) ast.Expr {
	sub := func() ast.Expr { return gen(t, depth-1) }
	switch rapid.IntRange(0, 9).Draw(t, "operator") {
	case 0, 1:
		op := pick(t, []ast.Op{ast.OpAnd, ast.OpOr})
		l := &ast.Logic{Op: op}
		for range rapid.IntRange(2, 3).Draw(t, "n") {
			if arg, ok := sub().(*ast.Logic); ok && arg.Op == op {
				l.Args = append(l.Args, arg.Args...)
			} else if ok {
				l.Args = append(l.Args, arg)
			} else {
				l.Args = append(l.Args, sub2(t, depth, gen, op))
			}
		}
		return l
	case 2:
		return &ast.Unary{Op: pick(t, []ast.Op{ast.OpNot, ast.OpNeg, ast.OpPlus, ast.OpBitNot}), X: sub()}
	case 3:
		return &ast.Is{X: sub(), Not: flip(t), What: pick(t, []ast.Truth{ast.IsNull, ast.IsTrue, ast.IsFalse, ast.IsUnknown})}
	case 4:
		return &ast.Between{X: sub(), Not: flip(t), Symmetric: flip(t), Lo: sub(), Hi: sub()}
	case 5:
		l := &ast.Like{X: sub(), Not: flip(t), Kind: pick(t, []ast.LikeKind{ast.LikeCase, ast.LikeNoCase, ast.SimilarTo}), Pattern: sub()}
		if flip(t) {
			l.Escape = sub()
		}
		return l
	case 6:
		return pick(t, []func() ast.Expr{
			func() ast.Expr { return &ast.Collate{X: sub(), Collation: ast.Name{Parts: []ast.Ident{{Text: "c"}}}} },
			func() ast.Expr { return &ast.AtTimeZone{X: sub(), Zone: sub()} },
		})()
	default:
		return &ast.Binary{Op: pick(t, binaryOps), L: sub(), R: sub()}
	}
}

// sub2 draws an argument of AND or OR that is not the same operator.
func sub2(t *rapid.T, depth int, gen func(*rapid.T, int) ast.Expr, op ast.Op) ast.Expr {
	e := gen(t, depth-1)
	if l, ok := e.(*ast.Logic); ok && l.Op == op {
		return &ast.Unary{Op: ast.OpNot, X: e}
	}
	return e
}

func genExpr(t *rapid.T, depth int) ast.Expr {
	if depth == 0 {
		return genLeaf(t)
	}
	if rapid.IntRange(0, 2).Draw(t, "kind") > 0 {
		return genOperator(t, depth, genExpr)
	}
	sub := func() ast.Expr { return genExpr(t, depth-1) }
	query := func() *ast.Query { return genQuery(t, min(depth-1, 1)) }
	forms := []func() ast.Expr{
		func() ast.Expr {
			in := &ast.InList{X: sub(), Not: flip(t), List: genList(t, depth-1, 1)}
			if len(in.List) == 1 {
				in.List[0] = notQuery(in.List[0])
			}
			return in
		},
		func() ast.Expr { return &ast.InQuery{X: sub(), Not: flip(t), Query: query()} },
		func() ast.Expr { return &ast.Exists{Query: query()} },
		func() ast.Expr { return &ast.Subquery{Query: query()} },
		func() ast.Expr { return &ast.ArrayQuery{Query: query()} },
		func() ast.Expr {
			return &ast.Quantified{X: sub(), Op: pick(t, binaryOps[:6]), All: flip(t), Query: query()}
		},
		func() ast.Expr {
			return &ast.Quantified{X: sub(), Op: pick(t, []ast.Op{ast.OpEq, ast.OpRegex, ast.OpAdd}), Array: notQuery(sub())}
		},
		func() ast.Expr { return genCase(t, depth) },
		func() ast.Expr { return &ast.Cast{X: sub(), Type: genType(t, 2), Try: flip(t)} },
		func() ast.Expr { return &ast.Extract{Field: pick(t, []string{"YEAR", "A B", "EPOCH"}), X: sub()} },
		func() ast.Expr { return genCall(t, depth) },
		func() ast.Expr { return &ast.ArrayLit{Elems: genList(t, depth-1, 0)} },
		func() ast.Expr { return &ast.Row{Elems: genList(t, depth-1, 0)} },
		func() ast.Expr {
			return &ast.StructLit{Fields: []*ast.StructField{{Name: genIdent(t), Value: sub()}, {Name: genIdent(t), Value: sub()}}}
		},
		func() ast.Expr { return &ast.MapLit{Entries: []*ast.MapEntry{{Key: sub(), Value: sub()}}} },
		func() ast.Expr { return &ast.Subscript{X: sub(), Index: sub()} },
		func() ast.Expr { return genSlice(t, depth) },
		func() ast.Expr { return &ast.Field{X: sub(), Name: genIdent(t)} },
		func() ast.Expr { return &ast.Lambda{Params: []ast.Ident{{Text: "x"}, {Text: "y"}}, Body: sub()} },
		func() ast.Expr { return &ast.IntervalLit{Value: sub(), Unit: "HOUR"} },
	}
	return pick(t, forms)()
}

// notQuery keeps = ANY ((SELECT …)) and IN ((SELECT …)), which hold a query,
// apart from an array and a list that hold a subquery.
func notQuery(e ast.Expr) ast.Expr {
	if _, ok := e.(*ast.Subquery); ok {
		return &ast.ArrayLit{Elems: []ast.Expr{e}}
	}
	return e
}

func genCase(t *rapid.T, depth int) ast.Expr {
	c := &ast.Case{Whens: []*ast.When{{Cond: genExpr(t, depth-1), Result: genExpr(t, depth-1)}}}
	if flip(t) {
		c.Operand = genExpr(t, depth-1)
	}
	if flip(t) {
		c.Else = genExpr(t, depth-1)
	}
	return c
}

func genSlice(t *rapid.T, depth int) ast.Expr {
	s := &ast.Slice{X: genExpr(t, depth-1)}
	if flip(t) {
		s.Lo = genExpr(t, depth-1)
	}
	if flip(t) {
		s.Hi = genExpr(t, depth-1)
	}
	return s
}

func genCall(t *rapid.T, depth int) ast.Expr {
	c := &ast.FuncCall{Name: ast.Name{Parts: []ast.Ident{{Text: pick(t, []string{"f", "count", "left", "position"})}}}}
	if c.Name.Last().Text == "position" { // its arguments are plain
		c.Args = []*ast.Arg{{Value: genExpr(t, depth-1)}, {Value: genExpr(t, depth-1)}}
		return c
	}
	c.Distinct = flip(t)
	c.Args = append(c.Args, &ast.Arg{Value: genExpr(t, depth-1)})
	switch rapid.IntRange(0, 5).Draw(t, "clause") {
	case 0:
		c.Args = append(c.Args, &ast.Arg{Name: genIdent(t), Value: genExpr(t, depth-1)}, &ast.Arg{Value: &ast.Star{}})
	case 1:
		c.OrderBy = []*ast.OrderItem{genOrder(t, depth)}
	case 2:
		c.WithinGroup = []*ast.OrderItem{genOrder(t, depth)}
	case 3:
		c.Filter = genExpr(t, depth-1)
	case 4:
		c.Over = genWindow(t, depth)
		c.Nulls = pick(t, []ast.NullTreatment{ast.NullsUnsaid, ast.RespectNulls, ast.IgnoreNulls})
	}
	return c
}

func genOrder(t *rapid.T, depth int) *ast.OrderItem {
	return &ast.OrderItem{Expr: genExpr(t, depth-1), Desc: flip(t),
		Nulls: pick(t, []ast.NullOrder{ast.NullsDefault, ast.NullsFirst, ast.NullsLast})}
}

func genWindow(t *rapid.T, depth int) *ast.Window {
	if flip(t) {
		return &ast.Window{Ref: ast.Ident{Text: "w"}}
	}
	w := &ast.Window{}
	if flip(t) {
		w.Base = ast.Ident{Text: "w"}
	}
	if flip(t) {
		w.PartitionBy = genList(t, depth-1, 1)
	}
	if flip(t) {
		w.OrderBy = []*ast.OrderItem{genOrder(t, depth)}
	}
	if flip(t) {
		w.Frame = &ast.Frame{Unit: pick(t, []ast.FrameUnit{ast.FrameRows, ast.FrameRange, ast.FrameGroups}),
			Lo: &ast.Bound{Kind: ast.Preceding, Offset: genExpr(t, depth-1)}, Hi: &ast.Bound{Kind: ast.UnboundedFollowing},
			Exclude: pick(t, []ast.FrameExclude{ast.ExcludeNothing, ast.ExcludeGroup, ast.ExcludeTies, ast.ExcludeCurrentRow})}
	}
	return w
}

func genQuery(t *rapid.T, depth int) *ast.Query {
	q := &ast.Query{Body: genBody(t, depth)}
	if flip(t) {
		q.OrderBy = []*ast.OrderItem{genOrder(t, 1)}
	}
	if flip(t) {
		q.Limit = genExpr(t, 1)
		if _, null := q.Limit.(*ast.NullLit); null {
			q.Limit = &ast.NumberLit{Text: "3"}
		}
		q.WithTies = flip(t)
	}
	if flip(t) {
		q.Offset = genExpr(t, 0)
	}
	if rapid.IntRange(0, 4).Draw(t, "with") == 0 && depth > 0 {
		q.With = &ast.With{Recursive: flip(t), Tables: []*ast.CTE{{Name: genIdent(t), Query: genQuery(t, depth-1)}}}
	}
	if inner, ok := q.Body.(*ast.Query); ok && q.With == nil && q.OrderBy == nil && q.Limit == nil && q.Offset == nil {
		return inner
	}
	return q
}

func genBody(t *rapid.T, depth int) ast.QueryBody {
	if depth > 0 {
		switch rapid.IntRange(0, 3).Draw(t, "body") {
		case 0:
			return &ast.SetOp{Op: pick(t, []ast.SetOpKind{ast.Union, ast.Intersect, ast.Except}), All: flip(t),
				ByName: flip(t), Left: genBody(t, depth-1), Right: genBody(t, depth-1)}
		case 1:
			q := genQuery(t, depth-1)
			if q.OrderBy == nil && q.Limit == nil && q.Offset == nil && q.With == nil {
				return q.Body
			}
			return q
		case 2:
			return &ast.Values{Rows: []*ast.Row{{Elems: genList(t, 1, 1)}}}
		}
	}
	s := &ast.Select{Distinct: flip(t)}
	for range rapid.IntRange(0, 2).Draw(t, "items") {
		s.Items = append(s.Items, &ast.SelectItem{Expr: genExpr(t, 1), Alias: pick(t, []ast.Ident{{}, {Text: "where"}, genIdent(t)})})
	}
	for range rapid.IntRange(0, 2).Draw(t, "from") {
		s.From = append(s.From, genTable(t, depth+1))
	}
	if flip(t) {
		s.Where = genExpr(t, 2)
	}
	return s
}

func genTable(t *rapid.T, depth int) ast.TableRef {
	alias := &ast.Alias{Name: genIdent(t)}
	if flip(t) {
		alias = nil
	} else if flip(t) {
		alias.Columns = []ast.Ident{genIdent(t)}
	}
	switch k := rapid.IntRange(0, 4).Draw(t, "table"); {
	case k == 0 && depth > 0:
		return &ast.Derived{Query: genQuery(t, depth-1), Lateral: flip(t), Alias: alias}
	case k == 1 && depth > 0:
		j := &ast.Join{Left: genTable(t, depth-1), Right: genTable(t, depth-1), Alias: alias, Kind: pick(t, []ast.JoinKind{
			ast.JoinInner, ast.JoinLeft, ast.JoinRight, ast.JoinFull, ast.JoinCross, ast.JoinLeftSemi, ast.JoinRightAnti})}
		switch {
		case j.Kind == ast.JoinCross:
		case flip(t):
			j.On = genExpr(t, 1)
		case flip(t):
			j.Using = []ast.Ident{genIdent(t)}
		default:
			j.Natural = true
		}
		return j
	case k == 2:
		call := &ast.FuncCall{Name: ast.Name{Parts: []ast.Ident{{Text: "f"}}}}
		for _, e := range genList(t, 2, 0) {
			arg := &ast.Arg{Value: e}
			if flip(t) {
				arg.At = genAt(t)
			}
			call.Args = append(call.Args, arg)
		}
		return &ast.TableFunc{Call: call, Lateral: flip(t), Alias: alias}
	}
	name := &ast.TableName{Name: ast.Name{Parts: []ast.Ident{genIdent(t)}}, Alias: alias}
	if flip(t) {
		name.At = genAt(t)
	}
	return name
}

func genAt(t *rapid.T) *ast.At {
	return &ast.At{Kind: pick(t, []ast.AtKind{ast.AtVersion, ast.AtTag, ast.AtToken, ast.AtTimestamp}), Value: genExpr(t, 1)}
}
