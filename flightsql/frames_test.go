package flightsql

import (
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/flight"
	pb "github.com/apache/arrow-go/v18/arrow/flight/gen/flight"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
)

// notCommands are bytes that are no command of Flight SQL, with the status that
// each gives to GetFlightInfo.
func notCommands(t *testing.T) map[string][]byte {
	foreign, err := pack(durationpb.New(1))
	if err != nil {
		t.Fatal(err)
	}
	torn, err := proto.Marshal(&anypb.Any{TypeUrl: "type.googleapis.com/arrow.flight.protocol.sql.CommandStatementQuery", Value: []byte{0xff}})
	if err != nil {
		t.Fatal(err)
	}
	return map[string][]byte{
		"empty": nil, "garbage": []byte("\xff\x00garbage"), "text": []byte("SELECT 1"), "torn json": []byte("{not json"),
		"a foreign message": foreign, "torn": torn, "no url": {0x12, 1, 'x'},
		"invalid UTF-8 in SQL": append([]byte("\x0a\x43type.googleapis.com/arrow.flight.protocol.sql.CommandStatementQuery\x12\x04"), 0x0a, 2, 0xff, 0xfe),
	}
}

// typed reports the statuses that drivers map to something useful.
func typed(c codes.Code) bool {
	return c == codes.InvalidArgument || c == codes.NotFound || c == codes.Unimplemented
}

func TestGarbageIsRefusedEverywhere(t *testing.T) {
	c := real(t, Options{OnPanic: func(method string, v any, stack []byte) { t.Errorf("%s panicked: %v\n%s", method, v, stack) }})
	check := func(what string, err error) {
		t.Helper()
		if st, _ := toStatus(err); err == nil || !typed(st.Code()) {
			t.Errorf("%s: %v", what, err)
		}
	}
	for name, cmd := range notCommands(t) {
		d := &flight.FlightDescriptor{Type: flight.DescriptorCMD, Cmd: cmd}
		_, err := c.GetFlightInfo(c.ctx(), d)
		check("GetFlightInfo of "+name, err)
		_, err = c.GetSchema(c.ctx(), d)
		check("GetSchema of "+name, err)
		_, err = c.PollFlightInfo(c.ctx(), d)
		check("PollFlightInfo of "+name, err)
		_, err = c.get(cmd)
		check("DoGet of "+name, err)
		_, _, err = c.put(&flight.FlightData{FlightDescriptor: d})
		check("DoPut of "+name, err)
		_, _, err = c.act("CreatePreparedStatement", cmd)
		check("CreatePreparedStatement of "+name, err)
	}
	for _, path := range [][]string{nil, {"no"}, {"no", "such"}, {"no", "such", "path"}, {"collections"}, {"a", "b", "c", "d"}, {"collections", "missing"}} {
		d := &flight.FlightDescriptor{Type: flight.DescriptorPATH, Path: path}
		_, err := c.GetFlightInfo(c.ctx(), d)
		check("GetFlightInfo of a path", err)
		_, _, err = c.put(&flight.FlightData{FlightDescriptor: d})
		check("DoPut of a path "+strings.Join(path, "/"), err)
	}
	c.want("SELECT 1", "1")
}

func TestCommandsInTheWrongPlace(t *testing.T) {
	c := real(t, Options{})
	for _, m := range []proto.Message{
		&pb.CommandStatementUpdate{Query: "SELECT 1"}, &pb.CommandStatementIngest{Table: "t"},
		&pb.TicketStatementQuery{}, &pb.ActionClosePreparedStatementRequest{},
	} {
		_, err := c.GetFlightInfo(c.ctx(), commandOf(t, m))
		code(t, err, codes.InvalidArgument, "GetFlightInfo")
	}
	for _, m := range []proto.Message{&pb.CommandStatementQuery{Query: "SELECT 1"}, &pb.CommandPreparedStatementQuery{}, &pb.TicketStatementQuery{}} {
		_, err := c.get(commandOf(t, m).Cmd)
		code(t, err, codes.InvalidArgument, "DoGet")
	}
	for _, m := range []proto.Message{&pb.CommandStatementQuery{Query: "SELECT 1"}, &pb.CommandGetTables{}} {
		_, _, err := c.put(&flight.FlightData{FlightDescriptor: commandOf(t, m)})
		code(t, err, codes.InvalidArgument, "DoPut")
	}
}

