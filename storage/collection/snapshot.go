package collection

import (
	"context"
	"sync"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/internal/snapshot"
	"github.com/loamdb/loam/storage/internal/text"
)

// Snapshot is one state of an object: a manifest and an upper offset per
// partition. It is immutable, safe for concurrent use, and keeps what it reads
// alive. Release is not needed: parts are held by reference.
type Snapshot struct {
	obj      *schema.Object
	manifest *Manifest
	// bounds[p] is the first offset of partition p that does not count.
	bounds []uint64
	views  []*view
}

// view is a part with the rows of it that do not count at the snapshot.
type view struct {
	obj      *schema.Object
	part     part
	excluded *roaring.Bitmap // never nil, never changed
	// deleted is the part of excluded that the manifest's deletion bitmap says.
	deleted *roaring.Bitmap
	// segment is the position in the manifest, or -1 for the tail.
	segment int

	once sync.Once
	excl *text.Exclusion
}

// exclusion is the text index's form of excluded, which remembers its counts.
func (v *view) exclusion() *text.Exclusion {
	v.once.Do(func() { v.excl = text.NewExclusion(v.excluded) })
	return v.excl
}

func (v *view) live() int { return v.part.rows() - int(v.excluded.GetCardinality()) }

// Object is the description that the snapshot was taken with.
func (s *Snapshot) Object() *schema.Object { return s.obj }

// Version is the manifest version.
func (s *Snapshot) Version() uint64 { return s.manifest.Version }

// Bounds are the upper offsets; the caller must not change them.
func (s *Snapshot) Bounds() []uint64 { return s.bounds }

// Token covers exactly what the snapshot sees.
func (s *Snapshot) Token() snapshot.Token {
	return snapshot.Token{ObjectID: s.obj.ID, Incarnation: s.obj.Incarnation, Offsets: s.bounds}
}

// Count is the number of live rows.
func (s *Snapshot) Count() int64 {
	n := int64(0)
	for _, v := range s.views {
		n += int64(v.live())
	}
	return n
}

// tailRecords is the number of records above the manifest.
func (s *Snapshot) tailRecords() int64 {
	n := int64(0)
	for p, b := range s.bounds {
		n += int64(b - s.manifest.Applied[p])
	}
	return n
}

// Restrict returns the snapshot cut to some of its parts: the fragments named by
// id, and the tail if asked for. Superseded rows stay left out.
func (s *Snapshot) Restrict(fragments []uint64, tail bool) *Snapshot {
	want := map[uint64]bool{}
	for _, f := range fragments {
		want[f] = true
	}
	out := *s
	out.views = nil
	for _, v := range s.views {
		if v.segment >= 0 {
			v = v.only(&s.manifest.Segments[v.segment], want)
		} else if !tail {
			v = nil
		}
		if v != nil {
			out.views = append(out.views, v)
		}
	}
	return &out
}

// only is the view without the rows of fragments that are not wanted; nil when none is.
func (v *view) only(seg *Segment, want map[uint64]bool) *view {
	var others []*roaring.Bitmap
	for base, f := range seg.placed() {
		if !want[f.ID] {
			rows := roaring.New()
			rows.AddRange(uint64(base), uint64(base+f.Rows))
			others = append(others, rows)
		}
	}
	switch len(others) {
	case 0:
		return v
	case len(seg.Fragments):
		return nil
	}
	return &view{obj: v.obj, part: v.part, excluded: roaring.FastOr(append(others, v.excluded)...), deleted: v.deleted, segment: v.segment}
}

// Fragments are the ids of the snapshot's fragments with live rows, in order.
func (s *Snapshot) Fragments() []uint64 {
	var out []uint64
	for i := range s.manifest.Segments {
		for k := range s.manifest.Segments[i].Fragments {
			if f := &s.manifest.Segments[i].Fragments[k]; !f.Dead() {
				out = append(out, f.ID)
			}
		}
	}
	return out
}

// buildViews joins splits, deletion bitmaps and generations to views. bounds say
// how much of each generation counts; deleted[i] belongs to splits[i].
func buildViews(ctx context.Context, obj *schema.Object, splits []*split, deleted []*roaring.Bitmap, gens [][]*generation, bounds []uint64) ([]*view, error) {
	var views []*view
	for i, s := range splits {
		v := &view{obj: obj, part: s, excluded: deleted[i], deleted: deleted[i], segment: i}
		ex := roaring.New()
		for p, list := range gens {
			for _, g := range list {
				if err := g.exclude(s, counted(g, bounds[p]), ex); err != nil {
					return nil, err
				}
			}
		}
		if !ex.IsEmpty() {
			ex.Or(deleted[i])
			v.excluded = ex
		}
		views = append(views, v)
	}
	for p, list := range gens {
		for i, g := range list {
			n := counted(g, bounds[p])
			if n == 0 {
				continue
			}
			ex := roaring.New()
			g.excludeOwn(n, ex)
			for _, later := range list[i+1:] {
				if err := later.exclude(g, counted(later, bounds[p]), ex); err != nil {
					return nil, err
				}
			}
			views = append(views, &view{obj: obj, part: &tailPart{g: g, n: n}, excluded: ex, segment: -1})
		}
	}
	return views, fail.Ended(ctx, "the snapshot of "+obj.Name)
}

// counted is how many rows of g lie below the bound.
func counted(g *generation, bound uint64) int {
	if bound <= g.base {
		return 0
	}
	n, _ := g.size()
	return min(n, int(bound-g.base))
}
