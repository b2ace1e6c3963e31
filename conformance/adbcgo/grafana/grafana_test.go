// Package grafana stands in for Grafana's Flight SQL data source: arrow-go's client
// with its default limits, exactly one endpoint for each query, the table picker's
// calls, and queries with the data source's macros written out. It is equivalent in
// protocol and is not Grafana. The tests run against the server at LOAM_URI.
package grafana

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// panel is one data source.
type panel struct {
	t      *testing.T
	client *flightsql.Client
	ctx    context.Context
}

func open(t *testing.T, uri string, creds credentials.TransportCredentials) *panel {
	t.Helper()
	_, addr, _ := strings.Cut(uri, "://")
	client, err := flightsql.NewClient(addr, nil, nil, grpc.WithTransportCredentials(creds))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return &panel{t, client, t.Context()}
}

// read takes an answer as the data source does: one endpoint or an error.
func (p *panel) read(info *flight.FlightInfo, err error) ([]arrow.RecordBatch, error) {
	p.t.Helper()
	if err != nil {
		return nil, err
	}
	if len(info.Endpoint) != 1 {
		return nil, fmt.Errorf("unsupported endpoint count in response: %d", len(info.Endpoint))
	}
	r, err := p.client.DoGet(p.ctx, info.Endpoint[0].Ticket)
	if err != nil {
		return nil, err
	}
	defer r.Release()
	var out []arrow.RecordBatch
	for r.Next() {
		rec := r.RecordBatch()
		rec.Retain()
		out = append(out, rec)
	}
	return out, r.Err()
}

func (p *panel) query(sql string) string {
	p.t.Helper()
	recs, err := p.read(p.client.Execute(p.ctx, sql))
	if err != nil {
		p.t.Errorf("%s: %v", sql, err)
		return ""
	}
	var rows []string
	for _, rec := range recs {
		for i := range int(rec.NumRows()) {
			var cells []string
			for _, col := range rec.Columns() {
				cells = append(cells, col.ValueStr(i))
			}
			rows = append(rows, strings.Join(cells, "|"))
		}
	}
	return strings.Join(rows, "\n")
}

func (p *panel) same(sql, want string) {
	p.t.Helper()
	if got := p.query(sql); got != want {
		p.t.Errorf("%s\ngot\n%s\nwant\n%s", sql, got, want)
	}
}

