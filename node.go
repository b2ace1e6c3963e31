package loam

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
	"github.com/loamdb/loam/metastore"
	"github.com/loamdb/loam/storage/collection"
)

const (
	// surveyEvery is how often a node of a cluster looks at what the others do. Nothing
	// depends on it but who works: each statement asks the metastore itself.
	surveyEvery = 2 * time.Second
	// abandonedAfter is how long a backlog of another node stands still before this
	// node takes it over. A node that lives applies after a minute at the latest.
	abandonedAfter = 90 * time.Second
	// deadNodes stay listed for so long.
	deadNodes = time.Hour
)

// node is this process among the others on its metastore.
type node struct {
	// id names the process in leases. In a cluster it is new with each start; a
	// metastore of one process alone gives it its own id, so that all leases in it are
	// this node's, also those of a process that was killed: they hold nobody up. Their
	// fences do not hold any more, for each acquisition has a new epoch.
	id      string
	started int64 // metastore clock, milliseconds
	end     context.CancelFunc
	beat    sync.WaitGroup

	mu    sync.Mutex // guards the fields below
	alone bool       // no other node lives
	// lease is held by the node that collects garbage; it has no epoch without.
	lease metastore.Lease
	// What the last survey saw.
	surveyed time.Duration
	revision uint64
	waiting  map[uint64]backlog // of others, by object
}

// backlog is unapplied records that this node has not in its tail.
type backlog struct {
	applied []uint64
	since   time.Duration
}

// joinNodes makes this process known, before it serves.
func (e *Engine) joinNodes(ctx context.Context) error {
	info, err := e.meta.Info(ctx)
	if err != nil {
		return err
	}
	if e.node.started, err = e.meta.Now(ctx); err != nil {
		return err
	}
	if e.node.id = info.ClusterID; !e.cfg.Cluster {
		return nil
	}
	e.node.id, e.node.waiting = e.cfg.IDs.ULID(), map[uint64]backlog{}
	if err := e.keepNode(ctx); err != nil {
		return err
	}
	ctx, e.node.end = context.WithCancel(context.Background())
	e.node.beat.Go(func() {
		for e.cfg.Clock.Sleep(ctx, metastore.NodeBeat) == nil {
			if err := e.keepNode(ctx); err != nil && ctx.Err() == nil && e.cfg.OnError != nil {
				e.cfg.OnError("node", err)
			}
		}
	})
	return nil
}

// keepNode is one sign of life, and a look at the other nodes.
func (e *Engine) keepNode(ctx context.Context) error {
	if err := e.meta.KeepNode(ctx, metastore.Node{ID: e.node.id, Endpoint: e.cfg.Endpoint, Version: Version}); err != nil {
		return err
	}
	nodes, err := e.meta.Nodes(ctx)
	if err != nil {
		return err
	}
	alone, newest := true, int64(0)
	for _, n := range nodes {
		alone = alone && (n.ID == e.node.id || !n.Live)
		newest = max(newest, n.SeenMS)
	}
	e.node.mu.Lock()
	e.node.alone = alone
	e.node.mu.Unlock()
	if err := e.keepCollecting(ctx); err != nil {
		return err
	}
	for _, n := range nodes {
		if newest-n.SeenMS > deadNodes.Milliseconds() {
			if err := e.meta.DropNode(ctx, n.ID); err != nil {
				return err
			}
		}
	}
	return nil
}

// keepCollecting makes this node the one that collects garbage when there is none, and
// keeps it so. Passes of several nodes would be safe and too many: a builder may span
// one pass and not two.
func (e *Engine) keepCollecting(ctx context.Context) error {
	e.node.mu.Lock()
	held := e.node.lease
	e.node.mu.Unlock()
	var err error
	if held.Epoch > 0 {
		held, err = e.meta.RenewLease(ctx, held, collectTTL)
	} else {
		held, err = e.meta.AcquireLease(ctx, "gc", "node/"+e.node.id, collectTTL)
	}
	switch {
	case fail.Is(err, fail.Locked), fail.Is(err, fail.Conflict):
		held = metastore.Lease{}
	case err != nil:
		return err
	}
	e.node.mu.Lock()
	defer e.node.mu.Unlock()
	e.node.lease = held
	return nil
}

// collectTTL is how long after its last sign of life a node's garbage collection is
// taken over by another.
const collectTTL = 2 * metastore.NodeTTL

// collects reports whether this node collects garbage. One that has lost the lease and
// does not know it yet may begin a pass more, which does no harm.
func (e *Engine) collects() bool {
	e.node.mu.Lock()
	defer e.node.mu.Unlock()
	return !e.cfg.Cluster || e.node.lease.Epoch > 0
}

// leaveNodes ends the signs of life. What this node was working on is free when its
// leases end.
func (e *Engine) leaveNodes() {
	if e.node.end == nil {
		return
	}
	e.node.end()
	e.node.beat.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if e.collects() {
		_ = e.meta.ReleaseLease(ctx, e.node.lease) // else it ends by itself
	}
	_ = e.meta.DropNode(ctx, e.node.id) // else it is listed as dead for a while
}

// Nodes lists the processes that serve from the metastore, by id. An engine that is
// no cluster's lists itself.
func (e *Engine) Nodes(ctx context.Context) ([]metastore.Node, error) {
	if e.cfg.Cluster {
		return e.meta.Nodes(ctx)
	}
	now, err := e.meta.Now(ctx)
	return []metastore.Node{{ID: e.node.id, Endpoint: e.cfg.Endpoint, Version: Version, StartedMS: e.node.started, SeenMS: now, Live: true}}, err
}

