package collection

import (
	"context"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/storage/lance"
)

// FragmentInfo describes a fragment of a snapshot with live rows, for a scan plan.
type FragmentInfo struct {
	ID                uint64
	Physical, Deleted int
	// Live is the number of rows that a scan of the fragment at the snapshot gives:
	// without deleted rows and without those that the tail superseded.
	Live         int
	Files        []string // data/… paths, none for tables
	DeletionPath string   // relative to the dataset, "" without
	JSON         []byte   // Lance's fragment JSON, nil for tables
	// Superseded holds the rows that the tail replaced, deleted ones apart.
	Superseded *roaring.Bitmap
}

// FragmentInfos describes the snapshot's fragments in order.
func (s *Snapshot) FragmentInfos() ([]FragmentInfo, error) {
	var out []FragmentInfo
	for _, v := range s.views {
		if v.segment < 0 {
			continue
		}
		superseded := roaring.AndNot(v.excluded, v.deleted)
		for base, f := range s.manifest.Segments[v.segment].placed() {
			if f.Dead() {
				continue
			}
			info, err := fragmentInfo(s.obj.Kind, f, within(superseded, base, f.Rows))
			if err != nil {
				return nil, err
			}
			out = append(out, info)
		}
	}
	return out, nil
}

func fragmentInfo(kind schema.Kind, f *Fragment, superseded *roaring.Bitmap) (FragmentInfo, error) {
	info := FragmentInfo{ID: f.ID, Physical: f.Rows, Deleted: f.Deleted, Live: f.Rows - f.Deleted - int(superseded.GetCardinality()), Superseded: superseded}
	if kind != schema.Collection {
		return info, nil
	}
	l := lanceFragment(f)
	for _, d := range f.Files {
		info.Files = append(info.Files, lance.DataPath(d.Name))
	}
	if l.DeletionFile != nil {
		info.DeletionPath = lance.DeletionPath(f.ID, *l.DeletionFile)
	}
	var err error
	info.JSON, err = lance.FragmentJSON(l)
	return info, err
}

// LanceAddress is the Lance version of the snapshot's fragments; ok is false for
// tables and before the first commit.
func (s *Snapshot) LanceAddress(c *Collection) (uri string, version uint64, manifest string, ok bool) {
	if s.manifest.LanceVersion == 0 {
		return "", 0, "", false
	}
	return c.deps.Objects.URI(trimSlash(datasetKey(s.obj))), s.manifest.LanceVersion, lance.ManifestPath(s.manifest.LanceVersion), true
}

func trimSlash(s string) string { return s[:len(s)-1] }

// Applied are the manifest's applied offsets; the caller must not change them.
func (s *Snapshot) Applied() []uint64 { return s.manifest.Applied }

// CreatedMS is when the manifest was committed, on the metastore's clock.
func (s *Snapshot) CreatedMS() int64 { return s.manifest.CreatedMS }

// TailRecords is the number of log records between the manifest and the bounds.
func (s *Snapshot) TailRecords() int64 { return s.tailRecords() }

// TailLive is the number of live rows in the tail.
func (s *Snapshot) TailLive() int {
	n := 0
	for _, v := range s.views {
		if v.segment < 0 {
			n += v.live()
		}
	}
	return n
}

// Version is the snapshot of a manifest version alone, without any tail.
func (c *Collection) Version(ctx context.Context, version uint64) (*Snapshot, error) {
	head, _, _, err := c.deps.Meta.Heads(ctx, c.origin.ID)
	if err != nil {
		return nil, err
	}
	at, err := c.version(ctx, head, version)
	if err != nil {
		return nil, err
	}
	return c.Pinned(ctx, version, at.Applied)
}

// SegmentInfo describes rows that lie together: a split, or the tail of a partition.
type SegmentInfo struct {
	// Kind is "split" or "tail".
	Kind string
	// Rows counts all rows, Deleted those of them that are deleted or superseded.
	Rows, Deleted int
	// Fragments, their ids, and Bytes, of index bundle and data files, belong to splits.
	Fragments []uint64
	Bytes     int64
	// Partition and the offsets [First, Next) belong to tails.
	Partition   int
	First, Next uint64
}

// Segments lists what the snapshot reads, splits first.
func (s *Snapshot) Segments() []SegmentInfo {
	var splits, tails []SegmentInfo
	for _, v := range s.views {
		gone := int(v.excluded.GetCardinality())
		if v.segment >= 0 {
			seg := &s.manifest.Segments[v.segment]
			splits = append(splits, SegmentInfo{Kind: "split", Rows: seg.Rows, Deleted: gone, Fragments: seg.ids(), Bytes: seg.Bytes})
		} else if p, ok := v.part.(*tailPart); ok && p.n > 0 {
			tails = append(tails, SegmentInfo{Kind: "tail", Rows: p.n, Deleted: gone, Partition: p.g.partition, First: p.g.base, Next: p.g.base + uint64(p.n)})
		}
	}
	return append(splits, tails...)
}
