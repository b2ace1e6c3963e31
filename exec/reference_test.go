package exec

import (
	"fmt"
	"math"
	"sort"
	"strings"

	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// The reference executor: one row at a time, nested loops, no hash, no chunk.
// It shares only the plan and the boxed values with the executor.

type refRow []vec.Value

type refEnv map[expr.ColumnID]vec.Value

func bind(cols []plan.Column, r refRow) refEnv {
	env := refEnv{}
	for i, c := range cols {
		env[c.ID] = r[i]
	}
	return env
}

func (e refEnv) with(cols []plan.Column, r refRow) refEnv {
	out := bind(cols, r)
	for k, v := range e {
		out[k] = v
	}
	return out
}

var boolNull = vec.Null(types.Of(types.Boolean))

// refEval evaluates the expressions that the tests use.
func refEval(e expr.Expr, env refEnv) vec.Value {
	switch x := e.(type) {
	case *expr.Column:
		v, ok := env[x.ID]
		if !ok {
			panic("reference: no column " + x.Name)
		}
		return v
	case *expr.Const:
		return x.Value
	case *expr.Compare:
		a, b := refEval(x.Left, env), refEval(x.Right, env)
		if x.Op == expr.NotDistinct {
			return vec.Bool(refCompare(a, b) == 0)
		}
		if a.Null || b.Null {
			return boolNull
		}
		c := refCompare(a, b)
		switch x.Op {
		case expr.Eq:
			return vec.Bool(c == 0)
		case expr.Ne:
			return vec.Bool(c != 0)
		case expr.Lt:
			return vec.Bool(c < 0)
		case expr.Le:
			return vec.Bool(c <= 0)
		case expr.Gt:
			return vec.Bool(c > 0)
		}
		return vec.Bool(c >= 0)
	case *expr.Logic:
		null := false
		for _, a := range x.Args {
			v := refEval(a, env)
			if v.Null {
				null = true
			} else if v.Bool == x.Or {
				return v
			}
		}
		if null {
			return boolNull
		}
		return vec.Bool(!x.Or)
	case *expr.Not:
		v := refEval(x.Arg, env)
		v.Bool = !v.Bool
		return v
	case *expr.IsNull:
		return vec.Bool(refEval(x.Arg, env).Null != x.Negate)
	}
	panic(fmt.Sprintf("reference: no %T", e))
}

// refCompare orders values of one type; NULL equals NULL and is the greatest.
func refCompare(a, b vec.Value) int {
	switch {
	case a.Null && b.Null:
		return 0
	case a.Null:
		return 1
	case b.Null:
		return -1
	}
	switch a.Type.Kind {
	case types.Boolean:
		return refInt(a.Bool) - refInt(b.Bool)
	case types.Double:
		an, bn := math.IsNaN(a.Float), math.IsNaN(b.Float)
		switch {
		case an || bn:
			return refInt(an) - refInt(bn)
		case a.Float < b.Float:
			return -1
		case a.Float > b.Float:
			return 1
		}
		return 0
	case types.Text:
		return strings.Compare(a.Str, b.Str)
	case types.Decimal:
		return a.Dec.Cmp(b.Dec)
	}
	switch {
	case a.Int < b.Int:
		return -1
	case a.Int > b.Int:
		return 1
	}
	return 0
}

func refInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// refErr is an error that the plan must end with.
type refErr string

// refRun runs a plan; it panics with a refErr where the plan fails.
func refRun(n plan.Node, tables map[string]*table) []refRow {
	switch x := n.(type) {
	case *plan.Scan:
		var out []refRow
		for _, r := range tables[x.Object.Name].rows {
			row := refRow{}
			for _, c := range x.Cols {
				row = append(row, r[fieldOf(c)])
			}
			out = append(out, row)
		}
		return out
	case *plan.Values:
		var out []refRow
		for _, r := range x.Rows {
			row := refRow{}
			for _, e := range r {
				row = append(row, refEval(e, nil))
			}
			out = append(out, row)
		}
		return out
	case *plan.Filter:
		var out []refRow
		for _, r := range refRun(x.Input, tables) {
			if v := refEval(x.Pred, bind(x.Columns(), r)); !v.Null && v.Bool {
				out = append(out, r)
			}
		}
		return out
	case *plan.Project:
		var out []refRow
		for _, r := range refRun(x.Input, tables) {
			env, row := bind(x.Input.Columns(), r), refRow{}
			for _, e := range x.Exprs {
				row = append(row, refEval(e.Expr, env))
			}
			out = append(out, row)
		}
		return out
	case *plan.UnionAll:
		var out []refRow
		for _, in := range x.Inputs {
			out = append(out, refRun(in, tables)...)
		}
		return out
	case *plan.Limit:
		return refLimit(refRun(x.Input, tables), x.Offset, x.Count)
	case *plan.Sort:
		rows := refRun(x.Input, tables)
		refSort(rows, x.Input.Columns(), x.Keys)
		return refLimit(rows, x.Offset, x.Limit)
	case *plan.Aggregate:
		return refAggregate(x, refRun(x.Input, tables))
	case *plan.Unnest:
		return refUnnest(x, refRun(x.Input, tables))
	case *plan.GroupingSets:
		return refGroupingSets(x, refRun(x.Input, tables))
	case *plan.Window:
		return refWindow(x, refRun(x.Input, tables))
	case *plan.Join:
		return refJoin(x, refRun(x.Left, tables), refRun(x.Right, tables))
	}
	panic(fmt.Sprintf("reference: no %T", n))
}

func refLimit(rows []refRow, offset, count int64) []refRow {
	rows = rows[min(offset, int64(len(rows))):]
	if count >= 0 {
		rows = rows[:min(count, int64(len(rows)))]
	}
	return rows
}

func refSort(rows []refRow, cols []plan.Column, keys []plan.SortKey) {
	type keyed struct{ key, row refRow }
	all := make([]keyed, len(rows))
	for i, r := range rows {
		all[i] = keyed{refKey(bind(cols, r), keys), r}
	}
	sort.SliceStable(all, func(i, j int) bool { return refLess(all[i].key, all[j].key, keys) < 0 })
	for i, k := range all {
		rows[i] = k.row
	}
}

func refKey(env refEnv, keys []plan.SortKey) refRow {
	var out refRow
	for _, k := range keys {
		out = append(out, refEval(k.Expr, env))
	}
	return out
}

func refLess(a, b refRow, keys []plan.SortKey) int {
	for i, k := range keys {
		x, y := a[i], b[i]
		c := refCompare(x, y)
		switch {
		case c == 0:
			continue
		case x.Null || y.Null:
			if x.Null == k.NullsFirst {
				return -1
			}
			return 1
		case k.Desc:
			return -c
		}
		return c
	}
	return 0
}

func refAggregate(n *plan.Aggregate, rows []refRow) []refRow {
	type group struct {
		key  refRow
		rows []refEnv
	}
	var groups []*group
	if len(n.Groups) == 0 {
		groups = append(groups, &group{})
	}
	for _, r := range rows {
		env, key := bind(n.Input.Columns(), r), refRow{}
		for _, g := range n.Groups {
			key = append(key, refEval(g.Expr, env))
		}
		var at *group
		for _, g := range groups {
			if refSame(g.key, key) {
				at = g
			}
		}
		if at == nil {
			at = &group{key: key}
			groups = append(groups, at)
		}
		at.rows = append(at.rows, env)
	}
	var out []refRow
	for _, g := range groups {
		row := append(refRow{}, g.key...)
		for _, a := range n.Aggs {
			row = append(row, refAgg(a, g.rows))
		}
		out = append(out, row)
	}
	return out
}

func refSame(a, b refRow) bool {
	for i := range a {
		if refCompare(a[i], b[i]) != 0 {
			return false
		}
	}
	return true
}

func refAgg(a plan.AggCall, rows []refEnv) vec.Value {
	var in []refEnv
	var seen []refRow
	for _, env := range rows {
		if a.Filter != nil {
			if v := refEval(a.Filter, env); v.Null || !v.Bool {
				continue
			}
		}
		if a.Distinct {
			var args refRow
			for _, e := range a.Args {
				args = append(args, refEval(e, env))
			}
			dup := false
			for _, s := range seen {
				dup = dup || refSame(s, args)
			}
			if dup {
				continue
			}
			seen = append(seen, args)
		}
		in = append(in, env)
	}
	sort.SliceStable(in, func(i, j int) bool { return refLess(refKey(in[i], a.OrderBy), refKey(in[j], a.OrderBy), a.OrderBy) < 0 })
	var vals []refRow
	for _, env := range in {
		var args refRow
		for _, e := range a.Args {
			args = append(args, refEval(e, env))
		}
		vals = append(vals, args)
	}
	return refFold(a.Fn.Name, vals)
}

// refJoin is the definition of the joins: all pairs, three-valued conditions.
func refJoin(n *plan.Join, left, right []refRow) []refRow {
	lc, rc := n.Left.Columns(), n.Right.Columns()
	var out []refRow
	rightHit := make([]bool, len(right))
	for _, l := range left {
		hits, unknown := 0, false
		env := bind(lc, l)
		for j, r := range right {
			switch v := refMatch(n, env.with(rc, r)); {
			case v.Null:
				unknown = true
			case v.Bool:
				hits++
				rightHit[j] = true
				if n.Kind < plan.Semi || n.Kind == plan.Single {
					out = append(out, append(append(refRow{}, l...), r...))
				}
			}
		}
		if n.Kind == plan.Single && hits > 1 {
			panic(refErr("21000"))
		}
		switch {
		case n.Kind == plan.Semi && hits > 0, n.Kind == plan.Anti && hits == 0:
			out = append(out, l)
		case n.Kind == plan.Mark && hits == 0 && unknown:
			out = append(out, append(append(refRow{}, l...), boolNull))
		case n.Kind == plan.Mark:
			out = append(out, append(append(refRow{}, l...), vec.Bool(hits > 0)))
		case hits == 0 && (n.Kind == plan.Left || n.Kind == plan.Full || n.Kind == plan.Single):
			out = append(out, append(append(refRow{}, l...), refNulls(rc)...))
		}
	}
	if n.Kind == plan.Right || n.Kind == plan.Full {
		for j, r := range right {
			if !rightHit[j] {
				out = append(out, append(refNulls(lc), r...))
			}
		}
	}
	return out
}

func refMatch(n *plan.Join, env refEnv) vec.Value {
	all := &expr.Logic{}
	for _, k := range n.Keys {
		cmp := expr.Eq
		if k.NullSafe {
			cmp = expr.NotDistinct
		}
		all.Args = append(all.Args, &expr.Compare{Op: cmp, Left: k.Left, Right: k.Right})
	}
	if n.Residual != nil {
		all.Args = append(all.Args, n.Residual)
	}
	return refEval(all, env)
}

func refNulls(cols []plan.Column) refRow {
	var out refRow
	for _, c := range cols {
		out = append(out, vec.Null(c.Type))
	}
	return out
}
