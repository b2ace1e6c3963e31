package binder

import (
	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/plan"
)

// The general way to unnest (Neumann and Kemper, "Unnesting Arbitrary Queries",
// BTW 2015): the distinct values of the outer columns that the right side reads,
// the domain D, are joined into the right side from below, so that it computes
// its rows for all outer values at once, each tagged with the value it belongs
// to. The outer plan then joins it on equal tags, NULL equal to NULL.
//
// D is computed from a second copy of the outer plan. That is right only where
// the copy gives the same rows: not over LIMIT without a total order, not over
// volatile functions.

// applyDomain unnests a dependent join by way of the domain.
func (b *Binder) applyDomain(left plan.Node, j subJoin) (plan.Node, error) {
	if err := b.checkSize(j.off); err != nil {
		return nil, err
	}
	outer := columnsOf(left)
	d := &domain{b: b}
	free := freeColumns(j.right)
	for _, c := range left.Columns() {
		if !free[c.ID] {
			continue
		}
		if !c.Type.Orderable() {
			return nil, b.unsupported(j.off, "a subquery correlated by a column of type "+c.Type.String())
		}
		d.cols = append(d.cols, c)
	}
	if !repeatable(left) {
		return nil, b.unsupported(j.off, "this correlated subquery over rows that LIMIT or a volatile function chose")
	}
	d.source = left
	d.outer = idSet{}
	for _, c := range d.cols {
		d.outer[c.ID] = true
	}
	right, tags, ok := d.push(j.right)
	if !ok || freeColumns(right).meets(outer) {
		return nil, b.unsupported(j.off, "this correlated subquery")
	}
	conds := make([]expr.Expr, len(tags))
	for i, t := range tags {
		conds[i] = &expr.Compare{Op: expr.NotDistinct, Left: d.cols[i].Ref(), Right: t.Ref()}
	}
	return plainJoin(left, j, right, conds), nil
}

// repeatable reports whether a second copy of a plan gives the same rows.
func repeatable(n plan.Node) bool {
	ok := !isVolatile(n)
	plan.Walk(n, func(k plan.Node) bool {
		switch x := k.(type) {
		case *plan.Limit:
			ok = false
		case *plan.Sort:
			ok = ok && x.Limit == plan.NoLimit
		case *plan.Scan:
			ok = ok && x.Limit == plan.NoLimit
		}
		return ok
	})
	return ok
}

// domain pushes the outer values into one right side.
type domain struct {
	b      *Binder
	source plan.Node
	// cols are the outer columns that the right side reads; outer holds their ids.
	cols  []plan.Column
	outer idSet
}

// fresh makes D anew: distinct values of the outer columns, under new ids.
func (d *domain) fresh() (plan.Node, []plan.Column) {
	clone := d.b.clone(d.source)
	agg := &plan.Aggregate{Input: clone.node}
	for _, c := range d.cols {
		from := clone.ids[c.ID]
		ref := &expr.Column{ID: from, Name: c.Name, T: c.Type}
		agg.Groups = append(agg.Groups, plan.NamedExpr{Column: d.b.newColumn(c.Name, c.Type), Expr: ref})
	}
	return agg, agg.Columns()
}

// bind replaces the outer columns by the tags in the expressions of one node.
func (d *domain) bind(n plan.Node, tags []plan.Column) plan.Node {
	by := map[expr.ColumnID]expr.Expr{}
	for i, c := range d.cols {
		by[c.ID] = tags[i].Ref()
	}
	return plan.MapExprs(n, func(e expr.Expr) expr.Expr {
		if c, ok := e.(*expr.Column); ok && by[c.ID] != nil {
			return by[c.ID]
		}
		return e
	})
}

// push returns a plan that gives the rows of n for every value of the domain,
// with the value in the tag columns.
func (d *domain) push(n plan.Node) (plan.Node, []plan.Column, bool) {
	if !freeColumns(n).meets(d.outer) {
		dom, tags := d.fresh()
		return &plan.Join{Left: dom, Right: n, Kind: plan.Inner}, tags, true
	}
	switch x := n.(type) {
	case *plan.Filter:
		in, tags, ok := d.push(x.Input)
		return d.own(&plan.Filter{Input: leaf, Pred: x.Pred}, in, tags), tags, ok
	case *plan.Project:
		in, tags, ok := d.push(x.Input)
		if !ok {
			return nil, nil, false
		}
		p := d.own(&plan.Project{Input: leaf, Exprs: x.Exprs}, in, tags).(*plan.Project)
		p.Exprs = append(p.Exprs, passColumns(in, tags).Exprs...)
		return p, tags, true
	case *plan.Sort:
		if x.Limit == plan.NoLimit {
			return d.push(x.Input)
		}
	case *plan.Limit:
		return d.pushFirst(x)
	case *plan.Aggregate:
		return d.pushAggregate(x)
	case *plan.Unnest:
		in, tags, ok := d.push(x.Input)
		if !ok {
			return nil, nil, false
		}
		k := *x
		k.Input = leaf
		return d.own(&k, in, tags), tags, true
	case *plan.GroupingSets:
		if !repeatable(x.Input) {
			return nil, nil, false
		}
		return d.push(d.b.separate(x))
	case *plan.Window:
		return d.pushWindow(x)
	case *plan.Join:
		return d.pushJoin(x)
	case *plan.UnionAll:
		return d.pushUnion(x)
	case *plan.Values:
		return d.pushValues(x)
	}
	return nil, nil, false
}

