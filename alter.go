package loam

import (
	"context"

	"github.com/loamdb/loam/catalog"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/internal/schema"
)

// alter gives an object another description, if the views that read it still work
// with that. Names and ids of what is stored do not change: rows are found by
// field id, and those that were written before a column was added have NULL there.
func (e *Engine) alter(ctx context.Context, x *plan.AlterObject, rev uint64) (*Result, error) {
	if x.New.Kind != schema.View {
		if err := e.checkObject(x.New); err != nil {
			return nil, err
		}
	}
	if err := e.checkReaders(ctx, x.New); err != nil {
		return nil, err
	}
	if _, err := e.cat.Change(ctx, catalog.Change{IfRevision: &rev, Update: []*schema.Object{x.New}}); err != nil {
		if fail.Is(err, fail.DuplicateObject) {
			return nil, fail.New(fail.DuplicateObject, "%s exists already", x.New.QualifiedName()).WithHint("Choose another name.")
		}
		return nil, err
	}
	if x.New.Kind == schema.View {
		return &Result{Note: x.Note}, nil
	}
	_, err := e.byID(ctx, x.New.ID) // writers see the new columns from now on
	return &Result{Note: x.Note}, err
}
