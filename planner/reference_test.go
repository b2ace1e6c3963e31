package planner_test

import (
	"context"
	"fmt"
	"sort"
	"strings"
	"testing"

	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
	"github.com/loamdb/loam/planner"
)

// The reference interpreter runs a plan row by row, in the plainest way, so that
// rewrites can be checked by their rows. It is no executor.

type row []vec.Value

type relation struct {
	cols []plan.Column
	rows []row
}

// reader makes the column lookup of a row.
func (r relation) reader(values row) func(expr.ColumnID) (vec.Value, bool) {
	return func(id expr.ColumnID) (vec.Value, bool) {
		for i, c := range r.cols {
			if c.ID == id {
				return values[i], true
			}
		}
		return vec.Value{}, false
	}
}

var refEnv = &expr.Env{Ctx: context.Background()}

func (r relation) eval(e expr.Expr, values row) (vec.Value, error) {
	return expr.EvalRow(refEnv, e, r.reader(values))
}

// truth is TRUE, FALSE or NULL of a condition.
func (r relation) truth(e expr.Expr, values row) (val, null bool, err error) {
	if e == nil {
		return true, false, nil
	}
	v, err := r.eval(e, values)
	return v.Bool && !v.Null, v.Null, err
}

func project(cols []plan.Column, in relation, want []plan.Column) (relation, error) {
	out := relation{cols: want}
	for _, values := range in.rows {
		var next row
		for _, c := range want {
			v, ok := in.reader(values)(c.ID)
			if !ok {
				return out, fmt.Errorf("column %s#%d is not in %v", c.Name, c.ID, cols)
			}
			next = append(next, v)
		}
		out.rows = append(out.rows, next)
	}
	return out, nil
}

func run(n plan.Node) (relation, error) {
	if r, ok := n.(*plan.Recursive); ok {
		return runRecursive(r)
	}
	if j, ok := n.(*plan.Join); ok && j.Apply {
		return runDependent(j)
	}
	in := make([]relation, len(n.Children()))
	for i, k := range n.Children() {
		var err error
		if in[i], err = run(k); err != nil {
			return relation{}, err
		}
	}
	out := relation{cols: n.Columns()}
	switch x := n.(type) {
	case *plan.Scan:
		return runScan(x)
	case *plan.SearchScan:
		return runSearchWithin(x, in)
	case *plan.Values:
		for _, r := range x.Rows {
			var values row
			for _, e := range r {
				v, err := relation{}.eval(e, nil)
				if err != nil {
					return out, err
				}
				values = append(values, v)
			}
			out.rows = append(out.rows, values)
		}
		return out, nil
	case *plan.Series:
		return runSeries(x)
	case *plan.Filter:
		return filterRows(in[0], x.Pred)
	case *plan.Project:
		for _, values := range in[0].rows {
			var next row
			for _, e := range x.Exprs {
				v, err := in[0].eval(e.Expr, values)
				if err != nil {
					return out, err
				}
				next = append(next, v)
			}
			out.rows = append(out.rows, next)
		}
		return out, nil
	case *plan.Aggregate:
		return runAggregate(x, in[0])
	case *plan.GroupingSets:
		return runGroupingSets(x, in[0])
	case *plan.Window:
		return runWindow(x, in[0])
	case *plan.Unnest:
		return runUnnest(x, in[0])
	case *plan.Materialized:
		return relation{cols: x.Cols, rows: materialized(x)}, nil
	case *plan.Join:
		return runJoin(x, in[0], in[1])
	case *plan.Sort:
		return runSort(x, in[0])
	case *plan.Limit:
		return slice(in[0], x.Offset, x.Count), nil
	case *plan.UnionAll:
		for i, r := range in {
			if len(r.cols) != len(x.Cols) {
				return out, fmt.Errorf("union input %d has %d columns, not %d", i, len(r.cols), len(x.Cols))
			}
			out.rows = append(out.rows, r.rows...)
		}
		return out, nil
	}
	return out, fmt.Errorf("the reference does not run %s", n.Name())
}

