package deparse

import (
	"encoding/hex"
	"strconv"
	"strings"
	"unicode"

	"github.com/loamdb/loam/planner/internal/ast"
)

func (p *printer) int(n int64) { p.write(strconv.FormatInt(n, 10)) }

// letters reports whether s is a word that begins with a letter, in any script.
func letters(s string) bool {
	for i, r := range s {
		if unicode.IsLetter(r) || r == '_' || i > 0 && (unicode.IsDigit(r) || unicode.IsMark(r) || r == '$') {
			continue
		}
		return false
	}
	return true
}

// precedence is how tight the outermost operator of an expression binds.
func precedence(e ast.Expr) int {
	switch e := e.(type) {
	case *ast.Logic:
		return e.Op.Precedence()
	case *ast.Binary:
		return e.Op.Precedence()
	case *ast.Quantified:
		return e.Op.Precedence()
	case *ast.Unary:
		if e.Op == ast.OpNot {
			return ast.PrecNot
		}
		return ast.PrecUnary
	case *ast.Is:
		return ast.PrecIs
	case *ast.Between, *ast.Like, *ast.InList, *ast.InQuery:
		return ast.PrecRange
	case *ast.Collate:
		return ast.PrecCollate
	case *ast.AtTimeZone:
		return ast.PrecTimeZone
	case *ast.Lambda:
		return 0
	case *ast.Subscript, *ast.Slice, *ast.Field:
		return ast.PrecPostfix
	default:
		return ast.PrecPrimary
	}
}

// expr writes an expression, in parentheses if it binds looser than least.
func (p *printer) expr(e ast.Expr, least int) {
	if precedence(e) >= least {
		p.bare(e)
		return
	}
	p.parens(e)
}

func (p *printer) parens(e ast.Expr) {
	defer func(was bool) { p.tableArgs = was }(p.tableArgs)
	p.tableArgs = false
	p.write("(")
	p.bare(e)
	p.write(")")
}

// bare writes an expression without parentheses of its own.
func (p *printer) bare(e ast.Expr) {
	switch e := e.(type) {
	case *ast.Logic:
		for i, a := range e.Args {
			p.when(i > 0, " "+string(e.Op)+" ")
			p.expr(a, e.Op.Precedence()+1)
		}
	case *ast.Binary:
		p.operand(e.L, e.Op)
		p.write(" ", string(e.Op), " ")
		p.expr(e.R, e.Op.Precedence()+1)
	case *ast.Unary:
		p.unary(e)
	case *ast.Quantified:
		p.operand(e.X, e.Op)
		p.write(" ", string(e.Op), map[bool]string{true: " ALL ", false: " ANY "}[e.All])
		if e.Query != nil {
			p.query(e.Query)
		} else {
			p.parens(e.Array)
		}
	case *ast.Is, *ast.Between, *ast.Like, *ast.InList, *ast.InQuery:
		p.test(e)
	case *ast.Subscript, *ast.Slice, *ast.Field, *ast.Collate, *ast.AtTimeZone:
		p.postfix(e)
	case *ast.Case, *ast.Cast, *ast.Extract, *ast.FuncCall, *ast.Lambda:
		p.form(e)
	default:
		p.operandForm(e)
	}
}

// operand writes the left operand of an operator; comparisons do not chain.
func (p *printer) operand(x ast.Expr, op ast.Op) {
	least := op.Precedence()
	if least == ast.PrecComparison {
		least++
	}
	p.expr(x, least)
}

func (p *printer) unary(e *ast.Unary) {
	if e.Op == ast.OpNot {
		p.write("NOT ")
		p.expr(e.X, ast.PrecNot)
		return
	}
	p.write(string(e.Op))
	if x, ok := e.X.(*ast.Unary); ok && x.Op != ast.OpNot {
		p.write(" ") // -- would begin a comment and ~~ be another operator
	}
	p.expr(e.X, ast.PrecUnary)
}

