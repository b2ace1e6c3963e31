package metastore

import (
	"context"
	"sync"
	"time"

	"github.com/loamdb/loam/internal/clock"
	"github.com/loamdb/loam/internal/fail"
)

const (
	// maxJump bounds how far one reading may move the clock beyond the time that
	// really passed, so that a node with a wrong wall clock cannot end retention.
	maxJump = 10 * time.Second
	// reserve is how far ahead the clock row is written. Every reading is below
	// the row, so that after a restart time goes on from the row, and most
	// transactions need not write it.
	reserve = time.Second
)

// ticker issues metastore time in microseconds, strictly increasing on one node.
//
//	issued < row      row ≤ issued when written + reserve
//
// Where several nodes share the row, each follows it: no reading is more than reserve
// behind what another node has issued, and time runs between half and twice as fast
// as it really passes, toward the wall clock. So a clock that is set wrong on one
// node cannot end a retention or a lease of all.
type ticker struct {
	clk    clock.Clock
	shared bool
	mu     sync.Mutex // guards the fields below
	// last is the newest time issued or seen; it was so at mono.
	last int64
	mono time.Duration
}

// start takes the row of an earlier run, and the wall clock as it is: nothing
// tells how long the store was down.
func (c *ticker) start(bound int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last, c.mono = max(c.last, bound, c.clk.Now().UnixMicro()-1), c.clk.Mono()
}

func (c *ticker) next() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	mono := c.clk.Mono()
	if c.shared {
		passed := (mono - c.mono).Microseconds()
		c.last, c.mono = max(c.last+1, min(max(c.clk.Now().UnixMicro(), c.last+passed/2), c.last+2*passed)), mono
		return c.last
	}
	ceiling := c.last + (mono - c.mono + maxJump).Microseconds()
	c.last, c.mono = max(c.last+1, min(c.clk.Now().UnixMicro(), ceiling)), mono
	return c.last
}

// follow catches up with what other nodes have issued.
func (c *ticker) follow(bound int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if behind := bound - reserve.Microseconds(); c.shared && behind > c.last {
		c.last, c.mono = behind, c.clk.Mono()
	}
}

// clockBound reads the loaded clock row.
func clockBound(t *tx) (int64, error) {
	r, ok := t.peek(keyClock)
	if !ok {
		return 0, nil
	}
	v, err := decodeUint(r)
	return int64(v), err
}

// stamp issues a time inside a transaction that has loaded the clock row, and
// reserves more when the row is reached.
func (s *db) stamp(t *tx) (int64, error) {
	bound, err := clockBound(t)
	if err != nil {
		return 0, err
	}
	s.ticker.follow(bound)
	now := s.ticker.next()
	if now >= bound {
		t.get(keyClock) // another node may raise it higher
		t.put(keyClock, encodeUint(uint64(now+reserve.Microseconds())))
	}
	return now, nil
}

func (s *db) Now(ctx context.Context) (int64, error) {
	var now int64
	err := s.update(ctx, "now", func(t *tx) (err error) {
		if err = t.load(keyClock); err != nil {
			return err
		}
		now, err = s.stamp(t)
		return err
	})
	if now > 0 && fail.Is(err, fail.Exhausted) {
		// The metastore takes no writes. Every read of rows asks for the time, and what
		// was to be written only keeps time from going back when the wall clock does so
		// over a restart.
		err = nil
	}
	return now / 1000, err
}
