package vec

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/types"
)

// Schema is the Arrow schema of columns with these names and types; every field is nullable.
func Schema(names []string, ts []types.Type) *arrow.Schema {
	fields := make([]arrow.Field, len(ts))
	for i, t := range ts {
		fields[i] = arrow.Field{Name: names[i], Type: t.Arrow(), Nullable: true}
	}
	return arrow.NewSchema(fields, nil)
}

// Builder gathers the selected rows of chunks into one record batch. A value is
// copied once, from its chunk to where the batch keeps it; a chunk may be reused
// as soon as Append returns. Not safe for concurrent use; Release must be called.
type Builder struct {
	schema *arrow.Schema
	cols   []*column
	rows   int
}

// NewBuilder returns a builder of batches of the schema, whose field types are
// those of [types.Type.Arrow]. mem need not give zeroed memory: what a batch
// holds is written in full.
func NewBuilder(schema *arrow.Schema, ts []types.Type, mem memory.Allocator) (*Builder, error) {
	if schema.NumFields() != len(ts) {
		return nil, fail.Bug("columns of %d types for a schema of %d", len(ts), schema.NumFields())
	}
	b := &Builder{schema: schema, cols: make([]*column, len(ts))}
	for i, t := range ts {
		if !arrow.TypeEqual(t.Arrow(), schema.Field(i).Type) {
			return nil, fail.Bug("column %d is %s, but its field says %s", i, t.Arrow(), schema.Field(i).Type)
		}
		b.cols[i] = newColumn(t, mem)
	}
	return b, nil
}

// Rows is the number of rows gathered so far.
func (b *Builder) Rows() int { return b.rows }

// Expect makes the columns allocate for this many rows at once, those whose size
// depends on the values by the size of the next chunk's. It is a hint.
func (b *Builder) Expect(rows int) {
	for _, c := range b.cols {
		c.expect = rows
	}
}

// Append copies the selected rows of a chunk, whose columns are of the builder's
// types. Error: fail.TooLarge when a column's strings or list elements exceed
// 2 GiB; the builder can then only be released.
func (b *Builder) Append(c *Chunk) error {
	if len(c.Cols) != len(b.cols) {
		return fail.Bug("a chunk of %d columns for a schema of %d", len(c.Cols), len(b.cols))
	}
	n := c.Rows()
	for i, col := range c.Cols {
		if !col.Type.Equal(b.cols[i].typ) && !arrow.TypeEqual(col.Type.Arrow(), b.schema.Field(i).Type) {
			return fail.Bug("column %d is %s, but its field says %s", i, col.Type, b.schema.Field(i).Type)
		}
		if err := b.cols[i].append(col, c.Sel, n); err != nil {
			return err
		}
	}
	b.rows += n
	return nil
}

// Batch is what was gathered, which the caller releases; the builder is empty
// again.
func (b *Builder) Batch() arrow.RecordBatch {
	cols := make([]arrow.Array, len(b.cols))
	for i, c := range b.cols {
		cols[i] = c.array()
		defer cols[i].Release()
	}
	rec := array.NewRecordBatch(b.schema, cols, int64(b.rows))
	b.rows = 0
	return rec
}

// Release frees what was gathered and not taken as a batch.
func (b *Builder) Release() {
	for _, c := range b.cols {
		c.release()
	}
	b.rows = 0
}

// ChunkToRecord copies the selected rows of a chunk into a record batch of the
// schema, whose field types are those of [types.Type.Arrow]. The caller releases it.
func ChunkToRecord(c *Chunk, schema *arrow.Schema, mem memory.Allocator) (arrow.RecordBatch, error) {
	ts := make([]types.Type, len(c.Cols))
	for i, col := range c.Cols {
		ts[i] = col.Type
	}
	b, err := NewBuilder(schema, ts, mem)
	if err != nil {
		return nil, err
	}
	defer b.Release()
	if err := b.Append(c); err != nil {
		return nil, err
	}
	return b.Batch(), nil
}

// ToArrow copies n rows of v (rows sel[0..n), or 0..n-1 with a nil selection)
// into an Arrow array of type v.Type.Arrow(): flat, no views, no dictionaries.
// Only these rows' bytes are in its buffers. The caller releases it. Error:
// fail.TooLarge when strings or list elements exceed 2 GiB.
func ToArrow(v *Vector, sel []int32, n int, mem memory.Allocator) (arrow.Array, error) {
	c := newColumn(v.Type, mem)
	defer c.release()
	if err := c.append(v, sel, n); err != nil {
		return nil, err
	}
	return c.array(), nil
}