// TestGrafana is a dashboard over one table.
func TestGrafana(t *testing.T) {
	uri := os.Getenv("LOAM_URI")
	if uri == "" {
		t.Skip("LOAM_URI is not set: no server runs")
	}
	p := open(t, uri, insecure.NewCredentials())
	ns := fmt.Sprintf("grafana_%d", time.Now().UnixNano())
	for _, sql := range []string{
		"CREATE NAMESPACE " + ns,
		"CREATE TABLE " + ns + `.cpu (at TIMESTAMP, host TEXT, usage DOUBLE)`,
		"CREATE TABLE " + ns + `.cpu_total (n BIGINT)`,
		"INSERT INTO " + ns + `.cpu VALUES (TIMESTAMP '2024-01-01 00:00:05', 'a', 1.5), (TIMESTAMP '2024-01-01 00:00:14', 'b', 2.5), (TIMESTAMP '2024-01-01 00:00:16', 'a', 4.5)`,
	} {
		p.query(sql)
	}
	step := func(name string, f func(p *panel)) {
		t.Run(name, func(t *testing.T) { f(&panel{t, p.client, t.Context()}) })
	}
	step("SqlInfo, all of it", func(p *panel) {
		recs, err := p.read(p.client.GetSqlInfo(p.ctx, nil))
		if err != nil || len(recs) != 1 || recs[0].NumRows() < 80 || recs[0].Column(1).DataType().ID() != arrow.DENSE_UNION {
			p.t.Errorf("%d batches, %v", len(recs), err)
		}
	})
	step("table picker", func(p *panel) {
		recs, err := p.read(p.client.GetTables(p.ctx, &flightsql.GetTablesOpts{DbSchemaFilterPattern: &ns, TableTypes: []string{"BASE TABLE", "table"}}))
		if err != nil || len(recs) != 1 || recs[0].NumRows() != 2 || recs[0].Column(2).ValueStr(0) != "cpu" {
			p.t.Errorf("%v, %v", recs, err)
		}
	})
	step("column picker takes the first row", func(p *panel) {
		name := "cpu"
		recs, err := p.read(p.client.GetTables(p.ctx, &flightsql.GetTablesOpts{DbSchemaFilterPattern: &ns, TableNameFilterPattern: &name, IncludeSchema: true}))
		if err != nil || len(recs) != 1 || recs[0].NumRows() == 0 {
			p.t.Fatalf("%v, %v", recs, err)
		}
		s, err := flight.DeserializeSchema(recs[0].Column(4).(*array.Binary).Value(0), memory.DefaultAllocator)
		if err != nil || s.NumFields() != 3 || s.Field(0).Name != "at" {
			p.t.Errorf("%v, %v", s, err)
		}
	})
	from := " FROM " + ns + ".cpu "
	step("$__dateBin and $__timeFilter", func(p *panel) {
		p.same("SELECT date_bin(interval '15 second', at, timestamp '1970-01-01T00:00:00Z'), avg(usage)"+from+
			"WHERE at >= '2024-01-01T00:00:00Z' AND at <= '2024-01-01T01:00:00Z' GROUP BY 1 ORDER BY 1", "2024-01-01T00:00:00|2\n2024-01-01T00:00:15|4.5")
	})
	step("$__dateBinAlias", func(p *panel) {
		p.same("SELECT date_bin(interval '15 second', at, timestamp '1970-01-01T00:00:00Z') as at_binned, max(usage)"+from+"GROUP BY at_binned ORDER BY at_binned DESC LIMIT 1", "2024-01-01T00:00:15|4.5")
	})
	step("the time column is a timestamp", func(p *panel) {
		recs, err := p.read(p.client.Execute(p.ctx, "SELECT at, host, usage"+from))
		if err != nil || recs[0].Column(0).DataType().ID() != arrow.TIMESTAMP {
			p.t.Errorf("%v", err)
		}
	})
	step("one endpoint also for an ordered scan of many rows", func(p *panel) {
		p.same("SELECT count(*) FROM (SELECT r FROM range(300000) AS x(r) ORDER BY r) AS t", "300000")
		recs, err := p.read(p.client.Execute(p.ctx, "SELECT r, repeat('x', 100) FROM range(300000) AS x(r)"))
		rows := int64(0)
		for _, rec := range recs {
			rows += rec.NumRows()
		}
		if err != nil || rows != 300000 {
			p.t.Errorf("%d rows, %v", rows, err)
		}
	})
	step("variables", func(p *panel) { p.same("SELECT DISTINCT host"+from+"ORDER BY host", "a\nb") })
	step("an error has its text", func(p *panel) {
		_, err := p.read(p.client.Execute(p.ctx, "SELECT nothing"+from))
		if err == nil || !strings.Contains(err.Error(), "nothing") || !strings.Contains(err.Error(), "SQLSTATE 42703") {
			p.t.Errorf("%v", err)
		}
	})
	step("a token without a handshake", token)
}

// token sends a static bearer token with each call and shakes no hands.
func token(p *panel) {
	uri := os.Getenv("LOAM_TLS_URI")
	if uri == "" {
		p.t.Skip("LOAM_TLS_URI is not set: no server with TLS runs")
	}
	pem, err := os.ReadFile(os.Getenv("LOAM_TLS_CA"))
	if err != nil {
		p.t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	secure := open(p.t, uri, credentials.NewTLS(&tls.Config{RootCAs: roots}))
	if _, err := secure.read(secure.client.Execute(secure.ctx, "SELECT 1")); status.Code(err) != codes.Unauthenticated {
		p.t.Errorf("without a token: %v", err)
	}
	secure.ctx = metadata.AppendToOutgoingContext(secure.ctx, "Authorization", "Bearer "+os.Getenv("LOAM_TLS_TOKEN"))
	secure.same("SELECT current_user", "bot")
}
