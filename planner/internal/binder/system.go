package binder

import (
	"slices"
	"strings"

	"github.com/loamdb/loam/catalog"
	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
	"github.com/loamdb/loam/planner/internal/ast"
)

// systemTable binds a name of a reserved namespace.
func (b *Binder) systemTable(ns string, id ast.Ident) (plan.Node, string, error) {
	var names []string
	for _, t := range SystemTables {
		if !strings.EqualFold(ns, t.Schema) {
			continue
		}
		if nameIs(id, t.Name) {
			return b.systemScan(t.Key()), t.Name, nil
		}
		names = append(names, t.Name)
	}
	return nil, "", b.suggest(fail.UndefinedTable, id, names, "%s has no table %q", ns, id.Text)
}

// systemScan scans all columns of a system table that exists.
func (b *Binder) systemScan(key string) *plan.SystemScan {
	scan := &plan.SystemScan{Table: key}
	t, _ := findSystemTable(key)
	for _, f := range t.Fields {
		scan.Cols = append(scan.Cols, plan.ScanColumn{Column: b.newColumn(f.Name, f.Type), Field: f.Name})
	}
	return scan
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
		ast.ShowStreams:     {"streams", []string{"namespace", "stream", "partitions", "key", "retention", "retention_bytes"}},
		ast.ShowViews:       {"views", []string{"namespace", "name", "definition"}},
		ast.ShowLinks:       {"links", []string{"namespace", "name", "state", "source", "target", "lag_records", "error"}},
		ast.ShowColumns:     {"columns", columnsShown},
		ast.ShowFunctions:   {"functions", []string{"name", "kind", "signature", "description"}},
		ast.ShowTags:        {"tags", []string{"namespace", "name", "tag", "version", "created", "expires", "protected", "comment", "exclusive_bytes"}},
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
	if i := map[ast.ShowKind]int{ast.ShowCollections: 1, ast.ShowTables: 1, ast.ShowStreams: 1, ast.ShowViews: 1, ast.ShowLinks: 1, ast.ShowTags: 2}[s.Kind]; i > 0 {
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
		name := settingKey(s.Name.String())
		if known := b.env.Settings; len(known) > 0 && !slices.Contains(known, name) {
			return nil, b.noSetting(s.Name.String(), s.Name.Pos())
		}
		return []expr.Expr{fieldIs(scan, "name", name)}, nil
	case ast.ShowColumns:
		if s.Name.IsZero() {
			return nil, b.fail(fail.Syntax, s.Pos(), "SHOW COLUMNS needs FROM and a table")
		}
		ns, id, err := b.split(s.Name)
		if err != nil {
			return nil, err
		}
		if isReserved(ns.Text) {
			_, name, err := b.systemTable(ns.Text, id)
			return []expr.Expr{fieldIs(scan, "namespace", strings.ToLower(ns.Text)), fieldIs(scan, "table", name)}, err
		}
		obj, err := b.object(s.Name)
		if err != nil {
			return nil, err
		}
		return []expr.Expr{fieldIs(scan, "namespace", obj.Namespace), fieldIs(scan, "table", obj.Name)}, nil
	case ast.ShowTags:
		if s.Name.IsZero() {
			return []expr.Expr{fieldIs(scan, "namespace", b.env.Namespace)}, nil
		}
		obj, err := b.versioned(s.Name)
		if err != nil {
			return nil, err
		}
		return []expr.Expr{fieldIs(scan, "namespace", obj.Namespace), fieldIs(scan, "name", obj.Name)}, nil
	case ast.ShowTables, ast.ShowCollections, ast.ShowStreams, ast.ShowViews, ast.ShowLinks:
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
	names := catalog.Names(all)
	for _, ns := range names {
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
		return "", b.suggest(fail.UndefinedNamespace, id, names, "namespace %q does not exist", id.Text)
	}
	return "", b.fail(fail.AmbiguousName, n.Pos(), "namespace %q is ambiguous", id.Text).WithHint("Quote the one that is meant.")
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
