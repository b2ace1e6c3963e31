package ingest

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// An IPC message's header is a flatbuffer: offsets and lengths that whoever
// wrote it chose. A reader that believes them can be made to allocate any amount
// of memory, which no recover catches. verify therefore walks the header first
// and checks that every table, vector and string lies inside of it, that no
// array claims more than MaxRows rows, and that compressed buffers do not claim
// to unpack to more than maxUnpackedBytes. It follows Arrow's Message.fbs and
// Schema.fbs; the numbers of fields below are theirs.

// maxUnpackedBytes bounds what the compressed buffers of one message unpack to.
const maxUnpackedBytes = 512 << 20

// maxDepth bounds the nesting of types.
const maxDepth = 64

var errHeader = errors.New("the message's header is damaged")

// errRows tells an array that claims too many rows.
var errRows = fmt.Errorf("an array claims more than %d rows; send smaller batches", MaxRows)

// errUnpacked tells compressed buffers that claim too much.
var errUnpacked = fmt.Errorf("the compressed buffers unpack to more than %d bytes; send smaller batches", maxUnpackedBytes)

// header is a flatbuffer being verified.
type header struct {
	b []byte
	// left bounds the number of tables, so that offsets to shared tables cannot
	// make the walk longer than the bytes are.
	left int
}

// table is the position of a table and of its vtable.
type table struct {
	at, vtable, fields int
}

// Message header types and the type numbers that have vectors inside.
const (
	headerSchema     = 1
	headerDictionary = 2
	headerBatch      = 3
	typeTimestamp    = 10
	typeUnion        = 14
)

// verify checks a message's header against its own length and its body's.
func verify(raw, body []byte) error {
	h := &header{b: raw, left: len(raw)/4 + 8}
	root, err := h.follow(0)
	if err != nil {
		return err
	}
	message, err := h.table(root)
	if err != nil {
		return err
	}
	if err := h.pairs(message, 4); err != nil {
		return err
	}
	content, ok, err := h.child(message, 2)
	if err != nil || !ok {
		return errors.Join(err, missing(ok))
	}
	kind, err := h.small(message, 1)
	if err != nil {
		return err
	}
	switch kind {
	case headerSchema:
		return h.schema(content)
	case headerBatch:
		return h.batch(content, body)
	case headerDictionary:
		data, ok, err := h.child(content, 1)
		if err != nil || !ok {
			return errors.Join(err, missing(ok))
		}
		return h.batch(data, body)
	}
	return fmt.Errorf("a message of kind %d; expected a schema, a dictionary or a record batch", kind)
}

func missing(ok bool) error {
	if ok {
		return nil
	}
	return errHeader
}

func (h *header) inside(at, n int) bool { return at >= 0 && n >= 0 && at <= len(h.b)-n }

func (h *header) uint32(at int) (int, error) {
	if !h.inside(at, 4) {
		return 0, errHeader
	}
	return int(binary.LittleEndian.Uint32(h.b[at:])), nil
}

// follow reads a forward offset.
func (h *header) follow(at int) (int, error) {
	offset, err := h.uint32(at)
	if err != nil || offset == 0 || !h.inside(at+offset, 4) {
		return 0, errHeader
	}
	return at + offset, nil
}

func (h *header) table(at int) (table, error) {
	if h.left--; h.left < 0 {
		return table{}, errHeader
	}
	raw, err := h.uint32(at)
	if err != nil {
		return table{}, err
	}
	t := table{at: at, vtable: at - int(int32(raw))}
	if !h.inside(t.vtable, 4) {
		return table{}, errHeader
	}
	size := int(binary.LittleEndian.Uint16(h.b[t.vtable:]))
	inline := int(binary.LittleEndian.Uint16(h.b[t.vtable+2:]))
	if size < 4 || size%2 != 0 || !h.inside(t.vtable, size) || inline < 4 || !h.inside(at, inline) {
		return table{}, errHeader
	}
	t.fields = (size - 4) / 2
	return t, nil
}

// field is the position of a field of a width; 0 when it is absent.
func (h *header) field(t table, n, width int) (int, error) {
	if n >= t.fields {
		return 0, nil
	}
	offset := int(binary.LittleEndian.Uint16(h.b[t.vtable+4+2*n:]))
	if offset == 0 {
		return 0, nil
	}
	if !h.inside(t.at+offset, width) {
		return 0, errHeader
	}
	return t.at + offset, nil
}

