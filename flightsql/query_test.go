package flightsql

import (
	"fmt"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql/schema_ref"
	pb "github.com/apache/arrow-go/v18/arrow/flight/gen/flight"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	"github.com/loamdb/loam/flightsql/internal/meta"
)

func TestAQueryHasOneEndpointAndOneSchema(t *testing.T) {
	c := real(t, Options{})
	for _, sql := range []string{
		"SELECT 1 AS one, 'a' AS a", " SELECT 1; ", "SELECT 1 AS a, 2 AS a", "SELECT 1 AS x WHERE false",
		"VALUES (1), (2)", "WITH w AS (SELECT 1 AS x) SELECT * FROM w", "EXPLAIN SELECT 1", "SHOW TABLES", "SELECT 1 LIMIT 0",
	} {
		d := commandOf(t, &pb.CommandStatementQuery{Query: sql})
		info, err := c.GetFlightInfo(c.ctx(), d)
		if err != nil {
			t.Errorf("%s: %v", sql, err)
			continue
		}
		if len(info.Endpoint) != 1 || len(info.Endpoint[0].Location) != 0 || info.TotalRecords != -1 || info.TotalBytes != -1 || !proto.Equal(info.FlightDescriptor, d) {
			t.Errorf("%s: %v", sql, info)
		}
		planned, err := flight.DeserializeSchema(info.Schema, memory.DefaultAllocator)
		if err != nil {
			t.Fatal(err)
		}
		asked, err := c.GetSchema(c.ctx(), d)
		if err != nil || string(asked.Schema) != string(info.Schema) {
			t.Errorf("%s: GetSchema differs, %v", sql, err)
		}
		got, err := c.all(info)
		if err != nil {
			t.Errorf("%s: %v", sql, err)
			continue
		}
		if !got.schema.Equal(planned) || len(got.recs) == 0 {
			t.Errorf("%s: planned %v, got %v in %d batches", sql, planned, got.schema, len(got.recs))
		}
		again, err := c.all(info)
		if err != nil || again.text() != got.text() {
			t.Errorf("%s: a second time %q, %v", sql, again.text(), err)
		}
	}
}

func TestChangesRunOnceAtGetFlightInfo(t *testing.T) {
	c := real(t, Options{})
	for _, s := range []struct {
		sql  string
		rows int64
	}{
		{"CREATE TABLE t (a INT)", 0}, {"INSERT INTO t VALUES (1), (2), (3)", 3}, {"UPDATE t SET a = a + 10 WHERE a > 1", 2}, {"DELETE FROM t WHERE a = 1", 1},
	} {
		info, err := c.info(s.sql)
		if err != nil {
			t.Fatal(err)
		}
		if info.TotalRecords != s.rows || len(info.Endpoint) != 1 {
			t.Errorf("%s: %d rows, %d endpoints", s.sql, info.TotalRecords, len(info.Endpoint))
		}
		for range 2 { // redeemed twice or never, it has run once
			got, err := c.all(info)
			if err != nil || len(got.recs) != 0 || got.schema.NumFields() != 0 {
				t.Errorf("%s: %+v, %v", s.sql, got, err)
			}
		}
	}
	c.want("SELECT a FROM t ORDER BY a", "12 13")
	if _, err := c.GetSchema(c.ctx(), commandOf(t, &pb.CommandStatementQuery{Query: "DELETE FROM t"})); err != nil {
		t.Error(err)
	}
	c.want("SELECT count(*) FROM t", "2")
}

func TestMessagesStaySmall(t *testing.T) {
	c := real(t, Options{})
	got, err := c.query("SELECT a, repeat('x', 1000) AS s FROM generate_series(1, 20000) AS g(a)")
	if err != nil || got.rows != 20000 || got.largest > 2<<20+64<<10 {
		t.Errorf("%d rows, the largest message has %d bytes, %v", got.rows, got.largest, err)
	}
	got, err = c.query("SELECT a FROM generate_series(1, 1000000) AS g(a)")
	if err != nil || got.rows != 1_000_000 || len(got.recs) > 60 {
		t.Errorf("%d rows in %d batches, %v", got.rows, len(got.recs), err)
	}
	got, err = c.query("SELECT repeat('y', 3000000) AS s FROM generate_series(1, 3) AS g(a)")
	if err != nil || len(got.recs) != 3 {
		t.Errorf("%d batches, %v", len(got.recs), err)
	}
}

func TestTextSurvivesTheTicket(t *testing.T) {
	c := real(t, Options{})
	for _, text := range []string{"a&b:c", "line\nbreak", "🜁 grüße", strings.Repeat("x", 200_000)} {
		c.want("SELECT '"+text+"' AS t", text)
	}
}

