package loam

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
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
	seen, err := e.look(ctx, obj)
	if err != nil {
		return err
	}
	offsets := make([]string, len(seen.view.At))
	lag, oldest := uint64(0), int64(0)
	for p, at := range seen.view.At {
		offsets[p] = fmt.Sprintf("%d: %d", p, at)
		end := seen.view.Ends[p]
		if end <= at {
			continue
		}
		lag += end - at
		ts, err := e.writtenAt(ctx, obj, seen, p, at)
		if err != nil {
			return err
		}
		if oldest == 0 || ts < oldest {
			oldest = ts
		}
	}
	r["partitions"] = vec.Int32(int32(len(offsets)))
	r["offsets"] = vec.Text("{" + strings.Join(offsets, ", ") + "}")
	r["lag_records"], r["lag_seconds"] = vec.Int64(int64(lag)), vec.Double(0)
	if lag > 0 {
		now, err := e.Now(ctx)
		if err != nil {
			return err
		}
		r["lag_seconds"] = vec.Double(max(0, now.Sub(time.UnixMicro(oldest)).Seconds()))
	}
	for _, name := range []string{"read", "written", "skipped", "dead", "batches"} {
		r[name] = vec.Int64(0)
	}
	if p := seen.progress; p != nil {
		c := p.Counts
		r["read"], r["written"], r["skipped"] = vec.Int64(int64(c.Read)), vec.Int64(int64(c.Written)), vec.Int64(int64(c.Skipped))
		r["dead"], r["batches"] = vec.Int64(int64(c.Dead)), vec.Int64(int64(c.Batches))
		r["last_commit"] = vec.Value{Type: types.Of(types.Timestamp), Int: 1000 * p.AtMS}
	}
	return nil
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
