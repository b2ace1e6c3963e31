package clock

import (
	"context"
	"time"
)

// Clock tells the time and waits. Implementations are safe for concurrent use.
type Clock interface {
	// Now is the wall clock. It may jump either way when the machine's clock is set.
	Now() time.Time
	// Mono is the time that has passed since an arbitrary moment before the
	// first call. It never goes back and never jumps with the wall clock.
	Mono() time.Duration
	// NewTimer fires once after d. The caller stops it when it is no longer wanted.
	NewTimer(d time.Duration) Timer
	// Sleep waits for d or until ctx ends, and then returns ctx's error.
	Sleep(ctx context.Context, d time.Duration) error
}

// Timer is a single event in the future.
type Timer interface {
	// C delivers the time of the event, once.
	C() <-chan time.Time
	// Stop prevents the event and reports whether it was still to come.
	Stop() bool
}

// Real is the machine's clock.
func Real() Clock { return realClock{start: time.Now()} }

type realClock struct{ start time.Time }

func (realClock) Now() time.Time        { return time.Now() }
func (c realClock) Mono() time.Duration { return time.Since(c.start) }

func (realClock) NewTimer(d time.Duration) Timer { return realTimer{time.NewTimer(d)} }

func (c realClock) Sleep(ctx context.Context, d time.Duration) error { return sleep(ctx, c, d) }

type realTimer struct{ t *time.Timer }

func (t realTimer) C() <-chan time.Time { return t.t.C }
func (t realTimer) Stop() bool          { return t.t.Stop() }

func sleep(ctx context.Context, c Clock, d time.Duration) error {
	if err := ctx.Err(); err != nil || d <= 0 {
		return err
	}
	t := c.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C():
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
