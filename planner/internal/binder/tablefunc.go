package binder

import (
	"strings"

	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
	"github.com/loamdb/loam/planner/internal/ast"
)

// tableFunc binds a function in FROM.
func (b *Binder) tableFunc(x *ast.TableFunc, outer, left *scope) (plan.Node, *scope, error) {
	name := strings.ToLower(x.Call.Name.Last().Text)
	if setReturning[name] || name == "range" {
		return b.setFunc(name, x, lateralScope(outer, left))
	}
	if x.Ordinality {
		return nil, nil, b.fail(fail.Unsupported, x.Pos(), "WITH ORDINALITY is not supported behind %s", name).
			WithHint("It numbers the rows of unnest and generate_series.")
	}
	var node plan.Node
	var err error
	switch name {
	case "vector_search", "text_search", "rrf":
		return b.searchFunc(name, x)
	case "read_parquet":
		node, err = b.fileScan(name, plan.Parquet, x.Call)
	case "read_csv", "read_csv_auto":
		node, err = b.fileScan(name, plan.CSV, x.Call)
	case "read_json", "read_ndjson", "read_json_auto":
		node, err = b.fileScan(name, plan.NDJSON, x.Call)
	case "read_lance":
		node, err = b.lanceScan(x.Call)
	default:
		if cure, ok := laterFunctions[name]; ok {
			return nil, nil, b.fail(fail.Unsupported, x.Pos(), "table function %s is not supported", name).WithHint("%s", cure)
		}
		return nil, nil, b.suggest(fail.UndefinedFunction, x.Call.Name.Last(), tableFunctions, "table function %s does not exist", name)
	}
	if err != nil {
		return nil, nil, err
	}
	return b.aliased(node, name, x.Alias)
}

// laterFunctions are table functions that are known and not built, with what to
// use in their place.
var laterFunctions = map[string]string{
	"hybrid_search": "Use rrf(vector_search(…), text_search(…)).",
	"rerank":        "Rerank on the client.",
}

// signature lists the arguments of a table function.
type signature struct {
	name string
	// positional arguments, in order.
	positional []string
	// named arguments beside them, and those that are known but not built yet.
	named, later []string
	// variadic collects further positional arguments under this name.
	variadic string
}

// callArgs are the arguments of a call by name.
type callArgs struct {
	b     *Binder
	sig   *signature
	pos   int
	named map[string]ast.Expr
	rest  []ast.Expr
	// at follows the argument tbl.
	at *ast.At
}

// match assigns the arguments of a call to the names of a signature.
func (b *Binder) match(sig *signature, call *ast.FuncCall) (*callArgs, error) {
	a := &callArgs{b: b, sig: sig, pos: call.Pos(), named: map[string]ast.Expr{}}
	place := 0
	for _, arg := range call.Args {
		if err := a.noteAt(arg); err != nil {
			return nil, err
		}
		if arg.Name.IsZero() {
			switch {
			case sig.variadic != "":
				a.rest = append(a.rest, arg.Value)
			case place >= len(sig.positional):
				return nil, b.fail(fail.Syntax, arg.Pos(), "%s takes at most %s without a name", sig.name, fail.Count(len(sig.positional), "argument")).
					WithHint("Name the others: %s.", strings.Join(sig.named, ", "))
			default:
				place = a.place(place, arg.Value)
				if place > len(sig.positional) {
					return nil, b.fail(fail.DatatypeMismatch, arg.Pos(), "%s cannot tell which argument this is", sig.name).WithHint("Name it, as in limit => 10.")
				}
			}
			continue
		}
		name := strings.ToLower(arg.Name.Text)
		if err := a.checkName(name, arg); err != nil {
			return nil, err
		}
		a.named[name] = arg.Value
	}
	return a, nil
}

