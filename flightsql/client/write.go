package client

import (
	"context"
	"encoding/json"
	"errors"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/ipc"

	"github.com/loamdb/loam/internal/fail"
)

// Writer is an open DoPut stream of one schema. One goroutine uses it and closes
// it. After an error of Write the stream is over.
type Writer struct {
	put    flight.FlightService_DoPutClient
	w      *flight.Writer
	cancel context.CancelFunc
}

// OpenPut opens a stream to ["collections", name] or ["tables", name]. It does
// not wait for the server: an endpoint where nobody answers is Write's error.
func (c *Client) OpenPut(ctx context.Context, path []string, sch *arrow.Schema) (*Writer, error) {
	ctx, cancel := context.WithCancel(c.outgoing(ctx))
	put, err := c.sql.Client.DoPut(ctx)
	if err != nil {
		cancel()
		return nil, err
	}
	w := flight.NewRecordWriter(put, ipc.WithSchema(sch))
	w.SetFlightDescriptor(&flight.FlightDescriptor{Type: flight.DescriptorPATH, Path: path})
	return &Writer{put: put, w: w, cancel: cancel}, nil
}

// Write sends a batch that has rows and waits until it is durable. The batch
// stays the caller's. After fail.Unavailable nobody knows whether it was written.
func (w *Writer) Write(rec arrow.RecordBatch) (Ack, error) {
	sendErr := w.w.Write(rec)
	if sendErr != nil && !errors.Is(sendErr, io.EOF) {
		var own *fail.Error
		if !errors.As(sendErr, &own) {
			sendErr = fail.Wrap(fail.Unavailable, sendErr, "sending a batch")
		}
		return Ack{}, sendErr
	}
	res, err := w.put.Recv() // also the reason, when the stream has ended
	if errors.Is(err, io.EOF) {
		return Ack{}, fail.New(fail.Unavailable, "the server ended the stream without an answer")
	}
	if err != nil {
		return Ack{}, err
	}
	var a Ack
	if err := json.Unmarshal(res.AppMetadata, &a); err != nil {
		return Ack{}, fail.Wrap(fail.BadRequest, err, "the acknowledgement of a batch is no JSON: is this a Loam server?")
	}
	return a, nil
}

// Close ends the stream. What was acknowledged is safe, whatever it returns.
func (w *Writer) Close() error {
	defer w.cancel()
	err := w.w.Close()
	if e := w.put.CloseSend(); err == nil {
		err = e
	}
	for err == nil {
		_, err = w.put.Recv()
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// Abandon drops the stream after an error.
func (w *Writer) Abandon() { w.cancel() }
