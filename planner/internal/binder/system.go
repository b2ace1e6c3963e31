package binder

import (
	"slices"
	"strings"

	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
	"github.com/loamdb/loam/planner/internal/ast"
)

// SystemTable is a table whose rows the engine makes: system.<Name>.
type SystemTable struct {
	Name   string
	Fields []schema.Field
}

func text(name string) schema.Field    { return schema.Field{Name: name, Type: types.Of(types.Text)} }
func bigint(name string) schema.Field  { return schema.Field{Name: name, Type: types.Of(types.Int64)} }
func integer(name string) schema.Field { return schema.Field{Name: name, Type: types.Of(types.Int32)} }
func boolean(name string) schema.Field {
	return schema.Field{Name: name, Type: types.Of(types.Boolean)}
}

// SystemTables are the system tables. SHOW and information_schema read them too.
var SystemTables = []SystemTable{
	{Name: "namespaces", Fields: []schema.Field{text("namespace")}},
	{Name: "collections", Fields: []schema.Field{text("namespace"), text("collection"), bigint("id"), text("primary_key"),
		integer("partitions"), boolean("dynamic"), bigint("schema_version"), text("options")}},
	// tables lists collections too: kind says which.
	{Name: "tables", Fields: []schema.Field{text("namespace"), text("name"), text("kind"), bigint("id"),
		integer("partitions"), bigint("schema_version"), text("options"), text("table_type")}},
	{Name: "views", Fields: []schema.Field{text("namespace"), text("name"), bigint("id"), text("definition"), text("error")}},
	{Name: "columns", Fields: []schema.Field{text("namespace"), text("table"), text("column"), integer("position"), text("type"),
		boolean("nullable"), integer("key_position"), text("fulltext"), text("distance"), text("modifier")}},
	{Name: "functions", Fields: []schema.Field{text("name"), text("kind"), text("signature"), text("help")}},
	{Name: "settings", Fields: []schema.Field{text("name"), text("value"), text("default"), text("help")}},
}

// systemView is a table of information_schema: columns of a system table under
// the names of the standard. A column without a source is a constant.
type systemView struct {
	name, table string
	cols        []viewColumn
}

type viewColumn struct {
	name, from, constant string
}

var informationSchema = []systemView{
	{"schemata", "namespaces", []viewColumn{{name: "catalog_name", constant: "loam"}, {name: "schema_name", from: "namespace"}}},
	{"tables", "tables", []viewColumn{{name: "table_catalog", constant: "loam"}, {name: "table_schema", from: "namespace"},
		{name: "table_name", from: "name"}, {name: "table_type", from: "table_type"}}},
	{"views", "views", []viewColumn{{name: "table_catalog", constant: "loam"}, {name: "table_schema", from: "namespace"},
		{name: "table_name", from: "name"}, {name: "view_definition", from: "definition"}, {name: "check_option", constant: "NONE"},
		{name: "is_updatable", constant: "NO"}, {name: "is_insertable_into", constant: "NO"}}},
	{"columns", "columns", []viewColumn{{name: "table_catalog", constant: "loam"}, {name: "table_schema", from: "namespace"},
		{name: "table_name", from: "table"}, {name: "column_name", from: "column"}, {name: "ordinal_position", from: "position"},
		{name: "data_type", from: "type"}, {name: "is_nullable", from: "nullable"}}},
}

// systemTable binds a name of a reserved namespace.
func (b *Binder) systemTable(ns string, id ast.Ident) (plan.Node, string, error) {
	var names []string
	switch {
	case nameIs(ast.Ident{Text: ns}, "system"):
		for _, t := range SystemTables {
			if nameIs(id, t.Name) {
				return b.systemScan(t.Name), t.Name, nil
			}
			names = append(names, t.Name)
		}
	case nameIs(ast.Ident{Text: ns}, "information_schema"):
		for _, v := range informationSchema {
			if nameIs(id, v.name) {
				return b.systemView(v), v.name, nil
			}
			names = append(names, v.name)
		}
	}
	return nil, "", b.suggest(fail.UndefinedTable, id, names, "%s has no table %q", ns, id.Text)
}

