package optimizer

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/plan"
)

// Rows of what nothing is known about.
const (
	unknownRows = 1000
	systemRows  = 100
	fileRows    = 100_000
	elements    = 4  // of a list
	groupedRows = 10 // of a group
	// workingRows keeps the rows of a round on the left of every join, so that what
	// they meet is built once and probed in each round.
	workingRows = 1e12
)

// estimator guesses the rows of plans, for the order of joins and for EXPLAIN. It
// remembers what it was told and what it found. Not for concurrent use.
type estimator struct {
	stats   Stats
	objects map[uint64]ObjectStats
	known   map[plan.Node]estimate
	// relations counts those that have a number.
	relations int
}

func newEstimator(stats Stats) *estimator {
	return &estimator{stats: stats, objects: map[uint64]ObjectStats{}, known: map[plan.Node]estimate{}}
}

// Rows estimates the rows that each node of a plan gives, at least 1. The function
// is not for concurrent use.
func Rows(stats Stats) func(plan.Node) float64 {
	e := newEstimator(stats)
	return func(n plan.Node) float64 { return e.of(n).rows }
}

// of estimates the rows and columns that a plan gives.
func (e *estimator) of(n plan.Node) estimate {
	if s, ok := e.known[n]; ok {
		return s
	}
	s := e.find(n)
	s.rows = max(1, s.rows)
	e.known[n] = s
	return s
}

func (e *estimator) find(n plan.Node) estimate {
	switch x := n.(type) {
	case *plan.Scan:
		s := e.scanned(x)
		s = s.filtered(x.Filter)
		return s.limited(x.Limit)
	case *plan.SearchScan:
		s := estimate{rows: unknownRows}
		return s.limited(x.Limit)
	case *plan.SystemScan:
		return estimate{rows: systemRows}
	case *plan.FileScan:
		return estimate{rows: fileRows}
	case *plan.Values:
		return estimate{rows: float64(len(x.Rows))}
	case *plan.WorkingTable:
		return estimate{rows: workingRows}
	case *plan.Recursive:
		return estimate{rows: e.of(x.Base).rows * 10}
	case *plan.Filter:
		s := e.of(x.Input)
		return s.filtered(x.Pred)
	case *plan.Project:
		return e.projected(x)
	case *plan.Aggregate:
		return e.aggregated(x)
	case *plan.GroupingSets:
		return e.groupingSets(x)
	case *plan.Unnest:
		s := e.of(x.Input)
		s.rows *= elements
		return s
	case *plan.Limit:
		s := e.of(x.Input)
		return s.limited(x.Count)
	case *plan.Sort:
		s := e.of(x.Input)
		return s.limited(x.Limit)
	case *plan.Join:
		return e.join(x)
	case *plan.UnionAll:
		s := estimate{}
		for _, in := range x.Inputs {
			s.rows += e.of(in).rows
		}
		return s
	}
	if kids := n.Children(); len(kids) == 1 {
		return e.of(kids[0])
	}
	return estimate{rows: unknownRows}
}

// limited is the estimate of at most n rows; below 0 n is no limit.
func (s *estimate) limited(n int64) estimate {
	out := *s
	if n >= 0 {
		out.rows = max(1, min(out.rows, float64(n)))
	}
	return out
}

func (e *estimator) projected(x *plan.Project) estimate {
	in := e.of(x.Input)
	out := estimate{rows: in.rows, cols: map[expr.ColumnID]column{}}
	for _, k := range x.Exprs {
		out.cols[k.ID] = in.value(k.Expr)
	}
	return out
}

func (e *estimator) aggregated(x *plan.Aggregate) estimate {
	in := e.of(x.Input)
	out := estimate{rows: in.groups(x.Groups), cols: map[expr.ColumnID]column{}}
	from := e.relation()
	for _, g := range x.Groups {
		c := in.value(g.Expr)
		c.base, c.distinct, c.from = out.rows, min(c.distinct, out.rows), from
		if len(x.Groups) == 1 {
			c.distinct, c.known = out.rows, true
		}
		out.cols[g.ID] = c
	}
	return out
}

func (e *estimator) groupingSets(x *plan.GroupingSets) estimate {
	in := e.of(x.Input)
	out := estimate{}
	for _, set := range x.Sets {
		keys := make([]plan.NamedExpr, len(set))
		for i, k := range set {
			keys[i] = x.Groups[k]
		}
		out.rows += in.groups(keys)
	}
	return out
}

func (e *estimator) join(x *plan.Join) estimate {
	l, r := e.of(x.Left), e.of(x.Right)
	out := estimate{rows: l.rows, cols: maps.Clone(l.cols)}
	switch x.Kind {
	case plan.Single, plan.Mark:
		return out
	case plan.Semi, plan.Anti:
		part := matched(&l, &r, x.Keys)
		if x.Kind == plan.Anti {
			part = max(0.1, 1-part)
		}
		out.rows *= part
		return out
	}
	if out.cols == nil {
		out.cols = map[expr.ColumnID]column{}
	}
	maps.Copy(out.cols, r.cols)
	out.rows *= r.rows * keysSelectivity(&l, &r, x.Keys)
	out = out.filtered(x.Residual)
	switch x.Kind {
	case plan.Left:
		out.rows = max(out.rows, l.rows)
	case plan.Right:
		out.rows = max(out.rows, r.rows)
	case plan.Full:
		out.rows = max(out.rows, l.rows, r.rows)
	}
	return out
}

// keysSelectivity is the part of all pairs of rows whose keys are equal. Each value
// of the side with fewer is taken to be among those of the other. Of several keys each
// next one counts by the root of its values only, since they seldom have nothing to do
// with each other; and the keys of one relation have together no more values than rows.
func keysSelectivity(l, r *estimate, keys []plan.EquiKey) float64 {
	part := 1.0
	domains := make([]float64, len(keys))
	left, right := side{}, side{}
	for i, k := range keys {
		a, b := l.value(k.Left), r.value(k.Right)
		domains[i] = max(1, domain(a, b))
		if !k.NullSafe {
			part *= (1 - a.nulls) * (1 - b.nulls)
		}
		left.add(a, i)
		right.add(b, i)
	}
	slices.SortFunc(domains, func(a, b float64) int { return cmp.Compare(b, a) })
	pairs, power := 1.0, 1.0
	for _, d := range domains {
		pairs *= math.Pow(d, power)
		power /= 2
	}
	if len(keys) > 1 && left.from != 0 && right.from != 0 {
		pairs = min(pairs, max(1, min(left.base, right.base)))
	}
	return part / pairs
}

// side is the relation that all keys of one side of a join come from; 0 for several.
type side struct {
	from int
	base float64
}

func (s *side) add(c column, i int) {
	switch {
	case i == 0:
		s.from, s.base = c.from, c.base
	case s.from != c.from:
		s.from = 0
	}
}

// domain is the number of values that two sides of an equality have together. Where
// neither is known, the smaller side is taken to have each value once.
func domain(a, b column) float64 {
	switch {
	case a.known && b.known:
		return max(a.distinct, b.distinct)
	case a.known:
		return a.distinct
	case b.known:
		return b.distinct
	}
	return min(a.base, b.base)
}

// matched is the part of the left rows that have a match on the right.
func matched(l, r *estimate, keys []plan.EquiKey) float64 {
	part := 0.5
	for i, k := range keys {
		a, b := l.value(k.Left), r.value(k.Right)
		if !a.known || !b.known {
			continue
		}
		p := min(1, min(b.distinct, r.rows)/a.distinct) * (1 - a.nulls)
		if i == 0 {
			part = p
		}
		part = min(part, p)
	}
	return part
}
