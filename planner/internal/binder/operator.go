package binder

import (
	"strings"

	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/planner/internal/ast"
)

var compareOps = map[ast.Op]expr.CompareOp{
	ast.OpEq: expr.Eq, ast.OpNe: expr.Ne, ast.OpLt: expr.Lt, ast.OpLe: expr.Le, ast.OpGt: expr.Gt, ast.OpGe: expr.Ge,
	ast.OpDistinct: expr.Distinct, ast.OpNotDistinct: expr.NotDistinct,
}

func (c *clause) binary(x *ast.Binary) (expr.Expr, error) {
	if op, ok := compareOps[x.Op]; ok {
		if lr, ok := x.L.(*ast.Row); ok {
			return c.rowCompare(op, lr, x.R, x.OpPos)
		}
		l, r, err := c.pair(x.L, x.R)
		if err != nil {
			return nil, err
		}
		return c.b.compare(op, l, r, x.OpPos)
	}
	l, r, err := c.pair(x.L, x.R)
	if err != nil {
		return nil, err
	}
	l, r = c.b.alike(x.Op, l, r)
	name := string(x.Op)
	if x.Op == ast.OpIntDiv {
		name = "div"
	}
	return c.b.scalar(name, []expr.Expr{l, r}, x.OpPos)
}

func (c *clause) pair(l, r ast.Expr) (expr.Expr, expr.Expr, error) {
	left, err := c.expr(l)
	if err != nil {
		return nil, nil, err
	}
	right, err := c.expr(r)
	return left, right, err
}

// alike gives an operand without a type that of its partner in arithmetic, as
// PostgreSQL does. Beside a time or an interval it is the first of time and
// interval that makes sense and that a literal reads as.
func (b *Binder) alike(op ast.Op, l, r expr.Expr) (expr.Expr, expr.Expr) {
	switch op {
	case ast.OpAdd, ast.OpSub, ast.OpMul, ast.OpDiv, ast.OpMod, ast.OpIntDiv:
	default:
		return l, r
	}
	return b.likePartner(op, l, r.Type(), true), b.likePartner(op, r, l.Type(), false)
}

func (b *Binder) likePartner(op ast.Op, e expr.Expr, partner types.Type, left bool) expr.Expr {
	if e.Type().Kind != types.Unknown {
		return e
	}
	time, span := types.Of(types.Timestamp), types.Of(types.Interval)
	isTime := partner.Kind == types.Date || partner.Kind == types.Timestamp || partner.Kind == types.Time
	var try []types.Type
	switch {
	case partner.Numeric():
		try = []types.Type{partner}
	case isTime && op == ast.OpAdd:
		try = []types.Type{span}
	case isTime:
		try = []types.Type{partner, span}
	case partner.Kind == types.Interval && (left || op == ast.OpAdd):
		try = []types.Type{time, span}
	case partner.Kind == types.Interval:
		try = []types.Type{span}
	}
	for _, t := range try {
		if out, err := b.coerce(e, t, -1); err == nil {
			return out
		}
	}
	return e
}

func (c *clause) between(x *ast.Between) (expr.Expr, error) {
	bind := func(e ast.Expr) ([]expr.Expr, error) {
		bound, err := c.expr(e)
		return []expr.Expr{bound}, err
	}
	if row, ok := x.X.(*ast.Row); ok && len(row.Elems) > 0 {
		bind = func(e ast.Expr) ([]expr.Expr, error) { return c.rowOf(e, len(row.Elems)) }
	}
	arg, err := bind(x.X)
	if err != nil {
		return nil, err
	}
	lo, err := bind(x.Lo)
	if err != nil {
		return nil, err
	}
	hi, err := bind(x.Hi)
	if err != nil {
		return nil, err
	}
	in, err := c.b.inRange(arg, lo, hi, x)
	if err != nil {
		return nil, err
	}
	if x.Symmetric {
		swapped, err := c.b.inRange(arg, hi, lo, x)
		if err != nil {
			return nil, err
		}
		in = &expr.Logic{Or: true, Args: []expr.Expr{in, swapped}}
	}
	if x.Not {
		return &expr.Not{Arg: in}, nil
	}
	return in, nil
}

func (b *Binder) inRange(arg, lo, hi []expr.Expr, x *ast.Between) (expr.Expr, error) {
	ge, err := b.compareRows(expr.Ge, arg, lo, x.Lo.Pos())
	if err != nil {
		return nil, err
	}
	le, err := b.compareRows(expr.Le, arg, hi, x.Hi.Pos())
	if err != nil {
		return nil, err
	}
	return &expr.Logic{Args: []expr.Expr{ge, le}}, nil
}

