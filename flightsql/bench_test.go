package flightsql

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight"
	pb "github.com/apache/arrow-go/v18/arrow/flight/gen/flight"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"

	"github.com/loamdb/loam/flightsql/internal/engine"
	"github.com/loamdb/loam/flightsql/internal/enginetest"
	"github.com/loamdb/loam/flightsql/internal/rows"
	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// BenchmarkSelectOne is the least that a query costs: plan, ticket, one row.
// Goal: below 2 ms at the median on loopback.
func BenchmarkSelectOne(b *testing.B) {
	c := real(b, Options{Mem: memory.NewGoAllocator()})
	for b.Loop() {
		if _, err := c.query("SELECT 1"); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkStream sends results that cost nothing to make to a client in this
// process that decodes nothing. TestFlightBench compares with arrow-go.
func BenchmarkStream(b *testing.B) {
	for _, bc := range benchCases {
		b.Run(bc.name, func(b *testing.B) {
			n := 64 << 20 / bc.rowSize / vec.ChunkRows * vec.ChunkRows
			c := serve(b, bc.engine(bc.chunks(n)), Options{Mem: memory.NewGoAllocator()})
			info, err := c.info("q")
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(n * bc.rowSize))
			for b.Loop() {
				stream, err := c.DoGet(c.ctx(), info.Endpoint[0].Ticket, grpc.ForceCodecV2(&discard{}))
				for err == nil {
					_, err = stream.Recv()
				}
				if !errors.Is(err, io.EOF) {
					b.Fatal(err)
				}
			}
		})
	}
}

var (
	flightBench  = flag.Bool("flight", false, "run TestFlightBench: CPU per byte of results over Flight, ours and arrow-go's writer (minutes)")
	flightRows   = flag.Int("flight-rows", 4_000_000, "rows of a result in TestFlightBench")
	flightBytes  = flag.Int64("flight-bytes", 1<<30, "most bytes of a result in TestFlightBench")
	flightClient = flag.Bool("flight-client", false, "be the client of TestFlightBench")
	flightRuns   = flag.Int("flight-runs", 5, "runs of each side in TestFlightBench, in turn")
)

// benchCase is a result made of chunks that are there already.
type benchCase struct {
	name    string
	columns []plan.Column
	fill    func(c *vec.Chunk, i int)
	rowSize int
}

var benchCases = []benchCase{
	{"1 int64", numbers, func(c *vec.Chunk, i int) { c.Cols[0].Append(vec.Int64(int64(i))) }, 8},
	{"3 numbers + 1 short string", []plan.Column{
		{Name: "a", Type: types.Of(types.Int64)}, {Name: "b", Type: types.Of(types.Double)},
		{Name: "c", Type: types.Of(types.Int64)}, {Name: "s", Type: types.Of(types.Text)},
	}, func(c *vec.Chunk, i int) {
		c.Cols[0].Append(vec.Int64(int64(i)))
		c.Cols[1].Append(vec.Value{Type: types.Of(types.Double), Float: float64(i) / 8})
		c.Cols[2].Append(vec.Int64(int64(i) * 7919))
		c.Cols[3].Append(vec.Text(fmt.Sprintf("tag-%05d", i*31%100_000)))
	}, 37},
	{"1 string of 1 KiB", []plan.Column{{Name: "s", Type: types.Of(types.Text)}}, func(c *vec.Chunk, i int) {
		c.Cols[0].Append(vec.Text(strings.Repeat(string(rune('a'+i%26)), 1<<10)))
	}, 1 << 10},
	{"1 vector of 384", []plan.Column{{Name: "v", Type: types.VectorOf(384)}}, func(c *vec.Chunk, i int) {
		v := vec.Value{Type: types.VectorOf(384), Vec: make([]float32, 384)}
		for j := range v.Vec {
			v.Vec[j] = float32(i + j)
		}
		c.Cols[0].Append(v)
	}, 4 * 384},
}

// rows is how many rows the case sends.
func (bc benchCase) rows() int {
	return int(min(int64(*flightRows), *flightBytes/int64(bc.rowSize))) / vec.ChunkRows * vec.ChunkRows
}

// chunks are the rows of the result: up to 64 MiB of distinct chunks, repeated.
func (bc benchCase) chunks(n int) []*vec.Chunk {
	distinct := max(1, min(n/vec.ChunkRows, 64<<20/(vec.ChunkRows*bc.rowSize)))
	list := make([]*vec.Chunk, n/vec.ChunkRows)
	for i := range list {
		if i >= distinct {
			list[i] = list[i%distinct]
			continue
		}
		list[i] = vec.NewChunk(rows.Types(bc.columns), vec.ChunkRows)
		for j := range vec.ChunkRows {
			bc.fill(list[i], i*vec.ChunkRows+j)
		}
		list[i].N = vec.ChunkRows
	}
	return list
}

// engine answers "q" with the chunks.
func (bc benchCase) engine(list []*vec.Chunk) *enginetest.Engine {
	return &enginetest.Engine{Answers: map[string]enginetest.Answer{"q": {
		Columns: bc.columns, Query: true,
		Run: func(context.Context, []vec.Value) (*engine.Result, error) {
			return (&enginetest.Chunks{List: list}).Rows(bc.columns), nil
		},
	}}}
}

// stockService sends the same chunks, gathered to the same batches on Go's heap,
// with arrow-go's writer.
type stockService struct {
	flight.BaseFlightServer
	open func() *rows.Reader
}

func (s *stockService) DoGet(_ *flight.Ticket, stream flight.FlightService_DoGetServer) error {
	r := s.open()
	w := flight.NewRecordWriter(stream, ipc.WithSchema(r.Schema()))
	for {
		rec, err := r.Next(stream.Context())
		if err != nil {
			return err
		}
		if rec == nil {
			break
		}
		err = w.Write(rec)
		rec.Release()
		if err != nil {
			return err
		}
	}
	if err := r.Close(); err != nil {
		return err
	}
	return w.Close()
}

// dial connects a client whose messages may be large.
func dial(t testing.TB, addr string) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(64<<20)), grpc.WithInitialWindowSize(8<<20), grpc.WithInitialConnWindowSize(16<<20))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// stock serves arrow-go's side with the same transport options as ours.
func stock(t *testing.T, open func() *rows.Reader) string {
	t.Helper()
	srv := grpc.NewServer(grpc.InitialWindowSize(8<<20), grpc.InitialConnWindowSize(16<<20), grpc.WriteBufferSize(256<<10))
	flight.RegisterFlightServiceServer(srv, &stockService{open: open})
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(lis) }()
	t.Cleanup(func() { srv.Stop(); <-served })
	return lis.Addr().String()
}

