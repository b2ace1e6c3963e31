package flightsql

import (
	"context"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/flight"
	pb "github.com/apache/arrow-go/v18/arrow/flight/gen/flight"
	"google.golang.org/protobuf/proto"

	"github.com/loamdb/loam/flightsql/internal/engine"
	"github.com/loamdb/loam/flightsql/internal/ingest"
	"github.com/loamdb/loam/flightsql/internal/rows"
	"github.com/loamdb/loam/flightsql/internal/ticket"
	"github.com/loamdb/loam/internal/types"
)

// createPrepared makes a handle that holds the statement itself: any node serves
// it, and nothing is kept for it here.
func (s *Server) createPrepared(ctx context.Context, req *pb.ActionCreatePreparedStatementRequest) (*pb.ActionCreatePreparedStatementResult, error) {
	if err := noTransaction(req.GetTransactionId()); err != nil {
		return nil, err
	}
	c := callOf(ctx)
	sess, err := s.session(ctx, c)
	if err != nil {
		return nil, err
	}
	st, err := sess.Prepare(ctx, req.GetQuery(), nil)
	if err != nil {
		return nil, err
	}
	handle := s.sealer.Seal(&ticket.Content{
		Kind: ticket.Prepared, ID: s.opts.IDs.ULID(), SQL: req.GetQuery(), User: c.principal.User,
		Namespace: sess.Namespace(), Options: s.changed(sess),
	})
	return &pb.ActionCreatePreparedStatementResult{
		PreparedStatementHandle: handle,
		DatasetSchema:           flight.SerializeSchema(rows.Schema(st.Columns()), s.opts.Mem),
		ParameterSchema:         flight.SerializeSchema(parameterSchema(st.Params()), s.opts.Mem),
		IsUpdate:                proto.Bool(!st.IsQuery()),
	}, nil
}

// parameterSchema has a nullable field for each parameter. Drivers that build
// vectors of these types cannot build Null, so an open type is TEXT here.
func parameterSchema(params []types.Type) *arrow.Schema {
	fields := make([]arrow.Field, len(params))
	for i, t := range params {
		fields[i] = arrow.Field{Name: "$" + strconv.Itoa(i+1), Type: parameterType(t), Nullable: true}
	}
	return arrow.NewSchema(fields, nil)
}

// parameterType is the type that a driver should send: JDBC (18.3 and before) fills
// timestamps and times of any unit with milliseconds, so that is their unit. What
// is bound may have any other.
func parameterType(t types.Type) arrow.DataType {
	switch t.Kind {
	case types.Timestamp:
		return &arrow.TimestampType{Unit: arrow.Millisecond}
	case types.Time:
		return arrow.FixedWidthTypes.Time32ms
	}
	return t.Arrow()
}

// openPrepared makes a handle's job: in the client's session, if it has one,
// else under the settings that the handle holds.
func (s *Server) openPrepared(ctx context.Context, handle []byte) (*job, error) {
	content, err := s.sealer.Open(handle, ticket.Prepared)
	if err != nil {
		return nil, err
	}
	return s.jobOf(ctx, content)
}

// jobOf prepares a content's statement and binds its parameters.
func (s *Server) jobOf(ctx context.Context, content *ticket.Content) (*job, error) {
	var sess engine.Session
	var err error
	if _, has := s.stored(callOf(ctx)); has && content.Kind == ticket.Prepared {
		sess, err = s.session(ctx, callOf(ctx))
	} else {
		sess, err = s.sessionWith(ctx, content.User, content.Namespace, content.Options)
	}
	if err != nil {
		return nil, err
	}
	st, err := sess.Prepare(ctx, content.SQL, nil)
	if err != nil {
		return nil, err
	}
	j := &job{sess: sess, sql: content.SQL, st: st}
	stream := content.Params
	if content.ParamRef != "" {
		if stream, err = s.params.get(content.ParamRef); err != nil {
			return nil, err
		}
	}
	if len(stream) == 0 {
		return j, nil
	}
	batches, err := sealedParams(stream)
	if err != nil {
		return nil, err
	}
	j.bound = &binding{sealed: content.Params, ref: content.ParamRef}
	j.st, j.bound.rows, err = bindTo(ctx, sess, content.SQL, st, batches)
	return j, err
}

func (s *Server) infoPrepared(ctx context.Context, d *flight.FlightDescriptor, cmd *pb.CommandPreparedStatementQuery) (*flight.FlightInfo, error) {
	j, err := s.openPrepared(ctx, cmd.GetPreparedStatementHandle())
	if err != nil {
		return nil, err
	}
	return s.infoJob(ctx, d, j)
}

// bind takes parameters for a handle and returns the handle that holds them.
func (s *Server) bind(ctx context.Context, handle []byte, r *ingest.Reader) ([]byte, error) {
	content, err := s.sealer.Open(handle, ticket.Prepared)
	if err != nil {
		return nil, err
	}
	content.Params, content.ParamRef = nil, ""
	j, err := s.jobOf(ctx, content)
	if err != nil {
		return nil, err
	}
	batches, stream, err := receiveParams(r)
	if err != nil {
		return nil, err
	}
	if len(batches) == 0 {
		return s.sealer.Seal(content), nil
	}
	if _, _, err := bindTo(ctx, j.sess, j.sql, j.st, batches); err != nil {
		return nil, err
	}
	if len(stream) <= maxSealedParams {
		content.Params = stream
	} else if content.ParamRef, err = s.params.put(stream); err != nil {
		return nil, err
	}
	return s.sealer.Seal(content), nil
}

// updatePrepared runs a prepared change for the rows that come with the call, or
// for those bound before.
func (s *Server) updatePrepared(ctx context.Context, handle []byte, r *ingest.Reader) (int64, error) {
	j, err := s.openPrepared(ctx, handle)
	if err != nil {
		return 0, err
	}
	batches, _, err := receiveParams(r)
	if err != nil {
		return 0, err
	}
	if len(batches) > 0 {
		j.bound = &binding{}
		if j.st, j.bound.rows, err = bindTo(ctx, j.sess, j.sql, j.st, batches); err != nil {
			return 0, err
		}
	}
	return s.update(ctx, j)
}

// update runs a change. A query sent as an update is not run: it changes nothing.
func (s *Server) update(ctx context.Context, j *job) (int64, error) {
	if j.st.IsQuery() && !j.st.Writes() {
		return -1, nil
	}
	count, _, err := s.run(ctx, callOf(ctx), j)
	return count, err
}