// small reads a one-byte field, 0 when absent.
func (h *header) small(t table, n int) (int, error) {
	at, err := h.field(t, n, 1)
	if err != nil || at == 0 {
		return 0, err
	}
	return int(h.b[at]), nil
}

// child is the table that a field points to.
func (h *header) child(t table, n int) (table, bool, error) {
	at, err := h.field(t, n, 4)
	if err != nil || at == 0 {
		return table{}, false, err
	}
	if at, err = h.follow(at); err != nil {
		return table{}, false, err
	}
	c, err := h.table(at)
	return c, err == nil, err
}

// vector is the place and length of a vector field with elements of a width.
func (h *header) vector(t table, n, width int) (at, count int, err error) {
	if at, err = h.field(t, n, 4); err != nil || at == 0 {
		return 0, 0, err
	}
	if at, err = h.follow(at); err != nil {
		return 0, 0, err
	}
	if count, err = h.uint32(at); err != nil {
		return 0, 0, err
	}
	if count > (len(h.b)-at-4)/width {
		return 0, 0, errHeader
	}
	return at + 4, count, nil
}

// tables visits the tables of a vector field.
func (h *header) tables(t table, n int, visit func(table) error) error {
	at, count, err := h.vector(t, n, 4)
	if err != nil {
		return err
	}
	for i := range count {
		place, err := h.follow(at + 4*i)
		if err != nil {
			return err
		}
		c, err := h.table(place)
		if err != nil {
			return err
		}
		if err := visit(c); err != nil {
			return err
		}
	}
	return nil
}

// pairs checks a vector of KeyValue.
func (h *header) pairs(t table, n int) error {
	return h.tables(t, n, func(pair table) error { return h.strings(pair, 0, 1) })
}

func (h *header) strings(t table, fields ...int) error {
	for _, n := range fields {
		if _, _, err := h.vector(t, n, 1); err != nil {
			return err
		}
	}
	return nil
}

func (h *header) schema(t table) error {
	if err := h.pairs(t, 2); err != nil {
		return err
	}
	if _, _, err := h.vector(t, 3, 8); err != nil {
		return err
	}
	return h.tables(t, 1, func(f table) error { return h.arrowField(f, 0) })
}

func (h *header) arrowField(f table, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("types nest deeper than %d", maxDepth)
	}
	if err := errors.Join(h.strings(f, 0), h.pairs(f, 6), h.arrowType(f), h.dictionary(f)); err != nil {
		return err
	}
	return h.tables(f, 5, func(c table) error { return h.arrowField(c, depth+1) })
}

func (h *header) arrowType(f table) error {
	kind, err := h.small(f, 2)
	if err != nil {
		return err
	}
	t, ok, err := h.child(f, 3)
	if err != nil || !ok {
		return err
	}
	switch kind {
	case typeTimestamp:
		return h.strings(t, 1)
	case typeUnion:
		_, _, err = h.vector(t, 1, 4)
	}
	return err
}

func (h *header) dictionary(f table) error {
	d, ok, err := h.child(f, 4)
	if err != nil || !ok {
		return err
	}
	_, _, err = h.child(d, 1)
	return err
}

// batch checks the arrays and buffers that a record batch claims.
func (h *header) batch(t table, body []byte) error {
	at, nodes, err := h.vector(t, 1, 16)
	if err != nil {
		return err
	}
	for i := range nodes {
		rows, nulls := h.int64(at+16*i), h.int64(at+16*i+8)
		if rows > MaxRows {
			return errRows
		}
		if rows < 0 || nulls > rows {
			return errHeader
		}
	}
	if _, _, err := h.vector(t, 4, 8); err != nil {
		return err
	}
	_, compressed, err := h.child(t, 3)
	if err != nil {
		return err
	}
	at, buffers, err := h.vector(t, 2, 16)
	if err != nil {
		return err
	}
	unpacked := int64(0)
	for i := range buffers {
		offset, length := h.int64(at+16*i), h.int64(at+16*i+8)
		if offset < 0 || length < 0 || offset > int64(len(body))-length {
			return errors.New("a buffer lies outside of the message's body")
		}
		if compressed && length >= 8 {
			claim := int64(binary.LittleEndian.Uint64(body[offset:]))
			if claim > maxUnpackedBytes || claim < -1 {
				return errUnpacked
			}
			if unpacked += claim; unpacked > maxUnpackedBytes {
				return errUnpacked
			}
		}
	}
	return nil
}

// int64 reads a number whose place a vector has checked.
func (h *header) int64(at int) int64 { return int64(binary.LittleEndian.Uint64(h.b[at:])) }
