package ast

// NullLit is NULL.
type NullLit struct{ Span }

// BoolLit is TRUE or FALSE.
type BoolLit struct {
	Span
	Value bool
}

// NumberLit is an unsigned number. Text holds its exact decimal digits, with an
// optional point and exponent; digit separators are gone and 0x, 0o and 0b
// forms are rewritten in decimal. A sign is a [Unary] above it.
type NumberLit struct {
	Span
	Text string
}

// StringLit is a character string with its quotes and escapes undone, from
// '…', E'…' or $tag$…$tag$. It is valid UTF-8 without NUL.
type StringLit struct {
	Span
	Value string
}

// BytesLit is X'…'.
type BytesLit struct {
	Span
	Value []byte
}

// TypedLit is a type name before a string: DATE '…', TIMESTAMP WITH TIME ZONE
// '…', JSON '…', and the JDBC escapes {d '…'}, {t '…'}, {ts '…'}.
type TypedLit struct {
	Span
	Type  *TypeName
	Value string
}

// IntervalLit is INTERVAL with a value and an optional unit: INTERVAL '1 day'
// (Unit ""), INTERVAL '1' DAY, INTERVAL 3 HOUR, INTERVAL '1-2' YEAR TO MONTH,
// INTERVAL (n + 1) DAY.
type IntervalLit struct {
	Span
	Value Expr
	// Unit and ToUnit are upper-case and singular: YEAR, QUARTER, MONTH, WEEK,
	// DAY, HOUR, MINUTE, SECOND, MILLISECOND, MICROSECOND, NANOSECOND.
	Unit, ToUnit string
}

// ColumnRef is a name of one to eight parts in an expression: a column, a
// qualified column, a field of a struct column, or a table as an argument of a
// table function. The binder decides which.
type ColumnRef struct {
	Span
	Parts []Ident
}

// Star is * or t.*, in a select list, in RETURNING and as the argument of
// count(*).
type Star struct {
	Span
	// Qualifier is the part before .*, if any.
	Qualifier []Ident
	// Exclude and Replace are the lists of * EXCLUDE (a) REPLACE (x + 1 AS b).
	Exclude []Ident
	Replace []*SelectItem
}

// Param is a parameter: $1 and ? (numbered from 1 in the order of the text)
// have an Index; :name and $name have a Name and Index 0.
type Param struct {
	Span
	Index int
	Name  string
}

// Unary is a prefix operator: OpNot, OpNeg, OpPlus or OpBitNot.
type Unary struct {
	Span
	Op Op
	X  Expr
}

// Binary is an operator between two operands, comparisons and IS [NOT]
// DISTINCT FROM included; never OpAnd or OpOr.
type Binary struct {
	Span
	Op Op
	// OpPos is the byte offset of the operator.
	OpPos int `ast:"pos"`
	L, R  Expr
}

// Logic is OpAnd or OpOr over two or more arguments, none of which is a Logic
// with the same operator.
type Logic struct {
	Span
	Op   Op
	Args []Expr
}

// Truth is what IS tests for.
type Truth uint8

// The right sides of IS.
const (
	IsNull Truth = iota + 1
	IsTrue
	IsFalse
	IsUnknown
)

// String is the keyword.
func (t Truth) String() string { return [...]string{"?", "NULL", "TRUE", "FALSE", "UNKNOWN"}[t] }

// Is is x IS [NOT] NULL, TRUE, FALSE or UNKNOWN.
type Is struct {
	Span
	X    Expr
	Not  bool
	What Truth
}

// Between is x [NOT] BETWEEN [SYMMETRIC] lo AND hi.
type Between struct {
	Span
	X         Expr
	Not       bool
	Symmetric bool
	Lo, Hi    Expr
}

// LikeKind is the kind of a pattern match.
type LikeKind uint8

// The kinds of pattern match.
const (
	LikeCase   LikeKind = iota // LIKE
	LikeNoCase                 // ILIKE
	SimilarTo                  // SIMILAR TO
)

// String is the keyword.
func (k LikeKind) String() string { return [...]string{"LIKE", "ILIKE", "SIMILAR TO"}[k] }

// Like is x [NOT] LIKE pattern [ESCAPE e] and its relatives; the operators ~~,
// ~~*, !~~ and !~~* give the same node.
type Like struct {
	Span
	X       Expr
	Not     bool
	Kind    LikeKind
	Pattern Expr
	Escape  Expr // nil without ESCAPE
}

// InList is x [NOT] IN (a, b, …) with at least one element.
type InList struct {
	Span
	X    Expr
	Not  bool
	List []Expr
}