// discard counts a message's bytes and lets them go: the client costs nothing
// but the transport.
type discard struct{ bytes int64 }

func (d *discard) Name() string { return "proto" }
func (d *discard) Marshal(v any) (mem.BufferSlice, error) {
	b, err := proto.Marshal(v.(proto.Message))
	return mem.BufferSlice{mem.SliceBuffer(b)}, err
}
func (d *discard) Unmarshal(data mem.BufferSlice, _ any) error {
	d.bytes += int64(data.Len())
	return nil
}

// side is one of the two ways to send a result.
type side struct {
	Addr   string
	Ticket []byte
	// Times is how often the client reads the result in one run, so that a run is
	// long enough to be measured.
	Times int
}

// reading is what a client in a process of its own says of one run.
type reading struct {
	Bytes     int64
	CPU, Wall time.Duration
}

// TestFlightClient is that client: it reads sides from its input, each streams
// to the end without decoding, and writes what they took.
func TestFlightClient(t *testing.T) {
	if !*flightClient {
		t.Skip("run by TestFlightBench")
	}
	in, out := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	for {
		var s side
		if in.Decode(&s) != nil {
			return
		}
		d, client := &discard{}, pb.NewFlightServiceClient(dial(t, s.Addr))
		start, began := processTime(t), time.Now()
		for range s.Times {
			stream, err := client.DoGet(context.Background(), &flight.Ticket{Ticket: s.Ticket}, grpc.ForceCodecV2(d))
			for err == nil {
				_, err = stream.Recv()
			}
			if !errors.Is(err, io.EOF) {
				t.Fatal(err)
			}
		}
		if err := out.Encode(reading{d.bytes, processTime(t) - start, time.Since(began)}); err != nil {
			t.Fatal(err)
		}
	}
}

// clientProcess runs TestFlightClient beside the servers, so that the processor
// time of this process is theirs alone.
type clientProcess struct {
	in  *json.Encoder
	out *json.Decoder
}

func startClient(t *testing.T) *clientProcess {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestFlightClient$", "-flight-client")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = in.Close(); _ = cmd.Wait() })
	return &clientProcess{in: json.NewEncoder(in), out: json.NewDecoder(out)}
}

// figures are nanoseconds by byte: of the server, of both ends, and wall time.
type figures struct{ server, both, wall float64 }

func (c *clientProcess) run(t *testing.T, s side) figures {
	t.Helper()
	start := processTime(t)
	if err := c.in.Encode(s); err != nil {
		t.Fatal(err)
	}
	var r reading
	if err := c.out.Decode(&r); err != nil {
		t.Fatal("the client has failed: ", err)
	}
	spent, n := processTime(t)-start, float64(r.Bytes)
	return figures{server: float64(spent) / n, both: float64(spent+r.CPU) / n, wall: float64(r.Wall) / n}
}

