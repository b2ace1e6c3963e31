package collection

import (
	"context"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/vec"
	"github.com/loamdb/loam/storage/internal/source"
)

// find locates the live rows of keys; a key without one has a nil view.
func (s *Snapshot) find(ctx context.Context, keys []string) ([]scored, error) {
	at := make(map[string][]int, len(keys))
	for i, k := range keys {
		at[k] = append(at[k], i)
	}
	out := make([]scored, len(keys))
	put := func(v *view, key string, row int) {
		for _, i := range at[key] {
			out[i] = scored{view: v, row: uint32(row)}
		}
	}
	for _, v := range s.views {
		if err := v.findKeys(ctx, at, put); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (v *view) findKeys(ctx context.Context, want map[string][]int, put func(*view, string, int)) error {
	for k := range want {
		row, ok, err := v.rowOf(ctx, k)
		if err != nil {
			return err
		}
		if ok {
			put(v, k, int(row))
		}
	}
	return nil
}

// Patch makes log rows that change some fields of documents: values has one
// vector a field with a row a key, nil where the field keeps its value. All keys
// must be live in the snapshot, and key fields do not change. The rows are for
// [Collection.AppendIf] with the snapshot.
func (s *Snapshot) Patch(ctx context.Context, keys []string, values []*vec.Vector) (*Rows, error) {
	n := len(keys)
	for i := range s.obj.Fields {
		if values[i] == nil {
			continue
		}
		if err := checkColumn(s.obj, i, values[i], n); err != nil {
			return nil, err
		}
	}
	at, err := s.find(ctx, keys)
	if err != nil {
		return nil, err
	}
	for i := range at {
		if at[i].view == nil {
			return nil, fail.New(fail.InvalidParameter, "row %d: %s has no document with the key %q", i+1, s.obj.Name, keys[i]).
				WithHint("A patch changes documents that exist; use upsert for new ones.")
		}
	}
	search := &Search{snap: s}
	docs, err := search.gather(ctx, sourceRef, at)
	if err != nil {
		return nil, err
	}
	r := &Rows{Cols: make([]*vec.Vector, len(s.obj.Fields)), built: s.obj}
	set := setOf(s.obj, values)
	for _, f := range vectorFields(s.obj) {
		if r.Cols[f] = values[f]; values[f] == nil {
			if r.Cols[f], err = search.gather(ctx, fieldRef(s.obj, f), at); err != nil {
				return nil, err
			}
		}
	}
	x := source.NewExtractor(s.obj)
	for i := range keys {
		doc := docs.Strings.Bytes(i)
		if set == 0 {
			if doc, err = x.Patch(docs.Strings.At(i), values, i); err != nil {
				return nil, rowError(err, i)
			}
		}
		r.Keys = append(r.Keys, keys[i])
		r.Sources = append(r.Sources, doc)
		r.Delete = append(r.Delete, false)
		r.sets = append(r.sets, set)
	}
	return r, nil
}

// UpdateTable makes log rows that replace table rows by copies with some fields
// changed; the copies get new identities in the partitions of the rows.
func (s *Snapshot) UpdateTable(ctx context.Context, ids []Identity, values []*vec.Vector) (*Rows, error) {
	if !s.obj.Kind.Tabular() {
		return nil, fail.Bug("%s is a %s", s.obj.Name, s.obj.Kind)
	}
	keys := make([]string, len(ids))
	for i, id := range ids {
		keys[i] = id.key()
	}
	at, err := s.find(ctx, keys)
	if err != nil {
		return nil, err
	}
	for i := range at {
		if at[i].view == nil {
			return nil, fail.Bug("row %d of partition %d of %s is not in the snapshot", ids[i].Offset, ids[i].Partition, s.obj.Name)
		}
	}
	search := &Search{snap: s}
	cols := make([]*vec.Vector, len(s.obj.Fields))
	for f := range s.obj.Fields {
		if cols[f] = values[f]; cols[f] == nil {
			if cols[f], err = search.gather(ctx, fieldRef(s.obj, f), at); err != nil {
				return nil, err
			}
		}
	}
	r, err := FromColumns(s.obj, cols, len(ids))
	if err != nil {
		return nil, err
	}
	r.Gone, r.To = ids, make([]int32, len(ids))
	for i, id := range ids {
		r.To[i] = id.Partition
	}
	return r, nil
}
