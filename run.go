package loam

import (
	"context"
	"slices"

	"github.com/loamdb/loam/exec"
	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/mem"
	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
	"github.com/loamdb/loam/storage/collection"
)

func objectPin(s *collection.Snapshot) ObjectPin {
	obj := s.Object()
	return ObjectPin{ObjectID: obj.ID, Incarnation: obj.Incarnation, SchemaVersion: obj.SchemaVersion, Version: s.Version(), Bounds: s.Bounds()}
}

// unpin opens the snapshots of a pin. Errors: SnapshotExpired, UndefinedTable.
func (e *Engine) unpin(ctx context.Context, p Pin) (snapshots, error) {
	snaps := snapshots{}
	for _, o := range p.Objects {
		s, err := e.pinned(ctx, o)
		if err != nil {
			return nil, err
		}
		snaps[stateKey{o.ObjectID, o.At}] = s
	}
	return snaps, nil
}

func (e *Engine) pinned(ctx context.Context, o ObjectPin) (*collection.Snapshot, error) {
	c, err := e.byID(ctx, o.ObjectID)
	if err != nil {
		return nil, err
	}
	if obj := c.Object(); obj.Incarnation != o.Incarnation {
		return nil, fail.New(fail.SnapshotExpired, "%s was dropped and made again", obj.Name)
	}
	s, err := c.Pinned(ctx, o.Version, o.Bounds)
	if err != nil || o.Part == nil {
		return s, err
	}
	return s.Restrict(o.Part.Fragments, o.Part.Tail), nil
}

// Pin takes a strong snapshot of every object that a query reads.
func (st *Statement) Pin(ctx context.Context) (Pin, error) {
	q, ok := st.prepared.Statement.(*plan.Query)
	if !ok {
		now, err := st.session.engine.meta.Now(ctx)
		return Pin{NowMicros: now * 1000}, err
	}
	p, _, err := st.session.pinQuery(ctx, q.Root)
	p.Views = st.prepared.Views
	return p, fail.Placed(err, st.SQL())
}

// ExecutePinned runs a query at a pin; other statements do not take one.
func (st *Statement) ExecutePinned(ctx context.Context, p Pin) (*Result, error) {
	if len(st.prepared.Params) > 0 {
		return nil, fail.New(fail.UndefinedParameter, "the statement has %s, none is bound", fail.Count(len(st.prepared.Params), "parameter"))
	}
	q, ok := st.prepared.Statement.(*plan.Query)
	if !ok {
		if _, explain := st.prepared.Statement.(*plan.Explain); explain {
			return st.Execute(ctx)
		}
		return nil, fail.New(fail.BadRequest, "only a query runs at a pin")
	}
	e := st.session.engine
	ctx, entry := e.queries.start(ctx, e, st)
	if err := st.fits(p, q.Root); err != nil {
		return e.queries.finish(e, entry, nil, err)
	}
	e.queries.pinned(entry, q.Root, p)
	snaps, err := e.unpin(ctx, p)
	if err != nil {
		return e.queries.finish(e, entry, nil, err)
	}
	res, err := st.placed(st.run(ctx, q, p, snaps))
	return e.queries.finish(e, entry, res, err)
}

// fits checks that the statement reads what the pin was made for: a view may have
// got another query since.
func (st *Statement) fits(p Pin, root plan.Node) error {
	same := slices.Equal(p.Views, st.prepared.Views)
	for _, l := range leavesOf(root) {
		same = same && slices.ContainsFunc(p.Objects, func(o ObjectPin) bool { return o.ObjectID == l.id && o.At == l.at.String() })
	}
	if !same {
		return fail.New(fail.SnapshotExpired, "what the query reads has changed since it was planned").WithHint("Ask for a new plan.")
	}
	return nil
}

