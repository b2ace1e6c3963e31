package collection

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/metastore"
	"github.com/loamdb/loam/storage/lance"
	"github.com/loamdb/loam/storage/object"
)

// Each tag of a collection is shown to other engines twice: as a Lance tag of the
// collection's dataset, and as a dataset of its own that holds one manifest with
// pointers to the same files. Both follow from the tag's row and can be made again
// at any time; nothing is decided by them.

// exportOf is the root of the pointer dataset of a tag.
func exportOf(objectID uint64, tag string) string { return exportsOf(objectID) + tag + ".lance/" }

func exportsOf(objectID uint64) string { return datasetOf(objectID) + lance.ExportsDir }

func lanceTagsOf(objectID uint64) string {
	return datasetOf(objectID) + strings.TrimSuffix(lance.TagPath(""), ".json")
}

// MirrorKeys are the objects that show a tag to other engines, and that stay as
// long as the tag does.
func MirrorKeys(objectID uint64, tag string) []string {
	return []string{datasetOf(objectID) + lance.TagPath(tag), exportOf(objectID, tag) + lance.ManifestPath(1)}
}

// Export is the address of a tag's pointer dataset; "" for tables.
func (c *Collection) Export(tag metastore.Tag) string {
	if tag.LanceVersion == 0 {
		return ""
	}
	return c.deps.Objects.URI(trimSlash(exportOf(c.origin.ID, tag.Name)))
}

// Mirror makes what shows the tags to other engines as the tags are: what is missing
// or shows an earlier tag of the name is written, what is left of dropped tags goes.
func (c *Collection) Mirror(ctx context.Context) error {
	if c.origin.Kind != schema.Collection {
		return nil
	}
	c.mirroring.Lock()
	defer c.mirroring.Unlock()
	// Listed before the tags are read: what is there and no tag's then is of a tag
	// that was dropped.
	there := map[string]bool{}
	for _, prefix := range []string{lanceTagsOf(c.origin.ID), exportsOf(c.origin.ID)} {
		for info, err := range object.All(ctx, c.deps.Objects, prefix) {
			if err != nil {
				return err
			}
			there[info.Key] = true
		}
	}
	tags, err := c.Tags(ctx)
	if err != nil {
		return err
	}
	wanted := map[string]bool{}
	tags = slices.DeleteFunc(tags, func(t metastore.Tag) bool { return t.LanceVersion == 0 })
	for _, t := range tags {
		for _, key := range MirrorKeys(c.origin.ID, t.Name) {
			wanted[key] = true
		}
	}
	var gone []string
	for key := range there {
		if !wanted[key] {
			gone = append(gone, key)
		}
	}
	slices.Sort(gone)
	if err := c.deps.Objects.Delete(ctx, gone...); err != nil {
		return err
	}
	for _, t := range tags {
		if err := c.mirrorTag(ctx, t, there); err != nil {
			return err
		}
	}
	return nil
}

// mirrorRounds is after how many rounds of maintenance mirrors are looked into though
// the tags are the same: ten minutes.
const mirrorRounds = 20

// RepairMirrors is Mirror when the tags have changed since it ran, and now and then.
func (c *Collection) RepairMirrors(ctx context.Context) error {
	if c.origin.Kind != schema.Collection {
		return nil
	}
	tags, err := c.Tags(ctx)
	if err != nil {
		return err
	}
	var ids strings.Builder
	for _, t := range tags {
		ids.WriteString(t.ID)
	}
	c.mirroring.Lock()
	due := c.mirrorRound%mirrorRounds == 0 || c.mirrorIDs != ids.String()
	c.mirrorRound++
	c.mirrorIDs = ids.String()
	c.mirroring.Unlock()
	if !due {
		return nil
	}
	return c.Mirror(ctx)
}

// mirrorTag writes what shows one tag, unless it is there; it is looked into once.
func (c *Collection) mirrorTag(ctx context.Context, t metastore.Tag, there map[string]bool) error {
	keys := MirrorKeys(c.origin.ID, t.Name)
	if there[keys[0]] && there[keys[1]] && c.mirrored[t.ID] {
		return nil
	}
	for i, body := range []func(context.Context, metastore.Tag) ([]byte, error){c.lanceTag, c.exportManifest} {
		want, err := body(ctx, t)
		if err != nil {
			return err
		}
		if there[keys[i]] {
			if have, err := c.deps.Objects.Get(ctx, keys[i]); err == nil && bytes.Equal(have, want) {
				continue
			}
		}
		if _, err := c.deps.Objects.Put(ctx, keys[i], want, object.PutOptions{Replace: true}); err != nil {
			return err
		}
	}
	if c.mirrored == nil {
		c.mirrored = map[string]bool{}
	}
	c.mirrored[t.ID] = true
	return nil
}

// lanceTag is the content of a tag's file in the dataset.
func (c *Collection) lanceTag(ctx context.Context, t metastore.Tag) ([]byte, error) {
	m, err := c.manifest(ctx, tagRef(t))
	if err != nil {
		return nil, err
	}
	at := time.UnixMilli(t.CreatedMS)
	return lance.TagJSON(lance.Tag{Version: t.LanceVersion, ManifestSize: m.LanceSize, CreatedAt: at, UpdatedAt: at})
}

// exportManifest is the one manifest of a tag's pointer dataset.
func (c *Collection) exportManifest(ctx context.Context, t metastore.Tag) ([]byte, error) {
	key := datasetOf(c.origin.ID) + lance.ManifestPath(t.LanceVersion)
	b, err := c.deps.Objects.Get(ctx, key)
	if err != nil {
		return nil, err
	}
	pinned, err := lance.DecodeManifest(b)
	if err != nil {
		return nil, fail.Wrap(fail.Corrupt, err, "object %s", key)
	}
	uri := c.deps.Objects.URI(trimSlash(datasetOf(c.origin.ID)))
	return lance.EncodeManifest(lance.ExportManifest(pinned, uri, time.UnixMilli(t.CreatedMS)))
}

func tagRef(t metastore.Tag) ManifestRef {
	return ManifestRef{Key: t.ManifestKey, Checksum: t.ManifestChecksum, Size: t.ManifestSize}
}
