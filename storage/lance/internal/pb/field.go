package pb

// FieldType says whether a schema field is a struct, a list or a leaf.
type FieldType int32

// The field types.
const (
	Parent   FieldType = 0
	Repeated FieldType = 1
	Leaf     FieldType = 2
)

// Field is lance.file.Field: one node of a schema. Schemas are flat lists in
// pre-order; ParentID -1 marks the top level and is always written out, because
// readers take an absent one for 0.
type Field struct {
	Type        FieldType
	Name        string
	ID          int32
	ParentID    int32
	LogicalType string
	Nullable    bool
	Metadata    map[string]string
	// Unknown are the fields of the message that this codec does not know, as
	// they stood, tags included.
	Unknown []byte
}

// Append appends the message's bytes to b.
func (f *Field) Append(b []byte) []byte {
	b = AppendVarint(b, 1, uint64(f.Type))
	b = AppendString(b, 2, f.Name)
	b = AppendInt32(b, 3, f.ID)
	b = AppendInt32(b, 4, f.ParentID)
	b = AppendString(b, 5, f.LogicalType)
	b = AppendBool(b, 6, f.Nullable)
	b = appendMap(b, 10, f.Metadata)
	return append(b, f.Unknown...)
}

// DecodeField reads one Field.
func DecodeField(buf []byte) (Field, error) {
	var f Field
	d := NewDecoder("Field", buf)
	for d.Next() {
		switch d.Num() {
		case 1:
			f.Type = FieldType(d.Int32())
		case 2:
			f.Name = d.String()
		case 3:
			f.ID = d.Int32()
		case 4:
			f.ParentID = d.Int32()
		case 5:
			f.LogicalType = d.String()
		case 6:
			f.Nullable = d.Bool()
		case 10:
			f.Metadata = d.mapEntry(f.Metadata)
		default:
			f.Unknown = append(f.Unknown, d.Raw()...)
		}
	}
	return f, d.Err()
}

// FileDescriptor is lance.file.FileDescriptor, global buffer 0 of a data file.
type FileDescriptor struct {
	Fields   []Field
	Metadata map[string]string
	Rows     uint64
}

// Append appends the message's bytes to b.
func (f *FileDescriptor) Append(b []byte) []byte {
	var schema []byte
	for i := range f.Fields {
		schema = AppendMessage(schema, 1, f.Fields[i].Append(nil))
	}
	schema = appendMap(schema, 5, f.Metadata)
	b = AppendMessage(b, 1, schema)
	return AppendVarint(b, 2, f.Rows)
}

// DecodeFileDescriptor reads a FileDescriptor.
func DecodeFileDescriptor(buf []byte) (FileDescriptor, error) {
	var f FileDescriptor
	d := NewDecoder("FileDescriptor", buf)
	for d.Next() {
		switch d.Num() {
		case 1:
			d.nested(f.decodeSchema(d.Bytes()))
		case 2:
			f.Rows = d.Uint64()
		}
	}
	return f, d.Err()
}

func (f *FileDescriptor) decodeSchema(buf []byte) error {
	d := NewDecoder("Schema", buf)
	for d.Next() {
		switch d.Num() {
		case 1:
			field, err := DecodeField(d.Bytes())
			d.nested(err)
			f.Fields = append(f.Fields, field)
		case 5:
			f.Metadata = d.mapEntry(f.Metadata)
		}
	}
	return d.Err()
}
