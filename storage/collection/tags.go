package collection

import (
	"context"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/snapshot"
	"github.com/loamdb/loam/metastore"
)

// TagSpec is a tag to be made.
type TagSpec struct {
	Name      string
	ExpiresMS int64 // on the metastore's clock; 0: never
	Protect   bool
	Comment   string
	// Limit is how many tags the object's namespace allows; 0: as many as the object's option.
	Limit int
}

// CreateTag names a version that is kept. Errors: those of
// [metastore.Store.CreateTag]; InvalidParameter for version 0.
func (c *Collection) CreateTag(ctx context.Context, version uint64, spec TagSpec) (metastore.Tag, error) {
	if version == 0 {
		return metastore.Tag{}, fail.New(fail.InvalidParameter, "%s is empty: there is no version of it to tag", c.origin.Name).
			WithHint("Write rows into it first.")
	}
	head, err := c.Head(ctx)
	if err != nil {
		return metastore.Tag{}, err
	}
	at, err := c.version(ctx, head, version)
	if err != nil {
		return metastore.Tag{}, err
	}
	m, err := c.manifest(ctx, at.ManifestRef)
	if err != nil {
		return metastore.Tag{}, c.gone(ctx, err, version)
	}
	tag := metastore.Tag{Name: spec.Name, Version: version, ManifestKey: at.Key, ManifestChecksum: at.Checksum, ManifestSize: at.Size,
		LanceVersion: m.LanceVersion, Applied: at.Applied, ExpiresMS: spec.ExpiresMS, Protect: spec.Protect, Comment: spec.Comment}
	limit := c.opt.MaxTags
	if spec.Limit > 0 {
		limit = min(limit, spec.Limit)
	}
	return c.deps.Meta.CreateTag(ctx, metastore.TagRequest{ObjectID: c.origin.ID, Incarnation: c.origin.Incarnation, Tag: tag, Limit: limit})
}

// DropTag removes a tag. Errors: UndefinedTag, with the name that may have been meant.
func (c *Collection) DropTag(ctx context.Context, name string) error {
	tag, err := c.tag(ctx, name)
	if err == nil {
		_, err = c.deps.Meta.DropTag(ctx, c.origin.ID, tag.Name, tag.ID)
	}
	return err
}

// Tags are the object's tags by name.
func (c *Collection) Tags(ctx context.Context) ([]metastore.Tag, error) {
	return c.deps.Meta.Tags(ctx, c.origin.ID)
}

// Covering is the oldest version that is kept and holds all that a token covers; what
// of it waits in the tail is applied first.
func (c *Collection) Covering(ctx context.Context, t snapshot.Token) (uint64, error) {
	if err := c.Owns(t); err != nil {
		return 0, err
	}
	for settled := false; ; settled = true {
		head, err := c.Head(ctx)
		if err != nil {
			return 0, err
		}
		p, err := c.newest(ctx, head, func(a *Ancestor) bool { return !covers(a.Applied, t.Offsets) })
		switch {
		case err != nil:
			return 0, err
		case p.next.Version > 0:
			return p.next.Version, nil
		case settled:
			return 0, fail.New(fail.ConsistencyTimeout, "%s has not applied what the consistency token covers", c.origin.Name)
		}
		if err := c.Settle(ctx, nil); err != nil {
			return 0, err
		}
	}
}

func covers(applied, offsets []uint64) bool {
	for p, o := range offsets {
		if applied[p] < o {
			return false
		}
	}
	return true
}

// ExpireTags drops the tags whose time is over.
func (c *Collection) ExpireTags(ctx context.Context) error {
	tags, err := c.Tags(ctx)
	if err != nil || len(tags) == 0 {
		return err
	}
	now, err := c.deps.Meta.Now(ctx)
	for _, t := range tags {
		if err == nil && t.ExpiresMS != 0 && t.ExpiresMS <= now {
			_, err = c.deps.Meta.DropTag(ctx, c.origin.ID, t.Name, t.ID)
			if fail.Is(err, fail.UndefinedTag) { // somebody was faster
				err = nil
			}
		}
	}
	return err
}
