package loam

import (
	"context"
	"encoding/json"
	"hash/fnv"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/loamdb/loam/catalog"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// keptQueries is how many statements system.queries remembers.
const keptQueries = 1000

// queryLog remembers the last statements with their times. The zero value is ready.
type queryLog struct {
	mu   sync.Mutex // guards the fields below and the entries
	list []*queryEntry
	next int64
}

type queryEntry struct {
	id        int64
	user      string
	namespace string
	sql       string
	state     string
	err       string
	started   time.Time
	began     time.Duration
	planned   time.Duration
	// working is the time that the engine spent on the statement after planning; the
	// rest until finished its client took to fetch the rows.
	working  time.Duration
	finished time.Duration
	rows     int64
	// ctx ends when the statement has ended or is killed, which stop does.
	ctx  context.Context
	stop context.CancelCauseFunc
	// params are the bound values, planHash names the plan's shape, and snapshot is
	// the pin as JSON, which with the statement makes the answer again.
	params, planHash, snapshot string
}

// maxParamText bounds what is kept of the parameters of one statement.
const maxParamText = 1000

// paramText writes bound values as a list.
func paramText(values []vec.Value) string {
	var b strings.Builder
	for i, v := range values {
		if b.Len() > maxParamText {
			b.WriteString(", …")
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		if v.Null || !v.Type.Textual() {
			b.WriteString(v.String())
		} else {
			b.WriteString("'" + strings.ReplaceAll(v.String(), "'", "''") + "'")
		}
	}
	return b.String()
}

// planHash is the same for statements whose plans differ in nothing but values.
func planHash(root plan.Node) string {
	h := fnv.New64a()
	for _, line := range plan.ExplainText(root) {
		_, _ = h.Write([]byte(line))
	}
	return strconv.FormatUint(h.Sum64(), 16)
}

// pinned notes the state that a query reads.
func (q *queryLog) pinned(entry *queryEntry, root plan.Node, p Pin) {
	text, err := json.Marshal(p)
	if err != nil {
		text = nil
	}
	hash := planHash(root)
	q.mu.Lock()
	defer q.mu.Unlock()
	entry.planHash, entry.snapshot = hash, string(text)
}

// start enters a statement; it runs under the context that is returned.
func (q *queryLog) start(ctx context.Context, e *Engine, st *Statement) (context.Context, *queryEntry) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.next++
	entry := &queryEntry{id: q.next, user: st.session.user, namespace: st.session.Namespace(), sql: st.prepared.SQL,
		params: paramText(st.values), state: "running", started: e.cfg.Clock.Now(), began: e.cfg.Clock.Mono(), planned: st.planTime}
	entry.ctx, entry.stop = context.WithCancelCause(ctx)
	q.list = append(q.list, entry)
	if n := len(q.list); n > keptQueries {
		q.list = append([]*queryEntry(nil), q.list[n-keptQueries:]...)
	}
	return entry.ctx, entry
}

// kill ends a running statement. Errors: UndefinedObject where none has the id.
func (q *queryLog) kill(id int64) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, e := range q.list {
		if e.id == id && e.state == "running" {
			e.stop(fail.New(fail.Canceled, "the statement was ended by KILL QUERY"))
			return nil
		}
	}
	return fail.New(fail.UndefinedObject, "no statement with the id %d is running", id).
		WithHint("SELECT id, sql FROM system.queries WHERE state = 'running' lists them.")
}

// finish notes the outcome and, for a query, follows its rows to the end.
func (q *queryLog) finish(e *Engine, entry *queryEntry, res *Result, err error) (*Result, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	entry.working = e.cfg.Clock.Mono() - entry.began
	if err != nil {
		err = fail.CauseOf(entry.ctx, err)
		entry.state, entry.err, entry.finished = "failed", fail.As(err).Message, entry.working
		entry.stop(nil)
		return nil, err
	}
	res.QueryID = entry.id
	if res.next == nil {
		entry.state, entry.rows, entry.finished = "done", res.Affected, entry.working
		entry.stop(nil)
		return res, nil
	}
	next, closer := res.next, res.close
	res.next = func(ctx context.Context) (*vec.Chunk, error) {
		began := e.cfg.Clock.Mono()
		c, err := (*vec.Chunk)(nil), error(nil)
		if entry.ctx.Err() != nil { // killed; chunks that wait are not delivered
			err = fail.Ended(entry.ctx, "the statement")
		} else {
			c, err = next(ctx)
		}
		err = fail.CauseOf(entry.ctx, err)
		q.mu.Lock()
		defer q.mu.Unlock()
		entry.working += e.cfg.Clock.Mono() - began
		if c != nil {
			entry.rows += int64(c.Rows())
		}
		if err != nil {
			entry.state, entry.err = "failed", fail.As(err).Message
		}
		return c, err
	}
	res.close = func() error {
		var err error
		if closer != nil {
			err = closer()
		}
		entry.stop(nil)
		q.mu.Lock()
		defer q.mu.Unlock()
		if entry.state == "running" {
			entry.state = "done"
		}
		entry.finished = e.cfg.Clock.Mono() - entry.began
		return err
	}
	return res, nil
}

func queryRecords(_ context.Context, s *Session) ([]record, error) {
	q := &s.engine.queries
	q.mu.Lock()
	defer q.mu.Unlock()
	var out []record
	for _, e := range q.list {
		r := record{
			"id": vec.Int64(e.id), "user": vec.Text(e.user), "namespace": vec.Text(e.namespace), "sql": vec.Text(e.sql), "state": vec.Text(e.state),
			"rows": vec.Int64(e.rows), "plan_ms": millis(e.planned), "execute_ms": millis(e.working),
			"fetch_ms": millis(max(e.finished-e.working, 0)), "total_ms": millis(e.finished),
		}
		r["started"] = vec.Value{Type: types.Of(types.Timestamp), Int: e.started.UnixMicro()}
		setText(r, "error", e.err)
		setText(r, "parameters", e.params)
		setText(r, "plan_hash", e.planHash)
		setText(r, "snapshot", e.snapshot)
		out = append(out, r)
	}
	return out, nil
}

func millis(d time.Duration) vec.Value { return vec.Double(float64(d.Microseconds()) / 1000) }

func plainName(s string) catalog.Name { return catalog.Name{Text: s} }
