package flightsql

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/flight"
	pb "github.com/apache/arrow-go/v18/arrow/flight/gen/flight"
	"github.com/zeebo/xxh3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/loamdb/loam"
	"github.com/loamdb/loam/flightsql/internal/engine"
	"github.com/loamdb/loam/flightsql/internal/rows"
	"github.com/loamdb/loam/flightsql/internal/ticket"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/internal/snapshot"
)

// job is a statement that is about to run: where, what, with which parameters.
type job struct {
	sess engine.Session
	sql  string
	st   engine.Statement
	// bound is nil before parameters are bound.
	bound *binding
}

// each returns the statement once for each row of parameters, bound.
func (j *job) each(ctx context.Context) ([]engine.Statement, error) {
	want := len(j.st.Params())
	if want == 0 {
		return []engine.Statement{j.st}, nil
	}
	if j.bound == nil {
		return nil, fail.New(fail.UndefinedParameter, "the statement has %s, none is bound", fail.Count(want, "parameter"))
	}
	out := make([]engine.Statement, 0, j.bound.count())
	for i := range j.bound.rows {
		st, err := j.bind(ctx, i)
		if err != nil {
			return nil, err
		}
		out = append(out, st)
	}
	return out, nil
}

// maxTicketBytes bounds the tickets of one FlightInfo together: each holds the
// statement, and clients take messages of a few mebibytes.
const maxTicketBytes = 1 << 20

// bytes is what the statement and its parameters add to a ticket.
func (j *job) bytes() int {
	if j.bound == nil {
		return len(j.sql)
	}
	return len(j.sql) + len(j.bound.sealed)
}

// count is how often the statement runs.
func (j *job) count() int {
	if len(j.st.Params()) == 0 {
		return 1
	}
	return j.bound.count()
}

func (j *job) bind(ctx context.Context, row int) (engine.Statement, error) {
	if j.bound == nil || len(j.st.Params()) == 0 {
		return j.st, nil
	}
	return j.st.Bind(ctx, j.bound.rows[row])
}

func (s *Server) infoStatement(ctx context.Context, d *flight.FlightDescriptor, cmd *pb.CommandStatementQuery) (*flight.FlightInfo, error) {
	if err := noTransaction(cmd.GetTransactionId()); err != nil {
		return nil, err
	}
	sess, err := s.session(ctx, callOf(ctx))
	if err != nil {
		return nil, err
	}
	st, err := sess.Prepare(ctx, cmd.GetQuery(), nil)
	if err != nil {
		return nil, err
	}
	return s.infoJob(ctx, d, &job{sess: sess, sql: cmd.GetQuery(), st: st})
}

// infoJob pins a query, or runs anything else once, here and now: drivers send
// DDL and DML down this path and may never redeem the ticket.
func (s *Server) infoJob(ctx context.Context, d *flight.FlightDescriptor, j *job) (*flight.FlightInfo, error) {
	if !j.st.IsQuery() {
		return s.infoDone(ctx, d, j)
	}
	if j.st.Writes() {
		return s.infoReturning(ctx, d, j)
	}
	c := callOf(ctx)
	statements, err := j.each(ctx)
	if err != nil {
		return nil, err
	}
	pinned := j.st
	if len(statements) > 0 {
		pinned = statements[0]
	}
	pin, err := pinned.Pin(ctx)
	if err != nil {
		return nil, err
	}
	pins := []loam.Pin{pin}
	if limit := c.endpoints(j.sess); limit > 1 && len(statements) == 1 && limit*j.bytes() <= maxTicketBytes {
		if pins, err = pinned.Split(ctx, pin, limit); err != nil {
			return nil, err
		}
	}
	schema := rows.Schema(j.st.Columns())
	info := s.info(d, schema, -1, nil)
	for _, p := range pins {
		content, err := s.queryTicket(j, p)
		if err != nil {
			return nil, err
		}
		content.User = c.principal.User
		end, err := s.endpoint(content)
		if err != nil {
			return nil, err
		}
		info.Endpoint = append(info.Endpoint, end)
		if content.ParamRef == "" { // large parameters are kept once, not here again
			s.recent.put(content.ID, j)
		}
	}
	return info, nil
}

