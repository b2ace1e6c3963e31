package metastore

import (
	"context"
	"errors"
	"path"
	"strings"

	"github.com/loamdb/loam/internal/clock"
	"github.com/loamdb/loam/internal/fail"
)

func (s *db) MoveRefs(ctx context.Context, objectID uint64, partition int, upTo uint64, newIndexKey, expectIndexKey string) error {
	return s.updatePartition(ctx, "move_refs", objectID, partition, []string{newIndexKey}, func(t *tx, p *PartitionState) error {
		if t.maybe && p.Overflow.IndexKey == newIndexKey {
			return nil // our own earlier try
		}
		if p.Overflow.IndexKey != expectIndexKey {
			return fail.New(fail.Conflict, "object %d partition %d has index %q, not %q", objectID, partition, p.Overflow.IndexKey, expectIndexKey)
		}
		moved := p.Overflow
		for len(p.Refs) > 0 && p.Refs[0].End() <= upTo {
			moved.Bytes += p.Refs[0].Bytes
			moved.Upto = p.Refs[0].End()
			p.Refs = p.Refs[1:]
		}
		if moved.Upto != upTo {
			return fail.New(fail.Conflict, "object %d partition %d has no reference that ends at %d", objectID, partition, upTo)
		}
		moved.IndexKey = newIndexKey
		p.Overflow = moved
		return nil
	})
}

func (s *db) TrimRefs(ctx context.Context, objectID uint64, partition int, upTo uint64) error {
	return s.updatePartition(ctx, "trim_refs", objectID, partition, nil, func(_ *tx, p *PartitionState) error {
		if upTo > p.Next {
			return fail.New(fail.OutOfRange, "object %d partition %d ends at offset %d, it cannot be trimmed to %d", objectID, partition, p.Next, upTo)
		}
		p.trim(upTo)
		return nil
	})
}

// updatePartition changes one partition row; made are the objects it will newly refer to.
func (s *db) updatePartition(ctx context.Context, name string, objectID uint64, partition int, made []string, fn func(*tx, *PartitionState) error) error {
	key := partKey(objectID, partition)
	return s.update(ctx, name, func(t *tx) error {
		if err := t.load(key, keyWALFloor); err != nil {
			return err
		}
		r, ok := t.get(key)
		if !ok {
			return errNoObject(objectID)
		}
		p, err := decodePartition(r)
		if err != nil {
			return err
		}
		if len(made) > 0 {
			floor, err := loadFloor(t)
			if err != nil {
				return err
			}
			if err := aboveFloor(made[0], floor); err != nil {
				return err
			}
		}
		if err := fn(t, &p); err != nil {
			return err
		}
		t.put(key, encodePartition(p))
		return nil
	})
}

func (s *db) CondemnWAL(ctx context.Context, floor string) error {
	if _, ok := clock.TimeOf(floor); !ok {
		return fail.Bug("WAL floor %q is no ULID", floor)
	}
	return s.update(ctx, "condemn_wal", func(t *tx) error {
		if err := t.load(keyWALFloor); err != nil {
			return err
		}
		cur, err := loadFloor(t)
		if err == nil && cur < floor {
			t.put(keyWALFloor, encodeText(floor))
		}
		return err
	})
}

// loadFloor reads the loaded floor and makes the write depend on it, so that no
// reference to a condemned object can slip in behind a sweep.
func loadFloor(t *tx) (string, error) {
	r, ok := t.get(keyWALFloor)
	if !ok {
		return "", nil
	}
	return decodeText(r)
}

// ErrSwept is in the chain of the refusal of an object that is too old by its name: a
// sweep may delete it. A newer name will do.
var ErrSwept = errors.New("it is too old to be referred to")

// aboveFloor refuses an object that a sweep may delete.
func aboveFloor(key, floor string) error {
	id := strings.TrimSuffix(path.Base(key), path.Ext(key))
	if _, ok := clock.TimeOf(id); !ok {
		return fail.Bug("object key %q does not end in a ULID", key)
	}
	if id < floor {
		return fail.As(fail.Wrap(fail.Conflict, ErrSwept, "object %q, floor %s", key, floor)).
			WithHint("Write it again under a new name.")
	}
	return nil
}
