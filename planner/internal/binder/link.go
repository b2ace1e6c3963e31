package binder

import (
	"context"
	"slices"
	"strings"

	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/planner/internal/ast"
	"github.com/loamdb/loam/planner/internal/deparse"
)

// linkSources and linkTargets are the objects that a link reads and writes.
var (
	linkSources = map[string]schema.Kind{"TABLE": schema.Table, "STREAM": schema.Stream}
	linkTargets = map[string]schema.Kind{"TABLE": schema.Table, "COLLECTION": schema.Collection, "STREAM": schema.Stream}
)

// createLink binds CREATE LINK.
func (b *Binder) createLink(s *ast.CreateLink) (plan.Statement, error) {
	if err := b.refuseLink(s); err != nil {
		return nil, err
	}
	obj := &schema.Object{Kind: schema.Link, Options: map[string]string{}, Link: &schema.LinkDef{
		OnError: schema.FailOnError, BatchBytes: defaultBatchBytes, BatchInterval: defaultBatchInterval, State: schema.LinkRunning, Comment: s.Comment}}
	old, err := b.place(s.Name, obj, false, s.IfNotExists)
	if err != nil {
		return nil, err
	}
	if old != nil {
		return &plan.Nothing{Note: string(old.Kind) + " " + old.Name + " exists already"}, nil
	}
	if s.Paused {
		obj.Link.State = schema.LinkPaused
	}
	source, err := b.linkEnd(s.Source, s.From, linkSources)
	if err != nil {
		return nil, err
	}
	target, err := b.linkEnd(s.Target, s.Into, linkTargets)
	if err != nil {
		return nil, err
	}
	if source.ID == target.ID {
		return nil, b.fail(fail.InvalidObject, s.Target.Pos(), "link %q would read what it writes", obj.Name).WithHint("Choose another target.")
	}
	obj.Link.Source, obj.Link.Target = source.ID, target.ID
	out := &plan.CreateLink{Link: obj}
	if err := b.linkOptions(s, out); err != nil {
		return nil, err
	}
	if err := b.deadLetters(s, out, source, target); err != nil {
		return nil, err
	}
	return out, b.linkQuery(s, obj, target)
}

// refuseLink refuses what the grammar has and links do not do.
func (b *Binder) refuseLink(s *ast.CreateLink) error {
	switch {
	case s.OrReplace:
		return b.fail(fail.Unsupported, s.Pos(), "CREATE OR REPLACE LINK is not supported").
			WithHint("DROP LINK keeps the target; the new link begins where START says.")
	case s.Into == "GRAPH":
		return b.fail(fail.Unsupported, s.Target.Pos(), "a link INTO GRAPH is not supported").WithHint("Write INTO COLLECTION, TABLE or STREAM.")
	case len(s.Partitions) > 0:
		return b.unsupported(s.Source.Pos(), "a link of some PARTITIONS")
	case len(s.Columns) > 0:
		return b.fail(fail.Unsupported, s.Columns[0].Pos(), "the column list of a link is not supported").
			WithHint("Columns are matched by name: name them with AS in TRANSFORM.")
	case s.Decode != "":
		return b.fail(fail.Unsupported, s.Pos(), "DECODE AS is not supported").
			WithHint("Read fields of JSON in TRANSFORM, with value->>'name' or json_value.")
	case s.OnSchema != "":
		return b.fail(fail.Unsupported, s.Pos(), "ON SCHEMA CHANGE is not supported").
			WithHint("A link goes on while its transform can be bound, and fails when it cannot.")
	case len(s.Key) > 0:
		return b.fail(fail.Unsupported, s.Key[0].Pos(), "KEY is not supported").WithHint("Give the columns of the target's key in TRANSFORM.")
	case s.DeleteWhen != nil:
		return b.fail(fail.Unsupported, s.DeleteWhen.Pos(), "DELETE WHEN is not supported")
	}
	if s.Start != nil && s.Start.Kind != ast.StartEarliest && s.Start.Kind != ast.StartLatest {
		return b.fail(fail.Unsupported, s.Start.Pos(), "START %s is not supported", s.Start.Kind).WithHint("Write START EARLIEST or START LATEST.")
	}
	return nil
}

