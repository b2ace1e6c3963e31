package loam

import (
	"context"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
	"github.com/loamdb/loam/metastore"
)

// partitionRecords lists the partitions of all objects: how far their logs go and what
// of them waits, on any node, to be applied. Each object is read at one revision.
func partitionRecords(ctx context.Context, s *Session) ([]record, error) {
	objs, err := s.engine.cat.Objects(ctx, "")
	if err != nil {
		return nil, err
	}
	var out []record
	for _, o := range objs {
		if !versioned(o) {
			continue
		}
		head, parts, _, err := s.engine.meta.Heads(ctx, o.ID)
		var oldest []uint64
		if err == nil {
			oldest, err = s.engine.oldest(ctx, o, head, parts)
		}
		if fail.Is(err, fail.UndefinedTable) { // dropped meanwhile
			continue
		}
		if err != nil {
			return nil, err
		}
		for p := range parts {
			records, bytes := parts[p].Backlog()
			r := record{"namespace": vec.Text(o.Namespace), "name": vec.Text(o.Name), "object_id": vec.Int64(int64(o.ID)), "kind": vec.Text(string(o.Kind)),
				"partition": vec.Int32(int32(p)), "oldest_offset": vec.Int64(int64(oldest[p])), "applied_offset": vec.Int64(int64(parts[p].Applied)),
				"next_offset": vec.Int64(int64(parts[p].Next)), "waiting_records": vec.Int64(int64(records)), "waiting_bytes": vec.Int64(bytes)}
			if ts := parts[p].LastTS; ts > 0 {
				r["last_ingest"] = vec.Value{Type: types.Of(types.Timestamp), Int: ts}
			}
			out = append(out, r)
		}
	}
	return out, nil
}

// oldest are the first offsets that retention has left of an object, by partition.
func (e *Engine) oldest(ctx context.Context, o *schema.Object, head metastore.Head, parts []metastore.PartitionState) ([]uint64, error) {
	if o.Kind != schema.Stream {
		return make([]uint64, len(parts)), nil
	}
	c, err := e.collection(ctx, o)
	if err != nil {
		return nil, err
	}
	snap, err := c.At(ctx, head, parts)
	if err != nil {
		return nil, err
	}
	return snap.Oldest(), nil
}
