package wal

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/loamdb/loam/internal/clock"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/fault"
	"github.com/loamdb/loam/metastore"
	"github.com/loamdb/loam/storage/object"
	"github.com/oklog/ulid/v2"
	"golang.org/x/sync/semaphore"
)

const (
	defaultFlushBytes = 4 << 20
	// maxPending bounds the payload that waits in memory; appends beyond it wait.
	// At least MaxAppendBytes, or the largest append would wait for ever.
	maxPending = 2 * MaxAppendBytes
	// MaxAppendBytes is the largest payload of one Append.
	MaxAppendBytes = 128 << 20
	// putAttempts is how often a segment is written, each time under a new name.
	// A segment whose write failed was never sequenced, so that trying again
	// cannot repeat it.
	putAttempts = 2
)

// Log is the write-ahead log of a node. All methods are safe for concurrent use.
type Log struct {
	store object.Store
	meta  metastore.Store
	clk   clock.Clock
	ids   clock.IDs
	opt   Options

	pending *semaphore.Weighted // payload bytes that wait or fly
	wake    chan struct{}       // something waits, or the log is closing
	owner   sync.WaitGroup      // the flusher

	mu       sync.Mutex // guards the fields below; held for no I/O
	queue    queue
	closing  bool
	inflight string // ULID of the segment being written or sequenced, or empty
	least    uint64 // names have at least this time, milliseconds; see raise
	stats    Stats
}

// New opens the log. It starts one goroutine, which Close ends.
func New(store object.Store, meta metastore.Store, clk clock.Clock, ids clock.IDs, opt Options) *Log {
	if opt.FlushBytes <= 0 {
		opt.FlushBytes = defaultFlushBytes
	}
	l := &Log{store: store, meta: meta, clk: clk, ids: ids, opt: opt,
		pending: semaphore.NewWeighted(maxPending), wake: make(chan struct{}, 1)}
	l.owner.Go(l.run)
	return l
}

// Close flushes what waits and ends the log. Appends after it are refused. It
// leaves the stores open.
func (l *Log) Close() error {
	l.mu.Lock()
	l.closing = true
	l.mu.Unlock()
	l.poke()
	l.owner.Wait()
	return nil
}

// Stats are the counts so far.
func (l *Log) Stats() Stats {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.stats
}

func (l *Log) poke() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// Append makes the blocks durable and gives them their offsets. It returns when
// both are done: a nil error and a nil Result.Err mean that the block survives
// any crash. The blocks travel in one segment and, up to
// metastore.MaxAppendPartitions partitions, in one sequencing transaction.
//
// An error of the call means that no block was appended, with one exception:
// CommitUnknown, when the reply of the metastore was lost for good, or when ctx
// ended while the flush was under way. The flush goes on in that case.
func (l *Log) Append(ctx context.Context, blocks []Block) ([]Result, error) {
	return l.append(ctx, blocks, nil, nil)
}

// AppendLinked appends a batch of a link: the blocks, of any objects, are appended
// and the link is moved, or neither. Without blocks only the link moves. Errors
// besides those of Append: fail.Conflict for one of metastore's ErrFenceLost,
// ErrLinkMoved and ErrLinkChanged.
func (l *Log) AppendLinked(ctx context.Context, blocks []Block, a *metastore.Advance) ([]Result, error) {
	if len(blocks) > 0 {
		return l.append(ctx, blocks, a, nil)
	}
	res, err := l.meta.Append(ctx, []metastore.AppendBlock{{Advance: a}})
	if err == nil {
		err = res[0].Err
	}
	return nil, err
}

// Produce is Append of a batch of a producer: the blocks, all of one object, are
// appended once however often they come. Errors beside those of Append, also in the
// results: metastore's for sequences, and a metastore.Duplicate, which says where the
// batch lies.
func (l *Log) Produce(ctx context.Context, blocks []Block, p metastore.Produce) ([]Result, error) {
	return l.append(ctx, blocks, nil, &p)
}

func (l *Log) append(ctx context.Context, blocks []Block, a *metastore.Advance, p *metastore.Produce) ([]Result, error) {
	r, err := newRequest(blocks)
	if err != nil || len(blocks) == 0 {
		return nil, err
	}
	r.advance, r.produce = a, p
	if err := l.pending.Acquire(ctx, r.bytes); err != nil {
		return nil, fail.Ended(ctx, "the append")
	}
	if err := l.join(r); err != nil {
		l.pending.Release(r.bytes)
		return nil, err
	}
	l.poke()
	select {
	case <-r.done:
	case <-ctx.Done():
		return l.leave(ctx, r)
	}
	return r.results, r.err
}

