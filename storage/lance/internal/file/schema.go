package file

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/storage/lance/internal/pb"
)

// simpleTypes are the types whose logical name has no parameters.
var simpleTypes = map[string]arrow.DataType{
	"string":       arrow.BinaryTypes.String,
	"large_string": arrow.BinaryTypes.LargeString,
	"binary":       arrow.BinaryTypes.Binary,
	"large_binary": arrow.BinaryTypes.LargeBinary,
	"int8":         arrow.PrimitiveTypes.Int8,
	"int16":        arrow.PrimitiveTypes.Int16,
	"int32":        arrow.PrimitiveTypes.Int32,
	"int64":        arrow.PrimitiveTypes.Int64,
	"uint8":        arrow.PrimitiveTypes.Uint8,
	"uint16":       arrow.PrimitiveTypes.Uint16,
	"uint32":       arrow.PrimitiveTypes.Uint32,
	"uint64":       arrow.PrimitiveTypes.Uint64,
	"halffloat":    arrow.FixedWidthTypes.Float16,
	"float":        arrow.PrimitiveTypes.Float32,
	"double":       arrow.PrimitiveTypes.Float64,
	"date32:day":   arrow.FixedWidthTypes.Date32,
}

var logicalNames = func() map[arrow.Type]string {
	m := map[arrow.Type]string{}
	for name, t := range simpleTypes {
		m[t.ID()] = name
	}
	return m
}()

var timeUnits = map[string]arrow.TimeUnit{
	"s": arrow.Second, "ms": arrow.Millisecond, "us": arrow.Microsecond, "ns": arrow.Nanosecond,
}

// leafLogical is the logical type of a leaf, or an error naming the type.
func leafLogical(t arrow.DataType) (string, error) {
	switch dt := t.(type) {
	case *arrow.FixedSizeListType:
		item, ok := logicalNames[dt.Elem().ID()]
		if w, fixed := dt.Elem().(arrow.FixedWidthDataType); ok && fixed && w.BitWidth() >= 8 && dt.Len() > 0 {
			return fmt.Sprintf("fixed_size_list:%s:%d", item, dt.Len()), nil
		}
	case *arrow.TimestampType:
		zone := dt.TimeZone
		if zone == "" {
			zone = "-"
		}
		return "timestamp:" + dt.Unit.String() + ":" + zone, nil
	default:
		if name, ok := logicalNames[t.ID()]; ok {
			return name, nil
		}
	}
	return "", fail.New(fail.Unsupported, "lance: Arrow type %s cannot be stored", t)
}

// arrowLeaf is the Arrow type of a leaf's logical type.
func arrowLeaf(logical string) (arrow.DataType, error) {
	if t, ok := simpleTypes[logical]; ok {
		return t, nil
	}
	if rest, ok := strings.CutPrefix(logical, "fixed_size_list:"); ok {
		at := strings.LastIndexByte(rest, ':')
		if at > 0 {
			item, known := simpleTypes[rest[:at]]
			dim, err := strconv.ParseInt(rest[at+1:], 10, 32)
			if _, fixed := item.(arrow.FixedWidthDataType); known && fixed && err == nil && dim > 0 {
				return arrow.FixedSizeListOfField(int32(dim), arrow.Field{Name: "item", Type: item, Nullable: true}), nil
			}
		}
	}
	if rest, ok := strings.CutPrefix(logical, "timestamp:"); ok {
		unit, zone, _ := strings.Cut(rest, ":")
		if u, known := timeUnits[unit]; known {
			if zone == "-" {
				zone = ""
			}
			return &arrow.TimestampType{Unit: u, TimeZone: zone}, nil
		}
	}
	return nil, fail.New(fail.Unsupported, "lance: logical type %q cannot be read", logical)
}

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
	}
	var err error
	b.out[at].LogicalType, err = leafLogical(f.Type)
	return err
}

// SchemaOf is the Arrow schema of Lance's flat field list. metadata becomes the
// schema's own.
func SchemaOf(fields []pb.Field, metadata map[string]string) (*arrow.Schema, error) {
	p := fieldParser{fields: fields}
	var out []arrow.Field
	for p.at < len(fields) {
		f, err := p.next(-1, 0)
		if err != nil {
			return nil, err
		}
		out = append(out, f)
	}
	var md *arrow.Metadata
	if len(metadata) > 0 {
		m := arrow.MetadataFrom(metadata)
		md = &m
	}
	return arrow.NewSchema(out, md), nil
}

type fieldParser struct {
	fields []pb.Field
	at     int
}

// maxNesting bounds the depth of schemas read from bytes.
const maxNesting = 32

func (p *fieldParser) next(parent int32, depth int) (arrow.Field, error) {
	f := p.fields[p.at]
	if f.ParentID != parent || depth > maxNesting {
		return arrow.Field{}, fail.New(fail.Corrupt, "lance: schema field %d (%q) has parent %d where %d is due", p.at, f.Name, f.ParentID, parent)
	}
	p.at++
	out := arrow.Field{Name: f.Name, Nullable: f.Nullable}
	if len(f.Metadata) > 0 {
		out.Metadata = arrow.MetadataFrom(f.Metadata)
	}
	var children []arrow.Field
	nested := f.LogicalType == "struct" || strings.HasPrefix(f.LogicalType, "list") || strings.HasPrefix(f.LogicalType, "large_list")
	for nested && p.at < len(p.fields) && p.fields[p.at].ParentID == f.ID {
		c, err := p.next(f.ID, depth+1)
		if err != nil {
			return out, err
		}
		children = append(children, c)
	}
	var err error
	switch f.LogicalType {
	case "struct":
		if len(children) == 0 {
			return out, fail.New(fail.Unsupported, "lance: struct %q has no fields", f.Name)
		}
		out.Type = arrow.StructOf(children...)
	case "list", "list.struct", "large_list", "large_list.struct":
		if len(children) != 1 {
			return out, fail.New(fail.Corrupt, "lance: list %q has %d item fields", f.Name, len(children))
		}
		out.Type = arrow.ListOfField(children[0])
		if strings.HasPrefix(f.LogicalType, "large") {
			out.Type = arrow.LargeListOfField(children[0])
		}
	default:
		out.Type, err = arrowLeaf(f.LogicalType)
		if err != nil {
			err = fail.Wrap(fail.CodeOf(err), err, "lance: column %q", f.Name)
		}
	}
	return out, err
}
