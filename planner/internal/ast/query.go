package ast

// Query is a complete query: a body with its WITH, ORDER BY and LIMIT. As a
// statement it is SELECT, VALUES, TABLE or FROM.
type Query struct {
	Span
	With    *With
	Body    QueryBody
	OrderBy []*OrderItem
	// Limit and Offset are nil where absent; LIMIT ALL and LIMIT NULL are absent.
	// FETCH FIRST ROW is LIMIT 1.
	Limit, Offset Expr
	// WithTies is FETCH FIRST n ROWS WITH TIES.
	WithTies bool
}

// With is WITH [RECURSIVE] followed by its tables.
type With struct {
	Span
	Recursive bool
	Tables    []*CTE
}

// CTE is one table of a WITH: name (columns) AS [[NOT] MATERIALIZED] (query).
type CTE struct {
	Span
	Name    Ident
	Columns []Ident
	// Materialized is nil where nothing is said.
	Materialized *bool
	// Query is a *Query, or an *Insert, *Update or *Delete with RETURNING.
	Query Statement
}

// Select is SELECT … FROM … WHERE … GROUP BY … HAVING … WINDOW … QUALIFY ….
type Select struct {
	Span
	Distinct bool
	// DistinctOn is the list of DISTINCT ON (…); Distinct is set with it.
	DistinctOn []Expr
	// Items is the select list; it may be empty (SELECT FROM t).
	Items []*SelectItem
	// From holds the items between commas; empty without FROM.
	From    []TableRef
	Where   Expr
	GroupBy *GroupBy
	Having  Expr
	Windows []*NamedWindow
	Qualify Expr
	// Sample is USING SAMPLE: of the rows of FROM, before WHERE.
	Sample *Sample
}

// SelectItem is one item of a select list, a RETURNING list or a REPLACE list.
type SelectItem struct {
	Span
	Expr  Expr
	Alias Ident
}

// SetOpKind is the operation of a [SetOp].
type SetOpKind uint8

// The set operations.
const (
	Union SetOpKind = iota
	Intersect
	Except
)

// String is the keyword.
func (k SetOpKind) String() string { return [...]string{"UNION", "INTERSECT", "EXCEPT"}[k] }

// SetOp is left UNION|INTERSECT|EXCEPT [ALL] [BY NAME] right.
type SetOp struct {
	Span
	Op          SetOpKind
	All         bool
	ByName      bool
	Left, Right QueryBody
}

// Values is VALUES (…), (…): at least one row; every row has at least one value,
// and the parser has checked that all have equally many.
type Values struct {
	Span
	Rows []*Row
}

// OrderItem is one key of an ORDER BY.
type OrderItem struct {
	Span
	// All is ORDER BY ALL; Expr is then nil.
	All   bool
	Expr  Expr
	Desc  bool
	Nulls NullOrder
}

// NullOrder is the place of NULLs in an order.
type NullOrder uint8

// The places of NULLs. NullsDefault is nothing written: last for ASC, first for
// DESC, as in PostgreSQL; the binder decides.
const (
	NullsDefault NullOrder = iota
	NullsFirst
	NullsLast
)

// String is the clause.
func (n NullOrder) String() string { return [...]string{"", "NULLS FIRST", "NULLS LAST"}[n] }

// GroupBy is a GROUP BY clause: ALL, or items; DISTINCT drops grouping sets that
// stand there twice.
type GroupBy struct {
	Span
	All      bool
	Distinct bool
	Items    []*GroupItem
}

// GroupKind is the kind of a [GroupItem].
type GroupKind uint8

// The kinds of grouping item.
const (
	GroupExprs GroupKind = iota // an expression, a list (a, b), or the empty set ()
	GroupRollup
	GroupCube
	GroupSets
)

// String is the keyword.
func (k GroupKind) String() string {
	return [...]string{"", "ROLLUP", "CUBE", "GROUPING SETS"}[k]
}

// GroupItem is one item of GROUP BY. A GroupExprs item has Exprs (none for the
// empty set) and no Sets; the others have Sets and no Exprs. Under ROLLUP and
// CUBE every set is a GroupExprs item.
type GroupItem struct {
	Span
	Kind  GroupKind
	Exprs []Expr
	Sets  []*GroupItem
}

