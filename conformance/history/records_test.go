package history

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/internal/snapshot"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
	"github.com/loamdb/loam/metastore"
	"github.com/loamdb/loam/storage/collection"
)

// records is the play of a stream: producers send each batch until it is acknowledged,
// readers read up to bounds of every kind, and retention drops what is old.
var records = play{
	test: "TestStreamHistories",
	object: func(w *world) *schema.Object {
		return &schema.Object{Namespace: "public", Name: "events", Kind: schema.Stream, Partitions: 1 + w.rng.IntN(3), RouteBy: 1,
			Fields: []schema.Field{{ID: 1, Name: "key", Type: types.Of(types.Text)}, {ID: 2, Name: "n", Type: types.Of(types.Int64)}}}
	},
	options: func(w *world) collection.Options {
		o := collection.Options{MaxSplits: 3}
		if w.seed%3 > 0 { // the others keep everything
			o.Retention = time.Duration(20+w.rng.IntN(100)) * time.Millisecond
		}
		return o
	},
	begin: func(w *world) (func(string) actor, func()) {
		s := &stream{world: w, batches: map[int64]*sending{}, ends: make([]uint64, w.obj.Partitions)}
		for range w.obj.Partitions {
			s.content = append(s.content, map[uint64]int64{})
		}
		return func(name string) actor {
			p := &producer{client: client{w: w, name: name}, s: s}
			s.all = append(s.all, p)
			return p
		}, s.peace
	},
}

// TestStreamHistories runs histories of a stream seed by seed.
func TestStreamHistories(t *testing.T) { histories(t, records) }

// stream is what everybody saw of the stream. The world's mutex guards it.
type stream struct {
	*world
	all     []*producer
	batches map[int64]*sending
	content []map[uint64]int64 // of each partition: the number of the record at an offset
	views   []*reading
	ends    []uint64 // what is acknowledged lies below
}

// perBatch bounds the records of a batch: record i of batch n has the number n*perBatch+i.
const perBatch = 8

// sending is a batch and what its producer was told.
type sending struct {
	who             string
	number          int64
	epoch, sequence uint64
	records         int
	call            int64 // of the first try
	acked           bool
	placed          []metastore.Placed
}

func (b *sending) rows(obj *schema.Object) (*collection.Rows, error) {
	key, number := vec.New(types.Of(types.Text), 0), vec.New(types.Of(types.Int64), 0)
	for i := range b.records {
		if b.number%4 == 0 {
			key.Append(vec.Null(types.Of(types.Text))) // the stream says where
		} else {
			key.Append(vec.Text(keyOf((int(b.number) + i) % keys)))
		}
		number.Append(vec.Int64(b.number*perBatch + int64(i)))
	}
	return collection.FromColumns(obj, []*vec.Vector{key, number}, b.records)
}

// reading is what a read of the whole stream gave.
type reading struct {
	what, who      string
	call           int64
	version        uint64
	oldest, bounds []uint64
	rows           [][]int64 // by partition, from oldest on
	torn           bool      // it may have a part of a batch
}

// producer is a client that writes batches under its name.
type producer struct {
	client
	s               *stream
	epoch, sequence uint64
	pending         *sending
	done            []*sending // of this epoch, acknowledged
}

func (p *producer) run(ctx context.Context, operations int) { p.each(ctx, operations, p.one) }

func (p *producer) one(ctx context.Context, i *instance) {
	switch n := p.w.rand(100); {
	case n < 45:
		p.produce(ctx, i)
	case n < 50:
		p.again(ctx, i)
	case n < 53:
		p.wrong(ctx, i)
	case n < 55:
		p.takeOver(ctx, i)
	case n < 70:
		p.strong(ctx, i)
	case n < 74:
		p.byToken(ctx, i)
	case n < 76:
		p.clock(ctx, i)
	case n < 79:
		p.pinned(ctx, i)
	case n < 81:
		p.eventual(ctx, i)
	case n < 83:
		p.version(ctx, i)
	case n < 90:
		p.build(ctx, i, i.c.Apply)
	case n < 93:
		p.build(ctx, i, i.c.Merge)
	case n < 98:
		p.build(ctx, i, i.c.Retain)
	default:
		p.trim(ctx, i)
	}
}

