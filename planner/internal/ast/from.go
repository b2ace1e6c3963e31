package ast

// Alias is [AS] name [(columns)] after a table.
type Alias struct {
	Span
	Name    Ident
	Columns []Ident
}

// AtKind says what an [At] pins.
type AtKind uint8

// The kinds of pin.
const (
	AtVersion AtKind = iota + 1
	AtTag
	AtToken
	AtTimestamp
)

// String is the keyword.
func (k AtKind) String() string { return [...]string{"?", "VERSION", "TAG", "TOKEN", "TIMESTAMP"}[k] }

// At is AT (VERSION => n), AT (TAG => 't'), AT (TOKEN => '…'), AT (TIMESTAMP =>
// …) after a table name; FOR SYSTEM_TIME AS OF and FOR VERSION AS OF give the same.
type At struct {
	Span
	Kind  AtKind
	Value Expr
}

// Sample is TABLESAMPLE method (size [PERCENT|ROWS]) [REPEATABLE (seed)] behind a
// table, and USING SAMPLE with the same parts behind a SELECT.
type Sample struct {
	Span
	Method Ident // zero where none is written
	Size   Expr
	Rows   bool // Size counts rows, not percent
	Seed   Expr
}

// TableName is a table, view, collection or CTE by name, with one to four parts.
type TableName struct {
	Span
	Name   Name
	At     *At
	Alias  *Alias
	Sample *Sample
}

// TableFunc is a call in FROM: vector_search(docs, …), unnest(a) WITH ORDINALITY.
type TableFunc struct {
	Span
	Lateral    bool
	Call       *FuncCall
	Ordinality bool
	Alias      *Alias
}

// Derived is a query in FROM; the alias may be absent. VALUES in FROM is a
// Derived too.
type Derived struct {
	Span
	Lateral bool
	Query   *Query
	Alias   *Alias
	Sample  *Sample
}

// JoinKind is the kind of a [Join].
type JoinKind uint8

// The joins. Semi and anti joins keep the columns of the side they are named after.
const (
	JoinInner JoinKind = iota
	JoinLeft
	JoinRight
	JoinFull
	JoinCross
	JoinLeftSemi
	JoinLeftAnti
	JoinRightSemi
	JoinRightAnti
)

// String is the keyword before JOIN.
func (k JoinKind) String() string {
	return [...]string{"INNER", "LEFT", "RIGHT", "FULL", "CROSS", "LEFT SEMI", "LEFT ANTI", "RIGHT SEMI", "RIGHT ANTI"}[k]
}

// Join is a join of two table references. At most one of Natural, On and Using
// is set; none for CROSS; one of them for every other kind.
type Join struct {
	Span
	Kind        JoinKind
	Natural     bool
	AsOf        bool
	Left, Right TableRef
	On          Expr
	Using       []Ident
	// Alias is set for a join in parentheses with an alias: (a JOIN b …) AS x.
	Alias *Alias
}

func (*TableName) tableRef() {}
func (*TableFunc) tableRef() {}
func (*Derived) tableRef()   {}
func (*Join) tableRef()      {}

func (*Alias) children(func(Node))  {}
func (a *At) children(f func(Node)) { opt(f, a.Value) }

func (s *Sample) children(f func(Node)) {
	opt(f, s.Size)
	opt(f, s.Seed)
}

func (t *TableName) children(f func(Node)) {
	opt(f, t.At)
	opt(f, t.Alias)
	opt(f, t.Sample)
}

func (t *TableFunc) children(f func(Node)) {
	opt(f, t.Call)
	opt(f, t.Alias)
}

func (t *Derived) children(f func(Node)) {
	opt(f, t.Query)
	opt(f, t.Alias)
	opt(f, t.Sample)
}

func (t *Join) children(f func(Node)) {
	opt(f, t.Left)
	opt(f, t.Right)
	opt(f, t.On)
	opt(f, t.Alias)
}
