package optimizer

import (
	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/internal/vec"
)

// Stats tells what an object holds, about; false where nothing is known. Nil is
// allowed: then nothing is.
type Stats func(obj *schema.Object) (ObjectStats, bool)

// ObjectStats are estimates of an object. Plans depend on them, answers never do.
type ObjectStats struct {
	Rows float64
	// Columns are by field id; of a field that is not there nothing is known.
	Columns map[int32]ColumnStats
}

// ColumnStats are estimates of one field.
type ColumnStats struct {
	// Distinct is the number of different values that are not NULL; 0: not known.
	Distinct float64
	// Nulls is the part of the rows that are NULL, from 0 to 1.
	Nulls float64
	// Min and Max bound the values, of the field's type; both NULL: not known.
	Min, Max vec.Value
}

// estimate is what is guessed of the rows that a plan gives.
type estimate struct {
	rows float64 // at least 1
	cols map[expr.ColumnID]column
}

// column is what is guessed of one output column.
type column struct {
	// distinct is the number of values of the domain: rows that are filtered by
	// something else leave it as it is. Where it is not known it is base, the rows of
	// the relation that the column comes from.
	distinct, base float64
	known          bool
	// from numbers the relation; 0: none, or several.
	from  int
	nulls float64
	// nullsKnown says that nulls is not a mere default.
	nullsKnown bool
	min, max   vec.Value // both NULL: not known
}

var noValue = vec.Value{Null: true}

// unknownColumn is a column of which only the number of its rows is known.
func unknownColumn(rows float64) column {
	return column{distinct: rows, base: rows, min: noValue, max: noValue}
}

// bounded reports whether all values are known to lie between min and max.
func (c *column) bounded() bool { return !c.min.Null && !c.max.Null }

// scanned are the columns of a scan before its filter.
func (e *estimator) scanned(x *plan.Scan) estimate {
	rows := float64(unknownRows)
	st, ok := e.objects[x.Object.ID]
	if !ok && e.stats != nil {
		if st, ok = e.stats(x.Object); ok {
			e.objects[x.Object.ID] = st
		}
	}
	if ok {
		rows = max(1, st.Rows)
	}
	out := estimate{rows: rows, cols: map[expr.ColumnID]column{}}
	from := e.relation()
	for _, c := range x.Cols {
		col := fieldColumn(x.Object, c.Field, st, rows)
		col.from = from
		out.cols[c.ID] = col
	}
	return out
}

// relation is a number for columns that come from one relation.
func (e *estimator) relation() int {
	e.relations++
	return e.relations
}

// fieldColumn is a field or system column of an object with so many rows.
func fieldColumn(obj *schema.Object, name string, st ObjectStats, rows float64) column {
	out := unknownColumn(rows)
	for i := range obj.Fields {
		if obj.Fields[i].Name != name {
			continue
		}
		if c, ok := st.Columns[obj.Fields[i].ID]; ok {
			out.nulls, out.nullsKnown, out.min, out.max = c.Nulls, true, c.Min, c.Max
			if c.Distinct > 0 {
				out.distinct, out.known = min(c.Distinct, rows), true
			}
		}
		if len(obj.Key) == 1 && obj.Key[0] == i {
			out.distinct, out.known = rows, true
		}
	}
	return out
}

// value is what is guessed of an expression over the rows of an estimate. Of a cast
// column it is the number of values, of a function nothing.
func (s *estimate) value(e expr.Expr) column {
	switch x := e.(type) {
	case *expr.Column:
		if c, ok := s.cols[x.ID]; ok {
			return c
		}
	case *expr.Cast:
		c := s.value(x.Arg)
		c.min, c.max = noValue, noValue
		return c
	case *expr.Const, *expr.Param:
		return column{distinct: 1, base: 1, known: true, min: noValue, max: noValue}
	}
	return unknownColumn(s.rows)
}

// most is the number of values that an expression can have: a function of one column
// has at most that column's. False where it is not known.
func (s *estimate) most(e expr.Expr) (column, bool) {
	c := s.value(e)
	if read := reads(e); !c.known && len(read) == 1 && !expr.HasVolatile(e) {
		for id := range read {
			c = s.cols[id]
		}
	}
	return c, c.known
}

// groups is the number of different rows of some expressions.
func (s *estimate) groups(keys []plan.NamedExpr) float64 {
	if len(keys) == 0 {
		return 1
	}
	n, guessed := 1.0, false
	for _, k := range keys {
		c, ok := s.most(k.Expr)
		if !ok {
			guessed = true
			continue
		}
		if n *= c.distinct; c.nulls > 0 {
			n *= 1 + 1/c.distinct
		}
	}
	if guessed {
		n = max(n, s.rows/groupedRows)
	}
	return max(1, min(n, s.rows))
}