// batch is a new one, which the log may hold from now on.
func (p *producer) batch(epoch, sequence uint64) *sending {
	call, records := p.w.tick(), 1+p.w.rand(perBatch)
	p.w.mu.Lock()
	defer p.w.mu.Unlock()
	p.w.numbers++
	b := &sending{who: p.name, number: p.w.numbers, epoch: epoch, sequence: sequence, records: records, call: call}
	p.s.batches[b.number] = b
	return b
}

func (p *producer) send(ctx context.Context, i *instance, b *sending) (collection.Receipt, error) {
	rows, err := b.rows(p.w.obj)
	if err != nil {
		return collection.Receipt{}, err
	}
	got, err := i.c.Send(ctx, rows, &metastore.Produce{Producer: p.name, Epoch: b.epoch, Sequence: b.sequence})
	if err == nil && i.dead() { // no reply comes from a machine that is off
		err = errOff
	}
	return got, err
}

// produce sends the next batch, or the one once more that was not acknowledged.
func (p *producer) produce(ctx context.Context, i *instance) {
	if p.pending == nil {
		p.pending = p.batch(p.epoch, p.sequence)
	}
	b, call := p.pending, p.w.tick()
	got, err := p.send(ctx, i, b)
	if err != nil {
		if fail.Is(err, fail.CommitUnknown) {
			p.w.mu.Lock()
			p.w.unknown++
			p.w.mu.Unlock()
		}
		p.allowed("batch", i, call, err)
		return
	}
	var ops []op
	p.w.mu.Lock()
	b.acked, b.placed = true, got.Placed
	for _, at := range got.Placed {
		p.s.ends[at.Partition] = max(p.s.ends[at.Partition], at.Base+uint64(at.Records))
		ops = append(ops, op{kind: opAppend, part: logName(at.Partition), number: int64(at.Base), records: int64(at.Records), who: p.name})
	}
	p.token = p.token.Merge(got.Token)
	p.w.mu.Unlock()
	p.w.note(b.call, ops...) // whichever try it was
	p.pending, p.sequence, p.done = nil, p.sequence+1, append(p.done, b)
}

// again sends one of the last batches that were acknowledged: it is answered as then.
func (p *producer) again(ctx context.Context, i *instance) {
	if p.pending != nil || len(p.done) == 0 {
		return
	}
	b, call := p.done[len(p.done)-1-p.w.rand(min(len(p.done), metastore.ProducerBatches))], p.w.tick()
	got, err := p.send(ctx, i, b)
	switch {
	case err != nil:
		p.allowed("batch again", i, call, err)
	case !got.Duplicate || !slices.Equal(got.Placed, b.placed):
		p.w.violation("batch %d of %s is at %v, and now at %v, duplicate %t", b.number, p.name, b.placed, got.Placed, got.Duplicate)
	}
}

// wrong sends a batch that leaves a gap, or one that is forgotten: both are refused.
func (p *producer) wrong(ctx context.Context, i *instance) {
	if p.pending != nil {
		return
	}
	call := p.w.tick()
	// Far ahead: one on its way whose answer is lost may arrive when its turn has come.
	b := p.batch(p.epoch, p.sequence+1000)
	if old := len(p.done) - metastore.ProducerBatches; old > 0 && p.w.rand(2) == 0 {
		b = p.done[p.w.rand(old)]
	}
	p.refused(ctx, i, call, b, fail.ProducerGap)
}

// takeOver begins an epoch: from then on the old one is refused.
func (p *producer) takeOver(ctx context.Context, i *instance) {
	if p.pending != nil {
		return
	}
	epoch, sequence := p.epoch, p.sequence
	p.epoch, p.sequence, p.done = p.epoch+1, 0, nil
	p.produce(ctx, i)
	if p.pending == nil {
		p.refused(ctx, i, p.w.tick(), p.batch(epoch, sequence), fail.ProducerFenced)
	}
}

