package metastore

import (
	"errors"
	"slices"

	"github.com/loamdb/loam/internal/fail"
)

// Why an advance was refused, for errors.Is. Each comes as a fail.Conflict, and
// nothing of the block's group was appended.
var (
	// ErrFenceLost: another worker has taken the lease.
	ErrFenceLost = errors.New("the fence does not hold")
	// ErrLinkMoved: the link's offsets are not those that the batch was read from.
	ErrLinkMoved = errors.New("the link has moved")
	// ErrLinkChanged: the link was dropped, paused or altered.
	ErrLinkChanged = errors.New("the link has changed")
)

// LinkCounts are what a link has done since it was made.
type LinkCounts struct {
	Batches uint64
	Read    uint64 // records of the source
	Written uint64 // rows of the target
	Skipped uint64 // records that were left out for an error
	Dead    uint64 // records that went to the dead letters
}

func (c *LinkCounts) add(d LinkCounts) {
	c.Batches += d.Batches
	c.Read += d.Read
	c.Written += d.Written
	c.Skipped += d.Skipped
	c.Dead += d.Dead
}

// Progress is how far a link has got, a row of its target.
type Progress struct {
	Link uint64 // id of the link's object
	// Batch is the ULID of the batch that wrote the row last, by which a batch whose
	// reply was lost is found again.
	Batch string
	// Offsets are, for each partition of the source, the next one to read.
	Offsets []uint64
	Counts  LinkCounts
	AtMS    int64 // metastore clock, of the last batch
}

// Advance moves a link's progress together with the blocks of its group: all or
// none of them.
type Advance struct {
	Target, Link uint64 // ids of objects
	// LinkVersion is the schema version of the link that the batch was made under;
	// another one gives ErrLinkChanged.
	LinkVersion uint64
	Fence       Fence
	// Expect are the offsets that the batch was read from; nil for a link without a
	// row. Others give ErrLinkMoved.
	Expect []uint64
	Batch  string // ULID, new with every batch
	Next   []uint64
	Counts LinkCounts // of this batch
}

// ProgressRow names the row of a link, to be removed with the link.
type ProgressRow struct{ Target, Link uint64 }

func (a *Advance) keys() []string {
	keys := []string{progressKey(a.Target, a.Link), objectKey(a.Link), objectKey(a.Target)}
	if a.Fence.Key != "" {
		keys = append(keys, leaseRowKey(a.Fence.Key))
	}
	return keys
}

func (a *Advance) check() error {
	switch {
	case a.Batch == "":
		return fail.Bug("progress of link %d without a batch id", a.Link)
	case len(a.Next) == 0 || len(a.Next) > MaxPartitions || a.Expect != nil && len(a.Expect) != len(a.Next):
		return fail.Bug("progress of link %d from %s to %d", a.Link, fail.Count(len(a.Expect), "partition"), len(a.Next))
	}
	for p, from := range a.Expect {
		if a.Next[p] < from {
			return fail.Bug("progress of link %d goes back from offset %d to %d", a.Link, from, a.Next[p])
		}
	}
	return nil
}

// admitAdvance says why a link cannot move, or nil. What it decides by must be
// unchanged when the transaction writes. before are the blocks of the same group
// that have been looked at.
func (q *sequencer) admitAdvance(t *tx, a *Advance, before []int) error {
	if err := a.check(); err != nil {
		return err
	}
	link, ok := t.get(objectKey(a.Link))
	if !ok {
		return fail.Wrap(fail.Conflict, ErrLinkChanged, "link %d was dropped", a.Link)
	}
	o, err := decodeObject(link)
	if err != nil {
		return err
	}
	if o.SchemaVersion != a.LinkVersion {
		return fail.Wrap(fail.Conflict, ErrLinkChanged, "link %q is at version %d, the batch was made under %d", o.Name, o.SchemaVersion, a.LinkVersion)
	}
	if _, ok := t.get(objectKey(a.Target)); !ok {
		return errNoObject(a.Target)
	}
	if a.Fence.Key != "" {
		if _, err := fenceHolds(t, a.Fence); fail.Is(err, fail.Conflict) {
			return fail.Wrap(fail.Conflict, ErrFenceLost, "%s", fail.As(err).Message)
		} else if err != nil {
			return err
		}
	}
	twice := slices.ContainsFunc(before, func(i int) bool {
		other := q.blocks[i].Advance
		return other != nil && other.Link == a.Link
	})
	if twice || q.moved[a.Link] {
		return fail.Wrap(fail.Conflict, ErrLinkMoved, "link %q moves twice at once", o.Name)
	}
	_, err = a.row(t, o.Name)
	return err
}

// row is the progress that the advance starts from; the zero value for none.
func (a *Advance) row(t *tx, name string) (Progress, error) {
	r, ok := t.get(progressKey(a.Target, a.Link))
	if !ok {
		if a.Expect != nil {
			return Progress{}, fail.Wrap(fail.Conflict, ErrLinkMoved, "link %q has made no progress, the batch begins at %v", name, a.Expect)
		}
		return Progress{}, nil
	}
	p, err := decodeProgress(a.Link, r)
	if err == nil && (a.Expect == nil || !slices.Equal(p.Offsets, a.Expect)) {
		err = fail.Wrap(fail.Conflict, ErrLinkMoved, "link %q is at %v, the batch begins at %v", name, p.Offsets, a.Expect)
	}
	return p, err
}

// put writes the row of an advance that was admitted.
func (a *Advance) put(t *tx, now int64) error {
	p, err := a.row(t, "")
	if err != nil {
		return err
	}
	p.Link, p.Batch, p.Offsets, p.AtMS = a.Link, a.Batch, a.Next, max(p.AtMS, now/1000)
	p.Counts.add(a.Counts)
	t.put(progressKey(a.Target, a.Link), encodeProgress(p))
	return nil
}

// judge finds out from the row whether a try with a lost reply took effect.
func (a *Advance) judge(t *tx) verdict {
	r, ok := t.get(progressKey(a.Target, a.Link))
	if !ok {
		if link, there := t.get(objectKey(a.Link)); there && a.Expect == nil {
			if o, err := decodeObject(link); err == nil && o.SchemaVersion == a.LinkVersion {
				return didNot
			}
		}
		return unclear // the row may have been there, and gone with its link
	}
	p, err := decodeProgress(a.Link, r)
	switch {
	case err != nil:
		return unclear
	case p.Batch == a.Batch:
		return happened
	case a.Expect != nil && slices.Equal(p.Offsets, a.Expect) && !slices.Equal(a.Next, a.Expect):
		return didNot
	}
	return unclear
}

func encodeProgress(p Progress) []byte {
	e := newEnc()
	e.str(p.Batch)
	e.uint(uint64(len(p.Offsets)))
	for _, o := range p.Offsets {
		e.uint(o)
	}
	for _, n := range []uint64{p.Counts.Batches, p.Counts.Read, p.Counts.Written, p.Counts.Skipped, p.Counts.Dead} {
		e.uint(n)
	}
	e.int(p.AtMS)
	return e.b
}

func decodeProgress(link uint64, r row) (Progress, error) {
	d := newDec(r)
	p := Progress{Link: link, Batch: d.str()}
	if n := d.count(); n > 0 {
		p.Offsets = make([]uint64, n)
	}
	for i := range p.Offsets {
		p.Offsets[i] = d.uint()
	}
	p.Counts = LinkCounts{Batches: d.uint(), Read: d.uint(), Written: d.uint(), Skipped: d.uint(), Dead: d.uint()}
	p.AtMS = d.int()
	return p, d.end()
}
