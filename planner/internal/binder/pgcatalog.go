package binder

import (
	"hash/fnv"
	"strings"

	"github.com/loamdb/loam/catalog"
	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
	"github.com/loamdb/loam/planner/internal/ast"
	"github.com/loamdb/loam/planner/internal/parser"
)

// Where the ids of pg_catalog begin. PostgreSQL's own types keep its ids.
const (
	firstSystemOID    = 10_000
	firstObjectOID    = 16_384
	firstIndexOID     = 1 << 29
	firstNamespaceOID = 1 << 30
	// FirstOwnType is the id of the first type that PostgreSQL does not have.
	FirstOwnType = 9_000
)

// ObjectOID is the id of an object in pg_class.
func ObjectOID(o *schema.Object) int64 { return firstObjectOID + int64(o.ID) }

// IndexOID is the id of the primary key of a collection.
func IndexOID(o *schema.Object) int64 { return firstIndexOID + int64(o.ID) }

// SystemOID is the id of the i-th system table.
func SystemOID(i int) int64 { return firstSystemOID + int64(i) }

// NamespaceOID is the id of a namespace: PostgreSQL's where it has the name, else
// one made from the name.
func NamespaceOID(name string) int64 {
	switch strings.ToLower(name) {
	case "pg_catalog":
		return 11
	case catalog.DefaultNamespace:
		return 2200
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(strings.ToLower(name)))
	return firstNamespaceOID | int64(h.Sum32()&(firstNamespaceOID-1))
}

// typeOIDs are the names that format_type gives the ids of pg_type.
var typeOIDs = []struct {
	oid  int64
	name string
}{
	{16, "boolean"}, {17, "bytea"}, {20, "bigint"}, {21, "smallint"}, {23, "integer"}, {25, "text"}, {114, "json"}, {700, "real"}, {701, "double precision"},
	{1000, "boolean[]"}, {1007, "integer[]"}, {1009, "text[]"}, {1016, "bigint[]"}, {1022, "double precision[]"}, {1082, "date"},
	{1083, "time without time zone"}, {1114, "timestamp without time zone"}, {1184, "timestamp with time zone"}, {1186, "interval"},
	{2249, "record"}, {2950, "uuid"}, {FirstOwnType + 1, "sparse vector"}, {FirstOwnType + 2, "map"},
}

// regClass is the id that a text names, as in 'docs'::regclass.
func (b *Binder) regClass(text string, off int) (int64, error) {
	e, err := parser.ParseExpr(text)
	ref, ok := e.(*ast.ColumnRef)
	if err != nil || !ok {
		return 0, b.fail(fail.InvalidText, off, "%q is not the name of a table", text)
	}
	name := ast.Name{Span: ast.Span{Start: off, Stop: off}, Parts: ref.Parts}
	ns, id, err := b.split(name)
	if err != nil {
		return 0, err
	}
	if !isReserved(ns.Text) {
		obj, err := b.env.Catalog.Lookup(b.ctx, ns, catalog.Name{Text: id.Text, Quoted: id.Quoted})
		if err == nil {
			return ObjectOID(obj), nil
		}
		t, ok := implicit(id.Text)
		if !ok || len(ref.Parts) > 1 {
			return 0, b.at(err, off)
		}
		ns.Text = t.Schema
	}
	for i, t := range SystemTables {
		if strings.EqualFold(t.Schema, ns.Text) && nameIs(id, t.Name) {
			return SystemOID(i), nil
		}
	}
	return 0, b.fail(fail.UndefinedTable, off, "%s does not exist", text)
}

// regCast binds a cast to regclass, regnamespace or oid; nil for another type. Ids
// are BIGINT here; the cast of an id to regclass is the name.
func (c *clause) regCast(x *ast.Cast) (expr.Expr, error) {
	b := c.b
	kind := strings.ToUpper(x.Type.Name)
	if kind != "REGCLASS" && kind != "REGNAMESPACE" && kind != "OID" {
		return nil, nil
	}
	if lit, ok := x.X.(*ast.StringLit); ok && kind != "OID" {
		if kind == "REGNAMESPACE" {
			return &expr.Const{Value: vec.Int64(NamespaceOID(lit.Value))}, nil
		}
		id, err := b.regClass(lit.Value, x.X.Pos())
		return &expr.Const{Value: vec.Int64(id)}, err
	}
	e, err := c.expr(x.X)
	if err != nil {
		return nil, err
	}
	if e, err = b.coerce(e, types.Of(types.Int64), x.X.Pos()); err != nil || kind == "OID" {
		return e, err
	}
	names := map[int64]string{}
	if kind == "REGNAMESPACE" {
		all, err := b.env.Catalog.Namespaces(b.ctx)
		if err != nil {
			return nil, b.at(err, x.Pos())
		}
		for _, n := range append(catalog.Names(all), catalog.Reserved...) {
			names[NamespaceOID(n)] = n
		}
		return oidCase(e, names), nil
	}
	objs, err := b.env.Catalog.Objects(b.ctx, "")
	if err != nil {
		return nil, b.at(err, x.Pos())
	}
	for _, o := range objs {
		if names[ObjectOID(o)] = o.Name; !strings.EqualFold(o.Namespace, b.env.Namespace) {
			names[ObjectOID(o)] = objectText(o)
		}
	}
	for i, t := range SystemTables {
		if names[SystemOID(i)] = t.Name; t.Schema != "pg_catalog" {
			names[SystemOID(i)] = t.Schema + "." + t.Name
		}
	}
	return oidCase(e, names), nil
}

