package flightsql

import (
	"context"
	"errors"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/flight"
	pb "github.com/apache/arrow-go/v18/arrow/flight/gen/flight"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"

	"github.com/loamdb/loam"
	"github.com/loamdb/loam/catalog"
	"github.com/loamdb/loam/flightsql/internal/engine"
	"github.com/loamdb/loam/flightsql/internal/ingest"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/internal/snapshot"
)

// DoPut runs changes, binds parameters, and takes rows: by Flight SQL's ingest
// command, or by path with an acknowledgement for each batch.
func (s *service) DoPut(stream flight.FlightService_DoPutServer) error {
	ctx := stream.Context()
	// Batches live on Go's heap: bound parameters and appended rows outlive the call's buffers.
	r, err := ingest.NewReader(stream, memory.DefaultAllocator)
	if err != nil {
		return err
	}
	defer r.Release()
	d := r.Descriptor()
	if d.GetType() == flight.DescriptorPATH || len(d.GetPath()) > 0 {
		return s.putPath(ctx, d.GetPath(), r, stream)
	}
	cmd, err := decode(d.GetCmd())
	if err != nil {
		return err
	}
	switch cmd := cmd.(type) {
	case *pb.CommandStatementUpdate:
		count, err := s.updateStatement(ctx, cmd)
		return sendCount(stream, count, err)
	case *pb.CommandPreparedStatementUpdate:
		count, err := s.updatePrepared(ctx, cmd.GetPreparedStatementHandle(), r)
		return sendCount(stream, count, err)
	case *pb.CommandPreparedStatementQuery:
		handle, err := s.bind(ctx, cmd.GetPreparedStatementHandle(), r)
		if err != nil {
			return err
		}
		return sendResult(stream, &pb.DoPutPreparedStatementResult{PreparedStatementHandle: handle})
	case *pb.CommandStatementIngest:
		// The count is told also before an error: rows of earlier batches are in.
		count, err := s.ingest(ctx, cmd, r)
		if sent := sendCount(stream, count, nil); sent != nil {
			return sent
		}
		return err
	}
	return fail.New(fail.BadRequest, "%T is not for DoPut", cmd)
}

func sendCount(stream flight.FlightService_DoPutServer, count int64, err error) error {
	if err != nil {
		return err
	}
	return sendResult(stream, &pb.DoPutUpdateResult{RecordCount: count})
}

func sendResult(stream flight.FlightService_DoPutServer, m proto.Message) error {
	data, err := marshal(m)
	if err != nil {
		return err
	}
	return stream.Send(&flight.PutResult{AppMetadata: data})
}

func (s *Server) updateStatement(ctx context.Context, cmd *pb.CommandStatementUpdate) (int64, error) {
	if err := noTransaction(cmd.GetTransactionId()); err != nil {
		return 0, err
	}
	sess, err := s.session(ctx, callOf(ctx))
	if err != nil {
		return 0, err
	}
	st, err := sess.Prepare(ctx, cmd.GetQuery(), nil)
	if err != nil {
		return 0, err
	}
	return s.update(ctx, &job{sess: sess, sql: cmd.GetQuery(), st: st})
}

// putPath takes rows for ["collections", name], ["tables", name], ["streams", name],
// or one of them with the namespace in front.
func (s *Server) putPath(ctx context.Context, path []string, r *ingest.Reader, stream flight.FlightService_DoPutServer) error {
	sess, err := s.session(ctx, callOf(ctx))
	if err != nil {
		return err
	}
	target, err := s.pathTarget(ctx, sess, path)
	if err != nil {
		return err
	}
	if _, err := r.Schema(); errors.Is(err, io.EOF) {
		return nil
	}
	_, err = s.append(ctx, sess, target, r, func(ack loam.Ack) error {
		data, err := engine.AckJSON(ack)
		if err != nil {
			return err
		}
		return stream.Send(&flight.PutResult{AppMetadata: data})
	})
	return err
}

func (s *Server) pathTarget(ctx context.Context, sess engine.Session, path []string) (loam.Target, error) {
	namespace := sess.Namespace()
	if len(path) == 3 {
		namespace, path = path[0], path[1:]
	}
	kinds := map[string]schema.Kind{"collections": schema.Collection, "tables": schema.Table, "streams": schema.Stream}
	kind, ok := schema.Kind(""), false
	if len(path) == 2 {
		kind, ok = kinds[path[0]]
	}
	if !ok {
		return loam.Target{}, fail.New(fail.BadRequest, "%.100q is no path to write to", path).
			WithHint("Use [\"collections\", name], [\"tables\", name] or [\"streams\", name], with a namespace in front if need be.")
	}
	found, err := s.engine.Catalog().Lookup(ctx, catalog.Name{Text: namespace, Quoted: true}, catalog.Name{Text: path[1], Quoted: true})
	if err != nil {
		return loam.Target{}, err
	}
	if found.Kind != kind {
		return loam.Target{}, fail.New(fail.WrongObjectType, "%s.%s is a %s", namespace, path[1], found.Kind).
			WithHint("Use the path [%q, %q].", string(found.Kind)+"s", path[1])
	}
	return loam.Target{Namespace: namespace, Name: path[1]}, nil
}

