package gc

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/fault"
	"github.com/loamdb/loam/metastore"
	"github.com/loamdb/loam/storage/collection"
	"github.com/loamdb/loam/storage/object"
)

// Deps is what is collected.
type Deps struct {
	Meta    metastore.Store
	Objects object.Store
}

// Collector runs passes over real stores. Safe for concurrent use.
type Collector struct {
	deps Deps

	mu   sync.Mutex // guards the map
	byID map[uint64]*entry
}

// entry is what is remembered of one object.
type entry struct {
	mu  sync.Mutex // held by the one pass that runs; guards mem
	mem Memory

	stateMu sync.Mutex // guards the field below
	state   State
}

// State is what the passes of this node over one object have done.
type State struct {
	Passes int
	Last   Stats // of the last pass that ended and did not yield
	// Deleted and DeletedBytes count over all passes.
	Deleted      int
	DeletedBytes int64
	LastMS       int64 // metastore clock, when the last pass ended; 0 before
	Err          error // why the last pass failed, or nil
}

// New returns a collector that remembers nothing.
func New(deps Deps) *Collector { return &Collector{deps: deps, byID: map[uint64]*entry{}} }

func (c *Collector) entry(id uint64) *entry {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.byID[id]
	if e == nil {
		e = &entry{mem: Memory{Keep: func(key string) bool { return key == collection.BaseKey(id) || collection.IsMirror(id, key) }}}
		c.byID[id] = e
	}
	return e
}

// State is what the passes over an object have done; the zero state before the first.
func (c *Collector) State(id uint64) State {
	c.mu.Lock()
	e := c.byID[id]
	c.mu.Unlock()
	if e == nil {
		return State{}
	}
	e.stateMu.Lock()
	defer e.stateMu.Unlock()
	return e.state
}

// Pass runs one pass over the files of an object, or of a dropped one's id. An
// error ends it; what it has deleted was nobody's.
func (c *Collector) Pass(ctx context.Context, id uint64) (Stats, error) {
	e := c.entry(id)
	e.mu.Lock()
	defer e.mu.Unlock()
	err := c.run(ctx, id, &e.mem)
	if n := e.mem.Count(); err == nil && n != nil {
		if err = c.deps.Meta.CountBytes(ctx, id, *n); fail.Is(err, fail.UndefinedTable) {
			err = nil // dropped meanwhile: the next pass will see it
		}
	}
	stats := e.mem.Stats()
	now, nowErr := c.deps.Meta.Now(ctx)
	e.stateMu.Lock()
	defer e.stateMu.Unlock()
	switch e.state.Err = err; {
	case err != nil:
		return Stats{}, err
	case nowErr == nil:
		e.state.LastMS = now
	}
	e.state.Passes++
	e.state.Deleted += stats.Deleted
	e.state.DeletedBytes += stats.DeletedBytes
	if !stats.Yielded {
		e.state.Last = stats
	}
	return stats, nil
}

func (c *Collector) run(ctx context.Context, id uint64, m *Memory) error {
	for step := m.Begin(); step.Do != Done; {
		next, err := c.do(ctx, id, m, step)
		if err != nil {
			m.Abort()
			return err
		}
		step = next
	}
	return nil
}

// do does one step of a pass. What fails is not told to the memory.
func (c *Collector) do(ctx context.Context, id uint64, m *Memory, s Step) (Step, error) {
	switch s.Do {
	case List:
		files, err := c.list(ctx, id)
		if err != nil {
			return s, err
		}
		fault.Point("gc/listed")
		return m.Listed(files), nil
	case ReadRoot:
		root, err := c.deps.Meta.Root(ctx, id)
		switch {
		case fail.Is(err, fail.UndefinedTable):
			return m.Dropped(), nil
		case err != nil:
			return s, err
		}
		return m.Rooted(rootOf(root)), nil
	case ReadManifest:
		x, err := collection.ReadManifest(ctx, c.deps.Objects, s.Ref)
		if errors.Is(err, object.ErrNotFound) {
			if next, ok := c.again(ctx, id, m); ok {
				return next, nil
			}
		}
		if err != nil {
			return s, fail.Wrap(fail.CodeOf(err), err, "garbage collection of object %d stops: it does not know what to keep", id)
		}
		return m.Read(manifestOf(x)), nil
	case Bump:
		epoch, err := c.deps.Meta.BumpGCEpoch(ctx, id)
		fault.Point("gc/epoch raised")
		switch {
		case fail.Is(err, fail.UndefinedTable):
			return m.Dropped(), nil
		case err != nil:
			return s, err
		}
		return m.Bumped(epoch), nil
	case Delete:
		fault.Point("gc/about to delete")
		if err := c.delete(ctx, s.Keys); err != nil {
			return s, err
		}
		fault.Point("gc/deleted")
		return m.Deleted(), nil
	}
	return s, errStep(s)
}

