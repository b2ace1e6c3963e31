package loam

import (
	"context"
	"sync"
	"time"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/link"
	"github.com/loamdb/loam/metastore"
	"github.com/loamdb/loam/storage/collection"
	"github.com/loamdb/loam/worker"
)

// batchesAtOnce bounds what a link does before others of its namespace may run.
const batchesAtOnce = 64

// links are the links that this node knows, as of one revision of the catalog.
type links struct {
	mu   sync.Mutex // guards the fields below
	rev  uint64
	read bool
	runs map[uint64]*linkRun
}

// linkRun is a link on this node.
type linkRun struct {
	mu      sync.Mutex // held while the link is looked at or works
	obj     *schema.Object
	machine *link.Machine
}

func newLinkRun(obj *schema.Object) *linkRun {
	return &linkRun{obj: obj, machine: link.New(link.Config{
		BatchBytes: obj.Link.BatchBytes, Interval: obj.Link.BatchInterval, OnError: obj.Link.OnError})}
}

// refreshLinks reads the links again when the catalog has changed.
func (e *Engine) refreshLinks(ctx context.Context) error {
	rev, err := e.cat.Revision(ctx)
	if err != nil {
		return err
	}
	e.links.mu.Lock()
	defer e.links.mu.Unlock()
	if e.links.read && e.links.rev == rev {
		return nil
	}
	all, err := e.cat.Links(ctx, "")
	if err != nil {
		return err
	}
	runs := make(map[uint64]*linkRun, len(all))
	for _, obj := range all {
		if old := e.links.runs[obj.ID]; old != nil && old.obj.SchemaVersion == obj.SchemaVersion {
			runs[obj.ID] = old
		} else {
			runs[obj.ID] = newLinkRun(obj)
		}
	}
	e.links.rev, e.links.read, e.links.runs = rev, true, runs
	return nil
}

// dueLinks are tasks for the links that have something to do.
func (e *Engine) dueLinks(ctx context.Context) ([]worker.Task, error) {
	if err := e.refreshLinks(ctx); err != nil {
		return nil, err
	}
	e.links.mu.Lock()
	list := make([]*linkRun, 0, len(e.links.runs))
	for _, r := range e.links.runs {
		list = append(list, r)
	}
	e.links.mu.Unlock()
	var tasks []worker.Task
	for _, r := range list {
		if r.obj.Link.State != schema.LinkRunning || !r.mu.TryLock() {
			continue
		}
		due := e.linkDue(ctx, r)
		r.mu.Unlock()
		if due {
			tasks = append(tasks, worker.Task{Key: linkLease(r.obj.ID), Namespace: r.obj.Namespace, Priority: worker.Apply,
				Run: func(ctx context.Context, fences []metastore.Fence) error { return e.runLink(ctx, r, fences) }})
		}
	}
	return tasks, nil
}

// linkDue reports whether a link has a batch to read. What hinders the look is for
// the task to meet, which retries with pauses.
func (e *Engine) linkDue(ctx context.Context, r *linkRun) bool {
	if _, next, _ := r.machine.Retries(); e.cfg.Clock.Mono() < next {
		return false
	}
	seen, err := e.look(ctx, r.obj)
	if err != nil {
		return ctx.Err() == nil && !fail.Is(err, fail.UndefinedTable)
	}
	return r.machine.Looked(e.cfg.Clock.Mono(), seen.view).Do == link.Read
}

// runLink works on a link until nothing is due, or it has had its share.
func (e *Engine) runLink(ctx context.Context, r *linkRun, fences []metastore.Fence) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for range batchesAtOnce {
		end, err := e.linkBatch(ctx, r, fences)
		if end || err != nil {
			return err
		}
	}
	return nil
}

// linkBatch carries one batch from the source to the target; end says that nothing
// more is to be done now.
func (e *Engine) linkBatch(ctx context.Context, r *linkRun, fences []metastore.Fence) (end bool, err error) {
	w := &linkWork{e: e, run: r, fences: fences}
	a := link.Action{Do: link.Look}
	for {
		if err := fail.Ended(ctx, "the link"); err != nil {
			return true, err
		}
		switch a.Do {
		case link.Look:
			if w.done {
				return false, nil
			}
			a = w.look(ctx)
		case link.Read:
			a = w.read(ctx, a)
		case link.Commit:
			a = w.commit(ctx, a)
		case link.Fail:
			return true, e.failLink(ctx, r.obj, linkError(a))
		case link.Wait:
			return true, a.Err
		default:
			return true, a.Err
		}
	}
}

// linkError is what the link says of an action that made it fail.
func linkError(a link.Action) *schema.LinkError {
	out := &schema.LinkError{Code: fail.CodeOf(a.Err).String(), Message: fail.As(a.Err).Message, Partition: -1, Offset: -1}
	if a.Bad != nil {
		out.Partition, out.Offset = a.Bad.Partition, int64(a.Bad.Offset)
	}
	return out
}

// seen is what a look has shown.
type seen struct {
	view     link.View
	source   metastore.ObjectState
	progress *metastore.Progress // nil before the first batch
}

