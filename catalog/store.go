package catalog

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/metastore"
)

// Catalog reads and changes names and descriptions in a metastore. It implements
// [Reader]. Safe for concurrent use. Every read asks the metastore; only the
// decoded form of a row that has not changed is kept.
type Catalog struct {
	meta metastore.Store

	mu      sync.Mutex // guards the field below
	decoded map[uint64]*schema.Object
}

// maxDecoded bounds the kept descriptions; beyond it they are all dropped.
const maxDecoded = 4096

// New returns the catalog of a metastore.
func New(meta metastore.Store) *Catalog {
	return &Catalog{meta: meta, decoded: map[uint64]*schema.Object{}}
}

// describe is decode, once per object and schema version.
func (c *Catalog) describe(row metastore.Object) (*schema.Object, error) {
	c.mu.Lock()
	o := c.decoded[row.ID]
	c.mu.Unlock()
	if o != nil && o.Incarnation == row.Incarnation && o.SchemaVersion == row.SchemaVersion && o.Name == row.Name && o.Namespace == row.Namespace {
		return o, nil
	}
	o, err := decode(row)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.decoded) >= maxDecoded {
		clear(c.decoded)
	}
	c.decoded[row.ID] = o
	return o, nil
}

// definition is the JSON of an object's description in the metastore.
type definition struct {
	Key     []int             `json:"key,omitempty"`
	Fields  []field           `json:"fields"`
	Dynamic bool              `json:"dynamic,omitempty"`
	RouteBy int32             `json:"route_by,omitempty"`
	Options map[string]string `json:"options,omitempty"`
	View    *view             `json:"view,omitempty"`
	Link    *link             `json:"link,omitempty"`
	// LastField is absent where it is the largest id of the fields.
	LastField int32 `json:"last_field,omitempty"`
}

// view is the JSON of a view's query.
type view struct {
	Text      string `json:"text"`
	Namespace string `json:"namespace"`
	Uses      []use  `json:"uses,omitempty"`
}

type use struct {
	Name   string           `json:"name"`
	ID     uint64           `json:"id"`
	Fields map[int32]string `json:"fields,omitempty"`
}

type field struct {
	ID       int32  `json:"id"`
	Name     string `json:"name"`
	Type     string `json:"type"`
	NotNull  bool   `json:"not_null,omitempty"`
	FullText string `json:"fulltext,omitempty"`
	Metric   string `json:"metric,omitempty"`
	Modifier string `json:"modifier,omitempty"`
	MaxChars int32  `json:"max_chars,omitempty"`
	Default  string `json:"default,omitempty"`
}

func encode(o *schema.Object) ([]byte, error) {
	d := definition{Key: o.Key, Dynamic: o.Dynamic, RouteBy: o.RouteBy, Options: o.Options}
	for _, f := range o.Fields {
		d.Fields = append(d.Fields, field{ID: f.ID, Name: f.Name, Type: f.Type.String(), NotNull: f.NotNull,
			FullText: f.FullText, Metric: string(f.Metric), Modifier: f.Modifier, MaxChars: f.MaxChars, Default: f.Default})
	}
	if d.LastField = o.LastField; d.LastField == largestID(o) {
		d.LastField = 0
	}
	if o.Link != nil {
		d.Link = encodeLink(o.Link)
	}
	if q := o.Query; q != nil {
		d.View = &view{Text: q.Text, Namespace: q.Namespace}
		for _, u := range q.Uses {
			d.View.Uses = append(d.View.Uses, use(u))
		}
	}
	b, err := json.Marshal(d)
	if err == nil && len(b) > metastore.MaxValueBytes {
		return nil, fail.New(fail.TooLarge, "the definition of %s takes %d bytes; the limit is %d", o.Name, len(b), metastore.MaxValueBytes)
	}
	return b, fail.Wrap(fail.Internal, err, "definition of %s", o.Name)
}

func largestID(o *schema.Object) int32 {
	last := int32(0)
	for _, f := range o.Fields {
		last = max(last, f.ID)
	}
	return last
}

func decode(row metastore.Object) (*schema.Object, error) {
	var d definition
	if err := json.Unmarshal(row.Definition, &d); err != nil {
		return nil, fail.New(fail.Corrupt, "definition of object %d (%s.%s): %v", row.ID, row.Namespace, row.Name, err)
	}
	o := &schema.Object{
		ID: row.ID, Namespace: row.Namespace, Name: row.Name, Kind: schema.Kind(row.Kind), Incarnation: row.Incarnation,
		SchemaVersion: row.SchemaVersion, Partitions: row.Partitions, Key: d.Key, Dynamic: d.Dynamic, RouteBy: d.RouteBy, Options: d.Options,
	}
	for _, f := range d.Fields {
		t, ok := types.Parse(f.Type)
		if !ok {
			return nil, fail.New(fail.Unsupported, "field %q of %s has the type %q, which this Loam does not know", f.Name, row.Name, f.Type)
		}
		o.Fields = append(o.Fields, schema.Field{ID: f.ID, Name: f.Name, Type: t, NotNull: f.NotNull,
			FullText: f.FullText, Metric: schema.Metric(f.Metric), Modifier: f.Modifier, MaxChars: f.MaxChars, Default: f.Default})
	}
	o.LastField = max(d.LastField, largestID(o))
	if v := d.View; v != nil {
		o.Query = &schema.ViewQuery{Text: v.Text, Namespace: v.Namespace}
		for _, u := range v.Uses {
			o.Query.Uses = append(o.Query.Uses, schema.Use(u))
		}
	}
	if d.Link != nil {
		o.Link = d.Link.decode()
	}
	if (o.Kind == schema.Link) != (o.Link != nil) {
		return nil, fail.New(fail.Corrupt, "definition of object %d (%s.%s): a %s that says what a link does: %t", row.ID, row.Namespace, row.Name, o.Kind, o.Link != nil)
	}
	if (o.Kind == schema.View || o.Kind == schema.Link) != (o.Query != nil) {
		return nil, fail.New(fail.Corrupt, "definition of object %d (%s.%s): a %s whose query is there: %t", row.ID, row.Namespace, row.Name, o.Kind, o.Query != nil)
	}
	for _, k := range o.Key {
		if k < 0 || k >= len(o.Fields) {
			return nil, fail.New(fail.Corrupt, "definition of object %d: key field %d of %d", row.ID, k, len(o.Fields))
		}
	}
	return o, nil
}

