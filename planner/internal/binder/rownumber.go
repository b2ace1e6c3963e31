package binder

import (
	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
	"github.com/loamdb/loam/planner/internal/ast"
)

// Forms of a query that number rows: DISTINCT ON keeps the first row of each
// partition, EXCEPT ALL and INTERSECT ALL compare the n-th copies of a row, and
// WITH TIES compares ranks.

// rowNumbers puts the calls of window functions without arguments over a plan.
func (b *Binder) rowNumbers(in plan.Node, parts []expr.Expr, keys []plan.SortKey, names ...string) (*plan.Window, error) {
	w := &plan.Window{Input: in, PartitionBy: parts, OrderBy: keys}
	for _, name := range names {
		r, err := b.env.Functions.Window(name, nil)
		if err != nil {
			return nil, err
		}
		w.Calls = append(w.Calls, plan.WindowCall{Column: b.newColumn(name, r.Ret), Fn: r.Window, Frame: plan.WholePartition})
	}
	return w, nil
}

func bigintConst(n int64) expr.Expr { return &expr.Const{Value: vec.Int64(n)} }

// distinctOn binds DISTINCT ON (…): names and numbers mean outputs, as in ORDER
// BY, whose first keys they must be.
func (k *block) distinctOn(order []orderKey) ([]expr.Expr, error) {
	k.list.name = "DISTINCT ON"
	var on []expr.Expr
	listed := map[string]bool{}
	for _, e := range k.sel.DistinctOn {
		key, err := k.orderItem(&ast.OrderItem{Span: ast.Span{Start: e.Pos(), Stop: e.End()}, Expr: e})
		if err != nil {
			return nil, err
		}
		on = append(on, key.key.Expr)
		listed[exprKey(key.key.Expr)] = true
	}
	ordered, others := map[string]bool{}, false
	for _, o := range order {
		key := exprKey(o.key.Expr)
		if !listed[key] {
			others = true
			continue
		}
		if others && !ordered[key] {
			return nil, k.mismatchedOrder()
		}
		ordered[key] = true
	}
	if others && len(ordered) < len(listed) {
		return nil, k.mismatchedOrder()
	}
	return on, nil
}

func (k *block) mismatchedOrder() error {
	return k.b.fail(fail.InvalidReference, k.sel.DistinctOn[0].Pos(), "the expressions of DISTINCT ON must be the first keys of ORDER BY").
		WithHint("The keys behind them say which row of each group is the first.")
}

// firstOfEach keeps the first row of each combination of values, in the order of the query.
func (k *block) firstOfEach(on []expr.Expr, order []orderKey) error {
	parts := map[string]bool{}
	for _, e := range on {
		parts[exprKey(e)] = true
	}
	var keys []plan.SortKey
	for _, o := range order {
		if !parts[exprKey(o.key.Expr)] { // equal within a group
			keys = append(keys, o.key)
		}
	}
	w, err := k.b.rowNumbers(k.node, on, keys, "row_number")
	if err != nil {
		return err
	}
	k.node = &plan.Filter{Input: w, Pred: &expr.Compare{Op: expr.Eq, Left: w.Calls[0].Ref(), Right: bigintConst(1)}}
	return nil
}

// combineAll is EXCEPT ALL and INTERSECT ALL: the n-th copy of a row on the left
// meets the n-th copy on the right.
func (b *Binder) combineAll(x *ast.SetOp, l, r plan.Node) (plan.Node, error) {
	cols := l.Columns()
	left, err := b.copies(l, x.Pos())
	if err != nil {
		return nil, err
	}
	right, err := b.copies(r, x.Pos())
	if err != nil {
		return nil, err
	}
	j := &plan.Join{Left: left, Right: right, Kind: plan.Semi}
	if x.Op == ast.Except {
		j.Kind = plan.Anti
	}
	rc := right.Columns()
	for i, c := range left.Columns() {
		j.Keys = append(j.Keys, plan.EquiKey{Left: c.Ref(), Right: rc[i].Ref(), NullSafe: true})
	}
	return passColumns(j, cols), nil
}

// copies numbers the copies of each row.
func (b *Binder) copies(n plan.Node, off int) (plan.Node, error) {
	var parts []expr.Expr
	for _, c := range n.Columns() {
		if err := b.comparable(c, off); err != nil {
			return nil, err
		}
		parts = append(parts, c.Ref())
	}
	return b.rowNumbers(n, parts, nil, "row_number")
}

// withTies is OFFSET m FETCH FIRST n ROWS WITH TIES over a sorted plan: of the
// rows behind the first m, those that rank within the first m + n.
func (b *Binder) withTies(node plan.Node, q *ast.Query) (plan.Node, error) {
	in, keys := belowSort(node)
	if len(q.OrderBy) == 0 || len(keys) == 0 {
		return nil, b.fail(fail.Syntax, q.Limit.Pos(), "WITH TIES needs an ORDER BY").WithHint("It says which rows tie; without it write ONLY.")
	}
	count, err := b.tiesCount(q.Limit, "FETCH FIRST", 0)
	if err != nil {
		return nil, err
	}
	skip, err := b.tiesCount(q.Offset, "OFFSET", 0)
	if err != nil {
		return nil, err
	}
	w, err := b.rowNumbers(in, nil, keys, "rank", "row_number")
	if err != nil {
		return nil, err
	}
	rank, err := b.scalar("-", []expr.Expr{w.Calls[0].Ref(), skip}, q.Pos())
	if err != nil {
		return nil, err
	}
	pred := expr.AllOf([]expr.Expr{
		&expr.Compare{Op: expr.Le, Left: rank, Right: count},
		&expr.Compare{Op: expr.Gt, Left: w.Calls[1].Ref(), Right: skip},
		&expr.Compare{Op: expr.Gt, Left: count, Right: bigintConst(0)},
	})
	sorted := &plan.Sort{Input: &plan.Filter{Input: w, Pred: pred}, Keys: keys, Limit: plan.NoLimit}
	return passColumns(sorted, node.Columns()), nil
}

// tiesCount binds a number of rows as an expression.
func (b *Binder) tiesCount(e ast.Expr, what string, absent int64) (expr.Expr, error) {
	n, err := b.rowCount(e, what, absent)
	if err != nil || n >= 0 {
		return bigintConst(n), err
	}
	c := &clause{b: b, scope: &scope{}, name: what}
	bound, err := c.expr(e)
	if err != nil {
		return nil, err
	}
	return b.coerce(bound, types.Of(types.Int64), e.Pos())
}
