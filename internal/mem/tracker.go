package mem

import (
	"fmt"
	"sort"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/loamdb/loam/internal/fail"
)

// NoLimit is the limit of a tracker that only its parents bound.
const NoLimit int64 = -1

// Tracker grants bytes to one holder and, through its parents, to all of them.
// Invariants: a tracker's bytes are its own reservations plus its children's;
// bytes ≤ limit at every moment in every tracker of the tree.
//
// All methods may be called from many goroutines.
type Tracker struct {
	name   string
	limit  int64
	parent *Tracker
	used   atomic.Int64
	peak   atomic.Int64

	// mu guards children and closed. It is a leaf lock.
	mu       sync.Mutex
	children map[*Tracker]struct{}
	closed   bool

	fault func(name string, bytes int64) error
}

// New returns the root of a tree. limitBytes is NoLimit or the most it grants.
func New(name string, limitBytes int64) *Tracker {
	return &Tracker{name: name, limit: limitBytes, children: map[*Tracker]struct{}{}}
}

// Child returns a tracker whose bytes count in t too. The caller closes it.
func (t *Tracker) Child(name string, limitBytes int64) *Tracker {
	c := New(name, limitBytes)
	c.parent = t
	c.fault = t.fault
	t.mu.Lock()
	defer t.mu.Unlock()
	t.children[c] = struct{}{}
	return c
}

// InjectFault makes every Reserve of children made afterwards ask f first; an
// error refuses the reservation. It is the faulty twin of the tracker for tests
// and must be called before the tracker is shared.
func (t *Tracker) InjectFault(f func(name string, bytes int64) error) { t.fault = f }

// Name is the name that errors and profiles show.
func (t *Tracker) Name() string { return t.name }

// Bytes is the number of bytes granted now.
func (t *Tracker) Bytes() int64 { return t.used.Load() }

// Peak is the largest value that Bytes has had.
func (t *Tracker) Peak() int64 { return t.peak.Load() }

// Reserve asks for n bytes before they are allocated. It grants all of them or
// none. The error is fail.Exhausted: it names the tracker that asked, the one
// whose limit stands in the way, and the largest holders under it.
func (t *Tracker) Reserve(n int64) error {
	if n <= 0 {
		return nil
	}
	if t.fault != nil {
		if err := t.fault(t.name, n); err != nil {
			return err
		}
	}
	for at := t; at != nil; at = at.parent {
		now := at.used.Add(n)
		if at.limit != NoLimit && now > at.limit {
			for undo := t; ; undo = undo.parent {
				undo.used.Add(-n)
				if undo == at {
					break
				}
			}
			return at.refuse(t, n)
		}
		at.raisePeak(now)
	}
	return nil
}

func (t *Tracker) raisePeak(now int64) {
	for {
		p := t.peak.Load()
		if now <= p || t.peak.CompareAndSwap(p, now) {
			return
		}
	}
}

// Release gives back n bytes that Reserve granted.
func (t *Tracker) Release(n int64) {
	if n <= 0 {
		return
	}
	for at := t; at != nil; at = at.parent {
		at.used.Add(-n)
	}
}

// Close gives back whatever the tracker still holds and leaves the tree. It
// returns the bytes that had not been released; closing again returns 0. Nothing
// may be reserved afterwards.
func (t *Tracker) Close() int64 {
	t.mu.Lock()
	if t.closed {
		t.mu.Unlock()
		return 0
	}
	t.closed = true
	t.mu.Unlock()
	left := t.used.Load()
	t.Release(left)
	if p := t.parent; p != nil {
		p.mu.Lock()
		delete(p.children, t)
		p.mu.Unlock()
	}
	return left
}

func (t *Tracker) refuse(asker *Tracker, n int64) error {
	return fail.New(fail.Exhausted, "%s needs %s more, but %s holds %s of its limit of %s%s",
		asker.name, FormatBytes(n), t.name, FormatBytes(t.used.Load()), FormatBytes(t.limit), t.holders()).
		WithHint("Raise the memory limit, or make the statement hold less: fewer columns, a filter before the join or the aggregate, a LIMIT.")
}

// holders lists the three largest children, largest first.
func (t *Tracker) holders() string {
	type holder struct {
		name  string
		bytes int64
	}
	t.mu.Lock()
	var hs []holder
	for c := range t.children {
		if b := c.used.Load(); b > 0 {
			hs = append(hs, holder{c.name, b})
		}
	}
	t.mu.Unlock()
	if len(hs) == 0 {
		return ""
	}
	sort.Slice(hs, func(i, j int) bool {
		if hs[i].bytes != hs[j].bytes {
			return hs[i].bytes > hs[j].bytes
		}
		return hs[i].name < hs[j].name
	})
	parts := make([]string, 0, 3)
	for _, h := range hs[:min(3, len(hs))] {
		parts = append(parts, h.name+" "+FormatBytes(h.bytes))
	}
	return " (" + strings.Join(parts, ", ") + ")"
}

// FormatBytes prints a size with its unit: "512 B", "64.0 KiB", "1.5 GiB".
func FormatBytes(n int64) string {
	if n < 1<<10 {
		return fmt.Sprintf("%d B", n)
	}
	f := float64(n)
	for _, unit := range []string{"KiB", "MiB", "GiB"} {
		f /= 1 << 10
		if f < 1<<10 {
			return fmt.Sprintf("%.1f %s", f, unit)
		}
	}
	return fmt.Sprintf("%.1f TiB", f/(1<<10))
}
