// Package client is Loam's own Flight SQL client, for the shell and the demo.
//
// In: SQL text, batches to put, scan requests. Out: chunks of vectors, acks,
// plans; errors with their code, place and cure as the server sent them. It is a
// thin layer over arrow-go's client. It imports arrow-go, gRPC and the ground
// floor; it never imports the engine.
package client

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"net"
	"strings"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// Options say how to connect.
type Options struct {
	// Namespace is the namespace of the calls, whatever their session says.
	Namespace string
	// Token is a bearer token; User and Password are the other way to log in.
	Token, User, Password string
	// TLS is used for endpoints grpc+tls://; nil trusts the system's certificates.
	TLS *tls.Config
}

// Client is a connection to a server, with a session: what SET sets, later
// statements see. Safe for concurrent use.
type Client struct {
	sql   *flightsql.Client
	conn  *grpc.ClientConn
	opts  Options
	made  atomic.Int64 // connections made
	known atomic.Int64 // of them, those that Fresh has told of
}

// maxMessage is the largest message that is received.
const maxMessage = 64 << 20

// DefaultPort is the port of an endpoint that names none.
const DefaultPort = "8815"

// address takes an endpoint apart.
func address(endpoint string) (host string, secure bool, err error) {
	scheme, rest, ok := strings.Cut(endpoint, "://")
	if !ok {
		scheme, rest = "grpc", endpoint
	}
	switch scheme {
	case "grpc", "grpc+tcp", "loam":
	case "grpc+tls":
		secure = true
	default:
		return "", false, fail.New(fail.InvalidParameter, "the endpoint %q has the scheme %s", endpoint, scheme).
			WithHint("Write grpc://host:port, or grpc+tls://host:port for a server with TLS.")
	}
	rest = strings.TrimSuffix(rest, "/")
	if _, _, err := net.SplitHostPort(rest); err != nil {
		rest = net.JoinHostPort(strings.Trim(rest, "[]"), DefaultPort)
	}
	return rest, secure, nil
}

// Dial connects to grpc://host:port or grpc+tls://host:port; scheme and port may be
// left out. It does not wait.
func Dial(endpoint string, o Options) (*Client, error) {
	addr, secure, err := address(endpoint)
	if err != nil {
		return nil, err
	}
	c := &Client{opts: o}
	creds := insecure.NewCredentials()
	if secure {
		creds = credentials.NewTLS(o.TLS)
	}
	cookies := flight.NewClientCookieMiddleware()
	c.conn, err = grpc.NewClient(addr, grpc.WithTransportCredentials(creds), grpc.WithContextDialer(c.dial),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessage)),
		grpc.WithChainUnaryInterceptor(unary, cookies.Unary), grpc.WithChainStreamInterceptor(stream, cookies.Stream))
	if err != nil {
		return nil, fail.Wrap(fail.Unavailable, err, "connect to %s", endpoint)
	}
	c.sql = &flightsql.Client{Client: flight.NewClientFromConn(c.conn, nil)}
	return c, nil
}

// dial counts the connections that were made.
func (c *Client) dial(ctx context.Context, addr string) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
	if err == nil {
		c.made.Add(1)
	}
	return conn, err
}

// Fresh waits until the client is connected or cannot be, and reports, once, that
// it is connected anew: a server that has started since does not know the session.
func (c *Client) Fresh(ctx context.Context) bool {
	for {
		state := c.conn.GetState()
		switch state {
		case connectivity.Idle:
			c.conn.Connect()
		case connectivity.Connecting:
		default:
			made := c.made.Load()
			known := c.known.Swap(made)
			return known > 0 && known != made
		}
		if !c.conn.WaitForStateChange(ctx, state) {
			return false
		}
	}
}

// Close closes the connection.
func (c *Client) Close() error { return c.conn.Close() }

func (c *Client) outgoing(ctx context.Context) context.Context {
	if c.opts.Namespace != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, "loam-namespace", c.opts.Namespace)
	}
	switch {
	case c.opts.Token != "":
		ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+c.opts.Token)
	case c.opts.User != "" || c.opts.Password != "":
		basic := base64.StdEncoding.EncodeToString([]byte(c.opts.User + ":" + c.opts.Password))
		ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Basic "+basic)
	}
	return ctx
}

// Rows is the answer to a statement. One goroutine uses it and closes it.
type Rows struct {
	// Columns are empty for statements without rows.
	Columns []plan.Column
	// Affected is what the server counted for a statement without rows, else -1.
	Affected int64

	client *Client
	ctx    context.Context
	rest   []*flight.FlightEndpoint
	reader *flight.Reader
}

// Query runs one statement.
func (c *Client) Query(ctx context.Context, sql string) (*Rows, error) {
	ctx = c.outgoing(ctx)
	info, err := c.sql.Execute(ctx, sql)
	if err != nil {
		return nil, err
	}
	return c.rows(ctx, info)
}

