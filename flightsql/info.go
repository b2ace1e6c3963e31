package flightsql

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/flight"
	pb "github.com/apache/arrow-go/v18/arrow/flight/gen/flight"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/loamdb/loam/flightsql/internal/meta"
	"github.com/loamdb/loam/flightsql/internal/rows"
	"github.com/loamdb/loam/flightsql/internal/scan"
	"github.com/loamdb/loam/flightsql/internal/ticket"
	"github.com/loamdb/loam/internal/fail"
)

// command reads a descriptor's command.
func command(d *flight.FlightDescriptor) (any, error) {
	if d.GetType() == flight.DescriptorPATH || len(d.GetPath()) > 0 {
		return nil, fail.New(fail.Unsupported, "a path descriptor is for writing (DoPut)").
			WithHint("To read, send SQL, or a scan request as JSON: {\"collection\": \"name\"}.")
	}
	return decode(d.GetCmd())
}

// GetFlightInfo plans a query, runs a change of data or catalog, or plans a scan.
func (s *service) GetFlightInfo(ctx context.Context, d *flight.FlightDescriptor) (*flight.FlightInfo, error) {
	cmd, err := command(d)
	if err != nil {
		return nil, err
	}
	switch cmd := cmd.(type) {
	case *pb.CommandStatementQuery:
		return s.infoStatement(ctx, d, cmd)
	case *pb.CommandPreparedStatementQuery:
		return s.infoPrepared(ctx, d, cmd)
	case scanCommand:
		return s.infoScan(ctx, d, cmd)
	case proto.Message:
		if schema := meta.Schema(cmd); schema != nil {
			return s.info(d, schema, -1, []*flight.FlightEndpoint{{Ticket: &flight.Ticket{Ticket: d.GetCmd()}}}), nil
		}
	}
	return nil, fail.New(fail.BadRequest, "%T is not for GetFlightInfo", cmd)
}

// info fills in a FlightInfo; locations stay empty, which is "where you are".
func (s *Server) info(d *flight.FlightDescriptor, schema *arrow.Schema, records int64, ends []*flight.FlightEndpoint) *flight.FlightInfo {
	return &flight.FlightInfo{
		Schema: flight.SerializeSchema(schema, s.opts.Mem), FlightDescriptor: d, Endpoint: ends,
		TotalRecords: records, TotalBytes: -1,
	}
}

// endpoint seals a content into an endpoint.
func (s *Server) endpoint(c *ticket.Content) (*flight.FlightEndpoint, error) {
	handle, err := pack(&pb.TicketStatementQuery{StatementHandle: s.sealer.Seal(c)})
	if err != nil {
		return nil, err
	}
	end := &flight.FlightEndpoint{Ticket: &flight.Ticket{Ticket: handle}}
	if !c.Expires.IsZero() {
		end.ExpirationTime = timestamppb.New(c.Expires)
	}
	return end, nil
}

// GetSchema is the schema that GetFlightInfo would give; it runs nothing.
func (s *service) GetSchema(ctx context.Context, d *flight.FlightDescriptor) (*flight.SchemaResult, error) {
	cmd, err := command(d)
	if err != nil {
		return nil, err
	}
	schema, err := s.schemaOf(ctx, cmd)
	if err != nil {
		return nil, err
	}
	return &flight.SchemaResult{Schema: flight.SerializeSchema(schema, s.opts.Mem)}, nil
}

func (s *Server) schemaOf(ctx context.Context, cmd any) (*arrow.Schema, error) {
	switch cmd := cmd.(type) {
	case *pb.CommandStatementQuery:
		if err := noTransaction(cmd.GetTransactionId()); err != nil {
			return nil, err
		}
		sess, err := s.session(ctx, callOf(ctx))
		if err != nil {
			return nil, err
		}
		st, err := sess.Prepare(ctx, cmd.GetQuery(), nil)
		if err != nil {
			return nil, err
		}
		return rows.Schema(st.Columns()), nil
	case *pb.CommandPreparedStatementQuery:
		j, err := s.openPrepared(ctx, cmd.GetPreparedStatementHandle())
		if err != nil {
			return nil, err
		}
		return rows.Schema(j.st.Columns()), nil
	case scanCommand:
		plan, err := s.scanPlan(ctx, cmd.ScanRequest)
		if err != nil {
			return nil, err
		}
		return rows.Schema(scan.Columns(plan)), nil
	case proto.Message:
		if schema := meta.Schema(cmd); schema != nil {
			return schema, nil
		}
	}
	return nil, fail.New(fail.BadRequest, "%T has no schema", cmd)
}

// PollFlightInfo answers at once with the whole info: planning is quick, and
// rows are not computed before DoGet.
func (s *service) PollFlightInfo(ctx context.Context, d *flight.FlightDescriptor) (*flight.PollInfo, error) {
	info, err := s.GetFlightInfo(ctx, d)
	if err != nil {
		return nil, err
	}
	return &flight.PollInfo{Info: info, Progress: proto.Float64(1)}, nil
}

// ListFlights lists collections and tables by the path that DoPut takes.
func (s *service) ListFlights(_ *flight.Criteria, stream flight.FlightService_ListFlightsServer) error {
	objects, err := s.engine.Catalog().Objects(stream.Context(), "")
	if err != nil {
		return err
	}
	for _, o := range objects {
		d := &flight.FlightDescriptor{Type: flight.DescriptorPATH, Path: []string{o.Namespace, string(o.Kind) + "s", o.Name}}
		if err := stream.Send(s.info(d, meta.TableSchema(o), -1, nil)); err != nil {
			return err
		}
	}
	return nil
}

func noTransaction(id []byte) error {
	if len(id) > 0 {
		return fail.New(fail.Unsupported, "transactions are not supported")
	}
	return nil
}
