package flightsql

import (
	"net"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight"
	pb "github.com/apache/arrow-go/v18/arrow/flight/gen/flight"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	"github.com/loamdb/loam/flightsql/internal/meta"
)

// The tests of this file are named for public bug reports about other servers; the
// page docs/conformance.md lists them all, with those that other suites hold.

// described asks for a command's FlightInfo and its rows, and compares the schemas
// of both, and of GetSchema.
func described(t *testing.T, c *client, cmd proto.Message) (*flight.FlightInfo, *table) {
	t.Helper()
	d := commandOf(t, cmd)
	info, err := c.GetFlightInfo(c.ctx(), d)
	if err != nil {
		t.Fatalf("%T: %v", cmd, err)
	}
	planned, err := flight.DeserializeSchema(info.Schema, memory.DefaultAllocator)
	if err != nil {
		t.Fatalf("%T: %v", cmd, err)
	}
	got, err := c.all(info)
	if err != nil || !got.schema.Equal(planned) {
		t.Errorf("%T: FlightInfo says %v, the rows %v, %v", cmd, planned, got.schema, err)
	}
	asked, err := c.GetSchema(c.ctx(), d)
	if err != nil || string(asked.Schema) != string(info.Schema) {
		t.Errorf("%T: GetSchema differs: %v", cmd, err)
	}
	return info, got
}

// TestOrionbelt433: GetTables without schemas has four columns, with them five, in
// FlightInfo and in the rows alike.
func TestOrionbelt433(t *testing.T) {
	c := real(t, Options{})
	c.run("CREATE TABLE t (a INT)")
	for with, want := range map[bool]int{false: 4, true: 5} {
		if _, got := described(t, c, &pb.CommandGetTables{IncludeSchema: with}); got.schema.NumFields() != want {
			t.Errorf("include_schema %v: %d columns", with, got.schema.NumFields())
		}
	}
}

// TestXtdb5551: the schema of a table is never empty, also of one made a moment ago.
func TestXtdb5551(t *testing.T) {
	c := real(t, Options{})
	for _, name := range []string{"a", "b", "c"} {
		c.run("CREATE TABLE "+name+" (n INT, s TEXT)", "CREATE COLLECTION d"+name+" (id TEXT PRIMARY KEY)")
		_, got := described(t, c, &pb.CommandGetTables{IncludeSchema: true})
		schemas := got.recs[0].Column(4).(*array.Binary)
		for i := range schemas.Len() {
			s, err := flight.DeserializeSchema(schemas.Value(i), memory.DefaultAllocator)
			if err != nil || s.NumFields() == 0 {
				t.Errorf("table %d after %s: %v, %v", i, name, s, err)
			}
		}
	}
}

// TestArrowRs7637: which columns of metadata may be NULL is as specified.
func TestArrowRs7637(t *testing.T) {
	c := real(t, Options{})
	for _, cmd := range []proto.Message{
		&pb.CommandGetCatalogs{}, &pb.CommandGetDbSchemas{}, &pb.CommandGetTables{}, &pb.CommandGetTables{IncludeSchema: true},
		&pb.CommandGetTableTypes{}, &pb.CommandGetPrimaryKeys{Table: "t"}, &pb.CommandGetExportedKeys{Table: "t"},
		&pb.CommandGetImportedKeys{Table: "t"}, &pb.CommandGetCrossReference{PkTable: "t", FkTable: "t"},
		&pb.CommandGetXdbcTypeInfo{}, &pb.CommandGetSqlInfo{},
	} {
		if _, got := described(t, c, cmd); !got.schema.Equal(meta.Schema(cmd)) {
			t.Errorf("%T: %v", cmd, got.schema)
		}
	}
}

// TestDoris40002: a server that listens on every address tells clients none; "where
// you are" is the one that always reaches it.
func TestDoris40002(t *testing.T) {
	c := real(t, Options{Insecure: true})
	c.run("CREATE COLLECTION docs (id TEXT PRIMARY KEY)", "INSERT INTO docs VALUES ('a')")
	lis, err := net.Listen("tcp", "0.0.0.0:0")
	if err != nil {
		t.Skip("cannot listen on every address:", err)
	}
	served := make(chan error, 1)
	go func() { served <- c.srv.Serve(lis) }()
	for _, d := range []*flight.FlightDescriptor{
		commandOf(t, &pb.CommandStatementQuery{Query: "SELECT 1"}), commandOf(t, &pb.CommandGetTables{}),
		{Type: flight.DescriptorCMD, Cmd: []byte(`{"collection": "docs", "tail": "wait"}`)},
	} {
		info, err := c.GetFlightInfo(c.ctx(), d)
		if err != nil || len(info.Endpoint) == 0 {
			t.Fatalf("%v, %v", info, err)
		}
		for _, end := range info.Endpoint {
			if len(end.Location) > 0 {
				t.Errorf("location %q", end.Location[0].GetUri())
			}
		}
	}
	_ = lis.Close()
	<-served
}

