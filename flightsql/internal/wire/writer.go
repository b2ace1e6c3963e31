package wire

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/loamdb/loam/internal/fail"
)

// Stream is the half of a gRPC server stream that a Writer needs. Its server has
// the [Codec]. SendMsg blocks while the client is slow: gRPC holds one message
// that it writes and one that waits.
type Stream interface {
	SendMsg(m any) error
}

// Writer writes the batches of one stream. Not safe for concurrent use.
type Writer struct {
	stream  Stream
	schema  *arrow.Schema
	mem     memory.Allocator
	started bool
}

// NewWriter returns a writer of batches of the schema. mem is asked for what a
// batch does not hold yet, such as the validity and offsets of a slice, and must
// be safe for concurrent use: the transport gives memory back.
func NewWriter(stream Stream, schema *arrow.Schema, mem memory.Allocator) *Writer {
	return &Writer{stream: stream, schema: schema, mem: mem}
}

// Write sends one batch as one message, after the schema if it is the first.
// metadata becomes the message's app_metadata; nil leaves it out. The batch must
// not be larger than a message may be. The caller releases it; its bytes must
// not change any more. Errors are gRPC's.
func (w *Writer) Write(rec arrow.RecordBatch, metadata []byte) error {
	if sc := rec.Schema(); sc != w.schema && !sc.Equal(w.schema) {
		return fail.Bug("a batch of %s in a stream of %s", sc, w.schema)
	}
	if err := w.start(); err != nil {
		return err
	}
	p, err := ipc.GetRecordBatchPayload(rec, ipc.WithAllocator(w.mem))
	if err != nil {
		return err
	}
	rec.Retain()
	return w.send(newMessage(p, rec, metadata))
}

// Close sends the schema if nothing was written. It does not end the stream.
func (w *Writer) Close() error { return w.start() }

func (w *Writer) start() error {
	if w.started {
		return nil
	}
	w.started = true
	return w.send(newMessage(ipc.GetSchemaPayload(w.schema, w.mem), nil, nil))
}

func (w *Writer) send(m *message) error {
	defer m.drop()
	return w.stream.SendMsg(m)
}
