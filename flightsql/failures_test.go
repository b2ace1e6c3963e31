package flightsql

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow/flight"
	pb "github.com/apache/arrow-go/v18/arrow/flight/gen/flight"
	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/loamdb/loam/flightsql/internal/engine"
	"github.com/loamdb/loam/flightsql/internal/enginetest"
	"github.com/loamdb/loam/internal/clock"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

func headerOf(md *metadata.MD) grpc.CallOption  { return grpc.Header(md) }
func trailerOf(md *metadata.MD) grpc.CallOption { return grpc.Trailer(md) }

var numbers = []plan.Column{{Name: "n", Type: types.Of(types.Int64)}}

// full is a chunk of 2,048 numbers.
func full() *vec.Chunk {
	c := vec.NewChunk([]types.Type{types.Of(types.Int64)}, vec.ChunkRows)
	for i := range vec.ChunkRows {
		c.Cols[0].Append(vec.Int64(int64(i)))
	}
	c.N = vec.ChunkRows
	return c
}

// scripted is an engine whose statement "q" runs the chunks.
func scripted(chunks *enginetest.Chunks) *enginetest.Engine {
	return &enginetest.Engine{Answers: map[string]enginetest.Answer{"q": {
		Columns: numbers, Query: true,
		Run: func(context.Context, []vec.Value) (*engine.Result, error) { return chunks.Rows(numbers), nil },
	}}}
}

