package binder

import (
	"strings"

	"github.com/loamdb/loam/catalog"
	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/planner/internal/ast"
)

// from binds a FROM clause. Without items it is one row of no columns.
func (b *Binder) from(items []ast.TableRef, outer *scope) (plan.Node, *scope, error) {
	if len(items) == 0 {
		return &plan.Values{Rows: [][]expr.Expr{{}}}, &scope{parent: outer}, nil
	}
	node, sc, err := b.tableRef(items[0], outer, nil)
	if err != nil {
		return nil, nil, err
	}
	for _, item := range items[1:] {
		right, rs, err := b.tableRef(item, outer, sc)
		if err != nil {
			return nil, nil, err
		}
		if node, err = b.apply(node, subJoin{kind: plan.Inner, right: right, off: item.Pos()}); err != nil {
			return nil, nil, err
		}
		sc = sc.join(rs)
	}
	sc.parent = outer
	return node, sc, b.distinctTables(sc)
}

// distinctTables refuses two FROM items under one name.
func (b *Binder) distinctTables(sc *scope) error {
	for i, t := range sc.tables {
		for _, u := range sc.tables[:i] {
			if t.name != "" && t.name == u.name && (len(t.path) == 0 || len(u.path) == 0 || t.path[0] == u.path[0]) {
				return b.fail(fail.AmbiguousName, t.pos, "table name %q is used twice in FROM", t.name).
					WithHint("Give one of them an alias.")
			}
		}
	}
	return nil
}

// tableRef binds one item. left is the scope of the items before it, which
// lateral items see.
func (b *Binder) tableRef(ref ast.TableRef, outer, left *scope) (plan.Node, *scope, error) {
	var node plan.Node
	var sc *scope
	err := b.checkSize(ref.Pos())
	if err != nil {
		return nil, nil, err
	}
	switch x := ref.(type) {
	case *ast.TableName:
		if node, sc, err = b.tableName(x, outer); err == nil {
			node, err = b.sampled(node, x.Sample)
		}
	case *ast.Derived:
		if node, sc, err = b.derived(x, outer, left); err == nil {
			node, err = b.sampled(node, x.Sample)
		}
	case *ast.TableFunc:
		node, sc, err = b.tableFunc(x, outer, left)
	case *ast.Join:
		node, sc, err = b.join(x, outer, left)
	default:
		err = b.unsupported(ref.Pos(), "this item of FROM")
	}
	if err != nil {
		return nil, nil, err
	}
	sc.parent = outer
	for _, t := range sc.tables {
		if t.pos == 0 {
			t.pos = ref.Pos()
		}
	}
	return node, sc, nil
}

func (b *Binder) tableName(x *ast.TableName, outer *scope) (plan.Node, *scope, error) {
	if len(x.Name.Parts) == 1 {
		if node, err := b.cteRef(x.Name.Parts[0]); node != nil || err != nil {
			if err == nil {
				err = b.noPast(x, "a query of WITH")
			}
			if err != nil {
				return nil, nil, err
			}
			return b.aliased(node, x.Name.Last().Text, x.Alias)
		}
	}
	ns, id, err := b.split(x.Name)
	if err != nil {
		return nil, nil, err
	}
	if isReserved(ns.Text) {
		node, name, err := b.systemTable(ns.Text, id)
		if err == nil {
			err = b.noPast(x, "a system table")
		}
		if err != nil {
			return nil, nil, err
		}
		return b.aliased(node, name, x.Alias)
	}
	obj, err := b.object(x.Name)
	if t, ok := implicit(id.Text); ok && len(x.Name.Parts) == 1 && fail.Is(err, fail.UndefinedTable) {
		if err := b.noPast(x, "a system table"); err != nil {
			return nil, nil, err
		}
		return b.aliased(b.systemScan(t.Key()), t.Name, x.Alias)
	}
	if err != nil {
		return nil, nil, err
	}
	name := obj.Name
	if b.view != nil {
		name = x.Name.Last().Text
	}
	if x.Alias != nil {
		name = x.Alias.Name.Text
	}
	var node plan.Node
	var sc *scope
	if obj.Kind == schema.Link {
		return nil, nil, b.linkHasNoRows(obj, x.Pos())
	}
	if obj.Kind == schema.View {
		if node, sc, err = b.viewRef(obj, x, name); err != nil {
			return nil, nil, err
		}
	} else if node, sc, err = b.scanAt(obj, x, name); err != nil {
		return nil, nil, err
	}
	if b.view != nil && x.Alias == nil {
		sc.tables[0].path = []string{ns.Text, catalog.RootCatalog}
	}
	return node, sc, b.renameColumns(sc, x.Alias)
}

