package collection

import (
	"iter"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/loamdb/loam/internal/fail"
)

// Segment is a split and the whole fragments that it indexes. The rows of the split
// are those of its fragments, one after the other. The fragments of a split, their
// rows and their files never change: where they do, there is another split.
type Segment struct {
	Fragments []Fragment `json:"fragments"`
	// Rows and Deleted are the sums over the fragments. Live rows are the difference.
	Rows      int    `json:"rows"`
	Deleted   int    `json:"deleted"`
	SplitKey  string `json:"split"`
	SplitSize int64  `json:"split_size"`
	// SplitChecksum is the XXH3-64 of the whole object, for those who read all of it;
	// readers of blocks have the sums in the split's table.
	SplitChecksum uint64 `json:"split_xxh3"`
	// Bytes is the size of split and data files, for the choice of merges.
	Bytes int64 `json:"bytes"`
	// Range bounds what the rows hold; nil when it is not known.
	Range *Range `json:"range,omitempty"`
}

// Fragment is a run of rows of a segment: of a collection a Lance fragment, of a
// table all rows of the segment. It is the unit of a scan plan.
type Fragment struct {
	ID      uint64 `json:"id"`
	Rows    int    `json:"rows"`
	Deleted int    `json:"deleted"`
	// Files are the Lance files, of a collection. A column lies in the one that has its
	// id, and is NULL when none has.
	Files []DataFile `json:"files,omitempty"`
	// Deletion names the deletion bitmap, by rows of the fragment; nil when no row is
	// deleted, or all are.
	Deletion *Deletion `json:"deletion,omitempty"`
}

// DataFile is a Lance file with some columns of a fragment, for all of its rows.
type DataFile struct {
	// Name is the name under data/.
	Name string `json:"name"`
	Size int64  `json:"size"`
	// Checksum is the XXH3-64 of the whole file; the sums of its blocks are in the
	// split's table.
	Checksum uint64 `json:"xxh3"`
	// IDs are the Lance ids of the leaf fields, -2 where a later file replaces one;
	// Columns are their columns in the file.
	IDs     []int32 `json:"ids"`
	Columns []int32 `json:"columns"`
}

// Deletion is a deletion bitmap: an object with a portable roaring bitmap of row
// numbers. Of a collection it is the fragment's Lance deletion file.
type Deletion struct {
	Key         string `json:"key"`
	Size        int64  `json:"size"`
	Checksum    uint64 `json:"xxh3"`
	ReadVersion uint64 `json:"read_version"`
	ID          uint64 `json:"id"`
}

// Live is the number of rows that count.
func (s *Segment) Live() int { return s.Rows - s.Deleted }

// first is the id of the first fragment, by which segments are told apart and ordered.
func (s *Segment) first() uint64 { return s.Fragments[0].ID }

// ids are the ids of the fragments.
func (s *Segment) ids() []uint64 {
	out := make([]uint64, len(s.Fragments))
	for i := range out {
		out[i] = s.Fragments[i].ID
	}
	return out
}

// placed are the fragments, each with the row of the split at which it begins.
func (s *Segment) placed() iter.Seq2[int, *Fragment] {
	return func(yield func(int, *Fragment) bool) {
		base := 0
		for i := range s.Fragments {
			if f := &s.Fragments[i]; !yield(base, f) {
				return
			}
			base += s.Fragments[i].Rows
		}
	}
}

// Dead reports a fragment without live rows. It stays in its segment, because rows
// are counted over it, but is in no Lance version and in no scan plan.
func (f *Fragment) Dead() bool { return f.Deleted == f.Rows }

// dataBytes is the size of the fragment's files.
func (f *Fragment) dataBytes() int64 {
	n := int64(0)
	for i := range f.Files {
		n += f.Files[i].Size
	}
	return n
}

// within are the rows of [base, base+n) that are in the bitmap, counted from base.
func within(rows *roaring.Bitmap, base, n int) *roaring.Bitmap {
	out := roaring.New()
	out.AddRange(uint64(base), uint64(base+n))
	out.And(rows)
	return roaring.AddOffset64(out, -int64(base))
}

// checkSegments refuses segments whose rows are not the sums over their fragments.
// Manifest and groups are read by it, so that all else may rely on it.
func checkSegments(what, name string, list []Segment) error {
	for i := range list {
		s, rows, deleted, ok := &list[i], 0, 0, true
		for _, f := range s.Fragments {
			ok = ok && f.Rows > 0 && f.Deleted >= 0 && f.Deleted <= f.Rows
			rows, deleted = rows+f.Rows, deleted+f.Deleted
		}
		if !ok || rows == 0 || rows != s.Rows || deleted != s.Deleted {
			return fail.New(fail.Corrupt, "%s %s: segment %d has %d rows, %d of them deleted; its %s have %d and %d",
				what, name, i, s.Rows, s.Deleted, fail.Count(len(s.Fragments), "fragment"), rows, deleted)
		}
	}
	return nil
}