func (p *producer) refused(ctx context.Context, i *instance, call int64, b *sending, want fail.Code) {
	got, err := p.send(ctx, i, b)
	switch {
	case err == nil:
		p.w.violation("sequence %d of epoch %d of %s is taken, at %v; it should be %v", b.sequence, b.epoch, p.name, got.Placed, want)
	case !fail.Is(err, want):
		p.allowed("wrong batch", i, call, err)
	}
}

// strong reads all records as of now: all that anybody was told of are among them.
func (p *producer) strong(ctx context.Context, i *instance) *reading {
	p.w.mu.Lock()
	least := slices.Clone(p.s.ends)
	p.w.mu.Unlock()
	call := p.w.tick()
	snap, err := i.c.Strong(ctx)
	if err != nil {
		p.allowed("strong read", i, call, err)
		return nil
	}
	for q, end := range least {
		if snap.Bounds()[q] < end {
			p.w.violation("a strong read of %s at %s has %v; %v was acknowledged before", p.name, i.owner, snap.Bounds(), least)
		}
	}
	return p.saw(ctx, "strong read", i, call, snap, false)
}

func (p *producer) byToken(ctx context.Context, i *instance) {
	if p.token.Incarnation == "" {
		return
	}
	token, call := snapshot.Token{ObjectID: p.token.ObjectID, Incarnation: p.token.Incarnation, Offsets: slices.Clone(p.token.Offsets)}, p.w.tick()
	token.Offsets[p.w.rand(len(token.Offsets))] += uint64(p.w.rand(3)) // perhaps of what nobody has written yet
	if err := i.c.WaitToken(ctx, token, 20*time.Millisecond); err != nil {
		if !fail.Is(err, fail.ConsistencyTimeout) {
			p.allowed("wait for a token", i, call, err)
		}
		return
	}
	r := p.strong(ctx, i)
	for q, end := range token.Offsets {
		if r != nil && r.bounds[q] < end {
			p.w.violation("a read of %s after the token %v has %v", p.name, token.Offsets, r.bounds)
		}
	}
}

// eventual reads what the node has: of a batch perhaps a part.
func (p *producer) eventual(ctx context.Context, i *instance) {
	call := p.w.tick()
	snap, err := i.c.Latest(ctx)
	if err != nil {
		p.allowed("eventual read", i, call, err)
		return
	}
	p.saw(ctx, "eventual read", i, call, snap, true)
}

// pinned reads at a pin that somebody has read at before.
func (p *producer) pinned(ctx context.Context, i *instance) {
	p.w.mu.Lock()
	if len(p.s.views) == 0 {
		p.w.mu.Unlock()
		return
	}
	old := p.s.views[p.w.rng.IntN(len(p.s.views))]
	p.w.mu.Unlock()
	call := p.w.tick()
	snap, err := i.c.Pinned(ctx, old.version, old.bounds)
	if err != nil {
		p.expired("pinned read", i, call, err)
		return
	}
	r := p.saw(ctx, "pinned read", i, call, snap, old.torn)
	if r == nil {
		return
	}
	if r.version != old.version || !slices.Equal(r.bounds, old.bounds) || !slices.Equal(r.oldest, old.oldest) || !slices.EqualFunc(r.rows, old.rows, slices.Equal[[]int64]) {
		p.w.violation("version %d at %v was %v from %v on when first read (%s), and is %v from %v on for %s", old.version, old.bounds, old.rows, old.oldest, old.what, r.rows, r.oldest, r.who)
	}
}

// version reads an older manifest without a tail.
func (p *producer) version(ctx context.Context, i *instance) {
	p.w.mu.Lock()
	n := uint64(p.w.rng.IntN(len(p.w.commits) + 1))
	p.w.mu.Unlock()
	call := p.w.tick()
	snap, err := i.c.Version(ctx, n)
	if err != nil {
		p.expired(fmt.Sprintf("read of version %d", n), i, call, err)
		return
	}
	p.saw(ctx, "version read", i, call, snap, false)
}

