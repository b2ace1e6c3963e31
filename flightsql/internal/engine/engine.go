package engine

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/loamdb/loam"
	"github.com/loamdb/loam/catalog"
	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/internal/snapshot"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// Engine is what a server serves; see [loam.Engine]. Safe for concurrent use.
type Engine interface {
	NewSession(user, namespace string) Session
	Catalog() catalog.Reader
	Secret(ctx context.Context, name string, n int) ([]byte, error)
	Ready(ctx context.Context) error
	Functions() []expr.FuncHelp
	Usage(ctx context.Context) ([]loam.Usage, error)
	Links(ctx context.Context) ([]loam.LinkStatus, error)
}

// Session is one client's; see [loam.Session]. Safe for concurrent use.
type Session interface {
	Settings
	Prepare(ctx context.Context, sql string, params []types.Type) (Statement, error)
	Writer
	ScanPlan(ctx context.Context, r loam.ScanRequest) (*loam.ScanPlan, error)
	ScanPart(ctx context.Context, p loam.ScanPart) (*Result, error)
}

// Settings are a session's options.
type Settings interface {
	Set(ctx context.Context, name, value string) error
	Reset(name string) error
	Option(name string) (string, bool)
	Options() map[string]string
	Namespace() string
	User() string
}

// Writer takes rows.
type Writer interface {
	AppendRecords(ctx context.Context, t loam.Target, rec arrow.RecordBatch) (loam.Ack, error)
	AppendDocuments(ctx context.Context, t loam.Target, docs [][]byte) (loam.Ack, error)
	Produce(ctx context.Context, t loam.Target, p *loam.Producer, rec arrow.RecordBatch) (loam.Ack, error)
	ProduceDocuments(ctx context.Context, t loam.Target, p *loam.Producer, docs [][]byte) (loam.Ack, error)
	ReadRecords(ctx context.Context, t loam.Target, r loam.RecordRange) (*loam.RecordRun, error)
	PrepareIngest(ctx context.Context, t loam.Target, s *arrow.Schema, m loam.IngestMode) (*schema.Object, error)
}

// Statement is a prepared statement; see [loam.Statement].
type Statement interface {
	Columns() []plan.Column
	Params() []types.Type
	ParamNames() []string
	IsQuery() bool
	Writes() bool
	Bind(ctx context.Context, values []vec.Value) (Statement, error)
	Execute(ctx context.Context) (*Result, error)
	Pin(ctx context.Context) (loam.Pin, error)
	ExecutePinned(ctx context.Context, p loam.Pin) (*Result, error)
	Split(ctx context.Context, p loam.Pin, limit int) ([]loam.Pin, error)
}

// Rows is a result's stream of chunks; Next gives nil at the end. Close may be
// called early and twice.
type Rows interface {
	Next(ctx context.Context) (*vec.Chunk, error)
	Close() error
}

// Result is what a statement answers; see [loam.Result].
type Result struct {
	Columns  []plan.Column
	Affected int64
	Token    *snapshot.Token
	Note     string
	// QueryID is the statement's row in system.queries.
	QueryID int64
	Rows
}
