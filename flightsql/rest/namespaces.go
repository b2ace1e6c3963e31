package rest

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/loamdb/loam/catalog"
	"github.com/loamdb/loam/flightsql/internal/scan"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/schema"
)

func (a *api) namespaceRoutes() []endpoint {
	return []endpoint{
		{method: http.MethodGet, path: pathNamespaces, op: "listNamespaces", tag: "Namespaces", summary: "List the namespaces",
			answers: answersJSON("Namespaces", "The namespaces by name."), serve: a.listNamespaces},
		{method: http.MethodPost, path: pathNamespaces, op: "createNamespace", tag: "Namespaces", summary: "Create a namespace",
			body: jsonBody("NewNamespace"), answers: created("Namespace", "It is there."), serve: a.createNamespace},
		{method: http.MethodGet, path: pathNamespace, op: "describeNamespace", tag: "Namespaces", summary: "Describe a namespace",
			answers: answersJSON("Namespace", "What it holds."), serve: a.describeNamespace},
		{method: http.MethodDelete, path: pathNamespace, op: "dropNamespace", tag: "Namespaces", summary: "Drop an empty namespace",
			params: []param{ifExistsParam}, answers: gone, serve: a.dropNamespace},
	}
}

// namespaceJSON is a namespace and the names in it.
type namespaceJSON struct {
	Name        string   `json:"name"`
	Collections []string `json:"collections,omitempty"`
	Tables      []string `json:"tables,omitempty"`
	Streams     []string `json:"streams,omitempty"`
	Views       []string `json:"views,omitempty"`

	Options map[string]string `json:"options,omitempty"`
	// Storage is what it holds; only where one namespace is described.
	Storage *storageJSON `json:"storage,omitempty"`
}

// storageJSON is what a namespace holds, in bytes.
type storageJSON struct {
	Used         int64 `json:"used_bytes"`
	TagExclusive int64 `json:"tag_exclusive_bytes"`
	Quota        int64 `json:"quota_bytes,omitempty"`
}

func (a *api) listNamespaces(ctx context.Context, w *answer, _ *http.Request) error {
	list, err := a.engine.Catalog().Namespaces(ctx)
	if err != nil {
		return err
	}
	out := []namespaceJSON{}
	for _, n := range list {
		out = append(out, namespaceJSON{Name: n.Name, Options: n.Options})
	}
	return writeValue(w, http.StatusOK, object{"namespaces": out})
}

// namespaceNamed is the declared spelling of a namespace.
func (a *api) namespaceNamed(ctx context.Context, name string) (string, error) {
	list, err := a.engine.Catalog().Namespaces(ctx)
	if err != nil {
		return "", err
	}
	names := catalog.Names(list)
	if slices.Contains(names, name) {
		return name, nil
	}
	for _, n := range names {
		if strings.EqualFold(n, name) {
			return n, nil
		}
	}
	e := fail.New(fail.UndefinedNamespace, "there is no namespace %.60q", name)
	if near := fail.Closest(name, names); near != "" {
		return "", e.WithHint("Did you mean %q?", near)
	}
	if slices.Contains(catalog.Reserved, name) {
		return "", e.WithHint("%s is reserved and holds no collections or tables.", name)
	}
	return "", e.WithHint("GET %s lists them.", pathNamespaces)
}

func (a *api) describeNamespace(ctx context.Context, w *answer, r *http.Request) error {
	ns, err := a.namespaceNamed(ctx, r.PathValue("ns"))
	if err != nil {
		return err
	}
	objects, err := a.engine.Catalog().Objects(ctx, ns)
	if err != nil {
		return err
	}
	out := namespaceJSON{Name: ns}
	for _, o := range objects {
		switch o.Kind {
		case schema.Collection:
			out.Collections = append(out.Collections, o.Name)
		case schema.Table:
			out.Tables = append(out.Tables, o.Name)
		case schema.Stream:
			out.Streams = append(out.Streams, o.Name)
		case schema.View:
			out.Views = append(out.Views, o.Name)
		}
	}
	usage, err := a.engine.Usage(ctx)
	if err != nil {
		return err
	}
	for _, u := range usage {
		if u.Name == ns {
			out.Options = u.Options
			out.Storage = &storageJSON{Used: u.Bytes, TagExclusive: u.TagBytes, Quota: u.Quota}
		}
	}
	return writeValue(w, http.StatusOK, out)
}

func (a *api) createNamespace(ctx context.Context, w *answer, r *http.Request) error {
	data, _, err := body(r, mediaJSON)
	if err != nil {
		return err
	}
	var in struct {
		Name        string `json:"name"`
		IfNotExists bool   `json:"if_not_exists"`

		Options map[string]json.RawMessage `json:"options"`
	}
	if err := scan.Strict(data, &in, []string{"name", "if_not_exists", "options"}); err != nil {
		return err
	}
	if in.Name == "" {
		return fail.New(fail.BadRequest, "the body has no \"name\"").WithHint("Send {\"name\": \"ml\"}.")
	}
	q := &query{}
	q.add("CREATE NAMESPACE ")
	if in.IfNotExists {
		q.add("IF NOT EXISTS ")
	}
	options, err := optionList(in.Options)
	if err != nil {
		return err
	}
	q.add(quoteName(in.Name)).with(options)
	if err := a.ddl(ctx, q); err != nil {
		return err
	}
	return writeValue(w, http.StatusCreated, namespaceJSON{Name: in.Name})
}

func (a *api) dropNamespace(ctx context.Context, w *answer, r *http.Request) error {
	ifExists, err := flag(r, "if_exists")
	if err != nil {
		return err
	}
	ns, err := a.namespaceNamed(ctx, r.PathValue("ns"))
	if err == nil {
		q := &query{}
		err = a.ddl(ctx, q.add("DROP NAMESPACE ", quoteName(ns)))
	}
	if err != nil && !(ifExists && fail.Is(err, fail.UndefinedNamespace)) {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
