package collection

import (
	"context"
	"time"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/metastore"
	"github.com/loamdb/loam/storage/wal"
)

// publish adds sequenced records to the tail. Records of one partition may
// arrive out of order; they become visible in order.
func (c *Collection) publish(p int, base uint64, rec *records, ts, bytes int64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := &c.tails[p]
	if base < t.next {
		return nil // read back from the log meanwhile
	}
	if base > t.next {
		if t.early == nil {
			t.early = map[uint64]published{}
		}
		t.early[base] = published{rec, ts, bytes}
		return nil
	}
	for {
		if err := c.extend(p, rec, ts, bytes); err != nil {
			return err
		}
		next, ok := t.early[t.next]
		if !ok {
			break
		}
		delete(t.early, t.next)
		rec, ts, bytes = next.rec, next.ts, next.bytes
	}
	for b := range t.early {
		if b < t.next {
			delete(t.early, b)
		}
	}
	c.cond.Broadcast()
	return nil
}

// extend appends to the open generation of partition p. c.mu is held.
func (c *Collection) extend(p int, rec *records, ts, bytes int64) error {
	gens := c.st.gens[p]
	g := gens[len(gens)-1]
	if g.obj.SchemaVersion != rec.obj.SchemaVersion {
		var err error
		if g, err = c.rotate(p, rec.obj); err != nil {
			return err
		}
	}
	if err := g.append(rec, ts, bytes); err != nil {
		return err
	}
	c.tails[p].next += uint64(len(rec.keys))
	if c.tails[p].next <= c.tails[p].cut {
		if c.tails[p].next == c.tails[p].cut {
			_, err := c.rotate(p, rec.obj)
			return err
		}
		return nil // an apply that runs takes it
	}
	if c.waiting == 0 {
		c.waiting = c.deps.Clock.Mono()
	}
	return nil
}

// rotate opens a new generation of partition p for records read under obj; an
// empty open one gives way. c.mu is held.
func (c *Collection) rotate(p int, obj *schema.Object) (*generation, error) {
	gens := c.st.gens[p]
	last := gens[len(gens)-1]
	n, _ := last.size()
	if n == 0 {
		gens = gens[: len(gens)-1 : len(gens)-1]
	}
	g, err := newGeneration(obj, p, c.tails[p].next)
	if err != nil {
		return nil, err
	}
	st := *c.st
	st.gens = append([][]*generation(nil), c.st.gens...)
	st.gens[p] = append(gens[:len(gens):len(gens)], g)
	c.st = &st
	return g, nil
}

// patience is how long a reader waits for this node's own writers to publish
// before it reads the log.
const patience = 20 * time.Millisecond

// reach makes the tails cover the partitions' next offsets: it waits for
// writers, then reads the log.
func (c *Collection) reach(ctx context.Context, parts []metastore.PartitionState) error {
	for p := range parts {
		if c.waitTail(ctx, p, parts[p].Next) {
			continue
		}
		if err := ctx.Err(); err != nil {
			return fail.Wrap(fail.Canceled, err, "waiting for the tail of %s", c.origin.Name)
		}
		if err := c.catchUp(ctx, p, parts[p]); err != nil {
			return err
		}
	}
	c.reached.Store(true)
	return nil
}

// waitTail reports whether partition p's tail reached next in time. It waits only
// while this node is writing: what is missing else comes from another node, or from
// before the start.
func (c *Collection) waitTail(ctx context.Context, p int, next uint64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.tails[p].next >= next || c.flying.Load() == 0 {
		return c.tails[p].next >= next
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	// Under the lock: a wake-up between the check and the wait would be lost.
	stop := context.AfterFunc(ctx, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.cond.Broadcast()
	})
	defer stop()
	for c.tails[p].next < next && ctx.Err() == nil {
		c.cond.Wait()
	}
	return c.tails[p].next >= next
}

// described is the description that all records in the log so far can be read under.
func (c *Collection) described(ctx context.Context) (*schema.Object, error) {
	if c.deps.Describe != nil {
		obj, err := c.deps.Describe(ctx, c.origin.ID)
		if err != nil {
			return nil, err
		}
		c.SetObject(obj)
	}
	return c.Object(), nil
}

// catchUp reads the log from where partition p's tail ends.
func (c *Collection) catchUp(ctx context.Context, p int, part metastore.PartitionState) error {
	c.mu.Lock()
	from := c.tails[p].next
	c.mu.Unlock()
	obj, err := c.described(ctx)
	if err != nil {
		return err
	}
	refs, err := c.deps.Log.Refs(ctx, part, from)
	if err != nil {
		return err
	}
	for _, ref := range refs {
		batches, err := c.deps.Log.ReadBlock(ctx, ref)
		if err != nil {
			return err
		}
		for _, b := range batches {
			rec, err := decodeBatch(obj, p, b)
			if err != nil {
				return err
			}
			if err := c.publish(p, b.Base, rec, b.TS, int64(len(b.Payload))); err != nil {
				return err
			}
		}
	}
	return nil
}

func decodeBatch(obj *schema.Object, p int, b wal.Batch) (*records, error) {
	rec, err := decodePayload(obj, p, b.Base, b.Payload)
	if err == nil && len(rec.keys) != int(b.Records) {
		err = fail.New(fail.Corrupt, "log run at offset %d of %s partition %d has %d records, want %d", b.Base, obj.Name, p, len(rec.keys), b.Records)
	}
	return rec, err
}
