package fsck

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/metastore"
	"github.com/loamdb/loam/storage/collection"
	"github.com/loamdb/loam/storage/object"
)

// Deps is what is checked.
type Deps struct {
	Meta    metastore.Store
	Objects object.Store
}

// readsAtOnce bounds the objects that are read side by side.
const readsAtOnce = 4

// Run checks everything. The error is that of a check that could not be made: a
// metastore that does not answer, a store that does not list, the end of ctx.
// What is wrong with the data is in the report.
func Run(ctx context.Context, deps Deps) (*Report, error) {
	c := &checker{deps: deps, report: &Report{Checked: []Checked{}, Damaged: []Damaged{}, Wrong: []Wrong{}, Orphans: []Orphan{}},
		listed: map[string]int64{}, need: map[string]*needed{}, lost: map[string]*lost{}, partial: map[string]bool{}, broken: map[uint64]bool{}, mirrors: map[uint64]bool{}, own: map[string]bool{}, names: map[uint64]string{}}
	for _, step := range []func(context.Context) error{c.list, c.catalog, c.rows, c.contents, c.log} {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	for key, l := range c.lost {
		c.damaged(key, l.kind, l.err, l.by.list(c.names))
	}
	c.leftovers()
	c.report.sort()
	return c.report, nil
}

type checker struct {
	deps   Deps
	listed map[string]int64 // bytes of every stored object
	need   map[string]*needed
	wal    walNeeds
	broken map[uint64]bool // objects with a manifest that cannot be read
	// mirrors are the objects that may show tags to other engines.
	mirrors map[uint64]bool
	lost    map[string]*lost // manifests that cannot be read
	// partial holds the keys of manifests of which a group is damaged.
	partial map[string]bool
	// own holds the keys of manifests, and of what is there without a version.
	own   map[string]bool
	names map[uint64]string // of the catalog, by id

	mu     sync.Mutex // guards the report while objects are read side by side
	report *Report
}

// needed is an object that manifests refer to.
type needed struct {
	collection.StoredObject
	manifest *collection.Manifest // one that refers to it
	by       users
}

// lost is a manifest that is damaged, or a group of one.
type lost struct {
	kind string
	err  error
	by   users
}

// list reads the names of all stored objects.
func (c *checker) list(ctx context.Context) error {
	for _, prefix := range []string{"objects/", "wal/", "walx/"} {
		for info, err := range object.All(ctx, c.deps.Objects, prefix) {
			if err != nil {
				return err
			}
			c.listed[info.Key] = info.Size
		}
	}
	return nil
}

// catalog walks the objects of the catalog.
func (c *checker) catalog(ctx context.Context) error {
	rows, err := c.deps.Meta.ListObjects(ctx, "")
	if err != nil {
		return err
	}
	for _, row := range rows {
		c.names[row.ID] = row.Namespace + "." + row.Name
	}
	for _, row := range rows {
		if row.Partitions == 0 {
			continue // it has no log, and so no rows
		}
		o := &owner{checker: c, row: row, name: c.names[row.ID]}
		if err := o.check(ctx); err != nil {
			return err
		}
	}
	return nil
}

// rows looks for rows of the metastore that belong to nothing.
func (c *checker) rows(ctx context.Context) error {
	err := c.deps.Meta.Roots(ctx, func(r metastore.Root) error {
		if c.names[r.ObjectID] == "" {
			c.wrong(fmt.Sprint("object ", r.ObjectID), "the metastore has its head, the catalog does not have it")
		}
		return nil
	})
	if fail.Is(err, fail.Corrupt) {
		c.wrong("metastore", err.Error())
		return nil
	}
	return err
}

// contents reads every object that a manifest refers to.
func (c *checker) contents(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(readsAtOnce)
	for _, n := range c.need {
		g.Go(func() error {
			err := c.content(ctx, n)
			if ctx.Err() != nil {
				return fail.Ended(ctx, "the check")
			}
			if err != nil {
				c.damaged(n.Key, string(n.Kind), err, n.by.list(c.names))
			}
			return nil
		})
	}
	return g.Wait()
}

func (c *checker) content(ctx context.Context, n *needed) error {
	size, ok := c.listed[n.Key]
	if !ok {
		return fail.Wrap(fail.Corrupt, object.ErrNotFound, "no object has the name")
	}
	c.read(size)
	m, store := n.manifest, c.deps.Objects
	switch n.Kind {
	case collection.DataObject:
		return collection.VerifyData(ctx, store, m, n.StoredObject)
	case collection.DeletionObject:
		if err := collection.VerifyStored(ctx, store, n.StoredObject); err != nil {
			return err
		}
		return collection.VerifyDeletion(ctx, store, &m.Segments[n.Segment].Fragments[n.Fragment])
	case collection.SplitObject:
		if err := collection.VerifyStored(ctx, store, n.StoredObject); err != nil {
			return err
		}
		return collection.VerifySplit(ctx, store, m, &m.Segments[n.Segment])
	case collection.LanceObject:
		if err := collection.VerifyStored(ctx, store, n.StoredObject); err != nil {
			return err
		}
		return collection.VerifyLance(ctx, store, m)
	}
	return collection.VerifyStored(ctx, store, n.StoredObject)
}

// read counts an object that is read.
func (c *checker) read(size int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.report.Objects++
	c.report.Bytes += size
}

func (c *checker) damaged(key, kind string, err error, by []string) {
	d := Damaged{Key: key, Kind: kind, Problem: Unreadable, Detail: fail.As(err).Error(), Needed: by}
	switch {
	case errors.Is(err, object.ErrNotFound):
		d.Problem = Missing
	case fail.Is(err, fail.Corrupt) || fail.Is(err, fail.Unsupported):
		d.Problem = Altered
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.report.Damaged = append(c.report.Damaged, d)
}

func (c *checker) wrong(where, detail string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.report.Wrong = append(c.report.Wrong, Wrong{Where: where, Detail: detail})
}
