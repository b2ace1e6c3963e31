package metastore

import (
	"context"
	"errors"
	"time"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/fault"
)

// attemptTimeout bounds one try of a transaction, remoteTimeout one on an etcd
// elsewhere, where another member may answer. A caller's own deadline does not cut a
// try short: its outcome would be lost for nothing.
const (
	attemptTimeout = 5 * time.Second
	remoteTimeout  = 2 * time.Second
)

// maxUnknown is the number of lost replies after which a transaction gives up.
const maxUnknown = 4

// tx is one try of a transaction: rows read at one revision, the compares that
// hold only if they are still the same, and what to write.
type tx struct {
	ctx   context.Context
	db    *db
	rows  map[string]row
	conds []cond
	seen  map[string]bool // keys in conds
	ops   []op
	// maybe: an earlier try of this transaction may have taken effect. Its
	// compares and this try's exclude each other, so that at most one does.
	maybe bool
	// after is the outcome of the try before this one; decided for the first.
	after outcome
	// unread: a read failed, so that nothing is known beyond earlier tries.
	unread bool
}

// load reads the keys at one revision. It may be called once per try.
func (t *tx) load(keys ...string) error {
	spans := make([]span, len(keys))
	for i, k := range keys {
		spans[i] = keySpan(k)
	}
	rows, _, err := t.db.readTx(t.ctx, spans)
	if err != nil {
		t.unread = true
		return err
	}
	for _, r := range rows {
		if len(r) > 0 {
			t.rows[r[0].key] = r[0]
		}
	}
	return nil
}

// get returns a loaded row and makes the write depend on its being unchanged.
func (t *tx) get(key string) (row, bool) {
	r, ok := t.rows[key]
	if !t.seen[key] {
		t.seen[key] = true
		t.conds = append(t.conds, cond{key, r.mod})
	}
	return r, ok
}

// peek returns a loaded row that may change before the write.
func (t *tx) peek(key string) (row, bool) {
	r, ok := t.rows[key]
	return r, ok
}

func (t *tx) put(key string, value []byte) { t.ops = append(t.ops, op{key: key, value: value}) }
func (t *tx) del(key string)               { t.ops = append(t.ops, op{key: key, del: true}) }
func (t *tx) delPrefix(prefix string) {
	t.ops = append(t.ops, op{key: prefix, to: prefixEnd(prefix), del: true})
}

func (s *db) readTx(ctx context.Context, spans []span) ([][]row, int64, error) {
	if err := s.faults.onRead(); err != nil {
		return nil, 0, err
	}
	return s.kv.read(ctx, spans)
}

type outcome uint8

const (
	decided outcome = iota // committed, or refused by the transaction's own logic
	lost                   // another transaction came between
	unknown
)

// update runs fn as a transaction until it commits or fn fails. fn loads rows,
// decides, and writes through t; it may run many times. name is for faults and
// messages.
func (s *db) update(ctx context.Context, name string, fn func(*tx) error) error {
	losses, unknowns, last := 0, 0, decided
	begun := s.clk.Mono()
	for {
		if err := fail.Ended(ctx, "the call of the metastore"); err != nil {
			if unknowns > 0 {
				return fail.Wrap(fail.CommitUnknown, err, "metastore transaction %s", name)
			}
			return err
		}
		t := &tx{maybe: unknowns > 0, after: last}
		out, err := s.attempt(ctx, name, fn, t, losses >= 3)
		last = out
		switch out {
		case decided:
			// Nothing was written; while a leader is elected nothing can be read either.
			if t.unread && fail.Is(err, fail.Unavailable) && s.clk.Mono()-begun < s.patience {
				_ = s.clk.Sleep(ctx, electionPause)
				continue
			}
			return err
		case lost:
			losses++
		case unknown:
			unknowns++
			if unknowns >= maxUnknown && s.clk.Mono()-begun >= s.patience {
				return fail.Wrap(fail.CommitUnknown, err, "metastore transaction %s", name)
			}
			// The first lost reply is looked into at once. The loop looks at ctx.
			pause := time.Duration(unknowns-1) * 5 * time.Millisecond
			if unknowns >= maxUnknown {
				pause = electionPause
			}
			_ = s.clk.Sleep(ctx, pause)
		}
	}
}

func (s *db) attempt(ctx context.Context, name string, fn func(*tx) error, t *tx, alone bool) (outcome, error) {
	weight := int64(1)
	if alone {
		weight = gateWeight
	}
	_ = s.gate.Acquire(context.WithoutCancel(ctx), weight) // fails only with the context
	defer s.gate.Release(weight)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.attemptTimeout)
	defer cancel()
	t.ctx, t.db, t.rows, t.seen = ctx, s, map[string]row{}, map[string]bool{}
	if err := fn(t); err != nil {
		if t.unread && t.maybe {
			return unknown, err
		}
		return decided, err
	}
	if len(t.ops) == 0 {
		return decided, nil
	}
	if len(t.ops) > maxOps || len(t.conds) > maxOps {
		return decided, fail.Bug("metastore transaction %s has %d operations and %d compares", name, len(t.ops), len(t.conds))
	}
	fault.Point("metastore/decided")
	ok, err := s.faults.onWrite(ctx, name, func() (bool, error) { return s.kv.write(ctx, t.conds, t.ops) })
	fault.Point("metastore/written")
	var u *unknownError
	switch {
	case errors.As(err, &u):
		return unknown, u.cause
	case err != nil && t.maybe:
		return unknown, err
	case err != nil:
		return decided, err
	case !ok:
		return lost, nil
	}
	return decided, nil
}
