package exec

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/loamdb/loam/internal/clock"
	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/mem"
	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// The text form of a plan: one node a line, inputs first (postfix).
//
//	scan NAME [AS]        push a scan; columns are named AS.column or column
//	filter PRED           PRED is COL OP COL-or-literal, joined by "and"
//	project COL [NAME] …  one column a word; COL:NAME renames
//	group COL … : AGG …   AGG is name(COL) or name(), suffix /distinct
//	sort COL[-] … [limit=N] [offset=N]
//	limit N [offset]
//	union                 of the two topmost plans
//	join KIND [L=R …] [L==R null-safe] [if PRED]
//	values NAME V …       one column
//	series FROM TO STEP
//
// Literals are integers, NULL, or 'text'.
type textPlans struct {
	tables map[string]*table
	names  map[string][]string
	stack  []plan.Node
	ids    int
	t      *testing.T
}

func (p *textPlans) pop() plan.Node {
	n := p.stack[len(p.stack)-1]
	p.stack = p.stack[:len(p.stack)-1]
	return n
}

func (p *textPlans) column(name string, t types.Type) plan.Column {
	p.ids++
	return plan.Column{ID: expr.ColumnID(p.ids), Name: name, Type: t}
}

func (p *textPlans) find(cols []plan.Column, name string) plan.Column {
	for _, c := range cols {
		if c.Name == name {
			return c
		}
	}
	p.t.Fatalf("no column %q among %v", name, cols)
	return plan.Column{}
}

// operand reads a column or a literal of the type.
func (p *textPlans) operand(cols []plan.Column, word string, t types.Type) expr.Expr {
	if c := word[0]; c != 'N' && c != '\'' && c != '-' && (c < '0' || c > '9') {
		return p.find(cols, word).Ref()
	}
	return &expr.Const{Value: literal(word, t)}
}

func literal(word string, t types.Type) vec.Value {
	switch {
	case word == "NULL":
		return vec.Null(t)
	case word[0] == '\'':
		return vec.Text(strings.Trim(word, "'"))
	case t.Kind == types.Text:
		return vec.Text(word)
	}
	i, _ := strconv.ParseInt(word, 10, 64)
	return vec.Int64(i)
}

var textOps = map[string]expr.CompareOp{"=": expr.Eq, "<>": expr.Ne, "<": expr.Lt, "<=": expr.Le, ">": expr.Gt, ">=": expr.Ge}

func (p *textPlans) pred(cols []plan.Column, words []string) expr.Expr {
	var all []expr.Expr
	for len(words) >= 3 {
		if words[0] == "and" {
			words = words[1:]
		}
		l := p.find(cols, words[0])
		if words[1] == "is" {
			all = append(all, &expr.IsNull{Arg: l.Ref()})
		} else {
			all = append(all, &expr.Compare{Op: textOps[words[1]], Left: l.Ref(), Right: p.operand(cols, words[2], l.Type)})
		}
		words = words[3:]
	}
	return expr.AllOf(all)
}

func (p *textPlans) line(words []string) plan.Node {
	args := words[1:]
	switch words[0] {
	case "scan":
		return p.scan(args)
	case "values":
		v := &plan.Values{Cols: []plan.Column{p.column(args[0], bigint)}}
		for _, w := range args[1:] {
			v.Rows = append(v.Rows, []expr.Expr{&expr.Const{Value: literal(w, bigint)}})
		}
		return v
	case "series":
		s := &plan.Series{Col: p.column("series", bigint)}
		s.Start, s.Stop, s.Step = p.operand(nil, args[0], bigint), p.operand(nil, args[1], bigint), p.operand(nil, args[2], bigint)
		return s
	case "join":
		return p.join(args)
	case "union":
		b, a := p.pop(), p.pop()
		u := &plan.UnionAll{Inputs: []plan.Node{a, b}}
		for _, c := range a.Columns() {
			u.Cols = append(u.Cols, p.column(c.Name, c.Type))
		}
		return u
	}
	in := p.pop()
	cols := in.Columns()
	switch words[0] {
	case "filter":
		return &plan.Filter{Input: in, Pred: p.pred(cols, args)}
	case "limit":
		l := &plan.Limit{Input: in, Count: number(args[0])}
		if len(args) > 1 {
			l.Offset = number(args[1])
		}
		return l
	case "project":
		pr := &plan.Project{Input: in}
		for _, a := range args {
			from, to, renamed := strings.Cut(a, ":")
			if !renamed {
				to = from
			}
			c := p.find(cols, from)
			pr.Exprs = append(pr.Exprs, plan.NamedExpr{Column: p.column(to, c.Type), Expr: c.Ref()})
		}
		return pr
	case "group":
		return p.group(in, args)
	case "sets":
		return p.sets(in, args)
	case "sort":
		return p.sort(in, args)
	}
	p.t.Fatalf("no plan node %q", words[0])
	return nil
}