func TestMaxEndpoints(t *testing.T) {
	c := real(t, Options{})
	c.run("CREATE COLLECTION docs (id TEXT PRIMARY KEY, n INT)")
	for i := range 3 {
		c.run(fmt.Sprintf("INSERT INTO docs VALUES ('a%d', 1), ('b%d', 2)", i, i))
		if _, err := c.GetFlightInfo(c.ctx(), &flight.FlightDescriptor{Cmd: []byte(`{"collection": "docs", "tail": "wait"}`)}); err != nil {
			t.Fatal(err)
		}
	}
	many := c.with(headerMaxEndpoints, "1").with(headerMaxEndpoints, "8") // the last one counts
	info, err := many.info("SELECT id FROM docs WHERE n = 2")
	if err != nil || len(info.Endpoint) < 2 {
		t.Fatalf("%d endpoints, %v", len(info.GetEndpoint()), err)
	}
	got, err := c.all(info)
	if err != nil || got.rows != 3 {
		t.Errorf("%d rows, %v", got.rows, err)
	}
	for _, sql := range []string{"SELECT id FROM docs ORDER BY id", "SELECT id FROM docs LIMIT 2", "SELECT count(*) FROM docs"} {
		if info, err := many.info(sql); err != nil || len(info.Endpoint) != 1 {
			t.Errorf("%s: %d endpoints, %v", sql, len(info.GetEndpoint()), err)
		}
	}
	for _, bad := range []string{"0", "x", "-1", "1e9"} {
		_, err := c.with(headerMaxEndpoints, bad).info("SELECT 1")
		code(t, err, codes.InvalidArgument, "loam-max-endpoints "+bad)
	}
}

func TestMetadataOverTheWire(t *testing.T) {
	c := real(t, Options{})
	c.run("CREATE COLLECTION docs (id TEXT PRIMARY KEY, emb VECTOR(4) DISTANCE cosine)", "CREATE TABLE t (a INT)")
	for _, m := range []struct {
		cmd  proto.Message
		want string
	}{
		{&pb.CommandGetCatalogs{}, "loam"},
		{&pb.CommandGetTables{}, "loam|public|docs|TABLE loam|public|t|TABLE"},
		{&pb.CommandGetPrimaryKeys{Table: "docs"}, "loam|public|docs|id|1|docs_pkey"},
		{&pb.CommandGetSqlInfo{Info: []uint32{4711}}, ""},
		{&pb.CommandGetXdbcTypeInfo{DataType: proto.Int32(4711)}, ""},
		{&pb.CommandGetCrossReference{PkTable: "a", FkTable: "b"}, ""},
	} {
		info, err := c.GetFlightInfo(c.ctx(), commandOf(t, m.cmd))
		if err != nil || len(info.Endpoint) != 1 || info.TotalRecords != -1 {
			t.Errorf("%T: %v, %v", m.cmd, info, err)
			continue
		}
		got, err := c.all(info)
		if err != nil || got.text() != m.want || !got.schema.Equal(meta.Schema(m.cmd)) || len(got.recs) != 1 {
			t.Errorf("%T: got %q in %d batches, %v", m.cmd, got.text(), len(got.recs), err)
		}
	}
	with := &pb.CommandGetTables{IncludeSchema: true, TableNameFilterPattern: proto.String("docs")}
	info, err := c.GetFlightInfo(c.ctx(), commandOf(t, with))
	if err != nil {
		t.Fatal(err)
	}
	got, err := c.all(info)
	if err != nil || !got.schema.Equal(schema_ref.TablesWithIncludedSchema) || got.rows != 1 {
		t.Errorf("%+v, %v", got, err)
	}
	flights, err := c.ListFlights(c.ctx(), &flight.Criteria{})
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for f, err := flights.Recv(); err == nil; f, err = flights.Recv() {
		paths = append(paths, strings.Join(f.FlightDescriptor.Path, "/"))
	}
	if strings.Join(paths, " ") != "public/collections/docs public/tables/t" {
		t.Errorf("flights %q", paths)
	}
}

func TestPoll(t *testing.T) {
	c := real(t, Options{})
	poll, err := c.PollFlightInfo(c.ctx(), commandOf(t, &pb.CommandStatementQuery{Query: "SELECT 7"}))
	if err != nil || poll.FlightDescriptor != nil || poll.GetProgress() != 1 {
		t.Fatalf("%v, %v", poll, err)
	}
	if got, err := c.all(poll.Info); err != nil || got.text() != "7" {
		t.Errorf("%v, %v", got, err)
	}
}

func TestTransactionsAreRefused(t *testing.T) {
	c := real(t, Options{})
	_, err := c.GetFlightInfo(c.ctx(), commandOf(t, &pb.CommandStatementQuery{Query: "SELECT 1", TransactionId: []byte("x")}))
	code(t, err, codes.Unimplemented, "a transaction")
}

// TestKeywords: tools quote the words that SqlInfo lists, so those need it and the
// words of Loam's own statements do not.
func TestKeywords(t *testing.T) {
	c := real(t, Options{})
	_, got := described(t, c, &pb.CommandGetSqlInfo{Info: []uint32{508}})
	words := strings.FieldsFunc(got.text(), func(r rune) bool { return r < 'A' || r > 'Z' })
	if len(words) < 5 {
		t.Fatalf("words %q", words)
	}
	for _, word := range words {
		// ISNULL and NOTNULL are read as operators.
		if got, err := c.query("SELECT 1 " + word); err == nil && strings.EqualFold(got.schema.Field(0).Name, word) {
			t.Errorf("%s needs no quotes", word)
		}
		c.want(`SELECT 1 "`+word+`"`, "1")
	}
	for _, word := range []string{"COLLECTION", "FULLTEXT", "NAMESPACE", "SPARSE", "VECTOR", "STREAM", "LINK", "DATE", "KEY", "VALUE"} {
		c.want("SELECT 1 AS "+word, "1")
	}
}
