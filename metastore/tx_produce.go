package metastore

import (
	"context"
	"slices"

	"github.com/loamdb/loam/internal/fail"
)

// The limits of producers.
const (
	// ProducerBatches is how many batches of a producer are remembered: a retry of
	// one of them is answered with its first offsets.
	ProducerBatches = 5
	// MaxProducers bounds the producers of one object that are remembered.
	MaxProducers = 1000
	// MaxProducerID bounds the name of a producer, in bytes.
	MaxProducerID = 128
	// ProducerRows is the number of rows that a producer's batch takes in a
	// transaction beside its partitions.
	ProducerRows = 2
)

// Placed says where records of a batch lie.
type Placed struct {
	Partition int
	Base      uint64 // offset of the first
	Records   uint32
}

// Produced is a batch of a producer that was appended.
type Produced struct {
	Sequence uint64
	TS       int64 // ingest time, microseconds
	WALKey   string
	Placed   []Placed
}

// records is how many records the batch has.
func (p Produced) records() (n uint64) {
	for _, at := range p.Placed {
		n += uint64(at.Records)
	}
	return n
}

// Producer is what is remembered of one producer of an object.
type Producer struct {
	ID    string
	Epoch uint64
	// Next is the sequence of its next batch.
	Next   uint64
	LastTS int64      // ingest time of the last batch, microseconds
	Recent []Produced // oldest first, at most ProducerBatches
}

// Produce says which batch of which producer the blocks of a group are: the group
// is appended once, however often it is sent. It stands at the first block of the
// group. Sequences count the batches of an epoch from 0.
type Produce struct {
	Producer string
	Epoch    uint64
	Sequence uint64
}

// Duplicate is, for errors.As, the error of a batch that had been appended before,
// and says where. Nothing was appended now.
type Duplicate struct{ Before Produced }

// Error implements error.
func (*Duplicate) Error() string { return "the batch has been appended before" }

// producers are the producers that a sequencing reads and writes.
type producers struct {
	rows  map[string]*Producer // by key; nil for one that is not remembered
	dirty map[string]bool
	count map[uint64]uint64 // of each object whose count was read
	grown map[uint64]bool
}

// loadProducers reads the rows that the blocks need, which were loaded.
func (q *sequencer) loadProducers(t *tx) error {
	q.producers = producers{}
	if !slices.ContainsFunc(q.blocks, func(b AppendBlock) bool { return b.Produce != nil }) {
		return nil
	}
	q.producers = producers{rows: map[string]*Producer{}, dirty: map[string]bool{}, count: map[uint64]uint64{}, grown: map[uint64]bool{}}
	for _, b := range q.blocks {
		if b.Produce == nil {
			continue
		}
		key := producerKey(b.ObjectID, b.Produce.Producer)
		if _, ok := q.producers.rows[key]; ok {
			continue
		}
		q.producers.rows[key] = nil
		if r, ok := t.get(key); ok {
			p, err := decodeProducer(b.Produce.Producer, r)
			if err != nil {
				return err
			}
			q.producers.rows[key] = &p
		}
		if r, ok := t.peek(producerCountKey(b.ObjectID)); ok {
			n, err := decodeUint(r)
			if err != nil {
				return err
			}
			q.producers.count[b.ObjectID] = n
		}
	}
	return nil
}