// leaf stands for an input while the expressions of one node are bound.
var leaf plan.Node = &plan.Values{}

// own binds the expressions of a node alone and puts it over a new input.
func (d *domain) own(n, in plan.Node, tags []plan.Column) plan.Node {
	if in == nil {
		return n
	}
	return d.bind(n, tags).WithChildren([]plan.Node{in})
}

// pushAggregate groups by the tags too. Without groups there is one row for each
// outer value, also where no row matches: D is left-joined, and counts are 0 there.
func (d *domain) pushAggregate(x *plan.Aggregate) (plan.Node, []plan.Column, bool) {
	in, tags, ok := d.push(x.Input)
	if !ok {
		return nil, nil, false
	}
	agg := d.own(&plan.Aggregate{Input: leaf, Groups: x.Groups, Aggs: x.Aggs}, in, tags).(*plan.Aggregate)
	out := make([]plan.Column, len(tags))
	groups := append([]plan.NamedExpr(nil), agg.Groups...)
	for i, t := range tags {
		out[i] = d.b.newColumn(t.Name, t.Type)
		groups = append(groups, plan.NamedExpr{Column: out[i], Expr: t.Ref()})
	}
	agg.Groups = groups
	if len(x.Groups) > 0 {
		return agg, out, true
	}
	inner := make([]plan.AggCall, len(agg.Aggs))
	p := &plan.Project{}
	for i, a := range agg.Aggs {
		inner[i] = a
		inner[i].Column = d.b.newColumn(a.Name, a.Type)
	}
	agg.Aggs = inner
	empty := aggregateEmpty(agg)
	for i, a := range x.Aggs {
		p.Exprs = append(p.Exprs, plan.NamedExpr{Column: a.Column, Expr: empty[inner[i].ID]})
	}
	dom, domTags := d.fresh()
	j := &plan.Join{Left: dom, Right: agg, Kind: plan.Left}
	for i, t := range domTags {
		j.Keys = append(j.Keys, plan.EquiKey{Left: t.Ref(), Right: out[i].Ref(), NullSafe: true})
	}
	p.Exprs = append(p.Exprs, passColumns(j, domTags).Exprs...)
	p.Input = j
	return p, domTags, true
}

// pushWindow adds the tags to what parts the rows: each outer value has windows of its own.
func (d *domain) pushWindow(x *plan.Window) (plan.Node, []plan.Column, bool) {
	in, tags, ok := d.push(x.Input)
	if !ok {
		return nil, nil, false
	}
	k := *x
	k.Input = leaf
	w := d.own(&k, in, tags).(*plan.Window)
	for _, t := range tags {
		w.PartitionBy = append(w.PartitionBy, t.Ref())
	}
	return w, tags, true
}

// pushFirst is LIMIT 1 of one column: the first value of the rows of each outer
// value. Several columns would need one order for all of them, ties included.
func (d *domain) pushFirst(x *plan.Limit) (plan.Node, []plan.Column, bool) {
	if x.Count != 1 || x.Offset != 0 || len(x.Columns()) != 1 {
		return nil, nil, false
	}
	value := x.Columns()[0]
	input, keys := belowSort(x.Input)
	in, tags, ok := d.push(input)
	if !ok || !hasColumn(in, value.ID) {
		return nil, nil, false
	}
	call, ok := d.b.firstValue(value, keys)
	if !ok {
		return nil, nil, false
	}
	agg := d.own(&plan.Aggregate{Input: leaf, Aggs: []plan.AggCall{call}}, in, tags).(*plan.Aggregate)
	for _, t := range tags {
		agg.Groups = append(agg.Groups, plan.NamedExpr{Column: d.b.newColumn(t.Name, t.Type), Expr: t.Ref()})
	}
	p := &plan.Project{Input: agg, Exprs: []plan.NamedExpr{{Column: value, Expr: call.Ref()}}}
	var out []plan.Column
	for _, g := range agg.Groups {
		out = append(out, g.Column)
	}
	p.Exprs = append(p.Exprs, passColumns(agg, out).Exprs...)
	return p, out, true
}

