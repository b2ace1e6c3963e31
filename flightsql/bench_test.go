package flightsql

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/loamdb/loam/flightsql/internal/enginetest"
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

// BenchmarkStream sends chunks of one BIGINT column that cost nothing to make:
// the wire alone. The bytes are those of the values.
func BenchmarkStream(b *testing.B) {
	const chunks = 2048
	list := make([]*vec.Chunk, chunks)
	for i := range list {
		list[i] = full()
	}
	b.SetBytes(chunks * vec.ChunkRows * 8)
	for b.Loop() {
		b.StopTimer()
		c := serve(b, scripted(&enginetest.Chunks{List: list}), Options{Mem: memory.NewGoAllocator()})
		info, err := c.info("q")
		if err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
		stream, err := c.DoGet(c.ctx(), &flight.Ticket{Ticket: info.Endpoint[0].Ticket.Ticket})
		if err != nil {
			b.Fatal(err)
		}
		for err == nil {
			_, err = stream.Recv()
		}
	}
}