// admitProduce says why a batch is not the next of its producer, or nil. One that
// was appended before gives a Duplicate.
func (q *sequencer) admitProduce(b AppendBlock, records uint64) error {
	w := b.Produce
	p := q.producers.rows[producerKey(b.ObjectID, w.Producer)]
	switch {
	case p == nil && w.Sequence > 0:
		return fail.New(fail.ProducerGap, "producer %q is not known and begins with the sequence %d", w.Producer, w.Sequence).
			WithHint("Its batches were long ago, or never: begin a greater epoch with the sequence 0, and read back what of the last batch is there.")
	case p == nil:
		if q.producers.count[b.ObjectID] >= MaxProducers {
			return fail.New(fail.Exhausted, "%d producers have written lately, which is the most that are remembered", MaxProducers).
				WithHint("Use the names of producers again, or write without one.")
		}
		return nil
	case w.Epoch < p.Epoch:
		return fail.New(fail.ProducerFenced, "producer %q is at epoch %d; epoch %d is over", w.Producer, p.Epoch, w.Epoch).
			WithHint("Another process has taken the producer over. Stop this one, or begin epoch %d.", p.Epoch+1)
	case w.Epoch > p.Epoch && w.Sequence > 0:
		return fail.New(fail.ProducerGap, "epoch %d of producer %q begins with the sequence %d", w.Epoch, w.Producer, w.Sequence).
			WithHint("An epoch begins with the sequence 0.")
	case w.Epoch > p.Epoch || w.Sequence == p.Next:
		return nil
	case w.Sequence > p.Next:
		return fail.New(fail.ProducerGap, "producer %q is at the sequence %d; %d leaves a gap", w.Producer, p.Next, w.Sequence).
			WithHint("Send the batches of a producer in order, each after the one before was acknowledged or refused.")
	}
	for i := range p.Recent {
		if r := &p.Recent[i]; r.Sequence == w.Sequence {
			if r.records() != records {
				return fail.New(fail.InvalidParameter, "the sequence %d of producer %q was a batch of %d records and comes again with %d", w.Sequence, w.Producer, r.records(), records).
					WithHint("A retry sends the same batch; another batch has the next sequence.")
			}
			return fail.Wrap(fail.DuplicateObject, &Duplicate{Before: *r}, "sequence %d of producer %q", w.Sequence, w.Producer)
		}
	}
	return fail.New(fail.ProducerGap, "the sequence %d of producer %q was appended, and where is no longer known: it is at %d", w.Sequence, w.Producer, p.Next).
		WithHint("The last %d batches are remembered. Go on with the sequence %d.", ProducerBatches, p.Next)
}

// produced notes a batch that was appended.
func (q *sequencer) produced(b AppendBlock, ts int64, placed []Placed) {
	w := b.Produce
	key := producerKey(b.ObjectID, w.Producer)
	p := q.producers.rows[key]
	if p == nil {
		p = &Producer{ID: w.Producer}
		q.producers.rows[key] = p
		q.producers.count[b.ObjectID]++
		q.producers.grown[b.ObjectID] = true
	}
	if w.Epoch > p.Epoch {
		p.Epoch, p.Recent = w.Epoch, nil
	}
	p.Next, p.LastTS = w.Sequence+1, ts
	p.Recent = append(p.Recent, Produced{Sequence: w.Sequence, TS: ts, WALKey: b.WALKey, Placed: placed})
	p.Recent = p.Recent[max(0, len(p.Recent)-ProducerBatches):]
	q.producers.dirty[key] = true
}

// putProducers writes what has changed.
func (q *sequencer) putProducers(t *tx) {
	for _, b := range q.blocks {
		if b.Produce == nil {
			continue
		}
		key := producerKey(b.ObjectID, b.Produce.Producer)
		if q.producers.dirty[key] {
			q.producers.dirty[key] = false
			t.put(key, encodeProducer(*q.producers.rows[key]))
		}
		if q.producers.grown[b.ObjectID] {
			q.producers.grown[b.ObjectID] = false
			t.get(producerCountKey(b.ObjectID))
			t.put(producerCountKey(b.ObjectID), encodeUint(q.producers.count[b.ObjectID]))
		}
	}
}