func slice(r relation, offset, count int64) relation {
	r.rows = r.rows[min(int(offset), len(r.rows)):]
	if count >= 0 {
		r.rows = r.rows[:min(int(count), len(r.rows))]
	}
	return r
}

func filterRows(in relation, pred expr.Expr) (relation, error) {
	out := relation{cols: in.cols}
	for _, values := range in.rows {
		ok, _, err := in.truth(pred, values)
		if err != nil {
			return out, err
		}
		if ok {
			out.rows = append(out.rows, values)
		}
	}
	return out, nil
}

func runSeries(x *plan.Series) (relation, error) {
	out := relation{cols: x.Columns()}
	var n [3]int64
	for i, e := range []expr.Expr{x.Start, x.Stop, x.Step} {
		v, err := relation{}.eval(e, nil)
		if err != nil || v.Null {
			return out, err
		}
		n[i] = v.Int
	}
	for i := n[0]; n[2] > 0 && i <= n[1] || n[2] < 0 && i >= n[1]; i += n[2] {
		out.rows = append(out.rows, row{vec.Int64(i)})
	}
	return out, nil
}

// keyOf prints a row so that equal rows, and only they, print alike.
func keyOf(values row) string {
	var b strings.Builder
	for _, v := range values {
		fmt.Fprintf(&b, "%t:%s|", v.Null, v.String())
	}
	return b.String()
}

func runAggregate(x *plan.Aggregate, in relation) (relation, error) {
	out := relation{cols: x.Columns()}
	index := map[string]int{}
	var groups []uint32
	for _, values := range in.rows {
		var key row
		for _, g := range x.Groups {
			v, err := in.eval(g.Expr, values)
			if err != nil {
				return out, err
			}
			key = append(key, v)
		}
		k := keyOf(key)
		if _, ok := index[k]; !ok {
			index[k] = len(index)
			out.rows = append(out.rows, key)
		}
		groups = append(groups, uint32(index[k]))
	}
	if len(x.Groups) == 0 && len(out.rows) == 0 {
		out.rows = append(out.rows, nil)
	}
	for _, a := range x.Aggs {
		results, err := runCall(a, in, groups, len(out.rows))
		if err != nil {
			return out, err
		}
		for i := range out.rows {
			out.rows[i] = append(out.rows[i][:len(out.rows[i]):len(out.rows[i])], results.Value(i))
		}
	}
	return out, nil
}

func runCall(a plan.AggCall, in relation, groups []uint32, n int) (*vec.Vector, error) {
	ts := make([]types.Type, len(a.Args))
	args := make([]*vec.Vector, len(a.Args))
	for i, e := range a.Args {
		ts[i] = e.Type()
		args[i] = vec.New(ts[i], 0)
	}
	in, groups, err := inOrder(a.OrderBy, in, groups)
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	var kept []uint32
	for i, values := range in.rows {
		ok, _, err := in.truth(a.Filter, values)
		if err != nil {
			return nil, err
		}
		var one row
		for _, e := range a.Args {
			v, err := in.eval(e, values)
			if err != nil {
				return nil, err
			}
			one = append(one, v)
		}
		key := fmt.Sprint(groups[i], keyOf(one))
		if !ok || a.Distinct && seen[key] {
			continue
		}
		seen[key] = true
		for j, v := range one {
			args[j].Append(v)
		}
		kept = append(kept, groups[i])
	}
	acc := a.Fn.New(ts, a.Type)
	acc.Grow(n)
	if err := acc.Update(kept, args, nil); err != nil {
		return nil, err
	}
	out := vec.New(a.Type, n)
	return out, acc.Finish(out, 0, n)
}

// inOrder sorts the input of an aggregate with ORDER BY, with the groups beside it.
func inOrder(keys []plan.SortKey, in relation, groups []uint32) (relation, []uint32, error) {
	if len(keys) == 0 {
		return in, groups, nil
	}
	tagged := relation{cols: append(append([]plan.Column(nil), in.cols...), plan.Column{ID: -9, Name: "group", Type: types.Of(types.Int64)})}
	for i, values := range in.rows {
		tagged.rows = append(tagged.rows, append(append(row(nil), values...), vec.Int64(int64(groups[i]))))
	}
	sorted, err := runSort(&plan.Sort{Keys: keys, Limit: plan.NoLimit}, tagged)
	out := relation{cols: in.cols}
	var outGroups []uint32
	for _, values := range sorted.rows {
		out.rows = append(out.rows, values[:len(in.cols)])
		outGroups = append(outGroups, uint32(values[len(in.cols)].Int))
	}
	return out, outGroups, err
}

