package binder

import (
	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/planner/internal/ast"
)

// A subquery in WHERE over the columns of a search filters before the search
// ranks, as every other condition does. It cannot be joined to the search: then
// the ranked rows would be filtered, and fewer than the limit would come back
// although more match. It is run first; its values become a filter of the search.

// beforeSearch makes a conjunct of WHERE that holds subqueries a filter of the one
// search whose columns it reads. false where it reads a score, several tables or
// no search: it is then joined and filters what FROM gives.
func (k *block) beforeSearch(e ast.Expr) (bool, error) {
	if !hasSearch(k.node) || !hasQuery(e) {
		return false, nil
	}
	c := &clause{b: k.b, scope: k.scope, name: "WHERE", aliases: k.sel.Items}
	taken, err := c.conjunctJoin(e)
	if err != nil {
		return false, err
	}
	var pred expr.Expr
	if !taken {
		if pred, err = c.predicate(e); err != nil {
			return false, err
		}
	}
	s := ownSearch(k.node, k.readBy(c.joins, pred))
	if s == nil {
		return false, nil
	}
	within, searched, err := k.b.within(s, c.joins, pred)
	if err != nil {
		return false, err
	}
	searched.Within = append(append([]plan.Within(nil), s.Within...), within)
	k.node = replaceNode(k.node, s, searched)
	return true, nil
}

func hasSearch(n plan.Node) bool {
	found := false
	plan.Walk(n, func(k plan.Node) bool {
		_, ok := k.(*plan.SearchScan)
		found = found || ok
		return !found
	})
	return found
}

// hasQuery reports whether an expression holds a subquery.
func hasQuery(e ast.Expr) bool {
	found := false
	ast.Inspect(e, func(n ast.Node) bool {
		_, ok := n.(*ast.Query)
		found = found || ok
		return !found
	})
	return found
}

// readBy are the columns of FROM that a condition and its subqueries read.
func (k *block) readBy(joins []subJoin, pred expr.Expr) idSet {
	used := idSet{}
	expr.Columns(pred, used)
	for _, j := range joins {
		for id := range freeColumns(j.right) {
			used[id] = true
		}
		for _, key := range j.keys {
			expr.Columns(key.Left, used)
		}
	}
	from := columnsOf(k.node)
	for id := range used {
		if !from[id] {
			delete(used, id)
		}
	}
	return used
}

// ownSearch is the search that has all these columns, below joins that drop its
// rows or keep them; nil where there is none, or a score is read.
func ownSearch(n plan.Node, used idSet) *plan.SearchScan {
	switch x := n.(type) {
	case *plan.SearchScan:
		if len(used) > 0 && used.within(columnsOf(x)) && !used[x.Score.ID] {
			return x
		}
	case *plan.Join:
		if s := ownSearch(x.Left, used); s != nil && x.Kind != plan.Right && x.Kind != plan.Full {
			return s
		}
		if x.Kind == plan.Inner {
			return ownSearch(x.Right, used)
		}
	case *plan.Unnest:
		return ownSearch(x.Input, used)
	}
	return nil
}

func replaceNode(n, old, by plan.Node) plan.Node {
	if n == old {
		return by
	}
	kids := n.Children()
	if len(kids) == 0 {
		return n
	}
	out := make([]plan.Node, len(kids))
	for i, k := range kids {
		out[i] = replaceNode(k, old, by)
	}
	return n.WithChildren(out)
}

// within is the condition as the values that a column of the search must have: the
// values of x for x IN (SELECT …) that reads nothing of the search, else the keys
// of the documents that fulfill it.
func (b *Binder) within(s *plan.SearchScan, joins []subJoin, pred expr.Expr) (plan.Within, *plan.SearchScan, error) {
	searched := *s
	if pred == nil && len(joins) == 1 {
		j := joins[0]
		if j.kind == plan.Semi && len(j.keys) == 1 && !meets(freeColumns(j.right), s) {
			value := j.keys[0].Right.(*expr.Column)
			values := passColumns(j.right, []plan.Column{{ID: value.ID, Name: value.Name, Type: value.T}})
			return plan.Within{Key: j.keys[0].Left, Values: values}, &searched, nil
		}
	}
	text := types.Of(types.Text)
	own := plan.ScanColumn{Column: b.newColumn("_pk", text), Field: "_pk"}
	searched.Cols = append(append([]plan.ScanColumn(nil), s.Cols...), own)
	by := map[expr.ColumnID]expr.Expr{}
	scan := &plan.Scan{Object: s.Object, At: s.At, Limit: plan.NoLimit}
	for _, col := range s.Cols {
		fresh := plan.ScanColumn{Column: b.newColumn(col.Name, col.Type), Field: col.Field}
		by[col.ID] = fresh.Ref()
		scan.Cols = append(scan.Cols, fresh)
	}
	pk := plan.ScanColumn{Column: b.newColumn("_pk", text), Field: "_pk"}
	scan.Cols = append(scan.Cols, pk)
	var node plan.Node = scan
	for _, j := range joins {
		j.right = plan.MapExprs(j.right, func(e expr.Expr) expr.Expr {
			if c, ok := e.(*expr.Column); ok && by[c.ID] != nil {
				return by[c.ID]
			}
			return e
		})
		keys := append([]plan.EquiKey(nil), j.keys...)
		for i := range keys {
			keys[i].Left = substitute(keys[i].Left, by)
		}
		j.keys = keys
		var err error
		if node, err = b.apply(node, j); err != nil {
			return plan.Within{}, nil, err
		}
	}
	if pred != nil {
		node = &plan.Filter{Input: node, Pred: substitute(pred, by)}
	}
	return plan.Within{Key: own.Ref(), Values: passColumns(node, []plan.Column{pk.Column})}, &searched, nil
}
