package collection

import (
	"cmp"
	"context"
	"errors"
	"io"
	"math"
	"slices"
	"time"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/zeebo/xxh3"

	"github.com/loamdb/loam/internal/clock"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/fault"
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/metastore"
	"github.com/loamdb/loam/storage/internal/text"
	"github.com/loamdb/loam/storage/lance"
	"github.com/loamdb/loam/storage/object"
)

// Check says whether an object can be opened once it is made: its analyzers are
// known. Errors: fail.InvalidParameter.
func Check(obj *schema.Object) error {
	fields, _ := textFields(obj)
	if len(fields) == 0 {
		return nil
	}
	_, err := text.NewMem(fields)
	return err
}

// Create writes what a new object needs before its first row: a collection's
// empty Lance version 1, which is the oldest file of the dataset and never rewritten.
func Create(ctx context.Context, deps Deps, obj *schema.Object) error {
	if obj.Kind != schema.Collection {
		return nil
	}
	fields, err := lanceFields(obj)
	if err != nil {
		return err
	}
	body, err := lance.EncodeManifest(lance.NewManifest(fields, 1, deps.Clock.Now()))
	if err != nil {
		return err
	}
	_, err = deps.Objects.Put(ctx, BaseKey(obj.ID), body, object.PutOptions{})
	if errors.Is(err, object.ErrExists) {
		return nil
	}
	return err
}

// random adapts the id source to what the Lance room asks for.
func (c *Collection) random() io.Reader { return randomReader{c.deps.IDs} }

type randomReader struct{ ids clock.IDs }

func (r randomReader) Read(p []byte) (int, error) {
	r.ids.Fill(p)
	return len(p), nil
}

// change is a manifest in the making.
type change struct {
	base *state
	// epoch is the head's GCEpoch from before the first file of the change was written.
	epoch    uint64
	segments []Segment
	// deleted[i] belongs to segments[i]; a bitmap that differs from the base's is written.
	deleted  []*roaring.Bitmap
	applied  []uint64
	oldest   []uint64 // nil: as the base's
	consumed [][]metastore.Ref
	nextFrag uint64
	// sources are the links at the cut; a merge, which has none, keeps the base's.
	sources []SourceUpto
	merge   bool
}

// deletionFiles writes the deletion bitmaps that changed and drops segments
// without live rows.
func (c *Collection) deletionFiles(ctx context.Context, ch *change) error {
	var segments []Segment
	for i := range ch.segments {
		seg, del := ch.segments[i], ch.deleted[i]
		n := int(del.GetCardinality())
		if n == seg.Rows {
			continue
		}
		if n != seg.Deleted {
			if err := c.writeDeletions(ctx, ch, &seg, del); err != nil {
				return err
			}
		}
		segments = append(segments, seg)
	}
	ch.segments = segments
	return nil
}

// writeDeletions writes the bitmaps of the segment's fragments that changed.
func (c *Collection) writeDeletions(ctx context.Context, ch *change, seg *Segment, del *roaring.Bitmap) error {
	seg.Fragments = slices.Clone(seg.Fragments)
	for base, f := range seg.placed() {
		gone := within(del, base, f.Rows)
		n := int(gone.GetCardinality())
		if n == f.Deleted {
			continue
		}
		seg.Deleted += n - f.Deleted
		f.Deleted, f.Deletion = n, nil
		if f.Dead() {
			continue
		}
		var err error
		if f.Deletion, err = c.writeDeletion(ctx, max(ch.base.manifest.LanceVersion, 1), f, gone); err != nil {
			return err
		}
	}
	return nil
}

func (c *Collection) writeDeletion(ctx context.Context, read uint64, f *Fragment, gone *roaring.Bitmap) (*Deletion, error) {
	file, body, err := lance.NewDeletionFile(gone, uint64(f.Rows), read, c.random())
	if err != nil {
		return nil, err
	}
	key := deletionKey(c.origin, c.deps.IDs.ULID())
	if c.origin.Kind == schema.Collection {
		key = datasetKey(c.origin) + lance.DeletionPath(f.ID, file)
	}
	info, err := c.deps.Objects.Put(ctx, key, body, object.PutOptions{})
	if err != nil {
		return nil, err
	}
	return &Deletion{Key: key, Size: info.Size, Checksum: info.Checksum, ReadVersion: file.ReadVersion, ID: file.ID}, nil
}