// append writes every batch of a stream; each is safe when acknowledged is
// called. The count is of rows written, also when an error ends it.
func (s *Server) append(ctx context.Context, sess engine.Session, target loam.Target, r *ingest.Reader, acknowledged func(loam.Ack) error) (int64, error) {
	var count int64
	var token snapshot.Token
	defer func() {
		if text := engine.TokenText(token); text != "" {
			_ = grpc.SetTrailer(ctx, metadata.Pairs(headerToken, text))
		}
	}()
	producer := callOf(ctx).producer
	for {
		rec, err := r.Next()
		if errors.Is(err, io.EOF) {
			return count, nil
		}
		if err != nil {
			return count, err
		}
		ack, err := s.appendBatch(ctx, sess, target, producer, rec)
		if err != nil {
			return count, err
		}
		producer = producerAfter(producer, rec)
		count += ack.Rows
		token = token.Merge(ack.Token)
		if err := acknowledged(ack); err != nil {
			return count, err
		}
	}
}

// producerAfter is the producer for the batch behind rec: batches with rows count.
func producerAfter(p *loam.Producer, rec arrow.RecordBatch) *loam.Producer {
	if p == nil || rec.NumRows() == 0 {
		return p
	}
	next := *p
	next.Sequence++
	return &next
}

func (s *Server) appendBatch(ctx context.Context, sess engine.Session, target loam.Target, p *loam.Producer, rec arrow.RecordBatch) (loam.Ack, error) {
	if rec.NumRows() == 0 {
		return loam.Ack{}, nil
	}
	s.metrics.moved("received", rec.NumRows())
	if p != nil {
		return sess.Produce(ctx, target, p, rec)
	}
	return sess.AppendRecords(ctx, target, rec)
}

// ingest runs CommandStatementIngest.
func (s *Server) ingest(ctx context.Context, cmd *pb.CommandStatementIngest, r *ingest.Reader) (int64, error) {
	mode, err := ingestMode(cmd)
	if err != nil {
		return 0, err
	}
	sess, err := s.session(ctx, callOf(ctx))
	if err != nil {
		return 0, err
	}
	sc, err := r.Schema()
	if errors.Is(err, io.EOF) {
		return 0, fail.New(fail.BadRequest, "the stream has no schema")
	}
	if err != nil {
		return 0, err
	}
	target := loam.Target{Namespace: cmd.GetSchema(), Name: cmd.GetTable()}
	if target.Namespace == "" {
		target.Namespace = sess.Namespace()
	}
	if _, err := sess.PrepareIngest(ctx, target, sc, mode); err != nil {
		return 0, err
	}
	return s.append(ctx, sess, target, r, func(loam.Ack) error { return nil })
}

func ingestMode(cmd *pb.CommandStatementIngest) (loam.IngestMode, error) {
	var mode loam.IngestMode
	switch {
	case cmd.GetTemporary():
		return mode, fail.New(fail.Unsupported, "temporary tables are not supported")
	case cmd.GetCatalog() != "" && cmd.GetCatalog() != catalog.RootCatalog:
		return mode, fail.New(fail.InvalidParameter, "there is no catalog %.60q", cmd.GetCatalog()).
			WithHint("The catalog is %q.", catalog.RootCatalog)
	case cmd.GetTable() == "":
		return mode, fail.New(fail.InvalidParameter, "the ingest names no table")
	}
	if err := noTransaction(cmd.GetTransactionId()); err != nil {
		return mode, err
	}
	options := cmd.GetTableDefinitionOptions()
	switch options.GetIfNotExist() {
	case pb.CommandStatementIngest_TableDefinitionOptions_TABLE_NOT_EXIST_OPTION_CREATE:
		mode.Create = true
	case pb.CommandStatementIngest_TableDefinitionOptions_TABLE_NOT_EXIST_OPTION_FAIL:
	default:
		return mode, fail.New(fail.InvalidParameter, "the ingest does not say what to do when the table does not exist")
	}
	switch options.GetIfExists() {
	case pb.CommandStatementIngest_TableDefinitionOptions_TABLE_EXISTS_OPTION_FAIL:
		mode.IfExists = "fail"
	case pb.CommandStatementIngest_TableDefinitionOptions_TABLE_EXISTS_OPTION_APPEND:
		mode.IfExists = "append"
	case pb.CommandStatementIngest_TableDefinitionOptions_TABLE_EXISTS_OPTION_REPLACE:
		mode.IfExists = "replace"
	default:
		return mode, fail.New(fail.InvalidParameter, "the ingest does not say what to do when the table exists")
	}
	return mode, nil
}
