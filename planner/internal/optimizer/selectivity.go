package optimizer

import (
	"maps"
	"math"
	"strings"

	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// The part of the rows that pass a condition of which nothing is known.
const (
	equalPart  = 0.1
	rangePart  = 0.4
	callPart   = 0.1
	nullPart   = 0.1
	otherPart  = 0.5
	mostOfList = 0.8
	// beginPart is the least that a prefix leaves: texts are not spread evenly, and
	// those that are asked for are common ones.
	beginPart = 0.01
)

// filtered is the estimate of the rows that pass a condition, or of all for nil.
// Conditions are taken to have nothing to do with each other, but for those that
// bound one column from both sides.
func (s *estimate) filtered(pred expr.Expr) estimate {
	out := *s
	if pred == nil {
		return out
	}
	out.cols = maps.Clone(s.cols)
	var ranges []*span
	for _, p := range expr.Conjuncts(pred) {
		if col, op, v, ok := comparison(p); ok && op >= expr.Lt && op <= expr.Ge {
			ranges = narrow(ranges, s, col, op, v)
			continue
		}
		out.rows *= s.part(p)
		out.restrict(p)
	}
	for _, r := range ranges {
		part := r.part()
		out.rows *= part
		if c, ok := out.cols[r.col.ID]; ok && c.known {
			c.distinct = max(1, c.distinct*part)
			out.cols[r.col.ID] = c
		}
	}
	out.rows = max(1, out.rows)
	return out
}

// restrict notes that a column has only the values of an equality or a list.
func (s *estimate) restrict(p expr.Expr) {
	values := 0
	col, op, _, ok := comparison(p)
	switch in, isIn := p.(*expr.In); {
	case ok && op == expr.Eq:
		values = 1
	case isIn && !in.Negate:
		col, _ = in.Arg.(*expr.Column)
		values = len(in.List)
	}
	if values == 0 || col == nil {
		return
	}
	if c, ok := s.cols[col.ID]; ok && c.known {
		c.distinct, c.nulls = min(c.distinct, float64(values)), 0
		s.cols[col.ID] = c
	}
}

// comparison reads "column op value", value without columns.
func comparison(e expr.Expr) (*expr.Column, expr.CompareOp, expr.Expr, bool) {
	c, ok := e.(*expr.Compare)
	if !ok {
		return nil, 0, nil, false
	}
	if col, ok := c.Left.(*expr.Column); ok && len(reads(c.Right)) == 0 {
		return col, c.Op, c.Right, true
	}
	if col, ok := c.Right.(*expr.Column); ok && len(reads(c.Left)) == 0 {
		return col, c.Op.Flip(), c.Left, true
	}
	return nil, 0, nil, false
}

// part is the part of the rows that pass a condition.
func (s *estimate) part(e expr.Expr) float64 {
	switch x := e.(type) {
	case *expr.Const:
		if x.Value.Null || !x.Value.Bool {
			return 0
		}
		return 1
	case *expr.Compare:
		return s.comparePart(x)
	case *expr.In:
		return s.inPart(x)
	case *expr.IsNull:
		null := nullPart
		if c := s.value(x.Arg); c.nullsKnown {
			null = c.nulls
		}
		if x.Negate {
			return 1 - null
		}
		return null
	case *expr.Not:
		return 1 - s.part(x.Arg)
	case *expr.Logic:
		return s.logicPart(x)
	case *expr.Call:
		return s.callPart(x)
	}
	return otherPart
}

func (s *estimate) logicPart(x *expr.Logic) float64 {
	if !x.Or {
		both := s.filtered(x)
		return both.rows / s.rows
	}
	none := 1.0
	for _, a := range x.Args {
		none *= 1 - s.part(a)
	}
	return 1 - none
}

func (s *estimate) comparePart(x *expr.Compare) float64 {
	switch x.Op {
	case expr.Eq, expr.NotDistinct:
		return s.equalPart(x)
	case expr.Ne, expr.Distinct:
		c := s.value(x.Left)
		return max(0, 1-c.nulls-s.equalPart(x))
	}
	if col, op, v, ok := comparison(x); ok {
		return narrow(nil, s, col, op, v)[0].part()
	}
	return rangePart
}

func (s *estimate) equalPart(x *expr.Compare) float64 {
	if col, _, v, ok := comparison(x); ok {
		c := s.value(col)
		return c.equal(v)
	}
	a, b := s.value(x.Left), s.value(x.Right)
	if !a.known && !b.known {
		return equalPart
	}
	return (1 - a.nulls) * (1 - b.nulls) / max(1, domain(a, b))
}

// equal is the part of the rows that have a value.
func (c *column) equal(v expr.Expr) float64 {
	if k, ok := v.(*expr.Const); ok && c.bounded() && (k.Value.Null || c.outside(k.Value)) {
		return 0
	}
	if !c.known {
		return equalPart
	}
	return (1 - c.nulls) / max(1, c.distinct)
}

// outside reports whether a value is below or above all of the column's.
func (c *column) outside(v vec.Value) bool {
	if v.Type.Kind == types.Text && c.min.Type.Kind == types.Text {
		return v.Str < c.min.Str || v.Str > c.max.Str
	}
	lo, ok1 := number(c.min)
	hi, ok2 := number(c.max)
	at, ok3 := number(v)
	return ok1 && ok2 && ok3 && (at < lo || at > hi)
}

func (s *estimate) inPart(x *expr.In) float64 {
	c := s.value(x.Arg)
	part := 0.0
	for _, e := range x.List {
		part += c.equal(e)
	}
	most := 1 - c.nulls
	if !c.known {
		most = mostOfList
	}
	if part = min(part, most); x.Negate {
		return max(0, 1-c.nulls-part)
	}
	return part
}

// callPart knows the functions that match the beginning of a text.
func (s *estimate) callPart(x *expr.Call) float64 {
	negate := x.Fn.Name == "!~~"
	if x.Fn.Name != "like" && x.Fn.Name != "starts_with" && !negate || len(x.Args) < 2 {
		return callPart
	}
	part := callPart
	k, ok := x.Args[1].(*expr.Const)
	c := s.value(x.Args[0])
	if ok && !k.Value.Null && c.known {
		prefix, rest := k.Value.Str, "%"
		if x.Fn.Name != "starts_with" {
			if i := strings.IndexAny(prefix, `%_\`); i >= 0 {
				prefix, rest = prefix[:i], prefix[i:]
			} else {
				rest = ""
			}
		}
		part = c.prefixPart(prefix, rest)
	}
	if negate {
		return max(0, 1-c.nulls-part)
	}
	return part
}

// prefixPart is the part of the rows that begin with the prefix and match the rest
// of a pattern.
func (c *column) prefixPart(prefix, rest string) float64 {
	one := (1 - c.nulls) / max(1, c.distinct)
	switch {
	case rest == "":
		return one
	case prefix == "":
		return callPart
	}
	part := callPart
	if from, ok := c.below(vec.Text(prefix)); ok {
		to, _ := c.below(vec.Text(prefix + "\U0010FFFF"))
		if to <= from {
			return 0
		}
		part = max(one, (1-c.nulls)*max(beginPart, to-from))
	}
	if rest != "%" {
		part = max(one, part*callPart)
	}
	return part
}

// span is what the conditions leave of a column: the part below its upper and the
// part above its lower end.
type span struct {
	col          *expr.Column
	stats        column
	below, above float64
	// guess is the part where an end is not known; 1 where all are.
	guess float64
}

// narrow takes a condition into the span of its column, at the end for a new one.
func narrow(spans []*span, s *estimate, col *expr.Column, op expr.CompareOp, v expr.Expr) []*span {
	var sp *span
	for _, k := range spans {
		if k.col.ID == col.ID {
			sp = k
		}
	}
	if sp == nil {
		sp = &span{col: col, stats: s.value(col), below: 1, above: 1, guess: 1}
		spans = append(spans, sp)
	}
	k, ok := v.(*expr.Const)
	at := 0.0
	if ok {
		at, ok = sp.stats.below(k.Value)
	}
	if !ok {
		sp.guess *= rangePart
		return spans
	}
	one := 0.0
	if sp.stats.known && !sp.stats.outside(k.Value) {
		one = 1 / max(1, sp.stats.distinct)
	}
	switch op {
	case expr.Lt:
		sp.below = min(sp.below, at)
	case expr.Le:
		sp.below = min(sp.below, at+one)
	case expr.Gt:
		sp.above = min(sp.above, 1-at-one)
	case expr.Ge:
		sp.above = min(sp.above, 1-at)
	}
	return spans
}

func (sp *span) part() float64 {
	return (1 - sp.stats.nulls) * sp.guess * min(1, max(0, sp.below+sp.above-1))
}

// below is the part of the values that are less than v, as if they lay evenly
// between the bounds.
func (c *column) below(v vec.Value) (float64, bool) {
	if !c.bounded() || v.Null {
		return 0, false
	}
	lo, hi, at := 0.0, 0.0, 0.0
	if v.Type.Kind == types.Text {
		lo, hi, at = texts(c.min.Str, c.max.Str, v.Str)
	} else {
		var ok [3]bool
		lo, ok[0] = number(c.min)
		hi, ok[1] = number(c.max)
		if at, ok[2] = number(v); ok != [3]bool{true, true, true} {
			return 0, false
		}
	}
	switch {
	case at <= lo:
		return 0, true
	case at > hi:
		return 1, true
	}
	return (at/2 - lo/2) / (hi/2 - lo/2), true // halves: the whole may be too large
}

// number is the place of a value on a line; false for what has none.
func number(v vec.Value) (float64, bool) {
	f := 0.0
	switch v.Type.Kind {
	case types.Int32, types.Int64, types.Date, types.Timestamp, types.Time:
		f = float64(v.Int)
	case types.Double:
		f = v.Float
	case types.Decimal:
		f = v.Dec.ToFloat64(int32(v.Type.Scale))
	default:
		return 0, false
	}
	return f, !math.IsNaN(f) && !math.IsInf(f, 0)
}

// texts are places of three texts on a line: what lo and hi have in common tells
// nothing, the eight bytes behind it are digits.
func texts(lo, hi, at string) (float64, float64, float64) {
	same := 0
	for same < len(lo) && same < len(hi) && lo[same] == hi[same] {
		same++
	}
	switch {
	case at < lo:
		return 0, 1, 0
	case at > hi:
		return 0, 1, 2
	}
	place := func(s string) float64 {
		f := 0.0
		for i := range 8 {
			f *= 256
			if same+i < len(s) {
				f += float64(s[same+i])
			}
		}
		return f
	}
	return place(lo), place(hi), place(at)
}
