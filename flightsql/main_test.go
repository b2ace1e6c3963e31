package flightsql

import (
	"context"
	"errors"
	"io"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight"
	pb "github.com/apache/arrow-go/v18/arrow/flight/gen/flight"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/loamdb/loam"
	"github.com/loamdb/loam/flightsql/access"
	"github.com/loamdb/loam/flightsql/internal/engine"
	"github.com/loamdb/loam/internal/clock"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// client is a raw Flight client of one server, so that tests can send what no
// driver would. Its calls carry the headers in md.
type client struct {
	t    testing.TB
	srv  *Server
	conn *grpc.ClientConn
	pb.FlightServiceClient
	md metadata.MD
}

// serve runs a server until the test ends; every batch that it made must have
// been released by then.
func serve(t testing.TB, e engine.Engine, o Options) *client {
	t.Helper()
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	if o.Mem == nil {
		o.Mem = mem
	}
	srv, err := newServer(e, o)
	if err != nil {
		t.Fatal(err)
	}
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(lis) }()
	conn, err := grpc.NewClient(lis.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(64<<20), grpc.MaxCallSendMsgSize(128<<20)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = conn.Close()
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		if err := srv.Shutdown(ctx); err != nil {
			t.Error(err)
		}
		if err := <-served; err != nil {
			t.Error(err)
		}
		if tt, ok := t.(*testing.T); ok {
			settled(tt, mem)
		}
	})
	return &client{t: t, srv: srv, conn: conn, FlightServiceClient: pb.NewFlightServiceClient(conn), md: metadata.MD{}}
}

// settled waits until everything is released. gRPC forgets messages of streams
// that end early, and those come back with a collection.
func settled(t *testing.T, mem *memory.CheckedAllocator) {
	t.Helper()
	for range 100 {
		if mem.CurrentAlloc() == 0 {
			return
		}
		runtime.GC()
		time.Sleep(10 * time.Millisecond)
	}
	mem.AssertSize(t, 0)
}

