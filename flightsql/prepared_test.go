package flightsql

import (
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/flight"
	pb "github.com/apache/arrow-go/v18/arrow/flight/gen/flight"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
)

// prepare makes a handle.
func (c *client) prepare(sql string) (*pb.ActionCreatePreparedStatementResult, error) {
	body, err := pack(&pb.ActionCreatePreparedStatementRequest{Query: sql})
	if err != nil {
		c.t.Fatal(err)
	}
	answer, _, err := c.act("CreatePreparedStatement", body)
	if err != nil {
		return nil, err
	}
	var wrapped anypb.Any
	result := &pb.ActionCreatePreparedStatementResult{}
	if err := proto.Unmarshal(answer, &wrapped); err != nil {
		c.t.Fatal(err)
	}
	if err := wrapped.UnmarshalTo(result); err != nil {
		c.t.Fatal(err)
	}
	return result, nil
}

// bound binds rows of JSON to a handle and returns the new handle.
func (c *client) bound(handle []byte, sc *arrow.Schema, batches ...string) ([]byte, error) {
	d := commandOf(c.t, &pb.CommandPreparedStatementQuery{PreparedStatementHandle: handle})
	results, _, err := c.put(stream(c.t, d, sc, batches...)...)
	if err != nil {
		return nil, err
	}
	var r pb.DoPutPreparedStatementResult
	if len(results) != 1 {
		c.t.Fatalf("%d results of a bind", len(results))
	}
	if err := proto.Unmarshal(results[0].AppMetadata, &r); err != nil {
		c.t.Fatal(err)
	}
	return r.PreparedStatementHandle, nil
}

// execute runs a handle and reads its rows.
func (c *client) execute(handle []byte) (*table, *flight.FlightInfo, error) {
	info, err := c.GetFlightInfo(c.ctx(), commandOf(c.t, &pb.CommandPreparedStatementQuery{PreparedStatementHandle: handle}))
	if err != nil {
		return nil, nil, err
	}
	got, err := c.all(info)
	return got, info, err
}

// counted is the record count of a DoPut's one result.
func counted(t testing.TB, results []*flight.PutResult) int64 {
	t.Helper()
	if len(results) != 1 {
		t.Fatalf("%d results", len(results))
	}
	var r pb.DoPutUpdateResult
	if err := proto.Unmarshal(results[0].AppMetadata, &r); err != nil {
		t.Fatal(err)
	}
	return r.RecordCount
}

func columnsOf(types ...arrow.DataType) *arrow.Schema {
	fields := make([]arrow.Field, len(types))
	for i, t := range types {
		fields[i] = arrow.Field{Name: string(rune('a' + i)), Type: t, Nullable: true}
	}
	return arrow.NewSchema(fields, nil)
}

var (
	int64s = arrow.PrimitiveTypes.Int64
	texts  = arrow.BinaryTypes.String
)

func TestWhatPrepareAnswers(t *testing.T) {
	c := real(t, Options{})
	c.run("CREATE TABLE t (a INT, b TEXT)")
	for _, p := range []struct {
		sql            string
		params, fields int
		update         bool
	}{
		{"SELECT 1 AS x, 2 AS y", 0, 2, false},
		{"SELECT CAST(? AS BIGINT) AS x", 1, 1, false},
		{"SELECT $2, $1, $1", 2, 3, false},
		{"INSERT INTO t VALUES (?, ?)", 2, 0, true},
		{"CREATE TABLE u (a INT)", 0, 0, true},
		{"SHOW TABLES", 0, 3, false},
		{"EXPLAIN SELECT 1", 0, 1, false},
	} {
		r, err := c.prepare(p.sql)
		if err != nil {
			t.Errorf("%s: %v", p.sql, err)
			continue
		}
		params, err := flight.DeserializeSchema(r.ParameterSchema, memory.DefaultAllocator)
		if err != nil {
			t.Fatal(err)
		}
		dataset, err := flight.DeserializeSchema(r.DatasetSchema, memory.DefaultAllocator)
		if err != nil {
			t.Fatal(err)
		}
		if params.NumFields() != p.params || dataset.NumFields() != p.fields || r.IsUpdate == nil || r.GetIsUpdate() != p.update {
			t.Errorf("%s: %d parameters, %d fields, update %v", p.sql, params.NumFields(), dataset.NumFields(), r.GetIsUpdate())
		}
		for _, f := range params.Fields() {
			if !f.Nullable || f.Type.ID() == arrow.NULL {
				t.Errorf("%s: parameter %v", p.sql, f)
			}
		}
	}
	_, err := c.prepare("SELEC 1")
	code(t, err, codes.InvalidArgument, "a syntax error")
	c.want("SELECT count(*) FROM t", "0")
}

