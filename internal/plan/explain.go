package plan

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/loamdb/loam/internal/expr"
)

// ExplainText prints a plan as EXPLAIN shows it: one node a line, inputs below their
// node and indented by two spaces, each with the arguments that decide what it
// does. A join lists its left input first.
func ExplainText(root Node) []string { return ExplainWith(root, nil) }

// ExplainWith is ExplainText with a note behind each node; an empty note adds nothing.
func ExplainWith(root Node, note func(Node) string) []string {
	var out []string
	explain(root, "", note, &out)
	return out
}

// About prints an estimated number of rows.
func About(rows float64) string {
	if rows < 1e15 {
		return "≈" + strconv.FormatFloat(rows, 'f', 0, 64)
	}
	return "≈" + strconv.FormatFloat(rows, 'g', 3, 64)
}

func explain(n Node, indent string, note func(Node) string, out *[]string) {
	line := indent + n.Name()
	if args := Arguments(n); args != "" {
		line += " " + args
	}
	if note != nil {
		if s := note(n); s != "" {
			line += "  " + s
		}
	}
	*out = append(*out, line)
	for _, c := range n.Children() {
		explain(c, indent+"  ", note, out)
	}
}

// Arguments prints what a node does beside its name, in one line.
func Arguments(n Node) string {
	var a arguments
	switch x := n.(type) {
	case *Scan:
		a.object(x.Object, x.At)
		a.list("columns", fields(x.Cols))
		a.expr("filter", x.Filter)
		a.rows("limit", x.Limit)
	case *SearchScan:
		a.search(x)
	case *SystemScan:
		a.add(x.Table)
		a.list("columns", fields(x.Cols))
	case *FileScan:
		a.add(string(x.Format))
		a.list("paths", x.Paths)
		if x.Tag != "" {
			a.add("tag " + x.Tag)
		}
		if x.Version != 0 {
			a.add(fmt.Sprintf("version %d", x.Version))
		}
		a.list("columns", fields(x.Cols))
	case *Series:
		a.add(fmt.Sprintf("%s from %s to %s by %s", x.Col.Name, x.Start, x.Stop, x.Step))
	case *Filter:
		a.add(x.Pred.String())
	case *Project:
		a.list("", named(x.Exprs))
	case *Aggregate:
		a.list("groups", named(x.Groups))
		a.list("aggregates", aggregates(x.Aggs))
	case *GroupingSets:
		a.list("groups", named(x.Groups))
		a.list("sets", x.setTexts())
		a.list("aggregates", aggregates(x.Aggs))
	case *Window:
		a.window(x)
	case *Unnest:
		x.explain(&a)
	case *Recursive:
		a.add(x.Label)
		if x.Distinct {
			a.add("distinct")
		}
	case *WorkingTable:
		a.add(x.Label)
	case *Join:
		a.join(x)
	case *Sort:
		a.list("keys", sortKeys(x.Keys))
		a.rows("limit", x.Limit)
		a.offset(x.Offset)
	case *Limit:
		a.rows("count", x.Count)
		a.offset(x.Offset)
	case *UnionAll:
		a.list("columns", columnNames(x.Cols))
	case *Values:
		a.list("columns", columnNames(x.Cols))
		a.rows("rows", int64(len(x.Rows)))
	case *Materialized:
		a.add(x.Label)
	}
	return strings.Join(a, " ")
}

// arguments are the words behind a node's name.
type arguments []string

func (a *arguments) add(word string) {
	if word != "" {
		*a = append(*a, word)
	}
}

func (a *arguments) list(name string, items []string) {
	if name != "" && len(items) > 0 {
		name += "="
	}
	if len(items) > 0 {
		a.add(name + "[" + strings.Join(items, ", ") + "]")
	}
}

func (a *arguments) expr(name string, e expr.Expr) {
	if e != nil {
		a.add(name + "=" + e.String())
	}
}

func (a *arguments) rows(name string, n int64) {
	if n >= 0 {
		a.add(name + "=" + strconv.FormatInt(n, 10))
	}
}

func (a *arguments) offset(n int64) {
	if n > 0 {
		a.rows("offset", n)
	}
}

