package fsck

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/metastore"
	"github.com/loamdb/loam/storage/collection"
	"github.com/loamdb/loam/storage/object"
)

// owner is an object of the catalog while its versions are walked.
type owner struct {
	*checker
	row  metastore.Object
	name string
	out  Checked
}

// check walks the object's versions, tags and log.
func (o *owner) check(ctx context.Context) error {
	o.out = Checked{Name: o.name, Kind: o.row.Kind, ID: o.row.ID}
	root, err := o.deps.Meta.Root(ctx, o.row.ID)
	if err != nil {
		return o.rowError(err)
	}
	head, parts, _, err := o.deps.Meta.Heads(ctx, o.row.ID)
	if err != nil {
		return o.rowError(err)
	}
	if root.Incarnation != o.row.Incarnation {
		o.wrong(o.name, fmt.Sprintf("its head is of incarnation %s, the catalog has %s", root.Incarnation, o.row.Incarnation))
	}
	if len(parts) != o.row.Partitions {
		o.wrong(o.name, fmt.Sprintf("it has %d rows of partitions, the catalog has %d", len(parts), o.row.Partitions))
	}
	o.out.Tags = len(root.Tags)
	o.mirrors[o.row.ID] = o.out.Tags > 0
	if err := o.versions(ctx, head); err != nil {
		return err
	}
	for i := range root.Tags {
		if err := o.tag(ctx, &root.Tags[i]); err != nil {
			return err
		}
	}
	for p := range parts {
		if err := o.partition(ctx, p, head, parts[p]); err != nil {
			return err
		}
	}
	if err := o.base(ctx); err != nil {
		return err
	}
	o.report.Checked = append(o.report.Checked, o.out)
	return nil
}

// rowError turns a row that cannot be decoded into a finding.
func (o *owner) rowError(err error) error {
	if !fail.Is(err, fail.Corrupt) && !fail.Is(err, fail.UndefinedTable) {
		return err
	}
	o.broken[o.row.ID] = true
	o.wrong(o.name, err.Error())
	return nil
}

// versions walks from the head to the oldest retained version.
func (o *owner) versions(ctx context.Context, head metastore.Head) error {
	if head.Version == 0 {
		return nil
	}
	ref := collection.ManifestRef{Key: head.ManifestKey, Checksum: head.ManifestChecksum, Size: head.ManifestSize}
	var child *collection.Manifest
	for v := head.Version; v >= max(1, head.Oldest); v-- {
		m, err := o.manifest(ctx, ref, v, users{o.row.ID: {lo: max(1, head.Oldest), hi: v}})
		if err != nil {
			return err
		}
		if m == nil {
			return o.strays(ctx, v, head.Oldest)
		}
		if child == nil {
			o.atHead(head, m)
		} else {
			o.follows(child, m)
		}
		o.register(m, "", o.partial[ref.Key])
		child, ref = m, m.ParentRef()
	}
	return nil
}

func (o *owner) at(m *collection.Manifest) string {
	return fmt.Sprintf("%s version %d", o.name, m.Version)
}

// manifest reads a manifest; nil when it is damaged, which is then reported.
func (o *owner) manifest(ctx context.Context, ref collection.ManifestRef, version uint64, by users) (*collection.Manifest, error) {
	if d := o.lost[ref.Key]; d != nil {
		d.by.merge(by)
		return nil, nil
	}
	size, first := o.listed[ref.Key], !o.own[ref.Key]
	o.own[ref.Key] = true
	m, err := collection.ReadManifest(ctx, o.deps.Objects, ref)
	if ctx.Err() != nil {
		return nil, fail.Ended(ctx, "the check")
	}
	if first && !errors.Is(err, object.ErrNotFound) {
		o.read(size)
	}
	if err != nil && m != nil && o.groups(ctx, m, by) {
		err, o.partial[ref.Key] = nil, true // the root is whole
	}
	if err == nil && (m.Object != o.row.ID || m.Incarnation != o.row.Incarnation || m.Version != version || len(m.Applied) != o.row.Partitions || size != ref.Size) {
		err = fail.New(fail.Corrupt, "it is of object %d incarnation %s version %d with %d partitions and %d bytes, wanted are %d %s %d with %d and %d",
			m.Object, m.Incarnation, m.Version, len(m.Applied), size, o.row.ID, o.row.Incarnation, version, o.row.Partitions, ref.Size)
	}
	if err != nil {
		o.broken[o.row.ID] = true
		o.lost[ref.Key] = &lost{kind: "manifest", err: err, by: by}
		return nil, nil //nolint:nilerr // it is reported
	}
	if first {
		o.out.Versions++
	}
	return m, nil
}

// groups reports whether some groups of a manifest are damaged, and notes them.
func (o *owner) groups(ctx context.Context, m *collection.Manifest, by users) bool {
	found := false
	here := by[o.row.ID] // the versions below do not need the group
	here.lo = here.hi
	by = users{o.row.ID: here}
	for _, x := range m.Objects() {
		if x.Kind != collection.GroupObject {
			continue
		}
		o.own[x.Key] = true
		err := collection.VerifyStored(ctx, o.deps.Objects, x)
		if err == nil {
			continue
		}
		found, o.broken[o.row.ID] = true, true
		if d := o.lost[x.Key]; d != nil {
			d.by.merge(by)
		} else {
			o.lost[x.Key] = &lost{kind: string(x.Kind), err: err, by: by}
		}
	}
	return found
}

