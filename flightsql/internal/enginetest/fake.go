package enginetest

import (
	"context"
	"maps"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/loamdb/loam"
	"github.com/loamdb/loam/catalog"
	"github.com/loamdb/loam/flightsql/internal/engine"
	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// Answer is what one SQL text gives.
type Answer struct {
	Columns []plan.Column
	Params  []types.Type
	// Query tells statements with rows.
	Query bool
	// Run executes it; values are the bound parameters.
	Run func(ctx context.Context, values []vec.Value) (*engine.Result, error)
}

// Engine answers by text; other texts are syntax errors. The fields are set
// before use.
type Engine struct {
	Answers map[string]Answer
	// Objects is the catalog, all in namespace public.
	Objects []*schema.Object
	// Append answers AppendRecords and AppendDocuments.
	Append func(rows int64) (loam.Ack, error)
	// Held is what Usage gives.
	Held []loam.Usage
	// Carried is what Links gives.
	Carried []loam.LinkStatus
	// Unready, when not nil, is the error of Ready, Usage and Links.
	Unready error

	mu   sync.Mutex // guards the fields below
	runs map[string]int
}

// Runs is how often a text was executed.
func (e *Engine) Runs(sql string) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.runs[sql]
}

func (e *Engine) ran(sql string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.runs == nil {
		e.runs = map[string]int{}
	}
	e.runs[sql]++
}

// NewSession implements engine.Engine.
func (e *Engine) NewSession(user, namespace string) engine.Session {
	if namespace == "" {
		namespace = catalog.DefaultNamespace
	}
	return &session{engine: e, user: user, options: map[string]string{"schema": namespace, "catalog": catalog.RootCatalog, "loam.max_endpoints": "1"}}
}

// Catalog implements engine.Engine.
func (e *Engine) Catalog() catalog.Reader { return reader{e} }

// Secret implements engine.Engine.
func (e *Engine) Secret(_ context.Context, name string, n int) ([]byte, error) {
	key := make([]byte, n)
	copy(key, name)
	return key, nil
}

// Ready implements engine.Engine.
func (e *Engine) Ready(context.Context) error { return e.Unready }

// Functions implements engine.Engine.
func (e *Engine) Functions() []expr.FuncHelp { return nil }

// Usage implements engine.Engine.
func (e *Engine) Usage(context.Context) ([]loam.Usage, error) { return e.Held, e.Unready }

// Links implements engine.Engine.
func (e *Engine) Links(context.Context) ([]loam.LinkStatus, error) { return e.Carried, e.Unready }

type reader struct{ engine *Engine }

// Lookup implements catalog.Reader.
func (r reader) Lookup(_ context.Context, ns, name catalog.Name) (*schema.Object, error) {
	for _, o := range r.engine.Objects {
		if o.Name == name.Text && o.Namespace == ns.Text {
			return o, nil
		}
	}
	return nil, fail.New(fail.UndefinedTable, "there is no %s.%s", ns.Text, name.Text)
}

// ByID implements catalog.Reader.
func (r reader) ByID(_ context.Context, id uint64) (*schema.Object, error) {
	for _, o := range r.engine.Objects {
		if o.ID == id {
			return o, nil
		}
	}
	return nil, fail.New(fail.UndefinedTable, "object %d does not exist", id)
}

// Namespaces implements catalog.Reader.
func (r reader) Namespaces(context.Context) ([]catalog.Namespace, error) {
	return []catalog.Namespace{{Name: catalog.DefaultNamespace}}, nil
}

// Objects implements catalog.Reader.
func (r reader) Objects(context.Context, string) ([]*schema.Object, error) {
	return r.engine.Objects, nil
}

type session struct {
	engine *Engine
	user   string

	mu      sync.Mutex // guards options
	options map[string]string
}

func (s *session) Set(_ context.Context, name, value string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.options[name]; !ok {
		return fail.New(fail.InvalidParameter, "there is no setting %q", name)
	}
	if value == "bad" {
		return fail.New(fail.InvalidParameter, "a bad value")
	}
	s.options[name] = value
	return nil
}

func (s *session) Reset(name string) error {
	return s.Set(context.Background(), name, s.engine.NewSession("", "").Options()[name])
}

func (s *session) Option(name string) (string, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, ok := s.options[name]
	return v, ok
}

func (s *session) Options() map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.options)
}

func (s *session) Namespace() string {
	v, _ := s.Option("schema")
	return v
}

