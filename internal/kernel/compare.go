package kernel

import (
	"bytes"
	"cmp"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// Op is a comparison.
type Op uint8

// The comparisons, in the order of expr.CompareOp.
const (
	Eq Op = iota
	Ne
	Lt
	Le
	Gt
	Ge
)

// Flip is the comparison with its sides exchanged.
func (op Op) Flip() Op {
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

// Holds says whether the comparison holds for an order (-1, 0, 1).
func (op Op) Holds(c int) bool {
	switch op {
	case Eq:
		return c == 0
	case Ne:
		return c != 0
	case Lt:
		return c < 0
	case Le:
		return c <= 0
	case Gt:
		return c > 0
	}
	return c >= 0
}

type integer interface{ ~int32 | ~int64 }

// Compare compares two vectors of one type, flat or constant, of n rows. The
// result's values are set on all rows; validity is the AND of both.
func Compare(op Op, a, b *vec.Vector, n int) *vec.Vector {
	out := vec.NewFlat(types.Of(types.Boolean), n)
	out.Valid = vec.And(Validity(a), Validity(b))
	if a.Encoding == vec.Constant && b.Encoding != vec.Constant {
		a, b, op = b, a, op.Flip()
	}
	ca, cb := a.Encoding == vec.Constant, b.Encoding == vec.Constant
	if !ca && compareFast(op, a, b, cb, out.Bools) {
		return out
	}
	ia, ib := 1, 1
	if ca {
		ia = 0
	}
	if cb {
		ib = 0
	}
	for i := range n {
		out.Bools[i] = op.Holds(compareValues(a, i*ia, b, i*ib))
	}
	return out
}

// compareFast runs the typed loop of a flat a and a flat or constant b, if there is one.
func compareFast(op Op, a, b *vec.Vector, constant bool, out []bool) bool {
	switch a.Type.Kind {
	case types.Int32, types.Date:
		if constant {
			intsVC(op, a.Int32s, b.Int32s[0], out)
		} else {
			intsVV(op, a.Int32s, b.Int32s, out)
		}
	case types.Int64, types.Timestamp, types.Time:
		if constant {
			intsVC(op, a.Int64s, b.Int64s[0], out)
		} else {
			intsVV(op, a.Int64s, b.Int64s, out)
		}
	case types.Double:
		if constant && b.Float64s[0] == b.Float64s[0] {
			floatsVC(op, a.Float64s, b.Float64s[0], out)
		} else if !constant {
			floatsVV(op, a.Float64s, b.Float64s, out)
		} else {
			return false
		}
	case types.Decimal, types.UUID:
		if a.Type.Scale != b.Type.Scale {
			return false
		}
		decimalsOrder(op, a.Decimals, b.Decimals, constant, out)
	case types.Text, types.Binary, types.Unknown, types.JSON:
		if op != Eq && op != Ne {
			return false
		}
		stringsEqual(&a.Strings, &b.Strings, constant, op == Eq, out)
	default:
		return false
	}
	return true
}

func intsVC[T integer](op Op, a []T, c T, out []bool) {
	out = out[:len(a)]
	switch op {
	case Eq:
		for i, x := range a {
			out[i] = x == c
		}
	case Ne:
		for i, x := range a {
			out[i] = x != c
		}
	case Lt:
		for i, x := range a {
			out[i] = x < c
		}
	case Le:
		for i, x := range a {
			out[i] = x <= c
		}
	case Gt:
		for i, x := range a {
			out[i] = x > c
		}
	case Ge:
		for i, x := range a {
			out[i] = x >= c
		}
	}
}

func intsVV[T integer](op Op, a, b []T, out []bool) {
	b, out = b[:len(a)], out[:len(a)]
	switch op {
	case Eq:
		for i, x := range a {
			out[i] = x == b[i]
		}
	case Ne:
		for i, x := range a {
			out[i] = x != b[i]
		}
	case Lt:
		for i, x := range a {
			out[i] = x < b[i]
		}
	case Le:
		for i, x := range a {
			out[i] = x <= b[i]
		}
	case Gt:
		for i, x := range a {
			out[i] = x > b[i]
		}
	case Ge:
		for i, x := range a {
			out[i] = x >= b[i]
		}
	}
}

// floatsVC compares with a constant that is not NaN; a NaN is the greatest value.
func floatsVC(op Op, a []float64, c float64, out []bool) {
	out = out[:len(a)]
	switch op {
	case Eq:
		for i, x := range a {
			out[i] = x == c
		}
	case Ne:
		for i, x := range a {
			out[i] = x != c
		}
	case Lt:
		for i, x := range a {
			out[i] = x < c
		}
	case Le:
		for i, x := range a {
			out[i] = x <= c
		}
	case Gt:
		for i, x := range a {
			out[i] = !(x <= c)
		}
	case Ge:
		for i, x := range a {
			out[i] = !(x < c)
		}
	}
}

func floatsVV(op Op, a, b []float64, out []bool) {
	b, out = b[:len(a)], out[:len(a)]
	switch op {
	case Eq:
		for i, x := range a {
			out[i] = x == b[i] || x != x && b[i] != b[i]
		}
	case Ne:
		for i, x := range a {
			out[i] = !(x == b[i] || x != x && b[i] != b[i])
		}
	case Lt:
		for i, x := range a {
			out[i] = x < b[i] || b[i] != b[i] && x == x
		}
	case Le:
		for i, x := range a {
			out[i] = x <= b[i] || b[i] != b[i]
		}
	case Gt:
		for i, x := range a {
			out[i] = !(x <= b[i] || b[i] != b[i])
		}
	case Ge:
		for i, x := range a {
			out[i] = !(x < b[i] || b[i] != b[i] && x == x)
		}
	}
}

// decimalsOrder compares unscaled values of one scale, most of which differ or
// agree in their low halves alone.
func decimalsOrder(op Op, a, b []decimal128.Num, constant bool, out []bool) {
	step := 1
	if constant {
		step = 0
	}
	for i, x := range a {
		y := b[i*step]
		c := 0
		switch {
		case x.HighBits() != y.HighBits():
			c = 1
			if x.HighBits() < y.HighBits() {
				c = -1
			}
		case x.LowBits() < y.LowBits():
			c = -1
		case x.LowBits() > y.LowBits():
			c = 1
		}
		out[i] = op.Holds(c)
	}
}

// stringsEqual compares length and prefix first, which settles most pairs.
func stringsEqual(a, b *vec.Strings, constant, want bool, out []bool) {
	step := 1
	if constant {
		step = 0
	}
	for i := range a.Views {
		x, y := &a.Views[i], &b.Views[i*step]
		eq := x.Len == y.Len && x.Prefix == y.Prefix
		if eq {
			eq = a.At(i) == b.At(i*step)
		}
		out[i] = eq == want
	}
}

// SelectConst returns the rows of the flat vector v for which "v op c" is TRUE,
// among rows or all with nil rows, and whether there is a loop for it. c is a
// constant vector of v's type that is not NULL.
func SelectConst(op Op, v, c *vec.Vector, rows []int32) ([]int32, bool) {
	n := v.N
	if rows != nil {
		n = len(rows)
	}
	var k int
	var out []int32
	switch v.Type.Kind {
	case types.Int32, types.Date:
		out = make([]int32, n)
		k = selectInts(op, v.Int32s, c.Int32s[0], rows, out)
	case types.Int64, types.Timestamp, types.Time:
		out = make([]int32, n)
		k = selectInts(op, v.Int64s, c.Int64s[0], rows, out)
	case types.Double:
		if c.Float64s[0] != c.Float64s[0] {
			return nil, false
		}
		out = make([]int32, n)
		k = selectFloats(op, v.Float64s, c.Float64s[0], rows, out)
	default:
		return nil, false
	}
	return DropNulls(v, out[:k]), true
}

func selectInts[T integer](op Op, a []T, c T, rows, out []int32) int {
	if rows != nil {
		return selectIntsAmong(op, a, c, rows, out)
	}
	k := 0
	switch op {
	case Eq:
		for i, x := range a {
			out[k] = int32(i)
			if x == c {
				k++
			}
		}
	case Ne:
		for i, x := range a {
			out[k] = int32(i)
			if x != c {
				k++
			}
		}
	case Lt:
		for i, x := range a {
			out[k] = int32(i)
			if x < c {
				k++
			}
		}
	case Le:
		for i, x := range a {
			out[k] = int32(i)
			if x <= c {
				k++
			}
		}
	case Gt:
		for i, x := range a {
			out[k] = int32(i)
			if x > c {
				k++
			}
		}
	case Ge:
		for i, x := range a {
			out[k] = int32(i)
			if x >= c {
				k++
			}
		}
	}
	return k
}

func selectIntsAmong[T integer](op Op, a []T, c T, rows, out []int32) int {
	k := 0
	switch op {
	case Eq:
		for _, r := range rows {
			out[k] = r
			if a[r] == c {
				k++
			}
		}
	case Ne:
		for _, r := range rows {
			out[k] = r
			if a[r] != c {
				k++
			}
		}
	case Lt:
		for _, r := range rows {
			out[k] = r
			if a[r] < c {
				k++
			}
		}
	case Le:
		for _, r := range rows {
			out[k] = r
			if a[r] <= c {
				k++
			}
		}
	case Gt:
		for _, r := range rows {
			out[k] = r
			if a[r] > c {
				k++
			}
		}
	case Ge:
		for _, r := range rows {
			out[k] = r
			if a[r] >= c {
				k++
			}
		}
	}
	return k
}

func selectFloats(op Op, a []float64, c float64, rows, out []int32) int {
	k := 0
	if rows != nil {
		for _, r := range rows {
			out[k] = r
			if op.Holds(CompareDoubles(a[r], c)) {
				k++
			}
		}
		return k
	}
	switch op {
	case Eq:
		for i, x := range a {
			out[k] = int32(i)
			if x == c {
				k++
			}
		}
	case Ne:
		for i, x := range a {
			out[k] = int32(i)
			if x != c {
				k++
			}
		}
	case Lt:
		for i, x := range a {
			out[k] = int32(i)
			if x < c {
				k++
			}
		}
	case Le:
		for i, x := range a {
			out[k] = int32(i)
			if x <= c {
				k++
			}
		}
	case Gt:
		for i, x := range a {
			out[k] = int32(i)
			if !(x <= c) {
				k++
			}
		}
	case Ge:
		for i, x := range a {
			out[k] = int32(i)
			if !(x < c) {
				k++
			}
		}
	}
	return k
}

// CompareDoubles orders doubles: -0.0 equals 0.0, NaN equals NaN and is the greatest.
func CompareDoubles(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	case a == b:
		return 0
	case a == a:
		return -1
	case b == b:
		return 1
	}
	return 0
}

// CompareRows orders row i of a against row j of b, vectors of one type and any
// encoding: -1, 0 or 1. NULL equals NULL and is greater than every value.
func CompareRows(a *vec.Vector, i int, b *vec.Vector, j int) int {
	na, nb := a.IsNull(i), b.IsNull(j)
	switch {
	case na && nb:
		return 0
	case na:
		return 1
	case nb:
		return -1
	}
	a, i = base(a, i)
	b, j = base(b, j)
	return compareValues(a, i, b, j)
}

// EqualRows reports whether two rows are not distinct: NULL equals NULL.
func EqualRows(a *vec.Vector, i int, b *vec.Vector, j int) bool {
	na, nb := a.IsNull(i), b.IsNull(j)
	if na || nb {
		return na && nb
	}
	a, i = base(a, i)
	b, j = base(b, j)
	switch a.Type.Kind {
	case types.Int32, types.Date:
		return a.Int32s[i] == b.Int32s[j]
	case types.Int64, types.Timestamp, types.Time:
		return a.Int64s[i] == b.Int64s[j]
	case types.Text, types.Binary, types.Unknown, types.JSON:
		x, y := &a.Strings.Views[i], &b.Strings.Views[j]
		return x.Len == y.Len && x.Prefix == y.Prefix && a.Strings.At(i) == b.Strings.At(j)
	}
	return compareValues(a, i, b, j) == 0
}

// base resolves a row to the flat vector that holds its value.
func base(v *vec.Vector, i int) (*vec.Vector, int) {
	for v.Encoding == vec.Dictionary {
		v, i = v.Dict, int(v.Codes[i])
	}
	if v.Encoding == vec.Constant {
		return v, 0
	}
	return v, i
}

// compareValues orders two values that are not NULL, at value positions.
func compareValues(a *vec.Vector, i int, b *vec.Vector, j int) int {
	switch a.Type.Kind {
	case types.Boolean:
		return boolInt(a.Bools[i]) - boolInt(b.Bools[j])
	case types.Int32, types.Date:
		return cmp.Compare(a.Int32s[i], b.Int32s[j])
	case types.Int64, types.Timestamp, types.Time:
		return cmp.Compare(a.Int64s[i], b.Int64s[j])
	case types.Double:
		return CompareDoubles(a.Float64s[i], b.Float64s[j])
	case types.Decimal, types.UUID:
		return CompareDecimals(a.Decimals[i], a.Type.Scale, b.Decimals[j], b.Type.Scale)
	case types.Interval:
		return CompareSpans(a.Spans[i], b.Spans[j])
	case types.Vector:
		return compareVectors(a.Float32s, int(a.Type.Dim), i, b.Float32s, int(b.Type.Dim), j)
	case types.Sparse:
		return compareSparse(a.SparseRows[i], b.SparseRows[j])
	case types.List, types.Map:
		return compareLists(a, i, b, j)
	case types.Struct:
		for k, f := range a.Fields {
			if c := CompareRows(f, i, b.Fields[k], j); c != 0 {
				return c
			}
		}
		return 0
	}
	return bytes.Compare(a.Strings.Bytes(i), b.Strings.Bytes(j))
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

const nanosPerDay = 86_400_000_000_000

// spanKey is an interval's length with months of 30 days and days of 24 hours.
func spanKey(s vec.Span) (days, nanos int64) {
	days = int64(s.Months)*30 + int64(s.Days) + s.Nanos/nanosPerDay
	nanos = s.Nanos % nanosPerDay
	if nanos < 0 {
		days, nanos = days-1, nanos+nanosPerDay
	}
	return days, nanos
}

// CompareSpans orders intervals by length: a month counts as 30 days, a day as 24 hours.
func CompareSpans(a, b vec.Span) int {
	da, na := spanKey(a)
	db, nb := spanKey(b)
	return cmp.Or(cmp.Compare(da, db), cmp.Compare(na, nb))
}

func compareVectors(a []float32, da, i int, b []float32, db, j int) int {
	x, y := a[i*da:(i+1)*da], b[j*db:(j+1)*db]
	for k := range min(da, db) {
		if c := CompareDoubles(float64(x[k]), float64(y[k])); c != 0 {
			return c
		}
	}
	return cmp.Compare(da, db)
}

func compareSparse(a, b vec.SparseRow) int {
	for k := range min(len(a.Indices), len(b.Indices)) {
		c := cmp.Or(cmp.Compare(a.Indices[k], b.Indices[k]), CompareDoubles(float64(a.Values[k]), float64(b.Values[k])))
		if c != 0 {
			return c
		}
	}
	return cmp.Compare(len(a.Indices), len(b.Indices))
}

func compareLists(a *vec.Vector, i int, b *vec.Vector, j int) int {
	fa, ea, fb, eb := a.Offsets[i], a.Offsets[i+1], b.Offsets[j], b.Offsets[j+1]
	for fa < ea && fb < eb {
		if c := CompareRows(a.Child, int(fa), b.Child, int(fb)); c != 0 {
			return c
		}
		fa++
		fb++
	}
	return cmp.Compare(ea-fa, eb-fb)
}
