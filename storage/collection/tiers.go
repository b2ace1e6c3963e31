package collection

import "sort"

// firstTier is the size at which the first tier ends, in bytes.
const firstTier = 256 << 10

// maxMergeBytes bounds what one merge rewrites. A segment above half of it is
// merged no more, unless most of it is deleted.
const maxMergeBytes = 1 << 30

// mergePolicy decides which segments are rewritten into one. Segments are
// sorted into tiers by the bytes of their live rows; a tier is perTier times as
// large as the one below. A tier with more than perTier segments is merged, with
// all below it, into a segment of a higher tier. So each row is rewritten once a
// tier, O(log n) times, and O(log n) segments are left.
type mergePolicy struct {
	perTier  int
	maxBytes int64
}

// liveBytes is the segment's share of its bytes that merges keep.
func (s *Segment) liveBytes() int64 {
	if s.Rows == 0 {
		return 0
	}
	return int64(float64(s.Bytes) * float64(s.Live()) / float64(s.Rows))
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
// rewrites: those of the highest tier that overflows, and of the tiers below; else
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
