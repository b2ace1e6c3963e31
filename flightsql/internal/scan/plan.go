package scan

import (
	"encoding/base64"
	"encoding/json"
	"time"

	"github.com/loamdb/loam"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/plan"
)

// Encoding names the encoding of _pk in plans.
const Encoding = "loam_canonical_v1"

type planJSON struct {
	Namespace       string             `json:"namespace"`
	Collection      string             `json:"collection"`
	CollectionID    uint64             `json:"collection_id"`
	Plan            string             `json:"plan"`
	ManifestVersion uint64             `json:"manifest_version"`
	SchemaVersion   uint64             `json:"schema_version"`
	Lance           *loam.LanceVersion `json:"lance"`
	Fragments       []fragmentJSON     `json:"fragments"`
	LiveRows        int64              `json:"live_rows"`
	Columns         []columnJSON       `json:"columns"`
	PKEncoding      string             `json:"pk_encoding"`
	Tail            loam.ScanTail      `json:"tail"`
	TailRecords     int64              `json:"tail_records"`
	Offsets         []offsetJSON       `json:"offsets"`
	DurableToken    string             `json:"durable_token"`
	Pin             pinJSON            `json:"pin"`
	PlannedAtMS     int64              `json:"planned_at_ms"`
	ExpiresAtMS     *int64             `json:"expires_at_ms"`
}

type fragmentJSON struct {
	ID           uint64             `json:"id"`
	PhysicalRows int64              `json:"physical_rows"`
	DeletedRows  int64              `json:"deleted_rows"`
	LiveRows     int64              `json:"live_rows"`
	Files        []string           `json:"files"`
	DeletionFile *loam.ScanDeletion `json:"deletion_file"`
	Lance        json.RawMessage    `json:"lance"`
	// Superseded is a portable roaring bitmap of row numbers, base64.
	Superseded string `json:"superseded,omitempty"`
}

type columnJSON struct {
	Name     string `json:"name"`
	Role     string `json:"role"`
	Type     string `json:"type"`
	Dim      int32  `json:"dim,omitempty"`
	Distance string `json:"distance,omitempty"`
	Modifier string `json:"modifier,omitempty"`
}

type offsetJSON struct {
	Applied uint64 `json:"applied"`
	Target  uint64 `json:"target"`
}

type pinJSON struct {
	ManifestVersion uint64 `json:"manifest_version"`
	Token           string `json:"token"`
}

// PlanJSON renders a plan with the fields of the REST route.
func PlanJSON(p *loam.ScanPlan) ([]byte, error) {
	out := planJSON{
		Namespace: p.Object.Namespace, Collection: p.Object.Name, CollectionID: p.Object.ID, Plan: p.ID,
		ManifestVersion: p.ManifestVersion, SchemaVersion: p.Object.SchemaVersion, Lance: p.Lance,
		Fragments: []fragmentJSON{}, LiveRows: p.LiveRows, Columns: []columnJSON{}, PKEncoding: Encoding,
		Tail: p.Tail, TailRecords: p.TailRecords, Offsets: []offsetJSON{}, DurableToken: p.DurableToken.String(),
		Pin:         pinJSON{ManifestVersion: p.ManifestVersion, Token: p.DurableToken.String()},
		PlannedAtMS: p.PlannedAt.UnixMilli(),
	}
	if !p.ExpiresAt.IsZero() {
		ms := p.ExpiresAt.UnixMilli()
		out.ExpiresAtMS = &ms
	}
	for _, f := range p.Fragments {
		out.Fragments = append(out.Fragments, fragmentOf(f))
	}
	for _, c := range p.Columns {
		out.Columns = append(out.Columns, columnJSON{
			Name: c.Name, Role: c.Role, Type: c.Type.String(), Dim: c.Dim, Distance: c.Metric, Modifier: c.Modifier,
		})
	}
	for _, o := range p.Offsets {
		out.Offsets = append(out.Offsets, offsetJSON(o))
	}
	data, err := json.Marshal(out)
	if err != nil {
		return nil, fail.Wrap(fail.Internal, err, "a scan plan as JSON")
	}
	return data, nil
}

func fragmentOf(f loam.ScanFragment) fragmentJSON {
	j := fragmentJSON{
		ID: f.ID, PhysicalRows: f.PhysicalRows, DeletedRows: f.DeletedRows, LiveRows: f.LiveRows,
		Files: f.Files, DeletionFile: f.DeletionFile, Lance: json.RawMessage("null"),
		Superseded: base64.StdEncoding.EncodeToString(f.Superseded),
	}
	if j.Files == nil {
		j.Files = []string{}
	}
	if json.Valid(f.Lance) {
		j.Lance = f.Lance
	}
	return j
}

// EndpointJSON is the metadata of one endpoint; fragment is null for the tail.
func EndpointJSON(p *loam.ScanPlan, part loam.ScanPart) ([]byte, error) {
	out := struct {
		Plan     string `json:"plan"`
		Manifest uint64 `json:"manifest"`
		Fragment *int64 `json:"fragment"`
		LiveRows int64  `json:"live_rows"`
	}{Plan: p.ID, Manifest: p.ManifestVersion, LiveRows: part.LiveRows}
	if part.Fragment >= 0 {
		out.Fragment = &part.Fragment
	}
	data, err := json.Marshal(out)
	if err != nil {
		return nil, fail.Wrap(fail.Internal, err, "an endpoint as JSON")
	}
	return data, nil
}

// Columns are the plan's columns as those of its parts' rows.
func Columns(p *loam.ScanPlan) []plan.Column {
	out := make([]plan.Column, len(p.Columns))
	for i, c := range p.Columns {
		out[i] = plan.Column{Name: c.Name, Type: c.Type}
	}
	return out
}

// Expiry is when the plan's tickets end; a plan that does not expire still has
// tickets that do, a while after it was made.
func Expiry(p *loam.ScanPlan, otherwise time.Duration) time.Time {
	if p.ExpiresAt.IsZero() {
		return p.PlannedAt.Add(otherwise)
	}
	return p.ExpiresAt
}
