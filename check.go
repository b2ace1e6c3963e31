package loam

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/loamdb/loam/internal/clock"
	"github.com/loamdb/loam/metastore"
	"github.com/loamdb/loam/storage/fsck"
	"github.com/loamdb/loam/storage/object"
)

// CheckReport is what a check of a data directory found.
type CheckReport = fsck.Report

// CheckConfig says what is checked.
type CheckConfig struct {
	// Dir is a data directory that no process has open. Its objects are where its
	// STORE says.
	Dir string
	// Repair deletes the orphans first, and nothing else.
	Repair bool
}

// CheckData reads everything that a data directory holds, and compares it with what
// was committed. Without a repair it changes nothing. The error is that of a check
// that could not be made: Locked when a process has the directory, Unavailable when
// it is none.
func CheckData(ctx context.Context, cfg CheckConfig) (rep *CheckReport, err error) {
	clk := clock.Real()
	ids := clock.RandomIDs(clk)
	lock, err := object.LockExisting(cfg.Dir, "")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	files, err := object.OpenFile(cfg.Dir, ids, object.FileOptions{ReadOnly: !cfg.Repair})
	if err != nil {
		return nil, err
	}
	store, end, err := checkedStore(ctx, files, clk, ids)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, end()) }()
	open := metastore.OpenCopy
	if cfg.Repair {
		open = metastore.OpenEmbedded
	}
	meta, err := open(ctx, filepath.Join(cfg.Dir, metaDir), clk, ids, metastore.EmbeddedOptions{})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, meta.Close()) }()
	deps := fsck.Deps{Meta: meta, Objects: store}
	var done *fsck.Repaired
	if cfg.Repair {
		if done, err = fsck.Repair(ctx, deps); err != nil {
			return nil, err
		}
	}
	if rep, err = fsck.Run(ctx, deps); err == nil {
		rep.Repaired = done
	}
	return rep, err
}

// checkedStore is where the objects of a directory lie: in itself, or in the bucket
// that its STORE names.
func checkedStore(ctx context.Context, files *object.FileStore, clk clock.Clock, ids clock.IDs) (object.Store, func() error, error) {
	mark, err := readStoreMark(ctx, files)
	switch {
	case errors.Is(err, object.ErrNotFound):
		mark = storeMark{} // a directory without STORE keeps its objects itself
	case err != nil:
		return nil, nil, err
	}
	if mark.Address == "" {
		return files, func() error { return nil }, nil
	}
	s, err := object.OpenS3(ctx, mark.Address, clk, ids, object.S3Options{Endpoint: mark.Endpoint, Region: mark.Region, Addressing: mark.Addressing})
	if err != nil {
		return nil, nil, err
	}
	return s, s.Close, nil
}
