package flightsql

import (
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/flight"
	pb "github.com/apache/arrow-go/v18/arrow/flight/gen/flight"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"google.golang.org/grpc/codes"
)

// TestReturningRunsOnce: the schema is known before, the statement runs when
// FlightInfo is asked for, and its ticket gives the same rows any number of times.
func TestReturningRunsOnce(t *testing.T) {
	c := real(t, Options{})
	c.run("CREATE TABLE t (a INT, b TEXT)")
	for _, s := range []struct {
		sql, rows string
		count     int64
	}{
		{"INSERT INTO t VALUES (1, 'x'), (2, 'y') RETURNING b, a + 10 AS more", "x|11 y|12", 2},
		{"UPDATE t SET a = a * 2 WHERE b = 'y' RETURNING *", "4|y", 1},
		{"DELETE FROM t WHERE a = 4 RETURNING a", "4", 1},
		{"DELETE FROM t WHERE a = 4 RETURNING a", "", 0},
	} {
		d := commandOf(t, &pb.CommandStatementQuery{Query: s.sql})
		asked, err := c.GetSchema(c.ctx(), d)
		if err != nil {
			t.Fatal(err)
		}
		info, err := c.GetFlightInfo(c.ctx(), d)
		if err != nil {
			t.Fatal(err)
		}
		if string(asked.Schema) != string(info.Schema) || info.TotalRecords != s.count || len(info.Endpoint) != 1 {
			t.Errorf("%s: %v", s.sql, info)
		}
		for range 2 {
			got, err := c.all(info)
			if err != nil || len(got.recs) == 0 || got.text() != s.rows {
				t.Errorf("%s: %q, %v", s.sql, got.text(), err)
			}
		}
	}
	c.want("SELECT a, b FROM t", "1|x")
	_, err := c.info("INSERT INTO t VALUES (1, 'x') RETURNING 1 / (a - 1)")
	code(t, err, codes.InvalidArgument, "a division by zero in RETURNING")
	c.want("SELECT count(*) FROM t", "1")
}

// TestReturningPrepared: every row of parameters runs once and answers its rows.
func TestReturningPrepared(t *testing.T) {
	c := real(t, Options{})
	c.run("CREATE TABLE t (a INT, b TEXT)")
	p, err := c.prepare("INSERT INTO t VALUES ($1, $2) RETURNING a, upper(b) AS big")
	if err != nil {
		t.Fatal(err)
	}
	schema, err := flight.DeserializeSchema(p.DatasetSchema, memory.DefaultAllocator)
	if err != nil || schema.NumFields() != 2 || p.GetIsUpdate() {
		t.Errorf("%v, is_update %v, %v", schema, p.GetIsUpdate(), err)
	}
	handle, err := c.bound(p.PreparedStatementHandle, columnsOf(arrow.PrimitiveTypes.Int32, arrow.BinaryTypes.String), `[{"a": 1, "b": "x"}, {"a": 2, "b": "y"}]`)
	if err != nil {
		t.Fatal(err)
	}
	got, info, err := c.execute(handle)
	if err != nil || got.text() != "1|X 2|Y" || info.TotalRecords != 2 {
		t.Errorf("%q, %v", got.text(), err)
	}
	// As an update it runs too, and tells the count alone.
	d := commandOf(t, &pb.CommandPreparedStatementUpdate{PreparedStatementHandle: p.PreparedStatementHandle})
	results, _, err := c.put(stream(t, d, columnsOf(arrow.PrimitiveTypes.Int32, arrow.BinaryTypes.String), `[{"a": 3, "b": "z"}]`)...)
	if err != nil || counted(t, results) != 1 {
		t.Error(err)
	}
	c.want("SELECT count(*), sum(a) FROM t", "3|6")
}

// TestLargeReturning: rows that are too many for a ticket stay on the server.
func TestLargeReturning(t *testing.T) {
	c := real(t, Options{})
	c.run("CREATE TABLE t (a INT, b TEXT)")
	info, err := c.info("INSERT INTO t SELECT a, repeat('x', 200) FROM generate_series(1, 5000) AS g (a) RETURNING a, b")
	if err != nil {
		t.Fatal(err)
	}
	if n := len(info.Endpoint[0].Ticket.Ticket); n > 4096 {
		t.Errorf("a ticket of %d bytes", n)
	}
	for range 2 {
		got, err := c.all(info)
		if err != nil || got.rows != 5000 || !strings.HasPrefix(got.text(), "1|xxx") {
			t.Errorf("%d rows, %v", got.rows, err)
		}
	}
}
