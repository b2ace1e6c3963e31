package flightsql

import (
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	pb "github.com/apache/arrow-go/v18/arrow/flight/gen/flight"
	"google.golang.org/grpc/codes"

	"github.com/loamdb/loam/internal/snapshot"
)

// TestConsistencyHeaders: what headers say of the queries of a call, and of no other.
func TestConsistencyHeaders(t *testing.T) {
	c := real(t, Options{})
	c.run("CREATE STREAM s (id TEXT)")
	sc := arrow.NewSchema([]arrow.Field{{Name: "id", Type: texts}}, nil)
	results, trailers, err := c.put(stream(t, streamPath("s"), sc, `[{"id":"a"},{"id":"b"}]`)...)
	if err != nil || len(results) != 1 {
		t.Fatal(err)
	}
	text := strings.Join(trailers.Get(headerToken), "")
	token, err := snapshot.ParseToken(text)
	if err != nil {
		t.Fatal(err)
	}
	c.run("INSERT INTO s VALUES ('c')")
	c.with(headerToken, text).want("SELECT count(*) FROM s", "3")
	c.with(headerToken, text+", "+text).want("SELECT count(*) FROM s", "3")
	c.with(headerConsistency, "eventual").want("SELECT count(*) FROM s", "3")
	c.with(headerPinManifest, "0").with(headerToken, text).want("SELECT count(*) FROM s", "2")
	c.want("SELECT count(*) FROM s", "3")
	ask := func(c *client) error {
		_, err := c.GetFlightInfo(c.ctx(), commandOf(t, &pb.CommandStatementQuery{Query: "SELECT count(*) FROM s"}))
		return err
	}
	token.Offsets = []uint64{1, 2}
	for name, bad := range map[string]*client{
		"an unknown level":             c.with(headerConsistency, "soon"),
		"a level without its token":    c.with(headerConsistency, "token"),
		"a pin without a token":        c.with(headerPinManifest, "1"),
		"a token of other partitions":  c.with(headerToken, token.String()),
		"a token that is none, of two": c.with(headerToken, text+",v1:x"),
	} {
		code(t, ask(bad), codes.InvalidArgument, name)
	}
	c.run("SET loam.consistency_wait = '20ms'")
	c.run("DROP STREAM s", "CREATE STREAM s (id TEXT)")
	code(t, ask(c.with(headerToken, text)), codes.InvalidArgument, "a token of a stream that was dropped")
}
