package loam

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/metastore"
	"github.com/loamdb/loam/storage/collection"
	"github.com/loamdb/loam/worker"
)

// retainEvery is how often versions are looked at that may go.
const retainEvery = 30 * time.Second

// setTimeTravel makes the configured retention the objects' default.
func (c *Config) setTimeTravel() error {
	switch {
	case c.TimeTravel == 0:
		return nil
	case c.TimeTravel < time.Second || c.TimeTravel > maxTimeTravel:
		return fail.New(fail.InvalidParameter, "time travel of %s", c.TimeTravel).WithHint("It is a time from 1s to 3660 days, such as 24h.")
	}
	c.Collection.TimeTravel = c.TimeTravel
	return nil
}

// maxTimeTravel is the longest time for which versions are kept without a tag.
const maxTimeTravel = 3660 * 24 * time.Hour

// readPeriod reads a time travel, such as '24h' or '30d'.
func readPeriod(v string, to *time.Duration) error {
	var d time.Duration
	if err := readRetention(v, &d); err != nil || d < time.Second || d > maxTimeTravel {
		return fail.New(fail.InvalidParameter, "%q is not a time from 1s to 3660d, such as '24h' or '30d'", v)
	}
	*to = d
	return nil
}

func readTags(v string, to *int) error {
	n, err := strconv.Atoi(v)
	if err != nil || n < 1 || n > metastore.MaxTags {
		return fail.New(fail.InvalidParameter, "%q is not a number from 1 to %d", v, metastore.MaxTags)
	}
	*to = n
	return nil
}

// retainTask lets go what the objects keep of their past and need no longer.
func retainTask(list []*collection.Collection) worker.Task {
	return worker.Task{Key: "versions/release", Priority: worker.Trim, Run: func(ctx context.Context, _ []metastore.Fence) error {
		var errs []error
		for _, c := range list {
			err := c.ExpireTags(ctx)
			if err == nil {
				err = c.RepairMirrors(ctx)
			}
			if err == nil {
				err = c.Release(ctx, c.TimeTravel())
			}
			if err != nil && !fail.Is(err, fail.UndefinedTable) { // it may have been dropped
				errs = append(errs, err)
			}
		}
		return errors.Join(errs...)
	}}
}
