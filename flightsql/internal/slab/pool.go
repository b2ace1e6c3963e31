package slab

import (
	"math/bits"
	"sync"

	"github.com/apache/arrow-go/v18/arrow/memory"
)

// Slabs are between minBytes and maxBytes large, four sizes to a doubling; other
// requests go to the allocator beneath.
const (
	minBytes = 4 << 10
	maxBytes = 4 << 20
	sizes    = 4*10 + 1
)

// Pool is a memory.Allocator that keeps freed slabs for reuse, up to a limit.
// Safe for concurrent use.
type Pool struct {
	under memory.Allocator
	limit int

	// mu guards the fields below. It is a leaf lock.
	mu     sync.Mutex
	free   [sizes][][]byte
	idle   int // bytes in free
	closed bool
}

// New returns a pool over an allocator, which must be safe for concurrent use,
// that keeps at most limitBytes for reuse.
func New(under memory.Allocator, limitBytes int) *Pool {
	return &Pool{under: under, limit: limitBytes}
}

// class is the smallest slab of at least n bytes, and its size; n is not larger
// than maxBytes.
func class(n int) (i, size int) {
	if n <= minBytes {
		return 0, minBytes
	}
	shift := bits.Len(uint(n-1)) - 3 // three leading bits tell the size
	lead := (n + 1<<shift - 1) >> shift
	return 4*(shift+2-12) + lead - 4, lead << shift
}

// Allocate implements memory.Allocator. The memory is not zero.
func (p *Pool) Allocate(n int) []byte {
	if n < minBytes || n > maxBytes {
		b := p.under.Allocate(n)
		return b[:n:n]
	}
	i, size := class(n)
	if b := p.take(i); b != nil {
		return b[:n]
	}
	b := p.under.Allocate(size)
	return b[:n:size]
}

func (p *Pool) take(i int) []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	last := len(p.free[i]) - 1
	if last < 0 {
		return nil
	}
	b := p.free[i][last]
	p.free[i] = p.free[i][:last]
	p.idle -= len(b)
	return b
}

// Reallocate implements memory.Allocator: b with more or less room, in place if
// there is enough.
func (p *Pool) Reallocate(n int, b []byte) []byte {
	if n <= cap(b) {
		return b[:n]
	}
	out := p.Allocate(n)
	copy(out, b)
	p.Free(b)
	return out
}

// Free implements memory.Allocator.
func (p *Pool) Free(b []byte) {
	b = b[:cap(b)]
	if len(b) < minBytes || len(b) > maxBytes || !p.keep(b) {
		p.under.Free(b)
	}
}

func (p *Pool) keep(b []byte) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || p.idle+len(b) > p.limit {
		return false
	}
	i, _ := class(len(b))
	p.free[i] = append(p.free[i], b)
	p.idle += len(b)
	return true
}

// Close gives what is idle back to the allocator beneath, and from then on what
// is freed. The pool can still be used.
func (p *Pool) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for i, list := range p.free {
		for _, b := range list {
			p.under.Free(b)
		}
		p.free[i] = nil
	}
	p.idle = 0
}
