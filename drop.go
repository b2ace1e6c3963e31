package loam

import (
	"context"
	"fmt"
	"strings"

	"github.com/loamdb/loam/catalog"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/internal/schema"
)

// dropsAtOnce bounds the objects that one change of the catalog drops.
const dropsAtOnce = 20

// drop removes one object that nothing depends on.
func (e *Engine) drop(ctx context.Context, obj *schema.Object) error {
	for try := 1; ; try++ {
		rev, err := e.cat.Revision(ctx)
		if err != nil {
			return err
		}
		err = e.dropObjects(ctx, &plan.DropObjects{Objects: []*schema.Object{obj}}, rev)
		if !fail.Is(err, fail.Conflict) || try == dmlTries || ctx.Err() != nil {
			return err
		}
	}
}

// dropObjects removes objects together, with what depends on them or, without
// CASCADE, only when there are none.
func (e *Engine) dropObjects(ctx context.Context, x *plan.DropObjects, rev uint64) error {
	views, err := e.readers(ctx, x.Objects)
	if err != nil {
		return err
	}
	if len(views) > 0 && !x.Cascade {
		return dependents(fmt.Sprintf("%s %s cannot be dropped", x.Objects[0].Kind, nameList(x.Objects)), views)
	}
	return e.dropAll(ctx, append(views, x.Objects...), "", rev)
}

// dropNamespace removes a namespace and, with CASCADE, what is in it.
func (e *Engine) dropNamespace(ctx context.Context, x *plan.DropNamespace, rev uint64) error {
	if catalog.IsDefault(x.Namespace) {
		return fail.New(fail.InvalidParameter, "namespace %s is the default one and stays", x.Namespace)
	}
	objs, err := e.cat.Objects(ctx, x.Namespace)
	if err != nil {
		return err
	}
	if len(objs) > 0 && !x.Cascade {
		return dependents(fmt.Sprintf("namespace %s cannot be dropped: it is not empty", x.Namespace), objs)
	}
	views, err := e.readers(ctx, objs)
	if err != nil {
		return err
	}
	return e.dropAll(ctx, append(views, objs...), x.Namespace, rev)
}

// dropAll removes objects and then a namespace in as few changes as it takes; the
// readers come first, so that what is left is sound at any moment.
func (e *Engine) dropAll(ctx context.Context, objs []*schema.Object, namespace string, rev uint64) error {
	if len(objs) > dropsAtOnce {
		if err := e.unprotected(ctx, objs); err != nil {
			return err
		}
	}
	for {
		n := min(len(objs), dropsAtOnce)
		ch := catalog.Change{IfRevision: &rev}
		for _, o := range objs[:n] {
			ch.Drop = append(ch.Drop, o.ID)
			if o.Kind == schema.Link {
				ch.Forget = append(ch.Forget, o)
			}
		}
		if n == len(objs) {
			ch.DropNamespace = namespace
		}
		if _, err := e.cat.Change(ctx, ch); err != nil {
			return err
		}
		for _, o := range objs[:n] {
			e.forget(o.ID)
		}
		if objs = objs[n:]; len(objs) == 0 {
			return nil
		}
		rev++ // this change alone came since: another one makes the next a conflict
	}
}

// readers are the views and links that read the objects, directly or through each
// other, and the links that write them, without the objects themselves. Readers of
// a view come before it.
func (e *Engine) readers(ctx context.Context, objs []*schema.Object) ([]*schema.Object, error) {
	given := map[uint64]bool{}
	for _, o := range objs {
		given[o.ID] = true
	}
	all, err := e.cat.Objects(ctx, "")
	if err != nil {
		return nil, err
	}
	seen := map[uint64]bool{}
	var out []*schema.Object
	var visit func(id uint64)
	visit = func(id uint64) {
		for _, v := range all {
			if v.DependsOn(id) && !seen[v.ID] {
				seen[v.ID] = true
				visit(v.ID)
				if !given[v.ID] {
					out = append(out, v)
				}
			}
		}
	}
	for _, o := range objs {
		visit(o.ID)
	}
	return out, nil
}

func nameList(objs []*schema.Object) string {
	names := make([]string, len(objs))
	for i, o := range objs {
		names[i] = o.QualifiedName()
	}
	return strings.Join(names, ", ")
}

// dependents is the error for what stands in the way of a change.
func dependents(what string, objs []*schema.Object) error {
	const most = 10
	var list []string
	for i, o := range objs {
		if i == most {
			list = append(list, fmt.Sprintf("and %d more", len(objs)-most))
			break
		}
		list = append(list, string(o.Kind)+" "+o.QualifiedName())
	}
	verb := "depend"
	if len(objs) == 1 {
		verb = "depends"
	}
	return fail.New(fail.Dependents, "%s: %s %s on it", what, strings.Join(list, ", "), verb).
		WithHint("Drop them first, or use DROP … CASCADE to drop them too.")
}