// saw reads all records of a snapshot, in runs of any length, and notes them; torn: of a
// batch it may have a part.
func (p *producer) saw(ctx context.Context, what string, i *instance, call int64, snap *collection.Snapshot, torn bool) *reading {
	r := &reading{what: what, torn: torn, who: p.name + " at " + i.owner, call: call, version: snap.Version(), oldest: slices.Clone(snap.Oldest()), bounds: slices.Clone(snap.Bounds())}
	for q, end := range r.bounds {
		if from := r.oldest[q]; from > 0 {
			if _, err := snap.Records(ctx, collection.RecordRange{Partition: q, From: from - 1}); !fail.Is(err, fail.OffsetExpired) {
				p.w.violation("%s of %s reads %s at %d, and the oldest is %d: %v", what, r.who, logName(q), from-1, from, err)
			}
		}
		var rows []int64
		for at := r.oldest[q]; at < end; {
			run, err := snap.Records(ctx, collection.RecordRange{Partition: q, From: at, Rows: 1 + p.w.rand(40)})
			if err != nil {
				p.allowed(what, i, call, err)
				return nil
			}
			for _, c := range run.Chunks {
				for k := range c.Rows() {
					at := c.RowAt(k)
					p.s.meet(r, q, r.oldest[q]+uint64(len(rows)), uint64(c.Cols[1].Value(at).Int), c.Cols[2].Value(at).Int, c.Cols[4].Value(at).Int)
					rows = append(rows, c.Cols[4].Value(at).Int)
				}
			}
			if run.Next <= at {
				p.w.violation("%s of %s does not go on from %s at %d", what, r.who, logName(q), at)
				return nil
			}
			at = run.Next
		}
		if uint64(len(rows)) != end-r.oldest[q] {
			p.w.violation("%s of %s has %d records of %s from %d to %d", what, r.who, len(rows), logName(q), r.oldest[q], end)
		}
		r.rows = append(r.rows, rows)
	}
	p.w.mu.Lock()
	defer p.w.mu.Unlock()
	p.s.views = append(p.s.views, r)
	p.s.young(r)
	return r
}

// meet compares a record with what others have read at its offset, and its time with the
// log's; want is the offset that it should have.
func (s *stream) meet(r *reading, q int, want, offset uint64, ts, number int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before, known := s.content[q][offset]
	l, logged := s.log[q][offset]
	if offset != want || known && before != number || logged && l.ts != ts {
		s.wrong = append(s.wrong, fmt.Sprintf("%s of %s has record %d at %s %d, of time %d, where %d is due; there was %d (%t), and the log has time %d (%t)",
			r.what, r.who, number, logName(q), offset, ts, want, before, known, l.ts, logged))
	}
	s.content[q][offset] = number
}

// young reports records that retention has dropped too early: its clock was never later
// than what anybody was told.
func (s *stream) young(r *reading) {
	for q, from := range r.oldest {
		if last, ok := s.log[q][from-1]; from > 0 && (!ok || s.options.Retention == 0 || last.ts >= s.latest*1000-s.options.Retention.Microseconds()) {
			s.wrong = append(s.wrong, fmt.Sprintf("version %d has dropped %s up to %d, of time %d, when it was %d and the retention is %s", r.version, logName(q), from, last.ts, s.latest*1000, s.options.Retention))
		}
	}
}

// peace lets every producer have its batch acknowledged, and reads everything on every
// node, restarted: strongly, after an apply and retention, and every version.
func (s *stream) peace() {
	ctx := context.Background()
	var last *instance
	for _, n := range s.nodes {
		n.restart(ctx)
		last = n.current()
		if s.all[0].strong(ctx, last) == nil {
			s.violation("in peace, a strong read at %s fails", last.owner)
		}
	}
	for _, p := range s.all {
		if p.pending != nil {
			p.produce(ctx, last)
		}
		if p.pending != nil {
			s.violation("in peace, batch %d of %s is not taken", p.pending.number, p.name)
		}
	}
	for _, work := range []func(context.Context, []metastore.Fence) error{last.c.Apply, last.c.Merge, last.c.Retain} {
		if err := work(ctx, nil); err != nil {
			s.violation("in peace: %v", err)
		}
	}
	for _, n := range s.nodes {
		if s.all[0].strong(ctx, n.current()) == nil {
			s.violation("in peace, a strong read at %s fails", n.current().owner)
		}
	}
	version, ends := s.end()
	for v := range version + 1 {
		if snap, err := last.c.Version(ctx, v); err != nil {
			s.violation("in peace, version %d: %v", v, err)
		} else {
			s.all[0].saw(ctx, "version read", last, s.tick(), snap, false)
		}
	}
	s.denseLog(ends)
	s.appliedOffsets()
	s.judge()
}

