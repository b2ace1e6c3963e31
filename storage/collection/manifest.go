package collection

import (
	"context"
	"encoding/json"

	"github.com/zeebo/xxh3"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/metastore"
	"github.com/loamdb/loam/storage/object"
)

// Manifest lists the splits of one version of an object. Immutable once
// committed. Its JSON, under a header with checksum, is an object of the store
// (docs/formats/manifest.md); the metastore's head points at it.
type Manifest struct {
	Object      uint64 `json:"object"`
	Incarnation string `json:"incarnation"`
	// Version counts commits from 1. Version 0 is the empty object, without a manifest.
	Version       uint64 `json:"version"`
	SchemaVersion uint64 `json:"schema_version"`
	CommitID      string `json:"commit_id"`
	// CreatedMS is when it was made; it was committed later.
	CreatedMS int64 `json:"created_ms"`
	// Ancestors are versions before this one, the parent first, by which any other
	// is found in few steps (see older). None for version 1.
	Ancestors []Ancestor `json:"ancestors"`
	// Applied is the first offset of each partition that is not in the segments.
	Applied []uint64 `json:"applied"`
	// Oldest is the first offset of each partition of a stream that retention has left;
	// absent while it has dropped nothing.
	Oldest []uint64 `json:"oldest,omitempty"`
	// Consumed are the log runs that this commit folded in, so that an older
	// manifest with a tail can still be read while the log is retained.
	// A partition with more than maxConsumed runs keeps none.
	Consumed [][]metastore.Ref `json:"consumed,omitempty"`
	// Sources is how far the links into the object had got where the segments end.
	Sources []SourceUpto `json:"source_upto,omitempty"`
	// LanceVersion is the detached Lance version of exactly these segments; 0 for tables.
	LanceVersion uint64 `json:"lance_version,omitempty"`
	// LanceSize and LanceChecksum are those of that version's manifest, LanceBase
	// the checksum of the dataset's empty version 1. 0 for tables.
	LanceSize     int64  `json:"lance_size,omitempty"`
	LanceChecksum uint64 `json:"lance_xxh3,omitempty"`
	LanceBase     uint64 `json:"lance_base_xxh3,omitempty"`
	// LastVector is the largest id of a vector field that the Lance version names: those
	// that were added later are in none of its fragments. 0 for tables.
	LastVector   int32  `json:"last_vector,omitempty"`
	NextFragment uint64 `json:"next_fragment"`
	// Merged is the newest version, up to this one, that a merge committed.
	Merged uint64 `json:"merged,omitempty"`
	// Groups hold segments outside of the root, by objects that versions share.
	Groups []Group `json:"groups,omitempty"`
	// Segments are all segments of the version, ascending by their first fragment,
	// those of its groups too; in the root's JSON only the others are.
	Segments []Segment `json:"segments"`
}

// ManifestRef points at a manifest object.
type ManifestRef struct {
	Key      string `json:"key,omitempty"`
	Checksum uint64 `json:"xxh3,omitempty"`
	Size     int64  `json:"size,omitempty"`
}

// maxConsumed bounds the log runs that a manifest names per partition.
const maxConsumed = 2048

const (
	manifestMagic   = "LMAN"
	manifestVersion = 0
	manifestHead    = 16
)

// encodeManifest writes the root: "LMAN", version u16, 0 u16, xxh3 of the JSON u64, JSON.
func encodeManifest(m *Manifest) ([]byte, error) {
	root := *m
	root.Segments = m.inline()
	body, err := json.Marshal(&root)
	if err != nil {
		return nil, fail.Wrap(fail.Internal, err, "manifest")
	}
	return frame(manifestMagic, manifestVersion, body), nil
}

// decodeManifest reads what encodeManifest wrote, without the segments of groups;
// name is for errors.
func decodeManifest(name string, b []byte) (*Manifest, error) {
	m := &Manifest{}
	if err := unframe("manifest", name, manifestMagic, manifestVersion, b, m); err != nil {
		return nil, err
	}
	if err := checkSegments("manifest", name, m.Segments); err != nil {
		return nil, err
	}
	return m, m.checkAncestors(name)
}

// readManifest reads a version with the segments of its groups; of the known ones,
// which another version has, nothing is read.
func readManifest(ctx context.Context, store object.Store, ref ManifestRef, known []Group) (*Manifest, error) {
	b, err := store.Get(ctx, ref.Key)
	if err != nil {
		return nil, err
	}
	if ref.Checksum != 0 && xxh3.Hash(b) != ref.Checksum {
		return nil, fail.New(fail.Corrupt, "manifest %s is not the one that was committed: checksum", ref.Key)
	}
	m, err := decodeManifest(ref.Key, b)
	if err != nil {
		return nil, err
	}
	return m, m.loadGroups(ctx, store, known)
}
