package collection

import (
	"encoding/binary"
	"math"
	"slices"
	"strconv"
	"unsafe"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
	"github.com/loamdb/loam/storage/internal/column"
	"github.com/loamdb/loam/storage/internal/source"
)

// Rows is a batch of rows to append, in order. For a collection every row has a
// key and either is a delete or has a source and vectors; for a table Deletes
// come first and Cols hold the inserted rows.
type Rows struct {
	// Keys, Sources and Delete have one entry a row (collections).
	Keys    []string
	Sources [][]byte
	Delete  []bool
	// Cols holds one vector a field, nil where absent: a collection's vector
	// fields (one row each for every row, NULL for deletes), a table's fields.
	Cols []*vec.Vector
	// Gone are the identities of the table rows to delete.
	Gone []Identity
	// To says which partition each inserted row of a table or stream goes to; nil
	// leaves it to the stream's key, and for rows without one to the batch's turn.
	// A number below 0 does so for its row.
	To []int32

	// sets says which rows change vectors alone; nil when none does. It goes with built.
	sets []vectorSet

	// typed holds the fields that lie in Sources, nil where absent, as the
	// extractor reads them back; nil when that is not known. It goes with the
	// object's schema version.
	typed   []*vec.Vector
	version uint64
	// built is the object whose fields Cols follow; nil for rows without columns.
	built *schema.Object
}

// fit gives rows that were built for another version of the object's schema the
// columns of this one, by field id.
func (r *Rows) fit(obj *schema.Object) (*Rows, error) {
	if r.built == nil || r.built.SchemaVersion == obj.SchemaVersion {
		return r, nil
	}
	k := *r
	k.built, k.typed, k.sets = obj, nil, nil
	k.Cols = make([]*vec.Vector, len(obj.Fields))
	n := r.tableRows()
	for i, f := range obj.Fields {
		if at := fieldByID(r.built, f.ID); at >= 0 {
			k.Cols[i] = r.Cols[at]
		}
	}
	if obj.Kind.Tabular() && n > 0 {
		return &k, needOneColumn(obj, k.Cols, n)
	}
	return &k, nil
}

// Identity is the place of a row in its object's log; stable over merges.
type Identity struct {
	Partition int32
	Offset    uint64
}

// key is the identity as tables' internal key.
func (id Identity) key() string {
	var b [12]byte
	binary.BigEndian.PutUint32(b[:], uint32(id.Partition))
	binary.BigEndian.PutUint64(b[4:], id.Offset)
	return string(b[:])
}

// Len is the number of records that the batch takes in the log.
func (r *Rows) Len() int { return len(r.Keys) + len(r.Gone) + r.tableRows() }

// adds reports whether a row of the batch is not a delete.
func (r *Rows) adds() bool {
	return r.tableRows() > 0 || len(r.Keys) > 0 && (r.Delete == nil || slices.Contains(r.Delete, false))
}

func (r *Rows) tableRows() int {
	if len(r.Keys) > 0 {
		return 0
	}
	for _, c := range r.Cols {
		if c != nil {
			return c.N
		}
	}
	return 0
}

// Log payload kinds.
const (
	payloadDocuments = 'D'
	payloadTable     = 'T'
)

// The flags of a document record.
const (
	recordUpsert = 0
	recordDelete = 1
	recordPatch  = 2 // changes the vectors with vectorChanged alone
)

// Vector tags in a document record.
const (
	vectorNull    = 0
	vectorDense   = 1
	vectorSparse  = 2
	vectorChanged = 0x80 // in a patch, beside one of the others
)

