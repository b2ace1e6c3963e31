package collection

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/snapshot"
	"github.com/loamdb/loam/metastore"
	"github.com/loamdb/loam/storage/object"
)

// recentSnapshots is how many snapshots are kept for tickets that come back.
const recentSnapshots = 32

// Strong is the snapshot of everything acknowledged before the call.
func (c *Collection) Strong(ctx context.Context) (*Snapshot, error) {
	head, parts, _, err := c.deps.Meta.Heads(ctx, c.Object().ID)
	if err != nil {
		return nil, err
	}
	return c.At(ctx, head, parts)
}

// At is the snapshot of a head and partition states read at one revision, so
// that all objects of one statement are read at one revision.
func (c *Collection) At(ctx context.Context, head metastore.Head, parts []metastore.PartitionState) (*Snapshot, error) {
	bounds := make([]uint64, len(parts))
	for p := range parts {
		bounds[p] = parts[p].Next
	}
	for {
		if err := c.refresh(ctx, head); err != nil {
			return nil, err
		}
		if err := c.reach(ctx, parts); err != nil {
			if head, parts, err = c.swept(ctx, err, head, parts); err != nil {
				return nil, err
			}
			continue
		}
		if s, err := c.snapshot(ctx, bounds); s != nil || err != nil {
			return s, err
		}
	}
}

// logGone reports the error of a read of the log that finds a part of it deleted.
func logGone(err error) bool {
	return errors.Is(err, object.ErrNotFound) || fail.Is(err, fail.SnapshotExpired)
}

// swept is what to read instead when a part of the log is gone: the newest head, whose
// splits have the records, if they were applied and swept since the given one was read.
// Else it is err, which says what is missing.
func (c *Collection) swept(ctx context.Context, err error, head metastore.Head, parts []metastore.PartitionState) (metastore.Head, []metastore.PartitionState, error) {
	if !logGone(err) {
		return head, parts, err
	}
	now, nowParts, _, herr := c.deps.Meta.Heads(ctx, c.origin.ID)
	if herr != nil {
		return head, parts, herr
	}
	moved := now.Version > head.Version
	for p := range nowParts {
		moved = moved || nowParts[p].Overflow.IndexKey != parts[p].Overflow.IndexKey
	}
	if !moved {
		return head, parts, err
	}
	return now, nowParts, nil
}

// Latest is the snapshot of what this node has, without asking the metastore: writes
// of other nodes may be missing, and of a statement over several partitions a part.
func (c *Collection) Latest(ctx context.Context) (*Snapshot, error) {
	for {
		c.mu.Lock()
		bounds := make([]uint64, len(c.tails))
		for p := range bounds {
			bounds[p] = max(c.tails[p].next, c.st.manifest.Applied[p])
		}
		c.mu.Unlock()
		s, err := c.snapshot(ctx, bounds)
		if s != nil || err != nil {
			return s, err
		}
	}
}

// refresh loads a newer manifest than the one in force, committed elsewhere.
func (c *Collection) refresh(ctx context.Context, head metastore.Head) error {
	c.mu.Lock()
	behind := c.st.manifest.Version < head.Version
	c.mu.Unlock()
	if !behind {
		return nil
	}
	// An apply of this node that has committed and not yet installed has the turn.
	leave, err := c.building.alone(ctx, "the read of "+c.origin.Name)
	if err != nil {
		return err
	}
	defer leave()
	return c.refreshHeld(ctx, head)
}

// refreshHeld is refresh with the turn to build held. It is also how the node learns that
// a commit of its own, whose outcome was unknown, has taken effect.
func (c *Collection) refreshHeld(ctx context.Context, head metastore.Head) error {
	c.mu.Lock()
	behind := c.st.manifest.Version < head.Version
	c.mu.Unlock()
	if !behind {
		return nil
	}
	st, err := c.newestState(ctx, head)
	if err != nil {
		return err
	}
	m := st.manifest
	c.mu.Lock()
	defer c.mu.Unlock()
	// Generations that straddle the new applied offset are read again from the log.
	old := *c.st
	old.gens = slices.Clone(old.gens)
	for p := range c.tails {
		for _, g := range old.gens[p] {
			if g.base < m.Applied[p] && g.end() > m.Applied[p] {
				c.tails[p] = tailHead{next: m.Applied[p]}
				old.gens[p] = nil
				break
			}
		}
	}
	c.st = &old
	return c.install(st)
}

