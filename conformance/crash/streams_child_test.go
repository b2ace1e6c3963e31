package crash

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/loamdb/loam"
	"github.com/loamdb/loam/internal/fail"
)

// The workload of producers. Producer w sends one batch after the other to stream w
// modulo 3. What is in batch n follows from w and n, so that a child that comes after
// a kill sends the very batch again whose answer was not seen.

// streamOf is a stream of the workload: one that keeps everything, two that do not.
type streamOf struct {
	name, options string
	partitions    int
}

const (
	producers   = 6
	keptStream  = 0
	agedStream  = 1
	sizedStream = 2
	// agedFor is the retention of the stream of that name. The metastore's clock, which
	// it counts on, is up to clockAhead before the wall clock after a restart.
	agedFor    = 2 * time.Second
	clockAhead = time.Second
)

var streams = []streamOf{
	{"kept", "partitions = 4", 4},
	{"aged", "partitions = 3, retention = '2s'", 3},
	{"sized", "partitions = 2, retention_bytes = '256KiB'", 2},
}

// stage is how far a producer has got: the batch that it sends next, whether that was
// sent already without an answer, and where the batch before lies.
type stage struct {
	Epoch, Sequence uint64
	Batch           int
	Tried           bool
	Placed          []loam.Placed
}

// batchSize is the number of records of a batch.
func batchSize(w, n int) int { return 1 + (w*31+n*7)%40 }

// keyOfRecord is nil in every fifth batch, whose records go where the others do not say.
func keyOfRecord(n, i int) *string {
	if n%5 == 4 {
		return nil
	}
	k := fmt.Sprintf("k%d", (n+i)%23)
	return &k
}

func bodyOf(w, n, i int) string { return fmt.Sprintf("record %d of batch %d of producer %d", i, n, w) }

// sendBatch sends a batch of a producer, as documents or as a record batch.
func sendBatch(ctx context.Context, s *loam.Session, w int, epoch, sequence uint64, n int) (loam.Ack, error) {
	to := loam.Target{Name: streams[w%len(streams)].name}
	p := &loam.Producer{ID: fmt.Sprintf("p%d", w), Epoch: epoch, Sequence: sequence}
	if n%2 == 0 {
		return s.Produce(ctx, to, p, recordBatch(w, n))
	}
	docs := make([][]byte, batchSize(w, n))
	for i := range docs {
		var err error
		if docs[i], err = json.Marshal(map[string]any{"key": keyOfRecord(n, i), "w": w, "n": n, "i": i, "body": bodyOf(w, n, i)}); err != nil {
			return loam.Ack{}, err
		}
	}
	return s.ProduceDocuments(ctx, to, p, docs)
}

func recordBatch(w, n int) arrow.RecordBatch {
	b := array.NewRecordBuilder(memory.DefaultAllocator, arrow.NewSchema([]arrow.Field{{Name: "key", Type: arrow.BinaryTypes.String, Nullable: true},
		{Name: "w", Type: arrow.PrimitiveTypes.Int32}, {Name: "n", Type: arrow.PrimitiveTypes.Int64}, {Name: "i", Type: arrow.PrimitiveTypes.Int32},
		{Name: "body", Type: arrow.BinaryTypes.String}}, nil))
	for i := range batchSize(w, n) {
		if k := keyOfRecord(n, i); k != nil {
			b.Field(0).(*array.StringBuilder).Append(*k)
		} else {
			b.Field(0).AppendNull()
		}
		b.Field(1).(*array.Int32Builder).Append(int32(w))
		b.Field(2).(*array.Int64Builder).Append(int64(n))
		b.Field(3).(*array.Int32Builder).Append(int32(i))
		b.Field(4).(*array.StringBuilder).Append(bodyOf(w, n, i))
	}
	return b.NewRecordBatch()
}

