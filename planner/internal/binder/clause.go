package binder

import (
	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/planner/internal/ast"
)

// clause binds the expressions of one clause of a query: what they see, what
// they may hold, and the subqueries that they leave to be joined to the input.
type clause struct {
	b     *Binder
	scope *scope
	// name is the clause as messages call it.
	name string
	// joins are the subqueries met so far, in order. Who owns the clause applies
	// them to the input before it evaluates the expressions.
	joins []subJoin
	// aggs collects aggregate calls; nil where they are not allowed.
	aggs *aggregation
	// inside is the aggregate whose arguments are being bound.
	inside string
	// wins collects window calls; nil where they are not allowed. inWindow is the
	// one whose parts are being bound.
	wins     *windows
	inWindow string
	// sets collects set-returning calls; nil where they are not allowed. noSets says
	// inside what they are not, where that is not the whole clause.
	sets   *setCalls
	noSets string
	// aliases are the select items that a name falls back to when no column has it.
	aliases   []*ast.SelectItem
	expanding map[*ast.SelectItem]bool
}

// predicate binds a condition.
func (c *clause) predicate(e ast.Expr) (expr.Expr, error) {
	bound, err := c.expr(e)
	if err != nil {
		return nil, err
	}
	if k := bound.Type().Kind; k != types.Boolean && k != types.Unknown {
		return nil, c.b.fail(fail.DatatypeMismatch, e.Pos(), "%s must be a condition, not %s", c.name, bound.Type())
	}
	return c.b.coerce(bound, types.Of(types.Boolean), e.Pos())
}

