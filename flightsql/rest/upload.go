package rest

import (
	"context"
	"errors"
	"io"
	"net/http"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/loamdb/loam"
	"github.com/loamdb/loam/flightsql/internal/engine"
	"github.com/loamdb/loam/flightsql/internal/ingest"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/schema"
)

// uploadRoute takes rows as Arrow into a collection or table.
func (a *api) uploadRoute(kind schema.Kind, path, op string) endpoint {
	return endpoint{
		method: http.MethodPost, path: path + "/rows", op: "write" + op + "Rows", tag: tagOf(kind), summary: "Write rows from an Arrow stream",
		text: "Columns are matched to fields by name; _op, if there is one, says what a row does: upsert, delete or patch. Each record batch is written as it comes.",
		body: &content{types: map[string]string{mediaArrow: ""}}, answers: answersJSON("Ack", "They are written.", written...), bulk: true, serve: a.upload(kind),
	}
}

// upload writes each batch of the body, as DoPut does. A stream that cannot go on
// says how many rows are written.
func (a *api) upload(kind schema.Kind) serving {
	return func(ctx context.Context, w *answer, r *http.Request) error {
		if _, err := bodyType(r, mediaArrow); err != nil {
			return err
		}
		at := target(r)
		obj, err := a.find(ctx, at, kind)
		if err != nil {
			return err
		}
		in := ingest.NewStream(r.Body, memory.DefaultAllocator)
		defer in.Release()
		if _, err := in.Schema(); err != nil {
			if errors.Is(err, io.EOF) {
				return fail.New(fail.BadRequest, "the body holds no Arrow stream").WithHint("Send an IPC stream, as pyarrow.ipc.new_stream writes it.")
			}
			return err
		}
		ack, err := appendAll(ctx, a.session(ctx, at.Namespace), loam.Target{Namespace: obj.Namespace, Name: obj.Name}, in)
		if err != nil {
			ackHeaders(w.Header(), ack)
			return &refusal{err: failure(err), bulk: &bulkReport{Rows: ack.Rows, Errors: []lineError{}, Token: engine.TokenText(ack.Token)}}
		}
		return writeAck(w, ack)
	}
}

// appendAll writes the batches one by one; the acknowledgement is of those that
// are written, also when an error ends it.
func appendAll(ctx context.Context, sess engine.Session, at loam.Target, in *ingest.Reader) (loam.Ack, error) {
	var all loam.Ack
	for {
		rec, err := in.Next()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return all, err
		}
		if rec.NumRows() == 0 {
			continue
		}
		ack, err := sess.AppendRecords(ctx, at, rec)
		if err != nil {
			return all, err
		}
		ack.Rows += all.Rows
		ack.Token = all.Token.Merge(ack.Token)
		all = ack
	}
}
