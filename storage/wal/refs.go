package wal

import (
	"context"
	"errors"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/fault"
	"github.com/loamdb/loam/metastore"
	"github.com/loamdb/loam/storage/object"
	"github.com/zeebo/xxh3"
)

const (
	// moveAt is the number of inline references at which the older ones leave.
	moveAt = 48
	// keepInline is how many of the newest stay in the row.
	keepInline = 16
	// moveAttempts bounds the races with commits that a move may lose.
	moveAttempts = 4
)

// ReadBlock reads and checks what a reference names: the batches of which it
// was made, in offset order. The payloads belong to the caller and share one
// array. A segment that is gone gives Corrupt with object.ErrNotFound in the
// chain; to a reader whose snapshot is older than the retention that is no
// damage but SnapshotExpired.
func (l *Log) ReadBlock(ctx context.Context, ref metastore.Ref) ([]Batch, error) {
	b, err := l.store.GetRange(ctx, ref.WALKey, ref.Off, ref.Len)
	if err != nil {
		return nil, err
	}
	if sum := xxh3.Hash(b); sum != ref.Checksum {
		return nil, fail.New(fail.Corrupt, "WAL object %q, block at byte %d: checksum %016x, the reference has %016x",
			ref.WALKey, ref.Off, sum, ref.Checksum)
	}
	list, err := decodeBlock(ref.WALKey, ref.Off, b, ref.Records)
	if err != nil {
		return nil, err
	}
	out := place0(list)
	for i := range out {
		out[i].Base += ref.Base
		out[i].TS = ref.TS
	}
	return out, nil
}

// Refs returns the references that hold the records from offset from to p.Next,
// in order. The first may begin before from. An offset that the log no longer
// holds gives SnapshotExpired.
func (l *Log) Refs(ctx context.Context, p metastore.PartitionState, from uint64) ([]metastore.Ref, error) {
	if from >= p.Next {
		return nil, nil
	}
	var refs []metastore.Ref
	if p.Overflow.IndexKey != "" && from < p.Overflow.Upto {
		older, err := l.readIndex(ctx, p.Overflow.IndexKey)
		if err != nil {
			return nil, err
		}
		refs = appendFrom(refs, older, from)
	}
	refs = appendFrom(refs, p.Refs, from)
	if len(refs) == 0 || refs[0].Base > from {
		return nil, fail.New(fail.SnapshotExpired, "the log no longer holds offset %d: it has been applied and trimmed", from).
			WithHint("Read at a newer snapshot.")
	}
	for i := 1; i < len(refs); i++ {
		if refs[i].Base != refs[i-1].End() {
			return nil, fail.New(fail.Corrupt, "references of the log: offset %d does not follow %d", refs[i].Base, refs[i-1].End())
		}
	}
	return refs, nil
}

func appendFrom(out, refs []metastore.Ref, from uint64) []metastore.Ref {
	for _, r := range refs {
		if r.End() > from {
			out = append(out, r)
		}
	}
	return out
}

func (l *Log) readIndex(ctx context.Context, key string) ([]metastore.Ref, error) {
	b, err := l.store.Get(ctx, key)
	if err != nil {
		return nil, err
	}
	return DecodeIndex(key, b)
}

// relieve moves references out of the rows that fill up, after the callers have
// their answers. A failure is left to the next flush, or in the end to the
// append that finds its row full.
func (l *Log) relieve(ctx context.Context, regions []region, results []metastore.AppendResult) {
	for i, r := range results {
		if r.Err == nil && r.Inline >= moveAt {
			_ = l.moveRefs(ctx, regions[i].object, int(regions[i].partition))
		}
	}
}

// moveRefs writes the older references of a partition, with those of its index
// that are not yet applied, to a new index object and drops them from the row.
func (l *Log) moveRefs(ctx context.Context, objectID uint64, partition int) error {
	var err error
	for range moveAttempts {
		if err = l.tryMove(ctx, objectID, partition); !fail.Is(err, fail.Conflict) {
			return err
		}
		if errors.Is(err, metastore.ErrSwept) {
			if rerr := l.raise(ctx); rerr != nil {
				return rerr
			}
		}
	}
	return err
}

func (l *Log) tryMove(ctx context.Context, objectID uint64, partition int) error {
	_, parts, _, err := l.meta.Heads(ctx, objectID)
	if err != nil {
		return err
	}
	if partition >= len(parts) {
		return fail.New(fail.UndefinedTable, "object %d has no partition %d", objectID, partition)
	}
	p := parts[partition]
	n := len(p.Refs) - keepInline
	if n <= 0 {
		return nil // a commit has made room
	}
	var refs []metastore.Ref
	if p.Overflow.IndexKey != "" {
		older, err := l.readIndex(ctx, p.Overflow.IndexKey)
		if err != nil {
			return err
		}
		refs = appendFrom(refs, older, p.Applied)
	}
	refs = append(refs, p.Refs[:n]...)
	l.mu.Lock()
	id, day := l.name()
	l.mu.Unlock()
	key := indexKey(day, id.String())
	if _, err := l.store.Put(ctx, key, encodeIndex(refs), object.PutOptions{}); err != nil {
		return err
	}
	fault.Point("wal/index written")
	l.mu.Lock()
	l.stats.Moves++
	l.mu.Unlock()
	return l.meta.MoveRefs(ctx, objectID, partition, p.Refs[n-1].End(), key, p.Overflow.IndexKey)
}
