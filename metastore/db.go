package metastore

import (
	"context"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/loamdb/loam/internal/clock"
	"github.com/loamdb/loam/internal/fail"
)

// db runs the transactions over a back end. It is the one implementation of [Store].
type db struct {
	kv     kv
	clk    clock.Clock
	ids    clock.IDs
	ticker ticker
	faults *Faults

	attemptTimeout time.Duration
	// patience is how long a transaction with an unknown outcome is looked into, at least.
	patience time.Duration
	// existing: an empty back end is refused.
	existing bool

	// gate is held shared by an attempt, whole by one that has lost its compares
	// too often: so a commit gets through a stream of appends.
	gate *semaphore.Weighted
}

const gateWeight = 1 << 30

// Options configure a store.
type Options struct {
	// Faults injects failures; nil in the product.
	Faults *Faults
	// Shared: other nodes use the same rows, each with a clock of its own.
	Shared bool
}

// JoinMem returns another node's view of a store in memory that was made with
// [Options.Shared]. Closing it leaves the other views open.
func JoinMem(ctx context.Context, first Store, clk clock.Clock, ids clock.IDs, opt Options) (Store, error) {
	of, ok := first.(*db)
	if !ok || !of.ticker.shared {
		return nil, fail.Bug("a store of type %T cannot be joined", first)
	}
	opt.Shared = true
	s := newDB(&joinedKV{kv: of.kv}, clk, ids, opt)
	return s, s.bootstrap(ctx)
}

// joinedKV is a back end that somebody else closes.
type joinedKV struct {
	kv
	closed atomic.Bool
}

func (j *joinedKV) read(ctx context.Context, spans []span) ([][]row, int64, error) {
	if j.closed.Load() {
		return nil, 0, errClosed
	}
	return j.kv.read(ctx, spans)
}

func (j *joinedKV) write(ctx context.Context, conds []cond, ops []op) (bool, error) {
	if j.closed.Load() {
		return false, errClosed
	}
	return j.kv.write(ctx, conds, ops)
}

func (j *joinedKV) close() error {
	j.closed.Store(true)
	return nil
}

// NewMem returns an empty store in memory, deterministic for deterministic
// clocks and ids. It is the model of the other back end in tests.
func NewMem(clk clock.Clock, ids clock.IDs, opt Options) Store {
	mem := newMemKV()
	s := newDB(mem, clk, ids, opt)
	s.ticker.start(0)
	info := Info{ClusterID: ids.ULID(), Major: formatMajor, Minor: formatMinor, CreatedMS: clk.Now().UnixMilli()}
	mem.put(keyFormat, encodeInfo(info))
	return s
}

func newDB(back kv, clk clock.Clock, ids clock.IDs, opt Options) *db {
	return &db{kv: back, clk: clk, ids: ids, ticker: ticker{clk: clk, shared: opt.Shared}, faults: opt.Faults,
		attemptTimeout: attemptTimeout, gate: semaphore.NewWeighted(gateWeight)}
}

// bootstrap reads or makes the format row and starts the clock.
func (s *db) bootstrap(ctx context.Context) error {
	if s.ticker.shared {
		if err := s.checkClock(ctx); err != nil {
			return err
		}
	}
	return s.update(ctx, "bootstrap", func(t *tx) error {
		if err := t.load(keyFormat, keyClock); err != nil {
			return err
		}
		bound, err := clockBound(t)
		if err != nil {
			return err
		}
		s.ticker.start(bound)
		if r, ok := t.get(keyFormat); ok {
			_, err := decodeInfo(r)
			return err
		}
		if s.existing {
			return fail.New(fail.Unavailable, "there is no metastore of Loam").WithHint("Name the one that a server uses, with its prefix.")
		}
		t.put(keyFormat, encodeInfo(Info{ClusterID: s.ids.ULID(), Major: formatMajor, Minor: formatMinor,
			CreatedMS: s.clk.Now().UnixMilli()}))
		return nil
	})
}

func (s *db) Info(ctx context.Context) (Info, error) {
	r, ok, err := s.one(ctx, keyFormat)
	if err != nil {
		return Info{}, err
	}
	if !ok {
		return Info{}, fail.New(fail.Corrupt, "the metastore has no format row")
	}
	return decodeInfo(r)
}

func (s *db) DBSize() int64 { return s.kv.size() }
func (s *db) Close() error  { return s.kv.close() }

// one is a linearizable read of one row.
func (s *db) one(ctx context.Context, key string) (row, bool, error) {
	rows, _, err := s.read(ctx, keySpan(key))
	if err != nil || len(rows[0]) == 0 {
		return row{}, false, err
	}
	return rows[0][0], true, nil
}

func (s *db) read(ctx context.Context, spans ...span) ([][]row, int64, error) {
	if err := fail.Ended(ctx, "the call of the metastore"); err != nil {
		return nil, 0, err
	}
	if err := s.faults.onRead(); err != nil {
		return nil, 0, err
	}
	return s.kv.read(ctx, spans)
}

func (s *db) Secret(ctx context.Context, name string, n int) ([]byte, error) {
	if n < 1 || n > MaxValueBytes {
		return nil, fail.New(fail.InvalidParameter, "a secret of %s was asked for", fail.Count(n, "byte"))
	}
	fresh := make([]byte, n)
	s.ids.Fill(fresh)
	var out string
	err := s.update(ctx, "secret", func(t *tx) error {
		key := secretKey(name)
		if err := t.load(key); err != nil {
			return err
		}
		r, ok := t.get(key)
		if !ok {
			out = string(fresh)
			t.put(key, encodeText(out))
			return nil
		}
		var err error
		if out, err = decodeText(r); err == nil && len(out) != n {
			err = fail.New(fail.InvalidParameter, "secret %q has %s, not %d", name, fail.Count(len(out), "byte"), n)
		}
		return err
	})
	return []byte(out), err
}
