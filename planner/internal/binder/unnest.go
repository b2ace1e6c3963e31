package binder

import (
	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// applyAll joins the waiting subqueries to a plan, in order.
func (b *Binder) applyAll(n plan.Node, joins []subJoin) (plan.Node, error) {
	for _, j := range joins {
		var err error
		if n, err = b.apply(n, j); err != nil {
			return nil, err
		}
	}
	return n, nil
}

// apply joins a right side to a plan whose columns it may read. It is the one
// place where dependent joins are unnested: either what depends on the left is
// pulled up into the condition of the join, or the right side is computed once
// for the distinct values that it reads (domain.go). What neither way can do is
// an error, never a different answer.
func (b *Binder) apply(left plan.Node, j subJoin) (plan.Node, error) {
	outer := columnsOf(left)
	if !freeColumns(j.right).meets(outer) {
		return plainJoin(left, j, j.right, nil), nil
	}
	if b.env.KeepDependent {
		return &plan.Join{Left: left, Right: j.right, Kind: j.kind, Keys: j.keys, Residual: j.cond, Mark: j.mark, Apply: true}, nil
	}
	if j.kind == plan.Right || j.kind == plan.Full {
		return nil, b.fail(fail.Unsupported, j.off, "a lateral item on the right side of a RIGHT or FULL JOIN is not supported").
			WithHint("Write LEFT JOIN: such rows exist only beside one on the left.")
	}
	if n, ok := graft(left, j); ok {
		return n, nil
	}
	u := &unnester{b: b, outer: outer, exists: j.kind == plan.Semi || j.kind == plan.Anti || j.kind == plan.Mark && len(j.keys) == 0}
	if j.kind == plan.Single {
		if n, ok := u.scalarAggregate(left, j); ok {
			return n, nil
		}
		if n, ok := u.firstRow(left, j); ok {
			return n, nil
		}
	}
	if p, ok := u.pull(j.right); ok && !(j.kind == plan.Mark && u.keysDepend(j, p)) {
		return u.joinPulled(left, j, p), nil
	}
	return b.applyDomain(left, j)
}

// plainJoin joins two independent sides; conds are conditions over both.
func plainJoin(left plan.Node, j subJoin, right plan.Node, conds []expr.Expr) plan.Node {
	out := &plan.Join{Left: left, Right: right, Kind: j.kind, Mark: j.mark, Keys: append([]plan.EquiKey(nil), j.keys...)}
	var rest []expr.Expr
	for _, cond := range append(expr.Conjuncts(j.cond), conds...) {
		if key, ok := equiKey(cond, columnsOf(left), columnsOf(right)); ok {
			out.Keys = append(out.Keys, key)
		} else {
			rest = append(rest, cond)
		}
	}
	if j.kind == plan.Mark {
		rest = twoValued(out, len(j.keys), rest)
	}
	out.Residual = expr.AllOf(rest)
	return out
}

// twoValued keeps the conditions of the subquery of a Mark join from making the
// mark NULL: only the first n keys, those of IN, are three-valued. A condition
// that is NULL drops the row, as WHERE in the subquery does.
func twoValued(j *plan.Join, n int, rest []expr.Expr) []expr.Expr {
	var notNull []expr.Expr
	for i := n; i < len(j.Keys); i++ {
		if !j.Keys[i].NullSafe {
			notNull = append(notNull, &expr.IsNull{Arg: j.Keys[i].Right, Negate: true})
			j.Keys[i].NullSafe = true
		}
	}
	if pred := expr.AllOf(notNull); pred != nil {
		j.Right = &plan.Filter{Input: j.Right, Pred: pred}
	}
	out := make([]expr.Expr, len(rest))
	for i, e := range rest {
		out[i] = &expr.Coalesce{Args: []expr.Expr{e, boolConst(false)}, T: types.Of(types.Boolean)}
	}
	return out
}

// equiKey reads an equality between an expression of each side.
func equiKey(cond expr.Expr, left, right idSet) (plan.EquiKey, bool) {
	c, ok := cond.(*expr.Compare)
	if !ok || c.Op != expr.Eq && c.Op != expr.NotDistinct {
		return plan.EquiKey{}, false
	}
	l, r := reads(c.Left), reads(c.Right)
	safe := c.Op == expr.NotDistinct
	switch {
	case len(l) == 0 || len(r) == 0:
	case l.within(left) && r.within(right):
		return plan.EquiKey{Left: c.Left, Right: c.Right, NullSafe: safe}, true
	case l.within(right) && r.within(left):
		return plan.EquiKey{Left: c.Right, Right: c.Left, NullSafe: safe}, true
	}
	return plan.EquiKey{}, false
}

// unnester pulls what reads the outer columns out of one subquery.
type unnester struct {
	b     *Binder
	outer idSet
	// exists is set where only the existence of rows counts.
	exists bool
}

// pulled is a plan without outer columns, the conditions that belong above it,
// and those of its outputs that are computed above it because they read outer columns.
type pulled struct {
	node  plan.Node
	conds []expr.Expr
	above map[expr.ColumnID]expr.Expr
}

func (u *unnester) dependent(e expr.Expr) bool { return e != nil && reads(e).meets(u.outer) }

// pull rewrites a plan so that it no longer reads outer columns; false where
// that changes its meaning.
func (u *unnester) pull(n plan.Node) (pulled, bool) {
	if !freeColumns(n).meets(u.outer) {
		return pulled{node: n}, true
	}
	switch x := n.(type) {
	case *plan.Filter:
		return u.pullFilter(x)
	case *plan.Project:
		return u.pullProject(x)
	case *plan.Aggregate:
		return u.pullAggregate(x)
	case *plan.Join:
		return u.pullJoin(x)
	case *plan.Sort:
		if x.Limit == plan.NoLimit {
			return u.pull(x.Input) // a subquery joined to a row has no order
		}
	case *plan.Limit:
		if u.exists && x.Offset == 0 && x.Count > 0 {
			return u.pull(x.Input) // one row is enough
		}
	}
	return pulled{}, false
}

func (u *unnester) pullFilter(x *plan.Filter) (pulled, bool) {
	p, ok := u.pull(x.Input)
	if !ok {
		return p, false
	}
	var stay []expr.Expr
	for _, e := range expr.Conjuncts(x.Pred) {
		grown := len(p.above) > 0
		if e = substitute(e, p.above); grown && tooBig(e) {
			return p, false
		}
		if u.dependent(e) {
			p.conds = append(p.conds, e)
		} else {
			stay = append(stay, e)
		}
	}
	if pred := expr.AllOf(stay); pred != nil {
		p.node = &plan.Filter{Input: p.node, Pred: pred}
	}
	return p, true
}

// pullProject keeps what reads no outer columns, and passes through what the
// conditions above need.
func (u *unnester) pullProject(x *plan.Project) (pulled, bool) {
	in, ok := u.pull(x.Input)
	if !ok {
		return in, false
	}
	out := pulled{conds: in.conds, above: map[expr.ColumnID]expr.Expr{}}
	p := &plan.Project{Input: in.node}
	have := idSet{}
	for _, e := range x.Exprs {
		if e.Expr = substitute(e.Expr, in.above); len(in.above) > 0 && tooBig(e.Expr) {
			return in, false
		}
		if u.dependent(e.Expr) {
			out.above[e.ID] = e.Expr
			continue
		}
		p.Exprs = append(p.Exprs, e)
		have[e.ID] = true
	}
	need := idSet{}
	for _, e := range out.conds {
		expr.Columns(e, need)
	}
	for _, e := range out.above {
		expr.Columns(e, need)
	}
	for _, c := range in.node.Columns() {
		if need[c.ID] && !have[c.ID] {
			p.Exprs = append(p.Exprs, plan.NamedExpr{Column: c, Expr: c.Ref()})
		}
	}
	out.node = p
	return out, true
}

// pullAggregate turns equalities with outer values into grouping keys: a group
// then holds the rows of one outer value. A scalar aggregate is not for this way:
// it has a row where no input row matches.
func (u *unnester) pullAggregate(x *plan.Aggregate) (pulled, bool) {
	if len(x.Groups) == 0 {
		return pulled{}, false
	}
	p, ok := u.pull(x.Input)
	if !ok || u.aggregateDepends(x, p) {
		return p, false
	}
	agg := &plan.Aggregate{Input: p.node, Groups: append([]plan.NamedExpr(nil), x.Groups...), Aggs: x.Aggs}
	var conds []expr.Expr
	for _, cond := range p.conds {
		up, ok := u.condAbove(agg, cond)
		if !ok {
			return p, false
		}
		conds = append(conds, up)
	}
	return pulled{node: agg, conds: conds}, true
}

// aggregateDepends reports whether groups or arguments read outer columns.
func (u *unnester) aggregateDepends(x *plan.Aggregate, p pulled) bool {
	own := &plan.Aggregate{Input: &plan.Values{}, Groups: x.Groups, Aggs: x.Aggs}
	bad := false
	eachExpr(own, func(e expr.Expr) {
		if c, ok := e.(*expr.Column); ok && (u.outer[c.ID] || p.above[c.ID] != nil) {
			bad = true
		}
	})
	return bad
}

// condAbove lifts a condition over an Aggregate: its inner side becomes a group.
func (u *unnester) condAbove(agg *plan.Aggregate, cond expr.Expr) (expr.Expr, bool) {
	c, ok := cond.(*expr.Compare)
	if !ok || c.Op != expr.Eq && c.Op != expr.NotDistinct {
		return nil, false
	}
	inner, outer := c.Left, c.Right
	if u.dependent(inner) {
		inner, outer = outer, inner
	}
	if u.dependent(inner) || !reads(outer).within(u.outer) {
		return nil, false
	}
	key := exprKey(inner)
	for _, g := range agg.Groups {
		if exprKey(g.Expr) == key {
			return &expr.Compare{Op: c.Op, Left: g.Ref(), Right: outer}, true
		}
	}
	g := plan.NamedExpr{Column: u.b.newColumn(inner.String(), inner.Type()), Expr: inner}
	agg.Groups = append(agg.Groups, g)
	return &expr.Compare{Op: c.Op, Left: g.Ref(), Right: outer}, true
}

// pullJoin pulls out of the sides whose rows the join keeps as they are: both of
// an inner join, the left one of the others.
func (u *unnester) pullJoin(x *plan.Join) (pulled, bool) {
	l, ok := u.pull(x.Left)
	if !ok {
		return l, false
	}
	r, ok := u.pull(x.Right)
	if !ok || x.Kind == plan.Right || x.Kind == plan.Full {
		return l, false
	}
	above := map[expr.ColumnID]expr.Expr{}
	for _, m := range []map[expr.ColumnID]expr.Expr{l.above, r.above} {
		for id, e := range m {
			above[id] = e
		}
	}
	out := &plan.Join{Left: l.node, Right: r.node, Kind: x.Kind, Mark: x.Mark}
	var lifted []expr.Expr
	for _, k := range x.Keys {
		k.Left, k.Right = substitute(k.Left, above), substitute(k.Right, above)
		if !u.dependent(k.Left) && !u.dependent(k.Right) {
			out.Keys = append(out.Keys, k)
			continue
		}
		op := expr.Eq
		if k.NullSafe {
			op = expr.NotDistinct
		}
		lifted = append(lifted, &expr.Compare{Op: op, Left: k.Left, Right: k.Right})
	}
	var stay []expr.Expr
	for _, e := range expr.Conjuncts(x.Residual) {
		if e = substitute(e, above); u.dependent(e) {
			lifted = append(lifted, e)
		} else {
			stay = append(stay, e)
		}
	}
	out.Residual = expr.AllOf(stay)
	if x.Kind != plan.Inner && (len(lifted)+len(r.conds)+len(r.above) > 0) {
		return l, false
	}
	conds := append(append(append([]expr.Expr(nil), l.conds...), r.conds...), lifted...)
	return pulled{node: out, conds: conds, above: above}, true
}

// keysDepend reports whether a key of IN is computed from outer columns. In a
// Mark join it would have to be a three-valued condition beside two-valued ones.
func (u *unnester) keysDepend(j subJoin, p pulled) bool {
	for _, k := range j.keys {
		if u.dependent(substitute(k.Right, p.above)) {
			return true
		}
	}
	return false
}

// joinPulled joins the independent right side and computes above the join what
// read outer columns.
func (u *unnester) joinPulled(left plan.Node, j subJoin, p pulled) plan.Node {
	keys := j.keys
	j.keys = nil
	var conds []expr.Expr
	for _, k := range keys {
		k.Right = substitute(k.Right, p.above)
		if u.dependent(k.Right) {
			conds = append(conds, &expr.Compare{Op: expr.Eq, Left: k.Left, Right: k.Right})
		} else {
			j.keys = append(j.keys, k)
		}
	}
	j.cond = substitute(j.cond, p.above)
	conds = append(conds, p.conds...)
	if len(p.above) == 0 || j.kind == plan.Semi || j.kind == plan.Anti || j.kind == plan.Mark {
		return plainJoin(left, j, p.node, conds)
	}
	right := p.node
	var matched expr.Expr
	if j.kind != plan.Inner {
		// Where no row matches, the values are NULL, whatever they compute from the left.
		m := u.b.newColumn("matched", types.Of(types.Boolean))
		pass := passColumns(right, right.Columns())
		pass.Exprs = append(pass.Exprs, plan.NamedExpr{Column: m, Expr: boolConst(true)})
		right, matched = pass, m.Ref()
	}
	joined := plainJoin(left, j, right, conds)
	out := passColumns(joined, joined.Columns())
	for _, c := range j.right.Columns() {
		e, ok := p.above[c.ID]
		if !ok {
			continue
		}
		if matched != nil {
			e = &expr.Case{Whens: []expr.When{{Cond: matched, Result: e}}, T: e.Type()}
		}
		out.Exprs = append(out.Exprs, plan.NamedExpr{Column: c, Expr: e})
	}
	return out
}

// scalarAggregate unnests (SELECT f(agg) … WHERE inner = outer): the aggregate is
// grouped by the inner sides, left-joined, and what stands above it is computed
// after the join, so that an outer row without a match sees the aggregate of no
// rows: 0 for counts, NULL for the others.
func (u *unnester) scalarAggregate(left plan.Node, j subJoin) (plan.Node, bool) {
	var chain []plan.Node
	n := j.right
	for {
		switch x := n.(type) {
		case *plan.Project, *plan.Filter:
		case *plan.Sort:
			if x.Limit != plan.NoLimit {
				return nil, false
			}
		case *plan.Aggregate:
			return u.scalarOver(left, j, x, chain)
		default:
			return nil, false
		}
		chain = append(chain, n)
		n = n.Children()[0]
	}
}

func (u *unnester) scalarOver(left plan.Node, j subJoin, x *plan.Aggregate, chain []plan.Node) (plan.Node, bool) {
	if len(x.Groups) > 0 {
		return nil, false
	}
	p, ok := u.pull(x.Input)
	if !ok || u.aggregateDepends(x, p) || len(p.conds) == 0 {
		return nil, false
	}
	agg := &plan.Aggregate{Input: p.node, Aggs: x.Aggs}
	var conds []expr.Expr
	for _, cond := range p.conds {
		up, ok := u.condAbove(agg, cond)
		if !ok {
			return nil, false
		}
		conds = append(conds, up)
	}
	joined := plainJoin(left, subJoin{kind: plan.Left, off: j.off}, agg, conds)
	value := chainValue(aggregateEmpty(x), chain, j.right.Columns()[0].ID)
	if value == nil {
		return nil, false
	}
	out := passColumns(joined, left.Columns())
	out.Exprs = append(out.Exprs, plan.NamedExpr{Column: j.right.Columns()[0], Expr: value})
	return out, true
}

// aggregateEmpty maps the aggregates to their values after a left join: over no
// rows, counts are 0.
func aggregateEmpty(x *plan.Aggregate) map[expr.ColumnID]expr.Expr {
	env := map[expr.ColumnID]expr.Expr{}
	for _, a := range x.Aggs {
		env[a.ID] = a.Ref()
		if a.Fn.EmptyIsZero {
			zero := &expr.Cast{Arg: &expr.Const{Value: vec.Int32(0)}, To: a.Type, Offset: -1}
			env[a.ID] = &expr.Coalesce{Args: []expr.Expr{a.Ref(), zero}, T: a.Type}
			if a.Type.Kind == types.Int64 {
				env[a.ID] = &expr.Coalesce{Args: []expr.Expr{a.Ref(), &expr.Const{Value: vec.Int64(0)}}, T: a.Type}
			}
		}
	}
	return env
}

// chainValue computes one output of the projections and filters above an
// aggregate as an expression over it; a filter that fails makes it NULL. nil
// where the expression would grow too big.
func chainValue(env map[expr.ColumnID]expr.Expr, chain []plan.Node, id expr.ColumnID) expr.Expr {
	var having []expr.Expr
	for i := len(chain) - 1; i >= 0; i-- {
		switch x := chain[i].(type) {
		case *plan.Filter:
			having = append(having, substitute(x.Pred, env))
		case *plan.Project:
			next := map[expr.ColumnID]expr.Expr{}
			for _, e := range x.Exprs {
				next[e.ID] = substitute(e.Expr, env)
				if tooBig(next[e.ID]) {
					return nil
				}
			}
			env = next
		}
	}
	value := env[id]
	if cond := expr.AllOf(having); cond != nil {
		return &expr.Case{Whens: []expr.When{{Cond: cond, Result: value}}, T: value.Type()}
	}
	return value
}
