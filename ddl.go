package loam

import (
	"context"
	"fmt"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/storage/collection"
)

// change runs statements that change the catalog or the session.
func (s *Session) change(ctx context.Context, stmt plan.Statement) (*Result, error) {
	e := s.engine
	switch x := stmt.(type) {
	case *plan.Nothing:
		return &Result{Note: x.Note}, nil
	case *plan.SetOption:
		if x.Value == nil {
			return &Result{}, s.Reset(x.Option)
		}
		return &Result{}, s.Set(ctx, x.Option, *x.Value)
	case *plan.CreateNamespace:
		created, err := e.cat.CreateNamespace(ctx, x.Namespace)
		if err == nil && !created {
			note := fmt.Sprintf("namespace %s exists already", x.Namespace)
			if !x.IfNotExists {
				return nil, fail.New(fail.DuplicateObject, "%s", note).WithHint("CREATE NAMESPACE IF NOT EXISTS accepts that.")
			}
			return &Result{Note: note}, nil
		}
		return &Result{}, err
	case *plan.DropNamespace:
		err := e.cat.DropNamespace(ctx, x.Namespace)
		if x.IfExists && fail.Is(err, fail.UndefinedNamespace) {
			return &Result{Note: fmt.Sprintf("namespace %s does not exist", x.Namespace)}, nil
		}
		return &Result{}, err
	case *plan.CreateObject:
		return s.create(ctx, x)
	case *plan.DropObject:
		err := e.cat.Drop(ctx, x.Object.ID)
		e.forget(x.Object.ID)
		return &Result{}, err
	}
	return nil, fail.Bug("statement %T is not run", stmt)
}

// create makes a collection or table, and fills it for CREATE TABLE AS. A failed
// fill drops it again.
func (s *Session) create(ctx context.Context, x *plan.CreateObject) (*Result, error) {
	e := s.engine
	if x.OrReplace {
		if err := e.replace(ctx, x); err != nil {
			return nil, err
		}
	}
	obj, err := e.createObject(ctx, x.Object)
	if fail.Is(err, fail.DuplicateObject) && x.IfNotExists {
		return &Result{Note: fmt.Sprintf("%s %s exists already", x.Object.Kind, x.Object.Name)}, nil
	}
	if err != nil || x.As == nil {
		return &Result{}, err
	}
	fields := make([]string, len(obj.Fields))
	for i, f := range obj.Fields {
		fields[i] = f.Name
	}
	st := &Statement{session: s}
	res, err := st.insert(ctx, &plan.Insert{Object: obj, Input: x.As, Fields: fields})
	if err != nil {
		_ = e.cat.Drop(context.WithoutCancel(ctx), obj.ID)
		e.forget(obj.ID)
		return nil, err
	}
	return res, nil
}

// replace drops what OR REPLACE names. With AS the query may read the object,
// or fail, when it would be gone already.
func (e *Engine) replace(ctx context.Context, x *plan.CreateObject) error {
	if err := e.checkObject(x.Object); err != nil {
		return err
	}
	old, err := e.lookup(ctx, x.Object.Namespace, x.Object.Name)
	if fail.Is(err, fail.UndefinedTable) {
		return nil
	}
	if err != nil {
		return err
	}
	if x.As != nil {
		return fail.New(fail.Unsupported, "OR REPLACE with AS over %s %q, which exists, is not supported", old.Kind, old.Name).
			WithHint("DROP it first, or create the new one under another name.")
	}
	if err := e.cat.Drop(ctx, old.ID); err != nil {
		return err
	}
	e.forget(old.ID)
	return nil
}

// checkObject says whether an object can be made, before anything changes.
func (e *Engine) checkObject(o *schema.Object) error {
	if _, err := e.optionsOf(o); err != nil {
		return err
	}
	return collection.Check(o)
}

// createObject adds an object to the catalog and writes what it starts with.
func (e *Engine) createObject(ctx context.Context, o *schema.Object) (*schema.Object, error) {
	if err := e.checkObject(o); err != nil {
		return nil, err
	}
	obj, err := e.cat.Create(ctx, o)
	if err != nil {
		return nil, err
	}
	if err := collection.Create(ctx, e.deps(), obj); err != nil {
		_ = e.cat.Drop(context.WithoutCancel(ctx), obj.ID)
		return nil, err
	}
	_, err = e.collection(ctx, obj)
	return obj, err
}
