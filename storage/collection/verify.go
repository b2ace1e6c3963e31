package collection

import (
	"bytes"
	"context"
	"strings"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/zeebo/xxh3"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/vec"
	"github.com/loamdb/loam/storage/internal/column"
	"github.com/loamdb/loam/storage/internal/text"
	"github.com/loamdb/loam/storage/lance"
	"github.com/loamdb/loam/storage/object"
)

// VerifyStored reads the whole object, in pieces, and compares its size and
// checksum with what the manifest says. Errors: Corrupt, with object.ErrNotFound
// in the chain when it is gone; else those of the store.
func VerifyStored(ctx context.Context, store object.Store, o StoredObject) error {
	f, err := store.Open(ctx, o.Key)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	return verifyBytes(ctx, f, o.Size, o.Checksum, nil)
}

// VerifySplit opens every section of a segment's split and compares what is in it
// with the manifest: block checksums, row counts of columns, text and keys, and
// that the rows come from the log below the applied offsets; and the statistics of the
// columns with the columns.
func VerifySplit(ctx context.Context, store object.Store, m *Manifest, seg *Segment) error {
	b, err := openBundle(ctx, store, seg.SplitKey, seg.SplitSize)
	if err != nil {
		return err
	}
	if b.table.Object != m.Object || b.table.Rows != seg.Rows {
		return fail.New(fail.Corrupt, "it belongs to object %d with %d rows, the manifest says %d with %d", b.table.Object, b.table.Rows, m.Object, seg.Rows)
	}
	for _, s := range b.table.Sections {
		data, err := b.section(ctx, s.Name)
		if err != nil {
			return err
		}
		if err := verifySection(s.Name, data, &b.table, seg.Live(), m.Applied); err != nil {
			return err
		}
	}
	return nil
}

func verifySection(name string, data []byte, table *bundleTable, live int, applied []uint64) error {
	rows := table.Rows
	switch name {
	case sectionColumn:
		sec, err := column.Open(data)
		if err != nil {
			return err
		}
		if sec.Rows() != rows {
			return fail.New(fail.Corrupt, "the columns have %d rows, the manifest says %d", sec.Rows(), rows)
		}
		if err := verifyStatistics(sec, table.Fields); err != nil {
			return err
		}
		return verifyOffsets(sec, applied)
	case sectionText:
		idx, err := text.Open(data)
		if err == nil && int(idx.NumDocs()) != rows {
			err = fail.New(fail.Corrupt, "the text index has %d documents, the manifest says %d rows", idx.NumDocs(), rows)
		}
		return err
	case sectionKeys:
		return verifyKeys(data, rows, live)
	}
	return nil
}

func verifyOffsets(sec *column.Section, applied []uint64) error {
	for chunk := range chunksOf(sec.Rows()) {
		parts, err := sec.Chunk(partitionRef.section, chunk)
		if err != nil {
			return err
		}
		offsets, err := sec.Chunk(offsetRef.section, chunk)
		if err != nil {
			return err
		}
		parts, offsets = parts.Flatten(), offsets.Flatten()
		for i := range parts.N {
			p, off := int(parts.Int32s[i]), uint64(offsets.Int64s[i])
			if p < 0 || p >= len(applied) || off >= applied[p] {
				return fail.New(fail.Corrupt, "row %d comes from offset %d of partition %d, which is not below the applied offsets %d", chunk*vec.ChunkRows+i, off, p, applied)
			}
		}
	}
	return nil
}

// verifyKeys checks a key index, which has all live rows and may have deleted ones.
func verifyKeys(data []byte, rows, live int) error {
	idx, err := openKeys(data)
	if err != nil {
		return err
	}
	if idx.n > rows || idx.n < live {
		return fail.New(fail.Corrupt, "the key index has %d keys, the manifest says %d rows, %d of them live", idx.n, rows, live)
	}
	all, err := idx.hashes(0, idx.n)
	if err != nil {
		return err
	}
	for i := 1; i < idx.n; i++ {
		if all.at(i) < all.at(i-1) {
			return fail.New(fail.Corrupt, "hash %d of the key index is below the one before", i)
		}
	}
	return nil
}

// VerifyData reads a Lance data file that the manifest refers to whole, compares it
// with the manifest's checksum and, where the split can be read, with the block
// checksums there, opens it and counts its rows.
func VerifyData(ctx context.Context, store object.Store, m *Manifest, o StoredObject) error {
	seg := &m.Segments[o.Segment]
	var blocks []uint64
	if b, err := openBundle(ctx, store, seg.SplitKey, seg.SplitSize); err == nil {
		name := strings.TrimPrefix(o.Key, datasetOf(m.Object)+lance.DataPath(""))
		if blocks = b.table.fileSums(name); blocks == nil {
			return fail.New(fail.Corrupt, "split %s does not have its checksums", seg.SplitKey)
		}
	}
	f, err := store.Open(ctx, o.Key)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	if err := verifyBytes(ctx, f, o.Size, o.Checksum, blocks); err != nil {
		return err
	}
	file, err := lance.OpenFile(ctx, f, f.Size())
	if rows := seg.Fragments[o.Fragment].Rows; err == nil && int(file.NumRows()) != rows {
		err = fail.New(fail.Corrupt, "it has %d rows, the manifest says %d", file.NumRows(), rows)
	}
	return err
}

