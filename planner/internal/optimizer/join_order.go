package optimizer

import (
	"math/bits"

	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/plan"
)

// joinOrder orders the relations of inner joins. Of up to mostOrdered relations it
// takes the cheapest tree of all, as joinCost says; of more it joins the largest
// with always the one that leaves the fewest rows. The right side of a join is the
// one that the executor builds its table from. Cross products come last, and only
// where no condition connects what is left.
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
	g.link()
	if len(g.rels) <= mostOrdered {
		return g.best()
	}
	return g.greedy()
}

// mostOrdered bounds the relations of which all trees are looked at: 3^10 / 2 pairs
// of sets take less than 10 ms.
const mostOrdered = 10

// buildCost is what putting a row into the table of a join costs, where looking one
// up, and handing a row on, cost 1.
const buildCost = 2

func joinCost(left, right, out float64) float64 { return left + buildCost*right + out }

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

// relSet is a set of relations, one bit each.
type relSet uint64

func (s relSet) has(o relSet) bool { return s&o == o }

// relation is an input of the inner joins.
type relation struct {
	node plan.Node
	cols idSet
	est  estimate
}

// joinGraph is a tree of inner joins taken apart.
type joinGraph struct {
	rels  []relation
	conds []expr.Expr
	edges []edge
}

// edge is what conditions say of the relations that they read: together, the
// equalities between the same two sets, or one other condition.
type edge struct {
	reads relSet
	// left and right are the sides of equalities; 0 of another condition.
	left, right relSet
	keys        []plan.EquiKey
	part        float64 // of the pairs of rows that pass
}

// connects reports whether the edge is a key of a join of the two sets.
func (e *edge) connects(a, b relSet) bool {
	return e.left != 0 && (a.has(e.left) && b.has(e.right) || a.has(e.right) && b.has(e.left))
}

