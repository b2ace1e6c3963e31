package binder

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/planner/internal/ast"
)

// MaxPartitions is the largest number of partitions of an object.
const MaxPartitions = 64

// maxFields bounds the fields of an object: ids above 10,000 are reserved.
const maxFields = 5000

// defaultAnalyzer is the analyzer of FULLTEXT without a name.
const defaultAnalyzer = "standard"

// checkName refuses names that the system keeps for itself.
func (b *Binder) checkName(id ast.Ident, what string) error {
	switch {
	case id.Text == "":
		return b.fail(fail.InvalidParameter, id.Pos(), "the name of a %s must not be empty", what)
	case strings.HasPrefix(id.Text, "_"):
		return b.fail(fail.InvalidParameter, id.Pos(), "%s %q: names with a leading underscore belong to the system", what, id.Text).
			WithHint("Use a name such as %q.", strings.TrimLeft(id.Text, "_")+"_")
	case len(id.Text) > 255:
		return b.fail(fail.InvalidParameter, id.Pos(), "the name of a %s has at most 255 bytes", what)
	}
	return nil
}

// drop binds DROP of one or several things.
func (b *Binder) drop(s *ast.Drop) (plan.Statement, error) {
	switch s.Kind {
	case ast.ObjectNamespace:
		if len(s.Names) > 1 {
			return nil, b.fail(fail.Unsupported, s.Names[1].Pos(), "DROP of several namespaces at once is not supported").WithHint("Drop them one by one.")
		}
		return b.dropNamespace(s, s.Names[0])
	case ast.ObjectTag:
		return b.dropTags(s)
	case ast.ObjectCollection, ast.ObjectTable, ast.ObjectStream, ast.ObjectView, ast.ObjectLink:
	default:
		return nil, b.unsupported(s.Pos(), "DROP "+s.Kind.String())
	}
	if s.Target == ast.TargetDrop {
		return nil, b.fail(fail.Unsupported, s.Pos(), "DROP LINK … DROP TARGET is not supported").WithHint("Drop the link, then the target.")
	}
	out := &plan.DropObjects{Cascade: s.Cascade}
	var absent []string
	for _, name := range s.Names {
		obj, err := b.object(name)
		if s.IfExists && (fail.Is(err, fail.UndefinedTable) || fail.Is(err, fail.UndefinedNamespace)) {
			absent = append(absent, strings.ToLower(s.Kind.String())+" "+strconv.Quote(name.String())+" does not exist")
			continue
		}
		if err != nil {
			return nil, err
		}
		if want := objectKinds[s.Kind]; obj.Kind != want {
			return nil, b.fail(fail.WrongObjectType, name.Pos(), "%q is a %s", obj.Name, obj.Kind).
				WithHint("Write DROP %s %s.", strings.ToUpper(string(obj.Kind)), name.String())
		}
		if !slices.ContainsFunc(out.Objects, func(o *schema.Object) bool { return o.ID == obj.ID }) {
			out.Objects = append(out.Objects, obj)
		}
	}
	out.Note = strings.Join(absent, "; ")
	if len(out.Objects) == 0 {
		return &plan.Nothing{Note: out.Note}, nil
	}
	return out, nil
}

var objectKinds = map[ast.ObjectKind]schema.Kind{ast.ObjectCollection: schema.Collection, ast.ObjectTable: schema.Table, ast.ObjectStream: schema.Stream, ast.ObjectView: schema.View, ast.ObjectLink: schema.Link}

// definition is CREATE COLLECTION or CREATE TABLE while it is bound.
type definition struct {
	b   *Binder
	s   *ast.CreateTable
	obj *schema.Object
	// keyPos is where the primary key is declared.
	keyPos int
}

