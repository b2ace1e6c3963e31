package binder

import (
	"strconv"
	"strings"

	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/internal/vec"
	"github.com/loamdb/loam/planner/internal/ast"
)

func itoa(n int) string { return strconv.Itoa(n) }

func atoi(s string) (int, bool) {
	n, err := strconv.Atoi(s)
	return n, err == nil
}

// constant evaluates an expression that must not read rows.
func (b *Binder) constant(e expr.Expr, what string, off int) (vec.Value, error) {
	if k, ok := e.(*expr.Const); ok {
		return k.Value, nil
	}
	constant := true
	expr.Walk(e, func(x expr.Expr) bool {
		switch x.(type) {
		case *expr.Column, *expr.Param:
			constant = false
		}
		return constant
	})
	if !constant || b.env.Eval == nil {
		return vec.Value{}, b.fail(fail.Unsupported, off, "%s must be a constant", what)
	}
	v, err := b.env.Eval(e)
	return v, b.at(err, off)
}

// item is one output of a select list: an expression of the text, or a column of a *.
type item struct {
	name string
	ast  ast.Expr
	e    expr.Expr
	pos  int
}

// block is one SELECT while it is bound.
type block struct {
	b     *Binder
	sel   *ast.Select
	scope *scope
	node  plan.Node
	agg   *aggregation // nil without aggregation
	wins  *windows
	list  *clause // binds select list, HAVING, QUALIFY and ORDER BY
	// rows are the set-returning calls above the aggregation, if there is one.
	rows  *setCalls
	items []item
}

// selectQuery binds a SELECT with the ORDER BY of its query.
func (b *Binder) selectQuery(sel *ast.Select, order []*ast.OrderItem, outer *scope) (plan.Node, error) {
	node, sc, err := b.from(sel.From, outer)
	if err != nil {
		return nil, err
	}
	if node, err = b.sampled(node, sel.Sample); err != nil {
		return nil, err
	}
	k := &block{b: b, sel: sel, scope: sc, node: node}
	if err := k.where(); err != nil {
		return nil, err
	}
	k.rows = newSetCalls(nil)
	if k.wins, err = b.newWindows(sel); err != nil {
		return nil, err
	}
	k.list = &clause{b: b, scope: sc, name: "the select list", aliases: sel.Items, wins: k.wins, sets: k.rows}
	if err := k.expandItems(); err != nil {
		return nil, err
	}
	if k.aggregated(order) {
		k.agg = b.newAggregation(sc)
		k.list.aggs = k.agg
		if err := k.groupBy(); err != nil {
			return nil, err
		}
	}
	if err := k.bindItems(); err != nil {
		return nil, err
	}
	having, err := k.having()
	if err != nil {
		return nil, err
	}
	qualify, err := k.qualify()
	if err != nil {
		return nil, err
	}
	keys, err := k.orderBy(order)
	if err != nil {
		return nil, err
	}
	on, err := k.distinctOn(keys)
	if err != nil {
		return nil, err
	}
	return k.finish(having, qualify, on, keys)
}

// where binds WHERE. A top-level EXISTS or IN becomes a semi join, its negation
// with EXISTS an anti join; every other subquery joins a value that the filter reads.
func (k *block) where() error {
	if k.sel.Where == nil {
		return nil
	}
	c := &clause{b: k.b, scope: k.scope, name: "WHERE", aliases: k.sel.Items}
	conjuncts := []ast.Expr{k.sel.Where}
	if l, ok := k.sel.Where.(*ast.Logic); ok && l.Op == ast.OpAnd {
		conjuncts = l.Args
	}
	conjuncts, err := k.spreadWhere(conjuncts)
	if err != nil {
		return err
	}
	var preds []expr.Expr
	for _, e := range conjuncts {
		if before, err := k.beforeSearch(e); before || err != nil {
			if err != nil {
				return err
			}
			continue
		}
		taken, err := c.conjunctJoin(e)
		if err != nil {
			return err
		}
		if taken {
			continue
		}
		p, err := c.predicate(e)
		if err != nil {
			return err
		}
		preds = append(preds, p)
	}
	if k.node, err = k.b.applyAll(k.node, c.joins); err != nil {
		return err
	}
	if pred := expr.AllOf(preds); pred != nil {
		k.node = &plan.Filter{Input: k.node, Pred: pred}
	}
	return nil
}