// test writes the operators that begin with [NOT].
func (p *printer) test(e ast.Expr) {
	const tight = ast.PrecRange + 1
	switch e := e.(type) {
	case *ast.Is:
		p.expr(e.X, ast.PrecIs)
		p.write(" IS ")
		p.when(e.Not, "NOT ")
		p.write(e.What.String())
	case *ast.Between:
		p.expr(e.X, tight)
		p.when(e.Not, " NOT")
		p.write(" BETWEEN ")
		p.when(e.Symmetric, "SYMMETRIC ")
		p.expr(e.Lo, tight)
		p.write(" AND ")
		p.expr(e.Hi, tight)
	case *ast.Like:
		p.expr(e.X, tight)
		p.when(e.Not, " NOT")
		p.write(" ", e.Kind.String(), " ")
		p.expr(e.Pattern, tight)
		if e.Escape != nil {
			p.write(" ESCAPE ")
			p.expr(e.Escape, tight)
		}
	case *ast.InList:
		p.expr(e.X, tight)
		p.when(e.Not, " NOT")
		p.write(" IN (")
		p.exprs(e.List)
		p.write(")")
	case *ast.InQuery:
		p.expr(e.X, tight)
		p.when(e.Not, " NOT")
		p.write(" IN ")
		p.query(e.Query)
	}
}

func (p *printer) postfix(e ast.Expr) {
	switch e := e.(type) {
	case *ast.Subscript:
		p.expr(e.X, ast.PrecPostfix)
		p.write("[")
		p.expr(e.Index, 1)
		p.write("]")
	case *ast.Slice:
		p.expr(e.X, ast.PrecPostfix)
		p.write("[")
		if e.Lo != nil {
			p.expr(e.Lo, 1)
		}
		p.write(":")
		if e.Hi != nil {
			p.expr(e.Hi, 1)
		}
		p.write("]")
	case *ast.Field:
		switch e.X.(type) {
		case *ast.FuncCall, *ast.Subscript, *ast.Slice, *ast.Field, *ast.StructLit, *ast.Subquery:
			p.bare(e.X)
		default:
			p.parens(e.X)
		}
		p.write(".")
		p.ident(e.Name)
	case *ast.Collate:
		p.expr(e.X, ast.PrecCollate)
		p.write(" COLLATE ")
		p.name(e.Collation)
	case *ast.AtTimeZone:
		p.expr(e.X, ast.PrecTimeZone)
		p.write(" AT TIME ZONE ")
		p.expr(e.Zone, ast.PrecTimeZone+1)
	}
}

// form writes the expressions with words of their own.
func (p *printer) form(e ast.Expr) {
	switch e := e.(type) {
	case *ast.Case:
		p.write("CASE")
		p.clause(" ", e.Operand)
		for _, w := range e.Whens {
			p.clause(" WHEN ", w.Cond)
			p.clause(" THEN ", w.Result)
		}
		p.clause(" ELSE ", e.Else)
		p.write(" END")
	case *ast.Cast:
		p.when(e.Try, "TRY_")
		p.write("CAST(")
		p.expr(e.X, 0)
		p.write(" AS ")
		p.typeName(e.Type)
		p.write(")")
	case *ast.Extract:
		p.write("EXTRACT(")
		if plainWord(e.Field) {
			p.write(e.Field)
		} else {
			p.write(Literal(e.Field))
		}
		p.clause(" FROM ", e.X)
		p.write(")")
	case *ast.FuncCall:
		p.call(e)
	case *ast.Lambda:
		p.write("lambda ")
		p.idents(e.Params, ", ")
		p.clause(": ", e.Body)
	}
}

func (p *printer) call(c *ast.FuncCall) {
	p.name(c.Name)
	p.write("(")
	p.when(c.Distinct, "DISTINCT ")
	wordy := len(c.Name.Parts) == 1 && c.Name.Last().Is("position")
	list(p, c.Args, func(a *ast.Arg) {
		if !a.Name.IsZero() {
			p.ident(a.Name)
			p.write(" => ")
		}
		switch {
		case wordy: // position(a IN b) reads tight operands
			p.expr(a.Value, ast.PrecRange+1)
		case a.Name.IsZero() && p.tableArgs && beginsWithEqual(a.Value):
			p.parens(a.Value)
		default:
			p.expr(a.Value, 0)
		}
		p.at(a.At)
	})
	if len(c.OrderBy) > 0 {
		p.write(" ORDER BY ")
		p.orderItems(c.OrderBy)
	}
	p.write(")")
	if len(c.WithinGroup) > 0 {
		p.write(" WITHIN GROUP (ORDER BY ")
		p.orderItems(c.WithinGroup)
		p.write(")")
	}
	if c.Filter != nil {
		p.clause(" FILTER (WHERE ", c.Filter)
		p.write(")")
	}
	if c.Nulls != ast.NullsUnsaid {
		p.write(" ", c.Nulls.String())
	}
	if c.Over != nil {
		p.write(" OVER ")
		p.window(c.Over)
	}
}

