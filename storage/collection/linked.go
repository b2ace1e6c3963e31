package collection

import (
	"context"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/metastore"
	"github.com/loamdb/loam/storage/wal"
)

// SourceUpto is how far a link had got at a manifest: what the segments hold of
// its source.
type SourceUpto struct {
	Link  uint64 `json:"link"`
	Batch string `json:"batch"`
	// Offsets are, per partition of the source, the first that is not in the segments.
	Offsets []uint64 `json:"offsets"`
}

// sourcesOf are the links' rows as the manifest keeps them; never nil.
func sourcesOf(rows []metastore.Progress) []SourceUpto {
	out := make([]SourceUpto, len(rows))
	for i, p := range rows {
		out[i] = SourceUpto{Link: p.Link, Batch: p.Batch, Offsets: p.Offsets}
	}
	return out
}

// Linked are the rows that a batch of a link brings to one object.
type Linked struct {
	To   *Collection
	Rows *Rows
}

// CheckRows refuses rows that the object does not take because of their size.
func (c *Collection) CheckRows(r *Rows) error { return c.checkRecords(c.Object(), r) }

// AppendLinked appends a batch of a link: the rows of all parts, each of another
// object, are durable and visible and the link is moved, or none of it. Without
// parts only the link moves. Parts are named in the order of their ids. Errors:
// Conflict with metastore's reasons; BacklogFull with RetryAfter; DiskFull at the quota; CommitUnknown;
// TooLarge when the batch is more than one write of the log takes.
func AppendLinked(ctx context.Context, log *wal.Log, parts []Linked, a *metastore.Advance) error {
	var blocks []linkedBlock
	var all []wal.Block
	size := 0
	for _, part := range parts {
		c := part.To
		leave, err := c.seq.share(ctx, "the batch of a link")
		if err != nil {
			return err
		}
		defer leave()
		if err := c.admit(ctx); err != nil {
			return err
		}
		obj := c.Object()
		rows, err := part.Rows.fit(obj)
		if err != nil {
			return err
		}
		more, err := c.blocks(obj, rows)
		if err == nil {
			err = c.admitBytes(ctx, rows, more)
		}
		if err != nil {
			return err
		}
		for _, b := range more {
			size += len(b.log.Payload)
			blocks = append(blocks, linkedBlock{block: b, to: c, obj: obj})
			all = append(all, b.log)
		}
	}
	if size > wal.MaxAppendBytes {
		return fail.New(fail.TooLarge, "a batch of %d bytes is over the limit of %d", size, wal.MaxAppendBytes).
			WithHint("Give the link a smaller batch_bytes.")
	}
	for _, b := range blocks {
		b.to.flying.Add(1)
		defer b.to.flying.Add(-1)
	}
	results, err := log.AppendLinked(ctx, all, a)
	if err != nil {
		return err
	}
	for i, res := range results {
		if res.Err != nil {
			return res.Err
		}
		if err := blocks[i].show(res); err != nil {
			return err
		}
	}
	return nil
}

// linkedBlock is a block with the object that it goes to, as it was encoded.
type linkedBlock struct {
	block
	to  *Collection
	obj *schema.Object
}

// show publishes an appended block in the tail of its object.
func (b *linkedBlock) show(res wal.Result) error {
	rec, err := b.records(b.obj, res.Base)
	if err != nil {
		return err
	}
	return b.to.publish(b.log.Partition, res.Base, rec, res.TS, b.log.Bytes)
}