func (c *Client) rows(ctx context.Context, info *flight.FlightInfo) (*Rows, error) {
	r := &Rows{Affected: -1, client: c, ctx: ctx, rest: info.Endpoint}
	sch, err := flight.DeserializeSchema(info.Schema, memory.DefaultAllocator)
	if err != nil {
		return nil, fail.Wrap(fail.BadRequest, err, "schema of the answer")
	}
	if sch.NumFields() == 0 {
		r.Affected, r.rest = info.TotalRecords, nil
	}
	r.Columns, err = columns(sch)
	return r, err
}

func columns(sch *arrow.Schema) ([]plan.Column, error) {
	var out []plan.Column
	for _, f := range sch.Fields() {
		t, err := types.FromArrow(f.Type)
		if err != nil {
			return nil, err
		}
		out = append(out, plan.Column{Name: f.Name, Type: t})
	}
	return out, nil
}

// Next returns the next chunk of rows, or nil at the end.
func (r *Rows) Next(context.Context) (*vec.Chunk, error) {
	for {
		if r.reader == nil {
			if len(r.rest) == 0 {
				return nil, nil
			}
			var err error
			if r.reader, err = r.client.sql.DoGet(r.ctx, r.rest[0].Ticket); err != nil {
				return nil, err
			}
			r.rest = r.rest[1:]
		}
		if r.reader.Next() {
			return r.chunk(r.reader.RecordBatch())
		}
		if err := r.reader.Err(); err != nil {
			return nil, err
		}
		r.reader.Release()
		r.reader = nil
	}
}

func (r *Rows) chunk(rec arrow.RecordBatch) (*vec.Chunk, error) {
	c := &vec.Chunk{N: int(rec.NumRows())}
	for i, col := range r.Columns {
		v, err := vec.FromArrow(rec.Column(i), col.Type)
		if err != nil {
			return nil, err
		}
		out := vec.New(col.Type, v.N) // the reader releases the batch
		out.AppendRows(v, nil, v.N)
		c.Cols = append(c.Cols, out)
	}
	return c, nil
}

// Close ends the answer.
func (r *Rows) Close() error {
	if r.reader != nil {
		r.reader.Release()
		r.reader = nil
	}
	r.rest = nil
	return nil
}

// Ack is the server's answer to one batch that was put.
type Ack struct {
	Rows             int64  `json:"rows"`
	Token            string `json:"token"`
	UnappliedRecords int64  `json:"unapplied_records"`
	UnappliedBytes   int64  `json:"unapplied_bytes"`
}

// Put writes batches to a collection through DoPut and calls acked after each.
// next gives the batches and nil at the end; they are released here.
func (c *Client) Put(ctx context.Context, path []string, sch *arrow.Schema, next func() (arrow.RecordBatch, error), acked func(Ack)) error {
	put, err := c.sql.Client.DoPut(c.outgoing(ctx))
	if err != nil {
		return err
	}
	w := flight.NewRecordWriter(put, ipc.WithSchema(sch))
	w.SetFlightDescriptor(&flight.FlightDescriptor{Type: flight.DescriptorPATH, Path: path})
	for {
		rec, err := next()
		if err != nil || rec == nil {
			break
		}
		werr := w.Write(rec)
		rec.Release()
		if werr != nil {
			break // the server's reason comes with the next receive
		}
		if err := receive(put, acked); err != nil {
			return err
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	if err := put.CloseSend(); err != nil {
		return err
	}
	for {
		if err := receive(put, acked); err != nil {
			if err.Error() == "EOF" {
				return nil
			}
			return err
		}
	}
}

func receive(put flight.FlightService_DoPutClient, acked func(Ack)) error {
	res, err := put.Recv()
	if err != nil {
		return err
	}
	var a Ack
	if json.Unmarshal(res.AppMetadata, &a) == nil && acked != nil && a.Rows > 0 {
		acked(a)
	}
	return nil
}

// Scan asks for a scan plan by the JSON of the REST route with namespace and collection.
func (c *Client) Scan(ctx context.Context, request map[string]any) (*flight.FlightInfo, error) {
	body, err := json.Marshal(request)
	if err != nil {
		return nil, fail.Wrap(fail.InvalidParameter, err, "scan request")
	}
	return c.sql.Client.GetFlightInfo(c.outgoing(ctx), &flight.FlightDescriptor{Type: flight.DescriptorCMD, Cmd: body})
}

// Read reads the rows of one endpoint.
func (c *Client) Read(ctx context.Context, info *flight.FlightInfo, endpoint int) (*Rows, error) {
	r, err := c.rows(c.outgoing(ctx), info)
	if err != nil {
		return nil, err
	}
	r.rest = info.Endpoint[endpoint : endpoint+1]
	return r, nil
}