// beginsWithEqual reports whether the text of e begins with name =, which a
// table function would take for a named argument.
func beginsWithEqual(e ast.Expr) bool {
	name := func(x ast.Expr) bool {
		c, ok := x.(*ast.ColumnRef)
		return ok && len(c.Parts) == 1
	}
	switch e := e.(type) {
	case *ast.Logic:
		return beginsWithEqual(e.Args[0])
	case *ast.Binary:
		return e.Op == ast.OpEq && name(e.L) || beginsWithEqual(e.L)
	case *ast.Quantified:
		return e.Op == ast.OpEq && name(e.X) || beginsWithEqual(e.X)
	case *ast.Is:
		return beginsWithEqual(e.X)
	case *ast.Between, *ast.Like, *ast.InList, *ast.InQuery, *ast.Collate, *ast.AtTimeZone:
		return false // their operand binds tighter than =
	}
	return false
}

// operandForm writes literals, names, constructors and subqueries.
func (p *printer) operandForm(e ast.Expr) {
	switch e := e.(type) {
	case *ast.NullLit:
		p.write("NULL")
	case *ast.Default:
		p.write("DEFAULT")
	case *ast.BoolLit:
		p.write(strings.ToUpper(strconv.FormatBool(e.Value)))
	case *ast.NumberLit:
		p.write(e.Text)
	case *ast.StringLit:
		p.write(Literal(e.Value))
	case *ast.BytesLit:
		p.write("X'", hex.EncodeToString(e.Value), "'")
	case *ast.TypedLit:
		p.typeName(e.Type)
		p.write(" ", Literal(e.Value))
	case *ast.IntervalLit:
		p.interval(e)
	case *ast.ColumnRef:
		p.idents(e.Parts, ".")
	case *ast.Param:
		p.param(e)
	case *ast.Star:
		p.star(e)
	case *ast.Exists:
		p.write("EXISTS ")
		p.query(e.Query)
	case *ast.Subquery:
		p.query(e.Query)
	case *ast.ArrayQuery:
		p.write("ARRAY")
		p.query(e.Query)
	default:
		p.constructor(e)
	}
}

func (p *printer) param(e *ast.Param) {
	p.write("$")
	if e.Name != "" {
		p.write(e.Name)
		return
	}
	p.int(int64(e.Index))
}

func (p *printer) interval(e *ast.IntervalLit) {
	p.write("INTERVAL ")
	switch x := e.Value.(type) {
	case *ast.StringLit, *ast.NumberLit:
		p.bare(x)
	case *ast.Unary:
		if _, ok := x.X.(*ast.NumberLit); ok && x.Op == ast.OpNeg {
			p.bare(x)
		} else {
			p.parens(x)
		}
	default:
		p.parens(x)
	}
	p.when(e.Unit != "", " "+e.Unit)
	p.when(e.ToUnit != "", " TO "+e.ToUnit)
}

func (p *printer) star(e *ast.Star) {
	for _, q := range e.Qualifier {
		p.ident(q)
		p.write(".")
	}
	p.write("*")
	if len(e.Exclude) > 0 {
		p.write(" EXCLUDE")
		p.columns(e.Exclude)
	}
	if len(e.Replace) > 0 {
		p.write(" REPLACE (")
		p.selectItems(e.Replace)
		p.write(")")
	}
}

// constructor writes arrays, rows, structs and maps.
func (p *printer) constructor(e ast.Expr) {
	switch e := e.(type) {
	case *ast.ArrayLit:
		p.write("[")
		list(p, e.Elems, func(x ast.Expr) { p.expr(x, 1) })
		p.write("]")
	case *ast.Row:
		p.when(len(e.Elems) < 2, "ROW")
		p.write("(")
		p.exprs(e.Elems)
		p.write(")")
	case *ast.StructLit:
		p.write("{")
		list(p, e.Fields, func(f *ast.StructField) {
			p.ident(f.Name)
			p.write(": ")
			p.expr(f.Value, 1)
		})
		p.write("}")
	case *ast.MapLit:
		p.write("MAP {")
		p.mapEntries(e)
		p.write("}")
	}
}

func (p *printer) mapEntries(m *ast.MapLit) {
	list(p, m.Entries, func(x *ast.MapEntry) {
		p.expr(x.Key, 1)
		p.write(": ")
		p.expr(x.Value, 1)
	})
}
