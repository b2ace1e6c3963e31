package flightsql

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/flight"
	pb "github.com/apache/arrow-go/v18/arrow/flight/gen/flight"
	"google.golang.org/grpc/codes"
)

func streamPath(name string) *flight.FlightDescriptor {
	return &flight.FlightDescriptor{Type: flight.DescriptorPATH, Path: []string{"streams", name}}
}

// receipts are the acknowledgements of a DoPut, in short.
func receipts(t *testing.T, results []*flight.PutResult) []string {
	t.Helper()
	var out []string
	for _, r := range results {
		var a struct {
			Rows   int64
			Placed []struct {
				Partition int
				First     uint64 `json:"first_offset"`
				Records   int64
			}
			Duplicate bool
		}
		if err := json.Unmarshal(r.AppMetadata, &a); err != nil {
			t.Fatal(err)
		}
		out = append(out, fmt.Sprint(a.Rows, a.Placed, a.Duplicate))
	}
	return out
}

// TestPutToAStream: by path with partitions, and by the ingest command.
func TestPutToAStream(t *testing.T) {
	c := real(t, Options{})
	c.run("CREATE STREAM s (id TEXT, n BIGINT DEFAULT 7) WITH (partitions = 2, key = 'id')", "CREATE TABLE t (id TEXT)")
	sc := arrow.NewSchema([]arrow.Field{{Name: "id", Type: texts, Nullable: true}, {Name: "_partition", Type: int64s, Nullable: true}}, nil)
	results, _, err := c.put(stream(t, streamPath("s"), sc, `[{"id":"a","_partition":1},{"id":"b","_partition":0}]`, `[{"id":null,"_partition":null}]`)...)
	if err != nil {
		t.Fatal(err)
	}
	if got := receipts(t, results); got[0] != "2 [{0 0 1} {1 0 1}] false" || len(got) != 2 {
		t.Errorf("%q", got)
	}
	c.want("SELECT id, n, _ingest_partition FROM s WHERE id IS NOT NULL ORDER BY id", "a|7|1 b|7|0")
	if n, _, err := c.ingest(&pb.CommandStatementIngest{Table: "s", TableDefinitionOptions: modes["append"]}, arrow.NewSchema([]arrow.Field{{Name: "id", Type: texts}, {Name: "n", Type: int64s}}, nil), `[{"id":"c","n":1}]`); n != 1 || err != nil {
		t.Errorf("%d rows ingested, %v", n, err)
	}
	c.want("SELECT count(*) FROM s", "4")
	op := arrow.NewSchema([]arrow.Field{{Name: "id", Type: texts}, {Name: "_op", Type: texts}}, nil)
	for name, put := range map[string][]*flight.FlightData{
		"a partition that is not there": stream(t, streamPath("s"), sc, `[{"id":"a","_partition":2}]`),
		"a partition below 0":           stream(t, streamPath("s"), sc, `[{"id":"a","_partition":-1}]`),
		"a delete":                      stream(t, streamPath("s"), op, `[{"id":"a","_op":"delete"}]`),
		"a table as a stream":           stream(t, streamPath("t"), op, `[{"id":"a","_op":"upsert"}]`),
	} {
		_, _, err := c.put(put...)
		code(t, err, codes.InvalidArgument, name)
	}
	if _, _, err := c.ingest(&pb.CommandStatementIngest{Table: "s", TableDefinitionOptions: modes["replace"]}, arrow.NewSchema([]arrow.Field{{Name: "id", Type: texts}}, nil), `[{"id":"c"}]`); err == nil {
		t.Error("an ingest replaced a stream by a table")
	}
	c.want("SELECT count(*) FROM s", "4")
}

// TestPutByAProducer: each batch of a DoPut has the next sequence, and one that is
// sent again is answered as the first time.
func TestPutByAProducer(t *testing.T) {
	c := real(t, Options{})
	c.run("CREATE STREAM s (id TEXT)", "CREATE COLLECTION docs (id TEXT PRIMARY KEY)")
	sc := arrow.NewSchema([]arrow.Field{{Name: "id", Type: texts}}, nil)
	as := func(epoch, sequence string) *client {
		return c.with(headerProducer, "p").with(headerEpoch, epoch).with(headerSequence, sequence)
	}
	send := func(c *client, batches ...string) ([]string, error) {
		results, _, err := c.put(stream(t, streamPath("s"), sc, batches...)...)
		return receipts(t, results), err
	}
	got, err := send(as("1", "0"), `[{"id":"a"},{"id":"b"}]`, `[]`, `[{"id":"c"}]`)
	if err != nil || fmt.Sprint(got) != "[2 [{0 0 2}] false 0 [] false 1 [{0 2 1}] false]" {
		t.Fatalf("%q %v", got, err)
	}
	got, err = send(as("1", "1"), `[{"id":"c"}]`, `[{"id":"d"}]`)
	if err != nil || fmt.Sprint(got) != "[1 [{0 2 1}] true 1 [{0 3 1}] false]" {
		t.Fatalf("%q %v", got, err)
	}
	if got, err = send(as("1", "3"), `[{"id":"e"}]`, `[{"id":"f"}]`); err != nil || len(got) != 2 {
		t.Fatalf("%q %v", got, err)
	}
	c.want("SELECT string_agg(id, '' ORDER BY _ingest_offset) FROM s", "abcdef")
	_, err = send(as("1", "7"), `[{"id":"x"}]`)
	code(t, err, codes.InvalidArgument, "a gap")
	_, err = send(as("0", "5"), `[{"id":"x"}]`)
	code(t, err, codes.InvalidArgument, "an old epoch")
	_, err = send(c.with(headerProducer, "p"), `[{"id":"x"}]`)
	code(t, err, codes.InvalidArgument, "no sequence")
	_, err = send(c.with(headerEpoch, "1"), `[{"id":"x"}]`)
	code(t, err, codes.InvalidArgument, "no name")
	_, _, err = as("1", "5").put(stream(t, &flight.FlightDescriptor{Type: flight.DescriptorPATH, Path: []string{"collections", "docs"}}, sc, `[{"id":"x"}]`)...)
	code(t, err, codes.InvalidArgument, "a producer of a collection")
	c.want("SELECT count(*) FROM s", "6")
	c.want("SELECT count(*) FROM docs", "0")
}
