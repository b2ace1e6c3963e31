package rest

import (
	"context"
	"strconv"
	"strings"

	"github.com/loamdb/loam"
	"github.com/loamdb/loam/catalog"
	"github.com/loamdb/loam/flightsql/internal/engine"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// query is SQL that a route is translated into, with its parameters.
type query struct {
	text   strings.Builder
	values []vec.Value
	// predicate is the caller's own SQL inside the text, at predicateAt.
	predicate   string
	predicateAt int
}

func (q *query) add(parts ...string) *query {
	for _, p := range parts {
		q.text.WriteString(p)
	}
	return q
}

// param adds a parameter.
func (q *query) param(v vec.Value) *query {
	q.values = append(q.values, v)
	return q.add("$", strconv.Itoa(len(q.values)))
}

// sql adds a predicate that the caller wrote, in parentheses that it cannot leave.
func (q *query) sql(predicate string) error {
	if err := loam.CheckPredicate(predicate); err != nil {
		return err
	}
	q.add("(")
	q.predicate, q.predicateAt = predicate, q.text.Len()
	q.add(predicate, "\n)")
	return nil
}

// run executes the query for one request.
func (q *query) run(ctx context.Context, sess engine.Session) (*engine.Result, error) {
	text := q.text.String()
	st, err := sess.Prepare(ctx, text, nil)
	if err == nil {
		st, err = bindValues(ctx, sess, text, st, q.values)
	}
	if err != nil {
		return nil, q.placed(err)
	}
	res, err := st.Execute(ctx)
	return res, q.placed(err)
}

// placed turns a place in the translation into one in the caller's predicate, or
// into none: the caller did not write the rest.
func (q *query) placed(err error) error {
	if err == nil {
		return nil
	}
	e := *fail.As(err)
	if e.Pos.Line == 0 {
		return err
	}
	at := e.Pos.Offset - q.predicateAt
	e.Pos = fail.Pos{}
	if q.predicate != "" && at >= 0 && at <= len(q.predicate) {
		e.Pos = fail.PosAt(q.predicate, at)
	}
	return &e
}

// quoteName is an identifier that matches exactly.
func quoteName(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// fullName is an object's name as SQL.
func fullName(o *schema.Object) string { return quoteName(o.Namespace) + "." + quoteName(o.Name) }

// find looks up the object that the path names. Errors: fail.UndefinedTable,
// fail.WrongObjectType for a table among the collections or the reverse.
func (a *api) find(ctx context.Context, at loam.Target, kind schema.Kind) (*schema.Object, error) {
	obj, err := a.engine.Catalog().Lookup(ctx, catalog.Name{Text: at.Namespace}, catalog.Name{Text: at.Name})
	if err != nil {
		return nil, err
	}
	if obj.Kind != kind {
		return nil, fail.New(fail.WrongObjectType, "%s is a %s, not a %s", obj.Name, obj.Kind, kind).
			WithHint("Its path is /v1/namespaces/%s/%ss/%s.", obj.Namespace, obj.Kind, obj.Name)
	}
	return obj, nil
}

// fieldNamed is a field or system column as SQL, by its declared spelling, and
// its type. Errors: fail.UndefinedColumn, fail.AmbiguousColumn.
func fieldNamed(o *schema.Object, name string) (string, types.Type, error) {
	f, n := o.FieldByName(name, false)
	if f != nil {
		return quoteName(f.Name), f.Type, nil
	}
	if n > 1 {
		return "", types.Type{}, fail.New(fail.AmbiguousColumn, "%d fields of %s are called %.60q but for their case", n, o.Name, name)
	}
	for _, c := range schema.SystemColumns(o.Kind) {
		if c.Name == name {
			return quoteName(name), c.Type, nil
		}
	}
	e := fail.New(fail.UndefinedColumn, "%s has no field %.60q", o.Name, name)
	if near := fail.Closest(name, o.FieldNames()); near != "" {
		return "", types.Type{}, e.WithHint("Did you mean %q?", near)
	}
	return "", types.Type{}, e.WithHint("Its fields are %s.", strings.Join(o.FieldNames(), ", "))
}

// fieldList are the fields that a request names, or all but vectors.
func fieldList(o *schema.Object, names []string) ([]string, error) {
	var out []string
	for _, n := range names {
		name, _, err := fieldNamed(o, n)
		if err != nil {
			return nil, err
		}
		out = append(out, name)
	}
	if names != nil {
		return out, nil
	}
	for _, f := range o.Fields {
		if f.Type.Kind != types.Vector && f.Type.Kind != types.Sparse {
			out = append(out, quoteName(f.Name))
		}
	}
	return out, nil
}

// listed splits a list of names of the query string; nil without one.
func listed(text string) []string {
	if strings.TrimSpace(text) == "" {
		return nil
	}
	names := strings.Split(text, ",")
	for i, n := range names {
		names[i] = strings.TrimSpace(n)
	}
	return names
}
