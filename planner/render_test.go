package planner_test

import (
	"fmt"
	"strings"

	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/plan"
)

// render draws a plan for golden files: one node a line, columns as name#id.
func render(n plan.Node) string {
	var b strings.Builder
	draw(&b, n, "")
	return b.String()
}

func draw(b *strings.Builder, n plan.Node, indent string) {
	fmt.Fprintf(b, "%s%s\n", indent, strings.TrimRight(n.Name()+" "+detail(n), " "))
	for _, k := range n.Children() {
		draw(b, k, indent+"  ")
	}
}

func show(e expr.Expr) string {
	if e == nil {
		return ""
	}
	return expr.Rewrite(e, func(x expr.Expr) expr.Expr {
		if c, ok := x.(*expr.Column); ok {
			return &expr.Column{ID: c.ID, Name: fmt.Sprintf("%s#%d", c.Name, c.ID), T: c.T}
		}
		return x
	}).String()
}

func cols(cs []plan.Column) string {
	parts := make([]string, len(cs))
	for i, c := range cs {
		parts[i] = fmt.Sprintf("%s#%d", c.Name, c.ID)
	}
	return strings.Join(parts, ", ")
}

func named(es []plan.NamedExpr) string {
	parts := make([]string, len(es))
	for i, e := range es {
		if c, ok := e.Expr.(*expr.Column); ok && c.ID == e.ID {
			parts[i] = fmt.Sprintf("%s#%d", e.Name, e.ID)
			continue
		}
		parts[i] = fmt.Sprintf("%s#%d=%s", e.Name, e.ID, show(e.Expr))
	}
	return strings.Join(parts, ", ")
}

func keys(ks []plan.SortKey) string {
	parts := make([]string, len(ks))
	for i, k := range ks {
		parts[i] = show(k.Expr)
		if k.Desc {
			parts[i] += " DESC"
		}
		if k.NullsFirst != k.Desc {
			parts[i] += map[bool]string{true: " NULLS FIRST", false: " NULLS LAST"}[k.NullsFirst]
		}
	}
	return strings.Join(parts, ", ")
}

func limits(count, offset int64) string {
	s := ""
	if count != plan.NoLimit {
		s += fmt.Sprintf(" limit=%d", count)
	}
	if offset != 0 {
		s += fmt.Sprintf(" offset=%d", offset)
	}
	return s
}

func filter(e expr.Expr) string {
	if e == nil {
		return ""
	}
	return " filter=" + show(e)
}

func detail(n plan.Node) string {
	switch x := n.(type) {
	case *plan.Scan:
		return fmt.Sprintf("%s.%s%s [%s]%s%s", x.Object.Namespace, x.Object.Name, at(x.At), cols(x.Columns()), filter(x.Filter), limits(x.Limit, 0))
	case *plan.SearchScan:
		return search(x)
	case *plan.SystemScan:
		return fmt.Sprintf("%s [%s]", x.Table, cols(x.Columns()))
	case *plan.FileScan:
		return fmt.Sprintf("%s %s [%s]", x.Format, strings.Join(x.Paths, ","), cols(x.Columns()))
	case *plan.Series:
		return fmt.Sprintf("%s#%d from %s to %s step %s", x.Col.Name, x.Col.ID, show(x.Start), show(x.Stop), show(x.Step))
	case *plan.Filter:
		return show(x.Pred)
	case *plan.Project:
		return named(x.Exprs)
	case *plan.Aggregate:
		return "[" + named(x.Groups) + "] [" + aggs(x.Aggs) + "]"
	case *plan.Unnest:
		return unnest(x)
	case *plan.Recursive:
		return fmt.Sprintf("%s#%d distinct=%t %s", x.Label, x.Table, x.Distinct, cols(x.Cols))
	case *plan.WorkingTable:
		return fmt.Sprintf("%s#%d [%s]", x.Label, x.Table, cols(x.Cols))
	case *plan.GroupingSets:
		return fmt.Sprintf("[%s] %v [%s]%s", named(x.Groups), x.Sets, aggs(x.Aggs), marks(x.Marks))
	case *plan.Window:
		return windows(x)
	case *plan.Join:
		return join(x)
	case *plan.Sort:
		return keys(x.Keys) + limits(x.Limit, x.Offset)
	case *plan.Limit:
		return strings.TrimSpace(limits(x.Count, x.Offset))
	case *plan.UnionAll:
		return cols(x.Cols)
	case *plan.Values:
		rows := make([]string, len(x.Rows))
		for i, r := range x.Rows {
			rows[i] = "(" + expr.Join(r) + ")"
		}
		return "[" + cols(x.Cols) + "] " + strings.Join(rows, " ")
	}
	return ""
}

