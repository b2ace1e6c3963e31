package ast_test

import (
	goast "go/ast"
	goparser "go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/loamdb/loam/planner/internal/ast"
	"github.com/loamdb/loam/planner/internal/parser"
)

// corpus is the parser's set of accepted statements.
func corpus(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("../parser/testdata/corpus/*.sql")
	if err != nil || len(files) == 0 {
		t.Fatalf("no corpus: %v", err)
	}
	var out []string
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, strings.Split(string(text), "\n\n")...)
	}
	return out
}

func parse(t *testing.T, sql string) ast.Statement {
	t.Helper()
	s, err := parser.ParseOne(sql)
	if err != nil {
		t.Fatalf("%s\n%v", sql, err)
	}
	return s
}

var nodeType = reflect.TypeFor[ast.Node]()

// fieldChildren finds the children of a node by reflection: every field that
// holds a node or a list of nodes.
func fieldChildren(n ast.Node) []ast.Node {
	var out []ast.Node
	v := reflect.ValueOf(n).Elem()
	for i := range v.NumField() {
		f := v.Field(i)
		if !v.Type().Field(i).IsExported() {
			continue
		}
		switch {
		case f.Kind() == reflect.Slice && f.Type().Elem().Implements(nodeType):
			for j := range f.Len() {
				out = append(out, f.Index(j).Interface().(ast.Node))
			}
		case f.Type().Implements(nodeType) && (f.Kind() == reflect.Pointer || f.Kind() == reflect.Interface) && !f.IsNil():
			out = append(out, f.Interface().(ast.Node))
		}
	}
	return out
}

// TestWalkVisitsEveryField: the hand-written children of every node are those
// that reflection finds, and the corpus shows every type of node.
func TestWalkVisitsEveryField(t *testing.T) {
	seen := map[string]bool{}
	for _, sql := range corpus(t) {
		ast.Inspect(parse(t, sql), func(n ast.Node) bool {
			seen[reflect.TypeOf(n).Elem().Name()] = true
			want := map[ast.Node]bool{}
			for _, c := range fieldChildren(n) {
				want[c] = true
			}
			ast.Children(n, func(c ast.Node) {
				if !want[c] {
					t.Errorf("%T: unexpected or repeated child %T", n, c)
				}
				delete(want, c)
			})
			for c := range want {
				t.Errorf("%s\n%T: child %T is not visited", sql, n, c)
			}
			return true
		})
	}
	for _, name := range nodeTypes(t) {
		if !seen[name] {
			t.Errorf("the corpus has no %s", name)
		}
	}
}

// nodeTypes lists the types of this package that have a children method.
func nodeTypes(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, name := range files {
		file, err := goparser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			f, ok := d.(*goast.FuncDecl)
			if !ok || f.Name.Name != "children" || f.Recv == nil {
				continue
			}
			star := f.Recv.List[0].Type.(*goast.StarExpr)
			out = append(out, star.X.(*goast.Ident).Name)
		}
	}
	if len(out) < 80 {
		t.Fatalf("found only %d node types", len(out))
	}
	return out
}

// TestEqualSeesEveryField: two parses of one text are equal whatever blanks
// stand before it, and a change of any field that is no place makes them differ.
func TestEqualSeesEveryField(t *testing.T) {
	changes := 0
	for _, sql := range corpus(t) {
		one, two := parse(t, sql), parse(t, "  "+sql+"\n")
		if !ast.Equal(one, two) || !ast.Equal(two, one) {
			t.Fatalf("%s: not equal to itself", sql)
		}
		ast.Inspect(two, func(n ast.Node) bool {
			mutate(reflect.ValueOf(n).Elem(), func(what string) {
				changes++
				if ast.Equal(one, two) {
					t.Errorf("%s\n%T: a change of %s is not seen", sql, n, what)
				}
			})
			return true
		})
		if !ast.Equal(one, two) {
			t.Fatalf("%s: the changes were not undone", sql)
		}
	}
	if changes < 5000 {
		t.Errorf("only %d changes tried", changes)
	}
}

