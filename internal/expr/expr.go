package expr

import (
	"strings"

	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// ColumnID names a column within one statement. Names and positions never
// identify a column above the parser.
type ColumnID int32

// Expr is a bound expression: immutable once built, shared freely.
type Expr interface {
	// Type is the type of the result; its nullability is not tracked.
	Type() types.Type
	// Children are the operands in order; WithChildren returns a copy with them replaced.
	Children() []Expr
	WithChildren([]Expr) Expr
	// String prints the expression as EXPLAIN shows it.
	String() string
}

// Column reads a column of the input.
type Column struct {
	ID   ColumnID
	Name string
	T    types.Type
}

// Const is a literal.
type Const struct{ Value vec.Value }

// Param is parameter number Index (from 0); it is replaced by a Const before execution.
type Param struct {
	Index int
	T     types.Type
}

// Call applies a scalar function to arguments that already have its parameter types.
type Call struct {
	Fn   *ScalarFunc
	Args []Expr
	T    types.Type
	// Offset is the byte offset in the statement, for errors found while running; -1 if none.
	Offset int
}

// Cast converts Arg to To; with Try a value that cannot be converted is NULL.
type Cast struct {
	Arg    Expr
	To     types.Type
	Try    bool
	Offset int
}

// CompareOp is a comparison.
type CompareOp uint8

// The comparisons. Distinct and NotDistinct treat NULL as a value.
const (
	Eq CompareOp = iota
	Ne
	Lt
	Le
	Gt
	Ge
	Distinct
	NotDistinct
)

var compareNames = [...]string{"=", "<>", "<", "<=", ">", ">=", "IS DISTINCT FROM", "IS NOT DISTINCT FROM"}

// String is the SQL spelling.
func (op CompareOp) String() string { return compareNames[op] }

// Flip is the comparison with its sides exchanged: a op b = b op.Flip() a.
func (op CompareOp) Flip() CompareOp {
	switch op {
	case Lt:
		return Gt
	case Le:
		return Ge
	case Gt:
		return Lt
	case Ge:
		return Le
	}
	return op
}

// Compare compares two operands of equal type. NaN equals NaN and is the
// greatest double; -0.0 equals 0.0; text compares by bytes.
type Compare struct {
	Op          CompareOp
	Left, Right Expr
}

// Logic is AND or OR over two or more operands, three-valued. Operands are
// evaluated in order on the rows that still matter.
type Logic struct {
	Or   bool
	Args []Expr
}

// Not negates, three-valued.
type Not struct{ Arg Expr }

// IsNull is IS NULL, or IS NOT NULL with Negate.
type IsNull struct {
	Arg    Expr
	Negate bool
}

// Case is the searched CASE; branches are evaluated only on the rows that take
// them. Else nil is NULL. The simple form is bound to comparisons.
type Case struct {
	Whens []When
	Else  Expr
	T     types.Type
}

// When is one branch of a Case.
type When struct{ Cond, Result Expr }

// Coalesce is its first non-NULL operand; later ones are evaluated only where needed.
type Coalesce struct {
	Args []Expr
	T    types.Type
}

// In is membership in a list of constants of the operand's type, three-valued.
type In struct {
	Arg    Expr
	List   []Expr
	Negate bool
}

// Type implements Expr.
func (e *Column) Type() types.Type   { return e.T }
func (e *Const) Type() types.Type    { return e.Value.Type }
func (e *Param) Type() types.Type    { return e.T }
func (e *Call) Type() types.Type     { return e.T }
func (e *Cast) Type() types.Type     { return e.To }
func (e *Compare) Type() types.Type  { return types.Of(types.Boolean) }
func (e *Logic) Type() types.Type    { return types.Of(types.Boolean) }
func (e *Not) Type() types.Type      { return types.Of(types.Boolean) }
func (e *IsNull) Type() types.Type   { return types.Of(types.Boolean) }
func (e *Case) Type() types.Type     { return e.T }
func (e *Coalesce) Type() types.Type { return e.T }
func (e *In) Type() types.Type       { return types.Of(types.Boolean) }

// Children implements Expr.
func (e *Column) Children() []Expr   { return nil }
func (e *Const) Children() []Expr    { return nil }
func (e *Param) Children() []Expr    { return nil }
func (e *Call) Children() []Expr     { return e.Args }
func (e *Cast) Children() []Expr     { return []Expr{e.Arg} }
func (e *Compare) Children() []Expr  { return []Expr{e.Left, e.Right} }
func (e *Logic) Children() []Expr    { return e.Args }
func (e *Not) Children() []Expr      { return []Expr{e.Arg} }
func (e *IsNull) Children() []Expr   { return []Expr{e.Arg} }
func (e *Coalesce) Children() []Expr { return e.Args }
func (e *In) Children() []Expr       { return append([]Expr{e.Arg}, e.List...) }

// Children are condition and result of each branch, then Else if there is one.
func (e *Case) Children() []Expr {
	var out []Expr
	for _, w := range e.Whens {
		out = append(out, w.Cond, w.Result)
	}
	if e.Else != nil {
		out = append(out, e.Else)
	}
	return out
}

// WithChildren implements Expr.
func (e *Column) WithChildren([]Expr) Expr { return e }
func (e *Const) WithChildren([]Expr) Expr  { return e }
func (e *Param) WithChildren([]Expr) Expr  { return e }

// WithChildren implements Expr.
func (e *Call) WithChildren(c []Expr) Expr {
	k := *e
	k.Args = c
	return &k
}

// WithChildren implements Expr.
func (e *Cast) WithChildren(c []Expr) Expr {
	k := *e
	k.Arg = c[0]
	return &k
}

// WithChildren implements Expr.
func (e *Compare) WithChildren(c []Expr) Expr { return &Compare{Op: e.Op, Left: c[0], Right: c[1]} }

// WithChildren implements Expr.
func (e *Logic) WithChildren(c []Expr) Expr { return &Logic{Or: e.Or, Args: c} }

// WithChildren implements Expr.
func (e *Not) WithChildren(c []Expr) Expr { return &Not{Arg: c[0]} }

// WithChildren implements Expr.
func (e *IsNull) WithChildren(c []Expr) Expr { return &IsNull{Arg: c[0], Negate: e.Negate} }

// WithChildren implements Expr.
func (e *Coalesce) WithChildren(c []Expr) Expr { return &Coalesce{Args: c, T: e.T} }

// WithChildren implements Expr.
func (e *In) WithChildren(c []Expr) Expr { return &In{Arg: c[0], List: c[1:], Negate: e.Negate} }

// WithChildren implements Expr.
func (e *Case) WithChildren(c []Expr) Expr {
	k := &Case{T: e.T}
	for i := range e.Whens {
		k.Whens = append(k.Whens, When{Cond: c[2*i], Result: c[2*i+1]})
	}
	if e.Else != nil {
		k.Else = c[len(c)-1]
	}
	return k
}

// String implements Expr.
func (e *Column) String() string { return e.Name }

// String implements Expr.
func (e *Const) String() string {
	switch {
	case e.Value.Null:
		return "NULL"
	case e.Value.Type.Kind == types.Text, e.Value.Type.Kind == types.Unknown:
		return "'" + strings.ReplaceAll(e.Value.Str, "'", "''") + "'"
	}
	return e.Value.String()
}

// String implements Expr.
func (e *Param) String() string { return "$" + vec.Int64(int64(e.Index+1)).String() }

// String implements Expr.
func (e *Call) String() string { return e.Fn.Name + "(" + Join(e.Args) + ")" }

// String implements Expr.
func (e *Cast) String() string {
	name := "CAST("
	if e.Try {
		name = "TRY_CAST("
	}
	return name + e.Arg.String() + " AS " + e.To.String() + ")"
}

// String implements Expr.
func (e *Compare) String() string {
	return "(" + e.Left.String() + " " + e.Op.String() + " " + e.Right.String() + ")"
}

// String implements Expr.
func (e *Logic) String() string {
	op := " AND "
	if e.Or {
		op = " OR "
	}
	parts := make([]string, len(e.Args))
	for i, a := range e.Args {
		parts[i] = a.String()
	}
	return "(" + strings.Join(parts, op) + ")"
}

// String implements Expr.
func (e *Not) String() string { return "(NOT " + e.Arg.String() + ")" }

// String implements Expr.
func (e *IsNull) String() string {
	if e.Negate {
		return "(" + e.Arg.String() + " IS NOT NULL)"
	}
	return "(" + e.Arg.String() + " IS NULL)"
}

// String implements Expr.
func (e *Case) String() string {
	var b strings.Builder
	b.WriteString("CASE")
	for _, w := range e.Whens {
		b.WriteString(" WHEN " + w.Cond.String() + " THEN " + w.Result.String())
	}
	if e.Else != nil {
		b.WriteString(" ELSE " + e.Else.String())
	}
	return b.String() + " END"
}

// String implements Expr.
func (e *Coalesce) String() string { return "coalesce(" + Join(e.Args) + ")" }

// String implements Expr.
func (e *In) String() string {
	op := " IN ("
	if e.Negate {
		op = " NOT IN ("
	}
	return "(" + e.Arg.String() + op + Join(e.List) + "))"
}

// Join prints expressions separated by commas.
func Join(es []Expr) string {
	parts := make([]string, len(es))
	for i, a := range es {
		parts[i] = a.String()
	}
	return strings.Join(parts, ", ")
}

// Walk calls visit for e and its descendants, parents first, while visit returns true.
func Walk(e Expr, visit func(Expr) bool) {
	if e == nil || !visit(e) {
		return
	}
	for _, c := range e.Children() {
		Walk(c, visit)
	}
}

// Rewrite applies f bottom-up and returns the new tree; unchanged parts are shared.
func Rewrite(e Expr, f func(Expr) Expr) Expr {
	if e == nil {
		return nil
	}
	kids := e.Children()
	if len(kids) == 0 {
		return f(e)
	}
	changed := false
	out := make([]Expr, len(kids))
	for i, k := range kids {
		out[i] = Rewrite(k, f)
		changed = changed || out[i] != k
	}
	if changed {
		e = e.WithChildren(out)
	}
	return f(e)
}

// Columns adds the ids of the columns that e reads to set.
func Columns(e Expr, set map[ColumnID]bool) {
	Walk(e, func(x Expr) bool {
		if c, ok := x.(*Column); ok {
			set[c.ID] = true
		}
		return true
	})
}

// Conjuncts splits a predicate at its top-level ANDs; nil gives none.
func Conjuncts(e Expr) []Expr {
	if e == nil {
		return nil
	}
	if l, ok := e.(*Logic); ok && !l.Or {
		var out []Expr
		for _, a := range l.Args {
			out = append(out, Conjuncts(a)...)
		}
		return out
	}
	return []Expr{e}
}

// AllOf joins predicates by AND; none gives nil.
func AllOf(preds []Expr) Expr {
	switch len(preds) {
	case 0:
		return nil
	case 1:
		return preds[0]
	}
	return &Logic{Args: preds}
}
