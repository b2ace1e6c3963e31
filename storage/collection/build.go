package collection

import (
	"strconv"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/internal/vec"
	"github.com/loamdb/loam/storage/internal/source"
)

// FromColumns makes log rows of typed columns: one vector a field, nil where
// absent, all of n rows. Vectors and NOT NULL are checked; errors name row and field.
func FromColumns(obj *schema.Object, cols []*vec.Vector, n int) (*Rows, error) {
	for i := range obj.Fields {
		if err := checkColumn(obj, i, cols[i], n); err != nil {
			return nil, err
		}
	}
	flat := make([]*vec.Vector, len(cols))
	for i, c := range cols {
		if c != nil {
			flat[i] = c.Flatten()
		}
	}
	if obj.Kind.Tabular() {
		if err := needOneColumn(obj, flat, n); err != nil {
			return nil, err
		}
		return &Rows{Cols: flat, built: obj}, nil
	}
	r := &Rows{Keys: make([]string, n), Sources: make([][]byte, n), Delete: make([]bool, n), Cols: vectorColumnsOf(obj, flat), built: obj}
	if readsBack(obj) {
		r.typed, r.version = flat, obj.SchemaVersion
	}
	for i := range n {
		var err error
		if r.Keys[i], err = source.KeyAt(obj, flat, i); err != nil {
			return nil, rowError(err, i)
		}
		if r.Sources[i], err = source.Append(nil, obj, flat, i); err != nil {
			return nil, rowError(err, i)
		}
	}
	return r, nil
}

// FromColumnsWithDeletes makes log rows of typed columns of a collection, in
// order: row i is deleted by its key where gone[i], else upserted.
func FromColumnsWithDeletes(obj *schema.Object, cols []*vec.Vector, gone []bool) (*Rows, error) {
	var kept []int32
	for i, g := range gone {
		if !g {
			kept = append(kept, int32(i))
		}
	}
	live := make([]*vec.Vector, len(cols))
	for i, c := range cols {
		if c != nil {
			live[i] = vec.New(c.Type, len(kept))
			live[i].AppendRows(c, kept, len(kept))
		}
	}
	up, err := FromColumns(obj, live, len(kept))
	if err != nil {
		return nil, err
	}
	r := &Rows{Cols: make([]*vec.Vector, len(up.Cols)), built: obj}
	for f, c := range up.Cols {
		if c != nil {
			r.Cols[f] = vec.New(c.Type, len(gone))
		}
	}
	next := int32(0)
	for i, g := range gone {
		key, err := source.KeyAt(obj, cols, i)
		if err != nil {
			return nil, rowError(err, i)
		}
		var doc []byte
		for f, c := range r.Cols {
			switch {
			case c == nil:
			case g:
				c.AppendNull()
			default:
				c.AppendRows(up.Cols[f], []int32{next}, 1)
			}
		}
		if !g {
			doc = up.Sources[next]
			next++
		}
		r.Keys, r.Sources, r.Delete = append(r.Keys, key), append(r.Sources, doc), append(r.Delete, g)
	}
	return r, nil
}

// readsBack reports whether every field in _source reads back as the value that
// was written.
func readsBack(obj *schema.Object) bool {
	for _, f := range obj.Fields {
		if !source.Outside(f.Type) && !source.ReadsBack(f.Type) {
			return false
		}
	}
	return true
}

// needOneColumn gives a table batch at least one column, so that it has a row count.
func needOneColumn(obj *schema.Object, cols []*vec.Vector, n int) error {
	for _, c := range cols {
		if c != nil {
			return nil
		}
	}
	if len(cols) == 0 {
		return fail.Bug("table %s has no fields", obj.Name)
	}
	cols[0] = vec.Const(obj.Fields[0].Type, vec.Null(obj.Fields[0].Type), n).Flatten()
	return nil
}

