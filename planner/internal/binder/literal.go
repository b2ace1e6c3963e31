package binder

import (
	"math"
	"math/big"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
	"github.com/loamdb/loam/planner/internal/ast"
)

func boolConst(v bool) *expr.Const       { return &expr.Const{Value: vec.Bool(v)} }
func textConst(s string) *expr.Const     { return &expr.Const{Value: vec.Text(s)} }
func nullConst(t types.Type) *expr.Const { return &expr.Const{Value: vec.Null(t)} }

// literal binds a literal. A string has no type until a context gives it one.
func (b *Binder) literal(e ast.Expr) (expr.Expr, error) {
	switch x := e.(type) {
	case *ast.NullLit:
		return nullConst(types.Type{}), nil
	case *ast.BoolLit:
		return boolConst(x.Value), nil
	case *ast.NumberLit:
		return b.number(x.Text, x.Pos())
	case *ast.StringLit:
		return &expr.Const{Value: vec.Value{Str: x.Value}}, nil
	case *ast.BytesLit:
		return &expr.Const{Value: vec.Value{Type: types.Of(types.Binary), Str: string(x.Value)}}, nil
	case *ast.TypedLit:
		t, err := b.typeNamed(x.Type)
		if err != nil {
			return nil, err
		}
		return b.coerce(&expr.Const{Value: vec.Value{Str: x.Value}}, t, x.Pos())
	}
	return nil, b.unsupported(e.Pos(), "this literal")
}

// number types a number by its digits: the smallest of INT, BIGINT and DECIMAL
// that holds it, DOUBLE with an exponent. The text may have a minus sign.
func (b *Binder) number(text string, off int) (expr.Expr, error) {
	if strings.ContainsAny(text, "eE") {
		f, err := strconv.ParseFloat(text, 64)
		if err != nil || math.IsInf(f, 0) {
			return nil, b.fail(fail.OutOfRange, off, "the number %s is out of the range of DOUBLE", text)
		}
		return &expr.Const{Value: vec.Double(f)}, nil
	}
	if !strings.Contains(text, ".") {
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			if n >= math.MinInt32 && n <= math.MaxInt32 {
				return &expr.Const{Value: vec.Int32(int32(n))}, nil
			}
			return &expr.Const{Value: vec.Int64(n)}, nil
		}
	}
	return b.decimal(text, off)
}

func (b *Binder) decimal(text string, off int) (expr.Expr, error) {
	digits := strings.TrimPrefix(text, "-")
	whole, fraction, _ := strings.Cut(digits, ".")
	whole = strings.TrimLeft(whole, "0")
	precision := max(1, len(whole)+len(fraction))
	if precision > types.MaxPrecision {
		return nil, b.fail(fail.OutOfRange, off, "the number %s has more than %d digits", text, types.MaxPrecision).
			WithHint("Write it with an exponent to get a DOUBLE.")
	}
	n, ok := new(big.Int).SetString("0"+whole+fraction, 10)
	if !ok {
		return nil, b.fail(fail.Syntax, off, "%q is not a number", text)
	}
	if strings.HasPrefix(text, "-") {
		n.Neg(n)
	}
	t := types.DecimalOf(uint8(precision), uint8(len(fraction)))
	return &expr.Const{Value: vec.Value{Type: t, Dec: decimal128.FromBigInt(n)}}, nil
}

// interval binds INTERVAL '1' DAY and its relatives.
func (c *clause) interval(x *ast.IntervalLit) (expr.Expr, error) {
	span := types.Of(types.Interval)
	if text, ok := literalText(x.Value); ok {
		text, err := c.b.spanText(text, x)
		if err != nil {
			return nil, err
		}
		return c.b.coerce(&expr.Const{Value: vec.Value{Str: text}}, span, x.Pos())
	}
	if x.Unit == "" {
		return nil, c.b.fail(fail.Syntax, x.Pos(), "INTERVAL takes a text such as '1 day'")
	}
	n, err := c.expr(x.Value)
	if err != nil {
		return nil, err
	}
	unit, err := c.b.coerce(&expr.Const{Value: vec.Value{Str: "1 " + x.Unit}}, span, x.Pos())
	if err != nil {
		return nil, err
	}
	return c.b.scalar("*", []expr.Expr{n, unit}, x.Pos())
}

