package binder

import (
	"slices"
	"strconv"
	"strings"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/planner/internal/ast"
)

// alter binds ALTER COLLECTION, TABLE and VIEW: the description that the object
// has afterwards.
func (b *Binder) alter(s *ast.AlterTable) (plan.Statement, error) {
	if s.Kind == ast.ObjectNamespace {
		return b.alterNamespace(s)
	}
	want, ok := objectKinds[s.Kind]
	if !ok || want == schema.Link {
		return nil, b.unsupported(s.Pos(), "ALTER "+s.Kind.String())
	}
	old, err := b.object(s.Name)
	if s.IfExists && (fail.Is(err, fail.UndefinedTable) || fail.Is(err, fail.UndefinedNamespace)) {
		return &plan.Nothing{Note: strings.ToLower(s.Kind.String()) + " " + strconv.Quote(s.Name.String()) + " does not exist"}, nil
	}
	if err != nil {
		return nil, err
	}
	if old.Kind != want {
		return nil, b.fail(fail.WrongObjectType, s.Name.Pos(), "%q is a %s", old.Name, old.Kind).
			WithHint("Write ALTER %s %s.", strings.ToUpper(string(old.Kind)), s.Name.String())
	}
	fresh := *old
	fresh.Fields = slices.Clone(old.Fields)
	a := &alteration{b: b, obj: &fresh}
	for _, action := range s.Actions {
		if err := a.action(action); err != nil {
			return nil, err
		}
	}
	return &plan.AlterObject{Old: old, New: a.obj, Note: strings.Join(a.notes, "; ")}, nil
}

// alteration is an object while the actions of an ALTER are applied to it.
type alteration struct {
	b     *Binder
	obj   *schema.Object
	notes []string
}

func (a *alteration) action(x *ast.AlterAction) error {
	switch {
	case x.Kind == ast.AlterRename:
		return a.rename(x)
	case x.Kind == ast.AlterRenameColumn:
		return a.renameColumn(x)
	case a.obj.Kind == schema.View:
		return a.b.fail(fail.WrongObjectType, x.Pos(), "%s is for tables, and %q is a view", x.Kind, a.obj.Name).
			WithHint("Give the view another query with CREATE OR REPLACE VIEW.")
	case x.Kind == ast.AlterAddColumn:
		return a.addColumn(x)
	case x.Kind == ast.AlterDropColumn:
		return a.dropColumn(x)
	case x.Kind == ast.AlterDropNotNull:
		return a.dropNotNull(x)
	case x.Kind == ast.AlterSetDefault, x.Kind == ast.AlterDropDefault:
		return a.setDefault(x)
	case x.Kind == ast.AlterSetNotNull:
		return a.b.unsupported(x.Pos(), "SET NOT NULL")
	case x.Kind == ast.AlterColumnType:
		return a.b.unsupported(x.Pos(), "ALTER COLUMN … TYPE")
	}
	return a.b.unsupported(x.Pos(), "ALTER … "+x.Kind.String())
}

func (a *alteration) rename(x *ast.AlterAction) error {
	if err := a.b.checkName(x.NewName, string(a.obj.Kind)); err != nil {
		return err
	}
	a.obj.Name = x.NewName.Text
	return nil
}

func (a *alteration) renameColumn(x *ast.AlterAction) error {
	f, err := a.b.field(a.obj, x.Column)
	if err != nil {
		return err
	}
	if a.obj.Kind == schema.Collection {
		return a.b.fail(fail.Unsupported, x.Pos(), "a column of a collection keeps its name: it is a member of each document").
			WithHint("Give it another name in a view: CREATE VIEW … AS SELECT %s AS %s FROM %s", x.Column.Text, x.NewName.Text, a.obj.Name)
	}
	if err := a.free(x.NewName, f.ID); err != nil {
		return err
	}
	f.Name = x.NewName.Text
	return nil
}

// free checks that a name is fit for a column and not that of another one.
func (a *alteration) free(id ast.Ident, own int32) error {
	if a.obj.Kind != schema.View {
		if err := a.b.checkName(id, "column"); err != nil {
			return err
		}
	}
	for _, f := range a.obj.Fields {
		if f.ID != own && strings.EqualFold(f.Name, id.Text) {
			return a.b.fail(fail.DuplicateColumn, id.Pos(), "column %q exists already in %q", f.Name, a.obj.Name)
		}
	}
	return nil
}