func runJoin(x *plan.Join, l, r relation) (relation, error) {
	out := relation{cols: x.Columns()}
	if x.Apply {
		return out, fmt.Errorf("a dependent join is left in the plan")
	}
	both := relation{cols: append(append([]plan.Column(nil), l.cols...), r.cols...)}
	var conds []expr.Expr
	for _, k := range x.Keys {
		if !k.Left.Type().Equal(k.Right.Type()) {
			return out, fmt.Errorf("join key of types %s and %s", k.Left.Type(), k.Right.Type())
		}
		op := expr.Eq
		if k.NullSafe {
			op = expr.NotDistinct
		}
		conds = append(conds, &expr.Compare{Op: op, Left: k.Left, Right: k.Right})
	}
	cond := expr.AllOf(append(conds, expr.Conjuncts(x.Residual)...))
	usedRight := make([]bool, len(r.rows))
	for _, lv := range l.rows {
		matches, nulls := 0, 0
		for i, rv := range r.rows {
			pair := append(append(row(nil), lv...), rv...)
			ok, null, err := both.truth(cond, pair)
			if err != nil {
				return out, err
			}
			if null {
				nulls++
			}
			if !ok {
				continue
			}
			matches++
			usedRight[i] = true
			if x.Kind != plan.Semi && x.Kind != plan.Anti && x.Kind != plan.Mark {
				out.rows = append(out.rows, pair)
			}
		}
		switch {
		case x.Kind == plan.Semi && matches > 0, x.Kind == plan.Anti && matches == 0:
			out.rows = append(out.rows, lv)
		case x.Kind == plan.Mark:
			mark := vec.Bool(matches > 0)
			if matches == 0 && nulls > 0 {
				mark = vec.Null(mark.Type)
			}
			out.rows = append(out.rows, append(append(row(nil), lv...), mark))
		case x.Kind == plan.Single && matches > 1:
			return out, fail.New(fail.Cardinality, "a subquery gave two rows")
		case matches == 0 && (x.Kind == plan.Left || x.Kind == plan.Full || x.Kind == plan.Single):
			out.rows = append(out.rows, append(append(row(nil), lv...), nullRow(r.cols)...))
		}
	}
	if x.Kind == plan.Right || x.Kind == plan.Full {
		for i, rv := range r.rows {
			if !usedRight[i] {
				out.rows = append(out.rows, append(nullRow(l.cols), rv...))
			}
		}
	}
	return out, nil
}

// runDependent runs the right side once for each row of the left, whose columns
// are constants there, and joins that one row with it.
func runDependent(x *plan.Join) (relation, error) {
	out := relation{cols: x.Columns()}
	l, err := run(x.Left)
	if err != nil {
		return out, err
	}
	one := *x
	one.Apply = false
	for _, values := range l.rows {
		read := l.reader(values)
		right := plan.MapExprs(x.Right, func(e expr.Expr) expr.Expr {
			if c, ok := e.(*expr.Column); ok {
				if v, found := read(c.ID); found {
					return &expr.Const{Value: v}
				}
			}
			return e
		})
		r, err := run(right)
		if err != nil {
			return out, err
		}
		joined, err := runJoin(&one, relation{cols: l.cols, rows: []row{values}}, r)
		if err != nil {
			return out, err
		}
		out.rows = append(out.rows, joined.rows...)
	}
	return out, nil
}

func nullRow(cols []plan.Column) row {
	var out row
	for _, c := range cols {
		out = append(out, vec.Null(c.Type))
	}
	return out
}

func less(a, b vec.Value) bool {
	v, err := expr.EvalConst(refEnv, &expr.Compare{Op: expr.Lt, Left: &expr.Const{Value: a}, Right: &expr.Const{Value: b}})
	return err == nil && !v.Null && v.Bool
}

