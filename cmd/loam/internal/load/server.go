package load

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/loamdb/loam"
	"github.com/loamdb/loam/flightsql/client"
	"github.com/loamdb/loam/internal/vec"
)

// Server is where rows go: a running server, or an engine in this process. Safe
// for concurrent use.
type Server interface {
	// Query runs one statement and gives its rows as text cells.
	Query(ctx context.Context, sql string) ([][]string, error)
	// Put opens a stream into an object of the kind ("collections", "tables").
	Put(ctx context.Context, namespace, kind, name string, sch *arrow.Schema) (Stream, error)
}

// Stream takes batches of one schema. One goroutine uses it. After an error it
// is over and only abandoned.
type Stream interface {
	// Write returns when the batch is durable.
	Write(ctx context.Context, rec arrow.RecordBatch) (Ack, error)
	Close() error
	Abandon()
}

// Ack is what the server says about a batch.
type Ack struct {
	Rows  int64
	Token string
}

// Flight is a server that is reached over Flight SQL.
func Flight(c *client.Client) Server { return flightServer{c} }

type flightServer struct{ c *client.Client }

// Query implements Server.
func (f flightServer) Query(ctx context.Context, sql string) ([][]string, error) {
	r, err := f.c.Query(ctx, sql)
	if err != nil {
		return nil, err
	}
	return cells(ctx, r)
}

// rows is what both kinds of answers are.
type rows interface {
	Next(ctx context.Context) (*vec.Chunk, error)
	Close() error
}

// cells reads an answer; NULL is "".
func cells(ctx context.Context, r rows) ([][]string, error) {
	defer func() { _ = r.Close() }()
	var out [][]string
	for {
		c, err := r.Next(ctx)
		if err != nil || c == nil {
			return out, err
		}
		for i := range c.Rows() {
			var row []string
			for _, col := range c.Cols {
				text := ""
				if v := col.Value(c.RowAt(i)); !v.Null {
					text = v.String()
				}
				row = append(row, text)
			}
			out = append(out, row)
		}
	}
}

// Put implements Server.
func (f flightServer) Put(ctx context.Context, namespace, kind, name string, sch *arrow.Schema) (Stream, error) {
	w, err := f.c.OpenPut(ctx, []string{namespace, kind, name}, sch)
	if err != nil {
		return nil, err
	}
	return flightStream{w}, nil
}

type flightStream struct{ w *client.Writer }

// Write implements Stream. The stream's own context ends a call.
func (f flightStream) Write(_ context.Context, rec arrow.RecordBatch) (Ack, error) {
	a, err := f.w.Write(rec)
	return Ack{Rows: a.Rows, Token: a.Token}, err
}

// Close implements Stream.
func (f flightStream) Close() error { return f.w.Close() }

// Abandon implements Stream.
func (f flightStream) Abandon() { f.w.Abandon() }

// Local is an engine in this process.
func Local(s *loam.Session) Server { return localServer{s} }

type localServer struct{ s *loam.Session }

// Query implements Server.
func (l localServer) Query(ctx context.Context, sql string) ([][]string, error) {
	r, err := l.s.Query(ctx, sql)
	if err != nil {
		return nil, err
	}
	return cells(ctx, r)
}

// Put implements Server.
func (l localServer) Put(_ context.Context, namespace, _, name string, _ *arrow.Schema) (Stream, error) {
	return localStream{l.s, loam.Target{Namespace: namespace, Name: name}}, nil
}

type localStream struct {
	s      *loam.Session
	target loam.Target
}

// Write implements Stream.
func (l localStream) Write(ctx context.Context, rec arrow.RecordBatch) (Ack, error) {
	a, err := l.s.AppendRecords(ctx, l.target, rec)
	if err != nil {
		return Ack{}, err
	}
	return Ack{Rows: a.Rows, Token: a.Token.String()}, nil
}

// Close implements Stream.
func (l localStream) Close() error { return nil }

// Abandon implements Stream.
func (l localStream) Abandon() {}
