package plan

import (
	"strings"

	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// FrameUnit is what the offsets of a window frame count.
type FrameUnit uint8

// The frame units: rows, values of the one order key, groups of peers.
const (
	FrameRows FrameUnit = iota
	FrameRange
	FrameGroups
)

// String is the keyword.
func (u FrameUnit) String() string { return [...]string{"ROWS", "RANGE", "GROUPS"}[u] }

// BoundKind is the kind of a frame bound.
type BoundKind uint8

// The kinds of frame bound.
const (
	UnboundedPreceding BoundKind = iota
	Preceding
	CurrentRow
	Following
	UnboundedFollowing
)

// String is the clause behind the offset, if there is one.
func (k BoundKind) String() string {
	return [...]string{"UNBOUNDED PRECEDING", "PRECEDING", "CURRENT ROW", "FOLLOWING", "UNBOUNDED FOLLOWING"}[k]
}

// Bound is one end of a frame. Offset is set for Preceding and Following alone:
// an expression without columns, BIGINT for ROWS and GROUPS, and for RANGE what
// is added to the frame's Key. A negative or NULL offset is error 22013.
type Bound struct {
	Kind   BoundKind
	Offset expr.Expr
}

// FrameExclude is what a frame leaves out of itself.
type FrameExclude uint8

// The exclusions. A group is the current row and its peers, ties are its peers alone.
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

// Frame says which rows of the partition a call sees from the current row. Key
// is set for RANGE with an offset: the order key as BIGINT, DECIMAL, DOUBLE or
// TIMESTAMP, whose values the offset (an INTERVAL for the last) is added to.
type Frame struct {
	Unit    FrameUnit
	Lo, Hi  Bound
	Key     expr.Expr
	Exclude FrameExclude
}

// WholePartition is the frame of all rows.
var WholePartition = Frame{Hi: Bound{Kind: UnboundedFollowing}}

// Whole reports whether the frame is the whole partition for every row.
func (f Frame) Whole() bool {
	return f.Lo.Kind == UnboundedPreceding && f.Hi.Kind == UnboundedFollowing && f.Exclude == ExcludeNothing
}

// WindowCall is one function over the window: Fn, or the aggregate Agg.
type WindowCall struct {
	Column
	Fn     *expr.WindowFunc
	Agg    *expr.AggFunc
	Args   []expr.Expr // already of the parameter types
	Filter expr.Expr   // nil, or FILTER (WHERE …) of an aggregate
	// IgnoreNulls has lag, lead and the picks of frames pass over NULL values.
	IgnoreNulls bool
	Frame       Frame
}

// Window computes functions over the rows around each row: those with equal
// PartitionBy values, in the order of OrderBy, ties in the input's order. Rows
// with equal values of OrderBy are peers. Output: the input's columns and rows in
// the input's order, with one column a call behind them.
type Window struct {
	Input       Node
	PartitionBy []expr.Expr
	OrderBy     []SortKey
	Calls       []WindowCall
}

// Name implements Node.
func (*Window) Name() string { return "Window" }

// Columns are the input's, then the calls.
func (n *Window) Columns() []Column {
	in := n.Input.Columns()
	out := in[:len(in):len(in)]
	for _, c := range n.Calls {
		out = append(out, c.Column)
	}
	return out
}

// Children implements Node.
func (n *Window) Children() []Node { return []Node{n.Input} }

// WithChildren implements Node.
func (n *Window) WithChildren(c []Node) Node {
	k := *n
	k.Input = c[0]
	return &k
}

// CheckOffset refuses an offset that is NULL, negative or NaN. Error: fail.FrameSize.
func CheckOffset(v vec.Value) error {
	switch {
	case v.Null:
		return fail.New(fail.FrameSize, "the offset of a window frame must not be NULL")
	case v.Type.Integer() && v.Int < 0, v.Type.Kind == types.Double && !(v.Float >= 0),
		v.Type.Kind == types.Decimal && v.Dec.Sign() < 0,
		v.Type.Kind == types.Interval && negative(v.Span):
		return fail.New(fail.FrameSize, "the offset of a window frame must not be negative: %s", v)
	}
	return nil
}

// negative reports whether an interval goes back, its months counted as 30 days.
func negative(s vec.Span) bool {
	const day = 24 * 3600 * 1e9
	return (float64(s.Months)*30+float64(s.Days))*day+float64(s.Nanos) < 0
}

// MapWindow returns the node with each of its own expressions, nil ones too, replaced by f.
func MapWindow(x *Window, f func(expr.Expr) expr.Expr) *Window {
	k := &Window{Input: x.Input, PartitionBy: mapList(x.PartitionBy, f), OrderBy: mapKeys(x.OrderBy, f), Calls: make([]WindowCall, len(x.Calls))}
	for i, c := range x.Calls {
		c.Args, c.Filter = mapList(c.Args, f), f(c.Filter)
		c.Frame.Key, c.Frame.Lo.Offset, c.Frame.Hi.Offset = f(c.Frame.Key), f(c.Frame.Lo.Offset), f(c.Frame.Hi.Offset)
		k.Calls[i] = c
	}
	return k
}

func (a *arguments) window(x *Window) {
	parts := make([]string, len(x.PartitionBy))
	for i, e := range x.PartitionBy {
		parts[i] = e.String()
	}
	a.list("partition", parts)
	a.list("order", sortKeys(x.OrderBy))
	calls := make([]string, len(x.Calls))
	for i, c := range x.Calls {
		calls[i] = c.String()
	}
	a.list("calls", calls)
}

// String prints the call as EXPLAIN does, with its frame where it has one.
func (c WindowCall) String() string {
	var b strings.Builder
	if c.Fn != nil {
		b.WriteString(c.Fn.Name + "(" + expr.Join(c.Args) + ")")
	} else {
		args := expr.Join(c.Args)
		if len(c.Args) == 0 {
			args = "*"
		}
		b.WriteString(c.Agg.Name + "(" + args + ")")
	}
	if c.Filter != nil {
		b.WriteString(" FILTER " + c.Filter.String())
	}
	if c.IgnoreNulls {
		b.WriteString(" IGNORE NULLS")
	}
	if c.Fn == nil || c.Fn.Kind.InFrame() {
		b.WriteString(" " + c.Frame.String())
	}
	return b.String()
}

// String prints the frame as it is written, but for the whole partition.
func (f Frame) String() string {
	if f.Whole() {
		return "over all"
	}
	s := f.Unit.String() + " " + f.Lo.String() + " TO " + f.Hi.String()
	if f.Exclude != ExcludeNothing {
		s += " " + f.Exclude.String()
	}
	return s
}

// String prints the bound.
func (b Bound) String() string {
	if b.Offset == nil {
		return b.Kind.String()
	}
	return b.Offset.String() + " " + b.Kind.String()
}
