package binder

import (
	"strings"

	"github.com/loamdb/loam/catalog"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/planner/internal/ast"
)

// split takes the namespace and the object of a name of one to three parts.
func (b *Binder) split(n ast.Name) (ns catalog.Name, obj ast.Ident, err error) {
	ns = catalog.Name{Text: b.env.Namespace}
	switch len(n.Parts) {
	case 1:
		return ns, n.Parts[0], nil
	case 3:
		if !nameIs(n.Parts[0], catalog.RootCatalog) {
			return ns, obj, b.fail(fail.UndefinedNamespace, n.Pos(), "catalog %q does not exist", n.Parts[0].Text).
				WithHint("The one catalog is %q.", catalog.RootCatalog)
		}
	case 2:
	default:
		return ns, obj, b.fail(fail.Syntax, n.Pos(), "a name has at most three parts: %s.namespace.object", catalog.RootCatalog)
	}
	part := n.Parts[len(n.Parts)-2]
	return catalog.Name{Text: part.Text, Quoted: part.Quoted}, n.Last(), nil
}

// object finds a stored object.
func (b *Binder) object(n ast.Name) (*schema.Object, error) {
	ns, obj, err := b.split(n)
	if err != nil {
		return nil, err
	}
	if isReserved(ns.Text) {
		return nil, b.fail(fail.WrongObjectType, n.Pos(), "%s is a system table: it can only be read", n.String())
	}
	if b.view != nil {
		return b.viewedObject(n)
	}
	found, err := b.env.Catalog.Lookup(b.ctx, ns, catalog.Name{Text: obj.Text, Quoted: obj.Quoted})
	if err != nil {
		return nil, b.at(err, n.Pos())
	}
	b.noteUse(n, found)
	return found, nil
}

func isReserved(ns string) bool {
	for _, r := range catalog.Reserved {
		if strings.EqualFold(ns, r) {
			return true
		}
	}
	return false
}

// scanObject makes a scan of all declared fields, and of the system columns that
// the statement names somewhere.
func (b *Binder) scanObject(obj *schema.Object, alias string) (*plan.Scan, *scope) {
	sc := objectScope(obj, alias)
	scan := &plan.Scan{Object: obj, Limit: plan.NoLimit}
	scan.Cols = append(b.fieldColumns(b.seenFields(obj), sc), b.systemColumns(obj, sc)...)
	return scan, sc
}

// objectScope is the scope of an object without its columns.
func objectScope(obj *schema.Object, alias string) *scope {
	t := &table{name: alias, object: obj.Name}
	if alias == obj.Name {
		t.path = []string{obj.Namespace, catalog.RootCatalog}
	}
	return &scope{tables: []*table{t}}
}

// fieldColumns makes a visible scan column for each field.
func (b *Binder) fieldColumns(fields []seenField, sc *scope) []plan.ScanColumn {
	cols := make([]plan.ScanColumn, len(fields))
	for i, f := range fields {
		cols[i] = plan.ScanColumn{Column: b.newColumn(f.as, f.Type), Field: f.Name}
		sc.cols = append(sc.cols, &visible{name: f.as, table: sc.tables[0], e: cols[i].Ref(), inStar: true, bare: true})
	}
	return cols
}

// systemColumns makes those system columns visible that the statement names.
func (b *Binder) systemColumns(obj *schema.Object, sc *scope) []plan.ScanColumn {
	var cols []plan.ScanColumn
	for _, f := range schema.SystemColumns(obj.Kind) {
		if _, n := obj.FieldByName(f.Name, true); n > 0 || !b.system[f.Name] {
			continue
		}
		col := plan.ScanColumn{Column: b.newColumn(f.Name, f.Type), Field: f.Name}
		cols = append(cols, col)
		sc.cols = append(sc.cols, &visible{name: f.Name, table: sc.tables[0], e: col.Ref(), bare: true})
	}
	return cols
}