func (s *Server) queryTicket(j *job, p loam.Pin) (*ticket.Content, error) {
	pin, err := json.Marshal(p)
	if err != nil {
		return nil, fail.Wrap(fail.Internal, err, "a pin as JSON")
	}
	content := &ticket.Content{
		Kind: ticket.Query, ID: s.opts.IDs.ULID(), SQL: j.sql, Namespace: j.sess.Namespace(),
		Options: s.changed(j.sess), Pin: pin, Schema: fingerprint(j.st.Columns()),
		Expires: s.opts.Clock.Now().Add(sqlTicketLife),
	}
	if j.bound != nil {
		content.Params, content.ParamRef = j.bound.sealed, j.bound.ref
	}
	return content, nil
}

// fingerprint tells whether a statement planned again has the same columns.
func fingerprint(columns []plan.Column) []byte {
	h := xxh3.New()
	for _, c := range columns {
		_, _ = h.WriteString(c.Name + "\x00" + c.Type.String() + "\x00")
	}
	return binary.LittleEndian.AppendUint64(nil, h.Sum64())
}

// infoDone runs a statement without rows, once for each row of parameters, and
// answers in the shape that drivers read counts from: no fields, one endpoint
// without batches, total_records rows affected.
func (s *Server) infoDone(ctx context.Context, d *flight.FlightDescriptor, j *job) (*flight.FlightInfo, error) {
	c := callOf(ctx)
	count, token, err := s.run(ctx, c, j)
	if err != nil {
		return nil, err
	}
	end, err := s.endpoint(&ticket.Content{
		Kind: ticket.Done, ID: s.opts.IDs.ULID(), User: c.principal.User, Expires: s.opts.Clock.Now().Add(sqlTicketLife),
	})
	if err != nil {
		return nil, err
	}
	info := s.info(d, arrow.NewSchema(nil, nil), count, []*flight.FlightEndpoint{end})
	if token != nil {
		if info.AppMetadata, err = json.Marshal(map[string]any{"rows": count, "token": token.String()}); err != nil {
			return nil, fail.Wrap(fail.Internal, err, "an acknowledgement as JSON")
		}
	}
	return info, nil
}

// run executes a statement without rows for each row of parameters; the result
// is the sum of the counts and the token that covers all writes.
func (s *Server) run(ctx context.Context, c *call, j *job) (count int64, token *snapshot.Token, err error) {
	return s.runInto(ctx, c, j, drain)
}

// runInto hands each result to take, which closes it.
func (s *Server) runInto(ctx context.Context, c *call, j *job, take func(context.Context, *engine.Result) error) (count int64, token *snapshot.Token, err error) {
	statements, err := j.each(ctx)
	if err != nil {
		return 0, nil, err
	}
	before := j.sess.Options()
	for _, st := range statements {
		res, err := st.Execute(ctx)
		if err != nil {
			return count, token, err
		}
		err = take(ctx, res)
		count += max(0, res.Affected)
		if res.Token != nil {
			merged := *res.Token
			if token != nil {
				merged = token.Merge(merged)
			}
			token = &merged
		}
		if err != nil {
			return count, token, err
		}
	}
	s.keepIfChanged(ctx, c, j.sess, before)
	if token != nil {
		_ = grpc.SetTrailer(ctx, metadata.Pairs(headerToken, token.String()))
	}
	return count, token, nil
}

// drain takes what a result still gives and closes it.
func drain(ctx context.Context, res *engine.Result) error {
	for {
		chunk, err := res.Next(ctx)
		if err != nil || chunk == nil {
			if closed := res.Close(); err == nil {
				err = closed
			}
			return err
		}
	}
}

// openQuery makes a query's job again from its ticket: the one that was planned
// here a moment ago, or planned anew from the text.
func (s *Server) openQuery(ctx context.Context, content *ticket.Content) (*job, error) {
	if j := s.recent.get(content.ID); j != nil {
		return j, nil
	}
	j, err := s.jobOf(ctx, content)
	if err != nil {
		return nil, err
	}
	if !slices.Equal(fingerprint(j.st.Columns()), content.Schema) {
		return nil, fail.New(fail.SnapshotExpired, "the columns of the query have changed since the ticket was made").
			WithHint("Ask for a new one with GetFlightInfo.")
	}
	return j, nil
}
