package rest

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"strconv"

	"github.com/loamdb/loam"
	"github.com/loamdb/loam/flightsql/internal/engine"
	"github.com/loamdb/loam/flightsql/internal/scan"
	"github.com/loamdb/loam/internal/fail"
)

// Headers of answers.
const (
	headerToken            = "Loam-Consistency-Token"
	headerUnappliedRecords = "Loam-Unapplied-Records"
	headerUnappliedBytes   = "Loam-Unapplied-Bytes"
	headerStatus           = "Loam-Status"
	headerNamespace        = "Loam-Namespace"
)

const mediaJSON = "application/json"

func target(r *http.Request) loam.Target {
	return loam.Target{Namespace: r.PathValue("ns"), Name: r.PathValue("c")}
}

// documents takes {"documents": […]} or a document a line, all or none of one request.
func (a *api) documents(ctx context.Context, w http.ResponseWriter, r *http.Request) error {
	data, media, err := body(r, mediaJSON, "application/x-ndjson", "application/jsonl")
	if err != nil {
		return err
	}
	var docs [][]byte
	if media == mediaJSON {
		docs, err = listed(data)
	} else {
		docs = lines(data)
	}
	if err != nil {
		return err
	}
	at := target(r)
	ack, err := a.session(ctx, at.Namespace).AppendDocuments(ctx, at, docs)
	if err != nil {
		return err
	}
	out, err := engine.AckJSON(ack)
	if err != nil {
		return err
	}
	if ack.Token.Incarnation != "" {
		w.Header().Set(headerToken, ack.Token.String())
	}
	w.Header().Set(headerUnappliedRecords, strconv.FormatInt(ack.UnappliedRecords, 10))
	w.Header().Set(headerUnappliedBytes, strconv.FormatInt(ack.UnappliedBytes, 10))
	return writeJSON(w, out)
}

// listed keeps each document's bytes as they came.
func listed(data []byte) ([][]byte, error) {
	var in struct {
		Documents *[]json.RawMessage `json:"documents"`
	}
	if err := scan.Strict(data, &in, []string{"documents"}); err != nil {
		return nil, err
	}
	if in.Documents == nil {
		return nil, fail.New(fail.BadRequest, "the body has no \"documents\"").WithHint("Send {\"documents\": [{…}, …]}, or a document a line as application/x-ndjson.")
	}
	docs := make([][]byte, len(*in.Documents))
	for i, d := range *in.Documents {
		docs[i] = d
	}
	return docs, nil
}

// lines cuts a body into its lines without the empty ones.
func lines(data []byte) [][]byte {
	var docs [][]byte
	for line := range bytes.SplitSeq(data, []byte("\n")) {
		if line = bytes.TrimSpace(line); len(line) > 0 {
			docs = append(docs, line)
		}
	}
	return docs
}

// scan answers a scan plan.
func (a *api) scan(ctx context.Context, w http.ResponseWriter, r *http.Request) error {
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