// serveStreams checks what the streams hold, then lets producers write and readers
// follow them until the process is killed.
func (c *child) serveStreams(ctx context.Context, e *loam.Engine) error {
	r := reader{ctx, e.NewSession(loam.SessionConfig{})}
	for _, s := range streams {
		sql := fmt.Sprintf("CREATE STREAM IF NOT EXISTS %s (key TEXT, w INT, n BIGINT, i INT, body TEXT) WITH (%s)", s.name, s.options)
		if _, err := r.rows(sql); err != nil {
			return err
		}
	}
	for s := range streams {
		problems, err := r.checkStream(s, c.Producers)
		if err != nil {
			return err
		}
		for _, p := range problems {
			c.say("problem %s %s", p.kind, p.text)
		}
		if len(problems) > 0 {
			return nil
		}
	}
	c.say("verified")
	c.gate.arm(c.Phase, c.Skip)
	ends := make([][]atomic.Uint64, len(streams))
	for s := range streams {
		ends[s] = make([]atomic.Uint64, streams[s].partitions)
	}
	var all sync.WaitGroup
	for w := range producers {
		all.Go(func() { c.report(c.produce(ctx, e.NewSession(loam.SessionConfig{}), w, ends[w%len(streams)])) })
	}
	for s := range streams {
		all.Go(func() { c.report(c.followStream(reader{ctx, e.NewSession(loam.SessionConfig{})}, s, ends[s])) })
	}
	all.Wait()
	return nil
}

func (c *child) report(err error) {
	if err != nil {
		c.say("problem wrong %v", err)
	}
}

// produce sends batches until the process is killed. ends are told of what is
// acknowledged.
func (c *child) produce(ctx context.Context, s *loam.Session, w int, ends []atomic.Uint64) error {
	st, rng := c.Producers[w], rand.New(rand.NewPCG(c.Seed, uint64(w)))
	for first := true; ; first = false {
		if st.Sequence > 0 && (first || rng.IntN(8) == 0) {
			ack, err := sendBatch(ctx, s, w, st.Epoch, st.Sequence-1, st.Batch-1)
			if err != nil || !ack.Duplicate || !slices.Equal(ack.Placed, st.Placed) {
				return fmt.Errorf("producer %d sends batch %d again: it was at %v; now %+v, %v", w, st.Batch-1, st.Placed, ack, err)
			}
		}
		old := st
		if !st.Tried && rng.IntN(40) == 0 {
			c.say("epoch %d", w)
			st.Epoch, st.Sequence = st.Epoch+1, 0
		}
		c.say("try %d", w)
		ack, err := sendBatch(ctx, s, w, st.Epoch, st.Sequence, st.Batch)
		if err != nil {
			return fmt.Errorf("producer %d, %+v: %w", w, st, err)
		}
		text, err := json.Marshal(ack.Placed)
		if err != nil {
			return err
		}
		c.say("placed %d %t %s", w, ack.Duplicate, text)
		for _, at := range ack.Placed {
			raise(&ends[at.Partition], at.First+uint64(at.Records))
		}
		if old.Epoch < st.Epoch {
			if ack, err := sendBatch(ctx, s, w, old.Epoch, old.Sequence, st.Batch+1); !fail.Is(err, fail.ProducerFenced) {
				return fmt.Errorf("producer %d writes under epoch %d when it is %d: %+v, %v", w, old.Epoch, st.Epoch, ack, err)
			}
		}
		st.Batch, st.Sequence, st.Tried, st.Placed = st.Batch+1, st.Sequence+1, false, ack.Placed
	}
}

func raise(v *atomic.Uint64, to uint64) {
	for {
		old := v.Load()
		if old >= to || v.CompareAndSwap(old, to) {
			return
		}
	}
}

// followStream reads a stream behind its producers: what was acknowledged before a
// read is in it.
func (c *child) followStream(r reader, stream int, ends []atomic.Uint64) error {
	var all []*follower
	for p := range ends {
		all = append(all, &follower{reader: r, stream: stream, partition: p})
	}
	for {
		for p, f := range all {
			low := ends[p].Load()
			n, err := f.step()
			if err != nil {
				return err
			}
			if n < pageRows && f.next < low {
				return fmt.Errorf("a strong read of partition %d of %s ends at %d, and %d was acknowledged before", p, streams[stream].name, f.next, low)
			}
		}
		time.Sleep(5 * time.Millisecond)
	}
}
