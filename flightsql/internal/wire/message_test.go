package wire

import (
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/loamdb/loam/internal/fail"
)

// encoded is a stream that encodes messages as gRPC would, and keeps the buffers
// unless free.
type encoded struct {
	list []*flight.FlightData
	held []mem.BufferSlice
	free bool
}

func (e *encoded) SendMsg(m any) error {
	b, err := Codec().Marshal(m)
	if err != nil {
		return err
	}
	data := &flight.FlightData{}
	if err := proto.Unmarshal(b.Materialize(), data); err != nil {
		return err
	}
	e.list = append(e.list, data)
	if e.free {
		b.Free()
	} else {
		e.held = append(e.held, b)
	}
	return nil
}

// stock keeps what arrow-go's writer sends.
type stock struct{ list []*flight.FlightData }

func (s *stock) Send(m *flight.FlightData) error {
	s.list = append(s.list, proto.Clone(m).(*flight.FlightData))
	return nil
}

// checked is an allocator that must be empty at the end, after collections if need be.
func checked(t *testing.T) *memory.CheckedAllocator {
	t.Helper()
	m := memory.NewCheckedAllocator(memory.NewGoAllocator())
	t.Cleanup(func() {
		for i := 0; i < 200 && m.CurrentAlloc() != 0; i++ {
			runtime.GC()
			time.Sleep(5 * time.Millisecond)
		}
		m.AssertSize(t, 0)
	})
	return m
}