// aggregated reports whether the query groups: by GROUP BY, HAVING or an aggregate.
func (k *block) aggregated(order []*ast.OrderItem) bool {
	if k.sel.GroupBy != nil || k.sel.Having != nil {
		return true
	}
	for _, it := range k.items {
		if it.ast != nil && k.b.hasAggregate(it.ast) {
			return true
		}
	}
	for _, o := range order {
		if o.Expr != nil && k.b.hasAggregate(o.Expr) {
			return true
		}
	}
	for _, e := range k.sel.DistinctOn {
		if k.b.hasAggregate(e) {
			return true
		}
	}
	for _, w := range k.sel.Windows {
		if k.b.hasAggregate(w) {
			return true
		}
	}
	return k.sel.Qualify != nil && k.b.hasAggregate(k.sel.Qualify)
}

// hasAggregate looks for an aggregate call, not into subqueries.
func (b *Binder) hasAggregate(e ast.Node) bool {
	found := false
	ast.Inspect(e, func(n ast.Node) bool {
		switch x := n.(type) {
		case *ast.Query:
			return false
		case *ast.FuncCall:
			found = found || x.Over == nil && b.env.Functions.IsAggregate(strings.ToLower(x.Name.Last().Text))
		}
		return !found
	})
	return found
}

// hasWindow looks for a call with OVER, not into subqueries.
func hasWindow(e ast.Node) bool {
	found := false
	ast.Inspect(e, func(n ast.Node) bool {
		switch x := n.(type) {
		case *ast.Query:
			return false
		case *ast.FuncCall:
			found = found || x.Over != nil
		}
		return !found
	})
	return found
}

// expandItems replaces stars by columns and names the outputs.
func (k *block) expandItems() error {
	for _, it := range k.sel.Items {
		star, ok := it.Expr.(*ast.Star)
		if !ok {
			all, calls, err := k.spreadOf(it.Expr)
			if err != nil {
				return err
			}
			if len(all) == 0 {
				k.items = append(k.items, item{name: k.b.outputName(it), ast: it.Expr, pos: it.Pos()})
			}
			k.spreadItem(it, all, calls)
			continue
		}
		if err := k.expandStar(star); err != nil {
			return err
		}
	}
	return nil
}

func (k *block) expandStar(star *ast.Star) error {
	cols, err := k.starred(star)
	if err != nil {
		return err
	}
	for _, v := range cols {
		if r := replacement(star, v.name); r != nil {
			k.items = append(k.items, item{name: r.Alias.Text, ast: r.Expr, pos: r.Pos()})
			continue
		}
		k.items = append(k.items, item{name: v.name, e: k.b.read(v, star.Pos()), pos: star.Pos()})
	}
	for _, r := range star.Replace {
		if indexIdent([]ast.Ident{r.Alias}, nameOf(cols, r.Alias)) < 0 {
			return k.b.suggest(fail.UndefinedColumn, r.Alias, visibleNames(cols), "column %q of REPLACE is not in *", r.Alias.Text)
		}
	}
	return nil
}

// starred are the columns of * or t.* but for those of EXCLUDE.
func (k *block) starred(star *ast.Star) ([]*visible, error) {
	all, err := k.starColumns(star)
	if err != nil {
		return nil, err
	}
	used := map[int]bool{}
	var out []*visible
	for _, v := range all {
		if i := indexIdent(star.Exclude, v.name); i >= 0 {
			used[i] = true
			continue
		}
		out = append(out, v)
	}
	for i, id := range star.Exclude {
		if !used[i] {
			return nil, k.b.suggest(fail.UndefinedColumn, id, visibleNames(all), "column %q of EXCLUDE is not in *", id.Text)
		}
	}
	return out, nil
}

func nameOf(cols []*visible, id ast.Ident) string {
	for _, v := range cols {
		if nameIs(id, v.name) {
			return v.name
		}
	}
	return id.Text + " " // no column has this name
}

func visibleNames(cols []*visible) []string {
	names := make([]string, len(cols))
	for i, v := range cols {
		names[i] = v.name
	}
	return names
}

func indexIdent(ids []ast.Ident, name string) int {
	for i, id := range ids {
		if nameIs(id, name) {
			return i
		}
	}
	return -1
}

func replacement(star *ast.Star, name string) *ast.SelectItem {
	for _, r := range star.Replace {
		if nameIs(r.Alias, name) {
			return r
		}
	}
	return nil
}

