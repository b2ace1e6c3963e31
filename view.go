package loam

import (
	"context"
	"fmt"

	"github.com/loamdb/loam/catalog"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/internal/schema"
)

// createView makes a view or replaces one. A view that others read keeps what
// they read of it.
func (e *Engine) createView(ctx context.Context, x *plan.CreateView, rev uint64) (*Result, error) {
	if x.Old == nil {
		_, err := e.cat.Change(ctx, catalog.Change{IfRevision: &rev, Create: x.View})
		if fail.Is(err, fail.DuplicateObject) {
			return nil, fail.New(fail.Conflict, "%s", err)
		}
		return &Result{}, err
	}
	if x.IfNotExists {
		return &Result{Note: fmt.Sprintf("%s %s exists already", x.Old.Kind, x.Old.Name)}, nil
	}
	view := *x.View
	view.ID, view.Incarnation, view.SchemaVersion, view.Name = x.Old.ID, x.Old.Incarnation, x.Old.SchemaVersion, x.Old.Name
	if err := e.checkReaders(ctx, &view); err != nil {
		return nil, err
	}
	_, err := e.cat.Change(ctx, catalog.Change{IfRevision: &rev, Update: []*schema.Object{&view}})
	return &Result{}, err
}

// changed is the catalog as it would be with another description of one object.
type changed struct {
	catalog.Reader
	obj *schema.Object
}

// ByID implements catalog.Reader.
func (c changed) ByID(ctx context.Context, id uint64) (*schema.Object, error) {
	if id == c.obj.ID {
		return c.obj, nil
	}
	return c.Reader.ByID(ctx, id)
}

// checkReaders refuses a new description of an object under which a view that
// reads it would not work any more.
func (e *Engine) checkReaders(ctx context.Context, obj *schema.Object) error {
	views, err := e.readers(ctx, []*schema.Object{obj})
	if err != nil {
		return err
	}
	p := e.planner.WithCatalog(changed{Reader: e.cat, obj: obj})
	for _, v := range views {
		if v.Kind == schema.Link {
			continue // it stops by itself if it cannot go on, and says why
		}
		was := e.planner.CheckView(ctx, v)
		if err := p.CheckView(ctx, v); err != nil && was == nil {
			return fail.New(fail.Dependents, "%s %s cannot be changed so: %s", obj.Kind, obj.QualifiedName(), fail.As(err).Message).
				WithHint("Change or drop the view first.")
		}
	}
	return nil
}