// until waits for a condition that another goroutine brings about.
func until(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for range 2000 {
		if condition() {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Errorf("%s did not happen", what)
}

func TestErrorsCarryTheirDetails(t *testing.T) {
	c := serve(t, scripted(&enginetest.Chunks{}), Options{})
	var trailer metadata.MD
	_, err := c.GetFlightInfo(c.ctx(), commandOf(t, &pb.CommandStatementQuery{Query: "what?"}), trailerOf(&trailer))
	code(t, err, codes.InvalidArgument, "a syntax error")
	for name, want := range map[string]string{
		trailerSQLState: "42601", trailerCode: "syntax_error", trailerPosition: "1:1:0",
		trailerHint: "Teach the fake %E2%80%94 na%C3%AFvely.",
	} {
		if got := trailer.Get(name); len(got) != 1 || got[0] != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	for _, want := range []string{"line 1, column 1", "(SQLSTATE 42601)"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in the text: %v", want, err)
		}
	}
}

func TestStatuses(t *testing.T) {
	long := strings.Repeat("ü", 20<<20)
	for _, s := range []struct {
		err  error
		want codes.Code
	}{
		{fail.New(fail.UndefinedTable, "x"), codes.NotFound},
		{fail.Wrap(fail.Corrupt, errors.New("x"), "y"), codes.Internal},
		{errors.New("plain"), codes.Internal},
		{context.Canceled, codes.Canceled},
		{context.DeadlineExceeded, codes.DeadlineExceeded},
		{status.Error(codes.ResourceExhausted, "grpc's own"), codes.ResourceExhausted},
		{fail.New(fail.Internal, "%s", long), codes.Internal},
		{fail.New(fail.Internal, "bad \xff bytes"), codes.Internal},
	} {
		st, md := toStatus(s.err)
		if md != nil && !strings.HasSuffix(st.Message(), "(SQLSTATE "+last(md, trailerSQLState)+")") {
			t.Errorf("%.60s: the text does not end with the SQLSTATE", s.err)
		}
		if st.Code() != s.want || len(st.Message()) > maxErrorBytes || !utf8.ValidString(st.Message()) {
			t.Errorf("%.60s: %s with %d bytes", s.err, st.Code(), len(st.Message()))
		}
	}
}

func TestErrorsInTheMiddleOfAStream(t *testing.T) {
	chunks := &enginetest.Chunks{List: []*vec.Chunk{full(), full()}, Err: fail.New(fail.DivisionByZero, "division by zero")}
	c := serve(t, scripted(chunks), Options{})
	_, err := c.query("q")
	code(t, err, codes.InvalidArgument, "after two chunks")
	if chunks.Closed() == 0 {
		t.Error("the result is not closed")
	}
}

func TestAPanicFailsOneCall(t *testing.T) {
	panics := 0
	fake := scripted(nil)
	fake.Answers["boom"] = enginetest.Answer{Columns: numbers, Query: true, Run: func(context.Context, []vec.Value) (*engine.Result, error) { panic("boom") }}
	c := serve(t, fake, Options{OnPanic: func(string, any, []byte) { panics++ }})
	_, err := c.query("boom")
	code(t, err, codes.Internal, "a panic")
	if panics != 1 {
		t.Errorf("told of %d panics", panics)
	}
	if _, err := c.ListFlights(c.ctx(), &flight.Criteria{}); err != nil {
		t.Error(err)
	}
}

func TestAClientThatLeavesStopsTheQuery(t *testing.T) {
	for name, chunks := range map[string]*enginetest.Chunks{
		"while rows flow":      {List: []*vec.Chunk{full()}, Forever: true},
		"while it waits":       {List: []*vec.Chunk{full()}, Block: true},
		"before the first row": {Block: true},
	} {
		t.Run(name, func(t *testing.T) {
			c := serve(t, scripted(chunks), Options{})
			info, err := c.info("q")
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(c.ctx())
			stream, err := c.DoGet(ctx, info.Endpoint[0].Ticket)
			if err != nil {
				t.Fatal(err)
			}
			if len(chunks.List) > 0 {
				if _, err := stream.Recv(); err != nil {
					t.Fatal(err)
				}
			}
			cancel()
			if len(chunks.List) > 0 {
				until(t, "closing", func() bool { return chunks.Closed() > 0 })
			}
		})
	}
}

// TestManyClientsLeave leaves at a random moment; the helper checks that every
// batch was released.
func TestManyClientsLeave(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	chunks := &enginetest.Chunks{List: []*vec.Chunk{full()}, Forever: true}
	c := serve(t, scripted(chunks), Options{})
	info, err := c.info("q")
	if err != nil {
		t.Fatal(err)
	}
	const clients = 100
	for range clients {
		ctx, cancel := context.WithCancel(c.ctx())
		stream, err := c.DoGet(ctx, info.Endpoint[0].Ticket)
		for range r.IntN(6) {
			if err == nil {
				_, err = stream.Recv()
			}
		}
		cancel()
	}
	until(t, "the end of every stream", func() bool {
		c.srv.running.mu.Lock()
		defer c.srv.running.mu.Unlock()
		return len(c.srv.running.streams) == 0
	})
}

func TestCancelFlightInfo(t *testing.T) {
	chunks := &enginetest.Chunks{List: []*vec.Chunk{full()}, Block: true}
	c := serve(t, scripted(chunks), Options{})
	info, err := c.info("q")
	if err != nil {
		t.Fatal(err)
	}
	stream, err := c.DoGet(c.ctx(), info.Endpoint[0].Ticket)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Recv(); err != nil {
		t.Fatal(err)
	}
	cancel := func(info *flight.FlightInfo) error {
		body, err := proto.Marshal(&flight.CancelFlightInfoRequest{Info: info})
		if err != nil {
			t.Fatal(err)
		}
		answer, _, err := c.act("CancelFlightInfo", body)
		if err != nil {
			return err
		}
		var result flight.CancelFlightInfoResult
		if err := proto.Unmarshal(answer, &result); err != nil || result.Status != flight.CancelStatusCancelled {
			t.Errorf("%v, %v", &result, err)
		}
		return nil
	}
	if err := cancel(info); err != nil {
		t.Fatal(err)
	}
	for err == nil {
		_, err = stream.Recv()
	}
	code(t, err, codes.Canceled, "the running stream")
	_, err = c.get(info.Endpoint[0].Ticket.Ticket)
	code(t, err, codes.Canceled, "the ticket afterwards")
	info.Endpoint[0].Ticket.Ticket = info.Endpoint[0].Ticket.Ticket[1:]
	code(t, cancel(info), codes.InvalidArgument, "an info that is not ours")

	old, err := c.info("q")
	if err != nil {
		t.Fatal(err)
	}
	raw, err := proto.Marshal(old)
	if err != nil {
		t.Fatal(err)
	}
	body, err := pack(&pb.ActionCancelQueryRequest{Info: raw})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := c.act("CancelQuery", body); err != nil {
		t.Errorf("the older action: %v", err)
	}
}

func TestTicketsEndAndAreRenewed(t *testing.T) {
	now := clock.NewManual(time.UnixMilli(1_800_000_000_000))
	c := serve(t, scripted(&enginetest.Chunks{}), Options{Clock: now})
	info, err := c.info("q")
	if err != nil {
		t.Fatal(err)
	}
	now.Advance(sqlTicketLife / 2)
	body, err := proto.Marshal(&flight.RenewFlightEndpointRequest{Endpoint: info.Endpoint[0]})
	if err != nil {
		t.Fatal(err)
	}
	answer, _, err := c.act("RenewFlightEndpoint", body)
	if err != nil {
		t.Fatal(err)
	}
	var renewed flight.FlightEndpoint
	if err := proto.Unmarshal(answer, &renewed); err != nil {
		t.Fatal(err)
	}
	if !renewed.ExpirationTime.AsTime().After(info.Endpoint[0].ExpirationTime.AsTime()) {
		t.Errorf("renewed until %v", renewed.ExpirationTime.AsTime())
	}
	now.Advance(sqlTicketLife/2 + time.Second)
	_, err = c.get(info.Endpoint[0].Ticket.Ticket)
	code(t, err, codes.NotFound, "an expired ticket")
	if _, err := c.get(renewed.Ticket.Ticket); err != nil {
		t.Errorf("the renewed ticket: %v", err)
	}
}

func TestTicketsAreRedeemedElsewhere(t *testing.T) {
	chunks := func() *enginetest.Engine { return scripted(&enginetest.Chunks{List: []*vec.Chunk{full()}}) }
	one, two := serve(t, chunks(), Options{}), serve(t, chunks(), Options{})
	info, err := one.info("q")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := two.all(info); err != nil || got.rows != vec.ChunkRows {
		t.Errorf("%+v, %v", got, err)
	}
	changed := chunks()
	changed.Answers["q"] = enginetest.Answer{Columns: []plan.Column{{Name: "n", Type: types.Of(types.Text)}}, Query: true}
	_, err = serve(t, changed, Options{}).all(info)
	code(t, err, codes.NotFound, "a query whose columns have changed")
	ticket := info.Endpoint[0].Ticket.Ticket
	sealed := bytes.Index(ticket, []byte("LT\x00")) // before it lies the type's name, whose host part is free
	for i := 0; i < len(ticket); i += 7 {
		bad := append([]byte(nil), ticket...)
		bad[max(i, sealed)] ^= 1
		_, err := one.get(bad)
		code(t, err, codes.InvalidArgument, "a changed ticket")
		_, err = one.get(ticket[:i])
		code(t, err, codes.InvalidArgument, "a cut ticket")
	}
}

func TestAddresses(t *testing.T) {
	for addr, ok := range map[string]bool{"127.0.0.1": true, "::1": true, "0.0.0.0": false, "::": false, "192.168.1.2": false} {
		err := Options{}.CheckAddress(&net.TCPAddr{IP: net.ParseIP(addr), Port: 1})
		if (err == nil) != ok {
			t.Errorf("%s: %v", addr, err)
		}
		if (Options{Insecure: true}).CheckAddress(&net.TCPAddr{IP: net.ParseIP(addr)}) != nil {
			t.Errorf("%s is refused though insecure", addr)
		}
	}
	srv, err := newServer(scripted(nil), Options{})
	if err != nil {
		t.Fatal(err)
	}
	lis, err := net.Listen("tcp", "0.0.0.0:0")
	if err != nil {
		t.Skip(err)
	}
	if err := srv.Serve(lis); !fail.Is(err, fail.InvalidParameter) {
		t.Errorf("got %v", err)
	}
	_ = srv.Shutdown(context.Background())
}

func TestShutdownEndsWhatDoesNotEnd(t *testing.T) {
	chunks := &enginetest.Chunks{List: []*vec.Chunk{full()}, Block: true}
	c := serve(t, scripted(chunks), Options{})
	info, err := c.info("q")
	if err != nil {
		t.Fatal(err)
	}
	stream, err := c.DoGet(c.ctx(), info.Endpoint[0].Ticket)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Recv(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := c.srv.Shutdown(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	for err == nil {
		_, err = stream.Recv()
	}
	if status.Code(err) != codes.Unavailable || !strings.Contains(err.Error(), "the server is stopping") {
		t.Errorf("the client was told %v", err)
	}
	until(t, "closing", func() bool { return chunks.Closed() > 0 })
}

func TestMetrics(t *testing.T) {
	reg := prometheus.NewRegistry()
	c := serve(t, scripted(&enginetest.Chunks{List: []*vec.Chunk{full()}}), Options{Registry: reg})
	if _, err := c.query("q"); err != nil {
		t.Fatal(err)
	}
	_, _ = c.info("nonsense")
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, f := range families {
		for _, m := range f.Metric {
			name := f.GetName()
			for _, l := range m.Label {
				name += " " + l.GetValue()
			}
			got[name] = m.GetCounter().GetValue()
		}
	}
	for name, want := range map[string]float64{
		"loam_flight_calls_total OK GetFlightInfo": 1, "loam_flight_calls_total InvalidArgument GetFlightInfo": 1,
		"loam_flight_calls_total OK DoGet": 1, "loam_flight_rows_total sent": vec.ChunkRows,
	} {
		if got[name] != want {
			t.Errorf("%s: %v, want %v", name, got[name], want)
		}
	}
}
