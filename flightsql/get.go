package flightsql

import (
	"context"
	"encoding/json"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/flight"
	pb "github.com/apache/arrow-go/v18/arrow/flight/gen/flight"
	"google.golang.org/protobuf/proto"

	"github.com/loamdb/loam"
	"github.com/loamdb/loam/flightsql/internal/meta"
	"github.com/loamdb/loam/flightsql/internal/rows"
	"github.com/loamdb/loam/flightsql/internal/ticket"
	"github.com/loamdb/loam/flightsql/internal/wire"
	"github.com/loamdb/loam/internal/fail"
)

// DoGet redeems a ticket. Rows are computed now; a ticket may be redeemed again.
func (s *service) DoGet(t *flight.Ticket, stream flight.FlightService_DoGetServer) error {
	cmd, err := decode(t.GetTicket())
	if err != nil {
		return fail.Wrap(fail.InvalidTicket, err, "no ticket")
	}
	ctx := stream.Context()
	switch cmd := cmd.(type) {
	case *pb.TicketStatementQuery:
		return s.getSealed(ctx, cmd.GetStatementHandle(), stream)
	case proto.Message:
		if meta.Schema(cmd) == nil {
			break
		}
		rec, err := s.meta.Batch(ctx, cmd)
		if err != nil {
			return err
		}
		defer rec.Release()
		return s.sendBatch(stream, rec)
	}
	return fail.New(fail.InvalidTicket, "%T is no ticket", cmd)
}

func (s *Server) getSealed(ctx context.Context, handle []byte, stream flight.FlightService_DoGetServer) error {
	content, err := s.sealer.Open(handle, ticket.Query, ticket.Done, ticket.Scan, ticket.Rows)
	if err != nil {
		return err
	}
	if content.Kind == ticket.Done {
		return wire.NewWriter(stream, arrow.NewSchema(nil, nil), s.opts.Mem).Close()
	}
	if content.Kind == ticket.Rows {
		return s.sendKept(content, stream)
	}
	ctx, done, err := s.running.start(ctx, content.ID)
	if err != nil {
		return err
	}
	defer done()
	reader, err := s.open(ctx, content)
	if err != nil {
		return err
	}
	err = s.send(ctx, stream, reader)
	if closed := reader.Close(); err == nil {
		err = closed
	}
	return err
}

// open starts what a ticket names.
func (s *Server) open(ctx context.Context, content *ticket.Content) (*rows.Reader, error) {
	if content.Kind == ticket.Scan {
		return s.openScan(ctx, content)
	}
	j, err := s.openQuery(ctx, content)
	if err != nil {
		return nil, err
	}
	var pin loam.Pin
	if err := json.Unmarshal(content.Pin, &pin); err != nil {
		return nil, fail.Wrap(fail.InvalidTicket, err, "the ticket's pin")
	}
	columns := j.st.Columns()
	return rows.NewReader(rows.Schema(columns), rows.Types(columns), s.slabs, func(ctx context.Context, i int) (rows.Chunks, error) {
		if i >= j.count() {
			return nil, nil
		}
		st, err := j.bind(ctx, i)
		if err != nil {
			return nil, err
		}
		res, err := st.ExecutePinned(ctx, pin)
		if err != nil {
			return nil, err
		}
		return res, nil
	}).Hurry(s.opts.Clock), nil
}

// send writes batches until the end, at least one: some clients take a stream
// without batches for a failure. Every batch is released.
func (s *Server) send(ctx context.Context, stream flight.FlightService_DoGetServer, reader *rows.Reader) error {
	w := wire.NewWriter(stream, reader.Schema(), s.opts.Mem)
	for sent := 0; ; sent++ {
		rec, err := reader.Next(ctx)
		if err != nil {
			return err
		}
		if rec == nil && sent == 0 {
			rec = reader.Empty()
		}
		if rec == nil {
			return w.Close()
		}
		if err := s.write(w, rec); err != nil {
			return err
		}
	}
}

func (s *Server) write(w *wire.Writer, rec arrow.RecordBatch) error {
	defer rec.Release()
	s.metrics.moved("sent", rec.NumRows())
	return w.Write(rec, nil)
}

// sendBatch writes one batch in as many messages as it takes.
func (s *Server) sendBatch(stream flight.FlightService_DoGetServer, rec arrow.RecordBatch) error {
	w := wire.NewWriter(stream, rec.Schema(), s.opts.Mem)
	if rec.NumRows() == 0 {
		rec.Retain()
		if err := s.write(w, rec); err != nil {
			return err
		}
		return w.Close()
	}
	parts := rows.Split(rec, rows.TargetBytes)
	for i, part := range parts {
		if err := s.write(w, part); err != nil {
			for _, rest := range parts[i+1:] {
				rest.Release()
			}
			return err
		}
	}
	return w.Close()
}