// pushJoin pushes into the sides that read outer columns; two such sides meet on
// equal tags. A side whose rows the join may drop or NULL-extend must not be the
// only one with tags.
func (d *domain) pushJoin(x *plan.Join) (plan.Node, []plan.Column, bool) {
	if x.Kind == plan.Right || x.Kind == plan.Full {
		return nil, nil, false
	}
	leftOnly := !freeColumns(x.Right).meets(d.outer)
	own := &plan.Join{Left: leaf, Right: leaf, Kind: x.Kind, Keys: x.Keys, Residual: x.Residual, Mark: x.Mark}
	l, tags, ok := d.push(x.Left)
	if !ok {
		return nil, nil, false
	}
	if leftOnly {
		return d.bind(own, tags).WithChildren([]plan.Node{l, x.Right}), tags, true
	}
	r, rightTags, ok := d.push(x.Right)
	if !ok {
		return nil, nil, false
	}
	j := d.bind(own, tags).WithChildren([]plan.Node{l, r}).(*plan.Join)
	for i, t := range rightTags {
		j.Keys = append(j.Keys, plan.EquiKey{Left: tags[i].Ref(), Right: t.Ref(), NullSafe: true})
	}
	return j, tags, true
}

func (d *domain) pushUnion(x *plan.UnionAll) (plan.Node, []plan.Column, bool) {
	out := &plan.UnionAll{Cols: append([]plan.Column(nil), x.Cols...)}
	for _, in := range x.Inputs {
		pushed, tags, ok := d.push(in)
		if !ok {
			return nil, nil, false
		}
		p := passColumns(pushed, in.Columns())
		p.Exprs = append(p.Exprs, passColumns(pushed, tags).Exprs...)
		out.Inputs = append(out.Inputs, p)
	}
	var tags []plan.Column
	for _, c := range d.cols {
		tags = append(tags, d.b.newColumn(c.Name, c.Type))
	}
	out.Cols = append(out.Cols, tags...)
	return out, tags, true
}

// pushValues turns one row of outer values into a projection of the domain.
func (d *domain) pushValues(x *plan.Values) (plan.Node, []plan.Column, bool) {
	if len(x.Rows) == 0 {
		return nil, nil, false
	}
	out := &plan.UnionAll{Cols: append([]plan.Column(nil), x.Cols...)}
	var tags []plan.Column
	for _, c := range d.cols {
		tags = append(tags, d.b.newColumn(c.Name, c.Type))
	}
	out.Cols = append(out.Cols, tags...)
	for _, row := range x.Rows {
		dom, domTags := d.fresh()
		p := &plan.Project{Input: leaf}
		for i, e := range row {
			p.Exprs = append(p.Exprs, plan.NamedExpr{Column: d.b.newColumn(x.Cols[i].Name, x.Cols[i].Type), Expr: e})
		}
		q := d.own(p, dom, domTags).(*plan.Project)
		q.Exprs = append(q.Exprs, passColumns(dom, domTags).Exprs...)
		out.Inputs = append(out.Inputs, q)
	}
	if len(out.Inputs) == 1 {
		// One row needs no union: its projection has the columns under other ids.
		p := &plan.Project{Input: out.Inputs[0]}
		for i, c := range out.Inputs[0].Columns() {
			p.Exprs = append(p.Exprs, plan.NamedExpr{Column: out.Cols[i], Expr: c.Ref()})
		}
		return p, tags, true
	}
	return out, tags, true
}

// cloned is a copy of a plan and the new ids of its columns by the old ones.
type cloned struct {
	node plan.Node
	ids  map[expr.ColumnID]expr.ColumnID
	// tables are the new numbers of recursions inside.
	tables map[expr.ColumnID]expr.ColumnID
}

// clone copies a plan under fresh column ids.
func (b *Binder) clone(n plan.Node) cloned {
	c := cloned{ids: map[expr.ColumnID]expr.ColumnID{}, tables: map[expr.ColumnID]expr.ColumnID{}}
	plan.Walk(n, func(k plan.Node) bool {
		if r, ok := k.(*plan.Recursive); ok {
			c.tables[r.Table] = b.newID()
		}
		for _, col := range k.Columns() {
			if _, ok := c.ids[col.ID]; !ok {
				c.ids[col.ID] = b.newID()
			}
		}
		return true
	})
	c.node = c.copy(n)
	return c
}