func (a *alteration) addColumn(x *ast.AlterAction) error {
	b := a.b
	if old, _ := a.obj.FieldByName(x.Def.Name.Text, false); old != nil && x.IfExists {
		a.notes = append(a.notes, "column "+strconv.Quote(old.Name)+" exists already")
		return nil
	}
	if err := a.free(x.Def.Name, 0); err != nil {
		return err
	}
	for _, c := range x.Def.Constraints {
		switch c.Kind {
		case ast.ConstraintNull:
			continue
		case ast.ConstraintNotNull:
			return b.fail(fail.Unsupported, c.Pos(), "a column that is added cannot be NOT NULL: the rows that are there have no value for it").
				WithHint("Add it without NOT NULL.")
		case ast.ConstraintPrimaryKey:
			return b.fail(fail.InvalidObject, c.Pos(), "the primary key of %q cannot be changed", a.obj.Name)
		case ast.ConstraintDefault:
			return b.fail(fail.Unsupported, c.Pos(), "a column that is added cannot have a DEFAULT: the rows that are there have NULL in it").
				WithHint("Add it, then ALTER COLUMN %s SET DEFAULT …, and UPDATE the rows that are there.", x.Def.Name.Text)
		}
		if a.obj.Kind == schema.Collection && c.Kind != ast.ConstraintDistance && c.Kind != ast.ConstraintModifier {
			return b.fail(fail.Unsupported, c.Pos(), "a column that is added to a collection cannot have %s", c.Kind).
				WithHint("Create another collection and fill it with INSERT INTO … SELECT.")
		}
	}
	d := &definition{b: b, obj: a.obj}
	if err := d.column(x.Def); err != nil {
		return err
	}
	a.obj.LastField++
	a.obj.Fields[len(a.obj.Fields)-1].ID = a.obj.LastField
	return nil
}

func (a *alteration) dropColumn(x *ast.AlterAction) error {
	b := a.b
	f, n := a.obj.FieldByName(x.Column.Text, x.Column.Quoted)
	if f == nil && n == 0 && x.IfExists {
		a.notes = append(a.notes, "column "+strconv.Quote(x.Column.Text)+" does not exist")
		return nil
	}
	f, err := b.field(a.obj, x.Column)
	if err != nil {
		return err
	}
	switch {
	case a.obj.Kind == schema.Collection:
		return b.fail(fail.Unsupported, x.Pos(), "a column of a collection cannot be dropped: it is a member of each document").
			WithHint("Leave it out in a view, or create another collection with INSERT INTO … SELECT.")
	case f.ID == a.obj.RouteBy:
		return b.fail(fail.InvalidObject, x.Pos(), "%q is the key of stream %q: it says the partition of a record", f.Name, a.obj.Name).
			WithHint("Create another stream and fill it with INSERT INTO … SELECT.")
	case len(a.obj.Fields) == 1:
		return b.fail(fail.InvalidObject, x.Pos(), "%q is the only column of %q", f.Name, a.obj.Name).WithHint("Drop the %s.", a.obj.Kind)
	}
	a.obj.Fields = slices.DeleteFunc(a.obj.Fields, func(g schema.Field) bool { return g.ID == f.ID })
	return nil
}

// setDefault changes what later rows get; those that are there stay as they are.
func (a *alteration) setDefault(x *ast.AlterAction) error {
	f, err := a.b.field(a.obj, x.Column)
	if err != nil {
		return err
	}
	f.Default = ""
	if x.Kind == ast.AlterSetDefault {
		f.Default, err = a.b.defaultText(x.Default, *f)
	}
	return err
}

func (a *alteration) dropNotNull(x *ast.AlterAction) error {
	f, err := a.b.field(a.obj, x.Column)
	if err != nil {
		return err
	}
	for _, k := range a.obj.Key {
		if a.obj.Fields[k].ID == f.ID {
			return a.b.fail(fail.InvalidObject, x.Pos(), "column %q is part of the primary key and is never NULL", f.Name)
		}
	}
	f.NotNull = false
	return nil
}