func (s *session) User() string { return s.user }

func (s *session) Prepare(_ context.Context, sql string, _ []types.Type) (engine.Statement, error) {
	a, ok := s.engine.Answers[sql]
	if !ok {
		return nil, fail.New(fail.Syntax, "no answer for %.200q", sql).At(sql, 0).WithHint("Teach the fake — naïvely.")
	}
	return &statement{Answer: a, engine: s.engine, sql: sql}, nil
}

func (s *session) AppendRecords(_ context.Context, _ loam.Target, rec arrow.RecordBatch) (loam.Ack, error) {
	return s.engine.Append(rec.NumRows())
}

func (s *session) Produce(ctx context.Context, t loam.Target, _ *loam.Producer, rec arrow.RecordBatch) (loam.Ack, error) {
	return s.AppendRecords(ctx, t, rec)
}

func (s *session) ProduceDocuments(ctx context.Context, t loam.Target, _ *loam.Producer, docs [][]byte) (loam.Ack, error) {
	return s.AppendDocuments(ctx, t, docs)
}

func (s *session) ReadRecords(context.Context, loam.Target, loam.RecordRange) (*loam.RecordRun, error) {
	return &loam.RecordRun{}, nil
}

func (s *session) AppendDocuments(_ context.Context, _ loam.Target, docs [][]byte) (loam.Ack, error) {
	return s.engine.Append(int64(len(docs)))
}

func (s *session) PrepareIngest(context.Context, loam.Target, *arrow.Schema, loam.IngestMode) (*schema.Object, error) {
	return nil, nil
}

func (s *session) ScanPlan(context.Context, loam.ScanRequest) (*loam.ScanPlan, error) {
	return nil, fail.New(fail.Unsupported, "the fake plans no scans")
}

func (s *session) ScanPart(context.Context, loam.ScanPart) (*engine.Result, error) {
	return nil, fail.New(fail.Unsupported, "the fake plans no scans")
}

type statement struct {
	Answer
	engine *Engine
	sql    string
	values []vec.Value
}

func (s *statement) Columns() []plan.Column { return s.Answer.Columns }
func (s *statement) Params() []types.Type {
	if s.values != nil {
		return nil
	}
	return s.Answer.Params
}

// ParamNames implements engine.Statement: parameters have numbers only.
func (s *statement) ParamNames() []string { return make([]string, len(s.Params())) }

// IsQuery implements engine.Statement.
func (s *statement) IsQuery() bool { return s.Query }

// Writes implements engine.Statement.
func (s *statement) Writes() bool { return false }

func (s *statement) Bind(_ context.Context, values []vec.Value) (engine.Statement, error) {
	bound := *s
	bound.values = values
	return &bound, nil
}

func (s *statement) Execute(ctx context.Context) (*engine.Result, error) {
	s.engine.ran(s.sql)
	return s.Run(ctx, s.values)
}

func (s *statement) Pin(context.Context) (loam.Pin, error) { return loam.Pin{NowMicros: 1}, nil }

func (s *statement) ExecutePinned(ctx context.Context, _ loam.Pin) (*engine.Result, error) {
	return s.Execute(ctx)
}

func (s *statement) Split(_ context.Context, p loam.Pin, limit int) ([]loam.Pin, error) {
	pins := make([]loam.Pin, limit)
	for i := range pins {
		pins[i] = p
	}
	return pins, nil
}

// Chunks is a result of prepared chunks, then an error or the end. Closed tells
// how often it was closed.
type Chunks struct {
	List []*vec.Chunk
	Err  error
	// Forever repeats the last chunk until the context ends.
	Forever bool
	// Block waits for the context at the end of the list.
	Block bool

	mu     sync.Mutex // guards the fields below
	next   int
	closed int
}

// Next implements engine.Rows.
func (c *Chunks) Next(ctx context.Context) (*vec.Chunk, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.next < len(c.List) {
		c.next++
		return c.List[c.next-1], nil
	}
	if c.Forever {
		return c.List[len(c.List)-1], nil
	}
	if c.Block {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return nil, c.Err
}

// Close implements engine.Rows.
func (c *Chunks) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed++
	return nil
}

// Closed is how often Close was called.
func (c *Chunks) Closed() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closed
}

// Rows is a result over chunks.
func (c *Chunks) Rows(columns []plan.Column) *engine.Result {
	return &engine.Result{Columns: columns, Affected: -1, Rows: c}
}
