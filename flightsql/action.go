package flightsql

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	pb "github.com/apache/arrow-go/v18/arrow/flight/gen/flight"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/loamdb/loam/flightsql/internal/ticket"
	"github.com/loamdb/loam/internal/fail"
)

// action is one kind of DoAction: Flight's own have raw bodies, Flight SQL's
// come in Any.
type action struct {
	help string
	run  func(s *service, ctx context.Context, body []byte) (proto.Message, error)
	// wrap puts the answer into Any; an answer of nil is an empty result.
	wrap bool
}

var actionOrder = []string{
	flight.CancelFlightInfoActionType, flight.RenewFlightEndpointActionType,
	flight.SetSessionOptionsActionType, flight.GetSessionOptionsActionType, flight.CloseSessionActionType,
	flightsql.CreatePreparedStatementActionType, flightsql.ClosePreparedStatementActionType, flightsql.CancelQueryActionType,
}

var actions = map[string]action{
	flight.CancelFlightInfoActionType: {"Cancel a query", func(s *service, _ context.Context, body []byte) (proto.Message, error) {
		var req flight.CancelFlightInfoRequest
		if err := raw(body, &req); err != nil {
			return nil, err
		}
		if err := s.cancelInfo(req.GetInfo()); err != nil {
			return nil, err
		}
		return &flight.CancelFlightInfoResult{Status: flight.CancelStatusCancelled}, nil
	}, false},
	flight.RenewFlightEndpointActionType: {"Renew the expiration of an endpoint", func(s *service, _ context.Context, body []byte) (proto.Message, error) {
		var req flight.RenewFlightEndpointRequest
		if err := raw(body, &req); err != nil {
			return nil, err
		}
		return s.renew(req.GetEndpoint())
	}, false},
	flight.SetSessionOptionsActionType: {"Set session options", func(s *service, ctx context.Context, body []byte) (proto.Message, error) {
		var req pb.SetSessionOptionsRequest
		if err := raw(body, &req); err != nil {
			return nil, err
		}
		return s.setSessionOptions(ctx, &req)
	}, false},
	flight.GetSessionOptionsActionType: {"Read session options", func(s *service, ctx context.Context, _ []byte) (proto.Message, error) {
		return s.getSessionOptions(ctx)
	}, false},
	flight.CloseSessionActionType: {"Close the session", func(s *service, ctx context.Context, _ []byte) (proto.Message, error) {
		return s.closeSession(ctx)
	}, false},
	flightsql.CreatePreparedStatementActionType: {"Prepare a statement", func(s *service, ctx context.Context, body []byte) (proto.Message, error) {
		req, err := inAny[*pb.ActionCreatePreparedStatementRequest](body)
		if err != nil {
			return nil, err
		}
		return s.createPrepared(ctx, req)
	}, true},
	// Handles hold themselves; closing one is only polite, so any succeeds.
	flightsql.ClosePreparedStatementActionType: {"Close a prepared statement", func(_ *service, _ context.Context, body []byte) (proto.Message, error) {
		_, err := inAny[*pb.ActionClosePreparedStatementRequest](body)
		return nil, err
	}, false},
	flightsql.CancelQueryActionType: {"Cancel a query (older clients)", func(s *service, _ context.Context, body []byte) (proto.Message, error) {
		req, err := inAny[*pb.ActionCancelQueryRequest](body)
		if err != nil {
			return nil, err
		}
		var info flight.FlightInfo
		if err := raw(req.GetInfo(), &info); err != nil {
			return nil, err
		}
		if err := s.cancelInfo(&info); err != nil {
			return nil, err
		}
		return &pb.ActionCancelQueryResult{Result: pb.ActionCancelQueryResult_CANCEL_RESULT_CANCELLED}, nil
	}, true},
}

