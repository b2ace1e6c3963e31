package collection

import (
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// records are the block's rows as the tail takes them. They are what
// decodePayload reads from the block's payload, which is the way for rows whose
// typed fields are not at hand; else the fields are copied instead of being
// read again out of what was just written. The rows stay the caller's.
func (b *block) records(obj *schema.Object, base uint64) (*records, error) {
	switch {
	case obj.Kind.Tabular() && sameTypes(obj, b.rows.Cols):
		return b.rows.tableRecords(obj, b.log.Partition, base), nil
	case obj.Kind == schema.Collection && b.rows.typed != nil && b.rows.version == obj.SchemaVersion && sameTypes(obj, b.rows.typed):
		return b.rows.documentRecords(obj, b.pick), nil
	}
	return decodePayload(obj, b.log.Partition, base, b.log.Payload)
}

// sameTypes reports whether cols has a column of the field's type, or none, for each field.
func sameTypes(obj *schema.Object, cols []*vec.Vector) bool {
	for i, c := range cols {
		if i >= len(obj.Fields) || c != nil && !c.Type.Equal(obj.Fields[i].Type) {
			return false
		}
	}
	return len(cols) == len(obj.Fields)
}

// documentRecords copies the picked rows of a collection, none of them a delete.
func (r *Rows) documentRecords(obj *schema.Object, pick []int) *records {
	n := len(pick)
	sel := make([]int32, n)
	out := &records{obj: obj, keys: make([]string, n), del: make([]bool, n), source: vec.New(types.Of(types.Binary), n)}
	for i, row := range pick {
		sel[i] = int32(row)
		out.keys[i] = r.Keys[row]
		out.source.Append(vec.Value{Type: out.source.Type, Str: alias(r.Sources[row])})
	}
	for i, f := range obj.Fields {
		out.cols = append(out.cols, copied(f.Type, r.typed[i], sel, n))
	}
	return out
}

// tableRecords copies a table's deletes and rows.
func (r *Rows) tableRecords(obj *schema.Object, partition int, base uint64) *records {
	n := r.tableRows()
	out := &records{obj: obj}
	for _, id := range r.Gone {
		out.keys = append(out.keys, id.key())
		out.del = append(out.del, true)
	}
	for range n {
		id := Identity{Partition: int32(partition), Offset: base + uint64(len(out.keys))}
		out.keys = append(out.keys, id.key())
		out.del = append(out.del, false)
	}
	for i, f := range obj.Fields {
		v := vec.New(f.Type, len(out.keys))
		for range r.Gone {
			v.AppendNull()
		}
		rows := copied(f.Type, r.Cols[i], nil, n)
		v.AppendRows(rows, nil, n)
		out.cols = append(out.cols, v)
	}
	return out
}

// copied are the n selected rows of a column, the first n without a selection;
// NULLs of an absent one.
func copied(t types.Type, col *vec.Vector, sel []int32, n int) *vec.Vector {
	if col == nil {
		return vec.Const(t, vec.Null(t), n).Flatten()
	}
	v := vec.New(t, n)
	v.AppendRows(col, sel, n)
	return v
}