func newRequest(blocks []Block) (*request, error) {
	r := &request{blocks: blocks, ids: make([]ulid.ULID, len(blocks)), done: make(chan struct{})}
	for i, b := range blocks {
		id, err := ulid.ParseStrict(b.Incarnation)
		switch {
		case err != nil:
			return nil, fail.Bug("append to object %d: incarnation %q is no ULID", b.ObjectID, b.Incarnation)
		case b.Records == 0 || b.Partition < 0 || b.Partition >= metastore.MaxPartitions:
			return nil, fail.Bug("append of %d records to object %d partition %d", b.Records, b.ObjectID, b.Partition)
		}
		r.ids[i] = id
		r.bytes += int64(len(b.Payload))
	}
	if r.bytes > MaxAppendBytes {
		return nil, fail.New(fail.TooLarge, "a write of %d bytes is over the limit of %d", r.bytes, MaxAppendBytes).
			WithHint("Send it in several batches.")
	}
	return r, nil
}

func (l *Log) join(r *request) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closing {
		return fail.New(fail.Unavailable, "the log is closed")
	}
	l.queue.push(r)
	return nil
}

// leave is the way out of a caller whose context has ended.
func (l *Log) leave(ctx context.Context, r *request) ([]Result, error) {
	l.mu.Lock()
	withdrawn := l.queue.withdraw(r)
	l.mu.Unlock()
	if withdrawn {
		l.pending.Release(r.bytes)
		return nil, fail.Ended(ctx, "the append")
	}
	select {
	case <-r.done: // decided in the same moment: say what is known
		return r.results, r.err
	default:
		return nil, fail.Wrap(fail.CommitUnknown, ctx.Err(), "the write is under way and its outcome was not waited for")
	}
}

// run is the flusher: it lives from New to Close.
func (l *Log) run() {
	for {
		l.mu.Lock()
		idle, closing := len(l.queue.waiting) == 0, l.closing
		l.mu.Unlock()
		switch {
		case !idle:
			l.linger()
			if f := l.next(); f != nil { // nil when all have withdrawn meanwhile
				l.fly(f)
			}
		case closing:
			return
		default:
			<-l.wake
		}
	}
}

// linger waits for company, where the store wants it.
func (l *Log) linger() {
	if l.opt.Window <= 0 {
		return
	}
	timer := l.clk.NewTimer(l.opt.Window)
	defer timer.Stop()
	for {
		l.mu.Lock()
		enough := l.queue.bytes >= l.opt.FlushBytes || l.closing
		l.mu.Unlock()
		if enough {
			return
		}
		select {
		case <-timer.C():
			return
		case <-l.wake:
		}
	}
}

func (l *Log) next() *flight {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.queue.take(l.opt.FlushBytes)
}

// fly flushes one segment and always decides every request in it.
func (l *Log) fly(f *flight) {
	ctx := context.Background() // a flush serves many callers; no single one ends it
	regions := f.regions()
	refs, results, err := l.flush(ctx, f, regions)
	if err == nil && swept(results) {
		if err = l.raise(ctx); err == nil {
			refs, results, err = l.flush(ctx, f, regions)
		}
	}
	l.mu.Lock()
	l.queue.landed()
	l.inflight = ""
	l.stats.Flushes++
	l.stats.Blocks += uint64(len(regions))
	if err != nil {
		l.stats.Failures++
	}
	l.mu.Unlock()
	if err != nil {
		f.fail(err)
	} else {
		errs := make([]error, len(results))
		for i, r := range results {
			errs[i] = r.Err
		}
		f.deliver(regions, refs, errs)
	}
	l.pending.Release(f.bytes)
	l.relieve(ctx, regions, results)
}

// swept reports a segment that was too old by its name, so that nothing of it was
// sequenced.
func swept(results []metastore.AppendResult) bool {
	return slices.ContainsFunc(results, func(r metastore.AppendResult) bool { return errors.Is(r.Err, metastore.ErrSwept) })
}