// spanText is the text of an interval literal with its units written out.
func (b *Binder) spanText(text string, x *ast.IntervalLit) (string, error) {
	lettered := strings.ContainsFunc(text, func(r rune) bool { return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' })
	switch {
	case x.Unit == "" || lettered && x.ToUnit == "": // its own units count
		return text, nil
	case x.ToUnit == "":
		return text + " " + x.Unit, nil
	case x.Unit == "MINUTE" && x.ToUnit == "SECOND":
		return "00:" + strings.TrimSpace(text), nil
	case x.Unit == "DAY" && x.ToUnit == "HOUR":
		day, hour, ok := strings.Cut(strings.TrimSpace(text), " ")
		if ok {
			return day + " day " + hour + " hour", nil
		}
	case x.Unit == "YEAR" && x.ToUnit == "MONTH", x.Unit == "DAY" && (x.ToUnit == "MINUTE" || x.ToUnit == "SECOND"),
		x.Unit == "HOUR" && (x.ToUnit == "MINUTE" || x.ToUnit == "SECOND"):
		return text, nil
	}
	return "", b.fail(fail.InvalidDatetime, x.Pos(), "INTERVAL '%s' %s TO %s is not an interval", text, x.Unit, x.ToUnit)
}

// literalText is the text of a literal number or string.
func literalText(e ast.Expr) (string, bool) {
	switch x := e.(type) {
	case *ast.StringLit:
		return x.Value, true
	case *ast.NumberLit:
		return x.Text, true
	case *ast.Unary:
		if n, ok := x.X.(*ast.NumberLit); ok && x.Op == ast.OpNeg {
			return "-" + n.Text, true
		}
	}
	return "", false
}

// array binds [a, b]. Constant elements make a constant list; a context that
// wants a VECTOR turns it into one.
func (c *clause) array(x *ast.ArrayLit) (expr.Expr, error) {
	elems, err := c.exprs(x.Elems)
	if err != nil {
		return nil, err
	}
	if len(elems) > types.MaxDim {
		return nil, c.b.fail(fail.TooLarge, x.Pos(), "an array literal has at most %d elements", types.MaxDim)
	}
	offs := make([]int, len(elems))
	for i, e := range x.Elems {
		offs[i] = e.Pos()
	}
	elems, t, err := c.b.common(elems, offs, "the elements of an array")
	if err != nil {
		return nil, err
	}
	values := make([]vec.Value, len(elems))
	for i, e := range elems {
		k, ok := e.(*expr.Const)
		if !ok {
			return c.b.scalar("make_array", elems, x.Pos())
		}
		values[i] = k.Value
	}
	if len(elems) == 0 {
		t = types.Type{}
	}
	return &expr.Const{Value: vec.Value{Type: types.ListOf(t), List: values}}, nil
}

// typeNamed is the type that a type name denotes.
func (b *Binder) typeNamed(t *ast.TypeName) (types.Type, error) {
	if t.Name == "ARRAY" && t.Elem != nil {
		elem, err := b.typeNamed(t.Elem)
		if err != nil {
			return types.Type{}, err
		}
		if t.Size > 0 && elem.Kind == types.Double {
			if t.Size > types.MaxDim {
				return types.Type{}, b.fail(fail.InvalidParameter, t.Pos(), "a vector has at most %d dimensions", types.MaxDim)
			}
			return types.VectorOf(int32(t.Size)), nil
		}
		return types.ListOf(elem), nil
	}
	if got, ok, err := b.nestedType(t); ok || err != nil {
		return got, err
	}
	if got, ok := types.Named(t.Name, t.Mods); ok {
		return got, nil
	}
	if strings.HasPrefix(t.Name, "INTERVAL ") {
		return types.Of(types.Interval), nil
	}
	switch t.Name {
	case "STRUCT", "ROW":
		return types.Type{}, b.fail(fail.InvalidParameter, t.Pos(), "STRUCT needs its fields").WithHint("Write STRUCT(a INT, b TEXT).")
	case "MAP":
		return types.Type{}, b.fail(fail.InvalidParameter, t.Pos(), "MAP needs the types of its keys and values").WithHint("Write MAP(TEXT, INT).")
	case "TIMETZ", "TIME WITH TIME ZONE":
		return types.Type{}, b.fail(fail.Unsupported, t.Pos(), "type %s is not supported", t.Name).WithHint("Use TIME, or TIMESTAMP for instants.")
	case "VECTOR":
		return types.Type{}, b.fail(fail.InvalidParameter, t.Pos(), "VECTOR needs its dimension, from 1 to %d", types.MaxDim).
			WithHint("Write VECTOR(384).")
	case "DECIMAL", "NUMERIC", "DEC":
		return types.Type{}, b.fail(fail.InvalidParameter, t.Pos(), "DECIMAL takes a precision of 1 to %d and a scale up to it", types.MaxPrecision)
	}
	err := b.fail(fail.Unsupported, t.Pos(), "type %s is not supported", t.Name)
	if near := fail.Closest(t.Name, typeNames); near != "" {
		return types.Type{}, err.WithHint("Did you mean %s?", near)
	}
	return types.Type{}, err.WithHint("The types are %s.", strings.Join(typeNames, ", "))
}

var typeNames = []string{"BOOLEAN", "INT", "BIGINT", "DOUBLE", "DECIMAL", "TEXT", "BINARY", "DATE", "TIMESTAMP",
	"TIME", "INTERVAL", "UUID", "JSON", "STRUCT", "MAP", "VECTOR", "SPARSE VECTOR"}