// noteAt takes the AT behind the first argument of a search.
func (a *callArgs) noteAt(arg *ast.Arg) error {
	if arg.At == nil {
		return nil
	}
	first := len(a.sig.positional) > 0 && a.sig.positional[0] == "tbl"
	if first && (strings.EqualFold(arg.Name.Text, "tbl") || arg.Name.IsZero() && len(a.named) == 0) {
		a.at = arg.At
		return nil
	}
	return a.b.fail(fail.Syntax, arg.At.Pos(), "AT follows the collection that a search reads, not this argument").
		WithHint("Write vector_search(docs AT (…), …).")
}

// place puts a positional argument at its place, or at a later one whose kind it
// has: column, limit and include_score may be skipped.
func (a *callArgs) place(i int, e ast.Expr) int {
	for ; i < len(a.sig.positional); i++ {
		name := a.sig.positional[i]
		if fits(name, e) {
			a.named[name] = e
			return i + 1
		}
	}
	return i + 1
}

// fits tells the optional positional arguments apart by how they are written.
func fits(name string, e ast.Expr) bool {
	switch x := e.(type) {
	case *ast.ColumnRef, *ast.StringLit:
		return name != "limit" && name != "include_score"
	case *ast.BoolLit:
		return name == "include_score"
	case *ast.NumberLit:
		return name != "column" && name != "include_score"
	case *ast.Param:
		_ = x
		return name != "include_score"
	}
	return name != "column"
}

func (a *callArgs) checkName(name string, arg *ast.Arg) error {
	b := a.b
	if _, twice := a.named[name]; twice {
		return b.fail(fail.Syntax, arg.Pos(), "argument %s of %s is given twice", name, a.sig.name)
	}
	known := append(append([]string(nil), a.sig.positional...), a.sig.named...)
	for _, k := range known {
		if k == name {
			return nil
		}
	}
	for _, k := range a.sig.later {
		if k == name {
			return b.unsupported(arg.Pos(), "argument "+name+" of "+a.sig.name)
		}
	}
	err := b.fail(fail.UndefinedParameter, arg.Pos(), "%s has no argument %q", a.sig.name, arg.Name.Text)
	if near := fail.Closest(name, known); near != "" {
		return err.WithHint("Did you mean %s?", near)
	}
	return err.WithHint("Its arguments are %s.", strings.Join(known, ", "))
}

// bind binds a scalar argument: a literal, a constant or a parameter. nil means
// that it is absent or NULL.
func (a *callArgs) bind(name string) (expr.Expr, int, error) {
	e, ok := a.named[name]
	if !ok {
		return nil, a.pos, nil
	}
	c := &clause{b: a.b, scope: &scope{}, name: "the arguments of " + a.sig.name}
	bound, err := c.expr(e)
	if fail.Is(err, fail.UndefinedColumn) || fail.Is(err, fail.UndefinedTable) {
		err = a.b.fail(fail.Unsupported, e.Pos(), "argument %s of %s must be a constant or a parameter, not a column", name, a.sig.name)
	}
	if err != nil {
		return nil, e.Pos(), err
	}
	if len(c.joins) > 0 {
		return nil, e.Pos(), a.b.unsupported(e.Pos(), "a subquery as an argument of "+a.sig.name)
	}
	if k, ok := bound.(*expr.Const); ok && k.Value.Null {
		return nil, e.Pos(), nil
	}
	return bound, e.Pos(), nil
}

// value is a scalar argument that must be known now, of a type.
func (a *callArgs) value(name string, t types.Type) (vec.Value, bool, error) {
	bound, off, err := a.bind(name)
	if bound == nil || err != nil {
		return vec.Value{}, false, err
	}
	if _, isParam := bound.(*expr.Param); isParam {
		return vec.Value{}, false, a.b.fail(fail.Unsupported, off, "argument %s of %s must be a constant", name, a.sig.name)
	}
	if bound, err = a.b.toParam(bound, t, off); err != nil {
		return vec.Value{}, false, err
	}
	v, err := a.b.constant(bound, "argument "+name, off)
	return v, err == nil, err
}

