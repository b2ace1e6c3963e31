package file

import (
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// growBuf is a byte buffer from an Arrow allocator that grows by doubling.
type growBuf struct {
	mem memory.Allocator
	b   []byte // all that is allocated
	n   int    // in use
}

// extend returns the next n bytes, whose content is undefined.
func (g *growBuf) extend(n int) []byte {
	if g.n+n > len(g.b) {
		g.reserve(max(g.n+n, 2*len(g.b)))
	}
	g.n += n
	return g.b[g.n-n : g.n : g.n]
}

// reserve makes room for n bytes in all.
func (g *growBuf) reserve(n int) {
	switch {
	case n <= len(g.b):
	case g.b == nil:
		g.b = g.mem.Allocate(n)
	default:
		g.b = g.mem.Reallocate(n, g.b)
	}
}

// hint makes room for n more bytes, so that an exact estimate costs one allocation
// and a series of estimates no more copies than doubling.
func (g *growBuf) hint(n int) {
	if g.n+n > len(g.b) {
		g.reserve(max(g.n+n, len(g.b)/2*3))
	}
}

func (g *growBuf) used() []byte { return g.b[:g.n] }

// buffer hands the bytes over to an Arrow buffer.
func (g *growBuf) buffer() *memory.Buffer {
	buf := memory.NewBufferWithAllocator(g.b, g.mem)
	buf.ResizeNoShrink(g.n)
	g.b, g.n = nil, 0
	return buf
}

func (g *growBuf) release() {
	if g.b != nil {
		g.mem.Free(g.b)
	}
	g.b, g.n = nil, 0
}

// bitmap is a validity bitmap that costs nothing until the first null.
type bitmap struct {
	buf   growBuf
	n     int
	nulls int
}

func (m *bitmap) addValid(n int) {
	if m.nulls > 0 {
		m.grow(n)
		bitutil.SetBitsTo(m.buf.used(), int64(m.n), int64(n), true)
	}
	m.n += n
}

func (m *bitmap) addNull() {
	if m.nulls == 0 {
		m.buf.n = 0
		m.nulls = 1
		bits := m.buf.extend(int(bitutil.BytesForBits(int64(m.n + 1))))
		for i := range bits {
			bits[i] = 0xFF
		}
	} else {
		m.grow(1)
		m.nulls++
	}
	bitutil.ClearBit(m.buf.used(), m.n)
	m.n++
}

func (m *bitmap) grow(n int) {
	want := int(bitutil.BytesForBits(int64(m.n + n)))
	if more := want - m.buf.n; more > 0 {
		clear(m.buf.extend(more))
	}
}

// buffer is the bitmap, or nil when all are valid.
func (m *bitmap) buffer() *memory.Buffer {
	if m.nulls == 0 {
		return nil
	}
	return m.buf.buffer()
}