// again reads the root once more: a manifest that is gone may have been released,
// and deleted by another node, since the root was read.
func (c *Collector) again(ctx context.Context, id uint64, m *Memory) (Step, bool) {
	root, err := c.deps.Meta.Root(ctx, id)
	switch {
	case fail.Is(err, fail.UndefinedTable):
		return m.Dropped(), true
	case err != nil:
		return Step{}, false
	}
	return m.Rerooted(rootOf(root))
}

// list is every file of the object that garbage collection decides about.
func (c *Collector) list(ctx context.Context, id uint64) ([]File, error) {
	var out []File
	for info, err := range object.All(ctx, c.deps.Objects, collection.Prefix(id)) {
		if err != nil {
			return nil, err
		}
		out = append(out, File{info.Key, info.Size})
	}
	return out, nil
}

func rootOf(r metastore.Root) Root {
	out := Root{Epoch: r.Head.GCEpoch, Version: r.Head.Version, Oldest: r.Head.Oldest, Written: r.Head.Written,
		Head: collection.ManifestRef{Key: r.Head.ManifestKey, Checksum: r.Head.ManifestChecksum, Size: r.Head.ManifestSize}}
	for _, t := range r.Tags {
		out.Tags = append(out.Tags, Tag{ID: t.ID, Version: t.Version, Ref: collection.ManifestRef{Key: t.ManifestKey, Checksum: t.ManifestChecksum, Size: t.ManifestSize}})
	}
	return out
}

func manifestOf(x *collection.Manifest) Manifest {
	out := Manifest{Version: x.Version, Parent: x.ParentRef()}
	for _, o := range x.Objects() {
		out.Files = append(out.Files, File{o.Key, max(0, o.Size)})
	}
	return out
}

// deleteAtOnce is the number of keys of one call of the store.
const deleteAtOnce = 500

func (c *Collector) delete(ctx context.Context, keys []string) error {
	for len(keys) > 0 {
		n := min(len(keys), deleteAtOnce)
		if err := c.deps.Objects.Delete(ctx, keys[:n]...); err != nil {
			return err
		}
		keys = keys[n:]
	}
	return nil
}

// Strays are the ids that files are kept under and that are not in the catalog.
func (c *Collector) Strays(ctx context.Context) ([]uint64, error) {
	var out []uint64
	for after := ""; ; {
		page, err := c.deps.Objects.List(ctx, "objects/", after)
		if err != nil || len(page) == 0 {
			return out, err
		}
		for _, info := range page {
			if info.Key <= after {
				continue // below an id that has been seen
			}
			dir, _, _ := strings.Cut(strings.TrimPrefix(info.Key, "objects/"), "/")
			after = "objects/" + dir + "/\U0010FFFF"
			var id uint64
			if n, _ := fmt.Sscanf(dir, "%d", &id); n != 1 || fmt.Sprint(id) != dir {
				continue
			}
			if _, err := c.deps.Meta.Root(ctx, id); fail.Is(err, fail.UndefinedTable) {
				out = append(out, id)
			} else if err != nil {
				return nil, err
			}
		}
	}
}

// Forget drops what is remembered of an object that has no files any more.
func (c *Collector) Forget(id uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.byID, id)
}
