package rest

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/ipc"
	"go.uber.org/goleak"

	"github.com/loamdb/loam"
	"github.com/loamdb/loam/catalog"
	"github.com/loamdb/loam/flightsql/access"
	"github.com/loamdb/loam/flightsql/internal/engine"
	"github.com/loamdb/loam/flightsql/internal/enginetest"
	"github.com/loamdb/loam/internal/clock"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// api under test over a real connection, since trailers need one.
type site struct {
	t   *testing.T
	srv *httptest.Server
	api *api
}

func serve(t *testing.T, e engine.Engine, o Options) *site {
	t.Helper()
	a := newAPI(e, o)
	srv := httptest.NewServer(a.handler())
	t.Cleanup(func() {
		srv.Client().CloseIdleConnections()
		srv.Close()
	})
	return &site{t, srv, a}
}

func real(t *testing.T, o Options) *site {
	t.Helper()
	db, err := loam.Open(context.Background(), loam.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return serve(t, engine.Wrap(db), o)
}

// reply is an answer with its body and trailers read.
type got struct {
	*http.Response
	body    string
	readErr error
}

// request makes a request; headers alternate names and values.
func (s *site) request(method, path, body string, headers ...string) *http.Request {
	s.t.Helper()
	r, err := http.NewRequest(method, s.srv.URL+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	if body != "" || method == http.MethodPost {
		r.Header.Set("Content-Type", mediaJSON)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
		if headers[i] == "Host" {
			r.Host = headers[i+1]
		}
	}
	return r
}

// do sends a request and holds the answer against the OpenAPI document.
func (s *site) do(method, path, body string, headers ...string) *got {
	s.t.Helper()
	r := s.request(method, path, body, headers...)
	resp, err := s.srv.Client().Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	out := &got{resp, string(data), err}
	if err == nil {
		s.conforms(r, out)
	}
	return out
}

func (s *site) sql(body string, headers ...string) *got {
	s.t.Helper()
	return s.do("POST", "/v1/sql", body, headers...)
}

func (s *site) run(statements ...string) {
	s.t.Helper()
	for _, sql := range statements {
		text, _ := json.Marshal(sql)
		if r := s.sql(`{"sql":` + string(text) + `}`); r.StatusCode != http.StatusOK {
			s.t.Fatalf("%s: %d %s", sql, r.StatusCode, r.body)
		}
	}
}

func TestSQLAnswers(t *testing.T) {
	s := real(t, Options{})
	for body, want := range map[string]string{
		`{"sql":"SELECT 1 AS a, 'x<y' AS b, NULL AS c, true AS d"}`:                                           `{"columns":[{"name":"a","type":"INT"},{"name":"b","type":"TEXT"},{"name":"c","type":"TEXT"},{"name":"d","type":"BOOLEAN"}],"rows":[[1,"x<y",null,true]]`,
		`{"sql":"SELECT 1 AS a WHERE false"}`:                                                                 `{"columns":[{"name":"a","type":"INT"}],"rows":[]`,
		`{"sql":"SELECT 9007199254740993 AS a, CAST('1.50' AS DECIMAL(5,2)) AS b, CAST(1 AS DOUBLE)/3 AS c"}`: `{"columns":[{"name":"a","type":"BIGINT"},{"name":"b","type":"DECIMAL(5,2)"},{"name":"c","type":"DOUBLE"}],"rows":[[9007199254740993,1.50,0.3333333333333333]]`,
		`{"sql":"SELECT TIMESTAMP '2026-09-25 10:00:00.5' AS t, DATE '2026-09-25' AS d"}`:                     `{"columns":[{"name":"t","type":"TIMESTAMP"},{"name":"d","type":"DATE"}],"rows":[["2026-09-25T10:00:00.5Z","2026-09-25"]]`,
		`{"sql":"SELECT CAST($1 AS BIGINT) + 1 AS a, CAST($2 AS TEXT) AS b","params":[41,"it's"]}`:            `{"columns":[{"name":"a","type":"BIGINT"},{"name":"b","type":"TEXT"}],"rows":[[42,"it's"]]`,
		`{"sql":"CREATE TABLE t (a INT)"}`:                                                                    `{"columns":[],"rows":[],"row_count":0,"affected":0`,
	} {
		r := s.sql(body)
		if r.StatusCode != http.StatusOK || !strings.HasPrefix(strings.TrimSpace(r.body), want) || !json.Valid([]byte(r.body)) {
			t.Errorf("%s: %d\ngot  %s\nwant %s", body, r.StatusCode, r.body, want)
		}
	}
	r := s.sql(`{"sql":"INSERT INTO t VALUES (1), (2)"}`)
	var out struct {
		Affected int
		Token    string
	}
	if err := json.Unmarshal([]byte(r.body), &out); err != nil || out.Affected != 2 || !strings.HasPrefix(out.Token, "v1:") || r.Header.Get(headerToken) != out.Token {
		t.Errorf("%s %v", r.body, err)
	}
	s.run("CREATE NAMESPACE ml")
	for _, r := range []*got{s.sql(`{"sql":"SELECT current_schema()"}`, headerNamespace, "ml"), s.sql(`{"sql":"SELECT current_schema()","namespace":"ml"}`)} {
		if !strings.Contains(r.body, `[["ml"]]`) {
			t.Error(r.body)
		}
	}
}

func TestVectorsOverJSON(t *testing.T) {
	s := real(t, Options{})
	s.run("CREATE COLLECTION docs (id TEXT PRIMARY KEY, emb VECTOR(3) DISTANCE l2)",
		"INSERT INTO docs VALUES ('a', [1, 0, 0]), ('b', [0, 1, 0])")
	r := s.sql(`{"sql":"SELECT id, emb FROM vector_search(docs, vector => ?, k => 1)","params":[[0, 0.9, 0]]}`)
	if !strings.Contains(r.body, `"rows":[["b",[0,1,0]]]`) {
		t.Errorf("%d %s", r.StatusCode, r.body)
	}
	r = s.sql(`{"sql":"SELECT id FROM vector_search(docs, vector => ?, k => 1)","params":[[0, 0.9]]}`)
	if r.StatusCode != http.StatusBadRequest {
		t.Errorf("%d %s", r.StatusCode, r.body)
	}
}

func TestProblems(t *testing.T) {
	s := real(t, Options{MaxBodyBytes: 1000})
	for _, p := range []struct {
		name, method, path, body string
		headers                  []string
		status                   int
		words                    []string
	}{
		{"syntax", "POST", "/v1/sql", `{"sql":"SELECT 1 +\n FROM t"}`, nil, 400, []string{`"sqlstate":"42601"`, `"line":2`, `"code":"syntax_error"`}},
		{"no statement", "POST", "/v1/sql", `{}`, nil, 400, nil},
		{"missing table", "POST", "/v1/sql", `{"sql":"SELECT * FROM nope"}`, nil, 404, []string{`"sqlstate":"42P01"`}},
		{"unknown key", "POST", "/v1/sql", `{"sqll":"SELECT 1"}`, nil, 400, []string{`Did you mean`}},
		{"broken JSON", "POST", "/v1/sql", `{`, nil, 400, nil},
		{"too few parameters", "POST", "/v1/sql", `{"sql":"SELECT CAST(? AS INT)"}`, nil, 400, []string{"42P02"}},
		{"too many parameters", "POST", "/v1/sql", `{"sql":"SELECT 1","params":[1]}`, nil, 400, []string{"42P02"}},
		{"a mixed array", "POST", "/v1/sql", `{"sql":"SELECT ?","params":[[1,"a"]]}`, nil, 400, nil},
		{"plain text", "POST", "/v1/sql", `{}`, []string{"Content-Type", "text/plain"}, 415, []string{"Content-Type"}},
		{"a form", "POST", "/v1/sql", `sql=1`, []string{"Content-Type", "application/x-www-form-urlencoded"}, 415, nil},
		{"too large", "POST", "/v1/sql", `{"sql":"` + strings.Repeat("x", 2000) + `"}`, nil, 413, nil},
		{"no route", "GET", "/nope", "", nil, 404, []string{problemCode}},
		{"a foreign host", "GET", "/healthz", "", []string{"Host", "evil.example"}, 403, []string{"Host"}},
		{"a foreign origin", "POST", "/v1/sql", `{"sql":"SELECT 1"}`, []string{"Origin", "https://evil.example"}, 403, []string{"Origin"}},
		{"a null origin", "POST", "/v1/sql", `{"sql":"SELECT 1"}`, []string{"Origin", "null"}, 403, nil},
		{"a tag with a tail", "POST", "/v1/namespaces/public/collections/docs/scan", `{"at":{"tag":"v"},"tail":"merge"}`, nil, 400, []string{"tail"}},
		{"scan of nothing", "POST", "/v1/namespaces/public/collections/nope/scan", `{}`, nil, 404, nil},
		{"documents without a list", "POST", "/v1/namespaces/public/collections/nope/documents", `[1]`, nil, 404, nil},
	} {
		r := s.do(p.method, p.path, p.body, p.headers...)
		if r.StatusCode != p.status || r.Header.Get("Content-Type") != mediaProblem || !json.Valid([]byte(r.body)) {
			t.Errorf("%s: %d %s %s", p.name, r.StatusCode, r.Header.Get("Content-Type"), r.body)
		}
		for _, w := range p.words {
			if !strings.Contains(r.body, w) {
				t.Errorf("%s: no %q in %s", p.name, w, r.body)
			}
		}
	}
	for _, origin := range []string{"http://localhost:3000", "http://127.0.0.1", "http://[::1]:8816"} {
		r := s.sql(`{"sql":"SELECT 1"}`, "Origin", origin)
		if r.StatusCode != 200 || r.Header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s: %d %v", origin, r.StatusCode, r.Header)
		}
	}
}

const problemCode = `"code":"protocol_violation"`

func TestDocumentsAndScan(t *testing.T) {
	s := real(t, Options{})
	s.run("CREATE COLLECTION docs (id TEXT PRIMARY KEY, n INT)")
	const path = "/v1/namespaces/public/collections/docs/"
	r := s.do("POST", path+"documents", `{"documents":[{"id":"a", "n":1},{"id":"b","n":2}]}`)
	var ack struct {
		Rows  int
		Token string
	}
	if err := json.Unmarshal([]byte(r.body), &ack); err != nil || ack.Rows != 2 || !strings.HasPrefix(ack.Token, "v1:") ||
		r.Header.Get(headerToken) != ack.Token || r.Header.Get(headerUnappliedRecords) == "" || r.Header.Get(headerUnappliedBytes) == "" {
		t.Errorf("%d %s %v %v", r.StatusCode, r.body, r.Header, err)
	}
	r = s.do("POST", path+"documents", "{\"id\":\"c\",\"n\":3}\n\n{\"id\":\"d\"}\n", "Content-Type", "application/x-ndjson")
	if r.StatusCode != 200 || !strings.Contains(r.body, `"rows":2`) {
		t.Errorf("%d %s", r.StatusCode, r.body)
	}
	r = s.sql(`{"sql":"SELECT _source FROM docs WHERE id = 'a'"}`)
	if want := base64.StdEncoding.EncodeToString([]byte(`{"id":"a", "n":1}`)); !strings.Contains(r.body, want) {
		t.Errorf("the document's bytes have changed: %s", r.body)
	}
	if r := s.do("POST", path+"documents", `{"documents":[{"n":1}]}`); r.StatusCode != 400 {
		t.Errorf("without a key: %d %s", r.StatusCode, r.body)
	}
	if r := s.do("POST", strings.Replace(path, "docs", "nope", 1)+"documents", `{"documents":[]}`); r.StatusCode != 404 {
		t.Errorf("no collection: %d %s", r.StatusCode, r.body)
	}
	r = s.do("POST", path+"scan", `{"tail":"wait"}`)
	if r.StatusCode != 200 || !strings.Contains(r.body, `"live_rows":4`) || !strings.HasPrefix(r.Header.Get(headerToken), "v1:") {
		t.Errorf("%d %s", r.StatusCode, r.body)
	}
}

func TestArrowEndsWithAStatus(t *testing.T) {
	s := real(t, Options{})
	r := s.sql(`{"sql":"SELECT a FROM generate_series(1, 100000) AS g(a)"}`, "Accept", mediaArrow)
	reader, err := ipc.NewReader(bytes.NewReader([]byte(r.body)))
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Release()
	rows := int64(0)
	for reader.Next() {
		rows += reader.RecordBatch().NumRows()
	}
	if rows != 100000 || reader.Err() != nil || r.Trailer.Get(headerStatus) != "ok" || r.Header.Get("Content-Type") != mediaArrow {
		t.Errorf("%d rows, %v, trailers %v", rows, reader.Err(), r.Trailer)
	}
	r = s.sql(`{"sql":"SELECT 1 AS a WHERE false"}`, "Accept", mediaArrow)
	if r.Trailer.Get(headerStatus) != "ok" || len(r.body) == 0 {
		t.Errorf("no rows: %q, trailers %v", r.body, r.Trailer)
	}
	r = s.sql(`{"sql":"SELECT nope"}`, "Accept", mediaArrow)
	if r.StatusCode != 400 || r.Header.Get("Content-Type") != mediaProblem {
		t.Errorf("%d %s", r.StatusCode, r.body)
	}
}

// scripted fails after enough rows for the answer to have begun.
func scripted(chunks int, err error) *enginetest.Engine {
	columns := []plan.Column{{Name: "s", Type: types.Of(types.Text)}}
	return &enginetest.Engine{Answers: map[string]enginetest.Answer{"q": {Columns: columns, Query: true, Run: func(context.Context, []vec.Value) (*engine.Result, error) {
		c := vec.NewChunk([]types.Type{types.Of(types.Text)}, 100)
		for range 100 {
			c.Cols[0].Append(vec.Text(strings.Repeat("x", 20_000)))
		}
		c.N = 100
		out := &enginetest.Chunks{Err: err}
		for range chunks {
			out.List = append(out.List, c)
		}
		return out.Rows(columns), nil
	}}}}
}

func TestRefusalsSayWhen(t *testing.T) {
	full := fail.New(fail.BacklogFull, "the backlog is full")
	full.RetryAfter = 1200e6
	s := serve(t, &enginetest.Engine{Append: func(int64) (loam.Ack, error) { return loam.Ack{}, full }}, Options{})
	r := s.do("POST", "/v1/namespaces/public/collections/docs/documents", `{"documents":[{}]}`)
	if r.StatusCode != http.StatusTooManyRequests || r.Header.Get("Retry-After") != "2" {
		t.Errorf("%d %v %s", r.StatusCode, r.Header, r.body)
	}
}

func TestProbesAndMetrics(t *testing.T) {
	fake := scripted(1, nil)
	s := serve(t, fake, Options{Users: access.Plain(map[string]string{"ann": "x"}, nil, clock.Real(), clock.RandomIDs(clock.Real()))})
	for path, want := range map[string]int{"/healthz": 200, "/readyz": 200, "/metrics": 200} {
		if r := s.do("GET", path, ""); r.StatusCode != want {
			t.Errorf("%s: %d %s", path, r.StatusCode, r.body)
		}
	}
	if r := s.sql(`{"sql":"q"}`); r.StatusCode != 401 || r.Header.Get("WWW-Authenticate") == "" {
		t.Errorf("without credentials: %d %s", r.StatusCode, r.body)
	}
	if r := s.sql(`{"sql":"q"}`, "Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte("ann:x"))); r.StatusCode != 200 {
		t.Errorf("with credentials: %d", r.StatusCode)
	}
	fake.Held = []loam.Usage{{Namespace: catalog.Namespace{Name: "ml"}, Bytes: 70, TagBytes: 30, Quota: 90}, {Namespace: catalog.Namespace{Name: "public"}, Bytes: 5}}
	fake.Carried = []loam.LinkStatus{{Namespace: "ml", Name: "l", State: "failed", LagRecords: 7, Lag: 1500 * time.Millisecond,
		LinkCounts: loam.LinkCounts{Batches: 2, Read: 50, Written: 40, Skipped: 4, Dead: 6}}}
	r := s.do("GET", "/metrics", "")
	for _, line := range []string{`loam_link_state{link="l",namespace="ml",state="failed"} 1`, `loam_link_lag_records{link="l",namespace="ml"} 7`, `loam_link_lag_seconds{link="l",namespace="ml"} 1.5`,
		`loam_link_batches_total{link="l",namespace="ml"} 2`, `loam_link_read_records_total{link="l",namespace="ml"} 50`, `loam_link_written_rows_total{link="l",namespace="ml"} 40`,
		`loam_link_skipped_records_total{link="l",namespace="ml"} 4`, `loam_link_dead_letters_total{link="l",namespace="ml"} 6`, `loam_namespace_bytes{namespace="ml"} 70`, `loam_namespace_bytes{namespace="public"} 5`,
		`loam_tag_exclusive_bytes{namespace="ml"} 30`, `loam_namespace_quota_bytes{namespace="ml"} 90`,
		`loam_http_requests_total{route="POST /v1/sql",status="200"} 1`, `loam_http_requests_total{route="POST /v1/sql",status="401"} 1`} {
		if !strings.Contains(r.body, line) {
			t.Errorf("no %s in\n%s", line, r.body)
		}
	}
	if strings.Contains(r.body, `loam_namespace_quota_bytes{namespace="public"}`) {
		t.Error("a quota that there is not")
	}
	fake.Unready = errors.New("the metastore is away")
	if r := s.do("GET", "/metrics", ""); r.StatusCode != 200 || !strings.Contains(r.body, "loam_http_requests_total") || strings.Contains(r.body, "loam_namespace_bytes{") {
		t.Errorf("metrics without a metastore: %d %s", r.StatusCode, r.body)
	}
	if r := s.do("GET", "/readyz", ""); r.StatusCode != 503 {
		t.Errorf("not ready: %d %s", r.StatusCode, r.body)
	}
}

func TestAPanicFailsOneRequest(t *testing.T) {
	told := 0
	fake := &enginetest.Engine{Answers: map[string]enginetest.Answer{"q": {Query: true, Run: func(context.Context, []vec.Value) (*engine.Result, error) { panic("boom") }}}}
	s := serve(t, fake, Options{OnPanic: func(string, any, []byte) { told++ }})
	if r := s.sql(`{"sql":"q"}`); r.StatusCode != 500 || told != 1 {
		t.Errorf("%d, told %d times: %s", r.StatusCode, told, r.body)
	}
	if r := s.do("GET", "/healthz", ""); r.StatusCode != 200 {
		t.Error(r.StatusCode)
	}
}

func TestConfiguredHosts(t *testing.T) {
	s := serve(t, scripted(1, nil), Options{Hosts: []string{"loam.internal"}})
	for host, want := range map[string]int{"loam.internal": 200, "LOAM.internal:8816": 200, "loam.internal.": 200, "other.internal": 403, "127.0.0.1.evil": 403, "[::1]:80": 200} {
		if r := s.do("GET", "/healthz", "", "Host", host); r.StatusCode != want {
			t.Errorf("%s: %d", host, r.StatusCode)
		}
	}
	any := serve(t, scripted(1, nil), Options{Hosts: []string{"*"}})
	if r := any.do("GET", "/healthz", "", "Host", "whatever"); r.StatusCode != 200 {
		t.Error(r.StatusCode)
	}
}
