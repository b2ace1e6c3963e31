package loam

import (
	"context"
	"fmt"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/storage/collection"
)

// change runs a statement that changes the catalog or the session. What depends on
// other objects is bound again at a revision of the catalog and changes it only if
// it is still that one, until no other change comes between.
func (st *Statement) change(ctx context.Context) (*Result, error) {
	e := st.session.engine
	stmt := st.prepared.Statement
	switch stmt.(type) {
	case *plan.CreateView, *plan.CreateLink, *plan.AlterLink, *plan.AlterObject, *plan.DropObjects, *plan.DropNamespace:
	default:
		return st.session.change(ctx, stmt)
	}
	for try := 1; ; try++ {
		rev, err := e.cat.Revision(ctx)
		if err != nil {
			return nil, err
		}
		list, err := e.planner.Prepare(ctx, st.planned, st.prepared.SQL, nil)
		if err != nil {
			return nil, err
		}
		res, err := st.session.changeAt(ctx, list[0].Statement, rev)
		if !fail.Is(err, fail.Conflict) || try == dmlTries || ctx.Err() != nil {
			return res, err
		}
	}
}

// changeAt runs a change that holds for one revision of the catalog; Conflict
// when the catalog is another.
func (s *Session) changeAt(ctx context.Context, stmt plan.Statement, rev uint64) (*Result, error) {
	e := s.engine
	switch x := stmt.(type) {
	case *plan.CreateView:
		return e.createView(ctx, x, rev)
	case *plan.CreateLink:
		return e.createLink(ctx, x, rev)
	case *plan.AlterLink:
		return e.alterLink(ctx, x, rev)
	case *plan.AlterObject:
		return e.alter(ctx, x, rev)
	case *plan.DropObjects:
		return &Result{Note: x.Note}, e.dropObjects(ctx, x, rev)
	case *plan.DropNamespace:
		return &Result{}, e.dropNamespace(ctx, x, rev)
	}
	return s.change(ctx, stmt)
}

// change runs the other statements of that kind.
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
	case *plan.KillQuery:
		return &Result{}, e.queries.kill(x.ID)
	case *plan.CreateNamespace:
		return e.createNamespace(ctx, x)
	case *plan.AlterNamespace:
		return &Result{}, e.alterNamespace(ctx, x)
	case *plan.CreateTag:
		return s.createTag(ctx, x)
	case *plan.DropTags:
		return s.dropTags(ctx, x)
	case *plan.CreateObject:
		return s.create(ctx, x)
	}
	return nil, fail.Bug("statement %T is not run", stmt)
}

// create makes a collection or table, and fills it for CREATE TABLE AS.
func (s *Session) create(ctx context.Context, x *plan.CreateObject) (*Result, error) {
	e := s.engine
	if x.OrReplace {
		if err := e.checkObject(x.Object); err != nil {
			return nil, err
		}
		old, err := e.lookup(ctx, x.Object.Namespace, x.Object.Name)
		if err == nil {
			return s.replace(ctx, x, old)
		}
		if !fail.Is(err, fail.UndefinedTable) {
			return nil, err
		}
	}
	res, _, err := s.make(ctx, x.Object, x.As)
	if fail.Is(err, fail.DuplicateObject) && x.IfNotExists {
		return &Result{Note: fmt.Sprintf("%s %s exists already", x.Object.Kind, x.Object.Name)}, nil
	}
	return res, err
}

// make makes an object with the rows of a query, if there is one. A failed fill
// drops it again.
func (s *Session) make(ctx context.Context, o *schema.Object, as plan.Node) (*Result, *schema.Object, error) {
	e := s.engine
	obj, err := e.createObject(ctx, o)
	if err != nil || as == nil {
		return &Result{}, obj, err
	}
	fields := make([]string, len(obj.Fields))
	for i, f := range obj.Fields {
		fields[i] = f.Name
	}
	st := &Statement{session: s}
	res, err := st.insert(ctx, &plan.Insert{Object: obj, Input: as, Fields: fields})
	if err != nil {
		_ = e.cat.Drop(context.WithoutCancel(ctx), obj.ID)
		e.forget(obj.ID)
		return nil, nil, err
	}
	return res, obj, nil
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