// judgeProduce finds out from the producer's row whether a try with a lost reply
// took effect.
func (q *sequencer) judgeProduce(b AppendBlock, res AppendResult) verdict {
	w := b.Produce
	p := q.producers.rows[producerKey(b.ObjectID, w.Producer)]
	known := p != nil && p.Epoch == w.Epoch
	at := -1
	if known {
		at = slices.IndexFunc(p.Recent, func(r Produced) bool { return r.Sequence == w.Sequence && r.WALKey == b.WALKey })
	}
	switch {
	case res.Err != nil && at >= 0:
		return didNot // another try was not refused
	case res.Err != nil, p != nil && p.Epoch > w.Epoch:
		return unclear
	case at < 0 && known && p.Next > w.Sequence:
		// The batch came in by another way, or is no longer remembered.
		if slices.ContainsFunc(p.Recent, func(r Produced) bool { return r.Sequence == w.Sequence }) {
			return didNot
		}
		return unclear
	case at < 0:
		return didNot
	}
	placed := p.Recent[at].Placed
	if p.Recent[at].TS == res.TS && len(placed) > 0 && placed[0].Base == res.Base {
		return happened
	}
	return didNot
}

func (s *db) Producers(ctx context.Context, objectID uint64) ([]Producer, error) {
	rows, _, err := s.read(ctx, prefixSpan(producerPrefix(objectID)))
	if err != nil {
		return nil, err
	}
	out := make([]Producer, 0, len(rows[0]))
	for _, r := range rows[0] {
		id, ok := parseProducerKey(objectID, r.key)
		if !ok {
			return nil, fail.New(fail.Corrupt, "metastore row %q is no producer of object %d", r.key, objectID)
		}
		p, err := decodeProducer(id, r)
		if err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	return out, nil
}

// forgetAtOnce bounds the producers that one transaction forgets.
const forgetAtOnce = 40

func (s *db) ForgetProducers(ctx context.Context, objectID uint64, before int64) (int, error) {
	all, err := s.Producers(ctx, objectID)
	if err != nil {
		return 0, err
	}
	var old []string
	for _, p := range all {
		if p.LastTS < before {
			old = append(old, producerKey(objectID, p.ID))
		}
	}
	n := 0
	for keys := range slices.Chunk(old, forgetAtOnce) {
		gone, err := s.forgetProducers(ctx, objectID, keys, before)
		if n += gone; err != nil {
			return n, err
		}
	}
	return n, nil
}

func (s *db) forgetProducers(ctx context.Context, objectID uint64, keys []string, before int64) (int, error) {
	n := 0
	err := s.update(ctx, "forget_producers", func(t *tx) error {
		n = 0
		count := producerCountKey(objectID)
		if err := t.load(append([]string{count}, keys...)...); err != nil {
			return err
		}
		for _, key := range keys {
			r, ok := t.get(key)
			if !ok {
				continue
			}
			id, _ := parseProducerKey(objectID, key)
			p, err := decodeProducer(id, r)
			if err != nil {
				return err
			}
			if p.LastTS < before { // it may have written again meanwhile
				t.del(key)
				n++
			}
		}
		r, ok := t.get(count)
		if n == 0 || !ok {
			return nil
		}
		have, err := decodeUint(r)
		if err == nil {
			t.put(count, encodeUint(have-min(have, uint64(n))))
		}
		return err
	})
	return n, err
}

func encodeProducer(p Producer) []byte {
	e := newEnc()
	e.uint(p.Epoch)
	e.uint(p.Next)
	e.int(p.LastTS)
	e.uint(uint64(len(p.Recent)))
	for _, r := range p.Recent {
		e.uint(r.Sequence)
		e.int(r.TS)
		e.str(r.WALKey)
		e.uint(uint64(len(r.Placed)))
		for _, at := range r.Placed {
			e.uint(uint64(at.Partition))
			e.uint(at.Base)
			e.uint(uint64(at.Records))
		}
	}
	return e.b
}

func decodeProducer(id string, r row) (Producer, error) {
	d := newDec(r)
	p := Producer{ID: id, Epoch: d.uint(), Next: d.uint(), LastTS: d.int()}
	for n := d.count(); n > 0 && d.err == nil; n-- {
		b := Produced{Sequence: d.uint(), TS: d.int(), WALKey: d.str()}
		for k := d.count(); k > 0 && d.err == nil; k-- {
			b.Placed = append(b.Placed, Placed{Partition: d.smallInt(), Base: d.uint(), Records: uint32(d.smallInt())})
		}
		p.Recent = append(p.Recent, b)
	}
	return p, d.end()
}
