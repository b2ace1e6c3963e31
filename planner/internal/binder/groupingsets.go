package binder

import (
	"sort"

	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
	"github.com/loamdb/loam/planner/internal/ast"
)

// Limits of GROUP BY, PostgreSQL's: a short CUBE stands for very many sets, and
// grouping() must fit an INT.
const (
	maxSets     = 4096
	maxGrouping = 31
)

// groupSets binds GROUP BY with ROLLUP, CUBE or GROUPING SETS: each item stands
// for a list of sets, and the clause for every choice of one set from each item.
func (k *block) groupSets(c *clause, g *ast.GroupBy) error {
	sets := [][]int{{}}
	for _, it := range g.Items {
		list, err := k.setsOf(c, it)
		if err != nil {
			return err
		}
		if sets, err = k.cross(sets, list, it.Pos()); err != nil {
			return err
		}
	}
	for i, set := range sets {
		sets[i] = sortedSet(set)
	}
	if g.Distinct {
		sets = distinctSets(sets)
	}
	k.agg.sets = sets
	return nil
}

// sortedSet orders a set and drops what it has twice.
func sortedSet(set []int) []int {
	out := append([]int(nil), set...)
	sort.Ints(out)
	n := 0
	for i, key := range out {
		if i == 0 || key != out[n-1] {
			out[n] = key
			n++
		}
	}
	return out[:n]
}

func distinctSets(sets [][]int) [][]int {
	var out [][]int
	for _, set := range sets {
		known := false
		for _, have := range out {
			known = known || sameSet(have, set)
		}
		if !known {
			out = append(out, set)
		}
	}
	return out
}

func sameSet(a, b []int) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// cross unites every set of the one list with every set of the other.
func (k *block) cross(a, b [][]int, off int) ([][]int, error) {
	if len(a)*len(b) > maxSets {
		return nil, k.tooManySets(off)
	}
	var out [][]int
	for _, x := range a {
		for _, y := range b {
			out = append(out, append(x[:len(x):len(x)], y...))
		}
	}
	return out, nil
}

func (k *block) tooManySets(off int) error {
	return k.b.fail(fail.TooDeep, off, "GROUP BY stands for more than %d grouping sets", maxSets).
		WithHint("List the sets that are needed in GROUPING SETS (…).")
}

// setsOf lists the sets that an item of GROUP BY stands for.
func (k *block) setsOf(c *clause, it *ast.GroupItem) ([][]int, error) {
	if it.Kind == ast.GroupExprs {
		keys, err := k.groupKeys(c, it.Exprs)
		return [][]int{keys}, err
	}
	if it.Kind == ast.GroupSets {
		var out [][]int
		for _, s := range it.Sets {
			list, err := k.setsOf(c, s)
			if err != nil {
				return nil, err
			}
			if out = append(out, list...); len(out) > maxSets {
				return nil, k.tooManySets(it.Pos())
			}
		}
		return out, nil
	}
	units := make([][]int, len(it.Sets))
	for i, s := range it.Sets {
		var err error
		if units[i], err = k.groupKeys(c, s.Exprs); err != nil {
			return nil, err
		}
	}
	if it.Kind == ast.GroupRollup {
		return rollup(units), nil
	}
	const most = 12 // 2^12 sets are maxSets
	if len(units) > most {
		return nil, k.tooManySets(it.Pos())
	}
	return cube(units), nil
}

// rollup is (a, b, c), (a, b), (a), ().
func rollup(units [][]int) [][]int {
	var out [][]int
	for n := len(units); n >= 0; n-- {
		var set []int
		for _, u := range units[:n] {
			set = append(set, u...)
		}
		out = append(out, set)
	}
	return out
}

// cube is every choice of the units, from all to none.
func cube(units [][]int) [][]int {
	var out [][]int
	for pick := 1<<len(units) - 1; pick >= 0; pick-- {
		var set []int
		for i, u := range units {
			if pick>>(len(units)-1-i)&1 == 1 {
				set = append(set, u...)
			}
		}
		out = append(out, set)
	}
	return out
}

// groupKeys binds keys and gives their places among the groups.
func (k *block) groupKeys(c *clause, list []ast.Expr) ([]int, error) {
	var out []int
	for _, e := range list {
		name, bound, err := k.groupKey(c, e)
		if err != nil {
			return nil, err
		}
		bound = k.b.settle(bound)
		if !bound.Type().Orderable() {
			return nil, k.b.fail(fail.DatatypeMismatch, e.Pos(), "values of type %s cannot be grouped", bound.Type())
		}
		out = append(out, k.agg.addGroup(name, bound))
	}
	return out, nil
}

// hasSets reports whether GROUP BY says more than a list of keys.
func hasSets(g *ast.GroupBy) bool {
	for _, it := range g.Items {
		if it.Kind != ast.GroupExprs {
			return true
		}
	}
	return false
}

