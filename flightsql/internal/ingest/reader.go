package ingest

import (
	"errors"
	"io"
	"slices"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/loamdb/loam/internal/fail"
)

// MaxRows is the number of rows that one record batch may claim. A batch of
// NULLs needs no bytes, so the message's size is no bound.
const MaxRows = 16 << 20

// Receiver is the receiving side of a DoPut stream.
type Receiver interface {
	Recv() (*flight.FlightData, error)
}

// Reader reads one stream. Not safe for concurrent use. The caller calls Release
// once, at the end.
type Reader struct {
	messages *messages
	mem      memory.Allocator
	ipc      *ipc.Reader
	err      error
}

// NewReader receives the first message, which carries the descriptor. Errors:
// fail.BadRequest for a stream without a message or without a descriptor;
// errors of the stream as they are.
func NewReader(r Receiver, mem memory.Allocator) (*Reader, error) {
	first, err := r.Recv()
	if errors.Is(err, io.EOF) {
		return nil, fail.New(fail.BadRequest, "the stream ended before its first message").
			WithHint("The first message carries a FlightDescriptor and the schema.")
	}
	if err != nil {
		return nil, err
	}
	if first.GetFlightDescriptor() == nil {
		return nil, fail.New(fail.BadRequest, "the first message has no FlightDescriptor").
			WithHint("Send a Flight SQL command or a path such as [\"collections\", \"docs\"].")
	}
	m := &messages{from: r, descriptor: first.FlightDescriptor}
	if len(first.DataHeader) > 0 {
		m.peeked = first
	}
	return &Reader{messages: m, mem: mem}, nil
}

// Descriptor is the Flight stream's descriptor; nil for one of NewStream.
func (r *Reader) Descriptor() *flight.FlightDescriptor { return r.messages.descriptor }

// Schema reads the schema message if it has not been read. Errors: io.EOF when
// the stream has no message with data, fail.BadRequest.
func (r *Reader) Schema() (schema *arrow.Schema, err error) {
	if r.ipc != nil {
		return r.ipc.Schema(), nil
	}
	if r.err != nil {
		return nil, r.err
	}
	defer func() {
		if v := recover(); v != nil {
			err = malformed(v)
		}
		r.err = err
	}()
	reader, err := ipc.NewReaderFromMessageReader(r.messages, ipc.WithAllocator(r.mem))
	if err != nil {
		return nil, r.failed(err)
	}
	r.ipc = reader
	return reader.Schema(), nil
}

// Next reads the next record batch, valid until the following call. Errors:
// io.EOF at the end, fail.BadRequest for malformed messages, errors of the
// stream as they are.
func (r *Reader) Next() (rec arrow.RecordBatch, err error) {
	if _, err := r.Schema(); err != nil {
		return nil, err
	}
	defer func() {
		if v := recover(); v != nil {
			rec, err = nil, malformed(v)
		}
	}()
	if !r.ipc.Next() {
		if err := r.ipc.Err(); err != nil {
			return nil, r.failed(err)
		}
		return nil, io.EOF
	}
	rec = r.ipc.RecordBatch()
	if rec.NumRows() > MaxRows {
		return nil, fail.New(fail.TooLarge, "a record batch of %d rows, at most %d are taken", rec.NumRows(), MaxRows)
	}
	for i, col := range rec.Columns() {
		if err := check(col); err != nil {
			return nil, fail.Wrap(fail.BadRequest, err, "column %d (%.60q) is malformed", i, rec.ColumnName(i))
		}
	}
	return rec, nil
}

// Release frees what the reader holds.
func (r *Reader) Release() {
	if r.ipc != nil {
		r.ipc.Release()
		r.ipc = nil
		r.err = io.EOF
	}
}

// failed tells the stream's own error, or verify's, from the IPC reader's.
func (r *Reader) failed(err error) error {
	if r.messages.err != nil {
		return r.messages.err
	}
	return fail.Wrap(fail.BadRequest, err, "the Arrow stream is malformed")
}

func malformed(v any) error {
	return fail.New(fail.BadRequest, "the Arrow stream is malformed: %v", v)
}

// messages turns FlightData into IPC messages; it passes over messages that
// carry only metadata.
type messages struct {
	from       Receiver
	descriptor *flight.FlightDescriptor
	peeked     *flight.FlightData
	last       *ipc.Message
	err        error // the stream's or verify's error, not io.EOF
	refs       atomic.Int64
}

// Message implements ipc.MessageReader.
func (m *messages) Message() (*ipc.Message, error) {
	data := m.peeked
	m.peeked = nil
	for data == nil {
		var err error
		if data, err = m.from.Recv(); err != nil {
			if !errors.Is(err, io.EOF) {
				m.err = err
			}
			m.drop()
			return nil, err
		}
		if len(data.DataHeader) == 0 {
			data = nil
		}
	}
	m.drop()
	if m.err = m.verify(data); m.err != nil {
		return nil, m.err
	}
	// Clipped, so that a buffer that claims more than the message holds is out of
	// range, and not whatever lies behind it in memory.
	m.last = ipc.NewMessage(memory.NewBufferBytes(slices.Clip(data.DataHeader)), memory.NewBufferBytes(slices.Clip(data.DataBody)))
	return m.last, nil
}

func (m *messages) verify(data *flight.FlightData) error {
	err := verify(data.DataHeader, data.DataBody)
	if errors.Is(err, errRows) || errors.Is(err, errUnpacked) {
		return fail.New(fail.TooLarge, "%v", err)
	}
	return fail.Wrap(fail.BadRequest, err, "the Arrow stream is malformed")
}

func (m *messages) drop() {
	if m.last != nil {
		m.last.Release()
		m.last = nil
	}
}

// Retain implements ipc.MessageReader.
func (m *messages) Retain() { m.refs.Add(1) }

// Release implements ipc.MessageReader.
func (m *messages) Release() {
	if m.refs.Add(-1) == 0 {
		m.drop()
	}
}
