package file

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/bits"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/loamdb/loam/internal/fail"
)

// A blob of version 2 is a value that lies somewhere else; the column holds its place,
// a packed struct of these members.
var blobRow = arrow.StructOf(
	arrow.Field{Name: "kind", Type: arrow.PrimitiveTypes.Uint8},
	arrow.Field{Name: "position", Type: arrow.PrimitiveTypes.Uint64},
	arrow.Field{Name: "size", Type: arrow.PrimitiveTypes.Uint64},
	arrow.Field{Name: "blob_id", Type: arrow.PrimitiveTypes.Uint32},
	arrow.Field{Name: "blob_uri", Type: arrow.BinaryTypes.String},
)

// blobKey marks columns of blobs, of both versions.
const blobKey = "lance-encoding:blob"

// Where a blob lies.
const (
	blobInline    = 0 // in the data file
	blobPacked    = 1 // in a file beside it, with others
	blobDedicated = 2 // in a file beside it, alone
	blobExternal  = 3 // at a URI
)

// blobRowBytes is a place without its URI: kind, position, size, blob_id, and the
// length of blob_uri.
const blobRowBytes = 1 + 8 + 8 + 4 + 4

// blobShape is blobRow's, with values of large_binary.
var blobShape = func() shape {
	s, err := packedShape(blobRow)
	if err != nil { // every member is a leaf
		return shape{}
	}
	s.typ, s.blob = arrow.BinaryTypes.LargeBinary, true
	return s
}()

// placedBlob: the field of a data file holds places of blobs. Blobs of the first
// version are marked too, but are no packed structs.
func placedBlob(f arrow.Field) bool {
	v, _ := f.Metadata.GetValue(blobKey)
	return v == "true" && packed(f) && f.Type.ID() == arrow.LARGE_BINARY
}

// Sidecar is an open file of blobs.
type Sidecar interface {
	Source
	Size() int64
	Close() error
}

// OpenSidecar opens a file of blobs by its name in the folder that belongs to the data
// file and is called as it is, without its ending.
type OpenSidecar func(ctx context.Context, name string) (Sidecar, error)

// BlobsFrom says how files of blobs are opened; call it before the first read.
func (f *File) BlobsFrom(open OpenSidecar) { f.sidecars = open }

// sidecarName is the binary digits of the id, the lowest first.
func sidecarName(id uint32) string { return fmt.Sprintf("%032b.blob", bits.Reverse32(id)) }

// maxBlobBytes bounds the blobs of one batch.
const maxBlobBytes = 1 << 30

// blobGroup is the places in one file, and the rows that they belong to.
type blobGroup struct {
	inline    bool
	id        uint32 // of the file beside, otherwise
	rows      []int
	pos, size []uint64
}

// fetchBlobs replaces the places that the sink has collected by the values.
func (f *File) fetchBlobs(ctx context.Context, s *sink) error {
	rows := s.nodes[len(s.nodes)-1].valid.n
	groups, err := groupBlobs(s.values.used(), s.offsets.used(), rows)
	if err != nil {
		return err
	}
	values := make([][]byte, rows)
	for _, g := range groups {
		if err := f.readGroup(ctx, g, values); err != nil {
			return err
		}
	}
	s.values.release()
	s.offsets.release()
	s.putValueEnd()
	for _, v := range values {
		s.addValue(v)
	}
	return nil
}

// groupBlobs sorts the places of the rows by the files they are in. A null has no place.
func groupBlobs(data, ends []byte, rows int) ([]*blobGroup, error) {
	var groups []*blobGroup
	byID := map[int64]*blobGroup{}
	total := uint64(0)
	for i := range rows {
		row := data[offsetAt(ends, i, 8):offsetAt(ends, i+1, 8)]
		if len(row) == 0 {
			continue
		}
		if len(row) < blobRowBytes {
			return nil, corrupt("the place of blob %d has %d bytes", i, len(row))
		}
		kind, key := row[0], int64(-1)
		pos, size, id := binary.LittleEndian.Uint64(row[1:]), binary.LittleEndian.Uint64(row[9:]), binary.LittleEndian.Uint32(row[17:])
		switch kind {
		case blobInline:
		case blobPacked, blobDedicated:
			key = int64(id)
		case blobExternal:
			return nil, fail.New(fail.Unsupported, "lance: the blob of row %d of the batch lies outside of the dataset, at %.200q; such blobs are not read", i, row[blobRowBytes:]).
				WithHint("Select the other columns, or store the values in the dataset.")
		default:
			return nil, unsupported("blobs of kind %d are not readable", kind)
		}
		if total += size; size > maxBlobBytes || total > maxBlobBytes {
			return nil, fail.New(fail.TooLarge, "lance: the blobs of one batch of %d rows have more than %d bytes", rows, maxBlobBytes).
				WithHint("Read fewer rows at a time, or read the blobs with the Lance client.")
		}
		g := byID[key]
		if g == nil {
			g = &blobGroup{inline: key < 0, id: id}
			byID[key], groups = g, append(groups, g)
		}
		g.rows, g.pos, g.size = append(g.rows, i), append(g.pos, pos), append(g.size, size)
	}
	return groups, nil
}

// readGroup reads the values of a group into their rows' places.
func (f *File) readGroup(ctx context.Context, g *blobGroup, to [][]byte) error {
	src, size := f.src, f.size
	if !g.inline {
		if f.sidecars == nil {
			return unsupported("blobs in a file of their own are readable only with their dataset")
		}
		side, err := f.sidecars(ctx, sidecarName(g.id))
		if err != nil {
			return err
		}
		defer func() { _ = side.Close() }()
		src, size = side, side.Size()
	}
	spans := blobSpans{limit: uint64(size)}
	for k, pos := range g.pos {
		if err := spans.add(pos, g.size[k]); err != nil {
			return err
		}
	}
	bufs, err := readSpans(ctx, src, spans.all)
	if err != nil {
		return err
	}
	for k, row := range g.rows {
		to[row] = bufs[k]
	}
	return nil
}
