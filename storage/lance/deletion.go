package lance

import (
	"bytes"
	"encoding/binary"
	"io"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/loamdb/loam/internal/fail"
)

// NewDeletionFile encodes the deleted rows of a fragment and describes the file:
// a 32-bit Roaring bitmap in the portable format, without run containers, which
// older readers may not know. readVersion is the version that the rows were found
// in; random names the file. The bitmap must not be empty, must lie within the
// fragment, and must leave at least one row: a fragment whose rows are all deleted
// is dropped from the manifest instead.
func NewDeletionFile(deleted *roaring.Bitmap, physicalRows, readVersion uint64, random io.Reader) (DeletionFile, []byte, error) {
	n := deleted.GetCardinality()
	switch {
	case n == 0:
		return DeletionFile{}, nil, fail.Bug("lance: deletion file without rows")
	case uint64(deleted.Maximum()) >= physicalRows:
		return DeletionFile{}, nil, fail.Bug("lance: deleted row %d of a fragment of %d", deleted.Maximum(), physicalRows)
	case n >= physicalRows:
		return DeletionFile{}, nil, fail.Bug("lance: all %d rows are deleted; drop the fragment", n)
	}
	var b [8]byte
	if _, err := io.ReadFull(random, b[:]); err != nil {
		return DeletionFile{}, nil, fail.Wrap(fail.Internal, err, "lance: no randomness for a deletion file")
	}
	d := DeletionFile{Type: DeletionBitmap, ReadVersion: readVersion, ID: binary.LittleEndian.Uint64(b[:]), DeletedRows: n}
	return d, encodeBitmap(deleted), nil
}

// Numbers of the portable Roaring format without run containers.
const (
	bitmapCookie = 12346
	maxArray     = 4096 // values of an array container; more are a bitmap
	bitmapBytes  = 8192
)

// container is the low halves of the values with one high half, ascending.
type container struct {
	key  uint16
	lows []uint16
}

// encodeBitmap is the bitmap in the portable format, written here because the
// library turns full containers into runs whatever one asks for: cookie, count,
// (key, cardinality-1) pairs, offsets, containers.
func encodeBitmap(b *roaring.Bitmap) []byte {
	var all []container
	buf := make([]uint32, 4096)
	it := b.ManyIterator()
	for n := it.NextMany(buf); n > 0; n = it.NextMany(buf) {
		for _, v := range buf[:n] {
			if len(all) == 0 || all[len(all)-1].key != uint16(v>>16) {
				all = append(all, container{key: uint16(v >> 16)})
			}
			last := &all[len(all)-1]
			last.lows = append(last.lows, uint16(v))
		}
	}
	le := binary.LittleEndian
	out := le.AppendUint32(nil, bitmapCookie)
	out = le.AppendUint32(out, uint32(len(all)))
	for _, c := range all {
		out = le.AppendUint16(out, c.key)
		out = le.AppendUint16(out, uint16(len(c.lows)-1))
	}
	at := len(out) + 4*len(all)
	for _, c := range all {
		out = le.AppendUint32(out, uint32(at))
		at += c.size()
	}
	for _, c := range all {
		out = c.append(out)
	}
	return out
}

func (c *container) size() int {
	if len(c.lows) <= maxArray {
		return 2 * len(c.lows)
	}
	return bitmapBytes
}

func (c *container) append(out []byte) []byte {
	if len(c.lows) <= maxArray {
		for _, v := range c.lows {
			out = binary.LittleEndian.AppendUint16(out, v)
		}
		return out
	}
	bits := make([]byte, bitmapBytes)
	for _, v := range c.lows {
		bits[v/8] |= 1 << (v % 8)
	}
	return append(out, bits...)
}

// DecodeDeletions reads a deletion file, a bitmap or an array, and checks it
// against its description: the number of rows, and rows within the fragment.
func DecodeDeletions(body []byte, d DeletionFile, physicalRows uint64) (*roaring.Bitmap, error) {
	decode := decodeDeletionBitmap
	if d.Type == DeletionArray {
		decode = decodeDeletionArray
	}
	out, err := decode(body, d, physicalRows)
	if err != nil {
		return nil, err
	}
	switch count := out.GetCardinality(); {
	case d.DeletedRows != 0 && count != d.DeletedRows:
		return nil, fail.New(fail.Corrupt, "lance: deletion file %d has %d rows, the manifest says %d", d.ID, count, d.DeletedRows)
	case count > 0 && uint64(out.Maximum()) >= physicalRows:
		return nil, fail.New(fail.Corrupt, "lance: deletion file %d: row %d of a fragment of %d", d.ID, out.Maximum(), physicalRows)
	}
	return out, nil
}

func decodeDeletionBitmap(body []byte, d DeletionFile, _ uint64) (*roaring.Bitmap, error) {
	out := roaring.New()
	n, err := out.ReadFrom(bytes.NewReader(body))
	if err == nil {
		err = out.Validate()
	}
	if err != nil {
		return nil, fail.Wrap(fail.Corrupt, err, "lance: deletion bitmap %d", d.ID)
	}
	if n != int64(len(body)) {
		return nil, fail.New(fail.Corrupt, "lance: deletion bitmap %d ends at byte %d of %d", d.ID, n, len(body))
	}
	return out, nil
}
