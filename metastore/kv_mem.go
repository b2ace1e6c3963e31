package metastore

import (
	"context"
	"slices"
	"sync"

	"github.com/loamdb/loam/internal/fail"
)

// memKV keeps rows in memory. The same calls give the same revisions.
type memKV struct {
	mu     sync.Mutex // guards the fields below
	keys   []string   // sorted
	rows   map[string]row
	rev    int64
	bytes  int64
	closed bool
}

func newMemKV() *memKV { return &memKV{rows: map[string]row{}, rev: 1} }

var errClosed = fail.New(fail.Unavailable, "the metastore is closed")

func (m *memKV) read(_ context.Context, spans []span) ([][]row, int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return nil, 0, errClosed
	}
	out := make([][]row, len(spans))
	for i, s := range spans {
		out[i] = m.scan(s)
	}
	return out, m.rev, nil
}

func (m *memKV) scan(s span) []row {
	if s.to == "" {
		if r, ok := m.rows[s.from]; ok {
			return []row{r}
		}
		return nil
	}
	lo, hi := m.bounds(s.from, s.to)
	if s.limit > 0 {
		hi = min(hi, lo+s.limit)
	}
	out := make([]row, 0, hi-lo)
	for _, k := range m.keys[lo:hi] {
		out = append(out, m.rows[k])
	}
	return out
}

func (m *memKV) bounds(from, to string) (lo, hi int) {
	lo, _ = slices.BinarySearch(m.keys, from)
	hi, _ = slices.BinarySearch(m.keys, to)
	return lo, max(lo, hi)
}

func (m *memKV) write(_ context.Context, conds []cond, ops []op) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return false, errClosed
	}
	for _, c := range conds {
		if m.rows[c.key].mod != c.mod {
			return false, nil
		}
	}
	for i, o := range ops {
		// As etcd does: an order within the transaction has no meaning.
		if slices.ContainsFunc(ops[:i], func(p op) bool { return p.key == o.key }) {
			return false, fail.Bug("a transaction writes %q twice", o.key)
		}
	}
	m.rev++
	for _, o := range ops {
		m.apply(o)
	}
	return true, nil
}

func (m *memKV) apply(o op) {
	switch {
	case !o.del:
		m.put(o.key, o.value)
	case o.to == "":
		m.remove(o.key)
	default:
		lo, hi := m.bounds(o.key, o.to)
		for _, k := range slices.Clone(m.keys[lo:hi]) {
			m.remove(k)
		}
	}
}

func (m *memKV) put(key string, value []byte) {
	old, ok := m.rows[key]
	if !ok {
		i, _ := slices.BinarySearch(m.keys, key)
		m.keys = slices.Insert(m.keys, i, key)
		m.bytes += int64(len(key))
	}
	m.bytes += int64(len(value) - len(old.value))
	m.rows[key] = row{key: key, value: slices.Clone(value), mod: m.rev}
}

func (m *memKV) remove(key string) {
	old, ok := m.rows[key]
	if !ok {
		return
	}
	i, _ := slices.BinarySearch(m.keys, key)
	m.keys = slices.Delete(m.keys, i, i+1)
	delete(m.rows, key)
	m.bytes -= int64(len(key) + len(old.value))
}

func (m *memKV) size() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.bytes
}

func (m *memKV) close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	return nil
}
