package optimizer

import (
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/plan"
)

// Options say how a statement is optimized.
type Options struct {
	// Disabled are the names of passes that do not run.
	Disabled []string
	// Stats may be nil.
	Stats Stats
	// Unbound is set while parameters have no values: numbers of rows that
	// depend on them are then left as the binder wrote them.
	Unbound bool
}

// context is what passes share while one statement is optimized.
type context struct {
	opts Options
	rows *estimator
}

// pass is one rewrite of a whole plan.
type pass struct {
	name string
	run  func(*context, plan.Node) plan.Node
	// search passes decide what a search means (which conditions reach it and
	// filter before ranking, how many candidates it takes): a plan with a SearchScan
	// runs them even when they are switched off.
	search bool
	// late passes run again when parameters have their values. The others have
	// done their work; join_order would even lose the statistics that it had.
	late bool
}

// passes run in this order. push_down_filter runs again where an outer join has
// become an inner one and lets more conditions through.
var passes = []pass{
	{name: "simplify", run: simplify, search: true, late: true},
	{name: "push_down_filter", run: pushDownFilter, search: true},
	{name: "simplify_outer_join", run: simplifyOuterJoin, search: true},
	{name: "push_down_filter", run: pushDownFilter, search: true},
	{name: "join_order", run: joinOrder},
	{name: "push_down_limit", run: pushDownLimit, late: true},
	{name: "top_n", run: topN, late: true},
	{name: "search_pushdown", run: searchPushdown, search: true, late: true},
	{name: "prune_columns", run: pruneColumns},
	{name: "merge_projections", run: mergeProjections},
}

// PassNames lists the passes in the order in which they run.
func PassNames() []string {
	var names []string
	for i, p := range passes {
		if i == 0 || !contains(names, p.name) {
			names = append(names, p.name)
		}
	}
	return names
}

// HasPass reports whether there is a pass of the name.
func HasPass(name string) bool {
	return contains(PassNames(), name)
}

func contains(names []string, name string) bool {
	for _, n := range names {
		if n == name {
			return true
		}
	}
	return false
}

// Statement optimizes the plans of a statement.
func Statement(stmt plan.Statement, opts Options) (plan.Statement, error) {
	c := &context{opts: opts, rows: newEstimator(opts.Stats)}
	return mapRoots(stmt, func(n plan.Node) (plan.Node, error) { return c.optimize(n) })
}

// finish optimizes a plan whose parameters have got their values.
func finish(n plan.Node) (plan.Node, error) {
	before := n.Columns()
	c := &context{}
	for _, p := range passes {
		if p.late {
			n = p.run(c, n)
		}
	}
	n = resolveLimits(n, false)
	return n, checkColumns(before, n)
}

func (c *context) optimize(n plan.Node) (plan.Node, error) {
	before := n.Columns()
	search := hasSearch(n)
	for _, p := range passes {
		if !contains(c.opts.Disabled, p.name) || search && p.search {
			n = p.run(c, n)
		}
	}
	n = resolveLimits(n, c.opts.Unbound)
	return n, checkColumns(before, n)
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

// checkColumns guards the one thing that every pass must keep: the output.
func checkColumns(before []plan.Column, n plan.Node) error {
	after := n.Columns()
	if len(before) != len(after) {
		return fail.Bug("optimizer: the plan had %d output columns and has %d", len(before), len(after))
	}
	for i := range before {
		if before[i].ID != after[i].ID {
			return fail.Bug("optimizer: output column %d (%s) became %s", i, before[i].Name, after[i].Name)
		}
	}
	return nil
}

// mapRoots rewrites the plans inside a statement.
func mapRoots(stmt plan.Statement, f func(plan.Node) (plan.Node, error)) (plan.Statement, error) {
	switch s := stmt.(type) {
	case *plan.Query:
		n, err := f(s.Root)
		return &plan.Query{Root: n, Cols: s.Cols}, err
	case *plan.Insert:
		k := *s
		var err error
		if k.Input, k.Returning, err = mapWrite(s.Input, s.Returning, f); err == nil && s.Conflict != nil && s.Conflict.Update != nil {
			k.Conflict = &plan.Conflict{Fields: s.Conflict.Fields}
			k.Conflict.Update, err = f(s.Conflict.Update)
		}
		return &k, err
	case *plan.Update:
		k := *s
		var err error
		k.Input, k.Returning, err = mapWrite(s.Input, s.Returning, f)
		return &k, err
	case *plan.Delete:
		k := *s
		var err error
		k.Input, k.Returning, err = mapWrite(s.Input, s.Returning, f)
		return &k, err
	case *plan.CreateObject:
		if s.As == nil {
			return s, nil
		}
		k := *s
		var err error
		k.As, err = f(s.As)
		return &k, err
	case *plan.Explain:
		target, err := mapRoots(s.Target, f)
		return &plan.Explain{Target: target, Analyze: s.Analyze}, err
	}
	return stmt, nil
}

// mapWrite rewrites the plan of what is written and that of RETURNING, if there is one.
func mapWrite(input, returning plan.Node, f func(plan.Node) (plan.Node, error)) (in, out plan.Node, err error) {
	if in, err = f(input); err != nil || returning == nil {
		return in, nil, err
	}
	out, err = f(returning)
	return in, out, err
}

// rewriteUp applies f to every node, inputs first.
func rewriteUp(n plan.Node, f func(plan.Node) plan.Node) plan.Node {
	kids := n.Children()
	if len(kids) > 0 {
		out := make([]plan.Node, len(kids))
		changed := false
		for i, k := range kids {
			out[i] = rewriteUp(k, f)
			changed = changed || out[i] != k
		}
		if changed {
			n = n.WithChildren(out)
		}
	}
	return f(n)
}
