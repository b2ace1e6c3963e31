package collection

import (
	"github.com/apache/arrow-go/v18/arrow"

	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/storage/internal/source"
	"github.com/loamdb/loam/storage/lance"
)

// lanceStride is the number of Lance field ids that belong to a field: those of the
// field with the id n begin at 8n, and are never another field's. Those below 8 are
// the system columns', in their order.
const lanceStride = 8

// lanceColumns are the columns of the collection's Lance dataset, and the Lance field
// ids of them and of what is in them, in pre-order.
func lanceColumns(obj *schema.Object) (*arrow.Schema, []int32) {
	fields := []arrow.Field{
		{Name: string(schema.ColPK), Type: arrow.BinaryTypes.String},
		{Name: string(schema.ColSource), Type: arrow.BinaryTypes.LargeBinary, Nullable: true},
		{Name: string(schema.ColPartition), Type: arrow.PrimitiveTypes.Int32},
		{Name: string(schema.ColOffset), Type: arrow.PrimitiveTypes.Int64},
	}
	ids := []int32{0, 1, 2, 3}
	for _, f := range obj.Fields {
		if !source.Outside(f.Type) {
			continue
		}
		column := arrow.Field{Name: f.Name, Type: f.Type.Arrow(), Nullable: true}
		fields = append(fields, column)
		for i := range lanceNodes(column.Type) {
			ids = append(ids, lanceStride*f.ID+i)
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
	columns, ids := lanceColumns(obj)
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