// encodeDocuments writes rows [from, to) as a log payload: kind, number of
// vector fields and their ids, record count, then per record a flag byte, key,
// and unless deleted source and vectors.
func encodeDocuments(obj *schema.Object, r *Rows, pick []int) []byte {
	fields := vectorFields(obj)
	b := append(make([]byte, 0, documentsSize(obj, r, pick, fields)), payloadDocuments)
	b = binary.AppendUvarint(b, uint64(len(fields)))
	for _, f := range fields {
		b = binary.AppendUvarint(b, uint64(obj.Fields[f].ID))
	}
	b = binary.AppendUvarint(b, uint64(len(pick)))
	for _, i := range pick {
		set, flag := setAt(r.sets, i), byte(recordUpsert)
		switch {
		case r.Delete[i]:
			flag = recordDelete
		case set != 0:
			flag = recordPatch
		}
		b = append(b, flag)
		b = appendBytes(b, r.Keys[i])
		if r.Delete[i] {
			continue
		}
		b = appendBytes(b, r.Sources[i])
		for number, f := range fields {
			at := len(b)
			if b = appendVector(b, r.Cols[f], i); set.has(number) {
				b[at] |= vectorChanged
			}
		}
	}
	return b
}

// documentsSize is about what the payload of the rows takes, so that it is allocated once.
func documentsSize(obj *schema.Object, r *Rows, pick, fields []int) int {
	perRow := 16
	for _, f := range fields {
		perRow += 1 + 4*int(obj.Fields[f].Type.Dim)
	}
	size := 64 + perRow*len(pick)
	for _, i := range pick {
		size += len(r.Keys[i]) + len(r.Sources[i])
	}
	return size
}

func appendBytes[T string | []byte](b []byte, s T) []byte {
	b = binary.AppendUvarint(b, uint64(len(s)))
	return append(b, s...)
}

func appendVector(b []byte, v *vec.Vector, i int) []byte {
	if v == nil || v.IsNull(i) {
		return append(b, vectorNull)
	}
	at := v.Row(i)
	if v.Encoding == vec.Dictionary {
		v = v.Dict
	}
	if v.Type.Kind == types.Vector {
		d := int(v.Type.Dim)
		return appendFloats(append(b, vectorDense), v.Float32s[at*d:(at+1)*d])
	}
	row := v.SparseRows[at]
	b = append(b, vectorSparse)
	b = binary.AppendUvarint(b, uint64(len(row.Indices)))
	for j, ix := range row.Indices {
		b = binary.LittleEndian.AppendUint32(b, ix)
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(row.Values[j]))
	}
	return b
}

// appendFloats writes floats little endian.
func appendFloats(b []byte, vals []float32) []byte {
	at := len(b)
	b = slices.Grow(b, 4*len(vals))[:at+4*len(vals)]
	out := b[at:]
	for i, f := range vals {
		binary.LittleEndian.PutUint32(out[4*i:4*i+4], math.Float32bits(f))
	}
	return b
}

// decodeFloats appends the floats that b holds.
func decodeFloats(vals []float32, b []byte) []float32 {
	at, n := len(vals), len(b)/4
	vals = slices.Grow(vals, n)[:at+n]
	out := vals[at:]
	for i := range out {
		out[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i : 4*i+4]))
	}
	return vals
}

func vectorFields(obj *schema.Object) []int {
	var out []int
	for i, f := range obj.Fields {
		if source.Outside(f.Type) {
			out = append(out, i)
		}
	}
	return out
}

// encodeTable writes a table batch: kind, deleted identities, then a column section of the inserted rows.
func encodeTable(obj *schema.Object, r *Rows) ([]byte, error) {
	b := []byte{payloadTable}
	b = binary.AppendUvarint(b, uint64(len(r.Gone)))
	for _, id := range r.Gone {
		b = binary.AppendUvarint(b, uint64(id.Partition))
		b = binary.AppendUvarint(b, id.Offset)
	}
	w := column.NewWriter(r.tableRows())
	for i, c := range r.Cols {
		if c == nil {
			continue
		}
		if err := w.Add(columnName(obj.Fields[i].ID), c.Flatten()); err != nil {
			return nil, err
		}
	}
	sec, err := w.Finish()
	return append(b, sec...), err
}

// columnName is a field's name in column sections: ids survive renames.
func columnName(id int32) string { return "f" + strconv.Itoa(int(id)) }