// aliased makes the scope of a node under its alias, or else under name.
func (b *Binder) aliased(node plan.Node, name string, alias *ast.Alias) (plan.Node, *scope, error) {
	if alias != nil {
		name = alias.Name.Text
	}
	sc := tableScope(&table{name: name}, node.Columns())
	return node, sc, b.renameColumns(sc, alias)
}

// renameColumns applies the column list of an alias to the columns of *.
func (b *Binder) renameColumns(sc *scope, alias *ast.Alias) error {
	if alias == nil {
		return nil
	}
	i := 0
	for _, v := range sc.cols {
		if v.inStar && i < len(alias.Columns) {
			v.name = alias.Columns[i].Text
			i++
		}
	}
	if i < len(alias.Columns) {
		return b.fail(fail.Syntax, alias.Columns[i].Pos(), "table %q has %s, the alias names %d", alias.Name.Text, fail.Count(i, "column"), len(alias.Columns))
	}
	return nil
}

// derived binds a query in FROM.
func (b *Binder) derived(x *ast.Derived, outer, left *scope) (plan.Node, *scope, error) {
	sees := outer
	if x.Lateral {
		sees = lateralScope(outer, left)
	}
	node, err := b.query(x.Query, sees)
	if err != nil {
		return nil, nil, err
	}
	return b.aliased(b.settleTypes(node), "", x.Alias)
}

// lateralScope is what a lateral item sees: the items before it, then the outer query.
func lateralScope(outer, left *scope) *scope {
	if left == nil {
		return outer
	}
	return &scope{parent: outer, cols: left.cols, tables: left.tables, lateral: true}
}

var joinKinds = map[ast.JoinKind]plan.JoinKind{
	ast.JoinInner: plan.Inner, ast.JoinCross: plan.Inner, ast.JoinLeft: plan.Left, ast.JoinRight: plan.Right, ast.JoinFull: plan.Full,
	ast.JoinLeftSemi: plan.Semi, ast.JoinRightSemi: plan.Semi, ast.JoinLeftAnti: plan.Anti, ast.JoinRightAnti: plan.Anti,
}

// join binds a JOIN.
func (b *Binder) join(x *ast.Join, outer, before *scope) (plan.Node, *scope, error) {
	if x.AsOf {
		return nil, nil, b.unsupported(x.Pos(), "ASOF JOIN")
	}
	l, ls, err := b.tableRef(x.Left, outer, before)
	if err != nil {
		return nil, nil, err
	}
	seen := ls
	if before != nil {
		seen = before.join(ls)
	}
	r, rs, err := b.tableRef(x.Right, outer, seen)
	if err != nil {
		return nil, nil, err
	}
	if x.Kind == ast.JoinRightSemi || x.Kind == ast.JoinRightAnti {
		l, r, ls, rs = r, l, rs, ls
	}
	if err := b.distinctTables(ls.join(rs)); err != nil {
		return nil, nil, err
	}
	kind := joinKinds[x.Kind]
	var node plan.Node
	sc := ls.join(rs)
	switch {
	case x.Natural:
		node, sc, err = b.using(kind, l, r, ls, rs, naturalColumns(ls, rs), x)
	case len(x.Using) > 0:
		node, sc, err = b.using(kind, l, r, ls, rs, x.Using, x)
	default:
		node, err = b.joinOn(kind, l, r, sc, outer, x)
	}
	if err != nil {
		return nil, nil, err
	}
	if kind == plan.Semi || kind == plan.Anti {
		sc = ls
	}
	if x.Alias != nil {
		return b.joinAlias(node, sc, x.Alias)
	}
	return node, sc, nil
}

// joinAlias gives a parenthesised join one name for all its columns.
func (b *Binder) joinAlias(node plan.Node, sc *scope, alias *ast.Alias) (plan.Node, *scope, error) {
	t := &table{name: alias.Name.Text}
	out := &scope{tables: []*table{t}}
	for _, v := range sc.cols {
		if v.inStar {
			out.cols = append(out.cols, &visible{name: v.name, table: t, e: v.e, inStar: true, bare: true})
		}
	}
	return node, out, b.renameColumns(out, alias)
}

