package metastore

import (
	"bytes"
	"context"

	"github.com/loamdb/loam/internal/fail"
)

// updateHead changes the head row of an object.
func (s *db) updateHead(ctx context.Context, name string, objectID uint64, fn func(*tx, *headRow) error) error {
	key := headKey(objectID)
	return s.update(ctx, name, func(t *tx) error {
		if err := t.load(key); err != nil {
			return err
		}
		r, ok := t.get(key)
		if !ok {
			return errNoObject(objectID)
		}
		h, err := decodeHead(r)
		if err != nil {
			return err
		}
		if err := fn(t, &h); err != nil {
			return err
		}
		putChanged(t, r, encodeHead(h))
		return nil
	})
}

// putChanged writes a row unless it has that value.
func putChanged(t *tx, r row, value []byte) {
	if !bytes.Equal(r.value, value) {
		t.put(r.key, value)
	}
}

func (s *db) BumpGCEpoch(ctx context.Context, objectID uint64) (uint64, error) {
	var epoch, from uint64
	err := s.updateHead(ctx, "bump_gc_epoch", objectID, func(t *tx, h *headRow) error {
		if t.maybe && h.Head.GCEpoch > from {
			// Our own earlier try, or another's since this call began: as good.
			epoch = h.Head.GCEpoch
			return nil
		}
		from = h.Head.GCEpoch
		epoch = from + 1
		h.Head.GCEpoch = epoch
		return nil
	})
	if err != nil {
		return 0, err
	}
	return epoch, nil
}

func (s *db) ReleaseManifests(ctx context.Context, objectID, oldest uint64) error {
	return s.updateHead(ctx, "release_manifests", objectID, func(_ *tx, h *headRow) error {
		if oldest > h.Head.Version {
			return fail.New(fail.OutOfRange, "object %d is at version %d, its versions below %d cannot be released",
				objectID, h.Head.Version, oldest)
		}
		h.Head.Oldest = max(h.Head.Oldest, oldest)
		return nil
	})
}

// CountBytes implements [Store].
func (s *db) CountBytes(ctx context.Context, objectID uint64, c Count) error {
	return s.update(ctx, "count_bytes", func(t *tx) error {
		if err := t.load(headKey(objectID), tagsKey(objectID)); err != nil {
			return err
		}
		h, tags, err := tagged(t, objectID)
		if err != nil {
			return err
		}
		h.Head.Freed, h.Head.TagBytes = max(h.Head.Freed, c.Freed), c.TagBytes
		r, _ := t.peek(headKey(objectID))
		putChanged(t, r, encodeHead(h))
		if len(tags) == 0 {
			return nil
		}
		for i := range tags {
			if n, ok := c.Tags[tags[i].ID]; ok {
				tags[i].Exclusive = n
			}
		}
		r, _ = t.peek(tagsKey(objectID))
		putChanged(t, r, encodeTags(tags))
		return nil
	})
}

func (s *db) Root(ctx context.Context, objectID uint64) (Root, error) {
	rows, rev, err := s.read(ctx, keySpan(headKey(objectID)), keySpan(tagsKey(objectID)))
	if err != nil {
		return Root{}, err
	}
	if len(rows[0]) == 0 {
		return Root{}, errNoObject(objectID)
	}
	return rootOf(objectID, append(rows[0], rows[1]...), rev)
}

// rootOf picks the rows of a root out of an object's rows, the head first.
func rootOf(id uint64, rows []row, rev int64) (Root, error) {
	if !isHeadKey(rows[0].key) {
		return Root{}, fail.New(fail.Corrupt, "object %d has metastore row %q and no head", id, rows[0].key)
	}
	h, err := decodeHead(rows[0])
	if err != nil {
		return Root{}, err
	}
	out := Root{ObjectID: id, Incarnation: h.Incarnation, Head: h.Head, Revision: rev}
	if last := rows[len(rows)-1]; isTagsKey(last.key) {
		out.Tags, err = decodeTags(last)
	}
	return out, err
}

func (s *db) Roots(ctx context.Context, fn func(Root) error) error {
	const page = 200
	for from := prefixData; ; {
		rows, _, err := s.read(ctx, span{from: from, to: prefixEnd(prefixData), limit: page})
		if err != nil {
			return err
		}
		// The page may end within an object, whose rows must be of one revision:
		// each object is read by itself, and the page tells which there are.
		last := uint64(0)
		for i, r := range rows[0] {
			id, ok := parseDataKey(r.key)
			if !ok {
				return fail.New(fail.Corrupt, "metastore row %q belongs to no object", r.key)
			}
			if i > 0 && id == last {
				continue
			}
			last = id
			if err := s.rootStill(ctx, id, fn); err != nil {
				return err
			}
		}
		if len(rows[0]) < page {
			return nil
		}
		from = prefixEnd(dataPrefix(last))
	}
}

// rootStill calls fn with the root of an object unless it has been dropped.
func (s *db) rootStill(ctx context.Context, id uint64, fn func(Root) error) error {
	root, err := s.Root(ctx, id)
	switch {
	case err == nil:
		return fn(root)
	case fail.Is(err, fail.UndefinedTable):
		return nil
	}
	return err
}
