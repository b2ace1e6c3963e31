package expr

import (
	"sort"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/kernel"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

type compiler struct {
	layout map[ColumnID]int
	// inDict is set below a node that already handles its column's dictionary.
	inDict bool
}

// compile makes the node of e. The outermost part that reads a single column
// and is not volatile is wrapped, so that a dictionary is worked through value
// by value instead of row by row.
func (c *compiler) compile(e Expr) (node, error) {
	if c.inDict {
		return c.compileNode(e)
	}
	id, ok := singleColumn(e)
	if !ok {
		return c.compileNode(e)
	}
	inner := &compiler{layout: c.layout, inDict: true}
	nd, err := inner.compileNode(e)
	if err != nil {
		return nil, err
	}
	return &dictNode{inner: nd, index: c.layout[id], typ: e.Type(), immutable: isImmutable(e)}, nil
}

// singleColumn reports the one column that a compound, not volatile expression reads.
func singleColumn(e Expr) (ColumnID, bool) {
	if len(e.Children()) == 0 || HasVolatile(e) {
		return 0, false
	}
	set := map[ColumnID]bool{}
	Columns(e, set)
	for id := range set {
		return id, len(set) == 1
	}
	return 0, false
}

// HasVolatile reports whether e calls a volatile function.
func HasVolatile(e Expr) bool { return !atMost(e, Stable) }

func isImmutable(e Expr) bool { return atMost(e, Immutable) }

func atMost(e Expr, v Volatility) bool {
	ok := true
	Walk(e, func(x Expr) bool {
		if call, is := x.(*Call); is && call.Fn.Volatility > v {
			ok = false
		}
		return ok
	})
	return ok
}

func (c *compiler) compileNode(e Expr) (node, error) {
	switch x := e.(type) {
	case *Column:
		index, ok := c.layout[x.ID]
		if !ok {
			return nil, fail.Bug("column %s (%d) is not an input of this expression", x.Name, x.ID)
		}
		return &columnNode{index: index}, nil
	case *Const:
		return &constNode{value: vec.Const(x.Value.Type, x.Value, 1)}, nil
	case *Param:
		return nil, fail.Bug("parameter %s has no value", x)
	case *Call:
		return c.compileCall(x)
	case *Cast:
		arg, err := c.compile(x.Arg)
		return &castNode{arg: arg, to: x.To, try: x.Try, at: x.Offset}, err
	case *Compare:
		return c.compileCompare(x)
	case *Logic:
		return c.compileLogic(x)
	case *Not:
		arg, err := c.compile(x.Arg)
		return &notNode{arg: arg}, err
	case *IsNull:
		arg, err := c.compile(x.Arg)
		return &isNullNode{arg: arg, negate: x.Negate}, err
	case *Case:
		return c.compileCase(x)
	case *Coalesce:
		args, err := c.compileAll(x.Args)
		return &coalesceNode{args: args, typ: x.T}, err
	case *In:
		return c.compileIn(x)
	case nil:
		return nil, fail.Bug("a missing expression")
	}
	return nil, fail.Bug("an expression of kind %T", e)
}

func (c *compiler) compileAll(es []Expr) ([]node, error) {
	out := make([]node, len(es))
	for i, e := range es {
		nd, err := c.compile(e)
		if err != nil {
			return nil, err
		}
		out[i] = nd
	}
	return out, nil
}

func (c *compiler) compileCall(x *Call) (node, error) {
	args, err := c.compileAll(x.Args)
	if err != nil {
		return nil, err
	}
	nd := &callNode{fn: x.Fn, args: args, typ: x.T, run: x.Fn.Eval, at: x.Offset}
	if x.Fn.Prepare == nil {
		return nd, nil
	}
	consts := make([]*vec.Value, len(x.Args))
	for i, a := range x.Args {
		if k, ok := a.(*Const); ok {
			consts[i] = &k.Value
		}
	}
	// A constant that cannot be prepared fails when a row reaches it, not before.
	if run, err := x.Fn.Prepare(consts); err == nil && run != nil {
		nd.run = run
	}
	return nd, nil
}

func (c *compiler) compileCompare(x *Compare) (node, error) {
	args, err := c.compileAll([]Expr{x.Left, x.Right})
	if err != nil {
		return nil, err
	}
	if x.Op >= Distinct {
		return &distinctNode{left: args[0], right: args[1], negate: x.Op == NotDistinct}, nil
	}
	nd := &compareNode{op: kernel.Op(x.Op), left: args[0], right: args[1]}
	if _, ok := args[0].(*constNode); ok {
		nd.left, nd.right, nd.op = nd.right, nd.left, nd.op.Flip()
	}
	return nd, nil
}

// compileLogic orders operands that cannot fail and cost little before the
// others: that only shrinks the rows which the others see. The order among the
// others, whose errors might show, stays as written.
func (c *compiler) compileLogic(x *Logic) (node, error) {
	ordered := append([]Expr(nil), x.Args...)
	sort.SliceStable(ordered, func(i, j int) bool { return rank(ordered[i]) < rank(ordered[j]) })
	nd := &logicNode{or: x.Or}
	for _, a := range ordered {
		arg, err := c.compile(a)
		if err != nil {
			return nil, err
		}
		nd.args = append(nd.args, arg)
		nd.safe = append(nd.safe, rank(a) < rankOther)
	}
	return nd, nil
}

const (
	rankFixed = iota // comparisons of fixed-width columns with constants
	rankText         // those of text and lists
	rankOther        // may fail or cost
)

// rank is an operand's place in a chain of ANDs or ORs.
func rank(e Expr) int {
	r := rankFixed
	switch x := e.(type) {
	case *Column, *Const:
		return rankFixed
	case *Compare, *IsNull, *Not:
		for _, k := range x.Children() {
			r = max(r, operandRank(k))
		}
		return r
	case *In:
		return max(rankText, operandRank(x.Arg))
	}
	return rankOther
}

func operandRank(e Expr) int {
	switch e.(type) {
	case *Column, *Const:
		switch e.Type().Kind {
		case types.Boolean, types.Int32, types.Int64, types.Double, types.Date, types.Timestamp, types.Time:
			return rankFixed
		}
		return rankText
	case *Compare, *IsNull, *Not, *In:
		return rank(e)
	}
	return rankOther
}

func (c *compiler) compileCase(x *Case) (node, error) {
	nd := &caseNode{typ: x.T}
	for _, w := range x.Whens {
		cond, err := c.compile(w.Cond)
		if err != nil {
			return nil, err
		}
		result, err := c.compile(w.Result)
		if err != nil {
			return nil, err
		}
		nd.conds, nd.results = append(nd.conds, cond), append(nd.results, result)
	}
	if x.Else == nil {
		return nd, nil
	}
	other, err := c.compile(x.Else)
	nd.other = other
	return nd, err
}

func (c *compiler) compileIn(x *In) (node, error) {
	arg, err := c.compile(x.Arg)
	if err != nil {
		return nil, err
	}
	vals := make([]vec.Value, len(x.List))
	for i, e := range x.List {
		k, ok := e.(*Const)
		if !ok {
			return c.compileInExprs(x)
		}
		vals[i] = k.Value
	}
	return newInNode(arg, x.Arg.Type(), vals, x.Negate), nil
}

// compileInExprs is IN over expressions that are not all constants: a chain of comparisons.
func (c *compiler) compileInExprs(x *In) (node, error) {
	args := make([]Expr, len(x.List))
	for i, e := range x.List {
		args[i] = &Compare{Op: Eq, Left: x.Arg, Right: e}
	}
	var e Expr = &Logic{Or: true, Args: args}
	if x.Negate {
		e = &Not{Arg: e}
	}
	return c.compileNode(e)
}