// flag is a boolean argument.
func (a *callArgs) flag(name string, absent bool) (bool, error) {
	v, ok, err := a.value(name, types.Of(types.Boolean))
	if !ok || err != nil {
		return absent, err
	}
	return v.Bool, nil
}

// number is a DOUBLE argument.
func (a *callArgs) number(name string, absent float64) (float64, error) {
	v, ok, err := a.value(name, types.Of(types.Double))
	if !ok || err != nil {
		return absent, err
	}
	return v.Float, nil
}

// word is a TEXT argument among choices; the first is the default.
func (a *callArgs) word(name string, choices ...string) (string, error) {
	v, ok, err := a.value(name, types.Of(types.Text))
	if !ok || err != nil {
		return choices[0], err
	}
	for _, c := range choices {
		if strings.EqualFold(c, v.Str) {
			return c, nil
		}
	}
	return "", a.b.fail(fail.InvalidParameter, a.named[name].Pos(), "%s of %s cannot be %q", name, a.sig.name, v.Str).
		WithHint("It is one of %s.", strings.Join(choices, ", "))
}

// rows is an argument that counts rows, a parameter included.
func (a *callArgs) rows(name string, absent int64) (int64, error) {
	bound, off, err := a.bind(name)
	if bound == nil || err != nil {
		return absent, err
	}
	return a.b.rowCountOf(bound, name, absent, off)
}

// fileOptions are options of other systems; here the file itself tells.
var fileOptions = map[plan.FileFormat][]string{
	plan.CSV:     {"delim", "sep", "header", "quote", "escape", "nullstr", "columns", "types", "auto_detect", "sample_size", "skip", "all_varchar", "ignore_errors", "union_by_name", "filename", "compression"},
	plan.NDJSON:  {"columns", "format", "records", "sample_size", "union_by_name", "filename", "ignore_errors", "compression"},
	plan.Parquet: {"union_by_name", "filename", "hive_partitioning", "file_row_number"},
}

// fileScan is read_parquet('path') or read_parquet(['a', 'b']).
func (b *Binder) fileScan(name string, format plan.FileFormat, call *ast.FuncCall) (plan.Node, error) {
	if b.env.Files == nil {
		return nil, b.fail(fail.PermissionDenied, call.Pos(), "files cannot be read here").
			WithHint("The operator allows directories with --allow-files.")
	}
	args, err := b.match(&signature{name: name, positional: []string{"path"}, later: fileOptions[format]}, call)
	if err != nil {
		return nil, err
	}
	paths, err := args.texts("path")
	if err != nil {
		return nil, err
	}
	if len(paths) == 0 {
		return nil, b.fail(fail.UndefinedFunction, call.Pos(), "%s takes a path or a list of paths", name)
	}
	return b.scanFiles(&plan.FileScan{Format: format, Paths: paths}, call)
}

// scanFiles gives a scan the columns of its files.
func (b *Binder) scanFiles(scan *plan.FileScan, call *ast.FuncCall) (plan.Node, error) {
	fields, err := b.env.Files.FileSchema(b.ctx, scan)
	if err != nil {
		return nil, b.at(err, call.Pos())
	}
	for _, f := range fields {
		scan.Cols = append(scan.Cols, plan.ScanColumn{Column: b.newColumn(f.Name, f.Type), Field: f.Name})
	}
	return scan, nil
}

// texts is an argument that is a text or a list of texts.
func (a *callArgs) texts(name string) ([]string, error) {
	e, ok := a.named[name]
	if !ok {
		return nil, nil
	}
	elems := []ast.Expr{e}
	if lit, ok := e.(*ast.ArrayLit); ok {
		elems = lit.Elems
	}
	var out []string
	for _, el := range elems {
		s, ok := el.(*ast.StringLit)
		if !ok {
			return nil, a.b.fail(fail.DatatypeMismatch, el.Pos(), "%s of %s takes a text or a list of texts", name, a.sig.name)
		}
		out = append(out, s.Value)
	}
	return out, nil
}
