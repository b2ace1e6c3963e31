package collection

import (
	"context"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/fault"
	"github.com/loamdb/loam/metastore"
)

var emptyBitmap = roaring.New()

func (c *Collection) policy() mergePolicy {
	return mergePolicy{perTier: c.opt.MaxSplits, maxBytes: maxMergeBytes}
}

// NeedsMerge reports whether a tier has more splits than wanted, or a split is
// mostly deleted.
func (c *Collection) NeedsMerge() bool { return c.MergeBytes() > 0 }

// MergeBytes is about what the next merge writes; 0 when none is needed.
func (c *Collection) MergeBytes() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	segments := c.st.manifest.Segments
	total := int64(0)
	for _, i := range c.policy().choose(segments) {
		total += max(1, segments[i].liveBytes())
	}
	return total
}

// merging is a segment that was built of the live rows of others.
type merging struct {
	base   *state
	epoch  uint64 // the head's GCEpoch before anything was written
	inputs []mergeInput
	// segment has no fragment id yet; nil when the inputs had no live rows.
	segment *Segment
}

// mergeInput is a segment whose rows were rewritten, without those in deleted.
type mergeInput struct {
	first   uint64 // the id of the segment's first fragment
	rows    int
	deleted *roaring.Bitmap
}

// Merge rewrites the live rows of some segments into one. Answers do not change:
// the same rows under the same keys, offsets and ingest times. It does nothing
// when no merge is needed. Applies go on beside it: what they delete of its
// inputs is deleted of its output before that is committed.
// Errors: Conflict when a fence is lost or another node merged; CommitUnknown.
func (c *Collection) Merge(ctx context.Context, fences []metastore.Fence) error {
	leave, err := c.merging.alone(ctx, "the merge of "+c.origin.Name)
	if err != nil {
		return err
	}
	defer leave()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.life, cancel)()
	head, _, _, err := c.deps.Meta.Heads(ctx, c.origin.ID)
	if err != nil {
		return err
	}
	if err := c.refresh(ctx, head); err != nil {
		return err
	}
	c.mu.Lock()
	st := c.st
	c.mu.Unlock()
	pick := c.policy().choose(st.manifest.Segments)
	if len(pick) == 0 {
		return nil
	}
	m, err := c.rewrite(ctx, st, pick)
	if err != nil {
		return outrun(err)
	}
	m.epoch = head.GCEpoch
	return c.commitMerge(ctx, m, fences)
}

// rewrite builds one segment of the live rows of the picked ones. The turn to merge is held.
func (c *Collection) rewrite(ctx context.Context, st *state, pick []int) (*merging, error) {
	obj := c.Object()
	m := &merging{base: st}
	var views []*view
	for _, i := range pick {
		seg := &st.manifest.Segments[i]
		views = append(views, &view{obj: obj, part: st.splits[i], excluded: st.deleted[i], segment: i})
		m.inputs = append(m.inputs, mergeInput{first: seg.first(), rows: seg.Rows, deleted: st.deleted[i]})
	}
	var err error
	m.segment, err = c.buildSegment(ctx, obj, views, 0)
	fault.Point("merge/segment built")
	return m, err
}

// rebases is how often a merge is moved onto the newest version before it gives up.
const rebases = 4

// commitMerge commits the output on the newest version, whichever that is.
func (c *Collection) commitMerge(ctx context.Context, m *merging, fences []metastore.Fence) error {
	for try := 1; ; try++ {
		err := c.tryMerge(ctx, m, fences)
		if !fail.Is(err, fail.Conflict) || try == rebases {
			return err
		}
	}
}

func (c *Collection) tryMerge(ctx context.Context, m *merging, fences []metastore.Fence) error {
	leave, err := c.building.alone(ctx, "the commit of a merge of "+c.origin.Name)
	if err != nil {
		return err
	}
	defer leave()
	st, _, err := c.newestHeld(ctx)
	if err != nil {
		return err
	}
	ch, err := m.onto(st)
	if err != nil {
		return err
	}
	return c.commit(ctx, ch, fences)
}

// onto puts the output in the place of the inputs in a newer version. Between the
// two versions lie applies and dropped segments, but no merge: so an input that is
// gone has no live rows.
func (m *merging) onto(st *state) (*change, error) {
	if st.manifest.Merged != m.base.manifest.Merged {
		return nil, fail.New(fail.Conflict, "version %d has another merge than version %d", st.manifest.Version, m.base.manifest.Version)
	}
	ch := &change{base: st, merge: true, epoch: m.epoch, applied: st.manifest.Applied, nextFrag: st.manifest.NextFragment}
	now := map[uint64]*roaring.Bitmap{}
	for i := range st.manifest.Segments {
		now[st.manifest.Segments[i].first()] = st.deleted[i]
	}
	out, base := roaring.New(), 0
	for _, in := range m.inputs {
		in.carry(now[in.first], base, out)
		delete(now, in.first)
		base += in.rows - int(in.deleted.GetCardinality())
	}
	for i := range st.manifest.Segments {
		if seg := st.manifest.Segments[i]; now[seg.first()] != nil {
			ch.segments = append(ch.segments, seg)
			ch.deleted = append(ch.deleted, st.deleted[i])
		}
	}
	if m.segment != nil {
		seg := *m.segment
		seg.Fragments = slices.Clone(seg.Fragments)
		seg.Fragments[0].ID = ch.nextFrag
		ch.add(seg)
		ch.deleted[len(ch.deleted)-1] = out
	}
	return ch, nil
}

// carry adds to out the rows of the output, in which the input's live rows begin
// at base, that were deleted after it was read; nil stands for all of them.
func (in *mergeInput) carry(now *roaring.Bitmap, base int, out *roaring.Bitmap) {
	if now == nil {
		out.AddRange(uint64(base), uint64(base+in.rows)-in.deleted.GetCardinality())
		return
	}
	later := roaring.AndNot(now, in.deleted)
	it := later.Iterator()
	for it.HasNext() {
		row := it.Next()
		out.Add(uint32(base) + row - uint32(in.deleted.Rank(row)))
	}
}
