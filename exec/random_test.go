package exec

import (
	"math"
	"math/rand/v2"
	"strings"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// generator makes random tables and plans over them.
type generator struct {
	*rand.Rand
	tables map[string]*table
	nextID int
}

var genTypes = []types.Type{types.Of(types.Int64), types.Of(types.Text), types.Of(types.Double),
	types.Of(types.Int32), types.Of(types.Boolean), types.DecimalOf(10, 2)}

func newGenerator(seed uint64) *generator {
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 1)), tables: map[string]*table{}, nextID: 1}
	for _, name := range []string{"a", "b", "c"} {
		t := &table{types: []types.Type{genTypes[0], genTypes[1], genTypes[2+g.IntN(4)]}}
		rows := [...]int{0, 1, 7, 20}[g.IntN(4)]
		domain := 1 + g.IntN(12)
		for range rows {
			r := make([]vec.Value, len(t.types))
			for i, typ := range t.types {
				r[i] = g.value(typ, domain)
			}
			t.rows = append(t.rows, r)
		}
		g.tables[name] = t
	}
	return g
}

// value draws from a small domain, so that keys meet; one in six is NULL.
func (g *generator) value(t types.Type, domain int) vec.Value {
	if g.IntN(6) == 0 {
		return vec.Null(t)
	}
	k := g.IntN(domain)
	switch t.Kind {
	case types.Text:
		return vec.Text([...]string{"", "a", "abcdefgh", "abcdefghi", "abcdefgh\x00", "a longer string than twelve", "ä"}[k%7])
	case types.Double:
		return vec.Double([...]float64{0, math.Copysign(0, -1), math.NaN(), math.Inf(1), math.Inf(-1), 1.5, -2}[k%7])
	case types.Boolean:
		return vec.Bool(k%2 == 0)
	case types.Decimal:
		return vec.Value{Type: t, Dec: decimal128.FromI64(int64(k)*100 - 300)}
	case types.Int32:
		return vec.Int32(int32(k) - 2)
	}
	return vec.Int64([...]int64{0, 1, -1, math.MaxInt64, math.MinInt64, 5, 6}[k%7])
}

func (g *generator) id() expr.ColumnID {
	g.nextID++
	return expr.ColumnID(g.nextID)
}

// plan makes a random plan of the depth.
func (g *generator) plan(depth int) plan.Node {
	if depth == 0 {
		return g.leaf()
	}
	switch g.IntN(10) {
	case 0:
		return g.ordered(depth)
	case 1:
		in := g.plan(depth - 1)
		return &plan.Filter{Input: in, Pred: g.pred(in.Columns(), 2)}
	case 2:
		return g.project(g.plan(depth - 1))
	case 3, 4:
		return g.aggregate(g.plan(depth - 1))
	case 5:
		return g.sort(g.plan(depth-1), true)
	case 6:
		return g.union(depth)
	}
	return g.join(g.plan(depth-1), g.plan(g.IntN(depth)))
}

func (g *generator) leaf() plan.Node {
	name := [...]string{"a", "b", "c"}[g.IntN(3)]
	n := scanOf(name, g.tables[name], g.nextID+1)
	g.nextID += len(n.Cols)
	return n
}

// ordered is a limit over a chain in which rows keep their order.
func (g *generator) ordered(depth int) plan.Node {
	n := g.leaf()
	for range g.IntN(depth + 1) {
		if g.IntN(2) == 0 {
			n = &plan.Filter{Input: n, Pred: g.pred(n.Columns(), 1)}
		} else {
			n = g.project(n)
		}
	}
	return &plan.Limit{Input: n, Count: int64(g.IntN(12)) - 1, Offset: int64(g.IntN(4))}
}

func (g *generator) column(cols []plan.Column) plan.Column { return cols[g.IntN(len(cols))] }

func (g *generator) project(in plan.Node) plan.Node {
	p := &plan.Project{Input: in}
	for range 1 + g.IntN(3) {
		if g.IntN(4) == 0 {
			p.Exprs = append(p.Exprs, plan.NamedExpr{Column: plan.Column{ID: g.id(), Name: "p", Type: types.Of(types.Boolean)},
				Expr: g.pred(in.Columns(), 1)})
			continue
		}
		c := g.column(in.Columns())
		p.Exprs = append(p.Exprs, plan.NamedExpr{Column: plan.Column{ID: g.id(), Name: "p", Type: c.Type}, Expr: c.Ref()})
	}
	return p
}

// pred is a random predicate over the columns.
func (g *generator) pred(cols []plan.Column, depth int) expr.Expr {
	if depth > 0 {
		switch g.IntN(4) {
		case 0:
			return &expr.Logic{Or: g.IntN(2) == 0, Args: []expr.Expr{g.pred(cols, depth-1), g.pred(cols, depth-1)}}
		case 1:
			return &expr.Not{Arg: g.pred(cols, depth-1)}
		}
	}
	c := g.column(cols)
	switch g.IntN(5) {
	case 0:
		return &expr.IsNull{Arg: c.Ref(), Negate: g.IntN(2) == 0}
	case 1:
		for _, d := range cols {
			if d.ID != c.ID && d.Type.Equal(c.Type) {
				return &expr.Compare{Op: expr.CompareOp(g.IntN(6)), Left: c.Ref(), Right: d.Ref()}
			}
		}
	}
	return &expr.Compare{Op: expr.CompareOp(g.IntN(6)), Left: c.Ref(), Right: &expr.Const{Value: g.value(c.Type, 7)}}
}