// plain reports whether there is one set, which then has all keys.
func (g *aggregation) plain() bool { return len(g.sets) < 2 }

// node is the plan of the aggregation over its input.
func (g *aggregation) node(input plan.Node) plan.Node {
	if g.plain() {
		return &plan.Aggregate{Input: input, Groups: g.groups, Aggs: g.calls}
	}
	return &plan.GroupingSets{Input: input, Groups: g.groups, Sets: g.sets, Aggs: g.calls, Marks: g.marks}
}

// grouping binds grouping(key, …): which keys the set of a row leaves out.
func (c *clause) grouping(name string, x *ast.FuncCall) (expr.Expr, error) {
	switch {
	case c.inside != "" || c.aggs == nil:
		where := c.name
		return nil, c.b.fail(fail.Grouping, x.Pos(), "%s is not allowed in %s", name, where).
			WithHint("It belongs into the select list, HAVING or ORDER BY of a query with GROUP BY.")
	case len(x.Args) == 0:
		return nil, c.b.fail(fail.UndefinedFunction, x.Pos(), "%s takes one or more keys of GROUP BY", name)
	case len(x.Args) > maxGrouping:
		return nil, c.b.fail(fail.UndefinedFunction, x.Pos(), "%s takes at most %d keys", name, maxGrouping)
	}
	if err := c.scalarOnly(name, x); err != nil {
		return nil, err
	}
	mark := plan.GroupingMark{Column: plan.Column{Name: c.b.sourceText(x), Type: types.Of(types.Int32)}}
	for _, a := range x.Args {
		if _, star := a.Value.(*ast.Star); star || !a.Name.IsZero() {
			return nil, c.b.fail(fail.Syntax, a.Pos(), "%s takes keys of GROUP BY", name)
		}
		in := &clause{b: c.b, scope: c.scope, name: "the arguments of " + name, aliases: c.aliases}
		e, err := in.expr(a.Value)
		if err != nil {
			return nil, err
		}
		key := c.aggs.position(c.b.settle(e))
		if key < 0 {
			return nil, c.b.fail(fail.Grouping, a.Pos(), "the arguments of %s must be keys of GROUP BY", name).
				WithHint("Add %s to GROUP BY.", c.b.sourceText(a.Value))
		}
		mark.Keys = append(mark.Keys, key)
	}
	return c.aggs.addMark(mark), nil
}

// position is the place of a grouping key, or -1.
func (g *aggregation) position(e expr.Expr) int {
	key := exprKey(e)
	for i, group := range g.groups {
		if exprKey(group.Expr) == key {
			return i
		}
	}
	return -1
}

// addMark adds a call of grouping(), or finds the same one. Over plain grouping
// it is 0.
func (g *aggregation) addMark(m plan.GroupingMark) expr.Expr {
	if g.plain() {
		return &expr.Const{Value: vec.Int32(0)}
	}
	for _, have := range g.marks {
		if sameSet(have.Keys, m.Keys) {
			return have.Ref()
		}
	}
	m.ID = g.b.newID()
	g.marks = append(g.marks, m)
	return m.Ref()
}

// separate rewrites grouping sets as one aggregation for each set over a copy of
// the input of its own, for rewrites that know only plain grouping.
func (b *Binder) separate(x *plan.GroupingSets) plan.Node {
	out := &plan.UnionAll{Cols: x.Columns()}
	for _, set := range x.Sets {
		c := b.clone(&plan.GroupingSets{Input: x.Input, Groups: x.Groups, Aggs: x.Aggs})
		k := c.node.(*plan.GroupingSets)
		agg := &plan.Aggregate{Input: k.Input, Aggs: k.Aggs}
		in := map[int]bool{}
		for _, key := range set {
			in[key] = true
			agg.Groups = append(agg.Groups, k.Groups[key])
		}
		p := &plan.Project{Input: agg}
		for i, g := range k.Groups {
			e := expr.Expr(g.Ref())
			if !in[i] {
				e = nullConst(g.Type)
			}
			p.Exprs = append(p.Exprs, plan.NamedExpr{Column: b.newColumn(g.Name, g.Type), Expr: e})
		}
		for _, a := range k.Aggs {
			p.Exprs = append(p.Exprs, plan.NamedExpr{Column: b.newColumn(a.Name, a.Type), Expr: a.Ref()})
		}
		for _, m := range x.Marks {
			value := &expr.Const{Value: vec.Int32(m.Value(set))}
			p.Exprs = append(p.Exprs, plan.NamedExpr{Column: b.newColumn(m.Name, m.Type), Expr: value})
		}
		out.Inputs = append(out.Inputs, p)
	}
	return out
}
