package metastore

import (
	"context"
	"sync/atomic"

	"github.com/loamdb/loam/internal/clock"
)

// MemRows are rows in memory that several nodes share, as they share an etcd
// cluster: each node opens a store of its own on them, with its own clock, ids
// and faults. For tests.
type MemRows struct{ kv *memKV }

// NewMemRows returns no rows.
func NewMemRows() *MemRows { return &MemRows{newMemKV()} }

// Open returns a node's store on the rows, and makes the format row when there is
// none. Closing it leaves the rows to the others.
func (m *MemRows) Open(ctx context.Context, clk clock.Clock, ids clock.IDs, opt Options) (Store, error) {
	s := newDB(&memNode{memKV: m.kv}, clk, ids, opt)
	s.ticker.shared = true
	return s, s.bootstrap(ctx)
}

// memNode is a node's way to shared rows.
type memNode struct {
	*memKV
	closed atomic.Bool
}

func (n *memNode) read(ctx context.Context, spans []span) ([][]row, int64, error) {
	if n.closed.Load() {
		return nil, 0, errClosed
	}
	return n.memKV.read(ctx, spans)
}

func (n *memNode) write(ctx context.Context, conds []cond, ops []op) (bool, error) {
	if n.closed.Load() {
		return false, errClosed
	}
	return n.memKV.write(ctx, conds, ops)
}

func (n *memNode) close() error {
	n.closed.Store(true)
	return nil
}
