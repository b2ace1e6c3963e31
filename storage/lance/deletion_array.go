package lance

import (
	"bytes"
	"encoding/binary"
	"io"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"

	"github.com/loamdb/loam/internal/fail"
)

// Numbers of the Arrow IPC format.
const (
	arrowMagic        = "ARROW1"
	arrowContinue     = 0xFFFFFFFF
	arrowRecordBatch  = 3 // MessageHeader
	arrowCompressLZ4  = 0 // CompressionType
	arrowCompressZstd = 1
)

// decodeDeletionArray reads an Arrow IPC file whose one column holds the deleted
// rows as uint32 without nulls. It is read here, as far as such files go, because
// the Arrow library allocates whatever a damaged file claims.
func decodeDeletionArray(body []byte, d DeletionFile, physicalRows uint64) (*roaring.Bitmap, error) {
	broken := func(format string, args ...any) error {
		return fail.New(fail.Corrupt, "lance: deletion array %d: "+format, append([]any{d.ID}, args...)...)
	}
	if !bytes.HasPrefix(body, []byte(arrowMagic)) || !bytes.HasSuffix(body, []byte(arrowMagic)) {
		return nil, broken("%d bytes are no Arrow file", len(body))
	}
	// Some writers pad the magic to more than eight bytes.
	at := 8
	for at+8 <= len(body) && binary.LittleEndian.Uint64(body[at:]) == 0 {
		at += 8
	}
	out := roaring.New()
	for {
		m, next, ok := arrowMessage(body, at)
		if !ok {
			return nil, broken("the message at byte %d is damaged", at)
		}
		if next == at {
			return out, nil
		}
		if m.kind == arrowRecordBatch {
			rows, ok := m.rows(physicalRows)
			if !ok {
				return nil, broken("the record batch at byte %d is damaged, or no column of row numbers", at)
			}
			out.AddMany(rows)
		}
		at = next
	}
}

// arrowMsg is one message: what it is, its header table and its body.
type arrowMsg struct {
	kind   uint64
	header flatTable
	body   []byte
}

// arrowMessage reads the message at the byte; next is at itself at the end.
func arrowMessage(file []byte, at int) (m arrowMsg, next int, ok bool) {
	if len(file)-at < 8 || binary.LittleEndian.Uint32(file[at:]) != arrowContinue {
		return m, at, false
	}
	size := binary.LittleEndian.Uint32(file[at+4:])
	if size == 0 {
		return m, at, true
	}
	meta := at + 8
	if uint64(size) > uint64(len(file)-meta) {
		return m, at, false
	}
	bodyAt := meta + int(size)
	root := flatRoot(file[meta:bodyAt])
	n := root.word(3, 8)
	m.kind, m.header = root.word(1, 1), root.table(2)
	if n > uint64(len(file)-bodyAt) || root.buf == nil {
		return m, at, false
	}
	m.body = file[bodyAt : bodyAt+int(n)]
	return m, bodyAt + int(n), true
}

// rows are the values of the batch's one column.
func (m *arrowMsg) rows(limit uint64) ([]uint32, bool) {
	n := m.header.word(0, 8)
	nodes, nodeCount := m.header.vector(1, 16)
	buffers, bufferCount := m.header.vector(2, 16)
	if n > limit || nodeCount != 1 || bufferCount != 2 || binary.LittleEndian.Uint64(nodes) != n || binary.LittleEndian.Uint64(nodes[8:]) != 0 {
		return nil, false
	}
	off, size := binary.LittleEndian.Uint64(buffers[16:]), binary.LittleEndian.Uint64(buffers[24:])
	if off > uint64(len(m.body)) || size > uint64(len(m.body))-off {
		return nil, false
	}
	data := m.body[off : off+size]
	if compression := m.header.table(3); compression.buf != nil {
		var ok bool
		if data, ok = arrowDecompress(compression.word(0, 1), data, 4*n+64); !ok {
			return nil, false
		}
	}
	if uint64(len(data)) < 4*n {
		return nil, false
	}
	out := make([]uint32, n)
	for i := range out {
		out[i] = binary.LittleEndian.Uint32(data[4*i:])
	}
	return out, true
}

// arrowDecompress undoes the compression of a buffer: an i64 length, -1 for bytes
// that are not compressed after all, then a frame.
func arrowDecompress(codec uint64, b []byte, limit uint64) ([]byte, bool) {
	if len(b) < 8 {
		return nil, len(b) == 0
	}
	want, frame := binary.LittleEndian.Uint64(b), b[8:]
	if want == ^uint64(0) {
		return frame, true
	}
	if want > limit {
		return nil, false
	}
	switch codec {
	case arrowCompressZstd:
		d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(max(limit, 1<<20)))
		if err != nil {
			return nil, false
		}
		defer d.Close()
		out, err := d.DecodeAll(frame, nil)
		return out, err == nil && uint64(len(out)) == want
	case arrowCompressLZ4:
		out, err := io.ReadAll(io.LimitReader(lz4.NewReader(bytes.NewReader(frame)), int64(want)+1))
		return out, err == nil && uint64(len(out)) == want
	}
	return nil, false
}

// flatTable is a FlatBuffers table; a nil buf is one that is not there. Reading
// outside of the buffer gives zeros and empty vectors.
type flatTable struct {
	buf []byte
	at  int
}

func flatRoot(b []byte) flatTable {
	if len(b) < 4 {
		return flatTable{}
	}
	return flatAt(b, 0)
}

// flatAt follows the offset that stands at a place.
func flatAt(b []byte, place int) flatTable {
	at := uint64(place) + uint64(binary.LittleEndian.Uint32(b[place:]))
	if at > uint64(len(b)-4) {
		return flatTable{}
	}
	return flatTable{b, int(at)}
}

// field is where the i-th field stands, or -1.
func (t flatTable) field(i, width int) int {
	if t.buf == nil {
		return -1
	}
	v := int64(t.at) - int64(int32(binary.LittleEndian.Uint32(t.buf[t.at:])))
	slot := v + 4 + 2*int64(i)
	if v < 0 || v+2 > int64(len(t.buf)) || slot+2 > int64(len(t.buf)) || slot+2 > v+int64(binary.LittleEndian.Uint16(t.buf[v:])) {
		return -1
	}
	off := int(binary.LittleEndian.Uint16(t.buf[slot:]))
	if off == 0 || t.at+off+width > len(t.buf) {
		return -1
	}
	return t.at + off
}

// word is a number of 1 or 8 bytes.
func (t flatTable) word(i, width int) uint64 {
	at := t.field(i, width)
	switch {
	case at < 0:
		return 0
	case width == 1:
		return uint64(t.buf[at])
	}
	return binary.LittleEndian.Uint64(t.buf[at:])
}

func (t flatTable) table(i int) flatTable {
	at := t.field(i, 4)
	if at < 0 {
		return flatTable{}
	}
	return flatAt(t.buf, at)
}

// vector is the elements of a vector of structs of the width, and their number.
func (t flatTable) vector(i, width int) ([]byte, int) {
	v := t.table(i)
	if v.buf == nil {
		return nil, 0
	}
	n := uint64(binary.LittleEndian.Uint32(v.buf[v.at:]))
	rest := v.buf[v.at+4:]
	if n > uint64(len(rest)/width) {
		return nil, 0
	}
	return rest, int(n)
}