func (g *generator) aggregate(in plan.Node) plan.Node {
	n := &plan.Aggregate{Input: in}
	cols := in.Columns()
	for range g.IntN(3) {
		c := g.column(cols)
		n.Groups = append(n.Groups, plan.NamedExpr{Column: plan.Column{ID: g.id(), Name: "g", Type: c.Type}, Expr: c.Ref()})
	}
	for range g.IntN(3) {
		n.Aggs = append(n.Aggs, g.aggCall(cols))
	}
	if len(n.Groups) > 0 && g.IntN(3) == 0 {
		return g.groupingSets(n)
	}
	if len(n.Groups)+len(n.Aggs) == 0 {
		n.Aggs = append(n.Aggs, plan.AggCall{Fn: testAgg("count"), Column: plan.Column{ID: g.id(), Name: "n", Type: bigint}})
	}
	return n
}

// groupingSets makes random sets of the keys of a grouping, repeated ones too.
func (g *generator) groupingSets(a *plan.Aggregate) plan.Node {
	n := &plan.GroupingSets{Input: a.Input, Groups: a.Groups, Aggs: a.Aggs}
	for range 1 + g.IntN(4) {
		set := []int{}
		for k := range a.Groups {
			if g.IntN(2) == 0 {
				set = append(set, k)
			}
		}
		n.Sets = append(n.Sets, set)
	}
	if g.IntN(2) == 0 {
		n.Marks = append(n.Marks, plan.GroupingMark{Column: plan.Column{ID: g.id(), Name: "m", Type: types.Of(types.Int32)}, Keys: []int{len(a.Groups) - 1, 0}})
	}
	return n
}

func (g *generator) aggCall(cols []plan.Column) plan.AggCall {
	c := g.column(cols)
	name := [...]string{"count", "min", "sum", "list", "star"}[g.IntN(5)]
	if name == "sum" && !c.Type.Integer() {
		name = "count"
	}
	a := plan.AggCall{Args: []expr.Expr{c.Ref()}, Distinct: g.IntN(3) == 0}
	if name == "star" {
		name, a.Args, a.Distinct = "count", nil, false
	}
	a.Fn, a.Column = testAgg(name), plan.Column{ID: g.id(), Name: name, Type: aggType(name, c.Type)}
	if name == "list" {
		// A total order, so that there is one right answer.
		a.OrderBy = []plan.SortKey{{Expr: c.Ref(), Desc: g.IntN(2) == 0, NullsFirst: g.IntN(2) == 0}}
	}
	if g.IntN(3) == 0 {
		a.Filter = g.pred(cols, 1)
	}
	return a
}

// sort orders by all columns when limited, so that ties are equal rows.
func (g *generator) sort(in plan.Node, limited bool) plan.Node {
	n := &plan.Sort{Input: in, Limit: plan.NoLimit}
	cols := in.Columns()
	for _, i := range g.Perm(len(cols)) {
		n.Keys = append(n.Keys, plan.SortKey{Expr: cols[i].Ref(), Desc: g.IntN(2) == 0, NullsFirst: g.IntN(2) == 0})
	}
	if limited && g.IntN(2) == 0 {
		n.Limit, n.Offset = int64(1+g.IntN(8)), int64(g.IntN(3))
	}
	return n
}

func (g *generator) union(depth int) plan.Node {
	a := g.project(g.plan(depth - 1))
	n := &plan.UnionAll{Inputs: []plan.Node{a}}
	for _, c := range a.Columns() {
		n.Cols = append(n.Cols, plan.Column{ID: g.id(), Name: c.Name, Type: c.Type})
	}
	for range g.IntN(3) {
		v := &plan.Values{}
		for _, c := range n.Cols {
			v.Cols = append(v.Cols, plan.Column{ID: g.id(), Name: "v", Type: c.Type})
		}
		for range g.IntN(4) {
			var r []expr.Expr
			for _, c := range n.Cols {
				r = append(r, &expr.Const{Value: g.value(c.Type, 7)})
			}
			v.Rows = append(v.Rows, r)
		}
		n.Inputs = append(n.Inputs, v)
	}
	return n
}

func (g *generator) join(left, right plan.Node) plan.Node {
	n := &plan.Join{Left: left, Right: right, Kind: plan.JoinKind(g.IntN(8))}
	lc, rc := left.Columns(), right.Columns()
	for range g.IntN(3) {
		l := g.column(lc)
		for _, r := range rc {
			if r.Type.Equal(l.Type) {
				n.Keys = append(n.Keys, plan.EquiKey{Left: l.Ref(), Right: r.Ref(), NullSafe: g.IntN(3) == 0})
				break
			}
		}
	}
	if g.IntN(2) == 0 {
		n.Residual = g.pred(append(lc[:len(lc):len(lc)], rc...), 1)
	}
	if n.Kind == plan.Mark {
		n.Mark = plan.Column{ID: g.id(), Name: "mark", Type: types.Of(types.Boolean)}
	}
	return n
}

// rendered prints rows so that values which are equal as keys print alike.
func rendered(rows []refRow) []string {
	out := make([]string, len(rows))
	for i, r := range rows {
		parts := make([]string, len(r))
		for j, v := range r {
			if v.Type.Kind == types.Double && v.Float == 0 {
				v.Float = 0
			}
			parts[j] = v.String()
		}
		out[i] = strings.Join(parts, "|")
	}
	return out
}