// createTable binds CREATE COLLECTION and CREATE TABLE.
func (b *Binder) createTable(s *ast.CreateTable) (plan.Statement, error) {
	if s.Temporary {
		return nil, b.unsupported(s.Pos(), "a TEMPORARY "+strings.ToLower(s.Kind.String()))
	}
	d := &definition{b: b, s: s, obj: &schema.Object{Kind: objectKinds[s.Kind], Partitions: 1, Options: map[string]string{}}}
	if _, err := b.place(s.Name, d.obj, s.OrReplace, s.IfNotExists); err != nil {
		return nil, err
	}
	if err := d.options(); err != nil {
		return nil, err
	}
	out := &plan.CreateObject{Object: d.obj, IfNotExists: s.IfNotExists, OrReplace: s.OrReplace}
	if s.As != nil {
		var err error
		if out.As, err = d.as(); err != nil {
			return nil, err
		}
	} else {
		for _, c := range s.Columns {
			if err := d.column(c); err != nil {
				return nil, err
			}
		}
	}
	for _, c := range s.Constraints {
		if err := d.constraint(c); err != nil {
			return nil, err
		}
	}
	return out, d.check()
}

// options reads WITH (…): partitions and dynamic by meaning, the others as text.
func (d *definition) options() error {
	b := d.b
	for _, o := range d.s.Options {
		name := strings.ToLower(o.Name.String())
		value, err := b.optionValue(o.Value)
		if err != nil {
			return err
		}
		switch name {
		case "partitions":
			n, err := strconv.Atoi(value)
			if err != nil || n < 1 || n > MaxPartitions {
				return b.fail(fail.InvalidParameter, o.Pos(), "partitions must be a number from 1 to %d, not %q", MaxPartitions, value)
			}
			d.obj.Partitions = n
		case "dynamic":
			v, err := strconv.ParseBool(strings.ToLower(value))
			if err != nil {
				return b.fail(fail.InvalidParameter, o.Pos(), "dynamic must be true or false, not %q", value)
			}
			if v && d.obj.Kind != schema.Collection {
				return b.fail(fail.InvalidParameter, o.Pos(), "dynamic is an option of collections, not of %ss", d.obj.Kind)
			}
			d.obj.Dynamic = v
		default:
			if _, twice := d.obj.Options[name]; twice {
				return b.fail(fail.InvalidParameter, o.Pos(), "option %q is given twice", name)
			}
			d.obj.Options[name] = value
		}
	}
	return nil
}

// as binds AS: the query gives the types, and the names where none are listed. The
// columns of a collection may be declared in full; the query's are assigned to them.
func (d *definition) as() (plan.Node, error) {
	b := d.b
	node, err := b.query(d.s.As, nil)
	if err != nil {
		return nil, err
	}
	node = b.settleTypes(node)
	cols := node.Columns()
	if n := len(d.s.Columns); n > 0 && n != len(cols) {
		return nil, b.fail(fail.Syntax, d.s.Columns[0].Pos(), "the list names %s, the query has %d", fail.Count(n, "column"), len(cols))
	}
	p, same := &plan.Project{Input: node}, true
	for i, c := range cols {
		e, err := d.asColumn(i, c)
		if err != nil {
			return nil, err
		}
		out := plan.NamedExpr{Column: c, Expr: e}
		if _, plain := e.(*expr.Column); !plain {
			out.Column, same = b.newColumn(c.Name, e.Type()), false
		}
		p.Exprs = append(p.Exprs, out)
	}
	if same {
		return node, nil
	}
	return p, nil
}

// asColumn declares the field of a column of the query; the expression is its value.
func (d *definition) asColumn(i int, c plan.Column) (expr.Expr, error) {
	b := d.b
	id := ast.Ident{Span: ast.Span{Start: d.s.As.Pos(), Stop: d.s.As.End()}, Text: c.Name}
	if len(d.s.Columns) > 0 {
		def := d.s.Columns[i]
		if def.Type != nil && d.obj.Kind == schema.Collection {
			if err := d.column(def); err != nil {
				return nil, err
			}
			f := d.obj.Fields[len(d.obj.Fields)-1]
			return b.assign(c.Ref(), f.Type, def.Pos(), f.Name)
		}
		if def.Type != nil || len(def.Constraints) > 0 {
			return nil, b.fail(fail.Syntax, def.Pos(), "CREATE TABLE AS takes its types from the query")
		}
		id = def.Name
	}
	if !storable(c.Type, d.obj.Kind) {
		return nil, b.fail(fail.DatatypeMismatch, id.Pos(), "column %q: type %s cannot be stored", id.Text, c.Type)
	}
	return c.Ref(), d.addField(id, schema.Field{Type: c.Type, Metric: defaultMetric(c.Type)})
}

