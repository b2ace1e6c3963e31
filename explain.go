package loam

import (
	"context"
	"fmt"
	"strings"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/plan"
)

// explain answers EXPLAIN: the plan's lines with the rows that are expected; with
// ANALYZE after a run, with what each operator did.
func (st *Statement) explain(ctx context.Context, x *plan.Explain) (*Result, error) {
	root, head := explained(x.Target)
	if root == nil {
		return textResult(explainColumns, []string{head}), nil
	}
	rows := st.session.engine.planner.Rows(ctx)
	if !x.Analyze {
		lines := plan.ExplainWith(root, func(n plan.Node) string {
			if _, ok := n.(*plan.Values); ok {
				return "" // says how many they are
			}
			return "rows" + plan.About(rows(n))
		})
		return textResult(explainColumns, indented(head, lines)), nil
	}
	if _, ok := x.Target.(*plan.Query); !ok {
		return nil, fail.New(fail.Unsupported, "EXPLAIN ANALYZE of a statement that writes").WithHint("Explain its SELECT.")
	}
	plan.Walk(root, func(n plan.Node) bool { return rows(n) > 0 }) // before rows are applied that the planner did not know
	pin, snaps, err := st.session.pinQuery(ctx, root)
	if err != nil {
		return nil, err
	}
	r, tracker, err := st.start(ctx, root, pin, snaps, true)
	if err != nil {
		return nil, err
	}
	defer tracker.Close()
	defer func() { _ = r.Close() }()
	for {
		c, err := r.Next(ctx)
		if err != nil {
			return nil, err
		}
		if c == nil {
			return textResult(explainColumns, indented(head, r.Profile().Render(rows))), nil
		}
	}
}

// explained is the plan of a statement and the line above it.
func explained(stmt plan.Statement) (plan.Node, string) {
	switch x := stmt.(type) {
	case *plan.Query:
		return x.Root, ""
	case *plan.Insert:
		return x.Input, fmt.Sprintf("Insert %s (%s)", x.Object.Name, strings.Join(x.Fields, ", "))
	case *plan.Update:
		return x.Input, fmt.Sprintf("Update %s (%s)", x.Object.Name, strings.Join(x.Fields, ", "))
	case *plan.Delete:
		return x.Input, "Delete " + x.Object.Name
	case *plan.CreateObject:
		return x.As, fmt.Sprintf("Create %s %s", x.Object.Kind, x.Object.Name)
	}
	return nil, strings.TrimPrefix(fmt.Sprintf("%T", stmt), "*plan.")
}

func indented(head string, lines []string) []string {
	if head == "" {
		return lines
	}
	out := []string{head}
	for _, l := range lines {
		out = append(out, "  "+l)
	}
	return out
}