// systemScan scans all columns of a system table that exists.
func (b *Binder) systemScan(name string) *plan.SystemScan {
	scan := &plan.SystemScan{Table: name}
	for _, t := range SystemTables {
		if t.Name != name {
			continue
		}
		for _, f := range t.Fields {
			scan.Cols = append(scan.Cols, plan.ScanColumn{Column: b.newColumn(f.Name, f.Type), Field: f.Name})
		}
	}
	return scan
}

// systemView projects a system table to the names of the standard.
func (b *Binder) systemView(v systemView) plan.Node {
	scan := b.systemScan(v.table)
	p := &plan.Project{Input: scan}
	for _, c := range v.cols {
		if c.from == "" {
			p.Exprs = append(p.Exprs, plan.NamedExpr{Column: b.newColumn(c.name, types.Of(types.Text)), Expr: textConst(c.constant)})
			continue
		}
		src := scanColumn(scan, c.from)
		var e expr.Expr = src.Ref()
		if src.Type.Kind == types.Boolean { // YES and NO, as the standard has it
			e = &expr.Case{T: types.Of(types.Text), Else: textConst("NO"),
				Whens: []expr.When{{Cond: src.Ref(), Result: textConst("YES")}}}
		}
		p.Exprs = append(p.Exprs, plan.NamedExpr{Column: b.newColumn(c.name, e.Type()), Expr: e})
	}
	return p
}

// scanColumn is the column of a system scan that reads a field.
func scanColumn(scan *plan.SystemScan, field string) plan.Column {
	for _, c := range scan.Cols {
		if c.Field == field {
			return c.Column
		}
	}
	return plan.Column{}
}

// show binds SHOW: a query over a system table.
func (b *Binder) show(s *ast.Show) (plan.Statement, error) {
	var lists = map[ast.ShowKind]struct {
		table string
		cols  []string
	}{
		ast.ShowNamespaces:  {"namespaces", []string{"namespace"}},
		ast.ShowCollections: {"collections", []string{"namespace", "collection", "primary_key", "partitions", "dynamic"}},
		ast.ShowTables:      {"tables", []string{"namespace", "name", "kind"}},
		ast.ShowViews:       {"views", []string{"namespace", "name", "definition"}},
		ast.ShowColumns:     {"columns", columnsShown},
		ast.ShowFunctions:   {"functions", []string{"name", "kind", "signature", "help"}},
		ast.ShowAll:         {"settings", []string{"name", "value", "default", "help"}},
		ast.ShowSetting:     {"settings", []string{"value"}},
	}
	if s.Kind == ast.ShowCreate {
		return b.showCreate(s)
	}
	list, ok := lists[s.Kind]
	if !ok {
		return nil, b.unsupported(s.Pos(), "SHOW "+s.Kind.String())
	}
	scan := b.systemScan(list.table)
	preds, err := b.showScope(s, scan)
	if err != nil {
		return nil, err
	}
	name := scanColumn(scan, list.cols[0])
	if i := map[ast.ShowKind]int{ast.ShowCollections: 1, ast.ShowTables: 1, ast.ShowViews: 1}[s.Kind]; i > 0 {
		name = scanColumn(scan, list.cols[i])
	}
	if s.Like != nil {
		lit, ok := s.Like.(*ast.StringLit)
		if !ok {
			return nil, b.fail(fail.Syntax, s.Like.Pos(), "LIKE of SHOW takes a text")
		}
		like, err := b.scalar("like", []expr.Expr{name.Ref(), textConst(lit.Value)}, s.Like.Pos())
		if err != nil {
			return nil, err
		}
		preds = append(preds, like)
	}
	if s.Where != nil {
		c := &clause{b: b, scope: tableScope(&table{name: list.table}, scan.Columns()), name: "WHERE"}
		p, err := c.predicate(s.Where)
		if err != nil {
			return nil, err
		}
		if len(c.joins) > 0 {
			return nil, b.unsupported(s.Where.Pos(), "a subquery in SHOW")
		}
		preds = append(preds, p)
	}
	return b.showQuery(scan, preds, list.cols, s)
}

var columnsShown = []string{"column", "type", "nullable", "key_position", "fulltext", "distance"}

