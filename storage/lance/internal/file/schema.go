package file

import (
	"maps"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/storage/lance/internal/pb"
)

// FieldsOf is the schema as Lance's flat pre-order list. ids gives the field ids
// in pre-order; nil numbers them from 0.
func FieldsOf(schema *arrow.Schema, ids []int32) ([]pb.Field, error) {
	b := fieldBuilder{ids: ids}
	for _, f := range schema.Fields() {
		if err := b.add(f, -1); err != nil {
			return nil, fail.Wrap(fail.CodeOf(err), err, "lance: column %q", f.Name)
		}
	}
	if ids != nil && len(ids) != len(b.out) {
		return nil, fail.New(fail.InvalidParameter, "lance: %d field ids for %d fields", len(ids), len(b.out))
	}
	return b.out, nil
}

type fieldBuilder struct {
	ids []int32
	out []pb.Field
}

func (b *fieldBuilder) add(f arrow.Field, parent int32) error {
	id := int32(len(b.out))
	if b.ids != nil {
		if len(b.out) >= len(b.ids) {
			return fail.New(fail.InvalidParameter, "only %d field ids were given", len(b.ids))
		}
		id = b.ids[len(b.out)]
	}
	out := pb.Field{Type: pb.Leaf, Name: f.Name, ID: id, ParentID: parent, Nullable: f.Nullable}
	if f.Metadata.Len() > 0 {
		out.Metadata = f.Metadata.ToMap()
	}
	at := len(b.out)
	b.out = append(b.out, out)
	switch t := f.Type.(type) {
	case *arrow.StructType:
		b.out[at].Type, b.out[at].LogicalType = pb.Parent, "struct"
		if t.NumFields() == 0 {
			return fail.New(fail.Unsupported, "a struct without fields cannot be stored")
		}
		for _, c := range t.Fields() {
			if err := b.add(c, id); err != nil {
				return err
			}
		}
		return nil
	case *arrow.ListType:
		b.out[at].Type, b.out[at].LogicalType = pb.Repeated, "list"
		if t.Elem().ID() == arrow.STRUCT {
			b.out[at].LogicalType = "list.struct"
		}
		return b.add(t.ElemField(), id)
	case *arrow.LargeListType:
		b.out[at].Type, b.out[at].LogicalType = pb.Repeated, "large_list"
		if t.Elem().ID() == arrow.STRUCT {
			b.out[at].LogicalType = "large_list.struct"
		}
		return b.add(t.ElemField(), id)
	case *arrow.MapType:
		b.out[at].Type, b.out[at].LogicalType = pb.Repeated, "map"
		return b.add(t.ElemField(), id)
	}
	var err error
	b.out[at].LogicalType, err = leafLogical(f.Type)
	return err
}

// SchemaOf is the Arrow schema of Lance's flat field list. metadata becomes the
// schema's own. A type that cannot be read is an error.
func SchemaOf(fields []pb.Field, metadata map[string]string) (*arrow.Schema, error) {
	schema, refused, err := ReadSchema(fields, metadata)
	for i := 0; err == nil && i < len(refused); i++ {
		err = refused[i]
	}
	return schema, err
}

// ReadSchema is SchemaOf for readers: refused[i] says why the top-level field i
// cannot be read, and its Arrow type is then null. Only a damaged list is an error.
func ReadSchema(fields []pb.Field, metadata map[string]string) (schema *arrow.Schema, refused []error, err error) {
	p := fieldParser{fields: fields}
	var out []arrow.Field
	for p.at < len(fields) {
		p.refused = nil
		f, err := p.next(-1, 0)
		if err != nil {
			return nil, nil, err
		}
		if p.refused != nil {
			f.Type = arrow.Null
		}
		out, refused = append(out, f), append(refused, p.refused)
	}
	var md *arrow.Metadata
	if len(metadata) > 0 {
		m := arrow.MetadataFrom(metadata)
		md = &m
	}
	return arrow.NewSchema(out, md), refused, nil
}

