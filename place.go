package loam

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"time"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/metastore"
	"github.com/loamdb/loam/storage/object"
	"github.com/loamdb/loam/storage/wal"
)

// The two marks that hold data and metastore together (docs/formats/data-directory.md).
const (
	// storeFile is in the data directory and says where its objects lie.
	storeFile = "STORE"
	// clusterObject is in the object store and says which metastore owns it.
	clusterObject = "CLUSTER"
	markVersion   = 0
	// metaDir is in the data directory: the embedded metastore.
	metaDir = "meta"
)

// storeMark is the content of STORE.
type storeMark struct {
	Format  string `json:"format"` // "loam store"
	Version int    `json:"version"`
	// Address is s3://bucket/prefix; empty: the data directory itself.
	Address    string `json:"address,omitempty"`
	Endpoint   string `json:"endpoint,omitempty"`
	Region     string `json:"region,omitempty"`
	Addressing string `json:"addressing,omitempty"`
}

// clusterMark is the content of CLUSTER.
type clusterMark struct {
	Format    string `json:"format"` // "loam cluster"
	Version   int    `json:"version"`
	ClusterID string `json:"cluster_id"`
}

// The flush of the log on a store that charges by the request.
const (
	remoteWindow     = 100 * time.Millisecond
	remoteFlushBytes = 4 << 20
)

func (e *Engine) walOptions() wal.Options {
	if e.remote == nil {
		return wal.Options{}
	}
	return wal.Options{Window: remoteWindow, FlushBytes: remoteFlushBytes}
}

// openObjects opens the store of a data directory: the directory itself, or the
// bucket that its STORE names. A directory belongs to one store for ever, and STORE
// is durable before anything of the metastore is. It returns the directory as a store.
func (e *Engine) openObjects(ctx context.Context) (object.Store, error) {
	files, err := object.OpenFile(e.cfg.Dir, e.cfg.IDs, object.FileOptions{NoSync: e.cfg.NoSync})
	if err != nil {
		return nil, err
	}
	want := e.cfg.Store
	if want.Address != "" {
		if want.Address, err = canonical(want.Address); err != nil {
			return nil, err
		}
	}
	mark, err := readStoreMark(ctx, files)
	switch {
	case errors.Is(err, object.ErrNotFound):
		mark = storeMark{Format: "loam store", Address: want.Address, Endpoint: want.Endpoint, Region: want.Region, Addressing: want.Addressing}
	case err != nil:
		return nil, err
	case want.Address != "" && want.Address != mark.Address:
		return nil, otherStore(e.cfg.Dir, mark.Address, want.Address)
	}
	fresh := err != nil
	if fresh && want.Address != "" {
		if page, err := files.List(ctx, metaDir+"/", ""); err != nil || len(page) > 0 {
			return nil, errors.Join(err, otherStore(e.cfg.Dir, "", want.Address))
		}
	}
	cfg := mark.over(want)
	if cfg.Address == "" {
		e.store = files
	} else if err := e.openRemote(ctx, cfg); err != nil {
		return nil, err
	}
	if !fresh {
		return files, nil
	}
	body, err := json.Marshal(mark)
	if err != nil {
		return nil, fail.Wrap(fail.Internal, err, "%s", storeFile)
	}
	_, err = files.Put(ctx, storeFile, append(body, '\n'), object.PutOptions{})
	return files, err
}

// over is the store of the mark, reached as want says where it says something.
func (m storeMark) over(want StoreConfig) StoreConfig {
	return StoreConfig{Address: m.Address, Endpoint: cmp.Or(want.Endpoint, m.Endpoint), Region: cmp.Or(want.Region, m.Region), Addressing: cmp.Or(want.Addressing, m.Addressing)}
}

// canonical is the one spelling of an address.
func canonical(address string) (string, error) {
	bucket, prefix, err := object.ParseS3(address)
	if err != nil {
		return "", err
	}
	return strings.TrimSuffix("s3://"+bucket+"/"+prefix, "/"), nil
}

func readStoreMark(ctx context.Context, files object.Store) (storeMark, error) {
	var m storeMark
	body, err := files.Get(ctx, storeFile)
	if err != nil {
		return m, err
	}
	return m, readMark(storeFile, "loam store", body, &m, func() (string, int) { return m.Format, m.Version })
}

// readMark decodes a mark and refuses what this version does not know.
func readMark(name, format string, body []byte, into any, is func() (string, int)) error {
	if err := json.Unmarshal(body, into); err != nil {
		return fail.New(fail.Corrupt, "%s cannot be read: %v", name, err)
	}
	got, version := is()
	if got != format {
		return fail.New(fail.Corrupt, "%s is not Loam's: it says %q", name, got)
	}
	if version != markVersion {
		return fail.New(fail.Unsupported, "%s has version %d, which this Loam does not know", name, version).WithHint("Use the Loam that wrote it, or a newer one.")
	}
	return nil
}

