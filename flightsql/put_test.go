package flightsql

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/flight"
	pb "github.com/apache/arrow-go/v18/arrow/flight/gen/flight"
	"google.golang.org/grpc/codes"

	"github.com/loamdb/loam"
	"github.com/loamdb/loam/flightsql/internal/enginetest"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/internal/snapshot"
)

type tableOptions = pb.CommandStatementIngest_TableDefinitionOptions

// The four modes as drivers send them, and one that says nothing.
var modes = map[string]*tableOptions{
	"create":        {IfNotExist: 1, IfExists: 1},
	"append":        {IfNotExist: 2, IfExists: 2},
	"replace":       {IfNotExist: 1, IfExists: 3},
	"create_append": {IfNotExist: 1, IfExists: 2},
	"unspecified":   {},
}

func (c *client) ingest(cmd *pb.CommandStatementIngest, sc *arrow.Schema, batches ...string) (int64, string, error) {
	results, trailers, err := c.put(stream(c.t, commandOf(c.t, cmd), sc, batches...)...)
	token := strings.Join(trailers.Get(headerToken), " ")
	if len(results) == 0 {
		return -1, token, err
	}
	return counted(c.t, results), token, err
}

func TestIngestModes(t *testing.T) {
	c := real(t, Options{})
	sc := columnsOf(int64s, texts)
	rows := []string{`[{"a":1,"b":"x"},{"a":2,"b":null}]`, `[{"a":3,"b":"z"}]`}
	for _, s := range []struct {
		mode string
		code codes.Code
		rows int64
		now  string
	}{
		{"append", codes.NotFound, 0, ""},
		{"unspecified", codes.InvalidArgument, 0, ""},
		{"create", codes.OK, 3, "3"},
		{"create", codes.AlreadyExists, 0, "3"},
		{"append", codes.OK, 3, "6"},
		{"create_append", codes.OK, 3, "9"},
		{"replace", codes.OK, 3, "3"},
	} {
		count, token, err := c.ingest(&pb.CommandStatementIngest{Table: "t", TableDefinitionOptions: modes[s.mode]}, sc, rows...)
		code(t, err, s.code, s.mode)
		if count != s.rows || strings.HasPrefix(token, "v1:") != (s.rows > 0) {
			t.Errorf("%s: %d rows, token %q", s.mode, count, token)
		}
		if s.now != "" {
			c.want("SELECT count(*) FROM t", s.now)
		}
	}
	_, _, err := c.ingest(&pb.CommandStatementIngest{Table: "t", TableDefinitionOptions: modes["append"]}, arrow.NewSchema([]arrow.Field{{Name: "zz", Type: int64s}}, nil), `[{"zz":1}]`)
	code(t, err, codes.InvalidArgument, "a column that is not there")
	count, _, err := c.ingest(&pb.CommandStatementIngest{Table: "empty", TableDefinitionOptions: modes["create"]}, sc)
	if err != nil || count != 0 {
		t.Errorf("no batch: %d rows, %v", count, err)
	}
	c.want("SELECT count(*) FROM empty", "0")
}

func TestIngestTargets(t *testing.T) {
	c := real(t, Options{})
	c.run("CREATE NAMESPACE ml")
	sc, row := columnsOf(int64s), `[{"a":1}]`
	schemaName, catalogName, wrong := "ml", "loam", "other"
	for _, s := range []struct {
		name string
		cmd  *pb.CommandStatementIngest
		code codes.Code
	}{
		{"a namespace", &pb.CommandStatementIngest{Table: "t", Schema: &schemaName, Catalog: &catalogName}, codes.OK},
		{"another catalog", &pb.CommandStatementIngest{Table: "t", Catalog: &wrong}, codes.InvalidArgument},
		{"an unknown namespace", &pb.CommandStatementIngest{Table: "t", Schema: &wrong}, codes.NotFound},
		{"no table", &pb.CommandStatementIngest{}, codes.InvalidArgument},
		{"temporary", &pb.CommandStatementIngest{Table: "t", Temporary: true}, codes.Unimplemented},
		{"a transaction", &pb.CommandStatementIngest{Table: "t", TransactionId: []byte("x")}, codes.Unimplemented},
	} {
		s.cmd.TableDefinitionOptions = modes["create"]
		_, _, err := c.ingest(s.cmd, sc, row)
		code(t, err, s.code, s.name)
	}
	c.want("SELECT a FROM ml.t", "1")
	if _, _, err := c.with(headerNamespace, "ml").ingest(&pb.CommandStatementIngest{Table: "u", TableDefinitionOptions: modes["create"]}, sc, row); err != nil {
		t.Error(err)
	}
	c.want("SELECT a FROM ml.u", "1")
}

