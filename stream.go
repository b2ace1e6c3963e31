package loam

import (
	"context"
	"errors"
	"time"

	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/internal/vec"
	"github.com/loamdb/loam/metastore"
	"github.com/loamdb/loam/storage/collection"
	"github.com/loamdb/loam/worker"
)

// streamRecords lists the streams with what says how their records are placed and
// how long they stay.
func streamRecords(ctx context.Context, s *Session) ([]record, error) {
	objs, err := s.engine.cat.Objects(ctx, "")
	if err != nil {
		return nil, err
	}
	var out []record
	for _, o := range objs {
		if o.Kind != schema.Stream {
			continue
		}
		r := objectRecord(o)
		r["stream"] = vec.Text(o.Name)
		if at := o.Route(); at >= 0 {
			r["key"] = vec.Text(o.Fields[at].Name)
		}
		opt, err := s.engine.optionsOf(o)
		if err != nil {
			return nil, err
		}
		if opt.Retention > 0 {
			r["retention"] = vec.Text(retentionText(opt.Retention))
		}
		if opt.RetentionBytes > 0 {
			r["retention_bytes"] = vec.Int64(opt.RetentionBytes)
		}
		out = append(out, r)
	}
	return out, nil
}

// retentionText writes a retention in the largest unit that divides it.
func retentionText(d time.Duration) string {
	for _, u := range []struct {
		unit time.Duration
		name string
	}{{24 * time.Hour, "d"}, {time.Hour, "h"}, {time.Minute, "m"}} {
		if d%u.unit == 0 {
			return itoa(int(d/u.unit)) + u.name
		}
	}
	return itoa(int(d/time.Second)) + "s"
}

// RecordRange asks for records of one partition, and RecordRun answers.
type (
	RecordRange = collection.RecordRange
	RecordRun   = collection.RecordRun
)

// ReadRecords reads records of one partition of a stream or a table in the order of
// their offsets, as of now. Errors: those of [collection.Snapshot.Records].
func (s *Session) ReadRecords(ctx context.Context, t Target, r RecordRange) (*RecordRun, error) {
	c, _, err := s.find(ctx, t)
	if err != nil {
		return nil, err
	}
	snap, err := c.Strong(ctx)
	if err != nil {
		return nil, err
	}
	return snap.Records(ctx, r)
}

// producerMemory is how long a producer that writes nothing is remembered, and
// forgetEvery how often that is looked at.
const (
	producerMemory = 24 * time.Hour
	forgetEvery    = time.Hour
)

// forgetTask forgets the producers of streams that have been silent for long.
func (e *Engine) forgetTask(list []*collection.Collection) worker.Task {
	return worker.Task{Key: "producers/forget", Priority: worker.Trim, Run: func(ctx context.Context, _ []metastore.Fence) error {
		now, err := e.meta.Now(ctx)
		if err != nil {
			return err
		}
		var errs []error
		for _, c := range list {
			if obj := c.Object(); obj.Kind == schema.Stream {
				_, err := e.meta.ForgetProducers(ctx, obj.ID, (now-producerMemory.Milliseconds())*1000)
				errs = append(errs, err)
			}
		}
		return errors.Join(errs...)
	}}
}
