package wal

import (
	"context"
	"errors"
	"path"
	"strings"
	"time"

	"github.com/loamdb/loam/internal/clock"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/fault"
	"github.com/loamdb/loam/metastore"
	"github.com/loamdb/loam/storage/object"
	"github.com/oklog/ulid/v2"
)

// TrimStats say what a Trim found.
type TrimStats struct {
	Listed  int   // segment and index objects that were looked at: those below the floor
	Deleted int   // of them
	Bytes   int64 // of the deleted
}

// Trim deletes the segment and index objects that no partition refers to and
// that are older than the retention by the time in their names, on the
// metastore's clock.
//
// It is safe beside appends of all nodes. First the metastore promises that no
// object below a floor will be newly referred to; what is below it and not
// referred to after that, never will be. An object that cannot be read where a
// reference leads through it ends the sweep, and nothing is deleted.
func (l *Log) Trim(ctx context.Context, retention time.Duration) (TrimStats, error) {
	floor, err := l.floor(ctx, retention)
	if err != nil {
		return TrimStats{}, err
	}
	if err := l.meta.CondemnWAL(ctx, floor); err != nil {
		return TrimStats{}, err
	}
	fault.Point("trim/condemned")
	live, err := l.live(ctx, floor)
	if err != nil {
		return TrimStats{}, err
	}
	var stats TrimStats
	for _, prefix := range []string{"wal/", "walx/"} {
		if err := l.sweep(ctx, prefix, floor, live, &stats); err != nil {
			return stats, err
		}
	}
	return stats, nil
}

// floor is the ULID below which objects may go: retention ago, but never above
// a segment that this node is writing or will write.
func (l *Log) floor(ctx context.Context, retention time.Duration) (string, error) {
	now, err := l.meta.Now(ctx)
	if err != nil {
		return "", err
	}
	var at ulid.ULID
	_ = at.SetTime(uint64(max(0, now-retention.Milliseconds()))) // a time in range
	l.mu.Lock()
	defer l.mu.Unlock()
	floor := min(at.String(), l.ids.ULID())
	if l.inflight != "" {
		floor = min(floor, l.inflight)
	}
	return floor, nil
}

// live collects the keys below the floor that partitions refer to.
func (l *Log) live(ctx context.Context, floor string) (map[string]bool, error) {
	live := map[string]bool{}
	mark := func(key string) {
		if id, ok := idOf(key); ok && id < floor {
			live[key] = true
		}
	}
	err := l.meta.ScanPartitions(ctx, func(object uint64, partition int, p metastore.PartitionState) error {
		refs, err := l.allRefs(ctx, object, partition, &p)
		if err != nil {
			return err
		}
		if p.Overflow.IndexKey != "" {
			mark(p.Overflow.IndexKey)
		}
		for _, r := range refs {
			mark(r.WALKey)
		}
		return nil
	})
	return live, err
}

// allRefs is every reference of a partition. When its index is gone, because it
// was replaced and swept since the row was read, the row is read again.
func (l *Log) allRefs(ctx context.Context, objectID uint64, partition int, p *metastore.PartitionState) ([]metastore.Ref, error) {
	for {
		if p.Overflow.IndexKey == "" {
			return p.Refs, nil
		}
		older, err := l.readIndex(ctx, p.Overflow.IndexKey)
		if err == nil {
			return append(older, p.Refs...), nil
		}
		if !errors.Is(err, object.ErrNotFound) {
			return nil, err
		}
		_, parts, _, herr := l.meta.Heads(ctx, objectID)
		if fail.Is(herr, fail.UndefinedTable) {
			*p = metastore.PartitionState{}
			return nil, nil // dropped meanwhile
		}
		if herr != nil {
			return nil, herr
		}
		if partition >= len(parts) || parts[partition].Overflow.IndexKey == p.Overflow.IndexKey {
			return nil, err
		}
		*p = parts[partition]
	}
}

// sweep deletes what lies under the prefix, is below the floor and not live. Keys
// sort by the day of the ULID and then the ULID, so that it ends at the floor and
// does not look at the many that are younger.
func (l *Log) sweep(ctx context.Context, prefix, floor string, live map[string]bool, stats *TrimStats) error {
	for info, err := range object.All(ctx, l.store, prefix) {
		if err != nil {
			return err
		}
		stats.Listed++
		id, ok := idOf(info.Key)
		if ok && id >= floor {
			return nil
		}
		if !ok || live[info.Key] {
			continue
		}
		fault.Point("trim/about to delete")
		if err := l.store.Delete(ctx, info.Key); err != nil {
			return err
		}
		fault.Point("trim/deleted")
		stats.Deleted++
		stats.Bytes += info.Size
	}
	return nil
}

// idOf is the ULID in the name of a segment or index object.
func idOf(key string) (string, bool) {
	id := strings.TrimSuffix(path.Base(key), path.Ext(key))
	_, ok := clock.TimeOf(id)
	return id, ok
}