func nodeRecords(ctx context.Context, s *Session) ([]record, error) {
	nodes, err := s.engine.Nodes(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]record, len(nodes))
	for i, n := range nodes {
		out[i] = record{"node": vec.Text(n.ID), "endpoint": vec.Text(n.Endpoint), "version": vec.Text(n.Version), "live": vec.Bool(n.Live),
			"this": vec.Bool(n.ID == s.engine.node.id), "started": instant(n.StartedMS), "seen": instant(n.SeenMS)}
	}
	return out, nil
}

func instant(ms int64) vec.Value { return vec.Value{Type: types.Of(types.Timestamp), Int: ms * 1000} }

// unfinishedName names an object in the making after the node that makes it.
func (e *Engine) unfinishedName() string { return unfinished + e.node.id + "_" + e.cfg.IDs.ULID() }

// orphaned reports an unfinished object whose maker is gone.
func orphaned(name, self string, cluster bool, nodes []metastore.Node) bool {
	rest, ok := strings.CutPrefix(name, unfinished)
	if !ok || !cluster {
		return ok
	}
	maker, _, _ := strings.Cut(rest, "_")
	return maker != self && !slices.ContainsFunc(nodes, func(n metastore.Node) bool { return n.ID == maker && n.Live })
}

// survey follows what other nodes have changed: objects that are new or gone, and
// backlogs that nobody works on.
func (e *Engine) survey(ctx context.Context) error {
	n := &e.node
	now := e.cfg.Clock.Mono()
	n.mu.Lock()
	due := n.surveyed == 0 || now-n.surveyed >= surveyEvery
	if due {
		n.surveyed = max(now, 1)
	}
	n.mu.Unlock()
	if !due {
		return nil
	}
	errs := []error{e.surveyCatalog(ctx)}
	e.mu.Lock()
	var ids []uint64
	for id := range e.open {
		ids = append(ids, id)
	}
	e.mu.Unlock()
	slices.Sort(ids)
	for page := range slices.Chunk(ids, metastore.MaxSnapshotObjects) {
		errs = append(errs, e.surveyBacklogs(ctx, page))
	}
	return errors.Join(errs...)
}

// surveyCatalog opens what others have made and closes what they have dropped.
func (e *Engine) surveyCatalog(ctx context.Context) error {
	rev, err := e.cat.Revision(ctx)
	if err != nil {
		return err
	}
	e.node.mu.Lock()
	same := e.node.revision == rev
	e.node.mu.Unlock()
	if same {
		return nil
	}
	objs, err := e.cat.Objects(ctx, "")
	if err != nil {
		return err
	}
	var errs []error
	there := map[uint64]bool{}
	for _, o := range objs {
		there[o.ID] = true
		if o.Kind == schema.View || o.Partitions == 0 {
			continue
		}
		if _, err := e.collection(ctx, o); err != nil && !fail.Is(err, fail.UndefinedTable) {
			errs = append(errs, fmt.Errorf("%s: %w", o.QualifiedName(), err))
		}
	}
	e.mu.Lock()
	var gone []uint64
	for id := range e.open {
		if !there[id] {
			gone = append(gone, id)
		}
	}
	e.mu.Unlock()
	for _, id := range gone {
		// It may be newer than the list.
		if _, err := e.cat.ByID(ctx, id); fail.Is(err, fail.UndefinedTable) {
			e.forget(id)
		}
	}
	if len(errs) > 0 {
		return errors.Join(errs...)
	}
	e.node.mu.Lock()
	e.node.revision = rev
	e.node.mu.Unlock()
	return nil
}

// surveyBacklogs takes the backlogs that stand still into this node's tails: they are
// then applied like its own.
func (e *Engine) surveyBacklogs(ctx context.Context, ids []uint64) error {
	snap, err := e.meta.Snapshot(ctx, ids)
	if fail.Is(err, fail.UndefinedTable) {
		return nil // dropped since; the next survey sees it
	}
	if err != nil {
		return err
	}
	var errs []error
	for _, o := range snap.Objects {
		e.mu.Lock()
		c := e.open[o.ID]
		e.mu.Unlock()
		if c == nil {
			continue
		}
		c.Told(o.Partitions)
		if !e.abandoned(o, c.Backlog()) {
			continue
		}
		if _, err := c.At(ctx, o.Head, o.Partitions); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// abandoned reports records that wait for an apply, in no tail of this node, when all
// other nodes are dead or none has applied anything for long.
func (e *Engine) abandoned(o metastore.ObjectState, own collection.Backlog) bool {
	records, applied := int64(0), make([]uint64, len(o.Partitions))
	for p, s := range o.Partitions {
		records += int64(s.Next - s.Applied)
		applied[p] = s.Applied
	}
	now := e.cfg.Clock.Mono()
	e.node.mu.Lock()
	defer e.node.mu.Unlock()
	if records == 0 || own.Records > 0 {
		delete(e.node.waiting, o.ID)
		return false
	}
	was, ok := e.node.waiting[o.ID]
	if !ok || !slices.Equal(was.applied, applied) {
		was = backlog{applied: applied, since: now}
		e.node.waiting[o.ID] = was
	}
	return e.node.alone || now-was.since >= abandonedAfter
}

// NodeID names this process among the nodes of its cluster; without one it is the id
// of the metastore, the same after restarts.
func (e *Engine) NodeID() string { return e.node.id }
