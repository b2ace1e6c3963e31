package loam

import (
	"context"

	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/internal/snapshot"
	"github.com/loamdb/loam/internal/vec"
	"github.com/loamdb/loam/storage/collection"
)

// patch changes the given fields of documents that exist; the key column names them.
func patch(ctx context.Context, c *collection.Collection, obj *schema.Object, cols []*vec.Vector, n int) (snapshot.Token, error) {
	keys, err := collection.KeysOf(obj, cols, n)
	if err != nil {
		return snapshot.Token{}, err
	}
	for _, k := range obj.Key {
		cols[k] = nil // names the document, does not change it
	}
	snap, err := c.Strong(ctx)
	if err != nil {
		return snapshot.Token{}, err
	}
	rows, err := snap.Patch(ctx, keys, cols)
	if err != nil {
		return snapshot.Token{}, err
	}
	return c.AppendIf(ctx, rows, snap)
}
