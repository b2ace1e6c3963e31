package collection

import (
	"context"
	"errors"

	"github.com/loamdb/loam/internal/fail"
)

// ended is nil while the context runs, then a typed error that says what it ended.
func ended(ctx context.Context, doing string, args ...any) error {
	err := ctx.Err()
	if err == nil {
		return nil
	}
	code := fail.Canceled
	if errors.Is(err, context.DeadlineExceeded) {
		code = fail.DeadlineExceeded
	}
	return fail.Wrap(code, err, doing, args...)
}
