package collection

import (
	"context"
	"time"

	"github.com/zeebo/xxh3"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/internal/snapshot"
	"github.com/loamdb/loam/storage/wal"
)

// maxBlock is the size at which a batch is cut into several log blocks; all of
// them are sequenced together.
const maxBlock = 4 << 20

// Partition is the partition of a key: xxh3-64 with seed 0, modulo the number of partitions.
func Partition(key string, partitions int) int {
	return int(xxh3.HashString(key) % uint64(partitions))
}

// Append makes the rows durable and visible, all or none, and returns the token
// that covers them. Errors: BacklogFull with RetryAfter; CommitUnknown when the
// outcome could not be learned; UndefinedTable when the object was dropped.
func (c *Collection) Append(ctx context.Context, r *Rows) (snapshot.Token, error) {
	c.seq.RLock()
	defer c.seq.RUnlock()
	return c.append(ctx, r, nil)
}

// append sequences the rows; with expect set, a partition that has moved past
// its bound gives Conflict and nothing is written.
func (c *Collection) append(ctx context.Context, r *Rows, expect []uint64) (snapshot.Token, error) {
	obj := c.Object()
	if err := c.admit(); err != nil {
		return snapshot.Token{}, err
	}
	blocks, err := c.blocks(obj, r)
	if err != nil {
		return snapshot.Token{}, err
	}
	if expect != nil {
		seen := map[int]bool{}
		for i := range blocks {
			if p := blocks[i].Partition; !seen[p] {
				seen[p] = true
				blocks[i].Expect = &expect[p]
			}
		}
	}
	results, err := c.deps.Log.Append(ctx, blocks)
	if err != nil {
		return snapshot.Token{}, err
	}
	token := snapshot.Token{ObjectID: obj.ID, Incarnation: obj.Incarnation, Offsets: make([]uint64, obj.Partitions)}
	for i, res := range results {
		if res.Err != nil {
			return snapshot.Token{}, res.Err
		}
		b := blocks[i]
		rec, err := decodePayload(obj, b.Partition, res.Base, b.Payload)
		if err != nil {
			return snapshot.Token{}, err
		}
		if err := c.publish(b.Partition, res.Base, rec, res.TS, b.Bytes); err != nil {
			return snapshot.Token{}, err
		}
		token.Offsets[b.Partition] = max(token.Offsets[b.Partition], res.Base+uint64(b.Records))
	}
	return token, nil
}

// blocks cuts the rows by partition and size and encodes them.
func (c *Collection) blocks(obj *schema.Object, r *Rows) ([]wal.Block, error) {
	if obj.Kind == schema.Table {
		payload, err := encodeTable(obj, r)
		if err != nil {
			return nil, err
		}
		return []wal.Block{c.block(obj, 0, r.Len(), payload)}, nil
	}
	picks := make([][]int, obj.Partitions)
	size := make([]int, obj.Partitions)
	var out []wal.Block
	flush := func(p int) {
		if len(picks[p]) > 0 {
			out = append(out, c.block(obj, p, len(picks[p]), encodeDocuments(obj, r, picks[p])))
			picks[p], size[p] = picks[p][:0], 0
		}
	}
	perRow := 0
	for _, f := range vectorFields(obj) {
		perRow += 4 * int(obj.Fields[f].Type.Dim)
	}
	for i, key := range r.Keys {
		p := Partition(key, obj.Partitions)
		picks[p] = append(picks[p], i)
		size[p] += len(key) + len(r.Sources[i]) + perRow
		if size[p] >= maxBlock {
			flush(p)
		}
	}
	for p := range picks {
		flush(p)
	}
	return out, nil
}

func (c *Collection) block(obj *schema.Object, p, records int, payload []byte) wal.Block {
	return wal.Block{ObjectID: obj.ID, Incarnation: obj.Incarnation, Partition: p,
		Records: uint32(records), Payload: payload, Bytes: int64(len(payload))}
}

