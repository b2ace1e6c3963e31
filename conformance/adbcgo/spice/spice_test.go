package spice

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// source is a connector and the namespace of its tables.
type source struct {
	*connector
	ns string
}

func open(t *testing.T) *source {
	t.Helper()
	uri := os.Getenv("LOAM_URI")
	if uri == "" {
		t.Skip("LOAM_URI is not set: no server runs")
	}
	c, err := connect(t.Context(), uri, "", "", "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.client.Close() })
	s := &source{c, fmt.Sprintf("spice_%d", time.Now().UnixNano())}
	for _, sql := range []string{
		"CREATE NAMESPACE " + s.ns,
		"CREATE TABLE " + s.ns + `.web_docs (id BIGINT, title TEXT, price DECIMAL(12,2), score DOUBLE, ok BOOLEAN, day DATE, "Seen At" TIMESTAMP, raw BINARY, tags TEXT[])`,
		"CREATE TABLE " + s.ns + ".webxdocs (other INT)",
		"CREATE TABLE " + s.ns + ".empty (a INT, b TEXT)",
		"CREATE TABLE " + s.ns + ".lines (doc BIGINT, n INT, what TEXT)",
		"CREATE COLLECTION " + s.ns + ".docs (id TEXT PRIMARY KEY, body TEXT FULLTEXT 'english', n BIGINT, emb VECTOR(3))",
		"INSERT INTO " + s.ns + `.web_docs VALUES
			(1, 'one', 1.50, 0.5, true, DATE '2024-01-01', TIMESTAMP '2024-01-01 10:00:00', X'00ff', ['a']),
			(2, 'two', 2.25, 1.5, false, DATE '1969-12-31', TIMESTAMP '1970-01-01 02:46:41', NULL, []),
			(3, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)`,
		"INSERT INTO " + s.ns + ".lines VALUES (1, 1, 'x'), (1, 2, 'y'), (2, 1, 'z')",
		"INSERT INTO " + s.ns + ".docs VALUES ('a', 'quick fox', 1, [1, 0, 0]), ('b', 'lazy dog', 2, [0, 1, 0])",
	} {
		if _, err := s.query(t.Context(), sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	return s
}

func (s *source) text(t *testing.T, sql string) string {
	t.Helper()
	recs, err := s.query(t.Context(), strings.ReplaceAll(sql, "{ns}", s.ns))
	if err != nil {
		t.Errorf("%s: %v", sql, err)
		return ""
	}
	var rows []string
	for _, rec := range recs {
		for i := range int(rec.NumRows()) {
			var cells []string
			for _, col := range rec.Columns() {
				cells = append(cells, strings.Trim(col.ValueStr(i), "()"))
			}
			rows = append(rows, strings.Join(cells, "|"))
		}
		rec.Release()
	}
	return strings.Join(rows, "\n")
}

// scans is what the scan path prints: columns, filters with every operator in
// parentheses, sort and limit.
var scans = []struct{ name, sql, want string }{
	{"all columns", `SELECT "id", "title" FROM loam.{ns}.web_docs`, "1|one\n2|two\n3|null"},
	{"of 2024, with stray blanks", `SELECT "id" FROM loam.{ns}.web_docs  `, "1\n2\n3"},
	{"quoted where needed", `SELECT id, "Seen At" FROM "loam"."{ns}"."web_docs" WHERE ("Seen At" > '2024-01-01T00:00:00')`, "1|2024-01-01T10:00:00"},
	{"filters", `SELECT "id" FROM loam.{ns}.web_docs WHERE ("id" >= 1) AND ("price" < 2.00)`, "1"},
	{"or, not, is", `SELECT "id" FROM loam.{ns}.web_docs WHERE (((id = 1) OR (id = 3)) AND (NOT (id = 1))) AND ((title) IS NULL)`, "3"},
	{"is true", `SELECT "id" FROM loam.{ns}.web_docs WHERE ((ok) IS TRUE) OR ((ok) IS UNKNOWN) ORDER BY "id" ASC NULLS LAST`, "1\n3"},
	{"distinct from", `SELECT "id" FROM loam.{ns}.web_docs WHERE (title IS DISTINCT FROM 'one') ORDER BY "id" DESC NULLS FIRST`, "3\n2"},
	{"like and regular expressions", `SELECT "id" FROM loam.{ns}.web_docs WHERE (title ~~ 'o%') OR (title ~* 'TW.')`, "1\n2"},
	{"in and between", `SELECT "id" FROM loam.{ns}.web_docs WHERE (id IN (1, 2)) AND (id BETWEEN 2 AND 9)`, "2"},
	{"sort and limit", `SELECT "id" FROM loam.{ns}.web_docs ORDER BY "price" DESC NULLS LAST, "id" ASC NULLS LAST LIMIT 2`, "2\n1"},
	{"refresh of all", `SELECT "id", "title", "price", "score", "ok", "day" FROM loam.{ns}.web_docs WHERE ("id" = 1)`, "1|one|1.5|0.5|true|2024-01-01"},
	{"append by timestamp", `SELECT "id" FROM loam.{ns}.web_docs WHERE (CAST("Seen At" AS TIMESTAMP) > CAST('1970-01-01 02:46:41.000000000' AS TIMESTAMP))`, "1"},
	{"append by an instant with its offset", `SELECT "id" FROM loam.{ns}.web_docs WHERE ("Seen At" > CAST('1970-01-01 10:46:40 +08:00' AS TIMESTAMP)) ORDER BY "id" ASC NULLS LAST`, "1\n2"},
	{"append by date", `SELECT "id" FROM loam.{ns}.web_docs WHERE (CAST("day" AS TIMESTAMP) > CAST('1969-12-31 00:00:00' AS TIMESTAMP))`, "1"},
	{"append by a number", `SELECT "id" FROM loam.{ns}.web_docs WHERE ("id" > 2)`, "3"},
	{"vectors and lists", `SELECT "id", "emb" FROM loam.{ns}.docs WHERE ("id" = 'a')`, "a|[1,0,0]"},
	{"count without columns", `SELECT count(*) FROM loam.{ns}.web_docs`, "3"},
}

// plans is what the federation path prints: whole statements by an unparser.
var plans = []struct{ name, sql, want string }{
	{"aggregate", `SELECT web_docs.ok, count(1) FROM loam.{ns}.web_docs GROUP BY web_docs.ok ORDER BY web_docs.ok ASC NULLS LAST`, "false|1\ntrue|1\nnull|1"},
	{"join", `SELECT d.id, l.what FROM loam.{ns}.web_docs AS d INNER JOIN loam.{ns}.lines AS l ON (d.id = l.doc) ORDER BY d.id ASC NULLS LAST, l.n DESC NULLS FIRST`, "1|y\n1|x\n2|z"},
	{"semi join", `SELECT web_docs.id FROM loam.{ns}.web_docs WHERE EXISTS (SELECT 1 FROM loam.{ns}.lines WHERE (web_docs.id = lines.doc)) ORDER BY web_docs.id ASC NULLS LAST`, "1\n2"},
	{"anti join", `SELECT web_docs.id FROM loam.{ns}.web_docs WHERE NOT EXISTS (SELECT 1 FROM loam.{ns}.lines WHERE (web_docs.id = lines.doc))`, "3"},
	{"derived table without an alias", `SELECT count(1) FROM (SELECT web_docs.id FROM loam.{ns}.web_docs LIMIT 2)`, "2"},
	{"column aliases", `SELECT c.a FROM (SELECT web_docs.id FROM loam.{ns}.web_docs ORDER BY web_docs.id ASC NULLS LAST LIMIT 1) AS c (a)`, "1"},
	{"union", `SELECT web_docs.id FROM loam.{ns}.web_docs WHERE (web_docs.id = 1) UNION ALL SELECT lines.doc FROM loam.{ns}.lines WHERE (lines.what = 'z')`, "1\n2"},
	{"intervals", `SELECT (CAST('2024-01-01' AS DATE) + INTERVAL '1 MONS 1 DAYS 3 HOURS 10 MINS 20.000000000 SECS')`, "2024-02-02T03:10:20"},
	{"parts of times", `SELECT date_part('YEAR', web_docs."Seen At"), date_trunc('DAY', web_docs."Seen At") FROM loam.{ns}.web_docs WHERE (web_docs.id = 1)`, "2024|2024-01-01T00:00:00"},
	{"casts", `SELECT CAST(web_docs.id AS DOUBLE), CAST(web_docs.price AS DECIMAL(12,0)), CAST(web_docs.id AS VARCHAR), TRY_CAST(web_docs.title AS INTEGER) FROM loam.{ns}.web_docs WHERE (web_docs.id = 2)`, "2|2|2|null"},
	{"is not true", `SELECT web_docs.id FROM loam.{ns}.web_docs WHERE ((web_docs.score + 1.0) > 2.0) IS NOT TRUE ORDER BY web_docs.id ASC NULLS LAST`, "1\n3"},
	{"arrays", `SELECT [1, 2, 3][1], array_has(web_docs.tags, 'a') FROM loam.{ns}.web_docs WHERE (web_docs.id = 1)`, "1|true"},
	{"case", `SELECT CASE WHEN (web_docs.id = 1) THEN 'a' ELSE 'b' END FROM loam.{ns}.web_docs ORDER BY web_docs.id ASC NULLS LAST LIMIT 2`, "a\nb"},
	{"distinct", `SELECT DISTINCT lines.doc FROM loam.{ns}.lines ORDER BY lines.doc ASC NULLS LAST`, "1\n2"},
	{"filtered aggregate", `SELECT count(1) FILTER (WHERE (lines.n = 1)), count(DISTINCT lines.doc), sum(lines.n) FROM loam.{ns}.lines`, "2|2|4"},
	{"left join", `SELECT web_docs.id, lines.what FROM loam.{ns}.web_docs LEFT JOIN loam.{ns}.lines ON ((web_docs.id = lines.doc) AND (lines.n = 2)) ORDER BY web_docs.id ASC NULLS LAST`, "1|y\n2|null\n3|null"},
}

// TestSpice runs all over one server.
func TestSpice(t *testing.T) {
	s := open(t)
	t.Run("schema of catalog.schema.table", func(t *testing.T) { s.schemas(t) })
	t.Run("schema of a collection", func(t *testing.T) {
		got, err := s.tableSchema(t.Context(), reference{"loam", s.ns, "docs"})
		if err != nil || got.NumFields() != 4 {
			t.Errorf("%v, %v", got, err)
		}
	})
	t.Run("a name that is a pattern for another", func(t *testing.T) {
		got, err := s.tableSchema(t.Context(), reference{"loam", s.ns, "web_docs"})
		if err != nil || got.Field(0).Name != "id" {
			t.Errorf("%v, %v", got, err)
		}
	})
	t.Run("a table that is not there", func(t *testing.T) {
		_, err := s.tableSchema(t.Context(), reference{"loam", s.ns, "nothing"})
		if status.Code(err) != codes.NotFound {
			t.Errorf("%v", err)
		}
	})
	t.Run("an empty table still sends a batch", func(t *testing.T) {
		recs, err := s.query(t.Context(), "SELECT * FROM "+s.ns+".empty LIMIT 1")
		if err != nil || len(recs) == 0 || recs[0].NumRows() != 0 || recs[0].NumCols() != 2 {
			t.Errorf("%d batches, %v", len(recs), err)
		}
	})
	t.Run("types of a result are those of the table", func(t *testing.T) { s.sameTypes(t) })
	for _, c := range scans {
		t.Run("scan, "+c.name, func(t *testing.T) { s.same(t, c.sql, c.want) })
	}
	for _, c := range plans {
		t.Run("federation, "+c.name, func(t *testing.T) { s.same(t, c.sql, c.want) })
	}
	t.Run("a wide row fits the client's limit", func(t *testing.T) {
		s.same(t, "SELECT length(v) FROM (SELECT repeat('x', 3000000) AS v FROM range(3)) AS t", "3000000\n3000000\n3000000")
		recs, err := s.query(t.Context(), "SELECT repeat('x', 1000) FROM range(20000)")
		if err != nil || len(recs) < 2 {
			t.Errorf("%d batches, %v", len(recs), err)
		}
	})
	t.Run("a stream that is dropped", func(t *testing.T) { s.dropped(t) })
}

func (s *source) same(t *testing.T, sql, want string) {
	t.Helper()
	if got := s.text(t, sql); got != want {
		t.Errorf("%s\ngot\n%s\nwant\n%s", sql, got, want)
	}
}

func (s *source) schemas(t *testing.T) {
	for _, r := range []reference{{"loam", s.ns, "web_docs"}, {"", s.ns, "web_docs"}} {
		got, err := s.tableSchema(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		var types []string
		for _, f := range got.Fields() {
			if !f.Nullable {
				t.Errorf("%s is not nullable", f.Name)
			}
			types = append(types, f.Name+" "+f.Type.String())
		}
		want := "id int64, title utf8, price decimal(12, 2), score float64, ok bool, day date32, Seen At timestamp[us], raw binary, tags list<item: utf8, nullable>"
		if strings.Join(types, ", ") != want {
			t.Errorf("got  %s\nwant %s", strings.Join(types, ", "), want)
		}
	}
}

// sameTypes: old versions do not cast, so a scan's columns are the table's.
func (s *source) sameTypes(t *testing.T) {
	table, err := s.tableSchema(t.Context(), reference{"loam", s.ns, "web_docs"})
	if err != nil {
		t.Fatal(err)
	}
	for _, tail := range []string{"", " LIMIT 0", " WHERE (\"id\" > 100)"} {
		recs, err := s.query(t.Context(), `SELECT "id", "title", "price", "score", "ok", "day", "Seen At", "raw", "tags" FROM loam.`+s.ns+".web_docs"+tail)
		if err != nil || len(recs) == 0 {
			t.Fatalf("%d batches, %v", len(recs), err)
		}
		for i, f := range recs[0].Schema().Fields() {
			if !arrow.TypeEqual(f.Type, table.Field(i).Type) || f.Nullable != table.Field(i).Nullable {
				t.Errorf("%q: %v in the result, %v in the table", tail, f, table.Field(i))
			}
		}
	}
}

// dropped leaves a stream unread, as a plan that is dropped does.
func (s *source) dropped(t *testing.T) {
	ctx, cancel := context.WithCancel(s.headers(t.Context()))
	info, err := s.client.Execute(ctx, "SELECT * FROM range(100000000)")
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.client.DoGet(ctx, info.Endpoint[0].Ticket)
	if err != nil || !r.Next() {
		t.Fatal(err)
	}
	cancel()
	r.Release()
	s.same(t, "SELECT 1", "1")
}

// TestSpiceLogsIn does the handshake, once, over TLS.
func TestSpiceLogsIn(t *testing.T) {
	uri, roots := os.Getenv("LOAM_TLS_URI"), os.Getenv("LOAM_TLS_CA")
	t.Run("login", func(t *testing.T) {
		if uri == "" {
			t.Skip("LOAM_TLS_URI is not set: no server with TLS runs")
		}
		for _, c := range []struct{ user, password, want string }{
			{"ann", os.Getenv("LOAM_TLS_PASSWORD"), "ann|public"},
			{"public/ann", os.Getenv("LOAM_TLS_PASSWORD"), "ann|public"},
			{"key", os.Getenv("LOAM_TLS_TOKEN"), "bot|public"},
		} {
			con, err := connect(t.Context(), uri, c.user, c.password, roots)
			if err != nil {
				t.Fatalf("%s: %v", c.user, err)
			}
			s := &source{connector: con}
			s.same(t, "SELECT current_user, current_schema()", c.want)
			_ = con.client.Close()
		}
		if _, err := connect(t.Context(), uri, "ann", "wrong", roots); status.Code(err) != codes.Unauthenticated {
			t.Errorf("a wrong password: %v", err)
		}
		con, err := connect(t.Context(), uri, "", "", roots)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = con.client.Close() }()
		if _, err := con.query(t.Context(), "SELECT 1"); status.Code(err) != codes.Unauthenticated {
			t.Errorf("without credentials: %v", err)
		}
	})
}