func (c *cloned) id(id expr.ColumnID) expr.ColumnID {
	if to, ok := c.ids[id]; ok {
		return to
	}
	return id
}

func (c *cloned) column(col plan.Column) plan.Column {
	col.ID = c.id(col.ID)
	return col
}

func (c *cloned) columns(cols []plan.Column) []plan.Column {
	out := make([]plan.Column, len(cols))
	for i, col := range cols {
		out[i] = c.column(col)
	}
	return out
}

func (c *cloned) scan(cols []plan.ScanColumn) []plan.ScanColumn {
	out := make([]plan.ScanColumn, len(cols))
	for i, col := range cols {
		out[i] = plan.ScanColumn{Column: c.column(col.Column), Field: col.Field}
	}
	return out
}

func (c *cloned) named(es []plan.NamedExpr) []plan.NamedExpr {
	out := make([]plan.NamedExpr, len(es))
	for i, e := range es {
		out[i] = plan.NamedExpr{Column: c.column(e.Column), Expr: e.Expr}
	}
	return out
}

func (c *cloned) aggs(calls []plan.AggCall) []plan.AggCall {
	out := append([]plan.AggCall(nil), calls...)
	for i := range out {
		out[i].Column = c.column(out[i].Column)
	}
	return out
}

// copy renames what the nodes produce, then what they read.
func (c *cloned) copy(n plan.Node) plan.Node {
	n = c.produce(n)
	return plan.MapExprs(n, func(e expr.Expr) expr.Expr {
		col, ok := e.(*expr.Column)
		if !ok || c.ids[col.ID] == 0 {
			return e
		}
		return &expr.Column{ID: c.ids[col.ID], Name: col.Name, T: col.T}
	})
}

// produce copies nodes with their output columns renamed.
func (c *cloned) produce(n plan.Node) plan.Node {
	kids := n.Children()
	if len(kids) > 0 {
		out := make([]plan.Node, len(kids))
		for i, k := range kids {
			out[i] = c.produce(k)
		}
		n = n.WithChildren(out)
	}
	switch x := n.(type) {
	case *plan.Scan:
		k := *x
		k.Cols = c.scan(x.Cols)
		return &k
	case *plan.SearchScan:
		k := *x
		k.Cols, k.Score = c.scan(x.Cols), c.column(x.Score)
		return &k
	case *plan.SystemScan:
		return &plan.SystemScan{Table: x.Table, Cols: c.scan(x.Cols)}
	case *plan.FileScan:
		k := *x
		k.Cols = c.scan(x.Cols)
		return &k
	case *plan.Series:
		k := *x
		k.Col = c.column(x.Col)
		return &k
	case *plan.Values:
		return &plan.Values{Rows: x.Rows, Cols: c.columns(x.Cols)}
	case *plan.Project:
		return &plan.Project{Input: x.Input, Exprs: c.named(x.Exprs)}
	case *plan.Aggregate:
		return &plan.Aggregate{Input: x.Input, Groups: c.named(x.Groups), Aggs: c.aggs(x.Aggs)}
	case *plan.Recursive:
		k := *x
		k.Cols, k.Table = c.columns(x.Cols), c.tables[x.Table]
		return &k
	case *plan.WorkingTable:
		k := *x
		k.Cols = c.columns(x.Cols)
		if to, ok := c.tables[x.Table]; ok {
			k.Table = to
		}
		return &k
	case *plan.Unnest:
		k := *x
		k.Items = append([]plan.UnnestItem(nil), x.Items...)
		for i := range k.Items {
			k.Items[i].Column = c.column(k.Items[i].Column)
		}
		k.Ordinal = c.column(x.Ordinal)
		if x.Pass != nil {
			k.Pass = c.columns(x.Pass)
		}
		return &k
	case *plan.GroupingSets:
		k := *x
		k.Groups, k.Aggs = c.named(x.Groups), c.aggs(x.Aggs)
		k.Marks = append([]plan.GroupingMark(nil), x.Marks...)
		for i := range k.Marks {
			k.Marks[i].Column = c.column(k.Marks[i].Column)
		}
		return &k
	case *plan.Window:
		k := *x
		k.Calls = append([]plan.WindowCall(nil), x.Calls...)
		for i := range k.Calls {
			k.Calls[i].Column = c.column(k.Calls[i].Column)
		}
		return &k
	case *plan.UnionAll:
		return &plan.UnionAll{Inputs: x.Inputs, Cols: c.columns(x.Cols)}
	case *plan.Join:
		k := *x
		k.Mark = c.column(x.Mark)
		return &k
	case *plan.Materialized:
		return &plan.Materialized{Cols: c.columns(x.Cols), Chunks: x.Chunks, Label: x.Label}
	}
	return n
}
