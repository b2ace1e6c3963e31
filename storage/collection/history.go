package collection

import (
	"context"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/metastore"
)

// Ancestor is what a manifest says of a version before it.
type Ancestor struct {
	Version uint64 `json:"version"`
	ManifestRef
	// CreatedMS is when the version was committed, on the metastore's clock.
	CreatedMS int64    `json:"created_ms"`
	Applied   []uint64 `json:"applied"`
}

// ParentRef points at the manifest before; the zero reference for version 1.
func (m *Manifest) ParentRef() ManifestRef {
	if len(m.Ancestors) == 0 {
		return ManifestRef{}
	}
	return m.Ancestors[0].ManifestRef
}

// older is the version after v in a list of ancestors: v without its lowest bit.
// A list begins with the parent and ends above version 0. So it holds, for every
// power of two, the newest multiple below the manifest's own version, and a chain
// of n versions is searched in at most 1 + log2(n) steps.
func older(v uint64) uint64 { return v & (v - 1) }

// ancestors are those of the child of a manifest, which was committed at createdMS.
func (m *Manifest) ancestors(ref ManifestRef, createdMS int64) []Ancestor {
	if m.Version == 0 {
		return nil
	}
	out := []Ancestor{{Version: m.Version, ManifestRef: ref, CreatedMS: createdMS, Applied: m.Applied}}
	next := older(m.Version)
	for _, a := range m.Ancestors {
		if a.Version == next && next > 0 {
			out = append(out, a)
			next = older(next)
		}
	}
	return out
}

// checkAncestors refuses a list that a search would be misled by.
func (m *Manifest) checkAncestors(name string) error {
	v := m.Version
	if v > 0 {
		v--
	}
	for _, a := range m.Ancestors {
		if v == 0 || a.Version != v || a.Key == "" || len(a.Applied) != len(m.Applied) {
			return fail.New(fail.Corrupt, "manifest %s of version %d names version %d as an ancestor, %d comes next", name, m.Version, a.Version, v)
		}
		v = older(v)
	}
	if v != 0 {
		return fail.New(fail.Corrupt, "manifest %s of version %d does not name its ancestor %d", name, m.Version, v)
	}
	return nil
}

// headVersion is a head as its child will name it.
func headVersion(head metastore.Head) Ancestor {
	return Ancestor{Version: head.Version, CreatedMS: head.CreatedMS, Applied: head.Applied,
		ManifestRef: ManifestRef{Key: head.ManifestKey, Checksum: head.ManifestChecksum, Size: head.ManifestSize}}
}

// place is where a search ended: a version and the one after it, which has
// version 0 when there is none.
type place struct{ at, next Ancestor }

// newest is the newest version for which old holds: it must hold for every
// version before one that it holds for, and holds for version 0. Versions below
// head.Oldest are not read: the search ends at one of them, whichever, when what
// it looks for lies there. O(log n) manifests are read.
func (c *Collection) newest(ctx context.Context, head metastore.Head, old func(*Ancestor) bool) (place, error) {
	var p place
	at := headVersion(head)
	if at.Version == 0 {
		at.Applied = make([]uint64, c.origin.Partitions)
	}
	for {
		if at.Version == 0 || at.Version < head.Oldest || old(&at) {
			p.at = at
			return p, nil
		}
		m, err := c.manifest(ctx, at.ManifestRef)
		if err != nil {
			return p, c.gone(ctx, err, at.Version)
		}
		if m.Object != c.origin.ID || m.Version != at.Version {
			return p, fail.New(fail.Corrupt, "manifest %s is of object %d version %d, not of %d version %d", at.Key, m.Object, m.Version, c.origin.ID, at.Version)
		}
		p.next = at
		at = Ancestor{Applied: make([]uint64, c.origin.Partitions)}
		for i := range m.Ancestors {
			a := &m.Ancestors[i]
			if a.Version >= head.Oldest && !old(a) {
				at = *a
				continue
			}
			if i == 0 {
				p.at = *a
				return p, nil
			}
			break
		}
	}
}

// manifest reads a manifest, or finds it among those read last.
func (c *Collection) manifest(ctx context.Context, ref ManifestRef) (*Manifest, error) {
	if m, ok := c.past.get(ref.Key); ok {
		return m, nil
	}
	m, err := readManifest(ctx, c.deps.Objects, ref, c.groups())
	if err == nil {
		c.past.put(ref.Key, m)
	}
	return m, err
}

// version finds a version that is kept: by the chain, or by a tag.
func (c *Collection) version(ctx context.Context, head metastore.Head, version uint64) (Ancestor, error) {
	switch {
	case version > head.Version:
		return Ancestor{}, fail.New(fail.InvalidParameter, "%s has no version %d; the newest is %d", c.origin.Name, version, head.Version)
	case version == 0 && head.Oldest == 0:
		return Ancestor{Applied: make([]uint64, c.origin.Partitions)}, nil
	case version < head.Oldest:
		return c.taggedVersion(ctx, version)
	}
	p, err := c.newest(ctx, head, func(a *Ancestor) bool { return a.Version <= version })
	if err == nil && p.at.Version != version {
		err = fail.New(fail.Corrupt, "%s has no version %d between 1 and %d", c.origin.Name, version, head.Version)
	}
	return p.at, err
}

// taggedVersion finds a version that was released and that a tag keeps.
func (c *Collection) taggedVersion(ctx context.Context, version uint64) (Ancestor, error) {
	root, err := c.deps.Meta.Root(ctx, c.origin.ID)
	if err != nil {
		return Ancestor{}, err
	}
	for _, t := range root.Tags {
		if t.Version == version {
			return Ancestor{Version: version, Applied: t.Applied, ManifestRef: tagRef(t)}, nil
		}
	}
	return Ancestor{}, c.expired(nil, root, version)
}
