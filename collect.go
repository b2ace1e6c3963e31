package loam

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
	"github.com/loamdb/loam/metastore"
	"github.com/loamdb/loam/storage/collection"
	"github.com/loamdb/loam/storage/gc"
	"github.com/loamdb/loam/worker"
)

// garbage says when the passes of garbage collection run on this node.
type garbage struct {
	collector *gc.Collector
	interval  time.Duration

	mu    sync.Mutex // guards the fields below
	next  map[uint64]time.Duration
	stray time.Duration // when dropped objects are looked for next
}

// firstPass is the part of an interval after which an object is looked at first.
const firstPass = 10

// setGCInterval fills the default in and refuses what makes no sense.
func (c *Config) setGCInterval() error {
	if c.GCInterval == 0 {
		c.GCInterval = 10 * time.Minute
	}
	if c.GCInterval < time.Second || c.GCInterval > 7*24*time.Hour {
		return fail.New(fail.InvalidParameter, "garbage collection every %s", c.GCInterval).WithHint("It is a time from 1s to 168h, such as 10m.")
	}
	return nil
}

func newGarbage(cfg Config, deps gc.Deps) *garbage {
	every := cfg.GCInterval
	return &garbage{collector: gc.New(deps), interval: every, next: map[uint64]time.Duration{}, stray: cfg.Clock.Mono() + every/firstPass}
}

// due reports whether a pass is due; begun says that it runs.
func (g *garbage) due(id uint64, now time.Duration) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	at, known := g.next[id]
	if !known {
		at = now + g.interval/firstPass
		g.next[id] = at
	}
	return now >= at
}

func (g *garbage) begun(id uint64, now time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.next[id] = now + g.interval
}

func (g *garbage) straysDue(now time.Duration) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return now >= g.stray
}

// collectTasks proposes the passes that are due, until they have begun.
func (e *Engine) collectTasks(list []*collection.Collection, now time.Duration) []worker.Task {
	if !e.collects() {
		return nil
	}
	var tasks []worker.Task
	for _, c := range list {
		if obj := c.Object(); e.garbage.due(obj.ID, now) {
			tasks = append(tasks, worker.Task{Key: fmt.Sprintf("gc/%d", obj.ID), Namespace: obj.Namespace, Priority: worker.Collect, Run: e.collect(obj.ID)})
		}
	}
	if e.garbage.straysDue(now) {
		tasks = append(tasks, worker.Task{Key: "gc/dropped", Priority: worker.Collect, Run: e.collectDropped})
	}
	return tasks
}

// collect is a pass over one object.
func (e *Engine) collect(id uint64) func(context.Context, []metastore.Fence) error {
	return func(ctx context.Context, _ []metastore.Fence) error {
		e.garbage.begun(id, e.cfg.Clock.Mono())
		err := e.onlyCopy(ctx)
		if err == nil {
			_, err = e.garbage.collector.Pass(ctx, id)
		}
		return err
	}
}

// collectDropped runs a pass over what is left of every dropped object.
func (e *Engine) collectDropped(ctx context.Context, _ []metastore.Fence) error {
	g := e.garbage
	g.mu.Lock()
	g.stray = e.cfg.Clock.Mono() + g.interval
	g.mu.Unlock()
	if err := e.onlyCopy(ctx); err != nil {
		return err
	}
	ids, err := g.collector.Strays(ctx)
	if err != nil {
		return err
	}
	for _, id := range ids {
		stats, err := g.collector.Pass(ctx, id)
		if err != nil {
			return err
		}
		if stats.Deleted == stats.Listed {
			g.collector.Forget(id)
			g.mu.Lock()
			delete(g.next, id)
			g.mu.Unlock()
		}
	}
	return nil
}

// gcRecords are the rows of system.gc: what the passes of this node have done.
func gcRecords(ctx context.Context, s *Session) ([]record, error) {
	objs, err := s.engine.cat.Objects(ctx, "")
	if err != nil {
		return nil, err
	}
	var out []record
	for _, o := range objs {
		if !versioned(o) {
			continue
		}
		st := s.engine.garbage.collector.State(o.ID)
		r := record{"namespace": vec.Text(o.Namespace), "name": vec.Text(o.Name), "object_id": vec.Int64(int64(o.ID)), "passes": vec.Int64(int64(st.Passes)),
			"deleted": vec.Int64(int64(st.Deleted)), "deleted_bytes": vec.Int64(st.DeletedBytes)}
		if st.LastMS > 0 {
			kept, keptBytes := st.Last.Listed-st.Last.Deleted, st.Last.ListedBytes-st.Last.DeletedBytes
			r["last_pass"] = vec.Value{Type: types.Of(types.Timestamp), Int: 1000 * st.LastMS}
			r["files"], r["bytes"] = vec.Int64(int64(kept)), vec.Int64(keptBytes)
			r["orphans"], r["orphan_bytes"] = vec.Int64(int64(st.Last.Waiting)), vec.Int64(st.Last.WaitingBytes)
		}
		if st.Err != nil {
			r["error"] = vec.Text(fail.As(st.Err).Error())
		}
		out = append(out, r)
	}
	return out, nil
}