// TestTimesAreBoundInMilliseconds: JDBC fills timestamps and times of any unit with
// milliseconds, others send what they have.
func TestTimesAreBoundInMilliseconds(t *testing.T) {
	c := real(t, Options{})
	r, err := c.prepare("SELECT CAST(? AS TIMESTAMP) AS x, CAST(? AS TIME) AS y")
	if err != nil {
		t.Fatal(err)
	}
	params, err := flight.DeserializeSchema(r.ParameterSchema, memory.DefaultAllocator)
	if err != nil {
		t.Fatal(err)
	}
	dataset, err := flight.DeserializeSchema(r.DatasetSchema, memory.DefaultAllocator)
	if err != nil {
		t.Fatal(err)
	}
	unit := func(s *arrow.Schema) (units [2]arrow.TimeUnit) {
		for i, f := range s.Fields() {
			units[i] = f.Type.(arrow.TemporalWithUnit).TimeUnit()
		}
		return units
	}
	if unit(params) != [2]arrow.TimeUnit{arrow.Millisecond, arrow.Millisecond} || unit(dataset) != [2]arrow.TimeUnit{arrow.Microsecond, arrow.Microsecond} {
		t.Errorf("parameters %v, result %v", params, dataset)
	}
	micros := columnsOf(&arrow.TimestampType{Unit: arrow.Microsecond}, arrow.FixedWidthTypes.Time64us)
	handle, err := c.bound(r.PreparedStatementHandle, micros, `[{"a":"2020-01-02 03:04:05.678901","b":"03:04:05.678901"}]`)
	if err != nil {
		t.Fatal(err)
	}
	got, _, err := c.execute(handle)
	if err != nil || got.text() != "2020-01-02T03:04:05.678901|03:04:05.678901" {
		t.Errorf("%q, %v", got.text(), err)
	}
}

func TestBindAndExecuteManyTimes(t *testing.T) {
	c := real(t, Options{})
	p, err := c.prepare("SELECT CAST(? AS BIGINT) * 10 AS x, ? AS y")
	if err != nil {
		t.Fatal(err)
	}
	sc := columnsOf(int64s, texts)
	for _, b := range []struct{ rows, want string }{
		{`[{"a":1,"b":"p"}]`, "10|p"},
		{`[{"a":1,"b":"p"},{"a":2,"b":"q"},{"a":null,"b":null}]`, "10|p 20|q (null)|(null)"},
		{`[]`, ""},
	} {
		handle, err := c.bound(p.PreparedStatementHandle, sc, b.rows)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			got, info, err := c.execute(handle)
			if err != nil || got.text() != b.want || info.TotalRecords != -1 {
				t.Errorf("%s: got %q, %v", b.rows, got.text(), err)
			}
		}
	}
	_, _, err = c.execute(p.PreparedStatementHandle)
	code(t, err, codes.InvalidArgument, "without parameters")
	_, err = c.bound(p.PreparedStatementHandle, columnsOf(int64s), `[{"a":1}]`)
	code(t, err, codes.InvalidArgument, "one parameter of two")
	_, err = c.bound(p.PreparedStatementHandle[:20], sc, `[{"a":1,"b":"p"}]`)
	code(t, err, codes.InvalidArgument, "a cut handle")
	_, err = c.get(p.PreparedStatementHandle)
	code(t, err, codes.InvalidArgument, "a handle as a ticket")
}

