package collection

import (
	"context"
	"slices"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/vec"
)

// Has reports which of the keys have a live row in the snapshot.
func (s *Snapshot) Has(ctx context.Context, keys []string) ([]bool, error) {
	at, err := s.find(ctx, keys)
	if err != nil {
		return nil, err
	}
	out := make([]bool, len(keys))
	for i := range at {
		out[i] = at[i].view != nil
	}
	return out, nil
}

// Concat joins two batches of documents that were built for one version of a
// collection's schema and have no key in common.
func Concat(a, b *Rows) (*Rows, error) {
	if a.built == nil || b.built == nil || a.built.SchemaVersion != b.built.SchemaVersion {
		return nil, fail.New(fail.Conflict, "the columns changed meanwhile")
	}
	out := &Rows{
		Keys: slices.Concat(a.Keys, b.Keys), Sources: slices.Concat(a.Sources, b.Sources),
		Delete: slices.Concat(a.Delete, b.Delete), Cols: make([]*vec.Vector, len(a.Cols)), built: a.built,
	}
	for _, r := range []*Rows{a, b} {
		for i := range r.Keys {
			out.sets = append(out.sets, setAt(r.sets, i))
		}
	}
	for i := range out.Cols {
		if a.Cols[i] == nil && b.Cols[i] == nil {
			continue
		}
		v := vec.New(out.built.Fields[i].Type, len(out.Keys))
		for _, part := range []*Rows{a, b} {
			if c := part.Cols[i]; c != nil {
				v.AppendRows(c.Flatten(), nil, len(part.Keys))
				continue
			}
			for range part.Keys {
				v.AppendNull()
			}
		}
		out.Cols[i] = v
	}
	return out, nil
}