// strays finds, below a version whose manifest is lost, the manifests that may be
// its ancestors, so that what they refer to is checked too.
func (o *owner) strays(ctx context.Context, below, oldest uint64) error {
	for key := range o.listed {
		if !strings.HasPrefix(key, collection.Prefix(o.row.ID)+"manifests/") || o.own[key] {
			continue
		}
		m, err := collection.ReadManifest(ctx, o.deps.Objects, collection.ManifestRef{Key: key})
		if ctx.Err() != nil {
			return fail.Ended(ctx, "the check")
		}
		if err != nil {
			o.damaged(key, "manifest", err, []string{o.name + " perhaps, at a version that is not known"})
			o.own[key] = true
			continue
		}
		if m.Object == o.row.ID && m.Version < below && m.Version >= oldest {
			o.own[key] = true
			o.register(m, "", false)
		}
	}
	return nil
}

// atHead compares the head's manifest with its row.
func (o *owner) atHead(head metastore.Head, m *collection.Manifest) {
	if head.LanceVersion != m.LanceVersion || head.CommitID != m.CommitID || !slices.Equal(head.Applied, m.Applied) {
		o.wrong(o.at(m), fmt.Sprintf("the metastore has commit %s, Lance version %d, applied %d; the manifest has %s, %d, %d",
			head.CommitID, head.LanceVersion, head.Applied, m.CommitID, m.LanceVersion, m.Applied))
	}
	for i := range m.Segments {
		o.out.Rows += int64(m.Segments[i].Live())
	}
}

// follows compares a manifest with the one that was made of it.
func (o *owner) follows(child, m *collection.Manifest) {
	for p := range m.Applied {
		if m.Applied[p] > child.Applied[p] {
			o.wrong(o.at(child), fmt.Sprintf("the applied offset of partition %d fell from %d to %d", p, m.Applied[p], child.Applied[p]))
		}
	}
	if m.CreatedMS > child.CreatedMS || m.NextFragment > child.NextFragment {
		o.wrong(o.at(child), fmt.Sprintf("time %d ms and next fragment %d are below its parent's, %d ms and %d", child.CreatedMS, child.NextFragment, m.CreatedMS, m.NextFragment))
	}
}

// tag checks what a tag names.
func (o *owner) tag(ctx context.Context, t *metastore.Tag) error {
	for _, key := range collection.MirrorKeys(o.row.ID, t.Name) {
		o.own[key] = true // derived from the tag, and made again when it is lost
	}
	ref := collection.ManifestRef{Key: t.ManifestKey, Checksum: t.ManifestChecksum, Size: t.ManifestSize}
	m, err := o.manifest(ctx, ref, t.Version, users{o.row.ID: {tags: []string{t.Name}}})
	if m == nil || err != nil {
		return err
	}
	if m.LanceVersion != t.LanceVersion || !slices.Equal(m.Applied, t.Applied) {
		o.wrong(o.at(m), fmt.Sprintf("tag %s has Lance version %d and applied %d, the manifest %d and %d", t.Name, t.LanceVersion, t.Applied, m.LanceVersion, m.Applied))
	}
	o.register(m, t.Name, o.partial[ref.Key])
	return nil
}

// register notes what a manifest refers to, or of a partial one what its segments
// do. tag is empty for the versions of the line.
func (o *owner) register(m *collection.Manifest, tag string, partial bool) {
	o.segments(m)
	for _, ref := range m.Objects() {
		if partial && ref.Segment < 0 {
			continue // what is compared with all segments
		}
		n := o.need[ref.Key]
		if n == nil {
			n = &needed{StoredObject: ref, by: users{}}
			o.need[ref.Key] = n
		} else if n.Size != ref.Size || n.Checksum != ref.Checksum || n.Kind != ref.Kind {
			o.wrong(o.at(m), fmt.Sprintf("%s %s has %d bytes and checksum %016x, in version %d it has %d and %016x",
				ref.Kind, ref.Key, ref.Size, ref.Checksum, n.manifest.Version, n.Size, n.Checksum))
			continue
		}
		n.manifest, n.StoredObject = m, ref
		n.by.add(o.row.ID, m.Version, tag)
	}
	for p, refs := range m.Consumed {
		for _, r := range refs {
			o.wal.consumed(r, o.row, p, m.Version)
		}
	}
}

// segments compares the segments of a manifest with each other.
func (o *owner) segments(m *collection.Manifest) {
	seen := map[uint64]bool{}
	for i := range m.Segments {
		s := &m.Segments[i]
		for k := range s.Fragments {
			f := &s.Fragments[k]
			if s.Live() <= 0 || f.ID >= m.NextFragment || seen[f.ID] || (f.Deletion == nil) != (f.Deleted == 0 || f.Dead()) {
				o.wrong(o.at(m), fmt.Sprintf("fragment %d below %d with %d rows, %d of them deleted, named before: %t", f.ID, m.NextFragment, f.Rows, f.Deleted, seen[f.ID]))
			}
			seen[f.ID] = true
		}
	}
}

// base knows the first file of a collection's dataset, which is there before any version.
func (o *owner) base(ctx context.Context) error {
	key := collection.BaseKey(o.row.ID)
	size, there := o.listed[key]
	if o.row.Kind != string(schema.Collection) || !there || o.need[key] != nil {
		return nil
	}
	o.own[key] = true
	o.read(size)
	if err := collection.VerifyBase(ctx, o.deps.Objects, o.row.ID); err != nil {
		o.damaged(key, string(collection.BaseObject), err, []string{o.name})
	}
	return fail.Ended(ctx, "the check")
}
