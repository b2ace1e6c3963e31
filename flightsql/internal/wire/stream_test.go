package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight"
	pb "github.com/apache/arrow-go/v18/arrow/flight/gen/flight"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/loamdb/loam/flightsql/internal/slab"
)

// poisoned overwrites what is freed, so that whoever still reads it sees it.
type poisoned struct{ memory.Allocator }

func (p poisoned) Free(b []byte) {
	for i := range b {
		b[i] = 0xDD
	}
	p.Allocator.Free(b)
}

func (p poisoned) Reallocate(n int, b []byte) []byte {
	out := p.Allocate(n)
	copy(out, b)
	p.Free(b)
	return out
}

var mixedSchema = arrow.NewSchema([]arrow.Field{
	{Name: "n", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
	{Name: "s", Type: arrow.BinaryTypes.String},
	{Name: "b", Type: arrow.FixedWidthTypes.Boolean},
}, nil)

// mixed are the rows from start on: a number, NULL in every third; its text; whether it is even.
func mixed(m memory.Allocator, start, n int) arrow.RecordBatch {
	b := array.NewRecordBuilder(m, mixedSchema)
	defer b.Release()
	for i := start; i < start+n; i++ {
		if i%3 == 0 {
			b.Field(0).AppendNull()
		} else {
			b.Field(0).(*array.Int64Builder).Append(int64(i))
		}
		b.Field(1).(*array.StringBuilder).Append(fmt.Sprint("row ", i))
		b.Field(2).(*array.BooleanBuilder).Append(i%2 == 0)
	}
	return b.NewRecordBatch()
}

// service runs one function for each DoGet.
type service struct {
	flight.BaseFlightServer
	get func(stream flight.FlightService_DoGetServer) error
}

func (s *service) DoGet(_ *flight.Ticket, stream flight.FlightService_DoGetServer) error {
	return s.get(stream)
}

// start serves until stop is called.
func start(t *testing.T, get func(flight.FlightService_DoGetServer) error) (addr string, stop func()) {
	t.Helper()
	srv := grpc.NewServer(grpc.ForceServerCodecV2(Codec()), grpc.WaitForHandlers(true))
	flight.RegisterFlightServiceServer(srv, &service{get: get})
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(lis) }()
	return lis.Addr().String(), func() { srv.Stop(); <-served }
}

// gate is a connection whose reads wait for the gate and then come in small pieces.
type gate struct {
	net.Conn
	open  *atomic.Bool
	piece int
}

func (g gate) Read(p []byte) (int, error) {
	for !g.open.Load() {
		time.Sleep(time.Millisecond)
	}
	return g.Conn.Read(p[:min(len(p), g.piece)])
}

func connect(t *testing.T, addr string, wrap func(net.Conn) net.Conn) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(64<<20)),
		grpc.WithContextDialer(func(ctx context.Context, addr string) (net.Conn, error) {
			c, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
			if err != nil {
				return nil, err
			}
			return wrap(c), nil
		}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// TestASlowReaderGetsTheRightBytes lets the client read only after the server
// has released what it sent, whose memory is then poisoned or holds other rows:
// when the handler has returned, or cannot send more. And then slowly.
func TestASlowReaderGetsTheRightBytes(t *testing.T) {
	plain := func(m memory.Allocator) memory.Allocator { return m }
	pooled := func(m memory.Allocator) memory.Allocator { return slab.New(m, 64<<20) }
	for _, c := range []struct {
		name  string
		pool  func(memory.Allocator) memory.Allocator
		sizes []int
	}{
		{"the handler has returned", plain, []int{60_000}},
		{"the handler waits", plain, []int{1, 100, 20_000, 7, 50_000, 3_000, 90_000, 1_000, 20_000, 1}},
		{"the memory is used again", pooled, []int{20_000, 20_000, 20_000, 20_000, 50_000, 50_000, 20_000}},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := checked(t)
			allocator := c.pool(poisoned{m})
			if p, ok := allocator.(*slab.Pool); ok {
				t.Cleanup(p.Close)
			}
			sent, returned := &atomic.Int64{}, &atomic.Bool{}
			addr, stop := start(t, func(stream flight.FlightService_DoGetServer) error {
				defer returned.Store(true)
				w := NewWriter(stream, mixedSchema, allocator)
				at := 0
				for _, n := range c.sizes {
					whole := mixed(allocator, at-5, n+5) // a slice shares what has no reference of its own
					rec := whole.NewSlice(5, int64(n+5))
					whole.Release()
					err := w.Write(rec, nil)
					rec.Release()
					if err != nil {
						return err
					}
					at += n
					sent.Add(1)
				}
				return w.Close()
			})
			stop = sync.OnceFunc(stop)
			defer stop()
			open := &atomic.Bool{}
			open.Store(true)
			conn := connect(t, addr, func(c net.Conn) net.Conn { return gate{c, open, 5_000} })
			if _, err := pb.NewFlightServiceClient(conn).GetSchema(context.Background(), &flight.FlightDescriptor{}); status.Code(err) != codes.Unimplemented {
				t.Fatal(err)
			}
			open.Store(false)
			stream, err := pb.NewFlightServiceClient(conn).DoGet(context.Background(), &flight.Ticket{})
			if err != nil {
				t.Fatal(err)
			}
			for last := int64(-1); !returned.Load() && (last != sent.Load() || last < 1); time.Sleep(50 * time.Millisecond) {
				last = sent.Load()
			}
			if len(c.sizes) == 1 && !returned.Load() {
				t.Fatal("the handler waits for the client")
			}
			open.Store(true)
			compare(t, stream, c.sizes)
			stop()
			if left := m.CurrentAlloc(); left != 0 && c.name != "the memory is used again" { // slabs wait for the next batches
				t.Errorf("%d bytes of a stream that was read to its end are held", left)
			}
		})
	}
}

