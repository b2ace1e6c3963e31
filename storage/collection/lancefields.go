package collection

import (
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/storage/internal/source"
	"github.com/loamdb/loam/storage/lance"
)

// lanceStride is the number of Lance field ids that belong to a field: those of the
// field with the id n begin at 8n, and are never another field's. Those below 8 are
// the system columns', by their place among lanceSystem.
const lanceStride = 8

var lanceSystem = []colRef{pkRef, sourceRef, partitionRef, offsetRef}

// lanceRefs are the columns of the collection's Lance dataset.
func lanceRefs(obj *schema.Object) []colRef {
	out := slices.Clone(lanceSystem)
	for _, f := range vectorFields(obj) {
		out = append(out, fieldRef(obj, f))
	}
	return out
}

// lanceID is the Lance field id of a column; what is in it has the next ones.
func (c colRef) lanceID() int32 {
	if c.field >= 0 {
		return lanceStride * c.id
	}
	return int32(slices.IndexFunc(lanceSystem, func(s colRef) bool { return s.sys == c.sys }))
}

// inLanceFile reports whether the file has the column, and no later file of the
// fragment replaces it there.
func (c colRef) inLanceFile(ids []int32) bool {
	first, n := c.lanceID(), int32(1)
	if c.field >= 0 {
		n = lanceStride
	}
	return slices.ContainsFunc(ids, func(id int32) bool { return id >= first && id < first+n })
}

// lanceSchema is the schema of columns in Lance, and the Lance field ids of them and
// of what is in them, in pre-order.
func lanceSchema(cols []colRef) (*arrow.Schema, []int32) {
	fields := make([]arrow.Field, len(cols))
	var ids []int32
	for i, c := range cols {
		fields[i] = arrow.Field{Name: c.name, Type: c.t.Arrow(), Nullable: c.wide()}
		if c.sys == schema.ColSource {
			fields[i].Type = arrow.BinaryTypes.LargeBinary
		}
		for k := range lanceNodes(fields[i].Type) {
			ids = append(ids, c.lanceID()+k)
		}
	}
	return arrow.NewSchema(fields, nil), ids
}

// lanceNodes is the number of fields that Lance makes of a column: a vector is one,
// a struct or a list has others in it.
func lanceNodes(t arrow.DataType) int32 {
	n := int32(1)
	switch t := t.(type) {
	case *arrow.StructType:
		for _, f := range t.Fields() {
			n += lanceNodes(f.Type)
		}
	case *arrow.ListType:
		n += lanceNodes(t.Elem())
	}
	return n
}

// lanceFields is the schema of the collection's Lance dataset.
func lanceFields(obj *schema.Object) ([]lance.Field, error) {
	columns, ids := lanceSchema(lanceRefs(obj))
	return lance.FieldsOf(columns, ids)
}

// lastVector is the largest id of a vector field; 0 without one.
func lastVector(obj *schema.Object) int32 {
	last := int32(0)
	for _, f := range vectorFields(obj) {
		last = max(last, obj.Fields[f].ID)
	}
	return last
}

// behind reports a Lance version that does not name a vector field, which was added
// after it.
func (m *Manifest) behind(obj *schema.Object) bool {
	return m.LanceVersion != 0 && m.LastVector < lastVector(obj)
}

// LanceBehind reports whether the newest Lance version lacks a vector column that the
// collection has: the next commit, which [Collection.Settle] makes, names it.
func (c *Collection) LanceBehind() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.st.manifest.behind(c.obj)
}

// Lacks reports whether the field was added after the snapshot's Lance version was
// written. It is NULL in all fragments of the snapshot.
func (s *Snapshot) Lacks(f *schema.Field) bool {
	return s.manifest.LanceVersion != 0 && source.Outside(f.Type) && f.ID > s.manifest.LastVector
}
