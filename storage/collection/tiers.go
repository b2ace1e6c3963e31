package collection

import "sort"

// firstTier is the size at which the first tier ends, in bytes.
const firstTier = 256 << 10

// maxMergeBytes bounds what one merge joins. A segment above half of it is
// merged no more, unless most of it is deleted.
const maxMergeBytes = 1 << 30

// maxFragments is about the number of fragments of a collection above which larger
// ones are asked for: each commit lists all of them, a scan plan has a part for each.
const maxFragments = 1024

// maxFiles is the number of files up to which a fragment is left as it is. Those
// after the first replace columns of the ones before, which keep their bytes.
const maxFiles = 3

// mergePolicy decides which segments are joined to one. Segments are sorted into
// tiers by the bytes of their live rows; a tier is perTier times as large as the one
// below. A tier with more than perTier segments is merged, with all below it, into a
// segment of a higher tier. So each row is indexed anew once a
// tier, O(log n) times, and O(log n) segments are left.
//
// Of what is merged, fragments of at least minKept bytes keep their files; the others
// are rewritten into one. So a merged segment has one fragment below minKept at most,
// and a row is written to Lance files a few times, however many tiers there are.
type mergePolicy struct {
	perTier    int
	maxBytes   int64
	minKept    int64
	maxDeleted int // percent
}

// keeps tells the fragments that stay as they are when their segment is merged: those
// with files, few enough, large enough for the collection, of which little is deleted.
func (p mergePolicy) keeps(segments []Segment) func(*Fragment) bool {
	total := int64(0)
	for i := range segments {
		for k := range segments[i].Fragments {
			total += segments[i].Fragments[k].dataBytes()
		}
	}
	least := max(p.minKept, total/maxFragments)
	return func(f *Fragment) bool {
		n := len(f.Files)
		return n > 0 && n <= maxFiles && 100*f.Deleted < p.maxDeleted*f.Rows && f.dataBytes() >= least
	}
}

// mergeBytes is about what a merge writes for the segment: an index of its live rows,
// and those in fragments that do not stay.
func (s *Segment) mergeBytes(keeps func(*Fragment) bool) int64 {
	n := share(s.SplitSize, s.Live(), s.Rows)
	for i := range s.Fragments {
		if f := &s.Fragments[i]; !keeps(f) {
			n += share(f.dataBytes(), f.Rows-f.Deleted, f.Rows)
		}
	}
	return n
}

// liveBytes is the segment's share of its bytes that merges keep.
func (s *Segment) liveBytes() int64 { return share(s.Bytes, s.Live(), s.Rows) }

// share is the part of the bytes that falls to some of the rows.
func share(bytes int64, some, rows int) int64 {
	if rows == 0 {
		return 0
	}
	return int64(float64(bytes) * float64(some) / float64(rows))
}

// tier is the number of the tier for a size.
func (p mergePolicy) tier(bytes int64) int {
	t, ratio := 0, int64(max(p.perTier, 2))
	for ; bytes >= firstTier; bytes /= ratio {
		t++
	}
	return t
}

// choose returns the positions, ascending, of the segments that the next merge
// joins: those of the highest tier that overflows, and of the tiers below; else
// one of which more than half is deleted; else none.
func (p mergePolicy) choose(segments []Segment) []int {
	count := map[int]int{}
	var order []int
	for i := range segments {
		if b := segments[i].liveBytes(); b <= p.maxBytes/2 {
			order = append(order, i)
			count[p.tier(b)]++
		}
	}
	top := -1
	for t, n := range count {
		if n > max(p.perTier, 1) {
			top = max(top, t)
		}
	}
	if top >= 0 {
		return p.smallest(segments, order, top)
	}
	for i := range segments {
		if s := &segments[i]; 2*s.Deleted > s.Rows {
			return []int{i}
		}
	}
	return nil
}

// smallest takes segments of the tier and below, the smallest first, as many as fit.
func (p mergePolicy) smallest(segments []Segment, order []int, top int) []int {
	sort.SliceStable(order, func(a, b int) bool { return segments[order[a]].liveBytes() < segments[order[b]].liveBytes() })
	var out []int
	total := int64(0)
	for _, i := range order {
		b := segments[i].liveBytes()
		if total += b; p.tier(b) > top || total > p.maxBytes {
			break
		}
		out = append(out, i)
	}
	sort.Ints(out)
	return out
}