// records is a decoded payload: one entry a record, ready for the tail.
type records struct {
	obj    *schema.Object // the schema version that cols follow
	keys   []string
	del    []bool
	sets   []vectorSet   // one a record, or nil when none changes vectors alone
	cols   []*vec.Vector // one a field of the object, all records (NULL rows for deletes)
	source *vec.Vector   // collections only
}

// decodePayload reads a log payload whose first record has the offset base.
func decodePayload(obj *schema.Object, partition int, base uint64, payload []byte) (*records, error) {
	if len(payload) == 0 {
		return nil, fail.New(fail.Corrupt, "empty log payload of %s", obj.Name)
	}
	switch payload[0] {
	case payloadDocuments:
		return decodeDocuments(obj, payload[1:])
	case payloadTable:
		return decodeTable(obj, partition, base, payload[1:])
	}
	return nil, fail.New(fail.Corrupt, "log payload of %s has the unknown kind %d", obj.Name, payload[0])
}

// reader walks a payload; after a short read bad is set and zeros are returned.
type reader struct {
	b      []byte
	bad    bool
	floats []float32 // scratch space of one vector
}

func (r *reader) uvarint() uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.bad = true
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *reader) take(n uint64) []byte {
	if n > uint64(len(r.b)) {
		r.bad = true
		return nil
	}
	out := r.b[:n]
	r.b = r.b[n:]
	return out
}

func (r *reader) byte() byte {
	if b := r.take(1); b != nil {
		return b[0]
	}
	return 0
}

func newColumns(obj *schema.Object, capacity int) []*vec.Vector {
	cols := make([]*vec.Vector, len(obj.Fields))
	for i, f := range obj.Fields {
		cols[i] = vec.New(f.Type, capacity)
	}
	return cols
}

func decodeDocuments(obj *schema.Object, payload []byte) (*records, error) {
	r := &reader{b: payload}
	ids := make([]int, 0, 4)
	for range min(r.uvarint(), 1<<16) {
		ids = append(ids, fieldByID(obj, int32(r.uvarint())))
	}
	n := r.uvarint()
	if r.bad || n > uint64(len(r.b)) {
		return nil, fail.New(fail.Corrupt, "log payload of %s: bad header", obj.Name)
	}
	out := &records{obj: obj, cols: newColumns(obj, int(n)), source: vec.New(types.Of(types.Binary), int(n))}
	x := source.NewExtractor(obj)
	number := vectorNumbers(obj)
	for i := range n {
		if err := decodeDocument(obj, r, ids, number, x, out); err != nil {
			return nil, err
		}
		if r.bad {
			return nil, fail.New(fail.Corrupt, "log payload of %s: record %d of %d is cut short", obj.Name, i, n)
		}
	}
	return out, nil
}

