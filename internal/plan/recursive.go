package plan

import "github.com/loamdb/loam/internal/expr"

// Recursive is WITH RECURSIVE: the rows of Base, then round after round the rows of
// Step over those of the round before (its WorkingTable), until a round has none.
// Columns correspond by position and type. Distinct drops every row that a round,
// or one before it, has had: UNION without ALL.
type Recursive struct {
	Base, Step Node
	Cols       []Column
	Distinct   bool
	// Label is the table's name.
	Label string
	// Table is the number by which WorkingTables in Step name this node.
	Table expr.ColumnID
}

// WorkingTable reads, inside the Step of a Recursive, the rows of the last round.
type WorkingTable struct {
	Table expr.ColumnID
	Cols  []Column
	Label string
}

// Name implements Node.
func (*Recursive) Name() string    { return "Recursive" }
func (*WorkingTable) Name() string { return "WorkingTable" }

// Columns implements Node.
func (n *Recursive) Columns() []Column    { return n.Cols }
func (n *WorkingTable) Columns() []Column { return n.Cols }

// Children implements Node.
func (n *Recursive) Children() []Node    { return []Node{n.Base, n.Step} }
func (n *WorkingTable) Children() []Node { return nil }

// WithChildren implements Node.
func (n *Recursive) WithChildren(c []Node) Node {
	k := *n
	k.Base, k.Step = c[0], c[1]
	return &k
}

// WithChildren implements Node.
func (n *WorkingTable) WithChildren([]Node) Node { return n }

// ReadsWorkingTable reports whether a plan reads the rows of a round of a
// Recursive that it does not hold itself.
func ReadsWorkingTable(n Node) bool {
	own := map[expr.ColumnID]bool{}
	found := false
	Walk(n, func(k Node) bool {
		switch x := k.(type) {
		case *Recursive:
			own[x.Table] = true
		case *WorkingTable:
			found = found || !own[x.Table]
		}
		return !found
	})
	return found
}