// newestHeld is the state of the head as it is at the call, and the head. The turn
// to build is held, so that nothing of this node commits meanwhile.
func (c *Collection) newestHeld(ctx context.Context) (*state, metastore.Head, error) {
	head, _, _, err := c.deps.Meta.Heads(ctx, c.origin.ID)
	if err != nil {
		return nil, head, err
	}
	if err := c.refreshHeld(ctx, head); err != nil {
		return nil, head, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.st, head, nil
}

// snapshot fixes the state in force at the bounds. It returns nil when the tails do
// not cover them any more: another reader has learned of a manifest that ends
// within a generation, which is then read again from the log.
func (c *Collection) snapshot(ctx context.Context, bounds []uint64) (*Snapshot, error) {
	c.mu.Lock()
	st, obj, covered := c.st, c.obj, true
	for _, s := range c.recent {
		if s.manifest == st.manifest && s.obj == obj && slices.Equal(s.bounds, bounds) {
			c.mu.Unlock()
			return s, nil
		}
	}
	for p := range bounds {
		covered = covered && c.tails[p].next >= bounds[p]
	}
	c.mu.Unlock()
	if !covered {
		return nil, nil
	}
	// A commit may have passed the bounds meanwhile; its rows are in the splits then.
	bounds = slices.Clone(bounds)
	for p := range bounds {
		bounds[p] = max(bounds[p], st.manifest.Applied[p])
	}
	views, err := buildViews(ctx, obj, st.splits, st.deleted, st.gens, bounds)
	if err != nil {
		return nil, err
	}
	s := &Snapshot{obj: obj, manifest: st.manifest, bounds: bounds, views: views}
	c.remember(s)
	return s, nil
}

func (c *Collection) remember(s *Snapshot) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.recent = append(c.recent, s)
	if n := len(c.recent); n > recentSnapshots {
		c.recent = slices.Clone(c.recent[n-recentSnapshots:])
	}
}

// Pinned is the snapshot of a manifest version and bounds that an earlier
// snapshot had. It fails with SnapshotExpired when the manifest or the log
// between is gone.
func (c *Collection) Pinned(ctx context.Context, version uint64, bounds []uint64) (*Snapshot, error) {
	if len(bounds) != c.Object().Partitions {
		return nil, fail.New(fail.InvalidParameter, "a pin with %s where %s has %d", fail.Count(len(bounds), "partition"), c.origin.Name, c.origin.Partitions)
	}
	c.mu.Lock()
	for _, s := range c.recent {
		if s.manifest.Version == version && s.obj == c.obj && slices.Equal(s.bounds, bounds) {
			c.mu.Unlock()
			return s, nil
		}
	}
	st := c.st
	covered := st.manifest.Version == version
	for p := range bounds {
		covered = covered && bounds[p] <= c.tails[p].next && bounds[p] >= st.manifest.Applied[p]
	}
	c.mu.Unlock()
	if covered {
		return c.snapshotOf(ctx, st, bounds)
	}
	return c.rebuild(ctx, version, bounds)
}

func (c *Collection) snapshotOf(ctx context.Context, st *state, bounds []uint64) (*Snapshot, error) {
	views, err := buildViews(ctx, c.Object(), st.splits, st.deleted, st.gens, bounds)
	if err != nil {
		return nil, err
	}
	s := &Snapshot{obj: c.Object(), manifest: st.manifest, bounds: bounds, views: views}
	c.remember(s)
	return s, nil
}

// rebuild reads an older manifest and the log between it and the bounds.
func (c *Collection) rebuild(ctx context.Context, version uint64, bounds []uint64) (*Snapshot, error) {
	head, parts, _, err := c.deps.Meta.Heads(ctx, c.origin.ID)
	if err != nil {
		return nil, err
	}
	at, err := c.version(ctx, head, version)
	if err != nil {
		return nil, err
	}
	for p := range bounds {
		if bounds[p] < at.Applied[p] || bounds[p] > parts[p].Next {
			return nil, fail.New(fail.InvalidParameter, "offset %d of partition %d of %s does not go with manifest version %d", bounds[p], p, c.origin.Name, version)
		}
	}
	if slices.Equal(bounds, at.Applied) {
		return c.pastSnapshot(ctx, at)
	}
	st, err := c.pastState(ctx, at)
	if err != nil {
		return nil, err
	}
	chain, err := c.consumers(ctx, head, at, bounds)
	if err != nil {
		return nil, err
	}
	for p := range bounds {
		g, err := c.replay(ctx, p, at.Applied[p], chain, parts[p], bounds[p])
		if err != nil {
			return nil, c.trimmed(err, version)
		}
		st.gens[p] = []*generation{g}
	}
	return c.snapshotOf(ctx, st, bounds)
}

// trimmed is the error for a state whose log cannot be read any more.
func (c *Collection) trimmed(err error, version uint64) error {
	if !logGone(err) {
		return err
	}
	out := fail.Wrap(fail.SnapshotExpired, err, "version %d of %s can no longer be read with what was written after it: the log is gone", version, c.origin.Name)
	return fail.As(out).WithHint("The log is kept for a short time. Read the version without it, or the current state.")
}

// pastSnapshot is the snapshot of a version without a tail.
func (c *Collection) pastSnapshot(ctx context.Context, at Ancestor) (*Snapshot, error) {
	key := fmt.Sprint(at.Version, " ", c.Object().SchemaVersion)
	if s, ok := c.pasts.get(key); ok {
		return s, nil
	}
	st, err := c.pastState(ctx, at)
	if err != nil {
		return nil, err
	}
	s, err := c.snapshotOf(ctx, st, at.Applied)
	if err == nil {
		c.pasts.put(key, s)
	}
	return s, err
}