// ack is an acknowledgement of a batch.
type ack struct {
	Rows             int64  `json:"rows"`
	Token            string `json:"token"`
	UnappliedRecords int64  `json:"unapplied_records"`
}

func TestPutByPath(t *testing.T) {
	c := real(t, Options{})
	c.run("CREATE COLLECTION docs (id TEXT PRIMARY KEY, n BIGINT)", "CREATE TABLE t (id TEXT)")
	sc := arrow.NewSchema([]arrow.Field{{Name: "id", Type: texts}, {Name: "n", Type: int64s, Nullable: true}, {Name: "_op", Type: texts}}, nil)
	path := func(p ...string) *flight.FlightDescriptor {
		return &flight.FlightDescriptor{Type: flight.DescriptorPATH, Path: p}
	}
	results, _, err := c.put(stream(t, path("collections", "docs"), sc,
		`[{"id":"a","n":1,"_op":"upsert"},{"id":"b","n":2,"_op":"upsert"}]`, `[]`, `[{"id":"a","n":null,"_op":"delete"},{"id":"b","n":3,"_op":"patch"}]`)...)
	if err != nil || len(results) != 3 {
		t.Fatalf("%d acknowledgements, %v", len(results), err)
	}
	for i, want := range []int64{2, 0, 2} {
		var a ack
		if err := json.Unmarshal(results[i].AppMetadata, &a); err != nil || a.Rows != want || strings.HasPrefix(a.Token, "v1:") != (want > 0) {
			t.Errorf("acknowledgement %d: %s, %v", i, results[i].AppMetadata, err)
		}
	}
	c.want("SELECT id, n FROM docs", "b|3")
	if _, _, err := c.put(stream(t, path("public", "collections", "docs"), sc, `[{"id":"c","n":5,"_op":"upsert"}]`)...); err != nil {
		t.Error(err)
	}
	c.want("SELECT id, n FROM docs ORDER BY id", "b|3 c|5")
	for _, bad := range []struct {
		name string
		d    *flight.FlightDescriptor
		row  string
		code codes.Code
	}{
		{"a table as a collection", path("collections", "t"), `[]`, codes.InvalidArgument},
		{"a missing one", path("collections", "nope"), `[]`, codes.NotFound},
		{"a missing namespace", path("nope", "collections", "docs"), `[]`, codes.NotFound},
		{"an unknown operation", path("collections", "docs"), `[{"id":"z","n":1,"_op":"replace"}]`, codes.InvalidArgument},
	} {
		_, _, err := c.put(stream(t, bad.d, sc, bad.row)...)
		code(t, err, bad.code, bad.name)
	}
	if results, _, err := c.put(&flight.FlightData{FlightDescriptor: path("collections", "docs")}); err != nil || len(results) != 0 {
		t.Errorf("a descriptor alone: %v, %v", results, err)
	}
	c.want("SELECT count(*) FROM docs", "2")
}

