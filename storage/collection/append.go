package collection

import (
	"context"
	"errors"
	"time"

	"github.com/zeebo/xxh3"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/fault"
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/internal/snapshot"
	"github.com/loamdb/loam/metastore"
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
// that covers them. Errors: BacklogFull with RetryAfter; DiskFull when the namespace's
// quota is used up; CommitUnknown when the outcome could not be learned; UndefinedTable
// when the object was dropped.
func (c *Collection) Append(ctx context.Context, r *Rows) (snapshot.Token, error) {
	got, err := c.Send(ctx, r, nil)
	return got.Token, err
}

// Receipt says what an append did.
type Receipt struct {
	Token snapshot.Token
	// Placed says where the records lie, in the order of the partitions.
	Placed []metastore.Placed
	// Duplicate is set for a batch of a producer that had been appended before:
	// nothing was appended now, and the receipt is that of then.
	Duplicate bool
}

// Send is Append that says where the records lie. With p it is a batch of a producer,
// appended once however often it is sent. Errors beside those of Append:
// ProducerFenced, ProducerGap; Exhausted when too many producers are remembered;
// TooLarge for a producer's batch that is more than one write of the log takes.
func (c *Collection) Send(ctx context.Context, r *Rows, p *metastore.Produce) (Receipt, error) {
	leave, err := c.seq.share(ctx, "the append")
	if err != nil {
		return Receipt{}, err
	}
	defer leave()
	return c.append(ctx, r, nil, p)
}

// append sequences the rows in one transaction, or, when they are more than the
// log takes at once, in several, one after the other. With expect set they must
// fit one, and a partition that has moved past its bound gives Conflict and
// nothing is written.
func (c *Collection) append(ctx context.Context, r *Rows, expect []uint64, p *metastore.Produce) (Receipt, error) {
	obj := c.Object()
	if err := c.admit(ctx); err != nil {
		return Receipt{}, err
	}
	r, err := r.fit(obj)
	if err != nil {
		return Receipt{}, err
	}
	if expect == nil && r.sets != nil { // what the rows were made from may have changed
		plain := *r
		plain.sets = nil
		r = &plain
	}
	if err := c.checkRecords(obj, r); err != nil {
		return Receipt{}, err
	}
	blocks, err := c.blocks(obj, r)
	if err == nil {
		err = c.admitBytes(ctx, r, blocks)
	}
	if err != nil {
		return Receipt{}, err
	}
	if expect != nil {
		seen := map[int]bool{}
		for i := range blocks {
			if p := blocks[i].log.Partition; !seen[p] {
				seen[p] = true
				blocks[i].log.Expect = &expect[p]
			}
		}
	}
	groups := cutGroups(blocks)
	if expect != nil && len(groups) > 1 {
		return Receipt{}, fail.New(fail.TooLarge, "the statement changes more of %s than %d MiB at once", obj.Name, wal.MaxAppendBytes>>20).
			WithHint("Narrow its WHERE and run it in parts.")
	}
	if p != nil && len(groups) > 1 {
		return Receipt{}, fail.New(fail.TooLarge, "a batch of a producer has at most %d MiB", wal.MaxAppendBytes>>20).WithHint("Send it in several batches.")
	}
	out := Receipt{Token: snapshot.Token{ObjectID: obj.ID, Incarnation: obj.Incarnation, Offsets: make([]uint64, obj.Partitions)}}
	for _, g := range groups {
		if err := c.sequence(ctx, obj, g, p, &out); err != nil {
			return Receipt{}, err
		}
	}
	return out, nil
}

// block is a run of rows on its way into the log and the tail.
type block struct {
	log  wal.Block
	rows *Rows
	pick []int // the block's rows of rows, for a collection; a table's are all
}

func logBlocks(blocks []block) []wal.Block {
	out := make([]wal.Block, len(blocks))
	for i := range blocks {
		out[i] = blocks[i].log
	}
	return out
}

// cutGroups splits blocks into runs that one append of the log takes.
func cutGroups(blocks []block) [][]block {
	var out [][]block
	from, size := 0, 0
	for i, b := range blocks {
		if size += len(b.log.Payload); size > wal.MaxAppendBytes && i > from {
			out = append(out, blocks[from:i])
			from, size = i, len(b.log.Payload)
		}
	}
	return append(out, blocks[from:])
}

// sequence appends blocks, publishes their records to the tails and says in out where
// they lie.
func (c *Collection) sequence(ctx context.Context, obj *schema.Object, blocks []block, p *metastore.Produce, out *Receipt) error {
	c.flying.Add(1)
	defer c.flying.Add(-1)
	var results []wal.Result
	var err error
	if p != nil {
		results, err = c.deps.Log.Produce(ctx, logBlocks(blocks), *p)
	} else {
		results, err = c.deps.Log.Append(ctx, logBlocks(blocks))
	}
	if err != nil {
		return err
	}
	for i, res := range results {
		var before *metastore.Duplicate
		if errors.As(res.Err, &before) {
			out.Duplicate = true
			out.place(before.Before.Placed...)
			return nil
		}
		if res.Err != nil {
			return res.Err
		}
		b := &blocks[i].log
		fault.Point("append/sequenced")
		rec, err := blocks[i].records(obj, res.Base)
		if err != nil {
			return err
		}
		if err := c.publish(b.Partition, res.Base, rec, res.TS, b.Bytes); err != nil {
			return err
		}
		fault.Point("append/published")
		out.place(metastore.Placed{Partition: b.Partition, Base: res.Base, Records: b.Records})
	}
	return nil
}

// place adds records to the receipt; what follows the records before it is one run
// with them.
func (r *Receipt) place(placed ...metastore.Placed) {
	for _, at := range placed {
		end := at.Base + uint64(at.Records)
		r.Token.Offsets[at.Partition] = max(r.Token.Offsets[at.Partition], end)
		if k := len(r.Placed) - 1; k >= 0 && r.Placed[k].Partition == at.Partition && r.Placed[k].Base+uint64(r.Placed[k].Records) == at.Base {
			r.Placed[k].Records += at.Records
			continue
		}
		r.Placed = append(r.Placed, at)
	}
}

// blocks cuts the rows by partition and size and encodes them.
func (c *Collection) blocks(obj *schema.Object, r *Rows) ([]block, error) {
	if obj.Kind.Tabular() {
		return c.tableBlocks(obj, r)
	}
	picks := make([][]int, obj.Partitions)
	size := make([]int, obj.Partitions)
	var out []block
	flush := func(p int) {
		if len(picks[p]) > 0 {
			out = append(out, c.block(obj, p, r, picks[p], encodeDocuments(obj, r, picks[p])))
			picks[p], size[p] = nil, 0
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

func (c *Collection) block(obj *schema.Object, p int, r *Rows, pick []int, payload []byte) block {
	n := len(pick)
	if obj.Kind.Tabular() {
		n = r.Len()
	}
	return block{rows: r, pick: pick, log: wal.Block{ObjectID: obj.ID, Incarnation: obj.Incarnation, Partition: p,
		Records: uint32(n), Payload: payload, Bytes: int64(len(payload))}}
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
		moved, serr := touched(ctx, now, base, c.touchedKeys(r))
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
	take := c.seq.share
	if alone {
		take = c.seq.alone
	}
	leave, err := take(ctx, "the append")
	if err != nil {
		return snapshot.Token{}, err
	}
	defer leave()
	if alone {
		now, err := c.Strong(ctx)
		if err != nil {
			return snapshot.Token{}, err
		}
		for p := range bounds {
			if now.bounds[p] != bounds[p] {
				return snapshot.Token{}, fail.New(fail.Conflict, "%s changed meanwhile", c.Object().Name)
			}
		}
	}
	out, err := c.append(ctx, r, bounds, nil)
	return out.Token, err
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

// Backlog is what waits to be applied.
type Backlog struct {
	Records int64
	Bytes   int64
}

// Backlog returns the unapplied records and bytes of this node's tail.
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

// Told notes what the metastore says that waits in the partitions, on any node.
func (c *Collection) Told(parts []metastore.PartitionState) {
	var b Backlog
	for i := range parts {
		records, bytes := parts[i].Backlog()
		b.Records, b.Bytes = b.Records+int64(records), b.Bytes+bytes
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.told = b
}

// Waiting is what waits on all nodes, as far as this one knows: its own tail or what it
// was told, whichever is more.
func (c *Collection) Waiting() Backlog {
	b := c.Backlog()
	c.mu.Lock()
	defer c.mu.Unlock()
	return Backlog{max(b.Records, c.told.Records), max(b.Bytes, c.told.Bytes)}
}

// full reports whether a backlog is at its budget.
func (c *Collection) full(b Backlog) bool {
	return b.Records >= c.opt.MaxUnappliedRecords || b.Bytes >= c.opt.MaxUnappliedBytes
}

// admit refuses writes while the backlog is at its budget. What the node was told may
// have been applied since: before it refuses for that, it asks.
func (c *Collection) admit(ctx context.Context) error {
	b := c.Waiting()
	if c.full(b) && !c.full(c.Backlog()) {
		_, parts, _, err := c.deps.Meta.Heads(ctx, c.origin.ID)
		if err != nil {
			return err
		}
		c.Told(parts)
		b = c.Waiting()
	}
	if !c.full(b) {
		return nil
	}
	e := fail.New(fail.BacklogFull, "%s has %d records (%d bytes) waiting to be applied; the budget is %d records or %d bytes",
		c.Object().Name, b.Records, b.Bytes, c.opt.MaxUnappliedRecords, c.opt.MaxUnappliedBytes)
	e.RetryAfter = time.Second
	return e.WithHint("Retry after %s.", e.RetryAfter)
}

// admitBytes refuses rows that the namespace has no room for. What only deletes is
// never refused: it makes room.
func (c *Collection) admitBytes(ctx context.Context, r *Rows, blocks []block) error {
	if c.deps.Admit == nil || !r.adds() {
		return nil
	}
	n := int64(0)
	for i := range blocks {
		n += blocks[i].log.Bytes
	}
	return c.deps.Admit(ctx, c.origin.Namespace, n)
}