// commit makes the change the object's next version: Lance manifest, Loam
// manifest, then the metastore's pointer with the applied offsets under the
// fences. On Conflict and on CommitUnknown nothing is deleted.
func (c *Collection) commit(ctx context.Context, ch *change, fences []metastore.Fence) error {
	if err := c.deletionFiles(ctx, ch); err != nil {
		return err
	}
	fault.Point("commit/deletions written")
	now, err := c.deps.Meta.Now(ctx)
	if err != nil {
		return err
	}
	obj := c.Object()
	base := ch.base
	if ch.oldest == nil {
		ch.oldest = base.manifest.Oldest
	}
	m := &Manifest{
		Object: c.origin.ID, Incarnation: c.origin.Incarnation, Version: base.manifest.Version + 1,
		SchemaVersion: obj.SchemaVersion, CommitID: c.deps.IDs.ULID(), CreatedMS: now,
		Ancestors: base.manifest.ancestors(base.ref, base.committedMS), Applied: ch.applied, Oldest: ch.oldest, Consumed: ch.consumed,
		NextFragment: ch.nextFrag, Merged: base.manifest.Merged, Segments: ch.segments, Sources: ch.sources,
	}
	if ch.sources == nil {
		m.Sources = base.manifest.Sources
	}
	if ch.merge {
		m.Merged = m.Version
	}
	if c.origin.Kind == schema.Collection {
		if err = c.writeLance(ctx, obj, base.manifest, m); err != nil {
			return err
		}
	}
	fault.Point("commit/Lance manifest written")
	if err := c.writeGroups(ctx, base.manifest, m); err != nil {
		return err
	}
	body, err := encodeManifest(m)
	if err != nil {
		return err
	}
	ref := ManifestRef{Key: manifestKey(c.origin, m.CommitID), Checksum: xxh3.Hash(body), Size: int64(len(body))}
	if _, err := c.deps.Objects.Put(ctx, ref.Key, body, object.PutOptions{}); err != nil {
		return err
	}
	fault.Point("commit/manifest written")
	head, err := c.deps.Meta.Commit(ctx, metastore.CommitRequest{
		ObjectID: c.origin.ID, Incarnation: c.origin.Incarnation, ExpectVersion: base.manifest.Version, Fences: fences, GCEpoch: ch.epoch, Added: m.added(base.manifest) + ref.Size,
		Head: metastore.Head{Version: m.Version, ManifestKey: ref.Key, ManifestChecksum: ref.Checksum, ManifestSize: ref.Size,
			LanceVersion: m.LanceVersion, CommitID: m.CommitID, Applied: m.Applied},
	})
	if err != nil {
		return err
	}
	fault.Point("commit/head moved")
	st, err := c.load(ctx, m, ref)
	if err != nil {
		if err = c.gone(ctx, err, m.Version); fail.Is(err, fail.SnapshotExpired) {
			return nil // it is committed, and already let go: the next reader loads what followed
		}
		return err
	}
	st.committedMS = head.CreatedMS
	if ch.merge {
		c.warm(st, base)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.install(st)
}

// warm looks the keys of the tail up in the splits that the version before had not,
// so that no reader has to. What fails here fails again for the reader, who reports it.
func (c *Collection) warm(st, before *state) {
	c.mu.Lock()
	gens := c.st.gens
	c.mu.Unlock()
	for _, s := range st.splits {
		if slices.Contains(before.splits, s) {
			continue
		}
		for _, list := range gens {
			for _, g := range list {
				n, _ := g.size()
				_ = g.exclude(s, n, roaring.New())
			}
		}
	}
}

// writeLance writes the detached Lance version of the manifest's segments and
// names it in the manifest.
func (c *Collection) writeLance(ctx context.Context, obj *schema.Object, base, m *Manifest) error {
	fields, err := lanceFields(obj)
	if err != nil {
		return err
	}
	id, err := lance.NewDetachedID(c.random())
	if err != nil {
		return err
	}
	out := lance.NewManifest(fields, id, time.UnixMilli(m.CreatedMS))
	top := uint32(0)
	if m.NextFragment > 0 {
		top = uint32(m.NextFragment - 1)
	}
	lance.SetFragments(out, lanceFragments(m), top)
	body, err := lance.EncodeManifest(out)
	if err != nil {
		return err
	}
	info, err := c.deps.Objects.Put(ctx, datasetKey(c.origin)+lance.ManifestPath(id), body, object.PutOptions{})
	if err != nil {
		return err
	}
	m.LanceVersion, m.LanceSize, m.LanceChecksum, m.LanceBase, m.LastVector = id, info.Size, info.Checksum, base.LanceBase, lastVector(obj)
	if m.LanceBase == 0 {
		m.LanceBase, err = c.lanceBase(ctx)
	}
	return err
}

// lanceBase is the checksum of the dataset's version 1 as it is now. A node that
// died while it made the collection has left none.
func (c *Collection) lanceBase(ctx context.Context) (uint64, error) {
	b, err := c.deps.Objects.Get(ctx, BaseKey(c.origin.ID))
	if errors.Is(err, object.ErrNotFound) {
		if err = Create(ctx, c.deps, c.origin); err == nil {
			b, err = c.deps.Objects.Get(ctx, BaseKey(c.origin.ID))
		}
	}
	if err != nil {
		return 0, c.gone(ctx, err, math.MaxUint64) // it may have been dropped
	}
	_, err = lance.DecodeManifest(b)
	return xxh3.Hash(b), err
}

// lanceFragments are the fragments with live rows, as a Lance manifest lists them.
func lanceFragments(m *Manifest) []lance.Fragment {
	out := make([]lance.Fragment, 0, len(m.Segments))
	for i := range m.Segments {
		for k := range m.Segments[i].Fragments {
			if f := &m.Segments[i].Fragments[k]; !f.Dead() {
				out = append(out, lanceFragment(f))
			}
		}
	}
	slices.SortFunc(out, func(a, b lance.Fragment) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

// lanceFragment is the fragment as Lance describes it.
func lanceFragment(f *Fragment) lance.Fragment {
	out := lance.Fragment{ID: f.ID, PhysicalRows: uint64(f.Rows)}
	for _, d := range f.Files {
		out.Files = append(out.Files, lance.NewDataFile(d.Name, lance.FileInfo{Rows: int64(f.Rows), Size: d.Size, Fields: d.IDs, Columns: d.Columns}))
	}
	if d := f.Deletion; d != nil {
		out.DeletionFile = &lance.DeletionFile{Type: lance.DeletionBitmap, ReadVersion: d.ReadVersion, ID: d.ID, DeletedRows: uint64(f.Deleted)}
	}
	return out
}
