package collection

import (
	"context"
	"fmt"
	"strings"

	"github.com/loamdb/loam/storage/lance"
	"github.com/loamdb/loam/storage/object"
)

// ObjectKind says what an object of the store is to a manifest.
type ObjectKind string

// The kinds of objects that a manifest refers to.
const (
	SplitObject    ObjectKind = "split"
	DataObject     ObjectKind = "data file"
	DeletionObject ObjectKind = "deletion bitmap"
	LanceObject    ObjectKind = "Lance manifest"
	BaseObject     ObjectKind = "Lance version 1"
	GroupObject    ObjectKind = "manifest group"
)

// StoredObject is an object that a manifest refers to, as it was written.
type StoredObject struct {
	Key  string
	Kind ObjectKind
	// Size is in bytes, -1 where the manifest does not say it.
	Size int64
	// Checksum is XXH3-64 of the whole object.
	Checksum uint64
	// Segment and Fragment are the positions of the segment that it belongs to and of
	// the fragment therein; -1 for the version's own, and for a segment's.
	Segment, Fragment int
}

// Objects lists every object that must be there for the version to be read, the
// manifest itself and its parents apart. Garbage collection, fsck and the bytes
// of tags go by it: whoever adds a kind of object to a manifest adds it here.
func (m *Manifest) Objects() []StoredObject {
	out := make([]StoredObject, 0, 3*len(m.Segments)+2)
	for i := range m.Segments {
		s := &m.Segments[i]
		out = append(out, StoredObject{Key: s.SplitKey, Kind: SplitObject, Size: s.SplitSize, Checksum: s.SplitChecksum, Segment: i, Fragment: -1})
		for k := range s.Fragments {
			for _, f := range s.Fragments[k].Files {
				out = append(out, StoredObject{Key: datasetOf(m.Object) + lance.DataPath(f.Name), Kind: DataObject, Size: f.Size, Checksum: f.Checksum, Segment: i, Fragment: k})
			}
			if d := s.Fragments[k].Deletion; d != nil {
				out = append(out, StoredObject{Key: d.Key, Kind: DeletionObject, Size: d.Size, Checksum: d.Checksum, Segment: i, Fragment: k})
			}
		}
	}
	for _, g := range m.Groups {
		out = append(out, StoredObject{Key: g.Key, Kind: GroupObject, Size: g.Size, Checksum: g.Checksum, Segment: -1, Fragment: -1})
	}
	if m.LanceVersion != 0 {
		out = append(out,
			StoredObject{Key: datasetOf(m.Object) + lance.ManifestPath(m.LanceVersion), Kind: LanceObject, Size: m.LanceSize, Checksum: m.LanceChecksum, Segment: -1, Fragment: -1},
			StoredObject{Key: BaseKey(m.Object), Kind: BaseObject, Size: -1, Checksum: m.LanceBase, Segment: -1, Fragment: -1})
	}
	return out
}

// added are the bytes of the objects that m refers to and base does not.
func (m *Manifest) added(base *Manifest) int64 {
	old := map[string]bool{}
	for _, o := range base.Objects() {
		old[o.Key] = true
	}
	n := int64(0)
	for _, o := range m.Objects() {
		if !old[o.Key] {
			n += max(0, o.Size)
		}
	}
	return n
}

// Prefix is where everything that an object owns lies, and nothing else. Ids are
// never reused.
func Prefix(objectID uint64) string { return fmt.Sprintf("objects/%d/", objectID) }

func datasetOf(objectID uint64) string { return Prefix(objectID) + "data.lance/" }

// BaseKey is the manifest of the empty version 1 of a collection's Lance dataset,
// which is there as long as the collection is.
func BaseKey(objectID uint64) string { return datasetOf(objectID) + lance.ManifestPath(1) }

// IsMirror reports whether an object of the store shows a tag to other engines: a
// Lance tag or a pointer dataset. They are derived from the tags, under names that
// come back; whoever makes them deletes them, and garbage collection leaves them
// alone as long as their object exists.
func IsMirror(objectID uint64, key string) bool {
	return strings.HasPrefix(key, exportsOf(objectID)) || strings.HasPrefix(key, datasetOf(objectID)+"_refs/")
}

// ReadManifest reads and checks the manifest that a head, a tag or a child names.
// Errors: Corrupt, with object.ErrNotFound in the chain when it is gone; Unsupported.
func ReadManifest(ctx context.Context, store object.Store, ref ManifestRef) (*Manifest, error) {
	return readManifest(ctx, store, ref, nil)
}
