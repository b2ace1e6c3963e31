package metastore

import (
	"context"
	"time"

	"github.com/loamdb/loam/internal/fail"
)

func (s *db) AcquireLease(ctx context.Context, key, owner string, ttl time.Duration) (Lease, error) {
	if err := checkName("lease", key); err != nil {
		return Lease{}, err
	}
	rk, token := leaseRowKey(key), s.ids.ULID()
	var l Lease
	err := s.update(ctx, "acquire_lease", func(t *tx) error {
		if err := t.load(rk, keyID, keyClock); err != nil {
			return err
		}
		now, err := s.stamp(t)
		if err != nil {
			return err
		}
		if r, ok := t.get(rk); ok {
			held, err := decodeLease(key, r)
			if err != nil {
				return err
			}
			if held.Token == token {
				l, t.ops = held, nil // our own earlier try
				return nil
			}
			if held.Owner != owner && held.DeadlineMS > now/1000 {
				return fail.New(fail.Locked, "lease %q is held by %s for another %d ms", key, held.Owner, held.DeadlineMS-now/1000)
			}
		}
		epoch, err := countUp(t, keyID)
		l = Lease{Key: key, Owner: owner, Epoch: epoch, DeadlineMS: now/1000 + ttl.Milliseconds(), Token: token}
		t.put(rk, encodeLease(l))
		return err
	})
	if err != nil {
		return Lease{}, err
	}
	return l, nil
}

func (s *db) RenewLease(ctx context.Context, l Lease, ttl time.Duration) (Lease, error) {
	err := s.update(ctx, "renew_lease", func(t *tx) error {
		if err := t.load(leaseRowKey(l.Key), keyClock); err != nil {
			return err
		}
		held, err := fenceHolds(t, l.Fence())
		if err != nil {
			return err
		}
		now, err := s.stamp(t)
		if err != nil {
			return err
		}
		l.Owner, l.Token, l.DeadlineMS = held.Owner, held.Token, max(held.DeadlineMS, now/1000+ttl.Milliseconds())
		t.put(leaseRowKey(l.Key), encodeLease(l))
		return nil
	})
	if err != nil {
		return Lease{}, err
	}
	return l, nil
}

func (s *db) ReleaseLease(ctx context.Context, l Lease) error {
	return s.update(ctx, "release_lease", func(t *tx) error {
		if err := t.load(leaseRowKey(l.Key)); err != nil {
			return err
		}
		if _, err := fenceHolds(t, l.Fence()); err != nil {
			if fail.Is(err, fail.Conflict) {
				return nil // lost, or released by an earlier try
			}
			return err
		}
		t.del(leaseRowKey(l.Key))
		return nil
	})
}

// fenceHolds checks a loaded lease row and makes the write depend on it. An
// expired lease that nobody took still holds.
func fenceHolds(t *tx, f Fence) (Lease, error) {
	r, ok := t.get(leaseRowKey(f.Key))
	if !ok {
		return Lease{}, fail.New(fail.Conflict, "lease %q is lost: it was released or has not been taken", f.Key)
	}
	held, err := decodeLease(f.Key, r)
	if err == nil && held.Epoch != f.Epoch {
		err = fail.New(fail.Conflict, "lease %q is lost: %s took it (epoch %d, ours %d)", f.Key, held.Owner, held.Epoch, f.Epoch)
	}
	return held, err
}
