package schema

import (
	"strings"

	"github.com/loamdb/loam/internal/types"
)

// Kind is the kind of an object of a namespace.
type Kind string

// The kinds of objects that exist today.
const (
	Collection Kind = "collection"
	Table      Kind = "table"
	// Stream is a table whose rows are only added, and leave by age or size.
	Stream Kind = "stream"
	// View is a stored query: it has fields and no rows, key or partitions.
	View Kind = "view"
	// Link carries rows of one object into another: it has neither fields nor rows.
	Link Kind = "link"
)

// Tabular reports whether the rows of the kind have no key: a row is known by its
// place in the log.
func (k Kind) Tabular() bool { return k == Table || k == Stream }

// Metric is the distance of a vector field.
type Metric string

// The metrics.
const (
	Cosine Metric = "cosine"
	L2     Metric = "l2"
	Dot    Metric = "dot"
)

// Field describes one declared or discovered field. Fields are immutable; a
// schema change makes a new Object.
type Field struct {
	// ID is stable over renames and never reused within the object.
	ID       int32
	Name     string
	Type     types.Type
	NotNull  bool
	FullText string // analyzer name, or ""
	Metric   Metric // VECTOR fields
	Modifier string // SPARSE VECTOR fields: "" or "idf"
	// MaxChars is the length that VARCHAR(n) gives a TEXT field; 0 is any.
	MaxChars int32
	// Default is what a row gets that gives the field no value: an SQL expression
	// in canonical form, or "" for NULL.
	Default string
}

// Object describes a collection, a table, a stream or a view at one schema version.
// Immutable.
type Object struct {
	ID            uint64
	Namespace     string
	Name          string
	Kind          Kind
	Incarnation   string
	SchemaVersion uint64
	// Key holds the positions in Fields of the primary key; empty for tables and streams.
	Key        []int
	Fields     []Field
	Partitions int
	// Dynamic collections take unknown JSON fields into the schema.
	Dynamic bool
	// RouteBy is the id of the field of a stream whose value says the partition of a
	// row; 0 for none.
	RouteBy int32
	// Options are the other WITH options, as written.
	Options map[string]string
	// LastField is the largest field id that was ever given: ids are not used again.
	LastField int32
	// Query is what a view stands for, and the transform of a link: the query of its
	// source; nil for everything else.
	Query *ViewQuery
	// Link is what a link does; nil for everything else.
	Link *LinkDef
}

// ViewQuery is the query of a view, bound to the objects that it meant when the
// view was made, whatever they are called today.
type ViewQuery struct {
	// Text is the query in canonical SQL, with its names as they were written.
	Text string
	// Namespace is where names of one part were looked up.
	Namespace string
	// Uses are the objects that the text names, once for each way of naming them.
	Uses []Use
}

// Use says which object a name in a view's text means.
type Use struct {
	// Name is the name as the text has it, in canonical SQL.
	Name string
	ID   uint64
	// Fields are the names that the object's fields had, by field id: the view sees
	// these fields under these names, and no others.
	Fields map[int32]string
}

// Find is the use of a name, or nil.
func (q *ViewQuery) Find(name string) *Use {
	for i := range q.Uses {
		if q.Uses[i].Name == name {
			return &q.Uses[i]
		}
	}
	return nil
}

// DependsOn reports whether the object would not work without the one with the
// id: a view reads it, or a link reads or writes it.
func (o *Object) DependsOn(id uint64) bool {
	if l := o.Link; l != nil && (l.Source == id || l.Target == id || l.Dead == id) {
		return true
	}
	return o.Query != nil && o.Query.Reads(id)
}

// Reads reports whether the view names the object.
func (q *ViewQuery) Reads(id uint64) bool {
	for _, u := range q.Uses {
		if u.ID == id {
			return true
		}
	}
	return false
}

// QualifiedName is namespace.name, for messages.
func (o *Object) QualifiedName() string { return o.Namespace + "." + o.Name }

// FieldByName finds a field. Quoted names match exactly; others match exactly
// first, then without case. The second result says how many fields match
// without case when there is no single match.
func (o *Object) FieldByName(name string, quoted bool) (*Field, int) {
	var found *Field
	n := 0
	for i := range o.Fields {
		f := &o.Fields[i]
		if f.Name == name {
			return f, 1
		}
		if !quoted && strings.EqualFold(f.Name, name) {
			found, n = f, n+1
		}
	}
	if n != 1 {
		return nil, n
	}
	return found, 1
}

// FieldNames lists the names, for suggestions.
func (o *Object) FieldNames() []string {
	names := make([]string, len(o.Fields))
	for i, f := range o.Fields {
		names[i] = f.Name
	}
	return names
}

// Route is the position of the field that RouteBy names, or -1.
func (o *Object) Route() int {
	for i := range o.Fields {
		if o.RouteBy != 0 && o.Fields[i].ID == o.RouteBy {
			return i
		}
	}
	return -1
}

// IsKey reports whether the field with this position is part of the primary key.
func (o *Object) IsKey(field int) bool {
	for _, k := range o.Key {
		if k == field {
			return true
		}
	}
	return false
}

// SystemColumn names the columns that every object has beside its fields. They
// are selectable and not in *.
type SystemColumn string

// The system columns. ColPK and ColSource exist for collections only.
const (
	ColPK        SystemColumn = "_pk"
	ColSource    SystemColumn = "_source"
	ColPartition SystemColumn = "_ingest_partition"
	ColOffset    SystemColumn = "_ingest_offset"
	ColIngestTS  SystemColumn = "_ingest_ts"
	ColRowID     SystemColumn = "_rowid"
)

// SystemColumns lists the system columns of an object of the kind with their types.
func SystemColumns(kind Kind) []Field {
	all := []Field{
		{Name: string(ColPK), Type: types.Of(types.Text)},
		{Name: string(ColSource), Type: types.Of(types.Binary)},
		{Name: string(ColPartition), Type: types.Of(types.Int32)},
		{Name: string(ColOffset), Type: types.Of(types.Int64)},
		{Name: string(ColIngestTS), Type: types.Of(types.Timestamp)},
		{Name: string(ColRowID), Type: types.Of(types.Int64)},
	}
	if kind.Tabular() {
		return all[2:]
	}
	return all
}