// raise makes the names to come as young as the metastore's clock: this machine's is
// behind, and a sweep has passed it.
func (l *Log) raise(ctx context.Context) error {
	now, err := l.meta.Now(ctx)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.least = max(l.least, uint64(now))
	return nil
}

// flush makes the regions durable, then sequences them.
func (l *Log) flush(ctx context.Context, f *flight, regions []region) ([]metastore.Ref, []metastore.AppendResult, error) {
	fault.Point("wal/flush begun")
	key, places, err := l.write(ctx, regions)
	fault.Point("wal/segment written")
	if err != nil {
		return nil, nil, err
	}
	blocks := make([]metastore.AppendBlock, len(regions))
	refs := make([]metastore.Ref, len(regions))
	for i, g := range regions {
		refs[i] = metastore.Ref{Records: g.records(), WALKey: key, Off: places[i].off, Len: places[i].len,
			Checksum: places[i].checksum, Bytes: g.bytes}
		blocks[i] = metastore.AppendBlock{ObjectID: g.object, Incarnation: g.incarnation.String(), Partition: int(g.partition),
			Records: refs[i].Records, Bytes: g.bytes, WALKey: key, Off: refs[i].Off, Len: refs[i].Len, Checksum: refs[i].Checksum,
			Group: f.groupOf(i)}
		if i < len(f.expect) {
			blocks[i].Expect, blocks[i].Advance, blocks[i].Produce = f.expect[i], f.advance[i], f.produce[i]
		}
	}
	results, err := l.sequence(ctx, blocks)
	fault.Point("wal/sequenced")
	for i := range results {
		refs[i].Base, refs[i].TS = results[i].Base, results[i].TS
	}
	return refs, results, err
}

// write puts the segment under a name that no one has used.
func (l *Log) write(ctx context.Context, regions []region) (string, []place, error) {
	var err error
	for range putAttempts {
		id, day := l.depart()
		key := segmentKey(day, id.String())
		body, places := encodeSegment(id, int64(id.Time()), regions)
		if _, err = l.store.Put(ctx, key, body, object.PutOptions{}); err == nil {
			l.mu.Lock()
			l.stats.Bytes += uint64(len(body))
			l.mu.Unlock()
			return key, places, nil
		}
	}
	// Whether or not the bytes are there, nothing refers to them.
	if fail.Is(err, fail.DiskFull) {
		return "", nil, err // it says what to do
	}
	return "", nil, fail.Wrap(fail.Unavailable, err, "the write was not stored")
}

// depart names the segment in flight. Name and mark are one step, so that a
// sweep never takes a floor between them.
func (l *Log) depart() (id ulid.ULID, day string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	id, day = l.name()
	l.inflight = id.String()
	return id, day
}

// name makes a new ULID and the day it falls on. l.mu is held.
func (l *Log) name() (id ulid.ULID, day string) {
	id, _ = ulid.ParseStrict(l.ids.ULID()) // the source makes nothing else
	if id.Time() < l.least {
		_ = id.SetTime(l.least) // a time that the metastore has issued is in range
		l.ids.Fill(id[6:])
	}
	return id, ulid.Time(id.Time()).UTC().Format("20060102")
}

// sequence assigns offsets. A partition whose row is full is relieved first and
// its blocks, with the groups that they belong to, are tried again, once.
func (l *Log) sequence(ctx context.Context, blocks []metastore.AppendBlock) ([]metastore.AppendResult, error) {
	results, err := l.meta.Append(ctx, blocks)
	if err != nil {
		return nil, err
	}
	stuck := map[int]bool{} // groups of which a partition stays full
	for i, r := range results {
		if fail.Is(r.Err, fail.BacklogFull) && l.moveRefs(ctx, blocks[i].ObjectID, blocks[i].Partition) != nil {
			stuck[blocks[i].Group] = true
		}
	}
	var again []int
	for i, r := range results {
		if fail.Is(r.Err, fail.BacklogFull) && !stuck[blocks[i].Group] {
			again = append(again, i)
		}
	}
	if len(again) == 0 {
		return results, nil
	}
	rest := make([]metastore.AppendBlock, len(again))
	for j, i := range again {
		rest[j] = blocks[i]
	}
	second, err := l.meta.Append(ctx, rest)
	for j, i := range again {
		if err != nil {
			results[i].Err = err
			continue
		}
		results[i] = second[j]
	}
	return results, nil
}