func number(s string) int64 {
	n, _ := strconv.ParseInt(s, 10, 64)
	return n
}

func (p *textPlans) scan(args []string) plan.Node {
	n := scanOf(args[0], p.tables[args[0]], p.ids+1)
	p.ids += len(n.Cols)
	for i := range n.Cols {
		n.Cols[i].Name = p.names[args[0]][i]
		if len(args) > 1 {
			n.Cols[i].Name = args[1] + "." + n.Cols[i].Name
		}
	}
	return n
}

func (p *textPlans) group(in plan.Node, args []string) plan.Node {
	g := &plan.Aggregate{Input: in}
	aggs := false
	for _, a := range args {
		if a == ":" {
			aggs = true
			continue
		}
		if !aggs {
			c := p.find(in.Columns(), a)
			g.Groups = append(g.Groups, plan.NamedExpr{Column: p.column(a, c.Type), Expr: c.Ref()})
			continue
		}
		a, distinct := strings.CutSuffix(a, "/distinct")
		name, arg, _ := strings.Cut(strings.TrimSuffix(a, ")"), "(")
		call := plan.AggCall{Fn: testAgg(name), Distinct: distinct, Column: p.column(name, bigint)}
		if arg != "" {
			c := p.find(in.Columns(), arg)
			call.Args, call.Type = []expr.Expr{c.Ref()}, aggType(name, c.Type)
		}
		g.Aggs = append(g.Aggs, call)
	}
	return g
}

// sets reads "sets a,b a () : aggregates", with a mark of all keys.
func (p *textPlans) sets(in plan.Node, args []string) plan.Node {
	var keys []string
	at := map[string]int{}
	n := &plan.GroupingSets{Input: in}
	rest := 0
	for i, a := range args {
		if rest = i; a == ":" {
			break
		}
		set := []int{}
		for _, k := range strings.FieldsFunc(a, func(r rune) bool { return r == ',' || r == '(' || r == ')' }) {
			if _, ok := at[k]; !ok {
				at[k] = len(keys)
				keys = append(keys, k)
			}
			set = append(set, at[k])
		}
		n.Sets = append(n.Sets, set)
	}
	g := p.group(in, append(keys, args[rest:]...)).(*plan.Aggregate)
	n.Groups, n.Aggs = g.Groups, g.Aggs
	mark := plan.GroupingMark{Column: p.column("mark", types.Of(types.Int32))}
	for i := range keys {
		mark.Keys = append(mark.Keys, i)
	}
	n.Marks = append(n.Marks, mark)
	return n
}

func (p *textPlans) sort(in plan.Node, args []string) plan.Node {
	s := &plan.Sort{Input: in, Limit: plan.NoLimit}
	for _, a := range args {
		if n, ok := strings.CutPrefix(a, "limit="); ok {
			s.Limit = number(n)
		} else if n, ok := strings.CutPrefix(a, "offset="); ok {
			s.Offset = number(n)
		} else {
			name, desc := strings.CutSuffix(a, "-")
			s.Keys = append(s.Keys, plan.SortKey{Expr: p.find(in.Columns(), name).Ref(), Desc: desc, NullsFirst: desc})
		}
	}
	return s
}

var textKinds = map[string]plan.JoinKind{"inner": plan.Inner, "left": plan.Left, "right": plan.Right, "full": plan.Full,
	"semi": plan.Semi, "anti": plan.Anti, "single": plan.Single, "mark": plan.Mark}

