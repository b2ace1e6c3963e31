package optimizer

import (
	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/plan"
)

// Rows of what nothing is known about.
const (
	unknownRows = 1000
	systemRows  = 100
	fileRows    = 100_000
	elements    = 4 // of a list
	// workingRows keeps the rows of a round on the left of every join, so that what
	// they meet is built once and probed in each round.
	workingRows = 1e12
)

// estimator guesses the rows of plans, for the order of joins only.
type estimator struct{ stats Stats }

// baseRows are the rows before the filters of a relation.
func (e estimator) baseRows(n plan.Node) float64 {
	switch x := n.(type) {
	case *plan.Filter:
		return e.baseRows(x.Input)
	case *plan.Project:
		return e.baseRows(x.Input)
	case *plan.Scan:
		return e.scan(x)
	}
	return e.rows(n)
}

func (e estimator) scan(x *plan.Scan) float64 {
	if e.stats != nil {
		if n, ok := e.stats.Rows(x.Object); ok {
			return max(1, n)
		}
	}
	return unknownRows
}

// rows are the rows that a plan gives; at least 1.
func (e estimator) rows(n plan.Node) float64 {
	switch x := n.(type) {
	case *plan.Scan:
		rows := e.scan(x) * selectivity(x.Filter)
		if x.Limit >= 0 {
			rows = min(rows, float64(x.Limit))
		}
		return max(1, rows)
	case *plan.SearchScan:
		if x.Limit >= 0 {
			return max(1, float64(min(x.Limit, unknownRows)))
		}
		return unknownRows
	case *plan.SystemScan:
		return systemRows
	case *plan.FileScan:
		return fileRows
	case *plan.Values:
		return max(1, float64(len(x.Rows)))
	case *plan.Filter:
		return max(1, e.rows(x.Input)*selectivity(x.Pred))
	case *plan.Aggregate:
		if len(x.Groups) == 0 {
			return 1
		}
		return max(1, e.rows(x.Input)/10)
	case *plan.WorkingTable:
		return workingRows
	case *plan.Recursive:
		return e.rows(x.Base) * 10
	case *plan.Unnest:
		return e.rows(x.Input) * elements
	case *plan.GroupingSets:
		return max(1, e.rows(x.Input)/10*float64(len(x.Sets)))
	case *plan.Limit:
		if x.Count >= 0 {
			return max(1, min(e.rows(x.Input), float64(x.Count)))
		}
	case *plan.Sort:
		if x.Limit >= 0 {
			return max(1, min(e.rows(x.Input), float64(x.Limit)))
		}
	case *plan.Join:
		return e.join(x)
	case *plan.UnionAll:
		sum := 0.0
		for _, in := range x.Inputs {
			sum += e.rows(in)
		}
		return max(1, sum)
	}
	if kids := n.Children(); len(kids) == 1 {
		return e.rows(kids[0])
	}
	return unknownRows
}

func (e estimator) join(x *plan.Join) float64 {
	l, r := e.rows(x.Left), e.rows(x.Right)
	switch x.Kind {
	case plan.Semi, plan.Anti:
		return max(1, l/2)
	case plan.Single, plan.Mark:
		return l
	}
	if len(x.Keys) == 0 {
		return max(1, l*r*selectivity(x.Residual))
	}
	return max(l, r)
}

// selectivity is the guessed part of the rows that pass a condition.
func selectivity(pred expr.Expr) float64 {
	s := 1.0
	for _, p := range expr.Conjuncts(pred) {
		switch x := p.(type) {
		case *expr.Compare:
			if x.Op == expr.Eq {
				s *= 0.1
			} else {
				s *= 0.4
			}
		case *expr.In:
			s *= min(0.8, 0.1*float64(len(x.List)))
		case *expr.Call:
			s *= 0.1
		default:
			s *= 0.5
		}
	}
	return s
}