// verifyBytes compares an object's size (when known), the checksum of the whole,
// and of each block unless blocks is nil.
func verifyBytes(ctx context.Context, f object.Object, size int64, sum uint64, blocks []uint64) error {
	if size >= 0 && f.Size() != size {
		return fail.New(fail.Corrupt, "it has %s, the manifest says %d", fail.Count(f.Size(), "byte"), size)
	}
	n := int((f.Size() + blockBytes - 1) / blockBytes)
	if blocks != nil && len(blocks) != n {
		return fail.New(fail.Corrupt, "it has %s, its split has the checksums of %d", fail.Count(n, "block"), len(blocks))
	}
	whole, buf := xxh3.New(), make([]byte, blockBytes)
	for i := range n {
		off := int64(i) * blockBytes
		p := buf[:min(blockBytes, f.Size()-off)]
		if err := f.ReadAt(ctx, p, off); err != nil {
			return err
		}
		_, _ = whole.Write(p)
		if blocks != nil && xxh3.Hash(p) != blocks[i] {
			return fail.New(fail.Corrupt, "block %d has the checksum %016x, its split says %016x", i, xxh3.Hash(p), blocks[i])
		}
	}
	if got := whole.Sum64(); got != sum {
		return fail.New(fail.Corrupt, "checksum %016x, the manifest has %016x", got, sum)
	}
	return nil
}

// VerifyDeletion reads a fragment's deletion bitmap and compares its rows with the manifest.
func VerifyDeletion(ctx context.Context, store object.Store, f *Fragment) error {
	_, err := readDeletion(ctx, store, f)
	return err
}

// readDeletions are the deleted rows of a segment; an unreadable bitmap is an error,
// never "nothing deleted".
func readDeletions(ctx context.Context, store object.Store, seg *Segment) (*roaring.Bitmap, error) {
	out := roaring.New()
	for base, f := range seg.placed() {
		del, err := readDeletion(ctx, store, f)
		if err != nil {
			return nil, err
		}
		if base > 0 {
			del = roaring.AddOffset64(del, int64(base))
		}
		out.Or(del)
	}
	return out, nil
}

// readDeletion are the deleted rows of a fragment.
func readDeletion(ctx context.Context, store object.Store, f *Fragment) (*roaring.Bitmap, error) {
	del := roaring.New()
	if f.Dead() {
		del.AddRange(0, uint64(f.Rows))
	}
	d := f.Deletion
	if d == nil {
		return del, nil
	}
	b, err := store.Get(ctx, d.Key)
	if err != nil {
		return nil, err
	}
	if sum := xxh3.Hash(b); sum != d.Checksum {
		return nil, fail.New(fail.Corrupt, "deletion bitmap %s: checksum %016x, the manifest has %016x", d.Key, sum, d.Checksum)
	}
	if err := del.UnmarshalBinary(b); err != nil {
		return nil, fail.New(fail.Corrupt, "deletion bitmap %s: %v", d.Key, err)
	}
	if n := int(del.GetCardinality()); n != f.Deleted || n > 0 && int(del.Maximum()) >= f.Rows {
		return nil, fail.New(fail.Corrupt, "deletion bitmap %s has %d rows up to %d, the manifest says %d of %d",
			d.Key, n, del.Maximum(), f.Deleted, f.Rows)
	}
	return del, nil
}

// VerifyLance reads the manifest of a version's Lance dataset and compares every
// fragment, its files, rows and deletions, with the segments'.
func VerifyLance(ctx context.Context, store object.Store, m *Manifest) error {
	b, err := store.Get(ctx, datasetOf(m.Object)+lance.ManifestPath(m.LanceVersion))
	if err != nil {
		return err
	}
	got, err := lance.DecodeManifest(b)
	if err != nil {
		return err
	}
	frags := lanceFragments(m)
	if got.Version != m.LanceVersion || len(got.Fragments) != len(frags) {
		return fail.New(fail.Corrupt, "it is of version %d with %s, the manifest says %d with %d",
			got.Version, fail.Count(len(got.Fragments), "fragment"), m.LanceVersion, len(frags))
	}
	for i := range frags {
		want, err := lance.FragmentJSON(frags[i])
		if err != nil {
			return err
		}
		has, err := lance.FragmentJSON(got.Fragments[i])
		if err != nil {
			return err
		}
		if !bytes.Equal(has, want) {
			return fail.New(fail.Corrupt, "fragment %d is %s, the manifest says %s", i, has, want)
		}
	}
	return nil
}

// VerifyBase reads the manifest of the empty version 1 of a collection's dataset,
// for which there is no checksum before the first commit.
func VerifyBase(ctx context.Context, store object.Store, objectID uint64) error {
	b, err := store.Get(ctx, BaseKey(objectID))
	if err != nil {
		return err
	}
	m, err := lance.DecodeManifest(b)
	if err != nil {
		return err
	}
	again, err := lance.EncodeManifest(m)
	if err == nil && (m.Version != 1 || len(m.Fragments) > 0 || !bytes.Equal(again, b)) {
		err = fail.New(fail.Corrupt, "it is not the empty version 1: version %d with %s", m.Version, fail.Count(len(m.Fragments), "fragment"))
	}
	return err
}
