package loam

import (
	"context"
	"time"

	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
	"github.com/loamdb/loam/planner"
)

func (s *Session) planning() planner.Session {
	return planner.Session{Namespace: s.Namespace(), User: s.user, Options: s.Options()}
}

// Prepare parses, binds and optimizes exactly one statement. params are types
// that the client declares; nil leaves them to the context. A panic is a bug and
// fails this statement alone, with fail.Internal.
func (s *Session) Prepare(ctx context.Context, sql string, params []types.Type) (st *Statement, err error) {
	defer func() {
		if v := recover(); v != nil {
			st, err = nil, fail.FromPanic(v)
		}
	}()
	planned := s.planning()
	began := s.engine.cfg.Clock.Mono()
	list, err := s.engine.planner.Prepare(ctx, planned, sql, params)
	if err != nil {
		return nil, err
	}
	switch len(list) {
	case 0:
		return nil, fail.New(fail.Syntax, "the statement is empty")
	case 1:
		return &Statement{session: s, prepared: list[0], planned: planned, planTime: s.engine.cfg.Clock.Mono() - began}, nil
	}
	return nil, fail.New(fail.Syntax, "%d statements where one is expected", len(list)).WithHint("Send them one by one.")
}

// Query prepares, binds and executes one statement. An argument is nil, a bool, an
// int, int32 or int64, a float32 or float64, a string, a time.Time (its instant), a
// []byte, a []float32 (a vector) or a []string; it is cast to its parameter's type.
func (s *Session) Query(ctx context.Context, sql string, args ...any) (*Result, error) {
	values := make([]vec.Value, len(args))
	for i, a := range args {
		v, err := argument(a)
		if err != nil {
			return nil, err
		}
		values[i] = v
	}
	st, err := s.Prepare(ctx, sql, nil)
	if err != nil {
		return nil, err
	}
	if st, err = st.Bind(ctx, values); err != nil {
		return nil, err
	}
	return st.Execute(ctx)
}

// SQL is the statement's text.
func (st *Statement) SQL() string { return st.prepared.SQL }

// Params are the parameters' types in order of first use; Unknown where no
// context says (bound as text).
func (st *Statement) Params() []types.Type { return st.prepared.Params }

// ParamNames are the names of the parameters beside Params: "" for one that has
// a number only.
func (st *Statement) ParamNames() []string { return st.prepared.Names }

// IsQuery reports whether the statement answers with rows. One that also writes
// must be executed exactly once.
func (st *Statement) IsQuery() bool {
	return st.reads() || returningOf(st.prepared.Statement) != nil
}

// Writes reports whether the statement changes rows.
func (st *Statement) Writes() bool {
	switch st.prepared.Statement.(type) {
	case *plan.Insert, *plan.Update, *plan.Delete:
		return true
	}
	return false
}

// reads reports whether the statement is a query and nothing else.
func (st *Statement) reads() bool {
	switch st.prepared.Statement.(type) {
	case *plan.Query, *plan.Explain:
		return true
	}
	return false
}

// IsDDL reports whether the statement changes the catalog or the session.
func (st *Statement) IsDDL() bool {
	switch st.prepared.Statement.(type) {
	case *plan.Query, *plan.Explain, *plan.Insert, *plan.Update, *plan.Delete:
		return false
	}
	return true
}

// explainColumns are the output of EXPLAIN.
var explainColumns = []plan.Column{{ID: 1, Name: "plan", Type: types.Of(types.Text)}}

// Columns are the output columns; empty for statements without rows.
func (st *Statement) Columns() []plan.Column {
	switch x := st.prepared.Statement.(type) {
	case *plan.Query:
		return x.Cols
	case *plan.Explain:
		return explainColumns
	}
	if ret := returningOf(st.prepared.Statement); ret != nil {
		return ret.Columns()
	}
	return nil
}

// Bind returns the statement with its parameters replaced, each value cast to
// the parameter's type. The count must match.
func (st *Statement) Bind(_ context.Context, values []vec.Value) (*Statement, error) {
	pr, err := planner.BindParams(st.prepared, values)
	if err != nil {
		return nil, err
	}
	return &Statement{session: st.session, prepared: pr, values: values, planned: st.planned, planTime: st.planTime}, nil
}

// Execute runs the statement: a query starts at a strong snapshot, anything else
// is done when Execute returns. The caller closes the result.
func (st *Statement) Execute(ctx context.Context) (*Result, error) {
	if len(st.prepared.Params) > 0 {
		return nil, fail.New(fail.UndefinedParameter, "the statement has %s, none is bound", fail.Count(len(st.prepared.Params), "parameter"))
	}
	e := st.session.engine
	ctx, entry := e.queries.start(ctx, e, st)
	res, err := st.placed(st.execute(ctx, entry))
	return e.queries.finish(e, entry, res, err)
}

func (st *Statement) execute(ctx context.Context, entry *queryEntry) (*Result, error) {
	e := st.session.engine
	switch x := st.prepared.Statement.(type) {
	case *plan.Query:
		pin, snaps, err := st.session.pinQuery(ctx, x.Root)
		if err != nil {
			return nil, err
		}
		e.queries.pinned(entry, x.Root, pin)
		res, err := st.run(ctx, x, pin, snaps)
		if level, _ := st.session.Option(optConsistency); err == nil && level != readStrong {
			res.Token = sawAt(snaps)
		}
		return res, err
	case *plan.Explain:
		return st.explain(ctx, x)
	case *plan.Insert:
		if x.Conflict != nil {
			return st.retried(ctx, func() (*Result, error) { return st.insertOr(ctx, x) })
		}
		return st.insert(ctx, x)
	case *plan.Update:
		return st.retried(ctx, func() (*Result, error) { return st.update(ctx, x) })
	case *plan.Delete:
		return st.retried(ctx, func() (*Result, error) { return st.delete(ctx, x) })
	}
	return st.change(ctx)
}

// placed shows the errors of a running statement in its text.
func (st *Statement) placed(res *Result, err error) (*Result, error) {
	if res == nil || res.next == nil {
		return res, fail.Placed(err, st.SQL())
	}
	next := res.next
	res.next = func(ctx context.Context) (*vec.Chunk, error) {
		c, err := next(ctx)
		return c, fail.Placed(err, st.SQL())
	}
	return res, fail.Placed(err, st.SQL())
}

// dmlTries bounds how often a statement that reads and writes is computed again
// because its rows changed under it.
const dmlTries = 50

func (st *Statement) retried(ctx context.Context, f func() (*Result, error)) (*Result, error) {
	for try := 1; ; try++ {
		res, err := f()
		if !fail.Is(err, fail.Conflict) || try == dmlTries || ctx.Err() != nil {
			return res, err
		}
	}
}

// env is the evaluation environment of a statement at the time of a pin.
func (st *Statement) env(ctx context.Context, pin Pin) *expr.Env {
	return &expr.Env{Ctx: ctx, Now: time.UnixMicro(pin.NowMicros).UTC(), Namespace: st.session.Namespace(), User: st.session.user,
		Random: st.session.engine.cfg.IDs.Uint64}
}