// linkEnd finds the source or the target of a link and checks its kind.
func (b *Binder) linkEnd(name ast.Name, word string, kinds map[string]schema.Kind) (*schema.Object, error) {
	want, ok := kinds[word]
	if !ok {
		return nil, b.unsupported(name.Pos(), "a link with a "+word)
	}
	obj, err := b.object(name)
	if err != nil {
		return nil, err
	}
	if obj.Kind != want {
		err := b.fail(fail.WrongObjectType, name.Pos(), "%q is a %s, not a %s", obj.Name, obj.Kind, want)
		for w, kind := range kinds {
			if kind == obj.Kind {
				return nil, err.WithHint("Write %s %s.", w, name.String())
			}
		}
		return nil, err
	}
	return obj, nil
}

// linkQuery binds the transform, as a query of the source whose text is kept.
func (b *Binder) linkQuery(s *ast.CreateLink, obj, target *schema.Object) error {
	q := s.Transform
	if q == nil {
		at := s.Target.Span
		q = &ast.Query{Span: at, Body: &ast.Select{Span: at, Items: []*ast.SelectItem{{Span: at, Expr: &ast.Star{Span: at}}}}}
	}
	sel, err := b.transformSelect(q)
	if err != nil {
		return err
	}
	from := *sel
	if from.From, err = b.transformFrom(s, obj, sel); err != nil {
		return err
	}
	whole := &ast.Query{Span: q.Span, Body: &from}
	var uses []schema.Use
	b.uses, b.making = &uses, true
	node, err := b.query(whole, nil)
	b.uses, b.making = nil, false
	if err != nil {
		return err
	}
	if len(b.params) > 0 {
		return b.fail(fail.UndefinedParameter, q.Pos(), "a link cannot have parameters").WithHint("Write the values into the transform.")
	}
	if _, err := b.transform(b.settleTypes(node), sel, target); err != nil {
		return err
	}
	uses = append(uses, useOf("", target))
	obj.Query = &schema.ViewQuery{Text: deparse.Statement(whole), Namespace: b.env.Namespace, Uses: uses}
	return nil
}

// transformFrom is the FROM of a link's query: its source, under the alias that the
// transform gives it. A transform needs no FROM, and may name nothing else in it.
func (b *Binder) transformFrom(s *ast.CreateLink, obj *schema.Object, sel *ast.Select) ([]ast.TableRef, error) {
	source := &ast.TableName{Span: s.Source.Span, Name: s.Source}
	if len(sel.From) == 0 {
		return []ast.TableRef{source}, nil
	}
	name, ok := sel.From[0].(*ast.TableName)
	if !ok || len(sel.From) > 1 || name.At != nil || name.Sample != nil {
		return nil, b.notTheSource(sel.From[0].Pos(), s)
	}
	named, err := b.object(name.Name)
	if err != nil {
		return nil, err
	}
	if named.ID != obj.Link.Source {
		return nil, b.notTheSource(name.Pos(), s)
	}
	source.Alias = name.Alias
	return []ast.TableRef{source}, nil
}

func (b *Binder) notTheSource(pos int, s *ast.CreateLink) error {
	return b.fail(fail.Unsupported, pos, "a transform reads the source of its link and nothing else").
		WithHint("Write FROM %s, or leave FROM out.", s.Source.String())
}

// transformSelect is the SELECT of a transform: a projection with a filter, each
// row for itself. What would need other rows is refused by name.
func (b *Binder) transformSelect(q *ast.Query) (*ast.Select, error) {
	sel, ok := q.Body.(*ast.Select)
	if !ok {
		return nil, b.notInLink(q.Body.Pos(), "a set operation or VALUES")
	}
	type clause struct {
		there bool
		pos   int
		what  string
	}
	last := q.End() - 1
	at := func(n ast.Node) int {
		if n == nil {
			return last
		}
		return n.Pos()
	}
	for _, c := range []clause{
		{q.With != nil, q.Pos(), "WITH"},
		{sel.Distinct, sel.Pos(), "DISTINCT"},
		{sel.GroupBy != nil, sel.Pos(), "GROUP BY"},
		{sel.Having != nil, at(sel.Having), "HAVING"},
		{len(sel.Windows) > 0, firstPos(sel.Windows, last), "WINDOW"},
		{sel.Qualify != nil, at(sel.Qualify), "QUALIFY"},
		{sel.Sample != nil, sel.Pos(), "USING SAMPLE"},
		{len(q.OrderBy) > 0, firstPos(q.OrderBy, last), "ORDER BY"},
		{q.Limit != nil || q.Offset != nil, last, "LIMIT"},
	} {
		if c.there {
			return nil, b.notInLink(c.pos, c.what)
		}
	}
	var err error
	ast.Inspect(sel, func(n ast.Node) bool {
		if err == nil {
			err = b.refuseInTransform(n)
		}
		return err == nil
	})
	return sel, err
}