func unnest(x *plan.Unnest) string {
	parts := make([]string, len(x.Items))
	for i, it := range x.Items {
		var args []string
		for _, e := range it.Exprs() {
			args = append(args, show(e))
		}
		parts[i] = fmt.Sprintf("%s#%d=(%s)", it.Name, it.ID, strings.Join(args, ", "))
	}
	s := "[" + strings.Join(parts, ", ") + "]"
	if x.Ordinal.ID != 0 {
		s += fmt.Sprintf(" %s#%d", x.Ordinal.Name, x.Ordinal.ID)
	}
	if x.Outer {
		s += " outer"
	}
	return s
}

func marks(ms []plan.GroupingMark) string {
	s := ""
	for _, m := range ms {
		s += fmt.Sprintf(" %s#%d of %v", m.Name, m.ID, m.Keys)
	}
	return s
}

func windows(x *plan.Window) string {
	parts := make([]string, len(x.PartitionBy))
	for i, e := range x.PartitionBy {
		parts[i] = show(e)
	}
	out := "[" + strings.Join(parts, ", ") + "] [" + keys(x.OrderBy) + "]"
	for _, c := range x.Calls {
		out += fmt.Sprintf(" #%d=%s", c.ID, c)
	}
	return out
}

func aggs(as []plan.AggCall) string {
	parts := make([]string, len(as))
	for i, a := range as {
		args := make([]string, len(a.Args))
		for j, e := range a.Args {
			args[j] = show(e)
		}
		inner := strings.Join(args, ", ")
		if a.Distinct {
			inner = "DISTINCT " + inner
		}
		if len(a.OrderBy) > 0 {
			inner += " ORDER BY " + keys(a.OrderBy)
		}
		parts[i] = fmt.Sprintf("#%d=%s(%s)%s", a.ID, a.Fn.Name, inner, filter(a.Filter))
	}
	return strings.Join(parts, ", ")
}

func join(x *plan.Join) string {
	s := x.Kind.String()
	for _, k := range x.Keys {
		op := "="
		if k.NullSafe {
			op = "<=>"
		}
		s += fmt.Sprintf(" %s %s %s", show(k.Left), op, show(k.Right))
	}
	if x.Residual != nil {
		s += " residual=" + show(x.Residual)
	}
	if x.Kind == plan.Mark {
		s += fmt.Sprintf(" mark=%s#%d", x.Mark.Name, x.Mark.ID)
	}
	return s
}

func at(x *plan.At) string {
	if x == nil {
		return ""
	}
	return " " + x.String()
}

func search(x *plan.SearchScan) string {
	s := fmt.Sprintf("%s.%s%s [%s]%s%s", x.Object.Namespace, x.Object.Name, at(x.At), cols(x.Columns()), filter(x.Filter), limits(x.Limit, x.Offset))
	if x.RRFK > 0 {
		s += fmt.Sprintf(" rrf=%g", x.RRFK)
	}
	for _, w := range x.Within {
		s += " within=" + show(w.Key)
	}
	if x.MinScore != nil {
		s += " min_score=" + show(x.MinScore)
	}
	for _, l := range x.Legs {
		if l.Kind == plan.VectorLeg {
			s += fmt.Sprintf(" {vector %s %s %s", l.Field, l.Metric, show(l.Query))
		} else {
			s += fmt.Sprintf(" {text %v %s mode=%s and=%t", l.Fields, show(l.Query), l.Mode, l.And)
		}
		s += fmt.Sprintf(" limit=%d weight=%g%s}", l.Limit, l.Weight, filter(l.Filter))
	}
	return s
}

