package collection

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"slices"

	"github.com/zeebo/xxh3"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/storage/object"
)

// groupSize is the number of fragments from which segments are a group, and maxInline
// the number below which they stay in the root: so a commit writes what changed and
// little of what did not.
const (
	groupSize = 64
	maxInline = 96
)

// Group is a list of segments in an object of its own. It is immutable: versions
// that have all of its segments unchanged name it again.
type Group struct {
	ManifestRef
	Segments int   `json:"segments"`
	Rows     int64 `json:"rows"`
	Live     int64 `json:"live"`
	Bytes    int64 `json:"bytes"`
	// Range bounds the rows of all of its segments; nil when one of them has no bounds.
	Range *Range `json:"range,omitempty"`

	list []Segment
}

// groupBody is the JSON of a group's object.
type groupBody struct {
	Object   uint64    `json:"object"`
	Segments []Segment `json:"segments"`
}

const (
	groupMagic   = "LGRP"
	groupVersion = 0
)

// same reports whether two states of a segment are one: objects are immutable and
// names are never used again.
func (s *Segment) same(o *Segment) bool {
	return s.SplitKey == o.SplitKey && s.Deleted == o.Deleted && slices.EqualFunc(s.Fragments, o.Fragments, func(a, b Fragment) bool {
		return a.Deleted == b.Deleted && (a.Deletion == nil) == (b.Deletion == nil) && (a.Deletion == nil || a.Deletion.Key == b.Deletion.Key)
	})
}

// regroup keeps the groups whose segments are all in the version, unchanged, and
// returns the segments of no kept group, in order.
func regroup(groups []Group, segments []Segment) (kept []Group, loose []Segment) {
	at := make(map[uint64]*Segment, len(segments))
	for i := range segments {
		at[segments[i].first()] = &segments[i]
	}
	for _, g := range groups {
		ok := true
		for i := range g.list {
			s := at[g.list[i].first()]
			ok = ok && s != nil && s.same(&g.list[i])
		}
		if ok {
			kept = append(kept, g)
		}
	}
	grouped := grouped(kept)
	for i := range segments {
		if !grouped[segments[i].first()] {
			loose = append(loose, segments[i])
		}
	}
	return kept, loose
}

// grouped are the first fragments of the groups' segments.
func grouped(groups []Group) map[uint64]bool {
	out := map[uint64]bool{}
	for i := range groups {
		for _, s := range groups[i].list {
			out[s.first()] = true
		}
	}
	return out
}

// writeGroups gives the version the groups of its base that did not change, and
// new ones for segments that would be too many in the root.
func (c *Collection) writeGroups(ctx context.Context, base, m *Manifest) error {
	kept, loose := regroup(base.Groups, m.Segments)
	for upTo(loose, maxInline) > 0 {
		n := upTo(loose, groupSize)
		g := newGroup(slices.Clone(loose[:n]))
		loose = loose[n:]
		body, err := encodeGroup(c.origin.ID, g.list)
		if err != nil {
			return err
		}
		g.Key = groupKey(c.origin, c.deps.IDs.ULID())
		info, err := c.deps.Objects.Put(ctx, g.Key, body, object.PutOptions{})
		if err != nil {
			return err
		}
		g.Size, g.Checksum = info.Size, info.Checksum
		kept = append(kept, g)
	}
	m.Groups = kept
	return nil
}

// upTo is the number of first segments that have so many fragments; 0 when all have fewer.
func upTo(list []Segment, fragments int) int {
	for i := range list {
		if fragments -= len(list[i].Fragments); fragments <= 0 {
			return i + 1
		}
	}
	return 0
}

// newGroup sums the segments up.
func newGroup(list []Segment) Group {
	g := Group{Segments: len(list), list: list}
	for i := range list {
		s := &list[i]
		g.Rows += int64(s.Rows)
		g.Live += int64(s.Live())
		g.Bytes += s.Bytes
		if i == 0 {
			g.Range = s.Range
		} else {
			g.Range = g.Range.join(s.Range)
		}
	}
	return g
}

// encodeGroup writes "LGRP", version u16, 0 u16, xxh3 of the JSON u64, JSON.
func encodeGroup(objectID uint64, list []Segment) ([]byte, error) {
	body, err := json.Marshal(groupBody{Object: objectID, Segments: list})
	if err != nil {
		return nil, fail.Wrap(fail.Internal, err, "manifest group")
	}
	return frame(groupMagic, groupVersion, body), nil
}

