package binder

import (
	"context"
	"slices"
	"strings"

	"github.com/loamdb/loam/catalog"
	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/planner/internal/ast"
	"github.com/loamdb/loam/planner/internal/deparse"
	"github.com/loamdb/loam/planner/internal/parser"
)

// maxViews bounds how deep views may stand in each other.
const maxViews = 32

// viewScope is the view whose query is bound: its names mean what they meant
// when it was made.
type viewScope struct {
	parent *viewScope
	obj    *schema.Object
	// at is the state that the query asks the view for; nil: the current one. pos is
	// where the outermost view stands in the statement.
	at  *plan.At
	pos int
}

// depth is how many views stand around what is bound.
func (v *viewScope) depth() int {
	n := 0
	for ; v != nil; v = v.parent {
		n++
	}
	return n
}

// useKey is a name as the text of a view has it.
func useKey(n ast.Name) string {
	parts := make([]string, len(n.Parts))
	for i, p := range n.Parts {
		parts[i] = deparse.Ident(p)
	}
	return strings.Join(parts, ".")
}

// viewedObject is what a name in the text of the current view means.
func (b *Binder) viewedObject(n ast.Name) (*schema.Object, error) {
	use := b.view.obj.Query.Find(useKey(n))
	if use == nil { // a table of pg_catalog
		return nil, b.fail(fail.UndefinedTable, n.Pos(), "there is no collection, table or view %q", n.String())
	}
	obj, err := b.env.Catalog.ByID(b.ctx, use.ID)
	if fail.Is(err, fail.UndefinedTable) {
		return nil, b.fail(fail.UndefinedTable, n.Pos(), "%q was dropped", n.String())
	}
	return obj, err
}

// noteUse remembers what a name means, for the view that is made.
func (b *Binder) noteUse(n ast.Name, obj *schema.Object) {
	if b.uses == nil || b.view != nil {
		return
	}
	key := useKey(n)
	for _, u := range *b.uses {
		if u.Name == key {
			return
		}
	}
	*b.uses = append(*b.uses, useOf(key, obj))
}

// useOf is the use of an object under a name, with its fields as they are called now.
func useOf(name string, obj *schema.Object) schema.Use {
	use := schema.Use{Name: name, ID: obj.ID, Fields: map[int32]string{}}
	for _, f := range obj.Fields {
		use.Fields[f.ID] = f.Name
	}
	return use
}

// seenField is a field under the name by which the query sees it.
type seenField struct {
	schema.Field
	as string
}

// seenFields are the fields of an object that the query sees: all, or in a view
// those that were there when it was made, under their names of then.
func (b *Binder) seenFields(obj *schema.Object) []seenField {
	var names map[int32]string
	if b.view != nil {
		for _, u := range b.view.obj.Query.Uses {
			if u.ID == obj.ID {
				names = u.Fields
			}
		}
	}
	out := make([]seenField, 0, len(obj.Fields))
	for _, f := range obj.Fields {
		as, known := names[f.ID]
		if names == nil {
			as, known = f.Name, true
		}
		if known {
			out = append(out, seenField{Field: f, as: as})
		}
	}
	return out
}

// viewRef binds a view in FROM.
func (b *Binder) viewRef(obj *schema.Object, x *ast.TableName, alias string) (plan.Node, *scope, error) {
	at, err := b.state(x.At)
	if err != nil {
		return nil, nil, err
	}
	node, err := b.expandView(obj, at, x.Pos())
	if err == nil && x.At != nil {
		err = b.viewAt(obj, node, at)
	}
	if err != nil {
		return nil, nil, err
	}
	sc := objectScope(obj, alias)
	cols := node.Columns()
	place := map[int32]int{}
	for i, f := range obj.Fields {
		place[f.ID] = i
	}
	for _, f := range b.seenFields(obj) {
		sc.cols = append(sc.cols, &visible{name: f.as, table: sc.tables[0], e: cols[place[f.ID]].Ref(), inStar: true, bare: true})
	}
	return node, sc, nil
}

// expandView binds the query of a view as of at. Its errors name the view and point to pos,
// for their own places lie in a text that the user does not see.
func (b *Binder) expandView(obj *schema.Object, at *plan.At, pos int) (plan.Node, error) {
	for v := b.view; v != nil; v = v.parent {
		if v.obj.ID == obj.ID {
			return nil, b.fail(fail.InvalidObject, pos, "view %s reads itself", obj.QualifiedName()).
				WithHint("Make it again with CREATE OR REPLACE VIEW.")
		}
	}
	depth := b.view.depth()
	if b.making { // the new view is one more
		depth++
	}
	if depth >= maxViews {
		return nil, b.fail(fail.TooDeep, pos, "views stand in each other more than %d deep", maxViews)
	}
	node, err := b.viewQuery(obj, at, pos)
	if err == nil {
		err = sameColumns(obj, node.Columns())
	}
	if err != nil {
		return nil, b.viewError(obj, err, pos)
	}
	b.views = append(b.views, plan.ViewRef{ID: obj.ID, Version: obj.SchemaVersion})
	return plan.MapExprs(node, placedAt(pos)), nil
}