func (c *clause) like(x *ast.Like) (expr.Expr, error) {
	arg, pattern, err := c.pair(x.X, x.Pattern)
	if err != nil {
		return nil, err
	}
	args := []expr.Expr{arg, pattern}
	if x.Escape != nil {
		esc, err := c.expr(x.Escape)
		if err != nil {
			return nil, err
		}
		args = append(args, esc)
	}
	name := strings.ReplaceAll(strings.ToLower(x.Kind.String()), " ", "_")
	out, err := c.b.scalar(name, args, x.X.Pos())
	if x.Kind == ast.SimilarTo && fail.Is(err, fail.UndefinedFunction) {
		return nil, c.b.fail(fail.Unsupported, x.X.Pos(), "SIMILAR TO is not supported").WithHint("Use the regular expression operator ~.")
	}
	if err == nil && x.Not {
		return &expr.Not{Arg: out}, nil
	}
	return out, err
}

// inList binds x IN (a, b): a list of constants, or equalities joined by OR.
func (c *clause) inList(x *ast.InList) (expr.Expr, error) {
	if row, ok := x.X.(*ast.Row); ok {
		return c.inRows(row, x)
	}
	arg, err := c.expr(x.X)
	if err != nil {
		return nil, err
	}
	list, err := c.exprs(x.List)
	if err != nil {
		return nil, err
	}
	offs := []int{x.X.Pos()}
	for _, e := range x.List {
		offs = append(offs, e.Pos())
	}
	return c.b.in(arg, list, offs, x.Not)
}

func (b *Binder) in(arg expr.Expr, list []expr.Expr, offs []int, not bool) (expr.Expr, error) {
	all, t, err := b.common(append([]expr.Expr{arg}, list...), offs, "the operands of IN")
	if err != nil {
		return nil, err
	}
	if !t.Orderable() {
		return nil, b.fail(fail.DatatypeMismatch, offs[0], "values of type %s cannot be compared", t)
	}
	constants := true
	for _, e := range all[1:] {
		switch e.(type) {
		case *expr.Const, *expr.Param:
		default:
			constants = false
		}
	}
	if constants {
		return &expr.In{Arg: all[0], List: all[1:], Negate: not}, nil
	}
	var ors []expr.Expr
	for _, e := range all[1:] {
		ors = append(ors, &expr.Compare{Op: expr.Eq, Left: all[0], Right: e})
	}
	return negate(anyOf(ors), not), nil
}

func anyOf(es []expr.Expr) expr.Expr {
	if len(es) == 1 {
		return es[0]
	}
	return &expr.Logic{Or: true, Args: es}
}

func negate(e expr.Expr, not bool) expr.Expr {
	if not {
		return &expr.Not{Arg: e}
	}
	return e
}

// extract is EXTRACT(field FROM x).
func (c *clause) extract(x *ast.Extract) (expr.Expr, error) {
	arg, err := c.expr(x.X)
	if err != nil {
		return nil, err
	}
	return c.b.scalar("date_part", []expr.Expr{textConst(strings.ToLower(x.Field)), arg}, x.Pos())
}

// subscript is x[i]: an element of a list (from 1) or a member of JSON.
func (c *clause) subscript(x *ast.Subscript) (expr.Expr, error) {
	arg, index, err := c.pair(x.X, x.Index)
	if err != nil {
		return nil, err
	}
	switch arg.Type().Kind {
	case types.Struct, types.Map:
		return c.b.member(arg, index, x.Index.Pos())
	case types.JSON:
		return c.b.scalar("->", []expr.Expr{arg, index}, x.Pos())
	}
	return c.b.scalar("array_element", []expr.Expr{arg, index}, x.Pos())
}

// atTimeZone is x AT TIME ZONE zone.
func (c *clause) atTimeZone(x *ast.AtTimeZone) (expr.Expr, error) {
	arg, zone, err := c.pair(x.X, x.Zone)
	if err != nil {
		return nil, err
	}
	out, err := c.b.scalar("timezone", []expr.Expr{zone, arg}, x.Pos())
	if fail.Is(err, fail.UndefinedFunction) {
		return nil, c.b.fail(fail.Unsupported, x.Pos(), "AT TIME ZONE is not supported").WithHint("Timestamps are UTC instants.")
	}
	return out, err
}

// collate accepts the one collation that there is: text compares by its bytes.
func (c *clause) collate(x *ast.Collate) (expr.Expr, error) {
	switch strings.ToLower(x.Collation.Last().Text) {
	case "c", "binary", "default", "posix", "ucs_basic":
		return c.expr(x.X)
	}
	return nil, c.b.fail(fail.Unsupported, x.Pos(), "collation %q is not supported", x.Collation.String()).
		WithHint("Text compares by its bytes (collation \"C\").")
}
