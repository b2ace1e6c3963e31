package planner_test

import (
	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// The reference interpreter's nodes beside those of plain SQL.

// runGroupingSets groups once for each set, with NULL for the keys outside of it.
func runGroupingSets(x *plan.GroupingSets, in relation) (relation, error) {
	out := relation{cols: x.Columns()}
	for _, set := range x.Sets {
		agg := &plan.Aggregate{Aggs: x.Aggs}
		for _, k := range set {
			agg.Groups = append(agg.Groups, x.Groups[k])
		}
		one, err := runAggregate(&plan.Aggregate{Input: &plan.Values{}, Groups: agg.Groups, Aggs: agg.Aggs}, in)
		if err != nil {
			return out, err
		}
		for _, values := range one.rows {
			var next row
			for k, g := range x.Groups {
				v := vec.Null(g.Type)
				for i, have := range set {
					if have == k {
						v = values[i]
					}
				}
				next = append(next, v)
			}
			next = append(next, values[len(set):]...)
			for _, m := range x.Marks {
				next = append(next, vec.Int32(m.Value(set)))
			}
			out.rows = append(out.rows, next)
		}
	}
	return out, nil
}

// runUnnest makes the rows of each input row one after the other.
func runUnnest(x *plan.Unnest, in relation) (relation, error) {
	out := relation{cols: x.Columns()}
	for _, values := range in.rows {
		most := 0
		var lists [][]vec.Value
		for _, it := range x.Items {
			list, err := elementsOf(it, in, values)
			if err != nil {
				return out, err
			}
			lists = append(lists, list)
			most = max(most, len(list))
		}
		empty := most == 0 && x.Outer
		if empty {
			most = 1
		}
		for i := range most {
			var next row
			for _, c := range x.Columns() {
				if v, ok := in.reader(values)(c.ID); ok {
					next = append(next, v)
				}
			}
			for k, list := range lists {
				if i < len(list) {
					next = append(next, list[i])
				} else {
					next = append(next, vec.Null(x.Items[k].Type))
				}
			}
			if x.Ordinal.ID != 0 {
				n := vec.Int64(int64(i + 1))
				n.Null = empty
				next = append(next, n)
			}
			out.rows = append(out.rows, next)
		}
	}
	return out, nil
}

// elementsOf lists the elements of one item of a row.
func elementsOf(it plan.UnnestItem, in relation, values row) ([]vec.Value, error) {
	var args []vec.Value
	for _, e := range it.Exprs() {
		v, err := in.eval(e, values)
		if err != nil || v.Null {
			return nil, err
		}
		args = append(args, v)
	}
	if it.List != nil {
		return args[0].List, nil
	}
	var out []vec.Value
	step := args[2].Int
	for i := args[0].Int; step > 0 && i <= args[1].Int || step < 0 && i >= args[1].Int; i += step {
		if !it.Exclusive || i != args[1].Int {
			out = append(out, vec.Int64(i))
		}
	}
	return out, nil
}

// runRecursive replaces the working table by the rows of the last round, round
// after round.
func runRecursive(x *plan.Recursive) (relation, error) {
	out := relation{cols: x.Cols}
	seen := map[string]bool{}
	round, err := run(x.Base)
	for err == nil {
		var fresh []row
		for _, values := range round.rows {
			if key := keyOf(values); !x.Distinct || !seen[key] {
				seen[key] = true
				fresh = append(fresh, values)
			}
		}
		if len(fresh) == 0 {
			return out, nil
		}
		out.rows = append(out.rows, fresh...)
		round, err = run(withWorking(x.Step, x.Table, fresh))
	}
	return out, err
}

// withWorking puts rows in place of a working table.
func withWorking(n plan.Node, table expr.ColumnID, rows []row) plan.Node {
	if w, ok := n.(*plan.WorkingTable); ok && w.Table == table {
		c := vec.NewChunk(columnTypes(w.Cols), len(rows))
		for _, values := range rows {
			for i, v := range values {
				c.Cols[i].Append(v)
			}
			c.N++
		}
		return &plan.Materialized{Cols: w.Cols, Chunks: []*vec.Chunk{c}}
	}
	kids := n.Children()
	if len(kids) == 0 {
		return n
	}
	next := make([]plan.Node, len(kids))
	for i, k := range kids {
		next[i] = withWorking(k, table, rows)
	}
	return n.WithChildren(next)
}

func columnTypes(cols []plan.Column) []types.Type {
	out := make([]types.Type, len(cols))
	for i, c := range cols {
		out[i] = c.Type
	}
	return out
}

func materialized(x *plan.Materialized) []row {
	var out []row
	for _, c := range x.Chunks {
		for i := range c.Rows() {
			var values row
			for _, col := range c.Cols {
				values = append(values, col.Value(c.RowAt(i)))
			}
			out = append(out, values)
		}
	}
	return out
}

// runSearchWithin searches with the values of the plans within in its filter.
func runSearchWithin(x *plan.SearchScan, in []relation) (relation, error) {
	k := *x
	k.Within = nil
	filter := expr.Conjuncts(x.Filter)
	for i, w := range x.Within {
		list := &expr.In{Arg: w.Key}
		for _, values := range in[i].rows {
			list.List = append(list.List, &expr.Const{Value: values[0]})
		}
		if len(list.List) == 0 {
			return relation{cols: x.Columns()}, nil
		}
		filter = append(filter, list)
	}
	k.Filter = expr.AllOf(filter)
	return runSearch(&k)
}
