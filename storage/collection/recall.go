package collection

import (
	"slices"
	"sync"
)

// recall remembers the values used last, at most max. They are immutable. The
// zero value with max set is ready; it is safe for concurrent use.
type recall[V any] struct {
	max int

	mu     sync.Mutex // guards the fields below
	keys   []string   // the one used last is the last
	values map[string]V
}

func (r *recall[V]) get(key string) (V, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	v, ok := r.values[key]
	if ok {
		i := slices.Index(r.keys, key)
		r.keys = append(slices.Delete(r.keys, i, i+1), key)
	}
	return v, ok
}

func (r *recall[V]) put(key string, v V) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.values == nil {
		r.values = map[string]V{}
	}
	if _, ok := r.values[key]; !ok {
		r.keys = append(r.keys, key)
	}
	r.values[key] = v
	if len(r.keys) > r.max {
		delete(r.values, r.keys[0])
		r.keys = slices.Delete(r.keys, 0, 1)
	}
}