// DoAction runs an action; unknown ones are fail.Unsupported.
func (s *service) DoAction(a *flight.Action, stream flight.FlightService_DoActionServer) error {
	act, known := actions[a.GetType()]
	if !known {
		return fail.New(fail.Unsupported, "the action %.100q is not supported", a.GetType())
	}
	answer, err := act.run(s, stream.Context(), a.GetBody())
	if err != nil {
		return err
	}
	result := &flight.Result{}
	switch {
	case answer == nil:
	case act.wrap:
		result.Body, err = pack(answer)
	default:
		result.Body, err = marshal(answer)
	}
	if err != nil {
		return err
	}
	return stream.Send(result)
}

// ListActions lists what DoAction runs.
func (s *service) ListActions(_ *flight.Empty, stream flight.FlightService_ListActionsServer) error {
	for _, name := range actionOrder {
		if err := stream.Send(&flight.ActionType{Type: name, Description: actions[name].help}); err != nil {
			return err
		}
	}
	return nil
}

func raw(body []byte, into proto.Message) error {
	if err := proto.Unmarshal(body, into); err != nil {
		return fail.New(fail.BadRequest, "the action's body is no %s", into.ProtoReflect().Descriptor().Name())
	}
	return nil
}

func inAny[T proto.Message](body []byte) (T, error) {
	var want T
	cmd, err := decode(body)
	if err != nil {
		return want, err
	}
	got, ok := cmd.(T)
	if !ok {
		return want, fail.New(fail.BadRequest, "the action's body is %T, not %T", cmd, want)
	}
	return got, nil
}

// sealedOf opens the ticket of an endpoint.
func (s *Server) sealedOf(end *flight.FlightEndpoint) (*ticket.Content, error) {
	cmd, err := decode(end.GetTicket().GetTicket())
	if err != nil {
		return nil, err
	}
	t, ok := cmd.(*pb.TicketStatementQuery)
	if !ok {
		return nil, fail.New(fail.InvalidTicket, "the endpoint holds no ticket of a query")
	}
	return s.sealer.Open(t.GetStatementHandle(), ticket.Query, ticket.Done, ticket.Scan)
}

// cancelInfo ends the streams of an info's endpoints, and those to come.
func (s *Server) cancelInfo(info *flight.FlightInfo) error {
	if len(info.GetEndpoint()) == 0 {
		return fail.New(fail.BadRequest, "the FlightInfo to cancel has no endpoint")
	}
	for _, end := range info.GetEndpoint() {
		content, err := s.sealedOf(end)
		if err != nil {
			return err
		}
		s.running.cancel(content.ID)
	}
	return nil
}

// renew gives a query's ticket its full life again. A scan's stays within its
// plan, beyond which the files may be gone.
func (s *Server) renew(end *flight.FlightEndpoint) (*flight.FlightEndpoint, error) {
	content, err := s.sealedOf(end)
	if err != nil {
		return nil, err
	}
	if content.Kind != ticket.Scan {
		content.Expires = s.opts.Clock.Now().Add(sqlTicketLife)
	}
	renewed, err := s.endpoint(content)
	if err != nil {
		return nil, err
	}
	renewed.AppMetadata = end.GetAppMetadata()
	renewed.ExpirationTime = timestamppb.New(content.Expires)
	return renewed, nil
}

// Handshake answers the Authorization header with a bearer token, in headers and
// trailers, since clients look in either; it needs nothing from the stream.
func (s *service) Handshake(stream flight.FlightService_HandshakeServer) error {
	md, _ := metadata.FromIncomingContext(stream.Context())
	principal, err := s.auth.Check(last(md, headerAuth), certificate(stream.Context()))
	if err != nil {
		return err
	}
	principal.Session = ""
	token := s.auth.Token(principal)
	answer := metadata.Pairs(headerAuth, "Bearer "+token)
	if err := stream.SetHeader(answer); err != nil {
		return err
	}
	stream.SetTrailer(answer)
	return stream.Send(&flight.HandshakeResponse{Payload: []byte(token)})
}
