package object

import (
	"context"
	"errors"

	"github.com/loamdb/loam/internal/fail"
)

// begin is the check at the head of every call that names an object.
func begin(ctx context.Context, key string) error {
	if err := checkKey(key); err != nil {
		return err
	}
	return ctxErr(ctx)
}

// ctxErr translates a context that has ended.
func ctxErr(ctx context.Context) error {
	err := ctx.Err()
	switch {
	case err == nil:
		return nil
	case errors.Is(err, context.DeadlineExceeded):
		return fail.Wrap(fail.DeadlineExceeded, err, "object store")
	default:
		return fail.Wrap(fail.Canceled, err, "object store")
	}
}

func errEnded(key string) error {
	return fail.Bug("object %q: write after commit or abort", key)
}