func defaultMetric(t types.Type) schema.Metric {
	if t.Kind == types.Vector {
		return schema.Cosine
	}
	return ""
}

// addField appends a field under a checked name.
func (d *definition) addField(id ast.Ident, f schema.Field) error {
	if err := d.b.checkName(id, "column"); err != nil {
		return err
	}
	for _, old := range d.obj.Fields {
		if strings.EqualFold(old.Name, id.Text) {
			return d.b.fail(fail.DuplicateColumn, id.Pos(), "column %q is declared twice", id.Text)
		}
	}
	if len(d.obj.Fields) >= maxFields {
		return d.b.fail(fail.TooLarge, id.Pos(), "an object has at most %d columns", maxFields)
	}
	f.Name, f.ID = id.Text, int32(len(d.obj.Fields)+1)
	d.obj.Fields = append(d.obj.Fields, f)
	return nil
}

// column binds one column definition.
func (d *definition) column(c *ast.ColumnDef) error {
	if c.Type == nil {
		return d.b.fail(fail.Syntax, c.Pos(), "column %q needs a type", c.Name.Text)
	}
	t, err := d.b.typeNamed(c.Type)
	if err != nil {
		return err
	}
	if !storable(t, d.obj.Kind) {
		err := d.b.fail(fail.Unsupported, c.Type.Pos(), "a column of type %s cannot be stored", t)
		if d.obj.Kind == schema.Collection && storable(t, schema.Table) {
			return err.WithHint("A table can hold it; a collection keeps JSON documents, so store it as TEXT.")
		}
		return err
	}
	f := schema.Field{Type: t, Metric: defaultMetric(t)}
	if t.Kind == types.Text && len(c.Type.Mods) == 1 && c.Type.Mods[0] > 0 {
		f.MaxChars = int32(min(c.Type.Mods[0], math.MaxInt32))
	}
	key := false
	for _, k := range c.Constraints {
		if k.Kind == ast.ConstraintPrimaryKey {
			key = true
			d.keyPos = k.Pos()
			continue
		}
		if err := d.columnConstraint(&f, c, k); err != nil {
			return err
		}
	}
	if err := d.addField(c.Name, f); err != nil {
		return err
	}
	if key {
		return d.addKey(len(d.obj.Fields)-1, c.Pos())
	}
	return nil
}

// storable reports the types of columns. A collection keeps its rows as JSON
// documents, which have no intervals; vectors lie beside the other fields, never
// inside of them.
func storable(t types.Type, kind schema.Kind) bool {
	if t.Kind == types.Vector || t.Kind == types.Sparse {
		return true
	}
	return storableInside(t, kind) && !t.Deep()
}

func storableInside(t types.Type, kind schema.Kind) bool {
	switch t.Kind {
	case types.Interval:
		return kind.Tabular()
	case types.Vector, types.Sparse, types.Unknown:
		return false
	}
	for _, f := range t.Fields {
		if !storableInside(f.Type, kind) {
			return false
		}
	}
	return t.Elem == nil || storableInside(*t.Elem, kind)
}

