package plan

import (
	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// Column is one output column of a node.
type Column struct {
	ID   expr.ColumnID
	Name string
	Type types.Type
}

// Ref is an expression that reads the column.
func (c Column) Ref() *expr.Column { return &expr.Column{ID: c.ID, Name: c.Name, T: c.Type} }

// Node is an operator of a plan.
type Node interface {
	// Columns are the output columns in order.
	Columns() []Column
	// Children are the inputs; WithChildren returns a copy with them replaced.
	Children() []Node
	WithChildren([]Node) Node
	// Name is the operator's one name, in EXPLAIN, metrics and code.
	Name() string
}

// NamedExpr computes an output column.
type NamedExpr struct {
	Column
	Expr expr.Expr
}

// ScanColumn reads a stored field or system column by its declared name.
type ScanColumn struct {
	Column
	Field string
}

// NoLimit is a row limit that is not set.
const NoLimit int64 = -1

// Scan reads an object at the statement's snapshot. Filter, over the scan's
// columns, is applied by storage exactly; columns that only the filter reads are
// listed in Cols too. Order is unspecified but fixed for one snapshot.
type Scan struct {
	Object *schema.Object
	// At is the state that is read; nil: the statement's current one.
	At     *At
	Cols   []ScanColumn
	Filter expr.Expr
	// Limit stops the scan after so many rows that pass the filter, or NoLimit.
	Limit int64
}

// LegKind is the retriever of a search leg.
type LegKind uint8

// The retrievers.
const (
	VectorLeg LegKind = iota
	TextLeg
)

// FieldBoost is a full-text field and its weight.
type FieldBoost struct {
	Field string
	Boost float64
}

// Leg is one ranked list of a search. Query has type VECTOR for a vector leg and
// TEXT for a text leg; it is a constant by the time the plan runs.
type Leg struct {
	Kind   LegKind
	Field  string       // vector leg
	Fields []FieldBoost // text leg; empty means every FULLTEXT field
	Query  expr.Expr
	Metric schema.Metric // vector leg
	Mode   string        // text leg: lucene, match, phrase
	And    bool          // text leg: words without operator are all required
	// Limit is the length of the leg's ranked list.
	Limit int64
	// Weight is the leg's rank weight in fusion.
	Weight float64
	// Filter is a pre-filter of this leg alone, or nil.
	Filter expr.Expr
}

// SearchScan ranks documents of a collection by one leg, or fuses several by
// reciprocal rank (RRFK > 0): score = Σ weight/(k + rank), rank from 1, over all
// legs by primary key. Output rows are in total order: score descending, best
// rank, primary key ascending by bytes. Filter is applied to every leg before
// ranking. A search returns min(Limit, matches) rows.
type SearchScan struct {
	Object *schema.Object
	// At is the state that is searched; nil: the statement's current one.
	At   *At
	Cols []ScanColumn
	// Score is the output column of the score (_score or _fused_score).
	Score  Column
	Legs   []Leg
	RRFK   float64
	Filter expr.Expr
	// Within restrict the documents to values that are computed before the search
	// runs: a pre-filter too.
	Within []Within
	Limit  int64
	Offset int64
	// MinScore drops rows below it; nil means none. A constant when the plan runs.
	MinScore expr.Expr
}

// Within passes the rows whose Key, over the scan columns, is among the values of
// the one column of Values; NULL is among none.
type Within struct {
	Key    expr.Expr
	Values Node
}

// SystemScan reads a system table by name (see the registry in the root package).
type SystemScan struct {
	Table string
	Cols  []ScanColumn
}

// FileFormat is the format of a file scan.
type FileFormat string

// The file formats.
const (
	Parquet FileFormat = "parquet"
	NDJSON  FileFormat = "json"
	CSV     FileFormat = "csv"
	Lance   FileFormat = "lance"
)

// FileScan reads files of the operator's allowed directories.
type FileScan struct {
	Format FileFormat
	Paths  []string
	Cols   []ScanColumn
	// Version and Tag pick a version of a Lance dataset; zero: the latest.
	Version uint64
	Tag     string
}

// Series is generate_series(start, stop, step) over BIGINT or TIMESTAMP (step INTERVAL).
type Series struct {
	Start, Stop, Step expr.Expr
	Col               Column
}

// Filter keeps the rows for which Pred is true.
type Filter struct {
	Input Node
	Pred  expr.Expr
}

// Project computes columns.
type Project struct {
	Input Node
	Exprs []NamedExpr
}

// AggCall is one aggregate of an Aggregate node.
type AggCall struct {
	Column
	Fn       *expr.AggFunc
	Args     []expr.Expr // already of the parameter types
	Distinct bool
	Filter   expr.Expr // nil, or FILTER (WHERE …)
	OrderBy  []SortKey // ordered-set and list aggregates
}

// Aggregate groups by Groups and computes Aggs. Output: groups, then aggregates.
// Without groups there is exactly one output row. DISTINCT is Aggs empty.
type Aggregate struct {
	Input  Node
	Groups []NamedExpr
	Aggs   []AggCall
}

// JoinKind is the kind of a join.
type JoinKind uint8

// The joins. Semi and Anti output the left columns only. Single is a left join
// that fails with 21000 on a second match (scalar subqueries). Mark outputs the
// left columns and the boolean Mark column, three-valued (IN subqueries).
const (
	Inner JoinKind = iota
	Left
	Right
	Full
	Semi
	Anti
	Single
	Mark
)

var joinNames = [...]string{"INNER", "LEFT", "RIGHT", "FULL", "SEMI", "ANTI", "SINGLE", "MARK"}

// String is the name in EXPLAIN.
func (k JoinKind) String() string { return joinNames[k] }

// EquiKey is one equality of a join; both sides have the same type. NullSafe
// keys match NULL with NULL.
type EquiKey struct {
	Left, Right expr.Expr
	NullSafe    bool
}

// Join combines two inputs. With no Keys and no Residual an inner join is a
// cross product. Residual is evaluated over left and right columns.
type Join struct {
	Left, Right Node
	Kind        JoinKind
	Keys        []EquiKey
	Residual    expr.Expr
	// Mark is the output column of a Mark join.
	Mark Column
	// Apply marks a dependent join: Right reads columns of Left. It is gone after
	// decorrelation; the executor refuses it.
	Apply bool
}

// SortKey orders by an expression. NULLs are greater than all values unless NullsFirst says otherwise.
type SortKey struct {
	Expr       expr.Expr
	Desc       bool
	NullsFirst bool
}

// Sort orders its input. With Limit ≥ 0 it is a top-n: only the first Limit rows
// after Offset are output. Ties keep the input's order.
type Sort struct {
	Input  Node
	Keys   []SortKey
	Limit  int64
	Offset int64
}

// Limit skips Offset rows and outputs at most Count (NoLimit: all the rest).
type Limit struct {
	Input  Node
	Count  int64
	Offset int64
}

// UnionAll concatenates inputs whose columns correspond by position and type.
type UnionAll struct {
	Inputs []Node
	Cols   []Column
}

// Values is a list of constant rows.
type Values struct {
	Rows [][]expr.Expr
	Cols []Column
}

// Empty is a Values node of no rows with these columns.
func Empty(cols []Column) *Values { return &Values{Cols: cols} }

// Materialized wraps rows that exist already (EXPLAIN, catalog answers).
type Materialized struct {
	Cols   []Column
	Chunks []*vec.Chunk
	Label  string
}

// Name implements Node.
func (*Scan) Name() string         { return "Scan" }
func (*SearchScan) Name() string   { return "SearchScan" }
func (*SystemScan) Name() string   { return "SystemScan" }
func (*FileScan) Name() string     { return "FileScan" }
func (*Series) Name() string       { return "Series" }
func (*Filter) Name() string       { return "Filter" }
func (*Project) Name() string      { return "Project" }
func (*Aggregate) Name() string    { return "Aggregate" }
func (*Join) Name() string         { return "Join" }
func (*Limit) Name() string        { return "Limit" }
func (*UnionAll) Name() string     { return "UnionAll" }
func (*Values) Name() string       { return "Values" }
func (*Materialized) Name() string { return "Materialized" }

// Name is TopN for a sort with a limit.
func (s *Sort) Name() string {
	if s.Limit >= 0 {
		return "TopN"
	}
	return "Sort"
}