// showScope are the conditions that the name after FROM or IN adds.
func (b *Binder) showScope(s *ast.Show, scan *plan.SystemScan) ([]expr.Expr, error) {
	switch s.Kind {
	case ast.ShowSetting:
		name := strings.ToLower(s.Name.String())
		if name == "search_path" || name == "namespace" || name == "current_schema" {
			name = "schema"
		}
		if known := b.env.Settings; len(known) > 0 && !slices.Contains(known, name) {
			err := b.fail(fail.InvalidParameter, s.Name.Pos(), "there is no setting %q", s.Name.String())
			if near := fail.Closest(name, known); near != "" {
				return nil, err.WithHint("Did you mean %q?", near)
			}
			return nil, err.WithHint("SHOW ALL lists the settings")
		}
		return []expr.Expr{fieldIs(scan, "name", name)}, nil
	case ast.ShowColumns:
		if s.Name.IsZero() {
			return nil, b.fail(fail.Syntax, s.Pos(), "SHOW COLUMNS needs FROM and a table")
		}
		obj, err := b.object(s.Name)
		if err != nil {
			return nil, err
		}
		return []expr.Expr{fieldIs(scan, "namespace", obj.Namespace), fieldIs(scan, "table", obj.Name)}, nil
	case ast.ShowTables, ast.ShowCollections, ast.ShowViews:
		ns := b.env.Namespace
		if !s.Name.IsZero() {
			var err error
			if ns, err = b.namespace(s.Name); err != nil {
				return nil, err
			}
		}
		return []expr.Expr{fieldIs(scan, "namespace", ns)}, nil
	}
	return nil, nil
}

// namespace finds an existing namespace as it is declared.
func (b *Binder) namespace(n ast.Name) (string, error) {
	id := n.Last()
	all, err := b.env.Catalog.Namespaces(b.ctx)
	if err != nil {
		return "", b.at(err, n.Pos())
	}
	var found []string
	for _, ns := range all {
		if ns == id.Text {
			return ns, nil
		}
		if nameIs(id, ns) {
			found = append(found, ns)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return "", b.suggest(fail.UndefinedNamespace, id, all, "namespace %q does not exist", id.Text)
	}
	return "", b.fail(fail.AmbiguousName, n.Pos(), "namespace %q is ambiguous", id.Text).WithHint("Quote the one that is meant")
}

func fieldIs(scan *plan.SystemScan, field, value string) expr.Expr {
	return &expr.Compare{Op: expr.Eq, Left: scanColumn(scan, field).Ref(), Right: &expr.Const{Value: vec.Text(value)}}
}

// showQuery filters, sorts and projects a system table.
func (b *Binder) showQuery(scan *plan.SystemScan, preds []expr.Expr, cols []string, s *ast.Show) (plan.Statement, error) {
	var node plan.Node = scan
	if p := expr.AllOf(preds); p != nil {
		node = &plan.Filter{Input: node, Pred: p}
	}
	order := cols
	if s.Kind == ast.ShowColumns {
		order = []string{"position"}
	}
	sort := &plan.Sort{Input: node, Limit: plan.NoLimit}
	for _, c := range order {
		sort.Keys = append(sort.Keys, plan.SortKey{Expr: scanColumn(scan, c).Ref()})
	}
	p := &plan.Project{Input: sort}
	for _, c := range cols {
		src := scanColumn(scan, c)
		name := c
		if s.Kind == ast.ShowSetting {
			name = s.Name.String()
		}
		p.Exprs = append(p.Exprs, plan.NamedExpr{Column: b.newColumn(name, src.Type), Expr: src.Ref()})
	}
	return &plan.Query{Root: p, Cols: p.Columns()}, nil
}

// describe is SHOW COLUMNS, or the columns of a query.
func (b *Binder) describe(s *ast.Describe) (plan.Statement, error) {
	if s.Query == nil {
		return b.show(&ast.Show{Span: s.Span, Kind: ast.ShowColumns, Name: s.Name})
	}
	node, err := b.query(s.Query, nil)
	if err != nil {
		return nil, err
	}
	out := &plan.Values{Cols: []plan.Column{b.newColumn("column", types.Of(types.Text)), b.newColumn("type", types.Of(types.Text))}}
	for _, c := range b.settleTypes(node).Columns() {
		out.Rows = append(out.Rows, []expr.Expr{textConst(c.Name), textConst(c.Type.String())})
	}
	return &plan.Query{Root: out, Cols: out.Cols}, nil
}
