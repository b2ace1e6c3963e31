package loam

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
	"github.com/loamdb/loam/metastore"
	"github.com/loamdb/loam/storage/collection"
)

// createTag names a version. Without AT everything that was acknowledged before is
// applied first, so that the tag holds it.
func (s *Session) createTag(ctx context.Context, x *plan.CreateTag) (*Result, error) {
	c, err := s.engine.byID(ctx, x.Object.ID)
	if err != nil {
		return nil, err
	}
	note := fmt.Sprintf("tag %s exists already", x.Name)
	if x.IfNotExists {
		if _, err := c.AtTag(ctx, x.Name); err == nil {
			return &Result{Note: note}, nil
		}
	}
	spec := collection.TagSpec{Name: x.Name, Protect: x.Protect, Comment: x.Comment}
	if spec.ExpiresMS, err = s.expiry(ctx, x.Expires); err != nil {
		return nil, err
	}
	if spec.Limit, err = s.engine.maxTags(ctx, x.Object.Namespace); err != nil {
		return nil, err
	}
	version, err := s.toTag(ctx, c, x)
	if err != nil {
		return nil, leaf{x.Object.ID, x.At}.located(err)
	}
	_, err = c.CreateTag(ctx, version, spec)
	if x.IfNotExists && fail.Is(err, fail.DuplicateObject) {
		return &Result{Note: note}, nil
	}
	if err == nil {
		s.engine.mirror(ctx, c)
	}
	return &Result{}, err
}

// mirror shows the tags to other engines at once. It may fail: the tag is there, and
// the next round of maintenance repairs what is missing.
func (e *Engine) mirror(ctx context.Context, c *collection.Collection) {
	if err := c.Mirror(ctx); err != nil && e.cfg.OnError != nil {
		e.cfg.OnError("tags/mirror", err)
	}
}

// expiry is the time of expires_at in milliseconds; 0: never.
func (s *Session) expiry(ctx context.Context, e expr.Expr) (int64, error) {
	if e == nil {
		return 0, nil
	}
	now, err := s.engine.meta.Now(ctx)
	if err != nil {
		return 0, err
	}
	v, err := expr.EvalConst(&expr.Env{Ctx: ctx, Now: time.UnixMilli(now).UTC(), Namespace: s.Namespace(), User: s.user}, e)
	if err != nil || v.Null {
		return 0, err
	}
	ms := time.UnixMicro(v.Int).UnixMilli()
	if ms <= now {
		return 0, fail.New(fail.InvalidParameter, "expires_at is %s, which is over", time.UnixMilli(ms).UTC().Format("2006-01-02 15:04:05"))
	}
	return ms, nil
}

// toTag finds the version that is to be tagged.
func (s *Session) toTag(ctx context.Context, c *collection.Collection, x *plan.CreateTag) (uint64, error) {
	m, err := s.moment(ctx, leaf{x.Object.ID, x.At}, 0)
	switch {
	case err != nil:
		return 0, err
	case x.At == nil:
		if err := c.Settle(ctx, nil); err != nil {
			return 0, err
		}
		head, err := c.Head(ctx)
		return head.Version, err
	case m.kind == plan.AtToken:
		return c.Covering(ctx, m.token)
	}
	head, err := c.Head(ctx)
	if err != nil {
		return 0, err
	}
	p, err := m.point(ctx, c, head)
	return p.Version, err
}

// dropTags removes tags one by one.
func (s *Session) dropTags(ctx context.Context, x *plan.DropTags) (*Result, error) {
	c, err := s.engine.byID(ctx, x.Object.ID)
	if err != nil {
		return nil, err
	}
	var absent []string
	for i, name := range x.Names {
		err := c.DropTag(ctx, name)
		if x.IfExists && fail.Is(err, fail.UndefinedTag) {
			absent = append(absent, fmt.Sprintf("tag %q does not exist", name))
			continue
		}
		if err != nil {
			return nil, fail.Located(err, x.Offsets[i])
		}
	}
	s.engine.mirror(ctx, c)
	return &Result{Note: strings.Join(absent, "; ")}, nil
}

// unprotected refuses to drop objects, several changes of the catalog long, when
// one of them has a protected tag: the change that drops it refuses it too.
func (e *Engine) unprotected(ctx context.Context, objs []*schema.Object) error {
	for _, o := range objs {
		if !versioned(o) {
			continue
		}
		tags, err := e.meta.Tags(ctx, o.ID)
		if err != nil {
			return err
		}
		for _, t := range tags {
			if t.Protect {
				return fail.New(fail.Dependents, "%s %q has the protected tag %q", o.Kind, o.QualifiedName(), t.Name).WithHint("Drop the tag first.")
			}
		}
	}
	return nil
}

// versioned reports whether an object has manifests.
func versioned(o *schema.Object) bool {
	return o.Kind == schema.Collection || o.Kind == schema.Table || o.Kind == schema.Stream
}

// tagRecords are the rows of system.tags.
func tagRecords(ctx context.Context, s *Session) ([]record, error) {
	objs, err := s.engine.cat.Objects(ctx, "")
	if err != nil {
		return nil, err
	}
	var out []record
	for _, o := range objs {
		if !versioned(o) {
			continue
		}
		tags, err := s.engine.meta.Tags(ctx, o.ID)
		if err != nil && !fail.Is(err, fail.UndefinedTable) { // dropped meanwhile
			return nil, err
		}
		for _, t := range tags {
			out = append(out, tagRecord(o, t))
		}
	}
	return out, nil
}

func tagRecord(o *schema.Object, t metastore.Tag) record {
	at := func(ms int64) vec.Value { return vec.Value{Type: types.Of(types.Timestamp), Int: ms * 1000} }
	r := record{"namespace": vec.Text(o.Namespace), "name": vec.Text(o.Name), "tag": vec.Text(t.Name), "version": vec.Int64(int64(t.Version)),
		"created": at(t.CreatedMS), "protected": vec.Bool(t.Protect)}
	if t.ExpiresMS != 0 {
		r["expires"] = at(t.ExpiresMS)
	}
	if t.Comment != "" {
		r["comment"] = vec.Text(t.Comment)
	}
	if t.LanceVersion != 0 { // above what BIGINT holds
		r["lance_version"] = vec.Text(fmt.Sprint(t.LanceVersion))
	}
	if t.Exclusive >= 0 {
		r["exclusive_bytes"] = vec.Int64(t.Exclusive)
	}
	return r
}
