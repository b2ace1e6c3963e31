package collection

import (
	"context"
	"errors"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/metastore"
	"github.com/loamdb/loam/storage/object"
)

// Files of a version may be deleted once it was released. Whoever finds one gone
// asks here what that means: the version has expired, or the store is damaged.

// expired is the error for a version that was released. cause is nil or says which
// file is gone.
func (c *Collection) expired(cause error, root metastore.Root, version uint64) error {
	const what = "version %d of %s is no longer kept; the oldest that is has number %d"
	var e error = fail.New(fail.SnapshotExpired, what, version, c.origin.Name, root.Head.Oldest)
	if cause != nil {
		e = fail.Wrap(fail.SnapshotExpired, cause, what, version, c.origin.Name, root.Head.Oldest)
	}
	return fail.As(e).WithHint("Versions are kept for a time after a newer one has followed. What must stay readable is given a tag: CREATE TAG … ON %s.", c.origin.Name)
}

// gone is the error for an object of a version that cannot be read: expired if
// the version was released meanwhile, else whatever it is.
func (c *Collection) gone(ctx context.Context, err error, version uint64) error {
	return c.goneWith(ctx, err, version, version)
}

// goneWith is gone for a file that belongs to the versions from lo to hi, as far as
// this node knows: it may be gone if all of them were released.
func (c *Collection) goneWith(ctx context.Context, err error, lo, hi uint64) error {
	if !errors.Is(err, object.ErrNotFound) {
		return err
	}
	root, rerr := c.deps.Meta.Root(ctx, c.origin.ID)
	if rerr != nil {
		return rerr
	}
	kept := hi >= root.Head.Oldest
	for _, t := range root.Tags {
		kept = kept || lo <= t.Version && t.Version <= hi
	}
	if kept {
		return err
	}
	return c.expired(err, root, hi)
}

// newestState loads the state of a head, or of a newer one if it was released
// since it was read.
func (c *Collection) newestState(ctx context.Context, head metastore.Head) (*state, error) {
	for {
		st, err := c.stateOf(ctx, head)
		if err == nil {
			return st, nil
		}
		if err = c.gone(ctx, err, head.Version); !fail.Is(err, fail.SnapshotExpired) {
			return nil, err
		}
		next, _, _, herr := c.deps.Meta.Heads(ctx, c.origin.ID)
		if herr != nil {
			return nil, herr
		}
		if next.Version <= head.Version {
			return nil, err
		}
		head = next
	}
}

// stateOf loads the state of a head. What was committed under a newer description is
// not used under an older one: whoever merged or patched it would leave out what it
// does not know of.
func (c *Collection) stateOf(ctx context.Context, head metastore.Head) (*state, error) {
	m, ref, err := c.manifestOf(ctx, head)
	if err == nil && m.SchemaVersion > c.Object().SchemaVersion {
		_, err = c.described(ctx)
	}
	if err != nil {
		return nil, err
	}
	st, err := c.load(ctx, m, ref)
	if err == nil {
		st.committedMS = head.CreatedMS
	}
	return st, err
}

// outrun turns the loss of a file that a builder reads into the conflict that it
// is: others have replaced the version that it built on, and let it go.
func outrun(err error) error {
	if fail.Is(err, fail.SnapshotExpired) && errors.Is(err, object.ErrNotFound) {
		return fail.Wrap(fail.Conflict, err, "the version that this was built on is gone")
	}
	return err
}

// whenGone says what the loss of a file means that belongs to some versions.
type whenGone func(ctx context.Context, err error, lo, hi uint64) error

// of notes that the split belongs to the version.
func (s *split) of(version uint64) {
	s.used.Lock()
	defer s.used.Unlock()
	if s.last == 0 {
		s.first = version
	}
	s.first, s.last = min(s.first, version), max(s.last, version)
}

// watch makes a later read of a file that is gone say what that means.
func (s *split) watch(f whenGone) {
	lost := func(ctx context.Context, err error) error {
		if err == nil {
			return nil
		}
		s.used.Lock()
		lo, hi := s.first, s.last
		s.used.Unlock()
		return f(ctx, err, lo, hi)
	}
	s.bundle.store = watchedStore{s.bundle.store, lost}
	for _, d := range s.dataFiles() {
		d.obj = watchedObject{d.obj, lost}
	}
}

type watchedStore struct {
	object.Store
	lost func(context.Context, error) error
}

func (w watchedStore) GetRange(ctx context.Context, key string, off, n int64) ([]byte, error) {
	b, err := w.Store.GetRange(ctx, key, off, n)
	return b, w.lost(ctx, err)
}

type watchedObject struct {
	object.Object
	lost func(context.Context, error) error
}

func (w watchedObject) ReadAt(ctx context.Context, p []byte, off int64) error {
	return w.lost(ctx, w.Object.ReadAt(ctx, p, off))
}
