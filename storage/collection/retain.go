package collection

import (
	"context"
	"math"
	"slices"
	"sort"
	"time"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/internal/vec"
	"github.com/loamdb/loam/metastore"
)

// The bounds of the time between two looks at what retention drops; between them it
// is a twentieth of the retention.
const (
	minRetainEvery = time.Second
	maxRetainEvery = 10 * time.Minute
)

// RetainDue reports whether the stream has a retention and it is time to look at what
// has outlived it. The question starts the time anew.
func (c *Collection) RetainDue() bool {
	if c.origin.Kind != schema.Stream || c.opt.Retention <= 0 && c.opt.RetentionBytes <= 0 {
		return false
	}
	every := maxRetainEvery
	if c.opt.Retention > 0 {
		every = min(max(c.opt.Retention/20, minRetainEvery), maxRetainEvery)
	}
	if c.opt.RetentionBytes > 0 {
		every = min(every, time.Minute)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.deps.Clock.Mono()
	if c.retained != 0 && now-c.retained < every {
		return false
	}
	c.retained = max(now, 1)
	return true
}

// Retain drops the applied records of a stream that are older than its retention, by
// their ingest time, and the oldest ones above its bytes. Segments without records
// left are dropped; what is not applied stays. Readers of a version from before find
// them as long as it is retained. It does nothing when nothing has outlived. Errors:
// Conflict when a fence is lost or another node committed.
func (c *Collection) Retain(ctx context.Context, fences []metastore.Fence) error {
	leave, err := c.building.alone(ctx, "the retention of "+c.origin.Name)
	if err != nil {
		return err
	}
	defer leave()
	st, head, err := c.newestHeld(ctx)
	if err != nil {
		return err
	}
	cutoff, err := c.expiry(ctx, st)
	if err != nil || cutoff == math.MinInt64 {
		return err
	}
	ch := &change{base: st, epoch: head.GCEpoch, applied: st.manifest.Applied, nextFrag: st.manifest.NextFragment,
		segments: slices.Clone(st.manifest.Segments), deleted: slices.Clone(st.deleted), oldest: make([]uint64, len(st.manifest.Applied))}
	copy(ch.oldest, st.manifest.Oldest)
	changed := false
	for i := range ch.segments {
		if r := ch.segments[i].Range; r != nil && r.MinTS >= cutoff {
			continue
		}
		v := &view{obj: c.Object(), part: st.splits[i], excluded: st.deleted[i], segment: i}
		gone, err := v.expired(ctx, cutoff, ch.oldest)
		if err != nil {
			return err
		}
		if !gone.IsEmpty() {
			changed = true
			gone.Or(st.deleted[i])
			ch.deleted[i] = gone
		}
	}
	if !changed {
		return nil
	}
	return outrun(c.commit(ctx, ch, fences))
}

// expiry is the ingest time below which records go; MinInt64 when none do.
func (c *Collection) expiry(ctx context.Context, st *state) (int64, error) {
	cutoff := int64(math.MinInt64)
	if c.opt.Retention > 0 {
		now, err := c.deps.Meta.Now(ctx)
		if err != nil {
			return 0, err
		}
		cutoff = now*1000 - c.opt.Retention.Microseconds()
	}
	if c.opt.RetentionBytes <= 0 {
		return cutoff, nil
	}
	excess := -c.opt.RetentionBytes
	for i := range st.manifest.Segments {
		excess += st.manifest.Segments[i].liveBytes()
	}
	if excess <= 0 {
		return cutoff, nil
	}
	above, err := c.bytesCutoff(ctx, st, excess)
	return max(cutoff, above), err
}

// bytesCutoff is the time of the oldest chunks that together have the bytes.
func (c *Collection) bytesCutoff(ctx context.Context, st *state, excess int64) (int64, error) {
	type piece struct{ last, bytes int64 }
	var pieces []piece
	for i, s := range st.splits {
		n := chunksOf(s.rows())
		for chunk := range n {
			z, err := s.zone(ctx, ingestRef, chunk)
			if err != nil {
				return 0, err
			}
			if z.known {
				pieces = append(pieces, piece{z.hi.Int, st.manifest.Segments[i].liveBytes() / int64(n)})
			}
		}
	}
	sort.Slice(pieces, func(i, j int) bool { return pieces[i].last < pieces[j].last })
	for _, p := range pieces {
		if excess -= p.bytes; excess <= 0 {
			return p.last + 1, nil
		}
	}
	return math.MinInt64, nil
}

// expired are the rows that are older than the cutoff and that still count; oldest
// rises above them.
func (v *view) expired(ctx context.Context, cutoff int64, oldest []uint64) (*roaring.Bitmap, error) {
	gone := roaring.New()
	for chunk := range chunksOf(v.part.rows()) {
		z, err := v.part.zone(ctx, ingestRef, chunk)
		if err != nil {
			return nil, err
		}
		if z.known && z.lo.Int >= cutoff {
			continue
		}
		times, err := v.columnOf(ctx, ingestRef, chunk)
		if err != nil {
			return nil, err
		}
		parts, err := v.columnOf(ctx, partitionRef, chunk)
		if err != nil {
			return nil, err
		}
		offsets, err := v.columnOf(ctx, offsetRef, chunk)
		if err != nil {
			return nil, err
		}
		times, parts, offsets = times.Flatten(), parts.Flatten(), offsets.Flatten()
		for i := range times.N {
			row := uint32(chunk*vec.ChunkRows + i)
			if times.Int64s[i] >= cutoff || v.excluded.Contains(row) {
				continue
			}
			gone.Add(row)
			p := parts.Int32s[i]
			oldest[p] = max(oldest[p], uint64(offsets.Int64s[i])+1)
		}
	}
	return gone, nil
}
