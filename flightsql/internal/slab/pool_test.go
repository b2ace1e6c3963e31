package slab

import (
	"sync"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/memory"
	"pgregory.net/rapid"
)

// TestClasses: every size has a slab that holds it, wastes at most a quarter and
// is its own class.
func TestClasses(t *testing.T) {
	last := -1
	for n := 1; n <= maxBytes; n += 1 + n/97 {
		i, size := class(n)
		if i < last || i >= sizes || size < n || n > minBytes && size > n+n/4 {
			t.Fatalf("%d bytes: class %d of %d", n, i, size)
		}
		if j, again := class(size); j != i || again != size {
			t.Fatalf("a slab of %d bytes has class %d of %d, not %d", size, j, again, i)
		}
		last = i
	}
	if i, size := class(maxBytes); i != sizes-1 || size != maxBytes {
		t.Errorf("the largest slab has class %d of %d", i, size)
	}
}

// TestPoolNeverLendsTwice allocates, grows and frees at random; every piece of
// memory keeps what its holder wrote.
func TestPoolNeverLendsTwice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		under := memory.NewCheckedAllocator(memory.NewGoAllocator())
		p := New(under, rapid.IntRange(0, 1<<20).Draw(t, "limit"))
		var held [][]byte
		length := rapid.SampledFrom([]int{0, 1, 64, 4095, 4096, 4097, 5000, 100_000, 1 << 20, maxBytes, maxBytes + 1})
		mark := byte(0)
		fill := func(b []byte) []byte {
			mark++
			for i := range b {
				b[i] = mark
			}
			return b
		}
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			at := rapid.IntRange(0, len(held)).Draw(t, "which")
			switch {
			case at == len(held):
				held = append(held, fill(p.Allocate(length.Draw(t, "size"))))
			case rapid.Bool().Draw(t, "free"):
				p.Free(held[at])
				held = append(held[:at], held[at+1:]...)
			default:
				n := length.Draw(t, "new size")
				before := append([]byte(nil), held[at]...)
				held[at] = p.Reallocate(n, held[at])
				if len(held[at]) != n || string(held[at][:min(n, len(before))]) != string(before[:min(n, len(before))]) {
					t.Fatalf("%d bytes grew to %d with other contents", len(before), len(held[at]))
				}
				fill(held[at])
			}
			if p.idle > p.limit {
				t.Fatalf("%d bytes are idle, the limit is %d", p.idle, p.limit)
			}
		}
		for _, b := range held {
			for i := range b {
				if b[i] != b[0] {
					t.Fatal("two holders share memory")
				}
			}
		}
		if rapid.Bool().Draw(t, "close first") {
			p.Close()
		}
		for _, b := range held {
			p.Free(b)
		}
		p.Close()
		if under.CurrentAlloc() != 0 {
			t.Fatalf("%d bytes are lost", under.CurrentAlloc())
		}
	})
}

func TestPoolReuses(t *testing.T) {
	p := New(memory.NewGoAllocator(), 1<<20)
	b := p.Allocate(100_000)
	p.Free(b)
	if c := p.Allocate(99_000); &c[0] != &b[0] {
		t.Error("a freed slab is not used again")
	}
	if c := p.Allocate(100_000); &c[0] == &b[0] {
		t.Error("a slab was lent twice")
	}
}

func TestPoolConcurrently(t *testing.T) {
	under := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer under.AssertSize(t, 0)
	p := New(under, 1<<20)
	defer p.Close()
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			for i := range 500 {
				b := p.Allocate(4096 + i*100)
				for j := range b {
					b[j] = byte(w)
				}
				for _, x := range b {
					if x != byte(w) {
						t.Error("two goroutines share memory")
						break
					}
				}
				p.Free(b)
			}
		})
	}
	wg.Wait()
}
