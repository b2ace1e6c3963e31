package flightsql

import (
	"bytes"

	pb "github.com/apache/arrow-go/v18/arrow/flight/gen/flight"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/loamdb/loam"
	"github.com/loamdb/loam/flightsql/internal/scan"
	"github.com/loamdb/loam/internal/fail"
)

// scanCommand is the decoded request for a scan plan, in either form.
type scanCommand struct{ loam.ScanRequest }

// commands are the messages that may come inside google.protobuf.Any. Nothing
// else is ever instantiated from a type URL.
var commands = map[protoreflect.FullName]func() proto.Message{}

func init() {
	for _, m := range []proto.Message{
		&pb.CommandStatementQuery{}, &pb.CommandStatementUpdate{}, &pb.CommandStatementIngest{},
		&pb.CommandPreparedStatementQuery{}, &pb.CommandPreparedStatementUpdate{}, &pb.TicketStatementQuery{},
		&pb.CommandGetCatalogs{}, &pb.CommandGetDbSchemas{}, &pb.CommandGetTables{}, &pb.CommandGetTableTypes{},
		&pb.CommandGetPrimaryKeys{}, &pb.CommandGetExportedKeys{}, &pb.CommandGetImportedKeys{}, &pb.CommandGetCrossReference{},
		&pb.CommandGetXdbcTypeInfo{}, &pb.CommandGetSqlInfo{},
		&pb.ActionCreatePreparedStatementRequest{}, &pb.ActionClosePreparedStatementRequest{}, &pb.ActionCancelQueryRequest{},
	} {
		kind := m.ProtoReflect().Type()
		commands[kind.Descriptor().FullName()] = func() proto.Message { return kind.New().Interface() }
	}
}

// scanName is the message name of the scan command.
const scanName protoreflect.FullName = "loam.flight.v1.ScanPlanCommand"

// decode reads a command: a known message in Any, or the JSON of a scan request.
// Errors: fail.BadRequest for bytes that are neither, fail.Unsupported for a
// message that is not served.
func decode(cmd []byte) (any, error) {
	if trimmed := bytes.TrimLeft(cmd, " \t\r\n"); len(trimmed) > 0 && trimmed[0] == '{' {
		request, err := scan.ParseJSON(trimmed, nil)
		return scanCommand{request}, err
	}
	var wrapped anypb.Any
	if err := proto.Unmarshal(cmd, &wrapped); err != nil || wrapped.GetTypeUrl() == "" {
		return nil, fail.New(fail.BadRequest, "the %s no Flight SQL command", fail.Count(len(cmd), "byte is", "bytes are")).
			WithHint("A command is a message inside google.protobuf.Any, or a scan request as JSON.")
	}
	name := wrapped.MessageName()
	if name == scanName {
		request, err := scan.ParseCommand(wrapped.GetValue())
		return scanCommand{request}, err
	}
	make, known := commands[name]
	if !known {
		return nil, fail.New(fail.Unsupported, "the command %.100q is not supported", wrapped.GetTypeUrl())
	}
	message := make()
	if err := proto.Unmarshal(wrapped.GetValue(), message); err != nil {
		return nil, fail.New(fail.BadRequest, "the %s is malformed", name.Name())
	}
	return message, nil
}

// pack puts a message into Any.
func pack(m proto.Message) ([]byte, error) {
	wrapped, err := anypb.New(m)
	if err != nil {
		return nil, fail.Wrap(fail.Internal, err, "an answer as protobuf")
	}
	return marshal(wrapped)
}

func marshal(m proto.Message) ([]byte, error) {
	data, err := proto.Marshal(m)
	if err != nil {
		return nil, fail.Wrap(fail.Internal, err, "an answer as protobuf")
	}
	return data, nil
}
