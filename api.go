package loam

import (
	"context"
	"time"

	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/internal/snapshot"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
	"github.com/loamdb/loam/planner"
)

// Statement is a prepared statement: parsed, bound and optimized against the
// catalog as it was. Immutable and safe for concurrent use; it keeps its session.
type Statement struct {
	session  *Session
	prepared *plan.Prepared
	values   []vec.Value // bound parameters, nil before Bind
	// planned is the session as it was when the statement was prepared.
	planned planner.Session
	// planTime is how long Prepare took.
	planTime time.Duration
}

// Pin fixes what a query reads, so that it can be run again elsewhere or later
// with the same answer: the statement's time, and for each object its manifest
// version and upper offsets. It travels inside tickets as JSON.
type Pin struct {
	NowMicros int64       `json:"now"`
	Objects   []ObjectPin `json:"objects,omitempty"`
	// Views are the views whose queries are part of the statement.
	Views []plan.ViewRef `json:"views,omitempty"`
}

// ObjectPin is the state of one object. Fragments nil and Tail true mean all of it.
type ObjectPin struct {
	ObjectID      uint64   `json:"id"`
	Incarnation   string   `json:"inc"`
	SchemaVersion uint64   `json:"schema"`
	Version       uint64   `json:"version"`
	Bounds        []uint64 `json:"bounds"`
	// At is the clause of the statement that chose the state; "" for the current one.
	At string `json:"at,omitempty"`
	// Part cuts the object to some of its fragments, for parallel endpoints.
	Part *Part `json:"part,omitempty"`
}

// Part names some of an object's rows: fragments by id, and the tail.
type Part struct {
	Fragments []uint64 `json:"fragments,omitempty"`
	Tail      bool     `json:"tail,omitempty"`
}

// Result is what a statement answers. Rows arrive through Next; the caller
// closes it, which also cancels a running query.
type Result struct {
	// Columns are the output columns; empty for statements without rows.
	Columns []plan.Column
	// Affected is the number of rows that DML changed, 0 for DDL, -1 for queries.
	Affected int64
	// Token covers what a write wrote, and what a query of one object saw that was not
	// asked to read strongly; nil otherwise.
	Token *snapshot.Token
	// Note is told to the user ("namespace x exists already"); may be empty.
	Note string
	// QueryID is the statement's id in system.queries; 0 for what is not listed there.
	QueryID int64

	next  func(context.Context) (*vec.Chunk, error)
	close func() error
}

// Next returns the next chunk of rows, or nil at the end. The chunk belongs to the caller.
func (r *Result) Next(ctx context.Context) (*vec.Chunk, error) {
	if r.next == nil {
		return nil, nil
	}
	return r.next(ctx)
}

// Close ends the result and waits until nothing of it runs. It may be called twice.
func (r *Result) Close() error {
	if r.close == nil {
		return nil
	}
	f := r.close
	r.close, r.next = nil, nil
	return f()
}

// Target names an object to write to or to scan. An empty Namespace is the session's.
type Target struct{ Namespace, Name string }

// Ack is the answer to a write.
type Ack struct {
	Rows  int64
	Token snapshot.Token
	// UnappliedRecords and UnappliedBytes are the backlog after the write.
	UnappliedRecords, UnappliedBytes int64
	// Placed says where the records lie, of a write to a stream. Duplicate is set when a
	// producer's batch had been appended before: then all is as it was answered then.
	Placed    []Placed
	Duplicate bool
}

// ScanTail says what a scan plan does with records that are not in fragments yet.
type ScanTail string

// The tail modes.
const (
	TailNone  ScanTail = "none"
	TailMerge ScanTail = "merge"
	TailWait  ScanTail = "wait"
)

// ScanRequest asks for a scan plan.
type ScanRequest struct {
	Target Target
	// ManifestVersion pins a version; nil is the current state.
	ManifestVersion *uint64
	// Tag pins the version that a tag names, Timestamp the newest one that was
	// committed by then.
	Tag       *string
	Timestamp *time.Time
	// Token is waited for, when it is not nil, before planning.
	Token *snapshot.Token
	// Tail is "" for the default: merge for the current state, none for a version, a
	// tag or a time, which have no other.
	Tail ScanTail
	// Columns are Lance columns: _pk, _source, _ingest_partition, _ingest_offset and
	// vector fields. Nil means all.
	Columns []string
}

// Past reports whether the request names a version, which has no tail.
func (r *ScanRequest) Past() bool {
	return r.ManifestVersion != nil || r.Tag != nil || r.Timestamp != nil
}

// ScanPlan is a pinned plan to read an object in parts. The union of the parts
// is exactly the rows of SELECT at the pin.
type ScanPlan struct {
	Object          *schema.Object
	ID              string
	ManifestVersion uint64
	Lance           *LanceVersion // nil for tables and before the first version
	Fragments       []ScanFragment
	LiveRows        int64
	Columns         []ScanColumn
	Tail            ScanTail
	TailRecords     int64
	Offsets         []ScanOffset
	DurableToken    snapshot.Token
	Pin             Pin
	PlannedAt       time.Time
	// ExpiresAt is zero for a plan that does not expire (manifest version 0).
	ExpiresAt time.Time
	// Parts are the endpoints in order: one a fragment with rows, then the tail in
	// mode merge.
	Parts []ScanPart
}

// LanceVersion is the address of the plan's Lance version.
type LanceVersion struct {
	URI     string `json:"uri"`
	Version uint64 `json:"version"`
	// VersionText is Version in decimal, for readers whose numbers are signed.
	VersionText   string `json:"version_text"`
	ManifestPath  string `json:"manifest_path"`
	StorageFormat string `json:"storage_format"`
	StableRowIDs  bool   `json:"stable_row_ids"`
}

// ScanFragment describes one fragment.
type ScanFragment struct {
	ID           uint64
	PhysicalRows int64
	DeletedRows  int64
	LiveRows     int64
	Files        []string // data/… paths
	// DeletionFile is nil without deletions.
	DeletionFile *ScanDeletion
	// Lance is Lance's own fragment JSON for FragmentMetadata.from_json.
	Lance []byte
	// Superseded are row numbers that the tail replaced or deleted, as a portable
	// roaring bitmap; empty unless Tail is merge.
	Superseded []byte
}

// ScanDeletion is a fragment's deletion file.
type ScanDeletion struct {
	Path        string `json:"path"`
	Kind        string `json:"kind"`
	DeletedRows int64  `json:"deleted_rows"`
}

// ScanColumn describes a column of the plan.
type ScanColumn struct {
	Name     string
	Type     types.Type
	Role     string // pk, source, ingest_partition, ingest_offset, vector, sparse_vector, field
	Dim      int32
	Metric   string
	Modifier string
}

// ScanOffset is a partition's applied offset against the plan's target.
type ScanOffset struct{ Applied, Target uint64 }

// ScanPart is one endpoint of a plan, self-contained: it travels inside tickets as JSON.
type ScanPart struct {
	Object  ObjectPin `json:"object"`
	Columns []string  `json:"columns"`
	// Fragment is the fragment's id, or -1 for the tail.
	Fragment int64 `json:"fragment"`
	LiveRows int64 `json:"live"`
}

// IngestMode says what bulk ingest does about the target's existence.
type IngestMode struct {
	// Create makes the target when it does not exist, else it is UndefinedTable.
	Create bool
	// IfExists is "append", "replace" or "fail" (DuplicateObject).
	IfExists string
}
