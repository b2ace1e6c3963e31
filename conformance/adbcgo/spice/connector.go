package spice

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
)

// messageLimit is what a tonic client takes by default.
const messageLimit = 4 << 20

// tableTypes is the connector's fixed filter.
var tableTypes = []string{"TABLE", "BASE TABLE", "VIEW", "LOCAL TEMPORARY", "SYSTEM TABLE"}

// connector is one dataset source: it logs in once and never again.
type connector struct {
	client *flightsql.Client
	token  string
}

// connect opens an endpoint; with both user and password it does the handshake.
func connect(ctx context.Context, endpoint, user, password, roots string) (*connector, error) {
	scheme, addr, _ := strings.Cut(endpoint, "://")
	creds := insecure.NewCredentials()
	if scheme == "grpc+tls" {
		pem, err := os.ReadFile(roots)
		if err != nil {
			return nil, err
		}
		pool := x509.NewCertPool()
		pool.AppendCertsFromPEM(pem)
		creds = credentials.NewTLS(&tls.Config{RootCAs: pool})
	}
	cookies := flight.NewClientCookieMiddleware()
	client, err := flightsql.NewClient(addr, nil, []flight.ClientMiddleware{cookies},
		grpc.WithTransportCredentials(creds), grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(messageLimit)))
	if err != nil {
		return nil, err
	}
	c := &connector{client: client}
	if user == "" || password == "" {
		return c, nil
	}
	logged, err := client.Client.AuthenticateBasicToken(ctx, user, password)
	if err != nil {
		return nil, err
	}
	md, _ := metadata.FromOutgoingContext(logged)
	if got := md.Get("authorization"); len(got) > 0 {
		c.token = got[len(got)-1]
	}
	if !strings.HasPrefix(c.token, "Bearer ") {
		return nil, fmt.Errorf("the handshake gave no bearer token: %q", c.token)
	}
	return c, nil
}

// headers are those of every call after the handshake.
func (c *connector) headers(ctx context.Context) context.Context {
	pairs := []string{"traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}
	if c.token != "" {
		pairs = append(pairs, "authorization", c.token)
	}
	return metadata.AppendToOutgoingContext(ctx, pairs...)
}

// reference is catalog.schema.table, of which the first two may be missing.
type reference struct{ catalog, schema, table string }

func (r reference) sql() string {
	var parts []string
	for _, p := range []string{r.catalog, r.schema, r.table} {
		if p != "" {
			parts = append(parts, `"`+p+`"`)
		}
	}
	return strings.Join(parts, ".")
}

// schema asks for a table's columns. The names go as patterns without escapes, and
// the rows are compared again here: exactly one may match.
func (c *connector) tableSchema(ctx context.Context, r reference) (*arrow.Schema, error) {
	ctx = c.headers(ctx)
	opts := &flightsql.GetTablesOpts{TableNameFilterPattern: &r.table, IncludeSchema: true, TableTypes: tableTypes}
	if r.catalog != "" {
		opts.Catalog = &r.catalog
	}
	if r.schema != "" {
		opts.DbSchemaFilterPattern = &r.schema
	}
	info, err := c.client.GetTables(ctx, opts)
	if err != nil {
		return nil, err
	}
	var found []*arrow.Schema
	for _, end := range info.Endpoint {
		err := c.read(ctx, end, func(rec arrow.RecordBatch) error {
			more, err := matching(rec, r)
			found = append(found, more...)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	if len(found) == 1 {
		return found[0], nil
	}
	if len(found) > 1 {
		return nil, fmt.Errorf("multiple schemas found for %s", r.sql())
	}
	// Newer versions take the first batch of a query then.
	recs, err := c.query(ctx, "SELECT * FROM "+r.sql()+" LIMIT 1")
	if err != nil {
		return nil, err
	}
	if len(recs) == 0 {
		return nil, fmt.Errorf("no batch for %s", r.sql())
	}
	return recs[0].Schema(), nil
}

// matching reads the rows as the connector does: plain Utf8 and Binary columns, no
// look at their validity.
func matching(rec arrow.RecordBatch, r reference) ([]*arrow.Schema, error) {
	var names [3]*array.String
	for i := range names {
		col, ok := rec.Column(i).(*array.String)
		if !ok || col.NullN() > 0 {
			return nil, fmt.Errorf("column %d is %s with %d NULLs", i, rec.Column(i).DataType(), rec.Column(i).NullN())
		}
		names[i] = col
	}
	schemas, ok := rec.Column(4).(*array.Binary)
	if !ok {
		return nil, fmt.Errorf("table_schema is %s", rec.Column(4).DataType())
	}
	var found []*arrow.Schema
	for i := range int(rec.NumRows()) {
		if r.catalog != "" && names[0].Value(i) != r.catalog || r.schema != "" && names[1].Value(i) != r.schema || names[2].Value(i) != r.table {
			continue
		}
		s, err := flight.DeserializeSchema(schemas.Value(i), memory.DefaultAllocator)
		if err != nil {
			return nil, err
		}
		found = append(found, s)
	}
	return found, nil
}

// query runs a statement and reads its endpoints one after the other.
func (c *connector) query(ctx context.Context, sql string) ([]arrow.RecordBatch, error) {
	ctx = c.headers(ctx)
	info, err := c.client.Execute(ctx, sql)
	if err != nil {
		return nil, err
	}
	var out []arrow.RecordBatch
	for _, end := range info.Endpoint {
		err := c.read(ctx, end, func(rec arrow.RecordBatch) error {
			rec.Retain()
			out = append(out, rec)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// read redeems an endpoint on this connection; a location would lead old versions
// to a server that they do not log in to.
func (c *connector) read(ctx context.Context, end *flight.FlightEndpoint, each func(arrow.RecordBatch) error) error {
	if len(end.Location) > 0 {
		return fmt.Errorf("the endpoint has the location %q", end.Location[0].Uri)
	}
	if len(end.GetTicket().GetTicket()) == 0 {
		return fmt.Errorf("the endpoint has no ticket")
	}
	r, err := c.client.DoGet(ctx, end.Ticket)
	if err != nil {
		return err
	}
	defer r.Release()
	for r.Next() {
		if err := each(r.RecordBatch()); err != nil {
			return err
		}
	}
	return r.Err()
}
