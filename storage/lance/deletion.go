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
	plain := withoutRuns(deleted)
	body, err := plain.ToBytes()
	if err != nil {
		return DeletionFile{}, nil, fail.Wrap(fail.Internal, err, "lance: encoding a deletion bitmap")
	}
	d := DeletionFile{Type: DeletionBitmap, ReadVersion: readVersion, ID: binary.LittleEndian.Uint64(b[:]), DeletedRows: n}
	return d, body, nil
}

// withoutRuns is the bitmap without run containers: the same one if it has none.
func withoutRuns(b *roaring.Bitmap) *roaring.Bitmap {
	if !b.HasRunCompression() {
		return b
	}
	out := roaring.New()
	buf := make([]uint32, 1024)
	for it := b.ManyIterator(); ; {
		n := it.NextMany(buf)
		if n == 0 {
			return out
		}
		out.AddMany(buf[:n])
	}
}

// DecodeDeletions reads a deletion bitmap and checks it against its description:
// the number of rows, and rows within the fragment. Array files (Arrow IPC) are
// Unsupported; Loam never writes them.
func DecodeDeletions(body []byte, d DeletionFile, physicalRows uint64) (*roaring.Bitmap, error) {
	if d.Type != DeletionBitmap {
		return nil, fail.New(fail.Unsupported, "lance: deletion file %d is an Arrow array; only bitmaps are read", d.ID)
	}
	out := roaring.New()
	n, err := out.ReadFrom(bytes.NewReader(body))
	if err == nil {
		err = out.Validate()
	}
	if err != nil && !out.IsEmpty() {
		return nil, fail.Wrap(fail.Corrupt, err, "lance: deletion bitmap %d", d.ID)
	}
	switch count := out.GetCardinality(); {
	case err != nil:
		return nil, fail.Wrap(fail.Corrupt, err, "lance: deletion bitmap %d", d.ID)
	case n != int64(len(body)):
		return nil, fail.New(fail.Corrupt, "lance: deletion bitmap %d ends at byte %d of %d", d.ID, n, len(body))
	case d.DeletedRows != 0 && count != d.DeletedRows:
		return nil, fail.New(fail.Corrupt, "lance: deletion bitmap %d has %d rows, the manifest says %d", d.ID, count, d.DeletedRows)
	case count > 0 && uint64(out.Maximum()) >= physicalRows:
		return nil, fail.New(fail.Corrupt, "lance: deletion bitmap %d: row %d of a fragment of %d", d.ID, out.Maximum(), physicalRows)
	}
	return out, nil
}