type fieldParser struct {
	fields  []pb.Field
	at      int
	refused error // the first type below the current top-level field that cannot be read
}

// maxNesting bounds the depth of schemas read from bytes.
const maxNesting = 32

func (p *fieldParser) refuse(f *pb.Field, err error) {
	if p.refused == nil {
		p.refused = fail.Wrap(fail.CodeOf(err), err, "lance: column %q", f.Name)
	}
}

func (p *fieldParser) next(parent int32, depth int) (arrow.Field, error) {
	f := &p.fields[p.at]
	if f.ParentID != parent || depth > maxNesting {
		return arrow.Field{}, fail.New(fail.Corrupt, "lance: schema field %d (%q) has parent %d where %d is due", p.at, f.Name, f.ParentID, parent)
	}
	p.at++
	out := arrow.Field{Name: f.Name, Type: arrow.Null, Nullable: f.Nullable}
	if len(f.Metadata) > 0 {
		out.Metadata = arrow.MetadataFrom(f.Metadata)
	}
	var children []arrow.Field
	for p.at < len(p.fields) && p.fields[p.at].ParentID == f.ID && f.ID >= 0 {
		c, err := p.next(f.ID, depth+1)
		if err != nil {
			return out, err
		}
		children = append(children, c)
	}
	if f.LogicalType == "struct" && len(children) == 0 {
		for p.at < len(p.fields) && Loose(&p.fields[p.at]) {
			p.at++
		}
	}
	t, err := typeOf(f, children)
	if err != nil && !fail.Is(err, fail.Unsupported) {
		return out, err
	}
	if err != nil {
		p.refuse(f, err)
		return out, nil
	}
	out.Type = t
	if f.LogicalType == "json" || blobStruct(f) {
		out.Metadata = withoutExtension(f.Metadata)
	}
	return out, nil
}

// withoutExtension is the metadata of a column that is read as another type than the
// one that the client has made for it.
func withoutExtension(md map[string]string) arrow.Metadata {
	md = maps.Clone(md)
	delete(md, extension)
	delete(md, "ARROW:extension:metadata")
	return arrow.MetadataFrom(md)
}

// Loose: the field belongs to the struct before it but has no place in the tree, as
// the parts of a blob's description in a data file.
func Loose(f *pb.Field) bool { return f.ID < 0 && f.ParentID < 0 }

// extension is the metadata key of a type that a client has given a meaning of its own.
const extension = "ARROW:extension:name"

// blobStruct: the field's values are blobs, of which data files hold the places.
func blobStruct(f *pb.Field) bool {
	return f.LogicalType == "struct" && (f.Metadata[blobKey] == "true" || f.Metadata[extension] == "lance.blob.v2")
}

// typeOf is the Arrow type of a field with its children.
func typeOf(f *pb.Field, children []arrow.Field) (arrow.DataType, error) {
	if blobStruct(f) {
		return arrow.BinaryTypes.LargeBinary, nil
	}
	switch f.LogicalType {
	case "struct":
		return arrow.StructOf(children...), nil
	case "list", "list.struct", "large_list", "large_list.struct", "map":
		if len(children) != 1 {
			return nil, fail.New(fail.Corrupt, "lance: %s %q has %d item fields", f.LogicalType, f.Name, len(children))
		}
	default:
		if len(children) > 0 {
			return nil, fail.New(fail.Unsupported, "the logical type %q cannot be read", f.LogicalType)
		}
		return arrowLeaf(f.LogicalType)
	}
	if f.LogicalType == "map" {
		entries, ok := children[0].Type.(*arrow.StructType)
		if !ok || entries.NumFields() != 2 || entries.Field(0).Nullable {
			return nil, fail.New(fail.Unsupported, "a map with entries of type %s cannot be read", children[0].Type)
		}
		return arrow.MapOfFields(entries.Field(0), entries.Field(1)), nil
	}
	if strings.HasPrefix(f.LogicalType, "large") {
		return arrow.LargeListOfField(children[0]), nil
	}
	return arrow.ListOfField(children[0]), nil
}
