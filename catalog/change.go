package catalog

import (
	"context"
	"slices"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/metastore"
)

// Change is a set of changes that take effect together or not at all.
type Change struct {
	// IfRevision, when set, is the revision that the change was decided on; another
	// one gives fail.Conflict.
	IfRevision *uint64
	// Drop are ids of objects.
	Drop []uint64
	// Update are new descriptions of objects, each with the id and the schema
	// version of the one that it replaces; the name may be another.
	Update []*schema.Object
	// Create is added after the drops. Its field ids are assigned.
	Create *schema.Object
	// Forget are links among Drop: how far they got is forgotten with them.
	Forget []*schema.Object
	// DropNamespace names a namespace that is empty after the drops.
	DropNamespace string
}

// Change applies a change and returns the description of what it creates, or nil.
func (c *Catalog) Change(ctx context.Context, ch Change) (*schema.Object, error) {
	if IsDefault(ch.DropNamespace) {
		return nil, fail.New(fail.InvalidParameter, "namespace %s is the default one and stays", DefaultNamespace)
	}
	m := metastore.CatalogChange{IfRevision: ch.IfRevision, Drop: ch.Drop, DropNamespace: ch.DropNamespace}
	for _, o := range ch.Forget {
		m.Forget = append(m.Forget, metastore.ProgressRow{Target: o.Link.Target, Link: o.ID})
	}
	for _, o := range ch.Update {
		def, err := encode(o)
		if err != nil {
			return nil, err
		}
		m.Update = append(m.Update, metastore.ObjectUpdate{ID: o.ID, ExpectSchemaVersion: o.SchemaVersion, Name: o.Name, Definition: def})
	}
	if ch.Create != nil {
		k := *ch.Create
		k.Fields = slices.Clone(k.Fields)
		for i := range k.Fields {
			k.Fields[i].ID = int32(i + 1)
		}
		k.LastField = int32(len(k.Fields))
		def, err := encode(&k)
		if err != nil {
			return nil, err
		}
		m.Create = &metastore.Object{Namespace: k.Namespace, Name: k.Name, Kind: string(k.Kind), Partitions: k.Partitions, Definition: def}
	}
	row, err := c.meta.ChangeCatalog(ctx, m)
	switch {
	case fail.Is(err, fail.UndefinedNamespace) && ch.Create != nil:
		return nil, c.noNamespace(ctx, ch.Create.Namespace)
	case err != nil || ch.Create == nil:
		return nil, err
	}
	return c.describe(row)
}

// Views lists the views that name one of the objects, by namespace and name.
func (c *Catalog) Views(ctx context.Context, ids ...uint64) ([]*schema.Object, error) {
	all, err := c.Objects(ctx, "")
	if err != nil {
		return nil, err
	}
	var out []*schema.Object
	for _, o := range all {
		if o.Kind == schema.View && slices.ContainsFunc(ids, o.Query.Reads) {
			out = append(out, o)
		}
	}
	return out, nil
}
