package rest

import (
	"context"
	"net/http"

	"github.com/loamdb/loam/flightsql/internal/scan"
)

// scanRoutes are the scan plan's; the shorter path is its first name, which the
// adapters call.
func (a *api) scanRoutes() []endpoint {
	plan := endpoint{method: http.MethodPost, path: pathCollection + "/scan-plans", op: "planScan", tag: "Scans", summary: "Plan a scan for other engines",
		text: "The plan names the fragments of one pinned state as open Lance files, and what is not in them yet.",
		body: jsonBody("ScanRequest"), answers: answersJSON("ScanPlan", "The plan.", headerToken), serve: a.scan}
	first := plan
	first.path, first.op, first.summary = pathCollection+"/scan", "scan", "Plan a scan (the route's first name)"
	return []endpoint{plan, first}
}

func (a *api) scan(ctx context.Context, w *answer, r *http.Request) error {
	data, _, err := body(r, mediaJSON)
	if err != nil {
		return err
	}
	at := target(r)
	request, err := scan.ParseJSON(data, &at)
	if err != nil {
		return err
	}
	plan, err := a.session(ctx, at.Namespace).ScanPlan(ctx, request)
	if err != nil {
		return err
	}
	out, err := scan.PlanJSON(plan)
	if err != nil {
		return err
	}
	w.Header().Set(headerToken, plan.DurableToken.String())
	return writeJSON(w, out)
}