// placedAt gives the calls of an expression from another text a place in the
// statement's, for the errors of their rows.
func placedAt(pos int) func(expr.Expr) expr.Expr {
	return func(e expr.Expr) expr.Expr {
		switch x := e.(type) {
		case *expr.Call:
			k := *x
			k.Offset = pos
			return &k
		case *expr.Cast:
			k := *x
			k.Offset = pos
			return &k
		}
		return e
	}
}

// viewQuery binds a view's text in its own surroundings.
func (b *Binder) viewQuery(obj *schema.Object, at *plan.At, pos int) (plan.Node, error) {
	q, err := parseView(obj)
	if err != nil {
		return nil, err
	}
	text, env, ctes, places, view, uses := b.text, b.env, b.ctes, b.places, b.view, b.uses
	defer func() { b.text, b.env, b.ctes, b.places, b.view, b.uses = text, env, ctes, places, view, uses }()
	inner := *env
	inner.Namespace = obj.Query.Namespace
	b.text, b.env, b.ctes, b.places = obj.Query.Text, &inner, nil, map[*expr.Column]int{}
	if view != nil {
		pos = view.pos
	}
	b.view, b.uses = &viewScope{parent: view, obj: obj, at: at, pos: pos}, nil
	b.survey(q)
	node, err := b.query(q, nil)
	if err != nil {
		return nil, err
	}
	return b.settleTypes(node), nil
}

func parseView(obj *schema.Object) (*ast.Query, error) {
	stmts, err := parser.Parse(obj.Query.Text)
	if err != nil {
		return nil, err
	}
	if len(stmts) == 1 {
		if q, ok := stmts[0].(*ast.Query); ok {
			return q, nil
		}
	}
	return nil, fail.New(fail.Corrupt, "its text is not one query")
}

// sameColumns checks that a view's query still has the columns that the view promises.
func sameColumns(obj *schema.Object, cols []plan.Column) error {
	if len(cols) != len(obj.Fields) {
		return fail.New(fail.InvalidObject, "its query has %s, and had %d", fail.Count(len(cols), "column now", "columns now"), len(obj.Fields))
	}
	for i, f := range obj.Fields {
		if !f.Type.Equal(cols[i].Type) {
			return fail.New(fail.InvalidObject, "its column %q is %s now, and was %s", f.Name, cols[i].Type, f.Type)
		}
	}
	return nil
}

func (b *Binder) viewError(obj *schema.Object, err error, pos int) error {
	e := *fail.As(err)
	if e.Code == fail.Internal || e.Code == fail.Canceled || e.Code == fail.Unavailable {
		return err
	}
	message := e.Message
	if !strings.HasPrefix(message, "view ") { // the innermost view is the one to look at
		message = "view " + obj.QualifiedName() + ": " + message
	}
	out := fail.New(e.Code, "%s", message).At(b.text, pos)
	if e.Hint != "" {
		return out.WithHint("%s", e.Hint)
	}
	return out.WithHint("Make the view again with CREATE OR REPLACE VIEW.")
}

// createView binds CREATE VIEW.
func (b *Binder) createView(s *ast.CreateView) (plan.Statement, error) {
	if s.Temporary {
		return nil, b.unsupported(s.Pos(), "a TEMPORARY view")
	}
	obj := &schema.Object{Kind: schema.View}
	old, err := b.place(s.Name, obj, s.OrReplace, s.IfNotExists)
	if err != nil {
		return nil, err
	}
	var uses []schema.Use
	b.uses, b.making = &uses, true
	node, err := b.query(s.Query, nil)
	b.uses, b.making = nil, false
	if err != nil {
		return nil, err
	}
	if len(b.params) > 0 {
		return nil, b.fail(fail.UndefinedParameter, s.Query.Pos(), "a view cannot have parameters").
			WithHint("Write the values into the query, or filter the view where it is used.")
	}
	if err := b.viewFields(obj, s, b.settleTypes(node).Columns()); err != nil {
		return nil, err
	}
	obj.Query = &schema.ViewQuery{Text: deparse.Statement(s.Query), Namespace: b.env.Namespace, Uses: uses}
	if old != nil {
		if err := b.checkCycle(obj, old, s.Name.Pos()); err != nil {
			return nil, err
		}
		keepFieldIDs(obj, old)
	}
	return &plan.CreateView{View: obj, Old: old, IfNotExists: s.IfNotExists}, nil
}