// NamedWindow is name AS (window) in a WINDOW clause.
type NamedWindow struct {
	Span
	Name   Ident
	Window *Window
}

// Window is what follows OVER. For OVER w only Ref is set; for OVER (w PARTITION
// BY …) Base is the window that is extended.
type Window struct {
	Span
	Ref         Ident
	Base        Ident
	PartitionBy []Expr
	OrderBy     []*OrderItem
	Frame       *Frame // nil where none is written
}

// FrameUnit is the unit of a window frame.
type FrameUnit uint8

// The frame units.
const (
	FrameRows FrameUnit = iota
	FrameRange
	FrameGroups
)

// String is the keyword.
func (u FrameUnit) String() string { return [...]string{"ROWS", "RANGE", "GROUPS"}[u] }

// FrameExclude is the EXCLUDE of a window frame.
type FrameExclude uint8

// The exclusions.
const (
	ExcludeNothing FrameExclude = iota
	ExcludeCurrentRow
	ExcludeGroup
	ExcludeTies
)

// String is the clause.
func (x FrameExclude) String() string {
	return [...]string{"", "EXCLUDE CURRENT ROW", "EXCLUDE GROUP", "EXCLUDE TIES"}[x]
}

// Frame is a window frame; a frame with one bound ends at the current row.
type Frame struct {
	Span
	Unit    FrameUnit
	Lo, Hi  *Bound
	Exclude FrameExclude
}

// BoundKind is the kind of a frame bound.
type BoundKind uint8

// The kinds of frame bound, in the order in which they may follow each other.
const (
	UnboundedPreceding BoundKind = iota
	Preceding
	CurrentRow
	Following
	UnboundedFollowing
)

// String is the clause; the offset stands before PRECEDING and FOLLOWING.
func (k BoundKind) String() string {
	return [...]string{"UNBOUNDED PRECEDING", "PRECEDING", "CURRENT ROW", "FOLLOWING", "UNBOUNDED FOLLOWING"}[k]
}

// Bound is one end of a frame; Offset is set for Preceding and Following only.
type Bound struct {
	Span
	Kind   BoundKind
	Offset Expr
}

func (*Query) queryBody()  {}
func (*Select) queryBody() {}
func (*SetOp) queryBody()  {}
func (*Values) queryBody() {}

func (q *Query) children(f func(Node)) {
	opt(f, q.With)
	opt(f, q.Body)
	each(f, q.OrderBy)
	opt(f, q.Limit)
	opt(f, q.Offset)
}

func (w *With) children(f func(Node)) { each(f, w.Tables) }
func (c *CTE) children(f func(Node))  { opt(f, c.Query) }

func (s *Select) children(f func(Node)) {
	each(f, s.DistinctOn)
	each(f, s.Items)
	each(f, s.From)
	opt(f, s.Where)
	opt(f, s.GroupBy)
	opt(f, s.Having)
	each(f, s.Windows)
	opt(f, s.Qualify)
	opt(f, s.Sample)
}

func (s *SelectItem) children(f func(Node)) { opt(f, s.Expr) }

func (s *SetOp) children(f func(Node)) {
	opt(f, s.Left)
	opt(f, s.Right)
}

func (v *Values) children(f func(Node))    { each(f, v.Rows) }
func (o *OrderItem) children(f func(Node)) { opt(f, o.Expr) }
func (g *GroupBy) children(f func(Node))   { each(f, g.Items) }

func (g *GroupItem) children(f func(Node)) {
	each(f, g.Exprs)
	each(f, g.Sets)
}

func (w *NamedWindow) children(f func(Node)) { opt(f, w.Window) }

func (w *Window) children(f func(Node)) {
	each(f, w.PartitionBy)
	each(f, w.OrderBy)
	opt(f, w.Frame)
}

func (w *Frame) children(f func(Node)) {
	opt(f, w.Lo)
	opt(f, w.Hi)
}

func (b *Bound) children(f func(Node)) { opt(f, b.Offset) }