// otherStore refuses a store that is not the directory's.
func otherStore(dir, has, want string) error {
	if has == "" {
		return fail.New(fail.InvalidParameter, "the data directory %q keeps its objects in itself, not in %s", dir, want).
			WithHint("Start it without --store, or take a new directory with --data for %s.", want)
	}
	return fail.New(fail.InvalidParameter, "the data directory %q keeps its objects in %s, not in %s", dir, has, want).
		WithHint("Start it with --store %s, or take a new directory with --data for %s.", has, want)
}

// openRemote opens a bucket and refuses one that would not keep Loam's data.
func (e *Engine) openRemote(ctx context.Context, cfg StoreConfig) error {
	s, err := object.OpenS3(ctx, cfg.Address, e.cfg.Clock, e.cfg.IDs, cfg.options())
	if err != nil {
		return err
	}
	e.store, e.remote, e.address = s, s, cfg.Address
	if err := object.ProbeCreate(ctx, s, e.cfg.IDs); err != nil {
		where := cfg.Address
		return fail.As(fail.Wrap(fail.CodeOf(err), err, "the store %s", where)).WithHint("%s loam doctor store %s tries all that Loam needs.", fail.As(err).Hint, where)
	}
	return nil
}

// placeOf is where a store is.
func placeOf(s object.Store) string {
	return strings.TrimSuffix(strings.TrimSuffix(s.URI(clusterObject), clusterObject), "/")
}

// claim ties store and metastore to each other, so that two metastores never share
// a prefix and no metastore meets a store without its data.
func (e *Engine) claim(ctx context.Context) error {
	info, err := e.meta.Info(ctx)
	if err != nil {
		return err
	}
	was, err := e.meta.StoreAddress(ctx)
	if err != nil {
		return err
	}
	here := placeOf(e.store)
	for range 2 {
		body, err := e.store.Get(ctx, clusterObject)
		if err == nil {
			if err := checkClaim(body, info.ClusterID, here); err != nil {
				return err
			}
			break
		}
		if !errors.Is(err, object.ErrNotFound) {
			return err
		}
		if was != "" {
			return fail.New(fail.InvalidParameter, "the metastore's data lies in %s; %s has none of it", was, here).
				WithHint("Start with the store that it was made with. To move data, copy all objects of %s, with %s, to the new place.", was, clusterObject)
		}
		if body, err = json.Marshal(clusterMark{Format: "loam cluster", ClusterID: info.ClusterID}); err != nil {
			return fail.Wrap(fail.Internal, err, "%s", clusterObject)
		}
		if _, err = e.store.Put(ctx, clusterObject, append(body, '\n'), object.PutOptions{}); err == nil {
			break
		} else if !errors.Is(err, object.ErrExists) {
			return err
		}
	}
	if was == here {
		return nil
	}
	return e.meta.SetStoreAddress(ctx, here)
}

// checkClaim refuses the mark of another metastore.
func checkClaim(body []byte, id, here string) error {
	var m clusterMark
	if err := readMark(here+"/"+clusterObject, "loam cluster", body, &m, func() (string, int) { return m.Format, m.Version }); err != nil {
		return err
	}
	if m.ClusterID != id {
		return fail.New(fail.InvalidParameter, "%s belongs to the metastore %s, and this one is %s: two metastores cannot share a store", here, m.ClusterID, id).
			WithHint("Start with the metastore that made it, or give this one a prefix of its own.")
	}
	return nil
}

// clusterStore is where a cluster keeps its objects: as it is told, or as the first
// node was.
func clusterStore(ctx context.Context, meta metastore.Store, told string) (string, error) {
	if told == "" {
		var err error
		if told, err = meta.StoreAddress(ctx); err != nil {
			return "", err
		}
	}
	if told == "" {
		return "", fail.New(fail.InvalidParameter, "a cluster keeps its objects in a store that all its nodes reach, and none is named").
			WithHint("Name it with --store s3://BUCKET/PREFIX beside --meta.")
	}
	return canonical(told)
}

// openCluster opens an etcd outside and the bucket that goes with it.
func (e *Engine) openCluster(ctx context.Context) error {
	e.cfg.Cluster = true
	m, store := e.cfg.Meta, e.cfg.Store
	var err error
	if e.meta, err = metastore.OpenExternal(ctx, e.cfg.Clock, e.cfg.IDs, m.options()); err != nil {
		return err
	}
	if store.Address, err = clusterStore(ctx, e.meta, store.Address); err != nil {
		return err
	}
	if err := e.openRemote(ctx, store); err != nil {
		return err
	}
	return e.claim(ctx)
}

// openMeta opens the metastore in the data directory.
func (e *Engine) openMeta(ctx context.Context) (metastore.Store, error) {
	return metastore.OpenEmbedded(ctx, filepath.Join(e.cfg.Dir, metaDir), e.cfg.Clock, e.cfg.IDs, metastore.EmbeddedOptions{NoSync: e.cfg.NoSync})
}
