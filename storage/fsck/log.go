package fsck

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/metastore"
	"github.com/loamdb/loam/storage/collection"
	"github.com/loamdb/loam/storage/object"
	"github.com/loamdb/loam/storage/wal"
)

// walNeeds are the runs of the log that are needed, by segment object.
type walNeeds struct {
	segments map[string]*walSegment
	indexes  map[string]bool
	// lost: an index is damaged, so that any segment may be needed.
	lost bool
}

// walSegment is a segment of the log.
type walSegment struct {
	runs []walRun
	// must: rows of partitions refer to it. Else only older versions do, whose tail
	// may be gone with the log's retention.
	must bool
}

// walRun is a reference to a block.
type walRun struct {
	metastore.Ref
	object    uint64
	inc       string
	partition int
	by        string
}

func (w *walNeeds) add(r metastore.Ref, row metastore.Object, p int, by string, must bool) {
	if w.segments == nil {
		w.segments = map[string]*walSegment{}
	}
	s := w.segments[r.WALKey]
	if s == nil {
		s = &walSegment{}
		w.segments[r.WALKey] = s
	}
	s.must = s.must || must
	s.runs = append(s.runs, walRun{Ref: r, object: row.ID, inc: row.Incarnation, partition: p, by: by})
}

// consumed notes a run that a version folded in: its parent's tail.
func (w *walNeeds) consumed(r metastore.Ref, row metastore.Object, p int, version uint64) {
	w.add(r, row, p, fmt.Sprintf("%s.%s version %d with its tail", row.Namespace, row.Name, version-1), false)
}

// partition checks the row of a partition and notes what it refers to.
func (o *owner) partition(ctx context.Context, p int, head metastore.Head, part metastore.PartitionState) error {
	where := fmt.Sprintf("%s partition %d", o.name, p)
	applied := uint64(0)
	if p < len(head.Applied) {
		applied = head.Applied[p]
	}
	if applied > part.Applied || part.Applied > part.Next {
		o.wrong(where, fmt.Sprintf("applied is %d in the head, %d in its row, and the next offset is %d", applied, part.Applied, part.Next))
	}
	o.out.Waiting += part.Next - min(part.Applied, part.Next)
	refs := part.Refs
	if key := part.Overflow.IndexKey; key != "" {
		older, err := o.index(ctx, key, where)
		if err != nil {
			return err
		}
		if len(older) > 0 && older[len(older)-1].End() != part.Overflow.Upto {
			o.wrong(where, fmt.Sprintf("its index %s ends at offset %d, the row says %d", key, older[len(older)-1].End(), part.Overflow.Upto))
		}
		if older == nil { // what comes before the row's references is not known
			part.Applied = part.Overflow.Upto
		}
		refs = append(older, refs...)
	}
	o.dense(where, refs, part)
	for _, r := range refs {
		o.wal.add(r, o.row, p, fmt.Sprintf("%s, offsets %d to %d", where, r.Base, r.End()-1), true)
	}
	return nil
}

// dense checks that references follow each other from the applied offset to the next.
func (o *owner) dense(where string, refs []metastore.Ref, part metastore.PartitionState) {
	from := part.Applied
	if len(refs) > 0 {
		from = min(from, refs[0].Base)
	}
	if len(refs) > 0 && refs[0].Base > part.Applied {
		o.wrong(where, fmt.Sprintf("its references begin at offset %d, but only those below %d are applied", refs[0].Base, part.Applied))
		from = refs[0].Base
	}
	for _, r := range refs {
		if r.Base != from || r.Records == 0 {
			o.wrong(where, fmt.Sprintf("a reference of %s at offset %d follows offset %d", fail.Count(r.Records, "record"), r.Base, from))
		}
		from = r.End()
	}
	if from != part.Next {
		o.wrong(where, fmt.Sprintf("its references end at offset %d, the next offset is %d", from, part.Next))
	}
}

