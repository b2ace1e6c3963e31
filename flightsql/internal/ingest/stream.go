package ingest

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"io"

	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/loamdb/loam/internal/fail"
)

// Bounds of one message of a stream: of its header, and of its body, which is
// read as it comes, so that a length that lies costs nothing.
const (
	maxHeaderBytes = 16 << 20
	maxBodyBytes   = 512 << 20
)

// NewStream reads an Arrow IPC stream, as files and HTTP bodies hold it. It has
// no descriptor. Errors of the reader beneath come through as they are.
func NewStream(from io.Reader, mem memory.Allocator) *Reader {
	return &Reader{messages: &messages{from: &frames{in: bufio.NewReaderSize(from, 64<<10)}}, mem: mem}
}

// frames cuts a stream into messages: a continuation mark, the header's length,
// the header, the body of the length that the header names. A length of zero, or
// the end of the bytes, ends the stream.
type frames struct{ in *bufio.Reader }

// continuation stands in front of each message since Arrow 0.15.
const continuation = 0xFFFFFFFF

// Recv implements Receiver.
func (f *frames) Recv() (*flight.FlightData, error) {
	size, err := f.number()
	if err == nil && size == continuation {
		if size, err = f.number(); errors.Is(err, io.EOF) {
			err = cut(err)
		}
	}
	switch {
	case err != nil:
		return nil, err
	case size == 0:
		return nil, io.EOF
	case size > maxHeaderBytes:
		return nil, fail.New(fail.BadRequest, "the Arrow stream is malformed: a header of %s", fail.Count(size, "byte"))
	}
	header, err := f.bytes(int64(size))
	if err != nil {
		return nil, err
	}
	length, err := bodyLength(header)
	if err != nil {
		return nil, fail.Wrap(fail.BadRequest, err, "the Arrow stream is malformed")
	}
	if length > maxBodyBytes {
		return nil, fail.New(fail.TooLarge, "a record batch of %d bytes, at most %d are taken", length, maxBodyBytes).WithHint("Send smaller batches.")
	}
	body, err := f.bytes(length)
	if err != nil {
		return nil, err
	}
	return &flight.FlightData{DataHeader: header, DataBody: body}, nil
}

// number reads four bytes; io.EOF when there are none.
func (f *frames) number() (uint32, error) {
	var b [4]byte
	if _, err := io.ReadFull(f.in, b[:]); err != nil {
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return 0, cut(err)
		}
		return 0, err
	}
	return binary.LittleEndian.Uint32(b[:]), nil
}

// bytes reads n bytes into memory that grows with them.
func (f *frames) bytes(n int64) ([]byte, error) {
	var buf bytes.Buffer
	buf.Grow(int(min(n, 1<<20)))
	if _, err := io.CopyN(&buf, f.in, n); err != nil {
		return nil, cut(err)
	}
	return buf.Bytes(), nil
}

// cut is the error of a stream that ends within a message.
func cut(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fail.New(fail.BadRequest, "the Arrow stream ends in the middle of a message")
	}
	return err
}

// bodyLength is the length of the body that belongs to a header.
func bodyLength(raw []byte) (int64, error) {
	h := &header{b: raw, left: len(raw)/4 + 8}
	root, err := h.follow(0)
	if err != nil {
		return 0, err
	}
	message, err := h.table(root)
	if err != nil {
		return 0, err
	}
	at, err := h.field(message, 3, 8)
	if err != nil || at == 0 {
		return 0, err
	}
	n := int64(binary.LittleEndian.Uint64(raw[at:]))
	if n < 0 {
		return 0, errHeader
	}
	return n, nil
}