func firstPos[T ast.Node](list []T, otherwise int) int {
	if len(list) == 0 {
		return otherwise
	}
	return list[0].Pos()
}

func (b *Binder) refuseInTransform(n ast.Node) error {
	switch x := n.(type) {
	case *ast.Subquery, *ast.Exists, *ast.InQuery, *ast.ArrayQuery, *ast.Quantified:
		if q, ok := x.(*ast.Quantified); ok && q.Query == nil {
			return nil
		}
		return b.notInLink(n.Pos(), "a subquery")
	case *ast.FuncCall:
		name := strings.ToLower(x.Name.Last().Text)
		switch {
		case x.Over != nil:
			return b.notInLink(x.Pos(), "the window function "+name)
		case b.env.Functions.IsAggregate(name):
			return b.notInLink(x.Pos(), "the aggregate "+name)
		case b.env.Functions.IsWindow(name):
			return b.notInLink(x.Pos(), "the window function "+name)
		case name == "unnest" || name == "generate_series" || name == "vector_search" || name == "text_search" || name == "rrf" || name == "hybrid_search":
			return b.notInLink(x.Pos(), name)
		}
	}
	return nil
}

func (b *Binder) notInLink(pos int, what string) error {
	return b.fail(fail.Unsupported, pos, "%s is not possible in the transform of a link", what).
		WithHint("A transform makes one row of each record: a SELECT list and WHERE.")
}

// transform turns the plan of a link's query into what is done with each row.
func (b *Binder) transform(node plan.Node, sel *ast.Select, target *schema.Object) (*plan.Transform, error) {
	cols := node.Columns()
	places := columnPlaces(sel, len(cols))
	fields, err := b.linkFields(target, cols, places)
	if err != nil {
		return nil, err
	}
	want := make([]types.Type, len(cols))
	for i, c := range cols {
		if c.Type.Kind == types.Unknown {
			want[i] = fields[i].Type
		}
	}
	node = b.castColumns(node, want)
	out := &plan.Transform{Target: target}
	for i, c := range node.Columns() {
		e, err := b.assign(c.Ref(), fields[i].Type, places[i], fields[i].Name)
		if err != nil {
			return nil, err
		}
		out.Exprs = append(out.Exprs, e)
		out.Fields = append(out.Fields, fields[i].ID)
	}
	if err := b.flatten(node, out, sel.Pos()); err != nil {
		return nil, err
	}
	if err := b.refuseChanging(out); err != nil {
		return nil, err
	}
	return out, b.linkDefaults(target, fields, out, sel.Pos())
}

// columnPlaces says where in the text each column of a SELECT comes from.
func columnPlaces(sel *ast.Select, n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = sel.Pos()
		if len(sel.Items) == n {
			out[i] = sel.Items[i].Pos()
		} else if len(sel.Items) == 1 {
			out[i] = sel.Items[0].Pos()
		}
	}
	return out
}

// linkFields matches the columns of a transform with the fields of the target by
// name; _pk is the key of a collection with one key column.
func (b *Binder) linkFields(target *schema.Object, cols []plan.Column, places []int) ([]*schema.Field, error) {
	var out []*schema.Field
	for i, c := range cols {
		id := ast.Ident{Span: ast.Span{Start: places[i]}, Text: c.Name}
		var f *schema.Field
		var err error
		switch {
		case c.Name == string(schema.ColPK) && len(target.Key) == 1:
			f = &target.Fields[target.Key[0]]
		case c.Name == "" || c.Name == "?column?":
			err = b.fail(fail.InvalidParameter, places[i], "column %d of the transform needs a name", i+1).WithHint("Name the field of %q with AS.", target.Name)
		default:
			f, err = b.field(target, id)
		}
		if err != nil {
			return nil, err
		}
		for _, g := range out {
			if g.ID == f.ID {
				return nil, b.fail(fail.DuplicateColumn, places[i], "field %q of %q is given twice", f.Name, target.Name)
			}
		}
		out = append(out, f)
	}
	return out, nil
}

// linkDefaults adds the fields that the transform leaves out and that have a
// DEFAULT, and refuses to leave out one that needs a value.
func (b *Binder) linkDefaults(target *schema.Object, fields []*schema.Field, out *plan.Transform, off int) error {
	set := map[int32]bool{}
	for _, f := range fields {
		set[f.ID] = true
	}
	for i := range target.Fields {
		f := &target.Fields[i]
		switch {
		case set[f.ID]:
		case f.Default != "":
			e, err := b.defaultOf(f, off)
			if err != nil {
				return err
			}
			out.Exprs, out.Fields = append(out.Exprs, e), append(out.Fields, f.ID)
		case target.IsKey(i):
			return b.fail(fail.NotNull, off, "column %q is part of the primary key of %q and gets no value", f.Name, target.Name).
				WithHint("Add it to the transform: … AS %s", deparse.Ident(quoted(f.Name)))
		case f.NotNull:
			return b.fail(fail.NotNull, off, "column %q of %q must not be NULL and gets no value", f.Name, target.Name).
				WithHint("Add it to the transform: … AS %s", deparse.Ident(quoted(f.Name)))
		}
	}
	return nil
}