// pastState opens a version that was found, with room for tails.
func (c *Collection) pastState(ctx context.Context, at Ancestor) (*state, error) {
	m := &Manifest{Object: c.origin.ID, Incarnation: c.origin.Incarnation, Applied: make([]uint64, c.origin.Partitions)}
	if at.Version > 0 {
		var err error
		if m, err = c.manifest(ctx, at.ManifestRef); err != nil {
			return nil, c.gone(ctx, err, at.Version)
		}
	}
	st, err := c.load(ctx, m, at.ManifestRef)
	if err != nil {
		return nil, c.gone(ctx, err, at.Version)
	}
	st.gens = make([][]*generation, c.origin.Partitions)
	return st, nil
}

// consumers are the manifests that folded in the log between a version and the
// bounds, as far as any did: newest first, the version itself not among them.
func (c *Collection) consumers(ctx context.Context, head metastore.Head, at Ancestor, bounds []uint64) ([]*Manifest, error) {
	p, err := c.newest(ctx, head, func(a *Ancestor) bool {
		for p := range bounds {
			if a.Applied[p] < bounds[p] {
				return true
			}
		}
		return false
	})
	if err != nil {
		return nil, err
	}
	from := p.next
	if from.Version == 0 {
		from = p.at
	}
	var out []*Manifest
	for ref, v := from.ManifestRef, from.Version; v > at.Version; v-- {
		m, err := c.manifest(ctx, ref)
		if err != nil {
			return nil, c.gone(ctx, err, v)
		}
		out = append(out, m)
		ref = m.ParentRef()
	}
	return out, nil
}

// replay reads partition p's log from an applied offset to the bound into a
// generation of its own; the chain are the consumers between.
func (c *Collection) replay(ctx context.Context, p int, from uint64, chain []*Manifest, part metastore.PartitionState, bound uint64) (*generation, error) {
	folded := from
	var refs []metastore.Ref
	for _, m := range slices.Backward(chain) {
		if p < len(m.Consumed) {
			refs = append(refs, m.Consumed[p]...)
		}
		folded = m.Applied[p]
	}
	if folded < bound {
		rest, err := c.deps.Log.Refs(ctx, part, folded)
		if err != nil {
			return nil, err
		}
		refs = append(refs, rest...)
	}
	g, err := newGeneration(c.Object(), p, from)
	if err != nil {
		return nil, err
	}
	for _, ref := range refs {
		if ref.Base >= bound {
			break
		}
		if err := c.replayRef(ctx, g, ref, bound); err != nil {
			return nil, err
		}
	}
	if g.end() < bound {
		return nil, fail.New(fail.SnapshotExpired, "the log of %s partition %d ends at offset %d, %d is wanted", c.origin.Name, p, g.end(), bound)
	}
	return g, nil
}

// replayRef appends the batches of one log run that lie between the
// generation's end and the bound.
func (c *Collection) replayRef(ctx context.Context, g *generation, ref metastore.Ref, bound uint64) error {
	batches, err := c.deps.Log.ReadBlock(ctx, ref)
	if err != nil {
		return err
	}
	for _, b := range batches {
		if b.Base < g.end() || b.Base >= bound {
			continue
		}
		if b.Base > g.end() {
			return fail.New(fail.SnapshotExpired, "the log of %s partition %d has a gap at offset %d", c.origin.Name, g.partition, g.end())
		}
		rec, err := decodeBatch(g.obj, g.partition, b)
		if err != nil {
			return err
		}
		if err := g.append(rec, b.TS, int64(len(b.Payload))); err != nil {
			return err
		}
	}
	return nil
}

// WaitToken waits until a strong read sees the token, at most for timeout.
func (c *Collection) WaitToken(ctx context.Context, t snapshot.Token, timeout time.Duration) error {
	obj := c.Object()
	if err := c.Owns(t); err != nil {
		return err
	}
	deadline := c.deps.Clock.Mono() + timeout
	now := snapshot.Token{ObjectID: obj.ID, Incarnation: obj.Incarnation, Offsets: make([]uint64, obj.Partitions)}
	for {
		_, parts, _, err := c.deps.Meta.Heads(ctx, obj.ID)
		if err != nil {
			return err
		}
		reached := true
		for p := range parts {
			reached = reached && parts[p].Next >= t.Offsets[p]
		}
		if reached {
			return nil
		}
		if c.deps.Clock.Mono() > deadline {
			for p := range parts {
				now.Offsets[p] = parts[p].Next
			}
			return fail.New(fail.ConsistencyTimeout, "%s did not reach the consistency token within %s: it is at %s", obj.Name, timeout, now).
				WithHint("Read again later, or with that token.")
		}
		if err := c.deps.Clock.Sleep(ctx, 10*time.Millisecond); err != nil {
			return fail.Wrap(fail.Canceled, err, "waiting for a consistency token")
		}
	}
}

// EstimateRows is the number of live rows in the splits plus the tail's records, without I/O.
func (c *Collection) EstimateRows() int64 {
	n := c.Backlog().Records
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range c.st.manifest.Segments {
		n += int64(c.st.manifest.Segments[i].Live())
	}
	return n
}