// starColumns are the columns of * or t.*.
func (k *block) starColumns(star *ast.Star) ([]*visible, error) {
	var out []*visible
	if len(star.Qualifier) == 0 {
		if len(k.scope.tables) == 0 {
			return nil, k.b.fail(fail.Syntax, star.Pos(), "SELECT * needs a FROM")
		}
		for _, v := range k.scope.cols {
			if v.inStar {
				out = append(out, v)
			}
		}
		return out, nil
	}
	tables := k.scope.matchTable(star.Qualifier)
	if len(tables) == 0 {
		ref := &ast.ColumnRef{Span: star.Span, Parts: append(append([]ast.Ident(nil), star.Qualifier...), ast.Ident{Text: "*"})}
		return nil, k.b.unresolvedTable(k.scope, ref)
	}
	for _, v := range k.scope.cols {
		// Columns merged by USING are not in * under their table, but they are in t.*.
		if v.table == tables[0] && (v.inStar || !v.bare) {
			out = append(out, v)
		}
	}
	return out, nil
}

// outputName is the alias, the column, or else the text of the expression.
func (b *Binder) outputName(it *ast.SelectItem) string {
	if !it.Alias.IsZero() {
		return it.Alias.Text
	}
	e := it.Expr
	for {
		c, ok := e.(*ast.Cast)
		if !ok {
			break
		}
		e = c.X
	}
	if ref, ok := e.(*ast.ColumnRef); ok {
		return ref.Parts[len(ref.Parts)-1].Text
	}
	return b.sourceText(it.Expr)
}

// sourceText is a node as it was written, on one line.
func (b *Binder) sourceText(n ast.Node) string {
	if n.Pos() < 0 || n.End() > len(b.text) || n.Pos() > n.End() {
		return "?"
	}
	return strings.Join(strings.Fields(b.text[n.Pos():n.End()]), " ")
}

// bindItems binds the select list.
func (k *block) bindItems() error {
	for i := range k.items {
		it := &k.items[i]
		if it.e != nil {
			continue
		}
		e, err := k.list.expr(it.ast)
		if err != nil {
			return err
		}
		it.e = e
		if c, ok := e.(*expr.Column); ok && strings.EqualFold(c.Name, it.name) {
			if _, isRef := it.ast.(*ast.ColumnRef); isRef && !k.aliased(i) {
				it.name = c.Name // as declared, whatever the case in the text
			}
		}
	}
	return nil
}

// aliased reports whether the item of a column reference has an alias.
func (k *block) aliased(i int) bool {
	for _, it := range k.sel.Items {
		if it.Expr == k.items[i].ast {
			return !it.Alias.IsZero()
		}
	}
	return true
}

func (k *block) having() (expr.Expr, error) {
	if k.sel.Having == nil {
		return nil, nil
	}
	k.list.name, k.list.wins = "HAVING", nil
	defer func() { k.list.wins = k.wins }()
	defer k.list.withoutSets("HAVING")()
	return k.list.predicate(k.sel.Having)
}

// qualify binds QUALIFY, the condition over window calls, and checks the WINDOW clause.
func (k *block) qualify() (expr.Expr, error) {
	k.list.name = "WINDOW"
	if err := k.wins.check(k.list); err != nil || k.sel.Qualify == nil {
		return nil, err
	}
	k.list.name = "QUALIFY"
	defer k.list.withoutSets("QUALIFY")()
	cond, err := k.list.predicate(k.sel.Qualify)
	if err == nil && len(k.wins.nodes) == 0 {
		err = k.b.fail(fail.Windowing, k.sel.Qualify.Pos(), "QUALIFY needs a window function, here or in the select list").
			WithHint("Conditions without one stand in WHERE, or in HAVING.")
	}
	return cond, err
}

// groupBy binds the grouping keys: a name is an input column first, then an
// alias; a number is an item of the select list.
func (k *block) groupBy() error {
	g := k.sel.GroupBy
	if g == nil {
		return nil
	}
	k.agg.rows = newSetCalls(nil)
	k.rows.below = k.agg.rows
	c := &clause{b: k.b, scope: k.scope, name: "GROUP BY", aliases: k.sel.Items, sets: k.agg.rows}
	var err error
	if hasSets(g) {
		err = k.groupSets(c, g)
	} else {
		_, err = k.groupKeys(c, k.groupExprs(g))
	}
	k.agg.below = append(k.agg.below, c.joins...)
	return err
}

