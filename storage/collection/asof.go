package collection

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/loamdb/loam/internal/clock"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/snapshot"
	"github.com/loamdb/loam/metastore"
)

// Point is a past or present state of an object, as Pinned takes it.
type Point struct {
	Version uint64
	Bounds  []uint64
}

func (a Ancestor) point() Point { return Point{a.Version, a.Applied} }

// clockSlack is how far an instant may lie ahead of the metastore's clock: the
// caller's clock is another one.
const clockSlack = 10 * time.Second

// Head is the object's head, from which the past is found.
func (c *Collection) Head(ctx context.Context) (metastore.Head, error) {
	head, _, _, err := c.deps.Meta.Heads(ctx, c.origin.ID)
	return head, err
}

// AtVersion is the state of a version without a tail. Errors: InvalidParameter
// for a version that does not exist yet, SnapshotExpired for one that is gone.
func (c *Collection) AtVersion(ctx context.Context, head metastore.Head, version uint64) (Point, error) {
	at, err := c.version(ctx, head, version)
	return at.point(), err
}

// AtTag is the state that a tag names. Errors: UndefinedTag, with the name that
// may have been meant.
func (c *Collection) AtTag(ctx context.Context, name string) (Point, error) {
	t, err := c.tag(ctx, name)
	return Point{t.Version, t.Applied}, err
}

// tag finds a tag by its name, without case.
func (c *Collection) tag(ctx context.Context, name string) (metastore.Tag, error) {
	tags, err := c.deps.Meta.Tags(ctx, c.origin.ID)
	if err != nil {
		return metastore.Tag{}, err
	}
	var names []string
	for _, t := range tags {
		if strings.EqualFold(t.Name, name) {
			return t, nil
		}
		names = append(names, t.Name)
	}
	return metastore.Tag{}, unknownTag(c.Object().Name, name, names)
}

// unknownTag names what was meant, or what there is.
func unknownTag(object, name string, names []string) error {
	err := fail.New(fail.UndefinedTag, "%s has no tag %q", object, name)
	switch near := fail.Closest(name, names); {
	case near != "":
		err = err.WithHint("Did you mean %q?", near)
	case len(names) == 0:
		err = err.WithHint("It has no tags. Make one with CREATE TAG … ON %s.", object)
	default:
		err = err.WithHint("Its tags: %s.", strings.Join(names[:min(len(names), 10)], ", "))
	}
	return err
}

// AtTime is the newest version that was committed at or before an instant
// (milliseconds on the metastore's clock), without a tail; before the first, the
// empty object. Errors: InvalidParameter for an instant in the future,
// SnapshotExpired for one before what is kept.
func (c *Collection) AtTime(ctx context.Context, head metastore.Head, ms int64) (Point, error) {
	now, err := c.deps.Meta.Now(ctx)
	if err != nil {
		return Point{}, err
	}
	if ms > now+clockSlack.Milliseconds() {
		return Point{}, fail.New(fail.InvalidParameter, "%s lies in the future; it is now %s", instant(ms), instant(now)).
			WithHint("Leave AT out to read the current state.")
	}
	p, err := c.newest(ctx, head, func(a *Ancestor) bool { return a.CreatedMS <= ms })
	if err != nil {
		return Point{}, err
	}
	if p.at.Version < head.Oldest {
		return Point{}, fail.New(fail.SnapshotExpired, "%s as of %s is no longer kept; the oldest state that is begins %s", c.origin.Name, instant(ms), instant(p.next.CreatedMS)).
			WithHint("States are kept for a time after a newer one has followed. What must stay readable is given a tag: CREATE TAG … ON %s.", c.origin.Name)
	}
	if born, ok := clock.TimeOf(c.origin.Incarnation); ok && p.at.Version == 0 && ms < born.Add(-clockSlack).UnixMilli() {
		return Point{}, fail.New(fail.InvalidParameter, "%s did not exist at %s; it was made %s", c.origin.Name, instant(ms), instant(born.UnixMilli()))
	}
	return p.at.point(), nil
}

func instant(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01-02 15:04:05.000Z") }

// AtToken is exactly the state that a token covers, neither more nor less, by the
// newest version that holds no more. Errors: InvalidParameter for another object's
// token, SnapshotExpired; whether the log is still there shows when it is read.
func (c *Collection) AtToken(ctx context.Context, head metastore.Head, t snapshot.Token) (Point, error) {
	if err := c.Owns(t); err != nil {
		return Point{}, err
	}
	p, err := c.newest(ctx, head, func(a *Ancestor) bool {
		for p, applied := range a.Applied {
			if applied > t.Offsets[p] {
				return false
			}
		}
		return true
	})
	if err != nil {
		return Point{}, err
	}
	if p.at.Version < head.Oldest {
		return Point{}, c.expired(nil, metastore.Root{Head: head}, p.at.Version)
	}
	return Point{p.at.Version, slices.Clone(t.Offsets)}, nil
}

// Owns refuses a token of another object, or of an earlier one of the name.
func (c *Collection) Owns(t snapshot.Token) error {
	obj := c.Object()
	if t.ObjectID != obj.ID || t.Incarnation != obj.Incarnation || len(t.Offsets) != obj.Partitions {
		return fail.New(fail.InvalidParameter, "the consistency token belongs to another object than %s", obj.Name)
	}
	return nil
}

// TimeTravel is the object's retention.
func (c *Collection) TimeTravel() time.Duration { return c.opt.TimeTravel }

// Until is when a version that is kept now may go at the earliest, in milliseconds
// on the metastore's clock, where it is now; 0: never, for version 0 and what a tag
// without an end names.
func (c *Collection) Until(ctx context.Context, version uint64, now int64) (int64, error) {
	root, err := c.deps.Meta.Root(ctx, c.origin.ID)
	if err != nil || version == 0 {
		return 0, err
	}
	until := int64(0)
	switch {
	case version == root.Head.Version:
		until = now + c.opt.TimeTravel.Milliseconds()
	case version >= root.Head.Oldest:
		p, err := c.newest(ctx, root.Head, func(a *Ancestor) bool { return a.Version <= version })
		if err != nil {
			return 0, err
		}
		until = p.next.CreatedMS + c.opt.TimeTravel.Milliseconds()
	}
	for _, t := range root.Tags {
		if t.Version == version && t.ExpiresMS == 0 {
			return 0, nil
		}
		if t.Version == version {
			until = max(until, t.ExpiresMS)
		}
	}
	return until, nil
}

// Release lets the versions go that were superseded longer ago than the
// retention, but for those that tags name. What is gone afterwards is refused with
// SnapshotExpired; its files are garbage collection's.
func (c *Collection) Release(ctx context.Context, retention time.Duration) error {
	head, _, _, err := c.deps.Meta.Heads(ctx, c.origin.ID)
	if err != nil || head.Version == head.Oldest {
		return err
	}
	now, err := c.deps.Meta.Now(ctx)
	cutoff := now - retention.Milliseconds()
	if err != nil || cutoff <= c.superseding.Load() {
		return err
	}
	// A version is superseded when the next one is committed: the one that was in
	// force at the cutoff stays, and all after it.
	p, err := c.newest(ctx, head, func(a *Ancestor) bool { return a.CreatedMS < cutoff })
	if err != nil {
		return err
	}
	c.superseding.Store(p.next.CreatedMS)
	if p.at.Version <= head.Oldest {
		return nil
	}
	return c.deps.Meta.ReleaseManifests(ctx, c.origin.ID, p.at.Version)
}
