package catalog

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/metastore"
)

// Namespace is a namespace as it is declared.
type Namespace struct {
	Name    string
	Objects int // in it now
	// Options are those of its WITH, as they were written.
	Options map[string]string
}

// space is the JSON of a namespace's definition in the metastore. A namespace without
// options has none.
type space struct {
	Options map[string]string `json:"options"`
}

func encodeOptions(options map[string]string) ([]byte, error) {
	if len(options) == 0 {
		return nil, nil
	}
	b, err := json.Marshal(space{options})
	return b, fail.Wrap(fail.Internal, err, "the options of a namespace")
}

func decodeNamespace(row metastore.Namespace) (Namespace, error) {
	ns := Namespace{Name: row.Name, Objects: row.Objects, Options: map[string]string{}}
	if len(row.Definition) == 0 {
		return ns, nil
	}
	var s space
	if err := json.Unmarshal(row.Definition, &s); err != nil {
		return ns, fail.New(fail.Corrupt, "definition of namespace %s: %v", row.Name, err)
	}
	maps.Copy(ns.Options, s.Options)
	return ns, nil
}

// Namespaces implements Reader.
func (c *Catalog) Namespaces(ctx context.Context) ([]Namespace, error) {
	rows, err := c.meta.ListNamespaces(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]Namespace, len(rows))
	for i, row := range rows {
		if out[i], err = decodeNamespace(row); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Names are the names of namespaces.
func Names(list []Namespace) []string {
	out := make([]string, len(list))
	for i, n := range list {
		out[i] = n.Name
	}
	return out
}

// CreateNamespace makes a namespace and reports whether it is new; one that is there
// keeps its options. Reserved names are refused.
func (c *Catalog) CreateNamespace(ctx context.Context, name string, options map[string]string) (bool, error) {
	if slices.Contains(Reserved, strings.ToLower(name)) {
		return false, fail.New(fail.InvalidParameter, "%q is a reserved namespace", name).WithHint("Choose another name.")
	}
	def, err := encodeOptions(options)
	if err != nil {
		return false, err
	}
	return c.meta.CreateNamespace(ctx, name, def)
}

// SetNamespace changes the options of a namespace by change, which may be called again
// when another was faster. Errors: those of change; UndefinedNamespace.
func (c *Catalog) SetNamespace(ctx context.Context, name string, change func(options map[string]string) error) error {
	for {
		rows, err := c.meta.ListNamespaces(ctx)
		if err != nil {
			return err
		}
		at := slices.IndexFunc(rows, func(n metastore.Namespace) bool { return strings.EqualFold(n.Name, name) })
		if at < 0 {
			return c.noNamespace(ctx, name)
		}
		ns, err := decodeNamespace(rows[at])
		if err != nil {
			return err
		}
		if err := change(ns.Options); err != nil {
			return err
		}
		def, err := encodeOptions(ns.Options)
		if err != nil {
			return err
		}
		if err := c.meta.UpdateNamespace(ctx, ns.Name, rows[at].Definition, def); !fail.Is(err, fail.Conflict) {
			return err
		}
	}
}

// IsDefault reports whether a namespace is the default one, which stays.
func IsDefault(namespace string) bool { return strings.EqualFold(namespace, DefaultNamespace) }

// DropNamespace removes an empty namespace.
func (c *Catalog) DropNamespace(ctx context.Context, name string) error {
	if IsDefault(name) {
		return fail.New(fail.InvalidParameter, "namespace %s is the default one and stays", DefaultNamespace)
	}
	return c.meta.DropNamespace(ctx, name)
}