// groupExprs lists the keys as written; GROUP BY ALL is every item without an aggregate.
func (k *block) groupExprs(g *ast.GroupBy) []ast.Expr {
	var out []ast.Expr
	if g.All {
		for i, it := range k.items {
			if it.ast == nil {
				k.agg.addGroup(it.name, it.e)
			} else if !k.b.hasAggregate(it.ast) && !hasWindow(it.ast) {
				out = append(out, k.items[i].ast)
			}
		}
		return out
	}
	for _, it := range g.Items {
		out = append(out, it.Exprs...)
	}
	return out
}

func (k *block) groupKey(c *clause, e ast.Expr) (string, expr.Expr, error) {
	n, ok, err := k.b.ordinal(e, len(k.items), "GROUP BY")
	if err != nil {
		return "", nil, err
	}
	if !ok {
		bound, err := c.expr(e)
		return k.b.sourceText(e), bound, err
	}
	it := k.items[n]
	if it.e != nil {
		return it.name, it.e, nil
	}
	bound, err := c.expr(it.ast)
	return it.name, bound, err
}

// orderKey is a sort key: an output by its position, or an expression over the input.
type orderKey struct {
	output int // -1 for an expression
	key    plan.SortKey
}

// orderBy binds ORDER BY: a number or the name of an output, else an expression.
func (k *block) orderBy(items []*ast.OrderItem) ([]orderKey, error) {
	k.list.name = "ORDER BY"
	var out []orderKey
	for _, it := range items {
		if it.All {
			for i := range k.items {
				key, err := k.b.sortKey(it, k.items[i].e)
				if err != nil {
					return nil, err
				}
				out = append(out, orderKey{output: i, key: key})
			}
			continue
		}
		key, err := k.orderItem(it)
		if err != nil {
			return nil, err
		}
		out = append(out, key)
	}
	return out, nil
}

func (k *block) orderItem(it *ast.OrderItem) (orderKey, error) {
	i, ok, err := k.b.ordinal(it.Expr, len(k.items), "ORDER BY")
	if err != nil {
		return orderKey{}, err
	}
	if !ok {
		if i, ok, err = k.outputNamed(it.Expr); err != nil {
			return orderKey{}, err
		}
	}
	if ok {
		key, err := k.b.sortKey(it, k.items[i].e)
		return orderKey{output: i, key: key}, err
	}
	e, err := k.list.expr(it.Expr)
	if err != nil {
		return orderKey{}, err
	}
	key, err := k.b.sortKey(it, e)
	if err != nil {
		return orderKey{}, err
	}
	want := exprKey(key.Expr)
	for i, item := range k.items {
		if exprKey(item.e) == want {
			return orderKey{output: i, key: key}, nil
		}
	}
	if k.sel.Distinct && len(k.sel.DistinctOn) == 0 {
		return orderKey{}, k.b.fail(fail.Grouping, it.Pos(), "with SELECT DISTINCT, ORDER BY takes expressions of the select list only").
			WithHint("Add %s to the select list.", k.b.sourceText(it.Expr))
	}
	return orderKey{output: -1, key: key}, nil
}

// outputNamed finds the output that a single name means. Two outputs of one name
// are fine where they are the same expression.
func (k *block) outputNamed(e ast.Expr) (int, bool, error) {
	ref, ok := e.(*ast.ColumnRef)
	if !ok || len(ref.Parts) > 1 {
		return 0, false, nil
	}
	found := -1
	exact := false
	for i, it := range k.items {
		if !nameIs(ref.Parts[0], it.name) {
			continue
		}
		same := it.name == ref.Parts[0].Text
		switch {
		case found < 0 || same && !exact:
			found, exact = i, same
		case same == exact && exprKey(k.items[found].e) != exprKey(it.e):
			return 0, false, k.b.fail(fail.AmbiguousColumn, e.Pos(), "ORDER BY %q is ambiguous: two outputs have this name", ref.Parts[0].Text)
		}
	}
	return found, found >= 0, nil
}