// judge compares what the producers were told with what was read. All is over.
func (s *stream) judge() {
	s.once()
	s.order()
	s.whole()
	s.onlyForward()
}

// once: each record of a batch that was acknowledged is where its producer was told and
// nowhere else, and there are no others. What retention dropped before anybody had
// read it is not known.
func (s *stream) once() {
	at := map[int64]string{}
	for q := range s.content {
		for o, n := range s.content[q] {
			place := fmt.Sprintf("%s %d", logName(q), o)
			if was := at[n]; was != "" {
				s.wrong = append(s.wrong, fmt.Sprintf("record %d of batch %d is at %s and at %s", n%perBatch, n/perBatch, was, place))
			}
			at[n] = place
			if b := s.batches[n/perBatch]; b == nil || !b.acked || n%perBatch >= int64(b.records) {
				s.wrong = append(s.wrong, fmt.Sprintf("record %d of batch %d is at %s, and was never acknowledged: %+v", n%perBatch, n/perBatch, place, b))
			}
		}
	}
	for _, n := range slices.Sorted(maps.Keys(s.batches)) {
		b, records := s.batches[n], 0
		for _, place := range b.placed {
			records += int(place.Records)
			for o := place.Base; o < place.Base+uint64(place.Records); o++ {
				if got, ok := s.content[place.Partition][o]; ok && got/perBatch != n {
					s.wrong = append(s.wrong, fmt.Sprintf("batch %d was acknowledged at %s %d, where record %d of batch %d is", n, logName(place.Partition), o, got%perBatch, got/perBatch))
				}
			}
		}
		if b.acked && records != b.records {
			s.wrong = append(s.wrong, fmt.Sprintf("batch %d has %d records, and was acknowledged with %v", n, b.records, b.placed))
		}
	}
}

// order: the records of a producer lie in each partition as they were sent.
func (s *stream) order() {
	for q := range s.content {
		last := map[string]int64{}
		for _, o := range slices.Sorted(maps.Keys(s.content[q])) {
			n := s.content[q][o]
			b := s.batches[n/perBatch]
			if b == nil {
				continue
			}
			if was := last[b.who]; n < was {
				s.wrong = append(s.wrong, fmt.Sprintf("%s has record %d of batch %d of %s behind record %d of batch %d", logName(q), n%perBatch, n/perBatch, b.who, was%perBatch, was/perBatch))
			}
			last[b.who] = n
		}
	}
}

// whole: a read sees a batch in all its partitions or in none.
func (s *stream) whole() {
	for _, r := range s.views {
		for n, b := range s.batches {
			in := 0
			for _, at := range b.placed {
				if at.Base+uint64(at.Records) <= r.bounds[at.Partition] {
					in++
				}
			}
			if in > 0 && in < len(b.placed) && !r.torn {
				s.wrong = append(s.wrong, fmt.Sprintf("%s of %s, version %d at %v, sees batch %d in some partitions: it is at %v", r.what, r.who, r.version, r.bounds, n, b.placed))
				return
			}
		}
	}
}

// onlyForward: what retention has dropped does not come back in a later version.
func (s *stream) onlyForward() {
	views := slices.Clone(s.views)
	slices.SortStableFunc(views, func(a, b *reading) int { return int(a.version) - int(b.version) })
	for i := 1; i < len(views); i++ {
		for q, o := range views[i].oldest {
			if was := views[i-1].oldest[q]; o < was || views[i].version == views[i-1].version && o != was {
				s.wrong = append(s.wrong, fmt.Sprintf("version %d begins at %v, version %d at %v", views[i-1].version, views[i-1].oldest, views[i].version, views[i].oldest))
			}
		}
	}
}