// Lookup implements Reader.
func (c *Catalog) Lookup(ctx context.Context, namespace, name Name) (*schema.Object, error) {
	row, err := c.meta.GetObject(ctx, namespace.Text, name.Text)
	switch {
	case fail.Is(err, fail.UndefinedNamespace):
		return nil, c.noNamespace(ctx, namespace.Text)
	case fail.Is(err, fail.UndefinedTable):
		return nil, c.noObject(ctx, namespace.Text, name.Text)
	case err != nil:
		return nil, err
	}
	if name.Quoted && row.Name != name.Text {
		return nil, fail.New(fail.UndefinedTable, "there is no object %q in namespace %s", name.Text, row.Namespace).
			WithHint("Quoted names match exactly; did you mean %q?", row.Name)
	}
	if namespace.Quoted && row.Namespace != namespace.Text {
		return nil, fail.New(fail.UndefinedNamespace, "there is no namespace %q", namespace.Text).
			WithHint("Quoted names match exactly; did you mean %q?", row.Namespace)
	}
	return c.describe(row)
}

func (c *Catalog) noNamespace(ctx context.Context, name string) error {
	e := fail.New(fail.UndefinedNamespace, "there is no namespace %q", name)
	if list, err := c.Namespaces(ctx); err == nil {
		if near := fail.Closest(name, Names(list)); near != "" {
			return e.WithHint("Did you mean %q?", near)
		}
	}
	return e.WithHint("SHOW NAMESPACES lists them; CREATE NAMESPACE %s makes one.", name)
}

func (c *Catalog) noObject(ctx context.Context, namespace, name string) error {
	e := fail.New(fail.UndefinedTable, "there is no collection, table or view %q in namespace %s", name, namespace)
	rows, err := c.meta.ListObjects(ctx, namespace)
	if err != nil {
		return e
	}
	names := make([]string, len(rows))
	for i, r := range rows {
		names[i] = r.Name
	}
	if near := fail.Closest(name, names); near != "" {
		return e.WithHint("Did you mean %q?", near)
	}
	return e.WithHint("SHOW TABLES lists what there is.")
}

// ByID finds an object by id.
func (c *Catalog) ByID(ctx context.Context, id uint64) (*schema.Object, error) {
	row, err := c.meta.GetObjectByID(ctx, id)
	if err != nil {
		return nil, err
	}
	return c.describe(row)
}

// Objects implements Reader.
func (c *Catalog) Objects(ctx context.Context, namespace string) ([]*schema.Object, error) {
	rows, err := c.meta.ListObjects(ctx, namespace)
	if err != nil {
		return nil, err
	}
	out := make([]*schema.Object, 0, len(rows))
	for _, r := range rows {
		o, err := c.describe(r)
		if err != nil {
			return nil, err
		}
		out = append(out, o)
	}
	slices.SortFunc(out, func(a, b *schema.Object) int {
		if d := strings.Compare(strings.ToLower(a.Namespace), strings.ToLower(b.Namespace)); d != 0 {
			return d
		}
		return strings.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name))
	})
	return out, nil
}

// Create adds an object; its field ids are assigned here. The description with
// its id comes back.
func (c *Catalog) Create(ctx context.Context, o *schema.Object) (*schema.Object, error) {
	return c.Change(ctx, Change{Create: o})
}

// Drop removes an object.
func (c *Catalog) Drop(ctx context.Context, id uint64) error { return c.meta.DropObject(ctx, id) }

// Revision grows with every change of the catalog.
func (c *Catalog) Revision(ctx context.Context) (uint64, error) { return c.meta.CatalogRevision(ctx) }

// AddFields appends fields to an object's schema and returns the newest
// description. Names that exist already, because another writer was first, are
// passed over.
func (c *Catalog) AddFields(ctx context.Context, o *schema.Object, fields []schema.Field) (*schema.Object, error) {
	for {
		k := *o
		k.Fields = slices.Clone(o.Fields)
		next := max(o.LastField, largestID(o))
		for _, f := range fields {
			if have, _ := k.FieldByName(f.Name, true); have == nil {
				next++
				f.ID = next
				k.Fields = append(k.Fields, f)
			}
		}
		k.LastField = next
		if len(k.Fields) == len(o.Fields) {
			return o, nil
		}
		def, err := encode(&k)
		if err != nil {
			return nil, err
		}
		row, err := c.meta.UpdateObject(ctx, o.ID, o.SchemaVersion, def)
		if err == nil {
			return c.describe(row)
		}
		if !fail.Is(err, fail.Conflict) {
			return nil, err
		}
		if o, err = c.ByID(ctx, o.ID); err != nil {
			return nil, err
		}
	}
}
