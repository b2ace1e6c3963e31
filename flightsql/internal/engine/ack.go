package engine

import (
	"encoding/json"

	"github.com/loamdb/loam"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/snapshot"
)

// AckJSON is an acknowledgement as clients read it: {"rows", "token",
// "unapplied_records", "unapplied_bytes"}.
func AckJSON(ack loam.Ack) ([]byte, error) {
	out := struct {
		Rows             int64  `json:"rows"`
		Token            string `json:"token,omitempty"`
		UnappliedRecords int64  `json:"unapplied_records"`
		UnappliedBytes   int64  `json:"unapplied_bytes"`
	}{ack.Rows, TokenText(ack.Token), ack.UnappliedRecords, ack.UnappliedBytes}
	data, err := json.Marshal(out)
	if err != nil {
		return nil, fail.Wrap(fail.Internal, err, "an acknowledgement as JSON")
	}
	return data, nil
}

// TokenText is "" for the token of a write without rows.
func TokenText(t snapshot.Token) string {
	if t.Incarnation == "" {
		return ""
	}
	return t.String()
}
