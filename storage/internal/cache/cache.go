package cache

import (
	"container/list"
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
)

// Key names a piece: a file, as [Cache.NewFile] numbered it, and a number in it.
type Key struct {
	File uint64
	Part int64
}

// Cache holds pieces. All methods are safe for concurrent use. What it evicts
// stays valid for those who have it.
//
// Eviction is S3-FIFO (Yang et al., SOSP 2023): what is new passes through a small
// queue, from which only what was used again, or is missed again soon, gets into
// the main one. So a scan of more than the budget does not drive out what every
// query needs.
type Cache struct {
	budget     int64
	files      atomic.Uint64
	background errgroup.Group
	ctx        context.Context // of the background
	end        context.CancelFunc

	mu    sync.Mutex // guards the fields below
	used  int64
	small queue
	main  queue
	ghost queue // keys of what left small unused; their bytes are as large as the budget
	items map[Key]*list.Element
	// loads are the pieces that somebody has claimed.
	loads map[Key]*Claim
}

// queue is oldest last.
type queue struct {
	list.List
	bytes int64
}

type item struct {
	key   Key
	value any // nil in ghost
	bytes int64
	uses  int
	in    *queue
}

// maxUses is how often an item of main can be passed over.
const maxUses = 3

// New is an empty cache of the budget in bytes.
func New(budget int64) *Cache {
	c := &Cache{budget: budget, items: map[Key]*list.Element{}, loads: map[Key]*Claim{}}
	c.ctx, c.end = context.WithCancel(context.Background())
	c.background.SetLimit(maxBackground)
	return c
}

// Budget is the most bytes that are kept.
func (c *Cache) Budget() int64 { return c.budget }

// NewFile is a number for the keys of one file, never given twice.
func (c *Cache) NewFile() uint64 { return c.files.Add(1) }

// Get returns the piece, or loads it and keeps it for as long as there is room.
// bytes is what it takes. While one loads, others that miss it wait for what comes of
// it, no longer than their ctx. Errors are load's, and those of the end of ctx.
func (c *Cache) Get(ctx context.Context, k Key, load func() (value any, bytes int64, err error)) (any, error) {
	for {
		if v, ok, err := c.Wait(ctx, k); ok || err != nil {
			return v, err
		}
		claim := c.Claim(k.File, k.Part, k.Part+1)
		if claim == nil {
			continue
		}
		defer claim.Release()
		v, bytes, err := load()
		if err != nil {
			return nil, err
		}
		return claim.Keep(v, bytes), nil
	}
}

// Peek returns the piece if it is there.
func (c *Cache) Peek(k Key) (any, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.peek(k)
}

// peek is Peek with the lock held.
func (c *Cache) peek(k Key) (any, bool) {
	e := c.items[k]
	if e == nil {
		return nil, false
	}
	it := e.Value.(*item)
	if it.in == &c.ghost {
		return nil, false
	}
	it.uses = min(it.uses+1, maxUses)
	return it.value, true
}

// Room reports whether so many bytes fit without evicting anything.
func (c *Cache) Room(bytes int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.used+bytes <= c.budget
}

// put keeps the value and returns it, or the one that is there. The lock is held.
func (c *Cache) put(k Key, v any, bytes int64) any {
	to := &c.small
	if e := c.items[k]; e != nil {
		it := e.Value.(*item)
		if it.in != &c.ghost {
			return it.value
		}
		c.remove(e)
		to = &c.main
	}
	if bytes > c.budget/4 {
		return v
	}
	c.push(to, &item{key: k, value: v, bytes: bytes})
	for c.used > c.budget {
		c.evict()
	}
	return v
}

func (c *Cache) push(to *queue, it *item) {
	it.in = to
	to.bytes += it.bytes
	if to != &c.ghost {
		c.used += it.bytes
	}
	c.items[it.key] = to.PushFront(it)
}

func (c *Cache) remove(e *list.Element) *item {
	it := e.Value.(*item)
	it.in.Remove(e)
	it.in.bytes -= it.bytes
	if it.in != &c.ghost {
		c.used -= it.bytes
	}
	delete(c.items, it.key)
	return it
}

// evict takes one step towards room: it moves an item on, or drops it.
func (c *Cache) evict() {
	if c.small.Len() > 0 && (c.small.bytes > c.budget/10 || c.main.Len() == 0) {
		it := c.remove(c.small.Back())
		if it.uses > 0 {
			it.uses = 0
			c.push(&c.main, it)
			return
		}
		it.value = nil
		c.push(&c.ghost, it)
		for c.ghost.bytes > c.budget {
			c.remove(c.ghost.Back())
		}
		return
	}
	it := c.remove(c.main.Back())
	if it.uses > 0 {
		it.uses--
		c.push(&c.main, it)
	}
}

// Discard forgets a piece.
func (c *Cache) Discard(k Key) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.items[k]; e != nil {
		c.remove(e)
	}
}

// Drop forgets the pieces of the files.
func (c *Cache) Drop(files ...uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for k, e := range c.items {
		if slices.Contains(files, k.File) {
			c.remove(e)
		}
	}
}

// Used is the bytes of what is kept, and the number of pieces.
func (c *Cache) Used() (bytes int64, pieces int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.used, c.small.Len() + c.main.Len()
}
