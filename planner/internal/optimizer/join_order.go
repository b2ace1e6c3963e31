package optimizer

import (
	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/plan"
)

// joinOrder orders the relations of inner joins: the largest first, then always
// one that a condition connects with what is joined already, the most selective
// first. The right side of a join, which the executor builds its table from, is
// then the new and usually smaller relation. Cross products come last.
//
// Safety rules: only inner joins are reordered, and only where no condition is
// volatile; every condition is applied as soon as all its columns are there, so
// none is lost or applied twice.
func joinOrder(c *context, n plan.Node) plan.Node {
	j, ok := n.(*plan.Join)
	if !ok || !reorderable(j) {
		kids := n.Children()
		if len(kids) == 0 {
			return n
		}
		out := make([]plan.Node, len(kids))
		for i, k := range kids {
			out[i] = joinOrder(c, k)
		}
		return n.WithChildren(out)
	}
	g := &joinGraph{}
	g.collect(c, j)
	return g.order()
}

func reorderable(j *plan.Join) bool {
	if j.Kind != plan.Inner || j.Apply {
		return false
	}
	for _, k := range j.Keys {
		if expr.HasVolatile(k.Left) || expr.HasVolatile(k.Right) {
			return false
		}
	}
	return j.Residual == nil || !expr.HasVolatile(j.Residual)
}

// relation is an input of the inner joins, with its estimated rows before and
// after its own filters.
type relation struct {
	node       plan.Node
	cols       idSet
	base, rows float64
}

// joinGraph is a tree of inner joins taken apart.
type joinGraph struct {
	rels  []relation
	conds []expr.Expr
}

func (g *joinGraph) collect(c *context, n plan.Node) {
	j, ok := n.(*plan.Join)
	if !ok || !reorderable(j) {
		n = joinOrder(c, n)
		e := estimator{c.opts.Stats}
		base, rows := e.baseRows(n), e.rows(n)
		g.rels = append(g.rels, relation{node: n, cols: columnsOf(n), base: base, rows: rows})
		return
	}
	g.collect(c, j.Left)
	g.collect(c, j.Right)
	for _, k := range j.Keys {
		op := expr.Eq
		if k.NullSafe {
			op = expr.NotDistinct
		}
		g.conds = append(g.conds, &expr.Compare{Op: op, Left: k.Left, Right: k.Right})
	}
	g.conds = append(g.conds, expr.Conjuncts(j.Residual)...)
}

// order joins all relations.
func (g *joinGraph) order() plan.Node {
	first := 0
	for i, r := range g.rels {
		if r.rows > g.rels[first].rows {
			first = i
		}
	}
	cur := g.take(first)
	for len(g.rels) > 0 {
		cur = g.join(cur, g.take(g.next(cur.cols)))
	}
	return filtered(cur.node, g.conds)
}

func (g *joinGraph) take(i int) relation {
	r := g.rels[i]
	g.rels = append(g.rels[:i:i], g.rels[i+1:]...)
	return r
}

// next chooses the relation to join: connected ones before others, then the one
// that keeps the smallest part of its rows, then the smaller, then the first.
func (g *joinGraph) next(have idSet) int {
	best := 0
	for i := 1; i < len(g.rels); i++ {
		if g.better(i, best, have) {
			best = i
		}
	}
	return best
}

func (g *joinGraph) better(i, j int, have idSet) bool {
	a, b := g.rels[i], g.rels[j]
	ca, cb := g.connected(a, have), g.connected(b, have)
	if ca != cb {
		return ca
	}
	if !ca {
		return a.rows < b.rows
	}
	if sa, sb := a.rows/a.base, b.rows/b.base; sa != sb {
		return sa < sb
	}
	return a.rows < b.rows
}

func (g *joinGraph) connected(r relation, have idSet) bool {
	for _, cond := range g.conds {
		if _, ok := equiKey(cond, have, r.cols); ok {
			return true
		}
	}
	return false
}

// join joins a relation with the conditions that hold all their columns now.
func (g *joinGraph) join(l, r relation) relation {
	cols := with(l.cols)
	for id := range r.cols {
		cols[id] = true
	}
	out := &plan.Join{Left: l.node, Right: r.node, Kind: plan.Inner}
	var later, residual []expr.Expr
	for _, cond := range g.conds {
		if key, ok := equiKey(cond, l.cols, r.cols); ok {
			out.Keys = append(out.Keys, key)
		} else if reads(cond).within(cols) {
			residual = append(residual, cond)
		} else {
			later = append(later, cond)
		}
	}
	out.Residual = expr.AllOf(residual)
	g.conds = later
	return relation{node: out, cols: cols, base: max(l.base, r.base), rows: max(l.rows, r.rows)}
}
