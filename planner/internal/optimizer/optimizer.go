package optimizer

import (
	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/internal/schema"
)

// Stats tells how large objects are; see the planner's interface of the same name.
type Stats interface {
	Rows(obj *schema.Object) (float64, bool)
}

// Options say how a statement is optimized.
type Options struct {
	// Disabled are the names of passes that do not run.
	Disabled []string
	// Stats may be nil.
	Stats Stats
	// NextID is the first column id that is free.
	NextID expr.ColumnID
	// Unbound is set while parameters have no values: numbers of rows that
	// depend on them are then left as the binder wrote them.
	Unbound bool
}

// context is what passes share while one statement is optimized.
type context struct {
	opts Options
	next expr.ColumnID
}

func (c *context) newColumn(name string, like plan.Column) plan.Column {
	c.next++
	return plan.Column{ID: c.next - 1, Name: name, Type: like.Type}
}

// pass is one rewrite of a whole plan.
type pass struct {
	name string
	run  func(*context, plan.Node) plan.Node
}

// passes run in this order.
var passes = []pass{
	{"simplify", simplify},
}

// PassNames lists the passes in the order in which they run.
func PassNames() []string {
	names := make([]string, len(passes))
	for i, p := range passes {
		names[i] = p.name
	}
	return names
}

// HasPass reports whether there is a pass of the name.
func HasPass(name string) bool {
	for _, p := range passes {
		if p.name == name {
			return true
		}
	}
	return false
}

// Statement optimizes the plans of a statement.
func Statement(stmt plan.Statement, opts Options) (plan.Statement, error) {
	c := &context{opts: opts, next: opts.NextID}
	return mapRoots(stmt, func(n plan.Node) (plan.Node, error) { return c.optimize(n) })
}

// Plan optimizes one plan.
func Plan(n plan.Node, opts Options) (plan.Node, error) {
	return (&context{opts: opts, next: opts.NextID}).optimize(n)
}

func (c *context) optimize(n plan.Node) (plan.Node, error) {
	before := n.Columns()
	for _, p := range passes {
		if !c.disabled(p.name) {
			n = p.run(c, n)
		}
	}
	n = resolveLimits(n, c.opts.Unbound)
	return n, checkColumns(before, n)
}

func (c *context) disabled(name string) bool {
	for _, d := range c.opts.Disabled {
		if d == name {
			return true
		}
	}
	return false
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
		n, err := f(s.Input)
		return &plan.Insert{Object: s.Object, Input: n, Fields: s.Fields}, err
	case *plan.Update:
		n, err := f(s.Input)
		return &plan.Update{Object: s.Object, Input: n, Fields: s.Fields}, err
	case *plan.Delete:
		n, err := f(s.Input)
		return &plan.Delete{Object: s.Object, Input: n}, err
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
