package collection

import (
	"context"
	"slices"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/metastore"
)

// Due reports whether an apply should run now: enough waits, or the oldest
// record has waited long enough.
func (c *Collection) Due() bool {
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
// commits them with the applied offsets. It does nothing on an empty tail.
// Errors: Conflict when a fence is lost or another node committed; CommitUnknown.
func (c *Collection) Apply(ctx context.Context, fences []metastore.Fence) error {
	c.applyMu.Lock()
	defer c.applyMu.Unlock()
	_, parts, _, err := c.deps.Meta.Heads(ctx, c.origin.ID)
	if err != nil {
		return err
	}
	if err := c.reach(ctx, parts); err != nil {
		return err
	}
	st, frozen, bounds, err := c.freeze()
	if err != nil {
		return err
	}
	if slices.Equal(bounds, st.manifest.Applied) {
		return nil
	}
	// The schema may have grown while the records waited: all are built under the newest.
	obj := c.Object()
	views, err := buildViews(ctx, obj, st.splits, st.deleted, frozen, bounds)
	if err != nil {
		return err
	}
	ch := &change{base: st, applied: bounds, nextFrag: st.manifest.NextFragment, segments: slices.Clone(st.manifest.Segments)}
	for _, v := range views[:len(st.splits)] {
		ch.deleted = append(ch.deleted, v.excluded)
	}
	seg, err := c.buildSegment(ctx, obj, views[len(st.splits):], ch.nextFrag)
	if err != nil {
		return err
	}
	rows := 0
	if seg != nil {
		ch.add(*seg)
		rows = seg.Rows
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

// freeze closes the open generations that have rows and returns the closed ones
// with the offsets where they end.
func (c *Collection) freeze() (*state, [][]*generation, []uint64, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	bounds := make([]uint64, len(c.tails))
	frozen := make([][]*generation, len(c.tails))
	for p := range c.tails {
		bounds[p] = c.tails[p].next
		if _, err := c.rotate(p); err != nil {
			return nil, nil, nil, err
		}
		gens := c.st.gens[p]
		frozen[p] = gens[: len(gens)-1 : len(gens)-1]
	}
	c.waiting = 0
	return c.st, frozen, bounds, nil
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

// add appends a new segment, of which nothing is deleted yet.
func (ch *change) add(seg Segment) {
	ch.segments = append(ch.segments, seg)
	ch.deleted = append(ch.deleted, emptyBitmap)
	ch.nextFrag = seg.Fragment + 1
}

// Settle applies until nothing waits (tail: wait).
func (c *Collection) Settle(ctx context.Context, fences []metastore.Fence) error {
	_, parts, _, err := c.deps.Meta.Heads(ctx, c.origin.ID)
	if err != nil {
		return err
	}
	for range 10 {
		c.mu.Lock()
		done := true
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