func (a *arguments) join(x *Join) {
	kind := x.Kind.String()
	switch {
	case x.Apply:
		kind += " APPLY"
	case x.Kind == Inner && len(x.Keys) == 0 && x.Residual == nil:
		kind = "CROSS"
	}
	a.add(kind)
	keys := make([]string, len(x.Keys))
	for i, k := range x.Keys {
		op := " = "
		if k.NullSafe {
			op = " IS NOT DISTINCT FROM "
		}
		keys[i] = k.Left.String() + op + k.Right.String()
	}
	a.list("keys", keys)
	a.expr("residual", x.Residual)
	if x.Kind == Mark {
		a.add("mark=" + x.Mark.Name)
	}
}

func (a *arguments) search(x *SearchScan) {
	a.object(x.Object, x.At)
	for _, l := range x.Legs {
		a.add(legText(l))
	}
	if x.RRFK > 0 {
		a.add("rrf_k=" + strconv.FormatFloat(x.RRFK, 'g', -1, 64))
	}
	a.list("columns", append(fields(x.Cols), x.Score.Name))
	a.expr("filter", x.Filter)
	for _, w := range x.Within {
		a.expr("within", w.Key)
	}
	a.rows("limit", x.Limit)
	a.offset(x.Offset)
	a.expr("min_score", x.MinScore)
}

// legText prints a search leg; a long query vector is cut.
func legText(l Leg) string {
	const longest = 40
	query := []rune(l.Query.String())
	if len(query) > longest {
		query = append(query[:longest], '…')
	}
	var a arguments
	switch l.Kind {
	case VectorLeg:
		a.add("vector(" + l.Field)
		a.add("metric=" + string(l.Metric))
	default:
		names := make([]string, len(l.Fields))
		for i, f := range l.Fields {
			names[i] = f.Field
			if f.Boost != 1 {
				names[i] += "^" + strconv.FormatFloat(f.Boost, 'g', -1, 64)
			}
		}
		a.add("text(" + strings.Join(names, "+"))
		if l.Mode != "" {
			a.add("mode=" + l.Mode)
		}
		if l.And {
			a.add("and")
		}
	}
	a.add("query=" + string(query))
	a.rows("top", l.Limit)
	if l.Weight != 0 && l.Weight != 1 {
		a.add("weight=" + strconv.FormatFloat(l.Weight, 'g', -1, 64))
	}
	a.expr("filter", l.Filter)
	return strings.Join(a, " ") + ")"
}

func fields(cols []ScanColumn) []string {
	out := make([]string, len(cols))
	for i, c := range cols {
		out[i] = c.Field
	}
	return out
}

func columnNames(cols []Column) []string {
	out := make([]string, len(cols))
	for i, c := range cols {
		out[i] = c.Name
	}
	return out
}

// named prints expressions with their output names where those say more.
func named(es []NamedExpr) []string {
	out := make([]string, len(es))
	for i, e := range es {
		out[i] = e.Expr.String()
		if e.Name != "" && e.Name != out[i] {
			out[i] += " AS " + e.Name
		}
	}
	return out
}

func aggregates(calls []AggCall) []string {
	out := make([]string, len(calls))
	for i, c := range calls {
		args := expr.Join(c.Args)
		if len(c.Args) == 0 {
			args = "*"
		}
		if c.Distinct {
			args = "DISTINCT " + args
		}
		if len(c.OrderBy) > 0 {
			args += " ORDER BY " + strings.Join(sortKeys(c.OrderBy), ", ")
		}
		out[i] = c.Fn.Name + "(" + args + ")"
		if c.Filter != nil {
			out[i] += " FILTER " + c.Filter.String()
		}
	}
	return out
}

func sortKeys(keys []SortKey) []string {
	out := make([]string, len(keys))
	for i, k := range keys {
		out[i] = k.Expr.String()
		if k.Desc {
			out[i] += " DESC"
		}
		// PostgreSQL's default is NULLs last, first when descending.
		switch {
		case k.NullsFirst && !k.Desc:
			out[i] += " NULLS FIRST"
		case !k.NullsFirst && k.Desc:
			out[i] += " NULLS LAST"
		}
	}
	return out
}
