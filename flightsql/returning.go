package flightsql

import (
	"bytes"
	"context"

	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/ipc"

	"github.com/loamdb/loam/flightsql/internal/engine"
	"github.com/loamdb/loam/flightsql/internal/rows"
	"github.com/loamdb/loam/flightsql/internal/ticket"
	"github.com/loamdb/loam/flightsql/internal/wire"
	"github.com/loamdb/loam/internal/fail"
)

// infoReturning runs a statement that writes and answers rows, once, here and
// now. Its rows travel in the ticket, so that redeeming the ticket, also twice,
// writes nothing; many rows stay on this server.
func (s *Server) infoReturning(ctx context.Context, d *flight.FlightDescriptor, j *job) (*flight.FlightInfo, error) {
	c := callOf(ctx)
	columns := j.st.Columns()
	schema := rows.Schema(columns)
	var buf bytes.Buffer
	w := ipc.NewWriter(&buf, ipc.WithSchema(schema))
	count, _, err := s.runInto(ctx, c, j, func(ctx context.Context, res *engine.Result) error {
		reader := rows.Of(schema, rows.Types(columns), s.opts.Mem, res)
		err := copyBatches(ctx, w, reader)
		if err == nil && res.Affected == 0 { // some clients take a stream without batches for a failure
			empty := reader.Empty()
			err = w.Write(empty)
			empty.Release()
		}
		if closed := reader.Close(); err == nil {
			err = closed
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, fail.Wrap(fail.Internal, err, "the rows of RETURNING")
	}
	content := &ticket.Content{Kind: ticket.Rows, ID: s.opts.IDs.ULID(), User: c.principal.User, Params: buf.Bytes(), Expires: s.opts.Clock.Now().Add(sqlTicketLife)}
	if len(content.Params) > maxSealedParams {
		if content.ParamRef, err = s.params.put(content.Params); err != nil {
			return nil, fail.New(fail.TooLarge, "%s written; what RETURNING says of them takes %d bytes, too many to keep", fail.Count(count, "row was", "rows were"), len(content.Params))
		}
		content.Params = nil
	}
	end, err := s.endpoint(content)
	if err != nil {
		return nil, err
	}
	return s.info(d, schema, count, []*flight.FlightEndpoint{end}), nil
}

func copyBatches(ctx context.Context, w *ipc.Writer, reader *rows.Reader) error {
	for {
		rec, err := reader.Next(ctx)
		if err != nil || rec == nil {
			return err
		}
		err = w.Write(rec)
		rec.Release()
		if err != nil {
			return fail.Wrap(fail.Internal, err, "the rows of RETURNING")
		}
	}
}

// sendKept answers the ticket of a statement that has run, with its rows.
func (s *Server) sendKept(content *ticket.Content, stream flight.FlightService_DoGetServer) error {
	kept := content.Params
	if content.ParamRef != "" {
		var err error
		if kept, err = s.params.get(content.ParamRef); err != nil {
			return fail.New(fail.TicketExpired, "the rows of RETURNING are not kept any more").WithHint("The statement has run; SELECT its rows.")
		}
	}
	r, err := ipc.NewReader(bytes.NewReader(kept), ipc.WithAllocator(s.opts.Mem))
	if err != nil {
		return fail.Wrap(fail.InvalidTicket, err, "the ticket's rows")
	}
	defer r.Release()
	w := wire.NewWriter(stream, r.Schema(), s.opts.Mem)
	for r.Next() {
		rec := r.RecordBatch()
		rec.Retain()
		if err := s.write(w, rec); err != nil {
			return err
		}
	}
	if err := r.Err(); err != nil {
		return fail.Wrap(fail.InvalidTicket, err, "the ticket's rows")
	}
	return w.Close()
}
