package loam

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"
	"strings"

	"github.com/loamdb/loam/internal/clock"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/metastore"
	"github.com/loamdb/loam/storage/fsck"
	"github.com/loamdb/loam/storage/object"
)

// CheckReport is what a check of stored data found.
type CheckReport = fsck.Report

// CheckConfig says what is checked.
type CheckConfig struct {
	// Dir is a data directory that no process has open. Its objects are where its
	// STORE says.
	Dir string
	// Meta is an etcd that holds the metastore of a cluster of which no node lives; Dir
	// is not looked at then.
	Meta MetaConfig
	// Store is where the objects lie; what is empty is as the directory or the metastore
	// says, or the AWS_* environment.
	Store StoreConfig
	// Repair deletes the orphans first, and nothing else.
	Repair bool
}

// CheckData reads everything that a data directory or a cluster holds, and compares it
// with what was committed. Without a repair it changes nothing. The error is that of a
// check that could not be made: Locked when a process has the directory or a node
// lives, Unavailable when there is no data.
func CheckData(ctx context.Context, cfg CheckConfig) (rep *CheckReport, err error) {
	c := &checking{cfg: cfg, clk: clock.Real()}
	c.ids = clock.RandomIDs(c.clk)
	defer func() { err = errors.Join(err, c.close()) }()
	if cfg.Meta.Address != "" {
		err = c.openCluster(ctx)
	} else {
		err = c.openDir(ctx)
	}
	if err == nil {
		err = c.owned(ctx)
	}
	if err != nil {
		return nil, err
	}
	var done *fsck.Repaired
	if cfg.Repair {
		if done, err = fsck.Repair(ctx, c.deps); err != nil {
			return nil, err
		}
	}
	if rep, err = fsck.Run(ctx, c.deps); err != nil {
		return nil, err
	}
	rep.Repaired = done
	if cfg.Meta.Address != "" { // one that came meanwhile may have changed what was read
		if err := c.alone(ctx); err != nil {
			return nil, err
		}
	}
	return rep, nil
}

// checking is what a check has open.
type checking struct {
	cfg    CheckConfig
	clk    clock.Clock
	ids    clock.IDs
	deps   fsck.Deps
	closes []func() error // in the order of opening
}

func (c *checking) close() error {
	var err error
	for i := len(c.closes) - 1; i >= 0; i-- {
		err = errors.Join(err, c.closes[i]())
	}
	return err
}

func (c *checking) openDir(ctx context.Context) error {
	lock, err := object.LockExisting(c.cfg.Dir, "")
	if err != nil {
		return err
	}
	c.closes = append(c.closes, lock.Close)
	files, err := object.OpenFile(c.cfg.Dir, c.ids, object.FileOptions{ReadOnly: !c.cfg.Repair})
	if err != nil {
		return err
	}
	mark, err := readStoreMark(ctx, files)
	switch {
	case errors.Is(err, object.ErrNotFound):
		mark = storeMark{} // a directory without STORE keeps its objects itself
	case err != nil:
		return err
	}
	if want := c.cfg.Store.Address; want != "" {
		if want, err = canonical(want); err != nil {
			return err
		}
		if want != mark.Address {
			return otherStore(c.cfg.Dir, mark.Address, want)
		}
	}
	if mark.Address == "" {
		c.deps.Objects = files
	} else if err := c.openBucket(ctx, files, mark.over(c.cfg.Store)); err != nil {
		return err
	}
	open := metastore.OpenCopy
	if c.cfg.Repair {
		open = metastore.OpenEmbedded
	}
	c.deps.Meta, err = open(ctx, filepath.Join(c.cfg.Dir, metaDir), c.clk, c.ids, metastore.EmbeddedOptions{})
	if err == nil {
		c.closes = append(c.closes, c.deps.Meta.Close)
	}
	return err
}

// openBucket opens the bucket of a directory, unless another copy of it has gone on there.
func (c *checking) openBucket(ctx context.Context, files object.Store, cfg StoreConfig) error {
	if err := c.openStore(ctx, cfg); err != nil {
		return err
	}
	own, err := ownStart(ctx, files)
	if err == nil {
		_, _, err = own.alone(ctx, c.deps.Objects)
	}
	return err
}

func (c *checking) openCluster(ctx context.Context) error {
	opt := c.cfg.Meta.options()
	opt.Existing = true
	meta, err := metastore.OpenExternal(ctx, c.clk, c.ids, opt)
	if err != nil {
		return err
	}
	c.deps.Meta = meta
	c.closes = append(c.closes, meta.Close)
	if err := c.alone(ctx); err != nil {
		return err
	}
	store := c.cfg.Store
	if store.Address, err = clusterStore(ctx, meta, store.Address); err != nil {
		return err
	}
	return c.openStore(ctx, store)
}

// alone refuses a cluster that somebody serves.
func (c *checking) alone(ctx context.Context) error {
	nodes, err := c.deps.Meta.Nodes(ctx)
	if err != nil {
		return err
	}
	var live []string
	for _, n := range nodes {
		if n.Live {
			live = append(live, cmp.Or(n.Endpoint, n.ID))
		}
	}
	if len(live) == 0 {
		return nil
	}
	return fail.New(fail.Locked, "%s from the metastore: %s", fail.Count(len(live), "node serves", "nodes serve"), strings.Join(live, ", ")).
		WithHint("Stop all nodes first. One that was killed counts as dead after %s.", metastore.NodeTTL)
}

func (c *checking) openStore(ctx context.Context, cfg StoreConfig) error {
	s, err := object.OpenS3(ctx, cfg.Address, c.clk, c.ids, cfg.options())
	if err != nil {
		return err
	}
	c.deps.Objects = s
	c.closes = append(c.closes, s.Close)
	return nil
}

// owned refuses a store of another metastore, in which everything would be missing.
func (c *checking) owned(ctx context.Context) error {
	info, err := c.deps.Meta.Info(ctx)
	if err != nil {
		return err
	}
	body, err := c.deps.Objects.Get(ctx, clusterObject)
	if errors.Is(err, object.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return checkClaim(body, info.ClusterID, placeOf(c.deps.Objects))
}
