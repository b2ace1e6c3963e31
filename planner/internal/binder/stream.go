package binder

import (
	"strings"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/planner/internal/ast"
)

// routeName is the column of a stream that says the partition unless the option of
// the same name names another.
const routeName = "key"

// streamFields are the columns of a stream that declares none: the record's key,
// its bytes as they came, what goes with them, and when it happened.
func streamFields() []schema.Field {
	text := types.Of(types.Text)
	fields := []schema.Field{
		{Name: routeName, Type: text},
		{Name: "value", Type: types.Of(types.Binary)},
		{Name: "headers", Type: types.MapOf(text, text)},
		{Name: "timestamp", Type: types.Of(types.Timestamp), Default: "now()"},
	}
	for i := range fields {
		fields[i].ID = int32(i + 1)
	}
	return fields
}

// createStream binds CREATE STREAM as the definition of a table whose rows are only
// added.
func (b *Binder) createStream(s *ast.CreateStream) (plan.Statement, error) {
	t := &ast.CreateTable{Span: s.Span, Kind: ast.ObjectStream, OrReplace: s.OrReplace, IfNotExists: s.IfNotExists, Name: s.Name, Columns: s.Columns, Options: s.Options}
	d := &definition{b: b, s: t, obj: &schema.Object{Kind: schema.Stream, Partitions: 1, Options: map[string]string{}}}
	if _, err := b.place(s.Name, d.obj, s.OrReplace, s.IfNotExists); err != nil {
		return nil, err
	}
	if err := d.options(); err != nil {
		return nil, err
	}
	for _, c := range s.Columns {
		if err := d.column(c); err != nil {
			return nil, err
		}
	}
	if len(s.Columns) == 0 {
		d.obj.Fields = streamFields()
	}
	if err := d.check(); err != nil {
		return nil, err
	}
	if err := d.route(); err != nil {
		return nil, err
	}
	return &plan.CreateObject{Object: d.obj, IfNotExists: s.IfNotExists, OrReplace: s.OrReplace}, nil
}

// route finds the column that says the partition of a row: that of the option key,
// else the column of that name, else none.
func (d *definition) route() error {
	b := d.b
	want, named := d.obj.Options[routeName]
	off := d.s.Name.Pos()
	if named {
		for _, o := range d.s.Options {
			if strings.EqualFold(o.Name.String(), routeName) {
				off = o.Pos()
			}
		}
		delete(d.obj.Options, routeName)
		if want == "" {
			return nil // the batches go to the partitions in turn
		}
	} else {
		want = routeName
	}
	f, _ := d.obj.FieldByName(want, false)
	switch {
	case f == nil && !named:
		return nil
	case f == nil:
		return b.suggest(fail.UndefinedColumn, ast.Ident{Span: ast.Span{Start: off}, Text: want}, d.obj.FieldNames(), "the key of the stream is a column that is not declared: %q", want)
	}
	switch f.Type.Kind {
	case types.Text, types.Int32, types.Int64, types.UUID:
		d.obj.RouteBy = f.ID
		return nil
	}
	if !named {
		return nil
	}
	return b.fail(fail.DatatypeMismatch, off, "column %q of type %s cannot be the key of a stream", f.Name, f.Type).
		WithHint("Keys are TEXT, INT, BIGINT or UUID.")
}

// refuseStream refuses to change rows of a stream.
func (b *Binder) refuseStream(obj *schema.Object, pos int, what string) error {
	if obj.Kind != schema.Stream {
		return nil
	}
	return b.fail(fail.WrongObjectType, pos, "%s is refused: %q is a stream, whose records are only added", what, obj.Name).
		WithHint("Records leave by retention. Keep what changes in a collection or a table, fed by a link: CREATE LINK … FROM STREAM %s INTO ….", obj.Name)
}