// oidCase gives each id its text, NULL to all others.
func oidCase(e expr.Expr, names map[int64]string) expr.Expr {
	out := &expr.Case{T: types.Of(types.Text), Else: nullConst(types.Of(types.Text))}
	for _, id := range sortedIDs(names) {
		out.Whens = append(out.Whens, expr.When{Cond: isOID(e, id), Result: textConst(names[id])})
	}
	if len(out.Whens) == 0 {
		return out.Else
	}
	return out
}

func isOID(e expr.Expr, id int64) expr.Expr {
	return &expr.Compare{Op: expr.Eq, Left: e, Right: &expr.Const{Value: vec.Int64(id)}}
}

// catalogCall binds the functions that ask about the catalog or the session; nil
// where the name is none of them.
func (b *Binder) catalogCall(name string, args []expr.Expr, offs []int, off int) (expr.Expr, error) {
	f, ok := catalogCalls[name]
	if !ok {
		return nil, nil
	}
	if len(args) < f.least || len(args) > f.most {
		return nil, b.fail(fail.UndefinedFunction, off, "%s takes %s, not %s", name, argCount(f.least, f.most), fail.Count(len(args), "argument"))
	}
	return f.bind(b, args, offs)
}

func argCount(least, most int) string {
	if least == most {
		return itoa(least)
	}
	return itoa(least) + " to " + itoa(most)
}

// catalogFunc is a function that is bound to what the catalog says now.
type catalogFunc struct {
	least, most int
	bind        func(b *Binder, args []expr.Expr, offs []int) (expr.Expr, error)
}

// always gives the same value for any arguments.
func always(v vec.Value) func(*Binder, []expr.Expr, []int) (expr.Expr, error) {
	return func(*Binder, []expr.Expr, []int) (expr.Expr, error) { return &expr.Const{Value: v}, nil }
}

var noText = always(vec.Null(types.Of(types.Text)))

var catalogCalls = map[string]catalogFunc{
	"pg_get_userbyid":           {1, 1, bindOwner},
	"format_type":               {1, 2, bindFormatType},
	"obj_description":           {1, 2, noText}, // objects have no comments
	"col_description":           {2, 2, noText},
	"shobj_description":         {2, 2, noText},
	"pg_get_expr":               {2, 3, bindExprText},
	"pg_get_viewdef":            {1, 2, bindViewDef},
	"pg_table_is_visible":       {1, 1, bindVisible},
	"pg_type_is_visible":        {1, 1, always(vec.Bool(true))},
	"pg_function_is_visible":    {1, 1, always(vec.Bool(true))},
	"has_table_privilege":       {2, 3, always(vec.Bool(true))}, // there are no grants
	"has_schema_privilege":      {2, 3, always(vec.Bool(true))},
	"has_database_privilege":    {2, 3, always(vec.Bool(true))},
	"has_column_privilege":      {3, 4, always(vec.Bool(true))},
	"current_setting":           {1, 2, bindSetting},
	"current_schemas":           {1, 1, bindSchemas},
	"pg_encoding_to_char":       {1, 1, always(vec.Text("UTF8"))},
	"pg_is_in_recovery":         {0, 0, always(vec.Bool(false))},
	"pg_get_constraintdef":      {1, 2, noText},
	"pg_get_indexdef":           {1, 3, noText},
	"pg_get_partkeydef":         {1, 1, noText},
	"pg_relation_is_updatable":  {2, 2, always(vec.Int32(28))},
	"to_regclass":               {1, 1, bindToRegClass},
	"pg_total_relation_size":    {1, 1, always(vec.Null(types.Of(types.Int64)))},
	"pg_get_function_arguments": {1, 1, noText},
}

// bindExprText shows an expression of the catalog, which is kept as text.
func bindExprText(b *Binder, args []expr.Expr, offs []int) (expr.Expr, error) {
	return b.coerce(args[0], types.Of(types.Text), offs[0])
}

func bindOwner(b *Binder, _ []expr.Expr, _ []int) (expr.Expr, error) {
	user := b.env.User
	if user == "" {
		user = catalog.RootCatalog
	}
	b.stable = true
	return textConst(user), nil
}