// look reads source and target at one revision.
func (e *Engine) look(ctx context.Context, obj *schema.Object) (*seen, error) {
	def := obj.Link
	at, err := e.meta.Snapshot(ctx, []uint64{def.Source, def.Target})
	if err != nil {
		return nil, err
	}
	s := &seen{source: at.Objects[0]}
	parts := s.source.Partitions
	s.view = link.View{At: make([]uint64, len(parts)), Ends: make([]uint64, len(parts))}
	for i, p := range at.Objects[1].Progress {
		if p.Link == obj.ID {
			s.progress = &at.Objects[1].Progress[i]
			copy(s.view.At, p.Offsets)
		}
	}
	if s.progress == nil && def.Start == nil {
		if err := e.fromOldest(ctx, obj, s); err != nil {
			return nil, err
		}
	}
	for p, at := range def.Start {
		s.view.At[p] = max(s.view.At[p], at)
	}
	for p := range parts {
		s.view.Ends[p] = parts[p].Next
		bytes, all := waits(&parts[p], s.view.At[p])
		s.view.Bytes += bytes
		s.view.Old = s.view.Old || !all
	}
	return s, nil
}

// fromOldest lets a new link begin with the oldest records that its source keeps.
func (e *Engine) fromOldest(ctx context.Context, obj *schema.Object, s *seen) error {
	snap, err := e.sourceAt(ctx, obj, s.source)
	if err == nil {
		copy(s.view.At, snap.Oldest())
	}
	return err
}

// waits is the size of the records from an offset on; all is false when the log's
// references begin after it.
func waits(p *metastore.PartitionState, from uint64) (bytes int64, all bool) {
	all = from >= p.Next
	for _, r := range p.Refs {
		if r.Base <= from {
			all = true
		}
		if r.End() > from {
			bytes += r.Bytes
		}
	}
	return bytes, all
}

// linkWork is one batch on its way.
type linkWork struct {
	e      *Engine
	run    *linkRun
	fences []metastore.Fence
	seen   *seen
	batch  *linkBatch
	done   bool // a batch was committed
}

func (w *linkWork) now() time.Duration { return w.e.cfg.Clock.Mono() }

func (w *linkWork) look(ctx context.Context) link.Action {
	var err error
	if w.seen, err = w.e.look(ctx, w.run.obj); err != nil {
		return w.run.machine.Broke(w.now(), err)
	}
	return w.run.machine.Looked(w.now(), w.seen.view)
}

// read makes the batch. A transform that cannot be bound any more makes the link
// fail: source or target have changed.
func (w *linkWork) read(ctx context.Context, a link.Action) link.Action {
	t, err := w.e.planner.Transform(ctx, w.run.obj)
	if err != nil {
		if ofWorld(err) {
			return w.run.machine.Broke(w.now(), err)
		}
		return link.Action{Do: link.Fail, Err: err}
	}
	w.batch, err = w.e.readLinkBatch(ctx, w.run.obj, t, w.seen.source, a)
	if err != nil {
		return w.run.machine.Broke(w.now(), err)
	}
	b := w.batch
	return w.run.machine.Got(link.Batch{To: b.to, Records: len(b.offsets), Bytes: b.bytes, Bad: b.bad})
}

// ofWorld tells errors of the surroundings, which pass, from those of what was
// asked for: by the class of the SQLSTATE.
func ofWorld(err error) bool {
	switch fail.CodeOf(err).SQLState()[:2] {
	case "08", "28", "40", "53", "55", "57", "72", "XX":
		return true
	}
	return false
}

func (w *linkWork) commit(ctx context.Context, a link.Action) link.Action {
	err := w.append(ctx, a)
	w.done = err == nil
	return w.run.machine.Committed(w.now(), err)
}

// append writes the batch and moves the link.
func (w *linkWork) append(ctx context.Context, a link.Action) error {
	obj, b := w.run.obj, w.batch
	adv := &metastore.Advance{Target: obj.Link.Target, Link: obj.ID, LinkVersion: obj.SchemaVersion, Batch: w.e.cfg.IDs.ULID(), Next: a.To,
		Counts: metastore.LinkCounts{Batches: 1, Read: uint64(len(b.offsets)), Written: uint64(b.written)}}
	if len(w.fences) > 0 {
		adv.Fence = w.fences[0]
	}
	if w.seen.progress != nil {
		adv.Expect = w.seen.progress.Offsets
	}
	var parts []collection.Linked
	if b.rows != nil {
		parts = append(parts, collection.Linked{To: b.target, Rows: b.rows})
	}
	if len(b.bad) > 0 {
		if obj.Link.OnError == schema.DeadLetter {
			dead, err := w.deadLetters(ctx)
			if err != nil {
				return err
			}
			parts = append(parts, dead)
			adv.Counts.Dead = uint64(len(b.bad))
		} else {
			adv.Counts.Skipped = uint64(len(b.bad))
		}
	}
	if len(parts) == 2 && parts[0].To.Object().ID > parts[1].To.Object().ID {
		parts[0], parts[1] = parts[1], parts[0]
	}
	return collection.AppendLinked(ctx, w.e.log, parts, adv)
}
