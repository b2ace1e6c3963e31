package flightsql

import (
	"context"
	"encoding/json"

	"github.com/apache/arrow-go/v18/arrow/flight"

	"github.com/loamdb/loam"
	"github.com/loamdb/loam/flightsql/internal/rows"
	"github.com/loamdb/loam/flightsql/internal/scan"
	"github.com/loamdb/loam/flightsql/internal/ticket"
	"github.com/loamdb/loam/internal/fail"
)

// maxInfoMetadata bounds the plan's JSON in FlightInfo; a larger plan is fetched
// over REST, its endpoints are all here.
const maxInfoMetadata = 1 << 20

func (s *Server) scanPlan(ctx context.Context, r loam.ScanRequest) (*loam.ScanPlan, error) {
	sess, err := s.session(ctx, callOf(ctx))
	if err != nil {
		return nil, err
	}
	return sess.ScanPlan(ctx, r)
}

// infoScan answers a scan request: an endpoint a part, valid as long as the plan.
func (s *Server) infoScan(ctx context.Context, d *flight.FlightDescriptor, cmd scanCommand) (*flight.FlightInfo, error) {
	plan, err := s.scanPlan(ctx, cmd.ScanRequest)
	if err != nil {
		return nil, err
	}
	c := callOf(ctx)
	columns := scan.Columns(plan)
	total := plan.LiveRows
	info := s.info(d, rows.Schema(columns), total, nil)
	for _, part := range plan.Parts {
		raw, err := json.Marshal(part)
		if err != nil {
			return nil, fail.Wrap(fail.Internal, err, "a part as JSON")
		}
		if part.Fragment < 0 {
			info.TotalRecords = -1 // how many of the tail's records are rows is known when they are read
		}
		end, err := s.endpoint(&ticket.Content{
			Kind: ticket.Scan, ID: s.opts.IDs.ULID(), User: c.principal.User, Namespace: plan.Object.Namespace,
			Part: raw, Schema: fingerprint(columns), Expires: scan.Expiry(plan, sqlTicketLife),
		})
		if err != nil {
			return nil, err
		}
		if end.AppMetadata, err = scan.EndpointJSON(plan, part); err != nil {
			return nil, err
		}
		info.Endpoint = append(info.Endpoint, end)
	}
	whole, err := scan.PlanJSON(plan)
	if err != nil {
		return nil, err
	}
	if len(whole) <= maxInfoMetadata {
		info.AppMetadata = whole
	}
	return info, nil
}

// openScan starts the reading of one part.
func (s *Server) openScan(ctx context.Context, content *ticket.Content) (*rows.Reader, error) {
	var part loam.ScanPart
	if err := json.Unmarshal(content.Part, &part); err != nil {
		return nil, fail.Wrap(fail.InvalidTicket, err, "the ticket's part")
	}
	res, err := s.engine.NewSession(content.User, content.Namespace).ScanPart(ctx, part)
	if err != nil {
		return nil, err
	}
	if string(fingerprint(res.Columns)) != string(content.Schema) {
		_ = res.Close()
		return nil, fail.New(fail.SnapshotExpired, "the columns of the object have changed since the plan was made")
	}
	return rows.Of(rows.Schema(res.Columns), rows.Types(res.Columns), s.slabs, res).Hurry(s.opts.Clock), nil
}