// viewFields names the columns of a view.
func (b *Binder) viewFields(obj *schema.Object, s *ast.CreateView, cols []plan.Column) error {
	if len(s.Columns) > len(cols) {
		return b.fail(fail.Syntax, s.Columns[len(cols)].Pos(), "the list names %s, the query has %d", fail.Count(len(s.Columns), "column"), len(cols))
	}
	if len(cols) == 0 {
		return b.fail(fail.InvalidParameter, s.Query.Pos(), "view %q needs a column", obj.Name)
	}
	if len(cols) > maxFields {
		return b.fail(fail.TooLarge, s.Query.Pos(), "a view has at most %d columns", maxFields)
	}
	for i, c := range cols {
		id := ast.Ident{Span: ast.Span{Start: s.Query.Pos(), Stop: s.Query.End()}, Text: c.Name}
		if i < len(s.Columns) {
			id = s.Columns[i]
		}
		if id.Text == "" || len(id.Text) > 255 {
			return b.fail(fail.InvalidParameter, id.Pos(), "column %d of the view needs a name of 1 to 255 bytes", i+1).
				WithHint("Name it with AS.")
		}
		for _, f := range obj.Fields {
			if f.Name == id.Text {
				return b.fail(fail.DuplicateColumn, id.Pos(), "column %q is in the view twice", id.Text).WithHint("Name one of them with AS.")
			}
		}
		if t, ok := types.Parse(c.Type.String()); !ok || !t.Equal(c.Type) {
			return b.fail(fail.Unsupported, id.Pos(), "column %q: a view cannot have a column of type %s", id.Text, c.Type)
		}
		obj.Fields = append(obj.Fields, schema.Field{ID: int32(i + 1), Name: id.Text, Type: c.Type})
	}
	return nil
}

// checkCycle refuses a view that would read itself through what it reads.
func (b *Binder) checkCycle(obj, old *schema.Object, pos int) error {
	seen := map[uint64]bool{}
	var reaches func(q *schema.ViewQuery) (bool, error)
	reaches = func(q *schema.ViewQuery) (bool, error) {
		for _, u := range q.Uses {
			if u.ID == old.ID {
				return true, nil
			}
			if seen[u.ID] {
				continue
			}
			seen[u.ID] = true
			next, err := b.env.Catalog.ByID(b.ctx, u.ID)
			if err != nil {
				return false, err
			}
			if next.Query == nil {
				continue
			}
			if yes, err := reaches(next.Query); yes || err != nil {
				return yes, err
			}
		}
		return false, nil
	}
	yes, err := reaches(obj.Query)
	if err == nil && yes {
		err = b.fail(fail.InvalidObject, pos, "view %s would read itself", old.QualifiedName())
	}
	return err
}

// keepFieldIDs gives the columns that stay their ids, so that views over this
// one still find them, and new ids to the others.
func keepFieldIDs(obj, old *schema.Object) {
	next := old.LastField
	for i := range obj.Fields {
		if was, _ := old.FieldByName(obj.Fields[i].Name, true); was != nil {
			obj.Fields[i].ID = was.ID
			continue
		}
		next++
		obj.Fields[i].ID = next
	}
	obj.LastField = next
}

// BindView checks that a view's query can be bound and has the view's columns.
func BindView(ctx context.Context, env Env, obj *schema.Object) error {
	_, err := newBinder(ctx, env, "").expandView(obj, nil, 0)
	return err
}

// ViewText is the query of a view with the names that its objects have today.
func ViewText(ctx context.Context, env Env, obj *schema.Object) (string, error) {
	return newBinder(ctx, env, "").viewText(obj)
}

func (b *Binder) viewText(obj *schema.Object) (string, error) {
	q, err := parseView(obj)
	if err != nil {
		return "", b.viewError(obj, err, 0)
	}
	var failed error
	rename := func(n ast.Name) (ast.Name, *schema.Object, bool) {
		use := obj.Query.Find(useKey(n))
		if use == nil {
			return n, nil, false
		}
		now, err := b.env.Catalog.ByID(b.ctx, use.ID)
		if err != nil {
			failed = err
			return n, nil, false
		}
		return ast.Name{Parts: []ast.Ident{quoted(now.Namespace), quoted(now.Name)}}, now, true
	}
	ast.Inspect(q, func(n ast.Node) bool {
		switch x := n.(type) {
		case *ast.TableName:
			if name, now, ok := rename(x.Name); ok {
				renameTable(x, name, now, obj.Query.Find(useKey(x.Name)))
			}
		case *ast.FuncCall:
			renameSearched(x, rename)
		}
		return true
	})
	return deparse.Statement(q), failed
}

