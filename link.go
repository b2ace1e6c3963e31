package loam

import (
	"context"
	"fmt"

	"github.com/loamdb/loam/catalog"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/internal/schema"
)

// maxLinksInto bounds the links into one object: every read of it reads their rows.
const maxLinksInto = 64

// createLink makes a link, and its dead letters where they are not there.
func (e *Engine) createLink(ctx context.Context, x *plan.CreateLink, rev uint64) (*Result, error) {
	link := *x.Link
	def := *link.Link
	link.Link = &def
	if err := e.roomForLink(ctx, def.Target); err != nil {
		return nil, err
	}
	if x.Latest {
		var err error
		if def.Start, err = e.sourceOffsets(ctx, &link, true); err != nil {
			return nil, err
		}
	}
	if x.Dead != nil {
		dead, err := e.createObject(ctx, x.Dead)
		if err != nil {
			if fail.Is(err, fail.DuplicateObject) {
				return nil, fail.New(fail.Conflict, "%s", err)
			}
			return nil, err
		}
		def.Dead = dead.ID
		rev++ // the dead letters alone came since: another change makes the next a conflict
	}
	_, err := e.cat.Change(ctx, catalog.Change{IfRevision: &rev, Create: &link})
	if fail.Is(err, fail.DuplicateObject) {
		return nil, fail.New(fail.Conflict, "%s", err)
	}
	e.pool.Wake()
	return &Result{}, err
}

// sourceOffsets are where a link's source ends, or where it begins today.
func (e *Engine) sourceOffsets(ctx context.Context, link *schema.Object, latest bool) ([]uint64, error) {
	at, err := e.meta.Snapshot(ctx, []uint64{link.Link.Source})
	if err != nil {
		return nil, err
	}
	source := at.Objects[0]
	out := make([]uint64, len(source.Partitions))
	for p := range source.Partitions {
		out[p] = source.Partitions[p].Next
	}
	if latest {
		return out, nil
	}
	snap, err := e.sourceAt(ctx, link, source)
	if err == nil {
		copy(out, snap.Oldest())
	}
	return out, err
}

func (e *Engine) roomForLink(ctx context.Context, target uint64) error {
	links, err := e.cat.Links(ctx, "")
	if err != nil {
		return err
	}
	n := 0
	for _, l := range links {
		if l.Link.Target == target {
			n++
		}
	}
	if n >= maxLinksInto {
		return fail.New(fail.TooLarge, "an object has at most %d links into it", maxLinksInto)
	}
	return nil
}

// alterLink gives a link another definition. Every batch is committed under the
// definition that it was made under: when this returns, none of the old is to come.
func (e *Engine) alterLink(ctx context.Context, x *plan.AlterLink, rev uint64) (*Result, error) {
	link := *x.New
	if x.Earliest || x.Latest {
		def := *link.Link
		var err error
		if def.Start, err = e.sourceOffsets(ctx, &link, x.Latest); err != nil {
			return nil, err
		}
		link.Link = &def
	}
	_, err := e.cat.Change(ctx, catalog.Change{IfRevision: &rev, Update: []*schema.Object{&link}})
	if fail.Is(err, fail.DuplicateObject) {
		return nil, fail.New(fail.DuplicateObject, "%s exists already", x.New.QualifiedName()).WithHint("Choose another name.")
	}
	e.pool.Wake()
	return &Result{Note: x.Note}, err
}

// failLink stops a link that cannot go on, unless it has another definition by now.
func (e *Engine) failLink(ctx context.Context, link *schema.Object, why *schema.LinkError) error {
	failed, def := *link, *link.Link
	def.State, def.Error = schema.LinkFailed, why
	failed.Link = &def
	_, err := e.cat.Change(ctx, catalog.Change{Update: []*schema.Object{&failed}})
	if fail.Is(err, fail.Conflict) || fail.Is(err, fail.UndefinedTable) {
		return nil
	}
	return err
}

// linkLease is the key of the task, and so of the lease, under which a link works.
func linkLease(id uint64) string { return fmt.Sprintf("link/%d", id) }
