package ingest

import (
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/loamdb/loam/internal/fail"
)

// script is a stream of prepared messages that ends with err, io.EOF by default.
type script struct {
	messages []*flight.FlightData
	err      error
}

func (s *script) Recv() (*flight.FlightData, error) {
	if len(s.messages) == 0 {
		if s.err != nil {
			return nil, s.err
		}
		return nil, io.EOF
	}
	m := s.messages[0]
	s.messages = s.messages[1:]
	return m, nil
}

// Send implements flight.DataStreamWriter: it records.
func (s *script) Send(m *flight.FlightData) error {
	s.messages = append(s.messages, &flight.FlightData{
		FlightDescriptor: m.FlightDescriptor, AppMetadata: m.AppMetadata,
		DataHeader: append([]byte(nil), m.DataHeader...), DataBody: append([]byte(nil), m.DataBody...),
	})
	return nil
}

// sample records batches of many types, with a descriptor on the first message.
func sample(t testing.TB, batches int) *script {
	t.Helper()
	mem := memory.NewGoAllocator()
	sc := arrow.NewSchema([]arrow.Field{
		{Name: "i", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
		{Name: "s", Type: arrow.BinaryTypes.String, Nullable: true},
		{Name: "b", Type: arrow.FixedWidthTypes.Boolean, Nullable: true},
		{Name: "v", Type: arrow.FixedSizeListOf(3, arrow.PrimitiveTypes.Float32), Nullable: true},
		{Name: "l", Type: arrow.ListOf(arrow.BinaryTypes.String), Nullable: true},
		{Name: "st", Type: arrow.StructOf(arrow.Field{Name: "x", Type: arrow.PrimitiveTypes.Int32, Nullable: true}), Nullable: true},
		{Name: "d", Type: &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}, Nullable: true},
	}, nil)
	rec, _, err := array.RecordFromJSON(mem, sc, stringsReader(`[
		{"i": 1, "s": "one", "b": true, "v": [1,2,3], "l": ["a","bc"], "st": {"x": 5}, "d": "k"},
		{"i": null, "s": null, "b": null, "v": null, "l": null, "st": null, "d": null},
		{"i": 3, "s": "three", "b": false, "v": [4,5,6], "l": [], "st": {"x": null}, "d": "k"}]`))
	if err != nil {
		t.Fatal(err)
	}
	defer rec.Release()
	out := &script{}
	w := flight.NewRecordWriter(out, ipc.WithSchema(sc), ipc.WithDictionaryDeltas(false))
	w.SetFlightDescriptor(&flight.FlightDescriptor{Type: flight.DescriptorPATH, Path: []string{"collections", "c"}})
	for range batches {
		if err := w.Write(rec); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out
}

// read reads a whole stream and returns its rows.
func read(s Receiver, mem memory.Allocator) (int64, error) {
	r, err := NewReader(s, mem)
	if err != nil {
		return 0, err
	}
	defer r.Release()
	rows := int64(0)
	for {
		rec, err := r.Next()
		if errors.Is(err, io.EOF) {
			return rows, nil
		}
		if err != nil {
			return rows, err
		}
		rows += rec.NumRows()
	}
}

func TestReadsBatchesAndReleasesThem(t *testing.T) {
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	rows, err := read(sample(t, 4), mem)
	if err != nil || rows != 12 {
		t.Fatal(rows, err)
	}
}

func TestFramesThatAreWrong(t *testing.T) {
	gone := errors.New("the connection broke")
	for _, c := range []struct {
		name   string
		change func(s *script)
		code   fail.Code
		rows   int64
	}{
		{"no message", func(s *script) { s.messages = nil }, fail.BadRequest, 0},
		{"no descriptor", func(s *script) { s.messages[0].FlightDescriptor = nil }, fail.BadRequest, 0},
		{"descriptor alone", func(s *script) { s.messages = []*flight.FlightData{{FlightDescriptor: &flight.FlightDescriptor{}}} }, fail.OK, 0},
		{"schema alone", func(s *script) { s.messages = s.messages[:1] }, fail.OK, 0},
		{"descriptor before the schema", func(s *script) {
			first := &flight.FlightData{FlightDescriptor: s.messages[0].FlightDescriptor}
			s.messages[0].FlightDescriptor = nil
			s.messages = append([]*flight.FlightData{first}, s.messages...)
		}, fail.OK, 6},
		{"only metadata in between", func(s *script) {
			s.messages = append(s.messages[:2:2], append([]*flight.FlightData{{AppMetadata: []byte("hello")}}, s.messages[2:]...)...)
		}, fail.OK, 6},
		{"no schema", func(s *script) {
			d := s.messages[0].FlightDescriptor
			s.messages = s.messages[1:]
			s.messages[0].FlightDescriptor = d
		}, fail.BadRequest, 0},
		{"garbage header", func(s *script) { s.messages[0].DataHeader = []byte("garbage garbage garbage") }, fail.BadRequest, 0},
		{"empty body", func(s *script) { s.messages[2].DataBody = nil }, fail.BadRequest, 0},
		{"half a body", func(s *script) { b := s.messages[2].DataBody; s.messages[2].DataBody = b[:len(b)/2] }, fail.BadRequest, 0},
		{"half a header", func(s *script) { b := s.messages[2].DataHeader; s.messages[2].DataHeader = b[:len(b)/2] }, fail.BadRequest, 0},
		{"the connection breaks", func(s *script) { s.messages, s.err = s.messages[:3], gone }, fail.Internal, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
			defer mem.AssertSize(t, 0)
			s := sample(t, 2)
			c.change(s)
			rows, err := read(s, mem)
			if fail.CodeOf(err) != c.code || rows != c.rows {
				t.Errorf("%d rows, %v; want %d rows, %s", rows, err, c.rows, c.code)
			}
			if c.code == fail.Internal && !errors.Is(err, gone) {
				t.Errorf("the stream's own error is lost: %v", err)
			}
		})
	}
}