// exprs binds a list.
func (c *clause) exprs(list []ast.Expr) ([]expr.Expr, error) {
	out := make([]expr.Expr, len(list))
	for i, e := range list {
		var err error
		if out[i], err = c.expr(e); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// expr binds an expression.
func (c *clause) expr(e ast.Expr) (expr.Expr, error) {
	if c.b.bound++; c.b.bound > maxBound {
		return nil, c.b.checkSize(e.Pos())
	}
	switch x := e.(type) {
	case *ast.NullLit, *ast.BoolLit, *ast.NumberLit, *ast.StringLit, *ast.BytesLit, *ast.TypedLit:
		return c.b.literal(e)
	case *ast.IntervalLit:
		return c.interval(x)
	case *ast.ColumnRef:
		return c.column(x)
	case *ast.Param:
		return c.b.param(x)
	case *ast.Unary:
		return c.unary(x)
	case *ast.Binary:
		return c.binary(x)
	case *ast.Logic:
		return c.logic(x)
	case *ast.Is:
		return c.is(x)
	case *ast.Between:
		return c.between(x)
	case *ast.Like:
		return c.like(x)
	case *ast.InList:
		return c.inList(x)
	case *ast.Case:
		return c.caseExpr(x)
	case *ast.Cast:
		return c.cast(x)
	case *ast.FuncCall:
		return c.call(x)
	}
	return c.rareExpr(e)
}

// rareExpr binds the forms that are seldom written.
func (c *clause) rareExpr(e ast.Expr) (expr.Expr, error) {
	switch x := e.(type) {
	case *ast.InQuery:
		return c.inQuery(x)
	case *ast.Exists:
		return c.exists(x, false)
	case *ast.Subquery:
		return c.scalarSubquery(x)
	case *ast.Quantified:
		return c.quantified(x)
	case *ast.ArrayLit:
		return c.array(x)
	case *ast.StructLit:
		return c.structLit(x)
	case *ast.MapLit:
		return c.mapLit(x)
	case *ast.Row:
		return c.rowValue(x)
	case *ast.Field:
		return c.field(x)
	case *ast.Slice:
		return c.slice(x)
	case *ast.Extract:
		return c.extract(x)
	case *ast.Subscript:
		return c.subscript(x)
	case *ast.AtTimeZone:
		return c.atTimeZone(x)
	case *ast.Collate:
		return c.collate(x)
	case *ast.Default:
		return nil, c.b.fail(fail.Syntax, e.Pos(), "DEFAULT stands only in VALUES of INSERT and in SET")
	case *ast.Star:
		return nil, c.b.fail(fail.Syntax, e.Pos(), "* stands only in a select list and in count(*)")
	}
	return nil, c.b.unsupported(e.Pos(), exprName(e))
}

// exprName names a form that is not bound, for its error.
func exprName(e ast.Expr) string {
	switch e.(type) {
	case *ast.Lambda:
		return "a lambda here"
	case *ast.ArrayQuery:
		return "ARRAY(SELECT …)"
	}
	return "this expression"
}

// column binds a reference: a column, or the alias of a select item where the
// clause allows that and no column has the name.
func (c *clause) column(ref *ast.ColumnRef) (expr.Expr, error) {
	bound, err := c.b.resolve(c.scope, ref)
	if err != nil && len(ref.Parts) > 1 {
		if field, ferr := c.fieldPath(ref); field != nil || ferr != nil {
			return field, ferr
		}
	}
	if err == nil || len(ref.Parts) > 1 || fail.CodeOf(err) != fail.UndefinedColumn {
		return bound, err
	}
	for _, item := range c.aliases {
		if item.Alias.IsZero() || !nameIs(ref.Parts[0], item.Alias.Text) || c.expanding[item] {
			continue
		}
		if c.expanding == nil {
			c.expanding = map[*ast.SelectItem]bool{}
		}
		c.expanding[item] = true
		bound, err = c.expr(item.Expr)
		delete(c.expanding, item)
		return bound, err
	}
	return nil, err
}

// param binds a parameter; its type comes from where it stands.
func (b *Binder) param(p *ast.Param) (expr.Expr, error) {
	i := p.Index - 1
	if p.Name != "" {
		known := false
		if i, known = b.names[p.Name]; !known {
			i = len(b.params)
			b.names[p.Name] = i
			b.growParams(i + 1)
		}
	}
	if i < 0 || i >= len(b.params) {
		return nil, b.fail(fail.UndefinedParameter, p.Pos(), "there is no parameter $%d: at most %d are allowed", i+1, maxParams)
	}
	return &expr.Param{Index: i, T: b.params[i]}, nil
}

func (c *clause) logic(x *ast.Logic) (expr.Expr, error) {
	args := make([]expr.Expr, len(x.Args))
	for i, a := range x.Args {
		bound, err := c.expr(a)
		if err != nil {
			return nil, err
		}
		if args[i], err = c.b.boolean(bound, string(x.Op), a.Pos()); err != nil {
			return nil, err
		}
	}
	return &expr.Logic{Or: x.Op == ast.OpOr, Args: args}, nil
}

// boolean brings an operand to BOOLEAN.
func (b *Binder) boolean(e expr.Expr, op string, off int) (expr.Expr, error) {
	if k := e.Type().Kind; k != types.Boolean && k != types.Unknown {
		return nil, b.fail(fail.DatatypeMismatch, off, "%s takes conditions, not %s", op, e.Type())
	}
	return b.coerce(e, types.Of(types.Boolean), off)
}

func (c *clause) unary(x *ast.Unary) (expr.Expr, error) {
	if x.Op == ast.OpNot {
		if ex, ok := x.X.(*ast.Exists); ok {
			return c.exists(ex, true)
		}
		arg, err := c.expr(x.X)
		if err != nil {
			return nil, err
		}
		if arg, err = c.b.boolean(arg, "NOT", x.X.Pos()); err != nil {
			return nil, err
		}
		return &expr.Not{Arg: arg}, nil
	}
	if lit, ok := x.X.(*ast.NumberLit); ok && x.Op == ast.OpNeg {
		return c.b.number("-"+lit.Text, lit.Pos())
	}
	arg, err := c.expr(x.X)
	if err != nil || x.Op == ast.OpPlus && arg.Type().Numeric() {
		return arg, err
	}
	return c.b.scalar(string(x.Op), []expr.Expr{arg}, x.Pos())
}

func (c *clause) is(x *ast.Is) (expr.Expr, error) {
	if row, ok := x.X.(*ast.Row); ok && x.What == ast.IsNull {
		return c.rowIsNull(row, x.Not)
	}
	arg, err := c.expr(x.X)
	if err != nil {
		return nil, err
	}
	if x.What == ast.IsNull {
		return &expr.IsNull{Arg: c.b.settle(arg), Negate: x.Not}, nil
	}
	if arg, err = c.b.boolean(arg, "IS "+x.What.String(), x.X.Pos()); err != nil {
		return nil, err
	}
	if x.What == ast.IsUnknown {
		return &expr.IsNull{Arg: arg, Negate: x.Not}, nil
	}
	op := expr.NotDistinct
	if x.Not {
		op = expr.Distinct
	}
	return &expr.Compare{Op: op, Left: arg, Right: boolConst(x.What == ast.IsTrue)}, nil
}

func (c *clause) caseExpr(x *ast.Case) (expr.Expr, error) {
	defer c.withoutSets("CASE")()
	var operand expr.Expr
	var err error
	if x.Operand != nil {
		if operand, err = c.expr(x.Operand); err != nil {
			return nil, err
		}
	}
	results := make([]expr.Expr, 0, len(x.Whens)+1)
	offs := make([]int, 0, len(x.Whens)+1)
	out := &expr.Case{}
	for _, w := range x.Whens {
		cond, err := c.when(operand, w)
		if err != nil {
			return nil, err
		}
		res, err := c.expr(w.Result)
		if err != nil {
			return nil, err
		}
		out.Whens = append(out.Whens, expr.When{Cond: cond})
		results, offs = append(results, res), append(offs, w.Result.Pos())
	}
	if x.Else != nil {
		res, err := c.expr(x.Else)
		if err != nil {
			return nil, err
		}
		results, offs = append(results, res), append(offs, x.Else.Pos())
	}
	results, t, err := c.b.common(results, offs, "the branches of CASE")
	if err != nil {
		return nil, err
	}
	for i := range out.Whens {
		out.Whens[i].Result = results[i]
	}
	if x.Else != nil {
		out.Else = results[len(results)-1]
	}
	out.T = t
	return out, nil
}

// when binds the condition of a branch: a comparison with the operand if there is one.
func (c *clause) when(operand expr.Expr, w *ast.When) (expr.Expr, error) {
	cond, err := c.expr(w.Cond)
	if err != nil {
		return nil, err
	}
	if operand != nil {
		return c.b.compare(expr.Eq, operand, cond, w.Cond.Pos())
	}
	return c.b.boolean(cond, "WHEN", w.Cond.Pos())
}

func (c *clause) cast(x *ast.Cast) (expr.Expr, error) {
	if bound, err := c.regCast(x); bound != nil || err != nil {
		return bound, err
	}
	to, err := c.b.typeNamed(x.Type)
	if err != nil {
		return nil, err
	}
	arg, err := c.expr(x.X)
	if err != nil {
		return nil, err
	}
	return c.b.castTo(arg, to, x.Try, x.X.Pos())
}