// alias is b as a string, for as long as b is not changed.
func alias(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

func decodeDocument(obj *schema.Object, r *reader, ids []int, number map[int]int, x *source.Extractor, out *records) error {
	flag := r.byte()
	if flag > recordPatch {
		return fail.New(fail.Corrupt, "log payload of %s has a record of the unknown kind %d", obj.Name, flag)
	}
	out.keys = append(out.keys, string(r.take(r.uvarint())))
	out.del = append(out.del, flag == recordDelete)
	out.sets = append(out.sets, 0)
	if flag == recordDelete {
		for _, c := range out.cols {
			c.AppendNull()
		}
		out.source.AppendNull()
		return nil
	}
	src := r.take(r.uvarint())
	if r.bad {
		return nil
	}
	doc := alias(src) // the vectors copy what they keep
	if err := x.Append(doc, out.cols); err != nil {
		return fail.Wrap(fail.Corrupt, err, "log payload of %s", obj.Name)
	}
	out.source.Append(vec.Value{Type: out.source.Type, Str: doc})
	n := len(out.keys)
	for _, f := range ids {
		tag := r.byte()
		if tag&vectorChanged != 0 && flag == recordPatch {
			if tag &^= vectorChanged; f >= 0 {
				out.sets[n-1] |= 1 << number[f]
			}
		}
		if err := decodeVector(obj, r, tag, f, out); err != nil {
			return err
		}
	}
	for i, f := range obj.Fields {
		if source.Outside(f.Type) && out.cols[i].N < n {
			out.cols[i].AppendNull()
		}
	}
	return nil
}

// decodeVector reads what follows the tag of a vector of field f; f < 0 is a field
// that is gone.
func decodeVector(obj *schema.Object, r *reader, tag byte, f int, out *records) error {
	if tag != vectorNull && f < 0 {
		return fail.New(fail.Corrupt, "log payload of %s has a vector of an unknown field", obj.Name)
	}
	switch tag {
	case vectorNull:
		return nil
	case vectorDense:
		dim := int(obj.Fields[f].Type.Dim)
		b := r.take(uint64(4 * dim))
		if r.bad {
			return nil
		}
		r.floats = decodeFloats(r.floats[:0], b)
		out.cols[f].Append(vec.Value{Type: obj.Fields[f].Type, Vec: r.floats})
	case vectorSparse:
		n := r.uvarint()
		b := r.take(8 * min(n, uint64(len(r.b))))
		if r.bad || uint64(len(b)) != 8*n {
			r.bad = true
			return nil
		}
		row := vec.SparseRow{Indices: make([]uint32, n), Values: make([]float32, n)}
		for i := range row.Indices {
			row.Indices[i] = binary.LittleEndian.Uint32(b[8*i:])
			row.Values[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[8*i+4:]))
		}
		out.cols[f].Append(vec.Value{Type: obj.Fields[f].Type, Sparse: row})
	default:
		return fail.New(fail.Corrupt, "log payload of %s: vector tag %d", obj.Name, tag)
	}
	return nil
}

// vectorNumbers are the numbers of the vector fields, by position.
func vectorNumbers(obj *schema.Object) map[int]int {
	out := map[int]int{}
	for number, f := range vectorFields(obj) {
		out[f] = number
	}
	return out
}

func fieldByID(obj *schema.Object, id int32) int {
	for i, f := range obj.Fields {
		if f.ID == id {
			return i
		}
	}
	return -1
}

func decodeTable(obj *schema.Object, partition int, base uint64, payload []byte) (*records, error) {
	r := &reader{b: payload}
	gone := r.uvarint()
	if gone > uint64(len(r.b)) {
		return nil, fail.New(fail.Corrupt, "log payload of %s: bad header", obj.Name)
	}
	out := &records{obj: obj, cols: newColumns(obj, 0)}
	for range gone {
		id := Identity{Partition: int32(r.uvarint()), Offset: r.uvarint()}
		out.keys = append(out.keys, id.key())
		out.del = append(out.del, true)
		for _, c := range out.cols {
			c.AppendNull()
		}
	}
	if r.bad {
		return nil, fail.New(fail.Corrupt, "log payload of %s: deletes are cut short", obj.Name)
	}
	sec, err := column.Open(r.b)
	if err != nil {
		return nil, err
	}
	n := sec.Rows()
	for i := range n {
		out.keys = append(out.keys, Identity{Partition: int32(partition), Offset: base + gone + uint64(i)}.key())
		out.del = append(out.del, false)
	}
	for i, f := range obj.Fields {
		if err := appendSection(out.cols[i], sec, columnName(f.ID), n); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// appendSection appends all rows of a section's column to v; NULLs when it has none.
func appendSection(v *vec.Vector, sec *column.Section, name string, rows int) error {
	if !sec.Has(name) {
		for range rows {
			v.AppendNull()
		}
		return nil
	}
	for i := range chunksOf(rows) {
		part, err := sec.Chunk(name, i)
		if err != nil {
			return err
		}
		v.AppendRows(part, nil, part.N)
	}
	return nil
}

func chunksOf(rows int) int { return (rows + vec.ChunkRows - 1) / vec.ChunkRows }
