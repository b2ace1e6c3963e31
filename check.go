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

// CheckData reads everything in a data directory that no process has open, and
// compares it with what was committed. It changes nothing. The error is that of a
// check that could not be made: Locked when a process has the directory, Unavailable
// when it is none.
func CheckData(ctx context.Context, dir string) (rep *CheckReport, err error) {
	clk := clock.Real()
	ids := clock.RandomIDs(clk)
	lock, err := object.LockExisting(dir, "")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	store, err := object.OpenFile(dir, ids, object.FileOptions{ReadOnly: true})
	if err != nil {
		return nil, err
	}
	meta, err := metastore.OpenCopy(ctx, filepath.Join(dir, "meta"), clk, ids, metastore.EmbeddedOptions{})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, meta.Close()) }()
	return fsck.Run(ctx, fsck.Deps{Meta: meta, Objects: store})
}
