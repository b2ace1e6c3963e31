package binder

import (
	"strconv"
	"strings"

	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// coerce brings an expression to the type that its context asks for, where a
// cast need not be written. It gives a type to literals and parameters that have none.
func (b *Binder) coerce(e expr.Expr, to types.Type, off int) (expr.Expr, error) {
	from := e.Type()
	if from.Equal(to) || to.Kind == types.Unknown {
		return e, nil
	}
	if p, ok := e.(*expr.Param); ok && from.Kind == types.Unknown {
		return b.typeParam(p, to, off)
	}
	if k, ok := e.(*expr.Const); ok {
		if done, err := b.coerceConst(k, to, off); done != nil || err != nil {
			return done, err
		}
	}
	if types.Cast(from, to) != types.ImplicitCast {
		return nil, b.noCast(from, to, off)
	}
	return b.fold(&expr.Cast{Arg: e, To: to, Offset: off}, off)
}

// coerceConst handles the constants that need no evaluator: NULL, and a list of
// numbers that becomes a vector. nil means that a cast does it.
func (b *Binder) coerceConst(k *expr.Const, to types.Type, off int) (expr.Expr, error) {
	if k.Value.Null {
		return nullConst(to), nil
	}
	if to.Kind == types.Text && k.Value.Type.Kind == types.Unknown {
		return textConst(k.Value.Str), nil
	}
	if to.Kind == types.Vector && k.Value.Type.Kind == types.List {
		return b.vectorConst(k.Value, to, off)
	}
	return nil, nil
}

// vectorConst makes a VECTOR of a list of numbers, checking its dimension.
func (b *Binder) vectorConst(v vec.Value, to types.Type, off int) (expr.Expr, error) {
	if n := len(v.List); n != int(to.Dim) {
		return nil, b.fail(fail.InvalidVector, off, "the vector has %s, %s", fail.Count(n, "dimension"), fail.Count(to.Dim, "is needed", "are needed"))
	}
	out := make([]float32, len(v.List))
	for i, e := range v.List {
		f, ok := asFloat(e)
		if !ok {
			return nil, b.fail(fail.InvalidVector, off, "element %d of the vector is not a number", i+1)
		}
		out[i] = float32(f)
		if out[i]-out[i] != 0 { // infinity or NaN
			return nil, b.fail(fail.InvalidVector, off, "element %d of the vector is not a finite 32-bit number", i+1)
		}
	}
	return &expr.Const{Value: vec.VectorValue(out)}, nil
}

// asFloat reads a number of any numeric type.
func asFloat(v vec.Value) (float64, bool) {
	switch {
	case v.Null:
		return 0, false
	case v.Type.Integer():
		return float64(v.Int), true
	case v.Type.Kind == types.Double:
		return v.Float, true
	case v.Type.Kind == types.Decimal:
		// Through the text: the nearest double, where scaling would round twice.
		f, err := strconv.ParseFloat(v.Dec.ToString(int32(v.Type.Scale)), 64)
		return f, err == nil
	}
	return 0, false
}

// typeParam gives a parameter the type of its first context; later contexts cast.
func (b *Binder) typeParam(p *expr.Param, to types.Type, off int) (expr.Expr, error) {
	have := b.params[p.Index]
	if have.Kind == types.Unknown {
		b.params[p.Index] = to
		return &expr.Param{Index: p.Index, T: to}, nil
	}
	return b.coerce(&expr.Param{Index: p.Index, T: have}, to, off)
}

// settle gives TEXT to what is still without a type.
func (b *Binder) settle(e expr.Expr) expr.Expr {
	if e.Type().Kind != types.Unknown {
		if t := e.Type(); t.Nested() && !t.Settled().Equal(t) {
			return b.settleNested(e)
		}
		return e
	}
	switch x := e.(type) {
	case *expr.Const:
		if x.Value.Null {
			return nullConst(types.Of(types.Text))
		}
		return textConst(x.Value.Str)
	case *expr.Param:
		if b.params[x.Index].Kind == types.Unknown {
			b.params[x.Index] = types.Of(types.Text)
		}
		return &expr.Param{Index: x.Index, T: b.params[x.Index]}
	}
	return &expr.Cast{Arg: e, To: types.Of(types.Text), Offset: -1}
}

// settleNested gives TEXT to what a nested value leaves open.
func (b *Binder) settleNested(e expr.Expr) expr.Expr {
	cast := &expr.Cast{Arg: e, To: e.Type().Settled(), Offset: -1}
	if out, err := b.fold(cast, -1); err == nil {
		return out
	}
	return cast
}

func (b *Binder) noCast(from, to types.Type, off int) error {
	err := b.fail(fail.DatatypeMismatch, off, "%s is needed here, not %s", to, from)
	if types.Cast(from, to) == types.ExplicitCast {
		return err.WithHint("Write CAST(… AS %s).", to)
	}
	return err
}

// castTo is a cast that the user wrote.
func (b *Binder) castTo(e expr.Expr, to types.Type, try bool, off int) (expr.Expr, error) {
	from := e.Type()
	if _, isParam := e.(*expr.Param); isParam && from.Kind == types.Unknown {
		return b.coerce(e, to, off)
	}
	if from.Equal(to) {
		return e, nil
	}
	if k, ok := e.(*expr.Const); ok && !try {
		if done, err := b.coerceConst(k, to, off); done != nil || err != nil {
			return done, err
		}
	}
	if types.Cast(from, to) == types.NoCast {
		return nil, b.fail(fail.DatatypeMismatch, off, "%s cannot be cast to %s", from, to)
	}
	cast := &expr.Cast{Arg: e, To: to, Try: try, Offset: off}
	if k, ok := e.(*expr.Const); ok && k.Value.Type.Kind != types.Unknown {
		// A cast of a typed literal may stand in a branch that is never taken:
		// its failure is left to the row that reaches it.
		if done, err := b.fold(cast, off); err == nil {
			return done, nil
		}
		return cast, nil
	}
	return b.fold(cast, off)
}

// fold evaluates a cast of a constant now, so that a bad literal is an error
// with its place and constants stay constants.
func (b *Binder) fold(cast *expr.Cast, off int) (expr.Expr, error) {
	if _, ok := cast.Arg.(*expr.Const); !ok || b.env.Eval == nil {
		return cast, nil
	}
	v, err := b.env.Eval(cast)
	if err != nil {
		return nil, b.at(err, off)
	}
	return &expr.Const{Value: v}, nil
}

// common brings expressions to one type. what names them in the error.
func (b *Binder) common(es []expr.Expr, offs []int, what string) ([]expr.Expr, types.Type, error) {
	var t types.Type
	for i, e := range es {
		got, ok := types.Common(t, e.Type())
		if !ok {
			return nil, t, b.fail(fail.DatatypeMismatch, offs[i], "%s have no common type: %s and %s", what, t, e.Type()).
				WithHint("Cast one of them.")
		}
		t = got
	}
	t = t.Settled()
	out := make([]expr.Expr, len(es))
	for i, e := range es {
		var err error
		if out[i], err = b.coerce(e, t, offs[i]); err != nil {
			return nil, t, err
		}
	}
	return out, t, nil
}

// compare binds a comparison of two operands brought to their common type.
func (b *Binder) compare(op expr.CompareOp, l, r expr.Expr, off int) (expr.Expr, error) {
	t, ok := types.Common(l.Type(), r.Type())
	if !ok {
		err := b.fail(fail.DatatypeMismatch, off, "%s and %s cannot be compared", l.Type(), r.Type())
		if to, from := l.Type(), r.Type(); types.Cast(from, to) == types.ExplicitCast {
			return nil, err.WithHint("Cast the right side to %s.", to)
		}
		return nil, err
	}
	if t.Kind == types.Unknown || t.Kind == types.JSON {
		t = types.Of(types.Text)
	}
	if !t.Orderable() {
		return nil, b.fail(fail.DatatypeMismatch, off, "values of type %s cannot be compared", t).
			WithHint("Compare a distance: l2_distance(a, b) = 0")
	}
	l, err := b.coerce(l, t, off)
	if err != nil {
		return nil, err
	}
	if r, err = b.coerce(r, t, off); err != nil {
		return nil, err
	}
	return &expr.Compare{Op: op, Left: l, Right: r}, nil
}

// assign brings a value to the type of a field that stores it: narrower numbers
// and any text form are allowed, and checked when they run.
func (b *Binder) assign(e expr.Expr, to types.Type, off int, field string) (expr.Expr, error) {
	from := e.Type()
	_, isConst := e.(*expr.Const)
	if isConst || types.Cast(from, to) == types.ImplicitCast {
		out, err := b.coerce(e, to, off)
		if err == nil || !assignable(from, to) || fail.CodeOf(err) != fail.DatatypeMismatch {
			return out, withField(err, field)
		}
	}
	if !assignable(from, to) {
		err := b.fail(fail.DatatypeMismatch, off, "column %q is %s, the value is %s", field, to, from)
		if types.Cast(from, to) == types.ExplicitCast {
			return nil, err.WithHint("Write CAST(… AS %s).", to)
		}
		return nil, err
	}
	out, err := b.fold(&expr.Cast{Arg: e, To: to, Offset: off}, off)
	return out, withField(err, field)
}

// withField names the field in an error about its value.
func withField(err error, field string) error {
	if err == nil {
		return nil
	}
	named := *fail.As(err)
	if !strings.Contains(named.Message, field) {
		named.Message = "column " + strconv.Quote(field) + ": " + named.Message
	}
	return &named
}

// assignable are the casts that storing adds to the implicit ones.
func assignable(from, to types.Type) bool {
	if types.Cast(from, to) == types.NoCast {
		return false
	}
	return from.Numeric() && to.Numeric() || to.Kind == types.Text || from.Kind == types.Text && to.Kind == types.JSON ||
		from.Kind == types.Timestamp && to.Kind == types.Date || from.Nested() && from.Kind == to.Kind ||
		from.Kind == types.Timestamp && to.Kind == types.Time ||
		types.Cast(from, to) == types.ImplicitCast
}
