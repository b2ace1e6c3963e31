package adbcgo

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/apache/arrow-adbc/go/adbc"
	driver "github.com/apache/arrow-adbc/go/adbc/driver/flightsql"
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// client is one connection through the Go driver.
type client struct {
	t    *testing.T
	cnxn adbc.Connection
}

func connect(t *testing.T, uri string) *client {
	t.Helper()
	db, err := driver.NewDriver(memory.DefaultAllocator).NewDatabase(map[string]string{adbc.OptionKeyURI: uri})
	if err != nil {
		t.Fatal(err)
	}
	cnxn, err := db.Open(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cnxn.Close(); _ = db.Close() })
	return &client{t, cnxn}
}

func (c *client) statement(sql string) adbc.Statement {
	c.t.Helper()
	st, err := c.cnxn.NewStatement()
	if err != nil {
		c.t.Fatal(err)
	}
	if err := st.SetSqlQuery(sql); err != nil {
		c.t.Fatal(err)
	}
	return st
}

// query renders the rows of a statement with one optional bound batch.
func (c *client) query(sql string, params arrow.RecordBatch) string {
	c.t.Helper()
	st := c.statement(sql)
	defer func() { _ = st.Close() }()
	ctx := context.Background()
	if params != nil {
		if err := st.Prepare(ctx); err != nil {
			c.t.Fatal(err)
		}
		if err := st.Bind(ctx, params); err != nil {
			c.t.Fatal(err)
		}
	}
	r, _, err := st.ExecuteQuery(ctx)
	if err != nil {
		c.t.Fatalf("%s: %v", sql, err)
	}
	defer r.Release()
	return render(c.t, r)
}

func render(t *testing.T, r array.RecordReader) string {
	t.Helper()
	var rows []string
	for r.Next() {
		rec := r.RecordBatch()
		for i := range int(rec.NumRows()) {
			var cells []string
			for j := range int(rec.NumCols()) {
				cells = append(cells, rec.Column(j).ValueStr(i))
			}
			rows = append(rows, strings.Join(cells, "|"))
		}
	}
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	return strings.Join(rows, "\n")
}

func (c *client) exec(sql string) int64 {
	c.t.Helper()
	st := c.statement(sql)
	defer func() { _ = st.Close() }()
	n, err := st.ExecuteUpdate(context.Background())
	if err != nil {
		c.t.Fatalf("%s: %v", sql, err)
	}
	return n
}

func (c *client) same(what, got, want string) {
	c.t.Helper()
	if got != want {
		c.t.Errorf("%s: got\n%s\nwant\n%s", what, got, want)
	}
}

// documents is a batch of n documents with three-dimensional vectors.
func documents(from, n int) arrow.RecordBatch {
	sch := arrow.NewSchema([]arrow.Field{
		{Name: "id", Type: arrow.BinaryTypes.String}, {Name: "body", Type: arrow.BinaryTypes.String}, {Name: "n", Type: arrow.PrimitiveTypes.Int64},
		{Name: "emb", Type: arrow.FixedSizeListOf(3, arrow.PrimitiveTypes.Float32)},
	}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, sch)
	defer b.Release()
	for i := from; i < from+n; i++ {
		b.Field(0).(*array.StringBuilder).Append(fmt.Sprintf("k%03d", i))
		b.Field(1).(*array.StringBuilder).Append([]string{"quick brown fox", "lazy dog", "river stone"}[i%3])
		b.Field(2).(*array.Int64Builder).Append(int64(i))
		l := b.Field(3).(*array.FixedSizeListBuilder)
		l.Append(true)
		l.ValueBuilder().(*array.Float32Builder).AppendValues([]float32{float32(i % 5), 1, float32(i % 7)}, nil)
	}
	return b.NewRecordBatch()
}

// vectorParam is a bound list of floats, as Go programs send vectors.
func vectorParam(vals ...float32) arrow.RecordBatch {
	b := array.NewRecordBuilder(memory.DefaultAllocator, arrow.NewSchema([]arrow.Field{{Name: "1", Type: arrow.ListOf(arrow.PrimitiveTypes.Float32)}}, nil))
	defer b.Release()
	l := b.Field(0).(*array.ListBuilder)
	l.Append(true)
	l.ValueBuilder().(*array.Float32Builder).AppendValues(vals, nil)
	return b.NewRecordBatch()
}

func textParam(s string) arrow.RecordBatch {
	b := array.NewRecordBuilder(memory.DefaultAllocator, arrow.NewSchema([]arrow.Field{{Name: "1", Type: arrow.BinaryTypes.String}}, nil))
	defer b.Release()
	b.Field(0).(*array.StringBuilder).Append(s)
	return b.NewRecordBatch()
}

func (c *client) ingest(table, mode string, rec arrow.RecordBatch) int64 {
	c.t.Helper()
	st, err := c.cnxn.NewStatement()
	if err != nil {
		c.t.Fatal(err)
	}
	defer func() { _ = st.Close() }()
	for k, v := range map[string]string{adbc.OptionKeyIngestTargetTable: table, adbc.OptionKeyIngestMode: mode} {
		if err := st.SetOption(k, v); err != nil {
			c.t.Fatal(err)
		}
	}
	if err := st.Bind(context.Background(), rec); err != nil {
		c.t.Fatal(err)
	}
	n, err := st.ExecuteUpdate(context.Background())
	if err != nil {
		c.t.Fatal(err)
	}
	return n
}