func (g *joinGraph) collect(c *context, n plan.Node) {
	j, ok := n.(*plan.Join)
	if !ok || !reorderable(j) {
		n = joinOrder(c, n)
		g.rels = append(g.rels, relation{node: n, cols: columnsOf(n), est: c.rows.of(n)})
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

// link makes edges of the conditions.
func (g *joinGraph) link() {
	all := estimate{cols: map[expr.ColumnID]column{}, rows: 1}
	for _, r := range g.rels {
		for id := range r.cols {
			all.cols[id] = r.est.value(&expr.Column{ID: id})
		}
	}
	for _, cond := range g.conds {
		e := edge{reads: g.read(cond)}
		if cmp, ok := cond.(*expr.Compare); ok {
			l, r := g.read(cmp.Left), g.read(cmp.Right)
			if key, ok := equiKey(cond, g.columns(l), g.columns(r)); ok && l&r == 0 {
				e.left, e.right, e.keys = l, r, []plan.EquiKey{key}
			}
		}
		if e.left == 0 {
			e.part = all.part(cond)
		}
		g.add(e)
	}
	for i := range g.edges {
		if e := &g.edges[i]; e.left != 0 {
			e.part = keysSelectivity(&all, &all, e.keys)
		}
	}
}

// add joins an edge with the one between the same sets.
func (g *joinGraph) add(e edge) {
	for i := range g.edges {
		k := &g.edges[i]
		switch {
		case e.left == 0 || k.left == 0:
			continue
		case k.left == e.left && k.right == e.right:
			k.keys = append(k.keys, e.keys...)
			return
		case k.left == e.right && k.right == e.left:
			key := e.keys[0]
			key.Left, key.Right = key.Right, key.Left
			k.keys = append(k.keys, key)
			return
		}
	}
	g.edges = append(g.edges, e)
}

// read are the relations whose columns an expression reads.
func (g *joinGraph) read(e expr.Expr) relSet {
	var s relSet
	for id := range reads(e) {
		for i := range g.rels {
			if g.rels[i].cols[id] {
				s |= 1 << i
			}
		}
	}
	return s
}

func (g *joinGraph) columns(s relSet) idSet {
	out := idSet{}
	for i := range g.rels {
		if s.has(1 << i) {
			for id := range g.rels[i].cols {
				out[id] = true
			}
		}
	}
	return out
}

// rows are those of the join of a set, whatever the order in which it is made.
func (g *joinGraph) rows(s relSet) float64 {
	n := 1.0
	for i := range g.rels {
		if s.has(1 << i) {
			n *= g.rels[i].est.rows
		}
	}
	for i := range g.edges {
		if s.has(g.edges[i].reads) {
			n *= g.edges[i].part
		}
	}
	return max(1, n)
}

// tree is the best way to join a set that is known.
type tree struct {
	left, right relSet // 0 of a single relation
	crosses     int    // cross products in it
	cost, rows  float64
}

func (t *tree) better(o *tree) bool {
	if t.crosses != o.crosses {
		return t.crosses < o.crosses
	}
	return t.cost < o.cost
}

// best looks at all trees: for each set of relations, from small to large, at all
// ways to make it of two. Of trees that cost the same the first stays.
func (g *joinGraph) best() plan.Node {
	full := relSet(1)<<len(g.rels) - 1
	trees := make([]tree, full+1)
	for s := relSet(1); s <= full; s++ {
		trees[s].rows = g.rows(s)
		if bits.OnesCount64(uint64(s)) == 1 {
			continue
		}
		found := false
		for left := s & -s; left != s; left = (left - s) & s {
			t := g.pair(trees, left, s^left)
			if t.rows = trees[s].rows; !found || t.better(&trees[s]) {
				trees[s], found = t, true
			}
		}
	}
	node, _ := g.build(trees, full)
	return filtered(node, g.conds)
}

func (g *joinGraph) pair(trees []tree, left, right relSet) tree {
	l, r := &trees[left], &trees[right]
	t := tree{left: left, right: right, crosses: l.crosses + r.crosses}
	if !g.connected(left, right) {
		t.crosses++
	}
	t.cost = l.cost + r.cost + joinCost(l.rows, r.rows, trees[left|right].rows)
	return t
}

func (g *joinGraph) connected(a, b relSet) bool {
	for i := range g.edges {
		if g.edges[i].connects(a, b) {
			return true
		}
	}
	return false
}

func (g *joinGraph) build(trees []tree, s relSet) (plan.Node, idSet) {
	t := &trees[s]
	if t.left == 0 {
		r := &g.rels[bits.TrailingZeros64(uint64(s))]
		return r.node, r.cols
	}
	l, lc := g.build(trees, t.left)
	r, rc := g.build(trees, t.right)
	return g.join(l, lc, r, rc)
}

// greedy begins with the largest relation. More than 64 relations are joined as
// they stand: a set has no room for them.
func (g *joinGraph) greedy() plan.Node {
	first := 0
	if len(g.rels) <= 64 {
		for i := range g.rels {
			if g.rels[i].est.rows > g.rels[first].est.rows {
				first = i
			}
		}
	}
	have, node, cols := relSet(1)<<first, g.rels[first].node, g.rels[first].cols
	done := map[int]bool{first: true}
	for len(done) < len(g.rels) {
		i := g.next(have, done)
		node, cols = g.join(node, cols, g.rels[i].node, g.rels[i].cols)
		have |= 1 << i
		done[i] = true
	}
	return filtered(node, g.conds)
}

// next chooses the relation to join: connected ones before others, then the one
// that leaves the fewest rows, then the smaller, then the first.
func (g *joinGraph) next(have relSet, done map[int]bool) int {
	best, connected, rows := -1, false, 0.0
	for i := range g.rels {
		if done[i] {
			continue
		}
		if len(g.rels) > 64 {
			return i
		}
		c, n := g.connected(have, 1<<i), g.rows(have|1<<i)
		switch {
		case best < 0, c && !connected, c == connected && n < rows,
			c == connected && n == rows && g.rels[i].est.rows < g.rels[best].est.rows:
			best, connected, rows = i, c, n
		}
	}
	return best
}

// join joins two plans with the conditions that have all their columns now.
func (g *joinGraph) join(l plan.Node, lc idSet, r plan.Node, rc idSet) (plan.Node, idSet) {
	cols := with(lc)
	for id := range rc {
		cols[id] = true
	}
	out := &plan.Join{Left: l, Right: r, Kind: plan.Inner}
	var later, residual []expr.Expr
	for _, cond := range g.conds {
		if key, ok := equiKey(cond, lc, rc); ok {
			out.Keys = append(out.Keys, key)
		} else if reads(cond).within(cols) {
			residual = append(residual, cond)
		} else {
			later = append(later, cond)
		}
	}
	out.Residual = expr.AllOf(residual)
	g.conds = later
	return out, cols
}
