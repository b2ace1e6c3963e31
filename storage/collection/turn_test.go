package collection

import (
	"context"
	"testing"
	"time"

	"github.com/loamdb/loam/internal/fail"
)

// Who waits for an apply or merge that runs, to write, to read what another node
// committed, or to apply, leaves when his time is over.
func TestWaitingEndsWithTheContext(t *testing.T) {
	ctx := context.Background()
	b := newBench(t, docsObject(1), Options{})
	other, err := Open(ctx, b.deps, b.obj, b.opt)
	b.must(err)
	_, err = other.Append(ctx, b.someRows(0, 5))
	b.must(err)
	b.must(other.Apply(ctx, nil))

	leave, err := b.c.building.alone(ctx, "the test")
	b.must(err)
	quit, err := b.c.seq.alone(ctx, "the test")
	b.must(err)
	short, stop := context.WithTimeout(ctx, 10*time.Millisecond)
	defer stop()
	_, rerr := b.c.Strong(short)
	_, werr := b.c.Append(short, b.someRows(5, 1))
	for what, err := range map[string]error{"a read": rerr, "a write": werr, "an apply": b.c.Apply(short, nil), "a merge": b.c.Merge(short, nil)} {
		if !fail.Is(err, fail.DeadlineExceeded) {
			t.Errorf("%s: %v", what, err)
		}
	}
	leave()
	quit()
	if n := b.strong().Count(); n != 5 {
		t.Errorf("%d rows, want 5", n)
	}
}