func (d *definition) columnConstraint(f *schema.Field, c *ast.ColumnDef, k *ast.ColumnConstraint) error {
	b := d.b
	switch k.Kind {
	case ast.ConstraintNotNull:
		f.NotNull = true
	case ast.ConstraintNull:
	case ast.ConstraintFullText:
		if d.obj.Kind != schema.Collection {
			return b.fail(fail.WrongObjectType, k.Pos(), "FULLTEXT is for collections: %ss have no search indexes", d.obj.Kind)
		}
		if f.Type.Kind != types.Text && !(f.Type.Kind == types.List && f.Type.Elem.Kind == types.Text) {
			return b.fail(fail.DatatypeMismatch, k.Pos(), "FULLTEXT is for TEXT and TEXT[], and column %q is %s", c.Name.Text, f.Type)
		}
		if f.FullText = k.Text; k.Text == "" {
			f.FullText = defaultAnalyzer
		}
	case ast.ConstraintDistance:
		m, ok := metricNames[k.Text]
		if f.Type.Kind != types.Vector {
			return b.fail(fail.DatatypeMismatch, k.Pos(), "DISTANCE is for VECTOR, and column %q is %s", c.Name.Text, f.Type)
		}
		if !ok {
			return b.fail(fail.InvalidParameter, k.Pos(), "distance %q does not exist", k.Text).WithHint("It is one of cosine, l2, dot.")
		}
		f.Metric = m
	case ast.ConstraintModifier:
		if f.Type.Kind != types.Sparse {
			return b.fail(fail.DatatypeMismatch, k.Pos(), "MODIFIER is for SPARSE VECTOR, and column %q is %s", c.Name.Text, f.Type)
		}
		if k.Text != "idf" {
			return b.fail(fail.InvalidParameter, k.Pos(), "modifier %q does not exist", k.Text).WithHint("The one modifier is idf.")
		}
		f.Modifier = k.Text
	case ast.ConstraintDefault:
		named := *f
		named.Name = c.Name.Text
		var err error
		f.Default, err = b.defaultText(k.Expr, named)
		return err
	default:
		return b.unsupported(k.Pos(), k.Kind.String())
	}
	return nil
}

// constraint binds a constraint of the table: PRIMARY KEY (a, b).
func (d *definition) constraint(c *ast.TableConstraint) error {
	if c.Kind != ast.ConstraintPrimaryKey {
		return d.b.unsupported(c.Pos(), c.Kind.String())
	}
	if len(d.obj.Key) > 0 {
		return d.b.fail(fail.Syntax, c.Pos(), "the primary key is declared twice")
	}
	d.keyPos = c.Pos()
	for _, id := range c.Columns {
		i := -1
		for j, f := range d.obj.Fields {
			if nameIs(id, f.Name) {
				i = j
			}
		}
		if i < 0 {
			return d.b.suggest(fail.UndefinedColumn, id, d.obj.FieldNames(), "column %q of the primary key is not declared", id.Text)
		}
		if d.obj.IsKey(i) {
			return d.b.fail(fail.DuplicateColumn, id.Pos(), "column %q is in the primary key twice", id.Text)
		}
		d.obj.Key = append(d.obj.Key, i)
		if err := d.keyField(i, id.Pos()); err != nil {
			return err
		}
	}
	return nil
}

func (d *definition) addKey(i, off int) error {
	if len(d.obj.Key) > 0 {
		return d.b.fail(fail.Syntax, off, "the primary key is declared twice").WithHint("Write PRIMARY KEY (a, b) after the columns.")
	}
	d.obj.Key = []int{i}
	return d.keyField(i, off)
}

// keyField checks the type of a key field and makes it NOT NULL.
func (d *definition) keyField(i, off int) error {
	f := &d.obj.Fields[i]
	switch f.Type.Kind {
	case types.Text, types.Int32, types.Int64, types.UUID:
	default:
		return d.b.fail(fail.DatatypeMismatch, off, "column %q of type %s cannot be a key", f.Name, f.Type).
			WithHint("Keys are TEXT, INT, BIGINT, UUID or several of these.")
	}
	f.NotNull = true
	return nil
}

// check holds the rules of the whole definition.
func (d *definition) check() error {
	b := d.b
	switch {
	case d.obj.Kind.Tabular() && len(d.obj.Key) > 0:
		return b.fail(fail.Unsupported, d.keyPos, "a %s has no primary key", d.obj.Kind).WithHint("Use CREATE COLLECTION for rows with a key.")
	case d.obj.Kind == schema.Collection && len(d.obj.Key) == 0:
		return b.fail(fail.InvalidParameter, d.s.Name.Pos(), "collection %q needs a primary key", d.obj.Name).
			WithHint("Declare one: id TEXT PRIMARY KEY")
	case len(d.obj.Fields) == 0:
		return b.fail(fail.InvalidParameter, d.s.Name.Pos(), "%s %q needs a column", d.obj.Kind, d.obj.Name)
	}
	return nil
}