func checkColumn(obj *schema.Object, i int, c *vec.Vector, n int) error {
	f := &obj.Fields[i]
	outside := source.Outside(f.Type)
	if c == nil {
		if f.NotNull && n > 0 && !obj.IsKey(i) {
			return fail.New(fail.NotNull, "field %q of %s is missing and may not be NULL", f.Name, obj.Name).WithHint("Give every row a value for %q.", f.Name)
		}
		return nil
	}
	if c.N != n {
		return fail.Bug("field %q has %d rows, the batch %d", f.Name, c.N, n)
	}
	if !outside && !f.NotNull && f.MaxChars == 0 {
		return nil
	}
	for row := range n {
		if outside {
			if err := source.CheckVector(f, c.Value(row)); err != nil {
				return rowError(fieldError(obj, f, err), row)
			}
		} else if !c.IsNull(row) {
			if err := source.CheckLength(f, c.Value(row)); err != nil {
				return rowError(fieldError(obj, f, err), row)
			}
		} else if f.NotNull && !obj.IsKey(i) {
			return rowError(fail.New(fail.NotNull, "field %q of %s may not be NULL", f.Name, obj.Name).WithHint("Give every row a value for %q.", f.Name), row)
		}
	}
	return nil
}

func fieldError(obj *schema.Object, f *schema.Field, err error) error {
	e := fail.As(err)
	out := fail.New(e.Code, "field %q of %s: %s", f.Name, obj.Name, e.Message)
	out.Hint = e.Hint
	return out
}

func rowError(err error, row int) error {
	e := fail.As(err)
	out := fail.New(e.Code, "row %s: %s", strconv.Itoa(row+1), e.Message)
	out.Hint = e.Hint
	return out
}

// FromDocuments makes log rows of JSON documents as users sent them.
func FromDocuments(obj *schema.Object, docs [][]byte) (*Rows, error) {
	if obj.Kind != schema.Collection {
		return nil, fail.New(fail.WrongObjectType, "%s is a %s; documents go into collections", obj.Name, obj.Kind)
	}
	x := source.NewExtractor(obj)
	r := &Rows{Cols: make([]*vec.Vector, len(obj.Fields)), built: obj}
	fields := vectorFields(obj)
	for _, f := range fields {
		r.Cols[f] = vec.New(obj.Fields[f].Type, len(docs))
	}
	for i, doc := range docs {
		d, err := x.Parse(doc)
		if err != nil {
			return nil, rowError(err, i)
		}
		r.Keys = append(r.Keys, d.Key)
		r.Sources = append(r.Sources, d.Source)
		r.Delete = append(r.Delete, false)
		for _, f := range fields {
			r.Cols[f].Append(d.Vectors[f])
		}
	}
	return r, nil
}

// Discover lists the members of valid documents that the object does not declare.
func Discover(obj *schema.Object, docs [][]byte) []schema.Field {
	return source.NewExtractor(obj).Discover(docs)
}

// DeleteKeys makes log rows that delete documents by key.
func DeleteKeys(obj *schema.Object, keys []string) *Rows {
	r := &Rows{Keys: keys, Sources: make([][]byte, len(keys)), Delete: make([]bool, len(keys)), Cols: make([]*vec.Vector, len(obj.Fields))}
	for i := range keys {
		r.Delete[i] = true
	}
	return r
}

// vectorColumnsOf keeps the columns that lie outside _source.
func vectorColumnsOf(obj *schema.Object, cols []*vec.Vector) []*vec.Vector {
	out := make([]*vec.Vector, len(obj.Fields))
	for _, f := range vectorFields(obj) {
		out[f] = cols[f]
	}
	return out
}

// KeysOf are the primary keys of n rows of typed columns.
func KeysOf(obj *schema.Object, cols []*vec.Vector, n int) ([]string, error) {
	out := make([]string, n)
	for i := range n {
		var err error
		if out[i], err = source.KeyAt(obj, cols, i); err != nil {
			return nil, rowError(err, i)
		}
	}
	return out, nil
}

// RecordColumns are JSON records of a stream as columns; see source.RecordColumns.
func RecordColumns(obj *schema.Object, docs [][]byte) (cols []*vec.Vector, given [][]bool, to []int32, err error) {
	return source.RecordColumns(obj, docs)
}