func TestAClaimOfTooManyRows(t *testing.T) {
	sc := arrow.NewSchema([]arrow.Field{{Name: "n", Type: arrow.Null, Nullable: true}}, nil)
	rec := array.NewRecordBatch(sc, []arrow.Array{array.NewNull(MaxRows + 1)}, MaxRows+1)
	s := &script{}
	w := flight.NewRecordWriter(s, ipc.WithSchema(sc))
	w.SetFlightDescriptor(&flight.FlightDescriptor{})
	if err := w.Write(rec); err != nil {
		t.Fatal(err)
	}
	if _, err := read(s, memory.DefaultAllocator); !fail.Is(err, fail.TooLarge) {
		t.Errorf("got %v", err)
	}
}

func TestOffsetsThatLeaveTheirValues(t *testing.T) {
	s := sample(t, 1)
	body := s.messages[len(s.messages)-1].DataBody
	// Every 4-byte group in turn becomes a huge number: some are offsets.
	refused := 0
	for at := 0; at+4 <= len(body); at += 4 {
		bad := sample(t, 1)
		b := bad.messages[len(bad.messages)-1].DataBody
		b[at], b[at+1], b[at+2], b[at+3] = 0xff, 0xff, 0xff, 0x7f
		if _, err := read(bad, memory.DefaultAllocator); err != nil {
			refused++
			if !fail.Is(err, fail.BadRequest) {
				t.Errorf("at %d: %v", at, err)
			}
		}
	}
	if refused == 0 {
		t.Error("no damage was found")
	}
}

func FuzzReader(f *testing.F) {
	s := sample(f, 1)
	for i, m := range s.messages {
		f.Add(i, m.DataHeader, m.DataBody)
	}
	f.Fuzz(func(t *testing.T, at int, header, body []byte) {
		s := sample(t, 1)
		m := s.messages[uint(at)%uint(len(s.messages))]
		m.DataHeader, m.DataBody = header, body
		if len(body) > 1<<16 {
			return
		}
		_, err := read(s, memory.DefaultAllocator)
		if err != nil && fail.CodeOf(err) == fail.Internal {
			t.Errorf("untyped error: %v", err)
		}
	})
}

// TestDamagedBytes flips bytes anywhere: a typed error or an answer, never a
// panic, and never an allocation beyond the message's means.
func TestDamagedBytes(t *testing.T) {
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 1))
		s := sample(t, 1)
		m := s.messages[r.IntN(len(s.messages))]
		for range 1 + r.IntN(6) {
			b := m.DataHeader
			if r.IntN(4) == 0 {
				b = m.DataBody
			}
			if len(b) > 0 {
				b[r.IntN(len(b))] = []byte{0, 1, 0x7f, 0x80, 0xff, byte(r.IntN(256))}[r.IntN(6)]
			}
		}
		if _, err := read(s, memory.DefaultAllocator); err != nil && fail.CodeOf(err) == fail.Internal {
			t.Errorf("seed %d: %v", seed, err)
		}
	}
}

func TestWhatVerifyRefuses(t *testing.T) {
	s := sample(t, 1)
	schema, batch := s.messages[0], s.messages[len(s.messages)-1]
	for _, m := range s.messages {
		if err := verify(m.DataHeader, m.DataBody); err != nil {
			t.Fatalf("a sound message: %v", err)
		}
	}
	if err := verify(nil, nil); err == nil {
		t.Error("no header passes")
	}
	for n := range len(schema.DataHeader) {
		if err := verify(schema.DataHeader[:n], nil); err == nil && n < len(schema.DataHeader)/2 {
			t.Errorf("the first %d bytes pass", n)
		}
	}
	if err := verify(batch.DataHeader, batch.DataBody[:8]); err == nil {
		t.Error("a cut body passes")
	}
	// A metadata vector that claims 2^31 pairs costs an unverified reader 90 GB.
	huge := 0
	for at := 0; at+4 <= len(schema.DataHeader); at += 4 {
		bad := append([]byte(nil), schema.DataHeader...)
		binary.LittleEndian.PutUint32(bad[at:], 0x7fffffff)
		if verify(bad, nil) != nil {
			huge++
		}
	}
	if huge < 20 {
		t.Errorf("%d of the huge numbers were refused", huge)
	}
}

func TestCompressedBodies(t *testing.T) {
	plain := sample(t, 1)
	r, err := NewReader(plain, memory.DefaultAllocator)
	if err != nil {
		t.Fatal(err)
	}
	rec, err := r.Next()
	if err != nil {
		t.Fatal(err)
	}
	s := &script{}
	w := flight.NewRecordWriter(s, ipc.WithSchema(rec.Schema()), ipc.WithZstd())
	w.SetFlightDescriptor(&flight.FlightDescriptor{})
	if err := w.Write(rec); err != nil {
		t.Fatal(err)
	}
	last := s.messages[len(s.messages)-1]
	body := append([]byte(nil), last.DataBody...)
	if rows, err := read(s, memory.DefaultAllocator); err != nil || rows != 3 {
		t.Fatal(rows, err)
	}
	// Where a buffer begins with its unpacked size, claim a tebibyte.
	bombs := 0
	for at := 0; at+8 <= len(body); at += 8 {
		bad := append([]byte(nil), body...)
		binary.LittleEndian.PutUint64(bad[at:], 1<<40)
		if errors.Is(verify(last.DataHeader, bad), errUnpacked) {
			bombs++
		}
	}
	if bombs == 0 {
		t.Error("no bomb was refused")
	}
}