func TestParametersOfManyTypes(t *testing.T) {
	c := real(t, Options{})
	for _, b := range []struct {
		sql  string
		typ  arrow.DataType
		row  string
		want string
	}{
		{"SELECT ? AS x", int64s, `[{"a":5}]`, "5"},
		{"SELECT ? AS x", arrow.PrimitiveTypes.Float32, `[{"a":0.5}]`, "0.5"},
		{"SELECT CAST(? AS TEXT) AS x", arrow.BinaryTypes.LargeString, `[{"a":"x"}]`, "x"},
		{"SELECT upper(?) AS x", &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: texts}, `[{"a":"x"}]`, "X"},
		{"SELECT CAST(? AS TEXT) IS NULL AS x", arrow.Null, `[{"a":null}]`, "true"},
		{"SELECT CAST(? AS DATE) AS x", texts, `[{"a":"2026-09-25"}]`, "2026-09-25"},
		{"SELECT a FROM generate_series(1, 9) AS g(a) WHERE a = ?", arrow.PrimitiveTypes.Uint8, `[{"a":7}]`, "7"},
		{"SELECT a FROM generate_series(1, 9) AS g(a) LIMIT ?", int64s, `[{"a":2}]`, "1 2"},
	} {
		p, err := c.prepare(b.sql)
		if err != nil {
			t.Errorf("%s: %v", b.sql, err)
			continue
		}
		handle, err := c.bound(p.PreparedStatementHandle, columnsOf(b.typ), b.row)
		if err != nil {
			t.Errorf("%s of %s: %v", b.sql, b.typ, err)
			continue
		}
		if got, _, err := c.execute(handle); err != nil || got.text() != b.want {
			t.Errorf("%s of %s: got %+v, %v; want %s", b.sql, b.typ, got, err, b.want)
		}
	}
}

func TestLargeParametersStayHere(t *testing.T) {
	c := real(t, Options{})
	p, err := c.prepare("SELECT length(?) AS n")
	if err != nil {
		t.Fatal(err)
	}
	handle, err := c.bound(p.PreparedStatementHandle, columnsOf(texts), `[{"a":"`+strings.Repeat("x", 300_000)+`"}]`)
	if err != nil {
		t.Fatal(err)
	}
	if len(handle) > 4<<10 {
		t.Errorf("a handle of %d bytes", len(handle))
	}
	if got, _, err := c.execute(handle); err != nil || got.text() != "300000" {
		t.Errorf("%+v, %v", got, err)
	}
	c.srv.params.byRef = map[string]keptParams{}
	_, _, err = c.execute(handle)
	code(t, err, codes.NotFound, "parameters that are gone")
}

func TestPreparedChanges(t *testing.T) {
	c := real(t, Options{})
	c.run("CREATE TABLE t (a BIGINT, b TEXT)")
	p, err := c.prepare("INSERT INTO t VALUES (?, ?)")
	if err != nil {
		t.Fatal(err)
	}
	sc := columnsOf(int64s, texts)
	update := commandOf(t, &pb.CommandPreparedStatementUpdate{PreparedStatementHandle: p.PreparedStatementHandle})
	results, trailers, err := c.put(stream(t, update, sc, `[{"a":1,"b":"x"},{"a":2,"b":"y"}]`, `[{"a":3,"b":"z"}]`)...)
	if err != nil || counted(t, results) != 3 || len(trailers.Get(headerToken)) != 1 {
		t.Errorf("%v, %v, %v", results, trailers, err)
	}
	handle, err := c.bound(p.PreparedStatementHandle, sc, `[{"a":4,"b":"v"}]`)
	if err != nil {
		t.Fatal(err)
	}
	_, info, err := c.execute(handle)
	if err != nil || info.TotalRecords != 1 || !strings.Contains(string(info.AppMetadata), `"token":"v1:`) {
		t.Errorf("%v, %v", info, err)
	}
	c.want("SELECT a, b FROM t ORDER BY a", "1|x 2|y 3|z 4|v")

	d, err := c.prepare("DELETE FROM t WHERE a > 2")
	if err != nil {
		t.Fatal(err)
	}
	// Without parameters ADBC sends an empty batch of an empty schema.
	results, _, err = c.put(stream(t, commandOf(t, &pb.CommandPreparedStatementUpdate{PreparedStatementHandle: d.PreparedStatementHandle}), columnsOf(), `[]`)...)
	if err != nil || counted(t, results) != 2 {
		t.Errorf("%v, %v", results, err)
	}
	results, _, err = c.put(&flight.FlightData{FlightDescriptor: commandOf(t, &pb.CommandStatementUpdate{Query: "UPDATE t SET b = 'w' WHERE a = 1"})})
	if err != nil || counted(t, results) != 1 {
		t.Errorf("%v, %v", results, err)
	}
	_, _, err = c.put(&flight.FlightData{FlightDescriptor: update})
	code(t, err, codes.InvalidArgument, "without parameters")
	c.want("SELECT a, b FROM t ORDER BY a", "1|w 2|y")
}

func TestClosingIsPolite(t *testing.T) {
	c := real(t, Options{})
	for _, handle := range [][]byte{nil, []byte("unknown")} {
		body, err := pack(&pb.ActionClosePreparedStatementRequest{PreparedStatementHandle: handle})
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := c.act("ClosePreparedStatement", body); err != nil {
			t.Error(err)
		}
	}
}