// decodeGroup reads what encodeGroup wrote; name is for errors.
func decodeGroup(name string, objectID uint64, b []byte) ([]Segment, error) {
	var g groupBody
	if err := unframe("manifest group", name, groupMagic, groupVersion, b, &g); err != nil {
		return nil, err
	}
	if g.Object != objectID {
		return nil, fail.New(fail.Corrupt, "manifest group %s is of object %d, not of %d", name, g.Object, objectID)
	}
	return g.Segments, checkSegments("manifest group", name, g.Segments)
}

// frame puts magic, version and checksum before a JSON text.
func frame(magic string, version uint16, body []byte) []byte {
	b := binary.LittleEndian.AppendUint16([]byte(magic), version)
	b = append(b, 0, 0)
	b = binary.LittleEndian.AppendUint64(b, xxh3.Hash(body))
	return append(b, body...)
}

// unframe checks what frame wrote and reads the JSON into v.
func unframe(what, name, magic string, version uint16, b []byte, v any) error {
	if len(b) < manifestHead || string(b[:4]) != magic {
		return fail.New(fail.Corrupt, "%s %s does not begin with %q", what, name, magic)
	}
	if got := binary.LittleEndian.Uint16(b[4:]); got != version {
		return fail.New(fail.Unsupported, "%s %s has version %d, which this Loam does not know", what, name, got)
	}
	if b[6] != 0 || b[7] != 0 {
		return fail.New(fail.Corrupt, "%s %s: the reserved bytes of its header are not zero", what, name)
	}
	if xxh3.Hash(b[manifestHead:]) != binary.LittleEndian.Uint64(b[8:]) {
		return fail.New(fail.Corrupt, "%s %s: checksum", what, name)
	}
	if err := json.Unmarshal(b[manifestHead:], v); err != nil {
		return fail.New(fail.Corrupt, "%s %s: %v", what, name, err)
	}
	return nil
}

// loadGroups reads the groups of a root that are not among the known ones, and
// adds their segments to the root's own, by first fragment.
func (m *Manifest) loadGroups(ctx context.Context, store object.Store, known []Group) error {
	err := together(len(m.Groups), func(i int) error { return m.loadGroup(ctx, store, known, &m.Groups[i]) })
	if err != nil || len(m.Groups) == 0 {
		return err
	}
	for i := range m.Groups {
		m.Segments = append(m.Segments, m.Groups[i].list...)
	}
	slices.SortFunc(m.Segments, func(a, b Segment) int { return cmp.Compare(a.first(), b.first()) })
	seen := map[uint64]bool{}
	for i := range m.Segments {
		for _, f := range m.Segments[i].Fragments {
			if seen[f.ID] {
				return fail.New(fail.Corrupt, "version %d of object %d has fragment %d twice", m.Version, m.Object, f.ID)
			}
			seen[f.ID] = true
		}
	}
	return nil
}

func (m *Manifest) loadGroup(ctx context.Context, store object.Store, known []Group, g *Group) error {
	for i := range known {
		if k := &known[i]; k.Key == g.Key && k.Checksum == g.Checksum {
			g.list = k.list
			return nil
		}
	}
	b, err := store.Get(ctx, g.Key)
	if err != nil {
		return err
	}
	if xxh3.Hash(b) != g.Checksum {
		return fail.New(fail.Corrupt, "manifest group %s is not the one that version %d of object %d names: checksum", g.Key, m.Version, m.Object)
	}
	if g.list, err = decodeGroup(g.Key, m.Object, b); err != nil {
		return err
	}
	if len(g.list) != g.Segments {
		return fail.New(fail.Corrupt, "manifest group %s has %d segments, version %d of object %d says %d", g.Key, len(g.list), m.Version, m.Object, g.Segments)
	}
	return nil
}

// inline are the segments that lie in the root.
func (m *Manifest) inline() []Segment {
	if len(m.Groups) == 0 {
		return m.Segments
	}
	in := grouped(m.Groups)
	out := []Segment{}
	for i := range m.Segments {
		if !in[m.Segments[i].first()] {
			out = append(out, m.Segments[i])
		}
	}
	return out
}
