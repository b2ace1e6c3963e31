package collection

import (
	"context"
	"slices"
	"sort"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/fault"
	"github.com/loamdb/loam/metastore"
)

// Due reports whether an apply should run now: enough waits, the oldest record has
// waited long enough, or a vector column waits for its place in the Lance dataset.
func (c *Collection) Due() bool {
	if c.LanceBehind() {
		return true
	}
	b := c.Backlog()
	if b.Records == 0 {
		return false
	}
	if b.Records >= int64(c.opt.ApplyRows) || b.Bytes >= c.opt.ApplyBytes {
		return true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.waiting != 0 && c.deps.Clock.Mono()-c.waiting >= c.interval
}

// Apply folds the tail, as it is at the call, into a fragment and a split and
// commits them with the applied offsets. It does nothing on an empty tail, unless
// the Lance version is behind the schema.
// Errors: Conflict when a fence is lost or another node committed; CommitUnknown.
func (c *Collection) Apply(ctx context.Context, fences []metastore.Fence) error {
	leave, err := c.building.alone(ctx, "the apply to "+c.origin.Name)
	if err != nil {
		return err
	}
	defer leave()
	at, err := c.cut(ctx)
	fault.Point("apply/cut")
	if err == nil {
		err = c.apply(ctx, at, fences)
	}
	if err != nil {
		c.wait() // what was to be folded waits again
	}
	return outrun(err)
}

// apply folds the tail below the cut into a segment. The turn to build is held.
func (c *Collection) apply(ctx context.Context, at metastore.ObjectState, fences []metastore.Fence) error {
	parts := at.Partitions
	st, frozen, bounds := c.frozen(parts)
	// The schema may have grown while the records waited: all are built under the newest.
	obj := c.Object()
	if slices.Equal(bounds, st.manifest.Applied) && !st.manifest.behind(obj) {
		return nil
	}
	views, err := buildViews(ctx, obj, st.splits, st.deleted, frozen, bounds)
	if err != nil {
		return err
	}
	ch := &change{base: st, epoch: at.Head.GCEpoch, applied: bounds, nextFrag: st.manifest.NextFragment, segments: slices.Clone(st.manifest.Segments), sources: sourcesOf(at.Progress)}
	for _, v := range views[:len(st.splits)] {
		ch.deleted = append(ch.deleted, v.excluded)
	}
	rows, err := c.patchInPlace(ctx, obj, ch, views, patchedKeys(frozen, bounds))
	if err != nil {
		return err
	}
	var fresh []rowSource
	for _, v := range views[len(st.splits):] {
		fresh = append(fresh, rowSource{view: v})
	}
	seg, err := c.buildSegment(ctx, obj, fresh, ch.nextFrag)
	if err != nil {
		return err
	}
	fault.Point("apply/segment built")
	if seg != nil {
		ch.put(*seg, emptyBitmap)
		ch.nextFrag++
		rows += seg.Rows
	}
	if ch.consumed, err = c.consumed(ctx, parts, bounds); err != nil {
		return err
	}
	if err := c.commit(ctx, ch, fences); err != nil {
		return err
	}
	c.pace(rows)
	return nil
}

// cut ends the open generations at the partitions' offsets as they are at one
// revision, waits until the tails cover them, and returns the object as it is there,
// with its head and the links into it. A statement is sequenced by one transaction,
// so that each lies whole below the cut or whole above it, in whatever order its
// records are published. The turn to build is held.
func (c *Collection) cut(ctx context.Context) (metastore.ObjectState, error) {
	for {
		snap, err := c.deps.Meta.Snapshot(ctx, []uint64{c.origin.ID})
		if err != nil {
			return metastore.ObjectState{}, err
		}
		at := snap.Objects[0]
		if err := c.refreshHeld(ctx, at.Head); err != nil {
			return at, err
		}
		ok, err := c.cutAt(at.Partitions)
		if err != nil {
			return at, err
		}
		if !ok {
			continue
		}
		if err = c.reach(ctx, at.Partitions); err == nil {
			return at, nil
		}
		if _, _, err = c.swept(ctx, err, at.Head, at.Partitions); err != nil {
			return at, err
		}
	}
}

// cutAt marks the ends; false when a tail has passed them meanwhile.
func (c *Collection) cutAt(parts []metastore.PartitionState) (bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for p := range parts {
		if c.tails[p].next > parts[p].Next {
			return false, nil
		}
	}
	c.waiting = 0
	for p := range parts {
		c.tails[p].cut = parts[p].Next
		if c.tails[p].next == parts[p].Next {
			if _, err := c.rotate(p, c.obj); err != nil {
				return false, err
			}
		}
	}
	return true, nil
}

// frozen are the generations below the cut, with the state in force and the
// offsets where they end.
func (c *Collection) frozen(parts []metastore.PartitionState) (*state, [][]*generation, []uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	bounds := make([]uint64, len(parts))
	frozen := make([][]*generation, len(parts))
	for p := range parts {
		bounds[p] = parts[p].Next
		for _, g := range c.st.gens[p] {
			if n, _ := g.size(); n > 0 && g.base < bounds[p] {
				frozen[p] = append(frozen[p], g)
			}
		}
	}
	return c.st, frozen, bounds
}

// wait notes that records wait from now on, if they do not already.
func (c *Collection) wait() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.waiting == 0 {
		c.waiting = c.deps.Clock.Mono()
	}
}

// consumed are the log runs between the manifest in force and the bounds.
func (c *Collection) consumed(ctx context.Context, parts []metastore.PartitionState, bounds []uint64) ([][]metastore.Ref, error) {
	out := make([][]metastore.Ref, len(parts))
	for p := range parts {
		refs, err := c.deps.Log.Refs(ctx, parts[p], parts[p].Applied)
		if err != nil {
			return nil, err
		}
		for _, r := range refs {
			if r.Base < bounds[p] {
				out[p] = append(out[p], r)
			}
		}
		if len(out[p]) > maxConsumed {
			out[p] = nil
		}
	}
	return out, nil
}

// pace lets the batch interval grow while commits stay small, so that a trickle
// of writes makes few splits, and falls back to the start when they are not.
func (c *Collection) pace(rows int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if rows >= c.opt.ApplyRows/10 {
		c.interval = c.opt.BatchInterval
		return
	}
	c.interval = min(2*c.interval, c.opt.MaxBatchInterval)
}

// put takes a segment in, at its place, with its deleted rows.
func (ch *change) put(seg Segment, deleted *roaring.Bitmap) {
	at := sort.Search(len(ch.segments), func(i int) bool { return ch.segments[i].first() > seg.first() })
	ch.segments = slices.Insert(ch.segments, at, seg)
	ch.deleted = slices.Insert(ch.deleted, at, deleted)
}

// Settle applies until nothing waits (tail: wait), and the Lance version has all columns.
func (c *Collection) Settle(ctx context.Context, fences []metastore.Fence) error {
	_, parts, _, err := c.deps.Meta.Heads(ctx, c.origin.ID)
	if err != nil {
		return err
	}
	for range 10 {
		c.mu.Lock()
		done := !c.st.manifest.behind(c.obj)
		for p := range parts {
			done = done && c.st.manifest.Applied[p] >= parts[p].Next
		}
		c.mu.Unlock()
		if done {
			return nil
		}
		if err := c.Apply(ctx, fences); err != nil && !fail.Is(err, fail.Conflict) {
			return err
		}
	}
	return fail.New(fail.Conflict, "the tail of %s could not be applied: other commits came first", c.origin.Name)
}
