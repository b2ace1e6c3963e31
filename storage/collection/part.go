package collection

import (
	"context"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
	"github.com/loamdb/loam/storage/internal/source"
	"github.com/loamdb/loam/storage/internal/text"
)

// part is a set of rows that a scan or a search reads: the head of a tail
// generation, or a split. Parts are immutable and safe for concurrent use; rows
// that do not count are said beside them (view.excluded).
type part interface {
	rows() int
	// column is chunk number chunk of a column; nil when the part was built before
	// the field existed. The vector may be shared: it must not be changed.
	column(ctx context.Context, c colRef, chunk int) (*vec.Vector, error)
	// take is column for single rows, ascending.
	take(ctx context.Context, c colRef, rows []uint32) (*vec.Vector, error)
	// zone is what is known of a column in a chunk, whole in all rows; whole reads nothing.
	zone(ctx context.Context, c colRef, chunk int) (zone, error)
	whole(c colRef) zone
	// key is the row's primary key, by which ties are broken.
	key(ctx context.Context, row int) (string, error)
	// text is the part's text index; nil without full-text fields.
	text(ctx context.Context) (text.Part, error)
}

// colRef is a column of an object, resolved: a field (its position and id) or a system column.
type colRef struct {
	field int // position in the object's fields, or -1
	id    int32
	name  string
	sys   schema.SystemColumn
	t     types.Type
	// section is the column's name in a column section.
	section string
}

// fieldRef is field i of an object.
func fieldRef(obj *schema.Object, i int) colRef {
	f := &obj.Fields[i]
	return colRef{field: i, id: f.ID, name: f.Name, t: f.Type, section: columnName(f.ID)}
}

// systemRef is a system column.
func systemRef(c schema.SystemColumn, t types.Type) colRef {
	return colRef{field: -1, sys: c, name: string(c), t: t, section: string(c)}
}

// wide columns are read for the rows that survive, not for whole chunks.
func (c colRef) wide() bool { return source.Outside(c.t) || c.sys == schema.ColSource }

// resolve finds a column by its declared name.
func resolve(obj *schema.Object, name string) (colRef, error) {
	for i, f := range obj.Fields {
		if f.Name == name {
			return fieldRef(obj, i), nil
		}
	}
	for _, f := range schema.SystemColumns(obj.Kind) {
		if f.Name == name {
			return systemRef(schema.SystemColumn(name), f.Type), nil
		}
	}
	return colRef{}, fail.New(fail.UndefinedColumn, "%s %s has no column %q", obj.Kind, obj.Name, name)
}

// takeByChunk gathers ascending rows from whole chunks; nil when the part has no such column.
func takeByChunk(ctx context.Context, p part, c colRef, rows []uint32) (*vec.Vector, error) {
	out := vec.New(c.t, len(rows))
	absent := false
	err := byChunk(rows, func(chunk int, sel []int32) error {
		v, err := p.column(ctx, c, chunk)
		if err != nil || v == nil {
			absent = true
			return err
		}
		out.AppendRows(v, sel, len(sel))
		return nil
	})
	if err != nil || absent {
		return nil, err
	}
	return out, nil
}

// byChunk calls f with each chunk that has some of the ascending rows, and their
// positions in it. f must not keep them.
func byChunk(rows []uint32, f func(chunk int, sel []int32) error) error {
	sel := make([]int32, 0, min(len(rows), vec.ChunkRows))
	for i := 0; i < len(rows); {
		chunk := int(rows[i]) / vec.ChunkRows
		sel = sel[:0]
		for ; i < len(rows) && int(rows[i])/vec.ChunkRows == chunk; i++ {
			sel = append(sel, int32(rows[i])%vec.ChunkRows)
		}
		if err := f(chunk, sel); err != nil {
			return err
		}
	}
	return nil
}

// columnOf is p.column with fields that the part lacks filled in: from _source
// for collections, else NULL.
func (v *view) columnOf(ctx context.Context, c colRef, chunk int) (*vec.Vector, error) {
	col, err := v.part.column(ctx, c, chunk)
	if col != nil || err != nil {
		return col, err
	}
	n := min(vec.ChunkRows, v.part.rows()-chunk*vec.ChunkRows)
	if v.obj.Kind != schema.Collection || source.Outside(c.t) {
		return vec.Const(c.t, vec.Null(c.t), n), nil
	}
	src, err := v.part.column(ctx, sourceRef, chunk)
	if err != nil {
		return nil, err
	}
	return v.extract(c, src)
}

func (v *view) takeOf(ctx context.Context, c colRef, rows []uint32) (*vec.Vector, error) {
	col, err := v.part.take(ctx, c, rows)
	if col != nil || err != nil {
		return col, err
	}
	if v.obj.Kind != schema.Collection || source.Outside(c.t) {
		return vec.Const(c.t, vec.Null(c.t), len(rows)), nil
	}
	src, err := v.part.take(ctx, sourceRef, rows)
	if err != nil {
		return nil, err
	}
	return v.extract(c, src)
}

var sourceRef = systemRef(schema.ColSource, types.Of(types.Binary))

// extract reads one field out of documents. A document whose member has another
// type reads as NULL: it was written before the field was declared.
func (v *view) extract(c colRef, src *vec.Vector) (*vec.Vector, error) {
	one := *v.obj
	one.Fields = v.obj.Fields[c.field : c.field+1]
	x := source.NewExtractor(&one)
	out := vec.New(c.t, src.N)
	for i := range src.N {
		if src.IsNull(i) || x.Append(src.Strings.At(src.Row(i)), []*vec.Vector{out}) != nil {
			out.AppendNull()
		}
	}
	return out, nil
}
