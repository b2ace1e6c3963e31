package collection

import (
	"context"
	"slices"
	"sort"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/loamdb/loam/metastore"
)

// maxMergeBytes bounds what one merge rewrites.
const maxMergeBytes = 1 << 30

var emptyBitmap = roaring.New()

// NeedsMerge reports whether there are more splits than wanted, or one that is
// mostly deleted.
func (c *Collection) NeedsMerge() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.chooseMerge(c.st.manifest)) > 0
}

// chooseMerge picks the segments that the next merge rewrites into one: the
// smallest ones, when there are more than MaxSplits, down to half of it; else a
// segment of which more than half is deleted. Positions, ascending.
func (c *Collection) chooseMerge(m *Manifest) []int {
	order := make([]int, len(m.Segments))
	for i := range order {
		order[i] = i
	}
	sort.SliceStable(order, func(a, b int) bool { return m.Segments[order[a]].Bytes < m.Segments[order[b]].Bytes })
	var out []int
	if len(m.Segments) > c.opt.MaxSplits {
		total := int64(0)
		for _, i := range order[:len(m.Segments)-c.opt.MaxSplits/2] {
			if total += m.Segments[i].Bytes; total > maxMergeBytes && len(out) > 1 {
				break
			}
			out = append(out, i)
		}
		if len(out) < 2 {
			out = nil
		}
	}
	if out == nil {
		for i := range m.Segments {
			if s := &m.Segments[i]; 2*s.Deleted > s.Rows {
				return []int{i}
			}
		}
	}
	slices.Sort(out)
	return out
}

// Merge rewrites the live rows of some segments into one. Answers do not change:
// the same rows under the same keys, offsets and ingest times. It does nothing
// when no merge is needed.
func (c *Collection) Merge(ctx context.Context, fences []metastore.Fence) error {
	leave, err := c.building.alone(ctx, "the merge of "+c.origin.Name)
	if err != nil {
		return err
	}
	defer leave()
	head, _, _, err := c.deps.Meta.Heads(ctx, c.origin.ID)
	if err != nil {
		return err
	}
	if err := c.refreshHeld(ctx, head); err != nil {
		return err
	}
	c.mu.Lock()
	st := c.st
	pick := c.chooseMerge(st.manifest)
	c.mu.Unlock()
	if len(pick) == 0 {
		return nil
	}
	return c.merge(ctx, st, pick, head.GCEpoch, fences)
}

// merge rewrites the picked segments of st; epoch is the head's GCEpoch. The turn to build is held.
func (c *Collection) merge(ctx context.Context, st *state, pick []int, epoch uint64, fences []metastore.Fence) error {
	obj := c.Object()
	ch := &change{base: st, epoch: epoch, applied: st.manifest.Applied, nextFrag: st.manifest.NextFragment}
	var views []*view
	for i := range st.manifest.Segments {
		if slices.Contains(pick, i) {
			views = append(views, &view{obj: obj, part: st.splits[i], excluded: st.deleted[i], segment: i})
			continue
		}
		ch.segments = append(ch.segments, st.manifest.Segments[i])
		ch.deleted = append(ch.deleted, st.deleted[i])
	}
	seg, err := c.buildSegment(ctx, obj, views, ch.nextFrag)
	if err != nil {
		return err
	}
	if seg != nil {
		ch.add(*seg)
	}
	return c.commit(ctx, ch, fences)
}
