package plan

func scanColumns(cols []ScanColumn) []Column {
	out := make([]Column, len(cols))
	for i, c := range cols {
		out[i] = c.Column
	}
	return out
}

func namedColumns(es []NamedExpr) []Column {
	out := make([]Column, len(es))
	for i, e := range es {
		out[i] = e.Column
	}
	return out
}

// Columns implements Node.
func (n *Scan) Columns() []Column         { return scanColumns(n.Cols) }
func (n *SystemScan) Columns() []Column   { return scanColumns(n.Cols) }
func (n *FileScan) Columns() []Column     { return scanColumns(n.Cols) }
func (n *Series) Columns() []Column       { return []Column{n.Col} }
func (n *Filter) Columns() []Column       { return n.Input.Columns() }
func (n *Project) Columns() []Column      { return namedColumns(n.Exprs) }
func (n *Sort) Columns() []Column         { return n.Input.Columns() }
func (n *Limit) Columns() []Column        { return n.Input.Columns() }
func (n *UnionAll) Columns() []Column     { return n.Cols }
func (n *Values) Columns() []Column       { return n.Cols }
func (n *Materialized) Columns() []Column { return n.Cols }

// Columns are the scan columns, then the score.
func (n *SearchScan) Columns() []Column { return append(scanColumns(n.Cols), n.Score) }

// Columns are the groups, then the aggregates.
func (n *Aggregate) Columns() []Column {
	out := namedColumns(n.Groups)
	for _, a := range n.Aggs {
		out = append(out, a.Column)
	}
	return out
}

// Columns are left then right, or left alone for Semi and Anti, or left and the mark.
func (n *Join) Columns() []Column {
	left := n.Left.Columns()
	switch n.Kind {
	case Semi, Anti:
		return left
	case Mark:
		return append(left[:len(left):len(left)], n.Mark)
	}
	return append(left[:len(left):len(left)], n.Right.Columns()...)
}

// Children implements Node.
func (n *Scan) Children() []Node         { return nil }
func (n *SystemScan) Children() []Node   { return nil }
func (n *FileScan) Children() []Node     { return nil }
func (n *Series) Children() []Node       { return nil }
func (n *Values) Children() []Node       { return nil }
func (n *Materialized) Children() []Node { return nil }
func (n *Filter) Children() []Node       { return []Node{n.Input} }
func (n *Project) Children() []Node      { return []Node{n.Input} }
func (n *Aggregate) Children() []Node    { return []Node{n.Input} }
func (n *Sort) Children() []Node         { return []Node{n.Input} }
func (n *Limit) Children() []Node        { return []Node{n.Input} }
func (n *Join) Children() []Node         { return []Node{n.Left, n.Right} }
func (n *UnionAll) Children() []Node     { return n.Inputs }

// WithChildren implements Node.
func (n *Scan) WithChildren([]Node) Node         { return n }
func (n *SystemScan) WithChildren([]Node) Node   { return n }
func (n *FileScan) WithChildren([]Node) Node     { return n }
func (n *Series) WithChildren([]Node) Node       { return n }
func (n *Values) WithChildren([]Node) Node       { return n }
func (n *Materialized) WithChildren([]Node) Node { return n }

// Children are the plans of Within.
func (n *SearchScan) Children() []Node {
	var out []Node
	for _, w := range n.Within {
		out = append(out, w.Values)
	}
	return out
}

// WithChildren implements Node.
func (n *SearchScan) WithChildren(c []Node) Node {
	if len(c) == 0 {
		return n
	}
	k := *n
	k.Within = make([]Within, len(c))
	for i, v := range c {
		k.Within[i] = Within{Key: n.Within[i].Key, Values: v}
	}
	return &k
}

// WithChildren implements Node.
func (n *Filter) WithChildren(c []Node) Node { return &Filter{Input: c[0], Pred: n.Pred} }

// WithChildren implements Node.
func (n *Project) WithChildren(c []Node) Node { return &Project{Input: c[0], Exprs: n.Exprs} }

// WithChildren implements Node.
func (n *Aggregate) WithChildren(c []Node) Node {
	return &Aggregate{Input: c[0], Groups: n.Groups, Aggs: n.Aggs}
}

// WithChildren implements Node.
func (n *Sort) WithChildren(c []Node) Node {
	k := *n
	k.Input = c[0]
	return &k
}

// WithChildren implements Node.
func (n *Limit) WithChildren(c []Node) Node {
	return &Limit{Input: c[0], Count: n.Count, Offset: n.Offset}
}

// WithChildren implements Node.
func (n *Join) WithChildren(c []Node) Node {
	k := *n
	k.Left, k.Right = c[0], c[1]
	return &k
}

// WithChildren implements Node.
func (n *UnionAll) WithChildren(c []Node) Node { return &UnionAll{Inputs: c, Cols: n.Cols} }

// Walk calls visit for n and its descendants, parents first, while visit returns true.
func Walk(n Node, visit func(Node) bool) {
	if n == nil || !visit(n) {
		return
	}
	for _, c := range n.Children() {
		Walk(c, visit)
	}
}