// Split cuts the pin of a scan-filter-project query over one object into at most
// limit pins whose results together are the query's. Other plans give the pin back.
func (st *Statement) Split(_ context.Context, p Pin, limit int) ([]Pin, error) {
	q, ok := st.prepared.Statement.(*plan.Query)
	if !ok || limit <= 1 || len(p.Objects) != 1 || !splittable(q.Root) {
		return []Pin{p}, nil
	}
	s, err := st.session.engine.pinned(context.Background(), p.Objects[0])
	if err != nil {
		return nil, err
	}
	groups := make([]Part, 0, limit)
	for _, f := range s.Fragments() {
		if len(groups) < limit-1 || len(groups) == 0 {
			groups = append(groups, Part{})
		}
		at := len(groups) - 1
		groups[at].Fragments = append(groups[at].Fragments, f)
	}
	if s.TailLive() > 0 || len(groups) == 0 {
		groups = append(groups, Part{Tail: true})
	}
	out := make([]Pin, len(groups))
	for i := range groups {
		obj := p.Objects[0]
		obj.Part = &groups[i]
		out[i] = Pin{NowMicros: p.NowMicros, Objects: []ObjectPin{obj}}
	}
	return out, nil
}

// splittable reports plans of scan, filter and project alone, without a limit.
func splittable(n plan.Node) bool {
	switch x := n.(type) {
	case *plan.Scan:
		return x.Limit == plan.NoLimit
	case *plan.Filter:
		return splittable(x.Input)
	case *plan.Project:
		return splittable(x.Input)
	}
	return false
}

// run starts a query at snapshots.
func (st *Statement) run(ctx context.Context, q *plan.Query, p Pin, snaps snapshots) (*Result, error) {
	r, tracker, err := st.start(ctx, q.Root, p, snaps, false)
	if err != nil {
		return nil, err
	}
	return &Result{Columns: q.Cols, Affected: -1, next: r.Next, close: func() error {
		err := r.Close()
		tracker.Close()
		return err
	}}, nil
}

func (st *Statement) start(ctx context.Context, root plan.Node, p Pin, snaps snapshots, profile bool) (*exec.Result, *mem.Tracker, error) {
	e := st.session.engine
	tracker := e.memory.Child("query", mem.NoLimit)
	env := st.env(ctx, p)
	src := &sources{engine: e, session: st.session, snaps: snaps, env: env}
	r, err := exec.Run(ctx, root, env, src, exec.Options{Memory: tracker, Profile: profile, Clock: e.cfg.Clock})
	if err != nil {
		tracker.Close()
		return nil, nil, err
	}
	return r, tracker, nil
}

// collect runs a plan to the end and returns its columns as whole vectors.
func (st *Statement) collect(ctx context.Context, root plan.Node, p Pin, snaps snapshots) ([]*vec.Vector, int, error) {
	r, tracker, err := st.start(ctx, root, p, snaps, false)
	if err != nil {
		return nil, 0, err
	}
	defer tracker.Close()
	defer func() { _ = r.Close() }()
	cols := root.Columns()
	ts := make([]types.Type, len(cols))
	for i, c := range cols {
		ts[i] = c.Type
	}
	all := vec.NewChunk(ts, 0)
	for {
		c, err := r.Next(ctx)
		if err != nil {
			return nil, 0, err
		}
		if c == nil {
			return all.Cols, all.N, nil
		}
		all.AppendRows(c)
	}
}

// sources opens the leaves of one statement.
type sources struct {
	engine  *Engine
	session *Session
	snaps   snapshots
	env     *expr.Env
}

func (s *sources) snapshot(obj *schema.Object, at *plan.At) (*collection.Snapshot, error) {
	if snap := s.snaps[stateKey{obj.ID, at.String()}]; snap != nil {
		return snap, nil
	}
	return nil, fail.Bug("no snapshot of %s (%d) %s", obj.Name, obj.ID, at)
}

// Scan implements exec.Sources.
func (s *sources) Scan(_ context.Context, n *plan.Scan) (exec.Source, error) {
	snap, err := s.snapshot(n.Object, n.At)
	if err != nil {
		return nil, err
	}
	return snap.Scan(s.env, n)
}

// Search implements exec.Sources.
func (s *sources) Search(_ context.Context, n *plan.SearchScan) (exec.Source, error) {
	snap, err := s.snapshot(n.Object, n.At)
	if err != nil {
		return nil, err
	}
	return snap.Search(s.env, n)
}

// System implements exec.Sources.
func (s *sources) System(ctx context.Context, n *plan.SystemScan) (exec.Source, error) {
	c, err := s.session.systemRows(ctx, n)
	if err != nil {
		return nil, err
	}
	return &oneChunk{chunk: c}, nil
}

// File implements exec.Sources.
func (s *sources) File(ctx context.Context, n *plan.FileScan) (exec.Source, error) {
	return s.engine.openFiles(ctx, n)
}