// mutate changes each plain field below v in turn, calls check and undoes it. It
// does not follow nodes, which have their own turn.
func mutate(v reflect.Value, check func(what string)) {
	for i := range v.NumField() {
		f, field := v.Field(i), v.Type().Field(i)
		if field.Type == reflect.TypeFor[ast.Span]() || field.Tag.Get("ast") == "pos" {
			continue
		}
		mutateValue(f, field.Name, check)
	}
}

func mutateValue(f reflect.Value, name string, check func(what string)) {
	old := reflect.ValueOf(f.Interface())
	set := func(v any) {
		f.Set(reflect.ValueOf(v).Convert(f.Type()))
		check(name)
		f.Set(old)
	}
	switch f.Kind() {
	case reflect.Bool:
		set(!f.Bool())
	case reflect.String:
		set(f.String() + "x")
	case reflect.Int, reflect.Int64:
		set(f.Int() + 1)
	case reflect.Uint8:
		set(f.Uint() + 1)
	case reflect.Struct:
		mutate(f, check)
	case reflect.Pointer, reflect.Interface:
		if !f.IsNil() {
			f.SetZero()
			check(name)
			f.Set(old)
		}
	case reflect.Slice:
		if f.Len() > 0 {
			f.Set(f.Slice(0, f.Len()-1))
			check(name)
			f.Set(old)
			if !f.Type().Elem().Implements(nodeType) {
				mutateValue(f.Index(0), name, check)
			}
		}
	}
}

func TestEqualOfNil(t *testing.T) {
	var none ast.Expr
	one := ast.Expr(&ast.NullLit{})
	for _, c := range []struct {
		a, b ast.Node
		want bool
	}{
		{nil, nil, true}, {none, nil, true}, {one, nil, false}, {nil, one, false},
		{one, &ast.NullLit{Span: ast.Span{Start: 3, Stop: 7}}, true},
		{one, &ast.Default{}, false},
	} {
		if got := ast.Equal(c.a, c.b); got != c.want {
			t.Errorf("Equal(%v, %v) = %v", c.a, c.b, got)
		}
	}
}

func TestNames(t *testing.T) {
	n := ast.Name{Parts: []ast.Ident{{Text: "Ns"}, {Text: "a.b", Quoted: true}}}
	if n.String() != "Ns.a.b" || n.Last().Text != "a.b" || n.IsZero() || !(ast.Name{}).IsZero() || !(ast.Name{}).Last().IsZero() {
		t.Errorf("%v", n)
	}
	if !n.Parts[0].Is("NS") || n.Parts[1].Is("a.b") {
		t.Error("Is: unquoted names match in any case, quoted ones never")
	}
}

func TestInspectStops(t *testing.T) {
	s := parse(t, "SELECT (SELECT a FROM t WHERE b), c")
	var names []string
	ast.Inspect(s, func(n ast.Node) bool {
		if c, ok := n.(*ast.ColumnRef); ok {
			names = append(names, c.Parts[0].Text)
		}
		_, sub := n.(*ast.Subquery)
		return !sub
	})
	if strings.Join(names, " ") != "c" {
		t.Errorf("visited %v", names)
	}
	ast.Inspect(nil, func(ast.Node) bool { t.Error("nil was visited"); return true })
}

func TestPrecedencesAreOrdered(t *testing.T) {
	order := []ast.Op{ast.OpOr, ast.OpAnd, ast.OpDistinct, ast.OpEq, ast.OpConcat, ast.OpAdd, ast.OpMul, ast.OpPow}
	for i := 1; i < len(order); i++ {
		if order[i-1].Precedence() >= order[i].Precedence() {
			t.Errorf("%s does not bind looser than %s", order[i-1], order[i])
		}
	}
	if ast.OpNot.Precedence() != 0 || !ast.OpNotDistinct.IsComparison() || ast.OpAnd.IsComparison() {
		t.Error("NOT is no binary operator; IS NOT DISTINCT FROM compares, AND does not")
	}
}
