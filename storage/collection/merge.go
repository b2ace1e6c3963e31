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
	return mergePolicy{perTier: c.opt.MaxSplits, maxBytes: maxMergeBytes, minKept: c.opt.MinFragment, maxDeleted: c.opt.MaxDeleted}
}

// NeedsMerge reports whether a tier has more splits than wanted, or a split is
// mostly deleted.
func (c *Collection) NeedsMerge() bool { return c.MergeBytes() > 0 }

// MergeBytes is about what the next merge writes; 0 when none is needed.
func (c *Collection) MergeBytes() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	p, segments := c.policy(), c.st.manifest.Segments
	total, keeps := int64(0), p.keeps(segments)
	for _, i := range p.choose(segments) {
		total += max(1, segments[i].mergeBytes(keeps))
	}
	return total
}

// merging is a segment that was built in the place of others.
type merging struct {
	base   *state
	epoch  uint64 // the head's GCEpoch before anything was written
	inputs []*Segment
	// sources are the rows of the inputs, in the output's order.
	sources []mergeSource
	// segment is the output, nil when the inputs had no live rows. The first kept of
	// its fragments were the inputs'; one after them is new and has no id yet.
	segment *Segment
	kept    int
}

// mergeSource is the rows of an input that are in the output: without those in left.
type mergeSource struct {
	first uint64 // of the input
	rows  int
	left  *roaring.Bitmap
}

// Merge makes one segment of some: fragments that are worth it stay as they are and
// are only indexed anew, the live rows of the others become one new fragment. Answers
// do not change: the same rows under the same keys, offsets and ingest times. It does
// nothing when no merge is needed. Applies go on beside it: what they delete of its
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

// rewrite builds one segment of the picked ones. The turn to merge is held.
func (c *Collection) rewrite(ctx context.Context, st *state, pick []int) (*merging, error) {
	obj, keeps := c.Object(), c.policy().keeps(st.manifest.Segments)
	m := &merging{base: st}
	var stay, move []rowSource
	for _, i := range pick {
		seg := &st.manifest.Segments[i]
		m.inputs = append(m.inputs, seg)
		s := rowSource{view: &view{obj: obj, part: st.splits[i], deleted: st.deleted[i], segment: i}}
		rest := st.deleted[i].Clone() // and the rows of what stays
		left := roaring.New()
		for base, f := range seg.placed() {
			rows := left
			if keeps(f) {
				s.kept = append(s.kept, *f)
				rows = rest
			}
			rows.AddRange(uint64(base), uint64(base+f.Rows))
		}
		s.excluded, s.files = left, st.splits[i].filesOf(s.kept)
		if s.kept != nil {
			stay, m.kept = append(stay, s), m.kept+len(s.kept)
		}
		if v := (&view{obj: obj, part: st.splits[i], excluded: rest, segment: i}); v.live() > 0 {
			move = append(move, rowSource{view: v})
		}
	}
	sources := append(stay, move...)
	for _, s := range sources {
		m.sources = append(m.sources, mergeSource{first: st.manifest.Segments[s.segment].first(), rows: s.part.rows(), left: s.excluded})
	}
	var err error
	m.segment, err = c.buildSegment(ctx, obj, sources, 0)
	fault.Point("merge/segment built")
	return m, err
}

// filesOf are the block sums of the fragments' files.
func (s *split) filesOf(frags []Fragment) []bundleFile {
	var out []bundleFile
	for _, f := range frags {
		for _, d := range f.Files {
			out = append(out, bundleFile{Name: d.Name, Blocks: s.bundle.table.fileSums(d.Name)})
		}
	}
	return out
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
	inputs := map[uint64]*Segment{}
	for _, in := range m.inputs {
		inputs[in.first()] = in
	}
	deleted, frags := map[uint64]*roaring.Bitmap{}, map[uint64]Fragment{}
	for i := range st.manifest.Segments {
		seg := &st.manifest.Segments[i]
		in := inputs[seg.first()]
		if in == nil {
			ch.segments, ch.deleted = append(ch.segments, *seg), append(ch.deleted, st.deleted[i])
			continue
		}
		if in.SplitKey != seg.SplitKey {
			return nil, fail.New(fail.Conflict, "fragment %d has other columns in version %d than in version %d", seg.first(), st.manifest.Version, m.base.manifest.Version)
		}
		deleted[seg.first()] = st.deleted[i]
		for _, f := range seg.Fragments {
			frags[f.ID] = f
		}
	}
	if m.segment == nil {
		return ch, nil
	}
	seg := *m.segment
	seg.Fragments, seg.Deleted = slices.Clone(seg.Fragments), 0
	for i := range seg.Fragments {
		f := &seg.Fragments[i]
		if now, ok := frags[f.ID]; i >= m.kept {
			f.ID = ch.nextFrag
			ch.nextFrag++
		} else if ok {
			*f = now
		} else {
			f.Deleted, f.Deletion = f.Rows, nil
		}
		seg.Deleted += f.Deleted
	}
	ch.put(seg, m.carry(deleted))
	return ch, nil
}

// carry are the rows of the output that are deleted: in the newest version, whose
// deleted rows by input are given, and which has no live rows of other inputs.
func (m *merging) carry(now map[uint64]*roaring.Bitmap) *roaring.Bitmap {
	out, base := roaring.New(), 0
	for _, s := range m.sources {
		n := s.rows - int(s.left.GetCardinality())
		if now[s.first] == nil {
			out.AddRange(uint64(base), uint64(base+n))
		} else {
			it := roaring.AndNot(now[s.first], s.left).Iterator()
			for it.HasNext() {
				row := it.Next()
				out.Add(uint32(base) + row - uint32(s.left.Rank(row)))
			}
		}
		base += n
	}
	return out
}
