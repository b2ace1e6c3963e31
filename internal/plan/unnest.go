package plan

import (
	"github.com/loamdb/loam/internal/expr"
)

// Unnest makes rows of the elements of lists: for each row of its input as many as
// its longest item has elements, with NULL behind the end of shorter ones. The
// output is the input's columns, the items, then Ordinal where it is set.
type Unnest struct {
	Input Node
	// Pass are the columns of the input that the output has; nil means all. A list
	// that nobody reads above is not copied to the rows of its elements.
	Pass  []Column
	Items []UnnestItem
	// Ordinal numbers the rows of one input row from 1; without an ID there is none.
	Ordinal Column
	// Outer keeps an input row without elements, as one row of NULLs.
	Outer bool
}

// UnnestItem is a list over the input, or, with List nil, the series from Start to
// Stop by Step (BIGINT, or TIMESTAMP and INTERVAL), without Stop itself when it is
// Exclusive. NULL has no elements, as the empty list.
type UnnestItem struct {
	Column
	List              expr.Expr
	Start, Stop, Step expr.Expr
	Exclusive         bool
}

// Exprs are the expressions of an item, in order.
func (i UnnestItem) Exprs() []expr.Expr {
	if i.List != nil {
		return []expr.Expr{i.List}
	}
	return []expr.Expr{i.Start, i.Stop, i.Step}
}

// Map rewrites the expressions of an item.
func (i UnnestItem) Map(f func(expr.Expr) expr.Expr) UnnestItem {
	i.List, i.Start, i.Stop, i.Step = f(i.List), f(i.Start), f(i.Stop), f(i.Step)
	return i
}

// String is the item in EXPLAIN.
func (i UnnestItem) String() string {
	s := "series(" + expr.Join(i.Exprs()) + ")"
	if i.List != nil {
		s = i.List.String()
	}
	if i.Exclusive {
		s += " exclusive"
	}
	return s + " AS " + i.Name
}

// Name implements Node.
func (*Unnest) Name() string { return "Unnest" }

// Columns are the passed ones, the items', the ordinal.
func (n *Unnest) Columns() []Column {
	in := n.Pass
	if in == nil {
		in = n.Input.Columns()
	}
	out := in[:len(in):len(in)]
	for _, i := range n.Items {
		out = append(out, i.Column)
	}
	if n.Ordinal.ID != 0 {
		out = append(out, n.Ordinal)
	}
	return out
}

// Children implements Node.
func (n *Unnest) Children() []Node { return []Node{n.Input} }

// WithChildren implements Node.
func (n *Unnest) WithChildren(c []Node) Node {
	k := *n
	k.Input = c[0]
	return &k
}

func (n *Unnest) explain(a *arguments) {
	items := make([]string, len(n.Items))
	for i, it := range n.Items {
		items[i] = it.String()
	}
	a.list("", items)
	if n.Ordinal.ID != 0 {
		a.add("ordinality=" + n.Ordinal.Name)
	}
	if n.Outer {
		a.add("outer")
	}
}

func mapUnnest(x *Unnest, f func(expr.Expr) expr.Expr) Node {
	k := *x
	k.Items = make([]UnnestItem, len(x.Items))
	for i, it := range x.Items {
		k.Items[i] = it.Map(func(e expr.Expr) expr.Expr {
			if e == nil {
				return nil
			}
			return f(e)
		})
	}
	return &k
}