// compare reads batches of the sizes and checks every row.
func compare(t *testing.T, stream flight.FlightService_DoGetClient, sizes []int) {
	t.Helper()
	r, err := flight.NewRecordReader(stream)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Release()
	at := 0
	for _, n := range sizes {
		if !r.Next() {
			t.Fatalf("the stream ends at row %d: %v", at, r.Err())
		}
		want := mixed(memory.DefaultAllocator, at, n)
		if !array.RecordEqual(r.RecordBatch(), want) {
			t.Fatalf("wrong rows within %d rows from row %d: %.300v", n, at, r.RecordBatch())
		}
		want.Release()
		at += n
	}
	if r.Next() || r.Err() != nil {
		t.Errorf("after the last row: %v", r.Err())
	}
}

// TestNoMemoryIsLost ends streams at random moments in random ways: the client
// cancels, its connection breaks, the server stops. Everything must come back,
// also what gRPC forgets.
func TestNoMemoryIsLost(t *testing.T) {
	m := checked(t)
	allocator := poisoned{m}
	rng := rand.New(rand.NewPCG(7, 7))
	addr, stop := start(t, func(stream flight.FlightService_DoGetServer) error {
		w := NewWriter(stream, mixedSchema, allocator)
		for i := 0; ; i++ {
			rec := mixed(allocator, i, 2_000)
			err := w.Write(rec, nil)
			rec.Release()
			if err != nil {
				return err
			}
		}
	})
	open := &atomic.Bool{}
	open.Store(true)
	for range 60 {
		conn := connect(t, addr, func(c net.Conn) net.Conn { return gate{c, open, 1 << 20} })
		for range 1 + rng.IntN(3) {
			ctx, cancel := context.WithCancel(context.Background())
			stream, err := pb.NewFlightServiceClient(conn).DoGet(ctx, &flight.Ticket{})
			for range rng.IntN(8) {
				if err == nil {
					_, err = stream.Recv()
				}
			}
			if err != nil && !errors.Is(err, io.EOF) {
				t.Fatal(err)
			}
			if rng.IntN(2) == 0 {
				cancel()
			} else {
				defer cancel() // the connection goes first
			}
		}
		if rng.IntN(3) > 0 {
			_ = conn.Close()
		}
	}
	stop()
	if left := m.CurrentAlloc(); left > 0 {
		runtime.GC()
		t.Logf("gRPC forgot %d bytes", left)
	}
}

// TestTheSenderWaits bounds what a stream holds while its client does not read.
func TestTheSenderWaits(t *testing.T) {
	m := checked(t)
	var sent atomic.Int64
	text := strings.Repeat("x", 256<<10)
	addr, stop := start(t, func(stream flight.FlightService_DoGetServer) error {
		w := NewWriter(stream, mixedSchema, m)
		for {
			b := array.NewRecordBuilder(m, mixedSchema)
			b.Field(0).AppendNull()
			b.Field(1).(*array.StringBuilder).Append(text)
			b.Field(2).(*array.BooleanBuilder).Append(true)
			rec := b.NewRecordBatch()
			b.Release()
			err := w.Write(rec, nil)
			rec.Release()
			if err != nil {
				return err
			}
			sent.Add(1)
		}
	})
	defer stop()
	conn := connect(t, addr, func(c net.Conn) net.Conn { return c })
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if _, err := pb.NewFlightServiceClient(conn).DoGet(ctx, &flight.Ticket{}); err != nil {
		t.Fatal(err)
	}
	for last := int64(-1); last != sent.Load() || last < 1; time.Sleep(100 * time.Millisecond) {
		last = sent.Load()
	}
	if n := sent.Load(); n > 4 {
		t.Errorf("%d messages are under way to a client that reads none", n)
	}
	if held := m.CurrentAlloc(); held > 4*len(text)+1<<20 {
		t.Errorf("%d bytes are held for a client that does not read", held)
	}
}
