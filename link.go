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
		_, parts, _, err := e.meta.Heads(ctx, def.Source)
		if err != nil {
			return nil, err
		}
		def.Start = make([]uint64, len(parts))
		for p := range parts {
			def.Start[p] = parts[p].Next
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
	_, err := e.cat.Change(ctx, catalog.Change{IfRevision: &rev, Update: []*schema.Object{x.New}})
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
