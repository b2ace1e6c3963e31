package engine

import (
	"encoding/json"

	"github.com/loamdb/loam"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/snapshot"
)

// placedJSON says where records of a write to a stream lie.
type placedJSON struct {
	Partition int    `json:"partition"`
	First     uint64 `json:"first_offset"`
	Records   int64  `json:"records"`
}

// AckJSON is an acknowledgement as clients read it: {"rows", "token",
// "unapplied_records", "unapplied_bytes"}, and of a stream "placed", with "duplicate"
// for a producer's batch that had been appended before.
func AckJSON(ack loam.Ack) ([]byte, error) {
	out := struct {
		Rows             int64  `json:"rows"`
		Token            string `json:"token,omitempty"`
		UnappliedRecords int64  `json:"unapplied_records"`
		UnappliedBytes   int64  `json:"unapplied_bytes"`

		Placed    []placedJSON `json:"placed,omitempty"`
		Duplicate bool         `json:"duplicate,omitempty"`
	}{Rows: ack.Rows, Token: TokenText(ack.Token), UnappliedRecords: ack.UnappliedRecords, UnappliedBytes: ack.UnappliedBytes, Duplicate: ack.Duplicate}
	for _, at := range ack.Placed {
		out.Placed = append(out.Placed, placedJSON(at))
	}
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
