package collection

import (
	"context"

	"golang.org/x/sync/semaphore"

	"github.com/loamdb/loam/internal/fail"
)

// turn is a lock that many share or one has alone. Who waits for it leaves when
// his context ends: an apply or a merge may hold it for seconds.
type turn struct{ w *semaphore.Weighted }

// all is the weight of one who is alone.
const all = 1 << 30

func newTurn() turn { return turn{semaphore.NewWeighted(all)} }

// alone waits until nobody has it; leave must be called after a nil error.
func (t turn) alone(ctx context.Context, what string) (leave func(), err error) {
	return t.take(ctx, all, what)
}

// share waits until nobody has it alone; leave must be called after a nil error.
func (t turn) share(ctx context.Context, what string) (leave func(), err error) {
	return t.take(ctx, 1, what)
}

func (t turn) take(ctx context.Context, weight int64, what string) (func(), error) {
	if t.w.Acquire(ctx, weight) != nil {
		return nil, fail.Ended(ctx, what)
	}
	return func() { t.w.Release(weight) }, nil
}