// renameTable gives a table of a view's text its name of today; the query goes on
// to know it by the name that it had.
func renameTable(x *ast.TableName, name ast.Name, now *schema.Object, use *schema.Use) {
	was := x.Name.Last()
	x.Name = name
	var cols []ast.Ident
	same := true
	for _, f := range now.Fields {
		if as, ok := use.Fields[f.ID]; ok {
			cols = append(cols, quoted(as))
			same = same && as == f.Name
		}
	}
	if x.Alias == nil && (!same || !nameIs(was, now.Name)) {
		x.Alias = &ast.Alias{Name: was}
	}
	if !same && len(x.Alias.Columns) == 0 {
		x.Alias.Columns = cols
	}
}

// renameSearched does the same for the collection that a search function reads.
func renameSearched(x *ast.FuncCall, rename func(ast.Name) (ast.Name, *schema.Object, bool)) {
	if name := strings.ToLower(x.Name.Last().Text); name != "vector_search" && name != "text_search" {
		return
	}
	for _, arg := range x.Args {
		ref, ok := arg.Value.(*ast.ColumnRef)
		if !ok {
			continue
		}
		if name, _, ok := rename(ast.Name{Parts: ref.Parts}); ok {
			arg.Value = &ast.ColumnRef{Span: ref.Span, Parts: name.Parts}
			return
		}
	}
}

// quoted is an identifier that is read back exactly.
func quoted(name string) ast.Ident {
	plain := name == strings.ToLower(name) && !parser.Reserved(name)
	return ast.Ident{Text: name, Quoted: !plain}
}

// writable refuses objects whose rows cannot be written.
func (b *Binder) writable(obj *schema.Object, pos int) error {
	if obj.Kind == schema.Link {
		return b.linkHasNoRows(obj, pos)
	}
	if obj.Kind != schema.View {
		return nil
	}
	err := b.fail(fail.WrongObjectType, pos, "%q is a view and cannot be written", obj.Name)
	var names []string
	for _, u := range obj.Query.Uses {
		if o, err := b.env.Catalog.ByID(b.ctx, u.ID); err == nil && !slices.Contains(names, o.QualifiedName()) {
			names = append(names, o.QualifiedName())
		}
	}
	if len(names) == 0 {
		return err
	}
	return err.WithHint("Write to what it reads: %s.", strings.Join(names, ", "))
}

// place finds where a new object goes: its namespace and name are set in obj, and
// the object that it replaces is returned, or nil.
func (b *Binder) place(name ast.Name, obj *schema.Object, orReplace, ifNotExists bool) (*schema.Object, error) {
	ns, id, err := b.split(name)
	if err != nil {
		return nil, err
	}
	if isReserved(ns.Text) {
		return nil, b.fail(fail.InvalidParameter, name.Pos(), "namespace %q is reserved and holds no user objects", ns.Text)
	}
	if err := b.checkName(id, string(obj.Kind)); err != nil {
		return nil, err
	}
	at := ast.Name{Span: name.Span, Parts: []ast.Ident{{Span: name.Span, Text: ns.Text, Quoted: ns.Quoted}}}
	if obj.Namespace, err = b.namespace(at); err != nil {
		if e := fail.As(err); e.Code == fail.UndefinedNamespace && e.Hint == "" {
			return nil, e.WithHint("Create it with CREATE NAMESPACE %s.", ns.Text)
		}
		return nil, err
	}
	obj.Name = id.Text
	old, err := b.env.Catalog.Lookup(b.ctx, ns, catalog.Name{Text: id.Text})
	switch {
	case fail.Is(err, fail.UndefinedTable):
		return nil, nil
	case err != nil:
		return nil, b.at(err, name.Pos())
	case orReplace && old.Kind != obj.Kind:
		return nil, b.fail(fail.WrongObjectType, name.Pos(), "%q is a %s and cannot be replaced by a %s", old.Name, old.Kind, obj.Kind).
			WithHint("Drop it first.")
	case orReplace, ifNotExists:
		return old, nil
	}
	return nil, b.fail(fail.DuplicateObject, name.Pos(), "%s %q exists already", old.Kind, old.Name).
		WithHint("Use IF NOT EXISTS or OR REPLACE.")
}
