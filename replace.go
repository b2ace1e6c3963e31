package loam

import (
	"context"

	"github.com/loamdb/loam/catalog"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/internal/schema"
)

// unfinished begins the names of objects that are being made to take the place of
// another. Names of users never begin so.
const unfinished = "_loam_new_"

// replace makes the object of OR REPLACE beside the one that has its name, fills
// it, and lets it take the name in one change: readers find the old one or the
// new one, whole, and the query of AS may read the old one.
func (s *Session) replace(ctx context.Context, x *plan.CreateObject, old *schema.Object) (*Result, error) {
	e := s.engine
	if err := e.unread(ctx, old); err != nil {
		return nil, err
	}
	fresh := *x.Object
	fresh.Name = e.unfinishedName()
	res, obj, err := s.make(ctx, &fresh, x.As)
	if err != nil {
		return nil, err
	}
	for try := 1; ; try++ {
		err := e.takeName(ctx, obj, x.Object.Name)
		switch {
		case err == nil:
			return res, nil
		case fail.Is(err, fail.Conflict) && try < dmlTries && ctx.Err() == nil:
		default:
			_ = e.cat.Drop(context.WithoutCancel(ctx), obj.ID)
			e.forget(obj.ID)
			return nil, err
		}
	}
}

// unread refuses to replace what a view reads.
func (e *Engine) unread(ctx context.Context, old *schema.Object) error {
	views, err := e.readers(ctx, []*schema.Object{old})
	if err == nil && len(views) > 0 {
		err = dependents(string(old.Kind)+" "+old.QualifiedName()+" cannot be replaced", views)
	}
	return err
}

// takeName gives a finished object its name and drops the one that has it now.
func (e *Engine) takeName(ctx context.Context, obj *schema.Object, name string) error {
	rev, err := e.cat.Revision(ctx)
	if err != nil {
		return err
	}
	named := *obj
	named.Name = name
	ch := catalog.Change{IfRevision: &rev, Update: []*schema.Object{&named}}
	old, err := e.lookup(ctx, obj.Namespace, name)
	switch {
	case err == nil && old.Kind != obj.Kind:
		return fail.New(fail.WrongObjectType, "%q is a %s and cannot be replaced by a %s", old.Name, old.Kind, obj.Kind)
	case err == nil:
		if err := e.unread(ctx, old); err != nil {
			return err
		}
		ch.Drop = []uint64{old.ID}
	case !fail.Is(err, fail.UndefinedTable):
		return err
	}
	if _, err := e.cat.Change(ctx, ch); err != nil {
		return err
	}
	if len(ch.Drop) > 0 {
		e.forget(old.ID)
	}
	_, err = e.byID(ctx, obj.ID)
	return err
}

// sweep drops what processes that ended were making. In a cluster those are the nodes
// that do not live.
func (e *Engine) sweep(ctx context.Context) error {
	objs, err := e.cat.Objects(ctx, "")
	if err != nil {
		return err
	}
	nodes, err := e.Nodes(ctx)
	if err != nil {
		return err
	}
	for _, o := range objs {
		if orphaned(o.Name, e.node.id, e.cfg.Cluster, nodes) {
			if err := e.cat.Drop(ctx, o.ID); err != nil {
				return err
			}
		}
	}
	return nil
}