func TestPutFramesThatAreWrong(t *testing.T) {
	c := real(t, Options{MaxMessageBytes: 1 << 20})
	c.run("CREATE TABLE t (a BIGINT)")
	sc := arrow.NewSchema([]arrow.Field{{Name: "a", Type: arrow.PrimitiveTypes.Int64, Nullable: true}}, nil)
	good := func() []*flight.FlightData {
		return stream(t, &flight.FlightDescriptor{Type: flight.DescriptorPATH, Path: []string{"tables", "t"}}, sc, `[{"a":1},{"a":2}]`)
	}
	for _, f := range []struct {
		name   string
		change func(m []*flight.FlightData) []*flight.FlightData
		want   codes.Code
	}{
		{"no message at all", func([]*flight.FlightData) []*flight.FlightData { return nil }, codes.InvalidArgument},
		{"nil descriptor", func(m []*flight.FlightData) []*flight.FlightData { m[0].FlightDescriptor = nil; return m }, codes.InvalidArgument},
		{"an empty message", func([]*flight.FlightData) []*flight.FlightData { return []*flight.FlightData{{}} }, codes.InvalidArgument},
		{"an empty descriptor", func([]*flight.FlightData) []*flight.FlightData {
			return []*flight.FlightData{{FlightDescriptor: &flight.FlightDescriptor{}}}
		}, codes.InvalidArgument},
		{"garbage for a schema", func(m []*flight.FlightData) []*flight.FlightData { m[0].DataHeader = []byte("garbage!"); return m }, codes.InvalidArgument},
		{"a cut body", func(m []*flight.FlightData) []*flight.FlightData { m[1].DataBody = m[1].DataBody[:3]; return m }, codes.InvalidArgument},
		{"a batch before the schema", func(m []*flight.FlightData) []*flight.FlightData {
			m[1].FlightDescriptor = m[0].FlightDescriptor
			return m[1:]
		}, codes.InvalidArgument},
		{"a message that is too large", func(m []*flight.FlightData) []*flight.FlightData { m[1].DataBody = make([]byte, 2<<20); return m }, codes.ResourceExhausted},
	} {
		_, _, err := c.put(f.change(good())...)
		code(t, err, f.want, f.name)
	}
	c.want("SELECT count(*) FROM t", "0")
	if _, _, err := c.put(good()...); err != nil {
		t.Error(err)
	}
	c.want("SELECT a FROM t ORDER BY a", "1 2")
}

func TestActions(t *testing.T) {
	c := real(t, Options{})
	_, _, err := c.act("NoSuchAction", nil)
	code(t, err, codes.Unimplemented, "an unknown action")
	for _, name := range []string{"CancelFlightInfo", "RenewFlightEndpoint", "SetSessionOptions", "CancelQuery", "ClosePreparedStatement"} {
		_, _, err := c.act(name, []byte("\xff\xff garbage"))
		code(t, err, codes.InvalidArgument, name)
	}
	for _, name := range []string{"CancelFlightInfo", "RenewFlightEndpoint"} {
		_, _, err := c.act(name, nil)
		code(t, err, codes.InvalidArgument, name+" of nothing")
	}
	list, err := c.ListActions(c.ctx(), &flight.Empty{})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for a, err := list.Recv(); err == nil; a, err = list.Recv() {
		names = append(names, a.GetType())
	}
	if len(names) != len(actions) {
		t.Errorf("%d actions are listed, %d exist: %q", len(names), len(actions), names)
	}
	exchange, err := c.DoExchange(c.ctx())
	if err == nil {
		_, err = exchange.Recv()
	}
	code(t, err, codes.Unimplemented, "DoExchange")
}

func FuzzDecode(f *testing.F) {
	cmd, err := pack(&pb.CommandStatementQuery{Query: "SELECT 1"})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(cmd)
	f.Add([]byte(`{"collection": "docs"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		_, err := decode(data)
		if err != nil && !typed(func() codes.Code { st, _ := toStatus(err); return st.Code() }()) {
			t.Errorf("%q: %v", data, err)
		}
	})
}
