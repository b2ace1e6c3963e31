package loam

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/metastore"
	"github.com/loamdb/loam/storage/collection"
	"github.com/loamdb/loam/worker"
)

// trimEvery is how often the log is swept.
const trimEvery = 30 * time.Second

// Due implements worker.Runner: applies and merges of every object, what is let
// go of their past, garbage collection, and the sweep of the log. What cannot be read
// hinders the tasks of nothing else.
func (e *Engine) Due(ctx context.Context) ([]worker.Task, error) {
	look := e.openAll
	if e.cfg.Cluster {
		look = e.survey
	}
	unread := look(ctx)
	var tasks []worker.Task
	e.mu.Lock()
	list := make([]*collection.Collection, 0, len(e.open))
	for _, c := range e.open {
		list = append(list, c)
	}
	now := e.cfg.Clock.Mono()
	trim := now-e.lastTrim >= trimEvery
	if trim {
		e.lastTrim = now
	}
	forget := now-e.lastForget >= forgetEvery
	if forget {
		e.lastForget = now
	}
	retain := now-e.lastRetain >= retainEvery
	if retain {
		e.lastRetain = now
	}
	e.mu.Unlock()
	for _, c := range list {
		obj := c.Object()
		if c.Due() {
			tasks = append(tasks, worker.Task{Key: fmt.Sprintf("segments/%d", obj.ID), Namespace: obj.Namespace, Priority: worker.Apply, Run: e.unlessDropped(obj.ID, c.Apply)})
		}
		if c.RetainDue() {
			tasks = append(tasks, worker.Task{Key: fmt.Sprintf("retain/%d", obj.ID), Namespace: obj.Namespace, Priority: worker.Trim, Run: e.unlessDropped(obj.ID, c.Retain)})
		}
		if n := c.MergeBytes(); n > 0 && e.mayMerge(n) {
			tasks = append(tasks, worker.Task{Key: fmt.Sprintf("merge/%d", obj.ID), Namespace: obj.Namespace, Priority: worker.Merge, Run: e.unlessDropped(obj.ID, e.merge(c, n))})
		}
	}
	if forget {
		tasks = append(tasks, e.forgetTask(list))
	}
	if retain {
		tasks = append(tasks, retainTask(list))
	}
	tasks = append(tasks, e.collectTasks(list, now)...)
	links, err := e.dueLinks(ctx)
	unread = errors.Join(unread, err)
	tasks = append(tasks, links...)
	if trim {
		tasks = append(tasks, worker.Task{Key: "wal/trim", Priority: worker.Trim, Run: func(ctx context.Context, _ []metastore.Fence) error {
			err := e.onlyCopy(ctx)
			if err == nil {
				_, err = e.log.Trim(ctx, e.cfg.WALRetention)
			}
			return err
		}})
	}
	return tasks, unread
}

// maxMerging bounds the bytes of the merges that run at once on a node. A larger
// merge runs alone.
const maxMerging = 1 << 30

// mayMerge reports whether there is room for a merge of n bytes.
func (e *Engine) mayMerge(n int64) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.merging == 0 || e.merging+n <= maxMerging
}

// merge is the task of a merge of n bytes. It does nothing when others that were
// due at once have taken the room.
func (e *Engine) merge(c *collection.Collection, n int64) func(context.Context, []metastore.Fence) error {
	return func(ctx context.Context, fences []metastore.Fence) error {
		e.mu.Lock()
		if e.merging > 0 && e.merging+n > maxMerging {
			e.mu.Unlock()
			return nil
		}
		e.merging += n
		e.mu.Unlock()
		defer func() {
			e.mu.Lock()
			defer e.mu.Unlock()
			e.merging -= n
		}()
		return c.Merge(ctx, fences)
	}
}

// unlessDropped is a task on an object that another node may have dropped: that is no
// failure, and the object is closed.
func (e *Engine) unlessDropped(id uint64, run func(context.Context, []metastore.Fence) error) func(context.Context, []metastore.Fence) error {
	return func(ctx context.Context, fences []metastore.Fence) error {
		err := run(ctx, fences)
		if fail.Is(err, fail.UndefinedTable) {
			e.forget(id)
			return nil
		}
		return err
	}
}

// openEvery is how often it is tried to open what could not be opened at the start.
const openEvery = 5 * time.Second

// openAll opens the objects that nobody has asked for since the start, so that what
// the log holds of them is applied; those that cannot be opened, again and again.
func (e *Engine) openAll(ctx context.Context) error {
	now := e.cfg.Clock.Mono()
	e.mu.Lock()
	wait := e.opened || e.tried != 0 && now-e.tried < openEvery
	if !wait {
		e.tried = max(now, 1)
	}
	e.mu.Unlock()
	if wait {
		return nil
	}
	objs, err := e.cat.Objects(ctx, "")
	if err != nil {
		return err
	}
	var errs []error
	for _, obj := range objs {
		if obj.Kind == schema.View || obj.Kind == schema.Link {
			continue
		}
		c, err := e.collection(ctx, obj)
		if err == nil {
			_, err = c.Strong(ctx)
		}
		if err != nil && !fail.Is(err, fail.UndefinedTable) { // it may have been dropped
			errs = append(errs, fmt.Errorf("%s: %w", obj.QualifiedName(), err))
		}
	}
	e.mu.Lock()
	e.opened = len(errs) == 0
	e.mu.Unlock()
	return errors.Join(errs...)
}