func runSort(x *plan.Sort, in relation) (relation, error) {
	keys := make([]row, len(in.rows))
	order := make([]int, len(in.rows))
	for i, values := range in.rows {
		order[i] = i
		for _, k := range x.Keys {
			v, err := in.eval(k.Expr, values)
			if err != nil {
				return in, err
			}
			keys[i] = append(keys[i], v)
		}
	}
	sort.SliceStable(order, func(i, j int) bool {
		a, b := keys[order[i]], keys[order[j]]
		for n, k := range x.Keys {
			if a[n].Null != b[n].Null {
				return a[n].Null == k.NullsFirst
			}
			if a[n].Null {
				continue
			}
			lo, hi := a[n], b[n]
			if k.Desc {
				lo, hi = hi, lo
			}
			if less(lo, hi) {
				return true
			}
			if less(hi, lo) {
				return false
			}
		}
		return false
	})
	out := relation{cols: in.cols}
	for _, i := range order {
		out.rows = append(out.rows, in.rows[i])
	}
	return slice(out, x.Offset, x.Limit), nil
}

// ablate runs a statement with every choice of passes that matters: all, none,
// each one off, each one alone; and with its dependent joins run row by row. All
// must give the same rows.
func ablate(t *testing.T, p *planner.Planner, sql string) string {
	want, ok := "", false
	names := planner.PassNames()
	choices := []string{"", "all"}
	for i, n := range names {
		others := append(append([]string(nil), names[:i]...), names[i+1:]...)
		choices = append(choices, n, strings.Join(others, ","))
	}
	for _, off := range choices {
		got := runText(p, sql, off)
		if !ok {
			want, ok = got, true
		}
		if got != want {
			t.Errorf("%s\nwith passes off: %s\ngives\n%s\nnot\n%s\n%s", sql, off, got, want,
				planText(p, planner.Session{Options: map[string]string{planner.OptionDisabledPasses: off}}, sql))
		}
	}
	if got := runText(p.WithDependent(), sql, "all"); got != want && !strings.HasPrefix(want, "error 0A000") {
		t.Errorf("%s\nrow by row gives\n%s\nnot\n%s", sql, got, want)
	}
	return want
}

// runText gives the rows of a query; in sorted order unless it has an ORDER BY outside parentheses.
func runText(p *planner.Planner, sql, off string) string {
	sess := planner.Session{Options: map[string]string{planner.OptionDisabledPasses: off}}
	prepared, err := p.Prepare(context.Background(), sess, sql, nil)
	if err != nil {
		return errorText(err)
	}
	q, ok := prepared[0].Statement.(*plan.Query)
	if !ok {
		return "not a query\n"
	}
	r, err := run(q.Root)
	if err != nil {
		return fmt.Sprintf("error: %v\n", err)
	}
	if r, err = project(r.cols, r, q.Root.Columns()); err != nil {
		return fmt.Sprintf("error: %v\n", err)
	}
	var lines []string
	for _, values := range r.rows {
		words := make([]string, len(values))
		for i, v := range values {
			words[i] = v.String()
		}
		lines = append(lines, strings.Join(words, " | "))
	}
	if outside := sql[strings.LastIndexByte(sql, ')')+1:]; !strings.Contains(strings.ToUpper(outside), "ORDER BY") {
		sort.Strings(lines)
	}
	return strings.Join(lines, "\n") + fmt.Sprintf("\n(%d rows)\n", len(lines))
}

// ownReads are the columns that the expressions of one node read.
func ownReads(n plan.Node) map[int32]string {
	kids := n.Children()
	if len(kids) > 0 {
		stubs := make([]plan.Node, len(kids))
		for i := range stubs {
			stubs[i] = &plan.Values{}
		}
		n = n.WithChildren(stubs)
	}
	out := map[int32]string{}
	plan.MapExprs(n, func(e expr.Expr) expr.Expr {
		if c, ok := e.(*expr.Column); ok {
			out[int32(c.ID)] = c.Name
		}
		return e
	})
	return out
}