func processTime(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// records decodes the stream with arrow-go's reader, batch by batch.
func (s side) records(t *testing.T) *flight.Reader {
	t.Helper()
	stream, err := pb.NewFlightServiceClient(dial(t, s.Addr)).DoGet(context.Background(), &flight.Ticket{Ticket: s.Ticket})
	if err != nil {
		t.Fatal(err)
	}
	r, err := flight.NewRecordReader(stream)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// sameAnswer compares the rows of both sides, whatever their batches.
func sameAnswer(t *testing.T, a, b side) {
	t.Helper()
	left, right := a.records(t), b.records(t)
	defer left.Release()
	defer right.Release()
	at, total := int64(0), int64(0)
	for left.Next() {
		l := left.RecordBatch()
		for from := int64(0); from < l.NumRows(); {
			if right.RecordBatch() == nil || at == right.RecordBatch().NumRows() {
				if at = 0; !right.Next() {
					t.Fatalf("the second answer ends after %d rows: %v", total, right.Err())
				}
			}
			r := right.RecordBatch()
			n := min(l.NumRows()-from, r.NumRows()-at)
			x, y := l.NewSlice(from, from+n), r.NewSlice(at, at+n)
			if !array.RecordEqual(x, y) {
				t.Fatalf("the answers differ within %d rows from row %d", n, total)
			}
			x.Release()
			y.Release()
			from, at, total = from+n, at+n, total+n
		}
	}
	if left.Err() != nil || right.Next() || right.Err() != nil {
		t.Fatalf("the first answer ends after %d rows: %v, %v", total, left.Err(), right.Err())
	}
}

// TestFlightBench measures what a server spends on results and prints a line of
// JSON for each case. Both sides have the same source, gRPC options and client.
// Goal: ratio ≥ 1.5. It asserts equal answers, never times.
func TestFlightBench(t *testing.T) {
	if !*flightBench {
		t.Skip("run with make bench-flight")
	}
	client := startClient(t)
	for _, bc := range benchCases {
		t.Run(bc.name, func(t *testing.T) {
			list := bc.chunks(bc.rows())
			c := serve(t, bc.engine(list), Options{Mem: memory.NewGoAllocator()})
			info, err := c.info("q")
			if err != nil {
				t.Fatal(err)
			}
			times := max(1, (512<<20)/(bc.rowSize*bc.rows()))
			ours := side{c.conn.Target(), info.Endpoint[0].Ticket.Ticket, times}
			theirs := side{stock(t, func() *rows.Reader {
				return rows.Of(rows.Schema(bc.columns), rows.Types(bc.columns), memory.NewGoAllocator(), &enginetest.Chunks{List: list})
			}), nil, times}
			sameAnswer(t, ours, theirs)
			report(t, bc, client, ours, theirs)
		})
	}
}

// report runs both sides in turn and prints the medians: the server's processor
// time, then both ends', then the wall.
func report(t *testing.T, bc benchCase, client *clientProcess, ours, theirs side) {
	t.Helper()
	var got [2][]figures
	for range *flightRuns {
		for i, s := range []side{ours, theirs} {
			got[i] = append(got[i], client.run(t, s))
		}
	}
	median := func(side int, of func(figures) float64) float64 {
		slices.SortFunc(got[side], func(a, b figures) int { return cmp.Compare(of(a), of(b)) })
		return of(got[side][len(got[side])/2])
	}
	server := func(f figures) float64 { return f.server }
	both := func(f figures) float64 { return f.both }
	wall := func(f figures) float64 { return f.wall }
	round := func(x float64) float64 { return math.Round(1000*x) / 1000 }
	line, err := json.Marshal(struct {
		Bench  string  `json:"bench"`
		Case   string  `json:"case"`
		Ours   float64 `json:"ours"`
		Anchor string  `json:"anchor"`
		Theirs float64 `json:"theirs"`
		Ratio  float64 `json:"ratio"`
		Unit   string  `json:"unit"`

		Rows      int     `json:"rows"`
		OursMin   float64 `json:"ours_min"`
		TheirsMin float64 `json:"theirs_min"`
		RatioBoth float64 `json:"ratio_both_ends"`
		OursCPU   float64 `json:"ours_mb_per_cpu_s"`
		TheirsCPU float64 `json:"theirs_mb_per_cpu_s"`
		OursWall  float64 `json:"ours_mb_per_s"`
		TheirWall float64 `json:"theirs_mb_per_s"`
	}{
		"flight", bc.name, round(median(0, server)), "arrow-go flight.NewRecordWriter", round(median(1, server)),
		round(median(1, server) / median(0, server)), "cpu ns/byte", bc.rows(),
		round(got[0][0].server), round(got[1][0].server), round(median(1, both) / median(0, both)),
		round(1e3 / median(0, both)), round(1e3 / median(1, both)), round(1e3 / median(0, wall)), round(1e3 / median(1, wall)),
	})
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println(string(line))
}