// InQuery is x [NOT] IN (SELECT …). X is a [Row] where several columns compare.
type InQuery struct {
	Span
	X     Expr
	Not   bool
	Query *Query
}

// Exists is EXISTS (SELECT …).
type Exists struct {
	Span
	Query *Query
}

// Subquery is a query in parentheses as a value: scalar, or a row.
type Subquery struct {
	Span
	Query *Query
}

// Quantified is x op ANY (…) or x op ALL (…); SOME is ANY. Exactly one of Query
// and Array is set.
type Quantified struct {
	Span
	X     Expr
	Op    Op
	All   bool
	Query *Query
	Array Expr
}

// When is one WHEN … THEN … of a [Case].
type When struct {
	Span
	Cond, Result Expr
}

// Case is CASE [operand] WHEN … THEN … [ELSE …] END with at least one When.
type Case struct {
	Span
	Operand Expr // nil for the searched form
	Whens   []*When
	Else    Expr // nil without ELSE
}

// Cast is CAST(x AS t), TRY_CAST(x AS t) (Try) or x::t.
type Cast struct {
	Span
	X    Expr
	Type *TypeName
	Try  bool
}

// Extract is EXTRACT(field FROM x); Field is upper-case.
type Extract struct {
	Span
	Field string
	X     Expr
}

// Arg is an argument of a call: positional, or named with =>, := or, inside a
// table function, =.
type Arg struct {
	Span
	Name  Ident // zero for a positional argument
	Value Expr
	// At follows the name of a table in the arguments of a table function.
	At *At
}

// NullTreatment is IGNORE NULLS or RESPECT NULLS.
type NullTreatment uint8

// The null treatments; NullsUnsaid is none written.
const (
	NullsUnsaid NullTreatment = iota
	RespectNulls
	IgnoreNulls
)

// String is the clause.
func (n NullTreatment) String() string {
	return [...]string{"", "RESPECT NULLS", "IGNORE NULLS"}[n]
}

// FuncCall is a call of a scalar, aggregate or window function, and, inside a
// [TableFunc] or as an argument of one, of a table function. count(*) has one
// argument, a [Star]. CURRENT_DATE and the like are calls without arguments.
type FuncCall struct {
	Span
	Name        Name
	Distinct    bool
	Args        []*Arg
	OrderBy     []*OrderItem // inside the parentheses
	Nulls       NullTreatment
	WithinGroup []*OrderItem
	Filter      Expr    // of FILTER (WHERE …)
	Over        *Window // nil without OVER
}

// Lambda is lambda x, y: body, an argument of a function.
type Lambda struct {
	Span
	Params []Ident
	Body   Expr
}

// ArrayLit is [a, b] or ARRAY[a, b].
type ArrayLit struct {
	Span
	Elems []Expr
}

// ArrayQuery is ARRAY(SELECT …).
type ArrayQuery struct {
	Span
	Query *Query
}

// Row is (a, b) or ROW(a, …).
type Row struct {
	Span
	Elems []Expr
}

// StructField is one field of a [StructLit].
type StructField struct {
	Span
	Name  Ident
	Value Expr
}

// StructLit is {a: 1, 'b': 2}; a name in single quotes counts as quoted.
type StructLit struct {
	Span
	Fields []*StructField
}

// MapEntry is one entry of a [MapLit].
type MapEntry struct {
	Span
	Key, Value Expr
}

// MapLit is MAP {k: v, …}.
type MapLit struct {
	Span
	Entries []*MapEntry
}

// Subscript is x[i].
type Subscript struct {
	Span
	X, Index Expr
}

// Slice is x[lo:hi]; a missing bound is nil.
type Slice struct {
	Span
	X, Lo, Hi Expr
}

// Field is access to a field of a value that is not a plain name: (x).a, f(x).a.
type Field struct {
	Span
	X    Expr
	Name Ident
}

// Collate is x COLLATE name.
type Collate struct {
	Span
	X         Expr
	Collation Name
}

// AtTimeZone is x AT TIME ZONE zone.
type AtTimeZone struct {
	Span
	X, Zone Expr
}

// Default is DEFAULT in a row of VALUES or at the right of SET.
type Default struct{ Span }