// TestDoris67371: bytes that are no UTF-8 are binary on the wire, and as text they
// are written in hexadecimal.
func TestDoris67371(t *testing.T) {
	c := real(t, Options{})
	c.run("CREATE TABLE t (x BINARY, s TEXT)", "INSERT INTO t VALUES (X'84', 'ü')")
	got, err := c.query("SELECT x, s FROM t")
	if err != nil || got.schema.Field(0).Type.ID() != arrow.BINARY || got.schema.Field(1).Type.ID() != arrow.STRING {
		t.Fatalf("%v, %v", got.schema, err)
	}
	if b := got.recs[0].Column(0).(*array.Binary).Value(0); string(b) != "\x84" {
		t.Errorf("bytes %x", b)
	}
	c.want("SELECT CAST(x AS TEXT) FROM t", `\x84`)
}

// TestDoris58830: a ticket carries any text whole.
func TestDoris58830(t *testing.T) {
	c := real(t, Options{})
	for _, text := range []string{"a&b=c:d?e#f", "%26%00 \\ \t\r\n", "🜁 grüße \u0001", strings.Repeat("&:🜁", 100_000)} {
		c.want("SELECT '"+text+"' AS \"x&y:z\"", text)
	}
}

// TestGizmosql134: a change that a driver sends as a query happens, though nobody
// reads the answer, and once, though it is read twice.
func TestGizmosql134(t *testing.T) {
	c := real(t, Options{})
	c.run("CREATE TABLE t (a INT)")
	info, err := c.info("INSERT INTO t VALUES (1)")
	if err != nil || info.TotalRecords != 1 {
		t.Fatalf("%v, %v", info, err)
	}
	c.want("SELECT count(*) FROM t", "1")
	for range 2 {
		if _, err := c.all(info); err != nil {
			t.Error(err)
		}
	}
	c.want("SELECT count(*) FROM t", "1")
	if _, err := c.info("CREATE TABLE unread (a INT)"); err != nil {
		t.Fatal(err)
	}
	c.want("SELECT count(*) FROM unread", "0")
}

// TestGizmosql155And158: an ingest says which transaction it is in, or that it is
// temporary: both are refused by name, each time, and leave nothing behind.
func TestGizmosql155And158(t *testing.T) {
	c := real(t, Options{})
	for range 2 {
		for what, cmd := range map[string]*pb.CommandStatementIngest{
			"a transaction": {Table: "t", TableDefinitionOptions: modes["create_append"], TransactionId: []byte("x")},
			"temporary":     {Table: "t", TableDefinitionOptions: modes["create_append"], Temporary: true},
		} {
			_, _, err := c.ingest(cmd, columnsOf(int64s), `[{"a":1}]`)
			code(t, err, codes.Unimplemented, what)
		}
		_, err := c.info("SELECT * FROM t")
		code(t, err, codes.NotFound, "the table")
	}
}

// TestGizmosql1220: decimals of any width and scale are bound exactly, and one that
// does not fit is an error of one call.
func TestGizmosql1220(t *testing.T) {
	c := real(t, Options{})
	decimal := func(precision, scale int32) arrow.DataType {
		return &arrow.Decimal128Type{Precision: precision, Scale: scale}
	}
	for _, b := range []struct {
		typ  arrow.DataType
		cast string
		row  string
		want string // or an error for ""
	}{
		{decimal(18, 3), "DECIMAL(18,3)", `[{"a":"-12345.678"}]`, "-12345.678"},
		{decimal(38, 10), "DECIMAL(38,10)", `[{"a":"1234567890123456789012345678.0123456789"}]`, "1234567890123456789012345678.0123456789"},
		{decimal(18, 3), "DECIMAL(18,1)", `[{"a":"2.25"}]`, "2.3"},
		{decimal(10, 0), "DECIMAL(12,2)", `[{"a":"7"}]`, "7"},
		{decimal(18, 3), "DECIMAL(4,3)", `[{"a":"12345.678"}]`, ""},
		{decimal(18, 3), "DECIMAL(18,3)", `[{"a":null}]`, "(null)"},
		{&arrow.Decimal256Type{Precision: 40, Scale: 2}, "DECIMAL(38,2)", `[{"a":"1.25"}]`, "1.25"},
		{&arrow.Decimal32Type{Precision: 5, Scale: 2}, "DECIMAL(9,2)", `[{"a":"1.25"}]`, "1.25"},
		{&arrow.Decimal64Type{Precision: 12, Scale: 2}, "DECIMAL(12,2)", `[{"a":"1.25"}]`, "1.25"},
	} {
		p, err := c.prepare("SELECT CAST(? AS " + b.cast + ") AS x")
		if err != nil {
			t.Fatal(err)
		}
		handle, err := c.bound(p.PreparedStatementHandle, columnsOf(b.typ), b.row)
		var got *table
		if err == nil {
			got, _, err = c.execute(handle)
		}
		if b.want == "" || err != nil {
			if b.want != "" && !strings.Contains(err.Error(), "Unimplemented") {
				t.Errorf("%s as %s: %v", b.typ, b.cast, err)
			}
			if err == nil {
				t.Errorf("%s as %s: got %q, an error is expected", b.typ, b.cast, got.text())
			}
			continue
		}
		if got.text() != b.want {
			t.Errorf("%s as %s: %q, want %q", b.typ, b.cast, got.text(), b.want)
		}
	}
	c.want("SELECT 1", "1")
}
