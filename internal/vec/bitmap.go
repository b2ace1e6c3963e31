package vec

import "math/bits"

// Bitmap marks valid rows, least significant bit first; nil means that every row is valid.
type Bitmap []uint64

// NewBitmap returns a bitmap of n rows, all set or all clear.
func NewBitmap(n int, set bool) Bitmap {
	b := make(Bitmap, (n+63)/64)
	if set {
		for i := range b {
			b[i] = ^uint64(0)
		}
	}
	return b
}

// Get reports bit i; true for a nil bitmap.
func (b Bitmap) Get(i int) bool { return b == nil || b[i>>6]>>(uint(i)&63)&1 == 1 }

// Set sets bit i.
func (b Bitmap) Set(i int) { b[i>>6] |= 1 << (uint(i) & 63) }

// Clear clears bit i.
func (b Bitmap) Clear(i int) { b[i>>6] &^= 1 << (uint(i) & 63) }

// Count is the number of set bits among the first n.
func (b Bitmap) Count(n int) int {
	if b == nil {
		return n
	}
	c := 0
	for i := 0; i < n/64; i++ {
		c += bits.OnesCount64(b[i])
	}
	if r := uint(n) & 63; r != 0 {
		c += bits.OnesCount64(b[n/64] & (1<<r - 1))
	}
	return c
}

// Clone copies the bitmap; nil stays nil.
func (b Bitmap) Clone() Bitmap {
	if b == nil {
		return nil
	}
	return append(Bitmap(nil), b...)
}

// And returns the rows set in both, nil when both are nil; it may alias a or b.
func And(a, b Bitmap) Bitmap {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	out := make(Bitmap, min(len(a), len(b)))
	for i := range out {
		out[i] = a[i] & b[i]
	}
	return out
}
