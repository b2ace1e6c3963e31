package metastore

import (
	"context"
	"errors"
	"os"

	"github.com/loamdb/loam/internal/clock"
	"github.com/loamdb/loam/internal/fail"
)

// OpenCopy is OpenEmbedded over a temporary copy of the directory, so that nothing
// in it changes: etcd writes even when nobody asks it to. Close removes the copy.
func OpenCopy(ctx context.Context, dir string, clk clock.Clock, ids clock.IDs, opt EmbeddedOptions) (Store, error) {
	if _, err := os.Stat(dir); err != nil {
		return nil, fail.New(fail.Unavailable, "there is no metastore in %q", dir).WithHint("Name the data directory of a loam serve.")
	}
	tmp, err := os.MkdirTemp("", "loam-meta-")
	if err != nil {
		return nil, fail.Wrap(fail.Unavailable, err, "copy of the metastore")
	}
	if err := os.CopyFS(tmp, os.DirFS(dir)); err != nil {
		return nil, errors.Join(fail.Wrap(fail.Unavailable, err, "copy of the metastore in %q", dir), os.RemoveAll(tmp))
	}
	opt.NoSync = true // nobody will open the copy again
	s, err := OpenEmbedded(ctx, tmp, clk, ids, opt)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(tmp))
	}
	return copied{s, tmp}, nil
}

// copied is a store over a copy.
type copied struct {
	Store
	dir string
}

func (c copied) Close() error { return errors.Join(c.Store.Close(), os.RemoveAll(c.dir)) }