// flatten writes the expressions of a transform in the columns of the source:
// projections are put into what reads them.
func (b *Binder) flatten(node plan.Node, out *plan.Transform, off int) error {
	for {
		switch x := node.(type) {
		case *plan.Project:
			by := map[expr.ColumnID]expr.Expr{}
			for _, e := range x.Exprs {
				by[e.ID] = e.Expr
			}
			put := func(e expr.Expr) expr.Expr {
				if c, ok := e.(*expr.Column); ok && by[c.ID] != nil {
					return by[c.ID]
				}
				return e
			}
			for i := range out.Exprs {
				out.Exprs[i] = expr.Rewrite(out.Exprs[i], put)
			}
			if out.Where != nil {
				out.Where = expr.Rewrite(out.Where, put)
			}
			node = x.Input
		case *plan.Filter:
			conds := []expr.Expr{x.Pred}
			if out.Where != nil {
				conds = append(conds, out.Where)
			}
			out.Where, node = expr.AllOf(conds), x.Input
		case *plan.Scan:
			out.Source, out.Cols = x.Object, x.Cols
			return nil
		default:
			return b.notInLink(off, "what needs more than one row")
		}
	}
}

// refuseChanging refuses functions that would give another answer when a batch is
// read again.
func (b *Binder) refuseChanging(t *plan.Transform) error {
	for _, e := range append([]expr.Expr{t.Where}, t.Exprs...) {
		if e == nil {
			continue
		}
		if err := b.refuseRowID(t, e); err != nil {
			return err
		}
		var err error
		expr.Walk(e, func(x expr.Expr) bool {
			if c, ok := x.(*expr.Call); ok && err == nil && c.Fn.Volatility > expr.Immutable {
				err = b.fail(fail.Unsupported, max(0, c.Offset), "%s() is not possible in the transform of a link: a batch that is read again would get another value", c.Fn.Name).
					WithHint("_ingest_ts is the time at which the record was written; _ingest_partition and _ingest_offset name it.")
			}
			return err == nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// refuseRowID refuses _rowid, which a merge changes.
func (b *Binder) refuseRowID(t *plan.Transform, e expr.Expr) error {
	used := map[expr.ColumnID]bool{}
	expr.Columns(e, used)
	for _, c := range t.Cols {
		if used[c.ID] && c.Field == string(schema.ColRowID) {
			return b.fail(fail.Unsupported, max(0, b.placeOfRowID()), "_rowid is not possible in the transform of a link: a merge gives the record another").
				WithHint("_ingest_partition and _ingest_offset name a record for good.")
		}
	}
	return nil
}

// placeOfRowID is where the text names _rowid first.
func (b *Binder) placeOfRowID() int {
	return strings.Index(strings.ToLower(b.text), string(schema.ColRowID))
}

// BindLink binds the transform of a link as its source and target are now.
func BindLink(ctx context.Context, env Env, link *schema.Object) (*plan.Transform, error) {
	b := newBinder(ctx, env, link.Query.Text)
	target, err := env.Catalog.ByID(ctx, link.Link.Target)
	if err != nil {
		return nil, err
	}
	q, err := parseView(link)
	if err != nil {
		return nil, err
	}
	sel, _, err := linkSelect(link, q)
	if err != nil {
		return nil, err
	}
	b.env.Namespace = link.Query.Namespace
	b.view = &viewScope{obj: link}
	b.survey(q)
	node, err := b.query(q, nil)
	if err != nil {
		return nil, err
	}
	return b.transform(b.settleTypes(node), sel, asKnown(target, link.Query))
}

// asKnown is the target with the names that its fields had when the link was made.
func asKnown(target *schema.Object, q *schema.ViewQuery) *schema.Object {
	use := q.Find("")
	if use == nil {
		return target
	}
	out := *target
	out.Fields = slices.Clone(target.Fields)
	for i, f := range out.Fields {
		if was, ok := use.Fields[f.ID]; ok {
			out.Fields[i].Name = was
		}
	}
	return &out
}
