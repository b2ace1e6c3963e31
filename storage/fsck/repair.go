package fsck

import (
	"context"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/storage/gc"
)

// Repaired says what a repair has done.
type Repaired struct {
	Deleted      int   `json:"deleted"`
	DeletedBytes int64 `json:"deleted_bytes"`
	// Left are the objects whose orphans stay, because a manifest cannot be read:
	// nobody can tell what is an orphan then.
	Left []Wrong `json:"left"`
}

// Repair deletes the orphans, by the rules of garbage collection and by its code.
// It touches nothing that is damaged: what is lost is not made up. Nobody else may
// use the stores.
func Repair(ctx context.Context, deps Deps) (*Repaired, error) {
	out := &Repaired{Left: []Wrong{}}
	c := gc.New(gc.Deps{Meta: deps.Meta, Objects: deps.Objects})
	rows, err := deps.Meta.ListObjects(ctx, "")
	if err != nil {
		return nil, err
	}
	for _, row := range rows {
		if row.Partitions == 0 {
			continue
		}
		if err := out.twice(ctx, c, row.ID, row.Namespace+"."+row.Name); err != nil {
			return nil, err
		}
	}
	ids, err := c.Strays(ctx)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		if err := out.twice(ctx, c, id, ""); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// twice runs the two passes after which no orphan of the object is left.
func (r *Repaired) twice(ctx context.Context, c *gc.Collector, id uint64, name string) error {
	for range 2 {
		stats, err := c.Pass(ctx, id)
		switch {
		case err != nil && ctx.Err() != nil:
			return fail.Ended(ctx, "the repair")
		case err != nil:
			r.Left = append(r.Left, Wrong{Where: name, Detail: fail.As(err).Error()})
			return nil
		}
		r.Deleted += stats.Deleted
		r.DeletedBytes += stats.DeletedBytes
	}
	return nil
}
