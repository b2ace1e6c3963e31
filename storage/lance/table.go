package lance

import (
	"context"
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/storage/lance/internal/file"
)

// Store is where a dataset lies, implemented by the caller, who also decides what
// may be opened at all.
type Store interface {
	// Open opens a file by its path relative to base. An empty base is the dataset
	// itself; any other is a [BasePath.Path] of a manifest, as it was written there.
	// A file that is not there is UndefinedObject.
	Open(ctx context.Context, base, path string) (StoredFile, error)
	// List names the entries of a folder of the dataset, without their folder.
	List(ctx context.Context, folder string) ([]string, error)
}

// StoredFile is an open file of a [Store].
type StoredFile interface {
	Reader
	Size() int64
	Close() error
}

// At picks a version of a table: a tag, a number, or the latest of the mainline.
type At struct {
	Tag     string
	Version uint64
}

// Table is one version of a dataset, open for reading. It holds no file open and
// is safe for many goroutines.
type Table struct {
	store    Store
	manifest *Manifest
	schema   *arrow.Schema
	refused  []error // why a column cannot be read, or nil
	// tops[i] is the id of column i, with the ids of all that is below it.
	tops []topField
}

// topField is a column of a table and the ids of its subtree, its own included.
type topField struct {
	id  int32
	ids map[int32]bool
}

// maxMetaFile bounds manifests, tags and deletion files that are read whole.
const maxMetaFile = 256 << 20

// OpenTable opens a version. Errors: UndefinedObject for a dataset, version or tag
// that is not there, Unsupported naming the feature, Corrupt with the place.
func OpenTable(ctx context.Context, store Store, at At) (*Table, error) {
	if at.Tag != "" {
		v, err := readTag(ctx, store, at.Tag)
		if err != nil {
			return nil, err
		}
		at.Version = v
	}
	path, err := manifestPathOf(ctx, store, at.Version)
	if err != nil {
		return nil, err
	}
	b, err := readWhole(ctx, store, "", path)
	if err != nil {
		return nil, err
	}
	m, err := DecodeManifest(b)
	if err != nil {
		return nil, fail.Wrap(fail.CodeOf(err), err, "%s", path)
	}
	t := &Table{store: store, manifest: m}
	if t.schema, t.refused, err = file.ReadSchema(m.Fields, m.SchemaMetadata); err != nil {
		return nil, err
	}
	t.number()
	return t, nil
}

// number lists the columns with the ids below them; ReadSchema has checked the tree.
func (t *Table) number() {
	for _, f := range t.manifest.Fields {
		if f.ParentID < 0 {
			t.tops = append(t.tops, topField{id: f.ID, ids: map[int32]bool{}})
		}
		t.tops[len(t.tops)-1].ids[f.ID] = true
	}
}

// Schema is the columns. What no file of a fragment holds is NULL there. A column
// that cannot be read has the null type; see Refused.
func (t *Table) Schema() *arrow.Schema { return t.schema }

// Refused says why column i cannot be read (Unsupported), or nil.
func (t *Table) Refused(i int) error { return t.refused[i] }

// Version is the id of the version.
func (t *Table) Version() uint64 { return t.manifest.Version }

// Fragments is the number of fragments.
func (t *Table) Fragments() int { return len(t.manifest.Fragments) }

// tagFile is what a reader needs of a tag.
type tagFile struct {
	Branch  *string `json:"branch"`
	Version *uint64 `json:"version"`
}

func readTag(ctx context.Context, store Store, tag string) (uint64, error) {
	if err := CheckTagName(tag); err != nil {
		return 0, err
	}
	b, err := readWhole(ctx, store, "", TagPath(tag))
	if fail.Is(err, fail.UndefinedObject) {
		return 0, fail.New(fail.UndefinedObject, "the Lance dataset has no tag %q", tag).WithHint("%s", tagHint(ctx, store))
	}
	if err != nil {
		return 0, err
	}
	var f tagFile
	if err := json.Unmarshal(b, &f); err != nil || f.Version == nil {
		return 0, fail.New(fail.Corrupt, "Lance tag %q: %.60q names no version", tag, b)
	}
	if f.Branch != nil && *f.Branch != "" {
		return 0, fail.New(fail.Unsupported, "Lance tag %q is on the branch %q; only the main branch is read", tag, *f.Branch)
	}
	return *f.Version, nil
}

func tagHint(ctx context.Context, store Store) string {
	names, err := store.List(ctx, tagsDir)
	if err != nil || len(names) == 0 {
		return "It has no tags at all; leave the tag out to read the latest version."
	}
	for i, n := range names {
		names[i] = strings.TrimSuffix(n, ".json")
	}
	return "Its tags are " + strings.Join(names[:min(len(names), 20)], ", ") + "."
}

// mainline is the version of a manifest's name: 20 digits count down, fewer are
// the old scheme and count up. Detached versions are not of the mainline.
func mainline(name string) (uint64, bool) {
	digits, ok := strings.CutSuffix(name, ".manifest")
	if !ok {
		return 0, false
	}
	v, err := strconv.ParseUint(digits, 10, 64)
	if len(digits) == 20 {
		v = math.MaxUint64 - v
	}
	return v, err == nil && !IsDetached(v)
}

// manifestPathOf is the path of a version's manifest; version 0 is the latest.
func manifestPathOf(ctx context.Context, store Store, version uint64) (string, error) {
	if IsDetached(version) {
		return ManifestPath(version), nil
	}
	names, err := store.List(ctx, versionsDir)
	if err != nil && !fail.Is(err, fail.UndefinedObject) {
		return "", err
	}
	best, path := uint64(0), ""
	oldest, newest := uint64(math.MaxUint64), uint64(0)
	for _, n := range names {
		v, ok := mainline(n)
		if !ok {
			continue
		}
		oldest, newest = min(oldest, v), max(newest, v)
		if v >= best && (version == 0 || v <= version) {
			best, path = v, versionsDir+n
		}
	}
	switch {
	case oldest == math.MaxUint64:
		return "", fail.New(fail.UndefinedObject, "it is no Lance dataset: there is no manifest in %s", versionsDir).
			WithHint("Name the directory that has _versions and data in it.")
	case version != 0 && best != version:
		return "", fail.New(fail.UndefinedObject, "the Lance dataset has no version %d", version).
			WithHint("Its versions are from %d to %d; leave the version out to read the latest.", oldest, newest)
	}
	return path, nil
}

func readWhole(ctx context.Context, store Store, base, path string) ([]byte, error) {
	f, err := store.Open(ctx, base, path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	if f.Size() > maxMetaFile {
		return nil, fail.New(fail.TooLarge, "%s has %d bytes; at most %d are read", path, f.Size(), maxMetaFile)
	}
	b := make([]byte, f.Size())
	if len(b) == 0 {
		return b, nil
	}
	return b, f.ReadAt(ctx, b, 0)
}

// place is the base and path of a file that the manifest names. folder is the one
// it lies in under a root.
func (t *Table) place(id *uint32, folder, path string) (base, full string) {
	if id == nil {
		return "", folder + path
	}
	for _, b := range t.manifest.BasePaths {
		if b.ID == *id {
			if b.IsDatasetRoot || folder != dataDir {
				return b.Path, folder + path
			}
			return b.Path, path
		}
	}
	return "", folder + path // ValidateManifest refuses ids that are not there
}