// statement draws any statement.
func statement(s plan.Statement) string {
	switch x := s.(type) {
	case *plan.Query:
		names := make([]string, len(x.Cols))
		for i, c := range x.Cols {
			names[i] = c.Name + " " + c.Type.String()
		}
		return "-> " + strings.Join(names, ", ") + "\n" + render(x.Root)
	case *plan.Insert:
		return fmt.Sprintf("Insert %s (%s)\n", x.Object.Name, strings.Join(x.Fields, ", ")) + render(x.Input) + conflict(x.Conflict) + returned(x.Returning)
	case *plan.Update:
		return fmt.Sprintf("Update %s (%s)\n", x.Object.Name, strings.Join(x.Fields, ", ")) + render(x.Input) + returned(x.Returning)
	case *plan.Delete:
		return fmt.Sprintf("Delete %s\n", x.Object.Name) + render(x.Input) + returned(x.Returning)
	case *plan.Nothing:
		return "Nothing: " + x.Note + "\n"
	case *plan.Explain:
		return fmt.Sprintf("Explain analyze=%t\n", x.Analyze) + statement(x.Target)
	case *plan.SetOption:
		if x.Value == nil {
			return "SetOption " + x.Option + " to its default\n"
		}
		return fmt.Sprintf("SetOption %s = %q\n", x.Option, *x.Value)
	case *plan.CreateObject:
		return create(x)
	case *plan.DropObjects:
		s := fmt.Sprintf("DropObjects cascade=%t\n", x.Cascade)
		for _, o := range x.Objects {
			s += fmt.Sprintf("  %s %s.%s\n", o.Kind, o.Namespace, o.Name)
		}
		if x.Note != "" {
			s += "  note: " + x.Note + "\n"
		}
		return s
	case *plan.AlterObject:
		s := fmt.Sprintf("AlterObject %s -> %s last field %d\n", x.Old.QualifiedName(), x.New.Name, x.New.LastField)
		for _, f := range x.New.Fields {
			s += fmt.Sprintf("  %d %s %s not_null=%t max_chars=%d\n", f.ID, f.Name, f.Type, f.NotNull, f.MaxChars)
		}
		return s + x.Note
	case *plan.CreateLink:
		l := x.Link.Link
		s := fmt.Sprintf("CreateLink %s from %d into %d on_error=%s bytes=%d interval=%s latest=%t state=%s\n  %s\n",
			x.Link.QualifiedName(), l.Source, l.Target, l.OnError, l.BatchBytes, l.BatchInterval, x.Latest, l.State, x.Link.Query.Text)
		if x.Dead != nil {
			s += fmt.Sprintf("  dead letters %s %s\n", x.Dead.QualifiedName(), strings.Join(x.Dead.FieldNames(), " "))
		}
		return s
	case *plan.AlterLink:
		l := x.New.Link
		return fmt.Sprintf("AlterLink %s %s on_error=%s bytes=%d %+v\n", x.New.Name, l.State, l.OnError, l.BatchBytes, l.Error)
	case *plan.CreateView:
		s := fmt.Sprintf("CreateView %s replaces=%t if_not_exists=%t\n", x.View.QualifiedName(), x.Old != nil, x.IfNotExists)
		for _, f := range x.View.Fields {
			s += fmt.Sprintf("  %d %s %s\n", f.ID, f.Name, f.Type)
		}
		s += "  as " + x.View.Query.Text + "\n"
		for _, u := range x.View.Query.Uses {
			s += fmt.Sprintf("  %s is object %d, %d fields\n", u.Name, u.ID, len(u.Fields))
		}
		return s
	}
	return fmt.Sprintf("%T %+v\n", s, s)
}

// transform shows what a link does with each row.
func transform(t *plan.Transform) string {
	s := fmt.Sprintf("from %s into %s\n", t.Source.QualifiedName(), t.Target.QualifiedName())
	if t.Where != nil {
		s += "  where " + t.Where.String() + "\n"
	}
	for i, e := range t.Exprs {
		s += fmt.Sprintf("  %d = %s\n", t.Fields[i], e)
	}
	return s
}

func conflict(c *plan.Conflict) string {
	switch {
	case c == nil:
		return ""
	case c.Update == nil:
		return "On conflict: nothing\n"
	}
	return fmt.Sprintf("On conflict: update (%s)\n", strings.Join(c.Fields, ", ")) + render(c.Update)
}

func returned(n plan.Node) string {
	if n == nil {
		return ""
	}
	return "Returning\n" + render(n)
}

func create(x *plan.CreateObject) string {
	o := x.Object
	s := fmt.Sprintf("CreateObject %s %s.%s if_not_exists=%t or_replace=%t partitions=%d dynamic=%t options=%v\n",
		o.Kind, o.Namespace, o.Name, x.IfNotExists, x.OrReplace, o.Partitions, o.Dynamic, o.Options)
	for i, f := range o.Fields {
		s += fmt.Sprintf("  %d %s %s", f.ID, f.Name, f.Type)
		if o.IsKey(i) {
			s += " key"
		}
		if f.NotNull {
			s += " not null"
		}
		if f.FullText != "" {
			s += " fulltext=" + f.FullText
		}
		if f.Metric != "" {
			s += " metric=" + string(f.Metric)
		}
		if f.Modifier != "" {
			s += " modifier=" + f.Modifier
		}
		s += "\n"
	}
	if x.As != nil {
		s += render(x.As)
	}
	return s
}
