package metastore

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/loamdb/loam/internal/fail"
)

// maxTagsRow bounds the row of an object's tags, in bytes.
const maxTagsRow = MaxValueBytes

func checkTag(req TagRequest) error {
	t := req.Tag
	if err := checkName("tag", t.Name); err != nil {
		return err
	}
	switch {
	case len(t.Comment) > MaxTagComment:
		return fail.New(fail.TooLarge, "the comment of tag %q is %d bytes long, the limit is %d", t.Name, len(t.Comment), MaxTagComment)
	case req.Limit < 0 || req.Limit > MaxTags:
		return fail.New(fail.InvalidParameter, "an object can have %d tags at most, not %d", MaxTags, req.Limit)
	case t.Version == 0 || t.ManifestKey == "" || len(t.Applied) > MaxPartitions:
		return fail.Bug("a tag of version %d, manifest %q, with %d partitions", t.Version, t.ManifestKey, len(t.Applied))
	}
	return nil
}

func (s *db) CreateTag(ctx context.Context, req TagRequest) (Tag, error) {
	if err := checkTag(req); err != nil {
		return Tag{}, err
	}
	if req.Limit == 0 {
		req.Limit = MaxTags
	}
	tag := req.Tag
	tag.ID, tag.Applied, tag.Exclusive = s.ids.ULID(), slices.Clone(tag.Applied), -1
	err := s.update(ctx, "create_tag", func(t *tx) error {
		if err := t.load(headKey(req.ObjectID), tagsKey(req.ObjectID), keyClock); err != nil {
			return err
		}
		head, tags, err := tagged(t, req.ObjectID)
		if err != nil {
			return err
		}
		if i := findTag(tags, tag.Name); i >= 0 && tags[i].ID == tag.ID {
			tag = tags[i] // our own earlier try
			return nil
		}
		if err := mayTag(head, tags, req); err != nil {
			return err
		}
		now, err := s.stamp(t)
		if err != nil {
			return err
		}
		tag.CreatedMS = now / 1000
		return putTags(t, req.ObjectID, append(tags, tag))
	})
	if err != nil {
		return Tag{}, err
	}
	return tag, nil
}

// tagged decodes the loaded head and tags of an object and makes the write
// depend on both.
func tagged(t *tx, objectID uint64) (headRow, []Tag, error) {
	r, ok := t.get(headKey(objectID))
	if !ok {
		return headRow{}, nil, errNoObject(objectID)
	}
	head, err := decodeHead(r)
	if err != nil {
		return head, nil, err
	}
	tags, err := loadTags(t, objectID)
	return head, tags, err
}

// loadTags decodes the loaded tags of an object and makes the write depend on them.
func loadTags(t *tx, objectID uint64) ([]Tag, error) {
	r, ok := t.get(tagsKey(objectID))
	if !ok {
		return nil, nil
	}
	return decodeTags(r)
}

// mayTag decides whether the tag can be added.
func mayTag(head headRow, tags []Tag, req TagRequest) error {
	v := req.Tag.Version
	other := slices.IndexFunc(tags, func(t Tag) bool { return t.Version == v })
	switch {
	case head.Incarnation != req.Incarnation:
		return errNoObject(req.ObjectID)
	case findTag(tags, req.Tag.Name) >= 0:
		return fail.New(fail.DuplicateObject, "tag %q already exists", req.Tag.Name).
			WithHint("A tag never moves: drop it first, or choose another name.")
	case len(tags) >= req.Limit:
		return fail.New(fail.TooLarge, "the object has %s, and no more are allowed", fail.Count(len(tags), "tag")).
			WithHint("Drop a tag that is no longer needed.")
	case v > head.Head.Version:
		return fail.New(fail.OutOfRange, "object %d is at version %d, there is no version %d to tag", req.ObjectID, head.Head.Version, v)
	case v < head.Head.Oldest && other < 0:
		return fail.New(fail.SnapshotExpired, "version %d is no longer kept; the oldest that is has number %d", v, head.Head.Oldest)
	}
	return nil
}

func findTag(tags []Tag, name string) int {
	return slices.IndexFunc(tags, func(t Tag) bool { return fold(t.Name) == fold(name) })
}

// putTags writes the tags by name; without any there is no row.
func putTags(t *tx, objectID uint64, tags []Tag) error {
	if len(tags) == 0 {
		t.del(tagsKey(objectID))
		return nil
	}
	slices.SortFunc(tags, func(a, b Tag) int { return strings.Compare(fold(a.Name), fold(b.Name)) })
	row := encodeTags(tags)
	if len(row) > maxTagsRow {
		return fail.New(fail.TooLarge, "the object's tags take %d bytes, the limit is %d", len(row), maxTagsRow).
			WithHint("Drop a tag that is no longer needed, or write shorter comments.")
	}
	t.put(tagsKey(objectID), row)
	return nil
}

func (s *db) DropTag(ctx context.Context, objectID uint64, name, id string) (Tag, error) {
	var dropped Tag
	err := s.update(ctx, "drop_tag", func(t *tx) error {
		if err := t.load(headKey(objectID), tagsKey(objectID)); err != nil {
			return err
		}
		if _, ok := t.peek(headKey(objectID)); !ok {
			return errNoObject(objectID)
		}
		tags, err := loadTags(t, objectID)
		if err != nil {
			return err
		}
		i := findTag(tags, name)
		switch {
		case i >= 0 && (id == "" || tags[i].ID == id) && (dropped.ID == "" || dropped.ID == tags[i].ID):
		case t.maybe && dropped.ID != "":
			return nil // our own earlier try
		default:
			return fail.New(fail.UndefinedTag, "tag %q does not exist", name)
		}
		dropped = tags[i]
		return putTags(t, objectID, slices.Delete(tags, i, i+1))
	})
	if err != nil {
		return Tag{}, err
	}
	return dropped, nil
}

func (s *db) Tags(ctx context.Context, objectID uint64) ([]Tag, error) {
	root, err := s.Root(ctx, objectID)
	return root.Tags, err
}

// unprotected refuses to drop an object with a protected tag, whose row is loaded.
func unprotected(t *tx, o Object) error {
	tags, err := loadTags(t, o.ID)
	if err != nil {
		return err
	}
	for _, tag := range tags {
		if tag.Protect {
			return fail.New(fail.Dependents, "%s %q has the protected tag %q", cmp.Or(o.Kind, "object"), o.Name, tag.Name).
				WithHint("Drop the tag first.")
		}
	}
	return nil
}