func (*NullLit) expr()     {}
func (*BoolLit) expr()     {}
func (*NumberLit) expr()   {}
func (*StringLit) expr()   {}
func (*BytesLit) expr()    {}
func (*TypedLit) expr()    {}
func (*IntervalLit) expr() {}
func (*ColumnRef) expr()   {}
func (*Star) expr()        {}
func (*Param) expr()       {}
func (*Unary) expr()       {}
func (*Binary) expr()      {}
func (*Logic) expr()       {}
func (*Is) expr()          {}
func (*Between) expr()     {}
func (*Like) expr()        {}
func (*InList) expr()      {}
func (*InQuery) expr()     {}
func (*Exists) expr()      {}
func (*Subquery) expr()    {}
func (*Quantified) expr()  {}
func (*Case) expr()        {}
func (*Cast) expr()        {}
func (*Extract) expr()     {}
func (*FuncCall) expr()    {}
func (*Lambda) expr()      {}
func (*ArrayLit) expr()    {}
func (*ArrayQuery) expr()  {}
func (*Row) expr()         {}
func (*StructLit) expr()   {}
func (*MapLit) expr()      {}
func (*Subscript) expr()   {}
func (*Slice) expr()       {}
func (*Field) expr()       {}
func (*Collate) expr()     {}
func (*AtTimeZone) expr()  {}
func (*Default) expr()     {}

func (*NullLit) children(func(Node))         {}
func (*BoolLit) children(func(Node))         {}
func (*NumberLit) children(func(Node))       {}
func (*StringLit) children(func(Node))       {}
func (*BytesLit) children(func(Node))        {}
func (e *TypedLit) children(f func(Node))    { opt(f, e.Type) }
func (*ColumnRef) children(func(Node))       {}
func (e *Star) children(f func(Node))        { each(f, e.Replace) }
func (*Param) children(func(Node))           {}
func (e *Unary) children(f func(Node))       { opt(f, e.X) }
func (e *Logic) children(f func(Node))       { each(f, e.Args) }
func (e *Is) children(f func(Node))          { opt(f, e.X) }
func (e *Exists) children(f func(Node))      { opt(f, e.Query) }
func (e *Subquery) children(f func(Node))    { opt(f, e.Query) }
func (e *Extract) children(f func(Node))     { opt(f, e.X) }
func (e *Lambda) children(f func(Node))      { opt(f, e.Body) }
func (e *ArrayLit) children(f func(Node))    { each(f, e.Elems) }
func (e *ArrayQuery) children(f func(Node))  { opt(f, e.Query) }
func (e *Row) children(f func(Node))         { each(f, e.Elems) }
func (e *StructField) children(f func(Node)) { opt(f, e.Value) }
func (e *StructLit) children(f func(Node))   { each(f, e.Fields) }
func (e *MapLit) children(f func(Node))      { each(f, e.Entries) }
func (e *Field) children(f func(Node))       { opt(f, e.X) }
func (e *Collate) children(f func(Node))     { opt(f, e.X) }
func (*Default) children(func(Node))         {}
func (e *IntervalLit) children(f func(Node)) { opt(f, e.Value) }

func (e *Binary) children(f func(Node)) {
	opt(f, e.L)
	opt(f, e.R)
}

func (e *Between) children(f func(Node)) {
	opt(f, e.X)
	opt(f, e.Lo)
	opt(f, e.Hi)
}

func (e *Like) children(f func(Node)) {
	opt(f, e.X)
	opt(f, e.Pattern)
	opt(f, e.Escape)
}

func (e *InList) children(f func(Node)) {
	opt(f, e.X)
	each(f, e.List)
}

func (e *InQuery) children(f func(Node)) {
	opt(f, e.X)
	opt(f, e.Query)
}

func (e *Quantified) children(f func(Node)) {
	opt(f, e.X)
	opt(f, e.Query)
	opt(f, e.Array)
}

func (e *When) children(f func(Node)) {
	opt(f, e.Cond)
	opt(f, e.Result)
}

func (e *Case) children(f func(Node)) {
	opt(f, e.Operand)
	each(f, e.Whens)
	opt(f, e.Else)
}

func (e *Cast) children(f func(Node)) {
	opt(f, e.X)
	opt(f, e.Type)
}

func (e *FuncCall) children(f func(Node)) {
	each(f, e.Args)
	each(f, e.OrderBy)
	each(f, e.WithinGroup)
	opt(f, e.Filter)
	opt(f, e.Over)
}

func (e *MapEntry) children(f func(Node)) {
	opt(f, e.Key)
	opt(f, e.Value)
}

func (e *Subscript) children(f func(Node)) {
	opt(f, e.X)
	opt(f, e.Index)
}

func (e *Slice) children(f func(Node)) {
	opt(f, e.X)
	opt(f, e.Lo)
	opt(f, e.Hi)
}

func (e *AtTimeZone) children(f func(Node)) {
	opt(f, e.X)
	opt(f, e.Zone)
}

func (e *Arg) children(f func(Node)) {
	opt(f, e.Value)
	opt(f, e.At)
}