// finish builds the plan above FROM and WHERE: aggregation, the subqueries of
// the select list, HAVING, windows, QUALIFY, projection, DISTINCT, order.
func (k *block) finish(having, qualify expr.Expr, on []expr.Expr, keys []orderKey) (plan.Node, error) {
	var err error
	joins := k.list.joins
	above := func(e expr.Expr) (expr.Expr, error) { return e, nil }
	if k.agg != nil {
		if having, joins, err = k.aggregate(having, keys); err != nil {
			return nil, err
		}
		above = k.agg.above
	}
	if k.node, err = k.b.applyAll(k.node, joins); err != nil {
		return nil, err
	}
	if having != nil {
		k.node = &plan.Filter{Input: k.node, Pred: having}
	}
	if k.node, err = k.wins.stack(k.node, above); err != nil {
		return nil, err
	}
	if qualify, err = above(qualify); err != nil {
		return nil, err
	}
	if qualify != nil {
		k.node = &plan.Filter{Input: k.node, Pred: qualify}
	}
	k.node = k.rows.over(k.node)
	if len(on) > 0 {
		for i := range on {
			if on[i], err = above(on[i]); err != nil {
				return nil, err
			}
		}
		if err := k.firstOfEach(on, keys); err != nil {
			return nil, err
		}
	}
	return k.project(keys)
}

// aggregate puts the Aggregate node under everything bound so far.
func (k *block) aggregate(having expr.Expr, keys []orderKey) (expr.Expr, []subJoin, error) {
	var err error
	if k.node, err = k.b.applyAll(k.node, k.agg.below); err != nil {
		return nil, nil, err
	}
	k.node = k.agg.rows.over(k.node)
	if err := k.rows.above(k.agg); err != nil {
		return nil, nil, err
	}
	for i := range k.items {
		if k.items[i].e, err = k.agg.above(k.items[i].e); err != nil {
			return nil, nil, err
		}
	}
	for i := range keys {
		if keys[i].key.Expr, err = k.agg.above(keys[i].key.Expr); err != nil {
			return nil, nil, err
		}
	}
	if having, err = k.agg.above(having); err != nil {
		return nil, nil, err
	}
	joins := make([]subJoin, len(k.list.joins))
	for i, j := range k.list.joins {
		if joins[i], err = k.agg.aboveJoin(j); err != nil {
			return nil, nil, err
		}
	}
	if len(k.agg.groups)+len(k.agg.calls) == 0 && k.agg.plain() { // HAVING alone: a call makes the one row
		r, err := k.b.env.Functions.Aggregate("count", nil)
		if err != nil {
			return nil, nil, k.b.at(err, k.sel.Pos())
		}
		k.agg.addCall(plan.AggCall{Column: plan.Column{Name: "count(*)", Type: r.Ret}, Fn: r.Agg})
	}
	k.node = k.agg.node(k.node)
	return having, joins, nil
}

// project computes the outputs, and sort keys that are not outputs beside them.
func (k *block) project(keys []orderKey) (plan.Node, error) {
	p := &plan.Project{Input: k.node}
	for _, it := range k.items {
		p.Exprs = append(p.Exprs, plan.NamedExpr{Column: k.b.newColumn(it.name, it.e.Type()), Expr: it.e})
	}
	extra := 0
	for i := range keys {
		if keys[i].output >= 0 {
			continue
		}
		extra++
		keys[i].output = len(p.Exprs)
		e := keys[i].key.Expr
		p.Exprs = append(p.Exprs, plan.NamedExpr{Column: k.b.newColumn("sort key", e.Type()), Expr: e})
	}
	var node plan.Node = p
	if k.sel.Distinct && len(k.sel.DistinctOn) == 0 {
		var err error
		if node, err = k.b.distinct(k.b.settleTypes(p), k.sel.Pos()); err != nil {
			return nil, err
		}
	}
	if len(keys) == 0 {
		return node, nil
	}
	node = k.b.settleTypes(node)
	cols := node.Columns()
	s := &plan.Sort{Input: node, Limit: plan.NoLimit}
	for _, o := range keys {
		s.Keys = append(s.Keys, plan.SortKey{Expr: cols[o.output].Ref(), Desc: o.key.Desc, NullsFirst: o.key.NullsFirst})
	}
	if extra == 0 {
		return s, nil
	}
	return passColumns(s, cols[:len(cols)-extra]), nil
}

// passColumns projects a node to some of its columns, under their ids.
func passColumns(n plan.Node, cols []plan.Column) *plan.Project {
	p := &plan.Project{Input: n}
	for _, c := range cols {
		p.Exprs = append(p.Exprs, plan.NamedExpr{Column: c, Expr: c.Ref()})
	}
	return p
}
