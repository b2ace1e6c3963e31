package wire

import (
	"encoding/binary"
	"runtime"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"google.golang.org/grpc/mem"
)

// The tags of FlightData's fields in Flight.proto, each length-delimited:
// data_header = 2, app_metadata = 3, data_body = 1000.
const (
	tagHeader   = 2<<3 | 2
	tagMetadata = 3<<3 | 2
	tagBody     = 1000<<3 | 2
)

// contents is what a message's buffers point into.
type contents struct {
	payload ipc.Payload
	// batch is nil for a schema. The payload of a slice may point into the
	// batch's buffers without a reference of its own.
	batch arrow.RecordBatch
}

func (c *contents) release() {
	c.payload.Release()
	if c.batch != nil {
		c.batch.Release()
	}
}

// message is one FlightData. The writer that made it holds one reference and the
// transport one for each buffer larger than gRPC's pooling threshold; the last
// to go releases the contents. Smaller buffers are copied: gRPC never says when
// it is done with those.
//
// gRPC forgets the buffers of some streams that end early without freeing them
// (a message queued behind the stream's end, a connection that breaks), so that
// the contents of a message which nobody refers to any more are released when
// the collector finds it.
type message struct {
	*contents
	metadata []byte
	refs     atomic.Int64
	forgot   runtime.Cleanup
}

// newMessage takes over the payload and a reference of the batch.
func newMessage(p ipc.Payload, batch arrow.RecordBatch, metadata []byte) *message {
	m := &message{contents: &contents{payload: p, batch: batch}, metadata: metadata}
	m.refs.Store(1)
	m.forgot = runtime.AddCleanup(m, (*contents).release, m.contents)
	return m
}

// drop gives one reference back.
func (m *message) drop() {
	if m.refs.Add(-1) == 0 {
		m.forgot.Stop()
		m.release()
	}
}

// Get implements mem.BufferPool, whose other half is what a message is for: it
// is the pool to which gRPC returns the message's buffers.
func (m *message) Get(length int) *[]byte {
	b := make([]byte, length)
	return &b
}

// Put implements mem.BufferPool: one buffer is written, or given up.
func (m *message) Put(*[]byte) { m.drop() }

// pieces collects what an Arrow payload writes. The slices stay the payload's.
type pieces struct {
	list [][]byte
	size int
}

// Write implements io.Writer; it keeps p, which lives as long as the payload.
func (c *pieces) Write(p []byte) (int, error) {
	c.list = append(c.list, p)
	c.size += len(p)
	return len(p), nil
}

// buffers encodes the message. The caller frees each buffer.
func (m *message) buffers() mem.BufferSlice {
	meta := m.payload.Meta()
	defer meta.Release()
	var body pieces
	_ = m.payload.SerializeBody(&body) // pieces never fails
	small := make([]byte, 0, meta.Len()+len(m.metadata)+64)
	small = appendField(small, tagHeader, meta.Bytes())
	if len(m.metadata) > 0 {
		small = appendField(small, tagMetadata, m.metadata)
	}
	if body.size > 0 {
		small = binary.AppendUvarint(small, tagBody)
		small = binary.AppendUvarint(small, uint64(body.size))
	}
	out := make(mem.BufferSlice, 0, len(body.list)+1)
	for _, piece := range body.list {
		if mem.IsBelowBufferPoolingThreshold(len(piece)) {
			small = append(small, piece...)
			continue
		}
		if len(small) > 0 {
			out = append(out, mem.SliceBuffer(small))
			small = nil
		}
		piece = piece[:len(piece):len(piece)] // gRPC judges by capacity
		m.refs.Add(1)
		out = append(out, mem.NewBuffer(&piece, m))
	}
	if len(small) > 0 {
		out = append(out, mem.SliceBuffer(small))
	}
	return out
}

func appendField(b []byte, tag uint64, data []byte) []byte {
	b = binary.AppendUvarint(b, tag)
	b = binary.AppendUvarint(b, uint64(len(data)))
	return append(b, data...)
}
