package metastore

import (
	"context"

	"github.com/loamdb/loam/internal/fail"
)

func (s *db) Heads(ctx context.Context, objectID uint64) (Head, []PartitionState, int64, error) {
	snap, err := s.Snapshot(ctx, []uint64{objectID})
	if err != nil {
		return Head{}, nil, 0, err
	}
	return snap.Objects[0].Head, snap.Objects[0].Partitions, snap.Revision, nil
}

func (s *db) Snapshot(ctx context.Context, objectIDs []uint64) (Snapshot, error) {
	if len(objectIDs) > MaxSnapshotObjects {
		return Snapshot{}, fail.New(fail.TooLarge, "a statement names %d objects, the limit is %d", len(objectIDs), MaxSnapshotObjects)
	}
	if len(objectIDs) == 0 {
		return Snapshot{}, nil
	}
	spans := make([]span, len(objectIDs))
	for i, id := range objectIDs {
		spans[i] = stateSpan(id)
	}
	rows, rev, err := s.read(ctx, spans...)
	if err != nil {
		return Snapshot{}, err
	}
	snap := Snapshot{Revision: rev, Objects: make([]ObjectState, len(objectIDs))}
	for i, id := range objectIDs {
		if snap.Objects[i], err = objectState(id, rows[i]); err != nil {
			return Snapshot{}, err
		}
	}
	return snap, nil
}

// objectState decodes the rows of an object: the head, the links, then the partitions in order.
func objectState(id uint64, rows []row) (ObjectState, error) {
	if len(rows) == 0 {
		return ObjectState{}, errNoObject(id)
	}
	head, err := decodeHead(rows[0])
	if err != nil {
		return ObjectState{}, err
	}
	o := ObjectState{ID: id, Incarnation: head.Incarnation, Head: head.Head}
	for _, r := range rows[1:] {
		if link, ok := parseProgressKey(r.key); ok {
			p, err := decodeProgress(link, r)
			if err != nil {
				return ObjectState{}, err
			}
			o.Progress = append(o.Progress, p)
			continue
		}
		i := len(o.Partitions)
		if _, p, ok := parsePartKey(r.key); !ok || p != i {
			return ObjectState{}, fail.New(fail.Corrupt, "metastore row %q is not partition %d", r.key, i)
		}
		p, err := decodePartition(r)
		if err != nil {
			return ObjectState{}, err
		}
		o.Partitions = append(o.Partitions, p)
	}
	return o, nil
}

func (s *db) ScanPartitions(ctx context.Context, fn func(objectID uint64, partition int, p PartitionState) error) error {
	const page = 200
	for from := prefixData; ; {
		rows, _, err := s.read(ctx, span{from: from, to: prefixEnd(prefixData), limit: page})
		if err != nil {
			return err
		}
		for _, r := range rows[0] {
			from = r.key + "\x00"
			if _, link := parseProgressKey(r.key); link || isHeadKey(r.key) || isTagsKey(r.key) {
				continue
			}
			id, p, ok := parsePartKey(r.key)
			if !ok {
				return fail.New(fail.Corrupt, "metastore row %q is no partition", r.key)
			}
			state, err := decodePartition(r)
			if err != nil {
				return err
			}
			if err := fn(id, p, state); err != nil {
				return err
			}
		}
		if len(rows[0]) < page {
			return nil
		}
	}
}
