package loam

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
	"github.com/loamdb/loam/metastore"
	"github.com/loamdb/loam/storage/collection"
)

// linkRecords lists the links. Counts and offsets are of each link's last batch.
func linkRecords(ctx context.Context, s *Session) ([]record, error) {
	e := s.engine
	all, err := e.cat.Links(ctx, "")
	if err != nil {
		return nil, err
	}
	var out []record
	for _, obj := range all {
		r, err := e.linkRecord(ctx, obj)
		if fail.Is(err, fail.UndefinedTable) { // dropped meanwhile
			continue
		}
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, nil
}

func (e *Engine) linkRecord(ctx context.Context, obj *schema.Object) (record, error) {
	def := obj.Link
	r := record{"namespace": vec.Text(obj.Namespace), "name": vec.Text(obj.Name), "id": vec.Int64(int64(obj.ID)),
		"state": vec.Text(string(def.State)), "on_error": vec.Text(string(def.OnError)), "retries": vec.Int64(0)}
	for name, id := range map[string]uint64{"source": def.Source, "target": def.Target, "dead_letters": def.Dead} {
		if id == 0 {
			continue
		}
		o, err := e.cat.ByID(ctx, id)
		if err != nil {
			return nil, err
		}
		r[name] = vec.Text(o.QualifiedName())
	}
	text, err := e.planner.LinkText(ctx, obj)
	if err != nil {
		return nil, err
	}
	r["definition"] = vec.Text(text)
	if why := def.Error; why != nil {
		r["error"] = vec.Text(why.Message)
		if code, ok := fail.CodeNamed(why.Code); ok {
			r["error_code"] = vec.Text(code.SQLState())
		}
		if why.Offset >= 0 {
			r["error_partition"], r["error_offset"] = vec.Int32(int32(why.Partition)), vec.Int64(why.Offset)
		}
	} else {
		e.retrying(ctx, obj, r)
	}
	return r, e.linkProgress(ctx, obj, r)
}

// retrying says what a running link waits out on this node.
func (e *Engine) retrying(ctx context.Context, obj *schema.Object, r record) {
	e.links.mu.Lock()
	run := e.links.runs[obj.ID]
	e.links.mu.Unlock()
	if run == nil || !run.mu.TryLock() {
		return
	}
	n, next, err := run.machine.Retries()
	run.mu.Unlock()
	if err == nil {
		return
	}
	r["retries"], r["error"], r["error_code"] = vec.Int64(int64(n)), vec.Text(fail.As(err).Message), vec.Text(fail.CodeOf(err).SQLState())
	if now, err := e.Now(ctx); err == nil {
		at := now.Add(next - e.cfg.Clock.Mono())
		r["next_retry"] = vec.Value{Type: types.Of(types.Timestamp), Int: at.UnixMicro()}
	}
}

// linkProgress adds how far a link has got and what waits.
func (e *Engine) linkProgress(ctx context.Context, obj *schema.Object, r record) error {
	l, err := e.linkStatus(ctx, obj)
	if err != nil {
		return err
	}
	offsets := make([]string, len(l.Offsets))
	for p, at := range l.Offsets {
		offsets[p] = fmt.Sprintf("%d: %d", p, at)
	}
	r["partitions"] = vec.Int32(int32(len(offsets)))
	r["offsets"] = vec.Text("{" + strings.Join(offsets, ", ") + "}")
	r["lag_records"], r["lag_seconds"] = vec.Int64(l.LagRecords), vec.Double(l.Lag.Seconds())
	for name, n := range map[string]uint64{"read": l.Read, "written": l.Written, "skipped": l.Skipped, "dead": l.Dead, "batches": l.Batches} {
		r[name] = vec.Int64(int64(n))
	}
	if l.committedMS > 0 {
		r["last_commit"] = vec.Value{Type: types.Of(types.Timestamp), Int: 1000 * l.committedMS}
	}
	return nil
}

// LinkCounts are what the batches of a link have read and written.
type LinkCounts = metastore.LinkCounts

// LinkStatus is how far a link has got, and what waits.
type LinkStatus struct {
	Namespace, Name string
	State           string        // running, paused or failed
	Offsets         []uint64      // of the source's partitions: the next to read
	LagRecords      int64         // offsets from there to the ends
	Lag             time.Duration // age of the oldest record that waits
	// LinkCounts are of all batches since the link was made.
	LinkCounts

	committedMS int64
}

// Links are the links of all namespaces. Those that cannot be looked at are in the error;
// the others are there.
func (e *Engine) Links(ctx context.Context) ([]LinkStatus, error) {
	all, err := e.cat.Links(ctx, "")
	if err != nil {
		return nil, err
	}
	var out []LinkStatus
	var errs []error
	for _, obj := range all {
		l, err := e.linkStatus(ctx, obj)
		switch {
		case err == nil:
			out = append(out, l)
		case !fail.Is(err, fail.UndefinedTable): // dropped meanwhile
			errs = append(errs, fmt.Errorf("%s: %w", obj.QualifiedName(), err))
		}
	}
	return out, errors.Join(errs...)
}

func (e *Engine) linkStatus(ctx context.Context, obj *schema.Object) (LinkStatus, error) {
	out := LinkStatus{Namespace: obj.Namespace, Name: obj.Name, State: string(obj.Link.State)}
	seen, err := e.look(ctx, obj)
	if err != nil {
		return out, err
	}
	out.Offsets = seen.view.At
	oldest := int64(0)
	for p, at := range seen.view.At {
		end := seen.view.Ends[p]
		if end <= at {
			continue
		}
		out.LagRecords += int64(end - at)
		ts, err := e.writtenAt(ctx, obj, seen, p, at)
		if err != nil {
			return out, err
		}
		if oldest == 0 || ts < oldest {
			oldest = ts
		}
	}
	if out.LagRecords > 0 {
		now, err := e.Now(ctx)
		if err != nil {
			return out, err
		}
		out.Lag = max(0, now.Sub(time.UnixMicro(oldest)))
	}
	if p := seen.progress; p != nil {
		out.LinkCounts, out.committedMS = p.Counts, p.AtMS
	}
	return out, nil
}

// writtenAt is when the record at an offset, or the next that there is, was
// written: the log's references tell, or the source itself.
func (e *Engine) writtenAt(ctx context.Context, obj *schema.Object, s *seen, p int, at uint64) (int64, error) {
	for _, ref := range s.source.Partitions[p].Refs {
		if ref.Base <= at && at < ref.End() {
			return ref.TS, nil
		}
	}
	snap, err := e.sourceAt(ctx, obj, s.source)
	if err != nil {
		return 0, err
	}
	run, err := snap.Records(ctx, collection.RecordRange{Partition: p, From: max(at, snap.Oldest()[p]), Rows: 1, Fields: []string{}})
	if err != nil || run.Rows == 0 {
		return s.source.Partitions[p].LastTS, err
	}
	return run.Chunks[0].Cols[2].Value(0).Int, nil
}