// real serves an engine in memory.
func real(t testing.TB, o Options) *client {
	t.Helper()
	db, err := loam.Open(context.Background(), loam.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return serve(t, engine.Wrap(db), o)
}

// with is the client with one more header.
func (c *client) with(name, value string) *client {
	other := *c
	other.md = metadata.Join(c.md, metadata.Pairs(name, value))
	return &other
}

func (c *client) ctx() context.Context {
	return metadata.NewOutgoingContext(context.Background(), c.md)
}

func commandOf(t testing.TB, m proto.Message) *flight.FlightDescriptor {
	t.Helper()
	data, err := pack(m)
	if err != nil {
		t.Fatal(err)
	}
	return &flight.FlightDescriptor{Type: flight.DescriptorCMD, Cmd: data}
}

// info asks for a statement's info.
func (c *client) info(sql string) (*flight.FlightInfo, error) {
	return c.GetFlightInfo(c.ctx(), commandOf(c.t, &pb.CommandStatementQuery{Query: sql}))
}

// table is a result: schema, batches, sizes of messages.
type table struct {
	schema *arrow.Schema
	recs   []arrow.RecordBatch
	rows   int64
	// largest is the largest message in bytes.
	largest int
}

// counting receives a stream and notes the largest message.
type counting struct {
	pb.FlightService_DoGetClient
	largest int
}

func (c *counting) Recv() (*flight.FlightData, error) {
	m, err := c.FlightService_DoGetClient.Recv()
	if err == nil {
		c.largest = max(c.largest, proto.Size(m))
	}
	return m, err
}

// get redeems a ticket.
func (c *client) get(ticket []byte) (*table, error) {
	stream, err := c.DoGet(c.ctx(), &flight.Ticket{Ticket: ticket})
	if err != nil {
		return nil, err
	}
	counted := &counting{FlightService_DoGetClient: stream}
	r, err := flight.NewRecordReader(counted, ipc.WithAllocator(memory.DefaultAllocator))
	if err != nil {
		if errors.Is(err, io.EOF) {
			return nil, errors.New("the stream has no message")
		}
		return nil, err
	}
	defer r.Release()
	out := &table{schema: r.Schema()}
	for r.Next() {
		rec := r.RecordBatch()
		rec.Retain()
		out.recs = append(out.recs, rec)
		out.rows += rec.NumRows()
	}
	out.largest = counted.largest
	return out, r.Err()
}

// query runs a statement and reads all its endpoints.
func (c *client) query(sql string) (*table, error) {
	info, err := c.info(sql)
	if err != nil {
		return nil, err
	}
	return c.all(info)
}

func (c *client) all(info *flight.FlightInfo) (*table, error) {
	var out *table
	for _, end := range info.GetEndpoint() {
		got, err := c.get(end.GetTicket().GetTicket())
		if err != nil {
			return nil, err
		}
		if out == nil {
			out = got
			continue
		}
		out.recs, out.rows = append(out.recs, got.recs...), out.rows+got.rows
	}
	return out, nil
}

// text renders a table: columns by |, rows by space.
func (t *table) text() string {
	var rows []string
	for _, rec := range t.recs {
		for i := range int(rec.NumRows()) {
			var row []string
			for _, col := range rec.Columns() {
				row = append(row, col.ValueStr(i))
			}
			rows = append(rows, strings.Join(row, "|"))
		}
	}
	return strings.Join(rows, " ")
}

// want runs a query and compares its text.
func (c *client) want(sql, text string) {
	c.t.Helper()
	got, err := c.query(sql)
	if err != nil {
		c.t.Errorf("%s: %v", sql, err)
		return
	}
	if got.text() != text {
		c.t.Errorf("%s: got %q, want %q", sql, got.text(), text)
	}
}

// run executes statements that must work.
func (c *client) run(statements ...string) {
	c.t.Helper()
	for _, sql := range statements {
		if _, err := c.query(sql); err != nil {
			c.t.Fatalf("%s: %v", sql, err)
		}
	}
}

// code compares the status of an error.
func code(t testing.TB, err error, want codes.Code, what string) {
	t.Helper()
	if status.Code(err) != want {
		t.Errorf("%s: %v, want %s", what, err, want)
	}
}

// act runs an action; the answer is its one result's body.
func (c *client) act(name string, body []byte) ([]byte, metadata.MD, error) {
	stream, err := c.DoAction(c.ctx(), &flight.Action{Type: name, Body: body})
	if err != nil {
		return nil, nil, err
	}
	result, err := stream.Recv()
	if err != nil {
		return nil, nil, err
	}
	if _, err := stream.Recv(); !errors.Is(err, io.EOF) {
		return nil, nil, errors.New("more than one result")
	}
	header, err := stream.Header()
	return result.GetBody(), header, err
}

// put sends messages and returns what comes back, and the trailers.
func (c *client) put(messages ...*flight.FlightData) ([]*flight.PutResult, metadata.MD, error) {
	stream, err := c.DoPut(c.ctx())
	if err != nil {
		return nil, nil, err
	}
	for _, m := range messages {
		if err := stream.Send(m); err != nil {
			break // the answer says why
		}
	}
	_ = stream.CloseSend()
	var out []*flight.PutResult
	for {
		r, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return out, stream.Trailer(), nil
		}
		if err != nil {
			return out, stream.Trailer(), err
		}
		out = append(out, r)
	}
}

// recorder keeps messages that an Arrow writer sends.
type recorder struct{ messages []*flight.FlightData }

func (r *recorder) Send(m *flight.FlightData) error {
	r.messages = append(r.messages, proto.Clone(m).(*flight.FlightData))
	return nil
}

// stream makes the messages of batches of one schema, with the descriptor first.
func stream(t testing.TB, d *flight.FlightDescriptor, sc *arrow.Schema, batches ...string) []*flight.FlightData {
	t.Helper()
	out := &recorder{}
	w := flight.NewRecordWriter(out, ipc.WithSchema(sc))
	w.SetFlightDescriptor(d)
	for _, text := range batches {
		rec, _, err := array.RecordFromJSON(memory.DefaultAllocator, sc, strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Write(rec); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.messages
}

// plain are users with these passwords and tokens.
func plain(passwords, tokens map[string]string) *access.Users {
	return access.Plain(passwords, tokens, clock.Real(), clock.RandomIDs(clock.Real()))
}
