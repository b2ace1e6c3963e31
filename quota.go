package loam

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/loamdb/loam/catalog"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/mem"
	"github.com/loamdb/loam/metastore"
)

// Usage is what a namespace holds.
type Usage struct {
	catalog.Namespace
	// Bytes are those of the files that versions and tags of its objects keep, as
	// garbage collection counted them last and with what was written since, and those of
	// the log that wait to be applied.
	Bytes int64
	// TagBytes are those of the files that only tags keep; each file counts once.
	TagBytes int64
	// Quota is the option storage_quota in bytes; 0: none.
	Quota int64
}

// Usage is what the namespaces hold, by name.
func (e *Engine) Usage(ctx context.Context) ([]Usage, error) { return e.usage(ctx, false) }

// usage is Usage; with quotas it leaves the namespaces without one out.
func (e *Engine) usage(ctx context.Context, quotas bool) ([]Usage, error) {
	list, err := e.cat.Namespaces(ctx)
	if err != nil {
		return nil, err
	}
	var out []Usage
	for _, n := range list {
		l, err := limitsOf(n.Name, n.Options)
		if err != nil {
			return nil, err
		}
		if l.quota > 0 || !quotas {
			out = append(out, Usage{Namespace: n, Quota: l.quota})
		}
	}
	if len(out) == 0 {
		return nil, nil
	}
	objs, err := e.cat.Objects(ctx, "")
	if err != nil {
		return nil, err
	}
	var ids []uint64
	of := map[uint64]*Usage{}
	for _, o := range objs {
		at := slices.IndexFunc(out, func(u Usage) bool { return u.Name == o.Namespace })
		if at >= 0 && versioned(o) {
			ids = append(ids, o.ID)
			of[o.ID] = &out[at]
		}
	}
	slices.Sort(ids)
	for page := range slices.Chunk(ids, metastore.MaxSnapshotObjects) {
		if err := e.measure(ctx, page, of); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// measure adds what some objects hold.
func (e *Engine) measure(ctx context.Context, ids []uint64, of map[uint64]*Usage) error {
	snap, err := e.meta.Snapshot(ctx, ids)
	if fail.Is(err, fail.UndefinedTable) { // one of them was dropped meanwhile
		if len(ids) == 1 {
			return nil
		}
		for half := range slices.Chunk(ids, (len(ids)+1)/2) {
			if err := e.measure(ctx, half, of); err != nil {
				return err
			}
		}
		return nil
	}
	if err != nil {
		return err
	}
	for _, o := range snap.Objects {
		u := of[o.ID]
		u.Bytes += o.Head.Bytes()
		u.TagBytes += o.Head.TagBytes
		for _, p := range o.Partitions {
			_, waits := p.Backlog()
			u.Bytes += waits
		}
	}
	return nil
}

const (
	// quotaEvery is how often a node that writes looks at what the namespaces hold.
	quotaEvery = 2 * time.Second
	// quotaShare bounds the looks to a part of the time, where there are many objects.
	quotaShare = 50
)

// quotas is what this node knows of the namespaces that have a quota: as the last look
// found them, and with what it has written since. What others write is seen at the
// next look, so that a quota may be passed by as much as is written in two seconds.
type quotas struct {
	mu     sync.Mutex // guards the fields below
	until  time.Duration
	spaces map[string]*Usage // by lower-cased name
}

// again makes the next write look.
func (q *quotas) again() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.until = 0
}

// due reports whether it is time to look; the one who asks does, others go by what is known.
func (q *quotas) due(now time.Duration) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if now < q.until {
		return false
	}
	q.until = now + quotaEvery
	return true
}

func (q *quotas) looked(list []Usage, now, took time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.spaces = map[string]*Usage{}
	for i := range list {
		q.spaces[strings.ToLower(list[i].Name)] = &list[i]
	}
	q.until = now + max(quotaEvery, quotaShare*took)
}

// take counts bytes that are about to be written, or says why they cannot be.
func (q *quotas) take(namespace string, bytes int64) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	u := q.spaces[strings.ToLower(namespace)]
	if u == nil {
		return nil
	}
	if u.Bytes >= u.Quota {
		return fail.New(fail.DiskFull, "namespace %s holds %s, its storage quota is %s", u.Name, mem.FormatBytes(u.Bytes), mem.FormatBytes(u.Quota)).
			WithHint("Drop tags, collections or tables that are no longer needed, or raise it with ALTER NAMESPACE %s SET (storage_quota = '…'). Deleted rows count until time travel has let their versions go.", u.Name)
	}
	u.Bytes += bytes
	return nil
}

// admit is the quota as storage asks for it: before bytes are written into an object
// of a namespace.
func (e *Engine) admit(ctx context.Context, namespace string, bytes int64) error {
	if begun := e.cfg.Clock.Mono(); e.quotas.due(begun) {
		list, err := e.usage(ctx, true)
		if err != nil {
			return err
		}
		now := e.cfg.Clock.Mono()
		e.quotas.looked(list, now, now-begun)
	}
	return e.quotas.take(namespace, bytes)
}