// bindFormatType names a type by its id and modifier.
func bindFormatType(b *Binder, args []expr.Expr, offs []int) (expr.Expr, error) {
	id, err := b.coerce(args[0], types.Of(types.Int64), offs[0])
	if err != nil {
		return nil, err
	}
	names := map[int64]string{1043: "character varying", 1700: "numeric", FirstOwnType: "vector"}
	for _, t := range typeOIDs {
		names[t.oid] = t.name
	}
	plain := oidCase(id, names).(*expr.Case)
	plain.Else = textConst("???")
	if len(args) < 2 {
		return plain, nil
	}
	mod, err := b.coerce(args[1], types.Of(types.Int32), offs[1])
	if err != nil {
		return nil, err
	}
	sized := &expr.Case{T: plain.T, Else: plain}
	for _, t := range []struct {
		oid  int64
		name string
		less int32
	}{{1043, "character varying(", 4}, {FirstOwnType, "vector(", 0}} {
		n, err := b.scalar("-", []expr.Expr{mod, &expr.Const{Value: vec.Int32(t.less)}}, offs[1])
		if err != nil {
			return nil, err
		}
		text, err := b.scalar("concat", []expr.Expr{textConst(t.name), n, textConst(")")}, offs[1])
		if err != nil {
			return nil, err
		}
		known := &expr.Compare{Op: expr.Gt, Left: mod, Right: &expr.Const{Value: vec.Int32(0)}}
		sized.Whens = append(sized.Whens, expr.When{Cond: expr.AllOf([]expr.Expr{isOID(id, t.oid), known}), Result: text})
	}
	return sized, nil
}

func bindViewDef(b *Binder, args []expr.Expr, offs []int) (expr.Expr, error) {
	id, err := b.coerce(args[0], types.Of(types.Int64), offs[0])
	if err != nil {
		return nil, err
	}
	objs, err := b.env.Catalog.Objects(b.ctx, "")
	if err != nil {
		return nil, b.at(err, offs[0])
	}
	texts := map[int64]string{}
	for _, o := range objs {
		if o.Kind != schema.View {
			continue
		}
		if text, err := b.viewText(o); err == nil {
			texts[ObjectOID(o)] = text
		}
	}
	return oidCase(id, texts), nil
}

// bindVisible tells what a name of one part finds: the session's namespace and pg_catalog.
func bindVisible(b *Binder, args []expr.Expr, offs []int) (expr.Expr, error) {
	id, err := b.coerce(args[0], types.Of(types.Int64), offs[0])
	if err != nil {
		return nil, err
	}
	var seen []expr.Expr
	if !isReserved(b.env.Namespace) {
		objs, err := b.env.Catalog.Objects(b.ctx, b.env.Namespace)
		if err != nil {
			return nil, b.at(err, offs[0])
		}
		for _, o := range objs {
			seen = append(seen, &expr.Const{Value: vec.Int64(ObjectOID(o))}, &expr.Const{Value: vec.Int64(IndexOID(o))})
		}
	}
	for i, t := range SystemTables {
		if t.Schema == "pg_catalog" {
			seen = append(seen, &expr.Const{Value: vec.Int64(SystemOID(i))})
		}
	}
	b.stable = true
	return &expr.In{Arg: id, List: seen}, nil
}

func bindSetting(b *Binder, args []expr.Expr, offs []int) (expr.Expr, error) {
	name, err := b.constantText(args[0], "the name of a setting", offs[0])
	if err != nil {
		return nil, err
	}
	key := settingKey(name)
	if v, ok := b.env.Options[key]; ok {
		b.stable = true
		return textConst(v), nil
	}
	if len(args) == 2 {
		missing, err := b.constant(args[1], "missing_ok", offs[1])
		if err == nil && missing.Type.Kind == types.Boolean && missing.Bool {
			return nullConst(types.Of(types.Text)), nil
		}
	}
	return nil, b.noSetting(name, offs[0])
}

func bindSchemas(b *Binder, _ []expr.Expr, _ []int) (expr.Expr, error) {
	b.stable = true
	list := vec.Value{Type: types.ListOf(types.Of(types.Text)), List: []vec.Value{vec.Text("pg_catalog"), vec.Text(b.env.Namespace)}}
	return &expr.Const{Value: list}, nil
}

func bindToRegClass(b *Binder, args []expr.Expr, offs []int) (expr.Expr, error) {
	name, err := b.constantText(args[0], "the name of a table", offs[0])
	if err != nil {
		return nil, err
	}
	id, err := b.regClass(name, offs[0])
	if fail.Is(err, fail.UndefinedTable) || fail.Is(err, fail.UndefinedNamespace) {
		return nullConst(types.Of(types.Int64)), nil
	}
	return &expr.Const{Value: vec.Int64(id)}, err
}

func (b *Binder) constantText(e expr.Expr, what string, off int) (string, error) {
	v, err := b.constant(e, what, off)
	if err != nil {
		return "", err
	}
	if v.Null || v.Type.Kind != types.Text && v.Type.Kind != types.Unknown {
		return "", b.fail(fail.InvalidParameter, off, "%s must be a text", what)
	}
	return v.Str, nil
}
