package plan

// GroupingSets groups its input by several sets of keys. Each set lists positions
// in Groups, ascending; sets may repeat. For each set in order the output has the
// rows that an Aggregate by its keys has: Groups with NULL for the keys that are
// not in the set, then Aggs, then Marks. The empty set has one row, of no input
// rows too.
type GroupingSets struct {
	Input  Node
	Groups []NamedExpr
	Sets   [][]int
	Aggs   []AggCall
	Marks  []GroupingMark
}

// GroupingMark is a call of grouping(): the number whose last bit is set where
// the last of Keys, a position in Groups, is not in the row's set, and so on
// towards the first.
type GroupingMark struct {
	Column
	Keys []int
}

// Value is the mark of the rows of a set.
func (m GroupingMark) Value(set []int) int32 {
	in := map[int]bool{}
	for _, k := range set {
		in[k] = true
	}
	v := int32(0)
	for _, k := range m.Keys {
		v <<= 1
		if !in[k] {
			v |= 1
		}
	}
	return v
}

// Common lists the keys that are in every set: the only ones that no row has as
// NULL for want of them.
func (n *GroupingSets) Common() []int {
	var out []int
	for k := range n.Groups {
		count := 0
		for _, set := range n.Sets {
			for _, have := range set {
				if have == k {
					count++
				}
			}
		}
		if count == len(n.Sets) {
			out = append(out, k)
		}
	}
	return out
}

// Name implements Node.
func (*GroupingSets) Name() string { return "GroupingSets" }

// Columns are the groups, the aggregates, the marks.
func (n *GroupingSets) Columns() []Column {
	out := namedColumns(n.Groups)
	for _, a := range n.Aggs {
		out = append(out, a.Column)
	}
	for _, m := range n.Marks {
		out = append(out, m.Column)
	}
	return out
}

// Children implements Node.
func (n *GroupingSets) Children() []Node { return []Node{n.Input} }

// WithChildren implements Node.
func (n *GroupingSets) WithChildren(c []Node) Node {
	k := *n
	k.Input = c[0]
	return &k
}

// setTexts prints the sets by the names of their keys.
func (n *GroupingSets) setTexts() []string {
	out := make([]string, len(n.Sets))
	for i, set := range n.Sets {
		s := "("
		for j, k := range set {
			if j > 0 {
				s += ", "
			}
			s += n.Groups[k].Name
		}
		out[i] = s + ")"
	}
	return out
}