// TestLoam is what the Go driver must be able to do with Loam.
func TestLoam(t *testing.T) {
	q := &quirks{}
	q.start(t)
	defer q.stop(t)
	c := connect(t, q.uri)
	step := func(name string, f func(c *client)) {
		t.Run(name, func(t *testing.T) { f(&client{t, c.cnxn}) })
	}
	step("create collection", func(c *client) {
		c.exec("CREATE COLLECTION docs (id TEXT PRIMARY KEY, body TEXT FULLTEXT 'english', n BIGINT, emb VECTOR(3) DISTANCE l2)")
		c.same("empty", c.query("SELECT count(*) FROM docs", nil), "0")
	})
	step("bulk ingest into a collection", func(c *client) {
		if n := c.ingest("docs", adbc.OptionValueIngestModeAppend, documents(0, 100)); n != 100 {
			c.t.Errorf("%d rows", n)
		}
		c.same("count", c.query("SELECT count(*), sum(n) FROM docs", nil), "100|4950")
	})
	step("text_search with a bound query", func(c *client) {
		c.same("rows", c.query("SELECT id FROM text_search(docs, ?, k => 2)", textParam("foxes")), "k000\nk003")
	})
	step("vector_search with a bound vector", func(c *client) {
		c.same("rows", c.query("SELECT id FROM vector_search(docs, ?, k => 2)", vectorParam(0, 1, 0)), "k000\nk035")
	})
	step("rrf with a filter and a bound vector", func(c *client) {
		got := c.query("SELECT id FROM rrf(text_search(docs, 'fox'), vector_search(docs, ?)) WHERE n < 50 LIMIT 1", vectorParam(0, 1, 0))
		c.same("rows", got, "k000")
	})
	step("vectors come back as fixed-size lists", func(c *client) {
		c.same("row", c.query("SELECT emb FROM docs WHERE id = 'k008'", nil), "[3,1,1]")
	})
	step("update and delete count rows", func(c *client) {
		if n := c.exec("UPDATE docs SET n = n + 1000 WHERE n < 10"); n != 10 {
			c.t.Errorf("update: %d", n)
		}
		if n := c.exec("DELETE FROM docs WHERE id = 'k050'"); n != 1 {
			c.t.Errorf("delete: %d", n)
		}
		c.same("after", c.query("SELECT count(*), max(n) FROM docs", nil), "99|1009")
	})
	step("DDL through the query path runs once", func(c *client) {
		st := c.statement("CREATE TABLE once (a INT)")
		if _, _, err := st.ExecuteQuery(context.Background()); err != nil {
			c.t.Fatal(err)
		}
		_ = st.Close()
		c.same("there", c.query("SELECT count(*) FROM once", nil), "0")
	})
	step("partitions are read by another process", func(c *client) { c.partitions(q) })
	step("errors have a status", func(c *client) {
		st := c.statement("SELECT * FROM nowhere")
		defer func() { _ = st.Close() }()
		_, _, err := st.ExecuteQuery(context.Background())
		var e adbc.Error
		if err == nil || !asError(err, &e) || e.Code != adbc.StatusNotFound || !strings.Contains(e.Msg, "nowhere") {
			c.t.Errorf("error %v", err)
		}
	})
}

func asError(err error, e *adbc.Error) bool {
	x, ok := err.(adbc.Error)
	*e = x
	return ok
}

// partitions lets a second process read each endpoint of a scan query.
func (c *client) partitions(q *quirks) {
	for i := range 3 {
		if _, err := q.engine.NewSession(sessionConfig).ScanPlan(context.Background(), settle); err != nil {
			c.t.Fatal(err)
		}
		c.ingest("docs", adbc.OptionValueIngestModeAppend, documents(200+10*i, 10))
	}
	c.exec(`SET "loam.max_endpoints" = '8'`)
	defer c.exec(`RESET "loam.max_endpoints"`)
	st := c.statement("SELECT id FROM docs WHERE n >= 200 AND n < 1000")
	defer func() { _ = st.Close() }()
	if err := st.SetOption("adbc.flight.sql.rpc.call_header.loam-max-endpoints", "8"); err != nil {
		c.t.Fatal(err)
	}
	_, parts, _, err := st.ExecutePartitions(context.Background())
	if err != nil {
		c.t.Fatal(err)
	}
	if parts.NumPartitions < 2 {
		c.t.Errorf("%d partitions, several are expected", parts.NumPartitions)
	}
	rows := 0
	for _, id := range parts.PartitionIDs {
		cmd := exec.Command(os.Args[0], "-test.run=TestReadPartition", "-test.v")
		cmd.Env = append(os.Environ(), "LOAM_PARTITION_URI="+q.uri, fmt.Sprintf("LOAM_PARTITION=%x", id))
		out, err := cmd.CombinedOutput()
		if err != nil {
			c.t.Fatalf("%v\n%s", err, out)
		}
		var n int
		if i := strings.Index(string(out), "partition rows "); i < 0 {
			c.t.Fatalf("no answer: %s", out)
		} else if _, err := fmt.Sscanf(string(out)[i:], "partition rows %d", &n); err != nil {
			c.t.Fatal(err)
		}
		rows += n
	}
	if rows != 30 {
		c.t.Errorf("the partitions hold %d rows, want 30", rows)
	}
}

// TestReadPartition is the second process.
func TestReadPartition(t *testing.T) {
	uri := os.Getenv("LOAM_PARTITION_URI")
	if uri == "" {
		t.Skip("runs as the second process of TestLoam")
	}
	var id []byte
	if _, err := fmt.Sscanf(os.Getenv("LOAM_PARTITION"), "%x", &id); err != nil {
		t.Fatal(err)
	}
	r, err := connect(t, uri).cnxn.ReadPartition(context.Background(), id)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Release()
	rows := 0
	for r.Next() {
		rows += int(r.RecordBatch().NumRows())
	}
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	fmt.Printf("partition rows %d\n", rows)
}
