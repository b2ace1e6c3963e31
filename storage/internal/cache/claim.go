package cache

import "context"

// Claim is the right and the duty to load some pieces of a file, one after the other.
// Nobody else loads them meanwhile. Release must be called; it is used by one goroutine.
type Claim struct {
	c        *Cache
	file     uint64
	from, to int64 // the parts
	kept     []any // of the parts from from on
	released bool
	done     chan struct{} // closed by Release
}

// Claim takes the parts from from on, below to, as far as they are neither there nor
// being loaded; nil when that is none.
func (c *Cache) Claim(file uint64, from, to int64) *Claim {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := from
	for ; n < to; n++ {
		if c.has(Key{file, n}) {
			break
		}
	}
	if n == from {
		return nil
	}
	l := &Claim{c: c, file: file, from: from, to: n, done: make(chan struct{})}
	for p := from; p < n; p++ {
		c.loads[Key{file, p}] = l
	}
	return l
}

// Has reports whether the piece is there or being loaded; that is no use of it.
func (c *Cache) Has(k Key) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.has(k)
}

func (c *Cache) has(k Key) bool {
	e := c.items[k]
	return c.loads[k] != nil || (e != nil && e.Value.(*item).in != &c.ghost)
}

// Parts are the claimed parts, [from, to).
func (l *Claim) Parts() (from, to int64) { return l.from, l.to }

// Keep gives the value of the next part, for as long as there is room, and returns it.
func (l *Claim) Keep(v any, bytes int64) any {
	l.c.mu.Lock()
	defer l.c.mu.Unlock()
	v = l.c.put(Key{l.file, l.from + int64(len(l.kept))}, v, bytes)
	l.kept = append(l.kept, v)
	return v
}

// Release lets those go on who wait for the parts; what was not kept is theirs to
// load. A second call does nothing.
func (l *Claim) Release() {
	if l.released {
		return
	}
	l.released = true
	l.c.mu.Lock()
	defer l.c.mu.Unlock()
	for p := l.from; p < l.to; p++ {
		delete(l.c.loads, Key{l.file, p})
	}
	close(l.done)
}

// Wait returns the piece if it is there, and while somebody loads it waits for that.
// ok is false when nobody does, or when it came to nothing. The error is ctx's.
func (c *Cache) Wait(ctx context.Context, k Key) (v any, ok bool, err error) {
	c.mu.Lock()
	v, ok = c.peek(k)
	l := c.loads[k]
	c.mu.Unlock()
	if ok || l == nil {
		return v, ok, nil
	}
	select {
	case <-l.done:
	case <-ctx.Done():
		return nil, false, context.Cause(ctx)
	}
	if i := k.Part - l.from; i < int64(len(l.kept)) {
		return l.kept[i], true, nil
	}
	return nil, false, nil
}

// maxBackground bounds the loads that run beside their callers at once.
const maxBackground = 8

// Background runs f beside the caller, unless too many run already or the cache is
// closed; it reports whether. ctx ends with the cache.
func (c *Cache) Background(f func(ctx context.Context)) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ctx.Err() != nil {
		return false
	}
	return c.background.TryGo(func() error { f(c.ctx); return nil })
}

// Close ends what runs in the background and waits for it. Pieces stay readable.
func (c *Cache) Close() {
	c.mu.Lock()
	c.end()
	c.mu.Unlock()
	_ = c.background.Wait()
}
