package loam

import (
	"context"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/internal/vec"
	"github.com/loamdb/loam/metastore"
	"github.com/loamdb/loam/storage/collection"
)

// Producer says which batch of a producer a write is, so that it is appended once
// however often it is sent: a client that has lost the answer sends it again.
type Producer struct {
	// ID names the producer within a stream.
	ID string
	// Epoch grows when another process takes the name over: from then on the batches of
	// older epochs are refused with ProducerFenced.
	Epoch uint64
	// Sequence counts the batches of an epoch from 0; one that leaves a gap is refused
	// with ProducerGap.
	Sequence uint64
}

// Placed says where records of a write lie.
type Placed struct {
	Partition int
	First     uint64 // offset of the first
	Records   int64
}

// check says whether the producer can be remembered; nil is none.
func (p *Producer) check() (*metastore.Produce, error) {
	if p == nil {
		return nil, nil
	}
	if p.ID == "" || len(p.ID) > metastore.MaxProducerID || strings.ContainsRune(p.ID, 0) {
		return nil, fail.New(fail.InvalidParameter, "the producer %.60q has no fit name", p.ID).
			WithHint("A name has 1 to %d bytes.", metastore.MaxProducerID)
	}
	return &metastore.Produce{Producer: p.ID, Epoch: p.Epoch, Sequence: p.Sequence}, nil
}

// Produce appends a record batch to a stream as a batch of a producer. The columns
// are those of AppendRecords; the column _partition, if there is one, names the
// partition of a record.
func (s *Session) Produce(ctx context.Context, t Target, p *Producer, rec arrow.RecordBatch) (Ack, error) {
	c, obj, err := s.findStream(ctx, t)
	if err != nil {
		return Ack{}, err
	}
	b, err := readBatch(obj, rec)
	if err == nil {
		err = s.fillDefaults(ctx, obj, b)
	}
	if err != nil {
		return Ack{}, err
	}
	return s.send(ctx, c, obj, p, b)
}

// ProduceDocuments appends JSON records to a stream, all or none: objects whose
// members are its fields. A BINARY field takes the UTF-8 of a string and any other
// value as its JSON stands; the member "_partition" names the partition. p may be nil.
func (s *Session) ProduceDocuments(ctx context.Context, t Target, p *Producer, docs [][]byte) (Ack, error) {
	c, obj, err := s.findStream(ctx, t)
	if err != nil {
		return Ack{}, err
	}
	cols, given, to, err := collection.RecordColumns(obj, docs)
	if err != nil {
		return Ack{}, err
	}
	b := &batch{cols: cols, n: len(docs), ops: make([]rowOp, len(docs)), to: to}
	if err := s.fillDefaults(ctx, obj, b); err != nil {
		return Ack{}, err
	}
	if err := s.fillGaps(ctx, obj, b, given); err != nil {
		return Ack{}, err
	}
	return s.send(ctx, c, obj, p, b)
}

func (s *Session) findStream(ctx context.Context, t Target) (*collection.Collection, *schema.Object, error) {
	c, obj, err := s.find(ctx, t)
	if err == nil && obj.Kind != schema.Stream {
		err = fail.New(fail.WrongObjectType, "%s is a %s; producers write to streams", obj.QualifiedName(), obj.Kind).
			WithHint("An upsert by key may be sent again as it is; CREATE STREAM makes a stream.")
	}
	return c, obj, err
}

// fillGaps gives the records that lack a field which others of the batch have its
// DEFAULT.
func (s *Session) fillGaps(ctx context.Context, obj *schema.Object, b *batch, given [][]bool) error {
	var at []int
	for i, f := range obj.Fields {
		if f.Default != "" && given[i] != nil {
			at = append(at, i)
		}
	}
	if len(at) == 0 {
		return nil
	}
	cols, err := s.defaults(ctx, obj, at, b.n)
	if err != nil {
		return err
	}
	for k, i := range at {
		all := vec.New(obj.Fields[i].Type, b.n)
		for row, ok := range given[i] {
			from := b.cols[i]
			if !ok {
				from = cols[k]
			}
			all.Append(from.Value(row))
		}
		b.cols[i] = all
	}
	return nil
}

// send appends a batch to a stream.
func (s *Session) send(ctx context.Context, c *collection.Collection, obj *schema.Object, p *Producer, b *batch) (Ack, error) {
	produce, err := p.check()
	if err != nil || b.n == 0 {
		return s.acked(c, Ack{}), err
	}
	cols := b.slice(0, b.n)
	for i, d := range b.defaults {
		if d != nil {
			cols[i] = d
		}
	}
	rows, err := collection.FromColumns(obj, cols, b.n)
	if err != nil {
		return Ack{}, err
	}
	rows.To = b.to
	got, err := c.Send(ctx, rows, produce)
	if err != nil {
		return Ack{}, err
	}
	ack := Ack{Rows: int64(b.n), Token: got.Token, Duplicate: got.Duplicate}
	for _, at := range got.Placed {
		ack.Placed = append(ack.Placed, Placed{Partition: at.Partition, First: at.Base, Records: int64(at.Records)})
	}
	return s.acked(c, ack), nil
}