// joinOn binds the condition of a join. A subquery in the condition of an outer
// join is joined to the side that it reads.
func (b *Binder) joinOn(kind plan.JoinKind, l, r plan.Node, sc, outer *scope, x *ast.Join) (plan.Node, error) {
	if x.On == nil {
		return b.apply(l, subJoin{kind: kind, right: r, off: x.Right.Pos()})
	}
	on := *sc
	on.parent = outer
	c := &clause{b: b, scope: &on, name: "ON"}
	cond, err := c.predicate(x.On)
	if err != nil {
		return nil, err
	}
	if len(c.joins) == 0 {
		return b.apply(l, subJoin{kind: kind, right: r, cond: cond, off: x.Right.Pos()})
	}
	if kind == plan.Inner {
		node, err := b.apply(l, subJoin{kind: kind, right: r, off: x.Right.Pos()})
		if err != nil {
			return nil, err
		}
		if node, err = b.applyAll(node, c.joins); err != nil {
			return nil, err
		}
		return &plan.Filter{Input: node, Pred: cond}, nil
	}
	for _, j := range c.joins {
		used := freeColumns(j.right)
		for _, k := range j.keys {
			expr.Columns(k.Left, used)
		}
		if meets(used, l) {
			return nil, b.unsupported(j.off, "a subquery over the left side in the condition of an outer join")
		}
		if r, err = b.apply(r, j); err != nil {
			return nil, err
		}
	}
	return b.apply(l, subJoin{kind: kind, right: r, cond: cond, off: x.Right.Pos()})
}

// naturalColumns are the names that both sides show, in the order of the left.
func naturalColumns(ls, rs *scope) []ast.Ident {
	var out []ast.Ident
	for _, v := range ls.cols {
		for _, w := range rs.cols {
			if v.inStar && w.inStar && strings.EqualFold(v.name, w.name) {
				out = append(out, ast.Ident{Text: v.name})
				break
			}
		}
	}
	return out
}

// using joins by columns of one name on both sides; the result shows each once.
func (b *Binder) using(kind plan.JoinKind, l, r plan.Node, ls, rs *scope, names []ast.Ident, x *ast.Join) (plan.Node, *scope, error) {
	var conds []expr.Expr
	merged := &scope{}
	for _, id := range names {
		lv, err := b.usingColumn(ls, id, "left", x)
		if err != nil {
			return nil, nil, err
		}
		rv, err := b.usingColumn(rs, id, "right", x)
		if err != nil {
			return nil, nil, err
		}
		le, re := b.read(lv, x.Pos()), b.read(rv, x.Pos())
		eq, err := b.compare(expr.Eq, le, re, max(id.Pos(), x.Pos()))
		if err != nil {
			return nil, nil, err
		}
		conds = append(conds, eq)
		m := &visible{name: lv.name, e: le, inStar: true, bare: true}
		sides := eq.(*expr.Compare)
		switch kind {
		case plan.Right:
			m.e = re
		case plan.Full:
			m.e = &expr.Coalesce{Args: []expr.Expr{sides.Left, sides.Right}, T: sides.Left.Type()}
		}
		merged.cols = append(merged.cols, m)
		lv.inStar, lv.bare, rv.inStar, rv.bare = false, false, false, false
	}
	node, err := b.apply(l, subJoin{kind: kind, right: r, cond: expr.AllOf(conds), off: x.Right.Pos()})
	if kind == plan.Semi || kind == plan.Anti {
		for _, id := range names {
			for _, v := range ls.cols {
				if nameIs(id, v.name) {
					v.inStar, v.bare = true, true
				}
			}
		}
		return node, ls, err
	}
	return node, merged.join(ls).join(rs), err
}

func (b *Binder) usingColumn(s *scope, id ast.Ident, side string, x *ast.Join) (*visible, error) {
	v, n := pick(id, s.matchBare(id))
	switch {
	case n == 1:
		return v, nil
	case n > 1:
		return nil, b.fail(fail.AmbiguousColumn, max(id.Pos(), x.Pos()), "column %q of USING is ambiguous on the %s side", id.Text, side)
	}
	var names []string
	for _, v := range s.cols {
		names = append(names, v.name)
	}
	return nil, b.suggest(fail.UndefinedColumn, id, names, "column %q of USING does not exist on the %s side", id.Text, side)
}