// TestPutErrorsNameTheirPlace: a batch that is refused says which row, which
// column, what value, and what to do; rows count from 1.
func TestPutErrorsNameTheirPlace(t *testing.T) {
	c := real(t, Options{})
	c.run("CREATE COLLECTION docs (id TEXT PRIMARY KEY, n INT, v VECTOR(2) DISTANCE cosine, j JSON)")
	float := arrow.PrimitiveTypes.Float32
	for _, bad := range []struct {
		column    string
		typ       arrow.DataType
		value     string // of the second row, as JSON
		message   []string
		hint      string
		firstGood string
	}{
		{"n", int64s, "3000000000", []string{"row 2", `"n"`, "3000000000", "INT"}, "widen the column", "1"},
		{"v", arrow.ListOf(float), "[1]", []string{"row 2", `"v"`, "1 dimension", "VECTOR(2)"}, "2 numbers", "[1, 2]"},
		{"v", arrow.FixedSizeListOf(2, float), "[0, 0]", []string{"row 2", `"v"`, "zero vector"}, "NULL", "[1, 2]"},
		{"v", arrow.ListOf(float), "[1, null]", []string{"row 2", `"v"`, "element 2"}, "NULL as a whole", "[1, 2]"},
		{"j", texts, `"{"`, []string{"row 2", `"j"`, "{"}, "TEXT", `"{}"`},
		{"nn", int64s, "1", []string{`"nn"`}, `Did you mean "n"?`, "1"},
		{"n", texts, `"1"`, []string{`"n"`, "INT"}, "Cast", `"1"`},
	} {
		sc := arrow.NewSchema([]arrow.Field{{Name: "id", Type: texts}, {Name: bad.column, Type: bad.typ, Nullable: true}}, nil)
		row := `[{"id":"a","` + bad.column + `":` + bad.firstGood + `},{"id":"b","` + bad.column + `":` + bad.value + `}]`
		_, trailers, err := c.put(stream(t, &flight.FlightDescriptor{Type: flight.DescriptorPATH, Path: []string{"collections", "docs"}}, sc, row)...)
		if err == nil {
			t.Errorf("%s %s: no error", bad.column, bad.value)
			continue
		}
		for _, want := range bad.message {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s %s: %q is not in %v", bad.column, bad.value, want, err)
			}
		}
		if hint := strings.Join(trailers.Get(trailerHint), ""); !strings.Contains(hint, bad.hint) {
			t.Errorf("%s %s: the hint is %q", bad.column, bad.value, hint)
		}
	}
	sc := arrow.NewSchema([]arrow.Field{{Name: "id", Type: texts, Nullable: true}}, nil)
	_, trailers, err := c.put(stream(t, &flight.FlightDescriptor{Type: flight.DescriptorPATH, Path: []string{"collections", "docs"}}, sc, `[{"id":"a"},{"id":null}]`)...)
	if err == nil || !strings.Contains(err.Error(), `row 2: key field "id"`) || len(trailers.Get(trailerHint)) == 0 {
		t.Error(err, trailers)
	}
	c.want("SELECT count(*) FROM docs", "0")
}

// TestCountsOfAPartIngest has an engine that takes two batches and then refuses.
func TestCountsOfAPartIngest(t *testing.T) {
	full := fail.New(fail.BacklogFull, "the backlog of docs is full")
	full.RetryAfter = 1500e6
	taken := 0
	fake := &enginetest.Engine{
		Objects: []*schema.Object{{Namespace: "public", Name: "docs", Kind: schema.Collection}},
		Append: func(rows int64) (loam.Ack, error) {
			if taken++; taken > 2 {
				return loam.Ack{}, full
			}
			return loam.Ack{Rows: rows, Token: snapshot.Token{ObjectID: 1, Incarnation: "i", Offsets: []uint64{uint64(taken)}}}, nil
		},
	}
	c := serve(t, fake, Options{})
	results, trailers, err := c.put(stream(t, commandOf(t, &pb.CommandStatementIngest{Table: "docs", TableDefinitionOptions: modes["append"]}), columnsOf(int64s),
		`[{"a":1},{"a":2}]`, `[{"a":3}]`, `[{"a":4}]`)...)
	code(t, err, codes.ResourceExhausted, "a full backlog")
	if counted(t, results) != 3 {
		t.Errorf("%d rows counted, 3 are in", counted(t, results))
	}
	want := snapshot.Token{ObjectID: 1, Incarnation: "i", Offsets: []uint64{2}}.String()
	if got := trailers.Get(headerToken); len(got) != 1 || got[0] != want {
		t.Errorf("token %q, want %q", got, want)
	}
	if got := trailers.Get(trailerRetry); len(got) != 1 || got[0] != "2" || !strings.Contains(err.Error(), "retry after 2 s") {
		t.Errorf("retry-after %q, text %v", got, err)
	}
	taken = 1
	results, _, err = c.put(stream(t, &flight.FlightDescriptor{Type: flight.DescriptorPATH, Path: []string{"collections", "docs"}}, columnsOf(int64s), `[{"a":1}]`, `[{"a":2}]`)...)
	code(t, err, codes.ResourceExhausted, "a full backlog by path")
	if len(results) != 1 || errors.Is(err, nil) {
		t.Errorf("%d acknowledgements", len(results))
	}
}