func (p *textPlans) join(args []string) plan.Node {
	b, a := p.pop(), p.pop()
	j := &plan.Join{Left: a, Right: b, Kind: textKinds[args[0]]}
	for i, w := range args[1:] {
		if w == "if" {
			both := append(a.Columns()[:len(a.Columns()):len(a.Columns())], b.Columns()...)
			j.Residual = p.pred(both, args[i+2:])
			break
		}
		l, r, _ := strings.Cut(w, "=")
		r, safe := strings.CutPrefix(r, "=")
		j.Keys = append(j.Keys, plan.EquiKey{Left: p.find(a.Columns(), l).Ref(), Right: p.find(b.Columns(), r).Ref(), NullSafe: safe})
	}
	if j.Kind == plan.Mark {
		j.Mark = p.column("mark", types.Of(types.Boolean))
	}
	return j
}

// table reads "table NAME col:type …" and its rows.
func (p *textPlans) table(d *datadriven.TestData) string {
	name := d.CmdArgs[0].Key
	t := &table{}
	p.names[name] = nil
	for _, a := range d.CmdArgs[1:] {
		col, typ, _ := strings.Cut(a.Key, ":")
		ty, _ := types.Named(typ, nil)
		t.types = append(t.types, ty)
		p.names[name] = append(p.names[name], col)
	}
	for _, line := range strings.Split(strings.TrimSpace(d.Input), "\n") {
		if line == "" {
			continue
		}
		var r []vec.Value
		for i, w := range strings.Fields(line) {
			r = append(r, literal(w, t.types[i]))
		}
		t.rows = append(t.rows, r)
	}
	p.tables[name] = t
	return fmt.Sprintf("%d rows\n", len(t.rows))
}

// run runs the plan of the input in every way and prints its rows, which must
// be the same each time, or its error.
func (p *textPlans) run(d *datadriven.TestData) string {
	p.stack = nil
	for _, line := range strings.Split(strings.TrimSpace(d.Input), "\n") {
		p.stack = append(p.stack, p.line(strings.Fields(line)))
	}
	root, first := p.pop(), ""
	for _, chunk := range []int{1, 3, 2048} {
		for _, workers := range []int{1, 2, 4} {
			src := &memSources{tables: p.tables, chunkRows: chunk}
			rows, err := runWay(p.t, root, src, Options{Workers: workers})
			got := strings.Join(rows, "\n")
			if err != nil {
				got = "ERROR " + fail.CodeOf(err).SQLState() + ": " + err.Error()
			}
			if d.HasArg("unordered") && err == nil {
				got = strings.Join(sorted(rows), "\n")
			}
			if first != "" && got != first {
				d.Fatalf(p.t, "%d workers, chunks of %d:\n%s\nbefore:\n%s", workers, chunk, got, first)
			}
			first = got
		}
	}
	if first == "" {
		return "(no rows)\n"
	}
	return first + "\n"
}

func (p *textPlans) profile(d *datadriven.TestData) string {
	p.stack = nil
	for _, line := range strings.Split(strings.TrimSpace(d.Input), "\n") {
		p.stack = append(p.stack, p.line(strings.Fields(line)))
	}
	src := &memSources{tables: p.tables, chunkRows: 2}
	opt := Options{Workers: 1, Profile: d.HasArg("time"), Clock: clock.NewManual(time.Unix(0, 0)), Memory: mem.New("query", mem.NoLimit)}
	res, err := Run(context.Background(), p.pop(), &expr.Env{}, src, opt)
	if err != nil {
		return err.Error()
	}
	for {
		c, err := res.Next(context.Background())
		if err != nil {
			return err.Error()
		}
		if c == nil {
			break
		}
	}
	if err := res.Close(); err != nil {
		return err.Error()
	}
	return strings.Join(res.Profile().Render(nil), "\n") + "\n"
}

func TestText(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		p := &textPlans{tables: map[string]*table{}, names: map[string][]string{}, t: t}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			p.t = t
			switch d.Cmd {
			case "table":
				return p.table(d)
			case "profile":
				return p.profile(d)
			}
			return p.run(d)
		})
	})
}
