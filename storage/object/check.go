package object

import (
	"context"

	"github.com/loamdb/loam/internal/fail"
)

// begin is the check at the head of every call that names an object.
func begin(ctx context.Context, key string) error {
	if err := checkKey(key); err != nil {
		return err
	}
	return fail.Ended(ctx, "the call of the object store")
}

func errEnded(key string) error {
	return fail.Bug("object %q: write after commit or abort", key)
}
