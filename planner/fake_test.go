package planner_test

import (
	"context"
	"strings"

	"github.com/loamdb/loam/catalog"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/internal/types"
)

// fakeCatalog serves objects from memory.
type fakeCatalog struct {
	namespaces []string
	objects    []*schema.Object
}

func matches(n catalog.Name, name string) bool {
	return n.Text == name || !n.Quoted && strings.EqualFold(n.Text, name)
}

func (c *fakeCatalog) Lookup(_ context.Context, ns, obj catalog.Name) (*schema.Object, error) {
	known := false
	for _, n := range c.namespaces {
		known = known || matches(ns, n)
	}
	if !known {
		return nil, suggest(fail.New(fail.UndefinedNamespace, "namespace %q does not exist", ns.Text), ns.Text, c.namespaces)
	}
	var names []string
	for _, o := range c.objects {
		if matches(ns, o.Namespace) && matches(obj, o.Name) {
			return o, nil
		}
		names = append(names, o.Name)
	}
	return nil, suggest(fail.New(fail.UndefinedTable, "table %q does not exist", obj.Text), obj.Text, names)
}

func suggest(e *fail.Error, name string, names []string) error {
	if near := fail.Closest(name, names); near != "" {
		return e.WithHint("Did you mean %q?", near)
	}
	return e
}

func (c *fakeCatalog) ByID(_ context.Context, id uint64) (*schema.Object, error) {
	for _, o := range c.objects {
		if o.ID == id {
			return o, nil
		}
	}
	return nil, fail.New(fail.UndefinedTable, "object %d does not exist", id)
}

func (c *fakeCatalog) Namespaces(context.Context) ([]catalog.Namespace, error) {
	var out []catalog.Namespace
	for _, n := range c.namespaces {
		out = append(out, catalog.Namespace{Name: n, Options: map[string]string{}})
	}
	return out, nil
}

func (c *fakeCatalog) Objects(_ context.Context, ns string) ([]*schema.Object, error) {
	var out []*schema.Object
	for _, o := range c.objects {
		if ns == "" || o.Namespace == ns {
			out = append(out, o)
		}
	}
	return out, nil
}

var textType = types.Of(types.Text)

// fakeFiles gives every file two fields.
type fakeFiles struct{}

func (fakeFiles) FileSchema(_ context.Context, scan *plan.FileScan) ([]schema.Field, error) {
	paths := scan.Paths
	if strings.Contains(paths[0], "missing") {
		return nil, fail.New(fail.UndefinedTable, "file %q does not exist", paths[0])
	}
	return []schema.Field{{Name: "a", Type: types.Of(types.Int64)}, {Name: "b", Type: textType}}, nil
}