// index reads an index object; nil when it is damaged.
func (o *owner) index(ctx context.Context, key, where string) ([]metastore.Ref, error) {
	if o.wal.indexes == nil {
		o.wal.indexes = map[string]bool{}
	}
	o.wal.indexes[key] = true
	if size, ok := o.listed[key]; ok {
		o.read(size)
	}
	b, err := o.deps.Objects.Get(ctx, key)
	if ctx.Err() != nil {
		return nil, fail.Ended(ctx, "the check")
	}
	var refs []metastore.Ref
	if err == nil {
		refs, err = wal.DecodeIndex(key, b)
	}
	if err != nil {
		o.damaged(key, "index of the log", err, []string{where})
		o.wal.lost = true
		return nil, nil
	}
	return refs, nil
}

// log reads the segments of the log that something refers to.
func (c *checker) log(ctx context.Context) error {
	for _, key := range slices.Sorted(maps.Keys(c.wal.segments)) {
		s := c.wal.segments[key]
		size, there := c.listed[key]
		if !there && !s.must {
			continue
		}
		err := fail.Wrap(fail.Corrupt, object.ErrNotFound, "no object has the name")
		if there {
			c.read(size)
			err = c.segment(ctx, key, s)
		}
		if ctx.Err() != nil {
			return fail.Ended(ctx, "the check")
		}
		if err != nil {
			c.damaged(key, "segment of the log", err, s.users())
		}
	}
	if !c.wal.lost {
		return nil
	}
	return c.unnamed(ctx)
}

// unnamed reads the segments that a damaged index may have referred to.
func (c *checker) unnamed(ctx context.Context) error {
	for key, size := range c.listed {
		if !strings.HasPrefix(key, "wal/") || c.wal.segments[key] != nil {
			continue
		}
		c.read(size)
		err := c.segment(ctx, key, &walSegment{})
		if ctx.Err() != nil {
			return fail.Ended(ctx, "the check")
		}
		if err != nil {
			c.damaged(key, "segment of the log", err, []string{"perhaps a partition whose index is damaged"})
		}
	}
	return nil
}

func (c *checker) segment(ctx context.Context, key string, s *walSegment) error {
	b, err := c.deps.Objects.Get(ctx, key)
	if err != nil {
		return err
	}
	entries, err := wal.DecodeSegment(key, b)
	if err != nil {
		return err
	}
	at := map[int64]*wal.Entry{}
	for i := range entries {
		at[entries[i].Off] = &entries[i]
	}
	for _, r := range s.runs {
		e := at[r.Off]
		if e == nil || e.Len != r.Len || e.Checksum != r.Checksum || e.Records != r.Records || e.ObjectID != r.object || e.Incarnation != r.inc || e.Partition != r.partition {
			return fail.New(fail.Corrupt, "at byte %d there is not the block of %s and %s that is referred to", r.Off, fail.Count(r.Records, "record"), fail.Count(r.Len, "byte"))
		}
	}
	return nil
}

// users names who needs a segment, without saying it twice.
func (s *walSegment) users() []string {
	var out []string
	for _, r := range s.runs {
		if !slices.Contains(out, r.by) {
			out = append(out, r.by)
		}
	}
	return out
}

// leftovers counts the objects that nothing leads to.
func (c *checker) leftovers() {
	for key, size := range c.listed {
		switch {
		case c.need[key] != nil || c.own[key] || c.wal.indexes[key] || c.wal.segments[key] != nil:
		case strings.HasPrefix(key, "wal"):
			c.report.Log.Objects++
			c.report.Log.Bytes += size
		default:
			c.leftover(key, size)
		}
	}
}

// leftover is an object below objects/ that nothing leads to.
func (c *checker) leftover(key string, size int64) {
	var id uint64
	of := "nothing that Loam makes"
	if n, _ := fmt.Sscanf(key, "objects/%d/", &id); n == 1 {
		if of = c.names[id]; of == "" {
			of = fmt.Sprintf("object %d, which was dropped", id)
		}
	}
	if c.mirrors[id] && collection.IsMirror(id, key) {
		return // the server makes and mends them
	}
	if c.broken[id] {
		c.report.Unclear++
		return
	}
	c.report.Orphans = append(c.report.Orphans, Orphan{Key: key, Bytes: size, Of: of})
	c.report.OrphanBytes += size
}
