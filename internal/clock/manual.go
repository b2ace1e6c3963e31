package clock

import (
	"context"
	"slices"
	"sync"
	"time"
)

// Manual is a clock that stands still until it is told to move. Its zero value
// is not usable; call [NewManual].
type Manual struct {
	mu     sync.Mutex // guards the fields below
	wall   time.Time
	mono   time.Duration
	timers []*manualTimer // waiting, ordered by due
}

// NewManual returns a clock that shows start.
func NewManual(start time.Time) *Manual { return &Manual{wall: start} }

// Now is the time last set.
func (m *Manual) Now() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.wall
}

// Mono is the sum of all advances.
func (m *Manual) Mono() time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.mono
}

// NewTimer fires when the clock has been advanced by d.
func (m *Manual) NewTimer(d time.Duration) Timer {
	m.mu.Lock()
	defer m.mu.Unlock()
	t := &manualTimer{clock: m, due: m.mono + d, c: make(chan time.Time, 1)}
	if d <= 0 {
		t.c <- m.wall
		return t
	}
	i, _ := slices.BinarySearchFunc(m.timers, t.due, func(x *manualTimer, due time.Duration) int {
		if x.due <= due {
			return -1 // equal times fire in the order of their making
		}
		return 1
	})
	m.timers = slices.Insert(m.timers, i, t)
	return t
}

// Sleep waits until the clock has been advanced by d or ctx ends.
func (m *Manual) Sleep(ctx context.Context, d time.Duration) error { return sleep(ctx, m, d) }

// Advance lets d pass, on the wall and monotonically, and fires the timers that
// come due in their order. d below zero is taken as zero.
func (m *Manual) Advance(d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	d = max(0, d)
	start, wall := m.mono, m.wall
	for len(m.timers) > 0 && m.timers[0].due <= start+d {
		t := m.timers[0]
		m.timers = m.timers[1:]
		m.mono, m.wall = t.due, wall.Add(t.due-start)
		t.c <- m.wall
	}
	m.mono, m.wall = start+d, wall.Add(d)
}

// Jump sets the wall clock forward or back by d, as an operator or a time server
// does. No time passes and no timer fires.
func (m *Manual) Jump(d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.wall = m.wall.Add(d)
}

// Waiting is the number of timers that have not fired: what a test waits for
// before it advances the clock.
func (m *Manual) Waiting() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.timers)
}

type manualTimer struct {
	clock *Manual
	due   time.Duration
	c     chan time.Time
}

func (t *manualTimer) C() <-chan time.Time { return t.c }

func (t *manualTimer) Stop() bool {
	t.clock.mu.Lock()
	defer t.clock.mu.Unlock()
	i := slices.Index(t.clock.timers, t)
	if i < 0 {
		return false
	}
	t.clock.timers = slices.Delete(t.clock.timers, i, i+1)
	return true
}
