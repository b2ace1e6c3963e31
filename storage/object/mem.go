package object

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/zeebo/xxh3"

	"github.com/loamdb/loam/internal/fail"
)

// Mem is a store in memory, deterministic, for tests and for --memory.
type Mem struct {
	mu      sync.RWMutex // guards the fields below; the byte slices are never written to
	objects map[string][]byte
	keys    []string // sorted
}

// NewMem returns an empty store in memory.
func NewMem() *Mem { return &Mem{objects: map[string][]byte{}} }

// Put implements [Store].
func (m *Mem) Put(ctx context.Context, key string, body []byte, opt PutOptions) (Info, error) {
	if err := begin(ctx, key); err != nil {
		return Info{}, err
	}
	return m.put(key, bytes.Clone(body), opt)
}

func (m *Mem) put(key string, body []byte, opt PutOptions) (Info, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	i, found := slices.BinarySearch(m.keys, key)
	if found && !opt.Replace {
		return Info{}, errExists(key)
	}
	if !found {
		m.keys = slices.Insert(m.keys, i, key)
	}
	m.objects[key] = body
	return Info{Key: key, Size: int64(len(body)), Checksum: xxh3.Hash(body)}, nil
}

// Create implements [Store].
func (m *Mem) Create(ctx context.Context, key string) (Writer, error) {
	if err := begin(ctx, key); err != nil {
		return nil, err
	}
	return &memWriter{store: m, key: key}, nil
}

type memWriter struct {
	store *Mem
	key   string
	buf   []byte
	ended bool
}

func (w *memWriter) Write(p []byte) (int, error) {
	if w.ended {
		return 0, errEnded(w.key)
	}
	w.buf = append(w.buf, p...)
	return len(p), nil
}

func (w *memWriter) Commit() (Info, error) {
	if w.ended {
		return Info{}, errEnded(w.key)
	}
	w.ended = true
	return w.store.put(w.key, w.buf, PutOptions{})
}

func (w *memWriter) Abort() { w.ended, w.buf = true, nil }

func (m *Mem) body(ctx context.Context, key string) ([]byte, error) {
	if err := begin(ctx, key); err != nil {
		return nil, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	body, ok := m.objects[key]
	if !ok {
		return nil, errNotFound(key)
	}
	return body, nil
}

// Get implements [Store].
func (m *Mem) Get(ctx context.Context, key string) ([]byte, error) {
	body, err := m.body(ctx, key)
	return bytes.Clone(body), err
}

// GetRange implements [Store].
func (m *Mem) GetRange(ctx context.Context, key string, off, n int64) ([]byte, error) {
	body, err := m.body(ctx, key)
	if err != nil {
		return nil, err
	}
	if !inRange(off, n, int64(len(body))) {
		return nil, errShort(key, off, n, int64(len(body)))
	}
	return bytes.Clone(body[off : off+n]), nil
}

// Open implements [Store].
func (m *Mem) Open(ctx context.Context, key string) (Object, error) {
	body, err := m.body(ctx, key)
	if err != nil {
		return nil, err
	}
	return &memObject{key: key, body: body}, nil
}

type memObject struct {
	key  string
	body []byte
}

func (o *memObject) ReadAt(ctx context.Context, p []byte, off int64) error {
	if err := fail.Ended(ctx, "the call of the object store"); err != nil {
		return err
	}
	if !inRange(off, int64(len(p)), int64(len(o.body))) {
		return errShort(o.key, off, int64(len(p)), int64(len(o.body)))
	}
	copy(p, o.body[off:])
	return nil
}

func (o *memObject) Size() int64  { return int64(len(o.body)) }
func (o *memObject) Close() error { return nil }

// Head implements [Store].
func (m *Mem) Head(ctx context.Context, key string) (Info, error) {
	body, err := m.body(ctx, key)
	if err != nil {
		return Info{}, err
	}
	return Info{Key: key, Size: int64(len(body))}, nil
}

// List implements [Store].
func (m *Mem) List(ctx context.Context, prefix, after string) ([]Info, error) {
	if err := fail.Ended(ctx, "the call of the object store"); err != nil {
		return nil, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	i, _ := slices.BinarySearch(m.keys, max(prefix, after))
	var page []Info
	for ; i < len(m.keys) && len(page) < ListPage; i++ {
		key := m.keys[i]
		if !strings.HasPrefix(key, prefix) {
			break
		}
		if key > after {
			page = append(page, Info{Key: key, Size: int64(len(m.objects[key]))})
		}
	}
	return page, nil
}

// Delete implements [Store].
func (m *Mem) Delete(ctx context.Context, keys ...string) error {
	for _, key := range keys {
		if err := begin(ctx, key); err != nil {
			return err
		}
		m.mu.Lock()
		if i, found := slices.BinarySearch(m.keys, key); found {
			m.keys = slices.Delete(m.keys, i, i+1)
			delete(m.objects, key)
		}
		m.mu.Unlock()
	}
	return nil
}

// URI implements [Store]. Nothing outside the process can read a mem: address.
func (m *Mem) URI(key string) string { return "mem:///" + key }