var everyType = arrow.NewSchema([]arrow.Field{
	{Name: "b", Type: arrow.FixedWidthTypes.Boolean, Nullable: true},
	{Name: "i", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
	{Name: "d", Type: &arrow.Decimal128Type{Precision: 20, Scale: 2}, Nullable: true},
	{Name: "s", Type: arrow.BinaryTypes.String, Nullable: true},
	{Name: "v", Type: arrow.FixedSizeListOf(3, arrow.PrimitiveTypes.Float32), Nullable: true},
	{Name: "l", Type: arrow.ListOf(arrow.BinaryTypes.String), Nullable: true},
	{Name: "p", Type: arrow.StructOf(arrow.Field{Name: "x", Type: arrow.PrimitiveTypes.Int32, Nullable: true}), Nullable: true},
	{Name: "n", Type: arrow.Null, Nullable: true},
}, nil)

// row is one row of everyType as JSON.
func row(t *rapid.T) string {
	maybe := func(name, text string) string {
		if rapid.IntRange(0, 4).Draw(t, name) == 0 {
			text = "null"
		}
		return `"` + name + `":` + text
	}
	text := strings.Repeat("x", rapid.SampledFrom([]int{0, 3, 13, 400, 2000}).Draw(t, "length"))
	return "{" + strings.Join([]string{
		maybe("b", "true"), maybe("i", "-7"), maybe("d", `"1.25"`), maybe("s", `"`+text+`"`), maybe("v", "[1,2,3.5]"),
		maybe("l", `["`+text+`",null,""]`), maybe("p", `{"x":3}`), `"n":null`,
	}, ",") + "}"
}

func records(t *rapid.T, m memory.Allocator) arrow.RecordBatch {
	rows := make([]string, rapid.IntRange(0, 300).Draw(t, "rows"))
	few := rapid.SliceOfN(rapid.Custom(row), 1, 6).Draw(t, "distinct")
	for i := range rows {
		rows[i] = few[i%len(few)]
	}
	rec, _, err := array.RecordFromJSON(m, everyType, strings.NewReader("["+strings.Join(rows, ",")+"]"))
	if err != nil {
		t.Fatal(err)
	}
	return rec
}

// TestMessagesAreThoseOfArrow compares every message with arrow-go's writer:
// whole batches and slices, with and without app_metadata.
func TestMessagesAreThoseOfArrow(t *testing.T) {
	m := checked(t)
	rapid.Check(t, func(t *rapid.T) {
		rec := records(t, m)
		defer rec.Release()
		n := rec.NumRows()
		from := rapid.Int64Range(0, n).Draw(t, "from")
		part := rec.NewSlice(from, rapid.Int64Range(from, n).Draw(t, "to"))
		defer part.Release()
		metadata := []byte(rapid.SampledFrom([]string{"", "m", strings.Repeat("meta", 1000)}).Draw(t, "metadata"))

		ours := &encoded{free: rapid.Bool().Draw(t, "free at once")}
		w := NewWriter(ours, everyType, m)
		theirs := &stock{}
		sw := flight.NewRecordWriter(theirs, ipc.WithSchema(everyType), ipc.WithAllocator(m))
		for _, r := range []arrow.RecordBatch{rec, part} {
			if err := w.Write(r, metadata); err != nil {
				t.Fatal(err)
			}
			if err := sw.WriteWithAppMetadata(r, metadata); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		_ = sw.Close()
		for _, b := range ours.held {
			b.Free()
		}
		theirs.list[0].AppMetadata = nil // arrow-go puts the first batch's on the schema as well
		if !slices.EqualFunc(ours.list, theirs.list, func(a, b *flight.FlightData) bool { return proto.Equal(a, b) }) {
			for i := range theirs.list {
				t.Errorf("message %d:\n  ours   %.300v\n  theirs %.300v", i, ours.list[i], theirs.list[i])
			}
		}
	})
}

func numbers(m memory.Allocator, n int) arrow.RecordBatch {
	b := array.NewInt64Builder(m)
	defer b.Release()
	for i := range n {
		b.Append(int64(i) * 0x0101010101)
	}
	col := b.NewArray()
	defer col.Release()
	return array.NewRecordBatch(numbered, []arrow.Array{col}, int64(n))
}

var numbered = arrow.NewSchema([]arrow.Field{{Name: "n", Type: arrow.PrimitiveTypes.Int64}}, nil)

func TestAStreamWithoutBatchesHasItsSchema(t *testing.T) {
	ours := &encoded{free: true}
	w := NewWriter(ours, numbered, checked(t))
	for range 2 {
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if len(ours.list) != 1 || len(ours.list[0].DataHeader) == 0 || ours.list[0].DataBody != nil {
		t.Errorf("got %v", ours.list)
	}
}

func TestABatchOfAnotherSchemaIsABug(t *testing.T) {
	m := checked(t)
	rec := numbers(m, 1)
	defer rec.Release()
	ours := &encoded{free: true}
	if err := NewWriter(ours, everyType, m).Write(rec, nil); !fail.Is(err, fail.Internal) || len(ours.list) != 0 {
		t.Errorf("got %v after %d messages", err, len(ours.list))
	}
}

// TestBytesLiveUntilTheLastBufferIsFree frees buffers one by one, some of them
// with further references, as the transport does.
func TestBytesLiveUntilTheLastBufferIsFree(t *testing.T) {
	m := checked(t)
	rec, _, err := array.RecordFromJSON(m, everyType, strings.NewReader("["+strings.Repeat(`{"i":1,"d":"1","s":"abcdefgh"},`, 999)+`{}]`))
	if err != nil {
		t.Fatal(err)
	}
	ours := &encoded{}
	if err := NewWriter(ours, everyType, m).Write(rec, nil); err != nil {
		t.Fatal(err)
	}
	rec.Release()
	buffers := slices.DeleteFunc(slices.Concat(ours.held...), func(b mem.Buffer) bool { _, copied := b.(mem.SliceBuffer); return copied })
	if len(buffers) < 3 {
		t.Fatalf("%d buffers are not copied", len(buffers))
	}
	again := buffers[0].Slice(0, 10)
	for _, b := range buffers {
		if m.CurrentAlloc() == 0 {
			t.Fatal("released before the last buffer was free")
		}
		b.Free()
	}
	if m.CurrentAlloc() == 0 {
		t.Fatal("released while a slice of a buffer was in use")
	}
	again.Free()
	if m.CurrentAlloc() != 0 {
		t.Errorf("%d bytes are held after the last buffer", m.CurrentAlloc())
	}
}

// TestForgottenMessagesComeBack: the transport loses a message without freeing it.
func TestForgottenMessagesComeBack(t *testing.T) {
	m := checked(t) // fails if it is not empty in the end
	rec := numbers(m, 10_000)
	defer rec.Release()
	if err := NewWriter(&encoded{}, numbered, m).Write(rec, nil); err != nil {
		t.Fatal(err)
	}
}

func TestOtherMessagesAreGRPCs(t *testing.T) {
	c := Codec()
	in := &flight.Ticket{Ticket: []byte("t")}
	b, err := c.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	out := &flight.Ticket{}
	if err := c.Unmarshal(b, out); err != nil || !proto.Equal(in, out) || c.Name() != "proto" {
		t.Errorf("%v, %v, codec %q", out, err, c.Name())
	}
}