// AppendIf appends rows that were computed from the snapshot: if any of the
// touched keys has changed since, it fails with Conflict and writes nothing, and
// the caller computes again. Other keys may have changed.
func (c *Collection) AppendIf(ctx context.Context, r *Rows, base *Snapshot) (snapshot.Token, error) {
	bounds := base.bounds
	for try := 0; ; try++ {
		token, err := c.appendExpect(ctx, r, bounds, try >= 3)
		if !fail.Is(err, fail.Conflict) || try > 10 {
			return token, err
		}
		now, serr := c.Strong(ctx)
		if serr != nil {
			return token, serr
		}
		moved, serr := touched(now, base, c.touchedKeys(r))
		if serr != nil {
			return token, serr
		}
		if moved {
			return token, err
		}
		bounds = now.bounds
	}
}

func (c *Collection) appendExpect(ctx context.Context, r *Rows, bounds []uint64, alone bool) (snapshot.Token, error) {
	if alone {
		c.seq.Lock()
		defer c.seq.Unlock()
		now, err := c.Strong(ctx)
		if err != nil {
			return snapshot.Token{}, err
		}
		for p := range bounds {
			if now.bounds[p] != bounds[p] {
				return snapshot.Token{}, fail.New(fail.Conflict, "%s changed meanwhile", c.Object().Name)
			}
		}
		return c.append(ctx, r, bounds)
	}
	c.seq.RLock()
	defer c.seq.RUnlock()
	return c.append(ctx, r, bounds)
}

func (c *Collection) touchedKeys(r *Rows) []string {
	if len(r.Keys) > 0 {
		return r.Keys
	}
	keys := make([]string, len(r.Gone))
	for i, id := range r.Gone {
		keys[i] = id.key()
	}
	return keys
}

// touched reports whether a record above base's bounds, visible in now, has one of the keys.
func touched(now, base *Snapshot, keys []string) (bool, error) {
	want := make(map[string]bool, len(keys))
	for _, k := range keys {
		want[k] = true
	}
	for _, v := range now.views {
		hit, err := v.changedSince(base, want)
		if hit || err != nil {
			return hit, err
		}
	}
	return false, nil
}

// changedSince looks for records of the keys above base's bounds. A split that
// base did not have holds applied records: they are looked up by key.
func (v *view) changedSince(base *Snapshot, want map[string]bool) (bool, error) {
	switch p := v.part.(type) {
	case *tailPart:
		from := 0
		if b := base.bounds[p.g.partition]; b > p.g.base {
			from = min(p.n, int(b-p.g.base))
		}
		for _, k := range p.g.keyRange(from, p.n) {
			if want[k] {
				return true, nil
			}
		}
	case *split:
		for _, b := range base.views {
			if b.part == v.part {
				return false, nil
			}
		}
		for k := range want {
			if _, ok, err := p.lookup(k); ok || err != nil {
				return true, err
			}
		}
	}
	return false, nil
}

// Backlog is what waits to be applied.
type Backlog struct {
	Records int64
	Bytes   int64
}

// Backlog returns the unapplied records and bytes.
func (c *Collection) Backlog() Backlog {
	c.mu.Lock()
	defer c.mu.Unlock()
	var b Backlog
	for _, list := range c.st.gens {
		for _, g := range list {
			n, bytes := g.size()
			b.Records += int64(n)
			b.Bytes += bytes
		}
	}
	return b
}

// admit refuses writes while the backlog is at its budget.
func (c *Collection) admit() error {
	b := c.Backlog()
	if b.Records < c.opt.MaxUnappliedRecords && b.Bytes < c.opt.MaxUnappliedBytes {
		return nil
	}
	e := fail.New(fail.BacklogFull, "%s has %d records (%d bytes) waiting to be applied; the budget is %d records or %d bytes",
		c.Object().Name, b.Records, b.Bytes, c.opt.MaxUnappliedRecords, c.opt.MaxUnappliedBytes)
	e.RetryAfter = time.Second
	return e.WithHint("Retry after %s.", e.RetryAfter)
}
